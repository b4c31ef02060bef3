//! A run, or an opened session, as the screens show it: its cards, how far it is, what it asks. Plain data.

use super::editor::Editor;
use super::overview::OverviewPane;
use super::transcript::Transcript;
use crate::event::{Envelope, Event};
use crate::port::Question;
use crate::replay::Policy;
use crate::workbench::{OpenSession, RunEnding, SessionKey};

/// A run or an opened session.
#[derive(Debug, Clone, Default)]
pub struct RunView {
    /// Its cards.
    pub transcript: Transcript,
    /// Its turns, one line each.
    pub overview: OverviewPane,
    /// State of the run.
    pub phase: Phase,
    /// The name of the session it lies in.
    pub session: Option<String>,
    /// State of the file of the session.
    pub file: SessionFile,
    /// Key that opens the saved session.
    pub key: Option<SessionKey>,
    /// Damage of the saved session: what could not be read.
    pub damage: Option<String>,
    /// Its end, in addition to its events.
    pub ended: Option<RunEnding>,
    /// The user is asked.
    pub question: Option<Question>,
    /// Text of the last question, and the byte at which its new part begins.
    pub asked: (String, usize),
    /// Text was typed next to the run since it began, or since its last question was opened by hand.
    pub typed_since_start: bool,
    /// The reply that was being written when the question was postponed.
    pub begun_reply: Option<Box<Editor>>,
    /// It was started as a replay, which does this about a difference.
    pub replay: Option<Policy>,
    /// It waits for a user, in its session.
    pub waits: bool,
    /// State of its last event.
    pub last_event: LastEvent,
    /// It is a recorded run of an example, to look at before the first run.
    pub is_example: bool,
}

/// State of the file of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SessionFile {
    /// It takes the events as they come.
    #[default]
    Written,
    /// It cannot be written: events are only in memory.
    Unwritten,
}

impl SessionFile {
    /// The state in which events are only in memory, or not.
    pub fn of(is_unwritten: bool) -> Self {
        if is_unwritten { Self::Unwritten } else { Self::Written }
    }
}

/// The last event of a run, after which its session is completed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LastEvent {
    /// It has not come.
    #[default]
    Expected,
    /// It has come.
    Came,
    /// It has come, and the draft is to run when the session is complete.
    RunsAgain,
    /// It has come, and the run is to be compared with the one before it when the session is complete.
    Compares,
}

/// State of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Phase {
    /// Requested, without an event yet.
    Starting,
    /// Continuing.
    Running,
    /// Asked to stop.
    Stopping,
    /// Over, or a saved session.
    #[default]
    Done,
}

impl RunView {
    /// Notes whether its last event has come.
    pub fn note_end(&mut self, envelope: &Envelope) {
        match envelope.event {
            Event::RunEnd(_) if envelope.address.depth() == 0 => self.last_event = LastEvent::Came,
            Event::RunStart(_) => self.last_event = LastEvent::Expected,
            _ => {}
        }
    }

    /// A run that was asked for.
    pub fn starting() -> Self {
        Self { phase: Phase::Starting, ..Self::default() }
    }

    /// Returns whether the run is in progress. After its last event a run only closes its session, which leaving the program waits for.
    pub fn is_in_progress(&self) -> bool {
        self.phase != Phase::Done && self.transcript.facts.end.is_none()
    }

    /// A saved session to read.
    pub fn of_session(session: &OpenSession) -> Self {
        Self {
            transcript: Transcript::of_session(session),
            session: Some(session.summary.name()),
            key: Some(session.summary.key()),
            damage: session.summary.damage.clone(),
            waits: session.runs.iter().any(|run| run.waits),
            ..Self::default()
        }
    }
}
