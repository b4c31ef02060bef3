//! One side of a comparison: the runs of a session with their turns, as far as a comparison looks at them.
//!
//! In: events. Out: a [`Side`]. It must never show anything of a turn that its record does not hold.

use std::sync::Arc;

use ptc_core::lisp::format;
use ptc_core::value::Json;
use ptc_core::value::json::to_json;

use super::object;
use crate::agent::{Step, StepFold, Turn};
use crate::event::{Address, Edit, Envelope, ErrorRecord, Event, IssueRecord, JsonText, RequestMade};
use crate::record::{CallRecord, TurnRecord};
use crate::session::Ledger;

/// Columns that programs are laid out in before they are compared.
const PROGRAM_COLUMNS: usize = 80;

/// A session.
#[derive(Debug, Clone, Default)]
pub struct Side {
    /// Its name: the id of the session.
    pub name: String,
    /// Its runs in order; child runs are in the Steps of their parents.
    pub runs: Vec<SideRun>,
    /// Bytes of the data that the runs had, and bytes of it that no request carried.
    pub data: (u64, u64),
}

/// A run.
#[derive(Debug, Clone)]
pub struct SideRun {
    /// Its address.
    pub address: Address,
    /// Its mode.
    pub mode: String,
    /// The name of its model as the developer wrote it.
    pub model: String,
    /// The agent's definition as an agent file.
    pub definition: String,
    /// Its inputs.
    pub context: Json,
    /// Its Step, with the messages of all its turns; the turns themselves are in `turns`.
    pub step: Step,
    /// Its turns.
    pub turns: Vec<SideTurn>,
    /// It has ended.
    pub is_complete: bool,
}

/// A turn.
#[derive(Debug, Clone)]
pub struct SideTurn {
    /// Its address.
    pub address: Address,
    /// The request options without the messages: schema, tools, options. Turns with equal ones share it.
    pub request: Arc<Json>,
    /// The program that was run, laid out; as written when it cannot be read.
    pub program: Option<String>,
    /// The calls: `[{name, args, status, result | error}]`.
    pub calls: Json,
    /// The program's value and prints as text.
    pub value: String,
    /// Its error: `{reason, error, issues}`; null without one.
    pub error: Json,
    /// It is the last turn of a run that returned.
    pub is_answer: bool,
    /// The turn itself; the messages that it sent are numbers of those in the run's Step.
    pub turn: Turn,
}

impl Side {
    /// The root runs of a session. With `only`, that run alone, root or below.
    pub fn of(name: &str, events: impl IntoIterator<Item = Envelope>, only: Option<&Address>) -> Self {
        let mut runs: Vec<(Address, StepFold)> = Vec::new();
        let mut ledger = Ledger::default();
        for envelope in events {
            let starts = matches!(envelope.event, Event::RunStart(_));
            let wanted = match only {
                Some(only) => envelope.address.is_within(only),
                None => true,
            };
            // The address of a call is its caller's as well: those events do not belong to the child run.
            let above = only.is_some_and(|only| envelope.run() != *only && envelope.address == *only);
            if !wanted || above {
                continue;
            }
            let run = only.cloned().unwrap_or_else(|| envelope.address.root());
            let known = runs.iter().position(|(known, _)| *known == run);
            let place = match known {
                Some(place) => place,
                None if starts => {
                    runs.push((run, StepFold::default()));
                    runs.len() - 1
                }
                None => continue,
            };
            ledger.apply(&envelope);
            runs[place].1.apply(&envelope);
        }
        let data = (ledger.data_bytes(), ledger.kept_out_bytes());
        Self { name: name.to_owned(), runs: runs.iter().map(|(_, fold)| side_run(fold)).collect(), data }
    }
}

