//! Agents and pipelines by name (a file, else an example that is part of the program), and the example sessions.
//!
//! In: the user's text. Out: the definition, or why there is none. It must never change a file.

use std::path::Path;
use std::sync::Arc;

use ptc_core::text::did_you_mean;

use super::Pipeline;
use crate::agent::{Agent, BUNDLED, BUNDLED_PIPELINES, Bundled};
use crate::replay::{DemoModel, Recording};
use crate::session::Session;

/// The meaning of a name.
#[derive(Debug, Clone)]
pub enum Source {
    /// One agent.
    Agent(Box<Agent>),
    /// Several, one after the other.
    Pipeline(Pipeline),
}

impl Source {
    /// The definition of a name whose file would be at `path`. Errors: there is neither file nor example; it cannot be read.
    pub fn find(name: &str, path: &Path) -> Result<Self, String> {
        let agent = |agent: Agent| Self::Agent(Box::new(agent));
        if path.exists() {
            let pipeline = if path.is_file() { Pipeline::read(path) } else { Ok(None) };
            let found = match pipeline {
                Ok(Some(pipeline)) => Ok(Self::Pipeline(pipeline)),
                Ok(None) => Agent::read(path).map(agent),
                Err(error) => Err(error),
            };
            return found.map_err(|error| error.to_string());
        }
        let found = match Bundled::find(name) {
            Some(example) => example.agent().map(|example| Some(agent(example))),
            None => Pipeline::bundled(name).map(|found| found.map(Self::Pipeline)),
        };
        found.map_err(|error| error.to_string())?.ok_or_else(|| unknown(name))
    }
}

fn unknown(name: &str) -> String {
    let names = || BUNDLED.iter().chain(BUNDLED_PIPELINES).map(|bundled| bundled.name);
    let near = did_you_mean(name, names());
    let known = names().collect::<Vec<_>>().join(", ");
    format!("{name}: no such agent file{near} (examples: {known})")
}

/// File name and content of every example session.
const FILES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/sessions.rs"));

/// The example sessions, oldest first. A file that cannot be read is left out; a test reads them all.
pub fn example_sessions() -> Vec<Session> {
    FILES
        .iter()
        .filter_map(|(name, text)| {
            Session::from_bytes(&Path::new("sessions").join(name), text.as_bytes().to_vec()).ok()
        })
        .collect()
}

/// The model `demo` over the example sessions.
pub(super) fn demo() -> DemoModel {
    let recordings =
        example_sessions().iter().filter_map(|session| Recording::of(session).ok().map(Arc::new)).collect();
    DemoModel::new(recordings)
}
