//! The candidates screen: which candidate and case are selected, what is opened, which changes are written into the agent file.
//!
//! In: keys, a search as it was read. Out: requests to read it, to compare a candidate, to write one.

use std::path::PathBuf;

use ratatui::layout::Position;

use super::{response, unconfirmed_texts};
use crate::tui::actions::Action;
use crate::tui::candidates::{CandidatesRequest, CandidatesResponse, HunkSelection, Listing, Pane, Step, WriteRequest};
use crate::tui::direction::Leap;
use crate::tui::message::Effect;
use crate::tui::model::{Model, Popup, Screen, Tone};
use crate::tui::sessions::{Dialog, Purpose, workbench};
use crate::workbench::format::plural;

/// Goes to the candidates; without a search, to those of the draft's agent.
pub(super) fn enter(model: &mut Model) -> Vec<Effect> {
    if model.candidates.outline.is_some() {
        model.screen = Screen::Candidates;
        return Vec::new();
    }
    vec![Effect::Candidates(CandidatesRequest::Open(usual_folder(model)))]
}

/// The folder in which the command line searches for the draft's agent.
fn usual_folder(model: &Model) -> PathBuf {
    PathBuf::from(format!("{}.optimize", model.workbench.preview.name))
}

/// Asks which search.
pub(super) fn dialog(model: &mut Model) -> Vec<Effect> {
    let dir = model.candidates.dir.clone().unwrap_or_else(|| usual_folder(model));
    unconfirmed_texts::show(model, Dialog::new(workbench::open_search(&dir), Purpose::Candidates))
}

/// Closes the pending write, then the cases, then the screen.
pub(super) fn close(model: &mut Model) -> Vec<Effect> {
    let candidates = &mut model.candidates;
    if candidates.hunk_selection.take().is_none() {
        match candidates.focus {
            Pane::Tree => model.screen = Screen::Workbench,
            Pane::Change | Pane::Cases => candidates.focus = Pane::Tree,
        }
    }
    Vec::new()
}

/// A move or a choice.
pub(super) fn step(model: &mut Model, step: Step) -> Vec<Effect> {
    let candidates = &mut model.candidates;
    match step {
        Step::Go(leap) => candidates.go(leap),
        Step::Open if candidates.focus != Pane::Cases => candidates.focus = Pane::Cases,
        Step::Open => {
            let session = candidates.current_case().and_then(|case| case.session.clone());
            return session.into_iter().map(|id| Effect::Candidates(CandidatesRequest::Find(id))).collect();
        }
        Step::Best => {
            let best = candidates.outline.as_ref().map_or(0, |outline| outline.best);
            let place = candidates.lines().iter().position(|line| line.number == best);
            candidates.tree.selected = place.unwrap_or(candidates.tree.selected);
            candidates.focus = Pane::Tree;
        }
        Step::OtherParent => candidates.switch_parent(),
        Step::Write => {
            let number = candidates.current().map(|line| line.number);
            return number.into_iter().map(|one| Effect::Candidates(CandidatesRequest::Compare(one))).collect();
        }
        Step::Choose => candidates.hunk_selection.iter_mut().for_each(|selection| selection.choose()),
        Step::ChooseAll => candidates.hunk_selection.iter_mut().for_each(|selection| selection.choose_all()),
        Step::WriteChosen => return write(model),
    }
    Vec::new()
}

/// Writes the chosen hunks.
fn write(model: &mut Model) -> Vec<Effect> {
    let Some(selection) = &mut model.candidates.hunk_selection else { return Vec::new() };
    if selection.chosen() == 0 {
        let key = model.keymap.first_name(Action::InCandidates(Step::Choose));
        model.show_toast(Tone::Info, format!("no hunk is chosen: {key} chooses the selected one"));
        return Vec::new();
    }
    selection.is_busy = true;
    let request = WriteRequest {
        candidate: selection.candidate,
        changes: (*selection.changes).clone(),
        chosen: selection.chosen.clone(),
        open: model.workbench.file.as_ref().map(|file| file.path.clone()),
    };
    vec![Effect::Candidates(CandidatesRequest::Write(Box::new(request)))]
}

