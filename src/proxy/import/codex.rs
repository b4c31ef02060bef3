//! Transcripts of Codex: JSON lines with the items of the Responses API, and what happened around them.
//!
//! In: lines. Out: exchanges: a request has the items before a row of items that the model wrote. Everything else in the file is in the
//! member `transcript` of the request after it, as it is.

use serde_json::{Value, json};

use super::rebuilt::{Rebuilt, elapsed, text, time};
use super::{Entry, Transcript, unanswered};

/// A transcript as it is read.
#[derive(Default)]
pub(super) struct Codex {
    model: String,
    /// Empty where the transcript names none.
    provider: String,
    instructions: Value,
    effort: Value,
    /// Items before the reply.
    input: Vec<Value>,
    /// Items that the model wrote.
    output: Vec<Value>,
    /// Items that came back after them.
    after: Vec<Value>,
    usage: Value,
    /// Lines that are not items.
    rest: Vec<Value>,
    asked_ms: i64,
    replied_ms: i64,
    last_ms: i64,
    replies: u64,
    /// Items of the input that a reply followed, and that reply.
    answered: usize,
}

impl Transcript for Codex {
    fn line(&mut self, line: Value) -> Option<Entry> {
        let mut ended = None;
        self.last_ms = time(&line, "timestamp").unwrap_or(self.last_ms);
        let payload = line.get("payload").cloned().unwrap_or_default();
        match text(&line, "type") {
            "response_item" => ended = self.item(payload),
            "compacted" => {
                ended = self.close();
                let history = payload.get("replacement_history").and_then(Value::as_array).cloned();
                self.input = history.unwrap_or_else(|| {
                    vec![json!({"type": "message", "role": "user", "content": text(&payload, "message")})]
                });
                self.rest.push(line);
            }
            kind => {
                match kind {
                    "session_meta" => {
                        let base = payload.get("base_instructions").and_then(|base| base.get("text"));
                        let given = base.or_else(|| payload.get("instructions"));
                        self.instructions = given.cloned().unwrap_or_default();
                        if !text(&payload, "model_provider").is_empty() {
                            text(&payload, "model_provider").clone_into(&mut self.provider);
                        }
                    }
                    "turn_context" => {
                        text(&payload, "model").clone_into(&mut self.model);
                        self.effort = payload.get("effort").cloned().unwrap_or_default();
                    }
                    "event_msg" if text(&payload, "type") == "token_count" && !self.output.is_empty() => {
                        if let (Value::Null, Some(usage)) = (&self.usage, payload.pointer("/info/last_token_usage")) {
                            self.usage = usage.clone();
                        }
                    }
                    _ => {}
                }
                self.rest.push(line);
            }
        }
        ended
    }

    fn end(&mut self) -> Vec<Entry> {
        let last = self.close();
        let items = self.input.len().saturating_sub(self.answered);
        last.into_iter().chain(unanswered(items + self.rest.len())).collect()
    }
}

impl Codex {
    fn item(&mut self, item: Value) -> Option<Entry> {
        let mut ended = None;
        let is_output = match text(&item, "type") {
            "message" => text(&item, "role") == "assistant",
            kind => !kind.ends_with("_output"),
        };
        if is_output {
            if !self.after.is_empty() {
                ended = self.close();
            }
            if self.output.is_empty() {
                self.asked_ms = if self.asked_ms == 0 { self.last_ms } else { self.asked_ms };
            }
            self.replied_ms = self.last_ms;
            self.output.push(item);
        } else if self.output.is_empty() {
            self.asked_ms = self.last_ms;
            self.input.push(item);
        } else {
            self.after.push(item);
        }
        ended
    }

    /// Ends the reply that is being read.
    fn close(&mut self) -> Option<Entry> {
        let output = std::mem::take(&mut self.output);
        if output.is_empty() {
            return None;
        }
        self.replies += 1;
        let mut request =
            json!({"model": self.model, "input": self.input, "transcript": std::mem::take(&mut self.rest)});
        if !self.instructions.is_null() {
            request["instructions"] = self.instructions.clone();
        }
        if !self.effort.is_null() {
            request["reasoning"] = json!({"effort": self.effort});
        }
        let usage = std::mem::take(&mut self.usage);
        let count = |key: &str| usage.get(key).and_then(Value::as_u64);
        let usage = count("input_tokens").map(|input| {
            json!({
                "input_tokens": input,
                "input_tokens_details": {"cached_tokens": count("cached_input_tokens")},
                "output_tokens": count("output_tokens").unwrap_or(0),
                "output_tokens_details": {"reasoning_tokens": count("reasoning_output_tokens")},
                "total_tokens": count("total_tokens"),
            })
        });
        let reply = json!({
            "object": "response", "status": "completed", "model": self.model, "output": output, "usage": usage,
        });
        let origin = format!("reply {}", self.replies);
        let rebuilt = Rebuilt {
            at_ms: self.asked_ms,
            ms: elapsed(self.asked_ms, self.replied_ms),
            scheme: "codex",
            provider: if self.provider.is_empty() { "openai" } else { &self.provider },
            path: "/v1/responses",
            request,
            status: 200,
            reply,
            origin: &origin,
        };
        let entry = rebuilt.entry();
        self.input.extend(output);
        self.answered = self.input.len();
        self.input.append(&mut self.after);
        self.asked_ms = self.last_ms;
        Some(entry)
    }
}
