//! The current state of the interface: active contexts, enabled actions and their names, the text that takes keys.

use super::saved::FOREIGN;
use super::{
    Asker, Model, Pane, Phase, Picks, Popup, SETTLE_MS, SMALLEST, Screen, TOAST_MS, TOUR, TWO_COLUMNS, Toast, Tone,
};
use crate::agent::Place;
use crate::replay::Policy;
use crate::tui::actions::{Action, ActionRow, Context};
use crate::tui::compare::Page;
use crate::tui::draft::Draft;
use crate::tui::inspector::{Focus, Step, Tab};
use crate::tui::sessions::SessionAction;
use crate::tui::traffic::{Step as TrafficStep, Writes};
use crate::tui::transcript::Transcript;

impl Model {
    /// Returns whether the screen is large enough to be used.
    pub fn fits(&self) -> bool {
        self.size.0 >= SMALLEST.0 && self.size.1 >= SMALLEST.1
    }

    /// Returns whether editors and run are shown side by side.
    pub fn wide(&self) -> bool {
        self.size.0 >= TWO_COLUMNS
    }

    /// The active contexts, the innermost first.
    pub fn contexts(&self) -> Vec<Context> {
        self.contexts_of(self.popups.last())
    }

    /// Returns whether the question on top can be answered: one that came by itself only after [`SETTLE_MS`] without a key.
    pub fn is_answerable(&self) -> bool {
        let is_over_text = self.is_over_text();
        let by_itself = |popup: &Popup| popup.opens_unrequested() || popup.is_of_run() && is_over_text;
        !self.popups.last().is_some_and(by_itself) || self.now_ms.saturating_sub(self.asked_ms) >= SETTLE_MS
    }

    /// Returns whether a question of the run that one letter answers is open over a text: its letters may be meant for the text.
    pub fn is_choice_over_text(&self) -> bool {
        self.is_over_text() && self.popups.last().is_some_and(|popup| popup.is_of_run() && popup.is_choice())
    }

    /// Returns whether text would be typed if the topmost popup were closed.
    pub fn is_over_text(&self) -> bool {
        self.popups.split_last().is_some_and(|(_, below)| self.draft_under(below).is_some())
    }

    /// The contexts that the help describes: the lower ones.
    pub fn contexts_under_help(&self) -> Vec<Context> {
        self.contexts_of(self.popups.iter().rev().find(|popup| !matches!(popup, Popup::Help { .. })))
    }

    fn contexts_of(&self, popup: Option<&Popup>) -> Vec<Context> {
        use Context as C;
        if let Some(Popup::Form(form, _)) = popup {
            return form.contexts();
        }
        match popup.map(Popup::context) {
            Some(C::Palette) => vec![C::Palette, C::Text, C::Always],
            Some(C::Seek) => vec![C::Seek, C::Text, C::Always],
            Some(C::TurnPrompt) => vec![C::TurnPrompt, C::Text, C::Always],
            Some(C::Find) => vec![C::Find, C::Text, C::Always],
            Some(C::SavePath) => vec![C::SavePath, C::Text, C::Always],
            Some(C::Preview) => vec![C::Preview, C::Reading, C::Always],
            Some(C::Differs) => vec![C::Differs, C::Reading, C::Always],
            Some(C::Answer) => vec![C::Answer, C::Lines, C::Text, C::Always],
            Some(other) => vec![other, C::Always],
            None => self.screen_contexts(),
        }
    }

    /// The contexts that are active when no popup is open.
    pub fn screen_contexts(&self) -> Vec<Context> {
        use Context as C;
        let Some(inspector) = &self.inspector else { return self.page_contexts() };
        match inspector.focus {
            Focus::Input => vec![C::Repl, C::Text, C::Global, C::Always],
            Focus::List | Focus::Part => vec![C::Inspector, C::Global, C::Always],
        }
    }

