//! Runs that can wait for the user and continue with the answer. Earlier events are replayed; nothing is requested
//! twice.

use std::sync::{Arc, Mutex, PoisonError};

use super::Run;
use super::run::{Ready, RunPorts};
use crate::agent::Step;
use crate::engine;
use crate::event::{Envelope, Event, QuestionAsked};
use crate::replay::{Answers, Recording, ResumePorts};

/// Result of a run that may wait.
pub enum RunOutcome {
    /// The run has ended.
    Ended(Box<Step>),
    /// The run waits for an answer.
    Waits(Box<WaitingRun>),
}

type EventLog = Arc<Mutex<Vec<Envelope>>>;

/// A run that waits for the user.
pub struct WaitingRun {
    /// The result so far; its failure is `suspended`.
    pub step: Step,
    ready: Ready,
    ports: RunPorts,
    events: EventLog,
}

impl Run {
    /// Runs until the end or until a question to the user.
    pub async fn hold(self) -> RunOutcome {
        let events = EventLog::default();
        let log = Arc::clone(&events);
        let run = self.listening(Arc::new(move |envelope: &Envelope| {
            log.lock().unwrap_or_else(PoisonError::into_inner).push(envelope.clone());
        }));
        let ready = match run.ready() {
            Ok(ready) => ready,
            Err(step) => return RunOutcome::Ended(step),
        };
        let step = engine::run(&ready.plan, ready.input(), &run.ports.to_ports(&*ready.model)).await;
        run_result(step, ready, run.ports, events)
    }
}

fn run_result(step: Step, ready: Ready, ports: RunPorts, events: EventLog) -> RunOutcome {
    if step.waits_for.is_none() {
        return RunOutcome::Ended(Box::new(step));
    }
    RunOutcome::Waits(Box::new(WaitingRun { step, ready, ports, events }))
}

impl WaitingRun {
    /// Returns the question with the offered answers.
    pub fn question(&self) -> Option<QuestionAsked> {
        self.events().into_iter().rev().find_map(|envelope| match envelope.event {
            Event::QuestionAsked(asked) if Some(&envelope.address) == self.step.waits_for.as_ref() => Some(asked),
            _ => None,
        })
    }

    /// Returns the events so far.
    pub fn events(&self) -> Vec<Envelope> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Continues with the answer.
    pub async fn resume(self, answer: impl Into<String>) -> RunOutcome {
        let answer = answer.into();
        let recording = Arc::new(Recording::of_events(self.events()));
        let by_address = self.step.waits_for.iter().map(|question| (question.clone(), answer.clone())).collect();
        let answers = Answers { by_address, ..Answers::default() };
        let (ready, ports) = (self.ready, self.ports);
        let stop = ports.stop.clone();
        let step = {
            let input = ready.input();
            let live = ports.to_ports(&*ready.model);
            let resumed = ResumePorts::new(recording, input.address.clone(), live, answers).appending();
            engine::run(&ready.plan, input, &resumed.ports(&ports.sink, stop)).await
        };
        run_result(step, ready, ports, self.events)
    }
}
