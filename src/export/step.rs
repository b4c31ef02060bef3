//! Steps as JSON: for `--json` and for the export.

use ptc_core::value::Json;
use serde::{Serialize, Serializer};
use serde_with::skip_serializing_none;

use crate::agent::{CallEntry, QuestionEntry, Step, Turn};
use crate::event::{
    Address, CompactionDone, Edit, ErrorRecord, IssueRecord, JsonText, NativeCall, Role, SentMessage, StructuredBy,
    Tokens, Totals,
};

/// A Step as `--json` and the export print it.
#[derive(Serialize)]
pub struct StepJson<'a> {
    #[serde(flatten)]
    outcome: Outcome<'a>,
    summary: Option<&'a str>,
    refs: Option<&'a Json>,
    #[serde(serialize_with = "as_object")]
    memory: &'a [(String, String)],
    journal: Option<&'a Json>,
    #[serde(serialize_with = "as_object")]
    summaries: &'a [(String, String)],
    from_turn: Option<u32>,
    waits_for: Option<&'a Address>,
    usage: UsageJson,
    turns: Vec<TurnJson<'a>>,
    calls: &'a [CallEntry],
    questions: &'a [QuestionEntry],
    children: Vec<Self>,
    signature: Option<&'a str>,
    name: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    mode: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    model: &'a str,
    address: Option<&'a Address>,
    #[serde(serialize_with = "as_object")]
    field_descriptions: &'a [(String, String)],
    session: Option<&'a str>,
}

/// The answer, or why there is none.
#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum Outcome<'a> {
    Return(Option<&'a Json>),
    Fail(&'a ErrorRecord),
}

#[skip_serializing_none]
#[derive(Serialize)]
struct UsageJson {
    duration_ms: u64,
    turns: u32,
    fallback_used: Option<bool>,
    llm_requests: u32,
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    total_tokens: Option<u64>,
    cache_creation_tokens: Option<u64>,
    cache_read_tokens: Option<u64>,
    cost: Option<f64>,
    schema_used: bool,
    schema_bytes: Option<u64>,
    structured_output: Option<StructuredBy>,
    system_prompt_tokens: Option<u64>,
    children: Option<TotalsJson>,
}

#[skip_serializing_none]
#[derive(Serialize)]
struct TotalsJson {
    turns: u32,
    llm_requests: u32,
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    total_tokens: Option<u64>,
}

#[skip_serializing_none]
#[derive(Serialize)]
struct TurnJson<'a> {
    number: u32,
    address: Option<&'a Address>,
    #[serde(rename = "type")]
    kind: Option<&'a str>,
    success: bool,
    reason: Option<&'a str>,
    system_prompt: Option<String>,
    messages: Vec<MessageJson<'a>>,
    raw_response: &'a str,
    json: Option<&'a Json>,
    program: Option<&'a str>,
    result: Option<&'a str>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    prints: &'a [String],
    compaction: Option<CompactionJson<'a>>,
    fixes: &'a [String],
    issues: Vec<IssueJson<'a>>,
    feedback: Option<&'a str>,
    error: Option<&'a ErrorRecord>,
    tokens: Option<&'a Tokens>,
    cost: Option<f64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    edits: Vec<EditJson<'a>>,
    model: Option<&'a str>,
    model_asked: Option<&'a str>,
    finish_reason: Option<&'a str>,
    attempts: u32,
    latency_ms: u64,
    first_ms: Option<u64>,
}

/// A message as sent. Its `content` shows native calls as text; `tool_calls` holds them with their ids.
#[skip_serializing_none]
#[derive(Serialize)]
struct MessageJson<'a> {
    role: Role,
    content: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<NativeCallJson<'a>>,
    tool_call_id: Option<&'a str>,
}

/// A call that a model asked for. Arguments that are not JSON stay the text that arrived.
#[derive(Serialize)]
struct NativeCallJson<'a> {
    id: &'a str,
    name: &'a str,
    args: Json,
}

#[derive(Serialize)]
struct CompactionJson<'a> {
    strategy: &'a str,
    reason: &'a str,
    messages_before: u32,
    messages_after: u32,
    tokens_before: u64,
    tokens_after: u64,
    #[serde(serialize_with = "as_object")]
    counts: &'a [(String, u64)],
}

#[derive(Serialize)]
struct IssueJson<'a> {
    path: &'a str,
    severity: &'a str,
    expected: &'a str,
    got: &'a str,
    message: &'a str,
}

#[derive(Serialize)]
struct EditJson<'a> {
    target: &'a str,
    at: &'a str,
    by: &'a str,
    after: &'a JsonText,
}

