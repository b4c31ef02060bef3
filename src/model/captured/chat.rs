//! Requests for chat completions, and those of Ollama, which differ in where options and formats are.
//!
//! In: the body. Out: the request. Roles that are unknown count as the user's.

use ptc_core::value::Json;

use super::parts::{REFUSAL, call, content, result, result_text, text};
use super::{CapturedMessage, CapturedRequest, custom_tool, is_true, number, text_of, texts, tool};
use crate::event::{JsonText, MessagePart, Options, Role};

/// Reads a body for chat completions.
pub(super) fn read(body: &Json) -> CapturedRequest {
    let format = body.get("response_format");
    let schema = format.and_then(|format| format.at("json_schema.schema")).map(JsonText::of);
    CapturedRequest {
        options: Options {
            temperature: number(body, "temperature"),
            max_tokens: number(body, "max_completion_tokens").or_else(|| number(body, "max_tokens")),
            top_p: number(body, "top_p"),
            stop: texts(body.get("stop")),
            seed: number(body, "seed"),
            reasoning: text_of(body, "reasoning_effort"),
            ..Options::default()
        },
        schema,
        is_streamed: is_true(body, "stream"),
        ..common(body)
    }
}

/// Reads a body for Ollama's chat.
pub(super) fn read_ollama(body: &Json) -> CapturedRequest {
    of_ollama(body, common(body))
}

/// Adds the options and the schema of a request to Ollama, which are the same in each of its interfaces.
pub(super) fn of_ollama(body: &Json, read: CapturedRequest) -> CapturedRequest {
    let none = Json::empty();
    let options = body.get("options").unwrap_or(&none);
    CapturedRequest {
        options: Options {
            temperature: number(options, "temperature"),
            max_tokens: number(options, "num_predict"),
            top_p: number(options, "top_p"),
            stop: texts(options.get("stop")),
            seed: number(options, "seed"),
            reasoning: text_of(body, "think"),
            ..Options::default()
        },
        schema: body.get("format").filter(|format| format.members().is_some()).map(JsonText::of),
        // It streams unless it is asked not to.
        is_streamed: body.get("stream").is_none_or(|stream| stream.to_text() == "true"),
        ..read
    }
}

fn common(body: &Json) -> CapturedRequest {
    // `functions` is the older form of tools.
    let tools = ["tools", "functions"].iter().filter_map(|key| body.get(key)?.items()).flatten();
    let function = |item: &Json| tool(item.get("function").unwrap_or(item), &["parameters"]);
    CapturedRequest {
        model: text_of(body, "model").unwrap_or_default(),
        messages: body.get("messages").and_then(Json::items).unwrap_or_default().iter().map(message).collect(),
        tools: tools.filter_map(|item| custom_tool(item).or_else(|| function(item))).collect(),
        ..CapturedRequest::default()
    }
}

fn message(json: &Json) -> CapturedMessage {
    match json.get("role").and_then(Json::as_str) {
        Some("system" | "developer") => {
            CapturedMessage { role: Role::System, parts: content("system", json.get("content")) }
        }
        Some("assistant") => CapturedMessage { role: Role::Assistant, parts: assistant(json) },
        Some("tool" | "function") => {
            let id = text_of(json, "tool_call_id");
            let name = text_of(json, "name").or_else(|| text_of(json, "tool_name"));
            CapturedMessage { role: Role::Tool, parts: vec![result(id, name, &result_text(json.get("content")))] }
        }
        _ => {
            let mut parts = content("user", json.get("content"));
            parts.extend(images(json));
            CapturedMessage { role: Role::User, parts }
        }
    }
}

/// The images of a message, or of a prompt.
pub(super) fn images(json: &Json) -> impl Iterator<Item = MessagePart> {
    let images = json.get("images").and_then(Json::items).unwrap_or_default();
    images.iter().map(|image| text("image", format!("[image, {} bytes of base64]", image.as_str().map_or(0, str::len))))
}

fn assistant(json: &Json) -> Vec<MessagePart> {
    let mut parts = content("assistant", json.get("content"));
    // The content of a message with calls is often empty.
    parts.retain(|part| !matches!(part, MessagePart::Text { text, .. } if text.is_empty()));
    let refusal = text_of(json, "refusal").filter(|refusal| !refusal.is_empty());
    parts.extend(refusal.map(|refusal| text(REFUSAL, refusal)));
    let calls = json.get("tool_calls").and_then(Json::items).unwrap_or_default().iter();
    parts.extend(calls.map(|item| {
        let function = item.get("function").or_else(|| item.get("custom")).unwrap_or(item);
        let args = function.get("arguments").or_else(|| function.get("input"));
        let args = args.map(|args| args.as_str().map_or_else(|| args.to_text(), str::to_owned));
        call(text_of(item, "id"), text_of(function, "name"), args.unwrap_or_default())
    }));
    let older = json.get("function_call").filter(|function| function.members().is_some());
    parts.extend(
        older.map(|function| call(None, text_of(function, "name"), text_of(function, "arguments").unwrap_or_default())),
    );
    parts
}
