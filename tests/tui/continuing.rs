//! Editing and continuing: the key on a card, the dialog with what was there, where it continues. No IO.

use ptc_workbench::event::Address;
use ptc_workbench::port::{Gate, Question};
use ptc_workbench::replay::Stage;
use ptc_workbench::session::{Marks, Summary};
use ptc_workbench::tui::archive::{ArchiveRequest, ArchiveResponse, EditTarget};
use ptc_workbench::tui::message::{Effect, Msg, Slot};
use ptc_workbench::tui::model::{Model, Popup};
use ptc_workbench::workbench::{CurrentText, ForkChange, ForkPoints, RunUpdate, SessionKey, TurnPoints};

use super::pictures::{screens, text};
use super::sessions::fork_spec;
use super::story::{SESSION, apply_message, fresh, missed, ran, two_turns};
use super::{press, write};

const SIZE: (u16, u16) = (120, 40);

fn key() -> SessionKey {
    SessionKey::Example(SESSION.to_owned())
}

/// The list knows the run's session.
fn listed(model: &mut Model) {
    let summary =
        Summary { id: SESSION.to_owned(), example: true, agent: "sentiment".to_owned(), ..Summary::default() };
    apply_message(model, Msg::Listed(vec![summary], Marks::default()));
}

/// A run that has ended, with its transcript in focus.
fn finished(size: (u16, u16)) -> Model {
    let mut model = fresh(size);
    ran(&mut model, two_turns(), Some(ptc_workbench::workbench::RunEnding::Run));
    listed(&mut model);
    press(&mut model, "alt-g");
    press(&mut model, "r");
    model
}

fn points() -> ForkPoints {
    let turn = |number: u32, last: bool| TurnPoints {
        address: Address::run(0).turn(number),
        stages: if last {
            vec![Stage::Request, Stage::Reply]
        } else {
            vec![Stage::Request, Stage::Reply, Stage::After]
        },
        calls: vec![(format!("r0/t{number}/c0").as_str().into(), "orders".to_owned())],
        program: number == 2,
        defined: vec!["rows".to_owned()],
        has_memory: true,
    };
    ForkPoints {
        summary: Box::new(Summary { id: SESSION.to_owned(), example: true, ..Summary::default() }),
        turns: vec![turn(1, false), turn(2, true)],
        ..ForkPoints::default()
    }
}

fn spot(at: &str, target: &str) -> EditTarget {
    EditTarget { key: key(), at: at.to_owned(), name: target.to_owned() }
}

pub(super) fn stands(model: &mut Model, at: &str, target: &str, text: &str) {
    let standing = CurrentText { text: Some(text.to_owned()), want: "json".to_owned(), ..CurrentText::default() };
    apply_message(model, Msg::Archive(ArchiveResponse::CurrentText(spot(at, target), Ok(standing))));
}

/// The dialog on the last turn, with its program.
pub(super) fn editing(size: (u16, u16)) -> Model {
    let mut model = finished(size);
    assert_eq!(press(&mut model, "shift-e"), [Effect::Archive(ArchiveRequest::ForkPoints(key()))]);
    let asked = apply_message(&mut model, Msg::Archive(ArchiveResponse::ForkPoints(key(), Ok(points()))));
    assert!(asked.contains(&Effect::Archive(ArchiveRequest::CurrentText(spot("r0/t2:reply", "program")))), "{asked:?}");
    stands(&mut model, "r0/t2:reply", "program", "(count rows)");
    model
}

