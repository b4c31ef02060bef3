//! Services of the line editor: completions of a word, whether the input is a whole program, and its colours.

use std::borrow::Cow;
use std::cell::Cell;

use ptc_core::text::lex::lisp::{Balance, matching};
use rustyline::completion::Completer;
use rustyline::highlight::{CmdKind, Highlighter};
use rustyline::hint::Hinter;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{Context, Helper};

use super::complete::{Known, candidates};
use super::session::is_command;
use crate::cli::lisp::face::Face;

/// Knows the names and the language.
pub(super) struct Assistant {
    face: Face,
    /// Names that may be completed now.
    pub(super) known: Known,
    /// The input is finished: nothing is highlighted any more.
    is_done: Cell<bool>,
}

impl Assistant {
    pub(super) fn new(face: Face) -> Self {
        Self { face, known: Known::default(), is_done: Cell::new(false) }
    }
}

impl Completer for Assistant {
    type Candidate = String;

    fn complete(&self, line: &str, at: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<String>)> {
        Ok(candidates(line, at, &self.known))
    }
}

impl Validator for Assistant {
    fn validate(&self, input: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        let whole = is_command(input.input()) || !Balance::of(input.input()).is_open();
        Ok(if whole { ValidationResult::Valid(None) } else { ValidationResult::Incomplete })
    }
}

impl Highlighter for Assistant {
    /// Colours, and the two brackets of a pair when the cursor is on one or after one.
    fn highlight<'l>(&self, line: &'l str, at: usize) -> Cow<'l, str> {
        let pair = || matching(line, at).or_else(|| matching(line, at.checked_sub(1)?));
        let marked = if self.is_done.get() { None } else { pair() }.map(|(open, close)| [open, close]);
        Cow::Owned(self.face.typed(line, marked.as_ref().map_or(&[], |pair| pair)))
    }

    fn highlight_char(&self, _: &str, _: usize, kind: CmdKind) -> bool {
        self.is_done.set(kind == CmdKind::ForcedRefresh);
        true
    }
}

impl Hinter for Assistant {
    type Hint = String;
}

impl Helper for Assistant {}
