//! The events of a response, or the whole response at once.
//!
//! In: JSON texts. Out: pieces of text, reasoning and calls, and at the end the service's statement about the reply.
//! Reasoning items are kept unchanged, because the service wants them back.

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::client_call;
use crate::event::{NativeCall, PartKind, Tokens};
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
    /// A piece of a text; an object in events that are not read here.
    #[serde(borrow, default)]
    delta: Option<&'a RawValue>,
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
struct Item<'a> {
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    call_id: Option<String>,
    #[serde(default)]
    name: Option<String>,
    /// A text; an object in calls that are not functions.
    #[serde(borrow, default)]
    arguments: Option<&'a RawValue>,
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
    calls: Vec<CallItem>,
    /// A text came.
    has_text: bool,
    /// A part of the reasoning's summary came.
    has_summary: bool,
    /// Reasoning items as the service wants them back.
    reasoning: Vec<Value>,
}

/// A call as it comes.
#[derive(Debug)]
struct CallItem {
    /// The index of its item. Some servers send none; then the last call is meant.
    index: u64,
    id: String,
    /// Its arguments came, or a piece of them.
    is_filled: bool,
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
            "response.output_text.delta" => self.text(event.delta()?, &mut pieces),
            "response.refusal.delta" => assembly.refusal.extend(event.delta()?),
            "response.reasoning_summary_part.added" => self.summary_part(&mut pieces),
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                Assembly::push_text(&mut pieces, PartKind::Reasoning, event.delta()?);
            }
            // Of a call that is not read there is no piece.
            "response.function_call_arguments.delta" | "response.custom_tool_call_input.delta" => {
                self.arguments(index, event.delta()?, assembly, &mut pieces);
            }
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

impl Event<'_> {
    /// The piece of a text that it adds.
    fn delta(&self) -> Result<Option<Utf16Text>, ChunkError> {
        Ok(self.delta.map(|delta| serde_json::from_str::<Option<Utf16Text>>(delta.get())).transpose()?.flatten())
    }
}

fn item(raw: Option<&RawValue>) -> Result<Item<'_>, ChunkError> {
    Ok(serde_json::from_str(raw.map_or("{}", RawValue::get))?)
}

