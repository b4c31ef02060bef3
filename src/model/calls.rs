//! Tool calls in a reply: put together from pieces, or taken whole.
//!
//! In: pieces as servers send them, with or without index and id. Out: what to show while they arrive, and the calls at the end.
//! It must never mix two calls, nor give two calls of a reply the same id.

use super::assembly::joined;
use super::language::RESPOND;
use super::surrogate::Utf16Text;
use crate::event::{NativeCall, PartKind};

/// Meaning of a call of the tool that carries the schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Respond {
    /// There is no such tool.
    #[default]
    Absent,
    /// It is the only tool: every call is the answer, whatever name the server gives it.
    Alone,
    /// It is one of several.
    Among,
}

/// A call, or a piece of one.
#[derive(Debug, Default)]
pub(super) struct CallPiece {
    /// Its position among the calls, if the server gives it.
    pub(super) index: Option<u64>,
    /// Its id, empty when this piece has none.
    pub(super) id: String,
    /// The tool's name, or a piece of it.
    pub(super) name: String,
    /// Its arguments, or a piece of them.
    pub(super) args: Vec<Utf16Text>,
}

/// The calls of a reply so far.
#[derive(Debug, Default)]
pub(super) struct Calls {
    respond: Respond,
    calls: Vec<Partial>,
}

#[derive(Debug, Default)]
struct Partial {
    index: Option<u64>,
    id: String,
    name: String,
    args: Vec<Utf16Text>,
    /// Its name is among the pieces.
    is_named: bool,
}

impl Calls {
    /// No calls yet.
    pub(super) fn new(respond: Respond) -> Self {
        Self { respond, calls: Vec::new() }
    }

    /// Returns whether calls are the answer itself.
    pub(super) fn are_text(&self) -> bool {
        self.respond == Respond::Alone || self.answer().is_some()
    }

    /// Takes a piece. Its content is added to `pieces`.
    pub(super) fn take(&mut self, piece: CallPiece, pieces: &mut Vec<(PartKind, Utf16Text)>) {
        let CallPiece { index, id, name, args: arguments } = piece;
        let at = self.find(index, &id, &name);
        let is_new = at == self.calls.len();
        if is_new {
            self.calls.push(Partial { index, ..Partial::default() });
        }
        let is_latest = at + 1 == self.calls.len();
        // The name of the call before is complete, whether or not it has arguments.
        if let Some(before) = at.checked_sub(1).filter(|_| is_new) {
            self.show_name(before, pieces);
        }
        let Some(call) = self.calls.get_mut(at) else { return };
        if call.id.is_empty() {
            call.id = id;
        }
        // Some servers repeat the name with every piece.
        if call.name != name {
            call.name.push_str(&name);
        }
        call.args.extend(arguments.iter().cloned());
        match self.answer() {
            Some(answer) if answer == at => pieces.extend(arguments.into_iter().map(|text| (PartKind::Text, text))),
            // What belongs to a call that another one has followed is not shown: its place on the screen is past.
            _ if is_latest && !self.is_answer(at) => {
                // A name may come in pieces; the arguments follow it.
                if arguments.iter().any(|text| !text.is_empty()) {
                    self.show_name(at, pieces);
                }
                pieces.extend(arguments.into_iter().map(|text| (PartKind::Call, text)));
            }
            _ => {}
        }
    }

    /// Adds the name of a call to `pieces`, once.
    fn show_name(&mut self, at: usize, pieces: &mut Vec<(PartKind, Utf16Text)>) {
        let is_answer = self.is_answer(at);
        if let Some(call) = self.calls.get_mut(at).filter(|call| !call.is_named && !is_answer) {
            call.is_named = true;
            let gap = if at == 0 { "" } else { "\n" };
            pieces.push((PartKind::Call, format!("{gap}{} ", call.name).as_str().into()));
        }
    }

    /// The call that a piece belongs to; one past the last for a new one.
    fn find(&self, index: Option<u64>, id: &str, name: &str) -> usize {
        let known = match index {
            Some(_) => self.calls.iter().rposition(|call| call.index == index),
            None if !id.is_empty() => self.calls.iter().rposition(|call| call.id == id),
            None if name.is_empty() => self.calls.len().checked_sub(1),
            None => None,
        };
        // Some servers number every call 0 and distinguish them by id.
        let same = |call: &Partial| id.is_empty() || call.id.is_empty() || call.id == id;
        known.filter(|at| self.calls.get(*at).is_some_and(same)).unwrap_or(self.calls.len())
    }

    fn is_answer(&self, at: usize) -> bool {
        match self.respond {
            Respond::Absent => false,
            Respond::Alone => true,
            Respond::Among => self.calls.get(at).is_some_and(|call| call.name == RESPOND),
        }
    }

    /// The call whose arguments are the answer: the first of its kind.
    fn answer(&self) -> Option<usize> {
        (0..self.calls.len()).find(|at| self.is_answer(*at))
    }

    /// The calls, those that are the answer left out. Missing and repeated ids are replaced by `tc_N`, counted from `first`.
    pub(super) fn finish(&self, first: usize) -> Vec<NativeCall> {
        let mut out: Vec<NativeCall> = Vec::new();
        let wanted = (0..self.calls.len()).filter(|at| !self.is_answer(*at)).filter_map(|at| self.calls.get(at));
        for call in wanted.filter(|call| !(call.name.is_empty() && call.args.is_empty())) {
            let args = joined(&call.args);
            let is_free = !call.id.is_empty() && out.iter().all(|other| other.id != call.id);
            let id = if is_free { call.id.clone() } else { format!("tc_{}", first + out.len()) };
            out.push(NativeCall { id, name: call.name.clone(), args });
        }
        out
    }
}
