//! The visible state of a JSON text that still arrives: phase, open levels, the current token, the tree so far.

use crate::text::Span;
use crate::value::Json;
use crate::value::json::{Member, Node};

/// The progress of a JSON text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Only white space so far.
    Empty,
    /// Started, not complete.
    Open,
    /// The value is complete.
    Complete,
    /// It is not JSON; reading stopped.
    Failed,
}

/// The kind of a token being written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JsonToken {
    /// A key of an object.
    Key,
    /// A string value.
    String,
    /// A number; withheld until the next character shows that it is complete.
    Number,
    /// true, false or null.
    Word,
}

/// One step of the path to an open value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathStep<'a> {
    /// The member with this key.
    Key(&'a str),
    /// The item with this index, from 0.
    Index(usize),
}

/// A summary for a screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonState<'a> {
    /// The progress of the text.
    pub phase: Phase,
    /// Open objects and lists.
    pub depth: usize,
    /// Keys of the outermost object whose values are complete.
    pub keys: Vec<&'a str>,
    /// Complete items of the outermost list.
    pub items: usize,
    /// The type of the outermost value, once it is known.
    pub outer: Option<OuterKind>,
    /// The path to the value being written.
    pub path: Vec<PathStep<'a>>,
    /// The token being written.
    pub token: Option<JsonToken>,
}

/// The type of the outermost value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OuterKind {
    /// An object.
    Object,
    /// A list.
    List,
    /// A single value.
    Scalar,
}

impl JsonState<'_> {
    /// A line such as `object open, 1 of 2 fields, string unfinished`; `fields` is the expected number, if known.
    pub fn describe(&self, fields: Option<usize>) -> String {
        let phase = match self.phase {
            Phase::Empty => return "nothing yet".to_owned(),
            Phase::Open => "open",
            Phase::Complete => "complete",
            Phase::Failed => "broken",
        };
        let mut line = match self.outer {
            Some(OuterKind::Object) => {
                let count = self.keys.len();
                let total = fields.map(|total| format!(" of {total}")).unwrap_or_default();
                format!("object {phase}, {count}{total} {}", plural("field", fields.unwrap_or(count)))
            }
            Some(OuterKind::List) => format!("list {phase}, {} {}", self.items, plural("item", self.items)),
            Some(OuterKind::Scalar) | None => format!("value {phase}"),
        };
        if let Some(token) = self.token.filter(|_| self.phase != Phase::Failed) {
            line.push_str(match token {
                JsonToken::Key => ", key unfinished",
                JsonToken::String => ", string unfinished",
                JsonToken::Number => ", number unfinished",
                JsonToken::Word => ", word unfinished",
            });
        }
        line
    }
}

fn plural(word: &str, count: usize) -> String {
    if count == 1 { word.to_owned() } else { format!("{word}s") }
}

/// An open object or list.
#[derive(Debug, Clone, Copy)]
pub struct OpenLevel<'a> {
    /// The offset of its bracket.
    pub start: usize,
    /// Its complete parts.
    pub parts: LevelParts<'a>,
    /// The key whose value is expected or being written.
    pub key: Option<&'a str>,
}

/// The parts of an object or a list.
#[derive(Debug, Clone, Copy)]
pub enum LevelParts<'a> {
    /// Members.
    Object(&'a [Member]),
    /// Items.
    List(&'a [Json]),
}

impl<'a> LevelParts<'a> {
    /// The parts of a value; `None` if it is neither object nor list.
    pub fn of(json: &'a Json) -> Option<Self> {
        match &json.node {
            Node::Object(members) => Some(Self::Object(members)),
            Node::List(items) => Some(Self::List(items)),
            _ => None,
        }
    }

    /// The number of parts.
    pub fn len(self) -> usize {
        match self {
            Self::Object(members) => members.len(),
            Self::List(items) => items.len(),
        }
    }

    /// True if there are no parts.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// The part with this number, from 0: its key in an object, and the value.
    pub fn get(self, number: usize) -> Option<(Option<&'a str>, &'a Json)> {
        match self {
            Self::Object(members) => members.get(number).map(|member| (Some(member.key.as_str()), &member.value)),
            Self::List(items) => items.get(number).map(|item| (None, item)),
        }
    }
}

/// The tree so far: complete parts, and the received text of the string being written.
#[derive(Debug, Clone, PartialEq)]
pub struct PartialJson {
    /// The tree; open objects and lists end at the end of the text.
    pub json: Json,
    /// The span of the unfinished string, if the text ends inside one; its node has the same span.
    pub unfinished: Option<Span>,
}
