//! The comparer: a sink that holds every derived event against the recorded one at the same address.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use futures::future::BoxFuture;

use super::difference::first_difference;
use super::{Outcome, Recording};
use crate::event::{Address, Class, Envelope, Event, Source};
use crate::port::{Sink, SinkError};

/// Which part of the engine a difference belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Layer {
    /// The text of a message built from the agent.
    Prompt,
    /// Which messages, schema and options a request holds.
    Request,
    /// What was found in a reply.
    Extraction,
    /// The check of inputs or answers.
    Check,
    /// What went back to the model.
    Feedback,
    /// The end of a turn or run.
    Step,
}

impl Layer {
    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Prompt => "prompt",
            Self::Request => "request",
            Self::Extraction => "extraction",
            Self::Check => "check",
            Self::Feedback => "feedback",
            Self::Step => "step",
        }
    }

    fn of(event: &Event) -> Self {
        match event {
            // The reply quoted as a message goes back together with the feedback.
            Event::Message(message) if message.source != Source::Prompt => Self::Feedback,
            Event::Message(_) => Self::Prompt,
            Event::RequestMade(_) => Self::Request,
            Event::Extract(_) => Self::Extraction,
            Event::Check(_) => Self::Check,
            _ => Self::Step,
        }
    }
}

impl std::fmt::Display for Layer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// The first derived event that came out differently.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Divergence {
    /// Where.
    pub address: Address,
    /// Which layer.
    pub layer: Layer,
    /// Kind of the event.
    pub kind: String,
    /// Where inside the event's data, and both sides there.
    pub difference: String,
}

impl std::fmt::Display for Divergence {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let turn = self.address.turn_number().map(|number| format!("turn {number}, ")).unwrap_or_default();
        write!(
            f,
            "first difference at {} ({turn}layer {}, event {}):\n{}",
            self.address, self.layer, self.kind, self.difference
        )
    }
}

struct State {
    recorded: HashMap<Address, std::collections::VecDeque<Event>>,
    outcome: Outcome,
    compared: usize,
    seq: u64,
}

/// Compares one run.
pub(super) struct Comparer<'a> {
    state: Mutex<State>,
    is_complete: bool,
    watch: Option<&'a dyn Sink>,
    recording: &'a Recording,
}

impl<'a> Comparer<'a> {
    pub(super) fn new(recording: &'a Recording, run: &Address, watch: Option<&'a dyn Sink>) -> Self {
        let recorded = recording.derived(run).into_iter().map(|(address, events)| (address, events.into())).collect();
        let state = State { recorded, outcome: Outcome::Identical, compared: 0, seq: 0 };
        Self { state: Mutex::new(state), is_complete: recording.is_complete(run), watch, recording }
    }

    fn take(&self, address: &Address, event: &Event) -> Result<Envelope, SinkError> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if event.class() == Class::Derived {
            let recorded = state.recorded.get_mut(address).and_then(std::collections::VecDeque::pop_front);
            state.compared += usize::from(recorded.is_some());
            if let Some(outcome) = self.judge(address, recorded.as_ref(), event) {
                state.outcome = outcome;
                return Err(SinkError::Diverged);
            }
        }
        state.seq += 1;
        let at_ms = self.recording.at(address).last().map_or(0, |last| last.at_ms);
        Ok(Envelope { seq: state.seq, at_ms, address: address.clone(), event: event.clone() })
    }

    fn judge(&self, address: &Address, recorded: Option<&Event>, now: &Event) -> Option<Outcome> {
        match recorded {
            Some(recorded) if recorded == now => None,
            None if !self.is_complete => Some(Outcome::Unfinished { at: address.clone() }),
            recorded => Some(Outcome::Diverged(Box::new(Divergence {
                address: address.clone(),
                layer: Layer::of(recorded.filter(|recorded| recorded.kind() != now.kind()).unwrap_or(now)),
                kind: now.kind().to_owned(),
                difference: first_difference(recorded, Some(now)),
            }))),
        }
    }

    /// How the run came out, and how many events were compared.
    pub(super) fn finish(self) -> (Outcome, usize) {
        let state = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        if state.outcome != Outcome::Identical {
            return (state.outcome, state.compared);
        }
        let mut left: Vec<_> = state.recorded.into_iter().filter(|(_, events)| !events.is_empty()).collect();
        left.sort_by(|a, b| a.0.cmp(&b.0));
        let outcome = match left.first().and_then(|(address, events)| Some((address, events.front()?))) {
            // Which calls parallel branches still made when one began to wait is chance.
            Some((address, _)) if !self.is_complete => Outcome::Unfinished { at: address.clone() },
            Some((address, event)) => Outcome::Diverged(Box::new(Divergence {
                address: address.clone(),
                layer: Layer::of(event),
                kind: event.kind().to_owned(),
                difference: first_difference(Some(event), None),
            })),
            None => Outcome::Identical,
        };
        (outcome, state.compared)
    }
}

impl Sink for Comparer<'_> {
    fn emit(&self, address: Address, event: Event) -> BoxFuture<'_, Result<Envelope, SinkError>> {
        Box::pin(async move {
            let envelope = self.take(&address, &event)?;
            if let Some(watch) = self.watch {
                watch.emit(address, event).await?;
            }
            Ok(envelope)
        })
    }
}
