//! The compare screen: both modes by one key, turns aligned with their first difference, the matrix. No IO.

use std::sync::Arc;

use ptc_workbench::agent::{Mode, Place};
use ptc_workbench::event::{Address, Envelope, Role, Source, TextRecord, Tokens};
use ptc_workbench::port::Question;
use ptc_workbench::session::diff::{Side, TurnPart, compare};
use ptc_workbench::session::{Marks, Summary};
use ptc_workbench::tui::compare::{CompareRequest, CompareResponse, Field, Page, Target};
use ptc_workbench::tui::message::{Effect, Msg, Slot};
use ptc_workbench::tui::model::{Model, Screen};
use ptc_workbench::tui::theme::Theme;
use ptc_workbench::tui::{ansi, picture};
use ptc_workbench::workbench::matrix::{
    Cell, MatrixEntry, MatrixError, MatrixEvent, MatrixPlan, MatrixSpec, MatrixState, MatrixUpdate, Measures, Outcome,
    Trial, TrialKey,
};
use ptc_workbench::workbench::{RunEnding, RunUpdate, SessionKey};

use super::pictures::screens;
use super::story::{NOW_MS, Story, apply_message, fresh, missed, recorded, two_turns};
use super::{press, write};

const SIZES: &[(u16, u16)] = &[(80, 24), (120, 40), (200, 60)];
pub(super) const NAMES: [&str; 2] = ["2026-11-21T20-52-07Z-3f9a11c2", "2026-11-21T20-52-08Z-77aa0012"];

