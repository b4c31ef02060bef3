//! Playing a recorded session: event by event, turn by turn, or at its recorded speed.
//!
//! In: its events, the time. Out: how many of them are shown. It must never run anything.

use std::sync::Arc;

use crate::event::{Envelope, Event, Gaps};
use crate::tui::run_view::RunView;

/// A longer rest between two events is shortened to this.
const LONGEST_REST_MS: i64 = 5_000;

/// A session that is played.
#[derive(Debug, Clone)]
pub struct Scrub {
    events: Arc<[Envelope]>,
    /// For how long nothing ran before each event, in ms: that time is left out.
    gaps_ms: Arc<[i64]>,
    /// Events that are shown.
    pub at: usize,
    /// The speed as a multiple of the recorded one; `None` while paused.
    pub playing: Option<u32>,
    /// The speed while playing, also kept while paused.
    speed: u32,
    /// The recorded time that is shown, Unix time in ms.
    pub clock_ms: i64,
    /// Time of the last move of the clock, Unix time in ms.
    moved_ms: i64,
    /// The view on the screen before.
    pub before: Box<RunView>,
}

impl Scrub {
    /// Plays from the first event on.
    pub fn new(events: Arc<[Envelope]>, before: RunView, now_ms: i64) -> Self {
        let clock_ms = events.first().map_or(0, |event| event.at_ms);
        let before = Box::new(before);
        let mut gaps = Gaps::default();
        let gaps_ms = events.iter().map(|event| gaps.before(event)).collect();
        Self { events, gaps_ms, at: 0, playing: Some(1), speed: 1, clock_ms, moved_ms: now_ms, before }
    }

    /// All events.
    pub fn events(&self) -> &[Envelope] {
        &self.events
    }

    /// Plays, or is paused. At the end it plays from the start.
    pub fn toggle(&mut self, now_ms: i64) {
        self.moved_ms = now_ms;
        if self.playing.take().is_some() {
            return;
        }
        if self.at >= self.events.len() {
            self.seek(0);
        }
        self.playing = Some(self.speed);
    }

    /// Plays `speed` times as fast as recorded.
    pub fn play_at(&mut self, speed: u32, now_ms: i64) {
        self.speed = speed;
        self.playing = None;
        self.toggle(now_ms);
    }

    /// Shows the first `at` events.
    pub fn seek(&mut self, at: usize) {
        self.at = at.min(self.events.len());
        let shown = self.at.saturating_sub(1);
        self.clock_ms = self.events.get(shown).map_or(0, |event| event.at_ms);
    }

    /// The number of events up to the start of a turn near here: the one before when `by` is negative, else the one after.
    pub fn turn(&self, by: isize) -> usize {
        let starts = |event: &Envelope| matches!(event.event, Event::TurnStart(_));
        // The start of a turn is shown with it.
        let mut marks = self.events.iter().enumerate().filter(|(_, event)| starts(event)).map(|(at, _)| at + 1);
        if by < 0 {
            marks.take_while(|at| *at < self.at).last().unwrap_or(0)
        } else {
            marks.find(|at| *at > self.at).unwrap_or(self.events.len())
        }
    }

    /// Moves the clock; shows what has happened by then.
    pub fn tick(&mut self, now_ms: i64) {
        let Some(speed) = self.playing else { return };
        let passed = now_ms.saturating_sub(self.moved_ms).max(0).saturating_mul(i64::from(speed));
        self.moved_ms = now_ms;
        self.clock_ms = self.clock_ms.saturating_add(passed);
        while let Some((due_ms, gap_ms)) = self.next().filter(|(due_ms, _)| *due_ms <= self.clock_ms) {
            self.clock_ms = self.clock_ms.max(due_ms) + gap_ms;
            self.at += 1;
        }
        match self.next() {
            Some((due_ms, _)) => self.clock_ms = self.clock_ms.max(due_ms - LONGEST_REST_MS),
            None => self.playing = None,
        }
    }

    /// Returns the clock's time at which the next event is due, and the gap that the clock then skips, in ms.
    fn next(&self) -> Option<(i64, i64)> {
        let gap_ms = self.gaps_ms.get(self.at).copied().unwrap_or_default();
        self.events.get(self.at).map(|next| (next.at_ms - gap_ms, gap_ms))
    }

    /// Returns the time at which the next event is due, Unix time in ms; `None` while paused.
    pub fn due_ms(&self) -> Option<i64> {
        let speed = self.playing?;
        let rest = self.next().map_or(0, |(due_ms, _)| due_ms - self.clock_ms).max(0);
        Some(self.moved_ms + (rest / i64::from(speed.max(1))).max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Address, Notice, Resume};

    #[test]
    fn the_time_in_which_nothing_ran_is_omitted() {
        let at = |seq: u64, at_ms: i64, event: Event| Envelope { seq, at_ms, address: Address::run(0), event };
        let note = || Event::from(Notice::default());
        // It was resumed 18 seconds later and took 200 ms.
        let events = [at(1, 1_000, note()), at(2, 19_000, Resume::default().into()), at(3, 19_200, note())];
        let mut scrub = Scrub::new(events.into(), RunView::default(), 0);
        scrub.tick(0);
        assert_eq!((scrub.at, scrub.clock_ms, scrub.due_ms()), (2, 19_000, Some(200)));
        scrub.tick(200);
        assert_eq!((scrub.at, scrub.playing), (3, None));
    }
}
