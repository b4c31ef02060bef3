//! The state of the whole interface, as plain data. Views read it, `update` changes it, nothing else does.

use std::path::Path;

use ratatui::layout::{Position, Rect};

use super::candidates::Candidates;
use super::cases::TestBoard;
use super::compare::Compare;
use super::draft::Draft;
use super::inspector::Inspector;
use super::keys::Keymap;
use super::message::Slot;
use super::recovery::{Recovery, SavedReply};
use super::sessions::Purpose;
use super::theme::Theme;
use super::traffic::Traffic;
use super::unconfirmed_texts::UnconfirmedTexts;
use crate::agent::{Diagnostic, DraftTexts, Place};
use crate::config::{Notify, TurnList};
use crate::port::{Breakpoint, Gate, Question};
use crate::workbench::{AgentFile, DraftSummary, OpenAgent, PipelineOutline};

mod deadline;
mod draft_runs;
mod editors;
mod file_watch;
mod find;
mod footer;
mod inputs;
mod now;
mod pointer;
mod popup;
mod suggestions;
mod tour;

pub use super::editor::Editor;
pub use super::menu::Menu;
pub use super::run_view::{LastEvent, Phase, RunView, SessionFile};
pub use draft_runs::{DraftRun, DraftRuns, MOST_RUNS, draft_difference, summarize_difference};
pub use editors::{PLACES, RECOVERED, first_place, place_language, place_name, texts_of};
pub use file_watch::FileWatch;
pub use find::{Find, FindField};
pub use inputs::{ContextView, InputField, InputKind, Inputs};
pub use pointer::{Pointer, Sweep};
pub use popup::{
    AfterSave, Against, Asker, FailureLine, HitLine, LeaveAction, Picks, Popup, REFUSALS, SaveWhat, failure_lines,
};
pub use suggestions::{PendingSuggestion, Suggestions};
pub use tour::TOUR;
mod saved;
mod sessions;

pub(super) use sessions::SEARCHING;
pub use sessions::{Differs, Search, Sessions, status_mark};

/// The smallest usable screen.
pub const SMALLEST: (u16, u16) = (40, 10);
/// From this width on, editors and run are shown side by side.
pub const TWO_COLUMNS: u16 = 100;
/// Rest after the last key before unsaved texts are kept, in ms.
pub const KEEP_AFTER_MS: i64 = 1_000;
/// Time from the first stroke of a chord until the possible second strokes are shown, in ms.
pub const CHORD_MS: i64 = 300;
/// Time without a key after which a question that came by itself takes an answer, in ms: keys that were already on their way are none.
pub const SETTLE_MS: i64 = 400;
/// Duration of a message in the footer, in ms.
pub const TOAST_MS: i64 = 6_000;

/// The state of the whole interface.
#[derive(Debug, Clone)]
pub struct Model {
    /// Unix time in ms, from the last message.
    pub now_ms: i64,
    /// Seconds that local time is ahead of UTC.
    pub utc_offset_s: i64,
    /// Columns and rows of the screen.
    pub size: (u16, u16),
    /// Looks of roles.
    pub theme: Theme,
    /// The themes that can be chosen, by name.
    pub themes: Vec<(String, Theme)>,
    /// Keys.
    pub keymap: Keymap,
    /// The first stroke of a chord of two, and when it came, Unix time in ms.
    pub begun: Option<(crokey::KeyCombination, i64)>,
    /// The last search in an editor.
    pub last_find: Option<Find>,
    /// State of the mouse button.
    pub mouse: Mouse,
    /// Setting for notifications of the terminal when a run ends or asks.
    pub notify: Notify,
    /// Setting for the list of turns next to long runs.
    pub turn_list: TurnList,
    /// The current screen.
    pub screen: Screen,
    /// Editors and their run.
    pub workbench: Workbench,
    /// Saved sessions.
    pub sessions: Sessions,
    /// Runs side by side, and the matrix.
    pub compare: Compare,
    /// The cases of the draft.
    pub tests: TestBoard,
    /// The traffic of other programs.
    pub traffic: Traffic,
    /// The candidates of a search for better texts.
    pub candidates: Candidates,
    /// The suggestion that a model is asked for.
    pub suggestions: Suggestions,
    /// A turn taken apart, on top of the screen and below the popups.
    pub inspector: Option<Box<Inspector>>,
    /// The open popups, the topmost last.
    pub popups: Vec<Popup>,
    /// Texts of dialogs that were closed without being confirmed.
    pub unconfirmed_texts: UnconfirmedTexts<Purpose>,
    /// Time at which a question last came by itself, Unix time in ms.
    pub asked_ms: i64,
    /// The text of the topmost popup is longer than its box.
    pub popup_scrolls: bool,
    /// A message in the footer.
    pub toast: Option<Toast>,
    /// The text that was copied or cut last.
    pub clipboard: String,
    /// State of the mouse in a transcript.
    pub pointer: Pointer,
    /// Something changed since the last frame.
    pub dirty: bool,
    /// The program is to end.
    pub quitting: bool,
}

