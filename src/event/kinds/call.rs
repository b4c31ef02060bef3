//! Data of the events about tools, programs, memory and people: what was called, what came back, what was kept.
//! Field names are the stored names; absent means unknown or not applicable.

use serde::{Deserialize, Serialize};

use crate::event::raw::present;
use crate::event::{ErrorRecord, JsonText, Kept, Tokens, Totals};

/// A tool call that a model asked for in its reply.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct NativeCall {
    /// The model's id of it; made up when the provider gave none.
    pub id: String,
    /// The tool's name as the model wrote it.
    pub name: String,
    /// The arguments as the model wrote them: JSON text, or what should have been.
    pub args: String,
}

impl std::fmt::Display for NativeCall {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.name, self.args)
    }
}

/// `tool.call`
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ToolCall {
    /// The tool.
    pub name: String,
    /// Its kind: table, snippet, agent, …; empty for a name that no tool has.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// The arguments after conversion to the tool's types.
    pub args: JsonText,
    /// It may change something outside of the run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub effectful: bool,
}

/// How a tool call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CallStatus {
    /// It answered.
    #[default]
    Ok,
    /// It failed.
    Error,
    /// It was not made: unknown name, unusable arguments, a limit, a refusal.
    Refused,
    /// It was stopped.
    Cancelled,
    /// It was begun and nobody knows how it ended.
    Unknown,
}

impl CallStatus {
    /// The stored name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Error => "error",
            Self::Refused => "refused",
            Self::Cancelled => "cancelled",
            Self::Unknown => "unknown",
        }
    }
}

/// `tool.end`
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ToolEnd {
    /// How it ended.
    pub status: CallStatus,
    /// What it answered.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub result: Option<JsonText>,
    /// Why it did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorRecord>,
    /// The answer was known from an equal call.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cached: bool,
    /// How long it took.
    pub ms: u64,
}

/// `program.end`
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ProgramEnd {
    /// value, return, fail, error
    pub status: String,
    /// The value as PTC-Lisp text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Kept>,
    /// What it printed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prints: Vec<String>,
    /// What `step-done` noted: id and text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub summaries: Vec<(String, String)>,
    /// What was wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorRecord>,
    /// Where in the program: first and one-past-last byte.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub span: Option<(usize, usize)>,
    /// What is worth knowing: legacy forms and their modern ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// It was ended by time, memory or a stop, or by an error while branches called tools: it is not run again on replay.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub interrupted: bool,
    /// What the agents below the run had used by then, when it was interrupted: replay does not run them again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub below: Option<Below>,
}

/// What agents below a run used.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Below {
    /// Turns, requests and tokens.
    pub totals: Totals,
    /// Tokens of replies whose provider counts none, estimated where a limit needs them.
    #[serde(default, skip_serializing_if = "Tokens::is_zero")]
    pub estimated: Tokens,
    /// Costs, where prices are known.
    #[serde(default)]
    pub cost: f64,
}

/// `memory`: what a program defined.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct MemoryChange {
    /// New and changed names with their values as PTC-Lisp text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub set: Vec<(String, Kept)>,
    /// Names that are gone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub del: Vec<String>,
    /// Size of everything that is kept, as text.
    pub bytes: u64,
    /// The changes were too large and were dropped.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub rolled_back: bool,
}

/// `tasks`: what the journal of finished tasks keeps after a program.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TasksKept {
    /// New and changed tasks by id, with their results as PTC-Lisp text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub set: Vec<(String, Kept)>,
    /// Tasks that were forgotten.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub del: Vec<String>,
}

/// `question`: something a person is asked.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct QuestionAsked {
    /// ask, reply (of a model that is a person), consent (to a call), outcome (of a call that was begun),
    /// `gate_send`, `gate_apply`, `gate_result` (where a run was intercepted), breakpoint
    pub kind: String,
    /// The question.
    pub text: String,
    /// Answers to choose from, when there are any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
}

impl QuestionAsked {
    /// The kind of a question for the reply of a model that is a person.
    pub const REPLY: &str = "reply";
    /// The kind of a question whether a tool may start a process or leave the machine.
    pub const CONSENT: &str = "consent";
    /// The kind of a question about a call that was begun before a session broke off.
    pub const OUTCOME: &str = "outcome";
    /// The kind of a question at a breakpoint.
    pub const BREAKPOINT: &str = "breakpoint";
}

/// `answer`
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct AnswerGiven {
    /// person, command, recorded; for consent also `--allow-tools`, stored, nobody
    pub by: String,
    /// The answer; at a gate `true`, or the text that was put in place.
    pub value: JsonText,
    /// At a gate: the person changed what was there.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub edited: bool,
}

/// `compaction`: what a request leaves out of the history.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CompactionDone {
    /// trim, coalesce
    pub strategy: String,
    /// `turn_pressure`, `token_pressure`
    pub reason: String,
    /// Messages before.
    pub messages_before: u32,
    /// Messages after.
    pub messages_after: u32,
    /// Estimated tokens before.
    pub tokens_before: u64,
    /// Estimated tokens after.
    pub tokens_after: u64,
    /// Counts by name: `turns_compressed`, `tool_calls_dropped`, …
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub counts: Vec<(String, u64)>,
}

/// `plan`: the checklist after a turn.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PlanState {
    /// Items: id, description, and the summary of a finished one.
    pub items: Vec<(String, String, Option<String>)>,
}

impl PlanState {
    /// Ids and summaries of the finished items.
    pub fn finished(&self) -> impl Iterator<Item = (String, String)> {
        self.items.iter().filter_map(|(id, _, summary)| Some((id.clone(), summary.clone()?)))
    }
}

/// `run.wait`: the run waits for a person.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RunWait {
    /// Address of the question.
    pub question: String,
}

/// `resume`: a waiting or broken run goes on.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Resume {
    /// From which event on.
    pub after: u64,
}
