//! Runs and replays as the interface takes them.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::FutureExt as _;
use futures::future::BoxFuture;
use ptc_core::reasons::Reason;
use tokio::sync::{Notify, mpsc};

use crate::event::{Address, Envelope, ErrorRecord};
use crate::port::SystemClock;
use crate::replay::{Divergence, Layer, Policy, Recording, ReplayOutcome, Report, Rules, replay_by};
use crate::session::Session;
use crate::tui::backend::{Ended, Happening, Question, Run};
use crate::workbench::{Asked, Desk, Feed, Running, Saving};

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A live run.
pub(super) struct LiveRun {
    session: Option<String>,
    feed: Feed,
    stop: crate::port::Stop,
    desk: Arc<Desk>,
    /// A question that was taken from the desk and not told yet, and the one that waits for its answer.
    asked: Mutex<(bool, Option<Asked>)>,
    /// Nobody is there any more: questions are not taken.
    alone: AtomicBool,
    end: Arc<End>,
    /// Where the session goes that could not be written.
    place: mpsc::UnboundedSender<Option<PathBuf>>,
}

/// What is told behind the events of a run.
#[derive(Default)]
struct End {
    told: Mutex<VecDeque<Happening>>,
    changed: Notify,
}

impl End {
    fn tell(&self, happening: Happening) {
        lock(&self.told).push_back(happening);
        self.changed.notify_one();
    }
}

/// Brings the session of a finished run to a place that takes it, as a person says.
async fn settled(saving: Saving, end: &End, places: &mut mpsc::UnboundedReceiver<Option<PathBuf>>) -> Ended {
    let tried = saving.clone();
    let Ok(Some(unwritten)) = tokio::task::spawn_blocking(move || tried.keeping.retry()).await else {
        return Ended::Run;
    };
    let mut told = format!("{unwritten}. Which folder shall take the session?");
    loop {
        end.tell(Happening::Unwritten { told, suggested: saving.spare_dir.clone() });
        let (place, saving) = (places.recv().await.flatten(), saving.clone());
        let moved = tokio::task::spawn_blocking(move || match place {
            Some(dir) => saving.move_to(&dir).map(|path| format!("the session is in {}", path.display())),
            None => Ok(saving.settle().to_string()),
        });
        match moved.await {
            Ok(Ok(told)) => return Ended::Elsewhere(told),
            Ok(Err(error)) => {
                told = format!("{} did not take it: {}. Which folder shall?", error.path.display(), error.error);
            }
            Err(error) => return Ended::Elsewhere(error.to_string()),
        }
    }
}

impl LiveRun {
    pub(super) fn new(running: Running, desk: Arc<Desk>) -> Self {
        let end = Arc::new(End::default());
        let told = end.clone();
        let (place, mut places) = mpsc::unbounded_channel();
        let (task, saving) = (running.task, running.saving);
        tokio::spawn(async move {
            let ended = match task.await {
                Ok(step) => match step.fail.filter(|fail| fail.reason == Reason::RecorderFailed.name()) {
                    Some(fail) => Ended::Broken(fail),
                    None => match saving {
                        Some(saving) => settled(saving, &told, &mut places).await,
                        None => Ended::Run,
                    },
                },
                Err(error) => Ended::Broken(ErrorRecord::new(
                    Reason::InternalError,
                    format!("the run ended without an answer: {error}"),
                )),
            };
            told.tell(Happening::Ended(ended));
        });
        Self {
            session: running.session,
            feed: running.feed,
            stop: running.stop,
            desk,
            asked: Mutex::new((false, None)),
            alone: AtomicBool::new(false),
            end,
            place,
        }
    }
}

impl LiveRun {
    /// No question waits for its answer: the next one may be asked.
    fn is_free(&self) -> bool {
        lock(&self.asked).1.as_ref().is_none_or(|asked| asked.answer.is_closed())
    }
}

impl Run for LiveRun {
    fn session(&self) -> Option<String> {
        self.session.clone()
    }

