//! Requests of the Responses API.
//!
//! In: the body. Out: what it asks. Items of one reply (texts and calls in a row) become one message.

use ptc_core::value::Json;

use super::parts::{call, content, other, result, result_text, text};
use super::{CapturedMessage, CapturedRequest, is_true, number, text_of, tool};
use crate::event::{JsonText, Options, Role};

/// Reads a body.
pub(super) fn read(body: &Json) -> CapturedRequest {
    let instructions = text_of(body, "instructions")
        .map(|words| CapturedMessage { role: Role::System, parts: vec![text("system", words)] });
    let mut messages: Vec<CapturedMessage> = instructions.into_iter().collect();
    match body.get("input") {
        Some(input) if input.as_str().is_some() => {
            messages.push(CapturedMessage { role: Role::User, parts: content("user", Some(input)) });
        }
        Some(input) => {
            for next in input.items().unwrap_or_default().iter().filter_map(item) {
                add(&mut messages, next);
            }
        }
        None => {}
    }
    let tools = body.get("tools").and_then(Json::items).unwrap_or_default().iter();
    CapturedRequest {
        model: text_of(body, "model").unwrap_or_default(),
        messages,
        tools: tools.filter_map(|item| tool(item, &["parameters"])).collect(),
        schema: body.at("text.format.schema").map(JsonText::of),
        options: Options {
            temperature: number(body, "temperature"),
            max_tokens: number(body, "max_output_tokens"),
            top_p: number(body, "top_p"),
            reasoning: body.at("reasoning.effort").and_then(Json::as_str).map(str::to_owned),
            ..Options::default()
        },
        continues: text_of(body, "previous_response_id"),
        thread: text_of(body, "conversation")
            .or_else(|| body.at("conversation.id").and_then(Json::as_str).map(str::to_owned)),
        is_streamed: is_true(body, "stream"),
        ..CapturedRequest::default()
    }
}

/// Adds an item; what the model wrote in one reply is one message.
fn add(messages: &mut Vec<CapturedMessage>, next: CapturedMessage) {
    match messages.last_mut() {
        Some(last) if last.role == next.role && matches!(next.role, Role::Assistant | Role::Tool) => {
            last.parts.extend(next.parts);
        }
        _ => messages.push(next),
    }
}

fn item(json: &Json) -> Option<CapturedMessage> {
    match json.get("type").and_then(Json::as_str) {
        Some("function_call") => {
            let args = text_of(json, "arguments").unwrap_or_default();
            let parts = vec![call(text_of(json, "call_id"), text_of(json, "name"), args)];
            Some(CapturedMessage { role: Role::Assistant, parts })
        }
        Some("function_call_output") => {
            let parts = vec![result(text_of(json, "call_id"), None, &result_text(json.get("output")))];
            Some(CapturedMessage { role: Role::Tool, parts })
        }
        // Reasoning goes back as it came; the reply before shows it. A reference repeats an item that the service keeps.
        Some("reasoning" | "item_reference") => None,
        None | Some("message") => {
            let role = match json.get("role").and_then(Json::as_str) {
                Some("system" | "developer") => Role::System,
                Some("assistant") => Role::Assistant,
                _ => Role::User,
            };
            Some(CapturedMessage { role, parts: content(role.name(), json.get("content")) })
        }
        Some(_) => Some(CapturedMessage { role: Role::Assistant, parts: vec![other(json)] }),
    }
}
