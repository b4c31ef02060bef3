//! New sessions that start with the lines of another one, byte for byte.
//!
//! In: a session and the last event that is kept. Out: a file that appears whole or not at all. The other session is only read.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use super::whole::appear;
use super::{Header, RecorderError, Session};
use crate::event::{Envelope, hex_sha};

/// The first lines of a session, as they stand in its file.
#[derive(Debug, Clone, Default)]
pub struct Prefix {
    bytes: Vec<u8>,
    /// Number of the last event in it; 0 when there is none.
    pub seq: u64,
}

impl Prefix {
    /// The lines of the events up to this number. Errors: a line cannot be read.
    pub fn of(session: &Session, seq: u64) -> Result<Self, String> {
        let mut prefix = Self::default();
        for place in 0..session.len() {
            let unread = || format!("{}: event {} cannot be read", session.path.display(), place + 1);
            let line = session.line(place).ok_or_else(unread)?;
            let number = Envelope::from_line(&line).map_err(|_| unread())?.seq;
            if number > seq {
                break;
            }
            prefix.bytes.extend_from_slice(line.as_bytes());
            prefix.bytes.push(b'\n');
            prefix.seq = number;
        }
        Ok(prefix)
    }

    /// SHA-256 of the lines with their line ends, hexadecimal.
    pub fn sha(&self) -> String {
        hex_sha(&self.bytes)
    }

    /// Writes the session `<dir>/<id>.jsonl`: the header, these lines, and these events behind them.
    pub fn write(&self, dir: &Path, header: &Header, more: &[Envelope]) -> Result<PathBuf, RecorderError> {
        let written = appear(dir, &header.id, |file| {
            writeln!(file, "{}", serde_json::to_string(header)?)?;
            file.write_all(&self.bytes)?;
            more.iter().try_for_each(|envelope| writeln!(file, "{}", envelope.to_line(None)?))
        });
        written.map(|(path, ())| path)
    }
}
