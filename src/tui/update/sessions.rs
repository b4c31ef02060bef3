//! The sessions screen: list, filter, opened sessions, replays.

use crate::event::{Address, ErrorRecord};
use crate::tui::backend::{OpenSession, SessionSummary};
use crate::tui::draft::Draft;
use crate::tui::message::{Effect, Slot, TurnBody};
use crate::tui::model::{Model, Phase, RunView, Screen, Tone};

pub(super) fn enter(model: &mut Model) -> Vec<Effect> {
    model.screen = Screen::Sessions;
    vec![Effect::List]
}

pub(super) fn listed(model: &mut Model, result: Result<Vec<SessionSummary>, ErrorRecord>) -> Vec<Effect> {
    match result {
        Ok(all) => {
            model.sessions.all = Some(all);
            model.sessions.error = None;
            reselect(model);
        }
        Err(error) => model.sessions.error = Some(error.message),
    }
    Vec::new()
}

/// Keeps the selection on a session that is shown.
pub(super) fn reselect(model: &mut Model) {
    if model.sessions.current().is_none() {
        let first = model.sessions.shown().next().map(|session| session.id.clone());
        model.sessions.selected = first;
        model.sessions.top = 0;
    }
}

/// Rows of a page of the list.
pub(super) fn page(model: &Model) -> isize {
    isize::try_from(model.sessions.area.height).unwrap_or(1).saturating_sub(1).max(1)
}

pub(super) fn select(model: &mut Model, by: isize) -> Vec<Effect> {
    let ids: Vec<&str> = model.sessions.shown().map(|session| session.id.as_str()).collect();
    let now = ids.iter().position(|id| Some(*id) == model.sessions.selected.as_deref()).unwrap_or(0);
    let next = now.saturating_add_signed(by).min(ids.len().saturating_sub(1));
    model.sessions.selected = ids.get(next).map(|id| (*id).to_owned());
    Vec::new()
}

pub(super) fn filter(model: &mut Model) -> Vec<Effect> {
    model.sessions.filtering = true;
    Vec::new()
}

pub(super) fn open(model: &mut Model) -> Vec<Effect> {
    model.sessions.filtering = false;
    model.sessions.current().map(|session| Effect::Open(session.id.clone())).into_iter().collect()
}

pub(super) fn opened(model: &mut Model, result: Result<OpenSession, ErrorRecord>) -> Vec<Effect> {
    match result {
        Ok(session) => {
            if let Some(damage) = &session.summary.damage {
                model.say(Tone::Bad, damage.clone());
            }
            model.sessions.viewer = Some(RunView::of_session(&session));
        }
        Err(error) => {
            let hint = error.hint.map(|hint| format!(" — {hint}")).unwrap_or_default();
            model.say(Tone::Bad, format!("not opened: {}{hint}", error.message));
        }
    }
    Vec::new()
}

pub(super) fn turn_read(
    model: &mut Model,
    session: &str,
    turn: &Address,
    body: Result<TurnBody, ErrorRecord>,
) -> Vec<Effect> {
    if let Some(viewer) = model.sessions.viewer.as_mut().filter(|viewer| viewer.session.as_deref() == Some(session)) {
        match body {
            Ok((events, request)) => viewer.transcript.read_turn(turn, &events, request),
            Err(error) => viewer.transcript.fail_turn(turn, &error.message),
        }
    }
    Vec::new()
}

pub(super) fn replay(model: &mut Model) -> Vec<Effect> {
    let opened = model.sessions.viewer.as_ref().and_then(|viewer| viewer.session.clone());
    let Some(id) = opened.or_else(|| model.sessions.current().map(|session| session.id.clone())) else {
        return Vec::new();
    };
    model.sessions.filtering = false;
    model.sessions.viewer = Some(RunView { session: Some(id.clone()), replay: true, ..RunView::starting() });
    vec![Effect::Replay(id)]
}

pub(super) fn replay_started(model: &mut Model, result: Result<(), ErrorRecord>) -> Vec<Effect> {
    match result {
        Ok(()) => {
            if let Some(viewer) = model.sessions.viewer.as_mut().filter(|viewer| viewer.phase == Phase::Starting) {
                viewer.phase = Phase::Running;
            }
        }
        Err(error) => {
            model.sessions.viewer = None;
            model.say(Tone::Bad, format!("not replayed: {}", error.message));
        }
    }
    Vec::new()
}

/// Closes the opened session, then the filter, then the screen.
pub(super) fn close(model: &mut Model) -> Vec<Effect> {
    if let Some(viewer) = model.sessions.viewer.take() {
        return if viewer.phase == Phase::Done { Vec::new() } else { vec![Effect::Cancel(Slot::Viewer)] };
    }
    if model.sessions.filtering || !model.sessions.filter.text().is_empty() {
        model.sessions.filtering = false;
        model.sessions.filter = Draft::default();
        reselect(model);
        return Vec::new();
    }
    model.screen = Screen::Workbench;
    Vec::new()
}
