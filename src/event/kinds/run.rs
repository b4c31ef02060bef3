//! Data of the events about runs and turns: starts, budgets, usage, ends.
//! Field names are the stored names; absent means unknown or not applicable.

use serde::{Deserialize, Serialize};

use crate::event::raw::present;
use crate::event::{Answerer, Decision, ErrorRecord, JsonText, StructuredBy, Tokens, words};

words! {
    /// Actions that a turn may take, where the mode distinguishes.
    TurnKind {
        Normal "normal" "Anything.";
        MustReturn "must_return" "Only end the run.";
        Retry "retry" "Only end the run, after an answer that did not fit.";
    }

    /// Reason why a run was stopped from outside.
    InterruptReason {
        Cancelled "cancelled" "The user or a signal stopped it.";
        MissionTimeout "mission_timeout" "It reached `mission_timeout_ms`.";
    }

    /// Origin of a stop.
    InterruptSource {
        User "user" "The user at an interface.";
        Signal "signal" "A signal to the process.";
        Limit "limit" "A limit of the run.";
        Server "server" "The time limit of the server that started it.";
    }

    /// The severity of a notice.
    NoticeLevel {
        Info "info" "Worth knowing.";
        Warning "warning" "Something failed, and the run continues.";
        Lost "lost" "Replaces events that a damaged session has lost.";
    }
}

/// `run.start`
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RunStart {
    /// The agent.
    pub agent: AgentRecord,
    /// The mode's name.
    pub mode: String,
    /// The model.
    pub model: ModelRecord,
    /// Limits in force: name and value, only those that are on.
    pub limits: Vec<(String, u64)>,
    /// The context as a JSON object.
    pub context: JsonText,
    /// Descriptions of the context's fields that came with a Step.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub context_descriptions: Vec<(String, String)>,
    /// Seed of the run's randomness.
    pub seed: u64,
    /// Levels above: 0 for a root run.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub depth: u32,
    /// Unix time in ms at which the whole tree must be done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<i64>,
    /// The session and run that this one continues.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub continues: Option<String>,
    /// The journal it starts with: results of finished tasks by id.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub journal: Option<JsonText>,
    /// The pipeline whose first step this run is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pipeline: Option<PipelineRecord>,
    /// Decisions made before the run about servers whose tools were not known, and about resources that are inputs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub consents: Vec<ConsentRecord>,
}

/// A decision that was made before a run began.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ConsentRecord {
    /// The action that was decided about, in the words that were shown.
    pub what: String,
    /// The decision.
    pub decision: Decision,
    /// Origin of the decision.
    pub by: Answerer,
    /// The failure of an action that was allowed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
}

impl ConsentRecord {
    /// The decision as the user reads it.
    pub fn summary(&self) -> String {
        let failed = self.failed.as_ref().map(|why| format!("; it failed: {why}")).unwrap_or_default();
        format!("before the run: {} by {}: {}{failed}", self.decision, self.by, self.what)
    }
}

/// The pipeline that a run starts: its remaining steps, so that a resumed session knows them.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PipelineRecord {
    /// Its name.
    pub name: String,
    /// The steps after the first, in order.
    pub then: Vec<LaterStep>,
}

/// A step of a pipeline after the first.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LaterStep {
    /// Its agent.
    pub agent: AgentRecord,
    /// The model it was to have: what the developer wrote.
    pub model: String,
}

fn is_zero<N: PartialEq + From<u8>>(number: &N) -> bool {
    *number == N::from(0)
}

impl RunStart {
    /// The limit of this name, when the run has it.
    pub fn limit(&self, name: &str) -> Option<u64> {
        self.limits.iter().find(|(known, _)| known == name).map(|(_, value)| *value)
    }
}

/// The agent of a run, or of one that is to follow.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct AgentRecord {
    /// Its name.
    pub name: String,
    /// Its effective definition as an agent file.
    pub toml: String,
    /// SHA-256 of `toml`, hexadecimal.
    pub sha: String,
}

/// The model of a run.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ModelRecord {
    /// The name as the developer wrote it.
    pub alias: String,
    /// The provider's name: demo, sample, human, recorded, closure or a configured one.
    pub provider: String,
    /// The model's id at the provider.
    pub id: String,
    /// Price per million tokens, when known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<Price>,
}

/// Prices in the provider's currency unit per million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Price {
    /// Input tokens.
    pub input: f64,
    /// Output tokens.
    pub output: f64,
    /// Input tokens read from the provider's cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_input: Option<f64>,
    /// Input tokens written to the provider's cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<f64>,
}

