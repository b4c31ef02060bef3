//! Questions to the user that wait until an interface takes and answers them; and answers that were given beforehand.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex as Lock, PoisonError};

use futures::future::BoxFuture;
use tokio::sync::{Mutex, mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use crate::port::{Breakpoint, Checkpoint, Gate, Human, Question};

/// A question and the channel for its answer. Dropping it means that there is no answer.
#[derive(Debug)]
pub struct QueuedQuestion {
    /// The question.
    pub question: Question,
    /// Takes the answer.
    pub answer: oneshot::Sender<String>,
}

/// The gates and breakpoints at which runs stop. Clones are the same switches.
#[derive(Debug, Clone, Default)]
pub struct Intercept(Arc<[AtomicBool; Gate::ALL.len()]>, Arc<Lock<Vec<Breakpoint>>>);

impl Intercept {
    /// Closes or opens a gate, also for resumed runs.
    pub fn set(&self, gate: Gate, closed: bool) {
        self.switch(gate).store(closed, Ordering::SeqCst);
    }

    /// Returns whether runs stop at this gate.
    pub fn is_closed(&self, gate: Gate) -> bool {
        self.switch(gate).load(Ordering::SeqCst)
    }

    /// Makes runs stop at these breakpoints and at no others, also resumed ones.
    pub fn stop_at(&self, breakpoints: Vec<Breakpoint>) {
        *self.1.lock().unwrap_or_else(PoisonError::into_inner) = breakpoints;
    }

    /// Returns whether runs stop at one of these breakpoints.
    fn stops_at(&self, met: &[Breakpoint]) -> bool {
        let set = self.1.lock().unwrap_or_else(PoisonError::into_inner);
        set.iter().any(|one| met.iter().any(|met| one.meets(met)))
    }

    fn switch(&self, gate: Gate) -> &AtomicBool {
        let [send, apply, result] = &*self.0;
        match gate {
            Gate::Send => send,
            Gate::Apply => apply,
            Gate::Result => result,
        }
    }
}

/// Questions to the user, which an interface takes and answers.
#[derive(Debug)]
pub struct QuestionQueue {
    intercept: Intercept,
    sender: mpsc::UnboundedSender<QueuedQuestion>,
    questions: Mutex<mpsc::UnboundedReceiver<QueuedQuestion>>,
}

impl Default for QuestionQueue {
    fn default() -> Self {
        Self::with_intercept(Intercept::default())
    }
}

impl QuestionQueue {
    /// Creates a queue whose runs stop at these gates.
    pub fn with_intercept(intercept: Intercept) -> Self {
        let (sender, questions) = mpsc::unbounded_channel();
        Self { intercept, sender, questions: Mutex::new(questions) }
    }

    /// The next question; waits until there is one.
    pub async fn next(&self) -> Option<QueuedQuestion> {
        self.questions.lock().await.recv().await
    }
}

impl Human for QuestionQueue {
    fn ask<'a>(&'a self, question: &'a Question, cancel: &'a CancellationToken) -> BoxFuture<'a, Option<String>> {
        Box::pin(async move {
            let (answer, answered) = oneshot::channel();
            self.sender.send(QueuedQuestion { question: question.clone(), answer }).ok()?;
            tokio::select! {
                answer = answered => answer.ok(),
                () = cancel.cancelled() => None,
            }
        })
    }

    fn stops_at(&self, checkpoint: Checkpoint<'_>) -> bool {
        match checkpoint {
            Checkpoint::Gate(gate) => self.intercept.is_closed(gate),
            Checkpoint::Breakpoints(met) => self.intercept.stops_at(met),
        }
    }
}

/// A user with answers given beforehand: they are taken in order, then the user is asked.
pub(super) struct PreparedHuman {
    answers: Lock<VecDeque<String>>,
    human: Arc<dyn Human>,
}

impl PreparedHuman {
    pub(super) fn new(answers: VecDeque<String>, human: Arc<dyn Human>) -> Self {
        Self { answers: Lock::new(answers), human }
    }
}

impl Human for PreparedHuman {
    fn ask<'a>(&'a self, question: &'a Question, cancel: &'a CancellationToken) -> BoxFuture<'a, Option<String>> {
        match self.answers.lock().unwrap_or_else(PoisonError::into_inner).pop_front() {
            Some(answer) => Box::pin(async move { Some(answer) }),
            None => self.human.ask(question, cancel),
        }
    }

    fn stops_at(&self, checkpoint: Checkpoint<'_>) -> bool {
        self.human.stops_at(checkpoint)
    }
}
