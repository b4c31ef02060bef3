//! The table of builtins: everything a program can name without defining it. Lookup, arity errors, suggestions,
//! completion, `doc`, the function reference and the language card all read it.

mod describe;
mod format;
mod json;
mod key;
mod parts;
mod place;
pub(crate) mod regex;
mod row;
mod seq;
mod strings;
mod written;

use std::collections::HashMap;
use std::sync::OnceLock;

pub use row::{Arity, Builtin, Clojure, Cost, Run};

/// Rows that belong together.
#[derive(Debug, Clone, Copy)]
pub struct Section {
    /// The heading in the function reference.
    pub title: &'static str,
    /// Its rows, in the order of the reference.
    pub rows: &'static [Builtin],
}

/// All builtins by section.
pub const SECTIONS: &[Section] = &[
    Section { title: "Slicing", rows: seq::ROWS },
    Section { title: "Strings", rows: strings::ROWS },
    Section { title: "Places in strings", rows: place::ROWS },
    Section { title: "Parts of strings", rows: parts::ROWS },
    Section { title: "Formatting", rows: format::ROWS },
    Section { title: "Regular expressions", rows: regex::ROWS },
    Section { title: "JSON", rows: json::ROWS },
    Section { title: "Describing data", rows: describe::ROWS },
];

/// All builtins in the order of the reference.
pub fn rows() -> impl Iterator<Item = &'static Builtin> {
    SECTIONS.iter().flat_map(|section| section.rows)
}

/// The builtin of this name, without a namespace.
pub fn find(name: &str) -> Option<&'static Builtin> {
    static BY_NAME: OnceLock<HashMap<&'static str, &'static Builtin>> = OnceLock::new();
    BY_NAME.get_or_init(|| rows().map(|row| (row.name, row)).collect()).get(name).copied()
}
