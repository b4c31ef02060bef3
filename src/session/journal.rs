//! The file of one session, and the lines that are not written to it yet.
//!
//! In: lines. Out: the file, complete lines only. After a failed write the lines stay in memory and the write is
//! retried; the session can move to another folder. It must never lose a line while the program runs, nor change bytes
//! that are already in the file.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::RecorderError;
use crate::config::{create_private_dir, private_options};
use crate::event::{Envelope, Event};

/// Delay before the next attempt after a failed write; the end of a turn retries at once.
const TRY_AGAIN: Duration = Duration::from_secs(1);

/// Storage that a session is written to.
pub trait Medium: Send {
    /// Appends bytes. After an error any prefix of them may have been written.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Truncates the storage to this length.
    fn cut(&mut self, end_bytes: u64) -> io::Result<()>;

    /// Returns when all bytes are on disk.
    fn sync(&mut self) -> io::Result<()>;
}

impl Medium for File {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.write_all(bytes)
    }

    fn cut(&mut self, end_bytes: u64) -> io::Result<()> {
        self.set_len(end_bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.sync_data()
    }
}

/// Events that could not be written to the session's file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unwritten {
    /// The file that could not be written.
    pub path: PathBuf,
    /// The error of the operating system.
    pub error: String,
    /// Number of events that are only in memory.
    pub events: u64,
    /// Size of these events in bytes.
    pub bytes: u64,
}

impl std::fmt::Display for Unwritten {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} cannot be written: {}; ", self.path.display(), self.error)?;
        match self.events {
            0 => f.write_str("the last events may not have reached the disk"),
            1 => write!(f, "1 event ({} bytes) is only in memory", self.bytes),
            events => write!(f, "{events} events ({} bytes) are only in memory", self.bytes),
        }
    }
}

pub(super) struct Journal {
    medium: Box<dyn Medium>,
    path: PathBuf,
    /// Length of the complete lines in the file.
    end: u64,
    /// The last write failed: bytes after `end` are not a complete line.
    torn: bool,
    /// Offset of the last `turn.end`, written or pending.
    last_turn_end: Option<u64>,
    pending: Vec<u8>,
    pending_events: u64,
    error: Option<String>,
    failed_at: Option<Instant>,
}

/// Creates a new file and locks it against other writers.
pub(super) fn create(path: &Path) -> io::Result<File> {
    let file = private_options().append(true).create_new(true).open(path)?;
    file.try_lock().map_err(io::Error::other)?;
    Ok(file)
}

