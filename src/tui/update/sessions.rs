//! The sessions screen: list, search, opened sessions, replays. One query at a time is under way, and the latest one counts.
//! An action on a session begins with a dialog, or at once with a request.

use std::collections::HashMap;

use crate::agent::Place;
use crate::event::{Address, ErrorRecord};
use crate::replay::Policy;
use crate::session::index::FoundSession;
use crate::session::{Marks, Summary};
use crate::tui::archive::ArchiveRequest;
use crate::tui::compare::Page;
use crate::tui::message::{Effect, Slot};
use crate::tui::model::{Model, Pane, Phase, Picks, Popup, RunView, Screen, Search, Tone, failure_lines};
use crate::tui::overview::RAIL_TURNS;
use crate::tui::sessions::fork::Aim;
use crate::tui::sessions::{Dialog, SessionAction, delete, export, fork, marks, rerun};
use crate::tui::transcript::Transcript;
use crate::workbench::{FailureGroup, OpenSession, SearchError, SessionKey, TurnBody};

/// Goes to the sessions; from an opened one back to the list.
pub(super) fn enter(model: &mut Model) -> Vec<Effect> {
    if model.screen == Screen::Sessions && model.sessions.viewer.is_some() {
        super::play::close(model);
        model.compare.opened = false;
        model.tests.opened = false;
        model.traffic.opened = false;
        model.candidates.opened = false;
        return close(model);
    }
    let mut effects = vec![Effect::List];
    if let Some(waiting) = waiting(model) {
        super::play::close(model);
        if model.sessions.viewer.take().is_some_and(|viewer| viewer.phase != Phase::Done) {
            effects.push(Effect::Cancel(Slot::Viewer));
        }
        clear_filter(model);
        model.sessions.wanted = Some(waiting);
    }
    model.screen = Screen::Sessions;
    model.sessions.moved = false;
    reselect(model);
    effects
}

/// The session of the run on the screen that waits for an answer; before the first run, the newest one that is not finished. The screens
/// name the keys that resume it: the list must have it selected then.
fn waiting(model: &mut Model) -> Option<String> {
    let waits = |run: &RunView| run.session.clone().filter(|_| run.waits && run.phase == Phase::Done);
    match model.screen {
        Screen::Compare if model.compare.page == Page::Sides => {
            let sides = &model.compare.sides;
            let focused = sides.get(model.compare.column).into_iter();
            focused.chain(sides).find_map(|side| waits(side.run.as_ref()?))
        }
        Screen::Workbench => match &model.workbench.run {
            Some(run) if !run.is_example => waits(run),
            _ if model.sessions.noticed.is_none() => {
                let id = model.sessions.unfinished().next().map(|session| session.id.clone());
                model.sessions.noticed.clone_from(&id);
                id
            }
            _ => None,
        },
        _ => None,
    }
}

pub(super) fn listed(model: &mut Model, all: Vec<Summary>, marks: Marks) -> Vec<Effect> {
    model.sessions.all = Some(all);
    model.sessions.marks = marks;
    model.sessions.arrange();
    reselect(model);
    let query = wanted(model);
    let mut effects =
        if query.is_empty() || model.sessions.search.running.is_some() { Vec::new() } else { search(model, query) };
    match model.sessions.awaited.take() {
        Some(_) if model.awaits_listing() => {
            model.show_toast(Tone::Bad, "the session of this run is not among the saved ones");
        }
        Some(action) => effects.extend(super::keys::act(model, action)),
        None => {}
    }
    effects
}

/// The query in the field.
fn wanted(model: &Model) -> String {
    model.sessions.typed().to_owned()
}

/// Handles a changed query.
pub(super) fn query_changed(model: &mut Model) -> Vec<Effect> {
    let query = wanted(model);
    if query.is_empty() {
        let running = model.sessions.search.running.take();
        model.sessions.search = Search { running, ..Search::default() };
        model.sessions.arrange();
        reselect(model);
        return Vec::new();
    }
    // The response to a query under way searches for the query in the field by then.
    if model.sessions.search.running.is_some() { Vec::new() } else { search(model, query) }
}

fn search(model: &mut Model, query: String) -> Vec<Effect> {
    model.sessions.search.running = Some(query.clone());
    vec![Effect::Archive(ArchiveRequest::Search(query))]
}

