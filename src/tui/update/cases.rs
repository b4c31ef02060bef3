//! The tests screen: which case is selected, which run, what is opened.
//!
//! In: keys, results of cases. Out: requests to read and run the cases of the draft as it is in the editors.

use std::path::{Path, PathBuf};

use ratatui::layout::Position;

use crate::agent::Place;
use crate::event::Address;
use crate::tui::cases::{Step, TestRequest, TestResponse};
use crate::tui::direction::Leap;
use crate::tui::message::Effect;
use crate::tui::model::{Model, Pane, Screen, Tone};
use crate::workbench::format::plural;

/// Goes to the tests of the draft.
pub(super) fn enter(model: &mut Model) -> Vec<Effect> {
    model.screen = Screen::Tests;
    vec![list(model)]
}

/// Reads the cases of the draft.
pub(super) fn list(model: &Model) -> Effect {
    Effect::Tests(TestRequest::List(model.workbench.version(), Box::new(model.workbench.texts()), folder(model)))
}

/// Closes the screen.
pub(super) fn close(model: &mut Model) -> Vec<Effect> {
    model.screen = Screen::Workbench;
    Vec::new()
}

/// A move or a choice.
pub(super) fn step(model: &mut Model, step: Step) -> Vec<Effect> {
    let tests = &mut model.tests;
    let count = tests.cases.as_ref().map_or(0, Vec::len);
    match step {
        Step::Go(leap) => tests.selected = leap.within(tests.selected, count, usize::from(tests.area.height)),
        Step::RunOne => {
            let name = tests.current().map(|line| line.outline.name.clone());
            return run(model, name.into_iter().collect());
        }
        Step::RunAll => return run_all(model),
        Step::Stop => {
            tests.queue.clear();
            return vec![Effect::StopTests];
        }
        Step::Watch => {
            tests.watch = !tests.watch;
            let text = if tests.watch { "the cases run whenever the draft is saved" } else { "saving runs no cases" };
            model.show_toast(Tone::Info, text);
        }
        Step::Open => return open(model),
        Step::OpenFailure => {
            if let Some(at) = tests.next_failure() {
                tests.selected = at;
                return open(model);
            }
        }
        Step::Edit => {
            let name = tests.current().map(|line| line.outline.name.clone()).unwrap_or_default();
            return edit(model, &name);
        }
    }
    Vec::new()
}

/// Selects the case at a place.
pub(super) fn click(model: &mut Model, at: Position) {
    let tests = &mut model.tests;
    if tests.area.contains(at) {
        let row = usize::from(at.y - tests.area.y) + tests.top;
        tests.selected = row.min(tests.cases.as_ref().map_or(0, Vec::len).saturating_sub(1));
    }
}

/// The wheel moves the selection.
pub(super) fn wheel(model: &mut Model, lines: isize) {
    let leap = if lines < 0 { Leap::Up } else { Leap::Down };
    drop(step(model, Step::Go(leap)));
}

/// Runs all cases of the draft.
pub(super) fn run_all(model: &mut Model) -> Vec<Effect> {
    let names = model.tests.cases.iter().flatten().map(|line| line.outline.name.clone()).collect();
    run(model, names)
}

/// The draft was saved: in watch mode its cases run.
pub(super) fn saved(model: &mut Model) -> Vec<Effect> {
    if model.tests.watch { run_all(model) } else { Vec::new() }
}

fn run(model: &mut Model, names: Vec<String>) -> Vec<Effect> {
    let version = model.workbench.version();
    let stop = model.tests.runs().then_some(Effect::StopTests);
    model.tests.begin(names, version);
    stop.into_iter().chain(start_due(model)).collect()
}

/// Starts the cases that are due.
fn start_due(model: &mut Model) -> Vec<Effect> {
    let (batch, due) = (model.tests.batch, model.tests.due());
    let folder = folder(model);
    let texts = model.workbench.texts();
    let run = |name: String| {
        Effect::Tests(TestRequest::Run { batch, texts: Box::new(texts.clone()), folder: folder.clone(), name })
    };
    due.into_iter().map(run).collect()
}

/// The folder of the agent's file.
pub(super) fn folder(model: &Model) -> PathBuf {
    let path = model.workbench.file.as_ref().map(|file| file.path.clone()).unwrap_or_default();
    path.parent().unwrap_or(Path::new("")).to_owned()
}

/// Takes the response to a request.
pub(super) fn respond(model: &mut Model, response: TestResponse) -> Vec<Effect> {
    match response {
        TestResponse::Listed(version, result) => {
            if version != model.workbench.version() {
                return Vec::new();
            }
            match result {
                Ok(outlines) => model.tests.list(outlines),
                Err(problem) => model.tests.problem = Some(problem),
            }
            Vec::new()
        }
        TestResponse::Tested(batch, name, result) => {
            if batch != model.tests.batch {
                return Vec::new();
            }
            model.tests.take(&name, result.map(|result| *result));
            let mut effects = start_due(model);
            if !model.tests.runs() {
                // The list of sessions knows those of the cases before one of them is opened.
                effects.push(Effect::List);
                report(model);
            }
            effects
        }
    }
}

/// Reports how the cases came out.
fn report(model: &mut Model) {
    let (passed, failed, _) = model.tests.counts();
    let text = format!("{passed} of {} passed", plural((passed + failed) as u64, "case"));
    let tone = if failed == 0 { Tone::Good } else { Tone::Bad };
    model.show_toast(tone, text);
}

/// Opens the session of the selected case at its end.
fn open(model: &mut Model) -> Vec<Effect> {
    let session = model.tests.current().and_then(|line| line.result.as_ref()?.trial.session.clone());
    let Some(session) = session else {
        model.show_toast(Tone::Info, "the case has no session: run it first");
        return Vec::new();
    };
    let known = model.sessions.all.iter().flatten().find(|known| known.id == session);
    let Some((key, turns)) = known.map(|known| (known.key(), known.usage.turns)) else {
        model.show_toast(Tone::Info, "the session of the case is not among the saved ones");
        return vec![Effect::List];
    };
    model.screen = Screen::Sessions;
    model.tests.opened = true;
    super::sessions::open_at(model, key, Address::run(0).turn(turns.max(1)))
}

/// Goes to a case in the options.
fn edit(model: &mut Model, name: &str) -> Vec<Effect> {
    let effects = super::keys::go_to(model, Pane::Editor(Place::Options));
    let editor = model.workbench.editor_mut(Place::Options);
    let at = editor.draft.text().find(&format!("{name:?}"));
    if let Some(at) = at {
        editor.free = false;
        editor.draft.place(at, crate::tui::draft::Reach::Move);
    }
    effects
}
