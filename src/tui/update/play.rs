//! Playing the opened session.

use std::sync::Arc;

use crate::event::{Envelope, ErrorRecord};
use crate::tui::message::Effect;
use crate::tui::model::{Model, RunView, Tone};
use crate::tui::sessions::scrub::Scrub;
use crate::tui::transcript::Transcript;
use crate::workbench::SessionKey;

pub(super) fn events(model: &mut Model, key: &SessionKey, result: Result<Arc<[Envelope]>, ErrorRecord>) -> Vec<Effect> {
    let opened = model.sessions.viewer.as_ref().is_some_and(|viewer| viewer.key.as_ref() == Some(key));
    if !opened || model.sessions.scrub.is_some() {
        return Vec::new();
    }
    match result {
        Ok(events) => {
            model.toast = None;
            let Some(before) = model.sessions.viewer.take() else { return Vec::new() };
            let (session, key) = (before.session.clone(), before.key.clone());
            let scrub = Scrub::new(events, before, model.now_ms);
            model.sessions.viewer = Some(RunView { session, key, ..RunView::default() });
            model.sessions.scrub = Some(scrub);
            tick(model);
        }
        Err(error) => model.show_toast(Tone::Bad, format!("not played: {}", error.message)),
    }
    Vec::new()
}

/// Ends playing: shows the view from before again. Returns false when nothing was played.
pub(super) fn close(model: &mut Model) -> bool {
    let Some(scrub) = model.sessions.scrub.take() else { return false };
    model.sessions.viewer = Some(*scrub.before);
    true
}

/// Time has passed.
pub(super) fn tick(model: &mut Model) {
    let now_ms = model.now_ms;
    change(model, |scrub| scrub.tick(now_ms));
}

/// Moves, and shows the state at that position. Forward only new events are added; backward all are applied again from the start.
pub(super) fn change(model: &mut Model, go: impl FnOnce(&mut Scrub)) {
    let Some(scrub) = &mut model.sessions.scrub else { return };
    let (before, clock_ms) = (scrub.at, scrub.clock_ms);
    go(scrub);
    let Some(viewer) = &mut model.sessions.viewer else { return };
    model.dirty |= scrub.at != before || scrub.clock_ms / 100 != clock_ms / 100;
    let from = if scrub.at < before {
        let view = viewer.transcript.view();
        viewer.transcript = Transcript::default();
        viewer.transcript.set_view(view);
        0
    } else {
        before
    };
    for event in scrub.events().get(from..scrub.at).unwrap_or_default() {
        viewer.transcript.apply(event);
    }
}
