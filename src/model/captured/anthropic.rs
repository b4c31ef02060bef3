//! Requests of the Messages API.
//!
//! In: the body. Out: the request. Results of tools, which are parts of user messages there, become messages of their own.

use ptc_core::value::Json;

use super::parts::{call, content, other, result, result_text, text};
use super::{CapturedMessage, CapturedRequest, is_true, number, text_of, texts, tool};
use crate::event::{JsonText, MessagePart, Options, Role};

/// Reads a body.
pub(super) fn read(body: &Json) -> CapturedRequest {
    let system = content("system", body.get("system"));
    let system = (!system.is_empty()).then_some(CapturedMessage { role: Role::System, parts: system });
    let given = body.get("messages").and_then(Json::items).unwrap_or_default().iter().flat_map(message);
    let tools = body.get("tools").and_then(Json::items).unwrap_or_default().iter();
    let format = body.get("output_format").or_else(|| body.at("output_config.format"));
    CapturedRequest {
        model: text_of(body, "model").unwrap_or_default(),
        messages: system.into_iter().chain(given).collect(),
        tools: tools.filter_map(|item| tool(item, &["input_schema"])).collect(),
        schema: format.and_then(|format| format.get("schema")).map(JsonText::of),
        options: Options {
            temperature: number(body, "temperature"),
            max_tokens: number(body, "max_tokens"),
            top_p: number(body, "top_p"),
            stop: texts(body.get("stop_sequences")),
            seed: None,
            reasoning: body
                .at("thinking.budget_tokens")
                .map(Json::to_text)
                .or_else(|| body.at("output_config.effort").and_then(Json::as_str).map(str::to_owned)),
            ..Options::default()
        },
        continues: body.at("thread.previous_message_id").and_then(Json::as_str).map(str::to_owned),
        is_streamed: is_true(body, "stream"),
        ..CapturedRequest::default()
    }
}

/// A message, and before it the results of tools that it contains.
fn message(json: &Json) -> Vec<CapturedMessage> {
    let role = match json.get("role").and_then(Json::as_str) {
        Some("assistant") => Role::Assistant,
        Some("system") => Role::System,
        _ => Role::User,
    };
    let section = role.name();
    let Some(items) = json.get("content").and_then(Json::items) else {
        return vec![CapturedMessage { role, parts: content(section, json.get("content")) }];
    };
    let (mut results, mut parts) = (Vec::new(), Vec::new());
    for item in items {
        match item.get("type").and_then(Json::as_str) {
            Some("tool_result") => {
                results.push(result(text_of(item, "tool_use_id"), None, &result_text(item.get("content"))));
            }
            _ => parts.extend(part(section, item)),
        }
    }
    let results = (!results.is_empty()).then_some(CapturedMessage { role: Role::Tool, parts: results });
    let own = (!parts.is_empty()).then_some(CapturedMessage { role, parts });
    results.into_iter().chain(own).collect()
}

fn part(section: &str, item: &Json) -> Option<MessagePart> {
    match item.get("type").and_then(Json::as_str) {
        Some("text") => Some(text(section, text_of(item, "text").unwrap_or_default())),
        Some("tool_use") => {
            let args = item.get("input").map(Json::to_text).unwrap_or_default();
            Some(call(text_of(item, "id"), text_of(item, "name"), args))
        }
        // Reasoning is repeated unchanged; the previous reply shows it.
        Some("thinking" | "redacted_thinking") => None,
        _ => Some(other(item)),
    }
}
