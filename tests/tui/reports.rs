//! Reports on the screen: marks, header, status line, messages, findings, the turn of a user.

use ptc_core::reasons::Reason;
use ptc_core::text::Span;
use ptc_workbench::agent::{Diagnostic, Place};
use ptc_workbench::event::{Address, Options, RawBody, RawRequest, RequestMade, Want};
use ptc_workbench::port::Question;
use ptc_workbench::tui::message::{Effect, Msg, Slot};
use ptc_workbench::tui::model::{Model, Pane, Popup};
use ptc_workbench::tui::picture;
use ptc_workbench::workbench::{RunEnding, RunUpdate};

use super::story::{Story, apply_message, asked, fresh, happened, ran, two_turns};
use super::{press, write};

const SIZE: (u16, u16) = (120, 40);

/// The rows of the screen.
fn screen(model: &mut Model) -> Vec<String> {
    let size = model.size;
    let buffer = picture(model, size);
    let row = |cells: &[ratatui::buffer::Cell]| cells.iter().map(ratatui::buffer::Cell::symbol).collect::<String>();
    buffer.content().chunks(usize::from(size.0)).map(row).collect()
}

#[test]
fn what_lies_above_and_below_is_counted() {
    let mut model = fresh((100, 16));
    apply_message(&mut model, Msg::Paste("line\n".repeat(40)));
    ran(&mut model, two_turns(), Some(RunEnding::Run));
    let rows = screen(&mut model);
    assert!(rows[1].contains("▲ 33 more"), "{}", rows[1]);
    assert!(rows[1].contains("▲ 8 more  ✓ returned"), "{}", rows[1]);
    model.workbench.focus = Pane::Run;
    press(&mut model, "home");
    assert!(screen(&mut model)[1].contains("▼ 8 more  ✓ returned"));
}

#[test]
fn a_broken_field_leaves_the_header_as_it_was_and_the_context_unjudged() {
    let mut model = fresh(SIZE);
    let broken = Diagnostic::error(Place::Signature, Reason::InvalidAgent, "broken");
    let version = model.workbench.version();
    apply_message(&mut model, Msg::Checked(version, vec![broken], Box::default()));
    let rows = screen(&mut model);
    assert!(rows[0].contains("sentiment") && rows[0].contains("json · demo"), "{}", rows[0]);
    let context = rows.iter().find(|row| row.contains(" Inputs ")).unwrap();
    assert!(context.contains(" – ") && !context.contains("fits"), "{context}");
}

#[test]
fn a_long_model_name_gives_way_to_the_hint_and_unsaved_edits_stay_reported() {
    for (size, hinted) in [((80, 24), true), ((40, 10), false)] {
        let mut model = fresh(size);
        model.workbench.preview.model = "a-provider/with-a-very-long-model-name-2026-11-21".to_owned();
        write(&mut model, "x");
        let row = screen(&mut model).remove(0);
        assert!(row.contains("● unsaved") && row.contains("json"), "{row}");
        assert_eq!(row.contains("F1 help"), hinted, "{row}");
        assert!(row.contains('…'), "{row}");
    }
}

#[test]
fn the_turn_leaves_the_header_when_the_run_has_ended() {
    let mut model = fresh(SIZE);
    ran(&mut model, two_turns(), None);
    assert!(screen(&mut model)[0].contains("turn 2 of 3"));
    happened(&mut model, Vec::new(), Some(RunEnding::Run));
    assert!(!screen(&mut model)[0].contains("turn 2"));
}

#[test]
fn a_message_goes_with_the_next_key_and_escape_with_nothing_to_close_says_nothing() {
    let mut model = fresh(SIZE);
    press(&mut model, "ctrl-c");
    assert!(model.toast.is_some());
    press(&mut model, "right");
    assert_eq!(model.toast, None);
    press(&mut model, "esc");
    assert_eq!(model.toast, None);
}

#[test]
fn a_message_is_next_to_the_progress_of_a_run() {
    let mut model = fresh((80, 24));
    ran(&mut model, asked().events(), None);
    press(&mut model, "f2");
    press(&mut model, "ctrl-c");
    let rows = screen(&mut model);
    assert!(rows[22].contains("nothing is selected") && rows[22].contains("● turn 1 · 0."), "{}", rows[22]);
}

