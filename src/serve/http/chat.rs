//! `/v1/models` and `/v1/chat/completions`: agents as models of the protocol that most clients speak.
//!
//! In: a request whose `model` is an agent. Its only message is the agent's input; a history is refused, because a run has
//! none. Out: a completion, or chunks. A plain text agent streams as its model writes; other agents send
//! their answer when it is checked.

use std::sync::atomic::{AtomicU64, Ordering};

use ptc_core::reasons::Reason;
use ptc_core::value::Json;
use serde_json::{Map, Value, json};

use super::sse::{self, Writer};
use super::{Failure, failure_reply, read_object, status_of_step, with_session};
use crate::agent::{Mode, RawSchema, Step, Variant};
use crate::event::{Envelope, Event, PartKind, ReplyStatus};
use crate::port::SystemClock;
use crate::serve::{Runs, ServedAgent, core_json};
use crate::server::{HeaderValue, Reply, Request, StatusCode, json_reply};

/// The header by which clients of the protocol decide whether they repeat a request, whatever its status.
const SHOULD_RETRY: &str = "x-should-retry";

/// A failed request, in the protocol's form. The clients of this protocol repeat failed requests by themselves, and each repetition
/// would be another run. The header forbids it, except where the server was busy or ends.
pub(super) fn failed(failure: &Failure) -> Reply {
    let mut reply = failure_reply(failure, &json!({ "error": error_of(failure) }));
    if !matches!(failure.status, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE) {
        reply.headers_mut().insert(SHOULD_RETRY, HeaderValue::from_static("false"));
    }
    reply
}

fn error_of(failure: &Failure) -> Value {
    let kind = if failure.status.is_client_error() { "invalid_request_error" } else { "server_error" };
    let message = in_sentences(&failure.error.message, failure.error.hint.as_deref());
    json!({ "message": message, "type": kind, "code": failure.error.reason, "param": null })
}

/// A message with its hint: the protocol has no place for hints.
fn in_sentences(message: &str, hint: Option<&str>) -> String {
    let Some(hint) = hint else { return message.to_owned() };
    let end = if message.ends_with(['.', '!', '?']) { "" } else { "." };
    format!("{message}{end} {hint}")
}

/// The list of agents.
pub(super) fn models(runs: &Runs) -> Reply {
    let models: Vec<Value> = runs.agents.iter().map(model_of).collect();
    json_reply(StatusCode::OK, &json!({ "object": "list", "data": models }))
}

/// One agent.
pub(super) fn model(runs: &Runs, name: &str) -> Result<Reply, Failure> {
    let served = ServedAgent::named(&runs.agents, name).map_err(Failure::not_found)?;
    Ok(json_reply(StatusCode::OK, &model_of(served)))
}

fn model_of(served: &ServedAgent) -> Value {
    json!({ "id": served.name, "object": "model", "created": 0, "owned_by": "ptc-workbench" })
}

/// A request for a chat completion.
struct ChatRequest {
    text: String,
    streams: bool,
    includes_usage: bool,
    schema: Option<RawSchema>,
}

pub(super) async fn complete(runs: &Runs, request: Request) -> Result<Reply, Failure> {
    let body = read_object(runs, request).await?;
    let model = match body.get("model") {
        None | Some(Value::Null) => return Err(Failure::bad_request("`model` is missing")),
        Some(model) => model.as_str().ok_or_else(|| Failure::bad_request("`model` is not a string"))?,
    };
    let served = ServedAgent::named(&runs.agents, model).map_err(Failure::not_found)?;
    let asked = read_chat(&body, served)?;
    let context = served.context_of_text(&asked.text).map_err(Failure::bad_request)?;
    let run = runs.start(served, context, 0)?;
    drop(body);
    let now = SystemClock.now();
    let head = Head { id: completion_id(run.session(), now), model: served.name.clone(), created: now / 1_000 };
    if asked.streams {
        let is_live =
            served.agent.mode == Mode::Text && served.plan.variant == Variant::Plain && asked.schema.is_none();
        let first = head.chunk(&json!({ "role": "assistant", "content": "" }), None);
        let writer = ChunkWriter { head, is_live, sent: String::new(), asked };
        return Ok(sse::reply(run, first, writer).await);
    }
    let step = run.finish().await;
    let reply = match content_of(&step, &asked) {
        Ok(content) => json_reply(StatusCode::OK, &completion(&head, &content, &step)),
        Err(failure) => failed(&failure),
    };
    Ok(with_session(reply, step.session.as_deref()))
}

fn completion(head: &Head, content: &str, step: &Step) -> Value {
    let mut completion = json!({
        "id": head.id,
        "object": "chat.completion",
        "created": head.created,
        "model": head.model,
        "choices": [{
            "index": 0,
            "message": { "role": "assistant", "content": content, "refusal": null },
            "logprobs": null,
            "finish_reason": "stop",
        }],
    });
    if let Some(usage) = usage_of(step) {
        completion["usage"] = usage;
    }
    completion
}