/// Takes the response to a request.
pub(super) fn respond(model: &mut Model, response: CandidatesResponse) -> Vec<Effect> {
    use CandidatesResponse as Response;
    let now_ms = model.now_ms;
    match response {
        Response::Opened(dir, Ok(outline)) => {
            response::confirm(model, opens_search);
            model.candidates.open(dir, outline, now_ms);
            unconfirmed_texts::close_inspector(model);
            model.screen = Screen::Candidates;
        }
        Response::Opened(dir, Err(error)) => refuse(model, &dir, error),
        Response::Refreshed(result) => {
            model.candidates.was_read(now_ms);
            let problem = match result {
                Ok(Some(outline)) => {
                    model.candidates.refresh(outline);
                    None
                }
                Ok(None) => None,
                Err(error) => Some(error),
            };
            model.dirty |= model.candidates.problem != problem;
            model.candidates.problem = problem;
        }
        Response::Described(detail) => detail.into_iter().for_each(|detail| model.candidates.describe(detail)),
        Response::Compared(number, Ok(changes)) if changes.hunks.is_empty() => {
            let text = format!("c{number:02} changes nothing in {}", changes.path.display());
            model.show_toast(Tone::Info, text);
        }
        Response::Compared(number, Ok(changes)) => {
            model.candidates.hunk_selection = Some(Box::new(HunkSelection::new(number, changes)));
        }
        Response::Written(candidate, Ok(written)) => {
            model.candidates.hunk_selection = None;
            let hunks = plural(written.hunks, "hunk");
            let text = format!("wrote {hunks} of c{candidate:02} into {}", written.path.display());
            super::take::merge_written(model, text, written.agent);
        }
        Response::Written(_, Err(error)) => {
            model.candidates.hunk_selection.iter_mut().for_each(|selection| selection.is_busy = false);
            model.show_toast(Tone::Bad, error);
        }
        Response::Found(Ok(key)) => {
            model.screen = Screen::Sessions;
            model.candidates.opened = true;
            return vec![Effect::Open(key)];
        }
        Response::Compared(_, Err(error)) | Response::Found(Err(error)) => model.show_toast(Tone::Bad, error),
    }
    Vec::new()
}

/// Returns whether a dialog of this purpose opens a search.
fn opens_search(purpose: &Purpose) -> bool {
    matches!(purpose, Purpose::Candidates)
}

/// There is no search in a folder: asks for another one, with the reason. A dialog that was opened meanwhile stays as it is.
fn refuse(model: &mut Model, dir: &std::path::Path, error: String) {
    if model.popups.iter().any(|popup| matches!(popup, Popup::Form(_, Purpose::Candidates))) {
        response::refuse(model, opens_search, "not opened: ", error);
        return;
    }
    model.unconfirmed_texts.refuse(opens_search);
    drop(unconfirmed_texts::show(model, Dialog::new(workbench::open_search(dir), Purpose::Candidates)));
    if let Some(Popup::Form(form, _)) = model.popups.last_mut() {
        form.fail(error);
    }
}

/// Returns the effects that keep the screen current: a read of the journal when it is due, a comparison of the selected candidate with its
/// parent.
pub(super) fn follow(model: &mut Model) -> Vec<Effect> {
    if model.screen != Screen::Candidates || model.inspector.is_some() {
        return Vec::new();
    }
    let candidates = &mut model.candidates;
    let mut effects = Vec::new();
    if candidates.due_ms().is_some_and(|due| due <= model.now_ms) {
        candidates.begin_reading();
        effects.push(Effect::Candidates(CandidatesRequest::Refresh));
    }
    let undescribed = candidates.take_undescribed();
    effects.extend(undescribed.map(|(number, place)| Effect::Candidates(CandidatesRequest::Describe(number, place))));
    effects
}

/// Selects what is at a place.
pub(super) fn click(model: &mut Model, at: Position) {
    let candidates = &mut model.candidates;
    if let Some(selection) = &mut candidates.hunk_selection {
        let row = usize::from(at.y.saturating_sub(selection.area.y)) + selection.top;
        if selection.area.contains(at)
            && let Some(row) = selection.rows.1.get(row)
        {
            selection.selected = row.hunk;
        }
        return;
    }
    let row = |listing: &Listing| usize::from(at.y - listing.area.y) + listing.top;
    if candidates.tree.area.contains(at) {
        candidates.focus = Pane::Tree;
        candidates.tree.selected = row(&candidates.tree).min(candidates.lines().len().saturating_sub(1));
    } else if candidates.cases.area.contains(at) {
        candidates.focus = Pane::Cases;
        let count = candidates.current_detail().map_or(0, |detail| detail.cases.len());
        candidates.cases.selected = row(&candidates.cases).min(count.saturating_sub(1));
    } else if candidates.change_area.contains(at) {
        candidates.focus = Pane::Change;
    }
}

/// The wheel moves in the part below it.
pub(super) fn wheel(model: &mut Model, at: Position, lines: isize) {
    let candidates = &mut model.candidates;
    if candidates.change_area.contains(at) {
        candidates.focus = Pane::Change;
    } else if candidates.cases.area.contains(at) {
        candidates.focus = Pane::Cases;
    } else if candidates.tree.area.contains(at) {
        candidates.focus = Pane::Tree;
    }
    candidates.go(if lines < 0 { Leap::Up } else { Leap::Down });
}
