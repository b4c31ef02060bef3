//! A run or a replay as an interface follows it.
//!
//! In: a started run with the queue of its questions, or a session to replay. Out: a [`RunHandle`]: updates in order, the end as the last
//! one; answers, a stop and a folder for the session go back. It must never block: work that waits for a disk runs on a blocking thread.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::FutureExt as _;
use futures::future::BoxFuture;
use ptc_core::reasons::Reason;
use tokio::sync::{Notify, mpsc};
use tokio::task::AbortHandle;

use super::{BackgroundRun, Feed, QuestionQueue, QueuedQuestion, SaveOutcome, SessionSaver};
use crate::event::{Address, Envelope, ErrorRecord};
use crate::port::{Question, Stop, SystemClock};
use crate::replay::{Divergence, Layer, Policy, Recording, ReplayOutcome, Report, Rules, replay_by, replay_redacted};
use crate::session::{RecorderStatus, Session};

/// Something that happened in a run or a replay.
#[derive(Debug, Clone, PartialEq)]
pub enum RunUpdate {
    /// An event, in order.
    Event(Box<Envelope>),
    /// The user is asked. The question ends with its answer, its turn or the run.
    Question(Question),
    /// The run has ended and its session is only in memory: the user names a folder. Repeated when that folder cannot be written either.
    Unwritten {
        /// Text for the user: what could not be written, and why.
        reason: String,
        /// A folder to suggest.
        suggested: PathBuf,
    },
    /// The end; nothing follows.
    Ended(RunEnding),
}

/// End of a run or a replay, beyond its events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunEnding {
    /// A live run has ended.
    Run,
    /// A live run has ended, and its session is not where it began: the text names the place.
    Elsewhere(String),
    /// A live run has ended, and no folder has its whole session: the text explains what is missing and why.
    Unsaved(String),
    /// The replay gave the same events, up to the end of the recording; the address is where an unfinished one ends.
    Identical(Option<Address>),
    /// The replay differs.
    Diverged {
        /// Address of the first difference.
        at: Address,
        /// Heading and report of each divergence.
        parts: Vec<(String, String)>,
    },
    /// It failed outside of the run itself (storage, a fault of the program): what happened and what to do.
    Broken(ErrorRecord),
}

/// A run or a replay in the background. Dropping the handle does not stop it.
#[derive(Debug)]
pub struct RunHandle {
    session: Option<String>,
    feed: Feed,
    /// Updates that follow the events of the feed.
    last: Arc<LastUpdates>,
    stop: Stopper,
    queue: Option<Arc<QuestionQueue>>,
    pending: Mutex<PendingQuestion>,
    /// True once the run is suspended: new questions are dropped.
    is_unattended: AtomicBool,
    /// State of the session's file; `None` where nothing is written.
    status: Option<RecorderStatus>,
    /// Takes the folder for a session that could not be written; `None` is the spare one.
    folder: mpsc::UnboundedSender<Option<PathBuf>>,
}

#[derive(Debug)]
enum Stopper {
    Run(Stop),
    Replay(AbortHandle),
}

/// The question that waits for its answer.
#[derive(Debug, Default)]
struct PendingQuestion {
    queued: Option<QueuedQuestion>,
    /// It was not drained yet.
    is_new: bool,
}

/// Updates that follow the events of a run.
#[derive(Debug, Default)]
struct LastUpdates {
    queue: Mutex<VecDeque<RunUpdate>>,
    changed: Notify,
}

