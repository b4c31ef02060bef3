//! Tools that are commands: the arguments go in as JSON on stdin, the result comes out on stdout.
//!
//! In: a program and a call. Out: a value, or why there is none, with what the program wrote to stderr. No shell reads the words, and
//! nothing of the process group is left when the call is over, however it ended.

use std::time::Duration;

use ptc_core::value::{Json, Value};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};

use super::process::Program;
use super::text::value_of;
use super::{Failure, Invocation};

/// What is shown of stderr.
const STDERR_BYTES: usize = 2_000;
/// How long what a program left running may hold its output open after its end.
const GRACE: Duration = Duration::from_millis(200);

/// A tool that starts a process for each call.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Command {
    /// What is started.
    pub program: Program,
    /// Limit `output_max_bytes`.
    pub output_max_bytes: u64,
}

/// What a process said.
#[derive(Default)]
struct Said {
    output: Vec<u8>,
    errors: Vec<u8>,
    is_over: bool,
}

/// Runs the command for one call.
pub(super) async fn run(command: &Command, call: &Invocation<'_>) -> Result<Value, Failure> {
    let (mut child, mut group) = command.program.start().map_err(Failure::said)?;
    let (input, output, errors) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let arguments = Json::from(call.args).to_text() + "\n";
    let mut said = Said::default();
    let status = {
        let feed = async {
            if let Some(mut input) = input {
                // A program that does not read its arguments ends the pipe.
                _ = input.write_all(arguments.as_bytes()).await;
            }
        };
        let talk = async {
            let Said { output: out, errors: err, is_over } = &mut said;
            let read = async {
                *is_over = !whole(output, out, command.output_max_bytes).await;
                if *is_over { Err(()) } else { Ok(()) }
            };
            let listen = async {
                tail(errors, err).await;
                Ok(())
            };
            let feed = async {
                feed.await;
                Ok::<(), ()>(())
            };
            // More output than may be ends it all.
            _ = tokio::try_join!(feed, read, listen);
        };
        tokio::pin!(talk);
        tokio::select! {
            biased;
            () = call.cancel.cancelled() => return Err(Failure::Cancelled),
            () = &mut talk => None,
            status = child.wait() => {
                // Whatever it left behind has no longer than this to let go of the output.
                _ = tokio::time::timeout(GRACE, &mut talk).await;
                Some(status)
            }
        }
    };
    if said.is_over {
        group.kill();
    }
    let status = if let Some(status) = status {
        status
    } else {
        // It closed its output: nothing more comes of it but its end.
        tokio::select! {
            biased;
            () = call.cancel.cancelled() => return Err(Failure::Cancelled),
            status = child.wait() => status,
        }
    };
    group.kill();
    let name = command.program.name();
    let errors = String::from_utf8_lossy(&said.errors).trim().to_owned();
    let shown = if errors.is_empty() { String::new() } else { format!("; stderr: {errors}") };
    if said.is_over {
        let most = command.output_max_bytes;
        return Err(Failure::said(format!("`{name}` wrote more than output_max_bytes = {most}{shown}")));
    }
    match status {
        Ok(status) if status.success() => {}
        Ok(status) => return Err(Failure::said(format!("`{name}` ended with {status}{shown}"))),
        Err(error) => return Err(Failure::said(format!("`{name}`: {error}{shown}"))),
    }
    let text = String::from_utf8_lossy(&said.output);
    value_of(text.trim_end_matches(['\n', '\r']), call.tool)
        .map_err(|problem| Failure::said(format!("the output of `{name}` {problem}{shown}")))
}

/// Reads to the end; false when it is more than `most` bytes.
async fn whole(from: Option<impl AsyncRead + Unpin>, into: &mut Vec<u8>, most: u64) -> bool {
    let Some(from) = from else { return true };
    // What cannot be read any more is the end.
    _ = from.take(most.saturating_add(1)).read_to_end(into).await;
    into.len() as u64 <= most
}

/// Reads to the end and keeps the last of it.
async fn tail(from: Option<impl AsyncRead + Unpin>, into: &mut Vec<u8>) {
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
