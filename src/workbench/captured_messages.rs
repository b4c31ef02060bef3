//! The messages of a captured agent: its prompt, and the conversation before and after it.
//!
//! In: the messages of a request. Out: tables of an agent file, and the differences that they make to the captured request. It must never
//! lose a text, a call or a result.

use std::fmt::Write as _;

use ptc_core::value::{Json, json};
use toml_edit::{Array, ArrayOfTables, InlineTable, Table, value};

use super::captured_tools::ToolNames;
use crate::event::{NativeCall, Role, SentMessage, SentPart};
use crate::model::{PendingCalls, arguments_of};

/// The messages of a request as parts of an agent.
pub(super) struct CapturedMessages {
    /// The system text; `None` if no message has one.
    pub(super) system: Option<String>,
    /// The messages before the prompt.
    pub(super) before: ArrayOfTables,
    /// The last message of the user.
    pub(super) prompt: String,
    /// The messages after it.
    pub(super) after: ArrayOfTables,
    /// The differences to the messages of the request.
    pub(super) differences: Vec<String>,
}

/// A message with the ids and names that it has in the agent.
struct AgentMessage {
    role: Role,
    text: String,
    calls: Vec<NativeCall>,
    /// Id, name and text of each result.
    results: Vec<(String, String, String)>,
}

impl CapturedMessages {
    /// Divides the messages at the last one of the user.
    pub(super) fn of(messages: &[SentMessage], names: &ToolNames) -> Self {
        let (system, others): (Vec<&SentMessage>, Vec<&SentMessage>) =
            messages.iter().partition(|message| message.role == Role::System);
        let at = others.iter().rposition(|message| message.role == Role::User);
        let mut earlier = agent_messages(&others, names);
        let after = at.map(|at| earlier.split_off(at + 1)).unwrap_or_default();
        let last = at.and_then(|_| earlier.pop());
        let mut found = Self {
            system: (!system.is_empty())
                .then(|| system.iter().map(|message| system_text(message)).collect::<Vec<_>>().join("\n\n")),
            before: tables(&earlier),
            prompt: last.map(|message| message.text).unwrap_or_default(),
            after: tables(&after),
            differences: differences(messages, names),
        };
        // An agent has a prompt, and a request may have a system text alone.
        if at.is_none()
            && let Some(system) = found.system.take_if(|system| !system.trim().is_empty())
        {
            found.prompt = system;
            found.differences.push("the system text is sent as the user message: the request has none".to_owned());
        }
        found
    }
}

/// The texts of a system message.
fn system_text(message: &SentMessage) -> String {
    let mut all = String::new();
    for part in &message.parts {
        append_text(&mut all, message.role, &part.text());
    }
    all
}

/// Adds a text of a message to those before it, on a line of its own. Texts of the model are pieces of one reply.
fn append_text(all: &mut String, role: Role, text: &str) {
    let is_apart = all.is_empty() || all.ends_with('\n') || text.starts_with('\n');
    if role != Role::Assistant && !is_apart {
        all.push('\n');
    }
    all.push_str(text);
}

/// The messages with an id for each call: some protocols have none.
fn agent_messages(messages: &[&SentMessage], names: &ToolNames) -> Vec<AgentMessage> {
    let mut generated = 0;
    let mut pending = PendingCalls::default();
    let read = |message: &&SentMessage| {
        let mut out = AgentMessage { role: message.role, text: String::new(), calls: Vec::new(), results: Vec::new() };
        for part in &message.parts {
            match part {
                SentPart::Text { text, .. } => append_text(&mut out.text, message.role, text),
                SentPart::File(file) => _ = write!(out.text, "[file {file}]"),
                SentPart::Call(call) => {
                    let mut named = NativeCall { name: names.name(&call.name).to_owned(), ..call.clone() };
                    if names.is_custom(&call.name) {
                        named.args = arguments_of(&call.args).to_text();
                    }
                    if named.id.is_empty() {
                        generated += 1;
                        named.id = format!("tc_{generated}");
                    }
                    pending.push(call, named.id.clone());
                    out.calls.push(named);
                }
                SentPart::Result { call, name, result } => {
                    let (tool, id) = pending.take(call, name).unwrap_or_else(|| (name.clone(), call.clone()));
                    let name = if name.is_empty() { tool } else { name.clone() };
                    out.results.push((id, names.name(&name).to_owned(), plain(result)));
                }
            }
        }
        out
    };
    messages.iter().map(read).collect()
}

