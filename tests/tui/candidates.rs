//! The candidates screen: a search that is walked through, followed and written into the agent file hunk by hunk.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ptc_workbench::tui::candidates::{CandidatesRequest, CandidatesResponse, Pane};
use ptc_workbench::tui::drive::{Clock, Driver};
use ptc_workbench::tui::message::{Effect, Msg};
use ptc_workbench::tui::model::{Model, Popup, Screen};
use ptc_workbench::tui::services::Services;
use ptc_workbench::tui::stage::Input;
use ptc_workbench::workbench::SessionKey;
use ptc_workbench::workbench::optimize::{
    Action, CandidateDetail, CandidateLine, CaseScore, Component, Outcome, Proposal, Search, SearchOutline,
    SearchReader, Settings, Standing, Start, Try,
};

use super::pictures::text;
use super::services::{Paper, workbench};
use super::story::{NOW_MS, apply_message, fresh};
use super::{press, write};

/// A recorded search, and its agent.
const JOURNAL: &str = include_str!("../../assets/scenes/search.jsonl");
const AGENT: &str = include_str!("../../assets/scenes/desk.toml");

/// Puts the search into a folder as it was after so many lines; returns its folder.
pub(crate) fn recorded(dir: &Path, lines: usize) -> PathBuf {
    let search = dir.join("desk.optimize");
    std::fs::create_dir_all(&search).unwrap();
    std::fs::write(dir.join("desk.toml"), AGENT).unwrap();
    let journal: String = JOURNAL.split_inclusive('\n').take(lines).collect();
    let journal = journal.replacen("/home/you/agents", &dir.display().to_string(), 1);
    std::fs::write(search.join("journal.jsonl"), journal).unwrap();
    search
}

fn line(number: usize, parents: &[usize], depth: usize) -> CandidateLine {
    CandidateLine {
        number,
        parents: parents.to_vec(),
        depth,
        standing: Standing::Accepted,
        score: Some(0.5),
        tries: 4,
        ..CandidateLine::default()
    }
}

fn outline(lines: Vec<CandidateLine>) -> Box<SearchOutline> {
    Box::new(SearchOutline { agent: "desk.toml".to_owned(), lines, ..SearchOutline::default() })
}

/// The screen with these candidates.
fn open(size: (u16, u16), lines: Vec<CandidateLine>) -> Model {
    let mut model = fresh(size);
    let opened = CandidatesResponse::Opened(PathBuf::from("desk.optimize"), Ok(outline(lines)));
    let effects = apply_message(&mut model, Msg::Candidates(opened));
    assert_eq!(effects, [Effect::Candidates(CandidatesRequest::Describe(0))]);
    assert_eq!(model.screen, Screen::Candidates);
    model
}

fn refreshed(model: &mut Model, lines: Option<Vec<CandidateLine>>) -> Vec<Effect> {
    apply_message(model, Msg::Candidates(CandidatesResponse::Refreshed(Ok(lines.map(outline)))))
}

fn clock(model: &mut Model, now_ms: i64) -> Vec<Effect> {
    model.dirty = false;
    apply_message(model, Msg::Clock(now_ms))
}

#[test]
fn the_journal_is_read_once_a_second_while_it_is_visible_and_nothing_new_draws_no_frame() {
    let mut model = open((120, 40), vec![line(0, &[], 0), line(1, &[0], 1)]);
    press(&mut model, "down");
    let refresh = [Effect::Candidates(CandidatesRequest::Refresh)];
    assert_eq!(clock(&mut model, NOW_MS + 999), []);
    assert_eq!(clock(&mut model, NOW_MS + 1_000), refresh);
    assert_eq!(clock(&mut model, NOW_MS + 5_000), [], "it is being read");
    model.dirty = false;
    assert_eq!(refreshed(&mut model, None), []);
    assert!(!model.dirty, "nothing was added");
    assert_eq!(model.deadline_ms(), Some(NOW_MS + 6_000));
    clock(&mut model, NOW_MS + 6_000);
    // Another one comes before the selected one: the selection stays on its candidate.
    let lines = vec![line(0, &[], 0), line(2, &[0], 1), line(1, &[0], 1)];
    let effects = refreshed(&mut model, Some(lines));
    assert_eq!(effects, [Effect::Candidates(CandidatesRequest::Describe(1))]);
    assert!(model.dirty && model.candidates.current().is_some_and(|line| line.number == 1));
    press(&mut model, "f2");
    assert_eq!(clock(&mut model, NOW_MS + 9_000), [], "it is not visible");
}

#[test]
fn a_search_of_500_candidates_is_drawn_and_walked_through() {
    let lines: Vec<CandidateLine> =
        (0..500).map(|number| line(number, &number.checked_sub(1).map_or(vec![], |one| vec![one]), number)).collect();
    for size in [(40, 12), (80, 24), (120, 40)] {
        let mut model = open(size, lines.clone());
        press(&mut model, "end");
        let shown = text(&mut model);
        assert!(shown.contains("c499") && !shown.contains("c00 "), "{shown}");
        press(&mut model, "pageup");
        assert!(text(&mut model).contains("▸"));
        press(&mut model, "g");
        assert!(text(&mut model).contains("c00"));
    }
}