/// The same task as a program that returns at once.
fn program() -> Vec<Envelope> {
    let program = "(return {:sentiment \"positive\" :score 0.93})";
    Story::new()
        .run_of("r0", recorded("ptc_lisp"), "ptc_lisp", r#"{"text":"I love this product!"}"#)
        .turn("r0/t1")
        .message("r0/t1", 0, Role::System, Source::Prompt, "card", "You write programs.")
        .message("r0/t1", 1, Role::User, Source::Prompt, "task", "Classify the sentiment.")
        .request("r0/t1", 1)
        .wait(640)
        .program("r0/t1", program)
        .turn_end("r0/t1", None, (412, 31), (1, 412, 31))
        .wait(20)
        .run_end(Some(r#"{"sentiment":"positive","score":0.93}"#), None, (1, 412, 31))
        .events()
}

pub(super) fn compared(names: &[&str], sides: Vec<Vec<Envelope>>) -> CompareResponse {
    let sides = names.iter().zip(sides).map(|(name, events)| Side::of(name, events, None)).collect();
    let names = names.iter().map(|name| (*name).to_owned()).collect();
    CompareResponse::Compared(names, Ok((Arc::new(compare(sides)), Vec::new())))
}

/// Both modes were asked for.
pub(super) fn both(size: (u16, u16)) -> Model {
    let mut model = fresh(size);
    press(&mut model, "f9");
    let sessions = NAMES.map(|name| Some(name.to_owned())).to_vec();
    apply_message(&mut model, Msg::Compare(CompareResponse::Started(Ok(sessions))));
    model
}

pub(super) fn happens(model: &mut Model, slot: Slot, events: Vec<Envelope>, ended: Option<RunEnding>) -> Vec<Effect> {
    let last = events.last().map_or(NOW_MS, |envelope| envelope.at_ms);
    apply_message(model, Msg::Clock(last.max(model.now_ms)));
    let events = events.into_iter().map(|envelope| RunUpdate::Event(Box::new(envelope)));
    apply_message(model, Msg::RunUpdates(slot, events.chain(ended.map(RunUpdate::Ended)).collect()))
}

/// One of the runs has ended, the other one continues.
pub(super) fn watched(size: (u16, u16)) -> Model {
    let mut model = both(size);
    happens(&mut model, Slot::Left, program(), Some(RunEnding::Run));
    happens(&mut model, Slot::Right, missed().events(), None);
    model
}

/// Both runs have ended; their turns are aligned in the place of the transcripts.
pub(super) fn aligned(size: (u16, u16)) -> Model {
    let mut model = side_by_side(size);
    press(&mut model, "t");
    model
}

/// Both runs have ended, and their transcripts stay next to each other.
pub(super) fn side_by_side(size: (u16, u16)) -> Model {
    let mut model = both(size);
    happens(&mut model, Slot::Left, program(), Some(RunEnding::Run));
    happens(&mut model, Slot::Right, two_turns(), Some(RunEnding::Run));
    apply_message(&mut model, Msg::Compare(compared(&NAMES, vec![program(), two_turns()])));
    model
}

#[test]
fn one_key_runs_the_draft_in_both_modes_and_compares_what_came_out() {
    let mut model = fresh((120, 40));
    let effects = press(&mut model, "f9");
    let [Effect::Compare(CompareRequest::Modes(texts, modes))] = effects.as_slice() else { panic!("{effects:?}") };
    assert_eq!((texts, modes.as_slice()), (&model.workbench.texts(), &[Mode::PtcLisp, Mode::Json][..]));
    assert_eq!(model.screen, Screen::Compare);
    let mut model = both((120, 40));
    assert_eq!(happens(&mut model, Slot::Left, program(), Some(RunEnding::Run)), [Effect::List]);
    assert!(model.compare.runs(), "the other one goes on");
    let effects = happens(&mut model, Slot::Right, two_turns(), Some(RunEnding::Run));
    let names: Vec<String> = NAMES.map(str::to_owned).to_vec();
    assert_eq!(effects, [Effect::List, Effect::Compare(CompareRequest::Sessions(names))]);
    apply_message(&mut model, Msg::Compare(compared(&NAMES, vec![program(), two_turns()])));
    assert!(model.compare.shows_transcripts(), "side by side stays");
    press(&mut model, "t");
    assert!(!model.compare.shows_transcripts(), "the aligned turns are one key away");
    press(&mut model, "esc");
    assert!(model.compare.shows_transcripts() && model.screen == Screen::Compare, "Esc leads back to the transcripts");
    press(&mut model, "f2");
    assert_eq!(model.workbench.runs.all().len(), 2, "both are runs of the workbench");
    assert_eq!(model.workbench.run.as_ref().and_then(|run| run.session.as_deref()), Some(NAMES[1]));
}

#[test]
fn a_comparison_that_nobody_waits_for_is_dropped() {
    let mut model = both((120, 40));
    apply_message(&mut model, Msg::Compare(compared(&["a", "b"], vec![program(), two_turns()])));
    assert!(model.compare.compared.is_none());
}

#[test]
fn escape_stops_both_runs_and_leaves_only_then() {
    let mut model = both((120, 40));
    assert_eq!(press(&mut model, "esc"), []);
    assert_eq!(press(&mut model, "esc"), [Effect::Cancel(Slot::Left), Effect::Cancel(Slot::Right)]);
    assert_eq!(press(&mut model, "f9"), [], "no other pair starts meanwhile");
    happens(&mut model, Slot::Left, Vec::new(), Some(RunEnding::Run));
    happens(&mut model, Slot::Right, Vec::new(), Some(RunEnding::Run));
    press(&mut model, "esc");
    assert_eq!(model.screen, Screen::Workbench);
}

#[test]
fn a_run_that_asks_a_user_is_put_down() {
    let mut model = both((120, 40));
    let question =
        Question { address: Address::from("r0/t1/q0"), text: "which?".to_owned(), gate: None, options: Vec::new() };
    let effects = apply_message(&mut model, Msg::RunUpdates(Slot::Right, vec![RunUpdate::Question(question)]));
    assert_eq!(effects.first(), Some(&Effect::SuspendRun(Slot::Right)));
}

#[test]
fn the_sessions_open_at_the_run_that_waits() {
    let mut model = both((120, 40));
    let question =
        Question { address: Address::from("r0/t1/q0"), text: "which?".to_owned(), gate: None, options: Vec::new() };
    apply_message(&mut model, Msg::RunUpdates(Slot::Right, vec![RunUpdate::Question(question)]));
    let message = model.toast.as_ref().map(|toast| toast.text.clone()).unwrap_or_default();
    assert!(message.contains("run 2 waits for an answer: F3, then o resumes it"), "{message}");
    happens(&mut model, Slot::Left, Vec::new(), Some(RunEnding::Run));
    happens(&mut model, Slot::Right, Vec::new(), Some(RunEnding::Run));
    let id = model.compare.sides[1].run.as_ref().and_then(|run| run.session.clone()).unwrap();
    press(&mut model, "f3");
    let summary = |id: &str| Summary { id: id.to_owned(), path: format!("{id}.jsonl").into(), ..Summary::default() };
    let (other, waits) = (summary("newer"), summary(&id));
    apply_message(&mut model, Msg::Listed(vec![other, waits], Marks::default()));
    assert_eq!(model.sessions.current().map(|session| session.id.clone()), Some(id), "the list has it selected");
}

#[test]
fn the_first_difference_is_selected_and_keys_go_from_one_to_the_next() {
    let mut model = aligned((120, 40));
    let target = |model: &Model| model.compare.items[model.compare.selected].target;
    let first = target(&model);
    assert!(matches!(first, Target::Turns(_)) && model.compare.items[model.compare.selected].first);
    press(&mut model, "shift-n");
    assert!(model.compare.items[model.compare.selected].differs && target(&model) != first);
    for _ in 0..20 {
        press(&mut model, "n");
    }
    assert_eq!(target(&model), Target::Answers, "behind the last difference nothing moves");
    press(&mut model, "d");
    assert_eq!(target(&model), first);
}

#[test]
fn enter_opens_the_turn_of_the_run_with_the_focus() {
    let mut model = aligned((120, 40));
    let asked = press(&mut model, "enter");
    let turn = Some(Address::from("r0/t1"));
    assert_eq!(asked, [Effect::Compare(CompareRequest::Find(NAMES[0].to_owned(), turn.clone()))]);
    press(&mut model, "tab");
    assert_eq!(model.compare.column, 1);
    let key = SessionKey::Example("x".to_owned());
    let opened = apply_message(&mut model, Msg::Compare(CompareResponse::Found(Ok((key.clone(), turn)))));
    assert_eq!(opened, [Effect::Open(key)]);
    assert_eq!(model.screen, Screen::Sessions);
    let session = super::services::long_session(40);
    model.compare.wanted = Some(Address::from("r0/t30"));
    apply_message(&mut model, Msg::Opened(Ok(session)));
    picture(&mut model, (120, 40));
    let viewer = model.sessions.viewer.as_ref().unwrap();
    let selected = viewer.transcript.selected().unwrap();
    assert_eq!(viewer.transcript.cells()[selected].at, Address::from("r0/t30"));
    press(&mut model, "esc");
    assert_eq!(model.screen, Screen::Compare, "one comes back to where one came from");
}

#[test]
fn transcripts_scroll_together_by_turns_and_mark_what_differs() {
    let long = |reply: &str| {
        let story = (1..=9).fold(Story::new().start(), |story, number| {
            let turn = format!("r0/t{number}");
            let reply = if number == 7 { reply.to_owned() } else { format!("{{\"n\": {number}}}") };
            story.turn(&turn).wait(300).reply(&turn, &reply, (1, 1)).turn_end(&turn, None, (1, 1), (1, 1, 1))
        });
        story.run_end(Some("{}"), None, (9, 1, 1)).events()
    };
    let size = (120, 24);
    let mut model = both(size);
    let (one, other) = (long("{\"n\": 7}"), long("{\"n\": 70}"));
    happens(&mut model, Slot::Left, one.clone(), Some(RunEnding::Run));
    happens(&mut model, Slot::Right, other.clone(), Some(RunEnding::Run));
    apply_message(&mut model, Msg::Compare(compared(&NAMES, vec![one, other])));
    picture(&mut model, size);
    let top = |model: &Model, side: usize| model.compare.sides[side].run.as_ref().unwrap().transcript.top_place();
    press(&mut model, "home");
    picture(&mut model, size);
    for _ in 0..4 {
        press(&mut model, "pagedown");
        picture(&mut model, size);
        assert_eq!(top(&model, 0), top(&model, 1));
    }
    press(&mut model, "home");
    picture(&mut model, size);
    press(&mut model, "]");
    let text = super::pictures::rows(&mut model);
    let wanted = Address::run(0).turn(7);
    let focus = |side: usize| model.compare.sides[side].run.as_ref().unwrap().transcript.selected_turn();
    assert_eq!([focus(0), focus(1)], [Some(wanted.clone()), Some(wanted)], "the turn that differs, in both");
    assert_eq!(text.matches('◆').count(), 2, "{text}");
    press(&mut model, "d");
    let text = super::pictures::rows(&mut model);
    assert!(!model.compare.shows_transcripts() && text.contains("- {\"n\": 7}"), "{text}");
    assert!(text.contains("+ {\"n\": 70}"), "{text}");
}

#[test]
fn requests_of_different_modes_are_no_difference() {
    let sides = vec![("a".to_owned(), program()), ("b".to_owned(), two_turns())];
    let sides = sides.into_iter().map(|(name, events)| Side::of(&name, events, None)).collect();
    let found = compare(sides);
    let parts: Vec<_> =
        found.pairs[0].turns.iter().flat_map(|turn| turn.parts.iter().map(|part| part.part.name())).collect();
    assert!(!parts.contains(&"request"), "{parts:?}");
    assert_eq!(found.pairs[0].first.as_ref().and_then(|first| first.part).map(TurnPart::name), Some("reply"));
}

fn plan() -> MatrixPlan {
    let cell = |mode: &str, unfit: Option<&str>| Cell {
        agent: "sentiment".to_owned(),
        mode: mode.to_owned(),
        model: "demo".to_owned(),
        case: None,
        unfit: unfit.map(str::to_owned),
    };
    let cells = vec![cell("ptc_lisp", None), cell("json", None), cell("text", Some("the signature has no output"))];
    MatrixPlan { agents: Vec::new(), trials: 3, seed: 0, cells }
}

fn trial(cell: usize, trial: u32, passed: bool) -> MatrixUpdate {
    let measures = Measures {
        turns: 1 + trial,
        tokens: Some(Tokens { input: 412, output: 31, ..Tokens::default() }),
        time_ms: 640,
        data_bytes: 20,
        kept_out_bytes: 4,
        ..Measures::default()
    };
    MatrixUpdate::Event(MatrixEvent::Finished(Box::new(Trial {
        cell,
        trial,
        session: format!("session-{cell}-{trial}"),
        passed,
        score: None,
        why: (!passed).then(|| "score: expected 0.97, got 0.93".to_owned()),
        outcome: Outcome::Answer(TextRecord::Whole(format!("{{\"score\":{}}}", if passed { 0.97 } else { 0.93 }))),
        measures,
        rulings: Vec::new(),
    })))
}

/// A matrix of which some trials have ended and one runs.
pub(super) fn matrix(size: (u16, u16)) -> Model {
    let mut model = fresh(size);
    press(&mut model, "f4");
    press(&mut model, "m");
    press(&mut model, "enter");
    let begun = CompareResponse::MatrixStarted(Ok((
        "m-2026-11-21T20-52-07Z-00000001".to_owned(),
        MatrixState::new(plan(), []),
    )));
    apply_message(&mut model, Msg::Compare(begun));
    let key = TrialKey { cell: 1, trial: 2 };
    let started = MatrixEvent::Started { key, session: "session-1-2".to_owned() };
    let shown = vec![
        trial(0, 1, true),
        trial(1, 1, false),
        trial(0, 2, true),
        MatrixUpdate::Event(started),
        MatrixUpdate::Event(MatrixEvent::Turn { key, turn: 2 }),
    ];
    apply_message(&mut model, Msg::Compare(CompareResponse::Matrix(shown)));
    model
}

#[test]
fn a_new_matrix_proposes_the_modes_in_which_the_draft_can_run() {
    let mut model = fresh((120, 40));
    let tools = "[tools.t]\nkind = \"snippet\"\nsignature = \"() -> :int\"\ncode = '1'\n";
    model.workbench.editor_mut(Place::Tools).draft.replace_all(tools);
    press(&mut model, "f4");
    press(&mut model, "m");
    let chosen = |model: &Model| {
        let modes = Mode::ALL.into_iter().zip(model.compare.form.modes);
        modes.filter_map(|(mode, on)| on.then_some(mode)).collect::<Vec<_>>()
    };
    assert_eq!(chosen(&model), [Mode::PtcLisp], "json mode has no tools");
    press(&mut model, "space");
    press(&mut model, "esc");
    press(&mut model, "m");
    assert!(chosen(&model).is_empty(), "what the user chose stays");
}

#[test]
fn the_dialog_says_what_is_wrong_and_begins_what_is_wanted() {
    let mut model = fresh((120, 40));
    press(&mut model, "f4");
    press(&mut model, "m");
    assert_eq!(model.compare.page, Page::Form);
    for key in ["space", "right", "space"] {
        press(&mut model, key);
    }
    assert_eq!(press(&mut model, "enter"), []);
    assert!(model.compare.form.error.as_ref().unwrap().contains("no mode is chosen"));
    press(&mut model, "space");
    press(&mut model, "tab");
    write(&mut model, ",sample:slow,seed=7");
    press(&mut model, "tab");
    press(&mut model, "backspace");
    assert_eq!(press(&mut model, "enter"), []);
    assert_eq!(model.compare.form.field, Field::Trials);
    write(&mut model, "12");
    let effects = press(&mut model, "enter");
    let spec = MatrixSpec {
        modes: vec![Mode::Json],
        models: vec!["demo".to_owned(), "sample:slow,seed=7".to_owned()],
        trials: 12,
        ..MatrixSpec::default()
    };
    assert_eq!(effects, [Effect::Compare(CompareRequest::Matrix(model.workbench.texts(), spec, 4))]);
    press(&mut model, "esc");
    assert_eq!(model.compare.page, Page::Sides);
}

#[test]
fn a_matrix_is_watched_stopped_and_gone_on_with() {
    let mut model = matrix((120, 40));
    assert_eq!(model.compare.page, Page::Matrix);
    assert_eq!(press(&mut model, "enter"), [Effect::Compare(CompareRequest::Find("session-0-1".to_owned(), None))]);
    press(&mut model, "down");
    press(&mut model, "right");
    assert_eq!(press(&mut model, "enter"), [Effect::Compare(CompareRequest::Find("session-1-2".to_owned(), None))]);
    assert_eq!(press(&mut model, "s"), [Effect::StopMatrix]);
    assert_eq!(press(&mut model, "s"), [], "it is being stopped");
    let stopped = MatrixUpdate::Event(MatrixEvent::Stopped(TrialKey { cell: 1, trial: 2 }));
    apply_message(&mut model, Msg::Compare(CompareResponse::Matrix(vec![stopped, MatrixUpdate::Ended(None)])));
    let view = model.compare.matrix.as_ref().unwrap();
    assert_eq!((view.running, view.state.done(), view.state.failed()), (false, 3, 1), "what is finished is kept");
    let id = view.id.clone();
    assert_eq!(press(&mut model, "g"), [Effect::Compare(CompareRequest::ResumeMatrix(id, 4))]);
    let beside = press(&mut model, "c");
    let names = vec!["session-0-1".to_owned(), "session-1-1".to_owned()];
    assert_eq!(beside, [Effect::Compare(CompareRequest::Sessions(names))]);
}

pub(super) fn listed(size: (u16, u16)) -> Model {
    let mut model = fresh(size);
    press(&mut model, "f4");
    assert_eq!(press(&mut model, "shift-m"), [Effect::Compare(CompareRequest::Matrices)]);
    let line = |id: &str, done: u32, failed: u32| {
        let mut plan = plan();
        plan.cells.truncate(2);
        let trials = (0..done).map(|number| {
            let MatrixUpdate::Event(event) = trial((number / 3) as usize, number % 3 + 1, number >= failed) else {
                panic!("no event")
            };
            event
        });
        let mut state = MatrixState::new(plan, []);
        trials.for_each(|event| state.apply(&event));
        MatrixEntry { id: id.to_owned(), created_ms: NOW_MS - 60_000, state: Ok(state) }
    };
    let error = MatrixError("the file is empty".to_owned());
    let damaged = MatrixEntry { id: "d".to_owned(), created_ms: 0, state: Err(error) };
    let all = vec![line("a", 6, 0), line("b", 6, 2), line("c", 4, 0), damaged];
    apply_message(&mut model, Msg::Compare(CompareResponse::Matrices(all)));
    model
}

#[test]
fn an_earlier_matrix_is_opened_to_be_read() {
    let mut model = listed((120, 40));
    press(&mut model, "end");
    let last = model.compare.chosen;
    press(&mut model, "pagedown");
    assert!(last > 0 && model.compare.chosen == last);
    press(&mut model, "home");
    press(&mut model, "down");
    assert_eq!(press(&mut model, "enter"), [Effect::Compare(CompareRequest::OpenMatrix("b".to_owned()))]);
    let state = MatrixState::new(plan(), []);
    apply_message(&mut model, Msg::Compare(CompareResponse::MatrixOpened("b".to_owned(), Ok(state))));
    let view = model.compare.matrix.as_ref().unwrap();
    assert!(model.compare.page == Page::Matrix && !view.running && view.id == "b");
}

#[test]
fn pictures_of_runs_side_by_side() {
    screens("compare_empty", &[(80, 24)], |size| {
        let mut model = fresh(size);
        press(&mut model, "f4");
        model
    });
    screens("compare_live", &[(80, 24), (120, 40)], watched);
    screens("compare_turns", SIZES, aligned);
    screens("compare_sides", SIZES, side_by_side);
    screens("compare_answers", &[(120, 40)], |size| {
        let mut model = aligned(size);
        for _ in 0..9 {
            press(&mut model, "down");
        }
        model
    });
}

#[test]
fn pictures_of_a_matrix() {
    screens("matrix", SIZES, matrix);
    screens("matrix_form", &[(80, 24)], |size| {
        let mut model = fresh(size);
        press(&mut model, "f4");
        press(&mut model, "m");
        model
    });
    screens("matrices", &[(80, 24)], listed);
}

#[test]
fn without_colours_passed_and_failed_trials_and_differences_are_reported_by_signs() {
    let size = (120, 40);
    let screens = [("no_color_compare", Box::new(aligned(size))), ("no_color_matrix", Box::new(matrix(size)))];
    for (name, mut model) in screens {
        model.theme = Theme::plain();
        let text = ansi(&picture(&mut model, (120, 40)));
        assert!(!text.contains(";3"), "a colour is left");
        insta::with_settings!({ snapshot_path => "snapshots", prepend_module_to_snapshot => false, omit_expression => true }, {
            insta::assert_snapshot!(name, text.replace('\x1b', "␛"));
        });
    }
}

#[test]
fn o_opens_the_session_of_the_focused_run_among_turns_and_transcripts() {
    let mut model = aligned((120, 40));
    press(&mut model, "d");
    let opens = |model: &mut Model| match press(model, "o").as_slice() {
        [Effect::Compare(CompareRequest::Find(name, turn))] => Some((name.clone(), turn.clone())),
        _ => None,
    };
    let of_turns = opens(&mut model).unwrap();
    press(&mut model, "t");
    let of_transcript = opens(&mut model).unwrap();
    assert!(!of_turns.0.is_empty() && of_turns.0 == of_transcript.0, "{of_turns:?} {of_transcript:?}");
    assert!(of_transcript.1.is_some());
}