impl LastUpdates {
    fn push(&self, update: RunUpdate) {
        lock(&self.queue).push_back(update);
        self.changed.notify_one();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl RunHandle {
    /// Follows a run whose questions come to this queue. Must be called inside of the runtime.
    pub fn of_run(run: BackgroundRun, queue: Arc<QuestionQueue>) -> Self {
        let last = Arc::new(LastUpdates::default());
        let (folder, mut folders) = mpsc::unbounded_channel();
        let (updates, task, saver) = (last.clone(), run.task, run.saver);
        let status = saver.as_ref().map(|saver| saver.status.clone());
        tokio::spawn(async move {
            let ending = match (task.await, saver) {
                (Ok(step), saver) => match step.fail.filter(|fail| fail.reason == Reason::RecorderFailed.name()) {
                    Some(fail) => RunEnding::Broken(fail),
                    None => match saver {
                        Some(saver) => save(saver, &updates, &mut folders).await,
                        None => RunEnding::Run,
                    },
                },
                (Err(error), _) => {
                    let message = format!("the run ended without an answer: {error}");
                    RunEnding::Broken(ErrorRecord::new(Reason::InternalError, message))
                }
            };
            updates.push(RunUpdate::Ended(ending));
        });
        let stop = Stopper::Run(run.stop);
        Self { session: run.session, queue: Some(queue), status, folder, ..Self::new(run.feed, last, stop) }
    }

    /// Replays a session. Must be called inside of the runtime.
    ///
    /// Errors: why the session cannot be replayed.
    pub fn of_replay(session: &Session, policy: Policy) -> Result<Self, String> {
        let recording = Arc::new(Recording::of(session)?);
        let is_redacted = session.header.redacted.is_some();
        let (feed, last) = (Feed::default(), Arc::new(LastUpdates::default()));
        let (watched, updates) = (feed.clone(), last.clone());
        let task = tokio::spawn(async move {
            let last_seq = AtomicU64::new(0);
            // Events are numbered across the runs and have the time of the replay.
            let watch = |envelope: &Envelope| {
                let seq = last_seq.fetch_add(1, Ordering::Relaxed) + 1;
                watched.push(Envelope { seq, at_ms: SystemClock.now(), ..envelope.clone() });
            };
            let rules = Rules { policy, ..Rules::strict() };
            let replayed = if is_redacted {
                Ok(replay_redacted(&rules, &recording, Some(&watch)).await)
            } else {
                replay_by(&rules, &recording, Some(&watch)).await.map(|(report, _)| report)
            };
            let ending = match replayed {
                Ok(report) => match &report.outcome {
                    ReplayOutcome::Identical => RunEnding::Identical(None),
                    ReplayOutcome::Unfinished { at } => RunEnding::Identical(Some(at.clone())),
                    ReplayOutcome::Diverged(first) => {
                        RunEnding::Diverged { at: first.address.clone(), parts: divergences(first, &report) }
                    }
                },
                Err(error) => RunEnding::Broken(ErrorRecord::new(Reason::InvalidAgent, error.to_string())),
            };
            updates.push(RunUpdate::Ended(ending));
        });
        Ok(Self::new(feed, last, Stopper::Replay(task.abort_handle())))
    }

    fn new(feed: Feed, last: Arc<LastUpdates>, stop: Stopper) -> Self {
        Self {
            session: None,
            feed,
            last,
            stop,
            queue: None,
            pending: Mutex::default(),
            is_unattended: AtomicBool::new(false),
            status: None,
            folder: mpsc::unbounded_channel().0,
        }
    }

    /// Returns the id of the session that the run is saved in.
    pub fn session(&self) -> Option<String> {
        self.session.clone()
    }

    /// Returns whether events of the run are only in memory, because its session cannot be written.
    pub fn is_unwritten(&self) -> bool {
        self.status.as_ref().is_some_and(|status| status.unwritten().is_some())
    }

    /// Returns the updates since the last call. Never blocks.
    pub fn drain(&self) -> Vec<RunUpdate> {
        // Taken first, so that no event comes after the end.
        let last = std::mem::take(&mut *lock(&self.last.queue));
        let events = self.feed.drain().into_iter();
        let mut updates: Vec<RunUpdate> = events.map(|envelope| RunUpdate::Event(Box::new(envelope))).collect();
        let mut pending = lock(&self.pending);
        if std::mem::take(&mut pending.is_new) {
            updates.extend(pending.queued.iter().map(|queued| RunUpdate::Question(queued.question.clone())));
        }
        updates.extend(last);
        updates
    }

    /// Resolves when there may be something to drain.
    pub fn changed(&self) -> BoxFuture<'_, ()> {
        async move {
            tokio::select! {
                () = self.feed.changed() => {}
                () = self.last.changed.notified() => {}
                queued = self.next_question() => {
                    // A question that is dropped stays unanswered: the run waits in its session.
                    let queued = queued.filter(|_| !self.is_unattended.load(Ordering::SeqCst));
                    *lock(&self.pending) = PendingQuestion { is_new: queued.is_some(), queued };
                }
            }
        }
        .boxed()
    }

    /// Waits for the next question, while none is pending.
    async fn next_question(&self) -> Option<QueuedQuestion> {
        match &self.queue {
            Some(queue) if !self.is_asking() => queue.next().await,
            _ => std::future::pending().await,
        }
    }

    /// Returns whether a question is pending.
    fn is_asking(&self) -> bool {
        lock(&self.pending).queued.as_ref().is_some_and(|queued| !queued.answer.is_closed())
    }

    /// Stops it. Returns at once; the end is an update.
    pub fn cancel(&self) {
        match &self.stop {
            Stopper::Run(stop) => {
                stop.by_user();
                self.save_to(None);
            }
            // A replay has no effects and no file: nothing remains to be done.
            Stopper::Replay(task) => {
                task.abort();
                self.last.push(RunUpdate::Ended(RunEnding::Run));
            }
        }
    }

    /// Answers [`RunUpdate::Unwritten`]: the folder that takes the session, or the spare one. Returns at once.
    pub fn save_to(&self, dir: Option<PathBuf>) {
        // A run whose session is written does not read it.
        _ = self.folder.send(dir);
    }

    /// Answers the pending question. Returns at once.
    pub fn answer(&self, question: &Address, text: String) {
        let mut pending = lock(&self.pending);
        if let Some(queued) = pending.queued.take_if(|queued| queued.question.address == *question)
            && queued.answer.send(text).is_err()
        {
            tracing::debug!(%question, "the run no longer waits for an answer");
        }
    }

    /// Suspends it: a run that asks the user waits in its session. Returns at once.
    pub fn suspend(&self) {
        self.is_unattended.store(true, Ordering::SeqCst);
        *lock(&self.pending) = PendingQuestion::default();
        // The user is not asked for a folder any more.
        self.save_to(None);
    }

    /// Makes room for another run: suspends a run that asks, cancels any other. Returns at once.
    pub fn give_way(&self) {
        if self.is_asking() { self.suspend() } else { self.cancel() }
    }
}

/// Saves the session of a finished run in a folder that can be written, as the user decides.
async fn save(
    saver: SessionSaver,
    updates: &LastUpdates,
    folders: &mut mpsc::UnboundedReceiver<Option<PathBuf>>,
) -> RunEnding {
    let retried = saver.clone();
    let first = tokio::task::spawn_blocking(move || match retried.status.retry() {
        Some(unwritten) => Err(unwritten),
        // The file was lost during the run, and the spare folder took the session.
        None => Ok(retried.status.moved_from().map(|_| ending(&retried.settle()))),
    });
    let unwritten = match first.await {
        Ok(Err(unwritten)) => unwritten,
        Ok(Ok(moved)) => return moved.unwrap_or(RunEnding::Run),
        Err(error) => return RunEnding::Unsaved(error.to_string()),
    };
    let mut reason = format!("{unwritten}. Choose another folder for the session");
    loop {
        updates.push(RunUpdate::Unwritten { reason, suggested: saver.spare_dir.clone() });
        let (folder, saver) = (folders.recv().await.flatten(), saver.clone());
        let moved = tokio::task::spawn_blocking(move || match folder {
            Some(dir) => {
                let moved = saver.move_to(&dir);
                moved.map(|path| RunEnding::Elsewhere(format!("the session is in {}", path.display())))
            }
            None => Ok(ending(&saver.settle())),
        });
        match moved.await {
            Ok(Ok(ending)) => return ending,
            Ok(Err(error)) => {
                reason = format!("could not save to {}: {}. Choose another folder", error.path.display(), error.error);
            }
            Err(error) => return RunEnding::Unsaved(error.to_string()),
        }
    }
}

/// The end of a run whose session is settled like this.
fn ending(settled: &SaveOutcome) -> RunEnding {
    match settled {
        SaveOutcome::Whole => RunEnding::Run,
        SaveOutcome::Elsewhere { .. } => RunEnding::Elsewhere(settled.to_string()),
        SaveOutcome::Partly { .. } => RunEnding::Unsaved(settled.to_string()),
    }
}

/// Returns every divergence with its heading, by layer, within a layer in the order of the run.
fn divergences(first: &Divergence, report: &Report) -> Vec<(String, String)> {
    let part = |one: &Divergence| (one.describe_location(), one.difference.to_string());
    if report.differences.is_empty() {
        return vec![part(first)];
    }
    let of = |layer: Layer| report.differences.iter().filter(move |one| one.layer == layer);
    let mut parts: Vec<(String, String)> = Layer::ALL.into_iter().flat_map(of).map(part).collect();
    let missing: Vec<&str> = report.missing.iter().map(Address::as_str).collect();
    if !missing.is_empty() {
        parts.push(("no recorded answer".to_owned(), missing.join(", ")));
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Event, Notice, NoticeLevel};
    use crate::port::Sink as _;
    use crate::session::{Medium, Recorder};

    /// A run that is nothing but its task.
    fn running(task: tokio::task::JoinHandle<crate::agent::Step>, saver: Option<SessionSaver>) -> BackgroundRun {
        BackgroundRun {
            session: None,
            path: None,
            saver,
            feed: Feed::default(),
            stop: Stop::default(),
            warnings: Vec::new(),
            task,
        }
    }

    #[tokio::test]
    async fn a_run_that_panics_ends_as_a_fault_of_the_program() {
        let handle = RunHandle::of_run(running(tokio::spawn(async { panic!("as planned") }), None), Arc::default());
        handle.changed().await;
        let updates = handle.drain();
        let [RunUpdate::Ended(RunEnding::Broken(error))] = updates.as_slice() else { panic!("{updates:?}") };
        assert_eq!(error.reason, Reason::InternalError.name());
    }

    /// A disk that takes nothing.
    struct Full;

    impl Medium for Full {
        fn append(&mut self, _: &[u8]) -> std::io::Result<()> {
            Err(std::io::ErrorKind::StorageFull.into())
        }

        fn cut(&mut self, _: u64) -> std::io::Result<()> {
            Ok(())
        }

        fn sync(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[tokio::test]
    async fn a_session_that_was_not_written_goes_to_the_chosen_folder() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("2026-01-01T00-00-00Z-00000001.jsonl");
        std::fs::write(&path, "").unwrap();
        let recorder = Recorder::with_medium(Box::new(Full), &path, 0, 0, Arc::new(SystemClock)).unwrap();
        let notice = Event::Notice(Notice { level: NoticeLevel::Info, text: "a notice".to_owned() });
        recorder.emit(Address::run(0), notice).await.unwrap();
        let saver = SessionSaver { status: recorder.status(), spare_dir: dir.path().join("spare") };
        drop(recorder);
        let task = tokio::spawn(async { crate::agent::Step::default() });
        let handle = RunHandle::of_run(running(task, Some(saver)), Arc::default());
        let updates = || async {
            handle.changed().await;
            handle.drain()
        };
        let asked = updates().await;
        let [RunUpdate::Unwritten { reason, suggested }] = asked.as_slice() else { panic!("{asked:?}") };
        assert!(reason.contains("1 event") && suggested.ends_with("spare"), "{reason}");
        // A folder that holds a file of this name already does not take it.
        handle.save_to(Some(dir.path().to_owned()));
        let asked = updates().await;
        let [RunUpdate::Unwritten { reason, .. }] = asked.as_slice() else { panic!("{asked:?}") };
        assert!(reason.contains("could not save to"), "{reason}");
        handle.save_to(Some(dir.path().join("mine")));
        let ended = updates().await;
        let [RunUpdate::Ended(RunEnding::Elsewhere(place))] = ended.as_slice() else { panic!("{ended:?}") };
        assert!(place.contains("mine"), "{place}");
        let moved = dir.path().join("mine").join(path.file_name().unwrap());
        assert!(std::fs::read_to_string(moved).unwrap().contains("a notice"));
    }

    #[tokio::test]
    async fn a_run_without_a_user_ends_when_its_session_is_in_the_spare_folder_and_fails_when_no_folder_takes_it() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("file"), "").unwrap();
        for (number, spare, expected) in [(1, "spare", None), (2, "file/spare", Some("recorder_failed"))] {
            let path = dir.path().join(format!("2026-01-01T00-00-00Z-0000000{number}.jsonl"));
            std::fs::write(&path, "").unwrap();
            let recorder = Recorder::with_medium(Box::new(Full), &path, 0, 0, Arc::new(SystemClock)).unwrap();
            let notice = Event::Notice(Notice { level: NoticeLevel::Info, text: "one".to_owned() });
            recorder.emit(Address::run(0), notice).await.unwrap();
            let saver = SessionSaver { status: recorder.status(), spare_dir: dir.path().join(spare) };
            drop(recorder);
            let task = tokio::spawn(async { crate::agent::Step::default() });
            let step = BackgroundRun::saved_task(task, Some(saver)).await.unwrap();
            assert_eq!(step.fail.map(|fail| fail.reason).as_deref(), expected);
            let moved = dir.path().join(spare).join(path.file_name().unwrap());
            assert_eq!(std::fs::read_to_string(moved).is_ok_and(|text| text.contains("one")), expected.is_none());
        }
    }

