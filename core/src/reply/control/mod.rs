//! The control object of the mode `json_loop`: one JSON object per reply that selects the next action.
//!
//! In: reply text, recovery level, how the reply ended, the type of the answer. Out: [`ControlReply`]: the object with its
//! [`Control`], or the text of what is wrong with it. It must never choose between two actions: exactly one is set, or
//! the reply is rejected.

#[cfg(test)]
mod tests;

use super::{AnswerShape, ExtractOutcome, Extraction, Finish, Recovery, Reject, Rule, extract, reasoning};
use crate::text::Span;
use crate::value::Json;
use crate::value::json::{self, Member, Node};

/// The allowed values of a `final_answer`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AnswerType {
    /// Text that is not blank.
    Text,
    /// Any JSON except null, which means "no answer yet".
    Json,
    /// Any JSON: an explicit null is the answer if nothing else is set.
    JsonOrNull,
}

/// The kind of input that the user is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ExpectedInput {
    /// Text.
    Text,
    /// A URL.
    Url,
    /// A file.
    File,
    /// A URL or a file.
    UrlOrFile,
}

impl ExpectedInput {
    /// Every kind with its name in control objects.
    pub const NAMES: [(&'static str, Self); 4] =
        [("text", Self::Text), ("url", Self::Url), ("file", Self::File), ("url_or_file", Self::UrlOrFile)];
}

/// The action that a reply requests.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Calls a tool.
    Call {
        /// Its name as the model wrote it.
        name: String,
        /// Its arguments: an object.
        args: Json,
    },
    /// Ends the run with this answer.
    Answer(Json),
    /// Asks the user.
    Ask {
        /// The expected input.
        expected: ExpectedInput,
        /// The question.
        prompt: String,
    },
}

/// The contents of a control object.
#[derive(Debug, Clone, PartialEq)]
pub struct Control {
    /// The model's reason for the action. Required at level strict only.
    pub thought: Option<String>,
    /// The action.
    pub action: Action,
    /// Texts about ignored content; empty at level strict.
    pub notes: Vec<String>,
}

/// The result of reading a reply.
#[derive(Debug, Clone)]
pub struct ControlReply {
    /// The extraction of the object.
    pub extraction: Extraction,
    /// The control object, or the problem of the reply.
    pub control: Result<Control, String>,
    /// The reply was prose and is the answer; `extraction` then holds no object.
    pub is_prose: bool,
}

impl ControlReply {
    /// True if the object was repaired or was not the whole reply. Loop detection ignores such calls.
    pub fn is_recovered(&self) -> bool {
        let candidate = self.extraction.candidate();
        self.is_prose || candidate.is_none_or(|found| found.rule != Rule::Whole || !found.fixes.is_empty())
    }
}

/// Reads the control object of a reply. A truncated reply is read for the record; the caller does not act on it.
pub fn read(reply: &str, answers: AnswerType, recovery: Recovery, finish: Finish) -> ControlReply {
    let mut accept = |json: &Json| match interpret(json, answers, recovery) {
        Ok(_) => Ok(()),
        Err(_) if json.members().is_none() => Err(Reject::Shape("a control object".to_owned())),
        Err(problem) => Err(Reject::Invalid(problem)),
    };
    let extraction = extract(reply, &AnswerShape::Object, recovery, finish, &mut accept);
    if recovery == Recovery::Lenient
        && answers == AnswerType::Text
        && matches!(extraction.outcome, ExtractOutcome::NotFound)
        && let Some(answer) = prose(reply, &extraction.reasoning)
    {
        let action = Action::Answer(Json::str(answer));
        let notes = vec!["the reply was prose and was used as the final answer".to_owned()];
        return ControlReply { extraction, control: Ok(Control { thought: None, action, notes }), is_prose: true };
    }
    let control = match &extraction.outcome {
        ExtractOutcome::Found { json, .. } => match extraction.candidate() {
            Some(found) if recovery == Recovery::Strict && found.rule != Rule::Whole => {
                Err("text or a code fence surrounds the object; reply with the object only".to_owned())
            }
            _ => interpret(json, answers, recovery),
        },
        ExtractOutcome::Rejected { reject: Reject::Shape(_), json, .. } => {
            Err(format!("expected one JSON object, found {}", kind(json)))
        }
        ExtractOutcome::Rejected { reject: Reject::Invalid(problem), .. } => Err(problem.clone()),
        ExtractOutcome::Malformed { error } => {
            Err(format!("the JSON is invalid: {}: {}", error.line_col(reply), error.message))
        }
        ExtractOutcome::NotFound if reply.trim().is_empty() => Err("the reply is empty".to_owned()),
        ExtractOutcome::NotFound => Err("the reply contains no JSON object".to_owned()),
    };
    ControlReply { extraction, control, is_prose: false }
}

/// Reads an object by the rules of its keys. Errors name the wrong key and what was expected.
fn interpret(json: &Json, answers: AnswerType, recovery: Recovery) -> Result<Control, String> {
    let mut object = Object::of(json, "the control object", recovery)?;
    let thought = object.thought()?;
    let call = object.set("tool_call").map(|json| call(json, &mut object.notes, recovery)).transpose()?;
    let outside = object.left.iter().find(|member| ["arguments", "args"].contains(&member.key.as_str()));
    if let (Some(_), Some(member)) = (&call, outside) {
        return Err(format!("`{}` must be inside of tool_call", member.key));
    }
    let ask = object.set("awaiting_user_input").map(|json| ask(json, &mut object.notes, recovery)).transpose()?;
    let written = object.take("final_answer");
    let is_alone = call.is_none() && ask.is_none();
    // An empty text next to another action is not an answer.
    let is_filler = |json: &Json| !is_alone && json.as_str().is_some_and(|text| text.trim().is_empty());
    let answer = match written.filter(|json| !is_filler(json)) {
        Some(json) if json.node != Node::Null => Some(answer(json, answers)?),
        Some(json) if is_alone && answers == AnswerType::JsonOrNull => Some(Action::Answer(json.clone())),
        _ => None,
    };
    object.finish()?;
    let notes = object.notes;
    let set: Vec<&str> = [
        call.as_ref().map(|_| "tool_call"),
        answer.as_ref().map(|_| "final_answer"),
        ask.as_ref().map(|_| "awaiting_user_input"),
    ]
    .into_iter()
    .flatten()
    .collect();
    match (set.as_slice(), call.or(answer).or(ask)) {
        ([_], Some(action)) => Ok(Control { thought, action, notes }),
        ([], _) => {
            Err("exactly one of tool_call, final_answer and awaiting_user_input must be set; none is".to_owned())
        }
        (set, _) => Err(format!(
            "exactly one of tool_call, final_answer and awaiting_user_input must be set; {} are",
            set.join(" and ")
        )),
    }
}

/// The members of an object that have not been read yet.
struct Object<'a> {
    what: &'a str,
    left: Vec<&'a Member>,
    notes: Vec<String>,
    recovery: Recovery,
}

