//! The palette over actions of other panes and screens, and moving in lists of popups. No IO.

use crossterm::event::{KeyModifiers, MouseEvent, MouseEventKind};
use ptc_workbench::agent::{Fix, Place};
use ptc_workbench::session::{Marks, Summary};
use ptc_workbench::tui::archive::ArchiveRequest;
use ptc_workbench::tui::message::{Effect, Msg};
use ptc_workbench::tui::model::{Model, Pane, Picks, Popup, Screen};
use ptc_workbench::workbench::RunEnding;

use super::pictures::{screens, text};
use super::story::{SESSION, apply_message, fresh, ran, two_turns};
use super::{press, write};

const SMALL: (u16, u16) = (80, 24);
const LARGE: (u16, u16) = (120, 40);

/// A run that has ended and is listed, with the editors in focus.
fn finished(size: (u16, u16)) -> Model {
    let mut model = fresh(size);
    ran(&mut model, two_turns(), Some(RunEnding::Run));
    let summary =
        Summary { id: SESSION.to_owned(), example: true, agent: "sentiment".to_owned(), ..Summary::default() };
    apply_message(&mut model, Msg::Listed(vec![summary], Marks::default()));
    model.workbench.focus = Pane::Editor(Place::Prompt);
    model
}

fn typed(model: &mut Model, name: &str) {
    press(model, "ctrl-p");
    write(model, name);
}

fn picked(model: &mut Model, name: &str) -> Vec<Effect> {
    typed(model, name);
    press(model, "enter")
}

/// The entries that are seen, in their order.
fn entries(model: &mut Model) -> Vec<String> {
    let screen = text(model);
    let rows = screen.lines().skip_while(|row| !row.contains("> ")).skip(1);
    let rows = rows.filter_map(|row| row.split('│').find(|part| part.starts_with(" ▸ ") || part.starts_with("   ")));
    rows.map(|row| row.trim_start_matches([' ', '▸']).to_owned()).take_while(|row| !row.is_empty()).collect()
}

fn toast(model: &Model) -> &str {
    model.toast.as_ref().map_or("", |toast| toast.text.as_str())
}

#[test]
fn actions_of_other_screens_are_found_after_those_of_this_one() {
    let mut model = finished(SMALL);
    press(&mut model, "ctrl-p");
    let all = entries(&mut model);
    assert!(all.iter().all(|entry| !entry.contains("(in: Sessions)")), "{all:?}");
    write(&mut model, "fork");
    let found = entries(&mut model);
    assert!(found[0].starts_with("fork ") && found[0].contains("(in: Transcript)"), "the run is nearer: {found:?}");
    press(&mut model, "esc");
    typed(&mut model, "rep");
    let found = entries(&mut model);
    let place =
        |what: &str| found.iter().position(|entry| entry.starts_with(what)).unwrap_or_else(|| panic!("{found:?}"));
    assert!(place("intercept replies") < place("replay "), "{found:?}");
    assert!(found[place("replay ")].contains("(in: Sessions)") && found[place("replay ")].contains(" r"), "{found:?}");
}

#[test]
fn an_action_of_another_pane_is_done_there() {
    let mut model = finished(LARGE);
    assert!(matches!(picked(&mut model, "fork").as_slice(), [Effect::Archive(ArchiveRequest::ForkPoints(_))]));
    press(&mut model, "esc");
    picked(&mut model, "fold all");
    assert_eq!(model.workbench.focus, Pane::Run);
    picked(&mut model, "text.find");
    assert!(matches!(model.popups.last(), Some(Popup::Find(find)) if find.place == Place::Prompt));
    assert_eq!(model.workbench.focus, Pane::Editor(Place::Prompt));
}

#[test]
fn the_session_of_the_run_that_is_shown_is_exported_without_going_to_the_list() {
    let mut model = finished(LARGE);
    let asked = picked(&mut model, "export");
    assert!(!asked.is_empty() && matches!(model.popups.last(), Some(Popup::Form(..))));
    assert_eq!(model.screen, Screen::Workbench);
}

#[test]
fn what_is_done_with_a_session_waits_until_one_is_selected() {
    let mut model = fresh(LARGE);
    apply_message(
        &mut model,
        Msg::Listed(vec![Summary { id: "a".to_owned(), example: true, ..Summary::default() }], Marks::default()),
    );
    for name in ["sessions.mark", "sessions.rerun", "sessions.open"] {
        assert_eq!(picked(&mut model, name), [Effect::List], "{name}: nothing is done with what was not seen");
        assert!(model.screen == Screen::Sessions && model.popups.is_empty());
        assert!(toast(&model).starts_with("select a session, then "), "{}", toast(&model));
        press(&mut model, "f2");
    }
    picked(&mut model, "sessions.filter");
    assert!(model.screen == Screen::Sessions && model.sessions.filtering, "what needs no session is done");
}