    #[tokio::test]
    async fn a_suspended_run_whose_disk_is_full_is_saved_in_the_spare_folder_without_a_question() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("2026-01-01T00-00-00Z-00000001.jsonl");
        std::fs::write(&path, "").unwrap();
        let recorder = Recorder::with_medium(Box::new(Full), &path, 0, 0, Arc::new(SystemClock)).unwrap();
        let notice = Event::Notice(Notice { level: NoticeLevel::Info, text: "one".to_owned() });
        recorder.emit(Address::run(0), notice).await.unwrap();
        let saver = SessionSaver { status: recorder.status(), spare_dir: dir.path().join("spare") };
        drop(recorder);
        let (go, wait) = tokio::sync::oneshot::channel::<()>();
        let task = tokio::spawn(async move {
            _ = wait.await;
            crate::agent::Step::default()
        });
        let handle = RunHandle::of_run(running(task, Some(saver)), Arc::default());
        handle.suspend();
        drop(go);
        let ended = loop {
            handle.changed().await;
            let ended = handle.drain().into_iter().find(|update| matches!(update, RunUpdate::Ended(_)));
            if let Some(ended) = ended {
                break ended;
            }
        };
        let RunUpdate::Ended(RunEnding::Elsewhere(text)) = ended else { panic!("{ended:?}") };
        assert!(text.contains("The whole session is in") && text.contains("spare"), "{text}");
    }
}
