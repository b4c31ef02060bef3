//! The file of one session, and the lines that are not written to it yet.
//!
//! In: lines. Out: the file, complete lines only. After a failed write the lines stay in memory and the write is
//! retried; when the file is lost, all lines are in memory and the session can move to another folder. It must never lose
//! a line while the program runs, nor change bytes that are already in the file.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::RecorderError;
use super::copy::LineCopy;
use super::place::{self, WrittenFile};
use crate::config::{LockedFile, create_private_dir, private_options};
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

    /// Checks that the path still leads to this storage, with everything that was written.
    fn check_place(&self, _path: &Path, _written: &WrittenFile<'_>) -> io::Result<()> {
        Ok(())
    }

    /// Like `check_place`, and checks the content of every line.
    fn check_content(&self, _path: &Path, _written: &WrittenFile<'_>) -> io::Result<()> {
        Ok(())
    }
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

    fn check_place(&self, path: &Path, written: &WrittenFile<'_>) -> io::Result<()> {
        place::check_place(self, path, written)
    }

    fn check_content(&self, path: &Path, written: &WrittenFile<'_>) -> io::Result<()> {
        place::check_content(self, path, written)
    }
}

impl Medium for LockedFile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        (**self).append(bytes)
    }

    fn cut(&mut self, end_bytes: u64) -> io::Result<()> {
        (**self).cut(end_bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        (**self).sync()
    }

    fn check_place(&self, path: &Path, written: &WrittenFile<'_>) -> io::Result<()> {
        place::check_place(self, path, written)
    }

    fn check_content(&self, path: &Path, written: &WrittenFile<'_>) -> io::Result<()> {
        place::check_content(self, path, written)
    }
}

/// Events that could not be written to the session's file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnwrittenEvents {
    /// The file that could not be written.
    pub path: PathBuf,
    /// The error of the operating system.
    pub error: String,
    /// Number of events that are only in memory.
    pub events: u64,
    /// Size of these events in bytes.
    pub bytes: u64,
}

impl std::fmt::Display for UnwrittenEvents {
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
    /// All lines, written or pending.
    copy: LineCopy,
    /// CRC-32 of the complete lines in the file.
    written_sum: crc32fast::Hasher,
    /// The file is not the one that was opened, or lacks what was written to it: nothing more is written to it.
    is_lost: bool,
    /// The file that was lost, after the session has moved.
    moved_from: Option<UnwrittenEvents>,
}

/// Creates a new file and locks it against other writers.
pub(super) fn create(path: &Path) -> io::Result<LockedFile> {
    LockedFile::lock(private_options().append(true).create_new(true).open(path)?)
}

impl Journal {
    /// Writes to this medium, which holds the lines of `copy`.
    pub(super) fn new(
        medium: Box<dyn Medium>,
        path: PathBuf,
        mut copy: LineCopy,
        last_turn_end: Option<u64>,
    ) -> io::Result<Self> {
        let mut written_sum = SumWriter::default();
        copy.write_to(&mut written_sum)?;
        Ok(Self {
            medium,
            path,
            end: copy.bytes(),
            torn: false,
            last_turn_end,
            pending: Vec::new(),
            pending_events: 0,
            error: None,
            failed_at: None,
            copy,
            written_sum: written_sum.0,
            is_lost: false,
            moved_from: None,
        })
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
            Ok(mut line) => {
                line.push('\n');
                self.pending.extend_from_slice(line.as_bytes());
                self.pending_events += 1;
                if let Err(error) = self.copy.add(line.as_bytes()) {
                    self.fail(format!("event {} cannot be kept in memory: {error}", envelope.seq));
                }
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
            && !self.is_lost
            && let Err(error) = self.medium.sync()
        {
            self.fail(error.to_string());
        }
    }

    fn write(&mut self) {
        if self.is_lost {
            return;
        }
        let cut = if self.torn { self.medium.cut(self.end) } else { Ok(()) };
        let done = cut.and_then(|()| self.medium.append(&self.pending));
        match done {
            Ok(()) => {
                self.end += self.pending.len() as u64;
                self.written_sum.update(&self.pending);
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

    /// Checks that the file is the one that was opened, with the length that was written.
    pub(super) fn check_place(&mut self) {
        let found = self.medium.check_place(&self.path, &self.written());
        self.note_loss(found);
    }

    /// Like `check_place`, and checks the content of every line.
    pub(super) fn check_content(&mut self) {
        let found = self.medium.check_content(&self.path, &self.written());
        self.note_loss(found);
    }

    fn written(&self) -> WrittenFile<'_> {
        let checksum = self.written_sum.clone().finalize();
        WrittenFile { end_bytes: self.end, is_torn: self.torn, header: self.copy.header(), checksum }
    }

    fn note_loss(&mut self, found: io::Result<()>) {
        if let (Err(error), false) = (found, self.is_lost) {
            self.is_lost = true;
            self.fail(error.to_string());
        }
    }

    /// Returns whether the file is lost; only another folder can take the session then.
    pub(super) fn is_lost(&self) -> bool {
        self.is_lost
    }

    /// Returns the file that was lost, after the session has moved.
    pub(super) fn moved_from(&self) -> Option<&UnwrittenEvents> {
        self.moved_from.as_ref()
    }

    pub(super) fn unwritten(&self) -> Option<UnwrittenEvents> {
        let error = self.error.clone()?;
        let (events, bytes) = if self.is_lost {
            (self.copy.events(), self.copy.bytes())
        } else {
            (self.pending_events, self.pending.len() as u64)
        };
        Some(UnwrittenEvents { path: self.path.clone(), error, events, bytes })
    }

    /// Moves a session whose file is lost to another folder.
    pub(super) fn rescue(&mut self, dir: &Path) -> Result<(), RecorderError> {
        let lost = self.unwritten();
        self.move_to(dir)?;
        self.moved_from = lost;
        Ok(())
    }

    /// Moves the session to another folder: the new file gets all lines. The old file is not changed.
    pub(super) fn move_to(&mut self, dir: &Path) -> Result<(), RecorderError> {
        let name = self.path.file_name().unwrap_or_default();
        let path = dir.join(name);
        let mut moved = || -> io::Result<LockedFile> {
            create_private_dir(dir)?;
            let mut file = create(&path)?;
            let filled = self.copy.write_to(&mut *file).and_then(|()| file.sync_all());
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
        self.written_sum.update(&self.pending);
        self.pending.clear();
        self.pending_events = 0;
        (self.torn, self.error, self.failed_at, self.is_lost) = (false, None, None, false);
        Ok(())
    }
}

/// Sums what is written to it.
#[derive(Default)]
struct SumWriter(crc32fast::Hasher);

impl io::Write for SumWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
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
pub(super) fn reopen(path: &Path, end_bytes: u64) -> io::Result<(LockedFile, u64)> {
    let file = OpenOptions::new().read(true).append(true).open(path)?;
    let locked = "another program is writing to this session; try again when it has finished";
    let mut file = LockedFile::lock(file).map_err(|_| io::Error::other(locked))?;
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
