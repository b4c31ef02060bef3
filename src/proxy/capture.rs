//! The way of traffic to its recorder: notes over a channel to one thread that writes all sessions.
//!
//! In: exchanges as they begin. Out: sessions, and a line for each exchange that ends. Bytes that wait for the recorder have a limit
//! together; beyond it connections wait. It must never lose a note while the thread runs.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::{Semaphore, mpsc};

use super::exchange::{Begun, Exchange, ExchangeLine, Note, room_for};
use super::recorder::Recorder;
use super::retention::Retention;
use crate::event::Price;
use crate::port::SystemClock;

/// Most bytes of traffic that wait for the recorder.
pub(super) const MEMORY_BYTES: usize = 64 << 20;

/// How often idle conversations are looked for.
const LOOK_EACH: Duration = Duration::from_secs(20);

/// Prices of models, by upstream and model.
pub type Prices = Box<dyn Fn(&str, &str) -> Option<Price> + Send>;

/// Gets exchanges that have ended, and problems of recording in words.
pub type Report = Box<dyn Fn(Result<&ExchangeLine, &str>) + Send>;

/// How traffic is recorded.
pub struct CaptureOptions {
    /// Folder of sessions.
    pub dir: PathBuf,
    /// Which sessions are kept.
    pub retention: Retention,
    /// Prices of models.
    pub prices: Prices,
    /// Gets each exchange when it has ended, and problems of recording.
    pub report: Report,
}

/// Records exchanges. Dropping it ends the sessions; [`Self::close`] waits for that.
pub struct Capture {
    notes: mpsc::UnboundedSender<Note>,
    room: Arc<Semaphore>,
    next: AtomicU64,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Capture {
    /// Starts the recorder. Errors: the system has no thread left.
    pub fn start(options: CaptureOptions) -> std::io::Result<Self> {
        let (notes, queue) = mpsc::unbounded_channel();
        let thread = std::thread::Builder::new().name("proxy recorder".to_owned());
        let thread = thread.spawn(move || record(queue, Recorder::new(options)))?;
        let room = Arc::new(Semaphore::new(MEMORY_BYTES));
        Ok(Self { notes, room, next: AtomicU64::new(1), thread: Some(thread) })
    }

    /// Begins an exchange.
    pub(super) async fn begin(&self, begun: Begun) -> Exchange {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let started = Instant::now();
        let room = room_for(&self.room, &self.notes, begun.body.len()).await;
        _ = self.notes.send(Note::Begun { id, at_ms: SystemClock.now(), begun: Box::new(begun), _room: room });
        Exchange { id, notes: self.notes.clone(), room: Arc::clone(&self.room), started, end: None }
    }

    /// Ends all sessions and waits until they are written. Exchanges that still run are recorded as far as they came.
    pub fn close(mut self) {
        self.end();
    }

    fn end(&mut self) {
        _ = self.notes.send(Note::Close);
        if let Some(thread) = self.thread.take() {
            // After a panic its sessions are on the disk as far as they were written.
            _ = thread.join();
        }
    }
}

impl Drop for Capture {
    fn drop(&mut self) {
        self.end();
    }
}

/// Thread function.
fn record(mut queue: mpsc::UnboundedReceiver<Note>, mut recorder: Recorder) {
    let mut looked = Instant::now();
    while let Some(note) = queue.blocking_recv() {
        if matches!(note, Note::Close) {
            break;
        }
        recorder.take(note);
        if looked.elapsed() >= LOOK_EACH {
            recorder.close_idle(SystemClock.now());
            looked = Instant::now();
        }
    }
    recorder.close_all(SystemClock.now());
}