#[test]
fn a_run_that_is_not_listed_yet_is_forked_as_soon_as_it_is() {
    for (key_pressed, focus) in [("f", "change"), ("shift-e", "text")] {
        let mut model = fresh(SIZE);
        ran(&mut model, two_turns(), Some(ptc_workbench::workbench::RunEnding::Run));
        model.workbench.focus = ptc_workbench::tui::model::Pane::Run;
        assert_eq!(press(&mut model, key_pressed), [Effect::List]);
        assert!(text(&mut model).contains("is being looked for"), "{}", text(&mut model));
        let summary = Summary { id: SESSION.to_owned(), example: true, ..Summary::default() };
        assert_eq!(
            apply_message(&mut model, Msg::Listed(vec![summary], Marks::default())),
            [Effect::Archive(ArchiveRequest::ForkPoints(key()))]
        );
        apply_message(&mut model, Msg::Archive(ArchiveResponse::ForkPoints(key(), Ok(points()))));
        let Some(Popup::Form(form, _)) = model.popups.last() else { panic!("the dialog is open") };
        assert_eq!(form.focused().unwrap().name, focus);
    }
}

#[test]
fn another_key_ends_the_wait_for_the_list_and_a_run_without_a_file_says_so() {
    let mut model = fresh(SIZE);
    ran(&mut model, two_turns(), Some(ptc_workbench::workbench::RunEnding::Run));
    model.workbench.focus = ptc_workbench::tui::model::Pane::Run;
    press(&mut model, "f");
    press(&mut model, "up");
    listed(&mut model);
    assert!(model.popups.is_empty());
    apply_message(&mut model, Msg::Listed(Vec::new(), Marks::default()));
    press(&mut model, "f");
    apply_message(&mut model, Msg::Listed(Vec::new(), Marks::default()));
    assert!(text(&mut model).contains("is not among the saved ones"), "{}", text(&mut model));
}

#[test]
fn a_run_that_waits_and_gives_way_says_how_it_continues() {
    let mut model = fresh(SIZE);
    ran(&mut model, super::story::asked().events(), None);
    listed(&mut model);
    let question = Question { address: "r0/t1/q0".into(), text: "what?".to_owned(), options: Vec::new(), gate: None };
    apply_message(&mut model, Msg::RunUpdates(Slot::Workbench, vec![RunUpdate::Question(question)]));
    press(&mut model, "esc");
    model.workbench.focus = ptc_workbench::tui::model::Pane::Run;
    press(&mut model, "f");
    apply_message(&mut model, Msg::Archive(ArchiveResponse::ForkPoints(key(), Ok(points()))));
    press(&mut model, "f5");
    apply_message(&mut model, Msg::Archive(ArchiveResponse::Started(Ok(Some("new".to_owned())))));
    assert!(text(&mut model).contains("the previous run waits for an answer: F3, then o resumes it"));
}

fn written(model: &Model) -> &str {
    model.active_draft().unwrap().text()
}

#[test]
fn the_program_of_the_selected_turn_is_read_while_it_is_changed_and_continues_as_a_fork() {
    let mut model = editing(SIZE);
    assert_eq!(written(&model), "(count rows)", "the text has the focus");
    assert!(text(&mut model).contains("the earlier text:"));
    press(&mut model, "ctrl-a");
    write(&mut model, "(first rows");
    assert!(text(&mut model).contains("1 bracket open"));
    write(&mut model, "]");
    assert!(text(&mut model).contains("✗ does not fit"));
    press(&mut model, "backspace");
    write(&mut model, ")");
    assert!(text(&mut model).contains("✓ valid · 1 form"));
    let fork = fork_spec("r0/t2:reply", ForkChange::parse("program", "(first rows)").ok());
    assert_eq!(press(&mut model, "f5"), [Effect::Archive(ArchiveRequest::Fork(key(), fork))]);
    apply_message(&mut model, Msg::Archive(ArchiveResponse::Started(Ok(Some("new".to_owned())))));
    assert!(model.popups.is_empty() && model.workbench.running());
    let shown = text(&mut model);
    assert!(shown.contains(&format!("fork of {SESSION} at r0/t2:reply · program")), "{shown}");
}

#[test]
fn what_was_there_comes_back_and_undo_takes_that_back() {
    let mut model = editing(SIZE);
    assert_eq!(model.enabled(ptc_workbench::tui::actions::Action::Original), Err("the text is unchanged"));
    write(&mut model, "x");
    press(&mut model, "alt-o");
    assert_eq!(written(&model), "(count rows)");
    press(&mut model, "ctrl-u");
    assert_ne!(written(&model), "(count rows)");
}

