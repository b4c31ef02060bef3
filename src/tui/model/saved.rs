//! The saved session that actions are about, and the actions that are possible with it now.

use super::{Asker, Model, Pane, Phase, Popup, Screen};
use crate::event::Address;
use crate::port::Question;
use crate::session::{RunState, Summary};
use crate::tui::actions::Action;
use crate::tui::overview::OverviewPane;
use crate::tui::sessions::{Purpose, SessionAction};
use crate::tui::traffic::{ProxyPhase, Step as TrafficStep};
use crate::tui::transcript::Transcript;

/// The reason why nothing of another program's session runs again.
pub(super) const FOREIGN: &str = "recorded by another program: it can be read and exported, but not run again";

impl Model {
    /// The saved session that actions are about: the run's on the workbench, else the opened or the selected one.
    pub fn saved_subject(&self) -> Option<&Summary> {
        match self.screen {
            Screen::Traffic => {
                let line = self.traffic.current()?;
                self.sessions.all.iter().flatten().find(|session| session.id == line.session)
            }
            Screen::Candidates => {
                let id = self.candidates.current_case()?.session.as_ref()?;
                self.sessions.all.iter().flatten().find(|session| session.id == *id)
            }
            Screen::Workbench | Screen::Tests => {
                let id = self.workbench.run.as_ref()?.session.as_ref()?;
                self.sessions.all.iter().flatten().find(|session| session.id == *id)
            }
            Screen::Sessions => self.sessions.subject(),
            Screen::Compare => {
                let name = &self.compare.sides.get(self.compare.column)?.name;
                self.sessions.all.iter().flatten().find(|session| session.id == *name || session.name() == *name)
            }
        }
    }

    /// Returns whether another program ran the session in hand, so that nothing of it runs again.
    pub(super) fn is_foreign(&self) -> bool {
        self.saved_subject().is_some_and(|session| session.is_foreign)
    }

    /// Returns whether the run of the shown session has ended, so that only a new message continues it.
    pub fn has_ended(&self) -> bool {
        let saved = self.saved_subject().map(|session| session.state != RunState::Open);
        saved.unwrap_or_else(|| self.awaits_listing() && !self.workbench.running())
    }

