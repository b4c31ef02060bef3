//! The events of a response, or the whole response at once.
//!
//! In: JSON texts. Out: pieces of text, reasoning and calls, and at the end the service's statement about the reply.
//! Reasoning items are kept unchanged, because the service wants them back.

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
struct Event<'a> {
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    output_index: Option<u64>,
    #[serde(default)]
    delta: Option<Utf16Text>,
    #[serde(borrow, default)]
    item: Option<&'a RawValue>,
    #[serde(borrow, default)]
    response: Option<Response<'a>>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
    /// Of a whole response.
    #[serde(borrow, default)]
    output: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Response<'a> {
    #[serde(default)]
    model: Option<Value>,
    #[serde(default)]
    status: Option<String>,
    #[serde(borrow, default)]
    output: Option<Vec<&'a RawValue>>,
    #[serde(default)]
    incomplete_details: Option<Value>,
    #[serde(default)]
    usage: Option<Value>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

/// An item of the output.
#[derive(Deserialize)]
struct Item {
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    call_id: Option<String>,
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    arguments: Option<Utf16Text>,
    #[serde(default)]
    content: Option<Vec<Part>>,
    #[serde(default)]
    summary: Option<Vec<Part>>,
}

#[derive(Deserialize)]
struct Part {
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    text: Option<Utf16Text>,
    #[serde(default)]
    refusal: Option<Utf16Text>,
}

/// Reads events.
#[derive(Debug, Default)]
pub(super) struct EventReader {
    /// Calls by the index of their items, and whether arguments came.
    calls: Vec<(u64, bool)>,
    /// A text came.
    has_text: bool,
    /// A part of the reasoning's summary came.
    has_summary: bool,
    /// Reasoning items as the service wants them back.
    reasoning: Vec<Value>,
}

impl Reader for EventReader {
    fn take(&mut self, json: &str, assembly: &mut Assembly) -> Result<Pieces, ChunkError> {
        let event: Event<'_> = serde_json::from_str(json)?;
        if event.kind == "error" || event.kind == "response.failed" || is_error(event.error) {
            return Err(ChunkError::Error);
        }
        let mut pieces = Vec::new();
        let index = event.output_index.unwrap_or(0);
        match event.kind.as_str() {
            // A response that came at once has no kind.
            "" if event.output.is_some() => {
                let response: Response<'_> = serde_json::from_str(json)?;
                self.whole(&response, assembly, &mut pieces)?;
            }
            "response.output_item.added" => self.begin(index, &item(event.item)?, assembly, &mut pieces),
            "response.output_text.delta" => self.text(event.delta, &mut pieces),
            "response.refusal.delta" => assembly.refusal.extend(event.delta),
            "response.reasoning_summary_part.added" => self.summary_part(&mut pieces),
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                Assembly::push_text(&mut pieces, PartKind::Reasoning, event.delta);
            }
            "response.function_call_arguments.delta" => self.arguments(index, event.delta, assembly, &mut pieces),
            "response.output_item.done" => self.end(index, event.item, assembly, &mut pieces)?,
            "response.completed" | "response.incomplete" => {
                if let Some(response) = &event.response {
                    self.finish(response, assembly);
                }
                assembly.done = true;
            }
            "response.created" | "response.in_progress" | "response.queued" => {
                assembly.heard = true;
                assembly.answered_by(event.response.as_ref().and_then(|response| response.model.as_ref()));
            }
            other => tracing::debug!(event = other, "an event without content was skipped"),
        }
        Ok(pieces)
    }
}

fn item(raw: Option<&RawValue>) -> Result<Item, ChunkError> {
    Ok(serde_json::from_str(raw.map_or("{}", RawValue::get))?)
}

impl EventReader {
    /// A response that came at once.
    fn whole(
        &mut self,
        response: &Response<'_>,
        assembly: &mut Assembly,
        pieces: &mut Pieces,
    ) -> Result<(), ChunkError> {
        if is_error(response.error) || response.status.as_deref() == Some("failed") {
            return Err(ChunkError::Error);
        }
        assembly.heard = true;
        for (index, raw) in (0..).zip(response.output.iter().flatten()) {
            let item = item(Some(raw))?;
            self.begin(index, &item, assembly, pieces);
            for part in item.summary.iter().flatten() {
                self.summary_part(pieces);
                Assembly::push_text(pieces, PartKind::Reasoning, part.text.clone());
            }
            for part in item.content.iter().flatten() {
                match part.kind.as_str() {
                    "refusal" => assembly.refusal.extend(part.refusal.clone()),
                    "reasoning_text" => Assembly::push_text(pieces, PartKind::Reasoning, part.text.clone()),
                    _ => self.text(part.text.clone(), pieces),
                }
            }
            self.end(index, Some(raw), assembly, pieces)?;
        }
        self.finish(response, assembly);
        Ok(())
    }

