//! Saved sessions as the interface takes them.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use crate::event::{Address, Envelope, ErrorRecord, Role};
use crate::session::{Marks, Session, Summary, summarize};
use crate::tui::backend::{Bodies, OpenSession, Origin, RunOutline, SentMessage, SessionKey, SessionSummary, Written};
use crate::workbench::Definitions;
use crate::workbench::format::{plural, size};

/// A line of the list.
pub(super) fn summary(summary: Summary) -> SessionSummary {
    SessionSummary {
        path: (!summary.example).then_some(summary.path),
        id: summary.id,
        started_ms: summary.created_ms,
        agent: summary.agent,
        mode: summary.mode,
        models: summary.models,
        turns: summary.turns,
        tokens: summary.tokens,
        cost: summary.cost,
        status: summary.state,
        task: summary.task,
        result: summary.result,
        parent: summary.parent.map(|parent| Origin {
            session: parent.session,
            kind: parent.kind.name().to_owned(),
            at: parent.at.unwrap_or_default(),
        }),
        damage: summary.damage,
        ..SessionSummary::default()
    }
}

/// The same with what a person wrote on it.
pub(super) fn summary_with(summary: Summary, marks: &Marks) -> SessionSummary {
    let mut line = self::summary(summary);
    for (at, mark) in marks.of_session(&line.id) {
        let written = Written {
            tags: mark.tags.iter().cloned().collect(),
            note: mark.note.clone().unwrap_or_default(),
            marked: mark.marked,
        };
        match at {
            None => line.written = written,
            Some(at) => line.written_below.push((at.clone(), written)),
        }
    }
    line
}

/// A session with its turns in outline; the bodies stay in the file.
pub(super) fn open(key: &SessionKey, session: Session) -> OpenSession {
    let skeleton = session.skeleton();
    let runs = skeleton.runs.iter().map(|run| {
        // Without turns, what follows its start stands where the run ends.
        let first = run.turns.first().map_or(run.events.start + 1, |turn| turn.events.range().start);
        let last = run.turns.last().map_or(first, |turn| turn.events.range().end);
        // The events of agents below, and of branches beside, stand between.
        let of_run = |places: Range<usize>| {
            places.filter_map(|place| session.event(place)).filter(|envelope| envelope.run() == run.address).collect()
        };
        RunOutline {
            address: run.address.clone(),
            events: run.events.clone(),
            head: of_run(run.events.start..first),
            turns: run.turns.clone(),
            tail: of_run(last..run.events.end),
            last_ms: run.last_ms,
            gap_ms: run.gap_ms,
            waits: run.waits_for.is_some(),
            bill: run.bill.clone(),
        }
    });
    let runs = runs.collect();
    let summary = summary(Summary { example: matches!(key, SessionKey::Example(_)), ..summarize(&session) });
    OpenSession { runs, summary, bodies: Arc::new(Bodied { session, replaced: OnceLock::new() }) }
}

/// Reads bodies on demand; what definitions replaced is collected once, when the first turn is read.
struct Bodied {
    session: Session,
    replaced: OnceLock<HashMap<Address, Vec<(String, String)>>>,
}

/// The values in short that each turn's definitions replaced. Only the lines that define something are read whole.
fn replaced(session: &Session) -> HashMap<Address, Vec<(String, String)>> {
    let mut places = Vec::new();
    session.visit(|place, line| {
        if matches!(&*line.k, "run.start" | "memory") {
            places.push(place);
        }
    });
    let (mut definitions, mut found) = (Definitions::default(), HashMap::new());
    for envelope in places.into_iter().filter_map(|place| session.event(place)) {
        let before = definitions.apply(&envelope);
        if !before.is_empty() {
            found.insert(envelope.address, before);
        }
    }
    found
}

/// A larger request is not read whole: it would fill the memory for one card.
const REQUEST_BYTES: u64 = 16_000_000;

impl Bodies for Bodied {
    fn replaced(&self, turn: &Address) -> Vec<(String, String)> {
        self.replaced.get_or_init(|| replaced(&self.session)).get(turn).cloned().unwrap_or_default()
    }

    fn events(&self, places: Range<usize>) -> Result<Vec<Envelope>, ErrorRecord> {
        Ok(places.filter_map(|place| self.session.event(place)).collect())
    }

    fn request(&self, turn: &Address) -> Result<Vec<SentMessage>, ErrorRecord> {
        let Some((_, places)) = self.session.request_indexes(turn) else { return Ok(Vec::new()) };
        let bytes = self.session.bytes_of(places.iter().copied());
        if bytes > REQUEST_BYTES {
            let text = format!("{} in {}: too large to show", plural(places.len() as u64, "event"), size(bytes));
            return Ok(vec![SentMessage { role: Role::User, sections: vec![("omitted".to_owned(), text)] }]);
        }
        let messages = self.session.request(turn).unwrap_or_default();
        Ok(messages.into_iter().map(|message| SentMessage { role: message.role, sections: message.parts }).collect())
    }
}