impl<'a> Object<'a> {
    fn of(json: &'a Json, what: &'a str, recovery: Recovery) -> Result<Self, String> {
        let members = json.members().ok_or_else(|| format!("{what} must be an object, found {}", kind(json)))?;
        Ok(Self { what, left: members.iter().collect(), notes: Vec::new(), recovery })
    }

    /// The member of this key.
    fn take(&mut self, key: &str) -> Option<&'a Json> {
        let place = self.left.iter().position(|member| member.key == key)?;
        Some(&self.left.remove(place).value)
    }

    /// The member of this key, unless it is null, which means absent.
    fn set(&mut self, key: &str) -> Option<&'a Json> {
        self.take(key).filter(|json| json.node != Node::Null)
    }

    fn thought(&mut self) -> Result<Option<String>, String> {
        match self.set("thought") {
            Some(json) => match json.as_str() {
                Some(text) if !text.trim().is_empty() => Ok(Some(text.to_owned())),
                Some(_) if self.recovery > Recovery::Strict => Ok(None),
                Some(_) => Err("thought must not be empty".to_owned()),
                None => Err(format!("thought must be text, found {}", kind(json))),
            },
            None if self.recovery > Recovery::Strict => Ok(None),
            None => Err("thought is missing; it must be text that is not empty".to_owned()),
        }
    }

    /// A non-blank text.
    fn text(&mut self, key: &str) -> Result<&'a str, String> {
        let what = self.what;
        match self.set(key) {
            None => Err(format!("{what} has no {key}")),
            Some(json) => match json.as_str().filter(|text| !text.trim().is_empty()) {
                Some(text) => Ok(text),
                None if json.as_str().is_some() => Err(format!("{key} of {what} must not be empty")),
                None => Err(format!("{key} of {what} must be text, found {}", kind(json))),
            },
        }
    }

    /// Handles the remaining, unknown members: an error at level strict, a note above it.
    fn finish(&mut self) -> Result<(), String> {
        let names: Vec<String> = self.left.drain(..).map(|member| format!("`{}`", member.key)).collect();
        match (names.as_slice(), self.recovery) {
            ([], _) => Ok(()),
            (names, Recovery::Strict) => Err(format!("unknown keys in {}: {}", self.what, names.join(", "))),
            (names, _) => {
                self.notes.push(format!("unknown keys in {} were ignored: {}", self.what, names.join(", ")));
                Ok(())
            }
        }
    }
}

