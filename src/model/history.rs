//! The messages of a request as every protocol needs them: the result of a call follows it directly.
//!
//! In: messages with tool calls and results. Out: turns in which calls and results are paired. One without a partner is written
//! as text; reasoning is kept for the provider it came from and for nobody else.

use std::fmt::Write as _;
use std::sync::Arc;

use ptc_core::value::{Json, json};

use super::{Content, Message, Request};
use crate::event::{JsonText, NativeCall, Opaque, Role};

/// Longest name that services accept.
const NAME_MAX_CHARS: usize = 64;

/// One turn of the conversation.
#[derive(Debug, PartialEq)]
pub(super) enum Spoken<'a> {
    /// Instructions in the middle.
    System(String),
    /// The user's side.
    User(String),
    /// The model.
    Assistant {
        /// Its text.
        text: String,
        /// Its calls, each with a result in the next turn.
        calls: Vec<&'a NativeCall>,
        /// Its reasoning in the provider's own form.
        opaque: Option<&'a JsonText>,
    },
    /// The results of the calls just before.
    Results(Vec<Answered<'a>>),
}

/// A call with its result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Answered<'a> {
    /// The call's id.
    pub(super) id: &'a str,
    /// The tool's name as the model called it.
    pub(super) name: &'a str,
    /// The result as JSON text.
    pub(super) result: &'a str,
}

/// The request's messages, without its system text.
pub(super) fn spoken<'a>(request: &'a Request, provider: &str) -> Vec<Spoken<'a>> {
    let mut out: Vec<Spoken<'a>> = Vec::new();
    let mut open: Vec<&NativeCall> = Vec::new();
    for (place, said) in request.messages.iter().enumerate() {
        match said.role {
            Role::System => out.push(Spoken::System(said.joined())),
            Role::User => out.push(Spoken::User(said.joined())),
            Role::Assistant => {
                let answered = answered(request.messages.get(place + 1..).unwrap_or_default());
                let turn = assistant(said, &answered, provider);
                open = if let Spoken::Assistant { calls, .. } = &turn { calls.clone() } else { Vec::new() };
                out.push(turn);
            }
            Role::Tool => said.parts.iter().for_each(|part| result(part, &mut open, &mut out)),
        }
        if matches!(said.role, Role::System | Role::User) {
            open.clear();
        }
    }
    out
}

/// Calls in the history: made-up ids count on from there.
pub(super) fn calls_before(request: &Request) -> usize {
    let parts = request.messages.iter().flat_map(|message| &message.parts);
    parts.filter(|part| matches!(part, Content::Call(_))).count()
}

/// The ids of the results that follow at once.
fn answered(later: &[Arc<Message>]) -> Vec<&str> {
    let parts = later.iter().take_while(|message| message.role == Role::Tool).flat_map(|message| &message.parts);
    parts.filter_map(|part| if let Content::Result { call, .. } = part { Some(call.as_str()) } else { None }).collect()
}

fn assistant<'a>(said: &'a Message, answered: &[&str], provider: &str) -> Spoken<'a> {
    let mut text = String::new();
    let mut calls: Vec<&NativeCall> = Vec::new();
    let mut opaque = None;
    for part in &said.parts {
        match part {
            Content::Text(more) => text.push_str(more),
            Content::Call(call) if answered.contains(&call.id.as_str()) => calls.push(call),
            Content::Call(call) => {
                let gap = if text.is_empty() { "" } else { "\n" };
                _ = write!(text, "{gap}{call}");
            }
            Content::Reasoning(Opaque { provider: from, parts }) if from == provider => opaque = Some(parts),
            Content::Reasoning(_) | Content::Result { .. } => {}
        }
    }
    Spoken::Assistant { text, calls, opaque }
}

/// A result as the answer to its call; without one it is part of the user's message.
fn result<'a>(part: &'a Content, open: &mut Vec<&'a NativeCall>, out: &mut Vec<Spoken<'a>>) {
    match part {
        Content::Text(text) => out.push(Spoken::User(text.clone())),
        Content::Result { call, result, .. } => match open.iter().position(|known| known.id == *call) {
            None => out.push(Spoken::User(result.clone())),
            Some(place) => {
                let call = open.remove(place);
                let answer = Answered { id: &call.id, name: &call.name, result };
                match out.last_mut() {
                    Some(Spoken::Results(results)) => results.push(answer),
                    _ => out.push(Spoken::Results(vec![answer])),
                }
            }
        },
        Content::Reasoning(_) | Content::Call(_) => {}
    }
}

/// The arguments of an earlier call as an object. Servers read them again; what was no JSON object has been answered as such.
pub(super) fn arguments(call: &NativeCall) -> Json {
    json::parse(&call.args).ok().filter(|args| args.members().is_some()).unwrap_or_else(Json::empty)
}

/// A name that services accept: letters, digits, `_` and `-`.
pub(super) fn accepted(name: &str, otherwise: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    let name: String = name.chars().map(plain).take(NAME_MAX_CHARS).collect();
    if name.chars().any(|c| c.is_ascii_alphanumeric()) { name } else { otherwise.to_owned() }
}
