//! The lines of a chat stream, or the one that holds the whole answer.
//!
//! In: JSON texts. Out: pieces of text, reasoning and calls, and at the end the server's statement about the reply.

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
struct Line<'a> {
    #[serde(default)]
    model: Option<Value>,
    #[serde(borrow, default)]
    message: Option<Message<'a>>,
    /// The text of a line of `/api/generate`, which has no message.
    #[serde(default)]
    response: Option<Utf16Text>,
    #[serde(default)]
    thinking: Option<Utf16Text>,
    #[serde(default)]
    done: bool,
    #[serde(default)]
    done_reason: Option<String>,
    #[serde(default)]
    prompt_eval_count: Option<Value>,
    #[serde(default)]
    eval_count: Option<Value>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(default)]
    content: Option<Utf16Text>,
    // Imitators use the name of chat completions.
    #[serde(default, alias = "reasoning_content")]
    thinking: Option<Utf16Text>,
    #[serde(borrow, default)]
    tool_calls: Option<Vec<Call<'a>>>,
}

#[derive(Deserialize)]
struct Call<'a> {
    #[serde(default)]
    id: Option<String>,
    #[serde(borrow, default)]
    function: Option<Function<'a>>,
}

#[derive(Deserialize)]
struct Function<'a> {
    #[serde(default)]
    name: Option<String>,
    #[serde(borrow, default)]
    arguments: Option<&'a RawValue>,
}

/// Reads lines.
#[derive(Debug, Default)]
pub(super) struct LineReader {
    calls: u64,
    thinking: Vec<Utf16Text>,
}

impl Reader for LineReader {
    fn take(&mut self, json: &str, assembly: &mut Assembly) -> Result<Pieces, ChunkError> {
        let line: Line<'_> = serde_json::from_str(json)?;
        if is_error(line.error) {
            return Err(ChunkError::Error);
        }
        assembly.answered_by(line.model.as_ref());
        let mut pieces = Vec::new();
        let generated = line.response.map(|response| Message {
            content: Some(response),
            thinking: line.thinking,
            tool_calls: None,
        });
        if let Some(message) = line.message.or(generated) {
            assembly.heard = true;
            self.thinking.extend(message.thinking.clone());
            Assembly::push_text(&mut pieces, PartKind::Reasoning, message.thinking);
            Assembly::push_text(&mut pieces, PartKind::Text, message.content);
            for call in message.tool_calls.into_iter().flatten() {
                assembly.calls.take(self.call(call), &mut pieces);
            }
        }
        let [input, output] = [line.prompt_eval_count, line.eval_count].map(|value| value.as_ref().and_then(count));
        if input.is_some() || output.is_some() {
            // The count of a prompt that was wholly in the cache is left out.
            let (input, output) = (input.unwrap_or(0), output.unwrap_or(0));
            assembly.usage = Some(Tokens { input, output, ..Tokens::default() });
        }
        if line.done {
            assembly.done = true;
            assembly.stopped(Finish::from_name(line.done_reason.as_deref().unwrap_or("stop")));
            let thinking = joined(&self.thinking);
            if !thinking.is_empty() {
                assembly.opaque = vec![json!({"thinking": thinking})];
            }
        }
        Ok(pieces)
    }
}

impl LineReader {
    /// Calls come whole, their arguments as an object.
    fn call(&mut self, call: Call<'_>) -> CallPiece {
        let function = call.function;
        let args = function.as_ref().and_then(|function| function.arguments).map_or("{}", RawValue::get);
        let place = self.calls;
        self.calls += 1;
        CallPiece {
            index: Some(place),
            id: call.id.unwrap_or_default(),
            name: function.and_then(|function| function.name).unwrap_or_default(),
            args: vec![args.into()],
        }
    }
}
