//! Derived sessions that start with the lines of another one, byte for byte.
//!
//! In: a session and the last event to copy. Out: a file that appears only when it is complete. The source is only
//! read.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use super::whole::write_atomically;
use super::{Header, RecorderError, Session};
use crate::event::{Envelope, hex_sha};

/// The first lines of a session file.
#[derive(Debug, Clone, Default)]
pub struct Prefix {
    bytes: Vec<u8>,
    /// Sequence number of its last event; 0 when it is empty.
    pub seq: u64,
}

impl Prefix {
    /// Copies the lines up to this sequence number. Fails when a line cannot be read.
    pub fn of(session: &Session, seq: u64) -> Result<Self, String> {
        let mut prefix = Self::default();
        for index in 0..session.len() {
            let unreadable = || format!("{}: could not read event {}", session.path.display(), index + 1);
            let line = session.line(index).ok_or_else(unreadable)?;
            let number = Envelope::from_line(&line).map_err(|_| unreadable())?.seq;
            if number > seq {
                break;
            }
            prefix.bytes.extend_from_slice(line.as_bytes());
            prefix.bytes.push(b'\n');
            prefix.seq = number;
        }
        Ok(prefix)
    }

    /// Returns the SHA-256 of the lines with their line ends, hexadecimal.
    pub fn sha(&self) -> String {
        hex_sha(&self.bytes)
    }

    /// Writes the session `<dir>/<id>.jsonl`: the header, the copied lines, then these events.
    pub fn write(&self, dir: &Path, header: &Header, more: &[Envelope]) -> Result<PathBuf, RecorderError> {
        let written = write_atomically(dir, &header.id, |file| {
            writeln!(file, "{}", serde_json::to_string(header)?)?;
            file.write_all(&self.bytes)?;
            more.iter().try_for_each(|envelope| writeln!(file, "{}", envelope.to_line(None)?))
        });
        written.map(|(path, ())| path)
    }
}
