//! The overview: opening it, moving in it, the next failure, a turn by its number.
//!
//! In: keys and texts about turns. Out: the selected turn of the transcript, which all other actions are about. A saved session is read
//! once, when the overview is first needed.

use crate::event::{Address, ErrorRecord};
use crate::tui::direction::{Direction, Leap};
use crate::tui::draft::Draft;
use crate::tui::message::Effect;
use crate::tui::model::{Model, Popup, RunView, Tone};
use crate::tui::overview::{OverviewPane, Step, TurnPrompt, failing};
use crate::workbench::SessionKey;
use crate::workbench::overview::Overview;

use super::reading::on_screen;

/// Opens the overview instead of the transcript, or closes it.
pub(super) fn toggle(model: &mut Model) -> Vec<Effect> {
    let Some((view, _)) = on_screen(model) else { return Vec::new() };
    view.overview.is_open = !view.overview.is_open;
    if view.overview.is_open {
        select_some(view);
        return read(view);
    }
    Vec::new()
}

/// Closes an overview that is open. Returns whether one was.
pub(super) fn close(model: &mut Model) -> bool {
    let Some((view, _)) = on_screen(model).filter(|(view, _)| view.overview.is_open) else { return false };
    if view.overview.typed.is_empty() {
        view.overview.is_open = false;
    } else {
        view.overview.narrow("");
    }
    true
}

/// Asks for the events of a saved session, unless they are known or on their way.
pub(super) fn read(view: &mut RunView) -> Vec<Effect> {
    let Some(key) = view.key.clone().filter(|_| view.transcript.overview().is_none() && !view.overview.is_reading)
    else {
        return Vec::new();
    };
    view.overview.is_reading = true;
    vec![Effect::ReadOverview(key)]
}

/// The overview of a saved session was read.
pub(super) fn was_read(
    model: &mut Model,
    session: &SessionKey,
    result: Result<Box<Overview>, ErrorRecord>,
) -> Vec<Effect> {
    let Some(view) = model.sessions.viewer.as_mut().filter(|viewer| viewer.key.as_ref() == Some(session)) else {
        return Vec::new();
    };
    view.overview.is_reading = false;
    match result {
        Ok(overview) => {
            view.transcript.set_overview(*overview);
            if view.overview.is_open {
                select_some(view);
            }
            match view.overview.wanted.take() {
                Some(direction) => go_to_failure(model, direction),
                None => Vec::new(),
            }
        }
        Err(error) => {
            view.overview.is_open = false;
            model.show_toast(Tone::Bad, format!("the overview was not read: {}", error.with_hint()));
            Vec::new()
        }
    }
}

/// A turn is selected, the last one when none was.
fn select_some(view: &mut RunView) {
    if selected(view).is_none()
        && let Some(turn) = view.transcript.turn_in_hand()
    {
        view.transcript.go_to(&turn);
    }
}

/// The turn of the selected card itself.
fn selected(view: &RunView) -> Option<Address> {
    let turn = view.transcript.selected_address()?.turn_part();
    turn.turn_number().is_some().then_some(turn)
}

/// Goes to the next or previous turn with a failure.
pub(super) fn go_to_failure(model: &mut Model, direction: Direction) -> Vec<Effect> {
    let Some((view, _)) = on_screen(model) else { return Vec::new() };
    let selected = selected(view);
    view.transcript.refresh_overview();
    let Some(overview) = view.transcript.overview() else {
        view.overview.wanted = Some(direction);
        return read(view);
    };
    let from = selected.and_then(|turn| overview.place(&turn));
    let Some(place) = failing(overview.lines(), from, direction) else {
        model.show_toast(Tone::Info, "nothing failed in these turns");
        return Vec::new();
    };
    let failed = overview.lines().iter().filter(|line| line.has_failed()).count();
    let number = overview.lines()[..=place].iter().filter(|line| line.has_failed()).count();
    let turn = overview.lines()[place].address.clone();
    // The overview shows the error in the turn's line and below the lines.
    let error = match &overview.lines()[place].error {
        _ if view.overview.is_open => String::new(),
        Some(error) => format!(": {error}"),
        None => ": failed".to_owned(),
    };
    view.transcript.jump_to(&turn);
    model.show_toast(Tone::Info, format!("failure {number} of {failed}, {turn}{error}"));
    Vec::new()
}

