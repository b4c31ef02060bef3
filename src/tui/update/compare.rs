//! The compare screen: runs in two modes, sessions side by side, moving among their turns, opening one.

use std::sync::Arc;

use ratatui::layout::Position;

use super::{matrix, run, runs, unconfirmed_texts};
use crate::agent::{Diagnostic, Mode, Place, Severity};
use crate::event::ErrorRecord;
use crate::session::diff::Comparison;
use crate::tui::actions::Action;
use crate::tui::compare::{
    Compare, CompareRequest, CompareResponse, MOST_SIDES, Page, Side, StartedWithout, Step, Target, WayBack,
};
use crate::tui::direction::Direction;
use crate::tui::draft::Reach;
use crate::tui::message::{Effect, Slot};
use crate::tui::model::{Model, Phase, RunView, Screen, Tone};
use crate::tui::sessions::models::OtherModelsDialog;
use crate::tui::transcript::{Scroll, Transcript};
use crate::workbench::{RunEnding, RunUpdate, SessionKey};

/// The modes that one key runs side by side.
const BOTH: [Mode; 2] = [Mode::PtcLisp, Mode::Json];

/// Goes to the screen, with the last two runs of the draft where nothing else is compared; there, from a matrix to the runs side by side
/// and back.
pub(super) fn enter(model: &mut Model) -> Vec<Effect> {
    let empty = model.compare.sides.is_empty() && model.compare.matrix.is_none();
    if model.screen == Screen::Sessions
        && empty
        && let Ok(marked) = model.sessions.compared()
    {
        return open(model, &marked);
    }
    let is_outdated = || runs::pair(model).is_some_and(|pair| model.compare.names() != pair);
    if model.screen == Screen::Workbench && (empty || !model.compare.draft_runs.is_empty()) && !model.compare.runs() {
        if !model.workbench.running() && is_outdated() {
            return runs::compare(model);
        }
        runs::compare_when_complete(model);
    }
    let compare = &mut model.compare;
    compare.opened = false;
    if model.screen == Screen::Compare {
        compare.page = match compare.page {
            Page::Sides if compare.matrix.is_some() => Page::Matrix,
            _ => Page::Sides,
        };
    }
    model.screen = Screen::Compare;
    Vec::new()
}

/// Runs the draft in both modes at the same time.
pub(super) fn both(model: &mut Model) -> Vec<Effect> {
    let workbench = &model.workbench;
    let refuses = |finding: &&Diagnostic| finding.place == Place::Context && finding.severity == Severity::Error;
    if workbench.checked == Some(workbench.version()) && workbench.diagnostics.iter().any(|finding| refuses(&finding)) {
        model.screen = Screen::Workbench;
        let findings = workbench.diagnostics.clone();
        run::refused(model, findings);
        return Vec::new();
    }
    let texts = workbench.texts();
    let side = |mode: Mode| Side { name: mode.name().to_owned(), run: Some(RunView::starting()) };
    show(model, BOTH.map(side).into());
    model.compare.draft = Some(texts.clone());
    vec![Effect::Compare(CompareRequest::Modes(texts, BOTH.into()))]
}

/// Goes to the page of the matrix that is about to start.
pub(super) fn show_matrix(model: &mut Model) {
    model.screen = Screen::Compare;
    model.compare.page = if model.compare.matrix.is_some() { Page::Matrix } else { Page::Sides };
}

/// Shows two to four sessions side by side.
pub(super) fn open(model: &mut Model, keys: &[SessionKey]) -> Vec<Effect> {
    let created_ms = |key: &SessionKey| {
        let all = model.sessions.all.as_deref().unwrap_or_default();
        all.iter().find(|session| session.key() == *key).map_or(i64::MAX, |session| session.created_ms)
    };
    // The older run is on the left, so that `+` is what the newer one has.
    let mut keys = keys.to_vec();
    keys.sort_by_key(created_ms);
    sessions(model, keys.iter().map(SessionKey::name).collect())
}

