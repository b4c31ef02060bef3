//! The tests screen: cases of the draft, runs of one or all, what was expected and got, watch mode.

use std::path::PathBuf;

use std::sync::Arc;

use ptc_workbench::agent::{Mismatch, Verdict};
use ptc_workbench::session::{Marks, Summary};
use ptc_workbench::tui::cases::{TestRequest, TestResponse};
use ptc_workbench::tui::drive::{Clock, Driver};
use ptc_workbench::tui::message::{Effect, Msg};
use ptc_workbench::tui::model::{Model, Popup, Screen};
use ptc_workbench::tui::services::Services;
use ptc_workbench::tui::stage::Input;
use ptc_workbench::workbench::suite::{CaseOutline, TestedCase, TrialReport};

use super::services::{Paper, workbench};
use super::story::{NOW_MS, apply_message, fresh};
use super::{press, write};

fn outline(name: &str) -> CaseOutline {
    CaseOutline {
        name: name.to_owned(),
        inputs: format!("{{\"text\": \"{name}\"}}"),
        expected: "(= (:sentiment result) \"positive\")".to_owned(),
        cassette: None,
    }
}

/// The screen with this many cases.
fn with_cases(size: (u16, u16), number: usize) -> Model {
    let mut model = fresh(size);
    let effects = press(&mut model, "f11");
    let version = model.workbench.version();
    let texts = Box::new(model.workbench.texts());
    assert_eq!(effects, [Effect::Tests(TestRequest::List(version, texts, PathBuf::new()))]);
    let outlines = (1..=number).map(|number| outline(&format!("case {number}"))).collect();
    apply_message(&mut model, Msg::Tests(TestResponse::Listed(version, Ok(outlines))));
    model
}

fn result(name: &str, verdict: Verdict) -> TestedCase {
    let trial = TrialReport {
        verdict,
        session: Some(format!("session-{name}")),
        turns: 2,
        ..TestedCase::untried(name, String::new()).trial
    };
    TestedCase { trial, got: Some("{\"sentiment\": \"neutral\"}".to_owned()), name: name.to_owned() }
}

fn mismatch() -> Verdict {
    let why = "expected \"positive\", got \"neutral\"".to_owned();
    Verdict::Fail(vec![Mismatch { path: "sentiment".to_owned(), why, ..Mismatch::default() }])
}

/// The names of the cases that are started.
fn started(effects: &[Effect]) -> Vec<&str> {
    let name = |effect| match effect {
        &Effect::Tests(TestRequest::Run { ref name, .. }) => Some(name.as_str()),
        _ => None,
    };
    effects.iter().filter_map(name).collect()
}

fn tested(model: &mut Model, name: &str, verdict: Verdict) -> Vec<Effect> {
    let response = TestResponse::Tested(model.tests.batch, name.to_owned(), Some(Box::new(result(name, verdict))));
    apply_message(model, Msg::Tests(response))
}

fn picture(model: &mut Model) -> String {
    let buffer = ptc_workbench::tui::picture(model, model.size);
    let columns = usize::from(buffer.area.width);
    let cells: Vec<&str> = buffer.content().iter().map(ratatui::buffer::Cell::symbol).collect();
    cells.chunks(columns).map(<[&str]>::concat).collect::<Vec<_>>().join("\n")
}

#[test]
fn all_cases_run_a_few_at_a_time_and_show_expected_next_to_got() {
    for size in [(80, 24), (140, 40)] {
        let mut model = with_cases(size, 6);
        assert!(picture(&mut model).contains("6 not run"));
        let effects = press(&mut model, "a");
        assert_eq!(started(&effects), ["case 1", "case 2", "case 3", "case 4"]);
        assert!(picture(&mut model).contains("running 6 cases"));
        let effects = tested(&mut model, "case 1", mismatch());
        assert_eq!(started(&effects), ["case 5"]);
        for number in 2..=5 {
            tested(&mut model, &format!("case {number}"), Verdict::Pass);
        }
        let effects = tested(&mut model, "case 6", Verdict::Error("no model".to_owned()));
        assert_eq!(effects, [Effect::List], "the sessions of the cases are known before one is opened");
        let shown = picture(&mut model);
        assert!(shown.contains("✓ 4") && shown.contains("✗ 2"), "{shown}");
        assert!(shown.contains("sentiment: expected \"positive\", got \"neutral\""), "{shown}");
        assert!(
            shown.contains("expected") && shown.contains("got") && shown.contains("(= (:sentiment result)"),
            "{shown}"
        );
    }
}

