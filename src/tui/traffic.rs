//! The state of the traffic screen: the proxy, its conversations, what waits at its gates, the conversation that is shown. Plain data.
//!
//! In: updates of the traffic, choices of the reader. Out: which sessions are followed. It must never read a file.

use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;
use std::sync::Arc;

use ratatui::layout::Rect;

use super::direction::Leap;
use super::editor::Editor;
use super::run_view::{Phase, RunView};
use crate::event::{Envelope, ErrorRecord, Event};
use crate::proxy::{
    ConversationLine, ConversationState, HeldExchange, HeldForm, HeldSide, ProxySpec, TrafficUpdate, UnrecordedRequest,
    Verdict,
};
use crate::workbench::{RunEnding, SessionKey};

/// Conversations that are listed; the oldest that have ended leave first.
const MOST_LINES: usize = 2_000;

/// Requests that are not recorded: as many of the last are shown.
const UNRECORDED_MAX: usize = 8;

/// A move or a choice on the traffic screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is described by its row in the table of actions")]
pub enum Step {
    Go(Leap),
    Open,
    Listen,
    Pass,
    Drop,
    Answer,
    EditAsAgent,
    OtherModels,
}

/// Something that is to be done with the traffic.
#[derive(Debug, Clone, PartialEq)]
pub enum TrafficRequest {
    /// Start the proxy; answers [`TrafficResponse::Started`].
    Start(Box<ProxySpec>),
    /// End it; answers [`TrafficResponse::Ended`].
    End,
    /// Follow the events of this session and of no other, and read those that it has; answers [`TrafficResponse::Read`].
    Follow(String),
    /// Decide about an exchange that waits.
    Decide(u64, Verdict),
}

/// The response to a [`TrafficRequest`], or what happened to the traffic.
#[derive(Debug)]
pub enum TrafficResponse {
    /// The proxy listens, or why not.
    Started(Result<ProxyFacts, String>),
    /// It has ended: what happened to the traffic until then, and how many requests were not recorded where recordings answer.
    Ended(Vec<TrafficUpdate>, usize),
    /// The traffic has changed.
    Updates(Vec<TrafficUpdate>),
    /// The events of a session so far.
    Read(String, Result<(SessionKey, Arc<[Envelope]>), ErrorRecord>),
}

/// A proxy that listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProxyFacts {
    /// The address at which it listens.
    pub address: SocketAddr,
    /// Its upstreams with their addresses.
    pub upstreams: Vec<String>,
    /// The variables that point a program to it.
    pub variables: Vec<(&'static str, String)>,
}

/// State of the proxy.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ProxyPhase {
    /// There is none.
    #[default]
    Off,
    /// It is about to listen.
    Starting,
    /// It listens.
    Listening(ProxyFacts),
    /// Its last requests are waited for.
    Ending,
}

/// A row of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TrafficRow {
    /// An exchange that waits, by its number.
    Held(u64),
    /// A conversation, by its session.
    Conversation(String),
}

/// The conversation that is followed.
#[derive(Debug, Clone, Default)]
pub struct FollowedConversation {
    /// The id of its session.
    pub session: String,
    /// The number of the last event that is shown.
    last_seq: u64,
    /// Events that came before the earlier ones were read.
    early: Option<Vec<Envelope>>,
}

/// A question about an exchange that waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeldQuestion {
    /// Its number.
    pub id: u64,
    /// The text that the user writes.
    pub writes: Writes,
    /// Form of the text.
    pub form: HeldForm,
    /// It was not opened by the user.
    pub is_unrequested: bool,
}

/// The text that a user writes about a held exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Writes {
    /// The request.
    Request,
    /// The reply.
    Reply,
    /// A reply instead of the model's.
    Answer,
}

/// Unfinished texts about a held exchange: the edit of its request or reply, and the answer in the model's place.
#[derive(Debug, Clone, Default)]
pub struct UnfinishedTexts {
    edit: Option<Box<Editor>>,
    answer: Option<Box<Editor>>,
    /// The answer was written last.
    is_answered: bool,
}

impl UnfinishedTexts {
    /// Keeps a text. One that was written last is shown first when the question is opened again; an empty answer is not.
    pub fn keep(&mut self, writes: Writes, editor: Box<Editor>) {
        self.is_answered = writes == Writes::Answer && !editor.draft.text().trim().is_empty();
        *self.place(writes) = Some(editor);
    }

    /// Takes the kept text, if there is one.
    pub fn take(&mut self, writes: Writes) -> Option<Box<Editor>> {
        self.place(writes).take()
    }

    /// Returns whether the answer in the model's place was written last.
    pub fn is_answered(&self) -> bool {
        self.is_answered
    }

    /// The texts that the user typed.
    pub fn typed(&self) -> impl Iterator<Item = &str> {
        self.edit.iter().chain(&self.answer).filter_map(|editor| typed(editor))
    }

    fn place(&mut self, writes: Writes) -> &mut Option<Box<Editor>> {
        match writes {
            Writes::Request | Writes::Reply => &mut self.edit,
            Writes::Answer => &mut self.answer,
        }
    }
}

