//! The order of the keys in the footer: what matters here comes first.
//!
//! In: the state of the screen, a row of the table of actions. Out: its place from the left. It must never decide what is possible.

use super::{Model, Pane, Popup, Screen, Toast};
use crate::tui::actions::{Action, ActionRow, Context};
use crate::tui::cases::Step as TestStep;
use crate::tui::direction::Direction;
use crate::tui::transcript::Transcript;

impl Model {
    /// Place of an action in the footer from the left: keys of the list come before those that run the draft, and after a failure those
    /// that lead to it come first.
    pub fn footer_place(&self, row: &ActionRow) -> u8 {
        let is_bare = self.popups.is_empty();
        let has_hunks = self.screen == Screen::Candidates && self.candidates.hunk_selection.is_some();
        match row.action {
            Action::Run if self.screen != Screen::Workbench || self.inspector.is_some() => 45,
            Action::Save if is_bare && self.changed_file().is_some() => 1,
            Action::Close if is_bare && self.suggestions.current.is_some() => 1,
            Action::FocusNext if self.inspector.is_some() && is_bare => 1,
            Action::Close if self.inspector.is_some() && is_bare => 4,
            Action::Close if !is_bare => 3,
            Action::Close if is_bare && self.searched() => 4,
            Action::Close if is_bare && self.filters_turns() => 2,
            Action::Close if self.screen == Screen::Sessions && is_bare && self.sessions.filters() => 2,
            Action::Close if self.screen == Screen::Sessions && is_bare => 8,
            Action::FocusNext if matches!(self.screen, Screen::Compare | Screen::Candidates) => 3,
            Action::BothModes if self.compares() && self.compare.sides.is_empty() => 1,
            Action::BothModes if self.screen == Screen::Compare => 11,
            Action::Close if self.screen == Screen::Compare && is_bare => 12,
            Action::Close if has_hunks && is_bare => 3,
            Action::Failing(Direction::Forward) if row.context == Context::Transcript && self.shows_failures() => 2,
            Action::Overview if row.context == Context::Transcript && self.shows_failures() => 4,
            // The overview's own keys come before those of the session.
            _ if row.context == Context::Viewer && self.shows_viewer_overview() => row.footer.saturating_add(20),
            _ => row.footer,
        }
    }

    /// Returns whether a row that has a place in the footer is useful in these contexts.
    pub fn belongs_in_footer(&self, row: &ActionRow, contexts: &[Context]) -> bool {
        let has = |context: Context| contexts.contains(&context);
        match row.action {
            Action::Workbench => self.switches_panes(),
            Action::Tests => self.screen != Screen::Tests,
            Action::Traffic => self.screen != Screen::Traffic,
            Action::Failing(_) => self.shows_failures(),
            Action::Bottom => self.active_transcript().is_some_and(|transcript| !transcript.follows()),
            Action::Testing(TestStep::Watch | TestStep::Edit) => self.tests.current().is_some(),
            // A correction is made in the editors.
            Action::Fix => self.screen == Screen::Workbench,
            // On every screen, in questions and in dialogs.
            Action::Help => matches!(self.popups.last(), None | Some(Popup::Answer { .. } | Popup::Form(..))),
            Action::Quit => !matches!(self.popups.last(), Some(Popup::Answer { .. } | Popup::Form(..))),
            Action::Undo => has(Context::Lines),
            // Enter does the same in a field of one line.
            Action::SubmitDialog if row.context == Context::Dialog => {
                !has(Context::Choice) && !has(Context::ListChoice) && !has(Context::OneLine)
            }
            _ => true,
        }
    }

    /// Returns whether the key of the workbench leads to something new: another screen, another page, or a run that has turns.
    fn switches_panes(&self) -> bool {
        let run = self.workbench.run.as_ref().filter(|run| !run.is_example);
        let has_turns = run.is_some_and(|run| run.transcript.last_turn().is_some());
        self.screen != Screen::Workbench || !self.wide() || has_turns && self.workbench.focus != Pane::Run
    }

    /// The message for the status line of the screen; a popup shows it instead of its own keys.
    pub fn screen_toast(&self) -> Option<&Toast> {
        self.toast.as_ref().filter(|_| self.popups.is_empty())
    }

    /// Returns whether the overview of an opened session is shown.
    fn shows_viewer_overview(&self) -> bool {
        let viewer = self.sessions.viewer.as_ref().filter(|_| self.screen == Screen::Sessions);
        viewer.is_some_and(|viewer| viewer.overview.is_open)
    }

    /// Returns whether the transcript that is shown contains a failure.
    fn shows_failures(&self) -> bool {
        self.active_transcript().is_some_and(Transcript::has_failures)
    }
}