/// The id of a completion: that of its session, else the time and a number of its own.
fn completion_id(session: Option<&str>, now_ms: i64) -> String {
    static UNSAVED: AtomicU64 = AtomicU64::new(0);
    session.map_or_else(
        || format!("chatcmpl-{now_ms:x}-{}", UNSAVED.fetch_add(1, Ordering::Relaxed)),
        |id| format!("chatcmpl-{id}"),
    )
}

fn read_chat(body: &Map<String, Value>, served: &ServedAgent) -> Result<ChatRequest, Failure> {
    let wrong = |key: &str, expected: &str| Failure::bad_request(format!("`{key}` is not {expected}"));
    for key in ["tools", "functions"] {
        match given(body, key) {
            None => {}
            Some(Value::Array(tools)) if tools.is_empty() => {}
            Some(Value::Array(_)) => return Err(Failure::bad_request(format!("`{key}`: an agent has its own tools"))),
            Some(_) => return Err(wrong(key, "a list")),
        }
    }
    match given(body, "n").map(Value::as_u64) {
        None | Some(Some(1)) => {}
        Some(Some(_)) => return Err(Failure::bad_request("`n`: a request is one run")),
        Some(None) => return Err(wrong("n", "a whole number from 1")),
    }
    let includes_usage = match given(body, "stream_options") {
        None => false,
        Some(Value::Object(options)) => flag(options, "include_usage")?,
        Some(_) => return Err(wrong("stream_options", "an object")),
    };
    let schema = response_schema(body, served)?;
    Ok(ChatRequest { text: only_message(body)?, streams: flag(body, "stream")?, includes_usage, schema })
}

/// The value of a member; null is the same as its absence.
fn given<'b>(body: &'b Map<String, Value>, key: &str) -> Option<&'b Value> {
    body.get(key).filter(|value| !value.is_null())
}

fn flag(body: &Map<String, Value>, key: &str) -> Result<bool, Failure> {
    match given(body, key) {
        None => Ok(false),
        Some(value) => {
            value.as_bool().ok_or_else(|| Failure::bad_request(format!("`{key}` is neither true nor false")))
        }
    }
}

/// The text of the only message.
fn only_message(body: &Map<String, Value>) -> Result<String, Failure> {
    let messages = match given(body, "messages") {
        None => return Err(Failure::bad_request("`messages` is missing")),
        Some(messages) => messages.as_array().ok_or_else(|| Failure::bad_request("`messages` is not a list"))?,
    };
    let [message] = messages.as_slice() else {
        let message = match messages.len() {
            0 => "`messages` is empty".to_owned(),
            count => format!(
                "{count} messages: send exactly one user message, the agent's input; agents have their own system prompt and no history"
            ),
        };
        return Err(Failure::bad_request(message));
    };
    if !message.is_object() {
        return Err(Failure::bad_request("messages[0] is not an object"));
    }
    if message.get("role").and_then(Value::as_str) != Some("user") {
        return Err(Failure::bad_request("messages[0]: its role is not `user`"));
    }
    match message.get("content") {
        Some(Value::String(text)) => Ok(text.clone()),
        Some(Value::Array(parts)) => {
            let texts = parts.iter().enumerate().map(|(at, part)| {
                let text = part.get("text").and_then(Value::as_str);
                text.ok_or_else(|| Failure::bad_request(format!("messages[0].content[{at}]: only text is taken")))
            });
            Ok(texts.collect::<Result<Vec<_>, _>>()?.concat())
        }
        None | Some(Value::Null) => Err(Failure::bad_request("messages[0]: it has no content")),
        Some(_) => Err(Failure::bad_request("messages[0]: its content is neither a string nor a list of parts")),
    }
}

/// The schema that the answer must fit.
fn response_schema(body: &Map<String, Value>, served: &ServedAgent) -> Result<Option<RawSchema>, Failure> {
    let Some(format) = given(body, "response_format") else { return Ok(None) };
    if !format.is_object() {
        return Err(Failure::bad_request("`response_format` is not an object"));
    }
    match format.get("type").and_then(Value::as_str) {
        Some("text") => Ok(None),
        Some("json_object") if !served.may_answer_object() => {
            let name = &served.name;
            Err(Failure::bad_request(format!("response_format: the answer of the agent `{name}` is not a JSON object")))
        }
        Some("json_object") => {
            let schema = Json::empty().with("type", Json::str("object"));
            let read = RawSchema::compile(&schema).map_err(Failure::bad_request)?;
            Ok(Some(read))
        }
        Some("json_schema") => {
            let schema = format.pointer("/json_schema/schema");
            let schema = schema.ok_or_else(|| Failure::bad_request("response_format.json_schema has no `schema`"))?;
            let read = RawSchema::compile(&core_json(schema).map_err(Failure::bad_request)?);
            read.map(Some).map_err(|error| Failure::bad_request(format!("response_format.json_schema: {error}")))
        }
        _ => Err(Failure::bad_request("response_format: its type is neither `text`, `json_object` nor `json_schema`")),
    }
}

