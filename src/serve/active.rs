//! A run that a request started: its events, its end, its time, and what is counted when it has ended.
//!
//! In: a run of the workbench and the slot that it takes. Out: its events in order, then its Step. It must never run longer than its time
//! because a client does not read, nor be counted twice or not at all.

use std::sync::Arc;
use std::time::Duration;

use ptc_core::reasons::Reason;
use tokio::runtime::Handle;
use tokio::sync::OwnedSemaphorePermit;
use tokio::task::{JoinError, JoinHandle};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::metrics::{Metrics, Spent};
use crate::agent::Step;
use crate::event::{Envelope, ErrorRecord, Interrupt, InterruptReason, InterruptSource};
use crate::port::Stop;
use crate::workbench::{BackgroundRun, Feed};

/// Time for a client to read the rest of a stream after its run was stopped by the server.
const LAST_READS: Duration = Duration::from_secs(5);

/// The hint of a run that waits and has no session.
const UNSAVED_HINT: &str = "A run without a session cannot be answered: start the server without --no-save.";

/// Progress of a run.
#[derive(Debug)]
pub enum RunProgress {
    /// Events, in order.
    Events(Vec<Envelope>),
    /// Its end; nothing follows.
    Ended(Box<Step>),
}

/// The entry of a run in the counters, and its slot: both until the run has ended.
#[derive(Debug)]
pub(super) struct Account {
    agent: String,
    metrics: Arc<Metrics>,
    /// Usage before it was resumed.
    before: Spent,
    started: Instant,
    _slot: OwnedSemaphorePermit,
}

impl Account {
    /// Counts a run that starts.
    pub(super) fn open(agent: &str, metrics: &Arc<Metrics>, before: Spent, slot: OwnedSemaphorePermit) -> Self {
        metrics.begin(agent);
        let (agent, metrics) = (agent.to_owned(), Arc::clone(metrics));
        Self { agent, metrics, before, started: Instant::now(), _slot: slot }
    }

    /// Counts its end.
    fn close(self, step: &Step) {
        self.metrics.end(&self.agent, step, &self.before, self.started.elapsed());
    }
}

/// A run that has not ended. Dropping it stops the run, whose end is counted when it comes.
#[derive(Debug)]
pub struct ActiveRun {
    session: Option<String>,
    feed: Feed,
    stop: Stop,
    /// Until it has ended.
    open: Option<(JoinHandle<Step>, Account)>,
    ended: Option<Step>,
    deadline: Option<Instant>,
    /// The end of the server.
    end: CancellationToken,
    /// Time at which the server stopped it.
    stopped: Option<Instant>,
}

impl ActiveRun {
    pub(super) fn new(run: BackgroundRun, account: Account, timeout: Option<Duration>, end: CancellationToken) -> Self {
        let BackgroundRun { session, feed, stop, task, saver, .. } = run;
        let task = BackgroundRun::saved_task(task, saver);
        let deadline = timeout.map(|timeout| account.started + timeout);
        Self { session, feed, stop, open: Some((task, account)), ended: None, deadline, end, stopped: None }
    }

    /// The id of its session, when it is saved.
    pub fn session(&self) -> Option<&str> {
        self.session.as_deref()
    }

    /// Waits for what it does next.
    pub async fn next(&mut self) -> RunProgress {
        let feed = self.feed.clone();
        loop {
            // When its end is known, all its events are in the feed.
            let events = feed.drain();
            if !events.is_empty() {
                // Events that never stop must not hide that its time is over.
                if self.deadline.is_some_and(|deadline| deadline <= Instant::now()) {
                    self.time_out();
                }
                return RunProgress::Events(events);
            }
            if let Some(step) = self.ended.take() {
                return RunProgress::Ended(Box::new(step));
            }
            tokio::select! {
                biased;
                () = feed.changed() => {}
                () = self.watch() => {}
            }
        }
    }

    /// Waits for its end.
    pub async fn finish(mut self) -> Step {
        loop {
            if let RunProgress::Ended(step) = self.next().await {
                return *step;
            }
        }
    }

    /// Watches the run while its client does not read. Resolves when the client has had its time to read after the server stopped the
    /// run.
    pub async fn overdue(&mut self) {
        loop {
            let Some(stopped) = self.stopped else {
                self.watch().await;
                continue;
            };
            tokio::select! {
                biased;
                () = sleep_until(stopped + LAST_READS) => return,
                () = self.watch() => {}
            }
        }
    }

    /// Waits until it ends, or until its time is over or the server ends, which stop it.
    async fn watch(&mut self) {
        let deadline = self.deadline;
        let over = async {
            match deadline {
                Some(deadline) => sleep_until(deadline).await,
                None => std::future::pending().await,
            }
        };
        let open = &mut self.open;
        let ended = async {
            match open {
                Some((task, _)) => task.await,
                None => std::future::pending().await,
            }
        };
        let end = &self.end;
        tokio::select! {
            biased;
            step = ended => self.close(step.unwrap_or_else(|error| broken(&error))),
            () = over => self.time_out(),
            () = end.cancelled(), if self.stopped.is_none() => {
                self.interrupt(InterruptReason::Cancelled, InterruptSource::Signal);
            }
        }
    }

    fn time_out(&mut self) {
        self.deadline = None;
        self.interrupt(InterruptReason::MissionTimeout, InterruptSource::Server);
    }

    fn interrupt(&mut self, reason: InterruptReason, by: InterruptSource) {
        self.stopped.get_or_insert_with(Instant::now);
        self.stop.now(Interrupt { reason, by });
    }

    fn close(&mut self, mut step: Step) {
        self.deadline = None;
        if let Some((_, account)) = self.open.take() {
            account.close(&step);
        }
        if let (Some(_), Some(fail)) = (&step.waits_for, &mut step.fail) {
            fail.hint = Some(self.session.as_deref().map_or_else(|| UNSAVED_HINT.to_owned(), answer_hint));
        }
        self.ended = Some(step);
    }
}

impl Drop for ActiveRun {
    fn drop(&mut self) {
        let Some((task, account)) = self.open.take() else { return };
        self.stop.by_user();
        // It keeps its slot until it has stopped. Without a runtime the program ends.
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(async move {
                let step = task.await.unwrap_or_else(|error| broken(&error));
                account.close(&step);
            });
        }
    }
}

/// Returns the hint for a client on how to answer a run that waits for input.
pub(super) fn answer_hint(id: &str) -> String {
    format!("Answer with POST /runs/{id}/answers.")
}

/// The Step of a run whose task broke.
fn broken(error: &JoinError) -> Step {
    Step { fail: Some(ErrorRecord::new(Reason::InternalError, error.to_string())), ..Step::default() }
}
