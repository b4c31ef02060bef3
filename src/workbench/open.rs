//! A saved session as a reader shows it: its runs in outline, the bodies of turns on demand.
//!
//! In: a session. Out: an [`OpenSession`], and from its [`TurnReader`] one [`TurnBody`] at a time. It must never read the whole file into
//! memory.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use ptc_core::reasons::Reason;

use super::format::{plural, size};
use super::{Definitions, OpenError, Workbench};
use crate::agent::Ruling;
use crate::event::{Address, Envelope, ErrorRecord, Role, RunLedger, SentMessage, SentPart, Source};
use crate::session::{Session, SessionKey, Summary, TurnEntry, summarize};

/// A larger request is not read whole: it would fill the memory for one card.
const REQUEST_BYTES: u64 = 16_000_000;

/// A saved session whose turns are not read yet.
#[derive(Debug, Clone)]
pub struct OpenSession {
    /// Its line in the list.
    pub summary: Summary,
    /// Its runs.
    pub runs: Vec<RunOutline>,
    /// Reads the turns.
    pub turns: Arc<TurnReader>,
    /// Rulings on the session, oldest first.
    pub rulings: Vec<Ruling>,
}

/// A run of a saved session.
#[derive(Debug, Clone, PartialEq)]
pub struct RunOutline {
    /// Its address.
    pub address: Address,
    /// Places of its events in the session, from its start to its last.
    pub events: Range<usize>,
    /// Events before the first turn: `run.start` and what follows.
    pub head: Vec<Envelope>,
    /// Its turns.
    pub turns: Vec<Arc<TurnEntry>>,
    /// Events after the last turn: `run.end`, notices.
    pub tail: Vec<Envelope>,
    /// Unix time in ms of its last event.
    pub last_ms: i64,
    /// Time in it in which nothing ran, in ms.
    pub gap_ms: i64,
    /// It waits for input.
    pub waits: bool,
    /// The models that answered, and the usage of all attempts.
    pub ledger: RunLedger,
}

/// The body of a turn as read from a file.
#[derive(Debug, Clone, Default)]
pub struct TurnBody {
    /// Its events.
    pub events: Vec<Envelope>,
    /// The messages that were sent; `None` when no request was made.
    pub request: Option<Vec<SentMessage>>,
    /// Values in short that its definitions replaced, by name.
    pub replaced: Vec<(String, String)>,
}

/// Reads the turns of a saved session.
#[derive(Debug)]
pub struct TurnReader {
    session: Session,
    /// Values that the definitions of each turn replaced; collected once, when the first turn is read.
    replaced: OnceLock<HashMap<Address, Vec<(String, String)>>>,
}

impl Workbench {
    /// Opens a session to be read turn by turn.
    pub fn open(&self, key: &SessionKey) -> Result<OpenSession, OpenError> {
        let session = self.open_found(key)?;
        let runs = session.skeleton().runs.iter().map(|run| {
            // Without turns, what follows its start is where the run ends.
            let first = run.turns.first().map_or(run.events.start + 1, |turn| turn.events.range().start);
            let last = run.turns.last().map_or(first, |turn| turn.events.range().end);
            // The events of child runs and of parallel branches are between them.
            let of_run = |places: Range<usize>| {
                let events = places.filter_map(|place| session.event(place));
                events.filter(|envelope| envelope.run() == run.address).collect()
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
                ledger: run.ledger.clone(),
            }
        });
        let runs = runs.collect();
        let summary = match key {
            SessionKey::File(_) => summarize(&session),
            SessionKey::Example(id) => {
                Summary { example: true, path: format!("{id}.jsonl").into(), ..summarize(&session) }
            }
        };
        let rulings = self.rulings_on(key).into_iter().map(|ruled| ruled.ruling).collect();
        Ok(OpenSession { summary, runs, rulings, turns: Arc::new(TurnReader { session, replaced: OnceLock::new() }) })
    }
}

impl TurnReader {
    /// Reads the body of a turn whose events are at these places.
    ///
    /// Errors: none of the events can be read any more.
    pub fn read(&self, turn: &Address, places: Range<usize>) -> Result<TurnBody, ErrorRecord> {
        let (expected, events) = (!places.is_empty(), self.events(places));
        if expected && events.is_empty() {
            let message = format!("the events of {turn} cannot be read from {}", self.session.path.display());
            return Err(ErrorRecord::new(Reason::SessionUnreadable, message));
        }
        let replaced = self.replaced.get_or_init(|| replaced(&self.session)).get(turn).cloned();
        Ok(TurnBody { events, request: self.request(turn), replaced: replaced.unwrap_or_default() })
    }

    /// Reads the events at these places.
    pub fn events(&self, places: Range<usize>) -> Vec<Envelope> {
        places.filter_map(|place| self.session.event(place)).collect()
    }

    /// Rebuilds the messages sent in a turn.
    fn request(&self, turn: &Address) -> Option<Vec<SentMessage>> {
        let (_, places) = self.session.request_indexes(turn)?;
        let bytes = self.session.bytes_of(places.iter().copied());
        if bytes <= REQUEST_BYTES {
            return self.session.request(turn);
        }
        let text = format!("{} in {}: too large to show", plural(places.len() as u64, "event"), size(bytes));
        let parts = vec![SentPart::Text { section: "omitted".to_owned(), text }];
        Some(vec![SentMessage { m: 0, role: Role::User, source: Source::Prompt, parts }])
    }
}

/// Returns the values in short that each turn's definitions replaced. Only the lines that define something are read whole.
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
