//! Number of colours of a terminal.
//!
//! In: the environment. Out: a level. It does not query the terminal.

use super::Env;

/// Number of colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ColourLevel {
    /// No colours: `NO_COLOR`, `--no-color` or a dumb terminal.
    None,
    /// The sixteen named colours.
    Sixteen,
    /// A palette of 256.
    Table,
    /// 24-bit colours.
    True,
}

impl ColourLevel {
    /// Returns the level according to the environment. `NO_COLOR` counts when it is not empty.
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