impl Price {
    /// The cost of these tokens.
    pub fn cost(&self, tokens: &Tokens) -> f64 {
        let cached = tokens.cache_read.unwrap_or_default().min(tokens.input);
        let cached_price = self.cached_input.unwrap_or(self.input);
        let written = tokens.cache_creation.unwrap_or_default().min(tokens.input - cached);
        let written_price = self.cache_write.unwrap_or(self.input);
        let per_million = |count: u64, price: f64| f64::from(u32::try_from(count).unwrap_or(u32::MAX)) * price / 1e6;
        per_million(tokens.input - cached - written, self.input)
            + per_million(cached, cached_price)
            + per_million(written, written_price)
            + per_million(tokens.output, self.output)
    }
}

/// `turn.start`
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TurnStart {
    /// Unix time in ms: the only clock a turn reads.
    pub now: i64,
    /// Actions that the turn may take, where the mode distinguishes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<TurnKind>,
    /// Remaining budgets.
    pub remaining: BudgetRecord,
    /// Time that the run and its child runs have waited for the user so far, in ms.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub waited_ms: u64,
    /// The budget that does not allow this turn: nothing is asked, the run ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<String>,
}

impl TurnStart {
    /// Returns whether the turn starts. When a budget does not allow it, no request is made and the end of the run has the reason.
    pub fn is_allowed(&self) -> bool {
        self.stop.is_none()
    }

    /// The name of its kind; empty where the mode does not distinguish.
    pub fn kind_name(&self) -> &str {
        self.kind.as_ref().map_or("", TurnKind::name)
    }
}

/// Remaining budgets when a turn starts.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct BudgetRecord {
    /// Turns, this one included.
    pub turns: u32,
    /// Turns of the whole tree of agents, this one included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<u32>,
    /// Tokens, when limited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Mission time in ms, when limited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mission_ms: Option<u64>,
}

/// `interrupt`
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Interrupt {
    /// The reason.
    pub reason: InterruptReason,
    /// Origin of the stop.
    pub by: InterruptSource,
}

/// `turn.end`
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TurnEnd {
    /// True if the turn gave the requested result.
    pub success: bool,
    /// Reason for the failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Tokens of this turn: of all its attempts, discarded ones included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Tokens>,
    /// Running totals of the run.
    pub totals: Totals,
    /// SHA-256 over the inputs of the run so far, hexadecimal. (Recordings of earlier versions do not have it; their totals do not
    /// include discarded attempts.)
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inputs: Option<String>,
}

/// Running totals of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Totals {
    /// Turns so far; at the end of a run also the turn in which a stop ended it. (Recordings of earlier versions do not count that one.)
    pub turns: u32,
    /// Model requests so far (HTTP attempts where there are any).
    pub requests: u32,
    /// Tokens of all attempts so far; absent when no provider count came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<Tokens>,
}

impl Totals {
    /// The sum, part by part.
    #[must_use]
    pub fn plus(&self, more: &Self) -> Self {
        let tokens = match (self.tokens, more.tokens) {
            (Some(one), Some(other)) => Some(one.plus(&other)),
            (one, other) => one.or(other),
        };
        Self {
            turns: self.turns.saturating_add(more.turns),
            requests: self.requests.saturating_add(more.requests),
            tokens,
        }
    }
}

/// `run.end`
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RunEnd {
    /// The answer, keys in the order the model gave them.
    #[serde(rename = "return", default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub value: Option<JsonText>,
    /// The error of a run without an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fail: Option<ErrorRecord>,
    /// The text that came with the value of an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// The values of `refs`.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub refs: Option<JsonText>,
    /// The turn that the answer came from, when it is not the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_turn: Option<u32>,
    /// The journal it leaves, where one is kept: results of finished tasks by id. (Recordings of earlier versions do not have it.)
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub journal: Option<JsonText>,
    /// Its usage.
    pub usage: UsageRecord,
    /// SHA-256 over the inputs of the run, hexadecimal. (Recordings of earlier versions do not have it.)
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inputs: Option<String>,
}

/// Usage of a run without its times (those are taken from the envelopes).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct UsageRecord {
    /// Totals.
    #[serde(flatten)]
    pub totals: Totals,
    /// Totals of child runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub children: Option<Totals>,
    /// A schema left the machine.
    pub schema_used: bool,
    /// Its size in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema_bytes: Option<u64>,
    /// Method by which it was sent in the last turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub structured_output: Option<StructuredBy>,
    /// Estimated size of the system text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system_prompt_tokens: Option<u64>,
}

/// `notice`
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Notice {
    /// Its severity.
    pub level: NoticeLevel,
    /// A description in words.
    pub text: String,
}