/// Writes pairs as an object in their order.
fn as_object<V: Serialize, S: Serializer>(pairs: &[(String, V)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(pairs.iter().map(|(key, value)| (key, value)))
}

/// A Step as JSON: `{return|fail, memory, journal, usage, turns, signature, name, session, …}`. (Agents call agents no deeper
/// than `max_depth` allows.)
pub fn step(step: &Step) -> StepJson<'_> {
    StepJson {
        outcome: step.fail.as_ref().map_or(Outcome::Return(step.answer.as_ref()), Outcome::Fail),
        summary: step.summary.as_deref(),
        refs: step.refs.as_ref(),
        memory: &step.memory,
        journal: step.journal.as_ref(),
        summaries: &step.summaries,
        from_turn: step.from_turn,
        waits_for: step.waits_for.as_ref(),
        usage: usage(step),
        turns: step.turns.iter().map(|turn| self::turn(step, turn)).collect(),
        calls: &step.calls,
        questions: &step.questions,
        children: step.children.iter().map(self::step).collect(),
        signature: step.signature.as_deref(),
        name: &step.name,
        mode: &step.mode,
        model: &step.model,
        address: step.address.as_ref(),
        field_descriptions: &step.field_descriptions,
        session: step.session.as_deref(),
    }
}

fn usage(step: &Step) -> UsageJson {
    let usage = &step.usage;
    let tokens = usage.tokens.as_ref();
    UsageJson {
        duration_ms: usage.duration_ms,
        turns: usage.turns,
        fallback_used: step.from_turn.map(|_| true),
        llm_requests: usage.llm_requests,
        input_tokens: tokens.map(|tokens| tokens.input),
        output_tokens: tokens.map(|tokens| tokens.output),
        total_tokens: tokens.map(Tokens::total),
        cache_creation_tokens: tokens.and_then(|tokens| tokens.cache_creation),
        cache_read_tokens: tokens.and_then(|tokens| tokens.cache_read),
        cost: usage.cost,
        schema_used: usage.schema_used,
        schema_bytes: usage.schema_bytes,
        structured_output: usage.structured_output,
        system_prompt_tokens: usage.system_prompt_tokens,
        children: usage.children.as_ref().map(totals),
    }
}

fn totals(totals: &Totals) -> TotalsJson {
    let tokens = totals.tokens.as_ref();
    TotalsJson {
        turns: totals.turns,
        llm_requests: totals.requests,
        input_tokens: tokens.map(|tokens| tokens.input),
        output_tokens: tokens.map(|tokens| tokens.output),
        total_tokens: tokens.map(Tokens::total),
    }
}

fn turn<'a>(step: &'a Step, turn: &'a Turn) -> TurnJson<'a> {
    let (system, others): (Vec<_>, Vec<_>) = step.sent(turn).partition(|message| message.role == Role::System);
    TurnJson {
        number: turn.number,
        address: turn.address.as_ref(),
        kind: turn.kind.as_deref(),
        success: turn.success,
        reason: turn.reason.as_deref(),
        system_prompt: system.first().map(|message| message.text()),
        messages: others.into_iter().map(message).collect(),
        raw_response: &turn.raw_response,
        json: turn.json.as_ref(),
        program: turn.program.as_deref(),
        result: turn.result.as_deref(),
        prints: &turn.prints,
        compaction: turn.compaction.as_ref().map(compaction),
        fixes: &turn.fixes,
        issues: turn.issues.iter().map(issue).collect(),
        feedback: turn.feedback.as_deref(),
        error: turn.error.as_ref(),
        tokens: turn.tokens.as_ref(),
        cost: turn.cost,
        edits: turn.edits.iter().map(edit).collect(),
        model: turn.model.as_deref(),
        model_asked: turn.other_model.as_ref().map(|other| other.asked.as_str()),
        finish_reason: turn.finish_reason.as_deref(),
        attempts: turn.attempts,
        latency_ms: turn.latency_ms,
        first_ms: turn.first_ms,
    }
}

fn message(message: &SentMessage) -> MessageJson<'_> {
    MessageJson {
        role: message.role,
        content: message.text(),
        tool_calls: message.calls.iter().map(native_call).collect(),
        tool_call_id: message.answers.as_deref(),
    }
}

fn native_call(call: &NativeCall) -> NativeCallJson<'_> {
    NativeCallJson { id: &call.id, name: &call.name, args: call.json_args() }
}

fn compaction(done: &CompactionDone) -> CompactionJson<'_> {
    CompactionJson {
        strategy: done.strategy.name(),
        reason: done.reason.name(),
        messages_before: done.messages_before,
        messages_after: done.messages_after,
        tokens_before: done.tokens_before,
        tokens_after: done.tokens_after,
        counts: &done.counts,
    }
}

fn issue(issue: &IssueRecord) -> IssueJson<'_> {
    let IssueRecord { path, severity, expected, got, message } = issue;
    IssueJson { path, severity: severity.name(), expected, got, message }
}

fn edit(edit: &Edit) -> EditJson<'_> {
    EditJson { target: &edit.target, at: &edit.at, by: edit.by.name(), after: &edit.after }
}
