//! The state of a reply in words, while it still arrives.
//!
//! In: the pieces of a reply and the schema that was sent. Out: one line. Each piece is read once.

use std::sync::Arc;

use ptc_core::reply::AnswerShape;
use ptc_core::reply::stream::{JsonPush, JsonToken, LevelParts, Phase, ReplyPush, ReplyStage};
use ptc_core::text::LineCol;
use ptc_core::text::lex::lisp::Balance;
use ptc_core::value::Json;
use ptc_core::value::json::Member;

use crate::engine::{Reader, Remark};
use crate::event::JsonText;

/// A reply that still grows, read as far as it has come.
#[derive(Debug, Clone)]
pub struct PartialReply {
    push: ReplyPush,
    /// Names of the fields that the schema describes.
    fields: Option<Vec<String>>,
    /// The reader that judges the fields.
    reader: Option<Arc<Reader>>,
    /// Fields that were judged.
    judged: usize,
    /// The tool of a control object was looked for.
    called: bool,
    remarks: Vec<Remark>,
}

impl PartialReply {
    /// An empty reply whose fields this schema describes and this reader judges.
    pub fn new(schema: Option<&JsonText>, reader: Option<Arc<Reader>>) -> Self {
        let schema = schema.map(JsonText::json).unwrap_or_default();
        let want = match schema.get("type").and_then(|kind| kind.as_str()) {
            Some("object") => AnswerShape::Object,
            Some("array") => AnswerShape::List,
            _ => AnswerShape::Any,
        };
        let fields = schema.get("properties").and_then(|fields| fields.members());
        let fields = fields.map(|fields| fields.iter().map(|field| field.key.clone()).collect());
        Self { push: ReplyPush::new(want), fields, reader, judged: 0, called: false, remarks: Vec::new() }
    }

    /// Takes the next piece.
    pub fn take(&mut self, piece: &str) {
        self.push.push(piece);
        self.judge();
    }

    /// Returns the issues of the complete fields, and of the tool of a control object.
    pub fn remarks(&self) -> &[Remark] {
        &self.remarks
    }

    /// Judges the fields that have become whole, each once.
    fn judge(&mut self) {
        let (Some(reader), Some(json)) = (&self.reader, self.push.json()) else { return };
        let outer = json.complete().and_then(Json::members).or_else(|| open(json, 0));
        let control = reader.wants_control();
        let within = |key: &str| outer?.iter().find(|member| member.key == key).map(|member| &member.value);
        let fields = match outer {
            Some(fields) if !control => fields,
            Some(_) => match within("final_answer").map(Json::members) {
                Some(whole) => whole.unwrap_or_default(),
                None if json.levels().next().is_some_and(|level| level.key == Some("final_answer")) => {
                    open(json, 1).unwrap_or_default()
                }
                None => &[],
            },
            None => return,
        };
        let mut found = Vec::new();
        for member in fields.get(self.judged..).unwrap_or_default() {
            found.extend(reader.field(&member.key, &member.value).into_iter().filter(|remark| remark.is_error));
        }
        if control {
            for remark in &mut found {
                remark.place = format!("final_answer.{}", remark.place);
            }
        }
        let called = within("tool_call").and_then(|call| call.get("name")).and_then(Json::as_str);
        if let Some(name) = called.filter(|_| control && !self.called) {
            found.extend(reader.tool(name));
            self.called = true;
        }
        self.judged = fields.len();
        self.remarks.extend(found);
    }

    /// The JSON so far, once some was found.
    pub fn json(&self) -> Option<&JsonPush> {
        self.push.json()
    }

    /// The thought of a control object, as far as it has come.
    pub fn thought(&self) -> Option<&str> {
        let json = self.push.json()?;
        if let Some(whole) = json.complete() {
            return whole.get("thought").and_then(Json::as_str);
        }
        let mut levels = json.levels();
        let outer = levels.next()?;
        let LevelParts::Object(members) = outer.parts else { return None };
        let whole = members.iter().find(|member| member.key == "thought").and_then(|member| member.value.as_str());
        let growing = json.token().filter(|(token, _)| {
            *token == JsonToken::String && outer.key == Some("thought") && levels.next().is_none()
        });
        whole.or(growing.map(|(_, text)| text))
    }

    /// Returns the state of the reply, such as `object open, 1 of 2 fields, string unfinished`, with its first syntax error.
    pub fn describe(&self, reply: &str) -> String {
        if self.push.stage() == ReplyStage::Reasoning {
            return "thinking".to_owned();
        }
        let Some(json) = self.push.json().or(self.push.broken()) else { return "no JSON yet".to_owned() };
        let mut state = json.state();
        if let Some(fields) = &self.fields {
            state.keys.retain(|key| fields.iter().any(|field| field == key));
        }
        let line = state.describe(self.fields.as_ref().map(Vec::len));
        match json.error().filter(|_| json.phase() == Phase::Failed) {
            Some(error) => format!("{line}: {} at {}", error.message, LineCol::of(reply, error.offset)),
            None => line,
        }
    }
}