/// The text of the dialog on top.
fn form_text(model: &Model) -> String {
    let Some(Popup::Form(form, _)) = model.popups.last() else { panic!("no dialog") };
    form.written("text").to_owned()
}

#[test]
fn an_edit_that_was_not_applied_is_there_again_and_undo_restores_the_earlier_text() {
    let mut model = editing(SIZE);
    press(&mut model, "ctrl-a");
    write(&mut model, "(first rows)");
    press(&mut model, "esc");
    assert!(model.popups.is_empty());
    press(&mut model, "shift-e");
    apply_message(&mut model, Msg::Archive(ArchiveResponse::ForkPoints(key(), Ok(points()))));
    stands(&mut model, "r0/t2:reply", "program", "(count rows)");
    assert_eq!(written(&model), "(first rows)");
    let shown = text(&mut model);
    assert!(
        shown.contains("Kept from before: Ctrl-U reverts it.") && shown.contains("✓ valid · 1 form kept"),
        "{shown}"
    );
    press(&mut model, "ctrl-u");
    assert_eq!(written(&model), "(count rows)");
}

#[test]
fn an_edit_is_there_again_when_another_change_was_chosen_and_left() {
    let mut model = editing(SIZE);
    press(&mut model, "ctrl-a");
    write(&mut model, "(first rows)");
    for _ in 0..3 {
        press(&mut model, "backtab");
    }
    let asked = press(&mut model, "right");
    assert_eq!(asked, [Effect::Archive(ArchiveRequest::CurrentText(spot("r0/t2:request", "prompt")))]);
    assert_eq!(form_text(&model), "");
    press(&mut model, "left");
    stands(&mut model, "r0/t2:reply", "program", "(count rows)");
    assert_eq!(form_text(&model), "(first rows)");
    // The dialog opens at the change that has the text, also where it is not the usual one.
    press(&mut model, "left");
    stands(&mut model, "r0/t2:reply", "reply", "{}");
    for _ in 0..3 {
        press(&mut model, "tab");
    }
    press(&mut model, "ctrl-a");
    write(&mut model, "[1]");
    press(&mut model, "esc");
    press(&mut model, "shift-e");
    let asked = apply_message(&mut model, Msg::Archive(ArchiveResponse::ForkPoints(key(), Ok(points()))));
    assert_eq!(asked, [Effect::Archive(ArchiveRequest::CurrentText(spot("r0/t2:reply", "reply")))]);
    stands(&mut model, "r0/t2:reply", "reply", "{}");
    assert_eq!(written(&model), "[1]");
}

#[test]
fn a_reply_that_was_begun_is_there_when_its_run_is_resumed_after_a_fork() {
    let mut model = fresh(SIZE);
    ran(&mut model, super::story::asked().events(), None);
    listed(&mut model);
    let question =
        || Question { address: "r0/t1/q0".into(), text: "what?".to_owned(), options: Vec::new(), gate: None };
    apply_message(&mut model, Msg::RunUpdates(Slot::Workbench, vec![RunUpdate::Question(question())]));
    write(&mut model, "half a reply");
    press(&mut model, "esc");
    model.workbench.focus = ptc_workbench::tui::model::Pane::Run;
    press(&mut model, "f");
    apply_message(&mut model, Msg::Archive(ArchiveResponse::ForkPoints(key(), Ok(points()))));
    press(&mut model, "f5");
    apply_message(&mut model, Msg::Archive(ArchiveResponse::Started(Ok(Some("new".to_owned())))));
    // The session that waits is resumed.
    model.workbench.begin_other();
    apply_message(&mut model, Msg::SessionResumed(Ok(Some(SESSION.to_owned()))));
    apply_message(&mut model, Msg::RunUpdates(Slot::Workbench, vec![RunUpdate::Question(question())]));
    assert_eq!(written(&model), "half a reply");
}

#[test]
fn nothing_changed_is_not_applied() {
    let mut model = editing(SIZE);
    assert_eq!(press(&mut model, "f5"), []);
    assert!(text(&mut model).contains("nothing was changed"));
}