/// Arguments as a text, as the protocol requires, or as the object itself.
fn arguments_text(raw: &RawValue) -> Utf16Text {
    serde_json::from_str(raw.get()).unwrap_or_else(|_| raw.get().into())
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

    fn begin(&mut self, index: u64, item: &Item<'_>, assembly: &mut Assembly, pieces: &mut Pieces) {
        assembly.heard = true;
        if item.kind == "function_call" || item.kind == "custom_tool_call" && assembly.reads_client_tools {
            let (id, name) = (item.call_id.clone(), item.name.clone());
            self.begin_call(index, id.unwrap_or_default(), name.unwrap_or_default(), assembly, pieces);
        } else if let Some(name) = item.kind.strip_suffix("_call") {
            // Its own tools: web_search_call, file_search_call, mcp_call and the like.
            assembly.add_server_tool(name);
        }
    }

    fn begin_call(&mut self, index: u64, id: String, name: String, assembly: &mut Assembly, pieces: &mut Pieces) {
        self.calls.push(CallItem { index, id: id.clone(), is_filled: false });
        assembly.calls.take(CallPiece { index: Some(index), id, name, args: Vec::new() }, pieces);
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
        let is_unfilled = self.call(index).is_some_and(|call| !call.is_filled);
        match done.kind.as_str() {
            "function_call" if is_unfilled => {
                let arguments = done.arguments.map(arguments_text).filter(|arguments| !arguments.is_empty());
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
            kind if kind.ends_with("_call") && assembly.reads_client_tools => {
                let item = raw.and_then(|raw| ptc_core::value::json::parse(raw.get()).ok());
                if let Some(call) = item.as_ref().and_then(client_call) {
                    self.end_client_call(index, call, assembly, pieces);
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Ends a call of a tool other than a function. Most arrive whole; some have started before.
    fn end_client_call(&mut self, index: u64, call: NativeCall, assembly: &mut Assembly, pieces: &mut Pieces) {
        let NativeCall { id, name, args } = call;
        let known = self.call(index).filter(|known| known.id.is_empty() || known.id == id);
        let (is_known, is_filled) = (known.is_some(), known.is_some_and(|known| known.is_filled));
        if !is_known {
            self.begin_call(index, id, name, assembly, pieces);
        }
        if !is_filled {
            self.arguments(index, Some(args.as_str().into()), assembly, pieces);
        }
    }

    fn call(&mut self, index: u64) -> Option<&mut CallItem> {
        self.calls.iter_mut().rfind(|call| call.index == index)
    }

    fn arguments(&mut self, index: u64, delta: Option<Utf16Text>, assembly: &mut Assembly, pieces: &mut Pieces) {
        let (Some(call), Some(delta)) = (self.call(index), delta.filter(|delta| !delta.is_empty())) else { return };
        call.is_filled = true;
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The calls and the finish of a reply with these events, for a program with tools that are not functions.
    fn read(events: &[Value]) -> (Vec<String>, Option<Finish>) {
        let mut assembly = Assembly { reads_client_tools: true, ..Assembly::default() };
        let mut reader = EventReader::default();
        for event in events {
            _ = reader.take(&event.to_string(), &mut assembly).unwrap();
        }
        (assembly.calls.finish(1).iter().map(|call| format!("{}: {call}", call.id)).collect(), assembly.finish)
    }

    #[test]
    fn calls_of_tools_that_are_no_functions_are_read_from_streams_and_whole_replies() {
        let patch = |input: &str| json!({"type": "custom_tool_call", "id": "x", "call_id": "c", "name": "patch", "input": input});
        let shell = json!({"type": "local_shell_call", "id": "l", "call_id": "d", "action": {"type": "exec", "command": ["ls"]}});
        let function = json!({"type": "function_call", "id": "f", "call_id": "e", "name": "now", "arguments": "{}"});
        let search = json!({"type": "web_search_call", "id": "w", "action": {"type": "search"}});
        let container = json!({"type": "shell_call", "call_id": "s", "action": {"commands": ["ls"]}, "environment": {"type": "container_reference"}});
        let event = |kind: &str, index: Option<u64>, member: (&str, &Value)| json!({"type": format!("response.{kind}"), "output_index": index, (member.0): member.1});
        let done = json!({"type": "response.completed", "response": {"status": "completed"}});
        let expected = ["c: patch +a\n", r#"d: local_shell {"type":"exec","command":["ls"]}"#, "e: now {}"];
        let expected = (expected.map(str::to_owned).to_vec(), Some(Finish::ToolCalls));
        // The input in pieces, and the items of the service between.
        let pieces = [
            event("output_item.added", Some(0), ("item", &patch(""))),
            event("custom_tool_call_input.delta", Some(0), ("delta", &json!("+a"))),
            event("custom_tool_call_input.delta", Some(0), ("delta", &json!("\n"))),
            event("custom_tool_call_input.done", Some(0), ("input", &json!("+a\n"))),
            event("output_item.done", Some(0), ("item", &patch("+a\n"))),
            event("output_item.added", Some(1), ("item", &search)),
            event("output_item.done", Some(1), ("item", &search)),
            event("output_item.done", Some(2), ("item", &container)),
            event("output_item.added", Some(3), ("item", &shell)),
            event("output_item.done", Some(3), ("item", &shell)),
            event("output_item.added", Some(4), ("item", &function)),
            event("output_item.done", Some(4), ("item", &function)),
            done.clone(),
        ];
        assert_eq!(read(&pieces), expected);
        // Only whole items, without their places.
        let whole = [patch("+a\n"), shell.clone(), function.clone()]
            .map(|item| event("output_item.done", None, ("item", &item)));
        assert_eq!(read(&[whole.as_slice(), &[done]].concat()), expected);
        let response = json!({"status": "completed", "output": [search, patch("+a\n"), container, shell, function]});
        assert_eq!(read(&[response]), expected);
    }
}
