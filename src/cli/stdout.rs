//! Stdout: where the data of a command goes.
//!
//! In: text. Out: the same on stdout. What could not be written is remembered, so that a lost answer never passes for success; a reader
//! that has gone is no error.

use std::io::{self, ErrorKind, Write};
use std::sync::OnceLock;

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

/// Prints one line (or several). [`refused`] has the error.
pub(super) fn out(text: &str) {
    _ = Stdout.write_all(format!("{text}\n").as_bytes());
}

/// Why a part of the output is lost; `None` when all of it is out, or its reader has gone.
pub(super) fn refused() -> Option<&'static str> {
    // The error is remembered.
    _ = Stdout.flush();
    REFUSED.get().map(String::as_str)
}
