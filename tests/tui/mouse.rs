//! The mouse: menus, dialogs, lists, and text that is selected anywhere. No IO.

use crossterm::event::{KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use ptc_workbench::agent::Place;
use ptc_workbench::tui::actions::{Action, Context};
use ptc_workbench::tui::archive::{ArchiveRequest, ArchiveResponse};
use ptc_workbench::tui::compare::Field;
use ptc_workbench::tui::message::{Effect, Msg};
use ptc_workbench::tui::model::{Model, Pane, Popup, Screen};
use ptc_workbench::workbench::{RunEnding, SessionKey};

use super::continuing;
use super::pictures::{listed, rows, screens};
use super::press;
use super::story::{apply_message, fresh, ran, two_turns};

const SIZE: (u16, u16) = (120, 40);
const SMALL: (u16, u16) = (80, 24);

fn event(kind: MouseEventKind, (column, row): (u16, u16), modifiers: KeyModifiers) -> Msg {
    Msg::Mouse(MouseEvent { kind, column, row, modifiers })
}

fn click(model: &mut Model, at: (u16, u16)) -> Vec<Effect> {
    let mut effects = apply_message(model, event(MouseEventKind::Down(MouseButton::Left), at, KeyModifiers::NONE));
    effects.extend(apply_message(model, event(MouseEventKind::Up(MouseButton::Left), at, KeyModifiers::NONE)));
    effects
}

fn right(model: &mut Model, at: (u16, u16)) {
    apply_message(model, event(MouseEventKind::Down(MouseButton::Right), at, KeyModifiers::NONE));
}

/// Presses at one place and lets go at another.
fn sweep(model: &mut Model, from: (u16, u16), to: (u16, u16)) -> Vec<Effect> {
    apply_message(model, event(MouseEventKind::Down(MouseButton::Left), from, KeyModifiers::NONE));
    apply_message(model, event(MouseEventKind::Drag(MouseButton::Left), to, KeyModifiers::NONE));
    apply_message(model, event(MouseEventKind::Up(MouseButton::Left), to, KeyModifiers::NONE))
}

/// Returns the position of a text on the screen.
#[track_caller]
fn place(model: &mut Model, words: &str) -> (u16, u16) {
    let shown = rows(model);
    let found = shown.lines().enumerate().find_map(|(row, line)| {
        let at = line.find(words)?;
        Some((u16::try_from(line[..at].chars().count()).unwrap(), u16::try_from(row).unwrap()))
    });
    found.unwrap_or_else(|| panic!("`{words}` is not in\n{shown}"))
}

fn finished(size: (u16, u16)) -> Model {
    let mut model = fresh(size);
    ran(&mut model, two_turns(), Some(RunEnding::Run));
    model
}

#[test]
fn the_first_line_opens_a_menu_of_everything_and_a_click_does_it() {
    let mut model = fresh(SIZE);
    click(&mut model, (3, 0));
    let Some(Popup::Menu(menu)) = model.popups.last() else { panic!("{:?}", model.popups) };
    assert!(menu.contexts.contains(&Context::Global) && menu.at.is_none());
    let preview = place(&mut model, "find ");
    click(&mut model, preview);
    assert!(matches!(model.popups.as_slice(), [Popup::Find(_)]), "{:?}", model.popups);
}

#[test]
fn a_click_next_to_the_menu_closes_it_and_one_on_what_cannot_be_done_says_why() {
    let mut model = fresh(SIZE);
    press(&mut model, "f10");
    let undo = place(&mut model, "undo");
    click(&mut model, undo);
    assert!(matches!(model.popups.last(), Some(Popup::Menu(_))));
    assert!(rows(&mut model).contains("✗ no change to undo"));
    click(&mut model, (100, 30));
    assert!(model.popups.is_empty());
}

#[test]
fn the_other_button_selects_a_card_and_shows_what_can_be_done_with_it() {
    let mut model = finished(SIZE);
    let turn = place(&mut model, "Turn 2");
    right(&mut model, turn);
    assert_eq!(model.workbench.focus, Pane::Run);
    assert_eq!(model.selected_address().unwrap().as_str(), "r0/t2");
    let Some(Popup::Menu(menu)) = model.popups.last() else { panic!("{:?}", model.popups) };
    assert_eq!(menu.contexts, [Context::Runs, Context::Transcript]);
    assert!(rows(&mut model).contains("edit and continue"));
    let fold = place(&mut model, "fold ");
    click(&mut model, fold);
    assert!(model.popups.is_empty());
}

#[test]
fn keys_move_in_the_menu_too() {
    let mut model = fresh(SMALL);
    press(&mut model, "f10");
    for _ in 0..3 {
        press(&mut model, "down");
    }
    press(&mut model, "up");
    press(&mut model, "esc");
    assert!(model.popups.is_empty());
    screens("menu", &[SMALL, SIZE], |size| {
        let mut model = finished(size);
        press(&mut model, "alt-g");
        press(&mut model, "r");
        press(&mut model, "f10");
        press(&mut model, "down");
        model
    });
}

#[test]
fn fields_of_a_dialog_are_clicked() {
    let mut model = continuing::editing(SIZE);
    let change = place(&mut model, "change");
    click(&mut model, change);
    let Some(Popup::Form(form, _)) = model.popups.last() else { panic!() };
    assert_eq!(form.focused().unwrap().name, "change");
    let next = place(&mut model, "program");
    assert!(
        click(&mut model, (next.0 + 3, next.1))
            .iter()
            .any(|effect| matches!(effect, Effect::Archive(ArchiveRequest::CurrentText(_))))
    );
    let before = place(&mut model, "◂");
    click(&mut model, before);
    continuing::stands(&mut model, "r0/t2:reply", "program", "");
    let (column, row) = place(&mut model, "  text ");
    click(&mut model, (column + 6, row + 1));
    super::write(&mut model, "(+ 1)");
    assert_eq!(model.active_draft().unwrap().text(), "(+ 1)");
    click(&mut model, (column + 5, row + 1));
    super::write(&mut model, "2 ");
    assert_eq!(model.active_draft().unwrap().text(), "(+ 2 1)");
}

#[test]
fn the_dialog_of_a_matrix_is_clicked() {
    let mut model = fresh(SIZE);
    press(&mut model, "f4");
    press(&mut model, "m");
    let before = model.compare.form.modes;
    let text_mode = place(&mut model, "] text");
    click(&mut model, text_mode);
    assert_ne!(model.compare.form.modes, before);
    let trials = place(&mut model, "trials");
    click(&mut model, trials);
    assert_eq!(model.compare.form.field, Field::Trials);
}

#[test]
fn text_is_selected_and_copied_wherever_it_is() {
    // In a popup to read.
    let mut model = fresh(SIZE);
    press(&mut model, "f1");
    let at = place(&mut model, "Everywhere");
    let effects = sweep(&mut model, at, (at.0 + 4, at.1));
    assert_eq!(effects, [Effect::Clip("Every".to_owned())]);
    assert!(rows(&mut model).contains("copied 5 characters"));
    press(&mut model, "esc");
    // In the list of sessions.
    let mut model = listed(SIZE);
    let at = place(&mut model, "sales");
    assert_eq!(sweep(&mut model, at, (at.0 + 4, at.1)), [Effect::Clip("sales".to_owned())]);
    // A click alone copies nothing.
    assert_eq!(click(&mut model, at), []);
}

#[test]
fn a_selection_over_several_lines_keeps_its_lines() {
    let mut model = fresh(SIZE);
    press(&mut model, "f1");
    let (column, row) = place(&mut model, "Everywhere");
    let effects = sweep(&mut model, (column, row), (column + 9, row + 2));
    let [Effect::Clip(text)] = effects.as_slice() else { panic!("{effects:?}") };
    assert_eq!(text.lines().count(), 3);
    assert!(text.starts_with("Everywhere, popups included  (here)\nF1 "), "{text}");
}

#[test]
fn shift_extends_a_selection_in_editors_and_transcripts() {
    let mut model = fresh(SIZE);
    rows(&mut model);
    let area = model.workbench.editor(Place::Prompt).area;
    click(&mut model, (area.x, area.y));
    let shift = |at| event(MouseEventKind::Down(MouseButton::Left), at, KeyModifiers::SHIFT);
    apply_message(&mut model, shift((area.x + 8, area.y)));
    assert_eq!(model.workbench.editor(Place::Prompt).draft.selected(), Some("Classify"));
    let mut model = finished(SIZE);
    let (column, row) = place(&mut model, "Turn 1");
    click(&mut model, (column, row));
    apply_message(&mut model, shift((column + 6, row)));
    apply_message(&mut model, event(MouseEventKind::Up(MouseButton::Left), (column + 6, row), KeyModifiers::SHIFT));
    assert_eq!(press(&mut model, "y"), [Effect::Clip("Turn 1".to_owned())]);
}

#[test]
fn a_session_is_opened_by_two_clicks() {
    let mut model = listed(SIZE);
    let at = place(&mut model, "sales");
    click(&mut model, at);
    assert!(matches!(click(&mut model, at).as_slice(), [Effect::Open(SessionKey::File(_) | SessionKey::Example(_))]));
    assert_eq!(model.screen, Screen::Sessions);
}

#[test]
fn a_clipboard_program_that_fails_is_reported() {
    let mut model = fresh(SIZE);
    apply_message(&mut model, Msg::Clipped(Err("xclip: it did not end in time".to_owned())));
    assert!(rows(&mut model).contains("not to this machine's clipboard: xclip"));
    apply_message(&mut model, Msg::Archive(ArchiveResponse::Marked(Ok(()))));
    assert!(model.enabled(Action::Menu).is_ok());
}