/// The complete members of an open object, by how deep it is nested.
fn open(json: &JsonPush, depth: usize) -> Option<&[Member]> {
    match json.levels().nth(depth)?.parts {
        LevelParts::Object(members) => Some(members),
        LevelParts::List(_) => None,
    }
}

/// The program that a growing reply holds so far: the last block that can be one, or the whole reply when it begins with a
/// bracket.
pub fn program(reply: &str) -> Option<&str> {
    const TAGS: [&str; 6] = ["clojure", "lisp", "clj", "ptc-lisp", "ptc_lisp", ""];
    let (mut open, mut found, mut at) = (None, None, 0);
    for line in reply.split_inclusive('\n') {
        let next = at + line.len();
        if let Some(tag) = line.trim_start().strip_prefix("```") {
            match open.take() {
                Some((true, start)) => found = Some((start, at)),
                Some((false, _)) => {}
                None => open = Some((TAGS.contains(&tag.trim()) && tag.ends_with('\n'), next)),
            }
        }
        at = next;
    }
    if let Some((true, start)) = open {
        found = Some((start, reply.len()));
    }
    match found {
        Some((start, end)) => reply.get(start..end),
        None => reply.trim_start().starts_with(['(', ';']).then_some(reply),
    }
}

/// A program in which nothing is open.
pub const WHOLE: &str = "whole so far";

/// Returns the state of a program in words: brackets and strings that are open at its end, or the first error that more text cannot fix.
pub fn program_state(program: &str) -> String {
    let balance = Balance::of(program);
    if let Some(fault) = balance.fault {
        return format!("not a program at {}", fault.line_col(program));
    }
    let brackets = match balance.open.len() {
        0 => None,
        1 => Some("1 bracket open".to_owned()),
        number => Some(format!("{number} brackets open")),
    };
    let text = balance.text.map(|_| "string unfinished".to_owned());
    let parts: Vec<String> = brackets.into_iter().chain(text).collect();
    if parts.is_empty() { WHOLE.to_owned() } else { parts.join(", ") }
}

#[cfg(test)]
mod tests {
    use ptc_core::value::json;

    use super::*;

    #[test]
    fn a_growing_reply_is_described_in_words() {
        let schema = json::parse(r#"{"type":"object","properties":{"a":{},"b":{}}}"#).unwrap();
        let progress = |reply: &str| {
            let mut partial = PartialReply::new(Some(&JsonText::of(&schema)), None);
            partial.take(reply);
            partial.describe(reply)
        };
        assert_eq!(progress("Here it is: "), "no JSON yet");
        assert_eq!(progress("Take {name} and {"), "object open, 0 of 2 fields");
        assert_eq!(progress("Take {name} and {b"), "no JSON yet", "it may be prose");
        assert_eq!(progress("Here it is: {\"a\": 1, \"b\": \"x"), "object open, 1 of 2 fields, string unfinished");
        let whole = progress("{\"a\": 1, \"b\": \"x\", \"other\": 1}");
        assert_eq!(whole, "object complete, 2 of 2 fields", "what is not in the schema is not a field of it");
        let broken = progress("{\"a\": 1,\n \"b\": oops, \"c\": {\"a\": 1}}");
        assert_eq!(broken, "object broken, 1 of 2 fields: expected a JSON value, found 'o' at line 2, column 7");
        let from_the_start = progress("{\"a\": oops, \"b\": {\"a\": 1}}");
        assert_eq!(
            from_the_start,
            "object broken, 0 of 2 fields: expected a JSON value, found 'o' at line 1, column 7"
        );
        let unquoted = progress("Here: {a: {\"b\": 1}}");
        assert_eq!(
            unquoted,
            "object broken, 0 of 2 fields: expected a key in double quotes, found 'a' at line 1, column 8"
        );
    }

    #[test]
    fn the_thought_of_a_control_object_is_read_while_it_grows() {
        let mut partial = PartialReply::new(None, None);
        partial.take("{\"thought\": \"I look");
        assert_eq!(partial.thought(), Some("I look"));
        partial.take(" it up\", \"tool_call\": {");
        assert_eq!(partial.thought(), Some("I look it up"));
        partial.take("}}");
        assert_eq!(partial.thought(), Some("I look it up"));
    }

    #[test]
    fn a_growing_program_is_described_in_words() {
        assert_eq!(program("I count:\n```clojure\n(count"), Some("(count"));
        assert_eq!(program("```clojure\n(a)\n```\nand so on"), Some("(a)\n"));
        assert_eq!(program("(count xs)"), Some("(count xs)"));
        assert_eq!(program("I count"), None);
        assert_eq!(program("```json\n{"), None);
        assert_eq!(program_state("(f [1 \"a"), "2 brackets open, string unfinished");
        assert_eq!(program_state("(f 1)"), "whole so far");
        assert_eq!(program_state("(f\n 1]"), "not a program at line 2, column 3");
    }
}
