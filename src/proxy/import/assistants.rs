//! Transcripts of coding assistants that keep messages: Claude Code (JSON lines) and Gemini CLI (one document).
//!
//! In: lines or a document. Out: exchanges in the words of the service that answered, with the messages as the file has them. Everything else in
//! the file is in the member `transcript` of the request after it, as it is.

use std::collections::VecDeque;

use serde_json::{Map, Value, json};

use super::Entry;
use super::rebuilt::{Rebuilt, elapsed, text, time, without};

/// A transcript of Claude Code as it is read.
///
/// Lines of one reply have one message id, and each has a part of its content. Side chains are conversations of subagents: each has its messages.
struct ClaudeCode<I> {
    lines: I,
    main: Chain,
    side: Chain,
    ready: VecDeque<Entry>,
    is_done: bool,
}

/// One conversation in a transcript.
#[derive(Default)]
struct Chain {
    messages: Vec<Value>,
    /// The reply that is being read: its message, and when it was asked and came.
    reply: Option<(Value, i64, i64)>,
    /// Lines before the reply and its own, without messages.
    rest: Vec<Value>,
    /// Lines after it.
    after: Vec<Value>,
    last_ms: i64,
}

/// The exchanges of a transcript of Claude Code.
pub(super) fn of_claude(lines: impl Iterator<Item = Result<Value, String>>) -> impl Iterator<Item = Entry> {
    ClaudeCode { lines, main: Chain::default(), side: Chain::default(), ready: VecDeque::new(), is_done: false }
}

impl<I: Iterator<Item = Result<Value, String>>> Iterator for ClaudeCode<I> {
    type Item = Entry;

    fn next(&mut self) -> Option<Entry> {
        while self.ready.is_empty() && !self.is_done {
            match self.lines.next() {
                Some(Ok(line)) => self.line(line),
                Some(Err(problem)) => self.ready.push_back(Err(problem)),
                None => {
                    self.ready.extend(self.main.close());
                    self.ready.extend(self.side.close());
                    self.is_done = true;
                }
            }
        }
        self.ready.pop_front()
    }
}

impl<I> ClaudeCode<I> {
    fn line(&mut self, mut line: Value) {
        let chain = if line.get("isSidechain") == Some(&Value::Bool(true)) { &mut self.side } else { &mut self.main };
        // A conversation that starts again: after a summary, or that of the next subagent.
        if line.get("parentUuid") == Some(&Value::Null) && line.get("message").is_some() {
            self.ready.extend(chain.close());
            chain.messages.clear();
        }
        let at_ms = time(&line, "timestamp").unwrap_or(chain.last_ms);
        let kind = text(&line, "type").to_owned();
        let message = line.as_object_mut().and_then(|line| line.remove("message")).filter(Value::is_object);
        match (kind.as_str(), message) {
            ("assistant", Some(message)) => {
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
                    self.ready.extend(chain.close());
                    chain.reply = Some((message, chain.last_ms.min(at_ms), at_ms));
                    chain.rest.push(line);
                }
            }
            ("user", Some(message)) => {
                self.ready.extend(chain.close());
                chain.add(without(&message, &["id"]));
                chain.rest.push(line);
            }
            _ if chain.reply.is_some() => chain.after.push(line),
            _ => chain.rest.push(line),
        }
        if at_ms > 0 {
            chain.last_ms = at_ms;
        }
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

impl Chain {
    /// Adds a message; one after another of the same role is part of it, as the protocol has it.
    fn add(&mut self, message: Value) {
        if let Some(last) = self.messages.last_mut().filter(|last| last.get("role") == message.get("role")) {
            let parts = |content: Option<&Value>| match content {
                Some(Value::Array(parts)) => parts.clone(),
                Some(Value::String(text)) => vec![json!({"type": "text", "text": text})],
                _ => Vec::new(),
            };
            let mut all = parts(last.get("content"));
            all.extend(parts(message.get("content")));
            last["content"] = Value::Array(all);
        } else {
            self.messages.push(message);
        }
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
        let request = json!({"model": model, "messages": self.messages, "transcript": lines});
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
        self.add(json!({"role": "assistant", "content": reply.get("content").cloned().unwrap_or_default()}));
        Some(entry)
    }
}

/// The exchanges of a chat of Gemini CLI.
pub(super) fn of_gemini(mut chat: Value) -> impl Iterator<Item = Entry> {
    let messages = chat.get_mut("messages").map(Value::take).and_then(|messages| match messages {
        Value::Array(messages) => Some(messages),
        _ => None,
    });
    let mut contents: Vec<Value> = Vec::new();
    let mut rest = vec![without(&chat, &["messages"])];
    let mut last_ms = time(&chat, "startTime").unwrap_or(0);
    messages.unwrap_or_default().into_iter().filter_map(move |message| {
        let at_ms = time(&message, "timestamp").unwrap_or(last_ms);
        let asked_ms = last_ms.min(at_ms);
        last_ms = at_ms;
        match text(&message, "type") {
            "user" => {
                contents.push(json!({"role": "user", "parts": parts(message.get("content"))}));
                rest.push(without(&message, &["content"]));
                None
            }
            "gemini" => {
                let calls = message.get("toolCalls").and_then(Value::as_array).cloned().unwrap_or_default();
                let own = reply_parts(&message, &calls);
                rest.push(without(&message, &["content", "toolCalls", "thoughts"]));
                let request = json!({"contents": contents, "transcript": std::mem::take(&mut rest)});
                let reply = json!({
                    "candidates": [{"index": 0, "content": {"role": "model", "parts": own.clone()}, "finishReason": "STOP"}],
                    "modelVersion": text(&message, "model"),
                    "usageMetadata": usage(message.get("tokens")),
                });
                let path = format!("/v1beta/models/{}:generateContent", text(&message, "model"));
                let origin = format!("the message {}", text(&message, "id"));
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
                let kept = own.into_iter().filter(|part| part.get("thought").is_none()).collect::<Vec<_>>();
                contents.push(json!({"role": "model", "parts": kept}));
                let results: Vec<Value> = calls.iter().flat_map(result_parts).collect();
                if !results.is_empty() {
                    contents.push(json!({"role": "user", "parts": results}));
                }
                Some(entry)
            }
            _ => {
                rest.push(message);
                None
            }
        }
    })
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

/// Thoughts, text and calls of a reply.
fn reply_parts(message: &Value, calls: &[Value]) -> Vec<Value> {
    let thoughts = message.get("thoughts").and_then(Value::as_array).into_iter().flatten().map(|thought| {
        json!({"text": format!("{}\n{}", text(thought, "subject"), text(thought, "description")), "thought": true})
    });
    let texts = parts(message.get("content")).into_iter().filter(|part| part.get("text") != Some(&json!("")));
    let calls = calls.iter().map(|call| {
        let members = ["id", "name", "args"].map(|key| (key.to_owned(), call.get(key).cloned().unwrap_or_default()));
        json!({"functionCall": Map::from_iter(members)})
    });
    thoughts.chain(texts).chain(calls).collect()
}

/// The results of a call: as they went back, or what was shown of them.
fn result_parts(call: &Value) -> Vec<Value> {
    let given = parts(call.get("result"));
    if given.is_empty() {
        let response = json!({"output": call.get("resultDisplay"), "status": call.get("status")});
        return vec![
            json!({"functionResponse": {"id": call.get("id"), "name": call.get("name"), "response": response}}),
        ];
    }
    given
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