    fn begin(&mut self, index: u64, item: &Item, assembly: &mut Assembly, pieces: &mut Pieces) {
        assembly.heard = true;
        match item.kind.as_str() {
            "function_call" => {
                self.calls.push((index, false));
                let piece = CallPiece {
                    index: Some(index),
                    id: item.call_id.clone().unwrap_or_default(),
                    name: item.name.clone().unwrap_or_default(),
                    args: Vec::new(),
                };
                assembly.calls.take(piece, pieces);
            }
            // Its own tools: web_search_call, file_search_call, mcp_call and the like.
            kind => {
                if let Some(name) = kind.strip_suffix("_call") {
                    assembly.add_server_tool(name);
                }
            }
        }
    }

    /// An item is complete: its arguments, if they did not come in pieces, or the reasoning to give back.
    fn end(
        &mut self,
        index: u64,
        raw: Option<&RawValue>,
        assembly: &mut Assembly,
        pieces: &mut Pieces,
    ) -> Result<(), ChunkError> {
        let done = item(raw)?;
        match done.kind.as_str() {
            "function_call" if self.calls.iter().any(|(known, is_filled)| *known == index && !is_filled) => {
                let arguments = done.arguments.filter(|arguments| !arguments.is_empty());
                self.arguments(index, Some(arguments.unwrap_or_else(|| "{}".into())), assembly, pieces);
            }
            "reasoning" => {
                let mut kept: Value = serde_json::from_str(raw.map_or("{}", RawValue::get))?;
                // What only describes its state is refused in a request.
                if let Some(members) = kept.as_object_mut() {
                    members.remove("status");
                }
                let place = if self.has_text || !self.calls.is_empty() { self.calls.len() + 1 } else { 0 };
                self.reasoning.push(json!({"place": place, "item": kept}));
            }
            _ => {}
        }
        Ok(())
    }

    fn arguments(&mut self, index: u64, delta: Option<Utf16Text>, assembly: &mut Assembly, pieces: &mut Pieces) {
        let known = self.calls.iter_mut().find(|(known, _)| *known == index);
        let (Some((_, is_filled)), Some(delta)) = (known, delta.filter(|delta| !delta.is_empty())) else { return };
        *is_filled = true;
        assembly.calls.take(CallPiece { index: Some(index), args: vec![delta], ..CallPiece::default() }, pieces);
    }

    fn text(&mut self, text: Option<Utf16Text>, pieces: &mut Pieces) {
        let before = pieces.len();
        Assembly::push_text(pieces, PartKind::Text, text);
        self.has_text |= pieces.len() > before;
    }

    /// Parts of a summary are paragraphs.
    fn summary_part(&mut self, pieces: &mut Pieces) {
        if self.has_summary {
            pieces.push((PartKind::Reasoning, "\n\n".into()));
        }
        self.has_summary = true;
    }

    fn finish(&self, response: &Response<'_>, assembly: &mut Assembly) {
        assembly.heard = true;
        assembly.answered_by(response.model.as_ref());
        assembly.usage = response.usage.as_ref().and_then(tokens).or(assembly.usage);
        let reason = response.incomplete_details.as_ref().and_then(|details| details.get("reason")?.as_str());
        assembly.stopped(match (response.status.as_deref(), reason) {
            // Without a reason it is cut all the same.
            (Some("incomplete"), Some("max_output_tokens") | None) => Finish::Length,
            (Some("incomplete"), Some("content_filter")) => Finish::ContentFilter,
            (Some("completed") | None, _) if !self.calls.is_empty() => Finish::ToolCalls,
            (Some("completed") | None, _) => Finish::Stop,
            (_, Some(other)) | (Some(other), None) => Finish::from_name(other),
        });
        assembly.opaque.clone_from(&self.reasoning);
    }
}

fn tokens(usage: &Value) -> Option<Tokens> {
    let count = |path: &str| usage.pointer(path).and_then(count);
    Some(Tokens {
        input: count("/input_tokens")?,
        output: count("/output_tokens").unwrap_or(0),
        cache_creation: None,
        cache_read: count("/input_tokens_details/cached_tokens"),
        reasoning: count("/output_tokens_details/reasoning_tokens"),
    })
}
