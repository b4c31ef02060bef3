//! The candidates screen: a search that is walked through, followed and written into the agent file hunk by hunk.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ptc_workbench::tui::candidates::{CandidatesRequest, CandidatesResponse, Pane};
use ptc_workbench::tui::message::{Effect, Msg};
use ptc_workbench::tui::model::{Model, Popup, Screen};
use ptc_workbench::workbench::SessionKey;
use ptc_workbench::workbench::optimize::{
    Action, CandidateDetail, CandidateLine, CandidateStatus, CaseScore, Component, Outcome, Proposal, Search,
    SearchOutline, SearchReader, Settings, Start, Try,
};

use super::pictures::text;
use super::story::{NOW_MS, apply_message, fresh};
use super::{press, write};

/// A recorded search, and its agent.
const JOURNAL: &str = include_str!("../../assets/scenes/search.jsonl");
pub(super) const AGENT: &str = include_str!("../../assets/scenes/desk.toml");

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

pub(super) fn line(number: usize, parents: &[usize], depth: usize) -> CandidateLine {
    CandidateLine {
        number,
        parents: parents.to_vec(),
        depth,
        status: CandidateStatus::Accepted,
        score: Some(0.5),
        tries: 4,
        ..CandidateLine::default()
    }
}

pub(super) fn outline(lines: Vec<CandidateLine>) -> Box<SearchOutline> {
    Box::new(SearchOutline { agent: "desk.toml".to_owned(), lines, ..SearchOutline::default() })
}