/// State of the mouse button.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Mouse {
    /// Time (Unix time in ms) and position of its last press.
    pub pressed: Option<(i64, Position)>,
    /// The divider is being dragged.
    pub divider: bool,
    /// The button is down.
    pub held: bool,
}

/// The screens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Screen {
    /// Editors and run.
    Workbench,
    /// Saved sessions.
    Sessions,
    /// Runs side by side, and the matrix.
    Compare,
    /// The cases of the draft.
    Tests,
    /// The traffic of other programs.
    Traffic,
    /// The candidates of a search for better texts.
    Candidates,
}

/// A pane of the workbench that can have the focus.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pane {
    /// The editor of this place.
    Editor(Place),
    /// The steps of the open pipeline.
    Steps,
    /// The transcript.
    Run,
}

/// Editors and run.
#[derive(Debug, Clone)]
pub struct Workbench {
    /// One for each of [`PLACES`].
    pub editors: [Editor; PLACES.len()],
    /// The context as fields.
    pub inputs: Inputs,
    /// The pane that has the focus.
    pub focus: Pane,
    /// The editor that has or last had it.
    pub last_editor: Place,
    /// The editor that has the room: the focused one, but never another while the mouse button is down.
    pub room: Place,
    /// Findings about the texts.
    pub diagnostics: Vec<Diagnostic>,
    /// Summary of the draft.
    pub preview: DraftSummary,
    /// Sum of the draft versions that findings and preview belong to.
    pub checked: Option<u64>,
    /// The agent's file.
    pub file: Option<AgentFile>,
    /// Changes of it by other programs.
    pub watch: FileWatch,
    /// The pipeline that is open instead of the editors, and its first visible row.
    pub pipeline: Option<(PipelineOutline, usize)>,
    /// The texts as they were loaded or saved.
    pub saved: DraftTexts,
    /// Time at which unsaved texts are to be kept, Unix time in ms.
    pub keep_at_ms: Option<i64>,
    /// The last run.
    pub run: Option<RunView>,
    /// A reply of an earlier start, for the question that it belongs to.
    pub kept_reply: Option<SavedReply>,
    /// The previous run, until the one that is starting has started: a refused start restores it.
    pub before: Option<RunView>,
    /// The runs of the draft since the start.
    pub runs: DraftRuns,
    /// The texts of the run that is starting; `None` for a session that is resumed.
    pub starting: Option<DraftTexts>,
    /// Screen area of the transcript.
    pub run_area: Rect,
    /// Columns of the editors in percent of the screen; the divider changes it.
    pub split: u16,
    /// The focused pane replaces all others.
    pub zoomed: bool,
    /// It was announced that the run stops when the key is pressed again.
    pub stop_announced: bool,
    /// It was announced that the kept drafts are discarded when the key is pressed again.
    pub discard_announced: bool,
    /// Kept drafts of other agents, the newest first: they are offered when their file is opened.
    pub other_drafts: Vec<Recovery>,
    /// A save is under way, and what follows it.
    pub saving: Option<AfterSave>,
    /// The gates at which runs stop.
    pub gates: Vec<Gate>,
    /// The breakpoints at which they stop.
    pub breakpoints: Vec<Breakpoint>,
}

/// A message in the footer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Toast {
    /// Its text.
    pub text: String,
    /// Its tone.
    pub tone: Tone,
    /// Time at which it disappears, Unix time in ms.
    pub until_ms: i64,
}

/// The tone of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// It worked.
    Good,
    /// Worth knowing.
    Info,
    /// It did not work.
    Bad,
}

