//! The runs of the draft: moving among them, the last two next to each other, the draft against its last saved version.

use super::compare::{sessions, show_matrix};
use crate::agent::Mode;
use crate::tui::compare::CompareRequest;
use crate::tui::message::Effect;
use crate::tui::model::{DraftRun, LastEvent, Model, Tone};
use crate::workbench::matrix::MatrixSpec;

/// Trials of each case when the draft is tried against its saved version, and how many run at the same time.
const TRIALS: u32 = 5;
const JOBS: usize = 4;

/// Shows the run `by` places after the shown one.
pub(super) fn show(model: &mut Model, by: isize) -> Vec<Effect> {
    let Some(place) = model.workbench.runs.shown().checked_add_signed(by) else { return Vec::new() };
    if let Err(reason) = model.workbench.show_run(place) {
        model.show_toast(Tone::Info, reason);
    }
    Vec::new()
}

/// Shows the run next to the one before it: the older one on the left.
pub(super) fn compare(model: &mut Model) -> Vec<Effect> {
    let Some(names) = pair(model) else {
        model.show_toast(Tone::Info, "this run and a previous one must be saved");
        return Vec::new();
    };
    let effects = sessions(model, names.clone());
    model.compare.draft_runs = names;
    effects
}

/// Lets a run that has returned be compared with the one before it as soon as its session is complete, unless the next run starts then.
pub(super) fn compare_when_complete(model: &mut Model) {
    let workbench = &mut model.workbench;
    if workbench.has_returned()
        && workbench.runs.before().is_some()
        && let Some(run) = workbench.run.as_mut().filter(|run| run.last_event == LastEvent::Came)
    {
        run.last_event = LastEvent::Compares;
    }
}

/// The sessions of the run before the one that is shown, and of that one.
pub(super) fn pair(model: &Model) -> Option<Vec<String>> {
    let runs = &model.workbench.runs;
    let shown = model.workbench.run.as_ref();
    let name = |run: &DraftRun| run.view(shown).and_then(|view| view.session.clone());
    Some(vec![name(runs.before()?)?, name(runs.current()?)?])
}

/// Tries the draft and its last saved version on the cases.
pub(super) fn against_saved(model: &mut Model) -> Vec<Effect> {
    let (draft, saved) = (model.workbench.texts(), model.workbench.saved.clone());
    let mode = model.workbench.preview.mode.split(' ').next().and_then(Mode::from_name);
    let (modes, folder) = (mode.into_iter().collect(), super::cases::folder(model));
    let spec = MatrixSpec { modes, trials: TRIALS, folder, ..MatrixSpec::default() };
    show_matrix(model);
    vec![Effect::Compare(CompareRequest::AgainstSaved(draft, saved, spec, JOBS))]
}
