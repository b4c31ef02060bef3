//! The recorder: the only writer of a session. It has one thread and one file lock, and writes one line per event.
//!
//! In: events in order. Out: the file. The operating system has every event before the engine acts on an input; the
//! file is synced at the end of turns and runs, before questions to the user and before effects. A write error does not
//! end the run: the events stay in memory, and [`RecorderStatus`] reports the error and can move the session to another
//! folder.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, OnceLock, PoisonError};
use std::time::Duration;

use futures::future::BoxFuture;
use tokio::sync::{Mutex, mpsc, oneshot};

use super::copy::LineCopy;
use super::journal::{self, Journal, Medium, UnwrittenEvents};
use super::{Header, Session};
use crate::config::create_private_dir;
use crate::event::{Address, Class, Envelope, Event};
use crate::port::{Clock, Sink, SinkError};

/// Number of events that may be queued before `emit` waits.
const QUEUE: usize = 256;

/// Time between two checks that the file is still in its place.
const CHECK_EACH: Duration = Duration::from_secs(1);

/// Reason why a session file could not be opened for writing.
#[derive(Debug)]
pub struct RecorderError {
    /// The file.
    pub path: PathBuf,
    /// The error of the operating system.
    pub error: std::io::Error,
    /// An existing session was to be extended: choosing another folder does not help.
    pub is_append: bool,
}

impl std::fmt::Display for RecorderError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.is_append {
            return write!(f, "could not append to {}: {}", self.path.display(), self.error);
        }
        write!(
            f,
            "could not create a session in {}: {} (choose another folder with --sessions)",
            self.path.display(),
            self.error
        )
    }
}

impl std::error::Error for RecorderError {}

struct Job {
    envelope: Envelope,
    written: Option<oneshot::Sender<()>>,
}

/// State of a session's file. Clones share it; they outlive the recorder and own the events that are not written yet.
#[derive(Clone)]
pub struct RecorderStatus {
    /// Locked while the disk works, which may take long.
    journal: Arc<std::sync::Mutex<Journal>>,
    /// State after the last write. Locked only briefly, so that a run can check it after every event.
    state: Arc<std::sync::Mutex<FileState>>,
    /// The current write error has been reported.
    reported: Arc<AtomicBool>,
    /// The move of the session has been reported.
    reported_move: Arc<AtomicBool>,
    /// The folder that takes the session when its file is lost.
    spare_dir: Arc<OnceLock<PathBuf>>,
}

/// The current file and the events it lacks.
struct FileState {
    path: PathBuf,
    unwritten: Option<UnwrittenEvents>,
    moved_from: Option<UnwrittenEvents>,
}

impl FileState {
    fn of(journal: &Journal) -> Self {
        let (unwritten, moved_from) = (journal.unwritten(), journal.moved_from().cloned());
        Self { path: journal.path().to_owned(), unwritten, moved_from }
    }
}

impl std::fmt::Debug for RecorderStatus {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("RecorderStatus").field(&self.path()).finish()
    }
}

impl RecorderStatus {
    fn new(journal: Journal) -> Self {
        let state = Arc::new(std::sync::Mutex::new(FileState::of(&journal)));
        let journal = Arc::new(std::sync::Mutex::new(journal));
        Self { journal, state, reported: Arc::default(), reported_move: Arc::default(), spare_dir: Arc::default() }
    }

    /// Names the folder that takes the session when its file is lost. The first one counts.
    pub fn set_spare_dir(&self, dir: &Path) {
        _ = self.spare_dir.set(dir.to_owned());
    }

    fn state(&self) -> std::sync::MutexGuard<'_, FileState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs an operation on the journal and updates the state.
    fn with_journal<T>(&self, operation: impl FnOnce(&mut Journal) -> T) -> T {
        let mut journal = self.journal.lock().unwrap_or_else(PoisonError::into_inner);
        let result = operation(&mut journal);
        *self.state() = FileState::of(&journal);
        result
    }

    /// Returns the current file.
    pub fn path(&self) -> PathBuf {
        self.state().path.clone()
    }

    /// Returns the events that the file lacks; `None` when all are written.
    pub fn unwritten(&self) -> Option<UnwrittenEvents> {
        self.state().unwritten.clone()
    }

    /// Returns a notice if writing has started to fail or to work again since the last call.
    pub fn take_notice(&self) -> Option<String> {
        if let Some(lost) = self.moved_from().filter(|_| !self.reported_move.swap(true, Ordering::Relaxed)) {
            self.reported.store(false, Ordering::Relaxed);
            let path = self.path();
            return Some(format!("{lost} until now; the run continues in {}", path.display()));
        }
        let unwritten = self.unwritten();
        if self.reported.swap(unwritten.is_some(), Ordering::Relaxed) == unwritten.is_some() {
            return None;
        }
        Some(match unwritten {
            Some(unwritten) => format!("{unwritten}; the run continues"),
            None => format!("writing the session works again: {}", self.path().display()),
        })
    }

