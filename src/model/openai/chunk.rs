//! The answer of a chat-completions server: chunks of a stream, or the whole of it at once.
//!
//! In: JSON texts of chunks. Out: pieces of text and reasoning, and at the end what the server said about the reply.
//! Servers differ in shape: fields may be absent, null, or of another type; only what is used is read.
//! It must never take half a reply for a whole one.

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::calls::{CallPiece, Calls, Respond};
use crate::event::{PartKind, Tokens};
use crate::model::Finish;
use crate::model::surrogate::Utf16Text;

/// What is known of a reply so far.
#[derive(Debug, Default)]
pub(super) struct Assembly {
    /// The tools that it calls.
    pub(super) calls: Calls,
    /// Why the model stopped.
    pub(super) finish: Option<Finish>,
    /// The stream said that it is over.
    pub(super) done: bool,
    /// Tokens.
    pub(super) usage: Option<Tokens>,
    /// The answering model.
    pub(super) model: Option<String>,
    /// Pieces of a refusal.
    pub(super) refusal: Vec<Utf16Text>,
}

/// A chunk that gives nothing to read.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Odd {
    /// It is not the JSON of this protocol.
    Malformed(String),
    /// It reports an error.
    Error,
}

#[derive(Deserialize)]
struct Chunk<'a> {
    #[serde(borrow, default)]
    choices: Option<Vec<Choice<'a>>>,
    #[serde(default)]
    usage: Option<Value>,
    #[serde(default)]
    model: Option<Value>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Choice<'a> {
    #[serde(default)]
    index: Option<u64>,
    #[serde(borrow, default)]
    delta: Option<Said<'a>>,
    #[serde(borrow, default)]
    message: Option<Said<'a>>,
    #[serde(default)]
    finish_reason: Option<Value>,
}

/// What the model says in a chunk. Fields are kept raw: halves of a surrogate pair may stand in them.
#[derive(Deserialize)]
struct Said<'a> {
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
    #[serde(borrow, default)]
    reasoning_content: Option<&'a RawValue>,
    #[serde(borrow, default)]
    reasoning: Option<&'a RawValue>,
    #[serde(borrow, default)]
    refusal: Option<&'a RawValue>,
    #[serde(borrow, default)]
    tool_calls: Option<Vec<CallPiece<'a>>>,
}

#[derive(Deserialize)]
struct TextPart {
    #[serde(default)]
    text: Utf16Text,
}

impl Assembly {
    /// For a reply in which a call of the tool that carries the schema means this.
    pub(super) fn new(respond: Respond) -> Self {
        Self { calls: Calls::new(respond), ..Self::default() }
    }

    /// Is the reply whole, whatever may still follow?
    pub(super) fn is_whole(&self) -> bool {
        self.done || self.finish.is_some()
    }

    /// Takes a chunk or a whole answer; returns what was said in it, in order.
    pub(super) fn take(&mut self, json: &str) -> Result<Vec<(PartKind, Utf16Text)>, Odd> {
        let chunk: Chunk<'_> = serde_json::from_str(json).map_err(|error| Odd::Malformed(error.to_string()))?;
        if chunk.error.is_some_and(|error| error.get() != "null") {
            return Err(Odd::Error);
        }
        if let Some(Value::String(model)) = chunk.model.filter(|model| model.as_str() != Some("")) {
            self.model = Some(model);
        }
        self.usage = chunk.usage.as_ref().and_then(tokens).or(self.usage);
        let mut pieces = Vec::new();
        for choice in chunk.choices.into_iter().flatten().filter(|choice| choice.index.unwrap_or(0) == 0) {
            let (said, is_whole) = (choice.delta.as_ref().or(choice.message.as_ref()), choice.delta.is_none());
            if let Some(said) = said {
                self.listen(said, &mut pieces);
                for (place, call) in (0..).zip(said.tool_calls.iter().flatten()) {
                    self.calls.take(call, is_whole.then_some(place), &mut pieces);
                }
            }
            if let Some(word) = choice.finish_reason.as_ref().and_then(Value::as_str).filter(|word| !word.is_empty()) {
                self.finish = Some(finish(word, self.calls.are_text()));
            }
        }
        Ok(pieces)
    }

    fn listen(&mut self, said: &Said<'_>, pieces: &mut Vec<(PartKind, Utf16Text)>) {
        // Some servers send the same reasoning under both names.
        let reasoning = said.reasoning_content.filter(|raw| raw.get() != "null").or(said.reasoning);
        pieces.extend(texts(reasoning).into_iter().map(|text| (PartKind::Reasoning, text)));
        pieces.extend(texts(said.content).into_iter().map(|text| (PartKind::Text, text)));
        self.refusal.extend(texts(said.refusal));
    }
}