/// The journal of a search in which each candidate is a little better than the one before.
fn long_journal(candidates: usize) -> String {
    let names = |prefix: &str| -> Vec<String> { (0..12).map(|number| format!("{prefix}-{number}")).collect() };
    let texts = BTreeMap::from([(Component::Prompt, "Label it. {{text}}".to_owned())]);
    let start = Start {
        version: 1,
        agent: "desk.toml".to_owned(),
        file: None,
        sha: String::new(),
        mode: "json".to_owned(),
        model: "small".to_owned(),
        reflect_model: "opus".to_owned(),
        seed: 0,
        batch: 4,
        training: names("training"),
        validation: names("validation"),
        held_out: names("held-out"),
        texts: texts.clone(),
    };
    let settings = Settings {
        batch: 4,
        most_candidates: candidates,
        training: start.training.clone(),
        validation: start.validation.clone(),
        held_out: start.held_out.clone(),
        ..Settings::default()
    };
    let mut search = Search::new(settings, texts);
    let mut lines = vec![with_kind("start", &start)];
    loop {
        let outcome = match search.next_action() {
            Action::Try { candidate, cases } => {
                let score = f64::from(u32::try_from(candidate).unwrap()) / 1_000.0;
                for case in &cases {
                    let session = Some("2026-11-26T12-00-00Z-00000000".to_owned());
                    let one = Try {
                        candidate,
                        case: case.clone(),
                        score,
                        passed: false,
                        session,
                        calls: 1,
                        cost: 0.001,
                        report: None,
                        example: None,
                    };
                    lines.push(with_kind("try", &one));
                }
                let result = CaseScore { score, passed: false, calls: 1, cost: 0.001 };
                Outcome::Tried(cases.into_iter().map(|case| (case, result)).collect())
            }
            Action::Propose { parent, component, .. } => {
                let text = format!("Label it, {} times better. {{{{text}}}}", lines.len());
                let reason = "better".to_owned();
                let one = Proposal {
                    parent,
                    component,
                    text: Some(text.clone()),
                    reason: reason.clone(),
                    session: None,
                    calls: 1,
                    cost: 0.002,
                };
                lines.push(with_kind("proposal", &one));
                Outcome::Proposed(Ok((text, reason)), 1, 0.002)
            }
            Action::Finish(_) => {
                let outcomes = search.ended_after().unwrap();
                return lines.concat()
                    + &format!("{{\"k\":\"ended\",\"ending\":\"candidates\",\"outcomes\":{outcomes}}}\n");
            }
        };
        search.record(outcome).unwrap();
    }
}

/// A line of a journal.
fn with_kind(kind: &str, entry: &impl serde::Serialize) -> String {
    let mut value = serde_json::to_value(entry).unwrap();
    value["k"] = kind.into();
    format!("{value}\n")
}

#[test]
fn a_journal_of_150_candidates_is_read_and_followed() {
    let dir = tempfile::tempdir().unwrap();
    let journal = long_journal(150);
    let (most, rest) = journal.split_at(journal[..journal.len() - 2_000].rfind('\n').unwrap() + 1);
    let path = dir.path().join("journal.jsonl");
    std::fs::write(&path, most).unwrap();
    let mut reader = SearchReader::open(dir.path()).unwrap();
    let before = SearchOutline::of(reader.progress());
    std::fs::write(&path, format!("{most}{rest}")).unwrap();
    assert!(reader.refresh().unwrap());
    let outline = SearchOutline::of(reader.progress());
    assert!(before.lines.len() <= 150 && outline.lines.len() == 150, "{} candidates", outline.lines.len());
    assert_eq!(outline.best, 149);
    let runs: usize = outline.lines.iter().map(|line| line.tries).sum();
    let cost: f64 = outline.lines.iter().map(|line| line.cost).sum();
    assert!(
        (cost - outline.cost).abs() < 1e-6,
        "the costs of the candidates are that of the search: {cost}, {}",
        outline.cost
    );
    assert!(runs > 150 * 12, "{runs}");
}

#[test]
fn a_folder_without_a_search_is_asked_about_again_and_closing_leads_back() {
    let mut model = fresh((80, 24));
    press(&mut model, "alt-g");
    let effects = press(&mut model, "b");
    let [Effect::Candidates(CandidatesRequest::Open(dir))] = effects.as_slice() else { panic!("{effects:?}") };
    let refused = CandidatesResponse::Opened(dir.clone(), Err("there is no search in this folder".to_owned()));
    apply_message(&mut model, Msg::Candidates(refused));
    assert!(matches!(model.popups.last(), Some(Popup::Form(..))));
    assert!(text(&mut model).contains("there is no search in this folder"));
    write(&mut model, "other");
    assert_eq!(press(&mut model, "f5"), [Effect::Candidates(CandidatesRequest::Open("other".into()))]);
    let opened = CandidatesResponse::Opened("other".into(), Ok(outline(vec![line(0, &[], 0)])));
    apply_message(&mut model, Msg::Candidates(opened));
    assert!(model.popups.is_empty() && model.screen == Screen::Candidates);
    press(&mut model, "tab");
    assert_eq!(model.candidates.focus, Pane::Change);
    press(&mut model, "esc");
    assert_eq!((model.candidates.focus, model.screen), (Pane::Tree, Screen::Candidates));
    press(&mut model, "esc");
    assert_eq!(model.screen, Screen::Workbench);
}

