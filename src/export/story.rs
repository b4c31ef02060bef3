//! The content of exports: the runs of a session in the order in which they started, each with its Step and its record.
//!
//! In: events after redaction. Out: [`Run`]s. It must never decide what an event means: records do.

use std::collections::HashMap;

use ptc_core::value::Json;

use crate::agent::{SentRequest, Step, StepFold, Usage};
use crate::event::{Address, Envelope, ModelRecord, OwnUsage, SentMessage, Spending, TotalUsage, elapsed_ms, in_order};
use crate::model::OtherModel;
use crate::record::{CallRecord, RunRecord, TurnRecord};

/// Input of an export: a session's events after redaction, and their source.
#[derive(Debug, Clone, Default)]
pub struct Content {
    /// The session's id.
    pub session: String,
    /// Creation time, Unix time in ms.
    pub created_ms: i64,
    /// Name and version of the program that recorded it.
    pub program: String,
    /// Source of an imported session.
    pub imported: Option<String>,
    /// Source of a session that was captured and not imported: `requests to openai`.
    pub captured: Option<String>,
    /// Description of the parts that could not be read.
    pub damage: Option<String>,
    /// The events in order.
    pub events: Vec<Envelope>,
}

/// One run.
#[derive(Debug, Default)]
pub(super) struct Run {
    pub(super) step: Step,
    fold: StepFold,
}

/// Start and end, Unix time in ms.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) from_ms: i64,
    pub(super) to_ms: i64,
}

impl Run {
    /// Takes the next event of this run.
    pub(super) fn apply(&mut self, envelope: &Envelope) {
        self.fold.apply(envelope);
    }

    /// Makes its Step, from its events and the usage of all runs of the session.
    pub(super) fn finish(&mut self, session: &str, owns: &[(Address, OwnUsage)]) {
        self.step = self.fold.step();
        self.step.session = Some(session.to_owned());
        // The fold of a run takes no events of its child runs here.
        let within = owns.iter().filter(|(address, _)| address.is_within(&self.fold.record().address));
        self.step.usage.total = TotalUsage::of_runs(within.map(|(_, own)| own.clone()));
    }

    /// The agent's name.
    pub(super) fn name(&self) -> &str {
        &self.record().start.agent.name
    }

    /// Returns the record of its events.
    pub(super) fn record(&self) -> &RunRecord {
        self.fold.record()
    }

    /// Its turns in order.
    pub(super) fn turns(&self) -> impl Iterator<Item = &TurnRecord> {
        self.record().begun_turns()
    }

    /// The model that was asked at a turn.
    pub(super) fn asked<'a>(&'a self, turn: &'a TurnRecord) -> &'a ModelRecord {
        let by = turn.last_end().and_then(|end| end.by.as_deref());
        by.unwrap_or(&self.record().start.model)
    }

    /// The messages that a turn sent, the system text first.
    pub(super) fn sent<'a>(&'a self, turn: &'a TurnRecord) -> impl Iterator<Item = &'a SentMessage> {
        in_order(&self.record().messages, &turn.sent)
    }

    /// The request of a turn as it was sent.
    pub(super) fn request(&self, turn: &TurnRecord) -> SentRequest {
        SentRequest::of(self.sent(turn))
    }

    /// Tokens and cost of all attempts of a turn.
    pub(super) fn spending(&self, turn: &TurnRecord) -> Spending {
        turn.spending(&self.record().start.model)
    }

    /// Its inputs, with the edits of a fork.
    pub(super) fn context(&self) -> Json {
        self.fold.inputs().map_or_else(|| self.record().start.context.json(), |inputs| inputs.context.clone())
    }

    /// Names of the models that answered.
    pub(super) fn models(&self) -> String {
        self.record().ledger.names()
    }

    /// The model that answered last.
    pub(super) fn last_model(&self) -> &ModelRecord {
        self.record().ledger.model()
    }

    /// Returns its start and its end; without an end, its last event.
    pub(super) fn span(&self) -> Span {
        Span { from_ms: self.record().started_ms, to_ms: self.record().last_ms }
    }

