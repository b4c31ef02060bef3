//! Consent: who decides whether a tool may have external effects, and the stored decisions.
//!
//! In: the description of a tool. Out: a decision, or that the user must be asked. A stored decision is only valid for
//! exactly this definition; its hash is stored.

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::path::PathBuf;

use crate::event::{Answerer, Decision, hex_sha};

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
            Self::Always => "always: exactly this definition, from now on",
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
pub struct Ruling {
    /// The user, a policy or a stored grant.
    pub by: Answerer,
    /// The decision.
    pub decision: Decision,
}

/// The flag that allows all calls.
pub const ALLOW_FLAG: &str = "--allow-tools";

impl Ruling {
    /// Creates a ruling.
    pub fn new(by: Answerer, decision: Decision) -> Self {
        Self { by, decision }
    }
}

/// The definitions that are always allowed, one line each in a file of the user.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Grants {
    file: Option<PathBuf>,
}

impl Grants {
    /// Uses this file.
    pub fn at(file: PathBuf) -> Self {
        Self { file: Some(file) }
    }

    /// Returns whether this definition is always allowed.
    pub fn is_granted(&self, definition: &str) -> bool {
        let text = self.file.as_ref().and_then(|file| std::fs::read_to_string(file).ok()).unwrap_or_default();
        let wanted = hex_sha(definition.as_bytes());
        text.lines().any(|line| line.split_whitespace().next() == Some(wanted.as_str()))
    }

    /// Always allows this definition. Without a file nothing is stored.
    pub fn grant(&self, definition: &str) -> io::Result<()> {
        let Some(file) = self.file.as_ref().filter(|_| !self.is_granted(definition)) else { return Ok(()) };
        if let Some(folder) = file.parent() {
            std::fs::create_dir_all(folder)?;
        }
        // The text after the hash is for users who read the file.
        let words = definition.split_whitespace().collect::<Vec<_>>().join(" ");
        let mut file = OpenOptions::new().create(true).append(true).open(file)?;
        file.write_all(format!("{} {words}\n", hex_sha(definition.as_bytes())).as_bytes())
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

    #[test]
    fn a_grant_is_valid_for_exactly_its_definition() {
        let dir = tempfile::tempdir().unwrap();
        let grants = Grants::at(dir.path().join("tools/allowed"));
        assert!(!grants.is_granted("command \"wc\""));
        grants.grant("command \"wc\"").unwrap();
        grants.grant("command \"wc\"").unwrap();
        assert!(grants.is_granted("command \"wc\"") && !grants.is_granted("command \"wc\" \"-l\""));
        let text = std::fs::read_to_string(dir.path().join("tools/allowed")).unwrap();
        assert_eq!(text.lines().count(), 1);
        Grants::default().grant("x").unwrap();
    }
}
