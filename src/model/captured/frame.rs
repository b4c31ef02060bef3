//! Compares the body of a captured request with the one that its agent sends.
//!
//! In: both bodies. Out: the differences between them, as text. What concerns streaming and storage is not compared: it is always as this
//! program wants it.

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

/// Describes how the messages that are sent differ from the captured ones; `path` is that of the captured request. Consecutive messages of one
/// role count as one, wherever system messages are. The division into texts, white space and ids of calls do not count.
pub fn message_differences(protocol: Protocol, path: &str, captured: &Json, sent: &Json) -> Vec<String> {
    let read = |path: &str, body: &Json| CapturedRequest::read(protocol, path, body.to_text().as_bytes());
    let (Ok(captured), Ok(sent)) = (read(path, captured), read("", sent)) else { return Vec::new() };
    let (captured, sent) = (contents(&captured.messages), contents(&sent.messages));
    let other_role = captured.iter().zip(&sent).position(|(one, other)| one.role != other.role);
    let aligned = other_role.unwrap_or_else(|| captured.len().min(sent.len()));
    let aspects: [(&str, IsSame); 4] = [
        ("text", |one, other| one.text == other.text),
        ("parts that are not text", |one, other| one.others == other.others),
        ("calls", |one, other| one.calls == other.calls),
        ("results", |one, other| one.results == other.results),
    ];
    let mut found = Vec::new();
    for (aspect, is_same) in aspects {
        let pairs = captured.iter().zip(&sent).take(aligned);
        let numbers = pairs.filter(|(one, other)| !is_same(one, other)).map(|(one, _)| one.number.to_string());
        let numbers: Vec<String> = numbers.collect();
        if !numbers.is_empty() {
            found.push(format!("sent in another form: {aspect} of message {}", numbers.join(", ")));
        }
    }
    if aligned < captured.len().max(sent.len()) {
        found.push(match captured.get(aligned) {
            Some(message) => format!("from message {} on, other messages are sent", message.number),
            None => "more messages are sent".to_owned(),
        });
    }
    found
}

/// Compares one aspect of two messages.
type IsSame = fn(&MessageContent, &MessageContent) -> bool;

/// The contents of consecutive messages of one role.
struct MessageContent {
    /// The number of the first message, from 1.
    number: usize,
    role: Role,
    /// Its text without white space.
    text: String,
    /// Names of parts that are not text.
    others: Vec<String>,
    calls: Vec<(String, Json)>,
    results: Vec<String>,
}

/// The contents of messages, those of the system first.
fn contents(messages: &[CapturedMessage]) -> Vec<MessageContent> {
    let (system, others): (Vec<_>, Vec<_>) =
        messages.iter().zip(1..).partition(|(message, _)| message.role == Role::System);
    let mut found: Vec<MessageContent> = Vec::new();
    for (message, number) in system.into_iter().chain(others) {
        let content = content(message, number);
        match found.last_mut().filter(|last| last.role == message.role) {
            _ if content.is_empty() => {}
            Some(last) => last.add(content),
            None => found.push(content),
        }
    }
    found
}

fn content(message: &CapturedMessage, number: usize) -> MessageContent {
    let mut content = MessageContent {
        number,
        role: message.role,
        text: String::new(),
        others: Vec::new(),
        calls: Vec::new(),
        results: Vec::new(),
    };
    for part in &message.parts {
        match part {
            MessagePart::Text { section, text, .. } if message.role == Role::User && section != Role::User.name() => {
                content.others.push(text.clone());
            }
            MessagePart::Text { text, .. } => content.text.extend(text.split_whitespace()),
            MessagePart::Call { call } => content.calls.push((call.name.clone(), call.json_args())),
            MessagePart::Result { result, .. } => content.results.push(result.clone()),
            MessagePart::Reply { .. } | MessagePart::File { .. } => {}
        }
    }
    content
}

impl MessageContent {
    fn is_empty(&self) -> bool {
        self.text.is_empty() && self.others.is_empty() && self.calls.is_empty() && self.results.is_empty()
    }

    /// Adds the message after it.
    fn add(&mut self, next: Self) {
        self.text.push_str(&next.text);
        self.others.extend(next.others);
        self.calls.extend(next.calls);
        self.results.extend(next.results);
    }
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

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn found(captured: Value, sent: Value) -> Vec<String> {
        let body = |messages: Value| {
            ptc_core::value::json::parse(&json!({"model": "m", "messages": messages}).to_string()).unwrap()
        };
        message_differences(Protocol::OpenAi, "/v1/chat/completions", &body(captured), &body(sent))
    }

    #[test]
    fn messages_that_differ_are_named_with_what_differs_and_joined_ones_count_as_one() {
        let message = |role: &str, text: &str| json!({"role": role, "content": text});
        let call = |args: &str| {
            let call = json!({"id": "c", "type": "function", "function": {"name": "f", "arguments": args}});
            json!({"role": "assistant", "content": null, "tool_calls": [call]})
        };
        let captured = json!([message("system", "A."), message("user", "b"), message("user", "c"), call("{\"n\": 1}"),
            message("system", "D."), {"role": "tool", "tool_call_id": "c", "content": "e"}]);
        let sent = |text: &str, args: &str, result: &str| {
            json!([message("system", "A.\n\nD."), message("user", text), call(args),
                {"role": "tool", "tool_call_id": "other", "content": result}])
        };
        assert_eq!(found(captured.clone(), sent("b\nc", "{\"n\":1}", "e")), [""; 0]);
        assert_eq!(
            found(captured.clone(), sent("b", "{\"n\":2}", "f")),
            [
                "sent in another form: text of message 2",
                "sent in another form: calls of message 4",
                "sent in another form: results of message 6",
            ]
        );
        let text =
            json!([message("system", "A.D."), message("user", "bc"), message("assistant", "f"), message("user", "e")]);
        assert_eq!(
            found(captured.clone(), text),
            [
                "sent in another form: text of message 4",
                "sent in another form: calls of message 4",
                "from message 6 on, other messages are sent",
            ]
        );
        let more = json!([message("system", "A.D."), message("user", "bc"), message("assistant", "x")]);
        assert_eq!(found(json!([message("system", "A.D."), message("user", "bc")]), more), ["more messages are sent"]);
    }
}
