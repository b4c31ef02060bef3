//! The recorder: the only writer of a session file. One thread, one lock, one line per event.
//!
//! In: events in order. Out: the file. Every event reaches the operating system before the engine goes on past an input;
//! the disk is synced at turn and run ends.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures::future::BoxFuture;
use tokio::sync::{Mutex, mpsc, oneshot};

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
}

impl std::fmt::Display for RecorderError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "cannot write sessions to {}: {} (choose another folder with --sessions, or run with --no-save)",
            self.path.display(),
            self.error
        )
    }
}

impl std::error::Error for RecorderError {}

struct Job {
    envelope: Envelope,
    written: Option<oneshot::Sender<Result<(), String>>>,
}

/// Writes one session. Dropping it closes the file after the last event was written.
pub struct Recorder {
    clock: Arc<dyn Clock>,
    next: Mutex<u64>,
    jobs: mpsc::Sender<Job>,
    thread: Option<std::thread::JoinHandle<()>>,
    path: PathBuf,
}

impl Recorder {
    /// Creates `<dir>/<id>.jsonl`, takes its lock and writes the header. The folder is made when it does not exist.
    pub fn create(dir: &Path, header: &Header, clock: Arc<dyn Clock>) -> Result<Self, RecorderError> {
        let path = dir.join(header.id.file_name());
        let folder = || match std::fs::create_dir_all(dir) {
            Err(_) if dir.exists() => Err(std::io::Error::other("this is no folder")),
            made => made,
        };
        folder().map_err(|error| RecorderError { path: dir.to_owned(), error })?;
        let open = || -> std::io::Result<File> {
            let mut file = OpenOptions::new().append(true).create_new(true).open(&path)?;
            file.try_lock().map_err(std::io::Error::other)?;
            let mut line = serde_json::to_string(header)?;
            line.push('\n');
            file.write_all(line.as_bytes())?;
            Ok(file)
        };
        let file = open().map_err(|error| RecorderError { path: path.clone(), error })?;
        Self::on(file, path, 1, clock)
    }

    /// Creates a session that starts with the events of another one, as they were.
    pub fn create_from(
        dir: &Path,
        header: &Header,
        events: &[Envelope],
        clock: Arc<dyn Clock>,
    ) -> Result<Self, RecorderError> {
        let mut recorder = Self::create(dir, header, clock)?;
        let path = recorder.path.clone();
        let copy = || -> std::io::Result<()> {
            let mut file = OpenOptions::new().append(true).open(&path)?;
            let mut last_turn_end = None;
            events.iter().try_for_each(|envelope| write_line(&mut file, envelope, &mut last_turn_end))
        };
        copy().map_err(|error| RecorderError { path: path.clone(), error })?;
        *recorder.next.get_mut() = events.last().map_or(1, |last| last.seq + 1);
        Ok(recorder)
    }

    /// Goes on with a session as it was read: takes its lock and drops a torn last line. Fails when another program writes it, or
    /// has written to it since.
    pub fn append(session: &Session, clock: Arc<dyn Clock>) -> Result<Self, RecorderError> {
        let (path, last) = (session.path.as_path(), session.events().last().map_or(0, |last| last.seq));
        let open = || -> std::io::Result<File> {
            let mut file = OpenOptions::new().read(true).append(true).open(path)?;
            file.try_lock().map_err(|_| std::io::Error::other("another program is writing this session"))?;
            file.seek(SeekFrom::Start(session.end))?;
            let mut torn = Vec::new();
            file.read_to_end(&mut torn)?;
            if torn.contains(&b'\n') {
                return Err(std::io::Error::other("another program has written to this session; try again"));
            }
            file.set_len(session.end)?;
            Ok(file)
        };
        let file = open().map_err(|error| RecorderError { path: path.to_owned(), error })?;
        Self::on(file, path.to_owned(), last + 1, clock)
    }

    fn on(file: File, path: PathBuf, next: u64, clock: Arc<dyn Clock>) -> Result<Self, RecorderError> {
        let (jobs, queue) = mpsc::channel(QUEUE);
        let thread = std::thread::Builder::new()
            .name("recorder".to_owned())
            .spawn(move || write_all(file, queue))
            .map_err(|error| RecorderError { path: path.clone(), error })?;
        Ok(Self { clock, next: Mutex::new(next), jobs, thread: Some(thread), path })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }
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
    /// Numbers and writes an event of this time (Unix ms). Inputs other than reply text, and the end of a run, are in the file when it
    /// returns.
    pub async fn record(&self, at_ms: i64, address: Address, event: Event) -> Result<Envelope, SinkError> {
        let mut next = self.next.lock().await;
        let envelope = Envelope { seq: *next, at_ms, address, event };
        let waits = envelope.event.class() == Class::Input && !matches!(envelope.event, Event::ReplyPart(_))
            || matches!(envelope.event, Event::RunEnd(_));
        let (written, done) = oneshot::channel();
        let job = Job { envelope: envelope.clone(), written: waits.then_some(written) };
        let gone = || SinkError::Storage(format!("the writer of {} has stopped", self.path.display()));
        self.jobs.send(job).await.map_err(|_| gone())?;
        *next += 1;
        drop(next);
        if waits {
            let failed = |error| SinkError::Storage(format!("{} cannot be written: {error}", self.path.display()));
            done.await.map_err(|_| gone())?.map_err(failed)?;
        }
        Ok(envelope)
    }
}

impl Sink for Recorder {
    fn emit(&self, address: Address, event: Event) -> BoxFuture<'_, Result<Envelope, SinkError>> {
        Box::pin(async move { self.record(self.clock.now_ms(&address), address, event).await })
    }
}

/// The writer's thread. After a failed write every further event fails with the same words.
fn write_all(mut file: File, mut queue: mpsc::Receiver<Job>) {
    let mut last_turn_end: Option<u64> = None;
    let mut failed: Option<String> = None;
    while let Some(job) = queue.blocking_recv() {
        let result = match &failed {
            Some(error) => Err(error.clone()),
            None => write_line(&mut file, &job.envelope, &mut last_turn_end).map_err(|error| error.to_string()),
        };
        if let Err(error) = &result {
            failed.get_or_insert_with(|| error.clone());
        }
        if let Some(written) = job.written {
            // The engine may have gone away meanwhile; the line is written all the same.
            _ = written.send(result);
        }
    }
}

fn write_line(file: &mut File, envelope: &Envelope, last_turn_end: &mut Option<u64>) -> std::io::Result<()> {
    let is_turn_end = matches!(envelope.event, Event::TurnEnd(_));
    let here = if is_turn_end { Some(file.seek(SeekFrom::End(0))?) } else { None };
    let back = here.and_then(|here| last_turn_end.map(|last| here - last));
    let mut line = envelope.to_line(back)?;
    line.push('\n');
    file.write_all(line.as_bytes())?;
    if is_turn_end || matches!(envelope.event, Event::RunEnd(_)) {
        file.sync_data()?;
    }
    if here.is_some() {
        *last_turn_end = here;
    }
    Ok(())
}
