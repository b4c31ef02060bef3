//! The text of a reply as it arrives: deltas are merged into parts before they are recorded.
//!
//! In: deltas with their times. Out: parts, each complete when another kind follows, when it is full, or when its time is over.

use std::time::Duration;

use tokio::time::Instant;

use crate::event::{PartKind, ReplyPart, StructuredBy};

/// Deltas are merged for at most this time, in ms.
pub const PART_MS: u64 = 50;
/// Deltas are merged up to this size, in bytes.
pub const PART_BYTES: usize = 16 * 1024;

/// The part that is not recorded yet, and the times of the attempt.
pub(super) struct Parts {
    pub(super) pending: Option<ReplyPart>,
    /// The time at which it is recorded.
    pub(super) due: Instant,
    pub(super) attempt_started: (u32, Instant),
    pub(super) first_ms: Option<u64>,
    /// The way in which the schema of the last attempt is sent.
    pub(super) structured_by: Option<StructuredBy>,
}

impl Parts {
    pub(super) fn new() -> Self {
        let now = Instant::now();
        Self { pending: None, due: now, attempt_started: (1, now), first_ms: None, structured_by: None }
    }

    /// Restarts the clock of an attempt, so that a wait before it does not count as time of the model.
    pub(super) fn restart(&mut self, attempt: u32) {
        (self.attempt_started, self.first_ms) = ((attempt, Instant::now()), None);
    }

    /// Takes a delta; returns the part that is complete because of it.
    pub(super) fn take(&mut self, attempt: u32, kind: PartKind, text: &str) -> Option<ReplyPart> {
        let now = Instant::now();
        if self.attempt_started.0 != attempt {
            self.attempt_started = (attempt, now);
            self.first_ms = None;
        }
        let ms = since(self.attempt_started.1, now);
        self.first_ms.get_or_insert(ms);
        let same = |part: &ReplyPart| {
            part.attempt == attempt && part.kind == kind && part.text.len() + text.len() <= PART_BYTES
        };
        let full = match &self.pending {
            Some(part) if !same(part) => self.pending.take(),
            _ => None,
        };
        let part = self.pending.get_or_insert_with(|| {
            self.due = now + Duration::from_millis(PART_MS);
            ReplyPart { attempt, kind, text: String::new(), lens: Vec::new(), ms: Vec::new() }
        });
        part.text.push_str(text);
        part.lens.push(u32::try_from(text.len()).unwrap_or(u32::MAX));
        part.ms.push(u32::try_from(ms).unwrap_or(u32::MAX));
        full
    }
}

fn since(start: Instant, now: Instant) -> u64 {
    u64::try_from(now.duration_since(start).as_millis()).unwrap_or(u64::MAX)
}