/// The screen with these candidates.
fn open(size: (u16, u16), lines: Vec<CandidateLine>) -> Model {
    let mut model = fresh(size);
    let opened = CandidatesResponse::Opened(PathBuf::from("desk.optimize"), Ok(outline(lines)));
    let effects = apply_message(&mut model, Msg::Candidates(opened));
    assert_eq!(effects, [Effect::Candidates(CandidatesRequest::Describe(0, 0))]);
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
    assert_eq!(effects, [Effect::Candidates(CandidatesRequest::Describe(1, 0))]);
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

/// The journal of a search with these settings: the score of a candidate's texts on a case, by its number, and another text for one.
fn journal_of(
    settings: Settings,
    texts: BTreeMap<Component, String>,
    score: impl Fn(usize, &BTreeMap<Component, String>, &str) -> f64,
    propose: impl Fn(&Component, &str, usize) -> String,
) -> (String, Search) {
    let start = Start {
        version: 1,
        agent: "desk.toml".to_owned(),
        file: None,
        sha: String::new(),
        mode: "json".to_owned(),
        model: "small".to_owned(),
        reflect_model: "opus".to_owned(),
        seed: settings.seed,
        batch: settings.batch,
        training: settings.training.clone(),
        validation: settings.validation.clone(),
        held_out: settings.held_out.clone(),
        texts: texts.clone(),
    };
    let mut search = Search::new(settings, texts);
    let mut lines = vec![with_kind("start", &start)];
    loop {
        let outcome = match search.next_action() {
            Action::Try { candidate, cases } => {
                let tried = |case: &String| {
                    let score = score(candidate, &search.candidates()[candidate].texts, case);
                    (case.clone(), CaseScore { score, passed: score >= 1.0, calls: 1, cost: 0.001 })
                };
                let results: Vec<(String, CaseScore)> = cases.iter().map(tried).collect();
                for (case, result) in &results {
                    let one = Try {
                        candidate,
                        case: case.clone(),
                        score: result.score,
                        passed: result.passed,
                        session: Some("2026-11-26T12-00-00Z-00000000".to_owned()),
                        calls: 1,
                        cost: 0.001,
                        report: None,
                        example: None,
                    };
                    lines.push(with_kind("try", &one));
                }
                Outcome::Tried(results)
            }
            Action::Propose { parent, component, .. } => {
                let text = propose(&component, &search.candidates()[parent].texts[&component], lines.len());
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
            Action::Finish(ending) => {
                let outcomes = search.ended_after().unwrap();
                let ended = serde_json::json!({ "ending": ending, "outcomes": outcomes });
                return (lines.concat() + &with_kind("ended", &ended), search);
            }
        };
        search.record(outcome).unwrap();
    }
}

fn names(prefix: &str, count: usize) -> Vec<String> {
    (0..count).map(|number| format!("{prefix}-{number}")).collect()
}

/// The journal of a search in which each candidate is a little better than the one before.
fn long_journal(candidates: usize) -> String {
    let settings = Settings {
        batch: 4,
        most_candidates: candidates,
        training: names("training", 12),
        validation: names("validation", 12),
        held_out: names("held-out", 12),
        ..Settings::default()
    };
    let texts = BTreeMap::from([(Component::Prompt, "Label it. {{text}}".to_owned())]);
    let score = |candidate: usize, _: &BTreeMap<_, _>, _: &str| f64::from(u32::try_from(candidate).unwrap()) / 1_000.0;
    journal_of(settings, texts, score, |_, _, lines| format!("Label it, {lines} times better. {{{{text}}}}")).0
}

/// The journal of a search whose best candidate is a merge: a rule in the prompt wins one case and loses the other, one for the field the reverse; both win both. With
/// the number of that candidate, and its parents.
pub(crate) fn merged_journal() -> (String, usize, [usize; 2]) {
    let field = Component::Field("label".to_owned());
    let score = |_: usize, texts: &BTreeMap<Component, String>, case: &str| {
        let (prompt, label) = (texts[&Component::Prompt].contains("ship"), texts[&field].contains("bill"));
        match (prompt, label, case) {
            (true, true, _) | (true, false, "validation-0") | (false, true, "validation-1") => 1.0,
            (true, false, "validation-1") | (false, true, "validation-0") => 0.0,
            (false, false, "training-0") => 0.2,
            (false, false, _) => 0.4,
            _ => 0.6,
        }
    };
    let propose = |component: &Component, text: &str, _: usize| match component {
        Component::Prompt => format!("{text}\nParcels are ship."),
        _ => format!("{text}\nInvoices are bill."),
    };
    let start = BTreeMap::from([
        (Component::Prompt, "Label it. {{text}}".to_owned()),
        (field.clone(), "what the request is about".to_owned()),
    ]);
    let of_seed = |seed: u64| {
        let settings = Settings {
            seed,
            batch: 4,
            most_candidates: 60,
            most_calls: Some(400),
            training: names("training", 1),
            validation: names("validation", 2),
            ..Settings::default()
        };
        let (journal, search) = journal_of(settings, start.clone(), score, propose);
        let best = search.best();
        match search.candidates()[best].parents.as_slice() {
            [one, other] => Some((journal, best, [*one, *other])),
            _ => None,
        }
    };
    (0..40).find_map(of_seed).unwrap()
}

/// A line of a journal.
fn with_kind(kind: &str, entry: &impl serde::Serialize) -> String {
    let mut value = serde_json::to_value(entry).unwrap();
    value["k"] = kind.into();
    format!("{value}\n")
}

#[test]
fn a_long_journal_is_read_and_followed() {
    let most_candidates = if crate::is_long() { 150 } else { 50 };
    let dir = tempfile::tempdir().unwrap();
    let journal = long_journal(most_candidates);
    let (most, rest) = journal.split_at(journal[..journal.len() - 2_000].rfind('\n').unwrap() + 1);
    let path = dir.path().join("journal.jsonl");
    std::fs::write(&path, most).unwrap();
    let mut reader = SearchReader::open(dir.path()).unwrap();
    let before = SearchOutline::of(reader.progress());
    std::fs::write(&path, format!("{most}{rest}")).unwrap();
    assert!(reader.refresh().unwrap());
    let outline = SearchOutline::of(reader.progress());
    assert!(
        before.lines.len() <= most_candidates && outline.lines.len() == most_candidates,
        "{} candidates",
        outline.lines.len()
    );
    assert_eq!(outline.best, most_candidates - 1);
    let runs: usize = outline.lines.iter().map(|line| line.tries).sum();
    let cost: f64 = outline.lines.iter().map(|line| line.cost).sum();
    assert!(
        (cost - outline.cost).abs() < 1e-6,
        "the costs of the candidates are that of the search: {cost}, {}",
        outline.cost
    );
    assert!(runs > most_candidates * 12, "{runs}");
}

#[test]
fn a_folder_without_a_search_is_asked_about_again_and_closing_leads_back() {
    let mut model = fresh((80, 24));
    press(&mut model, "alt-g");
    let effects = press(&mut model, "b");
    let [Effect::Candidates(CandidatesRequest::Open(dir))] = effects.as_slice() else { panic!("{effects:?}") };
    let refused = CandidatesResponse::Opened(dir.clone(), Err("this folder contains no search".to_owned()));
    apply_message(&mut model, Msg::Candidates(refused));
    assert!(matches!(model.popups.last(), Some(Popup::Form(..))));
    assert!(text(&mut model).contains("this folder contains no search"));
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
    let [Effect::Candidates(CandidatesRequest::Describe(number, place))] = effects.as_slice() else {
        panic!("{effects:?}")
    };
    let detail = Box::new(CandidateDetail::of(reader.progress(), *number, *place).unwrap());
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

/// A merge that is selected, against its first parent.
pub(super) fn merged() -> Model {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("journal.jsonl"), merged_journal().0).unwrap();
    let reader = SearchReader::open(dir.path()).unwrap();
    let mut model = fresh((120, 40));
    let outline = Box::new(SearchOutline::of(reader.progress()));
    let opened = CandidatesResponse::Opened(PathBuf::from("desk.optimize"), Ok(outline));
    apply_message(&mut model, Msg::Candidates(opened));
    let effects = press(&mut model, "b");
    describe(&mut model, &reader, &effects);
    model
}

/// Answers the request to compare a candidate with a parent.
fn describe(model: &mut Model, reader: &SearchReader, effects: &[Effect]) {
    let [Effect::Candidates(CandidatesRequest::Describe(number, place))] = effects else { panic!("{effects:?}") };
    let detail = CandidateDetail::of(reader.progress(), *number, *place).map(Box::new);
    apply_message(model, Msg::Candidates(CandidatesResponse::Described(detail)));
}

#[test]
fn a_merge_is_compared_with_either_of_its_parents() {
    let dir = tempfile::tempdir().unwrap();
    let (journal, merge, [one, other]) = merged_journal();
    std::fs::write(dir.path().join("journal.jsonl"), journal).unwrap();
    let reader = SearchReader::open(dir.path()).unwrap();
    let outline = SearchOutline::of(reader.progress());
    let mut model = fresh((120, 40));
    let opened = CandidatesResponse::Opened(dir.path().into(), Ok(Box::new(outline)));
    let mut effects = apply_message(&mut model, Msg::Candidates(opened));
    describe(&mut model, &reader, &effects);
    press(&mut model, "p");
    assert!(text(&mut model).contains("this candidate has only one parent"));
    effects = press(&mut model, "b");
    describe(&mut model, &reader, &effects);
    let against = |parent: usize, other: usize, change: &str, case: &str, model: &mut Model| {
        let shown = text(model);
        for part in [
            format!("c{merge:02} against c{parent:02} · p: against c{other:02}"),
            format!("Cases against c{parent:02}"),
            format!("✓ won     {case}"),
            change.to_owned(),
        ] {
            assert!(shown.contains(&part), "{part}:\n{shown}");
        }
    };
    let of_prompt = reader.progress().search.candidates()[one].texts[&Component::Prompt].contains("ship");
    let (in_prompt, in_label) = (("+ Invoices are bill.", "validation-1"), ("+ Parcels are ship.", "validation-0"));
    let (first, second) = if of_prompt { (in_prompt, in_label) } else { (in_label, in_prompt) };
    against(one, other, first.0, first.1, &mut model);
    effects = press(&mut model, "p");
    assert!(!text(&mut model).contains(first.0), "what is shown belongs to the parent that is named");
    describe(&mut model, &reader, &effects);
    against(other, one, second.0, second.1, &mut model);
    effects = press(&mut model, "p");
    describe(&mut model, &reader, &effects);
    against(one, other, first.0, first.1, &mut model);
}
