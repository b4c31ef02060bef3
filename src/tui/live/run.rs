//! Runs and replays as the interface takes them.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::FutureExt as _;
use futures::future::BoxFuture;
use ptc_core::reasons::Reason;
use tokio::sync::Notify;

use crate::event::{Address, Envelope, ErrorRecord, Event};
use crate::port::{Clock as _, Sink, SinkError, SystemClock};
use crate::replay::{Outcome, Recording, replay};
use crate::session::Session;
use crate::tui::backend::{Ended, Happening, Question, Run};
use crate::workbench::{Asked, Desk, Feed, Running};

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
    end: Arc<(Mutex<Option<Ended>>, Notify)>,
}

impl LiveRun {
    pub(super) fn new(running: Running, desk: Arc<Desk>) -> Self {
        let end = Arc::new((Mutex::new(None), Notify::new()));
        let told = end.clone();
        let task = running.task;
        tokio::spawn(async move {
            let ended = match task.await {
                Ok(step) => match step.fail.filter(|fail| fail.reason == Reason::RecorderFailed.name()) {
                    Some(fail) => Ended::Broken(fail),
                    None => Ended::Run,
                },
                Err(error) => Ended::Broken(ErrorRecord::new(
                    Reason::InternalError,
                    format!("the run ended without an answer: {error}"),
                )),
            };
            *lock(&told.0) = Some(ended);
            told.1.notify_one();
        });
        Self {
            session: running.session,
            feed: running.feed,
            stop: running.stop,
            desk,
            asked: Mutex::new((false, None)),
            end,
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
        let ended = lock(&self.end.0).take();
        let mut told: Vec<Happening> =
            self.feed.drain().into_iter().map(|envelope| Happening::Event(Box::new(envelope))).collect();
        let mut asked = lock(&self.asked);
        if std::mem::take(&mut asked.0)
            && let Some(Asked { question, .. }) = &asked.1
        {
            told.push(Happening::Question(Question { address: question.address.clone(), text: question.text.clone() }));
        }
        told.extend(ended.map(Happening::Ended));
        told
    }

    fn changed(&self) -> BoxFuture<'_, ()> {
        async move {
            tokio::select! {
                () = self.feed.changed() => {}
                () = self.end.1.notified() => {}
                question = self.desk.next(), if self.is_free() => *lock(&self.asked) = (true, question),
            }
        }
        .boxed()
    }

    fn cancel(&self) {
        self.stop.by_person();
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

/// Numbers the events of a replay and hands them on.
struct Watch(Arc<Shared>, Mutex<u64>);

impl Sink for Watch {
    fn emit(&self, address: Address, event: Event) -> BoxFuture<'_, Result<Envelope, SinkError>> {
        let mut last = lock(&self.1);
        *last += 1;
        let envelope = Envelope { seq: *last, at_ms: SystemClock.now_ms(&address), address, event };
        self.0.tell(Happening::Event(Box::new(envelope.clone())));
        futures::future::ready(Ok(envelope)).boxed()
    }
}

impl Replay {
    /// Starts it; the error says why the session cannot be replayed.
    pub(super) fn start(session: &Session) -> Result<Self, String> {
        let recording = Arc::new(Recording::of(session)?);
        let shared = Arc::new(Shared::default());
        let watch = Watch(shared.clone(), Mutex::new(0));
        let task = tokio::spawn(async move {
            let ended = match replay(&recording, Some(&watch)).await {
                Ok(report) => match report.outcome {
                    Outcome::Identical => Ended::Identical(None),
                    Outcome::Unfinished { at } => Ended::Identical(Some(at)),
                    Outcome::Diverged(divergence) => Ended::Diverged(divergence.to_string()),
                },
                Err(error) => Ended::Broken(ErrorRecord::new(Reason::InvalidAgent, error.to_string())),
            };
            watch.0.tell(Happening::Ended(ended));
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

    fn answer(&self, _: &Address, _: String) {}
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
