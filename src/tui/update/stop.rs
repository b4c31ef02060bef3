//! Stopping runs. Nothing that costs time or money is stopped by one key, nor by Escape in an editor.
//!
//! In: keys while a run is in progress. Out: effects that stop it, announcements. It must never stop a run that was not announced to stop.

use crate::tui::actions::Action;
use crate::tui::message::{Effect, Slot};
use crate::tui::model::{LastEvent, Model, Pane, Phase, Tone};

/// Stops the run of the workbench.
fn stop(model: &mut Model) -> Vec<Effect> {
    match &mut model.workbench.run {
        Some(run) if matches!(run.phase, Phase::Starting | Phase::Running) => {
            run.phase = Phase::Stopping;
            vec![Effect::Cancel(Slot::Workbench)]
        }
        _ => Vec::new(),
    }
}

/// Escape in the workbench while a run is in progress.
pub(super) fn by_escape(model: &mut Model) -> Vec<Effect> {
    if model.workbench.has_returned() {
        return Vec::new();
    }
    if matches!(model.workbench.focus, Pane::Editor(_)) && !model.waits_for_user() {
        let key = model.keymap.first_name(Action::Run);
        model.show_toast(Tone::Info, format!("the run continues; {key} twice stops it"));
        return Vec::new();
    }
    if is_announced(model, Action::Close) { stop(model) } else { Vec::new() }
}

/// The run key while a run is in progress. It has returned, but its session is still being completed: then the key starts the next run.
pub(super) fn by_run_key(model: &mut Model) -> Vec<Effect> {
    if model.workbench.has_returned() && !model.workbench.stop_announced {
        model.workbench.run.iter_mut().for_each(|run| run.last_event = LastEvent::RunsAgain);
        model.show_toast(Tone::Info, "the next run starts as soon as the session of this one is saved".to_owned());
        return Vec::new();
    }
    if is_announced(model, Action::Run) { stop(model) } else { Vec::new() }
}

/// Announces the stop. Returns whether it was announced before.
pub(super) fn is_announced(model: &mut Model, action: Action) -> bool {
    if model.workbench.stop_announced {
        return true;
    }
    announce(model, action);
    false
}

/// Announces that this key stops the run when it is pressed again.
pub(super) fn announce(model: &mut Model, action: Action) {
    let key = |action| model.keymap.first_name(action);
    let text = if model.waits_for_user() {
        format!("the run waits: {} opens the question, {} again stops it", key(Action::Run), key(Action::Close))
    } else {
        format!("the run continues; {} again stops it", key(action))
    };
    model.workbench.stop_announced = true;
    model.show_toast(Tone::Info, text);
}
