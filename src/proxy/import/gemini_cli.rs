//! Chats of Gemini CLI: one document, or a log of records as JSON lines, as versions since 0.43 write it.
//!
//! In: the text of a file. Out: exchanges in the format of Gemini's API, with the messages as the file has them. Everything else in the
//! file is in the member `transcript` of the request after it, or of the last one, as it is; messages that no reply follows are reported.
//! It must never make two requests of a message that the log has several times.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value, json};

use super::rebuilt::{Rebuilt, elapsed, text, time, without};
use super::{Entry, Transcript, lines, unanswered};

/// A step of a chat.
pub(super) enum ChatStep {
    /// A message of the user, or one that the program wrote in the model's place.
    Message(Value),
    /// A message of the model.
    Reply(Value),
    /// A record that replaces all messages before; those with the ids follow it.
    Replacement(Value, HashSet<String>),
    /// A message of the preceding `Replacement`.
    ReplacementMessage(Value),
    /// A rewind to the point before the message with this id.
    Rewind(Value, String),
    /// Anything else.
    Other(Value),
}

/// Reads the steps of a file. A record replaces the earlier one of the same message: the program adds calls and token counts when it knows them.
pub(super) fn steps(file: &str) -> Vec<Result<ChatStep, String>> {
    let (records, is_log): (Vec<Result<Value, String>>, bool) = match serde_json::from_str::<Value>(file) {
        Ok(document) => (vec![Ok(document)], false),
        Err(_) => (lines(file).collect(), true),
    };
    let mut steps: Vec<Result<ChatStep, String>> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    for record in records {
        let mut record = match record {
            Ok(record) => record,
            Err(problem) => {
                steps.push(Err(problem));
                continue;
            }
        };
        let messages = |holder: Option<&mut Value>| match holder.and_then(|holder| holder.get_mut("messages")) {
            Some(Value::Array(messages)) => Some(std::mem::take(messages)),
            _ => None,
        };
        let id = text(&record, "id").to_owned();
        let rewind = text(&record, "$rewindTo").to_owned();
        if !rewind.is_empty() {
            // What was removed may be recorded again.
            let from = places.get(&rewind).copied().unwrap_or_default();
            places.retain(|_, place| *place < from);
            steps.push(Ok(ChatStep::Rewind(record, rewind)));
        } else if let Some(replaced) = messages(record.get_mut("$set")) {
            let ids = replaced.iter().map(|message| text(message, "id").to_owned()).collect();
            steps.push(Ok(ChatStep::Replacement(record, ids)));
            steps.extend(replaced.into_iter().map(|message| Ok(ChatStep::ReplacementMessage(message))));
        } else if let Some(all) = messages(Some(&mut record)) {
            steps.push(Ok(ChatStep::Other(without(&record, &["messages"]))));
            steps.extend(all.into_iter().map(|message| Ok(of_message(message, false))));
        } else if let Some(place) = places.get(&id).copied().filter(|_| !id.is_empty()) {
            if let Some(earlier) = steps.get_mut(place) {
                *earlier = Ok(of_message(record, is_log));
            }
        } else {
            places.insert(id, steps.len());
            steps.push(Ok(of_message(record, is_log)));
        }
    }
    end_with_last_reply(&mut steps);
    steps
}

/// Reads a message or another record.
fn of_message(message: Value, is_of_log: bool) -> ChatStep {
    match text(&message, "type") {
        "gemini" if !is_of_log || is_reply(&message) => ChatStep::Reply(message),
        "user" | "gemini" => ChatStep::Message(message),
        _ => ChatStep::Other(message),
    }
}

/// Returns whether the model wrote a message of a log: it has the model's name or token counts.
fn is_reply(message: &Value) -> bool {
    text(message, "type") == "gemini"
        && ["model", "tokens"].iter().any(|key| message.get(*key).is_some_and(|value| !value.is_null()))
}

/// Moves records after the last reply before it, so that its request has them, unless a message or a change of the messages is among them.
fn end_with_last_reply(steps: &mut [Result<ChatStep, String>]) {
    let last = steps.iter().rposition(|step| matches!(step, Ok(ChatStep::Reply(_))));
    let Some(end) = last.and_then(|last| steps.get_mut(last..)) else { return };
    if end.iter().skip(1).all(|step| matches!(step, Ok(ChatStep::Other(_)) | Err(_))) {
        end.rotate_left(1);
    }
}

