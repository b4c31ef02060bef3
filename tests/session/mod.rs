//! Session files: what the recorder writes, what survives a kill, what a damaged file still gives.

mod compare;
mod damage;
mod disk;
mod failures;
mod kill;
mod labels;
mod list;
mod marks;
mod place;
mod query;
mod recorder;
mod search;
mod secrets;
mod verify;

use std::path::Path;
use std::sync::Arc;

use ptc_workbench::agent::{Agent, Plan, Step};
use ptc_workbench::engine::{self, Input, Ports};
use ptc_workbench::model::Model;
use ptc_workbench::port::{Sink, Stop};
use ptc_workbench::session::{Header, Recorder, SessionId};

use crate::engine::{Ticks, parsed};

/// A recorder of a new session in this folder.
pub(crate) fn recorder(dir: &Path, created_ms: i64, chance: u32) -> Recorder {
    Recorder::create(dir, &Header::new(SessionId::new(created_ms, chance), created_ms), Arc::new(Ticks(10))).unwrap()
}

/// Runs an agent with its events going to this sink.
pub(crate) async fn run_into(events: &dyn Sink, agent: &Agent, context: &str, model: &dyn Model) -> Step {
    let plan = Plan::new(agent).unwrap();
    let ports = Ports::new(model, &Ticks(10), events, Stop::default());
    engine::run(&plan, Input::new(parsed(context)), &ports).await
}
