//! Comparison of sessions, for both interfaces: finds the named sessions and formats their differences.
//!
//! In: names of sessions. Out: a [`Comparison`], and its tables and differences as lines that are safe for a terminal.

mod difference;
mod table;

use ptc_core::text::{SafeText, width};

use super::format::Marks;
use super::{OpenError, Workbench};
use crate::event::Address;
use crate::session::diff::{Comparison, Side, compare};

pub use difference::{against, first_difference, of_definitions, of_ends, of_turns};
pub use table::{cell_columns, ends, metrics, summarize_turn, totals, turns};

/// A line of a comparison.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Its tone.
    pub tone: Tone,
    /// Its text, safe for a terminal.
    pub text: String,
}

/// Tone of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Tone {
    /// A heading.
    Head,
    /// Main text.
    Plain,
    /// Context.
    Dim,
    /// Only the first side has it.
    Removed,
    /// Only the other side has it.
    Added,
}

/// Width and options of the lines of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame {
    /// Columns of the terminal.
    pub columns: usize,
    /// Every changed line and value; else the first of each part.
    pub whole: bool,
    /// Words instead of marks.
    pub words: bool,
}

impl Frame {
    fn good(self) -> &'static str {
        Marks::of(self.words).good
    }

    fn bad(self) -> &'static str {
        Marks::of(self.words).bad
    }

    fn differs(self) -> &'static str {
        Marks::of(self.words).differs
    }

    /// A line that fits the columns.
    fn line(self, tone: Tone, text: &str) -> Line {
        let safe = SafeText::single_line(text).into_string();
        let text = if self.whole { safe } else { width::truncate(&safe, self.columns).into_owned() };
        Line { tone, text: text.trim_end().to_owned() }
    }
}

impl Workbench {
    /// Compares sessions with the first. A name may end in `:ADDRESS` of one of the session's runs, such as `last:r1` or `last:r0/t2/c0`;
    /// without it all root runs are compared, the first with the first. Also returns what could not be read.
    ///
    /// Errors: a session that cannot be found or opened, or has no such run.
    pub fn compare_sessions(&self, names: &[String]) -> Result<(Comparison, Vec<String>), OpenError> {
        let mut warnings = Vec::new();
        let sides = names.iter().map(|name| self.side(name, &mut warnings)).collect::<Result<_, _>>()?;
        Ok((compare(distinct_labels(sides)), warnings))
    }

    /// A session as a column, and its location also if a copy exists.
    fn side(&self, name: &str, warnings: &mut Vec<String>) -> Result<(Side, String), OpenError> {
        let (session, run) = match (self.open_session(name), name.rsplit_once(':')) {
            (Ok(session), _) => (session, None),
            (Err(_), Some((session, run))) if run.starts_with('r') => {
                (self.open_session(session)?, Some(Address::from(run)))
            }
            (Err(error), _) => return Err(error),
        };
        let id = session.header.id.to_string();
        warnings.extend(session.damage_report().map(|damage| format!("{id}: {damage}")));
        let side = Side::of(&id, session.events(), run.as_ref());
        match (&run, side.runs.is_empty()) {
            (Some(run), true) => Err(OpenError(format!("{id} has no run {run}"))),
            (None, true) => Err(OpenError(format!("{id} holds no run: there is nothing to compare"))),
            (Some(run), false) => {
                Ok((Side { name: format!("{id}:{run}"), ..side }, format!("{}:{run}", self.name_of(&session.path))))
            }
            (None, false) => Ok((side, self.name_of(&session.path))),
        }
    }
}

/// Copies of a session have its id: those in other folders are labelled by their files.
fn distinct_labels(sides: Vec<(Side, String)>) -> Vec<Side> {
    let has_copy =
        |one: &(Side, String)| sides.iter().any(|(other, found_by)| other.name == one.0.name && *found_by != one.1);
    let copies: Vec<bool> = sides.iter().map(has_copy).collect();
    let called = |((side, found_by), is_copy)| if is_copy { Side { name: found_by, ..side } } else { side };
    sides.into_iter().zip(copies).map(called).collect()
}
