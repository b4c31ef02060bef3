//! How far a turn is: shared by records and by the compact entries of a session's skeleton.

use crate::event::{ReplyEnd, ReplyStatus, TurnEnd};

/// How far a turn is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum TurnState {
    /// The request was made, nothing came yet.
    #[default]
    Waiting,
    /// The reply is arriving.
    Streaming,
    /// The reply is whole and being checked.
    Checking,
    /// It gave what was wanted.
    Succeeded,
    /// It did not.
    Failed,
}

impl TurnState {
    /// The state after the end of an attempt.
    pub fn after_reply(end: &ReplyEnd) -> Self {
        if end.status == ReplyStatus::Discarded { Self::Waiting } else { Self::Checking }
    }

    /// The state after the end of the turn.
    pub fn after_turn(end: &TurnEnd) -> Self {
        if end.success { Self::Succeeded } else { Self::Failed }
    }

    /// Has the turn ended?
    pub fn is_end(self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed)
    }

    /// Did the turn give what was wanted? `None` before its end.
    pub fn success(self) -> Option<bool> {
        self.is_end().then_some(self == Self::Succeeded)
    }
}
