//! The next time at which the clock must report: what on the screen changes with time alone.

use super::{CHORD_MS, Model, Phase, RunView, SETTLE_MS, Screen};
use crate::tui::compare::Page;
use crate::tui::sessions::scrub::Scrub;
use crate::tui::update::AUTOSCROLL_MS;

impl Model {
    /// The next time at which the clock must report, Unix time in ms; `None` while nothing waits for time.
    pub fn deadline_ms(&self) -> Option<i64> {
        let beat = self.beat_ms().map(|beat_ms| self.now_ms + beat_ms);
        let toast = self.toast.as_ref().map(|toast| toast.until_ms);
        let held = self.pointer.outside.map(|_| self.pointer.moved_ms.max(self.now_ms - 1_000) + AUTOSCROLL_MS);
        let begun = self.begun.map(|(_, since)| since + CHORD_MS).filter(|at| *at > self.now_ms);
        let unanswerable_until = (!self.is_answerable()).then(|| self.asked_ms + SETTLE_MS);
        let search = self.candidates.due_ms().filter(|_| self.screen == Screen::Candidates && self.inspector.is_none());
        let played = self.sessions.scrub.as_ref().and_then(Scrub::due_ms);
        let look = self.file_look_ms();
        [beat, toast, self.workbench.keep_at_ms, held, begun, unanswerable_until, played, search, look]
            .into_iter()
            .flatten()
            .min()
    }

    /// Returns the interval in which the clocks on the screen change, in ms: one second while only the user is awaited. `None` when none
    /// runs.
    pub fn beat_ms(&self) -> Option<i64> {
        let live = |run: &RunView| match (run.phase, &run.question) {
            (Phase::Done, _) => None,
            (_, Some(_)) => Some(1_000),
            // Between two requests of a program only the user's time passes.
            _ if run.replay.is_none() && self.traffic.follows(run) && !self.traffic.is_streaming() => Some(1_000),
            (_, None) => Some(100),
        };
        let suggestion = self.suggestions.current.as_ref().map(|_| 1_000);
        let shown = match self.screen {
            Screen::Workbench => self.workbench.run.as_ref().and_then(live),
            Screen::Sessions => self.sessions.viewer.as_ref().and_then(live),
            Screen::Tests | Screen::Candidates => None,
            Screen::Traffic => self.traffic.view.as_ref().and_then(live),
            Screen::Compare if self.compare.page != Page::Sides => None,
            Screen::Compare => self.compare.sides.iter().filter_map(|side| live(side.run.as_ref()?)).min(),
        };
        shown.into_iter().chain(suggestion).min()
    }
}
