//! Prompts: from a checked plan and its inputs to the messages of a request. One file per mode; fixed texts in `assets/prompts`.
//!
//! In: plan, context, what happened. Out: message parts with their section, and the protocol-neutral request.
//! Stable parts come first, so that provider caches work. It must never read a clock or a file.

pub mod json;

use ptc_core::value::Json;

use crate::agent::{Plan, SystemPrompt};
use crate::event::{Address, MessagePart, Role};
use crate::model::{Message, Request, Want};

/// A message that is about to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outgoing {
    /// Who speaks.
    pub role: Role,
    /// Its whole text.
    pub text: String,
}

/// The request of a turn.
pub fn request(plan: &Plan, address: Address, seed: u64, messages: &[Outgoing]) -> Request {
    let system: Vec<_> =
        messages.iter().filter(|message| message.role == Role::System).map(|message| message.text.as_str()).collect();
    Request {
        address,
        agent: plan.agent.name.clone(),
        mode: plan.agent.mode.name().to_owned(),
        want: Want::Json,
        system: (!system.is_empty()).then(|| system.concat()),
        messages: messages
            .iter()
            .filter(|message| message.role != Role::System)
            .map(|message| Message::text(message.role, message.text.clone()))
            .collect(),
        schema: plan.schema.as_ref().map(|schema| schema.json.clone()),
        signature: plan.agent.signature.clone(),
        options: plan.agent.model_options.clone(),
        cache: plan.agent.cache,
        seed,
    }
}

/// A part written by us.
fn ours(section: &str, text: impl Into<String>) -> MessagePart {
    MessagePart::Text { section: section.to_owned(), text: text.into(), untrusted: false }
}

/// A part that holds data from outside.
fn data(section: &str, text: impl Into<String>) -> MessagePart {
    MessagePart::Text { section: section.to_owned(), text: text.into(), untrusted: true }
}

/// The system text: the mode's card with what the agent puts around it, or in its place.
fn system(card: &str, custom: &SystemPrompt) -> Vec<MessagePart> {
    let mut parts = Vec::new();
    if let Some(prefix) = &custom.prefix {
        parts.push(ours("prefix", format!("{}\n\n", prefix.trim_end())));
    }
    parts.push(match &custom.replace {
        Some(text) => ours("custom", text.clone()),
        None => ours("card", card),
    });
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
