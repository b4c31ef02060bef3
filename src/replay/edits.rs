//! The edits of a recording, with which a fork continues and its replay is computed; whether an edited turn reaches its request.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use futures::future::BoxFuture;

use super::program_context::{DiscardSink, replay_until};
use super::{Recording, ReplayError};
use crate::agent::Agent;
use crate::engine::EditedInputs;
use crate::event::{Address, Edit, Envelope, ErrorRecord, Event};
use crate::port::{Sink, SinkError};

/// The edits of a recording.
#[derive(Debug, Default)]
pub struct RecordedEdits {
    turns: HashMap<Address, EditedInputs>,
    /// Replacements of replies by turn, and of results by call.
    replacements: HashMap<Address, Edit>,
}

impl RecordedEdits {
    /// Collects the edits. Edits of later turns of a run are applied after earlier ones. Fails when an edit is invalid.
    pub fn of(recording: &Recording) -> Result<Self, String> {
        let mut found = Self::default();
        for (at, edits) in recording.edits() {
            let last = |target: &str| edits.iter().rev().find(|edit| edit.target == target).cloned();
            let target = if at.is_call() { Edit::RESULT } else { Edit::REPLY };
            found.replacements.extend(last(target).map(|edit| (at, edit)));
        }
        for run in recording.all_runs() {
            found.add_run(recording, run).map_err(|why| format!("{run}: {why}"))?;
        }
        Ok(found)
    }

    /// Returns the edits in effect at a turn: those of the last edited turn of the run up to it.
    pub fn until(&self, run: &Address, turn: u32) -> Option<&EditedInputs> {
        let earlier = |at: &Address| at.run_part() == *run && at.turn_number().is_some_and(|number| number <= turn);
        let last = self.turns.keys().filter(|at| earlier(at)).max_by_key(|at| at.turn_number());
        last.and_then(|at| self.turns.get(at))
    }

    /// Returns the edits that apply from this turn on.
    pub fn turn(&self, turn: &Address) -> Option<&EditedInputs> {
        self.turns.get(turn)
    }

    /// Returns the edit that replaces the reply of this turn or the result of this call.
    pub fn replacement(&self, at: &Address) -> Option<&Edit> {
        self.replacements.get(at)
    }

    fn add_run(&mut self, recording: &Recording, run: &Address) -> Result<(), String> {
        let of_the_turn = |at: &Address| -> Vec<Edit> {
            let edits = recording.at(at).iter().filter_map(|envelope| match &envelope.event {
                Event::Edit(edit) if edit.is_of_the_turn() => Some(edit.clone()),
                _ => None,
            });
            edits.collect()
        };
        // An edit precedes the start of its turn: the last turn may not have started.
        let turns = (1..=recording.turns(run).saturating_add(1)).map(|number| run.turn(number));
        let edited: Vec<_> = turns.map(|at| (of_the_turn(&at), at)).filter(|(edits, _)| !edits.is_empty()).collect();
        if edited.is_empty() {
            return Ok(());
        }
        let start = recording.run_start(run).ok_or("its run.start is missing")?;
        let mut agent = Agent::recorded(&start.agent.toml).map_err(|error| error.to_string())?;
        let mut context = start.context.json();
        for (edits, at) in edited {
            let edited = EditedInputs::of(&agent, &context, &edits)?;
            (agent, context) = (edited.plan.agent.clone(), edited.context.clone());
            self.turns.insert(at, edited);
        }
        Ok(())
    }
}

/// Returns the error of the run before this turn's request; `None` when the request is made.
pub async fn fails_before_request(
    recording: &Arc<Recording>,
    turn: &Address,
) -> Result<Option<ErrorRecord>, ReplayError> {
    let events =
        RequestProbe { turn: turn.clone(), run: turn.run_part(), fail: Mutex::default(), sink: DiscardSink::default() };
    replay_until(recording, turn, None, &events).await?;
    Ok(events.fail.into_inner().unwrap_or_else(PoisonError::into_inner))
}

/// Stops the replay at the request of the turn, or at the end of its run.
struct RequestProbe {
    turn: Address,
    run: Address,
    fail: Mutex<Option<ErrorRecord>>,
    sink: DiscardSink,
}

impl Sink for RequestProbe {
    fn emit(&self, address: Address, event: Event) -> BoxFuture<'_, Result<Envelope, SinkError>> {
        let over = match &event {
            Event::RequestMade(_) => address == self.turn,
            Event::RunEnd(end) if address == self.run => {
                self.fail.lock().unwrap_or_else(PoisonError::into_inner).clone_from(&end.fail);
                true
            }
            _ => false,
        };
        if over {
            return Box::pin(futures::future::ready(Err(SinkError::Diverged)));
        }
        self.sink.emit(address, event)
    }
}
