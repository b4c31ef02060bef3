//! Transcripts of Claude Code: JSON lines with the messages of conversations.
//!
//! In: lines. Out: exchanges in the format of the service that answered, with the messages as the file has them. Everything else in the
//! file is in the member `transcript` of the request after it, as it is; what no reply follows is reported.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::rebuilt::{Rebuilt, elapsed, text, time, without};
use super::{Entry, Transcript, unanswered};

/// A transcript of Claude Code as it is read.
///
/// Lines of one reply have one message id, and each has a part of its content. Each line names the line before it; one that names none begins a
/// conversation: that of a subagent, or what follows a summary. After a rewind, a line names an earlier one: what came between is left out.
#[derive(Default)]
pub(super) struct ClaudeCode {
    chains: Vec<Chain>,
    /// The place of each line, by the line's id.
    places: HashMap<String, Place>,
    /// The chain of the last line.
    last: usize,
}

/// Position of a line.
#[derive(Clone, Copy)]
struct Place {
    chain: usize,
    /// The number of the last message up to it.
    message: usize,
}

impl ClaudeCode {
    /// Finds the chain that a line belongs to; returns the number of the message before the line, where the line names that.
    fn find_chain(&mut self, line: &Value) -> Option<usize> {
        let has_none_before = line.get("parentUuid") == Some(&Value::Null);
        let begins = has_none_before && line.get("message").is_some();
        let before = self.places.get(text(line, "parentUuid")).copied();
        if begins || self.chains.is_empty() {
            // Lines before the first message belong to what it begins.
            if self.chains.get(self.last).is_none_or(Chain::has_begun) {
                self.chains.push(Chain::default());
            }
            self.last = self.chains.len() - 1;
        } else if let Some(place) = before {
            self.last = place.chain;
        }
        if has_none_before { Some(0) } else { before.map(|place| place.message) }
    }
}

/// A message of a line, or a reply.
struct ChainMessage {
    message: Value,
    /// The number of the message before it.
    before: usize,
}

/// One conversation in a transcript, with what its user went back from.
#[derive(Default)]
struct Chain {
    /// All messages. Their numbers begin with 1; 0 is none.
    all: Vec<ChainMessage>,
    /// The numbers of those that the next request has.
    path: Vec<usize>,
    /// Number of these that are in a request already.
    asked: usize,
    /// The reply that is being read: its message, and when it was asked and came.
    reply: Option<(Value, i64, i64)>,
    /// Lines before the reply and its own, without messages.
    rest: Vec<Value>,
    /// Lines after it.
    after: Vec<Value>,
    last_ms: i64,
}

impl Transcript for ClaudeCode {
    fn line(&mut self, mut line: Value) -> Option<Entry> {
        let before = self.find_chain(&line);
        let uuid = text(&line, "uuid").to_owned();
        let place = self.last;
        let chain = &mut self.chains[place];
        let mut ended = None;
        let at_ms = time(&line, "timestamp").unwrap_or(chain.last_ms);
        let kind = text(&line, "type").to_owned();
        let message = line.as_object_mut().and_then(|line| line.remove("message")).filter(Value::is_object);
        let is_message = message.is_some() && matches!(kind.as_str(), "assistant" | "user");
        match (kind.as_str(), message) {
            ("assistant", Some(mut message)) => {
                // The protocol has parts, a transcript may have their text.
                if let Some(Value::String(text)) = message.get("content") {
                    message["content"] = json!([{"type": "text", "text": text}]);
                }
                let is_same = chain
                    .reply
                    .as_ref()
                    .is_some_and(|(reply, ..)| reply.get("id").is_some() && reply.get("id") == message.get("id"));
                if is_same {
                    if let Some((reply, _, end_ms)) = &mut chain.reply {
                        *end_ms = at_ms;
                        add_content(reply, &message);
                    }
                    chain.rest.push(line);
                } else {
                    ended = chain.close();
                    chain.go_back(before, &message);
                    let asked_ms = if chain.last_ms == 0 { at_ms } else { chain.last_ms.min(at_ms) };
                    chain.reply = Some((message, asked_ms, at_ms));
                    chain.rest.push(line);
                }
            }
            ("user", Some(message)) => {
                ended = chain.close();
                chain.go_back(before, &message);
                chain.push(without(&message, &["id"]));
                chain.rest.push(line);
            }
            _ if chain.reply.is_some() => chain.after.push(line),
            _ => chain.rest.push(line),
        }
        if at_ms > 0 {
            chain.last_ms = at_ms;
        }
        if !uuid.is_empty() {
            let message = before.filter(|_| !is_message).unwrap_or_else(|| chain.last_message());
            self.places.insert(uuid, Place { chain: place, message });
        }
        ended
    }

    fn end(&mut self) -> Vec<Entry> {
        self.chains.iter_mut().flat_map(Chain::end).collect()
    }
}

/// Adds the parts of another line of the same reply, and what only the last line knows.
fn add_content(reply: &mut Value, more: &Value) {
    let parts = more.get("content").and_then(Value::as_array).cloned().unwrap_or_default();
    if let Some(content) = reply.get_mut("content").and_then(Value::as_array_mut) {
        for part in parts {
            if !content.contains(&part) {
                content.push(part);
            }
        }
    }
    for key in ["stop_reason", "stop_sequence", "usage"] {
        if let Some(value) = more.get(key).filter(|value| !value.is_null()) {
            reply[key] = value.clone();
        }
    }
}

