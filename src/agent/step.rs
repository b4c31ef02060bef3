//! The Step: the result of a run. A fold over its events makes it, live and from a file alike.

use ptc_core::value::{Json, Value};
use serde::Serialize;
use serde_with::skip_serializing_none;

use crate::event::{
    Address, CallStatus, Edit, ErrorRecord, JsonText, OwnUsage, SentMessage, StructuredBy, Tokens, TotalUsage, in_order,
};
use crate::model::OtherModel;
use crate::record::{CallRecord, QuestionRecord, RunRecord, TurnRecord};

/// The result of a run.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Step {
    /// The address of the run; `None` before its start.
    pub address: Option<Address>,
    /// The answer as a value; nil when the run failed.
    pub value: Value,
    /// The answer as JSON, keys in the order the model gave them; `None` when the run failed.
    pub answer: Option<Json>,
    /// The failure of the run.
    pub fail: Option<ErrorRecord>,
    /// The text that came with the value of an answer.
    pub summary: Option<String>,
    /// The values of `refs`, as a JSON object.
    pub refs: Option<Json>,
    /// The turn that the answer came from, when it is not the last one (usage `fallback_used`).
    pub from_turn: Option<u32>,
    /// The question whose answer the run waits for.
    pub waits_for: Option<Address>,
    /// Memory: names with their values as PTC-Lisp text; empty in modes without programs.
    pub memory: Vec<(String, String)>,
    /// The journal that the run leaves: results of finished tasks by id, an object. `None` where there is none, and before the end.
    pub journal: Option<Json>,
    /// Summaries of finished plan items, by id.
    pub summaries: Vec<(String, String)>,
    /// Tool calls of the whole run; those of parallel branches in the order of the branches.
    pub calls: Vec<CallEntry>,
    /// Questions to the user, in the order of asking.
    pub questions: Vec<QuestionEntry>,
    /// The Steps of child runs, in the order of the calls.
    pub children: Vec<Step>,
    /// Its usage.
    pub usage: Usage,
    /// The turns.
    pub turns: Vec<Turn>,
    /// Every message of the run, once; [`Step::sent`] gives those of a turn.
    pub messages: Vec<SentMessage>,
    /// The agent's signature as written.
    pub signature: Option<String>,
    /// The agent's name.
    pub name: String,
    /// Its inputs: a JSON object; `None` before its start.
    pub context: Option<Json>,
    /// The mode's name.
    pub mode: String,
    /// The models that answered, the last one at the end; before the first reply the one that is asked.
    pub models: Vec<String>,
    /// Descriptions of the answer's fields; they are passed to the next agent.
    pub field_descriptions: Vec<(String, String)>,
    /// The expanded mission.
    pub prompt: Option<String>,
    /// The mission as written.
    pub original_prompt: Option<String>,
    /// Id of the session that holds the run.
    pub session: Option<String>,
}

/// A tool call.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct CallEntry {
    /// Its address.
    pub address: Option<Address>,
    /// The tool.
    pub name: String,
    /// Its kind.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// Its arguments.
    pub args: JsonText,
    /// Its status; absent while it runs.
    pub status: Option<CallStatus>,
    /// Its result, when it has one.
    pub result: Option<JsonText>,
    /// Its error, when it has one.
    pub error: Option<ErrorRecord>,
    /// It was answered from memory.
    pub cached: bool,
    /// Its duration.
    pub ms: u64,
}

/// A question to the user.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct QuestionEntry {
    /// Its address, which an answer names.
    pub address: Option<Address>,
    /// Its kind.
    pub kind: String,
    /// The text of the question.
    pub text: String,
    /// The answer; absent while the run waits for it.
    pub answer: Option<JsonText>,
}

/// The usage of a run.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Usage {
    /// From the run's start to its end.
    pub duration_ms: u64,
    /// Turns, requests, tokens and costs of all attempts, those of child runs included.
    pub total: TotalUsage,
    /// Usage without child runs.
    pub own: OwnUsage,
    /// A schema left the machine.
    pub schema_used: bool,
    /// Its size.
    pub schema_bytes: Option<u64>,
    /// The way in which the schema was sent.
    pub structured_output: Option<StructuredBy>,
    /// Estimated size of the system text.
    pub system_prompt_tokens: Option<u64>,
}

