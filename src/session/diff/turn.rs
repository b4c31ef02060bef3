//! What differs between two turns: request, reply, program, calls, value, error, in the order in which they come about.

use std::collections::HashSet;

use ptc_core::value::Json;
use ptc_core::value::json::{self, Difference};

use super::{DiffLine, SideTurn, diff_lines};
use crate::event::{Role, SentMessage};

/// A part of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Part {
    /// What was sent.
    Request,
    /// What came back.
    Reply,
    /// The program in it, laid out by the language's formatter.
    Program,
    /// The tool calls with what they gave.
    Calls,
    /// The JSON read from the reply; of a program its prints and its value.
    Value,
    /// What was wrong.
    Error,
}

impl Part {
    /// The stable name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Request => "request",
            Self::Reply => "reply",
            Self::Program => "program",
            Self::Calls => "calls",
            Self::Value => "value",
            Self::Error => "error",
        }
    }
}

/// A part that differs.
#[derive(Debug, Clone)]
pub struct PartDifference {
    /// Which one.
    pub part: Part,
    /// How.
    pub shape: Shape,
}

/// How a part differs.
#[derive(Debug, Clone)]
pub enum Shape {
    /// Messages, and what else a request says, by path.
    Request {
        /// The messages that differ and were not told at an earlier turn.
        messages: Vec<MessageDifference>,
        /// Schema, tools and options.
        rest: Vec<Difference>,
    },
    /// Text; no lines when only line ends or the layout differ.
    Lines(Vec<DiffLine>),
    /// Data.
    Values(Vec<Difference>),
}

/// A message that differs.
#[derive(Debug, Clone)]
pub struct MessageDifference {
    /// Who speaks.
    pub role: &'static str,
    /// Its number on the left; `None` when only the right side sent it.
    pub left: Option<u32>,
    /// Its number on the right.
    pub right: Option<u32>,
    /// Its lines.
    pub lines: Vec<DiffLine>,
}

/// What was told at earlier turns of the same two runs: a request repeats the messages of those before it.
#[derive(Debug, Clone, Default)]
pub(super) struct Told {
    messages: HashSet<(Option<u32>, Option<u32>)>,
    rest: HashSet<(String, Option<String>, Option<String>)>,
}

/// What differs between two turns, in their order. Times and tokens are no difference.
pub(super) fn differences(one: &SideTurn, other: &SideTurn, told: &mut Told) -> Vec<PartDifference> {
    let values = |left: &Json, right: &Json| json::differences(left, right);
    let mut found = Vec::new();
    let mut add = |part, shape| found.push(PartDifference { part, shape });
    if let Some(shape) = request(one, other, told) {
        add(Part::Request, shape);
    }
    if one.reply != other.reply {
        add(Part::Reply, Shape::Lines(diff_lines(&one.reply, &other.reply)));
    }
    let program = |turn: &SideTurn| turn.program.clone().unwrap_or_default();
    if one.program != other.program {
        add(Part::Program, Shape::Lines(diff_lines(&program(one), &program(other))));
    }
    let calls = values(&one.calls, &other.calls);
    if !calls.is_empty() {
        add(Part::Calls, Shape::Values(calls));
    }
    match (&one.json, &other.json) {
        (Some(left), Some(right)) => {
            let found = values(left, right);
            if !found.is_empty() {
                add(Part::Value, Shape::Values(found));
            }
        }
        // A program's value beside JSON is compared where it counts: at the answer.
        _ if one.value != other.value => add(Part::Value, Shape::Lines(diff_lines(&one.value, &other.value))),
        _ => {}
    }
    let errors = values(&one.error, &other.error);
    if !errors.is_empty() {
        add(Part::Error, Shape::Values(errors));
    }
    found
}

fn request(one: &SideTurn, other: &SideTurn, told: &mut Told) -> Option<Shape> {
    let mut messages = Vec::new();
    for (left, right) in matched(&one.messages, &other.messages) {
        let key = (left.map(|message| message.m), right.map(|message| message.m));
        let text = |message: Option<&SentMessage>| message.map(SentMessage::text).unwrap_or_default();
        let same = left.is_some() && right.is_some() && text(left) == text(right);
        if same || !told.messages.insert(key) {
            continue;
        }
        messages.push(MessageDifference {
            role: left.or(right).map_or("", |message| message.role.name()),
            left: key.0,
            right: key.1,
            lines: diff_lines(&text(left), &text(right)),
        });
    }
    let mut rest = json::differences(&one.request, &other.request);
    let text = |side: &Option<Json>| side.as_ref().map(Json::to_text);
    rest.retain(|found| told.rest.insert((found.path.clone(), text(&found.left), text(&found.right))));
    (!messages.is_empty() || !rest.is_empty()).then_some(Shape::Request { messages, rest })
}

type Sides<'m> = (Option<&'m SentMessage>, Option<&'m SentMessage>);

/// Messages side by side: the system texts, and the others in order.
fn matched<'m>(one: &'m [SentMessage], other: &'m [SentMessage]) -> Vec<Sides<'m>> {
    let split = |messages: &'m [SentMessage]| -> (Vec<&'m SentMessage>, Vec<&'m SentMessage>) {
        messages.iter().partition(|message| message.role == Role::System)
    };
    let (left, right) = (split(one), split(other));
    let beside = |left: Vec<&'m SentMessage>, right: Vec<&'m SentMessage>| -> Vec<Sides<'m>> {
        let most = left.len().max(right.len());
        (0..most).map(|place| (left.get(place).copied(), right.get(place).copied())).collect()
    };
    [beside(left.0, right.0), beside(left.1, right.1)].concat()
}
