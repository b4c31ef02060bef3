//! The clock: asked once per turn. Replay answers from the recording.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::event::Address;

/// Tells the time of a turn.
pub trait Clock: Send + Sync {
    /// Unix time in ms for the turn (or run) at this address.
    fn now_ms(&self, at: &Address) -> i64;

    /// Turns left in the whole tree of agents at the start of the turn at this address. `counted` is what the run counts;
    /// branches that run at the same time count in any order, so that replay answers from the recording.
    fn tree_turns(&self, at: &Address, counted: u32) -> u32 {
        _ = at;
        counted
    }

    /// Turns of the whole tree that a resumed recording holds: they are used from the start, in whatever order branches make them again.
    fn turns_held(&self) -> u32 {
        0
    }

    /// Is this turn one of them?
    fn holds_turn(&self, turn: &Address) -> bool {
        _ = turn;
        false
    }

    /// Is this turn, or run, over in a recording? Then what took too long is recorded, and nothing takes too long now.
    fn is_over(&self, at: &Address) -> bool {
        _ = at;
        false
    }

    /// Milliseconds that the tree of agents has waited for persons before the turn at this address. `counted` is what this process
    /// counts; a recording knows what others counted.
    fn waited_ms(&self, at: &Address, counted: u64) -> u64 {
        _ = at;
        counted
    }
}

/// The machine's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl SystemClock {
    /// Unix time in ms.
    pub fn now(self) -> i64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    }
}

impl Clock for SystemClock {
    fn now_ms(&self, _: &Address) -> i64 {
        self.now()
    }
}