/// Shows sessions side by side, by their names.
pub(super) fn sessions(model: &mut Model, names: Vec<String>) -> Vec<Effect> {
    if let Err(reason) = refused(&model.compare, names.len()) {
        model.show_toast(Tone::Info, reason);
        return Vec::new();
    }
    show(model, names.iter().map(|name| Side { name: name.clone(), run: None }).collect());
    model.compare.reading = true;
    vec![Effect::Compare(CompareRequest::Sessions(names))]
}

/// Checks that this number of sessions can be compared now. Errors: why not.
fn refused(compare: &Compare, number: usize) -> Result<(), String> {
    match number {
        _ if compare.runs() => Err("runs are in progress side by side: wait for them, or stop them".to_owned()),
        0 | 1 => Err("mark two sessions or more to compare them".to_owned()),
        _ if number > MOST_SIDES => Err(format!("at most {MOST_SIDES} sessions can be compared; {number} are marked")),
        _ => Ok(()),
    }
}

fn show(model: &mut Model, sides: Vec<Side>) {
    let compare = &mut model.compare;
    let from = match model.screen {
        Screen::Compare if compare.page == Page::Matrix => WayBack::Matrix,
        Screen::Compare => compare.back,
        Screen::Sessions => WayBack::Sessions,
        Screen::Traffic => WayBack::Traffic,
        Screen::Workbench | Screen::Tests | Screen::Candidates => WayBack::Workbench,
    };
    *compare = Compare {
        sides,
        back: from,
        matrix: compare.matrix.take(),
        form: std::mem::take(&mut compare.form),
        matrices: compare.matrices.take(),
        chosen: compare.chosen,
        ..Compare::default()
    };
    model.screen = Screen::Compare;
}

/// Takes the response to a request of this screen.
pub(super) fn respond(model: &mut Model, response: CompareResponse) -> Vec<Effect> {
    match response {
        CompareResponse::Compared(names, result) => compared(model, &names, result),
        CompareResponse::Transcripts(names, found) => transcripts(model, &names, found),
        CompareResponse::Started(result) => started(model, result),
        CompareResponse::Without(result) => without(model, result.map(|found| *found)),
        CompareResponse::Found(result) => found(model, result),
        CompareResponse::MatrixStarted(result) => matrix::started(model, result),
        CompareResponse::Matrix(updates) => matrix::updates(model, &updates),
        CompareResponse::Matrices(all) => matrix::listed(model, all),
        CompareResponse::MatrixOpened(id, result) => matrix::opened(model, id, result),
    }
}

fn compared(
    model: &mut Model,
    names: &[String],
    result: Result<(Arc<Comparison>, Vec<String>), ErrorRecord>,
) -> Vec<Effect> {
    if model.compare.names() == names {
        model.compare.reading = false;
        match result {
            Ok((comparison, warnings)) => {
                model.compare.warnings = warnings;
                model.compare.take(comparison);
                if model.compare.sides.iter().all(|side| side.run.is_none()) {
                    return vec![Effect::Compare(CompareRequest::Transcripts(names.to_vec()))];
                }
            }
            Err(error) => model.compare.error = Some(error.message),
        }
    }
    Vec::new()
}

/// Takes the transcripts of sessions that are compared.
fn transcripts(model: &mut Model, names: &[String], found: Vec<Option<Transcript>>) -> Vec<Effect> {
    if model.compare.names() == names && found.iter().all(Option::is_some) {
        for (side, transcript) in model.compare.sides.iter_mut().zip(found) {
            let session = Some(side.name.clone());
            side.run = transcript.map(|mut transcript| {
                transcript.go_top();
                RunView { transcript, session, ..RunView::default() }
            });
        }
    }
    Vec::new()
}

fn started(model: &mut Model, result: Result<Vec<Option<String>>, Vec<Diagnostic>>) -> Vec<Effect> {
    match result {
        Ok(sessions) => {
            let mut effects = vec![Effect::List];
            for ((side, session), slot) in model.compare.sides.iter_mut().zip(sessions).zip(Slot::SIDES) {
                let Some(run) = side.run.as_mut().filter(|run| run.phase != Phase::Done) else { continue };
                side.name = session.clone().unwrap_or_default();
                run.session = session;
                if run.phase == Phase::Stopping {
                    effects.push(Effect::Cancel(slot));
                } else {
                    run.phase = Phase::Running;
                }
            }
            effects
        }
        Err(findings) => {
            model.compare.sides.clear();
            model.screen = Screen::Workbench;
            run::refused(model, findings);
            Vec::new()
        }
    }
}

