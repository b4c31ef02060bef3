//! The example agents and pipelines that are part of the program: tables of names and their files' texts.

use super::Agent;
use crate::config::document::FileError;

/// An example.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BundledExample {
    /// Its name.
    pub name: &'static str,
    /// Its file.
    pub toml: &'static str,
}

/// Every example; the first is shown at the first start.
pub const BUNDLED: &[BundledExample] = &[
    BundledExample { name: "sentiment", toml: include_str!("../../assets/agents/sentiment.toml") },
    BundledExample { name: "extract", toml: include_str!("../../assets/agents/extract.toml") },
    BundledExample { name: "sales", toml: include_str!("../../assets/agents/sales.toml") },
    BundledExample { name: "reviews", toml: include_str!("../../assets/agents/reviews.toml") },
    BundledExample { name: "booking", toml: include_str!("../../assets/agents/booking.toml") },
    BundledExample { name: "workshop", toml: include_str!("../../assets/agents/workshop.toml") },
    BundledExample { name: "statement", toml: include_str!("../../assets/agents/statement.toml") },
    BundledExample { name: "yard", toml: include_str!("../../assets/agents/yard.toml") },
];

/// Every example pipeline; `toml` is its pipeline file.
pub const BUNDLED_PIPELINES: &[BundledExample] =
    &[BundledExample { name: "quote", toml: include_str!("../../assets/pipelines/quote.toml") }];

impl BundledExample {
    /// The example agent of this name.
    pub fn find(name: &str) -> Option<&'static Self> {
        BUNDLED.iter().find(|example| example.name == name)
    }

    /// The example pipeline of this name.
    pub fn find_pipeline(name: &str) -> Option<&'static Self> {
        BUNDLED_PIPELINES.iter().find(|example| example.name == name)
    }

    /// The agent of its file. Every example is read by a test.
    pub fn agent(&self) -> Result<Agent, FileError> {
        Agent::from_toml(self.toml, &format!("{}.toml", self.name))
    }
}
