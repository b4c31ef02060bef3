//! How many colours a terminal shows.
//!
//! In: the environment. Out: a level. It never asks the terminal.

use super::Env;

/// How many colours there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ColourLevel {
    /// None: `NO_COLOR` or `--no-color`, or a terminal that only shows lines.
    None,
    /// The sixteen named ones.
    Sixteen,
    /// A table of 256.
    Table,
    /// All of them.
    True,
}

impl ColourLevel {
    /// The level that the variables of a process tell. `NO_COLOR` counts when it is not empty.
    pub fn of(env: Env<'_>) -> Self {
        let value = |name| env(name).unwrap_or_default();
        let term = value("TERM");
        if !value("NO_COLOR").is_empty() || term == "dumb" {
            return Self::None;
        }
        match value("COLORTERM").as_str() {
            "truecolor" | "24bit" => Self::True,
            _ if term.ends_with("-direct") => Self::True,
            _ if term.contains("256color") => Self::Table,
            _ => Self::Sixteen,
        }
    }
}