/// The text of an editor, if the user typed in it.
pub fn typed(editor: &Editor) -> Option<&str> {
    Some(editor.draft.text()).filter(|text| editor.draft.version() > 0 && !text.trim().is_empty())
}

/// The traffic screen.
#[derive(Debug, Clone, Default)]
pub struct Traffic {
    /// Definition of the proxy, running or to be started.
    pub spec: ProxySpec,
    /// State of the proxy.
    pub phase: ProxyPhase,
    /// Its conversations, the newest first.
    pub lines: Vec<ConversationLine>,
    /// Held exchanges, the oldest first.
    pub held: Vec<Arc<HeldExchange>>,
    /// Unfinished texts for held exchanges whose question was opened and postponed, by number.
    pub aside: HashMap<u64, UnfinishedTexts>,
    /// The selected row.
    pub selected: Option<TrafficRow>,
    /// Rows that are scrolled out of sight: those below the pinned ones.
    pub top: usize,
    /// Rows of held exchanges that are always visible, above the scrolled ones.
    pub pinned: usize,
    /// Area of the rows.
    pub area: Rect,
    /// Area of the conversation.
    pub view_area: Rect,
    /// The conversation that is followed.
    pub followed: Option<FollowedConversation>,
    /// Its cards, unless it is opened.
    pub view: Option<RunView>,
    /// It was opened from here: closing it leads back.
    pub opened: bool,
    /// The last requests that were not recorded, the newest first.
    pub unrecorded: VecDeque<UnrecordedRequest>,
    /// Number of all requests that were not recorded.
    pub unrecorded_count: u64,
    /// Error that prevents writing sessions.
    pub problem: Option<String>,
}

impl Traffic {
    /// All rows: what waits, then the conversations.
    pub fn rows(&self) -> impl Iterator<Item = TrafficRow> {
        let held = self.held.iter().map(|held| TrafficRow::Held(held.id));
        held.chain(self.lines.iter().map(|line| TrafficRow::Conversation(line.session.clone())))
    }

    /// Returns the row that a line of the list shows.
    pub fn row_of_line(&self, line: usize) -> usize {
        if line < self.pinned { line } else { line + self.top }
    }

    /// Scrolls a list of this many lines so that the selected row is visible. Held exchanges take up to half of the lines and stay there.
    pub fn scroll_to_selected(&mut self, lines: usize) {
        self.pinned = self.held.len().min(lines / 2);
        let (selected, last) = (self.selected_row().unwrap_or(0), self.rows().count().saturating_sub(lines));
        self.top = match selected.checked_sub(self.pinned) {
            None => 0,
            Some(below) => self.top.min(last).clamp((selected + 1).saturating_sub(lines), below),
        };
    }

    /// Numbers of rows above and below the visible ones, in a list of this many lines.
    pub fn hidden_rows(&self, lines: usize) -> (usize, usize) {
        (self.top, self.rows().count().saturating_sub(self.top + lines))
    }

    /// The number of the selected row.
    pub fn selected_row(&self) -> Option<usize> {
        let selected = self.selected.as_ref()?;
        self.rows().position(|row| row == *selected)
    }

    /// The selected exchange that waits.
    pub fn selected_held(&self) -> Option<&Arc<HeldExchange>> {
        match &self.selected {
            Some(TrafficRow::Held(id)) => self.held(*id),
            _ => None,
        }
    }

    /// An exchange that waits.
    pub fn held(&self, id: u64) -> Option<&Arc<HeldExchange>> {
        self.held.iter().find(|held| held.id == id)
    }

    /// The selected conversation.
    pub fn current(&self) -> Option<&ConversationLine> {
        match &self.selected {
            Some(TrafficRow::Conversation(session)) => self.lines.iter().find(|line| line.session == *session),
            _ => None,
        }
    }

    /// Returns the address at which the proxy listens; `None` while it does not.
    pub fn listens_at(&self) -> Option<SocketAddr> {
        match &self.phase {
            ProxyPhase::Listening(facts) => Some(facts.address),
            ProxyPhase::Off | ProxyPhase::Starting | ProxyPhase::Ending => None,
        }
    }

    /// Returns whether the followed conversation waits for a reply or receives one.
    pub fn is_streaming(&self) -> bool {
        let line = self.followed.as_ref().and_then(|followed| self.line(&followed.session));
        line.is_some_and(|line| matches!(line.state, ConversationState::Asked | ConversationState::Streams))
    }

    fn line(&self, session: &str) -> Option<&ConversationLine> {
        self.lines.iter().find(|line| line.session == session)
    }

    /// Takes the state of a conversation.
    pub fn take_line(&mut self, line: ConversationLine) {
        if let Some(known) = self.lines.iter_mut().find(|known| known.session == line.session) {
            *known = line;
            return;
        }
        // Ids begin with the time.
        let at = self.lines.partition_point(|known| known.session > line.session);
        self.lines.insert(at, line);
        if self.lines.len() > MOST_LINES
            && let Some(oldest) = self.lines.iter().rposition(|line| line.state == ConversationState::Ended)
        {
            self.lines.remove(oldest);
        }
    }