/// A query has its result.
pub(super) fn found(model: &mut Model, query: &str, result: Result<Vec<FoundSession>, SearchError>) -> Vec<Effect> {
    model.sessions.search.running = None;
    let now = wanted(model);
    if now != query {
        return if now.is_empty() { Vec::new() } else { search(model, now) };
    }
    let opens = std::mem::take(&mut model.sessions.search.opens);
    let is_valid = result.is_ok();
    let (found, problem) = match result {
        Ok(found) => (found.into_iter().map(|found| (found.summary.key(), found)).collect(), None),
        Err(problem) => (HashMap::new(), Some(problem)),
    };
    // Rows of an earlier query do not stand for one that has an error.
    model.sessions.search = Search { query: now, found: Some(found), problem, ..Search::default() };
    model.sessions.arrange();
    // The selection returns when the error is corrected.
    if is_valid {
        reselect(model);
    }
    if !opens {
        return Vec::new();
    }
    model.toast = None;
    open(model)
}

/// Keeps the selection on a session that is shown; that of a new run is selected once, unless the user has moved since.
pub(super) fn reselect(model: &mut Model) {
    let run = model.workbench.run.as_ref().and_then(|run| run.session.clone());
    if run.is_some() && run != model.sessions.noticed && !(model.screen == Screen::Sessions && model.sessions.moved) {
        let made = model.sessions.shown().find(|session| Some(&session.id) == run.as_ref());
        if let Some(made) = made.map(Summary::key) {
            model.sessions.selected = Some(made);
            model.sessions.noticed = run;
        }
    }
    if model.screen == Screen::Sessions && !model.sessions.moved {
        let wanted = model.sessions.wanted.as_ref();
        let found = wanted.and_then(|id| model.sessions.shown().find(|session| session.id == *id)).map(Summary::key);
        if found.is_some() {
            model.sessions.selected = found;
            model.sessions.wanted = None;
        }
    }
    if model.sessions.selected_row().is_none() {
        let first = model.sessions.shown().next().map(Summary::key);
        model.sessions.selected = first;
        model.sessions.top = 0;
    }
}

/// Rows of a page of the list.
pub(super) fn page(model: &Model) -> isize {
    isize::try_from(model.sessions.area.height).unwrap_or(1).saturating_sub(1).max(1)
}

pub(super) fn select(model: &mut Model, by: isize) -> Vec<Effect> {
    // Moving goes into the list: letters act on the selected session then, and the filter stays.
    model.sessions.filtering = false;
    let now = model.sessions.shown().position(|session| Some(session.key()) == model.sessions.selected).unwrap_or(0);
    let last = model.sessions.shown().count().saturating_sub(1);
    let next = model.sessions.shown().nth(now.saturating_add_signed(by).min(last)).map(Summary::key);
    pick(model, next);
    Vec::new()
}

/// Selects a session for the user.
pub(super) fn pick(model: &mut Model, session: Option<SessionKey>) {
    if session.is_some() {
        model.sessions.selected = session;
        model.sessions.moved = true;
    }
}

/// Lists by time, or by branches.
pub(super) fn branches(model: &mut Model) -> Vec<Effect> {
    model.sessions.flat = !model.sessions.flat;
    model.sessions.arrange();
    Vec::new()
}

/// Lists the sessions that wait for a label.
pub(super) fn unlabelled(model: &mut Model) -> Vec<Effect> {
    model.sessions.filter.replace_all("is:unlabelled");
    query_changed(model)
}

pub(super) fn filter(model: &mut Model) -> Vec<Effect> {
    model.sessions.filtering = true;
    Vec::new()
}

/// Opens the selected session; while its row may belong to another query, as soon as the search has ended.
pub(super) fn open(model: &mut Model) -> Vec<Effect> {
    model.sessions.filtering = false;
    if model.sessions.is_stale() {
        model.sessions.search.opens = true;
        model.show_toast(Tone::Info, "the session is opened as soon as the search has ended");
        return Vec::new();
    }
    let Some(key) = model.sessions.current().map(Summary::key) else {
        if model.sessions.search.problem.is_none() {
            model.show_toast(Tone::Info, "no session fits the search");
        }
        return Vec::new();
    };
    vec![Effect::Open(key)]
}

/// Asks what fails in the sessions that are listed.
pub(super) fn failures(model: &mut Model) -> Vec<Effect> {
    model.sessions.filtering = false;
    vec![Effect::Archive(ArchiveRequest::Failures(wanted(model)))]
}

/// Shows what fails.
pub(super) fn show_failures(model: &mut Model, result: Result<Vec<FailureGroup>, ErrorRecord>) -> Vec<Effect> {
    match result {
        Ok(failures) if failures.is_empty() => model.show_toast(Tone::Info, "nothing has failed in these sessions"),
        Ok(failures) => {
            let lines = failure_lines(&failures, |ms| crate::tui::view::when(model, ms));
            let message = "What failed, the most frequent first, with its places. Enter opens the session at the turn.";
            let (title, message, fixes) = ("Failures", message.to_owned(), Picks::Failures(lines));
            model.popups.push(Popup::Fixes { title, message, fixes, selected: 0 });
        }
        Err(error) => model.show_toast(Tone::Bad, error.message),
    }
    Vec::new()
}

