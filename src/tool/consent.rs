//! Consent: who decides whether a tool may start a process or leave the machine, and what was decided for good.
//!
//! In: the definition of a tool in words. Out: a decision, or that a person is to be asked. A decision for good holds for the exact
//! definition only: it is kept by the definition's hash.

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::path::PathBuf;

use crate::event::{Answerer, Decision, hex_sha};

impl Decision {
    /// The decision of an answer: its name, or the name's first letter.
    pub fn read(answer: &str) -> Option<Self> {
        let answer = answer.trim().to_ascii_lowercase();
        let is_meant = |name: &str| name == answer || (answer.len() == 1 && name.starts_with(&answer));
        Self::ALL.into_iter().find(|decision| is_meant(decision.name()))
    }

    /// What it means, for whoever decides.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Once => "once: this call",
            Self::Run => "run: all such calls of this run",
            Self::Always => "always: exactly this definition, from now on",
            Self::Deny => "deny: the call is not made",
        }
    }
}

/// Who decides when nothing was decided for good.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Policy {
    /// Nobody: such calls are not made.
    #[default]
    Refuse,
    /// The person at the interface.
    Ask,
    /// Whoever started the program has allowed all of them.
    Allow,
}

/// A decision that needed no question, and by whom it was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ruling {
    /// Who decided.
    pub by: Answerer,
    /// What was decided.
    pub decision: Decision,
}

/// The flag that allows all calls.
pub const ALLOW_FLAG: &str = "--allow-tools";

impl Ruling {
    /// A decision and who made it.
    pub fn new(by: Answerer, decision: Decision) -> Self {
        Self { by, decision }
    }
}

/// The definitions that may always be called: one line each in a file of the user.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Grants {
    file: Option<PathBuf>,
}

impl Grants {
    /// Kept in this file.
    pub fn at(file: PathBuf) -> Self {
        Self { file: Some(file) }
    }

    /// May this definition always be called?
    pub fn holds(&self, definition: &str) -> bool {
        let text = self.file.as_ref().and_then(|file| std::fs::read_to_string(file).ok()).unwrap_or_default();
        let wanted = hex_sha(definition.as_bytes());
        text.lines().any(|line| line.split_whitespace().next() == Some(wanted.as_str()))
    }

    /// From now on it may. Without a file nothing is kept.
    pub fn keep(&self, definition: &str) -> io::Result<()> {
        let Some(file) = self.file.as_ref().filter(|_| !self.holds(definition)) else { return Ok(()) };
        if let Some(folder) = file.parent() {
            std::fs::create_dir_all(folder)?;
        }
        // The words behind the hash are for a person who looks into the file.
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
    fn what_is_kept_holds_for_the_exact_definition() {
        let dir = tempfile::tempdir().unwrap();
        let grants = Grants::at(dir.path().join("tools/allowed"));
        assert!(!grants.holds("command \"wc\""));
        grants.keep("command \"wc\"").unwrap();
        grants.keep("command \"wc\"").unwrap();
        assert!(grants.holds("command \"wc\"") && !grants.holds("command \"wc\" \"-l\""));
        let text = std::fs::read_to_string(dir.path().join("tools/allowed")).unwrap();
        assert_eq!(text.lines().count(), 1);
        Grants::default().keep("x").unwrap();
    }
}
