//! The answers of generateContent: chunks of a stream, a list of them, or one for all.
//!
//! In: JSON texts. Out: pieces of text, reasoning and calls, and at the end the server's statement about the reply.

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::event::{PartKind, Tokens};
use crate::model::Finish;
use crate::model::assembly::{Assembly, ChunkError, Pieces, count, is_error};
use crate::model::calls::CallPiece;
use crate::model::language::Reader;
use crate::model::surrogate::Utf16Text;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Chunk<'a> {
    #[serde(borrow, default)]
    candidates: Option<Vec<Candidate<'a>>>,
    #[serde(default)]
    usage_metadata: Option<Value>,
    #[serde(default)]
    model_version: Option<Value>,
    #[serde(default)]
    prompt_feedback: Option<Value>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Candidate<'a> {
    #[serde(default)]
    index: Option<u64>,
    #[serde(borrow, default)]
    content: Option<Content<'a>>,
    #[serde(default)]
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct Content<'a> {
    #[serde(borrow, default)]
    parts: Option<Vec<Part<'a>>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Part<'a> {
    #[serde(default)]
    text: Option<Utf16Text>,
    #[serde(default)]
    thought: Option<bool>,
    #[serde(default, alias = "thought_signature")]
    thought_signature: Option<String>,
    #[serde(borrow, default)]
    function_call: Option<Function<'a>>,
}

#[derive(Deserialize)]
struct Function<'a> {
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    name: Option<String>,
    #[serde(borrow, default)]
    args: Option<&'a RawValue>,
}

/// Reads chunks.
#[derive(Debug, Default)]
pub(super) struct ChunkReader {
    calls: u64,
}

impl Reader for ChunkReader {
    fn take(&mut self, json: &str, assembly: &mut Assembly) -> Result<Pieces, ChunkError> {
        // Asked without events, some servers stream one long list.
        let chunks: Vec<Chunk<'_>> = if json.trim_start().starts_with('[') {
            serde_json::from_str(json)?
        } else {
            vec![serde_json::from_str(json)?]
        };
        let mut pieces = Vec::new();
        for chunk in chunks {
            self.chunk(chunk, assembly, &mut pieces)?;
        }
        Ok(pieces)
    }
}

impl ChunkReader {
    fn chunk(&mut self, chunk: Chunk<'_>, assembly: &mut Assembly, pieces: &mut Pieces) -> Result<(), ChunkError> {
        if is_error(chunk.error) {
            return Err(ChunkError::Error);
        }
        assembly.answered_by(chunk.model_version.as_ref());
        assembly.usage = chunk.usage_metadata.as_ref().and_then(tokens).or(assembly.usage);
        if chunk.prompt_feedback.as_ref().is_some_and(|prompt_feedback| prompt_feedback.get("blockReason").is_some()) {
            assembly.heard = true;
            assembly.stopped(Finish::ContentFilter);
        }
        for candidate in chunk.candidates.into_iter().flatten().filter(|candidate| candidate.index.unwrap_or(0) == 0) {
            assembly.heard = true;
            for part in candidate.content.and_then(|content| content.parts).into_iter().flatten() {
                self.part(part, assembly, pieces);
            }
            if let Some(word) = candidate.finish_reason {
                assembly.stopped(finish(&word));
            }
        }
        Ok(())
    }

    fn part(&mut self, part: Part<'_>, assembly: &mut Assembly, pieces: &mut Pieces) {
        let is_call = part.function_call.is_some();
        if let Some(call) = part.function_call {
            let piece = CallPiece {
                index: Some(self.calls),
                id: call.id.unwrap_or_default(),
                name: call.name.unwrap_or_default(),
                args: vec![call.args.map_or("{}", RawValue::get).into()],
            };
            self.calls += 1;
            assembly.calls.take(piece, pieces);
        }
        let kind = if part.thought == Some(true) { PartKind::Reasoning } else { PartKind::Text };
        Assembly::push_text(pieces, kind, part.text);
        if let Some(signature) = part.thought_signature {
            // 0 is the text, n the call with this number.
            let place = if is_call { self.calls } else { 0 };
            assembly.opaque.retain(|part| part.get("place") != Some(&json!(place)));
            assembly.opaque.push(json!({"place": place, "thoughtSignature": signature}));
        }
    }
}

fn finish(word: &str) -> Finish {
    match word {
        // The service has no word of its own for calls; the reader of the reply finds them.
        "STOP" => Finish::Stop,
        "FUNCTION_CALL" | "TOOL_CALLS" => Finish::ToolCalls,
        "MAX_TOKENS" => Finish::Length,
        "SAFETY" | "RECITATION" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII" | "IMAGE_SAFETY" | "LANGUAGE" => {
            Finish::ContentFilter
        }
        other => Finish::from_name(&other.to_lowercase()),
    }
}

fn tokens(usage: &Value) -> Option<Tokens> {
    let count = |key: &str| usage.get(key).and_then(count);
    let thoughts = count("thoughtsTokenCount");
    Some(Tokens {
        input: count("promptTokenCount")?.saturating_add(count("toolUsePromptTokenCount").unwrap_or(0)),
        output: count("candidatesTokenCount").unwrap_or(0).saturating_add(thoughts.unwrap_or(0)),
        cache_creation: None,
        cache_read: count("cachedContentTokenCount"),
        reasoning: thoughts,
    })
}
