//! The messages of a request as every protocol needs them: the result of a call follows it directly.
//!
//! In: messages with tool calls and results. Out: turns in which calls and results are paired. One without a partner is written
//! as text; reasoning is kept only for the provider it came from.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt::Write as _;
use std::sync::Arc;

use ptc_core::value::{Json, json};

use super::{Content, Message, Request};
use crate::event::{FileRecord, JsonText, NativeCall, Opaque, Role};

/// Longest name that services accept.
pub(crate) const NAME_MAX_CHARS: usize = 64;

/// One turn of the conversation.
#[derive(Debug, PartialEq)]
pub(super) enum ConversationTurn<'a> {
    /// Instructions in the middle.
    System(String),
    /// The user's side.
    User {
        /// The text.
        text: String,
        /// The files that come with it.
        files: Vec<&'a FileRecord>,
    },
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
    Results(Vec<AnsweredCall<'a>>),
}

/// A call with its result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AnsweredCall<'a> {
    /// The call's id.
    pub(crate) id: &'a str,
    /// The tool's name as the model called it.
    pub(crate) name: &'a str,
    /// The result as JSON text.
    pub(crate) result: &'a str,
    /// The images of the result.
    pub(crate) files: Vec<&'a FileRecord>,
}

impl<'a> AnsweredCall<'a> {
    /// The result for a service that takes no images in results, with a note where it has some.
    pub(super) fn text_without_images(&self) -> Cow<'a, str> {
        match self.files.as_slice() {
            [] => Cow::Borrowed(self.result),
            files => {
                let names: Vec<String> = files.iter().map(ToString::to_string).collect();
                Cow::Owned(format!(
                    "{}\n(not sent: this service takes no images in results: {})",
                    self.result,
                    names.join(", ")
                ))
            }
        }
    }
}

/// A message of a request as every provider gets it: the parts that belong together are together, and only those.
#[derive(Debug, PartialEq)]
pub(crate) struct RequestLine<'a> {
    /// Place of the message that it is from.
    pub(crate) place: usize,
    /// The role.
    pub(crate) role: Role,
    /// The text; empty for a result.
    pub(crate) text: String,
    /// The user's files.
    pub(super) files: Vec<&'a FileRecord>,
    /// The assistant's calls that the next messages answer.
    pub(crate) calls: Vec<&'a NativeCall>,
    /// The assistant's reasoning in the provider's own form.
    opaque: Option<&'a JsonText>,
    /// The result of a call.
    pub(crate) answers: Option<AnsweredCall<'a>>,
}

impl<'a> RequestLine<'a> {
    fn text(place: usize, role: Role, text: String) -> Self {
        Self { place, role, text, files: Vec::new(), calls: Vec::new(), opaque: None, answers: None }
    }

    fn is_user_text(&self) -> bool {
        self.role == Role::User && self.answers.is_none()
    }

    fn answer(place: usize, call: &'a NativeCall, result: &'a str) -> Self {
        let answered = AnsweredCall { id: &call.id, name: &call.name, result, files: Vec::new() };
        Self { answers: Some(answered), ..Self::text(place, Role::Tool, String::new()) }
    }
}

/// The messages of a request, without its system text, as turns of the conversation.
pub(super) fn conversation_turns<'a>(request: &'a Request, provider: &str) -> Vec<ConversationTurn<'a>> {
    let mut out: Vec<ConversationTurn<'a>> = Vec::new();
    for line in request_lines(&request.messages, provider) {
        let turn = match (line.role, line.answers) {
            (_, Some(answer)) => ConversationTurn::Results(vec![answer]),
            (Role::System, _) => ConversationTurn::System(line.text),
            (Role::User | Role::Tool, _) => ConversationTurn::User { text: line.text, files: line.files },
            (Role::Assistant, _) => {
                ConversationTurn::Assistant { text: line.text, calls: line.calls, opaque: line.opaque }
            }
        };
        match (out.last_mut(), turn) {
            (Some(ConversationTurn::Results(results)), ConversationTurn::Results(more)) => results.extend(more),
            (_, turn) => out.push(turn),
        }
    }
    out
}