/// A move in the overview.
pub(super) fn step(model: &mut Model, step: Step) -> Vec<Effect> {
    let Some((view, _)) = on_screen(model) else { return Vec::new() };
    let RunView { transcript, overview: pane, .. } = view;
    let Some(overview) = transcript.overview() else { return Vec::new() };
    let selected = transcript.selected_turn();
    let row = pane.row_of(overview, selected.as_ref());
    let wanted = match step {
        // From no turn the first one is next.
        Step::Go(Leap::Down) if row.is_none() => 0,
        Step::Go(leap) => leap.within(row.unwrap_or(0), pane.shown().len(), usize::from(pane.area.height)),
        Step::Open => {
            pane.is_open = false;
            if let Some(turn) = selected {
                transcript.jump_to(&turn);
            }
            return Vec::new();
        }
        Step::Order => {
            pane.order = pane.order.next();
            let text = format!("turns: {}", pane.order.name());
            model.show_toast(Tone::Info, text);
            return Vec::new();
        }
        Step::Filter => return ask(model, TurnPrompt::Filter),
        Step::Fold => {
            let turn = selected.and_then(|turn| pane.fold(overview, &turn));
            if let Some(turn) = turn {
                transcript.go_to(&turn);
            }
            return Vec::new();
        }
    };
    if let Some(turn) = turn_at(overview, pane, wanted) {
        transcript.go_to(&turn);
    }
    Vec::new()
}

fn turn_at(overview: &Overview, pane: &OverviewPane, row: usize) -> Option<Address> {
    let place = *pane.shown().get(row)?;
    overview.lines().get(place).map(|line| line.address.clone())
}

/// Selects the turn at a row of the screen, in the overview or in the rail. Returns whether there is one.
pub(super) fn click(model: &mut Model, at: ratatui::layout::Position) -> bool {
    let Some((view, _)) = on_screen(model) else { return false };
    let RunView { transcript, overview: pane, .. } = view;
    if !pane.area.contains(at) {
        return false;
    }
    let row = usize::from(at.y - pane.area.y) + pane.top;
    let turn = transcript.overview().and_then(|overview| turn_at(overview, pane, row));
    turn.is_some_and(|turn| if pane.is_open { transcript.go_to(&turn) } else { transcript.jump_to(&turn) })
}

/// Returns whether a position is in an open overview.
pub(super) fn is_under(model: &mut Model, at: ratatui::layout::Position) -> bool {
    on_screen(model).is_some_and(|(view, area)| view.overview.is_open && area.contains(at))
}

/// Asks for the number of a turn, or for a filter.
pub(super) fn ask(model: &mut Model, what: TurnPrompt) -> Vec<Effect> {
    let mut input = Draft::default();
    if let (TurnPrompt::Filter, Some((view, _))) = (what, on_screen(model)) {
        input.insert(&view.overview.typed);
        input.select_all();
        view.overview.problem = None;
    }
    model.popups.push(Popup::Turns { what, input });
    Vec::new()
}

/// The filter follows what is typed.
pub(super) fn typed(model: &mut Model) {
    let Some(Popup::Turns { what: TurnPrompt::Filter, input }) = model.popups.last() else { return };
    let text = input.text().to_owned();
    let Some((view, _)) = on_screen(model) else { return };
    view.overview.narrow(&text);
}

/// Goes to the turn of the number, or keeps the filter.
pub(super) fn confirm(model: &mut Model) -> Vec<Effect> {
    let is_filter = matches!(model.popups.last(), Some(Popup::Turns { what: TurnPrompt::Filter, .. }));
    if is_filter && on_screen(model).is_some_and(|(view, _)| view.overview.problem.is_some()) {
        // The prompt shows the error; the turns are still those of an earlier filter.
        return Vec::new();
    }
    let Some(Popup::Turns { what, input }) = model.popups.pop() else { return Vec::new() };
    if what == TurnPrompt::Filter {
        let first = on_screen(model).and_then(|(view, _)| {
            let RunView { transcript, overview: pane, .. } = view;
            transcript.refresh_overview();
            let overview = transcript.overview()?;
            pane.arrange(overview, None, pane.area);
            let selected = transcript.selected_turn();
            if pane.row_of(overview, selected.as_ref()).is_some() { None } else { turn_at(overview, pane, 0) }
        });
        if let (Some(turn), Some((view, _))) = (first, on_screen(model)) {
            view.transcript.go_to(&turn);
        }
        return Vec::new();
    }
    let text = input.text().trim().trim_start_matches('t').to_owned();
    let Some((view, _)) = on_screen(model) else { return Vec::new() };
    let last = view.transcript.last_turn();
    let run = selected(view).map(|turn| turn.run_part()).or_else(|| last.as_ref().map(Address::run_part));
    let turn = run.zip(text.parse::<u32>().ok()).map(|(run, number)| run.turn(number));
    if turn.is_some_and(|turn| view.transcript.jump_to(&turn)) {
        return Vec::new();
    }
    let last = last.and_then(|turn| turn.turn_number()).unwrap_or_default();
    model.show_toast(Tone::Bad, format!("`{text}` is not a turn of this run: 1 to {last}"));
    Vec::new()
}
