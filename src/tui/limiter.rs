//! The frame limiter: when the next frame may be drawn. Pure; it reads no clock.
//!
//! A user who presses a key waits for the frame; a reader of a stream does not. So typed text is drawn soon, and a stream leaves time for
//! it: both together stay below sixty frames a second.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

/// Maximum frames within any second.
const MOST: usize = 60;
/// Maximum frames within any second for background events; beyond it only typed text is drawn.
const BACKGROUND_INTERVAL: usize = 50;
/// The shortest time from one frame to the next that shows background events.
const BACKGROUND: Duration = Duration::from_millis(20);
/// The shortest time from one frame to the next that shows typed text.
const TYPED: Duration = Duration::from_millis(8);
const SECOND: Duration = Duration::from_secs(1);

/// Cause of a new frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum News {
    /// An event of a run, the clock or background work.
    Told,
    /// A key or the mouse.
    Typed,
}

/// Remembers the frames of the last second.
#[derive(Debug, Clone, Default)]
pub struct Limiter {
    drawn: VecDeque<Instant>,
}

impl Limiter {
    /// Returns the time at which a frame requested now may be drawn.
    pub fn due(&self, now: Instant, news: News) -> Instant {
        let (most, rest) = match news {
            News::Told => (BACKGROUND_INTERVAL, BACKGROUND),
            News::Typed => (MOST, TYPED),
        };
        let last = self.drawn.back().map(|last| *last + rest);
        let oldest = self.drawn.len().checked_sub(most).and_then(|at| self.drawn.get(at)).map(|at| *at + SECOND);
        [Some(now), last, oldest].into_iter().flatten().max().unwrap_or(now)
    }

    /// Records that a frame was drawn.
    pub fn drawn(&mut self, at: Instant) {
        if self.drawn.len() == MOST {
            self.drawn.pop_front();
        }
        self.drawn.push_back(at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_frame_is_due_at_once_and_typed_text_sooner_than_background_events() {
        let now = Instant::now();
        let mut limiter = Limiter::default();
        assert_eq!(limiter.due(now, News::Told), now);
        limiter.drawn(now);
        assert_eq!(limiter.due(now, News::Told), now + BACKGROUND);
        assert_eq!(limiter.due(now, News::Typed), now + TYPED);
        assert_eq!(limiter.due(now + SECOND, News::Told), now + SECOND);
    }

    /// A stream without end next to keys at this distance: the frames, and the longest that a key waited.
    fn played(every: Duration) -> (Vec<Instant>, Duration) {
        let start = Instant::now();
        let (mut limiter, mut frames, mut longest) = (Limiter::default(), Vec::new(), Duration::ZERO);
        let (mut now, mut key) = (start, start + every);
        while now < start + SECOND * 5 {
            let update_due = limiter.due(now, News::Told);
            let typed = limiter.due(key, News::Typed);
            now = if typed <= update_due { typed } else { update_due };
            if key <= now {
                longest = longest.max(now - key);
                key += every;
            }
            limiter.drawn(now);
            frames.push(now);
        }
        (frames, longest)
    }

    #[test]
    fn a_stream_and_keys_stay_under_sixty_frames_a_second_and_keys_hardly_wait() {
        for every_ms in [25, 33, 40, 90, 400] {
            let (frames, longest) = played(Duration::from_millis(every_ms));
            for frame in &frames {
                let within = frames.iter().filter(|other| **other >= *frame && **other < *frame + SECOND).count();
                assert!(within <= 61, "{within} frames in a second, a key every {every_ms} ms");
            }
            assert!(longest < Duration::from_millis(16), "a key waited {longest:?}, a key every {every_ms} ms");
        }
    }
}
