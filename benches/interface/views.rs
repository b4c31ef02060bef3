//! Frames of the screens that show much at once: the overview of 2,000 turns, four runs of 100,000 lines side by side, the chart of
//! the requests of 2,000 turns, 10,000 cases.
//!
//! In: the run of the measurement, cases and their results. Out: the time of each frame in ms, a key before each.

use std::time::Instant;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ptc_workbench::agent::{Mismatch, Verdict};
use ptc_workbench::event::Address;
use ptc_workbench::session::Session;
use ptc_workbench::tui::cases::TestResponse;
use ptc_workbench::tui::compare::Side;
use ptc_workbench::tui::inspector::{Inspector, Subject};
use ptc_workbench::tui::message::{Msg, Slot};
use ptc_workbench::tui::model::{Model, RunView, Screen};
use ptc_workbench::tui::services::Services;
use ptc_workbench::tui::{picture, update};
use ptc_workbench::workbench::inspect::{Body, Inspection, TurnPrompt};
use ptc_workbench::workbench::suite::{CaseOutline, TestedCase, TrialReport};
use ptc_workbench::workbench::{RunUpdate, example_sessions};

use crate::ms;
use crate::run::Reply;

/// Frames that are drawn of each screen.
const FRAMES: usize = 400;

fn press(model: &mut Model, code: KeyCode, modifiers: KeyModifiers) {
    drop(update(model, Msg::Key(KeyEvent::new(code, modifiers))));
}

/// Draws a frame after each of these keys, in turns. Returns the times from key to frame.
fn frames(model: &mut Model, keys: &[KeyCode]) -> Vec<f64> {
    let size = model.size;
    picture(model, size);
    let frame = |code: &KeyCode| {
        let begun = Instant::now();
        press(model, *code, KeyModifiers::NONE);
        picture(model, size);
        ms(begun.elapsed())
    };
    keys.iter().cycle().take(FRAMES).map(frame).collect()
}

/// The overview of a long run, with its orders.
pub(crate) fn overview(services: &Services, size: (u16, u16)) -> Vec<f64> {
    let mut model = Model::new(services.opened(), size, 0);
    press(&mut model, KeyCode::F(5), KeyModifiers::NONE);
    drop(update(&mut model, Msg::Started(Ok(None))));
    let events = Reply::Text.long_run().into_iter().map(|event| RunUpdate::Event(Box::new(event))).collect();
    drop(update(&mut model, Msg::RunUpdates(Slot::Workbench, events)));
    press(&mut model, KeyCode::Char('g'), KeyModifiers::ALT);
    press(&mut model, KeyCode::Char('r'), KeyModifiers::NONE);
    press(&mut model, KeyCode::Char('u'), KeyModifiers::NONE);
    frames(&mut model, &[KeyCode::PageUp, KeyCode::Up, KeyCode::Char('s'), KeyCode::PageDown, KeyCode::Char('}')])
}

/// Four long runs side by side.
pub(crate) fn side_by_side(services: &Services, size: (u16, u16)) -> Vec<f64> {
    let mut model = Model::new(services.opened(), size, 0);
    let side = |number: usize| {
        let mut run = RunView::default();
        Reply::Text.long_run().iter().for_each(|event| run.transcript.apply(event));
        run.transcript.close();
        Side { name: format!("run {number}"), run: Some(run) }
    };
    model.compare.sides = (1..=4).map(side).collect();
    model.screen = Screen::Compare;
    frames(
        &mut model,
        &[KeyCode::PageUp, KeyCode::PageDown, KeyCode::Tab, KeyCode::End, KeyCode::PageUp, KeyCode::Home],
    )
}

/// Turns whose requests the chart shows.
pub(crate) const CHARTED: usize = 2_000;

