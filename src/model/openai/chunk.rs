//! The answer of a chat-completions server: chunks of a stream, or the whole of it at once.
//!
//! In: JSON texts of chunks. Out: pieces of text and reasoning, and at the end the server's statement about the reply.
//! Servers differ in shape: fields may be absent, null, or of another type; only what is used is read.

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::call::{CallDelta, client_call};
use crate::event::{PartKind, Tokens};
use crate::model::Finish;
use crate::model::assembly::{Assembly, ChunkError, Pieces, count, is_error, joined, texts};
use crate::model::calls::CallPiece;
use crate::model::language::Reader;
use crate::model::surrogate::Utf16Text;

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
    delta: Option<ChunkMessage<'a>>,
    #[serde(borrow, default)]
    message: Option<ChunkMessage<'a>>,
    #[serde(default)]
    finish_reason: Option<Value>,
}

/// The model's part of a chunk. Fields are kept raw: they may contain halves of a surrogate pair.
#[derive(Deserialize)]
struct ChunkMessage<'a> {
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
    #[serde(borrow, default)]
    reasoning_content: Option<&'a RawValue>,
    #[serde(borrow, default)]
    reasoning: Option<&'a RawValue>,
    #[serde(borrow, default)]
    refusal: Option<&'a RawValue>,
    #[serde(default)]
    reasoning_details: Option<Vec<Value>>,
    #[serde(borrow, default)]
    tool_calls: Option<Vec<CallDelta<'a>>>,
    /// The older form of a call, which has no id. Requests of this program offer no such functions.
    #[serde(borrow, default)]
    function_call: Option<&'a RawValue>,
}

/// Reads chunks, or the whole at once.
#[derive(Debug, Default)]
pub(super) struct ChunkReader {
    /// Reasoning under the name that some servers want to have back.
    reasoning: Vec<Utf16Text>,
    /// Reasoning in the form that routers want to have back, put together from its pieces.
    details: Vec<Map<String, Value>>,
}

impl Reader for ChunkReader {
    fn take(&mut self, json: &str, assembly: &mut Assembly) -> Result<Pieces, ChunkError> {
        let chunk: Chunk<'_> = serde_json::from_str(json)?;
        if is_error(chunk.error) {
            return Err(ChunkError::Error);
        }
        assembly.answered_by(chunk.model.as_ref());
        assembly.usage = chunk.usage.as_ref().and_then(tokens).or(assembly.usage);
        let mut pieces = Vec::new();
        for choice in chunk.choices.into_iter().flatten().filter(|choice| choice.index.unwrap_or(0) == 0) {
            assembly.heard = true;
            let (part, is_whole) = (choice.delta.as_ref().or(choice.message.as_ref()), choice.delta.is_none());
            if let Some(part) = part {
                self.read_message(part, assembly, &mut pieces);
                for (place, call) in (0..).zip(part.tool_calls.iter().flatten()) {
                    let piece = call.piece(is_whole.then_some(place), assembly.reads_client_tools);
                    assembly.calls.take(piece, &mut pieces);
                }
                let older = part.function_call.filter(|_| assembly.reads_client_tools).and_then(client_call);
                if let Some(piece) = older {
                    assembly.calls.take(CallPiece { index: Some(0), ..piece }, &mut pieces);
                }
            }
            if let Some(word) = choice.finish_reason.as_ref().and_then(Value::as_str).filter(|word| !word.is_empty()) {
                assembly.stopped(finish(word));
                assembly.opaque = self.opaque();
            }
        }
        Ok(pieces)
    }
}

impl ChunkReader {
    fn read_message(&mut self, part: &ChunkMessage<'_>, assembly: &mut Assembly, pieces: &mut Pieces) {
        // Some servers send the same reasoning under both names.
        let named = texts(part.reasoning_content.filter(|raw| raw.get() != "null"));
        self.reasoning.extend(named.iter().cloned());
        let reasoning = if named.is_empty() { texts(part.reasoning) } else { named };
        for detail in part.reasoning_details.iter().flatten().filter_map(Value::as_object) {
            self.detail(detail);
        }
        pieces.extend(reasoning.into_iter().map(|text| (PartKind::Reasoning, text)));
        pieces.extend(texts(part.content).into_iter().map(|text| (PartKind::Text, text)));
        assembly.refusal.extend(texts(part.refusal));
    }

    /// Pieces of one block follow each other with the same index and type; their texts are one text.
    fn detail(&mut self, piece: &Map<String, Value>) {
        let same =
            |block: &&mut Map<String, Value>| ["index", "type"].iter().all(|key| block.get(*key) == piece.get(*key));
        let Some(block) = self.details.last_mut().filter(|_| piece.contains_key("index")).filter(same) else {
            return self.details.push(piece.clone());
        };
        for (key, value) in piece {
            match (block.get_mut(key), value) {
                (Some(Value::String(text)), Value::String(more)) if TEXTS.contains(&key.as_str()) => {
                    text.push_str(more);
                }
                _ if value.is_null() => {}
                _ => _ = block.insert(key.clone(), value.clone()),
            }
        }
    }