    /// Returns the file that was lost while the run wrote it, after another folder has taken the session.
    pub fn moved_from(&self) -> Option<UnwrittenEvents> {
        self.state().moved_from.clone()
    }

    /// Retries the write and checks the whole file. Returns the events that the file lacks.
    pub fn retry(&self) -> Option<UnwrittenEvents> {
        self.with_journal(|journal| {
            if journal.unwritten().is_some() {
                journal.write_and_sync();
            }
            journal.check_content();
            journal.unwritten()
        })
    }

    /// Checks that the file is the one that was opened, with the length that was written; else the spare folder takes the
    /// session.
    pub fn check_place(&self) {
        self.with_journal(|journal| {
            journal.check_place();
            if let (true, Some(dir)) = (journal.is_lost(), self.spare_dir.get())
                && let Err(error) = journal.rescue(dir)
            {
                // The lines stay in memory, and the next check tries again.
                tracing::warn!(%error, "the session could not be moved to the spare folder");
            }
        });
    }

    /// Moves the session to another folder under the same name. The new file gets all events; the old file is not
    /// changed.
    pub fn move_to(&self, dir: &Path) -> Result<PathBuf, RecorderError> {
        self.with_journal(|journal| {
            journal.move_to(dir)?;
            Ok(journal.path().to_owned())
        })
    }
}

/// Writes one session. Dropping it writes the queued events and closes the file.
pub struct Recorder {
    clock: Arc<dyn Clock>,
    next: Mutex<u64>,
    jobs: mpsc::Sender<Job>,
    threads: Vec<std::thread::JoinHandle<()>>,
    closed: Arc<CloseSignal>,
    path: PathBuf,
    status: RecorderStatus,
}

/// Signal that the recorder is dropped.
#[derive(Default)]
struct CloseSignal {
    is_closed: std::sync::Mutex<bool>,
    changed: Condvar,
}

impl Recorder {
    /// Creates and locks `<dir>/<id>.jsonl` and writes the header. Creates the folder if necessary.
    pub fn create(dir: &Path, header: &Header, clock: Arc<dyn Clock>) -> Result<Self, RecorderError> {
        let path = path_in(dir, header)?;
        let journal = create_file(&path, header)?;
        Self::start(journal, path, 1, clock)
    }

    /// Creates and locks a session file of any name and writes the header. Its folder must exist.
    pub fn create_at(path: &Path, header: &Header, clock: Arc<dyn Clock>) -> Result<Self, RecorderError> {
        Self::start(create_file(path, header)?, path.to_owned(), 1, clock)
    }

    /// Creates a session that starts with unmodified events of another one.
    pub fn create_from(
        dir: &Path,
        header: &Header,
        events: &[Envelope],
        clock: Arc<dyn Clock>,
    ) -> Result<Self, RecorderError> {
        let path = path_in(dir, header)?;
        let mut journal = create_file(&path, header)?;
        for envelope in events {
            journal.append_event(envelope);
        }
        if let Some(unwritten) = journal.unwritten() {
            // A partial copy would be listed as a session. An error here changes nothing.
            _ = std::fs::remove_file(&path);
            return Err(RecorderError { path, error: std::io::Error::other(unwritten.error), is_append: false });
        }
        Self::start(journal, path, events.last().map_or(1, |last| last.seq + 1), clock)
    }

    /// Continues a session: locks its file and drops a torn last line. Fails when another program is writing it, has
    /// written to it since it was read, or when a newer program created it.
    pub fn append(session: &Session, clock: Arc<dyn Clock>) -> Result<Self, RecorderError> {
        let path = session.path.clone();
        let last = (0..session.len()).rev().find_map(|index| session.event(index)).map_or(0, |last| last.seq);
        let newer_version =
            || std::io::Error::other(format!("it was written by {}, which can continue it", session.header.program));
        let file = if session.header.is_of_later_version() {
            Err(newer_version())
        } else {
            journal::reopen(&path, session.end)
        };
        let opened = file.map_err(|error| RecorderError { path: path.clone(), error, is_append: true })?;
        let (file, end) = opened;
        let copy = LineCopy::read(&path, end);
        let journal = copy.and_then(|copy| Journal::new(Box::new(file), path.clone(), copy, session.last_turn_end()));
        let journal = journal.map_err(|error| RecorderError { path: path.clone(), error, is_append: true })?;
        Self::start(journal, path, last + 1, clock)
    }

