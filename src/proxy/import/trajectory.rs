//! Trajectories in the Agent Trajectory Interchange Format (harbor, RFC 0001): a request for each step of the agent.
//!
//! In: a document. Out: exchanges in the format of chat completions. Steps, metrics and extras are in the request's member `atif` as they
//! are; an embedded trajectory is a conversation of its own.

use serde_json::{Value, json};

use super::rebuilt::{Rebuilt, elapsed, text, time, without};
use super::{Entry, unanswered};

/// Maximum levels of embedded trajectories.
const DEPTH_MAX: u32 = 16;

/// The exchanges of a trajectory and of those in it.
pub(super) fn entries(document: &Value) -> Vec<Entry> {
    let mut out = Vec::new();
    of_trajectory(document, 0, &mut out);
    out
}

fn of_trajectory(trajectory: &Value, depth: u32, out: &mut Vec<Entry>) {
    let items = |key: &str| trajectory.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let agent = trajectory.get("agent").cloned().unwrap_or_default();
    let head = without(trajectory, &["steps", "subagent_trajectories"]);
    let mut messages: Vec<Value> = Vec::new();
    let mut last_ms = None;
    let mut is_first = true;
    let mut waiting = 0;
    for (number, step) in (1..).zip(items("steps")) {
        let at_ms = time(step, "timestamp").or(last_ms).unwrap_or(number);
        let asked_ms = last_ms.unwrap_or(at_ms);
        last_ms = Some(at_ms);
        match text(step, "source") {
            "agent" => {
                let own = Some(text(step, "model_name")).filter(|name| !name.is_empty());
                let model = own.unwrap_or_else(|| text(&agent, "model_name"));
                let mut extra = json!({"step": without(step, &["message", "tool_calls"])});
                if is_first {
                    extra["trajectory"] = head.clone();
                }
                let mut request = json!({"model": model, "messages": messages, "atif": extra});
                if let Some(tools) = agent.get("tool_definitions").filter(|tools| tools.is_array()) {
                    request["tools"] = tools.clone();
                }
                let message = reply(step);
                let finish = if message.get("tool_calls").is_some() { "tool_calls" } else { "stop" };
                let answer = json!({
                    "model": model,
                    "choices": [{"index": 0, "message": message.clone(), "finish_reason": finish}],
                    "usage": usage(step.get("metrics")),
                });
                let origin =
                    format!("step {}", step.get("step_id").map_or_else(|| number.to_string(), Value::to_string));
                let rebuilt = Rebuilt {
                    at_ms: asked_ms,
                    ms: elapsed(asked_ms, at_ms),
                    scheme: "atif",
                    provider: text(&agent, "name"),
                    path: "/v1/chat/completions",
                    request,
                    status: 200,
                    reply: answer,
                    origin: &origin,
                };
                out.push(rebuilt.entry());
                is_first = false;
                waiting = 0;
                messages.push(without(&message, &["reasoning_content"]));
                messages.extend(results(step));
            }
            source => {
                waiting += 1;
                let role = if source == "system" { "system" } else { "user" };
                messages.push(json!({"role": role, "content": content(step.get("message"))}));
            }
        }
    }
    out.extend(unanswered(waiting));
    for inner in items("subagent_trajectories") {
        if depth < DEPTH_MAX {
            of_trajectory(inner, depth + 1, out);
        } else {
            out.push(Err(Some(format!("trajectories more than {DEPTH_MAX} levels deep were omitted"))));
        }
    }
}

/// A text, or parts in the format of chat completions.
fn content(message: Option<&Value>) -> Value {
    let Some(items) = message.and_then(Value::as_array) else {
        return message.cloned().unwrap_or_else(|| Value::String(String::new()));
    };
    let part = |part: &Value| match part.pointer("/source/path") {
        Some(path) if text(part, "type") == "image" => json!({"type": "image_url", "image_url": {"url": path}}),
        _ => part.clone(),
    };
    Value::Array(items.iter().map(part).collect())
}

/// Returns the reply of the agent in a step.
fn reply(step: &Value) -> Value {
    let mut message = json!({"role": "assistant", "content": content(step.get("message"))});
    if !text(step, "reasoning_content").is_empty() {
        message["reasoning_content"] = step["reasoning_content"].clone();
    }
    let calls: Vec<Value> = (step.get("tool_calls").and_then(Value::as_array).into_iter().flatten())
        .map(|call| {
            let arguments = call.get("arguments").map_or_else(|| "{}".to_owned(), Value::to_string);
            let function = json!({"name": text(call, "function_name"), "arguments": arguments});
            json!({"id": text(call, "tool_call_id"), "type": "function", "function": function})
        })
        .collect();
    if !calls.is_empty() {
        message["tool_calls"] = Value::Array(calls);
    }
    message
}

/// Returns the messages after a step: results of its calls, and results that belong to no call as messages of the user.
fn results(step: &Value) -> impl Iterator<Item = Value> + '_ {
    let results = step.pointer("/observation/results").and_then(Value::as_array).into_iter().flatten();
    results.map(|result| match text(result, "source_call_id") {
        "" => json!({"role": "user", "content": content(result.get("content"))}),
        id => json!({"role": "tool", "tool_call_id": id, "content": content(result.get("content"))}),
    })
}

fn usage(metrics: Option<&Value>) -> Value {
    let count = |key: &str| metrics.and_then(|metrics| metrics.get(key)).and_then(Value::as_u64);
    let Some(input) = count("prompt_tokens") else { return Value::Null };
    json!({
        "prompt_tokens": input,
        "completion_tokens": count("completion_tokens").unwrap_or(0),
        "prompt_tokens_details": {"cached_tokens": count("cached_tokens")},
    })
}