/// Opens a session at a run, turn or call.
pub(super) fn open_at(model: &mut Model, key: SessionKey, at: Address) -> Vec<Effect> {
    model.compare.wanted = Some(at);
    vec![Effect::Open(key)]
}

/// Opens the session whose replay differs where it begins to.
pub(super) fn open_difference(model: &mut Model) -> Vec<Effect> {
    let key = model.sessions.viewer.as_ref().and_then(|viewer| viewer.key.clone());
    match (model.popups.pop(), key) {
        (Some(Popup::Differs(differs)), Some(key)) => open_at(model, key, differs.at),
        _ => Vec::new(),
    }
}

pub(super) fn opened(model: &mut Model, result: Result<OpenSession, ErrorRecord>) -> Vec<Effect> {
    match result {
        Ok(session) => {
            model.sessions.selected = Some(session.summary.key());
            model.sessions.scrub = None;
            let mut viewer = RunView::of_session(&session);
            // The search result is placed where one begins to read.
            let hit = model.sessions.hit(&session.summary.key()).and_then(|hit| hit.matches.first());
            let wanted = model.compare.wanted.take();
            if let Some(turn) = wanted.as_ref().or(hit.map(|hit| &hit.at)) {
                viewer.transcript.go_to(turn);
            }
            // A long session shows its turns next to the transcript.
            let turns: usize = session.runs.iter().map(|run| run.turns.len()).sum();
            let effects = if turns >= RAIL_TURNS { super::overview::read(&mut viewer) } else { Vec::new() };
            model.sessions.viewer = Some(viewer);
            reselect(model);
            return effects;
        }
        Err(error) => {
            model.show_toast(Tone::Bad, format!("not opened: {}", error.with_hint()));
        }
    }
    Vec::new()
}

pub(super) fn turn_read(
    model: &mut Model,
    session: &SessionKey,
    turn: &Address,
    body: Result<TurnBody, ErrorRecord>,
) -> Vec<Effect> {
    if let Some(viewer) = model.sessions.viewer.as_mut().filter(|viewer| viewer.key.as_ref() == Some(session)) {
        match body {
            Ok(body) => {
                viewer.transcript.read_turn(turn, &body.events, body.request);
                viewer.transcript.set_replaced(turn, &body.replaced);
            }
            Err(error) => viewer.transcript.fail_turn(turn, &error.message),
        }
    }
    Vec::new()
}

pub(super) fn replay(model: &mut Model, policy: Policy) -> Vec<Effect> {
    let viewer = model.sessions.viewer.as_ref();
    let opened = viewer.and_then(|viewer| Some((viewer.key.clone()?, viewer.session.clone()?)));
    let selected = || model.sessions.current().map(|session| (session.key(), session.name()));
    let Some((key, name)) = opened.or_else(selected) else { return Vec::new() };
    let recorded = |viewer: &RunView| {
        let facts = &viewer.transcript.facts;
        viewer.transcript.recorded_ms.or_else(|| facts.end.as_ref().map(|_| facts.elapsed_ms(facts.last_ms)))
    };
    let recorded_ms = model.sessions.viewer.as_ref().and_then(recorded);
    model.sessions.filtering = false;
    model.popups.retain(|popup| !matches!(popup, Popup::Differs(_)));
    let replay = Some(policy);
    let mut view = RunView { session: Some(name), key: Some(key.clone()), replay, ..RunView::starting() };
    view.transcript.recorded_ms = recorded_ms;
    model.sessions.viewer = Some(view);
    vec![Effect::Replay(key, policy)]
}

/// Resumes the opened or selected session; for one that has ended a message is asked for. Once it is resumed, the workbench shows it in
/// place of its run.
pub(super) fn resume(model: &mut Model) -> Vec<Effect> {
    if model.has_ended() {
        return super::dialog::message(model);
    }
    let Some(key) = model.sessions.subject().map(Summary::key) else { return Vec::new() };
    model.sessions.filtering = false;
    model.workbench.begin_other();
    model.show_toast(Tone::Info, "the session is being resumed …");
    vec![Effect::Resume(key)]
}

pub(super) fn resumed(model: &mut Model, result: Result<Option<String>, ErrorRecord>) -> Vec<Effect> {
    match result {
        Ok(session) => {
            model.screen = Screen::Workbench;
            model.workbench.focus = Pane::Run;
            model.toast = None;
            super::run::started(model, Ok(session))
        }
        Err(error) => {
            model.workbench.not_begun();
            model.show_toast(Tone::Bad, format!("could not resume: {}", error.with_hint()));
            Vec::new()
        }
    }
}

