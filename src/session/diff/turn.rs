//! Differences of two turns: request, reply, program, calls, value and error, in this order.

use std::collections::HashSet;
use std::sync::Arc;

use ptc_core::value::Json;
use ptc_core::value::json::{self, Difference};
use serde::Serialize;

use super::sent::{RequestMessages, changed_pairs};
use super::{DiffLine, SideRun, SideTurn, diff_lines};
use crate::event::SentMessage;

/// A part of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TurnPart {
    /// Sent messages and options.
    Request,
    /// The model's reply.
    Reply,
    /// The program in it, formatted.
    Program,
    /// The tool calls with their results.
    Calls,
    /// The JSON value of the reply; for a program its prints and its value.
    Value,
    /// The error.
    Error,
}

impl TurnPart {
    /// Returns the stable name.
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

/// A differing part.
#[derive(Debug, Clone)]
pub struct PartDifference {
    /// The part.
    pub part: TurnPart,
    /// Its change.
    pub change: PartChange,
}

/// Change of a part.
#[derive(Debug, Clone)]
pub enum PartChange {
    /// Changed messages and options, by path.
    Request {
        /// Differing messages that were not reported for an earlier turn.
        messages: Vec<MessageDifference>,
        /// Schema, tools and options.
        rest: Vec<Difference>,
    },
    /// Text; without lines when only line ends or layout differ.
    Lines(Vec<DiffLine>),
    /// Data.
    Values(Vec<Difference>),
}

/// A differing message.
#[derive(Debug, Clone, Serialize)]
pub struct MessageDifference {
    /// Its role.
    pub role: &'static str,
    /// Its number on the left; `None` when only the right side sent it.
    pub left: Option<u32>,
    /// Its number on the right.
    pub right: Option<u32>,
    /// Its line diff.
    pub lines: Vec<DiffLine>,
}

/// Differences reported for earlier turns of the same two runs: a request repeats the messages of previous ones.
pub(super) struct DiffHistory<'r> {
    /// The messages of both runs.
    runs: (&'r [SentMessage], &'r [SentMessage]),
    /// The messages of the previous two requests.
    before: (RequestMessages<'r>, RequestMessages<'r>),
    messages: HashSet<(Option<u32>, Option<u32>)>,
    /// The previous two requests without their messages.
    requests: Option<(Arc<Json>, Arc<Json>)>,
    rest: HashSet<(String, Option<String>, Option<String>)>,
    /// Both runs are in the same mode: the prompts of different modes differ in every text and are not compared.
    is_same_mode: bool,
}

impl<'r> DiffHistory<'r> {
    /// Creates an empty history. The turns of these two runs follow in order.
    pub(super) fn new(one: &'r SideRun, other: &'r SideRun) -> Self {
        Self {
            runs: (&one.step.messages, &other.step.messages),
            before: Default::default(),
            messages: HashSet::new(),
            requests: None,
            rest: HashSet::new(),
            is_same_mode: one.mode == other.mode,
        }
    }
}

/// Returns the differences of two turns in order. Times and tokens are ignored.
pub(super) fn differences(one: &SideTurn, other: &SideTurn, history: &mut DiffHistory<'_>) -> Vec<PartDifference> {
    let values = |left: &Json, right: &Json| json::differences(left, right);
    let mut found = Vec::new();
    let mut add = |part, change| found.push(PartDifference { part, change });
    if history.is_same_mode
        && let Some(change) = request(one, other, history)
    {
        add(TurnPart::Request, change);
    }
    if one.reply() != other.reply() {
        add(TurnPart::Reply, PartChange::Lines(diff_lines(one.reply(), other.reply())));
    }
    let program = |turn: &SideTurn| turn.program.clone().unwrap_or_default();
    if one.program != other.program {
        add(TurnPart::Program, PartChange::Lines(diff_lines(&program(one), &program(other))));
    }
    let calls = values(&one.calls, &other.calls);
    if !calls.is_empty() {
        add(TurnPart::Calls, PartChange::Values(calls));
    }
    match (&one.turn.json, &other.turn.json) {
        (Some(left), Some(right)) => {
            let found = values(left, right);
            if !found.is_empty() {
                add(TurnPart::Value, PartChange::Values(found));
            }
        }
        // A program's value next to JSON is compared with the answer.
        _ if one.value != other.value => add(TurnPart::Value, PartChange::Lines(diff_lines(&one.value, &other.value))),
        _ => {}
    }
    let errors = values(&one.error, &other.error);
    if !errors.is_empty() {
        add(TurnPart::Error, PartChange::Values(errors));
    }
    found
}

fn request(one: &SideTurn, other: &SideTurn, history: &mut DiffHistory<'_>) -> Option<PartChange> {
    let left = RequestMessages::of(history.runs.0, &one.turn.request);
    let right = RequestMessages::of(history.runs.1, &other.turn.request);
    let mut messages = Vec::new();
    for (left, right) in changed_pairs((&left, &right), (&history.before.0, &history.before.1)) {
        let key = (left.map(|message| message.m), right.map(|message| message.m));
        let text = |message: Option<&SentMessage>| message.map(SentMessage::lines).unwrap_or_default();
        let is_same =
            left.zip(right).is_some_and(|(left, right)| left.parts == right.parts || left.lines() == right.lines());
        if is_same || !history.messages.insert(key) {
            continue;
        }
        messages.push(MessageDifference {
            role: left.or(right).map_or("", |message| message.role.name()),
            left: key.0,
            right: key.1,
            lines: diff_lines(&text(left), &text(right)),
        });
    }
    history.before = (left, right);
    let rest = rest(one, other, history);
    (!messages.is_empty() || !rest.is_empty()).then_some(PartChange::Request { messages, rest })
}

/// Returns unreported differences of two requests apart from their messages.
fn rest(one: &SideTurn, other: &SideTurn, history: &mut DiffHistory<'_>) -> Vec<Difference> {
    let is_same_requests =
        |(left, right): &(Arc<Json>, Arc<Json>)| Arc::ptr_eq(left, &one.request) && Arc::ptr_eq(right, &other.request);
    if history.requests.as_ref().is_some_and(is_same_requests) {
        return Vec::new();
    }
    history.requests = Some((Arc::clone(&one.request), Arc::clone(&other.request)));
    let mut rest = json::differences(&one.request, &other.request);
    let text = |side: &Option<Json>| side.as_ref().map(Json::to_text);
    rest.retain(|found| history.rest.insert((found.path.clone(), text(&found.left), text(&found.right))));
    rest
}
