//! Tool calls as chat-completions servers send them: whole, or in pieces with or without index and id.

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::model::assembly::texts;
use crate::model::calls::CallPiece;
use crate::model::surrogate::Utf16Text;

/// A call, or a piece of one.
#[derive(Deserialize)]
pub(super) struct CallDelta<'a> {
    #[serde(default)]
    index: Option<u64>,
    #[serde(default)]
    id: Option<Value>,
    #[serde(borrow, default)]
    function: Option<Function<'a>>,
    /// A tool with a text in place of arguments, for the programs that offer one. Any other value is ignored.
    #[serde(borrow, default)]
    custom: Option<&'a RawValue>,
}

/// A function with its arguments, or another tool with its input.
#[derive(Deserialize)]
pub(super) struct Function<'a> {
    #[serde(default)]
    name: Option<Value>,
    #[serde(borrow, default)]
    arguments: Option<&'a RawValue>,
    #[serde(borrow, default)]
    input: Option<&'a RawValue>,
}

impl CallDelta<'_> {
    /// Converts it to the adapter's type; `place` is its index in a complete list. Calls of tools that are not functions have a name only
    /// if `reads_custom`.
    pub(super) fn piece(&self, place: Option<u64>, reads_custom: bool) -> CallPiece {
        let custom = || self.custom.filter(|_| reads_custom).and_then(client_call);
        let piece = self.function.as_ref().map(Function::piece).or_else(custom).unwrap_or_default();
        CallPiece { index: self.index.or(place), id: word(self.id.as_ref()), ..piece }
    }
}

/// Reads a call of a form that this program does not offer; `None` for any other value.
pub(super) fn client_call(raw: &RawValue) -> Option<CallPiece> {
    let call: Function<'_> = serde_json::from_str(raw.get()).ok()?;
    let args = call.arguments.or(call.input).map(call_text).unwrap_or_default();
    Some(CallPiece { name: word(call.name.as_ref()), args, ..CallPiece::default() })
}

impl Function<'_> {
    /// A piece without index and id.
    pub(super) fn piece(&self) -> CallPiece {
        let args = self.arguments.map(call_text).unwrap_or_default();
        CallPiece { name: word(self.name.as_ref()), args, ..CallPiece::default() }
    }
}

fn word(value: Option<&Value>) -> String {
    value.and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// Arguments as a string, as the protocol requires, or as the object itself, as some servers do.
fn call_text(raw: &RawValue) -> Vec<Utf16Text> {
    if raw.get().starts_with('{') { vec![raw.get().into()] } else { texts(Some(raw)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::calls::{Calls, Respond};
    use crate::model::surrogate::Joiner;

    /// Returns the text that is shown for these pieces of a stream, and the calls they make.
    fn read(respond: Respond, pieces: &[&str]) -> (String, Vec<String>) {
        let mut calls = Calls::new(respond);
        let mut deltas = Vec::new();
        for piece in pieces {
            let delta: CallDelta<'_> = serde_json::from_str(piece).unwrap();
            calls.take(delta.piece(None, false), &mut deltas);
        }
        let mut joiner = Joiner::default();
        let shown = deltas.iter().map(|(_, text)| joiner.push(text)).collect();
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
