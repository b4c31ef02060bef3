//! Responses to requests of dialogs: the dialog that waits for one, the texts that it confirms, the place of its error.
//!
//! In: responses. Out: changes of the popups and of the kept texts. It must never change a dialog that was opened meanwhile.

use super::{Model, Popup, Tone};
use crate::tui::form::Form;
use crate::tui::sessions::Purpose;

/// Returns whether a popup is a dialog of such a purpose that waits for its response.
pub(super) fn awaits(popup: &Popup, is_it: impl Fn(&Purpose) -> bool) -> bool {
    matches!(popup, Popup::Form(form, purpose) if is_it(purpose) && purpose.awaits_response(form))
}

/// The dialog of such a purpose that waits, the topmost first.
pub(super) fn awaiting(model: &mut Model, is_it: impl Fn(&Purpose) -> bool) -> Option<(&mut Form, &mut Purpose)> {
    match model.popups.iter_mut().rfind(|popup| awaits(popup, &is_it)) {
        Some(Popup::Form(form, purpose)) => Some((&mut **form, purpose)),
        _ => None,
    }
}

/// The request has succeeded: the dialog that waits closes, and its texts are confirmed, also if it was closed before.
pub(super) fn confirm(model: &mut Model, is_it: impl Fn(&Purpose) -> bool) {
    model.popups.retain(|popup| !awaits(popup, &is_it));
    model.unconfirmed_texts.confirm(is_it);
}

/// The request has failed: the dialog that waits shows why; without one a message does, which begins with `prefix`.
pub(super) fn refuse(model: &mut Model, is_it: impl Fn(&Purpose) -> bool, prefix: &str, message: String) {
    model.unconfirmed_texts.refuse(&is_it);
    match awaiting(model, is_it) {
        Some((form, _)) => form.fail(message),
        None => model.show_toast(Tone::Bad, format!("{prefix}{message}")),
    }
}
