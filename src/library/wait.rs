//! A run that may wait for a person, and goes on with the answer: what was done is made again from its events, nothing is asked twice.

use std::sync::{Arc, Mutex, PoisonError};

use super::Run;
use super::run::{Doors, Ready};
use crate::agent::Step;
use crate::engine;
use crate::event::{Envelope, Event, QuestionAsked};
use crate::replay::{Answers, Recording, ResumePorts};

/// How a run that may wait came out.
pub enum Held {
    /// It is over.
    Ended(Box<Step>),
    /// It waits for an answer.
    Waits(Box<Waiting>),
}

type Kept = Arc<Mutex<Vec<Envelope>>>;

/// A run that waits for a person.
pub struct Waiting {
    /// The Step so far; its failure is `suspended`.
    pub step: Step,
    ready: Ready,
    doors: Doors,
    events: Kept,
}

impl Run {
    /// Runs it until it is over or waits for a person.
    pub async fn hold(self) -> Held {
        let events = Kept::default();
        let kept = Arc::clone(&events);
        let run = self.listening(Arc::new(move |envelope: &Envelope| {
            kept.lock().unwrap_or_else(PoisonError::into_inner).push(envelope.clone());
        }));
        let ready = match run.ready() {
            Ok(ready) => ready,
            Err(step) => return Held::Ended(step),
        };
        let step = engine::run(&ready.plan, ready.input(), &run.doors.ports(&*ready.model)).await;
        held(step, ready, run.doors, events)
    }
}

fn held(step: Step, ready: Ready, doors: Doors, events: Kept) -> Held {
    if step.waits_for.is_none() {
        return Held::Ended(Box::new(step));
    }
    Held::Waits(Box::new(Waiting { step, ready, doors, events }))
}

impl Waiting {
    /// What is asked, with the answers that are offered.
    pub fn question(&self) -> Option<QuestionAsked> {
        self.events().into_iter().rev().find_map(|envelope| match envelope.event {
            Event::QuestionAsked(asked) if Some(&envelope.address) == self.step.waits_for.as_ref() => Some(asked),
            _ => None,
        })
    }

    /// The events so far.
    pub fn events(&self) -> Vec<Envelope> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Goes on with the answer.
    pub async fn resume(self, answer: impl Into<String>) -> Held {
        let answer = answer.into();
        let recording = Arc::new(Recording::of_events(self.events()));
        let by_address = self.step.waits_for.iter().map(|question| (question.clone(), answer.clone())).collect();
        let answers = Answers { by_address, ..Answers::default() };
        let (ready, doors) = (self.ready, self.doors);
        let stop = doors.stop.clone();
        let step = {
            let input = ready.input();
            let live = doors.ports(&*ready.model);
            let resumed = ResumePorts::new(recording, input.address.clone(), live, answers).appending();
            engine::run(&ready.plan, input, &resumed.ports(&doors.told, stop)).await
        };
        held(step, ready, doors, self.events)
    }
}
