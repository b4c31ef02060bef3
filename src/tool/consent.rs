//! Consent: who decides whether a tool may have external effects.
//!
//! In: the answer of a user, or a policy. Out: a decision. Stored decisions are grants (`grant.rs`).

use crate::event::{Answerer, Decision};

impl Decision {
    /// Parses an answer: the name of a decision or its first letter.
    pub fn read(answer: &str) -> Option<Self> {
        let answer = answer.trim().to_ascii_lowercase();
        let is_meant = |name: &str| name == answer || (answer.len() == 1 && name.starts_with(&answer));
        Self::ALL.into_iter().find(|decision| is_meant(decision.name()))
    }

    /// Returns the explanation for the user.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Once => "once: this call",
            Self::Run => "run: all such calls of this run",
            Self::Always => "always: exactly this program in this place",
            Self::Deny => "deny: the call is not made",
        }
    }
}

/// Decides about calls without a stored decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ConsentPolicy {
    /// Refuse all calls.
    #[default]
    Refuse,
    /// Ask the user.
    Ask,
    /// Allow all calls.
    Allow,
}

/// A decision made without a question, and who made it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConsentDecision {
    /// The user, a policy or a stored grant.
    pub by: Answerer,
    /// The decision.
    pub decision: Decision,
}

/// The flag that allows all calls.
pub const ALLOW_FLAG: &str = "--allow-tools";

impl ConsentDecision {
    /// Creates a decision.
    pub fn new(by: Answerer, decision: Decision) -> Self {
        Self { by, decision }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_a_name_or_its_first_letter() {
        for decision in Decision::ALL {
            let name = decision.name();
            assert_eq!(Decision::read(&name[..1]), Some(decision));
            assert_eq!(Decision::read(&format!(" {} ", name.to_uppercase())), Some(decision));
        }
        for answer in ["", "yes", "on", "allow"] {
            assert_eq!(Decision::read(answer), None, "{answer}");
        }
    }
}
