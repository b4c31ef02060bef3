//! Saved sessions as the interface takes them.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use crate::event::{Address, Envelope, ErrorRecord, MessageLog};
use crate::session::{RunState, Session, Skeleton, Summary, TurnEntry, TurnState, summarize};
use crate::tui::backend::{
    Bodies, OpenSession, RunOutline, SentMessage, SessionKey, SessionStatus, SessionSummary, TurnOutline,
};
use crate::workbench::Definitions;

/// A line of the list.
pub(super) fn summary(summary: Summary) -> SessionSummary {
    SessionSummary {
        path: (!summary.example).then_some(summary.path),
        id: summary.id,
        started_ms: summary.created_ms,
        agent: summary.agent,
        mode: summary.mode,
        model: summary.model,
        turns: summary.turns,
        tokens: summary.tokens,
        cost: summary.cost,
        status: match summary.state {
            RunState::Open => SessionStatus::Open,
            RunState::Returned => SessionStatus::Ok,
            RunState::Failed => SessionStatus::Error,
        },
        task: summary.task,
        result: summary.result,
        parent: None,
        damage: summary.damage,
    }
}

/// A session with its turns in outline; the bodies stay in the file.
pub(super) fn open(key: &SessionKey, session: Session) -> OpenSession {
    let mut skeleton = Skeleton::default();
    let (mut definitions, mut replaced) = (Definitions::default(), HashMap::new());
    for place in 0..session.len() {
        if let Some(envelope) = session.event(place) {
            skeleton.apply(place, &envelope);
            let before = definitions.apply(&envelope);
            if !before.is_empty() {
                replaced.insert(envelope.address.clone(), before);
            }
        }
    }
    let runs = skeleton.runs.iter().map(|run| {
        // Without turns, what follows its start stands where the run ends.
        let first = run.turns.first().map_or(run.events.start + 1, |turn| turn.events.start);
        let last = run.turns.last().map_or(first, |turn| turn.events.end);
        // The events of agents below, and of branches beside, stand between.
        let of_run = |places: Range<usize>| {
            places.filter_map(|place| session.event(place)).filter(|envelope| envelope.run() == run.address).collect()
        };
        RunOutline {
            address: run.address.clone(),
            events: run.events.clone(),
            head: of_run(run.events.start..first),
            turns: run.turns.iter().map(|entry| turn(entry, &replaced)).collect(),
            tail: of_run(last..run.events.end),
            last_ms: run.last_ms,
        }
    });
    OpenSession {
        runs: runs.collect(),
        summary: summary(Summary { example: matches!(key, SessionKey::Example(_)), ..summarize(&session) }),
        bodies: Arc::new(Bodied { session, sent: OnceLock::new() }),
    }
}

fn turn(entry: &TurnEntry, replaced: &HashMap<Address, Vec<(String, String)>>) -> TurnOutline {
    TurnOutline {
        address: entry.address.clone(),
        events: entry.events.clone(),
        success: match entry.state {
            TurnState::Succeeded => Some(true),
            TurnState::Failed => Some(false),
            _ => None,
        },
        reason: entry.reason.clone(),
        elapsed_ms: entry.elapsed_ms(),
        tokens: entry.tokens,
        replaced: replaced.get(&entry.address).cloned().unwrap_or_default(),
    }
}

/// Reads bodies on demand; the messages of each run are collected once, when the first request is asked for.
struct Bodied {
    session: Session,
    sent: OnceLock<HashMap<Address, MessageLog>>,
}

fn messages(session: &Session) -> HashMap<Address, MessageLog> {
    let mut runs: HashMap<Address, MessageLog> = HashMap::new();
    for envelope in session.events() {
        runs.entry(envelope.run()).or_default().apply(&envelope);
    }
    runs
}

impl Bodies for Bodied {
    fn events(&self, places: Range<usize>) -> Result<Vec<Envelope>, ErrorRecord> {
        Ok(places.filter_map(|place| self.session.event(place)).collect())
    }

    fn request(&self, turn: &Address) -> Result<Vec<SentMessage>, ErrorRecord> {
        let sent = self.sent.get_or_init(|| messages(&self.session));
        let messages = sent.get(&turn.run_part()).and_then(|log| log.request(turn)).unwrap_or_default();
        Ok(messages.into_iter().map(|message| SentMessage { role: message.role, sections: message.parts }).collect())
    }
}