#[test]
fn an_action_that_is_further_away_says_where_it_is() {
    let mut model = finished(LARGE);
    picked(&mut model, "inspect.difference");
    assert_eq!(toast(&model), "difference works in: Inspector of a turn; `open turn` leads there");
    model.workbench.focus = Pane::Run;
    picked(&mut model, "inspect.difference");
    assert_eq!(toast(&model), "difference works in: Inspector of a turn; Enter leads there");
    let mut early = fresh(LARGE);
    picked(&mut early, "inspect.difference");
    assert_eq!(toast(&early), "difference works in: Inspector of a turn; no turn has begun here");
    picked(&mut model, "find.replace_all");
    assert_eq!(toast(&model), "all works in: Search and replace; `find` leads there");
}

#[test]
fn an_action_of_an_editor_leaves_the_turn_that_is_open() {
    let mut model = finished(LARGE);
    model.workbench.focus = Pane::Run;
    press(&mut model, "enter");
    assert!(model.inspector.is_some());
    picked(&mut model, "focus.prompt");
    assert!(model.inspector.is_none() && model.workbench.focus == Pane::Editor(Place::Prompt));
    model.workbench.focus = Pane::Run;
    press(&mut model, "enter");
    picked(&mut model, "transcript.fold_all");
    assert!(model.inspector.is_none(), "the cards are below it");
}

#[test]
fn pages_and_ends_of_lists_are_reached_by_their_keys() {
    let mut model = fresh(SMALL);
    press(&mut model, "f10");
    let selected = |model: &Model| match model.popups.last() {
        Some(Popup::Menu(menu)) => menu.selected,
        Some(Popup::Palette { selected, .. } | Popup::Fixes { selected, .. }) => *selected,
        other => panic!("{other:?}"),
    };
    let first = selected(&model);
    press(&mut model, "pagedown");
    let page = selected(&model);
    assert!(page > first + 5, "{page}");
    press(&mut model, "end");
    let last = selected(&model);
    assert!(last > page);
    press(&mut model, "pageup");
    assert!(selected(&model) < last);
    press(&mut model, "home");
    assert_eq!(selected(&model), first);
    press(&mut model, "esc");
    press(&mut model, "ctrl-p");
    press(&mut model, "pagedown");
    assert_eq!(selected(&model), entries(&mut model).len() - 1, "the last one seen is the first of the next page");
    press(&mut model, "alt-end");
    let last = selected(&model);
    press(&mut model, "down");
    assert_eq!(selected(&model), last);
    press(&mut model, "alt-home");
    assert_eq!(selected(&model), 0);
    press(&mut model, "esc");
    let fix = |number: usize| Fix {
        title: format!("model {number}"),
        place: Place::Options,
        span: ptc_core::text::Span::new(0, 0),
        text: String::new(),
    };
    let fixes = (0..9).map(fix).collect();
    model.popups.push(Popup::Fixes {
        title: "Models",
        message: "which?".to_owned(),
        fixes: Picks::Fixes(fixes),
        selected: 3,
    });
    press(&mut model, "end");
    assert_eq!(selected(&model), 8);
    press(&mut model, "home");
    assert_eq!(selected(&model), 0);
    press(&mut model, "pagedown");
    assert_eq!(selected(&model), 8);
    let wheel = |kind| MouseEvent { kind, column: 5, row: 5, modifiers: KeyModifiers::NONE };
    apply_message(&mut model, Msg::Mouse(wheel(MouseEventKind::ScrollUp)));
    assert_eq!(selected(&model), 7);
}

#[test]
fn the_palette_over_every_screen() {
    screens("palette_elsewhere", &[SMALL, LARGE], |size| {
        let mut model = finished(size);
        typed(&mut model, "mark");
        model
    });
}

#[test]
fn what_a_fix_did_is_reported_as_done() {
    let mut model = fresh(LARGE);
    let text = model.workbench.texts().options;
    let fix = Fix {
        title: "add `x` to the signature".to_owned(),
        place: Place::Options,
        span: ptc_core::text::Span::new(0, 0),
        text,
    };
    model.popups.push(Popup::Fixes {
        title: "Quick fixes",
        message: "x".to_owned(),
        fixes: Picks::Fixes(vec![fix]),
        selected: 0,
    });
    press(&mut model, "enter");
    assert!(toast(&model).starts_with("done: add `x` to the signature; Ctrl-U"), "{}", toast(&model));
}