/// A result as the request had it: texts that are not JSON are recorded as JSON strings.
fn plain(result: &str) -> String {
    let text = json::parse(result).ok().and_then(|json| json.as_str().map(str::to_owned));
    text.unwrap_or_else(|| result.to_owned())
}

/// The messages as tables of an agent file. Those without content are omitted.
fn tables(messages: &[AgentMessage]) -> ArrayOfTables {
    let mut tables = ArrayOfTables::new();
    for message in messages {
        // A message of a tool has results only.
        let text = (!message.text.is_empty() && message.role != Role::Tool).then_some(message.text.as_str());
        if text.is_none() && message.calls.is_empty() && message.results.is_empty() {
            continue;
        }
        let mut table = Table::new();
        table["role"] = value(message.role.name());
        if let Some(text) = text {
            table["text"] = value(text);
        }
        if !message.calls.is_empty() {
            let calls =
                message.calls.iter().map(|call| row([("id", &call.id), ("name", &call.name), ("args", &call.args)]));
            table["calls"] = value(calls.collect::<Array>());
        }
        if !message.results.is_empty() {
            let results = message.results.iter();
            let results = results.map(|(id, name, text)| row([("id", id), ("name", name), ("result", text)]));
            table["results"] = value(results.collect::<Array>());
        }
        tables.push(table);
    }
    tables
}

fn row(members: [(&str, &String); 3]) -> InlineTable {
    let mut row = InlineTable::new();
    for (key, text) in members.into_iter().filter(|(_, text)| !text.is_empty()) {
        row.insert(key, text.as_str().into());
    }
    row
}

/// The differences between messages of the request and those that the agent sends.
fn differences(messages: &[SentMessage], names: &ToolNames) -> Vec<String> {
    let texts =
        |message: &SentMessage| message.parts.iter().filter(|part| matches!(part, SentPart::Text { .. })).count();
    let is_user = |message: &SentMessage| message.role == Role::User && !message.parts.is_empty();
    let first = messages.iter().position(|message| message.role != Role::System).unwrap_or(messages.len());
    let is_late = messages.iter().skip(first).any(|message| message.role == Role::System);
    let mut found = Vec::new();
    if first > 1 || is_late {
        found.push("system messages are joined into one at the beginning".to_owned());
    }
    if messages.iter().any(|message| texts(message) > 1) {
        found.push("several texts of a message are joined".to_owned());
    }
    if messages.windows(2).any(|pair| pair.iter().all(is_user)) {
        found.push("consecutive user messages are joined".to_owned());
    }
    let replies = messages.iter().filter(|message| message.role == Role::Assistant);
    let sections = replies.flat_map(|message| &message.parts).filter_map(|part| match part {
        SentPart::Text { section, .. } => Some(section.as_str()),
        _ => None,
    });
    let mut others: Vec<&str> =
        sections.filter(|section| !["assistant", "reply", "refusal", "user"].contains(section)).collect();
    others.sort_unstable();
    others.dedup();
    if !others.is_empty() {
        found.push(format!("parts of replies are sent by name only: {}", others.join(", ")));
    }
    let mut calls = messages.iter().flat_map(|message| &message.parts).filter_map(|part| match part {
        SentPart::Call(call) if !call.args.trim().is_empty() && !names.is_custom(&call.name) => Some(call.json_args()),
        _ => None,
    });
    if calls.any(|args| args.members().is_none()) {
        found.push("arguments other than JSON objects are not sent".to_owned());
    }
    let mut results = messages.iter().flat_map(|message| &message.parts).filter_map(|part| match part {
        SentPart::Result { result, .. } => json::parse(result).ok(),
        _ => None,
    });
    if results.any(|result| has_media(&result)) {
        found.push("images and files in tool results are sent by name only".to_owned());
    }
    found
}

