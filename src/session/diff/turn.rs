//! What differs between two turns: request, reply, program, calls, value, error, in the order in which they come about.

use std::collections::HashSet;
use std::sync::Arc;

use ptc_core::value::Json;
use ptc_core::value::json::{self, Difference};
use serde::Serialize;

use super::sent::{Sent, beside};
use super::{DiffLine, SideRun, SideTurn, diff_lines};
use crate::event::SentMessage;

/// A part of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
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
#[derive(Debug, Clone, Serialize)]
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
pub(super) struct Told<'r> {
    /// The messages of both runs.
    runs: (&'r [SentMessage], &'r [SentMessage]),
    /// The messages of the last two requests.
    before: (Sent<'r>, Sent<'r>),
    messages: HashSet<(Option<u32>, Option<u32>)>,
    /// What the last two requests said beside their messages.
    said: Option<(Arc<Json>, Arc<Json>)>,
    rest: HashSet<(String, Option<String>, Option<String>)>,
}

impl<'r> Told<'r> {
    /// Nothing yet. The turns of these two runs follow in their order.
    pub(super) fn new(one: &'r SideRun, other: &'r SideRun) -> Self {
        Self {
            runs: (&one.step.messages, &other.step.messages),
            before: Default::default(),
            messages: HashSet::new(),
            said: None,
            rest: HashSet::new(),
        }
    }
}

/// What differs between two turns, in their order. Times and tokens are no difference.
pub(super) fn differences(one: &SideTurn, other: &SideTurn, told: &mut Told<'_>) -> Vec<PartDifference> {
    let values = |left: &Json, right: &Json| json::differences(left, right);
    let mut found = Vec::new();
    let mut add = |part, shape| found.push(PartDifference { part, shape });
    if let Some(shape) = request(one, other, told) {
        add(Part::Request, shape);
    }
    if one.reply() != other.reply() {
        add(Part::Reply, Shape::Lines(diff_lines(one.reply(), other.reply())));
    }
    let program = |turn: &SideTurn| turn.program.clone().unwrap_or_default();
    if one.program != other.program {
        add(Part::Program, Shape::Lines(diff_lines(&program(one), &program(other))));
    }
    let calls = values(&one.calls, &other.calls);
    if !calls.is_empty() {
        add(Part::Calls, Shape::Values(calls));
    }
    match (&one.turn.json, &other.turn.json) {
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

fn request(one: &SideTurn, other: &SideTurn, told: &mut Told<'_>) -> Option<Shape> {
    let left = Sent::of(told.runs.0, &one.turn.request);
    let right = Sent::of(told.runs.1, &other.turn.request);
    let mut messages = Vec::new();
    for (left, right) in beside((&left, &right), (&told.before.0, &told.before.1)) {
        let key = (left.map(|message| message.m), right.map(|message| message.m));
        let text = |message: Option<&SentMessage>| message.map(SentMessage::text).unwrap_or_default();
        let is_same =
            left.zip(right).is_some_and(|(left, right)| left.parts == right.parts || left.text() == right.text());
        if is_same || !told.messages.insert(key) {
            continue;
        }
        messages.push(MessageDifference {
            role: left.or(right).map_or("", |message| message.role.name()),
            left: key.0,
            right: key.1,
            lines: diff_lines(&text(left), &text(right)),
        });
    }
    told.before = (left, right);
    let rest = rest(one, other, told);
    (!messages.is_empty() || !rest.is_empty()).then_some(Shape::Request { messages, rest })
}

/// What differs in two requests beside their messages, and was not told yet.
fn rest(one: &SideTurn, other: &SideTurn, told: &mut Told<'_>) -> Vec<Difference> {
    let is_said =
        |(left, right): &(Arc<Json>, Arc<Json>)| Arc::ptr_eq(left, &one.request) && Arc::ptr_eq(right, &other.request);
    if told.said.as_ref().is_some_and(is_said) {
        return Vec::new();
    }
    told.said = Some((Arc::clone(&one.request), Arc::clone(&other.request)));
    let mut rest = json::differences(&one.request, &other.request);
    let text = |side: &Option<Json>| side.as_ref().map(Json::to_text);
    rest.retain(|found| told.rest.insert((found.path.clone(), text(&found.left), text(&found.right))));
    rest
}
