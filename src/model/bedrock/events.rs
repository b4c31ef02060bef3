//! The events of a Converse stream, or the whole answer at once.
//!
//! In: JSON texts, each event as `{"NAME": …}`. Out: pieces of text, reasoning and calls, and at the end the server's statement about the
//! reply. Reasoning blocks are kept unchanged, because the service wants them back.

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
#[serde(rename_all = "camelCase")]
struct Event<'a> {
    #[serde(default)]
    message_start: Option<Value>,
    #[serde(default)]
    content_block_start: Option<Start>,
    #[serde(default)]
    content_block_delta: Option<Delta>,
    #[serde(default)]
    content_block_stop: Option<Stop>,
    #[serde(default)]
    message_stop: Option<MessageStop>,
    #[serde(default)]
    metadata: Option<Metadata>,
    /// The whole answer.
    #[serde(borrow, default)]
    output: Option<Output<'a>>,
    #[serde(default)]
    stop_reason: Option<String>,
    #[serde(default)]
    usage: Option<Value>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Start {
    #[serde(default)]
    content_block_index: u64,
    #[serde(default)]
    start: BlockStart,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
struct BlockStart {
    #[serde(default)]
    tool_use: Option<ToolStart>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ToolStart {
    #[serde(default)]
    tool_use_id: String,
    #[serde(default)]
    name: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Delta {
    #[serde(default)]
    content_block_index: u64,
    #[serde(default)]
    delta: BlockDelta,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
struct BlockDelta {
    #[serde(default)]
    text: Option<Utf16Text>,
    #[serde(default)]
    tool_use: Option<ToolDelta>,
    #[serde(default)]
    reasoning_content: Option<Thought>,
}

#[derive(Deserialize)]
struct ToolDelta {
    #[serde(default)]
    input: Utf16Text,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
struct Thought {
    #[serde(default)]
    text: Option<Utf16Text>,
    #[serde(default)]
    signature: Option<String>,
    #[serde(default)]
    redacted_content: Option<String>,
    /// In a whole answer.
    #[serde(default)]
    reasoning_text: Option<Box<Thought>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Stop {
    #[serde(default)]
    content_block_index: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct MessageStop {
    #[serde(default)]
    stop_reason: String,
}

#[derive(Deserialize)]
struct Metadata {
    #[serde(default)]
    usage: Option<Value>,
}

#[derive(Deserialize)]
struct Output<'a> {
    #[serde(borrow, default)]
    message: Option<Message<'a>>,
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow, default)]
    content: Vec<Block<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Block<'a> {
    #[serde(default)]
    text: Option<Utf16Text>,
    #[serde(borrow, default)]
    tool_use: Option<ToolUse<'a>>,
    #[serde(default)]
    reasoning_content: Option<Thought>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ToolUse<'a> {
    #[serde(rename = "toolUseId", default)]
    id: String,
    #[serde(default)]
    name: String,
    #[serde(borrow, default)]
    input: Option<&'a RawValue>,
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
}

#[derive(Debug, Default)]
struct Reasoning {
    index: u64,
    /// Its position: 0 before the text, else after it and before the call with this number, from 1.
    place: usize,
    text: Vec<Utf16Text>,
    signature: String,
    redacted: Option<String>,
}

impl Reader for EventReader {
    fn take(&mut self, json: &str, assembly: &mut Assembly) -> Result<Pieces, ChunkError> {
        let event: Event<'_> = serde_json::from_str(json)?;
        if is_error(event.error) {
            return Err(ChunkError::Error);
        }
        let mut pieces = Vec::new();
        assembly.heard |= event.message_start.is_some();
        if let Some(Start { content_block_index: index, start: BlockStart { tool_use: Some(tool) } }) =
            event.content_block_start
        {
            self.start_call(index, tool.tool_use_id, tool.name, assembly, &mut pieces);
        }
        if let Some(Delta { content_block_index: index, delta }) = event.content_block_delta {
            assembly.heard = true;
            self.text(delta.text, &mut pieces);
            if let Some(thought) = delta.reasoning_content {
                self.think(index, thought, &mut pieces);
            }
            if let Some(piece) = delta.tool_use.filter(|piece| !piece.input.is_empty()) {
                self.fill_call(index, piece.input, assembly, &mut pieces);
            }
        }
        if let Some(stop) = event.content_block_stop {
            self.stop(stop.content_block_index, assembly, &mut pieces);
        }
        if let Some(message) = event.output.and_then(|output| output.message) {
            self.whole(message, assembly, &mut pieces);
        }
        if let Some(reason) = event.message_stop.map(|stop| stop.stop_reason).or(event.stop_reason) {
            self.stopped(&reason, assembly);
        }
        if let Some(usage) =
            event.metadata.as_ref().and_then(|metadata| metadata.usage.as_ref()).or(event.usage.as_ref())
        {
            assembly.usage = tokens(usage).or(assembly.usage);
        }
        // It follows the end of the message.
        assembly.done |= event.metadata.is_some();
        Ok(pieces)
    }
}

impl EventReader {
    fn whole(&mut self, message: Message<'_>, assembly: &mut Assembly, pieces: &mut Pieces) {
        assembly.heard = true;
        for (index, block) in (0..).zip(message.content) {
            self.text(block.text, pieces);
            if let Some(thought) = block.reasoning_content {
                let Thought { reasoning_text, .. } = thought;
                self.think(
                    index,
                    reasoning_text.map_or(Thought { reasoning_text: None, ..thought }, |inner| *inner),
                    pieces,
                );
            }
            if let Some(tool) = block.tool_use {
                self.start_call(index, tool.id, tool.name, assembly, pieces);
                let input = tool.input.map(RawValue::get).filter(|input| !matches!(*input, "{}" | "null" | "\"\""));
                if let Some(input) = input {
                    self.fill_call(index, input.into(), assembly, pieces);
                }
                self.stop(index, assembly, pieces);
            }
        }
    }

    fn start_call(&mut self, index: u64, id: String, name: String, assembly: &mut Assembly, pieces: &mut Pieces) {
        assembly.heard = true;
        self.tools.push((index, false));
        assembly.calls.take(CallPiece { index: Some(index), id, name, args: Vec::new() }, pieces);
    }

    fn fill_call(&mut self, index: u64, args: Utf16Text, assembly: &mut Assembly, pieces: &mut Pieces) {
        // A tool that the service runs itself has no start of its own here.
        if let Some((_, is_filled)) = self.tools.iter_mut().find(|(known, _)| *known == index) {
            *is_filled = true;
            assembly.calls.take(CallPiece { index: Some(index), args: vec![args], ..CallPiece::default() }, pieces);
        }
    }

    /// A call without arguments has an empty object of them.
    fn stop(&mut self, index: u64, assembly: &mut Assembly, pieces: &mut Pieces) {
        if self.tools.iter().any(|(known, is_filled)| *known == index && !is_filled) {
            self.fill_call(index, "{}".into(), assembly, pieces);
        }
    }

    fn text(&mut self, text: Option<Utf16Text>, pieces: &mut Pieces) {
        let before = pieces.len();
        Assembly::push_text(pieces, PartKind::Text, text);
        self.has_text |= pieces.len() > before;
    }

    fn think(&mut self, index: u64, thought: Thought, pieces: &mut Pieces) {
        let at = self.reasoning.iter().rposition(|block| block.index == index).unwrap_or_else(|| {
            let place = if self.has_text || !self.tools.is_empty() { self.tools.len() + 1 } else { 0 };
            self.reasoning.push(Reasoning { index, place, ..Reasoning::default() });
            self.reasoning.len() - 1
        });
        if let Some(block) = self.reasoning.get_mut(at) {
            block.text.extend(thought.text.clone());
            block.signature.push_str(thought.signature.as_deref().unwrap_or_default());
            if let Some(redacted) = thought.redacted_content {
                block.redacted.get_or_insert_default().push_str(&redacted);
            }
        }
        Assembly::push_text(pieces, PartKind::Reasoning, thought.text);
    }

    fn stopped(&self, reason: &str, assembly: &mut Assembly) {
        assembly.stopped(match reason {
            "end_turn" | "stop_sequence" => Finish::Stop,
            "tool_use" => Finish::ToolCalls,
            "max_tokens" | "model_context_window_exceeded" => Finish::Length,
            "content_filtered" | "guardrail_intervened" => Finish::ContentFilter,
            other => Finish::from_name(other),
        });
        assembly.opaque = self.reasoning.iter().map(Reasoning::given).collect();
    }
}

impl Reasoning {
    fn given(&self) -> Value {
        let block = match &self.redacted {
            Some(data) => json!({"redactedContent": data}),
            None if self.signature.is_empty() => json!({"reasoningText": {"text": joined(&self.text)}}),
            None => json!({"reasoningText": {"text": joined(&self.text), "signature": self.signature}}),
        };
        json!({"place": self.place, "block": block})
    }
}

/// Counts of tokens; the service counts cached ones apart.
fn tokens(usage: &Value) -> Option<Tokens> {
    let number = |name: &str| usage.get(name).and_then(count);
    let (written, read) = (number("cacheWriteInputTokens"), number("cacheReadInputTokens"));
    let cached = written.unwrap_or(0).saturating_add(read.unwrap_or(0));
    Some(Tokens {
        input: number("inputTokens")?.saturating_add(cached),
        output: number("outputTokens").unwrap_or(0),
        cache_creation: written,
        cache_read: read,
        reasoning: None,
    })
}