pub(super) fn replay_started(model: &mut Model, result: Result<(), String>) -> Vec<Effect> {
    match result {
        Ok(()) => {
            if let Some(viewer) = model.sessions.viewer.as_mut().filter(|viewer| viewer.phase == Phase::Starting) {
                viewer.phase = Phase::Running;
            }
        }
        Err(error) => {
            model.sessions.viewer = None;
            model.show_toast(Tone::Bad, format!("not replayed: {error}"));
        }
    }
    Vec::new()
}

/// Closes the opened session, then the filter, then the screen.
pub(super) fn close(model: &mut Model) -> Vec<Effect> {
    if super::play::close(model) {
        return Vec::new();
    }
    if let Some(viewer) = model.sessions.viewer.take() {
        if std::mem::take(&mut model.traffic.opened) {
            model.screen = Screen::Traffic;
            // Another session may have taken its place.
            if model.traffic.follows(&viewer) {
                model.traffic.view = Some(viewer);
                return Vec::new();
            }
            return super::traffic::enter(model);
        }
        // From the runs side by side it goes back there.
        if std::mem::take(&mut model.compare.opened) {
            model.screen = Screen::Compare;
        }
        if std::mem::take(&mut model.tests.opened) {
            model.screen = Screen::Tests;
        }
        if std::mem::take(&mut model.candidates.opened) {
            model.screen = Screen::Candidates;
        }
        return if viewer.phase == Phase::Done { Vec::new() } else { vec![Effect::Cancel(Slot::Viewer)] };
    }
    if clear_filter(model) {
        return Vec::new();
    }
    model.screen = Screen::Workbench;
    Vec::new()
}

/// Shows all sessions again. Returns whether there was a filter.
fn clear_filter(model: &mut Model) -> bool {
    let filters = model.sessions.filtering || !model.sessions.filter.text().is_empty();
    if filters {
        model.sessions.filtering = false;
        model.sessions.filter.replace_all("");
    }
    filters
}

/// Start of an action.
#[derive(Debug)]
pub(super) enum ActionStart {
    /// With a dialog.
    Dialog(Box<Dialog>),
    /// At once.
    Request(ArchiveRequest),
}

/// Returns how an action begins with the session in hand; `None` when there is none.
pub(super) fn begin(action: SessionAction, model: &Model) -> Option<ActionStart> {
    let session = model.saved_subject()?;
    let key = session.key();
    let mark = || {
        let (session, at) = model.sessions.mark_place()?;
        let mark = model.sessions.marks.of(&session, at.as_ref());
        Some((session, at, mark))
    };
    let dialog = match action {
        SessionAction::Fork => fork::Fork::open(key, model.selected_address(), Aim::Fork),
        SessionAction::EditHere => fork::Fork::open(key, model.selected_address(), Aim::Edit),
        SessionAction::Rerun => rerun::Rerun::open(key),
        SessionAction::MakeCase => {
            let own = model.workbench.file.as_ref().filter(|_| model.workbench.preview.name == session.agent);
            marks::Case::open(session, own.map(|file| file.path.display().to_string()))
        }
        SessionAction::Export => export::Export::open(session),
        SessionAction::Tags => mark().map(|(session, at, mark)| marks::Marks::tags(session, at, mark))?,
        SessionAction::Note => mark().map(|(session, at, mark)| marks::Marks::note(session, at, mark))?,
        SessionAction::Label => {
            let (session, at) = model.sessions.label_place()?;
            let mark = model.sessions.marks.of(&session, at.as_ref());
            marks::Marks::label(session, at, mark)
        }
        SessionAction::Mark => {
            let (session, at, mut mark) = mark()?;
            mark.marked = !mark.marked;
            return Some(ActionStart::Request(ArchiveRequest::Mark { session, at, mark }));
        }
        SessionAction::AddExample => {
            let turn = model.active_transcript().and_then(Transcript::turn_in_hand)?;
            let prompt = model.workbench.editor(Place::Prompt).draft.text().to_owned();
            return Some(ActionStart::Request(ArchiveRequest::Example(key, turn, prompt)));
        }
        SessionAction::Suggest => {
            let turn = model.active_transcript().and_then(Transcript::turn_in_hand)?;
            let workbench = &model.workbench;
            let file = workbench.file.as_ref().map(|file| file.path.clone());
            return Some(ActionStart::Request(ArchiveRequest::PrepareSuggestion(
                key,
                turn,
                file,
                Box::new(workbench.texts()),
            )));
        }
        SessionAction::Delete => delete::Delete::open(session),
        SessionAction::AcceptReplay => return Some(ActionStart::Request(ArchiveRequest::Accept(key))),
        SessionAction::Play => return Some(ActionStart::Request(ArchiveRequest::Events(key))),
    };
    Some(ActionStart::Dialog(Box::new(dialog)))
}
