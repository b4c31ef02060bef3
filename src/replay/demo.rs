//! The model `demo`: answers from the example recordings by agent, mode, turn and attempt, with their timing.

use std::sync::Arc;

use futures::future::BoxFuture;

use super::Recording;
use super::ports::{Telling, tell};
use super::recorded::{sent, spoken};
use crate::event::{Address, ModelRecord};
use crate::model::{Call, ErrorClass, Model, ModelError, ModelEvent, Reply, Request};

/// Answers from a set of recordings, also when the prompt was edited; it says so.
pub struct Demo {
    recordings: Vec<Arc<Recording>>,
}

impl Demo {
    /// Answers from these recordings; of several that fit the last counts.
    pub fn new(recordings: Vec<Arc<Recording>>) -> Self {
        Self { recordings }
    }

    /// Agents and modes that can be answered.
    pub fn known(&self) -> Vec<(String, String)> {
        let mut known: Vec<_> = self.starts().map(|(_, _, agent, mode)| (agent, mode)).collect();
        known.sort();
        known.dedup();
        known
    }

    fn starts(&self) -> impl DoubleEndedIterator<Item = (&Arc<Recording>, Address, String, String)> {
        self.recordings.iter().flat_map(|recording| {
            let runs = recording.runs().into_iter().filter_map(|run| {
                let start = recording.run_start(&run)?;
                Some((recording, run, start.agent.name.clone(), start.mode.clone()))
            });
            runs.collect::<Vec<_>>()
        })
    }

    fn find(&self, request: &Request) -> Result<(&Arc<Recording>, Address), ModelError> {
        let fits = |agent: &str, mode: &str| agent == request.agent && mode == request.mode;
        self.starts()
            .rev()
            .find(|(_, _, agent, mode)| fits(agent, mode))
            .map(|(recording, run, _, _)| (recording, run))
            .ok_or_else(|| {
                let known: Vec<_> = self.known().iter().map(|(agent, mode)| format!("{agent} ({mode})")).collect();
                let known = if known.is_empty() { "nothing".to_owned() } else { known.join(", ") };
                let message = format!(
                    "model demo has no recording of the agent {:?} in mode {}; recorded: {known}",
                    request.agent, request.mode
                );
                ModelError::new(ErrorClass::NotFound, message)
                    .hint("the model `sample` answers any signature with generated data")
            })
    }
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
                call.tell(ModelEvent::Notice("recorded for another prompt".to_owned())).await;
            }
            let reply = tell(recording, &at, call, Telling::AsRecorded).await?;
            Ok(Reply { structured_by: None, requests: 0, ..reply })
        })
    }
}