#[test]
fn one_case_runs_alone_and_results_of_an_older_batch_are_dropped() {
    let mut model = with_cases((120, 40), 3);
    press(&mut model, "down");
    let effects = press(&mut model, "space");
    assert_eq!(started(&effects), ["case 2"]);
    let old = model.tests.batch;
    let effects = press(&mut model, "space");
    assert_eq!(effects.first(), Some(&Effect::StopTests), "what still runs is stopped first");
    let response = TestResponse::Tested(old, "case 2".to_owned(), Some(Box::new(result("case 2", Verdict::Pass))));
    apply_message(&mut model, Msg::Tests(response));
    assert!(model.tests.runs() && model.tests.current().unwrap().result.is_none());
    tested(&mut model, "case 2", Verdict::Pass);
    assert!(!model.tests.runs() && model.tests.current().unwrap().result.is_some());
}

#[test]
fn results_of_an_older_draft_are_marked() {
    let mut model = with_cases((120, 40), 1);
    press(&mut model, "a");
    tested(&mut model, "case 1", Verdict::Pass);
    assert!(!picture(&mut model).contains("older draft"));
    press(&mut model, "alt-g");
    press(&mut model, "p");
    write(&mut model, "!");
    press(&mut model, "f11");
    assert!(picture(&mut model).contains("older draft"));
}

#[test]
fn the_failure_is_opened_at_its_end_and_closing_it_leads_back() {
    let mut model = with_cases((120, 40), 3);
    press(&mut model, "a");
    tested(&mut model, "case 1", Verdict::Pass);
    tested(&mut model, "case 2", mismatch());
    tested(&mut model, "case 3", Verdict::Pass);
    let summary = Summary { id: "session-case 2".to_owned(), example: true, ..Summary::default() };
    let key = summary.key();
    apply_message(&mut model, Msg::Listed(vec![summary], Marks::default()));
    assert_eq!(press(&mut model, "x"), [Effect::Open(key)]);
    assert_eq!(model.screen, Screen::Sessions);
    assert!(model.tests.opened);
    assert_eq!(model.tests.current().unwrap().outline.name, "case 2");
}

#[test]
fn saving_runs_the_cases_while_they_are_watched() {
    use ptc_workbench::workbench::AgentFile;
    let mut model = with_cases((120, 40), 2);
    press(&mut model, "w");
    assert!(model.tests.watch);
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.toml");
    std::fs::write(&path, "prompt = 'x'").unwrap();
    let files = ptc_workbench::workbench::AgentFiles::new(workbench(dir.path()).file_access().clone());
    let file: AgentFile = files.opened(&path).unwrap();
    let texts = model.workbench.texts();
    let effects = apply_message(&mut model, Msg::Saved(path.display().to_string(), texts.clone(), Ok(file.clone())));
    assert_eq!(started(&effects), ["case 1", "case 2"]);
    press(&mut model, "w");
    let effects = apply_message(&mut model, Msg::Saved(path.display().to_string(), texts, Ok(file)));
    assert!(started(&effects).is_empty());
}

#[test]
fn the_palette_finds_the_tests_first() {
    let mut model = fresh((120, 40));
    press(&mut model, "ctrl-p");
    write(&mut model, "test");
    assert!(matches!(model.popups.last(), Some(Popup::Palette { .. })));
    press(&mut model, "enter");
    assert_eq!(model.screen, Screen::Tests);
    press(&mut model, "esc");
    assert_eq!(model.screen, Screen::Workbench);
}

#[test]
fn a_draft_without_cases_names_the_next_step() {
    let mut model = with_cases((80, 24), 0);
    let shown = picture(&mut model);
    assert!(shown.contains("no cases yet") && shown.contains("[[cases]]"), "{shown}");
}

#[tokio::test]
async fn the_cases_of_the_example_run_and_pass_with_the_model_demo() {
    let dir = tempfile::tempdir().unwrap();
    let agent = ptc_workbench::agent::BundledExample::find("sentiment").unwrap().agent().unwrap();
    let services = Arc::new(Services::new(workbench(dir.path()), &agent, None));
    let mut model = Model::new(services.opened(), (120, 40), NOW_MS);
    let mut driver = Driver::new(services, Clock::starting_at(NOW_MS));
    let (mut paper, inputs) = Paper::new();
    let last = paper.last.clone();
    let key = |code| {
        use crossterm::event::{Event, KeyEvent, KeyModifiers};
        Input::Terminal(Event::Key(KeyEvent::new(code, KeyModifiers::NONE)))
    };
    let scenario = async move {
        use crossterm::event::KeyCode;
        let until = |text: &'static str| {
            let last = last.clone();
            async move {
                while !last.lock().unwrap().contains(text) {
                    tokio::time::sleep(std::time::Duration::from_millis(10)).await;
                }
            }
        };
        inputs.send(key(KeyCode::F(11))).unwrap();
        until("praise").await;
        inputs.send(key(KeyCode::Char('a'))).unwrap();
        until("of 1 case passed").await;
        drop(inputs);
    };
    let (ran, ()) = tokio::join!(driver.run(&mut model, &mut paper, None), scenario);
    ran.unwrap();
    assert_eq!(model.tests.counts(), (1, 0, 0));
    let got = model.tests.current().unwrap().result.as_ref().unwrap().got.clone().unwrap();
    assert!(got.contains("positive"), "{got}");
}
