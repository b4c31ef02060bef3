//! Data of the events about tools, programs, memory and the user: calls, results, definitions, questions and answers.
//! Field names are the stored names; absent means unknown or not applicable.

use ptc_core::value::{Json, json};
use serde::{Deserialize, Serialize};

use crate::event::raw::present;
use crate::event::{ErrorRecord, FileRecord, JsonText, TextRecord, Tokens, Totals, words};

words! {
    /// End of a program.
    ProgramStatus {
        Value "value" "It ended with its last value.";
        Return "return" "It ended with `(return …)`.";
        Fail "fail" "It ended with `(fail …)`.";
        Error "error" "It ended with an error.";
    }

    /// Subject of a question.
    QuestionKind {
        Ask "ask" "A question of the model or its program.";
        Reply "reply" "The reply of the model `human`.";
        Consent "consent" "Whether a tool may start a process or use the network.";
        Outcome "outcome" "The outcome of a call that was started before the session was interrupted.";
        GateSend "gate_send" "A request that is about to be sent.";
        GateApply "gate_apply" "A reply that is about to be applied.";
        GateResult "gate_result" "The result of a tool call that is about to be passed on.";
        Breakpoint "breakpoint" "A run stopped at a breakpoint: whether it continues.";
        Elicit "elicit" "What an MCP server asks the user during a call.";
    }

    /// Origin of an answer or a decision.
    Answerer {
        User "user" "The user at an interface.";
        Command "command" "The user, by an argument of a command.";
        Recorded "recorded" "The recording that is continued.";
        AllowTools "--allow-tools" "The flag `--allow-tools`.";
        Stored "stored" "A decision of the user that was stored.";
        Default "default" "No user was available: the call is denied by default.";
    }

    /// Method of shortening a long history.
    CompactionStrategy {
        Trim "trim" "The oldest messages are omitted.";
        Coalesce "coalesce" "One message with the state replaces all.";
    }

    /// Reason for shortening a history.
    CompactionReason {
        TurnPressure "turn_pressure" "Too many turns.";
        TokenPressure "token_pressure" "Too many tokens.";
    }
}

/// Decision about the calls of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Decision {
    /// This call may be made.
    Once,
    /// All calls of this definition may be made in this run.
    Run,
    /// All calls of this definition may be made from now on.
    Always,
    /// The call is not made.
    #[default]
    Deny,
}

impl Decision {
    /// All of them, in the order in which they are offered.
    pub const ALL: [Self; 4] = [Self::Once, Self::Run, Self::Always, Self::Deny];

    /// The stored name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Once => "once",
            Self::Run => "run",
            Self::Always => "always",
            Self::Deny => "deny",
        }
    }
}

impl std::fmt::Display for Decision {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// A tool call that a model asked for in its reply.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct NativeCall {
    /// The model's id of it; made up when the provider gave none.
    pub id: String,
    /// The tool's name as the model wrote it.
    pub name: String,
    /// The arguments as the model wrote them: JSON text, or what should have been.
    pub args: String,
}

impl NativeCall {
    /// The arguments as JSON; text that is not JSON as a string.
    pub fn json_args(&self) -> Json {
        json::parse(&self.args).unwrap_or_else(|_| Json::str(self.args.as_str()))
    }
}

impl std::fmt::Display for NativeCall {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.name, self.args)
    }
}

/// `tool.call`
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
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

/// Outcome of a tool call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
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
    /// It was started and its outcome is unknown.
    Unknown,
}

impl CallStatus {
    /// Returns whether the call failed, was refused, or has an unknown outcome.
    pub fn is_failure(self) -> bool {
        matches!(self, Self::Error | Self::Refused | Self::Unknown)
    }

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
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ToolEnd {
    /// The outcome.
    pub status: CallStatus,
    /// The result.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub result: Option<JsonText>,
    /// The error of a call without a result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorRecord>,
    /// The images of the result; their bytes are stored next to the session.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<FileRecord>,
    /// The answer was known from an equal call.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cached: bool,
    /// Duration of the call.
    pub ms: u64,
}

/// `program.end`
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ProgramEnd {
    /// The outcome.
    pub status: ProgramStatus,
    /// The value as PTC-Lisp text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<TextRecord>,
    /// The printed texts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prints: Vec<String>,
    /// Summaries noted by `step-done`: id and text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub summaries: Vec<(String, String)>,
    /// The error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorRecord>,
    /// Position of the error in the program: first and one-past-last byte.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub span: Option<(usize, usize)>,
    /// Warnings: legacy forms and their replacements.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// It was ended by time, memory or a stop, or by an error while branches called tools: it is not run again on replay.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub interrupted: bool,
    /// Usage of child runs up to the interrupt; replay does not run them again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub child_usage: Option<ChildUsage>,
}

/// Usage of child runs.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ChildUsage {
    /// Turns, requests and tokens.
    pub totals: Totals,
    /// Tokens of replies whose provider counts none, estimated where a limit needs them.
    #[serde(default, skip_serializing_if = "Tokens::is_zero")]
    pub estimated: Tokens,
    /// Costs, where prices are known.
    #[serde(default)]
    pub cost: f64,
}

/// `memory`: the definitions of a program.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct MemoryChange {
    /// New and changed names with their values as PTC-Lisp text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub set: Vec<(String, TextRecord)>,
    /// Names that are gone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub del: Vec<String>,
    /// Size of everything that is kept, as text.
    pub bytes: u64,
    /// The changes were too large and were dropped.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub rolled_back: bool,
}

/// `tasks`: the journal of finished tasks after a program.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TasksKept {
    /// New and changed tasks by id, with their results as PTC-Lisp text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub set: Vec<(String, TextRecord)>,
    /// Tasks that were forgotten.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub del: Vec<String>,
}

/// `question`: a question to the user.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct QuestionAsked {
    /// The subject.
    pub kind: QuestionKind,
    /// The question.
    pub text: String,
    /// Answers to choose from, when there are any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
}

/// `answer`
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct AnswerGiven {
    /// Origin of the answer.
    pub by: Answerer,
    /// The answer; at a gate `true`, or the text that was put in place.
    pub value: JsonText,
    /// At a gate: the user changed the text.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub edited: bool,
}

/// `compaction`: the part of the history that a request omits.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CompactionDone {
    /// The method.
    pub strategy: CompactionStrategy,
    /// The reason.
    pub reason: CompactionReason,
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
#[cfg_attr(test, derive(schemars::JsonSchema))]
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

/// `run.wait`: the run waits for the user.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RunWait {
    /// Address of the question.
    pub question: String,
}

/// `resume`: a waiting or interrupted run continues.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Resume {
    /// Number of the last event before the resumption.
    pub after: u64,
}
