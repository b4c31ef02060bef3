//! The recorder: the only writer of a session. One thread, one lock, one line per event.
//!
//! In: events in order. Out: the file. Every event reaches the operating system before the engine goes on past an input; the disk
//! is synced at turn and run ends, before a person is waited for and before an effect. A disk that refuses does not end the run:
//! the events stay in memory, and [`Keeping`] tells it and takes another folder.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError};

use futures::future::BoxFuture;
use tokio::sync::{Mutex, mpsc, oneshot};

use super::journal::{self, Journal, Medium, Unwritten};
use super::{Header, Session};
use crate::event::{Address, Class, Envelope, Event};
use crate::port::{Clock, Sink, SinkError};

/// Events that may wait for the disk before the engine does.
const QUEUE: usize = 256;

/// Why a session file could not be opened for writing.
#[derive(Debug)]
pub struct RecorderError {
    /// The file.
    pub path: PathBuf,
    /// What the system said.
    pub error: std::io::Error,
    /// The session exists and was to get more events: no other folder helps.
    pub goes_on: bool,
}

impl std::fmt::Display for RecorderError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.goes_on {
            return write!(f, "cannot go on with {}: {}", self.path.display(), self.error);
        }
        write!(
            f,
            "cannot write sessions to {}: {} (choose another folder with --sessions)",
            self.path.display(),
            self.error
        )
    }
}

impl std::error::Error for RecorderError {}

struct Job {
    envelope: Envelope,
    taken: Option<oneshot::Sender<()>>,
}

/// How the writing of a session stands. Clones tell the same; they outlive the recorder, and so do events that are only in memory.
#[derive(Clone)]
pub struct Keeping {
    /// Held while the disk works, which may take long.
    journal: Arc<std::sync::Mutex<Journal>>,
    /// How it stood after the last write: held for a moment only, so that a run can look at it after every event.
    standing: Arc<std::sync::Mutex<Standing>>,
    /// The trouble was told.
    told: Arc<AtomicBool>,
}

/// The file in use, and what it lacks.
struct Standing {
    path: PathBuf,
    unwritten: Option<Unwritten>,
}

impl Standing {
    fn of(journal: &Journal) -> Self {
        Self { path: journal.path().to_owned(), unwritten: journal.unwritten() }
    }
}

impl std::fmt::Debug for Keeping {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Keeping").field(&self.path()).finish()
    }
}

impl Keeping {
    fn on(journal: Journal) -> Self {
        let standing = Arc::new(std::sync::Mutex::new(Standing::of(&journal)));
        Self { journal: Arc::new(std::sync::Mutex::new(journal)), standing, told: Arc::default() }
    }

    fn standing(&self) -> std::sync::MutexGuard<'_, Standing> {
        self.standing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Works on the journal, then tells how it stands.
    fn work<T>(&self, on: impl FnOnce(&mut Journal) -> T) -> T {
        let mut journal = self.journal.lock().unwrap_or_else(PoisonError::into_inner);
        let done = on(&mut journal);
        *self.standing() = Standing::of(&journal);
        done
    }

    /// The file in use.
    pub fn path(&self) -> PathBuf {
        self.standing().path.clone()
    }

    /// What the file lacks; `None` when it has everything that was taken.
    pub fn unwritten(&self) -> Option<Unwritten> {
        self.standing().unwritten.clone()
    }

    /// What has changed about it since the last call, in words.
    pub fn news(&self) -> Option<String> {
        let unwritten = self.unwritten();
        if self.told.swap(unwritten.is_some(), Ordering::Relaxed) == unwritten.is_some() {
            return None;
        }
        Some(match unwritten {
            Some(unwritten) => format!("{unwritten}; the run goes on"),
            None => format!("the session is written again: {}", self.path().display()),
        })
    }

    /// Tries the same place once more; what the file still lacks.
    pub fn retry(&self) -> Option<Unwritten> {
        self.work(|journal| {
            if journal.unwritten().is_some() {
                journal.write_safely();
            }
            journal.unwritten()
        })
    }

    /// Goes on in another folder, under the same name: the new file has everything, the old one stays as it is.
    pub fn move_to(&self, dir: &Path) -> Result<PathBuf, RecorderError> {
        self.work(|journal| {
            journal.move_to(dir)?;
            Ok(journal.path().to_owned())
        })
    }
}

/// Writes one session. Dropping it closes the file after the last event was written.
pub struct Recorder {
    clock: Arc<dyn Clock>,
    next: Mutex<u64>,
    jobs: mpsc::Sender<Job>,
    thread: Option<std::thread::JoinHandle<()>>,
    path: PathBuf,
    keeping: Keeping,
}

impl Recorder {
    /// Creates `<dir>/<id>.jsonl`, takes its lock and writes the header. The folder is made when it does not exist.
    pub fn create(dir: &Path, header: &Header, clock: Arc<dyn Clock>) -> Result<Self, RecorderError> {
        let (journal, path) = begin(dir, header)?;
        Self::on(journal, path, 1, clock)
    }

    /// Creates a session that starts with the events of another one, as they were.
    pub fn create_from(
        dir: &Path,
        header: &Header,
        events: &[Envelope],
        clock: Arc<dyn Clock>,
    ) -> Result<Self, RecorderError> {
        let (mut journal, path) = begin(dir, header)?;
        for envelope in events {
            journal.take(envelope);
        }
        if let Some(unwritten) = journal.unwritten() {
            // Half a copy would look like a session; that it cannot be removed changes nothing.
            _ = std::fs::remove_file(&path);
            return Err(RecorderError { path, error: std::io::Error::other(unwritten.error), goes_on: false });
        }
        Self::on(journal, path, events.last().map_or(1, |last| last.seq + 1), clock)
    }