/// Returns whether a result has parts that are not text.
fn has_media(result: &Json) -> bool {
    let mut kinds = result.items().unwrap_or_default().iter().filter_map(|item| item.get("type")?.as_str());
    kinds.any(|kind| ["image", "document", "file"].iter().any(|word| kind.contains(word)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Source;

    fn message(role: Role, parts: Vec<SentPart>) -> SentMessage {
        SentMessage { m: 0, role, source: Source::User, parts }
    }

    fn text(section: &str, text: &str) -> SentPart {
        SentPart::Text { section: section.to_owned(), text: text.to_owned() }
    }

    #[test]
    fn the_last_message_of_the_user_is_the_prompt_and_calls_without_ids_get_some() {
        let call = |args: &str| {
            SentPart::Call(NativeCall { id: String::new(), name: "look".to_owned(), args: args.to_owned() })
        };
        let result =
            |text: &str| SentPart::Result { call: String::new(), name: "look".to_owned(), result: text.to_owned() };
        let messages = [
            message(Role::User, vec![text("user", "Hello")]),
            message(Role::Assistant, vec![text("reply", "Yes?")]),
            message(Role::User, vec![text("user", "Look")]),
            message(Role::Assistant, vec![call("{\"n\":1}"), call("{\"n\":2}")]),
            message(Role::Tool, vec![result("\"one\""), result("{\"n\":2}")]),
        ];
        let found = CapturedMessages::of(&messages, &ToolNames::of(&[]));
        assert_eq!((found.prompt.as_str(), found.before.len(), found.after.len()), ("Look", 2, 2));
        let after = found.after.to_string();
        assert!(after.contains("tc_1") && after.contains("tc_2"), "{after}");
        assert_eq!(found.differences, [""; 0]);
        let results = found.after.get(1).unwrap()["results"].to_string();
        assert!(results.contains("\"one\"") && !results.contains("\\\"one"), "{results}");
    }

    #[test]
    fn results_without_an_id_belong_to_the_calls_in_their_order() {
        let call = |id: &str, name: &str| {
            SentPart::Call(NativeCall { id: id.to_owned(), name: name.to_owned(), args: "{}".to_owned() })
        };
        let result = |name: &str, result: &str| SentPart::Result {
            call: String::new(),
            name: name.to_owned(),
            result: result.to_owned(),
        };
        for (ids, name, expected) in [
            (["", ""], "", ["tc_1", "tc_2"]),
            (["c1", "c2"], "", ["c1", "c2"]),
            (["c1", "c2"], "b", ["c2", ""]),
            (["", "c2"], "", ["tc_1", "c2"]),
        ] {
            let messages = [
                message(Role::Assistant, vec![call(ids[0], "a"), call(ids[1], "b")]),
                message(Role::Tool, vec![result(name, "ra"), result(name, "rb")]),
            ];
            let messages: Vec<&SentMessage> = messages.iter().collect();
            let read = agent_messages(&messages, &ToolNames::of(&[]));
            let found: Vec<&str> = read[1].results.iter().map(|(id, ..)| id.as_str()).collect();
            assert_eq!(found, expected, "{ids:?} {name}");
        }
    }

    #[test]
    fn several_texts_are_lines_of_their_own_except_in_replies() {
        let two = |role: Role, section: &str| message(role, vec![text(section, "One."), text(section, "Two.")]);
        let messages = [two(Role::System, "system"), two(Role::Assistant, "assistant"), two(Role::User, "user")];
        let found = CapturedMessages::of(&messages, &ToolNames::of(&[]));
        assert_eq!((found.system.as_deref(), found.prompt.as_str()), (Some("One.\nTwo."), "One.\nTwo."));
        assert_eq!(found.before.get(0).and_then(|reply| reply["text"].as_str()), Some("One.Two."));
    }

    #[test]
    fn a_result_with_an_id_of_the_client_belongs_to_a_call_to_which_the_service_gave_none() {
        let call = NativeCall { id: "tc_1".to_owned(), name: "look".to_owned(), args: "{}".to_owned() };
        let result =
            SentPart::Result { call: "look_179_0".to_owned(), name: "look".to_owned(), result: "1".to_owned() };
        let messages = [message(Role::Assistant, vec![SentPart::Call(call)]), message(Role::Tool, vec![result])];
        let messages: Vec<&SentMessage> = messages.iter().collect();
        let read = agent_messages(&messages, &ToolNames::of(&[]));
        assert_eq!((read[0].calls[0].id.as_str(), read[1].results[0].0.as_str()), ("tc_1", "tc_1"));
    }

    #[test]
    fn a_system_text_alone_is_the_prompt() {
        let found = CapturedMessages::of(&[message(Role::System, vec![text("system", "Greet")])], &ToolNames::of(&[]));
        assert_eq!((found.prompt.as_str(), found.system, found.differences.len()), ("Greet", None, 1));
    }
}
