//! Tools that are commands: arguments as JSON on stdin, the result on stdout.
//!
//! In: a program and a call. Out: a value, or an error with the end of stderr. No shell is involved, and the whole
//! process group is gone when the call is over.

use std::time::Duration;

use ptc_core::value::{Json, Value};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};

use super::process::Program;
use super::text::parse_result;
use super::{Failure, Invocation};

/// Maximum bytes of stderr in an error.
const STDERR_BYTES: usize = 2_000;
/// Time that a left-over child process may hold the output open after the program's end.
const GRACE: Duration = Duration::from_millis(200);

/// A tool that starts a process per call.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Command {
    /// The program to start.
    pub program: Program,
    /// Limit `output_max_bytes`.
    pub output_max_bytes: u64,
}

/// Output of a process.
#[derive(Default)]
struct ProcessOutput {
    output: Vec<u8>,
    errors: Vec<u8>,
    is_too_long: bool,
}

/// Runs the command for one call.
pub(super) async fn run(command: &Command, call: &Invocation<'_>) -> Result<Value, Failure> {
    let (mut child, mut group) = command.program.start().map_err(Failure::from_message)?;
    let (input, output, errors) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let arguments = Json::from(call.args).to_text() + "\n";
    let mut result = ProcessOutput::default();
    let status = {
        let feed = async {
            if let Some(mut input) = input {
                // A program that does not read its arguments closes the pipe.
                _ = input.write_all(arguments.as_bytes()).await;
            }
        };
        let talk = async {
            let ProcessOutput { output: out, errors: err, is_too_long } = &mut result;
            let read = async {
                *is_too_long = !read_limited(output, out, command.output_max_bytes).await;
                if *is_too_long { Err(()) } else { Ok(()) }
            };
            let listen = async {
                read_tail(errors, err).await;
                Ok(())
            };
            let feed = async {
                feed.await;
                Ok::<(), ()>(())
            };
            // Too much output ends all three.
            _ = tokio::try_join!(feed, read, listen);
        };
        tokio::pin!(talk);
        tokio::select! {
            biased;
            () = call.cancel.cancelled() => return Err(Failure::Cancelled),
            () = &mut talk => None,
            status = child.wait() => {
                // Left-over child processes have this long to close the output.
                _ = tokio::time::timeout(GRACE, &mut talk).await;
                Some(status)
            }
        }
    };
    if result.is_too_long {
        group.kill();
    }
    let status = if let Some(status) = status {
        status
    } else {
        // The output is closed: only the exit code is missing.
        tokio::select! {
            biased;
            () = call.cancel.cancelled() => return Err(Failure::Cancelled),
            status = child.wait() => status,
        }
    };
    group.kill();
    let name = command.program.name();
    let errors = String::from_utf8_lossy(&result.errors).trim().to_owned();
    let shown = if errors.is_empty() { String::new() } else { format!("; stderr: {errors}") };
    if result.is_too_long {
        let most = command.output_max_bytes;
        return Err(Failure::from_message(format!("`{name}` wrote more than output_max_bytes = {most}{shown}")));
    }
    match status {
        Ok(status) if status.success() => {}
        Ok(status) => return Err(Failure::from_message(format!("`{name}` ended with {status}{shown}"))),
        Err(error) => return Err(Failure::from_message(format!("`{name}`: {error}{shown}"))),
    }
    let text = String::from_utf8_lossy(&result.output);
    parse_result(text.trim_end_matches(['\n', '\r']), call.tool)
        .map_err(|problem| Failure::from_message(format!("the output of `{name}` {problem}{shown}")))
}

/// Reads to the end; returns false when it is more than `most` bytes.
async fn read_limited(from: Option<impl AsyncRead + Unpin>, into: &mut Vec<u8>, most: u64) -> bool {
    let Some(from) = from else { return true };
    // A read error is treated as the end.
    _ = from.take(most.saturating_add(1)).read_to_end(into).await;
    into.len() as u64 <= most
}

/// Reads to the end and keeps the last bytes.
async fn read_tail(from: Option<impl AsyncRead + Unpin>, into: &mut Vec<u8>) {
    let Some(mut from) = from else { return };
    let mut piece = [0; 4096];
    while let Ok(count) = from.read(&mut piece).await {
        if count == 0 {
            break;
        }
        into.extend_from_slice(&piece[..count]);
        let spare = into.len().saturating_sub(STDERR_BYTES);
        into.drain(..spare);
    }
}
