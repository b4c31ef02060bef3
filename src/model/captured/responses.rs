//! Requests of the Responses API.
//!
//! In: the body. Out: the request. Items of one reply (texts and calls in a row) become one message. Calls that the service executed, and
//! what they returned, are parts of its reply that are neither text nor call.

use std::collections::HashSet;

use ptc_core::value::Json;

use super::parts::{content, other, result, result_text, shortened, text};
use super::{CapturedMessage, CapturedRequest, custom_tool, is_true, number, text_of, tool};
use crate::event::{JsonText, MessagePart, NativeCall, Options, Role};
use crate::model::responses::{client_call, is_service_execution};

/// The type of a message that asks for a response over a WebSocket.
pub const CREATE: &str = "response.create";

/// Reads a body, or the message of a WebSocket in its place.
pub(super) fn read(body: &Json) -> CapturedRequest {
    let instructions = text_of(body, "instructions")
        .map(|words| CapturedMessage { role: Role::System, parts: vec![text("system", words)] });
    let mut messages: Vec<CapturedMessage> = instructions.into_iter().collect();
    match body.get("input") {
        Some(input) if input.as_str().is_some() => {
            messages.push(CapturedMessage { role: Role::User, parts: content("user", Some(input)) });
        }
        Some(input) => {
            let items = input.items().unwrap_or_default();
            let calls: Vec<Option<NativeCall>> = items.iter().map(client_call).collect();
            let service_calls = service_calls(items, &calls);
            for next in items.iter().zip(calls).filter_map(|(json, call)| item(json, call, &service_calls)) {
                add(&mut messages, next);
            }
        }
        None => {}
    }
    let tools = body.get("tools").and_then(Json::items).unwrap_or_default().iter();
    CapturedRequest {
        model: text_of(body, "model").unwrap_or_default(),
        messages,
        tools: tools.filter_map(|item| custom_tool(item).or_else(|| tool(item, &["parameters"]))).collect(),
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
        // The reply to a message of a WebSocket always comes in pieces.
        is_streamed: is_true(body, "stream") || text_of(body, "type").as_deref() == Some(CREATE),
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

/// The ids of the calls that the service executed: those of items that are not calls of the client.
fn service_calls<'i>(items: &'i [Json], calls: &[Option<NativeCall>]) -> HashSet<&'i str> {
    let is_call = |item: &Json| item.get("type").and_then(Json::as_str).is_some_and(|kind| kind.ends_with("_call"));
    let of_service = items.iter().zip(calls).filter(|(item, call)| call.is_none() && is_call(item));
    of_service.filter_map(|(item, _)| item.get("call_id").and_then(Json::as_str)).collect()
}

/// The message of an item, which is this call if it is one of the client.
fn item(json: &Json, call: Option<NativeCall>, service_calls: &HashSet<&str>) -> Option<CapturedMessage> {
    let message = |role: Role, part: MessagePart| Some(CapturedMessage { role, parts: vec![part] });
    let kind = json.get("type").and_then(Json::as_str);
    if let Some(call) = call {
        return message(Role::Assistant, MessagePart::Call { call });
    }
    if let Some(output) = kind.and_then(|kind| output(kind, json, service_calls)) {
        return message(Role::Tool, output);
    }
    match kind {
        // Reasoning is repeated unchanged; the previous reply shows it. A reference repeats an item that the service keeps.
        Some("reasoning" | "item_reference") => None,
        None | Some("message") => {
            let role = role_of(json).unwrap_or(Role::User);
            Some(CapturedMessage { role, parts: content(role.name(), json.get("content")) })
        }
        Some("mcp_approval_response" | "compaction_trigger") => message(Role::User, other(json)),
        Some(_) => message(role_of(json).unwrap_or(Role::Assistant), other(json)),
    }
}

fn role_of(json: &Json) -> Option<Role> {
    match json.get("role").and_then(Json::as_str)? {
        "system" | "developer" => Some(Role::System),
        "assistant" => Some(Role::Assistant),
        _ => Some(Role::User),
    }
}

/// The output of a call that the client executed.
fn output(kind: &str, json: &Json, service_calls: &HashSet<&str>) -> Option<MessagePart> {
    let tool = kind.strip_suffix("_output")?;
    let id = text_of(json, "call_id").or_else(|| text_of(json, "id").filter(|_| tool == "local_shell_call"));
    let is_of_client = tool == "tool_search" || tool.ends_with("_call");
    if !is_of_client || is_service_execution(json) || id.as_deref().is_some_and(|id| service_calls.contains(id)) {
        return None;
    }
    let words = match (tool, json.get("output")) {
        // A picture of the screen.
        ("computer_call", Some(output)) => shortened(output).to_text(),
        // Texts of several streams and commands.
        ("shell_call", Some(output)) => output.to_text(),
        // Whether the patch was applied is next to the output.
        ("apply_patch_call", _) | (_, None) => {
            ["type", "id", "call_id"].iter().fold(json.clone(), |rest, key| rest.without(key)).to_text()
        }
        (_, output) => result_text(output),
    };
    Some(result(id, None, &words))
}

#[cfg(test)]
mod tests {
    use ptc_core::value::json;