/// Shows a run next to runs with these names, which are about to start.
pub(super) fn show_next_to(model: &mut Model, original: String, others: Vec<String>) {
    model.popups.pop();
    unconfirmed_texts::close_inspector(model);
    let original = Side { name: original, run: None };
    let others = others.into_iter().map(|name| Side { name, run: Some(RunView::starting()) });
    show(model, std::iter::once(original).chain(others).collect());
}

/// The runs without a part have started, or could not.
fn without(model: &mut Model, result: Result<StartedWithout, ErrorRecord>) -> Vec<Effect> {
    match result {
        Ok(StartedWithout { turn, original, sessions }) => {
            if let Some(side) = model.compare.sides.first_mut() {
                // The models of the dialog have been asked.
                model.unconfirmed_texts.forget(&OtherModelsDialog::id(&side.name, &turn));
                let session = Some(side.name.clone());
                side.run = original.map(|mut transcript| {
                    transcript.go_to(&turn);
                    RunView { transcript, session, ..RunView::default() }
                });
            }
            started(model, Ok(std::iter::once(None).chain(sessions).collect()))
        }
        Err(error) => {
            let back = model.compare.back;
            model.compare.sides.clear();
            model.screen = match back {
                WayBack::Sessions => Screen::Sessions,
                WayBack::Traffic => Screen::Traffic,
                WayBack::Workbench | WayBack::Matrix => Screen::Workbench,
            };
            model.show_toast(Tone::Bad, format!("not re-run: {}", error.with_hint()));
            Vec::new()
        }
    }
}

/// Takes the updates of one of the runs.
pub(super) fn updates(model: &mut Model, slot: Slot, updates: Vec<RunUpdate>) -> Vec<Effect> {
    let place = Slot::SIDES.iter().position(|side| *side == slot).unwrap_or_default();
    let mut effects = Vec::new();
    for update in updates {
        let Some(run) = model.run_of(slot) else { break };
        match update {
            RunUpdate::Event(envelope) => run.transcript.apply(&envelope),
            RunUpdate::Question(_) => {
                run.waits = true;
                let how = model.how_to_resume();
                model.show_toast(Tone::Info, format!("run {} waits for an answer: {how}", place + 1));
                effects.push(Effect::SuspendRun(slot));
            }
            RunUpdate::Unwritten { .. } => effects.push(Effect::SaveSession(slot, None)),
            RunUpdate::Ended(ended) => {
                run.phase = Phase::Done;
                run.transcript.close();
                run.ended = Some(ended.clone());
                match ended {
                    RunEnding::Elsewhere(place) | RunEnding::Unsaved(place) => model.show_toast(Tone::Bad, place),
                    RunEnding::Broken(error) => {
                        model.show_toast(Tone::Bad, format!("a run was aborted: {}", error.message));
                    }
                    _ => {}
                }
                effects.push(Effect::List);
            }
        }
    }
    let compare = &mut model.compare;
    if !compare.runs() && !compare.reading && compare.compared.is_none() && !effects.is_empty() {
        compare.reading = true;
        effects.push(Effect::Compare(CompareRequest::Sessions(compare.names())));
        keep_runs(model);
    }
    effects
}

/// The runs that have ended join those of the workbench; the last of them is shown there, unless a run is in progress.
fn keep_runs(model: &mut Model) {
    let Some(texts) = model.compare.draft.take() else { return };
    if model.workbench.running() {
        return;
    }
    for mut run in model.compare.sides.iter().filter_map(|side| side.run.clone()) {
        run.transcript.unpad();
        model.workbench.add_run(Some(texts.clone()), run);
    }
}