    /// Like `screen_contexts`, below the open inspector, if any.
    pub fn page_contexts(&self) -> Vec<Context> {
        use Context as C;
        match (self.screen, self.workbench.focus) {
            (Screen::Sessions, _) if self.sessions.scrub.is_some() => vec![C::Playing, C::Global, C::Always],
            (Screen::Sessions, _) if self.sessions.viewer.as_ref().is_some_and(|view| view.overview.is_open) => {
                vec![C::Overview, C::Viewer, C::Global, C::Always]
            }
            (Screen::Sessions, _) if self.sessions.viewer.is_some() => {
                vec![C::Viewer, C::Transcript, C::Global, C::Always]
            }
            (Screen::Sessions, _) if self.sessions.filtering => vec![C::Filter, C::Text, C::Global, C::Always],
            (Screen::Sessions, _) => vec![C::Sessions, C::Global, C::Always],
            (Screen::Compare, _) => self.compare.contexts(),
            (Screen::Tests, _) => vec![C::Tests, C::Global, C::Always],
            (Screen::Traffic, _) => vec![C::Traffic, C::Global, C::Always],
            (Screen::Candidates, _) if self.candidates.hunk_selection.is_some() => vec![C::Hunks, C::Global, C::Always],
            (Screen::Candidates, _) => vec![C::Candidates, C::Global, C::Always],
            (Screen::Workbench, Pane::Editor(_)) => vec![C::Editor, C::Lines, C::Text, C::Global, C::Always],
            (Screen::Workbench, Pane::Steps) => vec![C::Steps, C::Global, C::Always],
            (Screen::Workbench, Pane::Run) if self.shows_overview() => {
                vec![C::Overview, C::Runs, C::Global, C::Always]
            }
            (Screen::Workbench, Pane::Run) => vec![C::Runs, C::Transcript, C::Global, C::Always],
        }
    }

