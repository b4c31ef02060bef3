//! The state of the whole interface, as plain data. Views read it, `update` changes it, nothing else does.

use ratatui::layout::{Position, Rect};

use super::cases::TestBoard;
use super::compare::Compare;
use super::draft::Draft;
use super::inspector::Inspector;
use super::keys::Keymap;
use super::theme::Theme;
use crate::agent::{Diagnostic, DraftTexts, Place};
use crate::port::{Breakpoint, Gate};
use crate::workbench::{AgentFile, DraftSummary, OpenAgent, PipelineOutline};

mod editors;
mod find;
mod now;
mod pointer;
mod popup;
mod tour;

pub use super::editor::Editor;
pub use super::menu::Menu;
pub use super::run_view::{Phase, RunView};
pub use editors::{PLACES, RECOVERED, place_language, place_name, texts_of};
pub use find::{Find, FindField};
pub use pointer::{Pointer, Sweep};
pub use popup::{AfterSave, Against, Asker, FailureLine, Leaving, Picks, Popup, REFUSALS, SaveWhat, failure_lines};
pub use tour::TOUR;
mod saved;
mod sessions;

pub use sessions::{Differs, Search, Sessions, status_mark};

/// The smallest usable screen (decision 35).
pub const SMALLEST: (u16, u16) = (40, 10);
/// From this width on, editors and run are shown side by side.
pub const TWO_COLUMNS: u16 = 100;
/// Rest after the last key before unsaved texts are kept.
pub const KEEP_AFTER_MS: i64 = 1_000;
/// How long the first stroke of a chord waits for the second before what can follow is shown.
pub const CHORD_MS: i64 = 300;
/// How long a question that came by itself is shown before a key answers it: a key that was already on its way is no answer.
pub const SETTLE_MS: i64 = 400;
/// How long a message stays in the footer.
pub const TOAST_MS: i64 = 6_000;

/// Everything.
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
    /// What was sought last.
    pub last_find: Option<Find>,
    /// What the mouse did last.
    pub mouse: Mouse,
    /// Which screen.
    pub screen: Screen,
    /// Editors and their run.
    pub workbench: Workbench,
    /// Saved sessions.
    pub sessions: Sessions,
    /// Runs side by side, and the matrix.
    pub compare: Compare,
    /// The cases of the draft.
    pub tests: TestBoard,
    /// A turn taken apart, on top of the screen and below the popups.
    pub inspector: Option<Box<Inspector>>,
    /// What lies on top, the topmost last.
    pub popups: Vec<Popup>,
    /// When a question last came by itself, Unix time in ms.
    pub asked_ms: i64,
    /// A message in the footer.
    pub toast: Option<Toast>,
    /// What was copied or cut last.
    pub clipboard: String,
    /// What the mouse is doing in a transcript.
    pub pointer: Pointer,
    /// Something changed since the last frame.
    pub dirty: bool,
    /// The program is to end.
    pub quitting: bool,
}

/// What the mouse did last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Mouse {
    /// When and where the button went down, Unix time in ms.
    pub pressed: Option<(i64, Position)>,
    /// The divider is being dragged.
    pub divider: bool,
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
}

/// What has the focus in the workbench.
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
    /// What has the focus.
    pub focus: Pane,
    /// The editor that has or last had it.
    pub last_editor: Place,
    /// Findings about the texts.
    pub diagnostics: Vec<Diagnostic>,
    /// What the texts mean.
    pub preview: DraftSummary,
    /// Sum of the draft versions that findings and preview belong to.
    pub checked: Option<u64>,
    /// The agent's file.
    pub file: Option<AgentFile>,
    /// The pipeline that is open in the place of the editors, and its first visible row.
    pub pipeline: Option<(PipelineOutline, usize)>,
    /// The texts as they were loaded or saved.
    pub saved: DraftTexts,
    /// When unsaved texts are to be kept, Unix time in ms.
    pub keep_at_ms: Option<i64>,
    /// The last run.
    pub run: Option<RunView>,
    /// The previous run, until the one that is starting has started: a refused start restores it.
    pub before: Option<RunView>,
    /// Where the transcript was drawn.
    pub run_area: Rect,
    /// Columns of the editors in percent of the screen; the divider changes it.
    pub split: u16,
    /// Escape was announced to stop the run that waits for a user when it is pressed again.
    pub stop_told: bool,
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
    /// Is it bad news?
    pub tone: Tone,
    /// Until when, Unix time in ms.
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
        let focus = if opened.pipeline.is_some() { Pane::Steps } else { Pane::Editor(Place::Prompt) };
        let editors = editors::texts_of(texts).map(editor);
        Self {
            now_ms,
            utc_offset_s: 0,
            size,
            theme: Theme::ansi(),
            themes: Vec::new(),
            keymap: Keymap::default(),
            begun: None,
            last_find: None,
            mouse: Mouse::default(),
            screen: Screen::Workbench,
            workbench: Workbench {
                editors,
                focus,
                last_editor: Place::Prompt,
                diagnostics: Vec::new(),
                preview: DraftSummary::default(),
                checked: None,
                file: opened.file,
                pipeline: opened.pipeline.map(|pipeline| (pipeline, 0)),
                saved: opened.texts,
                keep_at_ms: None,
                run: None,
                before: None,
                run_area: Rect::default(),
                split: 40,
                stop_told: false,
                saving: None,
                gates: Vec::new(),
                breakpoints: Vec::new(),
            },
            sessions: Sessions::default(),
            compare: Compare::default(),
            tests: TestBoard::default(),
            inspector: None,
            popups: Vec::new(),
            toast: None,
            asked_ms: 0,
            clipboard: String::new(),
            pointer: Pointer::default(),
            dirty: true,
            quitting: false,
        }
    }
}

impl Workbench {
    /// Where one comes back to from the run: the steps of a pipeline, or the editor that had the focus last.
    pub fn home(&self) -> Pane {
        if self.pipeline.is_some() { Pane::Steps } else { Pane::Editor(self.last_editor) }
    }

    /// The finding that a quick fix is for: at the cursor, then the worst of the focused editor, then any.
    pub fn fixable(&self) -> Option<&Diagnostic> {
        let fixable = |finding: &&Diagnostic| !finding.fixes.is_empty();
        if let Pane::Editor(place) = self.focus {
            let cursor = self.editor(place).draft.cursor();
            let here =
                |finding: &&Diagnostic| finding.span.is_some_and(|span| (span.start..=span.end).contains(&cursor));
            let findings: Vec<&Diagnostic> = self.findings(place).into_iter().filter(fixable).collect();
            if let Some(finding) = findings.iter().find(|finding| here(finding)).or(findings.first()) {
                return Some(finding);
            }
        }
        self.diagnostics.iter().find(fixable)
    }

    /// Grows with every change of any text.
    pub fn version(&self) -> u64 {
        self.editors.iter().map(|editor| editor.draft.version()).sum()
    }

    /// Is a run in progress?
    pub fn running(&self) -> bool {
        self.run.as_ref().is_some_and(|run| run.phase != Phase::Done)
    }

    /// A run takes the place of the one that is shown, which comes back when it does not begin.
    pub fn begin(&mut self) {
        self.before = self.run.replace(RunView::starting());
    }

    /// The run did not begin.
    pub fn not_begun(&mut self) {
        self.run = self.before.take();
    }

    /// The findings of one editor, errors first.
    pub fn findings(&self, place: Place) -> Vec<&Diagnostic> {
        let mut found: Vec<&Diagnostic> = self.diagnostics.iter().filter(|finding| finding.place == place).collect();
        found.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
        found
    }
}
