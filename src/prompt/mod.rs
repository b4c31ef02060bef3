//! Prompts: from a checked plan and its inputs to the messages of a request. One file per mode; fixed texts in `assets/prompts`.
//!
//! In: plan, context, what happened. Out: message parts with their section, and the protocol-neutral request.
//! Stable parts come first, so that provider caches work. It must never read a clock or a file.

pub mod json;
pub mod json_loop;
pub mod ptc_lisp;
pub mod text;

use std::borrow::Cow;
use std::sync::Arc;

use ptc_core::lisp::hidden::HiddenTexts;
use ptc_core::value::{Json, Value};

use crate::agent::{HISTORY, Plan, SystemPrompt};
use crate::event::{self, Address, FileRecord, MessagePart, Role, RunText, ToolSchema};
use crate::model::{Content, FileBytes, Message, Request, Want};

/// The request options of a mode, without the messages.
#[derive(Debug, Clone, PartialEq)]
pub struct RequestOptions {
    /// The expected kind of answer.
    pub want: Want,
    /// JSON Schema of the answer.
    pub schema: Option<Json>,
    /// Tools that the model may call natively.
    pub tools: Vec<ToolSchema>,
    /// Names of the tools that may be used.
    pub tool_names: Vec<String>,
}

impl RequestOptions {
    /// Only an answer of this kind.
    pub fn only(want: Want) -> Self {
        Self { want, schema: None, tools: Vec::new(), tool_names: Vec::new() }
    }
}

/// The request of a turn. Messages of the system come first in `messages`.
pub fn request(
    plan: &Plan,
    address: Address,
    seed: u64,
    messages: &[Arc<Message>],
    options: &RequestOptions,
) -> Request {
    let system: Vec<_> =
        messages.iter().filter(|message| message.role == Role::System).map(|message| message.joined()).collect();
    Request {
        address,
        agent: plan.agent.name.clone(),
        mode: plan.agent.mode.name().to_owned(),
        want: options.want,
        system: (!system.is_empty()).then(|| system.concat()),
        messages: messages.iter().filter(|message| message.role != Role::System).cloned().collect(),
        files: FileBytes::default(),
        schema: options.schema.clone(),
        tools: options.tools.clone(),
        tool_choice: None,
        tool_names: options.tool_names.clone(),
        tool_signatures: options
            .tool_names
            .iter()
            .filter_map(|name| Some((name.clone(), plan.tool(name)?.signature_text.clone()?)))
            .collect(),
        signature: plan.agent.signature.clone(),
        options: plan.agent.model_options.clone(),
        retry: plan.settings.retry.clone(),
        cache: plan.agent.cache,
        seed,
    }
}

/// A stored message as a model gets it, after the earlier messages.
pub fn outgoing(message: &event::MessageAdded, replies: &RunText) -> Message {
    let mut parts: Vec<Content> = Vec::new();
    let mut say = |more: &str| match parts.last_mut() {
        Some(Content::Text(text)) => text.push_str(more),
        _ => parts.push(Content::Text(more.to_owned())),
    };
    let mut others = Vec::new();
    for part in &message.parts {
        match part {
            event::MessagePart::Text { text, .. } => say(text),
            event::MessagePart::Reply { reply } => {
                if let Some(reply_message) = replies.get(reply) {
                    say(&reply_message.text);
                    others.extend(reply_message.calls.iter().cloned().map(Content::Call));
                    others.extend(reply_message.opaque.iter().cloned().map(Content::Reasoning));
                }
            }
            event::MessagePart::File { file } => others.push(Content::File(file.clone())),
            event::MessagePart::Call { call } => others.push(Content::Call(call.clone())),
            event::MessagePart::Result { call, name, result } => {
                others.push(Content::Result { call: call.clone(), name: name.clone(), result: result.clone() });
            }
        }
    }
    parts.extend(others);
    Message { role: message.role, parts }
}

