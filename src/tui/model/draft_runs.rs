//! The runs of the draft, oldest first: one is shown, the others are kept with the texts that they ran.
//!
//! In: runs that begin, keys that move among them. Out: the run to show, and what changed in the draft between two of them. A run in
//! progress stays shown: its updates go to the run on screen. It must never keep more than [`MOST_RUNS`].

use crate::agent::DraftTexts;
use crate::tui::actions::Action;
use crate::tui::run_view::{Phase, RunView};
use crate::workbench::inspect::{Line, Mark};

use super::editors::PLACES;
use super::{Model, Workbench, place_name};

/// Runs that are kept; the oldest make room.
pub const MOST_RUNS: usize = 12;

/// A run of the draft.
#[derive(Debug, Clone, Default)]
pub struct DraftRun {
    /// Its number, counted from 1 since the start of the program.
    pub number: usize,
    /// The texts that it ran; `None` for a session that was resumed or forked.
    pub texts: Option<DraftTexts>,
    /// Its cards, while another run is shown.
    kept: Option<Box<RunView>>,
}

/// The runs, and which of them is shown.
#[derive(Debug, Clone, Default)]
pub struct DraftRuns {
    all: Vec<DraftRun>,
    shown: usize,
    begun: usize,
    /// The runs are of the agent that was opened before, and are removed when the next run starts.
    is_of_previous: bool,
}

impl DraftRuns {
    /// The runs, oldest first.
    pub fn all(&self) -> &[DraftRun] {
        &self.all
    }

    /// The place of the run that is shown.
    pub fn shown(&self) -> usize {
        self.shown
    }

    /// The run that is shown.
    pub fn current(&self) -> Option<&DraftRun> {
        self.all.get(self.shown)
    }

    /// The run before the one that is shown.
    pub fn before(&self) -> Option<&DraftRun> {
        self.all.get(self.shown.checked_sub(1)?)
    }

    /// A run takes its place at the end and is shown; the one that was shown is kept.
    fn push(&mut self, texts: Option<DraftTexts>, mut before: Option<RunView>) {
        if self.is_of_previous && (before.is_some() || !self.all.is_empty()) {
            (self.is_of_previous, before) = (false, None);
            self.all.clear();
        }
        if let Some(before) = before {
            // A run that was not started here has no texts.
            if self.all.is_empty() {
                self.add(None);
            }
            if let Some(run) = self.all.get_mut(self.shown) {
                run.kept = Some(Box::new(before));
            }
        }
        self.add(texts);
        if self.all.len() > MOST_RUNS {
            self.all.remove(0);
        }
        self.shown = self.all.len() - 1;
    }
}

impl DraftRuns {
    fn add(&mut self, texts: Option<DraftTexts>) {
        self.begun += 1;
        self.all.push(DraftRun { number: self.begun, texts, kept: None });
    }

    /// A start failed. `previous_is_shown`: a run of the agent before is still shown.
    pub(super) fn on_start_failed(&mut self, previous_is_shown: bool) {
        self.is_of_previous &= previous_is_shown;
    }

    /// Returns a short summary of the changes in the draft since the run before the one that is shown.
    pub fn change(&self) -> Option<String> {
        let (before, now) = (self.before()?, self.current()?);
        summarize_difference(before.texts.as_ref()?, now.texts.as_ref()?)
    }
}

impl DraftRun {
    /// Its cards; those of the run that is shown are `shown`.
    pub fn view<'a>(&'a self, shown: Option<&'a RunView>) -> Option<&'a RunView> {
        self.kept.as_deref().or(shown)
    }
}

impl Workbench {
    /// A run of these texts was started; `before` is the one that was shown.
    pub fn run_begun(&mut self, texts: Option<DraftTexts>) {
        let before = self.before.take();
        // A run that the list does not know, such as a resumed session, is not kept.
        self.runs.push(texts, before);
    }

    /// Another agent is in the editors: the runs are none of its draft. One in progress stays until the next begins.
    pub fn forget_runs(&mut self) {
        let phase = self.run.as_ref().map_or(Phase::Done, |run| run.phase);
        if phase == Phase::Done {
            (self.run, self.runs) = (None, DraftRuns::default());
            return;
        }
        // A run that has not started is not in the list yet.
        let current = self.runs.all.get_mut(self.runs.shown).map(std::mem::take).filter(|_| phase != Phase::Starting);
        self.runs =
            DraftRuns { all: current.into_iter().collect(), shown: 0, begun: self.runs.begun, is_of_previous: true };
        self.before = None;
    }