    /// Returns the reasoning to send back with the tool calls of this reply.
    fn opaque(&self) -> Vec<Value> {
        if !self.details.is_empty() {
            let details = self.details.iter().cloned().map(Value::Object).collect();
            return vec![serde_json::json!({"reasoning_details": Value::Array(details)})];
        }
        let reasoning = joined(&self.reasoning);
        if reasoning.is_empty() { Vec::new() } else { vec![serde_json::json!({"reasoning_content": reasoning})] }
    }
}

/// The members of a reasoning block whose pieces are one text.
const TEXTS: [&str; 4] = ["text", "summary", "data", "signature"];

fn finish(word: &str) -> Finish {
    match word {
        "function_call" => Finish::ToolCalls,
        "eos" | "end_turn" => Finish::Stop,
        "max_tokens" => Finish::Length,
        other => Finish::from_name(other),
    }
}

/// Token counts under the names of the service and of its imitators.
fn tokens(usage: &Value) -> Option<Tokens> {
    let count = |path: &str| usage.pointer(path).and_then(count);
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
    use crate::model::calls::Respond;

    fn pieces_of(assembly: &mut Assembly, json: &str) -> Pieces {
        ChunkReader::default().take(json, assembly).unwrap()
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
            assert_eq!(pieces_of(&mut Assembly::default(), json), expected, "{json}");
        }
    }

    #[test]
    fn calls_of_tools_that_are_no_functions_are_read_for_the_programs_that_offer_them() {
        let deltas = [
            r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c","type":"custom","custom":{"name":"patch","input":""}}]}}]}"#,
            r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"custom":{"input":"+a"}}]}}]}"#,
            r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"custom":{"input":"\n{"}}]}}]}"#,
        ];
        let whole = r#"{"choices":[{"message":{"tool_calls":[{"id":"c","type":"custom","custom":{"name":"patch","input":"+a\n{"}}]}}]}"#;
        let older =
            r#"{"choices":[{"message":{"content":null,"function_call":{"name":"patch","arguments":"+a\n{"}}}]}"#;
        let read = |reads_client_tools: bool, chunks: &[&str]| {
            let mut assembly = Assembly { reads_client_tools, ..Assembly::default() };
            let mut reader = ChunkReader::default();
            for chunk in chunks {
                _ = reader.take(chunk, &mut assembly).unwrap();
            }
            assembly.calls.finish(1).iter().map(|call| format!("{}: {call}", call.id)).collect::<Vec<_>>()
        };
        for (chunks, expected) in
            [(&deltas[..], "c: patch +a\n{"), (&[whole][..], "c: patch +a\n{"), (&[older][..], "tc_1: patch +a\n{")]
        {
            assert_eq!(read(true, chunks), [expected], "{chunks:?}");
            assert_eq!(read(false, chunks), [""; 0], "{chunks:?}");
        }
    }

    #[test]
    fn members_for_other_programs_do_not_break_a_reply() {
        for message in [
            r#"{"content":"hi","function_call":""}"#,
            r#"{"content":"hi","function_call":{"name":1,"arguments":[]}}"#,
            r#"{"content":"hi","tool_calls":[{"id":"c","custom":"no"}]}"#,
            r#"{"content":"hi","tool_calls":[{"id":"c","function":{"name":"f","arguments":"{}","input":{}}}]}"#,
        ] {
            for reads_client_tools in [false, true] {
                let mut assembly = Assembly { reads_client_tools, ..Assembly::default() };
                let whole = format!(r#"{{"choices":[{{"message":{message}}}]}}"#);
                let pieces = ChunkReader::default().take(&whole, &mut assembly).unwrap();
                assert_eq!(pieces.first(), Some(&(PartKind::Text, "hi".into())), "{message}");
            }
        }
    }

    #[test]
    fn arguments_of_the_respond_tool_are_the_text() {
        let mut assembly = Assembly::new(Respond::Alone);
        let delta = r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":"respond","arguments":"{\"a\""}}]}}]}"#;
        assert_eq!(pieces_of(&mut assembly, delta), [(PartKind::Text, "{\"a\"".into())]);
        let whole = r#"{"choices":[{"message":{"tool_calls":[{"function":{"arguments":{"a":1}}}]},"finish_reason":"tool_calls"}]}"#;
        assert_eq!(pieces_of(&mut assembly, whole), [(PartKind::Text, r#"{"a":1}"#.into())]);
        assert_eq!(assembly.finish, Some(Finish::Stop));
    }

    #[test]
    fn the_end_of_a_reply_is_remembered() {
        let mut assembly = Assembly::default();
        assert!(!assembly.is_whole());
        pieces_of(&mut assembly, r#"{"model":"m-2","choices":[{"delta":{},"finish_reason":"length"}]}"#);
        assert!(assembly.is_whole());
        pieces_of(
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
    fn data_without_a_chunk_is_unexpected() {
        assert!(matches!(
            ChunkReader::default().take("{\"choices\":[{", &mut Assembly::default()),
            Err(ChunkError::Malformed(_))
        ));
        assert!(matches!(
            ChunkReader::default().take("hello", &mut Assembly::default()),
            Err(ChunkError::Malformed(_))
        ));
        assert_eq!(
            ChunkReader::default().take(r#"{"error":{"message":"boom"}}"#, &mut Assembly::default()),
            Err(ChunkError::Error)
        );
    }
}