    /// Checks that an action is possible now. Errors: why not.
    pub fn enabled(&self, action: Action) -> Result<(), &'static str> {
        self.enabled_under(action, &self.popups)
    }

    /// Like `enabled`, with only these popups open.
    #[expect(clippy::too_many_lines, reason = "it is a table: what each action needs")]
    pub fn enabled_under(&self, action: Action, popups: &[Popup]) -> Result<(), &'static str> {
        let rule = |holds: bool, reason: &'static str| if holds { Ok(()) } else { Err(reason) };
        let in_field = self.draft_under(popups);
        match action {
            Action::Undo => {
                let is_input = popups.is_empty()
                    && self.inspector.is_none()
                    && self.screen == Screen::Workbench
                    && self.workbench.focus == Pane::Editor(Place::Context);
                let context = is_input && self.workbench.editor(Place::Context).draft.can_undo();
                rule(context || in_field.is_some_and(Draft::can_undo), "no change to undo")
            }
            Action::Redo => rule(in_field.is_some_and(Draft::can_redo), "no change to redo"),
            Action::Copy | Action::Cut => {
                rule(in_field.is_some_and(|draft| draft.selection().is_some()), "nothing is selected (Ctrl-Q quits)")
            }
            Action::Paste => {
                rule(!self.clipboard.is_empty(), "nothing was copied here; paste with your terminal's key")
            }
            Action::ExternalEditor => rule(
                self.inspector.is_none()
                    && self.screen == Screen::Workbench
                    && matches!(self.workbench.focus, Pane::Editor(_)),
                "no editor has the focus",
            ),
            Action::Save
            | Action::SaveAs
            | Action::Mode(_)
            | Action::ChooseModel
            | Action::FocusOn(_)
            | Action::Preview
            | Action::OpenAgent
            | Action::NewAgent
            | Action::InsertPrompt
            | Action::TakeAgent => self.enabled_for_draft(action),
            Action::ContextView => rule(
                self.workbench.focus == Pane::Editor(Place::Context) && self.workbench.pipeline.is_none(),
                "only for the inputs: focus their editor",
            ),
            Action::Fix => rule(self.workbench.fixable().is_some(), "no finding can be corrected with a key"),
            Action::Zoom => rule(
                self.screen == Screen::Workbench && self.inspector.is_none(),
                "only for the panes of the workbench",
            ),
            Action::NextTheme => rule(self.themes.len() > 1, "there are no colours here"),
            Action::FindNext | Action::FindPrevious | Action::Replace | Action::ReplaceEvery => {
                rule(matches!(popups.last(), Some(Popup::Find(find)) if !find.places.is_empty()), "no matches")
            }
            Action::ReplayLenient if self.replays_leniently(popups) => Err("every difference is listed here"),
            Action::OpenSession | Action::Replay | Action::ReplayLenient => self.enabled_for_session(action),
            Action::Against => rule(!self.workbench.preview.sent.is_empty(), "the draft has errors: no request yet"),
            Action::Failures | Action::Branches | Action::Filter | Action::Unlabelled => {
                rule(self.sessions.all.as_ref().is_none_or(|all| !all.is_empty()), "there are no sessions yet")
            }
            Action::Session(SessionAction::EditHere) if self.open_gate().is_some() => Ok(()),
            Action::Session(SessionAction::EditHere) if self.active_transcript().is_none_or(Transcript::is_empty) => {
                Err("nothing to show yet")
            }
            Action::Session(SessionAction::Suggest) if self.suggestions.current.is_some() => Ok(()),
            Action::Session(action) => self.enabled_for_saved(action),
            Action::CompareMarked => self.sessions.compared().map(|_| ()),
            Action::Original => super::saved::enabled_to_restore(popups),
            Action::PlayTurn(_)
            | Action::PlayStep(_)
            | Action::PlayEnd(_)
            | Action::PlaySpeed(_)
            | Action::PlayPause => rule(self.sessions.scrub.is_some(), "no session is being played"),
            Action::SendAnswer => {
                let is_choice = popups.last().is_some_and(Popup::is_choice);
                rule(!is_choice || self.is_choice_over_text(), "press the key of an option")
            }
            Action::SubmitDialog => super::saved::enabled_to_submit(popups),
            Action::ReadDown
            | Action::ReadUp
            | Action::ReadPageDown
            | Action::ReadPageUp
            | Action::ReadTop
            | Action::ReadBottom => rule(popups.is_empty() || self.popup_scrolls, "all of it is visible"),
            Action::Resume => self.enabled_to_resume(),
            action if action.is_search() => self.can_seek(action, popups),
            Action::Fold | Action::FoldAll | Action::CycleView | Action::Top | Action::Bottom => {
                rule(self.active_transcript().is_some_and(|transcript| !transcript.is_empty()), "nothing to show yet")
            }
            Action::Overview | Action::SwitchTurnList | Action::Turns(_) | Action::Failing(_) | Action::AskTurn(_) => {
                self.enabled_for_turns()
            }
            Action::OlderRun | Action::NewerRun | Action::CompareRuns | Action::AgainstSaved => {
                self.enabled_for_runs(action)
            }
            Action::Repl | Action::PromptGrowth if self.inspector.is_some() => Ok(()),
            Action::Inspect | Action::Repl | Action::PromptGrowth => {
                rule(self.active_transcript().and_then(Transcript::turn_in_hand).is_some(), "no turn has begun here")
            }
            Action::Inside(step) => self.enabled_inside(step),
            Action::FocusNext | Action::FocusPrevious => {
                let several = self.compare.page == Page::Sides && self.compare.sides.len() > 1;
                let side = self.screen == Screen::Compare && several;
                let pane = self.screen == Screen::Candidates && self.candidates.hunk_selection.is_none();
                let is_here = self.inspector.is_some() || self.screen == Screen::Workbench || side || pane;
                rule(is_here, "there is no other field")
            }
            Action::Sessions => {
                rule(self.screen != Screen::Sessions || self.sessions.viewer.is_some(), "already on this screen")
            }
            Action::Compare => rule(
                self.screen != Screen::Compare || self.compare.page != Page::Sides || self.compare.matrix.is_some(),
                "no matrix is open: `matrix` starts one",
            ),
            Action::BothModes => self.enabled_both_modes(),
            Action::FieldNext | Action::FieldPrevious => rule(
                matches!(popups.last(), Some(Popup::Form(form, _)) if form.fields.len() > 1),
                "there is no other field",
            ),
            Action::Comparing(step) => self.compare.enabled(step),
            Action::Tests => rule(self.workbench.pipeline.is_none(), "a pipeline has no cases; open one of its agents"),
            Action::Testing(step) => self.tests.enabled(step),
            Action::InTraffic(step) => self.enabled_in_traffic(step, popups),
            Action::InCandidates(step) => self.candidates.enabled(step),
            Action::Close => rule(
                !popups.is_empty()
                    || self.inspector.is_some()
                    || self.screen != Screen::Workbench
                    || self.searched()
                    || self.suggestions.current.is_some()
                    || self.overview_on_screen().is_some()
                    || self.is_run_page()
                    || self.workbench.running(),
                "nothing is open",
            ),
            Action::Quit => {
                let asks = matches!(popups.last(), Some(Popup::Leaving(_))) && self.workbench.unsaved();
                rule(!asks, "answer first: save, discard or stay")
            }
            Action::TakeFile(_) => rule(self.overwrites_own_file(popups), "it is the file of another agent"),
            Action::SaveAndQuit => rule(self.workbench.unsaved(), "there are no unsaved edits"),
            Action::Run => match self.workbench.run.as_ref().map(|run| run.phase) {
                Some(Phase::Stopping) => Err("the run is being stopped"),
                None | Some(Phase::Done) if self.screen == Screen::Traffic => {
                    Err("not from the traffic: go to the workbench first")
                }
                _ => Ok(()),
            },
            _ => Ok(()),
        }
    }

    /// Returns whether a transcript that has the focus shows the matches of a search.
    pub(super) fn searched(&self) -> bool {
        let here = self.screen_contexts().contains(&Context::Transcript);
        here && self.active_transcript().is_some_and(|transcript| !transcript.needle().is_empty())
    }

    fn enabled_inside(&self, step: Step) -> Result<(), &'static str> {
        let Some(inspector) = &self.inspector else { return Err("no turn is open") };
        let found = inspector.inspection();
        let (first, last) = found.map_or((0, 0), |found| found.facts.turns);
        let number = inspector.turn.turn_number().unwrap_or_default();
        let rule = |holds: bool, reason: &'static str| if holds { Ok(()) } else { Err(reason) };
        match step {
            Step::Difference if inspector.tab != Tab::Request => Err("only requests are compared"),
            Step::Difference => rule(number > first, "this is the first request of the run"),
            Step::Without if inspector.tab != Tab::Request => Err("only parts of a request are dropped"),
            Step::Without if self.is_foreign() => Err(FOREIGN),
            Step::Without if self.compare.runs() => {
                Err("runs are in progress side by side: wait for them, or stop them")
            }
            Step::Without => rule(
                inspector.parts(Tab::Request).iter().any(|part| part.place.is_some()),
                "no request was made in this turn",
            ),
            Step::NextTurn => rule(number < last, "this is the last turn of the run"),
            Step::PreviousTurn => rule(number > first, "this is the first turn of the run"),
            Step::Enter if inspector.entering().is_none() => Err("this part has no inner parts"),
            Step::Copy | Step::Enter => rule(inspector.entries() > 0, "there is nothing here"),
            Step::ShowAll => {
                rule(inspector.part().is_some_and(|part| part.is_cut), "the recording contains the whole value")
            }
            Step::Evaluate => rule(!inspector.repl.running, "the previous input is still running"),
            _ => Ok(()),
        }
    }

    /// Returns whether the report on top is that of a lenient replay, which continued to the end.
    fn replays_leniently(&self, popups: &[Popup]) -> bool {
        let policy = self.sessions.viewer.as_ref().and_then(|viewer| viewer.replay);
        matches!(popups.last(), Some(Popup::Differs(_))) && policy == Some(Policy::Lenient)
    }

    fn enabled_for_session(&self, action: Action) -> Result<(), &'static str> {
        if let Some(viewer) = &self.sessions.viewer {
            return match action {
                _ if viewer.phase != Phase::Done && viewer.replay.is_none() => {
                    Err("the session is still being recorded")
                }
                _ if viewer.phase != Phase::Done => Err("the replay has not ended"),
                Action::Replay | Action::ReplayLenient if viewer.key.is_none() => Err("no session is open"),
                Action::Replay | Action::ReplayLenient if self.is_foreign() => Err(FOREIGN),
                _ => Ok(()),
            };
        }
        match self.sessions.current() {
            // It is opened as soon as the search has ended.
            None if action == Action::OpenSession && self.sessions.is_stale() => Ok(()),
            None => Err(self.sessions.missing()),
            Some(session) if session.damage.is_some() && action != Action::OpenSession => Err("the session is damaged"),
            Some(session) if session.is_foreign && action != Action::OpenSession => Err(FOREIGN),
            Some(_) => Ok(()),
        }
    }

    /// Returns the current name of an action.
    #[expect(clippy::too_many_lines, reason = "a table: one arm for each title")]
    pub fn title(&self, row: &'static ActionRow) -> &'static str {
        let popup = self.popups.last();
        match row.action {
            Action::Run if self.workbench.run.as_ref().is_some_and(|run| run.question.is_some()) => "answer",
            Action::Run if self.workbench.running() && !self.workbench.has_returned() => "stop",
            Action::Run if self.screen != Screen::Workbench && self.workbench.pipeline.is_some() => "run pipeline",
            Action::Run if self.screen != Screen::Workbench => "run draft",
            Action::Workbench if self.screen == Screen::Workbench && self.workbench.focus == Pane::Run => {
                if self.workbench.pipeline.is_some() { "steps" } else { "editors" }
            }
            Action::Workbench if self.screen == Screen::Workbench && self.wide() => "run pane",
            Action::Workbench if self.screen == Screen::Workbench => "run page",
            Action::Save if self.changed_file().is_some() => "reload or merge",
            Action::Close if matches!(popup, Some(Popup::Answer { .. })) => "postpone",
            Action::Resume if self.has_ended() => "new message",
            Action::InTraffic(TrafficStep::Listen) if self.traffic.listens_at().is_some() => "end proxy",
            Action::InTraffic(TrafficStep::Listen) => "start proxy",
            Action::InTraffic(TrafficStep::Answer) => match popup {
                Some(Popup::Answer { asker: Asker::Held(asks), .. }) if asks.writes == Writes::Answer => "edit instead",
                _ => row.title,
            },
            Action::SendAnswer => match popup {
                Some(Popup::Answer { asker: Asker::Held(asks), .. }) => match asks.writes {
                    Writes::Request => "send it",
                    Writes::Reply => "pass it on",
                    Writes::Answer => "answer",
                },
                Some(popup) if popup.is_choice() => "focus question",
                Some(Popup::Answer { question, .. }) => match question.gate {
                    Some(gate) => gate.verb(),
                    None if question.address.is_question() => "send answer",
                    None => row.title,
                },
                _ => row.title,
            },
            Action::Close if matches!(popup, Some(Popup::Seek { .. })) => {
                let found = self.inspector.is_none()
                    && self.active_transcript().is_some_and(|transcript| transcript.found().1 > 0);
                if found { "keep the marks" } else { "close" }
            }
            Action::Close if popup.is_none() && self.suggestions.current.is_some() => "stop asking",
            Action::Session(SessionAction::Suggest) if self.suggestions.current.is_some() => "stop asking",
            Action::Close if popup.is_none() && self.inspector.is_none() && self.searched() => "clear search",
            Action::Close if popup.is_none() && self.inspector.is_none() && self.overview_on_screen().is_some() => {
                if self.filters_turns() {
                    "clear filter"
                } else {
                    "transcript"
                }
            }
            Action::Close if matches!(popup, Some(Popup::Leaving(_))) => "stay",
            Action::DiscardAndQuit if !self.workbench.unsaved() && !self.stops_by_leaving() => "leave",
            Action::DiscardAndQuit if !self.workbench.unsaved() => "stop and leave",
            Action::Close if matches!(popup, Some(Popup::Tour(_))) => "skip",
            Action::TourNext if matches!(popup, Some(Popup::Tour(step)) if step + 1 == TOUR.len()) => "done",
            Action::Close if matches!(popup, Some(Popup::Recovery(_))) => "decide later",
            Action::Close if popup.is_none() && self.inspector.is_some() => "back",
            Action::Close if matches!(popup, Some(Popup::Form(form, _)) if form.waiting.is_some()) => "give up",
            Action::FixApply => match popup {
                Some(Popup::Fixes { fixes: Picks::Failures(lines), selected, .. })
                    if lines.get(*selected).is_some_and(|line| !line.rest.is_empty()) =>
                {
                    "list them"
                }
                Some(Popup::Fixes { fixes: Picks::Failures(_) | Picks::Hits(_), .. }) => "go there",
                Some(Popup::Fixes { fixes: Picks::Question { .. }, .. }) => "ask",
                _ => row.title,
            },
            Action::SubmitDialog => match popup {
                Some(Popup::Form(form, _)) => form.verb,
                _ => row.title,
            },
            Action::Session(SessionAction::Mark) if self.sessions.is_place_marked() => "unmark",
            Action::Branches if self.sessions.flat => "branches",
            Action::Branches => "by time",
            Action::Close if popup.is_none() && self.screen == Screen::Sessions && self.sessions.filters() => {
                "clear search"
            }
            Action::Close if popup.is_none() && !matches!(self.screen, Screen::Workbench | Screen::Compare) => "back",
            Action::Close if popup.is_none() && self.screen == Screen::Compare => {
                if self.compare.page == Page::Sides && self.compare.runs() { "stop both" } else { "back" }
            }
            Action::Compare if self.screen == Screen::Compare && self.compare.page == Page::Sides => "matrix",
            Action::Compare if self.screen == Screen::Compare => "side by side",
            Action::FocusNext if self.screen == Screen::Compare => "next run",
            Action::FocusNext if self.screen == Screen::Candidates && self.inspector.is_none() => "next part",
            Action::Close if popup.is_none() && self.is_run_page() && !self.workbench.running() => "editors",
            Action::Close if popup.is_none() => "stop",
            Action::FocusNext if self.inspector.is_some() => "next tab",
            Action::FocusNext
                if popup.is_none()
                    && self.inspector.is_none()
                    && self.screen == Screen::Workbench
                    && self.workbench.focus == Pane::Run =>
            {
                if self.workbench.pipeline.is_some() {
                    "steps"
                } else {
                    "editors"
                }
            }
            Action::FocusPrevious if self.inspector.is_some() => "previous tab",
            Action::Inside(Step::Enter) => {
                self.inspector.as_ref().map_or(row.title, |inspector| inspector.entering().unwrap_or(row.title))
            }
            Action::Inside(Step::Difference) if self.inspector.as_ref().is_some_and(|open| open.difference) => "whole",
            _ => row.title,
        }
    }

    /// The keys that resume the session of a waiting run, from any screen.
    pub fn how_to_resume(&self) -> String {
        let (list, resume) = (self.keymap.first_name(Action::Sessions), self.keymap.first_name(Action::Resume));
        format!("{list}, then {resume} resumes it")
    }

    /// Returns whether the page of runs side by side is shown.
    pub(super) fn compares(&self) -> bool {
        self.screen == Screen::Compare && self.compare.page == Page::Sides
    }

    /// The text that keys are typed into.
    pub fn active_draft(&self) -> Option<&Draft> {
        self.draft_under(&self.popups)
    }

    fn draft_under<'a>(&'a self, popups: &'a [Popup]) -> Option<&'a Draft> {
        match popups.last() {
            Some(Popup::Palette { input, .. } | Popup::Turns { input, .. } | Popup::Seek { input }) => Some(input),
            Some(Popup::SavePath { field, .. }) => field.draft(),
            Some(Popup::Answer { editor, .. }) => Some(&editor.draft),
            Some(Popup::Find(find)) => Some(find.input()),
            Some(Popup::Form(form, _)) => form.draft(),
            Some(_) => None,
            None if self.inspector.is_some() => {
                self.inspector.as_ref().filter(|open| open.focus == Focus::Input).map(|open| &open.repl.input)
            }
            None if self.screen == Screen::Compare => {
                self.compare.form.draft().filter(|_| self.compare.page == Page::Form)
            }
            None if matches!(self.screen, Screen::Tests | Screen::Traffic | Screen::Candidates) => None,
            None if self.screen == Screen::Sessions => self.sessions.filtering.then_some(&self.sessions.filter),
            None => match self.workbench.focus {
                Pane::Editor(place) => Some(&self.workbench.edited(place).draft),
                Pane::Run | Pane::Steps => None,
            },
        }
    }

    /// The transcript that keys act on.
    pub fn active_transcript(&self) -> Option<&Transcript> {
        match self.screen {
            Screen::Workbench => self.workbench.run.as_ref().map(|run| &run.transcript),
            Screen::Sessions => self.sessions.viewer.as_ref().map(|run| &run.transcript),
            Screen::Tests | Screen::Traffic | Screen::Candidates => None,
            Screen::Compare => {
                let side = self.compare.sides.get(self.compare.column)?;
                side.run.as_ref().map(|run| &run.transcript).filter(|_| self.compare.shows_transcripts())
            }
        }
    }

    /// Shows a message in the footer.
    pub fn show_toast(&mut self, tone: Tone, text: impl Into<String>) {
        self.toast = Some(Toast { text: text.into(), tone, until_ms: self.now_ms + TOAST_MS });
    }
}