/// A string, the texts of a list of parts, or nothing.
pub(super) fn texts(raw: Option<&RawValue>) -> Vec<Utf16Text> {
    let Some(raw) = raw.map(RawValue::get) else { return Vec::new() };
    if let Ok(text) = serde_json::from_str::<Utf16Text>(raw) {
        return if text == Utf16Text::default() { Vec::new() } else { vec![text] };
    }
    serde_json::from_str::<Vec<TextPart>>(raw)
        .map(|parts| parts.into_iter().map(|part| part.text).collect())
        .unwrap_or_default()
}

fn finish(word: &str, calls_are_text: bool) -> Finish {
    match word {
        "tool_calls" | "function_call" if calls_are_text => Finish::Stop,
        "function_call" => Finish::ToolCalls,
        "eos" | "end_turn" => Finish::Stop,
        "max_tokens" => Finish::Length,
        other => Finish::from_name(other),
    }
}

/// Token counts under the names of the service and of its imitators.
fn tokens(usage: &Value) -> Option<Tokens> {
    let count = |path: &str| usage.pointer(path).and_then(Value::as_u64);
    Some(Tokens {
        input: count("/prompt_tokens")?,
        output: count("/completion_tokens").unwrap_or(0),
        cache_creation: count("/prompt_tokens_details/cache_write_tokens"),
        cache_read: count("/prompt_tokens_details/cached_tokens").or_else(|| count("/prompt_cache_hit_tokens")),
        reasoning: count("/completion_tokens_details/reasoning_tokens"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(assembly: &mut Assembly, json: &str) -> Vec<(PartKind, Utf16Text)> {
        assembly.take(json).unwrap()
    }

    #[test]
    fn chunks_of_many_servers_are_understood() {
        let text = |text: &str| (PartKind::Text, Utf16Text::from(text));
        let reasoning = |text: &str| (PartKind::Reasoning, Utf16Text::from(text));
        let cases = [
            (r#"{"choices":[{"delta":{"role":"assistant","content":""}}]}"#, vec![]),
            (r#"{"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":null}],"usage":null}"#, vec![text("a")]),
            (r#"{"choices":[{"index":1,"delta":{"content":"other choice"}}]}"#, vec![]),
            (r#"{"choices":[{"delta":{"reasoning_content":"r","content":null}}]}"#, vec![reasoning("r")]),
            (r#"{"choices":[{"delta":{"reasoning":"r","reasoning_content":"r"}}]}"#, vec![reasoning("r")]),
            (r#"{"choices":[{"delta":{"reasoning_content":null,"reasoning":"r"}}]}"#, vec![reasoning("r")]),
            (
                r#"{"choices":[{"message":{"content":[{"type":"text","text":"a"},{"type":"x"}]}}]}"#,
                vec![text("a"), text("")],
            ),
            (
                r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":"f","arguments":"{}"}}]}}]}"#,
                vec![(PartKind::Call, "f ".into()), (PartKind::Call, "{}".into())],
            ),
            (r#"{"choices":[],"prompt_filter_results":[]}"#, vec![]),
            (r#"{"choices":null,"error":null}"#, vec![]),
            (r"{}", vec![]),
        ];
        for (json, expected) in cases {
            assert_eq!(said(&mut Assembly::default(), json), expected, "{json}");
        }
    }

    #[test]
    fn arguments_of_the_respond_tool_are_the_text() {
        let mut assembly = Assembly::new(Respond::Alone);
        let delta = r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":"respond","arguments":"{\"a\""}}]}}]}"#;
        assert_eq!(said(&mut assembly, delta), [(PartKind::Text, "{\"a\"".into())]);
        let whole = r#"{"choices":[{"message":{"tool_calls":[{"function":{"arguments":{"a":1}}}]},"finish_reason":"tool_calls"}]}"#;
        assert_eq!(said(&mut assembly, whole), [(PartKind::Text, r#"{"a":1}"#.into())]);
        assert_eq!(assembly.finish, Some(Finish::Stop));
    }

    #[test]
    fn the_end_of_a_reply_is_remembered() {
        let mut assembly = Assembly::default();
        assert!(!assembly.is_whole());
        said(&mut assembly, r#"{"model":"m-2","choices":[{"delta":{},"finish_reason":"length"}]}"#);
        assert!(assembly.is_whole());
        said(
            &mut assembly,
            r#"{"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":7,"prompt_tokens_details":{"cached_tokens":4},
                "completion_tokens_details":{"reasoning_tokens":2}}}"#,
        );
        assert_eq!(assembly.finish, Some(Finish::Length));
        assert_eq!(assembly.model.as_deref(), Some("m-2"));
        let expected = Tokens { input: 10, output: 7, cache_creation: None, cache_read: Some(4), reasoning: Some(2) };
        assert_eq!(assembly.usage, Some(expected));
    }

    #[test]
    fn what_is_no_chunk_is_odd() {
        assert!(matches!(Assembly::default().take("{\"choices\":[{"), Err(Odd::Malformed(_))));
        assert!(matches!(Assembly::default().take("hello"), Err(Odd::Malformed(_))));
        assert_eq!(Assembly::default().take(r#"{"error":{"message":"boom"}}"#), Err(Odd::Error));
    }
}
