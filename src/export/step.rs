//! Steps as JSON: for `--json` and for the export.

use ptc_core::value::Json;
use ptc_core::value::json;

use crate::agent::{CallEntry, Step, Turn};
use crate::event::{
    Address, CompactionDone, ErrorRecord, IssueRecord, JsonText, NativeCall, Role, SentMessage, Tokens, Totals,
};

/// A Step as JSON: `{return|fail, memory, journal, usage, turns, signature, name, session, …}`
pub fn step(step: &Step) -> Json {
    // Agents call agents no deeper than `max_depth` allows.
    let children = step.children.iter().map(self::step);
    let outcome = match (&step.answer, &step.fail) {
        (_, Some(fail)) => ("fail", error(fail)),
        (answer, None) => ("return", answer.clone().unwrap_or_default()),
    };
    let memory = step.memory.iter().map(|(name, value)| (name.clone(), Json::str(value.as_str())));
    let described = step.field_descriptions.iter().map(|(name, text)| (name.clone(), Json::str(text.as_str())));
    Json::object([
        outcome,
        ("summary", text(step.summary.as_deref())),
        ("refs", step.refs.clone().unwrap_or_default()),
        ("memory", Json::object(memory)),
        ("journal", step.journal.clone().unwrap_or_default()),
        ("summaries", Json::object(step.summaries.iter().map(|(id, text)| (id.clone(), Json::str(text.as_str()))))),
        ("from_turn", step.from_turn.map_or_else(Json::default, Json::from)),
        ("waits_for", text(step.waits_for.as_ref().map(Address::as_str))),
        ("usage", usage(step)),
        ("turns", Json::list(step.turns.iter().map(|turn| self::turn(step, turn)))),
        ("calls", Json::list(step.calls.iter().map(call))),
        ("children", Json::list(children)),
        ("signature", text(step.signature.as_deref())),
        ("name", Json::str(step.name.as_str())),
        ("field_descriptions", Json::object(described)),
        ("session", text(step.session.as_deref())),
    ])
}

fn text(text: Option<&str>) -> Json {
    text.map_or_else(Json::default, Json::str)
}

/// The members whose value is known.
fn known<const N: usize>(members: [(&str, Option<Json>); N]) -> Json {
    Json::object(members.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect::<Vec<_>>())
}

fn error(error: &ErrorRecord) -> Json {
    known([
        ("reason", Some(Json::str(error.reason.as_str()))),
        ("message", Some(Json::str(error.message.as_str()))),
        ("hint", error.hint.as_deref().map(Json::str)),
        ("class", error.class.as_deref().map(Json::str)),
        ("status", error.status.map(|status| u32::from(status).into())),
        ("details", error.details.as_ref().map(JsonText::json)),
    ])
}

fn usage(step: &Step) -> Json {
    let usage = &step.usage;
    let tokens = usage.tokens.unwrap_or_default();
    let counted = |count: u64| usage.tokens.map(|_| count.into());
    known([
        ("duration_ms", Some(usage.duration_ms.into())),
        ("turns", Some(usage.turns.into())),
        ("fallback_used", step.from_turn.map(|_| true.into())),
        ("llm_requests", Some(usage.llm_requests.into())),
        ("input_tokens", counted(tokens.input)),
        ("output_tokens", counted(tokens.output)),
        ("total_tokens", counted(tokens.total())),
        ("cache_creation_tokens", tokens.cache_creation.map(Json::from)),
        ("cache_read_tokens", tokens.cache_read.map(Json::from)),
        ("cost", usage.cost.map(Json::from)),
        ("schema_used", Some(usage.schema_used.into())),
        ("schema_bytes", usage.schema_bytes.map(Json::from)),
        ("structured_output", usage.structured_output.map(|by| Json::str(by.name()))),
        ("system_prompt_tokens", usage.system_prompt_tokens.map(Json::from)),
        ("children", usage.children.as_ref().map(totals)),
    ])
}

fn totals(totals: &Totals) -> Json {
    known([
        ("turns", Some(totals.turns.into())),
        ("llm_requests", Some(totals.requests.into())),
        ("input_tokens", totals.tokens.map(|tokens| tokens.input.into())),
        ("output_tokens", totals.tokens.map(|tokens| tokens.output.into())),
        ("total_tokens", totals.tokens.map(|tokens| tokens.total().into())),
    ])
}