impl Model {
    /// The workbench with an agent, before anything else is known.
    pub fn new(opened: OpenAgent, size: (u16, u16), now_ms: i64) -> Self {
        let editor = |text: &str| Editor { draft: Draft::new(text), ..Editor::default() };
        let texts = &opened.texts;
        let place = editors::first_place(texts);
        let focus = if opened.pipeline.is_some() { Pane::Steps } else { Pane::Editor(place) };
        let editors = editors::texts_of(texts).map(editor);
        let mut model = Self {
            now_ms,
            utc_offset_s: 0,
            size,
            theme: Theme::ansi(),
            themes: Vec::new(),
            keymap: Keymap::default(),
            begun: None,
            last_find: None,
            mouse: Mouse::default(),
            notify: Notify::Off,
            turn_list: TurnList::Auto,
            screen: Screen::Workbench,
            workbench: Workbench {
                editors,
                inputs: Inputs::default(),
                focus,
                last_editor: place,
                room: Place::Prompt,
                diagnostics: Vec::new(),
                preview: DraftSummary::default(),
                checked: None,
                file: opened.file,
                watch: FileWatch::default(),
                pipeline: opened.pipeline.map(|pipeline| (pipeline, 0)),
                saved: opened.texts,
                keep_at_ms: None,
                run: None,
                kept_reply: None,
                before: None,
                runs: DraftRuns::default(),
                starting: None,
                run_area: Rect::default(),
                split: 40,
                zoomed: false,
                stop_announced: false,
                discard_announced: false,
                other_drafts: Vec::new(),
                saving: None,
                gates: Vec::new(),
                breakpoints: Vec::new(),
            },
            sessions: Sessions::default(),
            compare: Compare::default(),
            tests: TestBoard::default(),
            traffic: Traffic::default(),
            candidates: Candidates::default(),
            suggestions: Suggestions::default(),
            inspector: None,
            popups: Vec::new(),
            unconfirmed_texts: UnconfirmedTexts::default(),
            popup_scrolls: false,
            toast: None,
            asked_ms: 0,
            clipboard: String::new(),
            pointer: Pointer::default(),
            dirty: true,
            quitting: false,
        };
        model.workbench.sync_inputs();
        model
    }
}

impl Model {
    /// Returns whether leaving would stop a run, or the proxy that other programs use. A run that waits for the user is suspended in its
    /// session.
    pub fn stops_by_leaving(&self) -> bool {
        self.stops_run_by_leaving() || self.traffic.listens_at().is_some()
    }

    /// The title of an open dialog with a text that is not confirmed.
    pub fn unconfirmed_dialog(&self) -> Option<&str> {
        self.popups.iter().rev().find_map(|popup| match popup {
            Popup::Form(form, _) if !form.unconfirmed().is_empty() => Some(form.title.as_str()),
            Popup::SavePath { what, field, .. } if field.typed().is_some() => Some(what.title()),
            _ => None,
        })
    }

    /// Returns whether leaving would stop a run that is in progress.
    pub fn stops_run_by_leaving(&self) -> bool {
        self.compared_run_in_progress().is_some() || self.own_run_in_progress()
    }

    /// Name of a run on the compare screen that is in progress.
    pub fn compared_run_in_progress(&self) -> Option<&str> {
        let runs = self.compare.sides.iter().filter_map(|side| Some((side.name.as_str(), side.run.as_ref()?)));
        runs.into_iter().find(|(_, run)| run.is_in_progress()).map(|(name, _)| name)
    }

    /// The run of a slot.
    pub(super) fn run_of(&mut self, slot: Slot) -> Option<&mut RunView> {
        match slot {
            Slot::Workbench => self.workbench.run.as_mut(),
            Slot::Viewer => self.sessions.viewer.as_mut(),
            side => {
                let place = Slot::SIDES.iter().position(|known| *known == side)?;
                self.compare.sides.get_mut(place)?.run.as_mut()
            }
        }
    }

    fn own_run_in_progress(&self) -> bool {
        let of_pipeline = self.workbench.pipeline.is_some();
        // The user has already stopped a run that is stopping.
        let own = self.workbench.run.as_ref().filter(|run| !self.waits_for_user() && run.phase != Phase::Stopping);
        own.is_some_and(|run| if of_pipeline { run.phase != Phase::Done } else { run.is_in_progress() })
    }

    /// Returns whether the workbench's run waits for an answer of the user.
    pub fn waits_for_user(&self) -> bool {
        self.workbench.run.as_ref().is_some_and(|run| run.question.is_some())
    }

