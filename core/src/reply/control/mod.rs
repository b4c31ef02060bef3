//! The control object of the mode `json_loop`: one JSON object per reply that says what happens next.
//!
//! In: reply text, recovery level, how the reply ended, what an answer may be. Out: [`Read`]: the object with its
//! [`Control`], or the words for what is wrong with it. Source: agent contract §26.1 and §26.5, settled decision 9.
//! It must never choose between two actions: exactly one is set, or the reply is refused.

mod glimpse;
mod prose;

#[cfg(test)]
mod tests;

use super::{Extracted, Finish, Outcome, Recovery, Reject, Rule, Want, extract};
use crate::value::Json;
use crate::value::json::{self, Member, Node};

pub use glimpse::{Glimpse, glimpse};

/// What a `final_answer` may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Answers {
    /// Text that is not blank.
    Text,
    /// Any JSON but null, which means "no answer yet".
    Json,
    /// Any JSON: a null that is written out, while nothing else is set, is the answer.
    JsonOrNull,
}

/// What a person is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Expected {
    /// Words.
    Text,
    /// An address on the web.
    Url,
    /// A file.
    File,
    /// An address or a file.
    UrlOrFile,
}

impl Expected {
    /// Every kind with its name in control objects.
    pub const NAMES: [(&'static str, Self); 4] =
        [("text", Self::Text), ("url", Self::Url), ("file", Self::File), ("url_or_file", Self::UrlOrFile)];
}

/// What a reply asks to happen.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// A tool is called.
    Call {
        /// Its name as the model wrote it.
        name: String,
        /// Its arguments: an object.
        args: Json,
    },
    /// The run ends with this answer.
    Answer(Json),
    /// A person is asked.
    Ask {
        /// What is expected of them.
        expected: Expected,
        /// The question.
        prompt: String,
    },
}

/// A control object that was read.
#[derive(Debug, Clone, PartialEq)]
pub struct Control {
    /// Why the model does what it does. Absent only from recovery level standard on.
    pub thought: Option<String>,
    /// What it does.
    pub action: Action,
    /// What was passed over, in words; empty at level strict.
    pub notes: Vec<String>,
}

/// What became of a reply.
#[derive(Debug, Clone)]
pub struct Read {
    /// How the object was found.
    pub extracted: Extracted,
    /// What it says, or what is wrong with the reply.
    pub control: Result<Control, String>,
    /// The reply was prose and counts as the answer; `extracted` then holds no object.
    pub is_prose: bool,
}

impl Read {
    /// Was anything mended, or did the object not stand alone? Loop detection leaves such calls out.
    pub fn is_recovered(&self) -> bool {
        let candidate = self.extracted.candidate();
        self.is_prose || candidate.is_none_or(|found| found.rule != Rule::Whole || !found.fixes.is_empty())
    }
}

/// Reads the control object of a reply. A truncated reply is read for the record; the caller does not act on it.
pub fn read(reply: &str, answers: Answers, recovery: Recovery, finish: Finish) -> Read {
    let mut accept = |json: &Json| match interpret(json, answers, recovery) {
        Ok(_) => Ok(()),
        Err(_) if json.members().is_none() => Err(Reject::Shape("a control object".to_owned())),
        Err(problem) => Err(Reject::Invalid(problem)),
    };
    let extracted = extract(reply, &Want::Object, recovery, finish, &mut accept);
    if recovery == Recovery::Lenient
        && answers == Answers::Text
        && matches!(extracted.outcome, Outcome::NotFound)
        && let Some(answer) = prose::answer(reply)
    {
        let action = Action::Answer(Json::str(answer));
        let notes = vec!["the reply was prose and was taken as the final answer".to_owned()];
        return Read { extracted, control: Ok(Control { thought: None, action, notes }), is_prose: true };
    }
    let control = match &extracted.outcome {
        Outcome::Found { json, .. } => match extracted.candidate() {
            Some(found) if recovery == Recovery::Strict && found.rule != Rule::Whole => {
                Err("text or a code fence stands around the object; it must stand alone".to_owned())
            }
            _ => interpret(json, answers, recovery),
        },
        Outcome::Rejected { reject: Reject::Shape(_), json, .. } => {
            Err(format!("expected one JSON object, found {}", kind(json)))
        }
        Outcome::Rejected { reject: Reject::Invalid(problem), .. } => Err(problem.clone()),
        Outcome::Malformed { error } => {
            Err(format!("the JSON cannot be read: {}: {}", error.line_col(reply), error.message))
        }
        Outcome::NotFound if reply.trim().is_empty() => Err("the reply is empty".to_owned()),
        Outcome::NotFound => Err("the reply holds no JSON object".to_owned()),
    };
    Read { extracted, control, is_prose: false }
}

/// Reads an object by the rules of its keys. Errors say which key is wrong and what was expected.
fn interpret(json: &Json, answers: Answers, recovery: Recovery) -> Result<Control, String> {
    let mut object = Object::of(json, "the control object", recovery)?;
    let thought = object.thought()?;
    let call = object.set("tool_call").map(|json| call(json, &mut object.notes, recovery)).transpose()?;
    let ask = object.set("awaiting_user_input").map(|json| ask(json, &mut object.notes, recovery)).transpose()?;
    let written = object.take("final_answer");
    let is_alone = call.is_none() && ask.is_none();
    let answer = match written {
        Some(json) if json.node != Node::Null => Some(answer(json, answers)?),
        Some(json) if is_alone && answers == Answers::JsonOrNull => Some(Action::Answer(json.clone())),
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

/// The members of an object that were not looked at yet.
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

    /// The member of this key unless it is null, which is the same as absent.
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

    /// A text that is not blank.
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

    /// What is left is unknown: an error at level strict, a note above it.
    fn finish(&mut self) -> Result<(), String> {
        let names: Vec<String> = self.left.drain(..).map(|member| format!("`{}`", member.key)).collect();
        match (names.as_slice(), self.recovery) {
            ([], _) => Ok(()),
            (names, Recovery::Strict) => Err(format!("unknown keys in {}: {}", self.what, names.join(", "))),
            (names, _) => {
                self.notes.push(format!("unknown keys in {} were passed over: {}", self.what, names.join(", ")));
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

fn answer(json: &Json, answers: Answers) -> Result<Action, String> {
    match (answers, json.as_str()) {
        (Answers::Text, None) => Err(format!("final_answer must be text, found {}", kind(json))),
        (Answers::Text, Some(text)) if text.trim().is_empty() => Err("final_answer must not be empty".to_owned()),
        _ => Ok(Action::Answer(json.clone())),
    }
}

fn ask(json: &Json, notes: &mut Vec<String>, recovery: Recovery) -> Result<Action, String> {
    let mut object = Object::of(json, "awaiting_user_input", recovery)?;
    let prompt = object.text("prompt")?.to_owned();
    let expected = match object.set("kind") {
        None if recovery > Recovery::Strict => Expected::Text,
        None => return Err(format!("awaiting_user_input has no kind; it is one of {}", kinds())),
        Some(json) => Expected::NAMES
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
    Expected::NAMES.map(|(name, _)| name).join(", ")
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