#[test]
fn f2_comes_back_to_the_editor_that_was_left() {
    for size in [(80, 24), SIZE] {
        let mut model = fresh(size);
        press(&mut model, "tab");
        press(&mut model, "f2");
        assert_eq!(model.workbench.focus, Pane::Run);
        press(&mut model, "f2");
        assert_eq!(model.workbench.focus, Pane::Editor(Place::Signature));
    }
}

#[test]
fn a_context_with_an_error_is_not_started() {
    let mut model = fresh(SIZE);
    let version = model.workbench.version();
    let finding = Diagnostic::error(Place::Context, Reason::InvalidContext, "not JSON").at(Span::new(4, 5));
    apply_message(&mut model, Msg::Checked(version, vec![finding], Box::default()));
    assert_eq!(press(&mut model, "f5"), []);
    assert_eq!(model.workbench.focus, Pane::Editor(Place::Context));
    assert!(model.toast.as_ref().unwrap().text.starts_with("not started: inputs"), "{:?}", model.toast);
}

#[test]
fn the_message_of_the_focused_field_is_reported_in_full() {
    let mut model = fresh((80, 24));
    let text = "word ".repeat(40) + "THE END";
    let version = model.workbench.version();
    let finding = |place| Diagnostic::error(place, Reason::InvalidContext, text.clone());
    let findings = vec![finding(Place::Context), finding(Place::Options)];
    apply_message(&mut model, Msg::Checked(version, findings, Box::default()));
    press(&mut model, "tab");
    press(&mut model, "tab");
    let rows = screen(&mut model).join("\n");
    assert_eq!(rows.matches("THE END").count(), 1, "{rows}");
    assert!(!rows.contains("… …"), "{rows}");
}

fn ask(model: &mut Model, turn: u32, text: &str) {
    let question =
        Question { address: Address::from("r0").turn(turn), text: text.to_owned(), options: Vec::new(), gate: None };
    apply_message(model, Msg::RunUpdates(Slot::Workbench, vec![RunUpdate::Question(question)]));
}

#[test]
fn the_second_question_opens_at_the_feedback_and_names_its_turn() {
    let mut model = fresh((80, 24));
    ran(&mut model, asked().events(), None);
    let task = format!("[system]\n{}[user]\nDo it.\n", "rule\n".repeat(30));
    ask(&mut model, 1, &format!("{task}[schema]\n{{}}\n"));
    let rows = screen(&mut model);
    assert!(
        !rows[2].contains("[system]") && rows.concat().contains("Do it."),
        "the first one opens at the task: {rows:#?}"
    );
    write(&mut model, "{}");
    press(&mut model, "f5");
    let feedback = format!("[user]\nIt did not fit.\n{}", "detail\n".repeat(30));
    ask(&mut model, 2, &format!("{task}[assistant]\n{{}}\n{feedback}[schema]\n{{}}\n"));
    let rows = screen(&mut model);
    assert!(rows[1].contains("You are the model · turn 2"), "{}", rows[1]);
    assert!(rows[2].contains("[user]") && rows[3].contains("It did not fit."), "{rows:#?}");
}

#[test]
fn an_empty_reply_is_not_sent() {
    let mut model = fresh((80, 24));
    ran(&mut model, asked().events(), None);
    ask(&mut model, 1, "what?");
    write(&mut model, "  ");
    assert_eq!(press(&mut model, "f5"), []);
    assert!(matches!(model.popups.last(), Some(Popup::Answer { .. })));
    let rows = screen(&mut model);
    assert!(rows[20..22].concat().contains("an empty reply is not sent"), "{rows:#?}");
}

#[test]
fn a_run_that_waits_for_a_user_says_how_it_is_stopped_before_it_is() {
    let mut model = fresh((80, 24));
    ran(&mut model, asked().events(), None);
    ask(&mut model, 1, "what?");
    assert_eq!(press(&mut model, "esc"), []);
    assert!(model.toast.as_ref().unwrap().text.contains("Esc again stops it"));
    press(&mut model, "down");
    assert!(screen(&mut model)[23].starts_with(" F5 answer   Esc stop"), "{:?}", screen(&mut model)[23]);
    assert_eq!(press(&mut model, "esc"), [], "another key came between");
    assert!(model.toast.as_ref().unwrap().text.contains("Esc again stops it"));
    assert_eq!(press(&mut model, "esc"), [Effect::Cancel(Slot::Workbench)]);
}