    fn drain(&self) -> Vec<Happening> {
        // The end is looked at first, so that no event can come between the last drain and it.
        let behind = std::mem::take(&mut *lock(&self.end.told));
        let mut told: Vec<Happening> =
            self.feed.drain().into_iter().map(|envelope| Happening::Event(Box::new(envelope))).collect();
        let mut asked = lock(&self.asked);
        if std::mem::take(&mut asked.0)
            && let Some(Asked { question, .. }) = &asked.1
        {
            told.push(Happening::Question(Question {
                address: question.address.clone(),
                text: question.text.clone(),
                options: question.options.clone(),
                gate: question.gate,
            }));
        }
        told.extend(behind);
        told
    }

    fn changed(&self) -> BoxFuture<'_, ()> {
        async move {
            tokio::select! {
                () = self.feed.changed() => {}
                () = self.end.changed.notified() => {}
                question = self.desk.next(), if self.is_free() => {
                    // A question that is dropped says that nobody answers.
                    *lock(&self.asked) = if self.alone.load(Ordering::SeqCst) { (false, None) } else { (true, question) };
                }
            }
        }
        .boxed()
    }

    fn cancel(&self) {
        self.stop.by_user();
        self.save_to(None);
    }

    fn save_to(&self, dir: Option<PathBuf>) {
        // A run whose session is written needs no place, and listens no more.
        _ = self.place.send(dir);
    }

    fn answer(&self, question: &Address, text: String) {
        let mut asked = lock(&self.asked);
        if asked.1.as_ref().is_some_and(|asked| asked.question.address == *question)
            && let Some(asked) = asked.1.take()
            && asked.answer.send(text).is_err()
        {
            tracing::debug!(%question, "the run no longer waits for an answer");
        }
    }

    fn put_down(&self) {
        self.alone.store(true, Ordering::SeqCst);
        *lock(&self.asked) = (false, None);
    }

    fn give_way(&self) {
        let asks = lock(&self.asked).1.as_ref().is_some_and(|asked| !asked.answer.is_closed());
        if asks { self.put_down() } else { self.cancel() }
    }
}

/// A replay.
pub(super) struct Replay {
    shared: Arc<Shared>,
    task: tokio::task::AbortHandle,
}

#[derive(Default)]
struct Shared {
    told: Mutex<VecDeque<Happening>>,
    changed: Notify,
}

impl Shared {
    fn tell(&self, happening: Happening) {
        lock(&self.told).push_back(happening);
        self.changed.notify_one();
    }
}

/// Every divergence with its heading; of each layer those in the order of the run.
fn divergences(first: &Divergence, report: &Report) -> Vec<(String, String)> {
    let told = |one: &Divergence| (one.describe_location(), one.difference.to_string());
    if report.differences.is_empty() {
        return vec![told(first)];
    }
    let of = |layer: Layer| report.differences.iter().filter(move |one| one.layer == layer);
    let mut parts: Vec<(String, String)> = Layer::ALL.into_iter().flat_map(of).map(told).collect();
    let missing: Vec<&str> = report.missing.iter().map(Address::as_str).collect();
    if !missing.is_empty() {
        parts.push(("no recorded answer".to_owned(), missing.join(", ")));
    }
    parts
}

impl Replay {
    /// Starts it; the error says why the session cannot be replayed.
    pub(super) fn start(session: &Session, policy: Policy) -> Result<Self, String> {
        let recording = Arc::new(Recording::of(session)?);
        let shared = Arc::new(Shared::default());
        let watched = shared.clone();
        let task = tokio::spawn(async move {
            let last = AtomicU64::new(0);
            // Events are numbered across the runs and have the time of the replay.
            let watch = |envelope: &Envelope| {
                let seq = last.fetch_add(1, Ordering::Relaxed) + 1;
                let envelope = Envelope { seq, at_ms: SystemClock.now(), ..envelope.clone() };
                watched.tell(Happening::Event(Box::new(envelope)));
            };
            let rules = Rules { policy, ..Rules::strict() };
            let ended = match replay_by(&rules, &recording, Some(&watch)).await {
                Ok((report, _)) => match &report.outcome {
                    ReplayOutcome::Identical => Ended::Identical(None),
                    ReplayOutcome::Unfinished { at } => Ended::Identical(Some(at.clone())),
                    ReplayOutcome::Diverged(first) => {
                        Ended::Diverged { at: first.address.clone(), parts: divergences(first, &report) }
                    }
                },
                Err(error) => Ended::Broken(ErrorRecord::new(Reason::InvalidAgent, error.to_string())),
            };
            watched.tell(Happening::Ended(ended));
        });
        Ok(Self { shared, task: task.abort_handle() })
    }
}