#[test]
fn results_and_definitions_are_changed_at_their_own_points() {
    let mut model = editing(SIZE);
    press(&mut model, "backtab");
    press(&mut model, "backtab");
    press(&mut model, "backtab");
    press(&mut model, "left");
    press(&mut model, "left");
    assert!(text(&mut model).contains("continues live from there"));
    press(&mut model, "left");
    assert!(text(&mut model).contains("value of rows"));
    press(&mut model, "f5");
    assert!(text(&mut model).contains("nothing follows this turn"), "a definition of the last turn has no effect");
    assert_eq!(
        press(&mut model, "left"),
        [Effect::Archive(ArchiveRequest::CurrentText(spot("r0/t2/c0:call", "result")))]
    );
    stands(&mut model, "r0/t2/c0:call", "result", "{\"n\": 3}");
    for _ in 0..3 {
        press(&mut model, "tab");
    }
    press(&mut model, "ctrl-a");
    write(&mut model, "north");
    assert!(text(&mut model).contains("strings need quotes"));
    press(&mut model, "ctrl-a");
    write(&mut model, "[1, 2]");
    let fork = fork_spec("r0/t2/c0:call", ForkChange::parse("result", "[1, 2]").ok());
    assert_eq!(press(&mut model, "f5"), [Effect::Archive(ArchiveRequest::Fork(key(), fork))]);
}

#[test]
fn a_run_that_waits_at_a_gate_is_edited_in_place() {
    let mut model = fresh(SIZE);
    ran(&mut model, missed().events(), None);
    listed(&mut model);
    let gate = Some(Gate::Apply);
    let question =
        Question { address: "r0/t1/q0".into(), text: "{\"feeling\": 1}".to_owned(), options: Vec::new(), gate };
    apply_message(&mut model, Msg::RunUpdates(Slot::Workbench, vec![RunUpdate::Question(question.clone())]));
    press(&mut model, "esc");
    assert!(model.popups.is_empty());
    press(&mut model, "alt-g");
    press(&mut model, "r");
    assert_eq!(press(&mut model, "shift-e"), []);
    assert!(matches!(model.popups.last(), Some(Popup::Answer { question: open, .. }) if *open == question));
    press(&mut model, "ctrl-a");
    write(&mut model, "{}");
    assert_eq!(press(&mut model, "f5"), [Effect::Answer("r0/t1/q0".into(), "{}".to_owned())]);
}

#[test]
fn a_run_that_continues_is_forked_too_and_one_elsewhere_is_not_stopped_for_it() {
    let mut model = fresh(SIZE);
    ran(&mut model, missed().events(), None);
    listed(&mut model);
    press(&mut model, "alt-g");
    press(&mut model, "r");
    assert_eq!(press(&mut model, "shift-e"), [Effect::Archive(ArchiveRequest::ForkPoints(key()))]);
    press(&mut model, "esc");
    press(&mut model, "f3");
    assert_eq!(press(&mut model, "f"), []);
    assert!(text(&mut model).contains("a run is in progress in the workbench"));
}

#[test]
fn the_dialog_on_every_screen() {
    screens("edit_and_continue", &[(80, 24), SIZE], |size| {
        let mut model = editing(size);
        press(&mut model, "ctrl-end");
        write(&mut model, "\n(return (first rows)");
        model
    });
}

#[test]
fn a_narrow_question_names_the_way_back() {
    let mut model = fresh((60, 20));
    ran(&mut model, super::story::asked().events(), None);
    let text = (1..=40).map(|line| format!("line {line}")).collect::<Vec<_>>().join("\n");
    let question = Question { address: "r0/t1/q0".into(), text, options: Vec::new(), gate: None };
    apply_message(&mut model, Msg::RunUpdates(Slot::Workbench, vec![RunUpdate::Question(question)]));
    let shown = super::pictures::text(&mut model);
    assert!(shown.contains("Esc postpone") && shown.contains("F1 help"), "{shown}");
}