    /// Returns the time from its start to its end without pauses, in ms; without an end, to its last event with them.
    pub(super) fn took_ms(&self) -> u64 {
        let Span { from_ms, to_ms } = self.span();
        if self.fold.is_complete() { self.step.usage.duration_ms } else { elapsed_ms(from_ms, to_ms) }
    }
}

/// Tokens and cost of a run as names with values; those of the run alone have names of their own where it has child runs.
pub(super) fn usage_facts(usage: &Usage) -> Vec<(&'static str, String)> {
    let facts = |spending: &Spending, names: [&'static str; 2]| {
        let tokens = spending.tokens.map(|tokens| format!("{} in, {} out", tokens.input, tokens.output));
        let cost = spending.cost().map(|cost| format!("{cost:.6}"));
        names.into_iter().zip([tokens, cost]).filter_map(|(name, value)| Some((name, value?)))
    };
    let (total, own): (&Spending, &Spending) = (&usage.total, &usage.own);
    let own = (own != total).then(|| facts(own, ["own tokens", "own cost"]));
    facts(total, ["tokens", "cost"]).chain(own.into_iter().flatten()).collect()
}

/// Returns the span from the request of a turn to the end of its last attempt; without a request, the span of all events of the turn.
pub(super) fn reply_span(turn: &TurnRecord) -> Span {
    let (from_ms, to_ms) = turn.asked_ms.unwrap_or((turn.first_ms, turn.last_ms));
    Span { from_ms, to_ms }
}

/// The tool calls of a turn, those of parallel branches in the order of the branches.
pub(super) fn calls(turn: &TurnRecord) -> Vec<&CallRecord> {
    let mut calls: Vec<&CallRecord> = turn.calls.iter().collect();
    calls.sort_by(|one, other| one.address.cmp(&other.address));
    calls
}

/// Returns the span of a call.
pub(super) fn call_span(call: &CallRecord) -> Span {
    Span { from_ms: call.started_ms, to_ms: call.ended_ms.unwrap_or(call.started_ms) }
}

/// Definitions that a turn made: names with values as PTC-Lisp text.
pub(super) fn definitions(turn: &TurnRecord) -> impl Iterator<Item = (&str, &str)> {
    let change = turn.memory.as_ref().filter(|change| !change.rolled_back);
    change.into_iter().flat_map(|change| change.set.iter().map(|(name, value)| (name.as_str(), value.text())))
}

/// Notices about a turn: another model that answered, what was noted, events of unknown kinds.
pub(super) fn notices(turn: &TurnRecord) -> Vec<String> {
    let other = OtherModel::of_turn(turn).map(|other| other.to_string()).into_iter();
    let noted = turn.notices.iter().map(|notice| notice.text.clone());
    let unknown = turn.unknown.iter().map(|unknown| format!("{}: {}", unknown.kind, unknown.data.get()));
    other.chain(noted).chain(unknown).collect()
}

/// The runs of a session in the order in which they started, child runs included.
pub(super) fn runs(content: &Content) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    let mut places: HashMap<Address, usize> = HashMap::new();
    for envelope in &content.events {
        let address = envelope.run();
        let place = *places.entry(address).or_insert_with(|| {
            runs.push(Run::default());
            runs.len() - 1
        });
        runs[place].apply(envelope);
    }
    let owns: Vec<(Address, OwnUsage)> =
        runs.iter().map(|run| (run.record().address.clone(), run.record().ledger.own())).collect();
    for run in &mut runs {
        run.finish(&content.session, &owns);
    }
    runs
}

/// The child runs of this run.
pub(super) fn child_runs<'r>(runs: &'r [Run], above: &'r Run) -> impl Iterator<Item = &'r Run> {
    let above = &above.record().address;
    runs.iter().filter(move |run| run.record().address.child_of(above).as_ref() == Some(&run.record().address))
}

/// The root runs.
pub(super) fn roots(runs: &[Run]) -> impl Iterator<Item = &Run> {
    runs.iter().filter(|run| run.record().address == run.record().address.root())
}