fn call(json: &Json, notes: &mut Vec<String>, recovery: Recovery) -> Result<Action, String> {
    let mut object = Object::of(json, "tool_call", recovery)?;
    let name = object.text("name")?.to_owned();
    let forgiving = recovery > Recovery::Strict;
    let written = object.set("arguments").or_else(|| if forgiving { object.set("args") } else { None });
    if let (None, true, Some(member)) = (written, forgiving, object.left.first()) {
        // Arguments under another name must not be dropped.
        return Err(format!("tool_call has no arguments, but the unknown key `{}`", member.key));
    }
    let args = match written {
        Some(json) if json.members().is_some() => json.clone(),
        Some(json) => match json.as_str().filter(|_| recovery == Recovery::Lenient).map(json::parse) {
            Some(Ok(inner)) if inner.members().is_some() => inner,
            _ => return Err(format!("arguments of tool_call must be an object, found {}", kind(json))),
        },
        None if forgiving => Json::empty(),
        None => return Err("tool_call has no arguments; they must be an object".to_owned()),
    };
    object.finish()?;
    notes.append(&mut object.notes);
    Ok(Action::Call { name, args })
}

fn answer(json: &Json, answers: AnswerType) -> Result<Action, String> {
    match (answers, json.as_str()) {
        (AnswerType::Text, None) => Err(format!("final_answer must be text, found {}", kind(json))),
        (AnswerType::Text, Some(text)) if text.trim().is_empty() => Err("final_answer must not be empty".to_owned()),
        _ => Ok(Action::Answer(json.clone())),
    }
}

fn ask(json: &Json, notes: &mut Vec<String>, recovery: Recovery) -> Result<Action, String> {
    let mut object = Object::of(json, "awaiting_user_input", recovery)?;
    let prompt = object.text("prompt")?.to_owned();
    let expected = match object.set("kind") {
        None if recovery > Recovery::Strict => ExpectedInput::Text,
        None => return Err(format!("awaiting_user_input has no kind; it is one of {}", kinds())),
        Some(json) => ExpectedInput::NAMES
            .into_iter()
            .find(|(name, _)| json.as_str() == Some(name))
            .map(|(_, expected)| expected)
            .ok_or_else(|| format!("kind of awaiting_user_input is one of {}, found {}", kinds(), json.to_text()))?,
    };
    object.finish()?;
    notes.append(&mut object.notes);
    Ok(Action::Ask { expected, prompt })
}

fn kinds() -> String {
    ExpectedInput::NAMES.map(|(name, _)| name).join(", ")
}

fn kind(json: &Json) -> &'static str {
    match json.node {
        Node::Null => "null",
        Node::Bool(_) => "true or false",
        Node::Int(_) | Node::Big(_) | Node::Float(_) => "a number",
        Node::Str(_) => "text",
        Node::List(_) => "a list",
        Node::Object(_) => "an object",
    }
}

/// Prose with fewer visible characters than this is not an answer.
const FEWEST_CHARS: usize = 24;

/// Characters at the end of unfinished prose.
const UNFINISHED: [char; 5] = ['{', '[', ':', ',', '-'];

/// The reply without its reasoning as an answer, if it is plain prose: long enough, finished, and without braces or a fence or tag at
/// its start.
fn prose(reply: &str, reasoning: &[Span]) -> Option<String> {
    let rest: Vec<&str> = reasoning::rest(reply, reasoning).into_iter().map(|span: Span| span.text(reply)).collect();
    let text = rest.join("\n");
    let visible = text.chars().filter(|c| !c.is_whitespace()).count();
    let is_plain = visible >= FEWEST_CHARS
        && !text.contains(['{', '}'])
        && !text.starts_with(['`', '~', '<'])
        && !text.ends_with(UNFINISHED);
    is_plain.then_some(text)
}

/// The members of a partial control object that have arrived.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct PartialControl<'a> {
    /// The thought so far.
    pub thought: Option<&'a str>,
    /// The name of the tool.
    pub tool: Option<&'a str>,
    /// Its arguments so far.
    pub args: Option<&'a Json>,
    /// The answer so far.
    pub answer: Option<&'a Json>,
    /// The question so far.
    pub question: Option<&'a str>,
}

/// Reads a control object that may still grow.
pub fn partial_control(partial: &Json) -> PartialControl<'_> {
    let inner = |key: &str, name: &str| partial.get(key).and_then(|json| json.get(name));
    PartialControl {
        thought: partial.get("thought").and_then(Json::as_str),
        tool: inner("tool_call", "name").and_then(Json::as_str),
        args: inner("tool_call", "arguments"),
        answer: partial.get("final_answer").filter(|json| json.node != Node::Null),
        question: inner("awaiting_user_input", "prompt").and_then(Json::as_str),
    }
}
