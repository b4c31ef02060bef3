//! Effects of messages on the model, and the effects that they return. No IO.

use crossterm::event::{KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use proptest::prelude::*;
use ptc_core::reasons::Reason;
use ptc_core::text::Span;
use ptc_workbench::agent::{Diagnostic, Place};
use ptc_workbench::event::Address;
use ptc_workbench::port::Question;
use ptc_workbench::tui::message::{Effect, Msg, Slot};
use ptc_workbench::tui::model::{Model, Pane, Phase, Popup, Screen};
use ptc_workbench::tui::picture;
use ptc_workbench::workbench::{RunEnding, RunUpdate};

use super::story::{apply_message, asked, fresh, happened, ran, two_turns};
use super::{press, write};

const SIZE: (u16, u16) = (120, 40);

fn prompt(model: &Model) -> &str {
    model.workbench.editor(Place::Prompt).draft.text()
}

#[test]
fn typing_changes_the_focused_text_and_asks_for_a_check() {
    let mut model = fresh(SIZE);
    let effects = write(&mut model, "Hi ");
    assert!(prompt(&model).starts_with("Hi Classify"));
    assert!(matches!(effects.last(), Some(Effect::Check(_, texts)) if texts.prompt.starts_with("Hi ")));
    assert!(model.workbench.unsaved());
    press(&mut model, "ctrl-u");
    press(&mut model, "ctrl-u");
    assert!(!model.workbench.unsaved());
}

#[test]
fn a_run_that_has_asked_a_server_for_its_tools_lets_the_draft_know_them() {
    let start = || Msg::RunUpdates(Slot::Workbench, vec![RunUpdate::Event(Box::new(two_turns().remove(0)))]);
    let begun = |tools: &str| {
        let mut model = fresh(SIZE);
        press(&mut model, "alt-g");
        press(&mut model, "t");
        write(&mut model, tools);
        press(&mut model, "f5");
        apply_message(&mut model, Msg::Started(Ok(None)));
        let version = model.workbench.version();
        apply_message(&mut model, start())
            .into_iter()
            .any(|effect| matches!(effect, Effect::Check(of, _) if of == version))
    };
    assert!(begun("[tools.read]\nkind = \"mcp\"\nserver = \"files\"\n"));
    assert!(!begun("[tools.read]\nkind = \"table\"\ndefault = 1\n"), "nothing else is learned by a run");
}

#[test]
fn findings_of_older_texts_are_dropped() {
    let mut model = fresh(SIZE);
    let old = model.workbench.version();
    write(&mut model, "x");
    let finding = Diagnostic::error(Place::Prompt, Reason::TemplateError, "old");
    apply_message(&mut model, Msg::Checked(old, vec![finding], Box::default()));
    assert!(model.workbench.diagnostics.is_empty());
}

#[test]
fn tab_goes_through_the_editors_and_the_run_and_back() {
    let mut model = fresh(SIZE);
    let order = [Place::Signature, Place::Context, Place::Tools, Place::Options].map(Pane::Editor);
    for pane in order.into_iter().chain([Pane::Run, Pane::Editor(Place::Prompt)]) {
        press(&mut model, "tab");
        assert_eq!(model.workbench.focus, pane);
    }
    press(&mut model, "backtab");
    assert_eq!(model.workbench.focus, Pane::Run);
}

#[test]
fn f5_starts_and_then_stops() {
    let mut model = fresh(SIZE);
    assert!(matches!(press(&mut model, "f5").as_slice(), [Effect::Start(texts)] if texts.prompt == prompt(&model)));
    apply_message(&mut model, Msg::Started(Ok(None)));
    happened(&mut model, asked().events(), None);
    assert_eq!(press(&mut model, "f5"), []);
    assert_eq!(press(&mut model, "f5"), [Effect::Cancel(Slot::Workbench)]);
    assert_eq!(press(&mut model, "f5"), [], "another press does not start another run");
    happened(&mut model, Vec::new(), Some(RunEnding::Run));
    assert_eq!(model.workbench.run.as_ref().unwrap().phase, Phase::Done);
}

#[test]
fn a_stop_before_the_start_was_heard_is_not_lost() {
    let mut model = fresh(SIZE);
    for _ in 0..3 {
        press(&mut model, "f5");
    }
    assert_eq!(apply_message(&mut model, Msg::Started(Ok(None))), [Effect::Cancel(Slot::Workbench)]);
}

#[test]
fn escape_closes_the_topmost_and_stops_a_run_only_when_nothing_is_open() {
    let mut model = fresh(SIZE);
    press(&mut model, "f5");
    apply_message(&mut model, Msg::Started(Ok(None)));
    press(&mut model, "f1");
    press(&mut model, "ctrl-q");
    assert_eq!(press(&mut model, "esc"), []);
    assert_eq!(press(&mut model, "esc"), []);
    assert!(model.popups.is_empty());
    press(&mut model, "f3");
    assert_eq!(press(&mut model, "esc"), []);
    assert_eq!(model.screen, Screen::Workbench);
    press(&mut model, "f2");
    assert_eq!(press(&mut model, "esc"), []);
    assert_eq!(press(&mut model, "esc"), [Effect::Cancel(Slot::Workbench)]);
}

#[test]
fn a_refused_run_leads_to_the_first_error() {
    let mut model = fresh(SIZE);
    press(&mut model, "f5");
    let finding = Diagnostic::error(Place::Context, Reason::InvalidContext, "not JSON").at(Span::new(4, 5));
    apply_message(&mut model, Msg::Started(Err(vec![finding])));
    assert_eq!(model.workbench.focus, Pane::Editor(Place::Context));
    assert_eq!(model.workbench.editor(Place::Context).draft.cursor(), 4);
    assert!(model.workbench.run.is_none());
    assert!(model.toast.as_ref().unwrap().text.contains("line 2, column 3: not JSON"), "{:?}", model.toast);
}

#[test]
fn on_a_narrow_screen_the_run_page_opens_by_itself_and_f2_switches_back() {
    let mut model = fresh((80, 24));
    press(&mut model, "f5");
    assert_eq!(model.workbench.focus, Pane::Run);
    press(&mut model, "f2");
    assert_eq!(model.workbench.focus, Pane::Editor(Place::Prompt));
    press(&mut model, "f2");
    assert_eq!(model.workbench.focus, Pane::Run);
}

#[test]
fn leaving_asks_only_when_there_are_unsaved_edits() {
    let mut model = fresh(SIZE);
    press(&mut model, "ctrl-q");
    assert!(model.quitting);

    let mut model = fresh(SIZE);
    write(&mut model, "x");
    press(&mut model, "ctrl-q");
    assert!(!model.quitting && matches!(model.popups.last(), Some(Popup::Leaving(_))));
    press(&mut model, "esc");
    assert!(!model.quitting && model.popups.is_empty(), "stay");
    press(&mut model, "ctrl-q");
    assert!(press(&mut model, "d").contains(&Effect::Forget));
    assert!(model.quitting, "discard");
}

#[test]
fn an_external_edit_is_undone_like_any_other() {
    let mut model = fresh(SIZE);
    let effects = press(&mut model, "ctrl-e");
    assert!(matches!(effects.as_slice(), [Effect::Edit(Place::Prompt, _)]));
    apply_message(&mut model, Msg::Edited(Place::Prompt, Ok("Other words\n".to_owned())));
    assert_eq!(prompt(&model), "Other words");
    press(&mut model, "ctrl-u");
    assert!(prompt(&model).starts_with("Classify"));
}

#[test]
fn a_user_answers_as_the_model() {
    let mut model = fresh(SIZE);
    ran(&mut model, asked().events(), None);
    let question =
        Question { address: Address::from("r0/t1/q0"), text: "what?".to_owned(), options: Vec::new(), gate: None };
    apply_message(&mut model, Msg::RunUpdates(Slot::Workbench, vec![RunUpdate::Question(question.clone())]));
    write(&mut model, "{}");
    press(&mut model, "esc");
    assert!(model.popups.is_empty(), "the question can be put aside");
    press(&mut model, "f5");
    assert_eq!(press(&mut model, "f5"), [Effect::Answer(question.address, "{}".to_owned())]);
    assert!(model.popups.is_empty());
}

#[test]
fn a_disabled_action_says_why() {
    let mut model = fresh(SIZE);
    press(&mut model, "ctrl-c");
    assert!(model.toast.as_ref().unwrap().text.contains("nothing is selected"));
    press(&mut model, "ctrl-u");
    assert!(model.toast.as_ref().unwrap().text.contains("no change to undo"));
}

#[test]
fn the_palette_does_what_was_picked() {
    let mut model = fresh(SIZE);
    press(&mut model, "ctrl-p");
    write(&mut model, "sessions");
    assert_eq!(press(&mut model, "enter"), [Effect::List]);
    assert_eq!(model.screen, Screen::Sessions);
}

#[test]
fn a_click_focuses_and_places_the_cursor_and_the_wheel_scrolls() {
    let mut model = fresh(SIZE);
    picture(&mut model, SIZE);
    let area = model.workbench.editor(Place::Signature).area;
    let mouse = |kind, column, row| Msg::Mouse(MouseEvent { kind, column, row, modifiers: KeyModifiers::NONE });
    apply_message(&mut model, mouse(MouseEventKind::Down(MouseButton::Left), area.x + 3, area.y));
    assert_eq!(model.workbench.focus, Pane::Editor(Place::Signature));
    assert_eq!(model.workbench.editor(Place::Signature).draft.cursor(), 3);
    apply_message(&mut model, mouse(MouseEventKind::Drag(MouseButton::Left), area.x + 6, area.y));
    assert_eq!(model.workbench.editor(Place::Signature).draft.selected(), Some("xt "));

    ran(&mut model, two_turns(), Some(RunEnding::Run));
    model.size = (120, 14);
    picture(&mut model, (120, 14));
    let run = model.workbench.run_area;
    apply_message(&mut model, mouse(MouseEventKind::ScrollUp, run.x + 1, run.y + 1));
    assert!(!model.workbench.run.as_ref().unwrap().transcript.follows());
}

#[test]
fn toasts_go_away_and_only_then_is_a_frame_needed() {
    let mut model = fresh(SIZE);
    press(&mut model, "ctrl-c");
    model.dirty = false;
    let deadline = model.deadline_ms().unwrap();
    apply_message(&mut model, Msg::Clock(deadline - 1));
    assert!(!model.dirty);
    apply_message(&mut model, Msg::Clock(deadline));
    assert!(model.dirty && model.toast.is_none());
    assert_eq!(model.deadline_ms(), None);
}

#[test]
fn a_pasted_megabyte_lands_in_the_editor_as_one_step() {
    let mut model = fresh(SIZE);
    let before = prompt(&model).len();
    apply_message(&mut model, Msg::Paste("0123456789abcde\n".repeat(65_536)));
    picture(&mut model, SIZE);
    assert_eq!(prompt(&model).len(), before + (1 << 20));
    press(&mut model, "ctrl-u");
    assert_eq!(prompt(&model).len(), before);
}

#[test]
fn below_the_smallest_size_only_leaving_works() {
    let mut model = fresh((39, 9));
    write(&mut model, "x");
    assert!(!model.workbench.unsaved());
    press(&mut model, "ctrl-q");
    assert!(model.quitting);
}

/// Returns the selected and the visible rows of the run pane.
fn seen(model: &mut Model) -> (Option<usize>, Vec<(usize, usize)>) {
    let size = model.size;
    picture(model, size);
    let transcript = &model.workbench.run.as_ref().unwrap().transcript;
    (transcript.selected(), transcript.rows().map(|row| (row.cell, row.line)).collect())
}

/// Keys that move and fold in the run pane.
const MOVES: [&str; 10] = ["down", "down", "up", "space", "a", "v", "home", "end", "pageup", "pagedown"];

proptest! {
    #[test]
    fn keys_that_come_at_once_do_what_they_do_one_by_one(
        walk in prop::collection::vec(0..MOVES.len(), 0..24),
        size in prop::sample::select(vec![(80, 24), (100, 16), (40, 12), SIZE]),
    ) {
        let mut models = [(); 2].map(|()| {
            let mut model = fresh(size);
            ran(&mut model, two_turns(), Some(RunEnding::Run));
            model.workbench.focus = Pane::Run;
            model
        });
        let [burst, single] = &mut models;
        for key in walk {
            press(burst, MOVES[key]);
            press(single, MOVES[key]);
            seen(single);
        }
        prop_assert_eq!(seen(burst), seen(single));
    }
}

#[test]
fn downs_in_bursts_reach_the_last_card() {
    let mut model = fresh((80, 24));
    ran(&mut model, two_turns(), Some(RunEnding::Run));
    for key in ["home", "space", "down", "space"] {
        press(&mut model, key);
    }
    let mut last = Some(0);
    for _ in 0..15 {
        for _ in 0..4 {
            press(&mut model, "down");
        }
        let (selected, _) = seen(&mut model);
        assert!(selected >= last, "{selected:?} came after {last:?}");
        last = selected;
    }
    assert_eq!(last, Some(model.workbench.run.as_ref().unwrap().transcript.cells().len() - 1));
}

#[test]
fn the_wheel_stops_at_the_last_row_of_an_editor() {
    let mut model = fresh(SIZE);
    apply_message(&mut model, Msg::Paste("line\n".repeat(40) + "the last"));
    press(&mut model, "ctrl-home");
    picture(&mut model, SIZE);
    let area = model.workbench.editor(Place::Prompt).area;
    for _ in 0..40 {
        let down = MouseEventKind::ScrollDown;
        let event = MouseEvent { kind: down, column: area.x, row: area.y, modifiers: KeyModifiers::NONE };
        apply_message(&mut model, Msg::Mouse(event));
    }
    picture(&mut model, SIZE);
    let editor = model.workbench.editor(Place::Prompt);
    assert_eq!(editor.scroll.0, editor.draft.line_count() - usize::from(area.height), "the last row is at the bottom");
}

#[test]
fn the_mode_is_chosen_by_name_and_taken_back_by_undo() {
    let mut model = fresh(SIZE);
    press(&mut model, "ctrl-p");
    write(&mut model, "mode json_loop");
    press(&mut model, "enter");
    let options = |model: &Model| model.workbench.editor(Place::Options).draft.text().to_owned();
    assert!(options(&model).contains("mode = \"json_loop\"\n"), "{}", options(&model));
    model.workbench.focus = Pane::Editor(Place::Options);
    press(&mut model, "ctrl-u");
    assert!(options(&model).contains("mode = \"json\"\n"), "{}", options(&model));
}
