//! Requests of generateContent. The model is part of the path.
//!
//! In: the path and the body. Out: the request. Results of tools, which are parts of user contents there, become messages of their own.

use ptc_core::value::Json;

use super::open_api::json_schema;
use super::parts::{call, other, result, text};
use super::{CapturedMessage, CapturedRequest, is_true, number, text_of, texts, tool};
use crate::event::{JsonText, MessagePart, Options, Role, ToolSchema};

/// Reads a body of a request to this path, which has no query and no escaped `:`.
pub(super) fn read(body: &Json, path: &str) -> CapturedRequest {
    let none = Json::empty();
    let config = either(body, "generationConfig", "generation_config").unwrap_or(&none);
    let system = either(body, "systemInstruction", "system_instruction").map(|system| CapturedMessage {
        role: Role::System,
        parts: parts_of(system).iter().map(|item| part("system", item)).collect(),
    });
    let given = body.get("contents").and_then(Json::items).unwrap_or_default().iter().flat_map(message);
    let tools = body.get("tools").and_then(Json::items).unwrap_or_default().iter().flat_map(|group| {
        either(group, "functionDeclarations", "function_declarations").and_then(Json::items).unwrap_or_default()
    });
    let schema = ["responseJsonSchema", "responseSchema", "response_json_schema", "response_schema"];
    let model = path.rsplit_once("/models/").map(|(_, rest)| rest.split(':').next().unwrap_or_default());
    CapturedRequest {
        model: model.unwrap_or_default().to_owned(),
        messages: system.into_iter().chain(given).collect(),
        tools: tools.filter_map(function).collect(),
        schema: schema.iter().find_map(|key| config.get(key)).map(|schema| JsonText::of(&json_schema(schema))),
        options: Options {
            temperature: number(config, "temperature"),
            max_tokens: number(config, "maxOutputTokens").or_else(|| number(config, "max_output_tokens")),
            top_p: number(config, "topP").or_else(|| number(config, "top_p")),
            stop: texts(either(config, "stopSequences", "stop_sequences")),
            seed: number(config, "seed"),
            reasoning: either(config, "thinkingConfig", "thinking_config").and_then(reasoning),
            ..Options::default()
        },
        is_streamed: path.contains(":streamGenerateContent"),
        ..CapturedRequest::default()
    }
}

/// The level of reasoning, or its number of tokens. A negative number leaves it to the model and has no name here.
fn reasoning(thinking: &Json) -> Option<String> {
    let level = either(thinking, "thinkingLevel", "thinking_level").and_then(Json::as_str).map(str::to_owned);
    let tokens = || either(thinking, "thinkingBudget", "thinking_budget")?.to_text().parse::<u64>().ok();
    level.or_else(|| tokens().map(|tokens| tokens.to_string()))
}

/// A function; its schema may have either form.
pub(super) fn function(json: &Json) -> Option<ToolSchema> {
    let found = tool(json, &["parametersJsonSchema", "parameters_json_schema", "parameters"])?;
    Some(ToolSchema { parameters: JsonText::of(&json_schema(&found.parameters.json())), ..found })
}

/// The service accepts both spellings of names.
fn either<'j>(json: &'j Json, camel: &str, snake: &str) -> Option<&'j Json> {
    json.get(camel).or_else(|| json.get(snake))
}

fn parts_of(content: &Json) -> &[Json] {
    content.get("parts").and_then(Json::items).unwrap_or_default()
}

/// A content, and before it the results of tools that it contains.
fn message(json: &Json) -> Vec<CapturedMessage> {
    let role = if text_of(json, "role").as_deref() == Some("model") { Role::Assistant } else { Role::User };
    // Reasoning is repeated unchanged; the previous reply shows it.
    let is_thought = |item: &&Json| is_true(item, "thought") && item.get("text").is_some();
    let (results, own): (Vec<&Json>, Vec<&Json>) = parts_of(json)
        .iter()
        .filter(|item| !is_thought(item))
        .partition(|item| either(item, "functionResponse", "function_response").is_some());
    let message = |role: Role, items: Vec<&Json>| {
        let parts: Vec<MessagePart> = items.into_iter().map(|item| part(role.name(), item)).collect();
        (!parts.is_empty()).then_some(CapturedMessage { role, parts })
    };
    message(Role::Tool, results).into_iter().chain(message(role, own)).collect()
}

fn part(section: &str, item: &Json) -> MessagePart {
    if let Some(words) = item.get("text").and_then(Json::as_str) {
        return text(section, words);
    }
    let id = |json: &Json| text_of(json, "id");
    if let Some(function) = either(item, "functionCall", "function_call") {
        let args = function.get("args").map_or_else(|| "{}".to_owned(), Json::to_text);
        return call(id(function), text_of(function, "name"), args);
    }
    if let Some(response) = either(item, "functionResponse", "function_response") {
        let value = response.get("response").map(Json::to_text).unwrap_or_default();
        return result(id(response), text_of(response, "name"), &value);
    }
    other(item)
}
