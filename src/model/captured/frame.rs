//! Compares the body of a captured request with the one that its agent sends.
//!
//! In: both bodies. Out: the differences between them, as text. What concerns streaming and storage is not compared: it is always as this
//! program wants it. Of messages only the first one that differs is known.

use ptc_core::text::cut;
use ptc_core::value::Json;
use ptc_core::value::json::Node;

use super::extra_members::{DEFAULTS, omitted_members, with_tool_choice, without};
use super::open_api::json_schema;
use super::{CapturedMessage, CapturedRequest, gemini};
use crate::config::Protocol;
use crate::event::{MessagePart, Role};
use crate::model::body::is_spelling;

/// Members that are not compared: messages, and what this program decides about.
const NOT_COMPARED: [&str; 18] = [
    "model",
    "messages",
    "input",
    "contents",
    "prompt",
    "images",
    "context",
    "suffix",
    "system",
    "instructions",
    "systemInstruction",
    "stream",
    "stream_options",
    "store",
    "previous_response_id",
    // Of messages of a WebSocket.
    "type",
    "stream_id",
    "generate",
];

/// Longest value in a line.
const VALUE_MAX_CHARS: usize = 60;

/// A member that only one of the bodies has, or that both have with different values.
struct Difference<'j> {
    path: String,
    captured: Option<&'j Json>,
    sent: Option<&'j Json>,
}

/// Describes how the body that is sent differs from the captured one.
pub fn frame_differences(protocol: Protocol, captured: &Json, sent: &Json) -> Vec<String> {
    let (captured, sent) = (canonical(protocol, captured), canonical(protocol, sent));
    let mut found = Vec::new();
    compare("", Some(&captured), Some(&sent), &mut found);
    let renamed: Vec<(&Difference<'_>, &Difference<'_>)> = found
        .iter()
        .flat_map(|one| found.iter().filter(|other| is_renamed(one, other)).map(move |other| (one, other)))
        .collect();
    let is_in = |path: &str| renamed.iter().any(|(one, other)| one.path == path || other.path == path);
    let others = found.iter().filter(|difference| !is_in(&difference.path));
    let lines = renamed.iter().map(|(one, other)| format!("{} is sent as {}", one.path, other.path));
    lines.chain(others.map(Difference::describe)).collect()
}

/// Returns the number, from 1, of the first message that is sent in another way; `None` if all are sent as they were. `path` is that of the
/// captured request. The division of a message into texts does not count.
pub fn first_message_difference(protocol: Protocol, path: &str, captured: &Json, sent: &Json) -> Option<usize> {
    let read = |path: &str, body: &Json| CapturedRequest::read(protocol, path, body.to_text().as_bytes()).ok();
    let (captured, sent) = (read(path, captured)?, read("", sent)?);
    let contents = |request: &CapturedRequest| -> Vec<_> { request.messages.iter().filter_map(content).collect() };
    let (captured, sent) = (contents(&captured), contents(&sent));
    let at = (0..captured.len().max(sent.len())).find(|at| captured.get(*at) != sent.get(*at))?;
    Some(at + 1)
}

/// Role, text, calls and results of a message; `None` for one without any.
type MessageContent = (Role, String, Vec<(String, Json)>, Vec<String>);

fn content(message: &CapturedMessage) -> Option<MessageContent> {
    let (mut text, mut calls, mut results) = (String::new(), Vec::new(), Vec::new());
    for part in &message.parts {
        match part {
            MessagePart::Text { text: more, .. } => text.push_str(more),
            MessagePart::Call { call } => calls.push((call.name.clone(), call.json_args())),
            MessagePart::Result { result, .. } => results.push(result.clone()),
            MessagePart::Reply { .. } | MessagePart::File { .. } => {}
        }
    }
    let is_empty = text.is_empty() && calls.is_empty() && results.is_empty();
    (!is_empty).then_some((message.role, text, calls, results))
}

/// Returns whether the first is a member that is sent by the name of the second.
fn is_renamed(one: &Difference<'_>, other: &Difference<'_>) -> bool {
    let value = match (one.path.as_str(), other.path.as_str()) {
        // The older name of the schema for Anthropic.
        ("output_format", "output_config") => other.sent.and_then(|sent| sent.get("format")),
        ("output_format", "output_config.format") => other.sent,
        (name, spelling) if is_spelling(name, spelling) => other.sent,
        _ => return false,
    };
    one.sent.is_none() && other.captured.is_none() && is_same(one.captured, value)
}

impl Difference<'_> {
    fn describe(&self) -> String {
        let shown = |value: &Json| cut(&value.to_text(), VALUE_MAX_CHARS);
        match (self.captured, self.sent) {
            (Some(captured), Some(sent)) => {
                format!("{} is sent as {} instead of {}", self.path, shown(sent), shown(captured))
            }
            (Some(captured), None) => format!("{} is not sent: {}", self.path, shown(captured)),
            (None, sent) => format!("{} is added: {}", self.path, sent.map(shown).unwrap_or_default()),
        }
    }
}

