//! The footer after a failure and between runs, and where its keys lead.

use ptc_core::reasons::Reason;
use ptc_workbench::event::ErrorRecord;
use ptc_workbench::port::{Gate, Question};
use ptc_workbench::session::{Marks, Summary};
use ptc_workbench::tui::compare::CompareRequest;
use ptc_workbench::tui::message::{Effect, Msg, Slot};
use ptc_workbench::tui::model::{Model, Popup, Screen};
use ptc_workbench::workbench::{RunEnding, RunUpdate};

use super::pictures::text;
use super::press;
use super::runs::two_runs;
use super::services::saved;
use super::story::{apply_message, asked, fresh, missed, ran};

/// A run that used up its turns, with the focus on it.
fn failed(size: (u16, u16)) -> Model {
    let mut model = fresh(size);
    let fail = ErrorRecord::new(Reason::MaxTurnsExceeded, "no turn is left");
    ran(&mut model, missed().run_end(None, Some(fail), (1, 1, 1)).events(), Some(RunEnding::Run));
    press(&mut model, "alt-g");
    press(&mut model, "r");
    model
}

fn footer(model: &mut Model) -> String {
    text(model).lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default().to_owned()
}

#[test]
fn after_a_failed_run_the_footer_leads_to_the_failure() {
    for size in [(80, 24), (120, 40), (200, 60)] {
        let footer = footer(&mut failed(size));
        assert!(footer.contains("} next failure") && footer.contains("u overview"), "{footer}");
    }
    let mut model = fresh((120, 40));
    ran(&mut model, super::services::many_turns(3), Some(RunEnding::Run));
    press(&mut model, "alt-g");
    press(&mut model, "r");
    let footer = footer(&mut model);
    assert!(!footer.contains("next failure"), "nothing failed: {footer}");
}

#[test]
fn an_opened_session_that_failed_has_the_same_footer_before_it_was_read_whole() {
    let dir = tempfile::tempdir().unwrap();
    let fail = ErrorRecord::new(Reason::MaxTurnsExceeded, "no turn is left");
    let session = saved(dir.path(), &missed().run_end(None, Some(fail), (1, 1, 1)).events());
    let mut model = fresh((120, 40));
    press(&mut model, "f3");
    apply_message(&mut model, Msg::Opened(Ok(session)));
    let footer = footer(&mut model);
    assert!(footer.contains("} next failure") && footer.contains("u overview"), "{footer}");
}

#[test]
fn the_footer_of_an_editor_names_the_way_to_a_run_that_has_turns() {
    let mut model = fresh((120, 40));
    assert!(!footer(&mut model).contains("run pane"), "{}", footer(&mut model));
    ran(&mut model, super::services::many_turns(3), Some(RunEnding::Run));
    assert!(footer(&mut model).contains("F2 run pane"), "{}", footer(&mut model));
    press(&mut model, "f2");
    assert!(footer(&mut model).contains("Tab editors") && !footer(&mut model).contains("run pane"));
}

#[test]
fn a_search_offers_no_undo() {
    let mut model = failed((120, 40));
    press(&mut model, "/");
    super::write(&mut model, "sent");
    let footer = footer(&mut model);
    assert!(!footer.contains("undo") && footer.contains("Tab repeats"), "{footer}");
}

#[test]
fn a_missing_field_is_called_missing() {
    let shown = text(&mut failed((120, 40)));
    assert!(shown.contains("missing field") && !shown.contains("expected field, got nil"), "{shown}");
}

#[test]
fn the_key_of_the_comparison_shows_the_last_two_runs_of_the_draft() {
    let mut model = two_runs((120, 40));
    press(&mut model, "alt-g");
    press(&mut model, "p");
    let names = vec!["first".to_owned(), "second".to_owned()];
    assert_eq!(press(&mut model, "f4"), [Effect::Compare(CompareRequest::Sessions(names))]);
    assert_eq!(model.screen, Screen::Compare);
    press(&mut model, "f2");
    assert!(press(&mut model, "f4").is_empty(), "they are still shown");
}

/// A gate before a request, with what was sent before.
fn gate(text: &str) -> Model {
    let mut model = fresh((80, 24));
    ran(&mut model, asked().events(), None);
    let question =
        Question { address: "r0/t2".into(), text: text.to_owned(), options: Vec::new(), gate: Some(Gate::Send) };
    apply_message(&mut model, Msg::RunUpdates(Slot::Workbench, vec![RunUpdate::Question(question)]));
    model
}

#[test]
fn a_gate_opens_at_what_is_new_in_the_request() {
    let rules = "One more rule.\n".repeat(40);
    let first = format!("--- 0 system\n{rules}--- 1 user\nThe assistant's task.\n");
    assert!(text(&mut gate(&first)).contains("The assistant's task."));
    let results = "--- 3 tool (read-only)\n12\n--- 4 tool (read-only)\n13\n";
    let second = format!("{first}--- 2 assistant (read-only)\nI look.\n{results}");
    let mut model = gate(&second);
    let shown = text(&mut model);
    assert!(shown.contains("--- 3 tool") && shown.contains("13"), "{shown}");
    assert!(shown.contains("F1 help"), "{shown}");
    let Some(Popup::Answer { editor, .. }) = model.popups.last() else { panic!("no gate is open") };
    assert_eq!(editor.draft.cursor(), second.find("--- 3").unwrap());
}

#[test]
fn trials_are_marked_in_the_list_of_sessions() {
    let trial = Summary { id: "one".to_owned(), path: "one.jsonl".into(), is_trial: true, ..Summary::default() };
    let mut model = fresh((120, 40));
    press(&mut model, "f3");
    apply_message(&mut model, Msg::Listed(vec![trial], Marks::default()));
    assert!(text(&mut model).contains("trial"), "{}", text(&mut model));
}

#[test]
fn page_keys_turn_the_pages_of_a_question_while_the_reply_has_one_line() {
    let mut model = fresh((80, 24));
    ran(&mut model, asked().events(), None);
    let lines: Vec<String> = (0..60).map(|line| format!("card line {line} ")).collect();
    let request = format!("[system]\n{}\n\n[user]\nThe task is here", lines.join("\n"));
    let question = Question { address: "r0/t1".into(), text: request, options: Vec::new(), gate: None };
    apply_message(&mut model, Msg::RunUpdates(Slot::Workbench, vec![RunUpdate::Question(question)]));
    super::write(&mut model, "{}");
    assert!(text(&mut model).contains("The task is here"));
    press(&mut model, "pageup");
    let shown = text(&mut model);
    assert!(!shown.contains("The task is here") && shown.contains("card line 5"), "{shown}");
    press(&mut model, "pagedown");
    assert!(text(&mut model).contains("The task is here"));
}