    use super::*;

    /// The messages of an input: role, then texts, calls and results.
    fn messages(input: &str) -> Vec<(Role, Vec<String>)> {
        let read = read(&json::parse(&format!(r#"{{"input":{input}}}"#)).unwrap());
        let words = |part: &MessagePart| match part {
            MessagePart::Text { section, text, .. } => format!("{section}: {text}"),
            MessagePart::Call { call } => format!("{}: {call}", call.id),
            MessagePart::Result { call, result, .. } => format!("{call} = {result}"),
            other => format!("{other:?}"),
        };
        read.messages.iter().map(|message| (message.role, message.parts.iter().map(words).collect())).collect()
    }

    #[test]
    fn calls_of_the_client_are_calls_and_their_outputs_are_results_of_tools() {
        let rows = [
            (
                r#"{"type":"custom_tool_call","call_id":"c","name":"apply_patch","input":"*** Begin"}"#,
                r#"{"type":"custom_tool_call_output","call_id":"c","output":"Done"}"#,
                ("c: apply_patch *** Begin", r#"c = "Done""#),
            ),
            (
                r#"{"type":"custom_tool_call","call_id":"c","name":"f","input":"x"}"#,
                r#"{"type":"custom_tool_call_output","call_id":"c","output":[{"type":"input_text","text":"a"},{"type":"input_text","text":"b"}]}"#,
                ("c: f x", r#"c = "ab""#),
            ),
            (
                r#"{"type":"local_shell_call","id":"l","call_id":"c","action":{"type":"exec","command":["ls"]}}"#,
                r#"{"type":"local_shell_call_output","id":"c","output":"{\"output\":\"a\"}"}"#,
                (r#"c: local_shell {"type":"exec","command":["ls"]}"#, r#"c = {"output":"a"}"#),
            ),
            (
                r#"{"type":"shell_call","call_id":"c","action":{"commands":["ls"]}}"#,
                r#"{"type":"shell_call_output","call_id":"c","output":[{"stdout":"a","stderr":"","outcome":{"type":"exit","exit_code":0}}]}"#,
                (
                    r#"c: shell {"commands":["ls"]}"#,
                    r#"c = [{"stdout":"a","stderr":"","outcome":{"type":"exit","exit_code":0}}]"#,
                ),
            ),
            (
                r#"{"type":"apply_patch_call","call_id":"c","operation":{"type":"delete_file","path":"a"}}"#,
                r#"{"type":"apply_patch_call_output","call_id":"c","status":"failed","output":"no a"}"#,
                (r#"c: apply_patch {"type":"delete_file","path":"a"}"#, r#"c = {"status":"failed","output":"no a"}"#),
            ),
            (
                r#"{"type":"tool_search_call","call_id":"c","execution":"client","arguments":{"q":1}}"#,
                r#"{"type":"tool_search_output","call_id":"c","execution":"client","tools":[]}"#,
                (r#"c: tool_search {"q":1}"#, r#"c = {"execution":"client","tools":[]}"#),
            ),
            (
                r#"{"type":"future_call","call_id":"c","input":"x"}"#,
                r#"{"type":"future_call_output","call_id":"c","output":"y"}"#,
                ("c: future x", r#"c = "y""#),
            ),
        ];
        for (called, output, (call, result)) in rows {
            let expected = vec![(Role::Assistant, vec![call.to_owned()]), (Role::Tool, vec![result.to_owned()])];
            assert_eq!(messages(&format!("[{called},{output}]")), expected, "{called}");
        }
        let data = "A".repeat(300);
        let seen = messages(&format!(
            r#"[{{"type":"computer_call_output","call_id":"c","output":{{"type":"computer_screenshot","image_url":"data:image/png;base64,{data}"}}}}]"#
        ));
        assert!(seen[0].0 == Role::Tool && seen[0].1[0].contains("322 bytes"), "{seen:?}");
    }

    #[test]
    fn calls_that_the_service_executed_and_their_outputs_are_parts_of_its_reply() {
        let input = r#"[{"role":"user","content":"hi"},
            {"type":"web_search_call","id":"w","action":{"type":"search"}},
            {"type":"shell_call","call_id":"s","action":{"commands":["ls"]},"environment":{"type":"container_reference","container_id":"x"}},
            {"type":"shell_call_output","call_id":"s","output":[]},
            {"type":"tool_search_call","execution":"server","arguments":{}},
            {"type":"tool_search_output","execution":"server","tools":[]},
            {"type":"mcp_approval_request","id":"a","name":"f","arguments":"{}"},
            {"role":"assistant","content":[{"type":"output_text","text":"so"},{"type":"refusal","refusal":"no"}]},
            {"type":"mcp_approval_response","approval_request_id":"a","approve":true}]"#;
        let read = messages(input);
        let roles: Vec<(Role, usize)> = read.iter().map(|(role, parts)| (*role, parts.len())).collect();
        assert_eq!(roles, [(Role::User, 1), (Role::Assistant, 8), (Role::User, 1)], "{read:?}");
        assert_eq!(read[1].1[6..], ["assistant: so", "refusal: no"]);
    }
}