fn call(call: &CallEntry) -> Json {
    known([
        ("address", call.address.as_ref().map(|address| Json::str(address.as_str()))),
        ("name", Some(Json::str(call.name.as_str()))),
        ("kind", (!call.kind.is_empty()).then(|| Json::str(call.kind.as_str()))),
        ("args", Some(call.args.json())),
        ("status", call.status.map(|status| Json::str(status.name()))),
        ("result", call.result.as_ref().map(JsonText::json)),
        ("error", call.error.as_ref().map(error)),
        ("cached", Some(call.cached.into())),
        ("ms", Some(call.ms.into())),
    ])
}

fn compaction(done: &CompactionDone) -> Json {
    let counts = done.counts.iter().map(|(name, of)| (name.clone(), (*of).into()));
    Json::object([
        ("strategy", Json::str(done.strategy.as_str())),
        ("reason", Json::str(done.reason.as_str())),
        ("messages_before", done.messages_before.into()),
        ("messages_after", done.messages_after.into()),
        ("tokens_before", done.tokens_before.into()),
        ("tokens_after", done.tokens_after.into()),
        ("counts", Json::object(counts)),
    ])
}

/// A message as sent. Its `content` shows native calls as text; `tool_calls` holds them with their ids.
fn message(message: &SentMessage) -> Json {
    known([
        ("role", Some(Json::str(message.role.name()))),
        ("content", Some(Json::str(message.text()))),
        ("tool_calls", (!message.calls.is_empty()).then(|| Json::list(message.calls.iter().map(native_call)))),
        ("tool_call_id", message.answers.as_deref().map(Json::str)),
    ])
}

/// A call that a model asked for: arguments that are no JSON stay the text that came.
fn native_call(call: &NativeCall) -> Json {
    let args = json::parse(&call.args).unwrap_or_else(|_| Json::str(call.args.as_str()));
    Json::object([("id", Json::str(call.id.as_str())), ("name", Json::str(call.name.as_str())), ("args", args)])
}

fn turn(step: &Step, turn: &Turn) -> Json {
    let (system, others): (Vec<_>, Vec<_>) = step.sent(turn).partition(|message| message.role == Role::System);
    known([
        ("number", Some(turn.number.into())),
        ("type", turn.kind.as_deref().map(Json::str)),
        ("success", Some(turn.success.into())),
        ("reason", turn.reason.as_deref().map(Json::str)),
        ("system_prompt", system.first().map(|message| Json::str(message.text()))),
        ("messages", Some(Json::list(others.into_iter().map(message)))),
        ("raw_response", Some(Json::str(turn.raw_response.as_str()))),
        ("json", turn.json.clone()),
        ("program", turn.program.as_deref().map(Json::str)),
        ("result", turn.result.as_deref().map(Json::str)),
        (
            "prints",
            (!turn.prints.is_empty()).then(|| Json::list(turn.prints.iter().map(|text| Json::str(text.as_str())))),
        ),
        ("compaction", turn.compaction.as_ref().map(compaction)),
        ("fixes", Some(Json::list(turn.fixes.iter().map(|name| Json::str(name.as_str()))))),
        ("issues", Some(Json::list(turn.issues.iter().map(issue)))),
        ("feedback", turn.feedback.as_deref().map(Json::str)),
        ("error", turn.error.as_ref().map(error)),
        ("tokens", turn.tokens.as_ref().map(tokens)),
        ("cost", turn.cost.map(Json::from)),
        ("model", turn.model.as_deref().map(Json::str)),
        ("model_asked", turn.other_model.as_ref().map(|other| Json::str(other.asked.as_str()))),
        ("finish_reason", turn.finish_reason.as_deref().map(Json::str)),
        ("attempts", Some(turn.attempts.into())),
        ("latency_ms", Some(turn.latency_ms.into())),
        ("first_ms", turn.first_ms.map(Json::from)),
    ])
}

fn tokens(tokens: &Tokens) -> Json {
    known([
        ("input", Some(tokens.input.into())),
        ("output", Some(tokens.output.into())),
        ("cache_creation", tokens.cache_creation.map(Json::from)),
        ("cache_read", tokens.cache_read.map(Json::from)),
        ("reasoning", tokens.reasoning.map(Json::from)),
    ])
}

fn issue(issue: &IssueRecord) -> Json {
    Json::object([
        ("path", Json::str(issue.path.as_str())),
        ("severity", Json::str(issue.severity.as_str())),
        ("expected", Json::str(issue.expected.as_str())),
        ("got", Json::str(issue.got.as_str())),
        ("message", Json::str(issue.message.as_str())),
    ])
}