fn found(model: &mut Model, result: Result<(SessionKey, Option<crate::event::Address>), ErrorRecord>) -> Vec<Effect> {
    match result {
        Ok((key, turn)) => {
            model.compare.wanted = turn;
            model.compare.opened = true;
            model.screen = Screen::Sessions;
            vec![Effect::Open(key)]
        }
        Err(error) => {
            model.show_toast(Tone::Bad, format!("not opened: {}", error.message));
            Vec::new()
        }
    }
}

/// Performs the action of a key on this screen.
pub(super) fn step(model: &mut Model, step: Step) -> Vec<Effect> {
    match (model.compare.page, step) {
        (_, Step::NewMatrix) => matrix::form(model),
        (_, Step::Matrices) => matrix::list(model),
        (Page::Sides, _) => sides(model, step),
        (Page::Matrix | Page::Matrices | Page::Form, _) => matrix::step(model, step),
    }
}

fn sides(model: &mut Model, step: Step) -> Vec<Effect> {
    let compare = &mut model.compare;
    let page = compare.detail.height.max(1);
    match step {
        Step::Up => select(compare, compare.selected.checked_sub(1)),
        Step::Down => select(compare, Some(compare.selected + 1)),
        Step::First => select(compare, compare.items.iter().position(|item| item.first)),
        Step::Pair => {
            let turn = transcript(compare).and_then(Transcript::turn_in_focus);
            let row = turn.and_then(|turn| compare.row_of(compare.column, &turn));
            select(compare, compare.items.iter().position(|item| Some(item.target) == row.map(Target::Turns)));
            compare.turns = true;
        }
        Step::Next if compare.shows_transcripts() => go_difference(model, Direction::Forward),
        Step::Previous if compare.shows_transcripts() => go_difference(model, Direction::Back),
        Step::Next => select(compare, compare.find(Direction::Forward, |item| item.differs)),
        Step::Previous => select(compare, compare.find(Direction::Back, |item| item.differs)),
        Step::PageUp => compare.detail.top = compare.detail.top.saturating_sub(page),
        Step::PageDown => compare.detail.top += page,
        Step::Transcripts => compare.turns = !compare.turns,
        Step::Open => return compare.open_request().map(Effect::Compare).into_iter().collect(),
        _ => {}
    }
    Vec::new()
}

/// The transcript that has the focus.
fn transcript(compare: &Compare) -> Option<&Transcript> {
    compare.sides.get(compare.column)?.run.as_ref().map(|run| &run.transcript)
}

/// Puts the next or previous differing turn at the top of the transcript that has the focus; the others follow.
fn go_difference(model: &mut Model, direction: Direction) {
    let now_ms = model.now_ms;
    let compare = &mut model.compare;
    let column = compare.column;
    let turn = transcript(compare).and_then(Transcript::turn_in_focus);
    let here = turn.and_then(|turn| compare.row_of(column, &turn));
    let rows = compare.compared.as_ref().map_or(&[][..], |comparison| &comparison.rows);
    let differs = |row: &usize| rows[*row].differs && rows[*row].cells.get(column).is_some_and(Option::is_some);
    let found = match direction {
        Direction::Forward => (here.map_or(0, |here| here + 1)..rows.len()).find(differs),
        Direction::Back => (0..here.unwrap_or(rows.len())).rev().find(differs),
    };
    let turn = found.and_then(|row| compare.turn_at(column, row));
    let run = compare.sides.get_mut(column).and_then(|side| side.run.as_mut());
    match (turn, run) {
        (Some(turn), Some(run)) => {
            let start = run.transcript.first_cell(&turn);
            if let Some(cell) = start {
                run.transcript.show_from(cell, 0, now_ms);
            }
            run.transcript.mark_turn(Some(&turn));
        }
        _ => model.show_toast(Tone::Info, "no further turn differs"),
    }
}

/// Selects a line, when there is one.
pub(super) fn select(compare: &mut Compare, place: Option<usize>) {
    if let Some(place) = place.filter(|place| *place < compare.items.len())
        && place != compare.selected
    {
        compare.selected = place;
        compare.detail.top = 0;
    }
}

/// Focuses the next or previous run.
pub(super) fn next_run(model: &mut Model, by: usize) {
    let runs = model.compare.sides.len().max(1);
    let step = if by == 1 { 1 } else { runs - 1 };
    model.compare.column = (model.compare.column + step) % runs;
}