/// A chat as it is read.
#[derive(Default)]
pub(super) struct GeminiCli {
    contents: Vec<Value>,
    /// The ids of the messages in the contents, and how many contents precede each.
    places: Vec<(String, usize)>,
    /// Messages whose other members are in a request, by id.
    seen: HashSet<String>,
    /// Contents of users that no request has, by the message's id.
    unsent: Vec<(String, Value)>,
    /// The chat without its messages, and messages without their parts.
    rest: Vec<Value>,
    last_ms: i64,
}

impl GeminiCli {
    /// Returns whether the contents have the message with this id.
    fn has(&self, id: &str) -> bool {
        !id.is_empty() && self.places.iter().any(|(known, _)| known == id)
    }

    /// Adds a message to the contents. The results of calls are recorded twice: with the calls, and then as they were sent.
    fn push(&mut self, message: &Value) {
        let (role, parts) = match text(message, "type") {
            "gemini" => ("model", without_thoughts(reply_parts(message, &calls(message)))),
            _ => ("user", parts(message.get("content"))),
        };
        let content = json!({"role": role, "parts": parts});
        if has_results(&content) && self.contents.last().is_some_and(has_results) {
            self.contents.pop();
        }
        let id = text(message, "id").to_owned();
        self.places.push((id.clone(), self.contents.len()));
        if role == "user" {
            self.unsent.push((id, content.clone()));
        }
        self.contents.push(content);
    }

    /// Returns the exchange of a message of the model.
    fn reply(&mut self, message: &Value, at_ms: i64) -> Entry {
        let asked_ms = self.last_ms.min(at_ms);
        self.last_ms = at_ms;
        self.seen.insert(text(message, "id").to_owned());
        self.unsent.clear();
        let calls = calls(message);
        let own = reply_parts(message, &calls);
        // Arguments and results are in the contents.
        let mut other = without(message, &["content", "toolCalls", "thoughts"]);
        if !calls.is_empty() {
            other["toolCalls"] = calls.iter().map(|call| without(call, &["args", "result"])).collect();
        }
        self.rest.push(other);
        let request = json!({"contents": self.contents, "transcript": std::mem::take(&mut self.rest)});
        let reply = json!({
            "candidates": [{"index": 0, "content": {"role": "model", "parts": own}, "finishReason": "STOP"}],
            "modelVersion": text(message, "model"),
            "usageMetadata": usage(message.get("tokens")),
        });
        let path = format!("/v1beta/models/{}:generateContent", text(message, "model"));
        let origin = format!("the message {}", text(message, "id"));
        let rebuilt = Rebuilt {
            at_ms: asked_ms,
            ms: elapsed(asked_ms, at_ms),
            scheme: "gemini-cli",
            provider: "gemini",
            path: &path,
            request,
            status: 200,
            reply,
            origin: &origin,
        };
        let entry = rebuilt.entry();
        self.push(message);
        let results: Vec<Value> = calls.iter().flat_map(result_parts).collect();
        if !results.is_empty() {
            self.contents.push(json!({"role": "user", "parts": results}));
        }
        entry
    }

    /// Adds the contents of removed messages that no request has to the next request's `transcript`; contents whose message remains are
    /// kept.
    fn record_unsent(&mut self, remains: impl Fn(&[(String, usize)], &str) -> bool) {
        let all = std::mem::take(&mut self.unsent).into_iter();
        let (kept, left): (Vec<_>, Vec<_>) = all.partition(|(id, _)| remains(&self.places, id));
        self.unsent = kept;
        self.rest.extend(left.into_iter().map(|(_, content)| json!({"left_out": content})));
    }
}