/// Collects the differences of two values. A null counts as absent.
fn compare<'j>(path: &str, captured: Option<&'j Json>, sent: Option<&'j Json>, found: &mut Vec<Difference<'j>>) {
    let present = |value: Option<&'j Json>| value.filter(|value| value.node != Node::Null);
    let (captured, sent) = (present(captured), present(sent));
    let members = |value: Option<&'j Json>| value.and_then(Json::members);
    if let (Some(one), Some(other)) = (members(captured), members(sent)) {
        let has = |key: &str| one.iter().any(|member| member.key == key);
        let keys = one.iter().chain(other.iter().filter(|member| !has(&member.key))).map(|member| &member.key);
        for key in keys {
            let inner = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
            compare(&inner, captured.and_then(|value| value.get(key)), sent.and_then(|value| value.get(key)), found);
        }
    } else if !is_same(captured, sent) {
        found.push(Difference { path: path.to_owned(), captured, sent });
    }
}

/// Returns whether both values are equal; `1` and `1.0` are.
fn is_same(one: Option<&Json>, other: Option<&Json>) -> bool {
    let number = |value: Option<&Json>| match &value?.node {
        Node::Int(_) | Node::Float(_) => value?.to_text().parse::<f64>().ok(),
        _ => None,
    };
    match (number(one), number(other)) {
        (Some(one), Some(other)) => one.total_cmp(&other).is_eq(),
        _ => one == other,
    }
}

/// The body in one spelling, without what is not compared and what has its default, and with its tools by name.
fn canonical(protocol: Protocol, body: &Json) -> Json {
    let mut body = with_tool_choice(if protocol == Protocol::Gemini { camel_case(body, "") } else { body.clone() });
    for (path, default) in omitted_members(protocol).iter().chain(&DEFAULTS) {
        if body.at(path).is_some_and(|value| value.to_text() == *default) {
            body = without(body, path);
        }
    }
    // One text that ends the reply counts as a list of one.
    for key in ["stop", "stop_sequences"] {
        if let Some(stop) = body.get(key).filter(|stop| stop.as_str().is_some()).cloned() {
            body = body.with(key, Json::list([stop]));
        }
    }
    let tools = ["tools", "functions"].iter().filter_map(|key| body.get(key)?.items()).flatten();
    let tools = Json::object(tools.flat_map(declared));
    let members = body.members().unwrap_or_default().iter();
    let kept = members.filter(|member| !NOT_COMPARED.contains(&member.key.as_str()));
    let kept = Json::object(kept.map(|member| (member.key.clone(), member.value.clone())));
    kept.without("functions").with("tools", tools)
}

/// The tools of an item of a list, by name. Tools of the service are named by their type.
fn declared(item: &Json) -> Vec<(String, Json)> {
    if let Some(functions) = item.get("functionDeclarations").and_then(Json::items) {
        let rest = item.clone().without("functionDeclarations");
        let rest = rest.members().is_some_and(|members| !members.is_empty()).then(|| declared(&rest));
        let functions = functions.iter().filter_map(|function| {
            let tool = gemini::function(function)?;
            let others = ["name", "parameters", "parametersJsonSchema", "parameters_json_schema"];
            let others = others.iter().fold(function.clone(), |others, key| others.without(key));
            Some((tool.name, others.with("parameters", tool.parameters.json())))
        });
        return functions.chain(rest.into_iter().flatten()).collect();
    }
    // Marks for the cache have an option.
    let tool = item.clone().without("cache_control");
    let own = ["function", "custom"].iter().find_map(|key| tool.get(key)).unwrap_or(&tool);
    let name = own.get("name").and_then(Json::as_str).map(str::to_owned);
    let first = || tool.members()?.first().map(|member| member.key.clone());
    match name {
        Some(name) => {
            let is_function = tool.get("type").is_none_or(|kind| kind.as_str() == Some("function"));
            let own = own.clone().without("name");
            vec![(name, if is_function { own.without("type") } else { own })]
        }
        None => {
            vec![(tool.get("type").and_then(Json::as_str).map(str::to_owned).or_else(first).unwrap_or_default(), tool)]
        }
    }
}

/// A body of Gemini with the spelling and the form of schemas that bodies of this program have.
fn camel_case(json: &Json, key: &str) -> Json {
    const INNER: [&str; 6] = ["", "generationConfig", "thinkingConfig", "toolConfig", "functionCallingConfig", "tools"];
    let schemas = ["responseSchema", "responseJsonSchema"];
    if schemas.contains(&key) {
        return json_schema(json);
    }
    if !INNER.contains(&key) {
        return json.clone();
    }
    match (json.members(), json.items()) {
        (Some(members), _) => Json::object(members.iter().map(|member| {
            let name = camel_case_name(&member.key);
            let value = camel_case(&member.value, &name);
            (if name == "responseSchema" { "responseJsonSchema".to_owned() } else { name }, value)
        })),
        (None, Some(items)) => Json::list(items.iter().map(|item| camel_case(item, key))),
        (None, None) => json.clone(),
    }
}

fn camel_case_name(name: &str) -> String {
    let mut parts = name.split('_');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |name, part| {
        let mut chars = part.chars();
        name + &chars.next().map(|first| first.to_ascii_uppercase()).into_iter().collect::<String>() + chars.as_str()
    })
}
