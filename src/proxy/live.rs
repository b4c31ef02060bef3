//! The traffic as a screen follows it while it passes: a line for each conversation, the events of those that are shown.
//!
//! In: what the recorder writes. Out: updates to drain. Lines are joined by conversation and events are kept only of the sessions that are
//! shown, so that a slow screen costs little memory. It must never make the recorder wait.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use super::hold::{HeldExchange, Holds};
use super::unrecorded::UnrecordedRequest;
use crate::event::{Envelope, Tokens};

/// Requests that are not recorded: as many of them wait for a slow screen.
const UNRECORDED_MAX: usize = 64;

/// State of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ConversationState {
    /// A request was sent, and nothing of its reply is here.
    #[default]
    Asked,
    /// Its reply comes.
    Streams,
    /// The last request was answered.
    Answered,
    /// The last request was not.
    Failed,
    /// No request came for a while, or the proxy ended.
    Ended,
}

/// A conversation, for a list.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ConversationLine {
    /// The id of its session.
    pub session: String,
    /// The program that asks, as it names itself.
    pub client: String,
    /// Name of the upstream.
    pub upstream: String,
    /// The model that was asked first; `other requests` where none is asked.
    pub model: String,
    /// The beginning of the last text of its user, in one line; empty where there is none.
    pub user_text: String,
    /// Requests so far.
    pub turns: u32,
    /// Its state.
    pub state: ConversationState,
    /// Tokens of all replies, as the service counted them.
    pub tokens: Option<Tokens>,
    /// Cost of all replies in dollars, where the price is known.
    pub cost: Option<f64>,
    /// From the last request to the first byte of its reply, in ms.
    pub first_ms: Option<u64>,
    /// Requests that failed.
    pub errors: u32,
    /// Problem of its last request, if that failed.
    pub problem: Option<String>,
    /// Unix time of its last request, in ms.
    pub at_ms: i64,
}

/// Something that happened to the traffic.
#[derive(Debug, Clone)]
pub enum TrafficUpdate {
    /// A conversation began or changed.
    Conversation(Box<ConversationLine>),
    /// An event of a session that is shown, by the session's id.
    Event(String, Box<Envelope>),
    /// All requests and replies that wait for the user, the oldest first.
    Held(Vec<Arc<HeldExchange>>),
    /// Requests that were not recorded: the last ones, the oldest first, and how many there were in all.
    Unrecorded(Vec<UnrecordedRequest>, u64),
    /// Sessions cannot be written, with the error; or can be written again.
    Problem(String),
}

#[derive(Debug, Default)]
struct PendingUpdates {
    lines: HashMap<String, ConversationLine>,
    events: Vec<(String, Envelope)>,
    problems: Vec<String>,
    unrecorded: VecDeque<UnrecordedRequest>,
    unrecorded_count: u64,
    shown: HashSet<String>,
}

/// The link between a proxy and a screen. Clones are the same link.
#[derive(Debug, Clone, Default)]
pub struct LiveTraffic {
    pending: Arc<Mutex<PendingUpdates>>,
    changed: Arc<Notify>,
    holds: Holds,
}

impl LiveTraffic {
    /// A link without traffic.
    pub fn new() -> Self {
        let changed = Arc::<Notify>::default();
        Self { pending: Arc::default(), holds: Holds::new(Arc::clone(&changed)), changed }
    }

    /// Returns the gates, with the exchanges that wait for the user.
    pub fn holds(&self) -> &Holds {
        &self.holds
    }

    /// The sessions whose events are wanted from now on. Earlier events are in their files.
    pub fn show(&self, sessions: impl IntoIterator<Item = String>) {
        let mut pending = self.lock();
        pending.shown = sessions.into_iter().collect();
        let PendingUpdates { events, shown, .. } = &mut *pending;
        events.retain(|(session, _)| shown.contains(session));
    }

    /// The updates since the last call.
    pub fn drain(&self) -> Vec<TrafficUpdate> {
        let mut pending = self.lock();
        let lines = std::mem::take(&mut pending.lines).into_values().map(Box::new).map(TrafficUpdate::Conversation);
        let mut updates: Vec<TrafficUpdate> = lines.collect();
        let events = std::mem::take(&mut pending.events).into_iter();
        updates.extend(events.map(|(session, event)| TrafficUpdate::Event(session, Box::new(event))));
        updates.extend(std::mem::take(&mut pending.problems).into_iter().map(TrafficUpdate::Problem));
        let (unrecorded, count) = (std::mem::take(&mut pending.unrecorded), pending.unrecorded_count);
        updates.extend((!unrecorded.is_empty()).then(|| TrafficUpdate::Unrecorded(unrecorded.into(), count)));
        drop(pending);
        updates.extend(self.holds.take_changed().map(TrafficUpdate::Held));
        updates
    }

    /// Resolves when there may be something to drain.
    pub async fn changed(&self) {
        self.changed.notified().await;
    }

    pub(super) fn line(&self, line: ConversationLine) {
        self.lock().lines.insert(line.session.clone(), line);
        self.changed.notify_one();
    }

    pub(super) fn is_shown(&self, session: &str) -> bool {
        self.lock().shown.contains(session)
    }

    pub(super) fn event(&self, session: &str, envelope: Envelope) {
        let mut pending = self.lock();
        if pending.shown.contains(session) {
            pending.events.push((session.to_owned(), envelope));
            self.changed.notify_one();
        }
    }

    /// Reports a request that was not recorded.
    pub(super) fn unrecorded(&self, line: UnrecordedRequest) {
        let mut pending = self.lock();
        pending.unrecorded_count += 1;
        if pending.unrecorded.len() == UNRECORDED_MAX {
            pending.unrecorded.pop_front();
        }
        pending.unrecorded.push_back(line);
        self.changed.notify_one();
    }

    /// Reports a problem of recording.
    pub fn problem(&self, text: String) {
        self.lock().problems.push(text);
        self.changed.notify_one();
    }

    fn lock(&self) -> MutexGuard<'_, PendingUpdates> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Address, Notice, NoticeLevel};

    fn line(session: &str, turns: u32) -> ConversationLine {
        ConversationLine {
            session: session.to_owned(),
            upstream: "openai".to_owned(),
            model: "m".to_owned(),
            turns,
            at_ms: 1,
            ..ConversationLine::default()
        }
    }

    fn event(seq: u64) -> Envelope {
        let notice = Notice { level: NoticeLevel::Info, text: "a".to_owned() };
        Envelope { seq, at_ms: 1, address: Address::run(0), event: notice.into() }
    }

    #[test]
    fn a_slow_screen_gets_the_last_line_of_each_conversation_and_all_events_of_what_it_shows() {
        let live = LiveTraffic::new();
        live.show(["one".to_owned()]);
        for turns in 1..=3 {
            live.line(line("one", turns));
            live.event("one", event(u64::from(turns)));
            live.event("two", event(u64::from(turns)));
        }
        let updates = live.drain();
        let lines: Vec<u32> = updates
            .iter()
            .filter_map(|update| match update {
                TrafficUpdate::Conversation(line) => Some(line.turns),
                _ => None,
            })
            .collect();
        let events: Vec<u64> = updates
            .iter()
            .filter_map(|update| match update {
                TrafficUpdate::Event(session, event) if session == "one" => Some(event.seq),
                TrafficUpdate::Event(..) => Some(0),
                _ => None,
            })
            .collect();
        assert_eq!((lines, events), (vec![3], vec![1, 2, 3]));
        assert!(live.drain().is_empty());
    }
}
