//! The lines of a list of which one is taken: fixes of a finding, models, failures.

use crate::agent::Fix;
use crate::tui::archive::Failing;

/// The lines of a list of which one is taken.
#[derive(Debug, Clone)]
pub enum Picks {
    /// Changes of the texts.
    Fixes(Vec<Fix>),
    /// Failures to look at.
    Failures(Vec<Failing>),
}

impl Picks {
    /// The lines.
    pub fn titles(&self) -> Vec<&str> {
        match self {
            Self::Fixes(fixes) => fixes.iter().map(|fix| fix.title.as_str()).collect(),
            Self::Failures(failures) => failures.iter().map(|failing| failing.title.as_str()).collect(),
        }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.titles().len()
    }
}
