//! Searching, fixing, chords, the tour, themes and the mouse, as a user meets them.

use crossterm::event::{KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use ptc_core::reasons::Reason;
use ptc_core::text::Span;
use ptc_workbench::agent::{Diagnostic, Fix, Mode, Place};
use ptc_workbench::tui::message::{Effect, Msg};
use ptc_workbench::tui::model::{Model, Pane, Popup, TOUR};
use ptc_workbench::tui::picture;
use ptc_workbench::tui::theme::Theme;
use ptc_workbench::workbench::OpenAgent;

use super::pictures::screens;
use super::story::{NOW_MS, apply_message, checked, fresh, sentiment};
use super::{press, write};

const SIZE: (u16, u16) = (120, 40);

fn prompt(model: &Model) -> &str {
    model.workbench.editor(Place::Prompt).draft.text()
}

fn shown(model: &mut Model) -> String {
    let size = model.size;
    picture(model, size).content().iter().map(ratatui::buffer::Cell::symbol).collect()
}

fn keys(model: &mut Model, chords: &[&str]) {
    for chord in chords {
        press(model, chord);
    }
}

/// A draft with a pinned program and the cursor in it.
fn programming(size: (u16, u16)) -> Model {
    let mut model = fresh(size);
    "ptc_lisp".clone_into(&mut model.workbench.preview.mode);
    keys(&mut model, &["alt-g", "x"]);
    write(&mut model, "(def rows data/rows)\n(return (map :total rows))");
    model
}

#[test]
fn a_pinned_program_is_edited_like_the_other_texts() {
    let mut model = programming(SIZE);
    assert_eq!(model.workbench.focus, Pane::Editor(Place::Program));
    assert!(model.workbench.texts().program.starts_with("(def rows"));
    assert_eq!(model.workbench.changed(), [Place::Program]);
    checked(&mut model, Vec::new());
    assert!(shown(&mut model).contains("✓ 2 forms"));
    let broken = Diagnostic::error(Place::Program, Reason::ParseError, "1 bracket is open").at(Span::new(0, 1));
    checked(&mut model, vec![broken]);
    assert!(shown(&mut model).contains("1 bracket is open"));
    let effects = press(&mut model, "ctrl-e");
    assert!(matches!(effects.as_slice(), [Effect::Edit(Place::Program, _)]), "{effects:?}");
}

#[test]
fn an_agent_that_runs_no_programs_shows_no_editor_for_one_until_it_is_asked_for() {
    let mut model = fresh(SIZE);
    assert!(!shown(&mut model).contains("─ Program"));
    for _ in 0..5 {
        press(&mut model, "tab");
    }
    assert_eq!(model.workbench.focus, Pane::Run, "the focus passes by what is not there");
    keys(&mut model, &["alt-g", "x"]);
    assert!(shown(&mut model).contains("━ Program"));
}

#[test]
fn the_editor_of_a_program_on_screen() {
    screens("program_editor", &[(80, 24), SIZE], programming);
}

fn searching(size: (u16, u16)) -> Model {
    let mut model = fresh(size);
    press(&mut model, "ctrl-f");
    write(&mut model, "se");
    model
}

#[test]
fn the_search_over_an_editor() {
    screens("find", &[(80, 24), SIZE, (40, 12)], searching);
}

#[test]
fn places_are_found_while_one_types_and_gone_through_in_both_directions() {
    let mut model = searching(SIZE);
    let selected = |model: &Model| model.workbench.editor(Place::Prompt).draft.selection();
    assert_eq!(selected(&model), Some(13..15), "the se of sentiment");
    press(&mut model, "ctrl-a");
    write(&mut model, "t");
    let first = selected(&model).unwrap();
    press(&mut model, "enter");
    assert!(selected(&model).unwrap().start > first.start);
    press(&mut model, "up");
    assert_eq!(selected(&model), Some(first.clone()));
    press(&mut model, "up");
    assert!(selected(&model).unwrap().start > first.start, "round the start of the text");
    press(&mut model, "esc");
    assert!(model.popups.is_empty() && selected(&model).is_some(), "what was found stays selected");
    assert!(!model.workbench.unsaved());
}

#[test]
fn what_is_found_is_replaced_one_by_one_or_at_once_and_undo_takes_it_back() {
    let mut model = searching(SIZE);
    let before = prompt(&model).to_owned();
    keys(&mut model, &["ctrl-a"]);
    write(&mut model, "t");
    press(&mut model, "tab");
    write(&mut model, "TT");
    press(&mut model, "ctrl-r");
    assert_eq!(prompt(&model), before.replacen('t', "TT", 1));
    let effects = press(&mut model, "alt-a");
    assert_eq!(prompt(&model).matches("TT").count(), before.matches('t').count() + 1, "TT has small letters as well");
    assert!(matches!(effects.last(), Some(Effect::Check(..))), "the texts are checked again");
    keys(&mut model, &["esc", "ctrl-u", "ctrl-u"]);
    assert_eq!(prompt(&model), before);
}

#[test]
fn a_regular_expression_fills_its_groups_in_and_says_when_it_is_broken() {
    let mut model = fresh(SIZE);
    press(&mut model, "ctrl-f");
    press(&mut model, "alt-r");
    write(&mut model, "(\\w+) of");
    press(&mut model, "tab");
    write(&mut model, "<$1>");
    press(&mut model, "alt-a");
    assert!(prompt(&model).contains("the <sentiment>:"), "{}", prompt(&model));
    press(&mut model, "tab");
    press(&mut model, "ctrl-a");
    write(&mut model, "(");
    assert!(shown(&mut model).contains("✗ unclosed group"));
    press(&mut model, "enter");
    assert!(model.toast.as_ref().unwrap().text.contains("no matches"));
}

fn fix(title: &str, span: std::ops::Range<usize>, text: &str) -> Fix {
    let span = Span::new(span.start, span.end);
    Fix { title: title.to_owned(), place: Place::Signature, span, text: text.to_owned() }
}

fn finding(fixes: Vec<Fix>) -> Diagnostic {
    let found =
        Diagnostic::error(Place::Prompt, Reason::TemplateError, "`user` is not a parameter").at(Span::new(0, 8));
    Diagnostic { fixes, ..found }
}

/// A finding with two fixes.
pub(crate) fn two_fixes(model: &mut Model) {
    let fixes = vec![
        fix("write `text` instead of `user`", 0..1, "("),
        fix("add `user` to the signature", 13..13, ", user :string"),
    ];
    checked(model, vec![finding(fixes)]);
}

#[test]
fn one_key_corrects_a_finding_and_undo_takes_it_back() {
    let mut model = fresh(SIZE);
    assert!(model.enabled(ptc_workbench::tui::actions::Action::Fix).is_err());
    checked(&mut model, vec![finding(vec![fix("add `user` to the signature", 13..13, ", user :string")])]);
    assert!(shown(&mut model).contains("F8 add `user` to the signature"));
    press(&mut model, "f8");
    let signature = |model: &Model| model.workbench.editor(Place::Signature).draft.text().to_owned();
    assert!(signature(&model).starts_with("(text :string, user :string)"), "{}", signature(&model));
    assert_eq!(model.workbench.focus, Pane::Editor(Place::Signature));
    press(&mut model, "ctrl-u");
    assert_eq!(signature(&model), sentiment().signature);
}

#[test]
fn several_fixes_are_offered_by_name() {
    let mut model = fresh(SIZE);
    two_fixes(&mut model);
    press(&mut model, "f8");
    assert!(shown(&mut model).contains("▸ write `text` instead of `user`"));
    keys(&mut model, &["down", "down", "enter"]);
    assert!(model.popups.is_empty());
    assert!(model.workbench.editor(Place::Signature).draft.text().contains("user :string"));
}

#[test]
fn fixes_of_older_texts_are_not_made() {
    let mut model = fresh(SIZE);
    two_fixes(&mut model);
    write(&mut model, "x");
    press(&mut model, "f8");
    press(&mut model, "enter");
    assert_eq!(model.workbench.editor(Place::Signature).draft.text(), sentiment().signature);
    assert!(model.toast.as_ref().unwrap().text.contains("being checked"));
}

#[test]
fn two_strokes_are_one_chord_and_what_can_follow_is_shown_after_a_while() {
    let mut model = fresh(SIZE);
    keys(&mut model, &["alt-g", "c"]);
    assert_eq!(model.workbench.focus, Pane::Editor(Place::Context));
    assert_eq!(
        model.workbench.editor(Place::Context).draft.text(),
        sentiment().context,
        "the second stroke is not a text"
    );
    press(&mut model, "alt-g");
    assert!(!shown(&mut model).contains("to the prompt"));
    let due = model.deadline_ms().unwrap();
    assert_eq!(due, model.now_ms + 300);
    model.dirty = false;
    apply_message(&mut model, Msg::Clock(due));
    assert!(model.dirty && shown(&mut model).contains("p  to the prompt"));
    press(&mut model, "esc");
    assert!(model.begun.is_none() && !shown(&mut model).contains("to the prompt"));
    keys(&mut model, &["alt-g", "y"]);
    assert!(model.toast.as_ref().unwrap().text.contains("Alt-G y has no action here"));
    keys(&mut model, &["alt-m", "p"]);
    let options = model.workbench.editor(Place::Options).draft.text();
    assert!(options.contains(Mode::PtcLisp.name()), "{options}");
}

#[test]
fn what_can_follow_a_stroke() {
    screens("chord", &[(80, 24)], |size| {
        let mut model = fresh(size);
        press(&mut model, "alt-g");
        apply_message(&mut model, Msg::Clock(NOW_MS + 400));
        model
    });
}

#[test]
fn the_tour_has_six_steps_is_reported_once_and_comes_again_from_the_palette() {
    let first = || {
        let mut model = Model::new(OpenAgent { texts: sentiment(), ..OpenAgent::default() }, SIZE, NOW_MS);
        model.popups.push(Popup::Tour(0));
        model
    };
    let mut model = first();
    assert_eq!(TOUR.len(), 6);
    for (step, report_text) in TOUR.iter().enumerate() {
        assert!(matches!(model.popups.last(), Some(Popup::Tour(at)) if *at == step));
        assert!(shown(&mut model).contains(report_text.title));
        let effects = press(&mut model, "enter");
        assert_eq!(effects.contains(&Effect::TourSeen), step == 5);
    }
    assert!(model.popups.is_empty());
    let mut skipped = first();
    assert!(press(&mut skipped, "esc").contains(&Effect::TourSeen));
    press(&mut skipped, "ctrl-p");
    write(&mut skipped, "tour");
    press(&mut skipped, "enter");
    assert!(matches!(skipped.popups.last(), Some(Popup::Tour(0))));
}

#[test]
fn the_tour_on_screen() {
    screens("tour", &[(80, 24), (40, 12)], |size| {
        let mut model = fresh(size);
        model.popups.push(Popup::Tour(1));
        model
    });
}

#[test]
fn themes_follow_each_other_and_the_whole_screen_changes() {
    let mut model = fresh(SIZE);
    let theme = |name: &str| ptc_workbench::tui::theme::named(name, std::path::Path::new("")).unwrap();
    model.themes = ["ansi", "dark"].map(|name| (name.to_owned(), theme(name))).into();
    keys(&mut model, &["alt-g", "k"]);
    assert_eq!(model.theme, theme("dark"));
    let buffer = picture(&mut model, SIZE);
    assert!(
        buffer.content().iter().all(|cell| cell.bg != ratatui::style::Color::Reset),
        "no cell keeps the old ground"
    );
    keys(&mut model, &["alt-g", "k"]);
    assert_eq!(model.theme, Theme::ansi());
    model.themes.clear();
    keys(&mut model, &["alt-g", "k"]);
    assert!(model.toast.as_ref().unwrap().text.contains("no colours"));
}

fn mouse(kind: MouseEventKind, column: u16, row: u16) -> Msg {
    Msg::Mouse(MouseEvent { kind, column, row, modifiers: KeyModifiers::NONE })
}

const DOWN: MouseEventKind = MouseEventKind::Down(MouseButton::Left);

#[test]
fn a_double_click_selects_a_word_and_two_slow_ones_do_not() {
    let mut model = fresh(SIZE);
    picture(&mut model, SIZE);
    let area = model.workbench.editor(Place::Prompt).area;
    let at = |model: &mut Model| _ = apply_message(model, mouse(DOWN, area.x + 16, area.y));
    at(&mut model);
    let later = model.now_ms + 1_000;
    apply_message(&mut model, Msg::Clock(later));
    at(&mut model);
    assert_eq!(model.workbench.editor(Place::Prompt).draft.selected(), None);
    at(&mut model);
    assert_eq!(model.workbench.editor(Place::Prompt).draft.selected(), Some("sentiment"));
}

#[test]
fn the_divider_is_dragged_and_keeps_its_place_when_the_screen_changes() {
    let mut model = fresh(SIZE);
    picture(&mut model, SIZE);
    let x = model.workbench.run_area.x - 1;
    apply_message(&mut model, mouse(DOWN, x, 10));
    apply_message(&mut model, mouse(MouseEventKind::Drag(MouseButton::Left), 72, 12));
    apply_message(&mut model, mouse(MouseEventKind::Up(MouseButton::Left), 72, 12));
    picture(&mut model, SIZE);
    assert_eq!(model.workbench.run_area.x, 74);
    apply_message(&mut model, mouse(MouseEventKind::Drag(MouseButton::Left), 40, 12));
    picture(&mut model, SIZE);
    assert_eq!(model.workbench.run_area.x, 74, "only a drag that began on the divider moves it");
    apply_message(&mut model, Msg::Resize(80, 24));
    picture(&mut model, (80, 24));
    apply_message(&mut model, Msg::Resize(200, 60));
    picture(&mut model, (200, 60));
    assert_eq!(model.workbench.run_area.x, 122);
}

#[test]
fn keys_of_the_footer_and_the_title_bar_are_clicked() {
    let mut model = fresh(SIZE);
    let row: Vec<String> =
        picture(&mut model, SIZE).content()[39 * 120..].iter().map(|cell| cell.symbol().to_owned()).collect();
    let find = row.concat().find("F6").expect("the footer shows the preview");
    apply_message(&mut model, mouse(DOWN, u16::try_from(find).unwrap() + 3, 39));
    assert!(matches!(model.popups.last(), Some(Popup::Preview { against: None, .. })));
    press(&mut model, "esc");
    apply_message(&mut model, mouse(DOWN, 50, 0));
    assert!(matches!(model.popups.last(), Some(Popup::Menu(_))));
    press(&mut model, "esc");
    let actions = shown(&mut model).find("Ctrl-P actions").expect("the first line says where actions are");
    apply_message(&mut model, mouse(DOWN, u16::try_from(actions).unwrap() + 2, 0));
    assert!(matches!(model.popups.last(), Some(Popup::Palette { .. })));
    write(&mut model, "help");
    let text = shown(&mut model);
    let place = text.find("▸ help").map(|byte| text[..byte].chars().count()).unwrap();
    let (column, row) = (place % 120, place / 120);
    apply_message(&mut model, mouse(DOWN, u16::try_from(column).unwrap(), u16::try_from(row).unwrap()));
    assert!(matches!(model.popups.last(), Some(Popup::Help { .. })));
}
