//! Capabilities of a terminal: its number of colours, and its size.
//!
//! In: the environment, a stream. Out: a level, columns and rows. It must never start a program to find out.

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

/// Columns and rows of the terminal of a stream; `None` where it is not one or has no size.
///
/// The terminal library is not asked: without a terminal it runs `tput` from the search path.
#[cfg(unix)]
pub fn terminal_size(stream: impl std::os::fd::AsFd) -> Option<(u16, u16)> {
    let size = rustix::termios::tcgetwinsize(stream).ok()?;
    Some((size.ws_col, size.ws_row)).filter(|(columns, rows)| *columns > 0 && *rows > 0)
}

/// Columns and rows of the terminal of this process; `None` where it has no size.
#[cfg(not(unix))]
pub fn terminal_size<S>(_: S) -> Option<(u16, u16)> {
    crossterm::terminal::size().ok()
}