/// Closes the topmost thing of the screen, stops what runs here, or leaves it.
pub(super) fn close(model: &mut Model) -> Vec<Effect> {
    if model.compare.page == Page::Sides && model.compare.runs() {
        let stops = super::stop::is_announced(model, Action::Close);
        return if stops { stop(&mut model.compare) } else { Vec::new() };
    }
    let compare = &mut model.compare;
    match compare.page {
        Page::Form | Page::Matrices => {
            compare.page = if compare.matrix.is_some() { Page::Matrix } else { Page::Sides };
        }
        Page::Matrix if compare.sides.is_empty() || compare.back == WayBack::Matrix => {
            compare.back = WayBack::Workbench;
            model.screen = Screen::Workbench;
        }
        Page::Matrix => compare.page = Page::Sides,
        Page::Sides if compare.runs() => return stop(compare),
        Page::Sides if compare.turns && compare.sides.iter().any(|side| side.run.is_some()) => compare.turns = false,
        Page::Sides => match compare.back {
            WayBack::Matrix if compare.matrix.is_some() => compare.page = Page::Matrix,
            WayBack::Sessions => model.screen = Screen::Sessions,
            WayBack::Traffic => return super::traffic::enter(model),
            WayBack::Matrix | WayBack::Workbench => model.screen = Screen::Workbench,
        },
    }
    Vec::new()
}

fn stop(compare: &mut Compare) -> Vec<Effect> {
    let mut effects = Vec::new();
    for (side, slot) in compare.sides.iter_mut().zip(Slot::SIDES) {
        if let Some(run) = side.run.as_mut().filter(|run| matches!(run.phase, Phase::Starting | Phase::Running)) {
            run.phase = Phase::Stopping;
            effects.push(Effect::Cancel(slot));
        }
    }
    effects
}

/// The wheel: over the turns it selects, else it scrolls what is below or the transcripts.
pub(super) fn wheel(model: &mut Model, at: Position, lines: isize) {
    let now_ms = model.now_ms;
    let compare = &mut model.compare;
    let one = if lines < 0 { Step::Up } else { Step::Down };
    if compare.page != Page::Sides || (compare.area.contains(at) && !compare.shows_transcripts()) {
        step(model, one);
    } else if compare.shows_transcripts() {
        if let Some(run) = compare.sides.get_mut(compare.column).and_then(|side| side.run.as_mut()) {
            run.transcript.scroll(Scroll::Lines(lines), now_ms);
        }
    } else {
        compare.detail.top = compare.detail.top.saturating_add_signed(lines);
    }
}

/// A click selects the line under it; side by side, the run under it gets the focus.
pub(super) fn click(model: &mut Model, at: Position) {
    match model.compare.page {
        Page::Sides => click_run(model, at),
        Page::Form => click_field(model, at),
        Page::Matrices => {
            if let Some(line) = crate::tui::view::matrix_row(model, at) {
                model.compare.chosen = line;
            }
        }
        Page::Matrix => {}
    }
}

/// A field of the dialog gets the focus; a mode is chosen or left out, a text takes the cursor.
fn click_field(model: &mut Model, at: Position) {
    let Some((field, mode, area)) = crate::tui::view::matrix_field(model, at) else { return };
    let form = &mut model.compare.form;
    form.field = field;
    if let Some(mode) = mode {
        form.mode = mode;
        form.toggle_mode();
    }
    if let Some(draft) = form.draft_mut() {
        let byte = crate::tui::view::byte_at(draft, area, at.x);
        draft.place(byte, Reach::Move);
    }
}

fn click_run(model: &mut Model, at: Position) {
    let (columns, wide) = (model.size.0, model.wide());
    let compare = &mut model.compare;
    let runs = u16::try_from(compare.sides.len()).unwrap_or(1).max(1);
    if wide {
        compare.column = usize::from((at.x * runs / columns.max(1)).min(runs - 1));
    }
    if !compare.shows_transcripts() && compare.area.contains(at) {
        let place = compare.top + usize::from(at.y - compare.area.y);
        select(compare, Some(place));
    }
}