    /// The question of the workbench's run with the reply that is being written or was postponed.
    pub(super) fn written_reply(&self) -> Option<(&Question, &Draft)> {
        let run = self.workbench.run.as_ref();
        let asked = self.popups.iter().rev().find_map(|popup| match popup {
            Popup::Answer { question, asker: Asker::Run, editor, .. } => Some((question, &editor.draft)),
            _ => None,
        });
        let aside = || {
            let run = run?;
            Some((run.question.as_ref()?, &run.begun_reply.as_ref()?.draft))
        };
        asked.or_else(aside).filter(|(question, draft)| {
            let text = draft.text();
            !text.trim().is_empty() && (question.gate.is_none() || text != question.text)
        })
    }

    /// The reply that is being written, was postponed, or was kept by an earlier start.
    pub fn unsent_reply(&self) -> Option<SavedReply> {
        let session = self.workbench.run.as_ref().and_then(|run| run.session.clone());
        match (self.written_reply(), session) {
            (Some((question, draft)), Some(session)) => {
                Some(SavedReply { session, question: question.address.to_string(), draft: draft.clone() })
            }
            _ => self.workbench.kept_reply.clone(),
        }
    }

    /// Grows with every change of the reply that is being written.
    pub(super) fn reply_version(&self) -> u64 {
        match self.popups.last() {
            Some(Popup::Answer { editor, .. }) => editor.draft.version(),
            _ => 0,
        }
    }

    /// Returns the texts that are kept for the next start; `None` where nothing would be lost.
    pub(super) fn recovery(&self) -> Option<Recovery> {
        let reply = self.unsent_reply();
        let is_lost = self.workbench.unsaved() || reply.is_some();
        is_lost.then(|| Recovery { reply, ..self.workbench.recovery(self.now_ms) })
    }

    /// Returns whether the file about to be overwritten is the one that was opened.
    pub(super) fn overwrites_own_file(&self, popups: &[Popup]) -> bool {
        let own = self.workbench.file.as_ref().filter(|file| !file.sha.is_empty());
        matches!((popups.last(), own), (Some(Popup::Overwrite { path }), Some(file)) if file.path == Path::new(path))
    }
}

impl Workbench {
    /// Returns the pane to return to from the run: the steps of a pipeline, or the editor that had the focus last.
    pub fn home(&self) -> Pane {
        if self.pipeline.is_some() { Pane::Steps } else { Pane::Editor(self.last_editor) }
    }

    /// The finding that a quick fix is for: at the cursor, then the worst of the focused editor, then any. Where the finding at the cursor
    /// has no correction, no other of its editor is corrected.
    pub fn fixable(&self) -> Option<&Diagnostic> {
        let fixable = |finding: &&Diagnostic| !finding.fixes.is_empty();
        if let Pane::Editor(place) = self.focus {
            let here = |finding: &&Diagnostic| self.is_at_cursor(place, finding);
            let findings = self.findings(place);
            let at_cursor: Vec<&Diagnostic> = findings.iter().copied().filter(here).collect();
            if !at_cursor.is_empty() {
                return at_cursor.into_iter().find(fixable);
            }
            if let Some(finding) = findings.into_iter().find(fixable) {
                return Some(finding);
            }
        }
        self.diagnostics.iter().find(fixable)
    }

    /// Grows with every change of any text.
    pub fn version(&self) -> u64 {
        self.editors.iter().map(|editor| editor.draft.version()).sum()
    }

    /// Returns whether a run is in progress.
    pub fn running(&self) -> bool {
        self.run.as_ref().is_some_and(|run| run.phase != Phase::Done)
    }

    /// Returns whether the run of the draft has returned, so that there is nothing to stop; false in a pipeline, where other
    /// steps may follow.
    pub fn has_returned(&self) -> bool {
        self.pipeline.is_none() && self.run.as_ref().is_some_and(|run| run.last_event != LastEvent::Expected)
    }

    /// A run of the draft replaces the one that is shown, which comes back when it does not begin.
    pub fn begin(&mut self) {
        self.starting = self.pipeline.is_none().then(|| self.texts());
        self.before = self.run.replace(RunView::starting());
    }

    /// Like `begin`, for a resumed session, or a run that does not come from the draft.
    pub fn begin_other(&mut self) {
        self.starting = None;
        self.before = self.run.replace(RunView::starting());
    }

    /// The run did not begin.
    pub fn not_begun(&mut self) {
        self.run = self.before.take();
        self.runs.on_start_failed(self.run.is_some());
    }

    /// The findings of one editor, errors first.
    pub fn findings(&self, place: Place) -> Vec<&Diagnostic> {
        let mut found: Vec<&Diagnostic> = self.diagnostics.iter().filter(|finding| finding.place == place).collect();
        found.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
        found
    }
}
