//! The example agents that are part of the program: a table of names and their files' texts.

use super::Agent;
use crate::config::document::FileError;

/// An example agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bundled {
    /// Its name.
    pub name: &'static str,
    /// Its agent file.
    pub toml: &'static str,
}

/// Every example; the first is shown at the first start.
pub const BUNDLED: &[Bundled] = &[
    Bundled { name: "sentiment", toml: include_str!("../../assets/agents/sentiment.toml") },
    Bundled { name: "extract", toml: include_str!("../../assets/agents/extract.toml") },
];

impl Bundled {
    /// The example of this name.
    pub fn find(name: &str) -> Option<&'static Self> {
        BUNDLED.iter().find(|bundled| bundled.name == name)
    }

    /// The agent. Every example is read by a test.
    pub fn agent(&self) -> Result<Agent, FileError> {
        Agent::from_toml(self.toml, &format!("{}.toml", self.name))
    }
}