    /// Takes requests that were not recorded, the oldest first.
    pub fn take_unrecorded(&mut self, lines: Vec<UnrecordedRequest>, count: u64) {
        for line in lines {
            self.unrecorded.push_front(line);
        }
        self.unrecorded.truncate(UNRECORDED_MAX);
        self.unrecorded_count = count;
    }

    /// Forgets the requests that another proxy did not record.
    pub fn forget_unrecorded(&mut self) {
        (self.unrecorded, self.unrecorded_count) = (VecDeque::new(), 0);
    }

    /// Follows a conversation from now on.
    pub fn follow(&mut self, session: &str) {
        self.followed =
            Some(FollowedConversation { session: session.to_owned(), last_seq: 0, early: Some(Vec::new()) });
        let view = RunView { phase: Phase::Running, session: Some(session.to_owned()), ..RunView::default() };
        self.view = Some(view);
    }

    /// Returns whether a view shows the followed conversation.
    pub fn follows(&self, view: &RunView) -> bool {
        self.followed.as_ref().is_some_and(|followed| Some(&followed.session) == view.session.as_ref())
    }

    /// Returns whether a view shows the followed conversation, opened.
    pub fn is_opened(&self, view: &RunView) -> bool {
        self.opened && self.follows(view)
    }

    /// Takes a live event; returns those that are to be shown now.
    pub fn take_event(&mut self, session: &str, envelope: Envelope) -> Option<Envelope> {
        let followed = self.followed.as_mut().filter(|followed| followed.session == session)?;
        match &mut followed.early {
            Some(early) => {
                early.push(envelope);
                None
            }
            None => followed.pass(envelope),
        }
    }

    /// Takes the events that the session had; returns those that are to be shown now.
    pub fn take_read(&mut self, session: &str, read: &[Envelope]) -> Vec<Envelope> {
        let Some(followed) = self.followed.as_mut().filter(|followed| followed.session == session) else {
            return Vec::new();
        };
        let early = followed.early.take().unwrap_or_default();
        read.iter().cloned().chain(early).filter_map(|envelope| followed.pass(envelope)).collect()
    }
}

impl FollowedConversation {
    /// An event, unless it is shown already.
    fn pass(&mut self, envelope: Envelope) -> Option<Envelope> {
        if envelope.seq <= self.last_seq {
            return None;
        }
        self.last_seq = envelope.seq;
        Some(envelope)
    }
}

/// Shows an event of a conversation.
pub fn show_event(view: &mut RunView, envelope: &Envelope) {
    view.transcript.apply(envelope);
    if matches!(envelope.event, Event::RunEnd(_)) {
        view.phase = Phase::Done;
        view.ended = Some(RunEnding::Run);
        view.transcript.close();
    }
}

impl HeldQuestion {
    /// The question about an exchange as it came.
    pub fn of(held: &HeldExchange) -> Self {
        let writes = match held.side {
            HeldSide::Request => Writes::Request,
            HeldSide::Reply => Writes::Reply,
        };
        Self { id: held.id, writes, form: held.form, is_unrequested: false }
    }

    /// Returns the verdict for a written text: a body that is hidden or unchanged is passed on.
    pub fn verdict(self, held: &HeldExchange, text: String) -> Verdict {
        match self.writes {
            Writes::Answer => Verdict::Answer(text),
            Writes::Request | Writes::Reply if self.form == HeldForm::Hidden || text == held.text => Verdict::Pass,
            Writes::Request | Writes::Reply => Verdict::Edited(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Address, Notice, NoticeLevel};

    fn event(seq: u64) -> Envelope {
        let notice = Notice { level: NoticeLevel::Info, text: seq.to_string() };
        Envelope { seq, at_ms: 1, address: Address::run(0), event: notice.into() }
    }

    fn numbers(events: &[Envelope]) -> Vec<u64> {
        events.iter().map(|event| event.seq).collect()
    }

    #[test]
    fn each_event_of_a_followed_session_is_shown_once_whichever_way_it_comes_first() {
        let mut traffic = Traffic::default();
        traffic.follow("one");
        assert!(traffic.take_event("one", event(3)).is_none(), "what was before it is not here");
        assert!(traffic.take_event("other", event(1)).is_none());
        let shown = traffic.take_read("one", &[event(1), event(2), event(3)]);
        assert_eq!(numbers(&shown), [1, 2, 3]);
        assert!(traffic.take_event("one", event(3)).is_none());
        assert_eq!(traffic.take_event("one", event(4)).map(|event| event.seq), Some(4));
    }

    #[test]
    fn events_that_the_file_did_not_have_yet_follow_those_that_it_had() {
        let mut traffic = Traffic::default();
        traffic.follow("one");
        for seq in [2, 3] {
            assert!(traffic.take_event("one", event(seq)).is_none());
        }
        assert_eq!(numbers(&traffic.take_read("one", &[event(1), event(2)])), [1, 2, 3]);
        traffic.follow("two");
        assert!(traffic.take_read("one", &[event(1)]).is_empty(), "another one is followed by now");
    }
}
