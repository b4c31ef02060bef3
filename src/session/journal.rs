//! The journal of one session: its file, and the lines that the file does not hold yet.
//!
//! In: lines. Out: the file, whole lines only. After a failed write the lines stay in memory and are tried again; another folder
//! can take the session over. It must never lose a line while the program lives, nor touch what stands in the file already.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::RecorderError;
use crate::event::{Envelope, Event};

/// After a failed write the next one is tried this much later, or at the end of a turn.
const TRY_AGAIN: Duration = Duration::from_secs(1);

/// What a session is written to.
pub trait Medium: Send {
    /// Puts all bytes behind the others. After an error any part of them may be there.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Drops everything behind this place.
    fn cut(&mut self, end_bytes: u64) -> io::Result<()>;

    /// Returns when the disk has everything.
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

/// What the file lacks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unwritten {
    /// The file that could not be written.
    pub path: PathBuf,
    /// What the system said.
    pub error: String,
    /// Events that are only in memory.
    pub events: u64,
    /// Their size.
    pub bytes: u64,
}

impl std::fmt::Display for Unwritten {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} cannot be written: {}; ", self.path.display(), self.error)?;
        match self.events {
            0 => f.write_str("what was written last may not have reached the disk"),
            1 => write!(f, "1 event ({} bytes) is only in memory", self.bytes),
            events => write!(f, "{events} events ({} bytes) are only in memory", self.bytes),
        }
    }
}

pub(super) struct Journal {
    medium: Box<dyn Medium>,
    path: PathBuf,
    /// Where the whole lines in the file end.
    end: u64,
    /// A write failed since: what stands behind `end` is no line.
    torn: bool,
    /// Where the last `turn.end` stands, or will stand.
    last_turn_end: Option<u64>,
    pending: Vec<u8>,
    pending_events: u64,
    error: Option<String>,
    failed_at: Option<Instant>,
}

/// Creates a file that nobody had and nobody else may write.
pub(super) fn create(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().append(true).create_new(true).open(path)?;
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

    /// Takes an event, and writes it unless a write failed a moment ago.
    pub(super) fn take(&mut self, envelope: &Envelope) {
        let ends_turn = matches!(envelope.event, Event::TurnEnd(_));
        let here = self.end + self.pending.len() as u64;
        let back = if ends_turn { self.last_turn_end.map(|last| here - last) } else { None };
        match envelope.to_line(back) {
            Ok(line) => {
                self.pending.extend_from_slice(line.as_bytes());
                self.pending.push(b'\n');
                self.pending_events += 1;
            }
            // Only a map with keys that are no texts cannot be written; no event has one.
            Err(error) => self.fail(format!("event {} is no JSON: {error}", envelope.seq)),
        }
        if ends_turn {
            self.last_turn_end = Some(here);
        }
        if must_be_safe(&envelope.event) {
            self.write_safely();
        } else if self.failed_at.is_none_or(|at| at.elapsed() >= TRY_AGAIN) {
            self.write();
        }
    }

    /// Writes what is only in memory and waits for the disk. The outcome is what [`Self::unwritten`] tells.
    pub(super) fn write_safely(&mut self) {
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

    /// Goes on in another folder: the new file gets the lines of the old one and those in memory. The old file stays as it is.
    pub(super) fn move_to(&mut self, dir: &Path) -> Result<(), RecorderError> {
        let name = self.path.file_name().unwrap_or_default();
        let path = dir.join(name);
        let moved = || -> io::Result<File> {
            std::fs::create_dir_all(dir)?;
            let mut file = create(&path)?;
            let filled = self.fill(&mut file);
            if filled.is_err() {
                // Half a copy of a session would look like a session.
                std::fs::remove_file(&path)?;
            }
            filled.map(|()| file)
        };
        let file = moved().map_err(|error| RecorderError { path: path.clone(), error, goes_on: false })?;
        self.medium = Box::new(file);
        self.path = path;
        self.end += self.pending.len() as u64;
        self.pending.clear();
        self.pending_events = 0;
        (self.torn, self.error, self.failed_at) = (false, None, None);
        Ok(())
    }

    fn fill(&self, file: &mut File) -> io::Result<()> {
        let mut old = File::open(&self.path)?;
        let copied = io::copy(&mut (&mut old).take(self.end), file)?;
        if copied != self.end {
            return Err(io::Error::other(format!("{} lacks lines that were written", self.path.display())));
        }
        file.write_all(&self.pending)?;
        file.sync_all()
    }
}

/// Events behind which a person or the outside world is asked, or a turn is done: the disk must have them.
fn must_be_safe(event: &Event) -> bool {
    match event {
        Event::TurnEnd(_) | Event::RunEnd(_) | Event::RunWait(_) | Event::QuestionAsked(_) | Event::AnswerGiven(_) => {
            true
        }
        Event::ToolCall(call) => call.effectful,
        _ => false,
    }
}

/// Opens a session's file to go on behind `end_bytes`: takes its lock and drops a torn last line.
pub(super) fn reopen(path: &Path, end_bytes: u64) -> io::Result<File> {
    let mut file = OpenOptions::new().read(true).append(true).open(path)?;
    let taken = "another program is writing this session: wait until it ends, then try again";
    file.try_lock().map_err(|_| io::Error::other(taken))?;
    file.seek(SeekFrom::Start(end_bytes))?;
    let mut torn = Vec::new();
    file.read_to_end(&mut torn)?;
    if torn.contains(&b'\n') {
        return Err(io::Error::other("another program has written to this session; try again"));
    }
    file.set_len(end_bytes)?;
    Ok(file)
}
