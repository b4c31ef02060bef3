//! Stopping runs: nothing that costs time or money is stopped by one key.
//!
//! In: a key that stops. Out: after the first press an announcement, after the second one the stop. It must never stop a run from an
//! editor by Escape.

use super::run;
use crate::tui::actions::Action;
use crate::tui::message::Effect;
use crate::tui::model::{Model, Pane, Tone};

/// Escape in the workbench while a run is in progress.
pub(super) fn by_escape(model: &mut Model) -> Vec<Effect> {
    if matches!(model.workbench.focus, Pane::Editor(_)) && !model.waits_for_user() {
        let key = model.keymap.first_name(Action::Run);
        model.show_toast(Tone::Info, format!("the run continues; {key} twice stops it"));
        return Vec::new();
    }
    if is_announced(model, Action::Close) { run::stop(model) } else { Vec::new() }
}

/// The run key while a run is in progress.
pub(super) fn by_run_key(model: &mut Model) -> Vec<Effect> {
    if is_announced(model, Action::Run) { run::stop(model) } else { Vec::new() }
}

/// Was the stop announced before? If not, it is now.
pub(super) fn is_announced(model: &mut Model, action: Action) -> bool {
    if model.workbench.stop_told {
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
    model.workbench.stop_told = true;
    model.show_toast(Tone::Info, text);
}
