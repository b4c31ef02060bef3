//! A recording made anew: what is computed as it comes out today, what came from outside as it was recorded.
//!
//! In: the events of a replay. Out: the events of a new session. Times are those of the recording.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use futures::future::BoxFuture;

use super::{RecordedEdits, RecordedPorts, Recording, ReplayError, carried, input_of, plan_of};
use crate::engine::{self, Input};
use crate::event::{Address, Class, Envelope, Event};
use crate::port::{Sink, SinkError};

/// Takes an event with a time of its own.
pub trait Stamped: Send + Sync {
    /// Numbers and takes it.
    fn take(&self, at_ms: i64, address: Address, event: Event) -> BoxFuture<'_, Result<Envelope, SinkError>>;
}

/// A sink that writes the new recording.
pub struct Accepting<'a> {
    recording: &'a Recording,
    state: Mutex<State>,
    sink: &'a dyn Stamped,
    now_ms: fn() -> i64,
}

struct State {
    left: HashMap<Address, Vec<Envelope>>,
    at_ms: i64,
}

impl<'a> Accepting<'a> {
    /// Writes to this sink; `now_ms` tells the time of what is not recorded.
    pub fn new(recording: &'a Recording, sink: &'a dyn Stamped, now_ms: fn() -> i64) -> Self {
        Self { recording, state: Mutex::new(State { left: recording.all(), at_ms: 0 }), sink, now_ms }
    }

    /// What is written for an event, and whether that repeats the recording.
    fn written(&self, address: &Address, event: &Event) -> Vec<(i64, Address, Event)> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let recorded = state.take(address, event);
        if let Some(last) = recorded.last() {
            state.at_ms = last.at_ms;
        } else if self.repeats_part(address, event) {
            return Vec::new();
        } else if self.is_new(address) {
            state.at_ms = (self.now_ms)().max(state.at_ms);
        }
        let mut all = Vec::new();
        if let Event::ProgramEnd(end) = event
            && end.interrupted
        {
            // What happened inside is not made again.
            let inside = self.recording.below(address).into_iter();
            all.extend(inside.map(|envelope| (envelope.at_ms, envelope.address, envelope.event)));
        }
        match event.class() {
            Class::Derived => all.push((state.at_ms, address.clone(), event.clone())),
            Class::Input | Class::Note if recorded.is_empty() => {
                all.push((state.at_ms, address.clone(), event.clone()));
            }
            Class::Input | Class::Note => {
                all.extend(recorded.into_iter().map(|envelope| (envelope.at_ms, envelope.address, envelope.event)));
            }
        }
        all
    }

    /// Is it a part of an attempt that is recorded? All of its parts were written with the first one.
    fn repeats_part(&self, address: &Address, event: &Event) -> bool {
        let Event::ReplyPart(part) = event else { return false };
        let same = |known: &Envelope| matches!(&known.event, Event::ReplyPart(other) if other.attempt == part.attempt);
        self.recording.at(address).iter().any(same)
    }

    /// Is nothing recorded at the turn of this address?
    fn is_new(&self, address: &Address) -> bool {
        self.recording.at(&address.turn_part()).is_empty()
    }
}

impl State {
    /// The recorded events that this one stands for: one of its kind; of the parts of a reply all of the attempt.
    fn take(&mut self, address: &Address, event: &Event) -> Vec<Envelope> {
        let Some(left) = self.left.get_mut(address) else { return Vec::new() };
        if let Event::ReplyPart(part) = event {
            let same =
                |known: &Envelope| matches!(&known.event, Event::ReplyPart(other) if other.attempt == part.attempt);
            return left.extract_if(.., |known| same(known)).collect();
        }
        let place = left.iter().position(|known| known.event.kind() == event.kind());
        place.map(|place| left.remove(place)).into_iter().collect()
    }
}

impl Sink for Accepting<'_> {
    fn emit(&self, address: Address, event: Event) -> BoxFuture<'_, Result<Envelope, SinkError>> {
        Box::pin(async move {
            let mut told = Envelope { seq: 0, at_ms: 0, address: address.clone(), event: event.clone() };
            for (at_ms, at, written) in self.written(&address, &event) {
                told = self.sink.take(at_ms, at, written).await?;
            }
            Ok(Envelope { address, event, ..told })
        })
    }
}

/// Takes events into memory.
#[derive(Default)]
struct Collected(Mutex<Vec<Envelope>>);

impl Stamped for Collected {
    fn take(&self, at_ms: i64, address: Address, event: Event) -> BoxFuture<'_, Result<Envelope, SinkError>> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let envelope = Envelope { seq: all.len() as u64 + 1, at_ms, address, event };
        all.push(envelope.clone());
        Box::pin(futures::future::ready(Ok(envelope)))
    }
}

/// The events of a recording with what is computed as it comes out today, by nothing but what is recorded.
pub async fn made_anew(recording: &Arc<Recording>) -> Result<Vec<Envelope>, ReplayError> {
    let edits = RecordedEdits::of(recording).map_err(|message| ReplayError { message })?;
    let collected = Collected::default();
    let sink = Accepting::new(recording, &collected, || 0);
    let mut carries = HashMap::new();
    for run in recording.runs() {
        let plan = plan_of(recording, &run)?;
        let Some(start) = recording.run_start(&run) else { continue };
        let input = Input { continues: carried(start, &carries), ..input_of(&run, start) };
        let ports = RecordedPorts::new(Arc::clone(recording), run.clone(), &edits);
        let (_, carry) = engine::run_carrying(&plan, input, &ports.with_sink(&sink)).await;
        carries.insert(run, carry);
    }
    Ok(collected.0.into_inner().unwrap_or_else(PoisonError::into_inner))
}
