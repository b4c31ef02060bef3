//! The model `demo`: answers from the example recordings by agent, mode, turn and attempt, with their timing.
//!
//! In: a request, also of an agent below. Out: the recorded reply, tool calls included. It must never look for exactly the same request.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use futures::future::BoxFuture;

use super::Recording;
use super::ports::{Telling, tell};
use super::recorded::{sent, spoken};
use crate::event::{Address, ModelRecord, Role, RunStart};
use crate::model::{Call, ErrorClass, Model, ModelError, ModelEvent, Reply, Request};

/// Answers from a set of recordings, also when the prompt was edited; it says so.
pub struct Demo {
    recordings: Vec<Arc<Recording>>,
    /// Which recorded run answers for each run that was asked for.
    taken: Mutex<HashMap<Address, Place>>,
}

/// A recorded run: the recording's number and the run's address in it.
type Place = (usize, Address);

impl Demo {
    /// Answers from these recordings. Of several runs that fit, the one with the same opening counts, then one in the recording
    /// that answers for the agent above, then one at the same address, then the last.
    pub fn new(recordings: Vec<Arc<Recording>>) -> Self {
        Self { recordings, taken: Mutex::default() }
    }

    /// Agents and modes that can be answered.
    pub fn known(&self) -> Vec<(String, String)> {
        let mut known: Vec<_> =
            self.starts().map(|(_, start)| (start.agent.name.clone(), start.mode.clone())).collect();
        known.sort();
        known.dedup();
        known
    }

    /// Every recorded run and how it started.
    fn starts(&self) -> impl Iterator<Item = (Place, &RunStart)> {
        self.recordings.iter().enumerate().flat_map(|(number, recording)| {
            let runs = recording.all_runs().iter();
            runs.filter_map(move |run| Some(((number, run.clone()), recording.run_start(run)?)))
        })
    }

    fn find(&self, request: &Request) -> Result<(&Arc<Recording>, Address), ModelError> {
        let run = request.address.run_part();
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let again = taken.get(&run).filter(|_| request.turn() > 1).cloned();
        let above = if run.is_call() { taken.get(&run.run_part()).map(|(number, _)| *number) } else { None };
        let place = again
            .or_else(|| self.best(request, above))
            .or_else(|| self.below(&run, above))
            .ok_or_else(|| self.nothing(request))?;
        taken.insert(run, place.clone());
        let recording = self.recordings.get(place.0).ok_or_else(|| self.nothing(request))?;
        Ok((recording, place.1))
    }

    /// The best of the runs of that agent in that mode.
    fn best(&self, request: &Request, above: Option<usize>) -> Option<Place> {
        let run = request.address.run_part();
        let opening = opening(spoken(request));
        let fits = |start: &RunStart| start.agent.name == request.agent && start.mode == request.mode;
        let rank = |place: &Place| {
            let recording = self.recordings.get(place.0);
            let was = recording.and_then(|recording| recording.request(&place.1.turn(1)));
            (was.is_some_and(|was| sent(&was) == opening), above == Some(place.0), place.1 == run)
        };
        self.starts().filter(|(_, start)| fits(start)).map(|(place, _)| place).max_by_key(rank)
    }

    /// What the recording of the agent above holds at this address.
    fn below(&self, run: &Address, above: Option<usize>) -> Option<Place> {
        let number = above?;
        let holds = self.recordings.get(number)?.run_start(run).is_some();
        holds.then(|| (number, run.clone()))
    }

    fn nothing(&self, request: &Request) -> ModelError {
        let all = self.known();
        let modes =
            |agents: &[(String, String)]| agents.iter().map(|(_, mode)| mode.as_str()).collect::<Vec<_>>().join(", ");
        let agents = all.chunk_by(|one, other| one.0 == other.0);
        let known: Vec<_> = agents.filter_map(|same| Some(format!("{} ({})", same.first()?.0, modes(same)))).collect();
        let known = if known.is_empty() { "nothing".to_owned() } else { known.join(", ") };
        let message = format!(
            "model demo has no recording of the agent {:?} in mode {}; recorded: {known}",
            request.agent, request.mode
        );
        ModelError::new(ErrorClass::NotFound, message)
            .hint("the model `sample` answers any signature with generated data")
    }
}

/// The messages before the first reply: what a run begins with.
fn opening(messages: Vec<(String, String)>) -> Vec<(String, String)> {
    messages.into_iter().take_while(|(role, _)| role != Role::Assistant.name()).collect()
}

impl Model for Demo {
    fn info(&self) -> ModelRecord {
        ModelRecord { alias: "demo".into(), provider: "demo".into(), id: "demo".into(), price: None }
    }

    fn answer<'a>(&'a self, request: &'a Request, call: &'a Call) -> BoxFuture<'a, Result<Reply, ModelError>> {
        Box::pin(async move {
            let (recording, run) = self.find(request)?;
            let turns = recording.turns(&run);
            let at = run.turn(request.turn().min(turns));
            if request.turn() > turns {
                let text = format!("the recording ends after turn {turns}: its last reply is repeated");
                call.tell(ModelEvent::Notice(text)).await;
            } else if request.turn() == 1 && recording.request(&at).is_some_and(|was| sent(&was) != spoken(request)) {
                // Later turns differ as soon as the first one does: once is enough.
                call.tell(ModelEvent::Notice("the demo answers from a recording with another prompt".to_owned())).await;
            }
            let reply = tell(recording, &at, call, Telling::AsRecorded).await?;
            Ok(Reply { structured_by: None, requests: 0, ..reply })
        })
    }
}