    /// Goes on with a session as it was read: takes its lock and drops a torn last line. Fails when another program writes it, has
    /// written to it since, or a newer one made it.
    pub fn append(session: &Session, clock: Arc<dyn Clock>) -> Result<Self, RecorderError> {
        let path = session.path.clone();
        let last = (0..session.len()).rev().find_map(|place| session.event(place)).map_or(0, |last| last.seq);
        let newer = || std::io::Error::other(format!("{} wrote it and goes on with it", session.header.program));
        let file =
            if session.header.is_of_later_version() { Err(newer()) } else { journal::reopen(&path, session.end) };
        let file = file.map_err(|error| RecorderError { path: path.clone(), error, goes_on: true })?;
        let journal = Journal::new(Box::new(file), path.clone(), session.end, session.last_turn_end());
        Self::on(journal, path, last + 1, clock)
    }

    /// Writes to a medium that holds `end_bytes` and events up to `last`: for media that are no files of this machine.
    pub fn over(
        medium: Box<dyn Medium>,
        path: &Path,
        end_bytes: u64,
        last: u64,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, RecorderError> {
        Self::on(Journal::new(medium, path.to_owned(), end_bytes, None), path.to_owned(), last + 1, clock)
    }

    fn on(journal: Journal, path: PathBuf, next: u64, clock: Arc<dyn Clock>) -> Result<Self, RecorderError> {
        let (jobs, queue) = mpsc::channel(QUEUE);
        let keeping = Keeping::on(journal);
        let writer = keeping.clone();
        let thread = std::thread::Builder::new()
            .name("recorder".to_owned())
            .spawn(move || write_all(&writer, queue))
            .map_err(|error| RecorderError { path: path.clone(), error, goes_on: false })?;
        Ok(Self { clock, next: Mutex::new(next), jobs, thread: Some(thread), path, keeping })
    }

    /// The file it began with.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// How the writing stands, also after the recorder is gone.
    pub fn keeping(&self) -> Keeping {
        self.keeping.clone()
    }
}

/// A new file with its header.
fn begin(dir: &Path, header: &Header) -> Result<(Journal, PathBuf), RecorderError> {
    let path = dir.join(header.id.file_name());
    let folder = || match std::fs::create_dir_all(dir) {
        Err(_) if dir.exists() => Err(std::io::Error::other("this is no folder")),
        made => made,
    };
    folder().map_err(|error| RecorderError { path: dir.to_owned(), error, goes_on: false })?;
    let open = || -> std::io::Result<Journal> {
        let mut file = journal::create(&path)?;
        let mut line = serde_json::to_string(header)?;
        line.push('\n');
        if let Err(error) = file.write_all(line.as_bytes()) {
            // Nothing is in it yet, and a file without a header would be listed as damaged.
            std::fs::remove_file(&path)?;
            return Err(error);
        }
        Ok(Journal::new(Box::new(file), path.clone(), line.len() as u64, None))
    };
    let journal = open().map_err(|error| RecorderError { path: path.clone(), error, goes_on: false })?;
    Ok((journal, path))
}

impl Drop for Recorder {
    fn drop(&mut self) {
        let (closed, _) = mpsc::channel(1);
        self.jobs = closed;
        if let Some(thread) = self.thread.take() {
            // The writer only ends after its queue is empty; a panic there has already failed an emit.
            _ = thread.join();
        }
    }
}

impl Recorder {
    /// Numbers and writes an event of this time (Unix ms). What is waited for is in the file when it returns.
    pub async fn record(&self, at_ms: i64, address: Address, event: Event) -> Result<Envelope, SinkError> {
        let mut next = self.next.lock().await;
        let envelope = Envelope { seq: *next, at_ms, address, event };
        let (taken, done) = oneshot::channel();
        let waits = is_waited_for(&envelope.event);
        let job = Job { envelope: envelope.clone(), taken: waits.then_some(taken) };
        let gone = || SinkError::Storage(format!("the writer of {} has stopped", self.path.display()));
        self.jobs.send(job).await.map_err(|_| gone())?;
        *next += 1;
        drop(next);
        if waits {
            done.await.map_err(|_| gone())?;
        }
        Ok(envelope)
    }
}

/// Does the engine wait until this event is written? Inputs are acted on, and what asks a person or has an effect must be known
/// after a crash.
fn is_waited_for(event: &Event) -> bool {
    match event {
        Event::ReplyPart(_) => false,
        Event::RunEnd(_) | Event::RunWait(_) | Event::QuestionAsked(_) => true,
        Event::ToolCall(call) => call.effectful,
        event => event.class() == Class::Input,
    }
}

impl Sink for Recorder {
    fn emit(&self, address: Address, event: Event) -> BoxFuture<'_, Result<Envelope, SinkError>> {
        Box::pin(async move { self.record(self.clock.now_ms(&address), address, event).await })
    }
}

/// The writer's thread: what the journal cannot write it keeps.
fn write_all(keeping: &Keeping, mut queue: mpsc::Receiver<Job>) {
    while let Some(job) = queue.blocking_recv() {
        keeping.work(|journal| journal.take(&job.envelope));
        if let Some(taken) = job.taken {
            // The engine may have gone away meanwhile; the line is taken all the same.
            _ = taken.send(());
        }
    }
}