    /// Writes to a medium of length `end_bytes` whose last event is `last`.
    pub fn with_medium(
        medium: Box<dyn Medium>,
        path: &Path,
        end_bytes: u64,
        last: u64,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, RecorderError> {
        let copy = LineCopy::read(path, end_bytes);
        let journal = copy.and_then(|copy| Journal::new(medium, path.to_owned(), copy, None));
        let journal = journal.map_err(|error| RecorderError { path: path.to_owned(), error, is_append: false })?;
        Self::start(journal, path.to_owned(), last + 1, clock)
    }

    fn start(journal: Journal, path: PathBuf, next: u64, clock: Arc<dyn Clock>) -> Result<Self, RecorderError> {
        let (jobs, queue) = mpsc::channel(QUEUE);
        let status = RecorderStatus::new(journal);
        let (writer, checked, closed) = (status.clone(), status.clone(), Arc::<CloseSignal>::default());
        let until = Arc::clone(&closed);
        let thread = |name: &str| std::thread::Builder::new().name(name.to_owned());
        let threads = [
            thread("recorder").spawn(move || write_queue(&writer, queue)),
            thread("session check").spawn(move || check_regularly(&checked, &until)),
        ];
        let threads = threads.into_iter().collect::<std::io::Result<Vec<_>>>();
        let threads = threads.map_err(|error| RecorderError { path: path.clone(), error, is_append: false })?;
        Ok(Self { clock, next: Mutex::new(next), jobs, threads, closed, path, status })
    }

    /// Returns the file that was opened first.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the clock of its events.
    pub fn clock(&self) -> Arc<dyn Clock> {
        Arc::clone(&self.clock)
    }

    /// Returns the state of the file; it stays valid after the recorder is dropped.
    pub fn status(&self) -> RecorderStatus {
        self.status.clone()
    }
}

/// Returns the path of a session in a folder, which is created if necessary.
fn path_in(dir: &Path, header: &Header) -> Result<PathBuf, RecorderError> {
    let created = match create_private_dir(dir) {
        Err(_) if dir.exists() => Err(std::io::Error::other("it is not a folder")),
        created => created,
    };
    created.map_err(|error| RecorderError { path: dir.to_owned(), error, is_append: false })?;
    Ok(dir.join(header.id.file_name()))
}

/// Creates a file with its header.
fn create_file(path: &Path, header: &Header) -> Result<Journal, RecorderError> {
    let open = || -> std::io::Result<Journal> {
        let mut file = journal::create(path)?;
        let mut line = serde_json::to_string(header)?;
        line.push('\n');
        if let Err(error) = file.write_all(line.as_bytes()) {
            // A file without a header would be listed as damaged.
            std::fs::remove_file(path)?;
            return Err(error);
        }
        let mut copy = LineCopy::new();
        copy.add(line.as_bytes())?;
        Journal::new(Box::new(file), path.to_owned(), copy, None)
    };
    open().map_err(|error| RecorderError { path: path.to_owned(), error, is_append: false })
}

impl Drop for Recorder {
    fn drop(&mut self) {
        let (closed, _) = mpsc::channel(1);
        self.jobs = closed;
        *self.closed.is_closed.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.closed.changed.notify_all();
        for thread in self.threads.drain(..) {
            // The writer ends when its queue is empty; if it panicked, an `emit` has already failed.
            _ = thread.join();
        }
    }
}

impl Recorder {
    /// Numbers and writes an event with this time (Unix ms). Events that require it are in the file on return.
    pub async fn record(&self, at_ms: i64, address: Address, event: Event) -> Result<Envelope, SinkError> {
        let mut next = self.next.lock().await;
        let envelope = Envelope { seq: *next, at_ms, address, event };
        let (written, done) = oneshot::channel();
        let waits = must_wait_for(&envelope.event);
        let job = Job { envelope: envelope.clone(), written: waits.then_some(written) };
        let stopped = || SinkError::Storage(format!("the writer of {} has stopped", self.path.display()));
        self.jobs.send(job).await.map_err(|_| stopped())?;
        *next += 1;
        drop(next);
        if waits {
            done.await.map_err(|_| stopped())?;
        }
        Ok(envelope)
    }
}

/// Returns whether `emit` waits until an event is written: inputs, questions and effects must be known after a crash.
fn must_wait_for(event: &Event) -> bool {
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

/// Thread function: passes queued events to the journal.
fn write_queue(status: &RecorderStatus, mut queue: mpsc::Receiver<Job>) {
    while let Some(job) = queue.blocking_recv() {
        status.with_journal(|journal| journal.append_event(&job.envelope));
        if let Some(written) = job.written {
            // The receiver may have been dropped; the event is written anyway.
            _ = written.send(());
        }
    }
}

/// Thread function: checks the file until the recorder is dropped.
fn check_regularly(status: &RecorderStatus, closed: &CloseSignal) {
    let mut is_closed = closed.is_closed.lock().unwrap_or_else(PoisonError::into_inner);
    while !*is_closed {
        let waited = closed.changed.wait_timeout_while(is_closed, CHECK_EACH, |is_closed| !*is_closed);
        let (guard, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
        is_closed = guard;
        if timeout.timed_out() {
            drop(is_closed);
            status.check_place();
            is_closed = closed.is_closed.lock().unwrap_or_else(PoisonError::into_inner);
        }
    }
}