#[test]
fn the_run_key_after_the_last_event_starts_the_next_run_when_the_session_is_complete() {
    let mut model = fresh((80, 24));
    ran(&mut model, two_turns(), None);
    assert_eq!(press(&mut model, "esc"), [], "there is nothing to stop");
    assert!(model.toast.is_none());
    assert_eq!(press(&mut model, "f5"), []);
    assert!(model.toast.as_ref().unwrap().text.contains("as soon as the session of this one is saved"));
    assert_eq!(press(&mut model, "f5"), [], "a second press is the same");
    let ended = || Msg::RunUpdates(Slot::Workbench, vec![RunUpdate::Ended(RunEnding::Run)]);
    let effects = apply_message(&mut model, ended());
    assert_eq!(effects.iter().filter(|effect| matches!(effect, Effect::Start(_))).count(), 1, "{effects:?}");
    let effects = apply_message(&mut model, ended());
    assert!(!effects.iter().any(|effect| matches!(effect, Effect::Start(_))), "{effects:?}");
}

#[test]
fn a_question_for_consent_is_answered_by_one_key_and_not_by_one_that_was_on_its_way() {
    let mut model = fresh(SIZE);
    ran(&mut model, two_turns(), None);
    model.workbench.run.as_mut().unwrap().phase = ptc_workbench::tui::model::Phase::Running;
    let options = ["once", "run", "always", "deny"].map(str::to_owned).to_vec();
    let text = "May the tool count be called?\ncommand \"wc\" \"-w\"\nwith {\"n\":1}".to_owned();
    let question = Question { address: "r0/t1/c0/q0".into(), text, options, gate: None };
    model.workbench.focus = ptc_workbench::tui::model::Pane::Run;
    let asked = vec![RunUpdate::Question(question.clone())];
    ptc_workbench::tui::update(&mut model, Msg::RunUpdates(Slot::Workbench, asked));
    let shown = screen(&mut model).join("\n");
    for words in ["May the tool count be called?", "\"wc\" \"-w\"", "a  always: exactly this program", "d  deny"] {
        assert!(shown.contains(words), "{words}:\n{shown}");
    }
    assert_eq!(press(&mut model, "a"), [], "it was typed before it could be read");
    let later = model.now_ms + 1_000;
    apply_message(&mut model, Msg::Clock(later));
    assert_eq!(press(&mut model, "x"), []);
    assert!(model.toast.as_ref().unwrap().text.contains("press one of o, r, a, d"));
    assert_eq!(press(&mut model, "a"), [Effect::Answer(question.address, "always".to_owned())]);
    assert!(model.popups.is_empty());
}

#[test]
fn leaving_a_run_that_asks_puts_it_down_and_any_other_is_stopped() {
    let mut model = fresh(SIZE);
    ran(&mut model, two_turns(), None);
    let first = |effects: Vec<Effect>| effects.into_iter().next();
    let mut going = model.clone();
    let run = going.workbench.run.as_mut().unwrap();
    run.phase = ptc_workbench::tui::model::Phase::Running;
    // After its last event nothing would be stopped.
    assert!(run.transcript.facts.end.take().is_some());
    assert_eq!(first(press(&mut going, "ctrl-q")), None);
    assert_eq!(first(press(&mut going, "ctrl-q")), Some(Effect::Cancel(Slot::Workbench)));
    let question =
        Question { address: "r0/t1/c0/q0".into(), text: "How many?".to_owned(), options: Vec::new(), gate: None };
    model.workbench.run.as_mut().unwrap().question = Some(question);
    assert_eq!(first(press(&mut model, "ctrl-q")), Some(Effect::SuspendRun(Slot::Workbench)));
}

#[test]
fn a_captured_request_without_a_body_shows_its_method_and_path() {
    let made = RequestMade {
        messages: Vec::new(),
        want: Want::Text,
        schema: None,
        tools: Vec::new(),
        tool_names: Vec::new(),
        options: Options::default(),
        cache: false,
    };
    let raw = RawRequest {
        attempt: 1,
        method: "GET".to_owned(),
        path: "/v1/responses/resp_1".to_owned(),
        headers: Vec::new(),
        body: RawBody::default(),
        came: None,
    };
    let story = Story::new().start().turn("r0/t1").apply_message("r0/t1", made).apply_message("r0/t1", raw);
    let mut model = fresh((120, 40));
    ran(&mut model, story.events(), None);
    let shown = screen(&mut model);
    let has = |row: &&String| row.contains("Request  ") && row.contains("GET /v1/responses/resp_1, no body");
    assert!(shown.iter().any(|row| has(&row)), "{shown:#?}");
}