/// The record of one turn.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Turn {
    /// From 1.
    pub number: u32,
    /// Its address.
    pub address: Option<Address>,
    /// normal, `must_return` or retry, where the mode knows them.
    pub kind: Option<String>,
    /// The turn succeeded.
    pub success: bool,
    /// The reason of its failure.
    pub reason: Option<String>,
    /// Numbers of the messages that were sent, as inclusive ranges.
    pub request: Vec<(u32, u32)>,
    /// The reply as it came.
    pub raw_response: String,
    /// The JSON read from it, untouched (after repairs, when there were any).
    pub json: Option<Json>,
    /// The program that was run.
    pub program: Option<String>,
    /// Its value as PTC-Lisp text, when it did not break.
    pub result: Option<String>,
    /// The lines that its program printed.
    pub prints: Vec<String>,
    /// The compaction of the history in its request.
    pub compaction: Option<crate::event::CompactionDone>,
    /// Repairs by name.
    pub fixes: Vec<String>,
    /// Validation errors and warnings.
    pub issues: Vec<crate::event::IssueRecord>,
    /// The feedback that was sent to the model, if the run continued.
    pub feedback: Option<String>,
    /// Its error.
    pub error: Option<ErrorRecord>,
    /// Tokens of all its attempts.
    pub tokens: Option<Tokens>,
    /// Their cost, when the price is known. Those of a run's turns add up to its own cost.
    pub cost: Option<f64>,
    /// The answering model.
    pub model: Option<String>,
    /// The edits of this turn where the session was forked.
    pub edits: Vec<Edit>,
    /// The model that was asked, where it is not the one that the run began with.
    pub by: Option<Box<crate::event::ModelRecord>>,
    /// Another model answered than the one that was asked.
    pub other_model: Option<OtherModel>,
    /// Finish reason.
    pub finish_reason: Option<String>,
    /// From the turn's start to its end.
    pub latency_ms: u64,
    /// From sending to the first delta.
    pub first_ms: Option<u64>,
    /// Attempts made.
    pub attempts: u32,
}

impl CallEntry {
    /// Returns whether it failed or was refused. A call that was stopped has not failed.
    pub fn has_failed(&self) -> bool {
        self.status.is_some_and(CallStatus::is_failure)
    }

    /// The entry of a call.
    pub(super) fn of(call: &CallRecord) -> Self {
        Self {
            address: Some(call.address.clone()),
            name: call.name.clone(),
            kind: call.kind.clone(),
            args: call.args.clone(),
            status: call.status,
            result: call.result.clone(),
            error: call.error.clone(),
            cached: call.cached,
            ms: call.ms,
        }
    }
}

impl QuestionEntry {
    /// The entry of a question.
    pub(super) fn of(question: &QuestionRecord) -> Self {
        Self {
            address: Some(question.address.clone()),
            kind: question.asked.kind.name().to_owned(),
            text: question.asked.text.clone(),
            answer: question.answer.as_ref().map(|answer| answer.value.clone()),
        }
    }
}

impl Turn {
    /// The entry of a turn of this run.
    pub(super) fn of(turn: &TurnRecord, run: &RunRecord) -> Self {
        let last = turn.last_end();
        let spending = turn.spending(&run.start.model);
        Self {
            number: turn.number(),
            address: Some(turn.address.clone()),
            kind: turn.kind.as_ref().map(ToString::to_string),
            success: turn.success(),
            reason: turn.reason().map(ToOwned::to_owned),
            request: turn.sent.clone(),
            raw_response: turn.reply().to_owned(),
            json: turn.json(),
            program: turn.program().map(ToOwned::to_owned),
            result: turn.value().map(ToOwned::to_owned),
            prints: turn.prints().to_vec(),
            compaction: turn.compaction.clone(),
            fixes: turn.fixes().map(ToOwned::to_owned).collect(),
            issues: turn.issues().cloned().collect(),
            feedback: turn.feedback.clone(),
            error: turn.error().cloned(),
            tokens: spending.tokens,
            cost: spending.cost(),
            model: last.and_then(|end| end.model.clone()),
            edits: turn.edits.clone(),
            by: last.and_then(|end| end.by.clone()),
            other_model: OtherModel::of_turn(turn),
            finish_reason: last.and_then(|end| end.finish.clone()),
            // A stop ends the run inside a turn, which has no end of its own.
            latency_ms: run.end.as_ref().map_or_else(|| turn.latency_ms(), |_| turn.elapsed_ms()),
            first_ms: turn.time_to_first_ms(),
            attempts: turn.attempts.made(),
        }
    }
}

impl Step {
    /// Returns whether the run has not failed.
    pub fn is_ok(&self) -> bool {
        self.fail.is_none()
    }

    /// The messages that a turn sent, the system text first.
    pub fn sent<'s>(&'s self, turn: &'s Turn) -> impl Iterator<Item = &'s SentMessage> {
        in_order(&self.messages, &turn.request)
    }
}