/// A message of an earlier run, as a message of the run that continues it.
pub fn carried(message: &Message) -> Vec<MessagePart> {
    let part = |content: &Content| match content {
        Content::Text(text) if text.is_empty() => None,
        Content::Text(text) => {
            Some(MessagePart::Text { section: HISTORY.to_owned(), text: text.clone(), untrusted: true })
        }
        Content::File(file) => Some(MessagePart::File { file: file.clone() }),
        Content::Call(call) => Some(MessagePart::Call { call: call.clone() }),
        Content::Result { call, name, result } => {
            Some(MessagePart::Result { call: call.clone(), name: name.clone(), result: result.clone() })
        }
        Content::Reasoning(_) => None,
    };
    message.parts.iter().filter_map(part).collect()
}

/// The treatment of texts that the program or the developer wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrustedTextPolicy {
    /// They may quote a value: they are masked.
    Masked,
    /// They are shown as they are.
    Shown,
}

/// Replaces hidden values in parts of a message by `<hidden>`.
pub fn mask(parts: &mut [MessagePart], hidden: &HiddenTexts, policy: TrustedTextPolicy) {
    if hidden.is_empty() {
        return;
    }
    for part in parts {
        let text = match part {
            MessagePart::Text { text, untrusted, .. } if *untrusted || policy == TrustedTextPolicy::Masked => text,
            MessagePart::Result { result, .. } => result,
            MessagePart::Text { .. }
            | MessagePart::Reply { .. }
            | MessagePart::Call { .. }
            | MessagePart::File { .. } => continue,
        };
        if let Cow::Owned(masked) = hidden.mask(text) {
            *text = masked;
        }
    }
}

/// The files of the parameters, in their order. Those whose values are hidden from models are not sent.
fn files(plan: &Plan, context: &Value) -> Vec<MessagePart> {
    let params = plan.signature.params.iter().flatten();
    let is_sent = |name: &str| !(plan.settings.firewall && name.starts_with('_'));
    let sent = params.filter(|field| field.ty.is_file() && is_sent(&field.name));
    let record = sent.filter_map(|field| FileRecord::of_json(&Json::from(context.lookup(&field.name)?)));
    record.map(|file| MessagePart::File { file }).collect()
}

/// A part written by us.
fn ours(section: &str, text: impl Into<String>) -> MessagePart {
    MessagePart::Text { section: section.to_owned(), text: text.into(), untrusted: false }
}

/// A part that holds data from outside.
fn data(section: &str, text: impl Into<String>) -> MessagePart {
    MessagePart::Text { section: section.to_owned(), text: text.into(), untrusted: true }
}

/// The system text: the mode's card, if there is one, with what the agent puts around it, or in its place.
fn system(card: Option<&str>, custom: &SystemPrompt) -> Vec<MessagePart> {
    let mut parts = Vec::new();
    if let Some(prefix) = &custom.prefix {
        parts.push(ours("prefix", format!("{}\n\n", prefix.trim_end())));
    }
    let own = custom.replace.as_ref().map(|text| ours("custom", text.clone()));
    parts.extend(own.or_else(|| card.map(|card| ours("card", card))));
    if let Some(suffix) = &custom.suffix {
        parts.push(ours("suffix", format!("\n{suffix}")));
    }
    parts
}

/// Data inside a tag that the data cannot close.
fn tagged(tag: &str, text: &str) -> String {
    let escaped = text.replace(&format!("</{tag}"), &format!("<\\/{tag}"));
    format!("<{tag}>\n{escaped}\n</{tag}>\n")
}

/// The first `limit` characters, with a mark when something was cut.
fn cut(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        None => text.to_owned(),
        Some((at, _)) => format!("{}… (cut after {limit} characters)", &text[..at]),
    }
}

/// The JSON of `value` over several lines when it is large, on one line otherwise.
fn shown(json: &Json) -> String {
    let line = json.to_text();
    if line.len() > 100 { json.to_pretty() } else { line }
}