#[test]
fn the_run_of_a_case_is_opened_and_closing_it_leads_back() {
    let dir = tempfile::tempdir().unwrap();
    let reader = SearchReader::open(&recorded(dir.path(), usize::MAX)).unwrap();
    let best = SearchOutline::of(reader.progress());
    let mut model = open((120, 40), best.lines.clone());
    let effects = press(&mut model, "down");
    let [Effect::Candidates(CandidatesRequest::Describe(number))] = effects.as_slice() else { panic!("{effects:?}") };
    let detail = Box::new(CandidateDetail::of(reader.progress(), *number).unwrap());
    let session = detail.cases[1].session.clone().unwrap();
    apply_message(&mut model, Msg::Candidates(CandidatesResponse::Described(Some(detail))));
    press(&mut model, "enter");
    assert_eq!(model.candidates.focus, Pane::Cases);
    press(&mut model, "down");
    assert_eq!(press(&mut model, "enter"), [Effect::Candidates(CandidatesRequest::Find(session))]);
    let key = SessionKey::File(dir.path().join("one.jsonl"));
    let found = CandidatesResponse::Found(Ok(key.clone()));
    assert_eq!(apply_message(&mut model, Msg::Candidates(found)), [Effect::Open(key)]);
    assert_eq!((model.screen, model.candidates.opened), (Screen::Sessions, true));
}

#[test]
fn a_search_that_is_read_line_by_line_is_the_same_as_one_that_is_read_whole() {
    let (dir, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let all = JOURNAL.lines().count();
    let folder = recorded(dir.path(), 1);
    let mut reader = SearchReader::open(&folder).unwrap();
    for lines in (2..=all).step_by(3).chain([all]) {
        recorded(dir.path(), lines);
        reader.refresh().unwrap();
        let whole = SearchReader::open(&recorded(other.path(), lines)).unwrap();
        assert_eq!(SearchOutline::of(reader.progress()), SearchOutline::of(whole.progress()), "{lines} lines");
    }
    assert!(!reader.refresh().unwrap(), "nothing was added");
    // Another search in the same folder takes its place.
    recorded(dir.path(), 5);
    assert!(reader.refresh().unwrap());
}

#[tokio::test]
async fn chosen_hunks_are_written_and_a_file_that_has_changed_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let search = recorded(dir.path(), usize::MAX);
    let services = Arc::new(Services::new(workbench(dir.path()), &ptc_workbench::agent::Agent::default(), None));
    let mut model = Model::new(services.opened(), (120, 40), NOW_MS);
    let mut driver = Driver::new(services, Clock::starting_at(NOW_MS));
    let (mut paper, inputs) = Paper::new();
    let last = paper.last.clone();
    let file = dir.path().join("desk.toml");
    let scenario = async {
        use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};
        let key = |code| inputs.send(Input::Terminal(Event::Key(KeyEvent::new(code, KeyModifiers::NONE)))).unwrap();
        let until = |text: &'static str| {
            let last = last.clone();
            async move {
                while !last.lock().unwrap().contains(text) {
                    tokio::time::sleep(std::time::Duration::from_millis(10)).await;
                }
            }
        };
        until("c00, the agent as it is").await;
        key(KeyCode::Char('b'));
        until("c05 against c03").await;
        key(KeyCode::Char('w'));
        until("0 of 2 hunks chosen").await;
        key(KeyCode::Enter);
        until("no hunk is chosen").await;
        key(KeyCode::Char('j'));
        key(KeyCode::Char(' '));
        until("1 of 2 hunks chosen").await;
        key(KeyCode::Enter);
        until("wrote 1 hunk of").await;
        let written = std::fs::read_to_string(&file).unwrap();
        let changed: Vec<&str> = written.lines().filter(|line| !AGENT.lines().any(|old| old == *line)).collect();
        assert!(matches!(changed.as_slice(), [only] if only.starts_with("label = ")), "{changed:?}");
        key(KeyCode::Char('w'));
        until("has changed since the search began").await;
        assert_eq!(std::fs::read_to_string(&file).unwrap(), written);
        drop(inputs);
    };
    let first = Effect::Candidates(CandidatesRequest::Open(search));
    let (ran, ()) = tokio::join!(driver.run(&mut model, &mut paper, Some(first)), scenario);
    ran.unwrap();
}
