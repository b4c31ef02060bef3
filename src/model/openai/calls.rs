//! Tool calls in a chat-completions reply: put together from pieces, or taken whole.
//!
//! In: pieces as servers send them, with or without index and id. Out: what to show while they arrive, and the calls at the end.
//! It must never mix two calls, nor give two calls of a reply the same id.

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::body::RESPOND;
use super::chunk::texts;
use crate::event::{NativeCall, PartKind};
use crate::model::surrogate::{Joiner, Utf16Text};

/// What a call of the tool that carries the schema means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Respond {
    /// There is no such tool.
    #[default]
    Absent,
    /// It is the only tool: every call is the answer, whatever name the server gives it.
    Alone,
    /// It stands among others.
    Among,
}

/// A call, or a piece of one.
#[derive(Deserialize)]
pub(super) struct CallPiece<'a> {
    #[serde(default)]
    index: Option<u64>,
    #[serde(default)]
    id: Option<Value>,
    #[serde(borrow, default)]
    function: Option<Function<'a>>,
}

#[derive(Deserialize)]
struct Function<'a> {
    #[serde(default)]
    name: Option<Value>,
    #[serde(borrow, default)]
    arguments: Option<&'a RawValue>,
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
}

impl Calls {
    /// No calls yet.
    pub(super) fn new(respond: Respond) -> Self {
        Self { respond, calls: Vec::new() }
    }

    /// Are calls the answer itself?
    pub(super) fn are_text(&self) -> bool {
        self.respond == Respond::Alone || self.answer().is_some()
    }

    /// Takes a piece; `place` is its place in a list that is whole. What it says is added to `pieces`.
    pub(super) fn take(&mut self, piece: &CallPiece<'_>, place: Option<u64>, pieces: &mut Vec<(PartKind, Utf16Text)>) {
        let word = |value: &Option<Value>| value.as_ref().and_then(Value::as_str).unwrap_or_default().to_owned();
        let id = word(&piece.id);
        let name = piece.function.as_ref().map(|function| word(&function.name)).unwrap_or_default();
        let arguments = piece.function.as_ref().and_then(|function| function.arguments).map(call_text);
        let index = piece.index.or(place);
        let at = self.find(index, &id, &name);
        let is_new = at == self.calls.len();
        if is_new {
            self.calls.push(Partial { index, ..Partial::default() });
        }
        let is_latest = at + 1 == self.calls.len();
        let Some(call) = self.calls.get_mut(at) else { return };
        if call.id.is_empty() {
            call.id = id;
        }
        // Some servers repeat the name with every piece.
        if call.name != name {
            call.name.push_str(&name);
        }
        let arguments = arguments.unwrap_or_default();
        call.args.extend(arguments.iter().cloned());
        match self.answer() {
            Some(answer) if answer == at => pieces.extend(arguments.into_iter().map(|text| (PartKind::Text, text))),
            // What belongs to a call that another one has followed is not shown: its place on the screen is past.
            _ if is_latest && !self.is_answer(at) => {
                if is_new {
                    let gap = if at == 0 { "" } else { "\n" };
                    pieces.push((PartKind::Call, format!("{gap}{name} ").as_str().into()));
                }
                pieces.extend(arguments.into_iter().map(|text| (PartKind::Call, text)));
            }
            _ => {}
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
        // Some servers number every call 0 and tell them apart by id.
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
            let mut joiner = Joiner::default();
            let mut args: String = call.args.iter().map(|piece| joiner.push(piece)).collect();
            args.extend(joiner.finish());
            let is_free = !call.id.is_empty() && out.iter().all(|other| other.id != call.id);
            let id = if is_free { call.id.clone() } else { format!("tc_{}", first + out.len()) };
            out.push(NativeCall { id, name: call.name.clone(), args });
        }
        out
    }
}

/// Arguments as a string, as the protocol says, or as the object itself, as some servers do.
fn call_text(raw: &RawValue) -> Vec<Utf16Text> {
    if raw.get().starts_with('{') { vec![raw.get().into()] } else { texts(Some(raw)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is shown for these pieces of a stream, and the calls they make.
    fn read(respond: Respond, pieces: &[&str]) -> (String, Vec<String>) {
        let mut calls = Calls::new(respond);
        let mut told = Vec::new();
        for piece in pieces {
            calls.take(&serde_json::from_str(piece).unwrap(), None, &mut told);
        }
        let mut joiner = Joiner::default();
        let shown = told.iter().map(|(_, text)| joiner.push(text)).collect();
        (shown, calls.finish(1).iter().map(|call| format!("{}: {call}", call.id)).collect())
    }

    #[test]
    fn pieces_are_put_together_however_a_server_marks_them() {
        let expected = ["a: f {\"x\":1}", "b: g {}"];
        let by_index = [
            r#"{"index":0,"id":"a","function":{"name":"f","arguments":""}}"#,
            r#"{"index":0,"function":{"arguments":"{\"x\""}}"#,
            r#"{"index":1,"id":"b","function":{"name":"g","arguments":"{}"}}"#,
            r#"{"index":0,"function":{"arguments":":1}"}}"#,
        ];
        assert_eq!(read(Respond::Absent, &by_index).1, expected);
        let all_zero = [
            r#"{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}}"#,
            r#"{"index":0,"id":"b","function":{"name":"g","arguments":"{}"}}"#,
        ];
        assert_eq!(
            read(Respond::Absent, &all_zero),
            ("f {\"x\":1}\ng {}".to_owned(), expected.map(str::to_owned).into())
        );
        let by_id = [
            r#"{"id":"a","function":{"name":"f","arguments":"{\"x\""}}"#,
            r#"{"id":"a","function":{"name":"f","arguments":":1}"}}"#,
            r#"{"id":"b","function":{"name":"g","arguments":{}}}"#,
        ];
        assert_eq!(read(Respond::Absent, &by_id).1, expected);
    }

    #[test]
    fn missing_and_repeated_ids_are_made_up() {
        let nameless =
            [r#"{"function":{"name":"f","arguments":"1"}}"#, r#"{"function":{"name":"f","arguments":null}}"#];
        assert_eq!(read(Respond::Absent, &nameless).1, ["tc_1: f 1", "tc_2: f "]);
        let repeated =
            [r#"{"index":0,"id":"a","function":{"name":"f"}}"#, r#"{"index":1,"id":"a","function":{"name":"f"}}"#];
        assert_eq!(read(Respond::Absent, &repeated).1, ["a: f ", "tc_2: f "]);
    }

    #[test]
    fn the_answer_is_no_call() {
        let both = [
            r#"{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}"#,
            r#"{"index":1,"id":"b","function":{"name":"respond","arguments":"{\"y\":2}"}}"#,
        ];
        assert_eq!(read(Respond::Among, &both), ("f {}{\"y\":2}".to_owned(), vec!["a: f {}".to_owned()]));
        let other = [r#"{"index":0,"function":{"name":"anything","arguments":"{\"y\":2}"}}"#];
        assert_eq!(read(Respond::Alone, &other), ("{\"y\":2}".to_owned(), vec![]));
    }
}
