//! Regenerates a recording: derived events as computed now, inputs as recorded.
//!
//! In: the events of a replay. Out: the events of a new session, with the recorded times.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use futures::future::BoxFuture;

use super::{RecordedEdits, RecordedPorts, Recording, ReplayError, carry_of, input_of, plan_of};
use crate::engine::{self, Input};
use crate::event::{Address, Class, Envelope, Event, ToolEnd, TurnEnd};
use crate::port::{Sink, SinkError};

/// A sink for events with explicit times.
pub trait TimedSink: Send + Sync {
    /// Numbers and stores an event.
    fn store(&self, at_ms: i64, address: Address, event: Event) -> BoxFuture<'_, Result<Envelope, SinkError>>;
}

/// A sink that writes the new recording.
pub struct AcceptSink<'a> {
    recording: &'a Recording,
    state: Mutex<State>,
    sink: &'a dyn TimedSink,
    now_ms: fn() -> i64,
}

struct State {
    remaining: HashMap<Address, Vec<Envelope>>,
    at_ms: i64,
}

impl<'a> AcceptSink<'a> {
    /// Writes to this sink; `now_ms` returns the time of events that are not recorded.
    pub fn new(recording: &'a Recording, sink: &'a dyn TimedSink, now_ms: fn() -> i64) -> Self {
        Self { recording, state: Mutex::new(State { remaining: recording.all(), at_ms: 0 }), sink, now_ms }
    }

    /// Returns the events to write for an event of the replay.
    fn events_to_write(&self, address: &Address, event: &Event) -> Vec<(i64, Address, Event)> {
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
            // Events inside an interrupted program are copied.
            let inside = self.recording.events_within(address).into_iter();
            all.extend(inside.map(|envelope| (envelope.at_ms, envelope.address, envelope.event)));
        }
        match event.class() {
            Class::Derived => all.push((state.at_ms, address.clone(), self.with_counted_attempts(address, event))),
            Class::Input | Class::Note if recorded.is_empty() => {
                all.push((state.at_ms, address.clone(), event.clone()));
            }
            Class::Input if is_partly_derived(event) => {
                let recorded = recorded.last().map(|envelope| &envelope.event);
                all.push((state.at_ms, address.clone(), with_recorded_notes(event, recorded)));
            }
            Class::Input | Class::Note => {
                all.extend(recorded.into_iter().map(|envelope| (envelope.at_ms, envelope.address, envelope.event)));
            }
        }
        all
    }

    /// Returns a computed event; the end of a turn whose totals are those of an earlier version stays one of that version.
    fn with_counted_attempts(&self, address: &Address, event: &Event) -> Event {
        match event {
            Event::TurnEnd(end) if !self.recording.counts_discarded(address) => {
                TurnEnd { inputs: None, ..end.clone() }.into()
            }
            event => event.clone(),
        }
    }

    /// Returns whether this is a part of a recorded attempt; all of its parts were written with the first one.
    fn repeats_part(&self, address: &Address, event: &Event) -> bool {
        let Event::ReplyPart(part) = event else { return false };
        let same = |known: &Envelope| matches!(&known.event, Event::ReplyPart(other) if other.attempt == part.attempt);
        self.recording.at(address).iter().any(same)
    }

    /// Returns whether nothing is recorded for the turn of this address.
    fn is_new(&self, address: &Address) -> bool {
        self.recording.at(&address.turn_part()).is_empty()
    }
}

/// Returns whether fields of this input are computed. Such events are emitted with the recorded inputs.
fn is_partly_derived(event: &Event) -> bool {
    matches!(event, Event::RunStart(_) | Event::TurnStart(_) | Event::ToolEnd(_))
}

/// Returns a computed event with the recorded duration.
fn with_recorded_notes(now: &Event, recorded: Option<&Event>) -> Event {
    match (now, recorded) {
        (Event::ToolEnd(now), Some(Event::ToolEnd(old))) => ToolEnd { ms: old.ms, ..now.clone() }.into(),
        _ => now.clone(),
    }
}

impl State {
    /// Removes the recorded events that correspond to this one: one of its kind, or all reply parts of the attempt.
    fn take(&mut self, address: &Address, event: &Event) -> Vec<Envelope> {
        let Some(remaining) = self.remaining.get_mut(address) else { return Vec::new() };
        if let Event::ReplyPart(part) = event {
            let same =
                |known: &Envelope| matches!(&known.event, Event::ReplyPart(other) if other.attempt == part.attempt);
            return remaining.extract_if(.., |known| same(known)).collect();
        }
        let index = remaining.iter().position(|known| known.event.kind() == event.kind());
        index.map(|index| remaining.remove(index)).into_iter().collect()
    }
}

impl Sink for AcceptSink<'_> {
    fn emit(&self, address: Address, event: Event) -> BoxFuture<'_, Result<Envelope, SinkError>> {
        Box::pin(async move {
            let mut last = Envelope { seq: 0, at_ms: 0, address: address.clone(), event: event.clone() };
            for (at_ms, at, written) in self.events_to_write(&address, &event) {
                last = self.sink.store(at_ms, at, written).await?;
            }
            Ok(Envelope { address, event, ..last })
        })
    }
}

/// A sink that collects events in memory.
#[derive(Default)]
struct MemorySink(Mutex<Vec<Envelope>>);

impl TimedSink for MemorySink {
    fn store(&self, at_ms: i64, address: Address, event: Event) -> BoxFuture<'_, Result<Envelope, SinkError>> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let envelope = Envelope { seq: all.len() as u64 + 1, at_ms, address, event };
        all.push(envelope.clone());
        Box::pin(futures::future::ready(Ok(envelope)))
    }
}

/// Regenerates the events of a recording, using nothing but the recording.
pub async fn regenerate(recording: &Arc<Recording>) -> Result<Vec<Envelope>, ReplayError> {
    let edits = RecordedEdits::of(recording).map_err(|message| ReplayError { message })?;
    let collected = MemorySink::default();
    let sink = AcceptSink::new(recording, &collected, || 0);
    let mut carries = HashMap::new();
    for run in recording.runs() {
        let plan = plan_of(recording, &run)?;
        let Some(start) = recording.run_start(&run) else { continue };
        let input = Input { continues: carry_of(start, &carries), ..input_of(&run, start) };
        let ports = RecordedPorts::new(Arc::clone(recording), run.clone(), &edits);
        let (_, carry) = engine::run_carrying(&plan, input, &ports.with_sink(&sink)).await;
        carries.insert(run, carry);
    }
    Ok(collected.0.into_inner().unwrap_or_else(PoisonError::into_inner))
}
