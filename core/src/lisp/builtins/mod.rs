//! The table of builtins: every predefined name. Lookup, arity errors, suggestions, completion, `doc`, the function
//! reference and the language card all read it.

#![expect(clippy::unnecessary_wraps, reason = "all builtins have the type of the table's functions")]
#![expect(clippy::unnecessary_box_returns, reason = "boxed errors keep a result as small as a value")]

mod access;
mod aggregate;
mod argument;
mod arith;
mod assoc;
mod bits;
mod build;
mod calendar;
mod cells;
mod collection;
mod compare;
mod compose;
mod control;
mod custom_stage;
mod describe;
mod discovery;
mod edn;
mod endless;
mod exceptions;
mod filter;
mod format;
mod forms;
mod group;
pub(crate) mod habit;
mod interop;
mod json;
mod key;
#[cfg(test)]
mod laws;
mod lookup;
mod map;
mod mathematics;
mod methods;
mod multi;
pub mod namespaces;
mod numeric;
mod parse;
mod parts;
mod pipeline;
mod position;
mod predicates;
pub(crate) mod range;
mod recall;
mod reduce;
mod reference;
pub(crate) mod regex;
mod relations;
mod rounding;
mod sets;
mod slice;
mod sort;
mod sorted;
mod source;
mod strings;
mod text_writer;
mod texts;
mod time;
mod transducers;
mod view;
mod walk;

use hashbrown::HashMap;
use std::sync::OnceLock;

use super::machine::Callable;
use crate::heap::uncounted;
use crate::value::Value;

pub(crate) use cells::change_cell;
pub(crate) use control::{CAPTURE, CAPTURE_NAME, NO_MATCH};
pub(crate) use exceptions::{ASSERTION, EXCEPTION, class_of, exception_of, uncaught};
pub(crate) use multi::{METHOD, MULTIMETHOD, NAMED_ARGUMENTS};

pub use super::machine::{Arity, Builtin, Clojure, Cost, FunctionUse, Implementation, InReference};
pub use reference::{card, card_of_try, reference};

pub(crate) use pipeline::Pipeline;
pub(crate) use recall::{CALLED, CALLED_NAME};
pub(crate) use texts::joined;

/// A group of related rows.
#[derive(Debug, Clone, Copy)]
pub struct Section {
    /// Its heading in the function reference.
    pub title: &'static str,
    /// Its rows, in the order of the reference.
    pub rows: &'static [Builtin],
}

/// All builtins by section.
pub const SECTIONS: &[Section] = &[
    Section { title: "Choices", rows: forms::CHOICES },
    Section { title: "Bindings, functions and loops", rows: forms::BINDINGS },
    Section { title: "Threading", rows: forms::THREADING },
    Section { title: "Memory and agent", rows: forms::MEMORY },
    Section { title: "Errors", rows: exceptions::ROWS },
    Section { title: "Cells", rows: cells::ROWS },
    Section { title: "Multimethods", rows: forms::MULTIMETHODS },
    Section { title: "Headers", rows: forms::HEADERS },
    Section { title: "Discovery", rows: discovery::ROWS },
    Section { title: "Calling, printing, parallel work", rows: control::ROWS },
    Section { title: "Access", rows: access::ROWS },
    Section { title: "Slicing", rows: slice::ROWS },
    Section { title: "Building", rows: build::ROWS },
    Section { title: "Ranges", rows: range::ROWS },
    Section { title: "Endless sequences", rows: endless::ROWS },
    Section { title: "Transducers", rows: transducers::ROWS },
    Section { title: "Grouping", rows: group::ROWS },
    Section { title: "Sorting", rows: sort::ROWS },
    Section { title: "Walking", rows: walk::ROWS },
    Section { title: "Mapping", rows: map::ROWS },
    Section { title: "Choosing", rows: filter::ROWS },
    Section { title: "Reducing and grouping", rows: reduce::ROWS },
    Section { title: "Composing functions", rows: compose::ROWS },
    Section { title: "Keeping results, characters", rows: recall::ROWS },
    Section { title: "Reading maps", rows: lookup::ROWS },
    Section { title: "Changing maps", rows: assoc::ROWS },
    Section { title: "Aggregation", rows: aggregate::ROWS },
    Section { title: "Sets", rows: sets::ROWS },
    Section { title: "Sorted collections", rows: sorted::ROWS },
    Section { title: "Relations", rows: relations::ROWS },
    Section { title: "Strings", rows: strings::ROWS },
    Section { title: "Positions in strings", rows: position::ROWS },
    Section { title: "Parts of strings", rows: parts::ROWS },
    Section { title: "Formatting", rows: format::ROWS },
    Section { title: "Regular expressions", rows: regex::ROWS },
    Section { title: "JSON", rows: json::ROWS },
    Section { title: "Describing data", rows: describe::ROWS },
    Section { title: "Methods of strings", rows: interop::ROWS },
    Section { title: "Methods of values", rows: methods::ROWS },
    Section { title: "Dates and times", rows: time::ROWS },
    Section { title: "Fields of dates and times", rows: calendar::FIELDS },
    Section { title: "Moving dates and times", rows: calendar::MOVES },
    Section { title: "Time zones", rows: calendar::ZONES },
    Section { title: "Formats of dates and times", rows: calendar::PATTERNS },
    Section { title: "Arithmetic", rows: arith::ROWS },
    Section { title: "Rounding, roots and powers", rows: rounding::ROWS },
    Section { title: "Functions of Math", rows: mathematics::ROWS },
    Section { title: "Exact numbers", rows: sorted::EXACT },
    Section { title: "Comparison", rows: compare::ROWS },
    Section { title: "Bits", rows: bits::ROWS },
    Section { title: "Types and truth", rows: predicates::ROWS },
    Section { title: "Number predicates", rows: numeric::ROWS },
    Section { title: "Numbers from text", rows: parse::ROWS },
    Section { title: "Values as text", rows: texts::ROWS },
    Section { title: "Values from text", rows: edn::ROWS },
];

/// All builtins in the order of the reference.
pub fn rows() -> impl Iterator<Item = &'static Builtin> {
    SECTIONS.iter().flat_map(|section| section.rows)
}

/// The builtin of this name, without a namespace.
pub fn find(name: &str) -> Option<&'static Builtin> {
    by_name().get(name).map(|(row, _)| *row)
}

/// A builtin as a value.
pub(crate) fn value(row: &'static Builtin) -> Value {
    let known = by_name().get(row.name).filter(|(known, _)| std::ptr::eq(*known, row));
    known.map_or_else(|| Callable::Builtin(row).into_value(), |(_, value)| value.clone())
}

fn by_name() -> &'static HashMap<&'static str, (&'static Builtin, Value)> {
    static BY_NAME: OnceLock<HashMap<&'static str, (&'static Builtin, Value)>> = OnceLock::new();
    let rows = || rows().map(|row| (row.name, (row, Callable::Builtin(row).into_value()))).collect();
    BY_NAME.get_or_init(|| uncounted(rows))
}

#[cfg(test)]
mod tests;
