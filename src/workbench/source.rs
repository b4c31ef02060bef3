//! Agents and pipelines by name (a file, else an example that is part of the program), and the example sessions.
//!
//! In: the user's text. Out: the definition, or why there is none. It must never change a file.

use std::path::Path;
use std::sync::LazyLock;

use ptc_core::text::did_you_mean;

use super::Pipeline;
use crate::agent::{Agent, BUNDLED, BUNDLED_PIPELINES, BundledExample};
use crate::replay::DemoModel;
use crate::session::Session;
use crate::tool::FileAccess;

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
    pub fn find(name: &str, path: &Path, access: &FileAccess) -> Result<Self, String> {
        let agent = |agent: Agent| Self::Agent(Box::new(agent));
        if path.exists() {
            let pipeline = if path.is_file() { Pipeline::read(path, access) } else { Ok(None) };
            let found = match pipeline {
                Ok(Some(pipeline)) => Ok(Self::Pipeline(pipeline)),
                Ok(None) => Agent::read_with(path, access).map(agent),
                Err(error) => Err(error),
            };
            return found.map_err(|error| error.to_string());
        }
        let found = match BundledExample::find(name) {
            Some(example) => example.agent().map(|example| Some(agent(example))),
            None => Pipeline::bundled(name).map(|found| found.map(Self::Pipeline)),
        };
        found.map_err(|error| error.to_string())?.ok_or_else(|| unknown(name, path))
    }
}

fn unknown(name: &str, path: &Path) -> String {
    let names = || BUNDLED.iter().chain(BUNDLED_PIPELINES).map(|bundled| bundled.name);
    let mut with_ending = path.as_os_str().to_owned();
    with_ending.push(".toml");
    let near = if Path::new(&with_ending).is_file() {
        format!("; did you mean `{name}.toml`?")
    } else {
        did_you_mean(name, names())
    };
    let known = names().collect::<Vec<_>>().join(", ");
    format!("{name}: no such agent file{near} (examples: {known})")
}

/// File name and content of every example session.
const FILES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/sessions.rs"));

/// The example sessions, read once.
static EXAMPLES: LazyLock<Vec<Session>> = LazyLock::new(|| FILES.iter().filter_map(example_of).collect());

/// The example sessions, oldest first. A file that cannot be read is left out; a test reads them all.
pub fn example_sessions() -> &'static [Session] {
    &EXAMPLES
}

fn example_of((name, text): &(&str, &str)) -> Option<Session> {
    Session::from_bytes(&Path::new("sessions").join(name), text.as_bytes().to_vec()).ok()
}

fn example_id(name: &'static str) -> &'static str {
    name.trim_end_matches(".jsonl")
}

/// Ids of the example sessions, which their files are named by, oldest first.
pub(super) fn example_ids() -> impl Iterator<Item = &'static str> {
    FILES.iter().map(|(name, _)| example_id(name))
}

/// The example session of this id. It alone is read.
pub(super) fn example_session(id: &str) -> Option<Session> {
    FILES.iter().find(|(name, _)| example_id(name) == id).and_then(example_of)
}

/// The model `demo` over the example sessions.
pub(super) fn demo() -> DemoModel {
    DemoModel::of_files(FILES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_of_the_example_sessions_are_named_by_their_ids() {
        let read: Vec<String> = example_sessions().iter().map(|session| session.header.id.to_string()).collect();
        assert!(!read.is_empty() && read.iter().is_sorted());
        assert_eq!(example_ids().collect::<Vec<_>>(), read);
        for id in &read {
            assert_eq!(example_session(id).map(|session| session.header.id.to_string()).as_ref(), Some(id));
        }
        assert!(example_session("").is_none());
    }
}