impl Transcript<ChatStep> for GeminiCli {
    fn line(&mut self, step: ChatStep) -> Option<Entry> {
        match step {
            // A message that only replaced others before.
            ChatStep::Message(message) | ChatStep::Reply(message) if self.has(text(&message, "id")) => {
                self.rest.push(message);
                None
            }
            ChatStep::Reply(message) => {
                let at_ms = time(&message, "timestamp").unwrap_or(self.last_ms);
                Some(self.reply(&message, at_ms))
            }
            ChatStep::Message(message) => {
                self.last_ms = time(&message, "timestamp").unwrap_or(self.last_ms);
                self.push(&message);
                self.seen.insert(text(&message, "id").to_owned());
                self.rest.push(without(&message, &["content"]));
                None
            }
            ChatStep::Replacement(record, ids) => {
                self.rest.push(record);
                self.record_unsent(|_, id| ids.contains(id));
                self.unsent.clear();
                self.contents.clear();
                self.places.clear();
                None
            }
            ChatStep::ReplacementMessage(message) => {
                let is_new = !self.seen.contains(text(&message, "id"));
                if is_new && is_reply(&message) {
                    let at_ms = time(&message, "timestamp").unwrap_or(self.last_ms);
                    return Some(self.reply(&message, at_ms));
                }
                self.push(&message);
                if is_new {
                    self.seen.insert(text(&message, "id").to_owned());
                    self.rest.push(without(&message, &["content"]));
                }
                None
            }
            ChatStep::Rewind(record, id) => {
                let place = self.places.iter().position(|(known, _)| *known == id).unwrap_or_default();
                let contents = self.places.get(place).map_or(0, |(_, contents)| *contents);
                self.contents.truncate(contents);
                self.places.truncate(place);
                self.record_unsent(|places, id| places.iter().any(|(known, _)| known == id));
                self.rest.push(record);
                None
            }
            ChatStep::Other(record) => {
                if self.last_ms == 0 {
                    self.last_ms = time(&record, "startTime").unwrap_or_default();
                }
                self.rest.push(record);
                None
            }
        }
    }

    fn end(&mut self) -> Vec<Entry> {
        unanswered(self.rest.iter().filter(|line| line.get("left_out").is_none()).count()).into_iter().collect()
    }
}

/// A content as parts.
fn parts(content: Option<&Value>) -> Vec<Value> {
    match content {
        Some(Value::Array(parts)) => {
            parts.iter().map(|part| part.as_str().map_or_else(|| part.clone(), |text| json!({"text": text}))).collect()
        }
        Some(Value::String(text)) => vec![json!({"text": text})],
        Some(part) if part.is_object() => vec![part.clone()],
        _ => Vec::new(),
    }
}

fn calls(message: &Value) -> Vec<Value> {
    message.get("toolCalls").and_then(Value::as_array).cloned().unwrap_or_default()
}

/// Thoughts, text and calls of a reply. The content may have all of them.
fn reply_parts(message: &Value, calls: &[Value]) -> Vec<Value> {
    let content = parts(message.get("content"));
    let has = |key: &str| content.iter().any(|part| part.get(key).is_some());
    let (has_thoughts, has_calls) = (has("thought"), has("functionCall"));
    let thoughts = message.get("thoughts").and_then(Value::as_array).into_iter().flatten().map(|thought| {
        json!({"text": format!("{}\n{}", text(thought, "subject"), text(thought, "description")), "thought": true})
    });
    let calls = calls.iter().map(|call| {
        let members = ["id", "name", "args"].map(|key| (key.to_owned(), call.get(key).cloned().unwrap_or_default()));
        json!({"functionCall": Map::from_iter(members)})
    });
    let thoughts: Vec<Value> = thoughts.filter(|_| !has_thoughts).collect();
    let calls: Vec<Value> = calls.filter(|_| !has_calls).collect();
    let texts = content.into_iter().filter(|part| part.get("text") != Some(&json!("")));
    thoughts.into_iter().chain(texts).chain(calls).collect()
}

/// Parts without thoughts, which are not repeated in requests.
fn without_thoughts(parts: Vec<Value>) -> Vec<Value> {
    parts.into_iter().filter(|part| part.get("thought").is_none()).collect()
}

/// Returns whether a content has results of calls.
fn has_results(content: &Value) -> bool {
    let parts = content.get("parts").and_then(Value::as_array);
    parts.is_some_and(|parts| parts.iter().any(|part| part.get("functionResponse").is_some()))
}

/// Returns the results of a call as the model got them; if they are missing, as they were displayed.
fn result_parts(call: &Value) -> Vec<Value> {
    let recorded = parts(call.get("result"));
    if recorded.is_empty() {
        let response = json!({"output": call.get("resultDisplay"), "status": call.get("status")});
        return vec![
            json!({"functionResponse": {"id": call.get("id"), "name": call.get("name"), "response": response}}),
        ];
    }
    recorded
}

fn usage(tokens: Option<&Value>) -> Value {
    let count = |key: &str| tokens.and_then(|tokens| tokens.get(key)).and_then(Value::as_u64);
    let Some(input) = count("input") else { return Value::Null };
    json!({
        "promptTokenCount": input,
        "candidatesTokenCount": count("output").unwrap_or(0),
        "cachedContentTokenCount": count("cached"),
        "thoughtsTokenCount": count("thoughts"),
        "totalTokenCount": count("total"),
    })
}