    /// A finished run that was watched elsewhere joins the list and is shown.
    pub fn add_run(&mut self, texts: Option<DraftTexts>, view: RunView) {
        self.before = self.run.replace(view);
        self.run_begun(texts);
    }

    /// Shows the run at this place of the list. Errors: why not.
    pub fn show_run(&mut self, place: usize) -> Result<(), &'static str> {
        if self.run.as_ref().is_some_and(|run| run.phase != Phase::Done) {
            return Err("the run has not ended");
        }
        let runs = &mut self.runs;
        if place == runs.shown {
            return Ok(());
        }
        let Some(view) = runs.all.get_mut(place).and_then(|run| run.kept.take()) else {
            return Err("unknown run");
        };
        let before = self.run.replace(*view);
        if let Some(run) = runs.all.get_mut(runs.shown) {
            run.kept = before.map(Box::new);
        }
        runs.shown = place;
        Ok(())
    }

    /// Returns whether the run that is shown ran other texts than those in the editors.
    pub fn run_is_of_older_draft(&self) -> bool {
        let texts = self.runs.current().and_then(|run| run.texts.as_ref());
        self.run.is_some() && self.pipeline.is_none() && texts.is_some_and(|texts| *texts != self.texts())
    }
}

impl Model {
    /// Checks that the draft can run in both modes now. Errors: why not.
    pub(super) fn enabled_both_modes(&self) -> Result<(), &'static str> {
        if self.workbench.pipeline.is_some() {
            return Err("a pipeline runs in the modes of its steps");
        }
        if self.compare.runs() {
            return Err("runs are in progress side by side");
        }
        if self.workbench.preview.model == "human" { Err("model human: only one run at a time") } else { Ok(()) }
    }

    /// Checks that the action on the runs of the draft is possible now. Errors: why not.
    pub(super) fn enabled_for_runs(&self, action: Action) -> Result<(), &'static str> {
        let rule = |holds: bool, reason: &'static str| if holds { Ok(()) } else { Err(reason) };
        let runs = &self.workbench.runs;
        let saved = |run: Option<&DraftRun>| {
            run.and_then(|run| run.view(self.workbench.run.as_ref())).is_some_and(|view| view.session.is_some())
        };
        match action {
            Action::AgainstSaved if self.workbench.pipeline.is_some() => Err("a pipeline is edited in its file"),
            Action::AgainstSaved if self.compare.matrix.as_ref().is_some_and(|matrix| matrix.running) => {
                Err("a matrix is running; stop it first")
            }
            Action::AgainstSaved => rule(self.workbench.unsaved(), "the draft has no unsaved edits"),
            _ if self.workbench.running() => Err("the run has not ended"),
            Action::OlderRun => rule(runs.shown() > 0, "this is the first run"),
            Action::NewerRun => rule(runs.shown() + 1 < runs.all().len(), "this is the last run"),
            Action::CompareRuns if self.compare.runs() => Err("runs are in progress side by side"),
            _ => rule(saved(runs.before()) && saved(runs.current()), "this run and a previous one must be saved"),
        }
    }
}

/// Returns the changes between two drafts, field by field: a heading with the field's name, then its lines.
pub fn draft_difference(old: &DraftTexts, new: &DraftTexts) -> Vec<Line> {
    let fields = |texts: &DraftTexts| super::texts_of(texts).map(str::to_owned);
    let mut lines = Vec::new();
    for ((place, old), new) in PLACES.into_iter().zip(fields(old)).zip(fields(new)) {
        if old != new {
            lines.push(Line::new(Mark::Title, place_name(place)));
            lines.extend(Line::difference(&old, &new));
        }
    }
    lines
}

/// A summary of the difference: `prompt +2 -1`; `None` when nothing changed.
pub fn summarize_difference(old: &DraftTexts, new: &DraftTexts) -> Option<String> {
    let mut words: Vec<String> = Vec::new();
    let (mut name, mut added, mut removed) = (String::new(), 0, 0);
    let mut flush = |name: &mut String, added: &mut usize, removed: &mut usize| {
        if !name.is_empty() {
            words.push(format!("{} +{added} -{removed}", name.to_lowercase()));
        }
        (*added, *removed) = (0, 0);
    };
    for line in draft_difference(old, new) {
        match line.mark {
            Mark::Title => {
                flush(&mut name, &mut added, &mut removed);
                name = line.text;
            }
            Mark::Added => added += 1,
            Mark::Removed => removed += 1,
            _ => {}
        }
    }
    flush(&mut name, &mut added, &mut removed);
    (!words.is_empty()).then(|| words.join(", "))
}