/// Pairs the calls and the results of a request's messages. Requests and all that shows them are made of these.
pub(crate) fn request_lines<'a>(messages: &'a [Arc<Message>], provider: &str) -> Vec<RequestLine<'a>> {
    let mut out: Vec<RequestLine<'a>> = Vec::new();
    let mut open: Vec<&NativeCall> = Vec::new();
    for (place, message) in messages.iter().enumerate() {
        match message.role {
            Role::System => out.push(RequestLine::text(place, message.role, message.joined())),
            Role::User => {
                let files = message.parts.iter().filter_map(|part| match part {
                    Content::File(file) => Some(file),
                    _ => None,
                });
                let line = RequestLine::text(place, message.role, message.joined());
                push_line(RequestLine { files: files.collect(), ..line }, &mut out);
            }
            Role::Assistant => {
                let answered = answered(messages.get(place + 1..).unwrap_or_default());
                let line = assistant(place, message, &answered, provider);
                open.clone_from(&line.calls);
                out.push(line);
            }
            Role::Tool => {
                for part in &message.parts {
                    match (part, out.last_mut().filter(|line| line.place == place)) {
                        (Content::File(file), Some(RequestLine { answers: Some(answer), .. })) => {
                            answer.files.push(file);
                        }
                        (Content::File(file), Some(line)) => line.files.push(file),
                        _ => {
                            if let Some(line) = result(place, part, &mut open) {
                                push_line(line, &mut out);
                            }
                        }
                    }
                }
            }
        }
        if matches!(message.role, Role::System | Role::User) {
            open.clear();
        }
    }
    out
}

/// Adds a line. Two messages of the user in a row become one: many services demand that the roles alternate.
fn push_line<'a>(line: RequestLine<'a>, out: &mut Vec<RequestLine<'a>>) {
    match out.last_mut() {
        Some(before) if before.is_user_text() && line.is_user_text() => {
            _ = write!(before.text, "\n\n{}", line.text);
            before.files.extend(line.files);
        }
        _ => out.push(line),
    }
}

/// The request with each call id only once, also in the form with letters, digits, `_` and `-` only. Sessions hold repeated ids where a
/// model restarts the numbering of calls in each reply, or where several services answered.
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

/// Returns whether this id is taken, by an earlier or a later call.
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
                call.id = new(&call.id).unwrap_or_else(|| std::mem::take(&mut call.id));
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

fn assistant<'a>(place: usize, message: &'a Message, answered: &[&str], provider: &str) -> RequestLine<'a> {
    let mut line = RequestLine::text(place, Role::Assistant, String::new());
    for part in &message.parts {
        match part {
            Content::Text(more) => line.text.push_str(more),
            Content::Call(call) if answered.contains(&call.id.as_str()) => line.calls.push(call),
            Content::Call(call) => {
                let gap = if line.text.is_empty() { "" } else { "\n" };
                _ = write!(line.text, "{gap}{call}");
            }
            Content::Reasoning(Opaque { provider: from, parts }) if from == provider => line.opaque = Some(parts),
            Content::Reasoning(_) | Content::Result { .. } | Content::File(_) => {}
        }
    }
    line
}

/// A result as the answer to its call; a result whose call is missing becomes a user message.
fn result<'a>(place: usize, part: &'a Content, open: &mut Vec<&'a NativeCall>) -> Option<RequestLine<'a>> {
    match part {
        Content::Text(text) => Some(RequestLine::text(place, Role::User, text.clone())),
        Content::Result { call, result, .. } => Some(match open.iter().position(|known| known.id == *call) {
            None => RequestLine::text(place, Role::User, result.clone()),
            Some(known) => RequestLine::answer(place, open.remove(known), result),
        }),
        Content::Reasoning(_) | Content::Call(_) | Content::File(_) => None,
    }
}

/// The arguments of an earlier call as an object. Those that are not a JSON object become `{}`: servers parse them, and the model already
/// got an error for them.
pub(crate) fn arguments(call: &NativeCall) -> Json {
    json::parse(&call.args).ok().filter(|args| args.members().is_some()).unwrap_or_else(Json::empty)
}

/// The arguments as the model wrote them, for services that take them as text.
pub(super) fn arguments_text(call: &NativeCall) -> &str {
    let is_filled = arguments(call).members().is_some_and(|members| !members.is_empty());
    if is_filled { &call.args } else { "{}" }
}

/// A name with the characters and the length that services accept: letters, digits, `_` and `-`.
pub(crate) fn plain_name(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    name.chars().map(plain).take(NAME_MAX_CHARS).collect()
}

/// Like `plain_name`, or `otherwise` if no letter and no digit is left.
pub(crate) fn accepted(name: &str, otherwise: &str) -> String {
    let name = plain_name(name);
    if name.chars().any(|c| c.is_ascii_alphanumeric()) { name } else { otherwise.to_owned() }
}