/// Returns whether a message is the result of a tool call.
fn is_result(message: &Value) -> bool {
    let parts = message.get("content").and_then(Value::as_array);
    parts.is_some_and(|parts| parts.iter().any(|part| text(part, "type") == "tool_result"))
}

/// Messages as the protocol has them: one after another of the same role is part of it.
fn merged<'a>(messages: impl Iterator<Item = &'a Value>) -> Vec<Value> {
    let parts = |content: Option<Value>| match content {
        Some(Value::Array(parts)) => parts,
        Some(Value::String(text)) => vec![json!({"type": "text", "text": text})],
        _ => Vec::new(),
    };
    let mut out: Vec<Value> = Vec::new();
    for message in messages {
        if let Some(last) = out.last_mut().filter(|last| last.get("role") == message.get("role")) {
            let mut all = parts(last.get_mut("content").map(Value::take));
            all.extend(parts(message.get("content").cloned()));
            last["content"] = Value::Array(all);
        } else {
            out.push(without(message, &["id"]));
        }
    }
    out
}

impl Chain {
    fn push(&mut self, message: Value) {
        let before = self.last_message();
        self.all.push(ChainMessage { message, before });
        self.path.push(self.all.len());
    }

    /// The number of the last message; the reply that is being read will be the next one.
    fn last_message(&self) -> usize {
        if self.reply.is_some() { self.all.len() + 1 } else { self.path.last().copied().unwrap_or_default() }
    }

    /// The numbers of the messages up to this one.
    fn path_to(&self, mut number: usize) -> Vec<usize> {
        let mut path = Vec::new();
        while let Some(step) = number.checked_sub(1).and_then(|place| self.all.get(place)) {
            path.push(number);
            number = step.before;
        }
        path.reverse();
        path
    }

    /// The messages with these numbers.
    fn messages<'a>(&'a self, numbers: &'a [usize]) -> impl Iterator<Item = &'a Value> {
        let found = numbers.iter().filter_map(move |number| self.all.get(number.checked_sub(1)?));
        found.map(|found| &found.message)
    }

    /// Leaves out what came after the message that this one follows. Results of parallel calls and further lines of a reply also name earlier lines:
    /// nothing is left out before them.
    fn go_back(&mut self, before: Option<usize>, message: &Value) {
        let Some(before) = before.filter(|before| *before != self.last_message()) else { return };
        let path = self.path_to(before);
        let common = self.path.iter().zip(&path).take_while(|(one, other)| one == other).count();
        let from = |place: usize| self.messages(self.path.get(place..).unwrap_or_default());
        if common == path.len() {
            let id = text(message, "id");
            let is_same_reply = |other: &Value| !id.is_empty() && text(other, "id") == id;
            let is_more_of_a_reply = from(common.saturating_sub(1)).any(is_same_reply);
            if is_result(message) || is_more_of_a_reply || from(common).all(is_result) {
                return;
            }
        }
        // What no request has is kept with the next one.
        let left_out: Vec<Value> = from(self.asked.max(common)).map(|message| json!({"left_out": message})).collect();
        self.rest.extend(left_out);
        self.path = path;
        self.asked = self.asked.min(common);
    }

    fn has_begun(&self) -> bool {
        !self.all.is_empty() || self.reply.is_some()
    }

    /// Ends the conversation; lines after its last reply are with that reply.
    fn end(&mut self) -> Vec<Entry> {
        if self.reply.is_some() {
            self.rest.append(&mut self.after);
        }
        let last = self.close();
        let lines = self.rest.iter().filter(|line| line.get("left_out").is_none()).count();
        last.into_iter().chain(unanswered(lines)).collect()
    }

    /// Ends the reply that is being read.
    fn close(&mut self) -> Option<Entry> {
        let (reply, from_ms, to_ms) = self.reply.take()?;
        // A transcript has no line that ends its last reply early; a reply without a reason to stop was whole.
        let has_calls = reply["content"].as_array().into_iter().flatten().any(|part| text(part, "type") == "tool_use");
        let mut answer = reply.clone();
        if answer.get("stop_reason").is_none_or(Value::is_null) {
            answer["stop_reason"] = json!(if has_calls { "tool_use" } else { "end_turn" });
        }
        if answer.get("type").is_none() {
            answer["type"] = json!("message");
        }
        let lines = std::mem::replace(&mut self.rest, std::mem::take(&mut self.after));
        let model = text(&reply, "model").to_owned();
        let origin = format!("the reply {}", text(&reply, "id"));
        let request = json!({"model": model, "messages": merged(self.messages(&self.path)), "transcript": lines});
        let rebuilt = Rebuilt {
            at_ms: from_ms.max(0),
            ms: elapsed(from_ms, to_ms),
            scheme: "claude-code",
            provider: "anthropic",
            path: "/v1/messages",
            request,
            status: 200,
            reply: answer,
            origin: &origin,
        };
        let entry = rebuilt.entry();
        let content = reply.get("content").cloned().unwrap_or_default();
        self.push(json!({"role": "assistant", "id": text(&reply, "id"), "content": content}));
        self.asked = self.path.len();
        Some(entry)
    }
}