impl Journal {
    pub(super) fn new(medium: Box<dyn Medium>, path: PathBuf, end: u64, last_turn_end: Option<u64>) -> Self {
        let (pending, error) = (Vec::new(), None);
        Self { medium, path, end, torn: false, last_turn_end, pending, pending_events: 0, error, failed_at: None }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Appends an event and writes it, unless the retry delay is still running.
    pub(super) fn append_event(&mut self, envelope: &Envelope) {
        let ends_turn = matches!(envelope.event, Event::TurnEnd(_));
        let here = self.end + self.pending.len() as u64;
        let back = if ends_turn { self.last_turn_end.map(|last| here - last) } else { None };
        match envelope.to_line(back) {
            Ok(line) => {
                self.pending.extend_from_slice(line.as_bytes());
                self.pending.push(b'\n');
                self.pending_events += 1;
            }
            // Serialization fails only for maps with keys that are not strings; no event contains one.
            Err(error) => self.fail(format!("event {} cannot be serialized as JSON: {error}", envelope.seq)),
        }
        if ends_turn {
            self.last_turn_end = Some(here);
        }
        if requires_sync(&envelope.event) {
            self.write_and_sync();
        } else if self.failed_at.is_none_or(|at| at.elapsed() >= TRY_AGAIN) {
            self.write();
        }
    }

    /// Writes the pending lines and syncs. [`Self::unwritten`] returns the result.
    pub(super) fn write_and_sync(&mut self) {
        self.write();
        if self.pending.is_empty()
            && let Err(error) = self.medium.sync()
        {
            self.fail(error.to_string());
        }
    }

    fn write(&mut self) {
        let cut = if self.torn { self.medium.cut(self.end) } else { Ok(()) };
        let done = cut.and_then(|()| self.medium.append(&self.pending));
        match done {
            Ok(()) => {
                self.end += self.pending.len() as u64;
                self.pending.clear();
                self.pending_events = 0;
                (self.torn, self.error, self.failed_at) = (false, None, None);
            }
            Err(error) => {
                self.torn = true;
                self.fail(error.to_string());
            }
        }
    }

    fn fail(&mut self, error: String) {
        self.error = Some(error);
        self.failed_at = Some(Instant::now());
    }

    pub(super) fn unwritten(&self) -> Option<Unwritten> {
        let error = self.error.clone()?;
        let (events, bytes) = (self.pending_events, self.pending.len() as u64);
        Some(Unwritten { path: self.path.clone(), error, events, bytes })
    }

    /// Moves the session to another folder: the new file gets the lines of the old one and the pending lines. The old
    /// file is not changed.
    pub(super) fn move_to(&mut self, dir: &Path) -> Result<(), RecorderError> {
        let name = self.path.file_name().unwrap_or_default();
        let path = dir.join(name);
        let moved = || -> io::Result<File> {
            create_private_dir(dir)?;
            let mut file = create(&path)?;
            let filled = self.copy_lines(&mut file);
            if filled.is_err() {
                // A partial copy would be listed as a session.
                std::fs::remove_file(&path)?;
            }
            filled.map(|()| file)
        };
        let file = moved().map_err(|error| RecorderError { path: path.clone(), error, is_append: false })?;
        self.medium = Box::new(file);
        self.path = path;
        self.end += self.pending.len() as u64;
        self.pending.clear();
        self.pending_events = 0;
        (self.torn, self.error, self.failed_at) = (false, None, None);
        Ok(())
    }

    fn copy_lines(&self, file: &mut File) -> io::Result<()> {
        let mut old = File::open(&self.path)?;
        let copied = io::copy(&mut (&mut old).take(self.end), file)?;
        if copied != self.end {
            return Err(io::Error::other(format!("{} is shorter than what was written to it", self.path.display())));
        }
        file.write_all(&self.pending)?;
        file.sync_all()
    }
}

/// Returns whether the disk must have an event before the run continues: turn ends, questions and effects.
fn requires_sync(event: &Event) -> bool {
    match event {
        Event::TurnEnd(_) | Event::RunEnd(_) | Event::RunWait(_) | Event::QuestionAsked(_) | Event::AnswerGiven(_) => {
            true
        }
        Event::ToolCall(call) => call.effectful,
        _ => false,
    }
}

/// Opens a session's file to append after `end_bytes`: locks it, drops a torn last line, ends a whole one that lacks its line break.
/// Returns the end of the file too, in bytes.
pub(super) fn reopen(path: &Path, end_bytes: u64) -> io::Result<(File, u64)> {
    let mut file = OpenOptions::new().read(true).append(true).open(path)?;
    let locked = "another program is writing to this session; try again when it has finished";
    file.try_lock().map_err(|_| io::Error::other(locked))?;
    file.seek(SeekFrom::Start(end_bytes))?;
    let mut torn = Vec::new();
    file.read_to_end(&mut torn)?;
    if torn.contains(&b'\n') {
        return Err(io::Error::other("another program has written to this session; try again"));
    }
    file.set_len(end_bytes)?;
    let mut last = [b'\n'];
    if end_bytes > 0 {
        file.seek(SeekFrom::Start(end_bytes - 1))?;
        file.read_exact(&mut last)?;
    }
    if last == [b'\n'] {
        return Ok((file, end_bytes));
    }
    file.write_all(b"\n")?;
    Ok((file, end_bytes + 1))
}