    pub(super) fn enabled_to_resume(&self) -> Result<(), &'static str> {
        match self.saved_subject() {
            _ if self.workbench.running() => Err("a run is in progress"),
            None if self.awaits_listing() => Ok(()),
            None if self.screen == Screen::Sessions && self.sessions.viewer.is_none() => Err(self.sessions.missing()),
            None => Err("no saved session is shown"),
            Some(session) if session.damage.is_some() => Err("the session is damaged"),
            Some(session) if session.is_foreign => Err(FOREIGN),
            Some(session) if session.state != RunState::Open => Ok(()),
            Some(session) if session.example => Err("examples are read-only"),
            Some(_) if self.screen == Screen::Workbench => Err("the run has not ended"),
            Some(_) => Ok(()),
        }
    }

    /// Returns whether the workbench's run is saved, and missing in the list that was read last.
    pub fn awaits_listing(&self) -> bool {
        let saved = self.workbench.run.as_ref().is_some_and(|run| run.session.is_some());
        self.screen == Screen::Workbench && saved && self.saved_subject().is_none()
    }

    /// The question of the workbench's run at the selected turn: an edit there continues in place.
    pub fn open_gate(&self) -> Option<Question> {
        let run = self.workbench.run.as_ref().filter(|_| self.screen == Screen::Workbench)?;
        let question = run.question.as_ref()?;
        let turn = question.address.turn_part();
        let here = self.selected_address().is_none_or(|at| at.turn_part() == turn);
        (question.gate.is_some() && here).then(|| question.clone())
    }

    /// Returns whether the overview is shown instead of the workbench's transcript.
    pub fn shows_overview(&self) -> bool {
        self.workbench.run.as_ref().is_some_and(|run| run.overview.is_open)
    }

    /// The overview that replaces the transcript on this screen.
    pub(super) fn overview_on_screen(&self) -> Option<&OverviewPane> {
        let view = match self.screen {
            Screen::Workbench => self.workbench.run.as_ref(),
            Screen::Sessions => self.sessions.viewer.as_ref(),
            _ => None,
        };
        view.map(|view| &view.overview).filter(|overview| overview.is_open)
    }

    /// Returns whether the open overview shows only some of the turns.
    pub(super) fn filters_turns(&self) -> bool {
        self.overview_on_screen().is_some_and(|overview| !overview.typed.is_empty())
    }

    /// Returns whether the run has the whole workbench, with the editors on the other page.
    pub(super) fn is_run_page(&self) -> bool {
        self.screen == Screen::Workbench && !self.wide() && self.workbench.focus == Pane::Run
    }

    /// Checks that the search action is possible now: in the help, the inspector or the transcript. Errors: why not.
    pub(super) fn can_seek(&self, action: Action, popups: &[Popup]) -> Result<(), &'static str> {
        let rule = |holds: bool, reason: &'static str| if holds { Ok(()) } else { Err(reason) };
        let transcript = self.active_transcript().filter(|transcript| !transcript.is_empty());
        let in_help = popups.iter().any(|popup| matches!(popup, Popup::Help { .. }));
        match action {
            Action::SeekRepeats => rule(self.inspector.is_none() && !in_help, "only in the search of a transcript"),
            Action::SeekList if in_help => Err("the help has no list of matches"),
            Action::SeekList if self.inspector.is_some() => {
                rule(self.inspector.as_ref().is_some_and(|open| !open.needle().is_empty()), "no search is active")
            }
            Action::SeekList if self.screen == Screen::Compare => Err("runs side by side are not searched"),
            _ if in_help => Ok(()),
            Action::Seek if !popups.is_empty() => Err("only the help is searched"),
            _ if self.inspector.is_some() => Ok(()),
            Action::Seek => rule(transcript.is_some(), "nothing to show yet"),
            _ => rule(transcript.is_none_or(|transcript| !transcript.needle().is_empty()), "no search is active"),
        }
    }

    /// Checks that there are turns to show. Errors: why not.
    pub(super) fn enabled_for_turns(&self) -> Result<(), &'static str> {
        match self.active_transcript() {
            _ if self.screen == Screen::Compare => Err("the runs side by side have no overview"),
            Some(transcript) if transcript.last_turn().is_some() => Ok(()),
            _ => Err("no turn has begun here"),
        }
    }

    /// The run, turn or call of the selected card.
    pub fn selected_address(&self) -> Option<Address> {
        self.active_transcript()?.selected_address()
    }

    /// Checks that the action on the traffic is possible now. Errors: why not.
    pub(super) fn enabled_in_traffic(&self, step: TrafficStep, popups: &[Popup]) -> Result<(), &'static str> {
        let rule = |holds: bool, reason: &'static str| if holds { Ok(()) } else { Err(reason) };
        let traffic = &self.traffic;
        let in_question = matches!(popups.last(), Some(Popup::Answer { asker: Asker::Held(_), .. }));
        match step {
            TrafficStep::Go(_) | TrafficStep::Open => rule(traffic.selected.is_some(), "there is no traffic yet"),
            TrafficStep::Listen => match traffic.phase {
                ProxyPhase::Starting => Err("the proxy is about to listen"),
                ProxyPhase::Ending => Err("the proxy is ending"),
                ProxyPhase::Off | ProxyPhase::Listening(_) => Ok(()),
            },
            TrafficStep::Pass | TrafficStep::Drop | TrafficStep::Answer => {
                let reason = if traffic.held.is_empty() {
                    "no held request or reply"
                } else {
                    "select the line of a held request or reply first"
                };
                rule(in_question || traffic.selected_held().is_some(), reason)
            }
            TrafficStep::EditAsAgent | TrafficStep::OtherModels
                if self.screen != Screen::Traffic && !self.is_foreign() =>
            {
                Err("not a captured session: use `edit its agent`")
            }
            TrafficStep::EditAsAgent if self.workbench.running() => Err("a run is in progress"),
            TrafficStep::OtherModels if self.compare.runs() => {
                Err("runs are in progress side by side: wait for them, or stop them")
            }
            TrafficStep::EditAsAgent | TrafficStep::OtherModels => {
                let view = match self.screen {
                    Screen::Traffic => traffic.view.as_ref(),
                    _ => self.sessions.viewer.as_ref(),
                };
                let is_known = view.is_some_and(|view| view.key.is_some() && view.transcript.last_turn().is_some());
                rule(is_known, "no request is shown")
            }
        }
    }

    pub(super) fn enabled_for_saved(&self, action: SessionAction) -> Result<(), &'static str> {
        use SessionAction as S;
        let Some(session) = self.saved_subject() else {
            if action.awaits_listing() && self.awaits_listing() {
                return Ok(());
            }
            return Err(match self.screen {
                Screen::Workbench | Screen::Tests if self.workbench.running() => "the run has not ended",
                Screen::Workbench | Screen::Tests => "no saved run is shown",
                Screen::Traffic => "open the conversation first",
                Screen::Sessions if self.sessions.viewer.is_some() => "the session is not in the list",
                Screen::Sessions => self.sessions.missing(),
                Screen::Compare | Screen::Candidates => "no session is selected",
            });
        };
        let starts = action.starts_run();
        let viewer = self.sessions.viewer.as_ref().filter(|_| self.screen == Screen::Sessions);
        let own = self.screen == Screen::Workbench;
        match action {
            // The run on the screen gives way to the one that begins at one of its turns.
            _ if starts && self.workbench.running() && !own => {
                Err("a run is in progress in the workbench: stop it first")
            }
            _ if starts && session.damage.is_some() => Err("the session is damaged"),
            _ if (starts || matches!(action, S::MakeCase | S::AddExample | S::Suggest)) && self.is_foreign() => {
                Err(FOREIGN)
            }
            S::Delete if session.example => Err("an example is a part of the program"),
            S::AddExample | S::Suggest if self.workbench.pipeline.is_some() => Err("a pipeline is edited in its file"),
            S::AddExample | S::Suggest if self.active_transcript().and_then(Transcript::turn_in_hand).is_none() => {
                Err("no turn has begun here")
            }
            S::Play if viewer.is_some_and(|viewer| viewer.phase != Phase::Done) => Err("the replay has not ended"),
            S::Tags | S::Note | S::Mark
                if viewer.is_some() && self.selected_address().is_some_and(|at| at.is_call()) =>
            {
                Err("calls cannot be marked; select their turn")
            }
            _ => Ok(()),
        }
    }

    /// The time that a transcript of the sessions screen shows: the recorded one while it is played, Unix time in ms.
    pub fn viewer_now_ms(&self) -> i64 {
        self.sessions.scrub.as_ref().map_or(self.now_ms, |scrub| scrub.clock_ms)
    }
}

/// Checks that the dialog on top can be confirmed. Errors: why not.
pub(super) fn enabled_to_submit(popups: &[Popup]) -> Result<(), &'static str> {
    match popups.last() {
        Some(Popup::Form(form, _)) => form.waiting.map_or(Ok(()), Err),
        _ => Err("no dialog is open"),
    }
}

/// Checks that there is a text to restore. Errors: why not.
pub(super) fn enabled_to_restore(popups: &[Popup]) -> Result<(), &'static str> {
    match popups.last() {
        Some(Popup::Form(form, Purpose::Fork(fork))) if form.field("text").is_some() => {
            fork.original(form).map(|_| ()).ok_or("the text is unchanged")
        }
        _ => Err("no earlier text to restore"),
    }
}
