//! The events of a messages stream, or the whole message at once.
//!
//! In: JSON texts. Out: pieces of text, reasoning and calls, and at the end the server's statement about the reply.
//! Blocks are distinguished by their index; reasoning blocks are kept unchanged, because the service wants them back.

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::event::{PartKind, Tokens};
use crate::model::Finish;
use crate::model::assembly::{Assembly, ChunkError, Pieces, count, is_error, joined};
use crate::model::calls::CallPiece;
use crate::model::language::Reader;
use crate::model::surrogate::Utf16Text;

#[derive(Deserialize)]
struct Event<'a> {
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    index: Option<u64>,
    #[serde(borrow, default)]
    message: Option<Message<'a>>,
    #[serde(borrow, default)]
    content_block: Option<Block<'a>>,
    #[serde(default)]
    delta: Option<Delta>,
    #[serde(default)]
    usage: Option<Value>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(default)]
    model: Option<Value>,
    #[serde(borrow, default)]
    content: Option<Vec<Block<'a>>>,
    #[serde(default)]
    stop_reason: Option<String>,
    #[serde(default)]
    stop_details: Option<Value>,
    #[serde(default)]
    usage: Option<Value>,
}

#[derive(Deserialize)]
struct Block<'a> {
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    text: Option<Utf16Text>,
    #[serde(default)]
    thinking: Option<Utf16Text>,
    #[serde(default)]
    signature: Option<String>,
    #[serde(default)]
    data: Option<String>,
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    name: Option<String>,
    #[serde(borrow, default)]
    input: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Delta {
    #[serde(default)]
    text: Option<Utf16Text>,
    #[serde(default)]
    partial_json: Option<Utf16Text>,
    #[serde(default)]
    thinking: Option<Utf16Text>,
    #[serde(default)]
    signature: Option<String>,
    #[serde(default)]
    stop_reason: Option<String>,
    #[serde(default)]
    stop_details: Option<Value>,
}

/// Reads events.
#[derive(Debug, Default)]
pub(super) struct EventReader {
    /// Reasoning blocks by index.
    reasoning: Vec<Reasoning>,
    /// Tool blocks by index, and whether arguments came.
    tools: Vec<(u64, bool)>,
    /// Some text came before.
    has_text: bool,
    usage: Usage,
}

#[derive(Debug, Default)]
struct Reasoning {
    index: u64,
    /// Its position: 0 before the text, else after it and before the call with this number, from 1.
    place: usize,
    thinking: Vec<Utf16Text>,
    signature: String,
    redacted: Option<String>,
}

impl Reader for EventReader {
    fn take(&mut self, json: &str, assembly: &mut Assembly) -> Result<Pieces, ChunkError> {
        let event: Event<'_> = serde_json::from_str(json)?;
        if event.kind == "error" || is_error(event.error) {
            return Err(ChunkError::Error);
        }
        let mut pieces = Vec::new();
        match event.kind.as_str() {
            "message" => {
                let message: Message<'_> = serde_json::from_str(json)?;
                self.message(&message, assembly, &mut pieces);
            }
            "message_start" => {
                if let Some(message) = &event.message {
                    self.message(message, assembly, &mut pieces);
                }
            }
            "content_block_start" => {
                if let Some(block) = &event.content_block {
                    self.start(event.index.unwrap_or(0), block, assembly, &mut pieces);
                }
            }
            "content_block_delta" => {
                if let Some(delta) = event.delta {
                    self.delta(event.index.unwrap_or(0), delta, assembly, &mut pieces);
                }
            }
            "content_block_stop" => self.stop(event.index.unwrap_or(0), assembly, &mut pieces),
            "message_delta" => {
                self.usage.take(event.usage.as_ref(), assembly);
                if let Some(delta) = event.delta {
                    self.stopped(delta.stop_reason.as_deref(), delta.stop_details.as_ref(), assembly);
                }
            }
            "message_stop" => assembly.done = true,
            other => tracing::debug!(event = other, "an unknown event was skipped"),
        }
        Ok(pieces)
    }
}

impl EventReader {
    /// The start of a message, or all of it.
    fn message(&mut self, message: &Message<'_>, assembly: &mut Assembly, pieces: &mut Pieces) {
        assembly.heard = true;
        assembly.answered_by(message.model.as_ref());
        self.usage.take(message.usage.as_ref(), assembly);
        for (index, block) in (0..).zip(message.content.iter().flatten()) {
            self.start(index, block, assembly, pieces);
            self.stop(index, assembly, pieces);
        }
        self.stopped(message.stop_reason.as_deref(), message.stop_details.as_ref(), assembly);
    }

