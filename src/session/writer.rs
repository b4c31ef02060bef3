//! The writer of a captured session: events of traffic that has passed already.
//!
//! In: events in order. Out: the file. Unlike the [`Recorder`](super::Recorder) it has no thread, waits for nothing and keeps no copy of
//! the lines: a proxy has a thousand of them. Lines are written together, since most of the cost of a line is its system call. Those that
//! cannot be written stay in memory and are written with the next ones.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use super::{Header, RecorderError, journal};
use crate::config::{LockedFile, create_private_dir};
use crate::event::{Address, Envelope, Event, escape_json};

/// Capacity of the buffer for lines between writes, in bytes: the first lines of a request may be much longer.
const KEPT_BYTES: usize = 64 << 10;

/// One session that is being written. Dropping it gives the lines in memory to the operating system.
#[derive(Debug)]
pub struct SessionWriter {
    file: LockedFile,
    path: PathBuf,
    next: u64,
    /// Length of the complete lines in the file.
    end: u64,
    last_turn_end: Option<u64>,
    pending: Vec<u8>,
    error: Option<String>,
}

impl SessionWriter {
    /// Creates and locks `<dir>/<id>.jsonl` and writes the header. Creates the folder if necessary.
    pub fn create(dir: &Path, header: &Header) -> Result<Self, RecorderError> {
        let path = dir.join(header.id.file_name());
        let open = || -> std::io::Result<Self> {
            create_private_dir(dir)?;
            let file = journal::create(&path)?;
            let mut pending = escape_json(&serde_json::to_string(header)?).into_owned().into_bytes();
            pending.push(b'\n');
            let mut writer =
                Self { file, path: path.clone(), next: 1, end: 0, last_turn_end: None, pending, error: None };
            writer.flush();
            match writer.error.take() {
                None => Ok(writer),
                Some(error) => {
                    // A file without a header would be listed as damaged.
                    _ = std::fs::remove_file(&path);
                    Err(std::io::Error::other(error))
                }
            }
        };
        open().map_err(|error| RecorderError { path: path.clone(), error, is_append: false })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Bytes of it, those in memory included.
    pub fn bytes(&self) -> u64 {
        self.end + self.pending.len() as u64
    }

    /// Returns the write error, if the last lines are only in memory.
    pub fn error(&self) -> Option<&str> {
        self.error.as_deref()
    }

    /// Adds an event with this time (Unix ms); returns it with its number. It is in memory until the next [`Self::flush`].
    pub fn write(&mut self, at_ms: i64, address: Address, event: Event) -> Envelope {
        let ends_turn = matches!(event, Event::TurnEnd(_));
        let here = self.bytes();
        let back = self.last_turn_end.filter(|_| ends_turn).map(|last| here - last);
        let envelope = Envelope { seq: self.next, at_ms, address, event };
        match envelope.to_line(back) {
            Ok(line) => {
                self.pending.extend_from_slice(line.as_bytes());
                self.pending.push(b'\n');
                self.next += 1;
            }
            // No event has a map whose keys are not strings.
            Err(error) => self.error = Some(error.to_string()),
        }
        if ends_turn {
            self.last_turn_end = Some(here);
        }
        envelope
    }

    /// Returns when everything is on the disk, as far as it can be written.
    pub fn sync(&mut self) {
        self.flush();
        if let Err(error) = self.file.sync_data() {
            self.error = Some(error.to_string());
        }
    }

    /// Gives the lines in memory to the operating system, in one call. They stay in memory if it does not take them.
    pub fn flush(&mut self) {
        if self.pending.is_empty() {
            return;
        }
        match self.file.write_all(&self.pending) {
            Ok(()) => {
                self.end += self.pending.len() as u64;
                self.pending.clear();
                self.pending.shrink_to(KEPT_BYTES);
                self.error = None;
            }
            Err(error) => {
                // Any part of the lines may be there.
                _ = self.file.set_len(self.end);
                self.error = Some(error.to_string());
            }
        }
    }
}

impl Drop for SessionWriter {
    fn drop(&mut self) {
        self.flush();
    }
}
