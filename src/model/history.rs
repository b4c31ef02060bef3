//! The messages of a request as every protocol needs them: the result of a call follows it directly.
//!
//! In: messages with tool calls and results. Out: turns in which calls and results are paired. One without a partner is written
//! as text; reasoning is kept for the provider it came from and for nobody else.

use std::borrow::Cow;
use std::collections::HashSet;
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
            Role::User => say(said.joined(), &mut out),
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

/// Adds to the user's side. Two of its messages in a row become one: many services demand that the roles alternate.
fn say(text: String, out: &mut Vec<Spoken<'_>>) {
    match out.last_mut() {
        Some(Spoken::User(before)) => _ = write!(before, "\n\n{text}"),
        _ => out.push(Spoken::User(text)),
    }
}

/// The request with each call id only once, also in the form with letters, digits, `_` and `-` only. Sessions hold repeated ids where a
/// model numbers the calls of each reply anew, or where several services answered.
pub(super) fn with_unique_ids(request: &Request) -> Cow<'_, Request> {
    let mut renamed = Cow::Borrowed(request);
    let mut used: HashSet<String> = HashSet::new();
    let mut next = 0;
    for place in 0..request.messages.len() {
        let calls = request.messages[place].parts.iter().filter_map(|part| match part {
            Content::Call(call) => Some(call.id.as_str()),
            _ => None,
        });
        let mut changes: Vec<(String, String)> = Vec::new();
        for id in calls {
            if !id.is_empty() && used.insert(accepted(id, "tool")) {
                continue;
            }
            let new = std::iter::repeat_with(|| {
                next += 1;
                format!("tc_{next}")
            })
            .find(|new| !is_used(new, request, &used))
            .unwrap_or_default();
            used.insert(new.clone());
            changes.push((id.to_owned(), new));
        }
        if changes.is_empty() {
            continue;
        }
        let answers = request.messages[place + 1..].iter().take_while(|message| message.role == Role::Tool).count();
        let messages = &mut renamed.to_mut().messages;
        for (at, message) in messages.iter_mut().enumerate().skip(place).take(answers + 1) {
            rename(Arc::make_mut(message), &changes, at == place);
        }
    }
    renamed
}

/// Is this id taken, here or later?
fn is_used(id: &str, request: &Request, used: &HashSet<String>) -> bool {
    let mut parts = request.messages.iter().flat_map(|message| &message.parts);
    used.contains(id) || parts.any(|part| matches!(part, Content::Call(call) if call.id == id))
}

/// Gives the calls of a message, or the results of its calls, their new ids.
fn rename(message: &mut Message, changes: &[(String, String)], is_calling: bool) {
    let new = |id: &str| changes.iter().find(|(old, _)| old == id).map(|(_, new)| new.clone());
    for part in &mut message.parts {
        match part {
            Content::Call(call) if is_calling => {
                call.id = new(&call.id).unwrap_or_else(|| std::mem::take(&mut call.id))
            }
            Content::Result { call, .. } if !is_calling => *call = new(call).unwrap_or_else(|| std::mem::take(call)),
            _ => {}
        }
    }
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
        Content::Text(text) => say(text.clone(), out),
        Content::Result { call, result, .. } => match open.iter().position(|known| known.id == *call) {
            None => say(result.clone(), out),
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
