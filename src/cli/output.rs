//! Output of commands: data on stdout, notes and errors on stderr, and the exit code.
//!
//! In: text, data to serialize, the result of a command. Out: bytes on stdout and stderr. A write error of stdout is kept, so that
//! lost output never passes for success; a reader that closed the pipe is not an error. Text from outside is made safe first.

use std::io::{self, ErrorKind, IsTerminal as _, Write};
use std::path::Path;
use std::sync::OnceLock;

use ptc_core::text::SafeText;
use serde::Serialize;

use crate::config::terminal_size;
use crate::export::printable;

/// Exit codes.
pub mod exit {
    /// Success.
    pub const OK: u8 = 0;
    /// The run ended in failure.
    pub const FAILED: u8 = 1;
    /// Usage, configuration or file error.
    pub const USAGE: u8 = 2;
    /// Replay found a difference.
    pub const DIVERGED: u8 = 3;
    /// The run waits for the user.
    pub const WAITING: u8 = 4;
    /// Stopped from outside.
    pub const CANCELLED: u8 = 130;
    /// Ended by SIGTERM; the run can be resumed.
    pub const TERMINATED: u8 = 143;
}

/// An error that ends a command with exit code 2.
#[derive(Debug)]
pub struct UsageError(pub String);

impl<E: std::fmt::Display> From<E> for UsageError {
    fn from(error: E) -> Self {
        Self(error.to_string())
    }
}

/// A file that cannot be written.
pub(super) fn unwritable(file: &Path, error: &std::io::Error) -> UsageError {
    UsageError(format!("{} cannot be written: {error}", file.display()))
}

/// The system's error when it first refused text.
static REFUSED: OnceLock<String> = OnceLock::new();

/// Stdout as something to write to.
pub(super) struct Stdout;

impl Write for Stdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        remembered(io::stdout().lock().write_all(bytes)).map(|()| bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        remembered(io::stdout().lock().flush())
    }
}

fn remembered(done: io::Result<()>) -> io::Result<()> {
    done.inspect_err(|error| {
        if error.kind() != ErrorKind::BrokenPipe {
            REFUSED.get_or_init(|| error.to_string());
        }
    })
}

/// Notes how something went that was written to stdout by others.
pub(super) fn remember(done: io::Result<()>) {
    _ = remembered(done);
}

/// Prints a text byte for byte, without a line break after it; on a terminal what the terminal could act on is escaped.
pub(super) fn print_exact(text: &str) {
    print_bytes(text.as_bytes());
}

/// Like `print_exact`, for bytes that may not be text.
pub(super) fn print_bytes(bytes: &[u8]) {
    if io::stdout().is_terminal() {
        return print_line(&safe(&String::from_utf8_lossy(bytes)));
    }
    _ = Stdout.write_all(bytes);
}

/// Prints one line (or several). [`refused`] has the error.
pub(super) fn print_line(text: &str) {
    _ = Stdout.write_all(format!("{text}\n").as_bytes());
}

/// Returns the error that lost a part of the output; `None` when all of it is written, or its reader has closed the pipe.
fn refused() -> Option<&'static str> {
    // The error is remembered.
    _ = Stdout.flush();
    REFUSED.get().map(String::as_str)
}

/// The exit code of a command. Prints the error first; lost output is an error too.
pub(super) fn exit_code(done: Result<u8, UsageError>) -> u8 {
    let code = done.unwrap_or_else(|error| {
        print_error(&error.0);
        exit::USAGE
    });
    let Some(why) = refused() else { return code };
    print_error(&format!("stdout cannot be written: {why}; the printed output is incomplete"));
    exit::USAGE
}

/// Columns that tables have when stdout is not a terminal.
const USUAL_COLUMNS: usize = 80;
/// Fewest columns of a table.
const FEWEST_COLUMNS: usize = 40;

/// Columns of the terminal that stdout is.
pub(super) fn columns() -> usize {
    terminal_size(io::stdout()).map_or(USUAL_COLUMNS, |(columns, _)| usize::from(columns).max(FEWEST_COLUMNS))
}

/// Prints data as JSON on stdout: what `--json` asks for.
pub(super) fn print_json(data: &impl Serialize) {
    print_line(&printable(data));
}

/// One line (or several) on stderr.
pub(super) fn print_note(text: &str) {
    _ = writeln!(std::io::stderr().lock(), "{text}");
}

/// Prints the command that resumes a waiting run, on stderr.
pub fn print_waiting(session: &str) {
    print_note(&safe_line(&format!("answer with: ptc-workbench resume {session} --answer TEXT")));
}

/// A warning on stderr, made safe.
pub fn print_warning(text: &str) {
    print_note(&format!("warning: {}", safe(text)));
}

/// An error on stderr, made safe.
pub fn print_error(text: &str) {
    print_note(&format!("error: {}", safe(text)));
}

/// Text from outside, safe for a terminal, line breaks kept.
pub(super) fn safe(text: &str) -> String {
    SafeText::multi_line(text).into_string()
}

/// Text from outside on one line.
pub(super) fn safe_line(text: &str) -> String {
    SafeText::single_line(text).into_string()
}