    fn start(&mut self, index: u64, block: &Block<'_>, assembly: &mut Assembly, pieces: &mut Pieces) {
        match block.kind.as_str() {
            "tool_use" => {
                let input = block.input.map(RawValue::get).filter(|input| !matches!(*input, "{}" | "null" | "\"\""));
                self.tools.push((index, input.is_some()));
                let piece = CallPiece {
                    index: Some(index),
                    id: block.id.clone().unwrap_or_default(),
                    name: block.name.clone().unwrap_or_default(),
                    args: input.map(Utf16Text::from).into_iter().collect(),
                };
                assembly.calls.take(piece, pieces);
            }
            "thinking" | "redacted_thinking" => {
                let place = if self.has_text || !self.tools.is_empty() { self.tools.len() + 1 } else { 0 };
                let redacted = block.data.clone();
                self.reasoning.push(Reasoning { index, place, redacted, ..Reasoning::default() });
                self.think(index, block.thinking.clone(), block.signature.as_deref(), pieces);
            }
            kind if kind.ends_with("_tool_use") => assembly.add_server_tool(block.name.as_deref().unwrap_or(kind)),
            _ => self.text(block.text.clone(), pieces),
        }
    }

    fn delta(&mut self, index: u64, delta: Delta, assembly: &mut Assembly, pieces: &mut Pieces) {
        self.text(delta.text, pieces);
        self.think(index, delta.thinking, delta.signature.as_deref(), pieces);
        // A tool that the service runs itself has arguments too; they are not calls of the reply.
        let tool = self.tools.iter_mut().find(|(known, _)| *known == index);
        if let (Some((_, is_filled)), Some(piece)) = (tool, delta.partial_json.filter(|piece| !piece.is_empty())) {
            *is_filled = true;
            let piece = CallPiece { index: Some(index), args: vec![piece], ..CallPiece::default() };
            assembly.calls.take(piece, pieces);
        }
    }

    /// A call without arguments has an empty object of them.
    fn stop(&mut self, index: u64, assembly: &mut Assembly, pieces: &mut Pieces) {
        if let Some((_, is_filled)) = self.tools.iter_mut().find(|(known, is_filled)| *known == index && !is_filled) {
            *is_filled = true;
            let piece = CallPiece { index: Some(index), args: vec!["{}".into()], ..CallPiece::default() };
            assembly.calls.take(piece, pieces);
        }
    }

    fn text(&mut self, text: Option<Utf16Text>, pieces: &mut Pieces) {
        let before = pieces.len();
        Assembly::push_text(pieces, PartKind::Text, text);
        self.has_text |= pieces.len() > before;
    }

    fn think(&mut self, index: u64, text: Option<Utf16Text>, signature: Option<&str>, pieces: &mut Pieces) {
        if let Some(block) = self.reasoning.iter_mut().rfind(|block| block.index == index) {
            block.thinking.extend(text.clone());
            block.signature.push_str(signature.unwrap_or_default());
        }
        Assembly::push_text(pieces, PartKind::Reasoning, text);
    }

    fn stopped(&self, reason: Option<&str>, details: Option<&Value>, assembly: &mut Assembly) {
        let Some(reason) = reason else { return };
        if reason == "refusal" {
            let explanation = details.and_then(|details| details.get("explanation")?.as_str());
            assembly.refusal.extend(explanation.map(Utf16Text::from));
        }
        assembly.stopped(match reason {
            "end_turn" | "stop_sequence" => Finish::Stop,
            "tool_use" => Finish::ToolCalls,
            "max_tokens" | "model_context_window_exceeded" => Finish::Length,
            other => Finish::from_name(other),
        });
        assembly.opaque = self.reasoning.iter().map(Reasoning::given).collect();
    }
}

impl Reasoning {
    fn given(&self) -> Value {
        let block = match &self.redacted {
            Some(data) => json!({"type": "redacted_thinking", "data": data}),
            None => json!({"type": "thinking", "thinking": joined(&self.thinking), "signature": self.signature}),
        };
        json!({"place": self.place, "block": block})
    }
}

/// Token counts; those of a later event replace those of an earlier one.
#[derive(Debug, Default)]
struct Usage {
    input: Option<u64>,
    output: Option<u64>,
    written: Option<u64>,
    read: Option<u64>,
    reasoning: Option<u64>,
}

impl Usage {
    fn take(&mut self, usage: Option<&Value>, assembly: &mut Assembly) {
        let Some(usage) = usage else { return };
        let count = |path: &str, before: Option<u64>| usage.pointer(path).and_then(count).or(before);
        self.input = count("/input_tokens", self.input);
        self.output = count("/output_tokens", self.output);
        self.written = count("/cache_creation_input_tokens", self.written);
        self.read = count("/cache_read_input_tokens", self.read);
        self.reasoning = count("/output_tokens_details/thinking_tokens", self.reasoning);
        let Some(input) = self.input else { return };
        // The service counts cached tokens apart.
        let cached = self.written.unwrap_or(0).saturating_add(self.read.unwrap_or(0));
        assembly.usage = Some(Tokens {
            input: input.saturating_add(cached),
            output: self.output.unwrap_or(0),
            cache_creation: self.written,
            cache_read: self.read,
            reasoning: self.reasoning,
        });
    }
}
