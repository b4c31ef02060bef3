//! Questions of a run while a text has the keys: nothing that is typed for the text answers them, and no key of it is lost.

use ptc_workbench::agent::Place;
use ptc_workbench::port::{Gate, Question};
use ptc_workbench::tui::draft::Draft;
use ptc_workbench::tui::form::{Field, Form};
use ptc_workbench::tui::message::{Effect, Msg, Slot};
use ptc_workbench::tui::model::{Model, Pane, Popup};
use ptc_workbench::tui::sessions::Purpose;
use ptc_workbench::tui::update;
use ptc_workbench::workbench::RunUpdate;

use super::pictures::text;
use super::story::{apply_message, asked, fresh, ran};
use super::{press, write};

const WIDE: (u16, u16) = (140, 40);
const NARROW: (u16, u16) = (80, 24);
const TYPED: &str = "please make a nice invoice and add all the rates and also a remark";

/// Questions of each kind: of a tool, of a server (a page, a form with options, a form), of a breakpoint, of gates, of a model that is the user.
fn questions() -> Vec<Question> {
    let choice = |options: &[&str]| options.iter().map(|option| (*option).to_owned()).collect::<Vec<_>>();
    let question = |options: Vec<String>, gate| Question {
        address: "r0/t1/c0/q0".into(),
        text: "May the tool rate be called?".to_owned(),
        options,
        gate,
    };
    vec![
        question(choice(&["once", "run", "always", "deny"]), None),
        question(choice(&["accept", "decline", "cancel"]), None),
        question(choice(&["red", "green", "decline", "cancel"]), None),
        question(choice(&["continue"]), None),
        question(Vec::new(), None),
        question(Vec::new(), Some(Gate::Send)),
        question(Vec::new(), Some(Gate::Apply)),
        question(Vec::new(), Some(Gate::Result)),
    ]
}

/// A run in progress, with the focus in the prompt.
fn running(size: (u16, u16)) -> Model {
    let mut model = fresh(size);
    ran(&mut model, asked().events(), None);
    press(&mut model, "alt-g");
    press(&mut model, "p");
    press(&mut model, "ctrl-end");
    model
}

/// The question comes now, as in the program: it was not looked at.
fn ask(model: &mut Model, question: &Question) {
    update(model, Msg::RunUpdates(Slot::Workbench, vec![RunUpdate::Question(question.clone())]));
}

fn rest(model: &mut Model, ms: i64) {
    let later = model.now_ms + ms;
    apply_message(model, Msg::Clock(later));
}

/// Types a text with this time before each key; the answers that came of it.
fn typed_slowly(model: &mut Model, typed: &str, ms: i64) -> Vec<Effect> {
    let mut effects = Vec::new();
    for c in typed.chars() {
        rest(model, ms);
        text(model);
        effects.extend(write(model, c.encode_utf8(&mut [0; 4])));
    }
    effects.retain(|effect| matches!(effect, Effect::Answer(..)));
    effects
}

fn prompt(model: &Model) -> &str {
    model.workbench.editor(Place::Prompt).draft.text()
}

fn toast(model: &Model) -> &str {
    model.toast.as_ref().map_or("", |toast| toast.text.as_str())
}

#[test]
fn typing_on_while_a_question_comes_answers_nothing_and_loses_no_key() {
    for (number, size) in [WIDE, NARROW].into_iter().enumerate() {
        for (place, question) in questions().into_iter().enumerate() {
            // The short form tries each at one of the sizes.
            if !crate::is_complete() && (number + place) % 2 != 0 {
                continue;
            }
            // The text is in use when the question comes.
            let mut model = running(size);
            let before = prompt(&model).to_owned();
            write(&mut model, "P");
            ask(&mut model, &question);
            assert!(model.popups.is_empty(), "{question:?}");
            assert!(toast(&model).contains("the run asks: F5 opens the question"), "{}", toast(&model));
            for ms in [50, 2_000] {
                assert_eq!(typed_slowly(&mut model, TYPED, ms), [], "{question:?}");
            }
            assert_eq!(prompt(&model), format!("{before}P{TYPED}{TYPED}"), "{question:?}");

            // The first key of the text comes right after the question.
            let mut model = running(size);
            ask(&mut model, &question);
            assert_eq!(typed_slowly(&mut model, TYPED, 50), [], "{question:?}");
            assert_eq!(prompt(&model), format!("{before}{TYPED}"), "{question:?}");

            // The run key opens it, and it has the keys then.
            press(&mut model, "f5");
            assert!(matches!(model.popups.last(), Some(Popup::Answer { question: open, .. }) if *open == question));
            assert_eq!(model.workbench.focus, Pane::Run);
        }
    }
}

#[test]
fn a_paste_for_the_text_is_not_taken_by_a_question_that_comes() {
    for question in questions() {
        let mut model = running(WIDE);
        let before = prompt(&model).to_owned();
        ask(&mut model, &question);
        update(&mut model, Msg::Paste("always".to_owned()));
        assert_eq!(prompt(&model), format!("{before}always"), "{question:?}");
        assert!(model.popups.is_empty());
    }
}

