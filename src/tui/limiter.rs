//! The frame limiter: when the next frame may be drawn. Pure; it reads no clock.

use std::time::Duration;

use tokio::time::Instant;

/// The shortest time between two frames: 60 a second.
pub const FRAME: Duration = Duration::from_nanos(16_666_667);

/// Remembers the last frame.
#[derive(Debug, Clone, Copy, Default)]
pub struct Limiter {
    last: Option<Instant>,
}

impl Limiter {
    /// When a frame asked for now may be drawn.
    pub fn due(&self, now: Instant) -> Instant {
        self.last.map_or(now, |last| (last + FRAME).max(now))
    }

    /// A frame was drawn.
    pub fn drawn(&mut self, at: Instant) {
        self.last = Some(at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_frame_is_due_at_once_and_the_next_after_a_sixtieth_of_a_second() {
        let now = Instant::now();
        let mut limiter = Limiter::default();
        assert_eq!(limiter.due(now), now);
        limiter.drawn(now);
        assert_eq!(limiter.due(now), now + FRAME);
        assert_eq!(limiter.due(now + FRAME * 3), now + FRAME * 3);
    }
}