impl Run for Replay {
    fn session(&self) -> Option<String> {
        None
    }

    fn drain(&self) -> Vec<Happening> {
        lock(&self.shared.told).drain(..).collect()
    }

    fn changed(&self) -> BoxFuture<'_, ()> {
        async move { self.shared.changed.notified().await }.boxed()
    }

    fn cancel(&self) {
        // A replay has no effects and no file: it may simply end.
        self.task.abort();
        self.shared.tell(Happening::Ended(Ended::Run));
    }

    fn save_to(&self, _: Option<PathBuf>) {}

    fn answer(&self, _: &Address, _: String) {}

    fn put_down(&self) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Event, Notice, NoticeLevel};
    use crate::port::Sink as _;
    use crate::session::{Medium, Recorder};

    #[tokio::test]
    async fn a_run_that_breaks_off_is_told_as_a_fault_of_the_program() {
        let running = Running {
            session: None,
            path: None,
            saving: None,
            feed: Feed::default(),
            stop: crate::port::Stop::default(),
            warnings: Vec::new(),
            task: tokio::spawn(async { panic!("as planned") }),
        };
        let run = LiveRun::new(running, Arc::default());
        run.changed().await;
        let told = run.drain();
        let [Happening::Ended(Ended::Broken(error))] = told.as_slice() else { panic!("{told:?}") };
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
    async fn a_session_that_was_not_written_goes_where_the_person_says() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("2026-01-01T00-00-00Z-00000001.jsonl");
        std::fs::write(&path, "").unwrap();
        let recorder = Recorder::with_medium(Box::new(Full), &path, 0, 0, Arc::new(SystemClock)).unwrap();
        let notice = Event::Notice(Notice { level: NoticeLevel::Info, text: "said".to_owned() });
        recorder.emit(Address::run(0), notice).await.unwrap();
        let saving = Saving { keeping: recorder.status(), spare_dir: dir.path().join("spare") };
        drop(recorder);
        let running = Running {
            session: None,
            path: None,
            saving: Some(saving),
            feed: Feed::default(),
            stop: crate::port::Stop::default(),
            warnings: Vec::new(),
            task: tokio::spawn(async { crate::agent::Step::default() }),
        };
        let run = LiveRun::new(running, Arc::default());
        let told = || async {
            run.changed().await;
            run.drain()
        };
        let asked = told().await;
        let [Happening::Unwritten { told: what, suggested }] = asked.as_slice() else { panic!("{asked:?}") };
        assert!(what.contains("1 event") && suggested.ends_with("spare"), "{what}");
        // A folder that holds a file of this name already does not take it.
        run.save_to(Some(dir.path().to_owned()));
        let asked = told().await;
        let [Happening::Unwritten { told: what, .. }] = asked.as_slice() else { panic!("{asked:?}") };
        assert!(what.contains("did not take it"), "{what}");
        run.save_to(Some(dir.path().join("mine")));
        let ended = told().await;
        let [Happening::Ended(Ended::Elsewhere(where_to))] = ended.as_slice() else { panic!("{ended:?}") };
        assert!(where_to.contains("mine"), "{where_to}");
        let moved = dir.path().join("mine").join(path.file_name().unwrap());
        assert!(std::fs::read_to_string(moved).unwrap().contains("said"));
    }
}