#[test]
fn a_dialog_that_takes_text_is_not_covered_by_a_question() {
    for question in questions() {
        let mut model = running(WIDE);
        press(&mut model, "ctrl-f");
        ask(&mut model, &question);
        let announced = "the run asks: close this (Esc), then F5 opens the question";
        assert!(toast(&model).contains(announced), "{}", toast(&model));
        write(&mut model, "sentiment");
        assert!(matches!(model.popups.last(), Some(Popup::Find(find)) if find.sought.text() == "sentiment"));
    }
}

#[test]
fn a_dialog_is_not_covered_by_a_question_while_a_choice_has_its_focus() {
    let mut model = running(WIDE);
    let form = Form { fields: vec![Field::choice("mode", "", Vec::new(), 0)], ..Form::default() };
    model.popups.push(Popup::Form(Box::new(form), Purpose::Breakpoints));
    ask(&mut model, &questions()[0]);
    assert!(matches!(model.popups.last(), Some(Popup::Form(..))));
    assert!(toast(&model).contains("close this (Esc), then F5"), "{}", toast(&model));
}

#[test]
fn a_chord_without_a_continuation_draws_no_box() {
    let begun = |model: &mut Model| {
        press(model, "alt-g");
        rest(model, 300);
        text(model).contains("Alt-G …")
    };
    let mut model = running(WIDE);
    assert!(begun(&mut model.clone()));
    ask(&mut model, &questions()[0]);
    rest(&mut model, 1_000);
    assert!(!begun(&mut model), "{}", text(&mut model));
}

#[test]
fn a_key_that_stops_the_run_does_not_answer_a_question_that_comes_between_its_presses() {
    for question in questions() {
        let mut model = running(WIDE);
        press(&mut model, "f5");
        ask(&mut model, &question);
        assert_eq!(press(&mut model, "f5"), [], "it opens the question: {question:?}");
        assert!(matches!(model.popups.last(), Some(Popup::Answer { .. })));
    }
}

#[test]
fn what_lasts_is_not_granted_by_a_letter_alone_while_the_cursor_is_in_a_text() {
    let consent = &questions()[0];
    for (key, option) in [("a", "always"), ("r", "run")] {
        let mut model = running(WIDE);
        ask(&mut model, consent);
        rest(&mut model, 1_000);
        text(&mut model);
        assert_eq!(press(&mut model, key), []);
        assert!(toast(&model).contains("press F5 first"), "{}", toast(&model));
        assert_eq!(press(&mut model, "f5"), []);
        assert_eq!(press(&mut model, key), [Effect::Answer(consent.address.clone(), option.to_owned())]);
    }
    for (key, option) in [("o", "once"), ("d", "deny")] {
        let mut model = running(WIDE);
        ask(&mut model, consent);
        rest(&mut model, 1_000);
        text(&mut model);
        assert_eq!(press(&mut model, key), [Effect::Answer(consent.address.clone(), option.to_owned())]);
    }
}

#[test]
fn a_question_takes_an_answer_after_a_pause_of_all_keys() {
    let consent = &questions()[0];
    let mut model = running(WIDE);
    model.workbench.focus = Pane::Run;
    ask(&mut model, consent);
    // In the run pane the keys scroll: those on their way are dropped, and each begins the time again.
    assert_eq!(typed_slowly(&mut model, "jjoaroa", 300), []);
    assert!(matches!(model.popups.last(), Some(Popup::Answer { .. })));
    rest(&mut model, 400);
    assert_eq!(press(&mut model, "a"), [Effect::Answer(consent.address.clone(), "always".to_owned())]);
}

#[test]
fn the_second_key_of_a_chord_is_no_answer() {
    for question in questions().iter().filter(|question| !question.options.is_empty()) {
        let letters = question.options.iter().filter_map(|option| option.get(..1));
        for (prefix, letter) in letters.flat_map(|letter| [("alt-g", letter), ("alt-m", letter)]) {
            let mut model = running(WIDE);
            model.workbench.focus = Pane::Run;
            ask(&mut model, question);
            rest(&mut model, 1_000);
            text(&mut model);
            assert_eq!(press(&mut model, prefix), []);
            assert_eq!(press(&mut model, letter), [], "{prefix} {letter}");
            assert!(toast(&model).contains("has no action here"), "{}", toast(&model));
            assert!(matches!(model.popups.last(), Some(Popup::Answer { .. })));
            // The letter alone is one.
            let answers = press(&mut model, letter);
            assert!(matches!(answers.as_slice(), [Effect::Answer(..)]), "{answers:?}");
        }
    }
}

#[test]
fn the_second_key_of_a_chord_is_no_text_of_a_reply() {
    let reply = &questions()[4];
    let mut model = running(WIDE);
    apply_message(&mut model, Msg::RunUpdates(Slot::Workbench, vec![RunUpdate::Question(reply.clone())]));
    write(&mut model, "x");
    press(&mut model, "alt-g");
    press(&mut model, "r");
    assert_eq!(model.active_draft().map(Draft::text), Some("x"));
}
