//! The way of traffic to its recorder: notes over a channel to one thread that writes all sessions.
//!
//! In: exchanges as they begin. Out: sessions, and a line for each exchange that ends. Bytes that wait for the recorder have a limit
//! together; beyond it connections wait. It must never lose a note while the thread runs.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::time::MissedTickBehavior;

use super::exchange::{Begun, Exchange, ExchangeLine, Note, elapsed_ms, room_for};
use super::late_line::HeldLine;
use super::live::LiveTraffic;
use super::recorder::Recorder;
use super::retention::Retention;
use crate::event::Price;
use crate::port::SystemClock;
use crate::server::ListenerEnd;

/// Maximum bytes of traffic that wait for the recorder.
pub(super) const MEMORY_BYTES: usize = 64 << 20;

/// Time after which a conversation is ended. What follows later is a session of its own.
pub const IDLE: Duration = Duration::from_mins(15);

/// Longest time between two searches for idle conversations.
const LOOK_EACH: Duration = Duration::from_secs(20);

/// Maximum delay until text that a screen follows is written.
const FOLLOW_EACH: Duration = Duration::from_millis(50);

/// Shortest time from a note to its record: a request is passed on before its session is written, which takes longer.
const DELAY: Duration = Duration::from_millis(5);

/// Notes that are taken at once after a pause in the traffic.
const TAKEN: usize = 256;

/// Added to the nice value of the recorder's thread: traffic passes first, its record is written soon after.
#[cfg(target_os = "linux")]
const RECORDER_NICE: i32 = 10;

/// Prices of models, by upstream and model.
pub type Prices = Box<dyn Fn(&str, &str) -> Option<Price> + Send>;

/// Receives finished exchanges, and recording errors as text.
pub type Report = Box<dyn Fn(Result<&ExchangeLine, &str>) + Send>;

/// Options of recording.
pub struct CaptureOptions {
    /// Folder of sessions.
    pub dir: PathBuf,
    /// Limits of the sessions that are kept.
    pub retention: Retention,
    /// Prices of models.
    pub prices: Prices,
    /// Gets each exchange when it has ended, and problems of recording.
    pub report: Report,
    /// Time after which a conversation without a request is ended.
    pub idle: Duration,
    /// The screen that follows the traffic.
    pub live: Option<LiveTraffic>,
}

/// Records exchanges. Dropping it ends the sessions; [`Self::close`] waits for that.
pub struct Capture {
    notes: mpsc::UnboundedSender<Note>,
    room: Arc<Semaphore>,
    next: AtomicU64,
    /// Exchanges whose end the recorder has taken.
    taken: Arc<AtomicU64>,
    end: ListenerEnd,
    thread: Mutex<Option<std::thread::JoinHandle<()>>>,
}

impl Capture {
    /// Starts the recorder of a listener that `end` ends. Errors: the system has no thread or timer left.
    pub fn start(options: CaptureOptions, end: ListenerEnd) -> std::io::Result<Self> {
        let (notes, queue) = mpsc::unbounded_channel();
        let thread = std::thread::Builder::new().name("proxy recorder".to_owned());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
        let taken = Arc::<AtomicU64>::default();
        let count = Arc::clone(&taken);
        let thread = thread.spawn(move || {
            // On Linux this is the priority of the thread, elsewhere of the whole process.
            #[cfg(target_os = "linux")]
            {
                _ = rustix::process::nice(RECORDER_NICE);
            }
            runtime.block_on(record(queue, options, &count));
        })?;
        let room = Arc::new(Semaphore::new(MEMORY_BYTES));
        Ok(Self { notes, room, next: AtomicU64::new(1), taken, end, thread: Mutex::new(Some(thread)) })
    }

    /// Returns the number of exchanges whose end is not recorded yet.
    pub(super) fn remaining(&self) -> u64 {
        let begun = self.next.load(Ordering::Relaxed).saturating_sub(1);
        begun.saturating_sub(self.taken.load(Ordering::Relaxed))
    }

    /// Begins an exchange.
    pub(super) async fn begin(&self, begun: Begun) -> Exchange {
        self.begin_sent(begun, Instant::now(), None).await
    }

    /// Begins an exchange whose request was sent then. One with a line is recorded only if it fetches a deferred reply.
    pub(super) async fn begin_sent(&self, begun: Begun, started: Instant, line: Option<HeldLine>) -> Exchange {
        let room = room_for(&self.room, &self.notes, begun.body.len()).await;
        self.begin_in(room, started, begun, line)
    }

    /// Like `begin`, without waiting, for a request that is already in memory.
    pub(super) fn begin_in_hand(&self, begun: Begun) -> Exchange {
        self.begin_in(None, Instant::now(), begun, None)
    }

    fn begin_in(
        &self,
        room: Option<OwnedSemaphorePermit>,
        started: Instant,
        begun: Begun,
        line: Option<HeldLine>,
    ) -> Exchange {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let connection = begun.connection.clone();
        let at_ms = SystemClock.now().saturating_sub_unsigned(elapsed_ms(started));
        _ = self.notes.send(Note::Begun { id, at_ms, begun: Box::new(begun), line, _room: room });
        let (notes, room, listener) = (self.notes.clone(), Arc::clone(&self.room), self.end.clone());
        Exchange { id, notes, room, started, end: None, listener, connection }
    }

    /// Ends all sessions and waits until they are written. Exchanges that still run are recorded as far as they came.
    pub fn close(&self) {
        _ = self.notes.send(Note::Close);
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            // After a panic its sessions are on the disk as far as they were written.
            _ = thread.join();
        }
    }
}

impl Drop for Capture {
    fn drop(&mut self) {
        self.close();
    }
}

/// Takes notes until the end, each at least [`DELAY`] after it came, and counts the exchanges that ended.
async fn record(mut queue: mpsc::UnboundedReceiver<Note>, options: CaptureOptions, taken: &AtomicU64) {
    let mut idle = tokio::time::interval(options.idle.min(LOOK_EACH).max(Duration::from_millis(1)));
    idle.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut follow = tokio::time::interval(FOLLOW_EACH);
    follow.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut recorder = Recorder::new(options);
    // Notes that came since the last pause, and those before it.
    let (mut recent, mut due) = (Vec::new(), Vec::new());
    // An interval, because each of the other ticks would restart a `sleep`.
    let mut pause = tokio::time::interval(DELAY);
    'all: loop {
        let is_idle = recent.is_empty() && due.is_empty();
        tokio::select! {
            received = queue.recv_many(&mut recent, TAKEN), if is_idle => {
                if received == 0 {
                    break;
                }
                pause.reset();
            }
            _ = pause.tick(), if !is_idle => {
                for note in due.drain(..) {
                    if matches!(note, Note::Close) {
                        break 'all;
                    }
                    let is_end = matches!(note, Note::Ended { .. });
                    recorder.take(note);
                    taken.fetch_add(u64::from(is_end), Ordering::Relaxed);
                }
                std::mem::swap(&mut recent, &mut due);
                while let Ok(note) = queue.try_recv() {
                    recent.push(note);
                }
                pause.reset();
            }
            _ = follow.tick(), if recorder.is_followed() => recorder.show_text(SystemClock.now()),
            _ = idle.tick() => recorder.close_idle(SystemClock.now()),
        }
    }
    recorder.close_all(SystemClock.now());
}