/// The comparison's view of a run.
fn side_run(fold: &StepFold) -> SideRun {
    let run = fold.record();
    let mut step = fold.step();
    let was_edited = run.begun_turns().any(|turn| turn.edits.iter().any(Edit::is_of_the_turn));
    let (last, has_returned) = (step.turns.len(), step.is_ok() && fold.is_complete());
    let mut turns: Vec<SideTurn> = Vec::with_capacity(last);
    let mut shared: Option<(&Arc<RequestMade>, Arc<Json>)> = None;
    for (turn, record) in std::mem::take(&mut step.turns).into_iter().zip(run.begun_turns()) {
        // Records of equal requests share one.
        let known =
            shared.take().filter(|(known, _)| record.request.as_ref().is_some_and(|made| Arc::ptr_eq(made, known)));
        shared = known.or_else(|| record.request.as_ref().map(|made| (made, Arc::new(request(made)))));
        let request = shared.as_ref().map(|(_, json)| Arc::clone(json)).unwrap_or_default();
        turns.push(SideTurn::of(turn, record, request, has_returned && turns.len() + 1 == last));
    }
    let edited = fold.inputs().filter(|_| was_edited).cloned();
    SideRun {
        turns,
        address: run.address.clone(),
        mode: run.start.mode.clone(),
        model: run.ledger.names(),
        definition: edited.as_ref().map_or_else(|| run.start.agent.toml.clone(), |inputs| inputs.agent.to_toml()),
        context: edited.map_or_else(|| run.start.context.json(), |inputs| inputs.context),
        is_complete: fold.is_complete(),
        step,
    }
}

impl SideRun {
    /// Returns its outcome: `returned`, the reason of its failure with its message, `waits for …`, `not finished`.
    pub fn end(&self) -> String {
        match (&self.step.fail, &self.step.waits_for) {
            (Some(fail), _) => format!("{}: {}", fail.reason, fail.message),
            (None, Some(at)) => format!("waits for the answer to {at}"),
            (None, None) if self.is_complete => "returned".to_owned(),
            (None, None) => "not finished".to_owned(),
        }
    }
}

impl SideTurn {
    fn of(turn: Turn, record: &TurnRecord, request: Arc<Json>, is_answer: bool) -> Self {
        let mut calls: Vec<&CallRecord> = record.calls.iter().collect();
        // Branches end in any order.
        calls.sort_by(|one, other| one.address.cmp(&other.address));
        let prints = turn.prints.iter().map(String::as_str);
        let value: Vec<&str> = prints.chain(turn.result.as_deref()).collect();
        let laid_out = |text: &String| format::program(text, PROGRAM_COLUMNS).unwrap_or_else(|| text.clone());
        Self {
            request,
            program: turn.program.as_ref().map(laid_out),
            calls: Json::list(calls.into_iter().map(call)),
            value: value.join("\n"),
            error: error_of(&turn),
            is_answer,
            turn,
            address: record.address.clone(),
        }
    }

    /// The reply as it came.
    pub fn reply(&self) -> &str {
        &self.turn.raw_response
    }
}

fn call(entry: &CallRecord) -> Json {
    object([
        ("name", Some(Json::str(entry.name.as_str()))),
        ("args", Some(entry.args.json())),
        ("status", entry.status.map(|status| Json::str(status.name()))),
        ("result", entry.result.as_ref().map(JsonText::json)),
        ("error", entry.error.as_ref().map(error)),
    ])
}

fn request(request: &RequestMade) -> Json {
    let tool = |tool: &crate::event::ToolSchema| {
        object([
            ("name", Some(Json::str(tool.name.as_str()))),
            ("description", tool.description.as_deref().map(Json::str)),
            ("parameters", Some(tool.parameters.json())),
        ])
    };
    let names = request.tool_names.iter().map(|name| Json::str(name.as_str()));
    object([
        ("want", Some(Json::str(request.want.name()))),
        ("schema", request.schema.as_ref().map(JsonText::json)),
        ("tools", Some(Json::list(request.tools.iter().map(tool)))),
        ("tool_names", Some(Json::list(names))),
        ("options", Some(to_json(&request.options))),
        ("cache", Some(request.cache.into())),
    ])
}

fn error(record: &ErrorRecord) -> Json {
    object([
        ("reason", Some(Json::str(record.reason.as_str()))),
        ("message", Some(Json::str(record.message.as_str()))),
        ("details", record.details.as_ref().map(JsonText::json)),
    ])
}

fn error_of(turn: &Turn) -> Json {
    let issue = |issue: &IssueRecord| {
        object([
            ("path", Some(Json::str(issue.path.as_str()))),
            ("severity", Some(Json::str(issue.severity.name()))),
            ("message", Some(Json::str(issue.message.as_str()))),
        ])
    };
    let issues = (!turn.issues.is_empty()).then(|| Json::list(turn.issues.iter().map(issue)));
    let found = object([
        ("reason", turn.reason.as_deref().map(Json::str)),
        ("error", turn.error.as_ref().map(error)),
        ("issues", issues),
    ]);
    if found.members().is_some_and(<[_]>::is_empty) { Json::default() } else { found }
}