/// The answer of a run as text. An answer that is not text is JSON.
fn content_of(step: &Step, asked: &ChatRequest) -> Result<String, Failure> {
    if let Some(fail) = &step.fail {
        let mut failure = Failure { status: status_of_step(step), error: Box::new(fail.clone()) };
        if failure.status == StatusCode::ACCEPTED {
            // A client of this protocol would take a success for an answer. It repeats requests with status 409, which starts more runs.
            failure.status = StatusCode::UNPROCESSABLE_ENTITY;
        }
        return Err(failure);
    }
    let answer = step.answer.clone().unwrap_or_default();
    if let Some(schema) = &asked.schema
        && let Some(issue) = schema.check(&answer).first()
    {
        let message = format!("the agent's answer does not fit response_format: {issue}");
        return Err(Failure::new(StatusCode::UNPROCESSABLE_ENTITY, Reason::ValidationError, message));
    }
    Ok(answer.as_str().map_or_else(|| answer.to_text(), ToOwned::to_owned))
}

/// The tokens of a run; `None` where no service counted them.
fn usage_of(step: &Step) -> Option<Value> {
    let tokens = step.usage.total.totals().tokens?;
    Some(json!({
        "prompt_tokens": tokens.input,
        "completion_tokens": tokens.output,
        "total_tokens": tokens.total(),
    }))
}

/// Members that all chunks share.
struct Head {
    id: String,
    model: String,
    created: i64,
}

impl Head {
    fn object(&self, choices: &Value) -> Value {
        json!({
            "id": self.id,
            "object": "chat.completion.chunk",
            "created": self.created,
            "model": self.model,
            "choices": choices,
        })
    }

    fn chunk(&self, delta: &Value, finish: Option<&str>) -> String {
        let choices = json!([{ "index": 0, "delta": delta, "logprobs": null, "finish_reason": finish }]);
        sse::unnamed(&self.object(&choices).to_string())
    }
}

/// Chunks of a completion.
struct ChunkWriter {
    head: Head,
    /// Text is sent as the model writes it.
    is_live: bool,
    /// The text that was sent.
    sent: String,
    asked: ChatRequest,
}

impl Writer for ChunkWriter {
    fn event(&mut self, envelope: &Envelope) -> String {
        match &envelope.event {
            Event::ReplyPart(part) if self.is_live && part.kind == PartKind::Text => {
                self.sent.push_str(&part.text);
                self.head.chunk(&json!({ "content": part.text }), None)
            }
            // Sent text cannot be revoked: the rest follows at the end, if the final reply begins with the sent part.
            Event::ReplyEnd(end) if end.status != ReplyStatus::Ok => {
                self.is_live = false;
                String::new()
            }
            _ => String::new(),
        }
    }

    fn end(&mut self, step: &Step) -> String {
        let content = content_of(step, &self.asked).and_then(|content| match content.strip_prefix(&self.sent) {
            Some(rest) => Ok(rest.to_owned()),
            None => Err(Failure::new(
                StatusCode::BAD_GATEWAY,
                Reason::LlmError,
                "the reply broke off after a part of it was sent, and the repeated reply differs: send the request again",
            )),
        });
        let rest = match content {
            Ok(rest) => rest,
            Err(failure) => return sse::unnamed(&json!({ "error": error_of(&failure) }).to_string()),
        };
        let mut text = String::new();
        if !rest.is_empty() {
            text.push_str(&self.head.chunk(&json!({ "content": rest }), None));
        }
        text.push_str(&self.head.chunk(&json!({}), Some("stop")));
        if let Some(usage) = usage_of(step).filter(|_| self.asked.includes_usage) {
            let mut object = self.head.object(&json!([]));
            object["usage"] = usage;
            text.push_str(&sse::unnamed(&object.to_string()));
        }
        text.push_str(&sse::unnamed("[DONE]"));
        text
    }
}

#[cfg(test)]
mod tests {
    use super::in_sentences;

    #[test]
    fn a_message_and_its_hint_are_two_sentences() {
        for (message, expected) in [
            ("`n`: expected int, got string", "`n`: expected int, got string. Correct it."),
            ("It ended.", "It ended. Correct it."),
            ("why?", "why? Correct it."),
        ] {
            assert_eq!(in_sentences(message, Some("Correct it.")), expected);
        }
        assert_eq!(in_sentences("no hint", None), "no hint");
    }
}