/// Measures frames of the growth chart of a long run: a recorded one whose turns are repeated. `None` when no recording has a request.
pub(crate) fn growth(services: &Services, size: (u16, u16)) -> Option<Vec<f64>> {
    let mut model = Model::new(services.opened(), size, 0);
    let largest = |session: &Session| session.skeleton().roots().map(|run| run.turns.len()).max();
    let session = example_sessions().iter().max_by_key(|session| largest(session))?;
    let turn = session.skeleton().roots().next()?.turns.last()?.address.clone();
    let mut taken = Inspection::of(session, &turn)?;
    let chart = taken.request.iter_mut().find_map(|part| match &mut part.body {
        Body::Growth(turns, _) => Some(turns),
        _ => None,
    })?;
    let numbered = |(number, one): (u32, &TurnPrompt)| TurnPrompt { turn: Address::run(0).turn(number), ..one.clone() };
    *chart = (1..).zip(chart.iter().cycle()).take(CHARTED).map(numbered).collect();
    let mut open = Inspector::new(Subject::Named(session.header.id.to_string()), turn);
    open.take(Ok(taken));
    open.go_growth();
    model.inspector = Some(Box::new(open));
    Some(frames(&mut model, &[KeyCode::PageDown, KeyCode::PageDown, KeyCode::End, KeyCode::PageUp, KeyCode::Home]))
}

/// Cases of the tests screen.
pub(crate) const CASES: usize = 10_000;

fn case_name(number: usize) -> String {
    format!("review {number:05}")
}

/// The tests screen with many cases.
fn with_cases(services: &Services, size: (u16, u16)) -> Model {
    let mut model = Model::new(services.opened(), size, 0);
    press(&mut model, KeyCode::F(11), KeyModifiers::NONE);
    let outline = |number: usize| CaseOutline {
        name: case_name(number),
        inputs: format!("{{\"text\": \"review {number}: the lamp is bright, and it broke on the third day\"}}"),
        expected: "{\"sentiment\": \"negative\"}".to_owned(),
        cassette: None,
    };
    let outlines = (0..CASES).map(outline).collect();
    let version = model.workbench.version();
    drop(update(&mut model, Msg::Tests(TestResponse::Listed(version, Ok(outlines)))));
    model
}

fn tested(number: usize) -> TestedCase {
    let why = "expected \"negative\", got \"positive\"".to_owned();
    let failed =
        || Verdict::Fail(vec![Mismatch { path: "sentiment".to_owned(), why: why.clone(), ..Mismatch::default() }]);
    let name = case_name(number);
    let verdict = if number.is_multiple_of(3) { failed() } else { Verdict::Pass };
    let trial = TrialReport { verdict, turns: 1, ..TestedCase::untried(&name, String::new()).trial };
    TestedCase { name, trial, got: Some("{\"sentiment\": \"positive\"}".to_owned()) }
}

/// Many cases, all of which have run, walked through.
pub(crate) fn tests(services: &Services, size: (u16, u16)) -> Vec<f64> {
    let mut model = with_cases(services, size);
    run_all(&mut model);
    let batch = model.tests.batch;
    for number in 0..CASES {
        let tested = Some(Box::new(tested(number)));
        drop(update(&mut model, Msg::Tests(TestResponse::Tested(batch, case_name(number), tested))));
    }
    frames(&mut model, &[KeyCode::PageDown, KeyCode::Down, KeyCode::End, KeyCode::PageUp, KeyCode::Home])
}

/// Many cases while they run: a frame after the result of each, with the cases that start then.
pub(crate) fn tests_running(services: &Services, size: (u16, u16)) -> Vec<f64> {
    let mut model = with_cases(services, size);
    run_all(&mut model);
    let batch = model.tests.batch;
    picture(&mut model, size);
    // The last results are the ones that are found last in the list.
    let frame = |number: usize| {
        let result = Some(Box::new(tested(CASES - 1 - number)));
        let begun = Instant::now();
        drop(update(&mut model, Msg::Tests(TestResponse::Tested(batch, case_name(CASES - 1 - number), result))));
        picture(&mut model, size);
        ms(begun.elapsed())
    };
    (0..FRAMES).map(frame).collect()
}

fn run_all(model: &mut Model) {
    press(model, KeyCode::Char('a'), KeyModifiers::NONE);
}
