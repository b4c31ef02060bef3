//! Navigation: closing leads back to where one came from, the help opens over anything, no message is cut. No IO.

use std::path::PathBuf;

use ptc_core::reasons::Reason;
use ptc_workbench::agent::{Diagnostic, Place};
use ptc_workbench::event::ErrorRecord;
use ptc_workbench::session::{Mark, Summary};
use ptc_workbench::tui::compare::{CompareRequest, CompareResponse, Page, WayBack};
use ptc_workbench::tui::message::{Effect, Msg};
use ptc_workbench::tui::model::{Model, Pane, Popup, Screen, TOUR};
use ptc_workbench::tui::picture;
use ptc_workbench::workbench::AgentFile;
use ptc_workbench::workbench::matrix::{MatrixPlan, MatrixState};

use super::pictures::text;
use super::sessions::marks;
use super::story::{apply_message, fresh};
use super::{press, write};

const LARGE: (u16, u16) = (120, 40);
const SMALL: (u16, u16) = (80, 24);

fn shown(model: &mut Model, size: (u16, u16)) -> String {
    let picture = picture(model, size);
    let rows = picture.content().chunks(usize::from(size.0));
    rows.map(|row| row.iter().map(ratatui::buffer::Cell::symbol).collect::<String>() + "\n").collect()
}

/// The words of a screen without their breaks.
fn words(model: &mut Model, size: (u16, u16)) -> String {
    shown(model, size).split_whitespace().filter(|word| *word != "│").collect::<Vec<_>>().join(" ")
}

/// The words inside of a popup.
fn inside(model: &mut Model, size: (u16, u16)) -> String {
    let rows = shown(model, size);
    let boxed = rows.lines().filter_map(|row| Some(row.split_once('│')?.1.rsplit_once('│')?.0));
    boxed.flat_map(str::split_whitespace).collect::<Vec<_>>().join(" ")
}

fn session(id: &str) -> Summary {
    Summary { id: id.to_owned(), example: true, ..Summary::default() }
}

fn two_marked() -> Model {
    let mark = Mark { marked: true, ..Mark::default() };
    let mut model = fresh(LARGE);
    press(&mut model, "f3");
    apply_message(&mut model, Msg::Listed(vec![session("a"), session("b")], marks(&[("a", &mark), ("b", &mark)])));
    model
}

#[test]
fn the_key_of_the_compare_screen_compares_what_is_marked_while_nothing_else_is_there() {
    let mut model = two_marked();
    let names = vec!["a".to_owned(), "b".to_owned()];
    assert_eq!(press(&mut model, "f4"), [Effect::Compare(CompareRequest::Sessions(names))]);
    assert_eq!(model.screen, Screen::Compare);
    press(&mut model, "f3");
    assert_eq!(press(&mut model, "f4"), [], "what is compared stays");
    press(&mut model, "esc");
    assert_eq!(model.screen, Screen::Sessions, "closing leads back to the list that asked for it");
}

#[test]
fn closing_what_a_matrix_put_side_by_side_leads_back_to_the_matrix_and_then_out() {
    let mut model = fresh(LARGE);
    press(&mut model, "f4");
    let state = MatrixState::new(MatrixPlan { agents: Vec::new(), trials: 1, seed: 0, cells: Vec::new() }, []);
    apply_message(&mut model, Msg::Compare(CompareResponse::MatrixOpened("m".to_owned(), Ok(state))));
    assert_eq!(model.compare.page, Page::Matrix);
    press(&mut model, "f9");
    assert_eq!((model.compare.page, model.compare.back), (Page::Sides, WayBack::Matrix));
    model.compare.sides.iter_mut().for_each(|side| side.run = None);
    press(&mut model, "esc");
    assert_eq!((model.screen, model.compare.page), (Screen::Compare, Page::Matrix));
    press(&mut model, "esc");
    assert_eq!(model.screen, Screen::Workbench);
}

#[test]
fn the_help_opens_over_a_popup_says_first_what_holds_there_and_its_key_closes_it() {
    let mut model = fresh(LARGE);
    super::write(&mut model, "x");
    press(&mut model, "ctrl-q");
    assert!(matches!(model.popups.last(), Some(Popup::Leaving(_))));
    press(&mut model, "f1");
    let help = shown(&mut model, LARGE);
    let place = |text: &str| help.find(text).unwrap_or_else(|| panic!("{text}\n{help}"));
    assert!(place("Unsaved edits at exit  (here)") < place("Everywhere, popups included  (here)"), "{help}");
    press(&mut model, "f1");
    assert!(matches!(model.popups.as_slice(), [Popup::Leaving(_)]), "the question below is still there");
    let mut model = fresh(LARGE);
    press(&mut model, "f4");
    press(&mut model, "m");
    press(&mut model, "f1");
    assert!(shown(&mut model, LARGE).contains("A new matrix  (here)"));
}

#[test]
fn a_message_longer_than_its_line_is_reported_whole() {
    let path = format!("/home/somebody/{}/sessions/2026-11-21T20-52-07Z.jsonl", "folder/".repeat(8));
    let why = "cannot be read: Permission denied";
    for size in [SMALL, (40, 12), LARGE] {
        let mut model = fresh(size);
        let error = ErrorRecord { message: format!("{path}: {why}"), ..ErrorRecord::default() };
        press(&mut model, "f3");
        apply_message(&mut model, Msg::Opened(Err(error)));
        assert!(words(&mut model, size).contains(why), "{}", shown(&mut model, size));
    }
    let mut model = fresh(SMALL);
    press(&mut model, "ctrl-p");
    apply_message(
        &mut model,
        Msg::Kept(Err(ErrorRecord { message: format!("{path}: {why}"), ..ErrorRecord::default() })),
    );
    assert!(words(&mut model, SMALL).contains(why), "over a popup as well: {}", shown(&mut model, SMALL));
}

#[test]
fn a_folder_that_cannot_be_written_is_not_a_fault_of_the_texts() {
    let mut model = fresh(SMALL);
    press(&mut model, "f5");
    let finding = Diagnostic::error(Place::Options, Reason::RecorderFailed, "could not create a session in /x");
    apply_message(&mut model, Msg::Started(Err(vec![finding])));
    assert!(model.workbench.diagnostics.is_empty());
    assert_ne!(model.workbench.focus, Pane::Editor(Place::Options));
    assert_eq!(model.toast.as_ref().unwrap().text, "not started: could not create a session in /x");
}

#[test]
fn the_place_of_a_fault_is_reported_once() {
    let mut model = fresh(SMALL);
    press(&mut model, "f5");
    let message = "the inputs are not JSON at line 1, column 1: expected a value";
    let span = Some(ptc_core::text::Span { start: 0, end: 1 });
    let finding = Diagnostic { span, ..Diagnostic::error(Place::Context, Reason::InvalidAgent, message) };
    apply_message(&mut model, Msg::Started(Err(vec![finding])));
    assert_eq!(model.toast.as_ref().unwrap().text, format!("not started: {message}"));
}

#[test]
fn saving_looks_whether_the_file_is_still_there_although_nothing_was_edited() {
    let mut model = fresh(LARGE);
    let file = AgentFile { path: PathBuf::from("mine.toml"), sha: "1".to_owned() };
    model.workbench.file = Some(file.clone());
    let effects = press(&mut model, "ctrl-s");
    let [Effect::Save { path, texts, known, .. }] = effects.as_slice() else { panic!("{effects:?}") };
    assert_eq!((path.as_str(), known), ("mine.toml", &Some(file.clone())));
    apply_message(&mut model, Msg::Saved(path.clone(), texts.clone(), Ok(file)));
    assert_eq!(model.toast.as_ref().unwrap().text, "everything is saved in mine.toml");
}

#[test]
fn the_tour_and_the_palette_say_every_sentence_whole() {
    for size in [SMALL, LARGE] {
        let mut model = fresh(size);
        for (at, step) in TOUR.iter().enumerate() {
            model.popups = vec![Popup::Tour(at)];
            let text = inside(&mut model, size);
            for row in step.actions.iter().filter_map(|action| action.row()) {
                assert!(text.contains(row.help), "{}\n{text}", row.help);
            }
        }
        model.popups.clear();
        press(&mut model, "ctrl-p");
        super::write(&mut model, "mode text");
        assert!(inside(&mut model, size).contains("the variant follows from tools and signature."), "{size:?}");
    }
}

#[test]
fn opened_sessions_lead_elsewhere_by_the_key_of_the_compare_screen() {
    let mut model = super::inspector::inside(ptc_workbench::tui::inspector::Tab::Request);
    assert!(model.inspector.is_some());
    press(&mut model, "f4");
    assert!(model.inspector.is_none() && model.screen == Screen::Compare, "the turn does not stay on top");
}

#[test]
fn what_is_sought_has_a_longest_length_and_searching_never_blocks() {
    use ptc_workbench::tui::draft::find::{LONGEST_SOUGHT, SearchSyntax, Sought};
    for syntax in [SearchSyntax::Literal, SearchSyntax::Regex] {
        assert!(Sought::read(&"a".repeat(LONGEST_SOUGHT), syntax).is_ok());
        let error = Sought::read(&"a".repeat(LONGEST_SOUGHT + 1), syntax).unwrap_err();
        assert!(error.starts_with("too long"), "{error}");
    }
    let mut model = fresh(SMALL);
    press(&mut model, "ctrl-f");
    apply_message(&mut model, Msg::Paste("word ".repeat(200_000)));
    assert!(shown(&mut model, SMALL).contains("✗ too long"));
}

#[test]
fn long_names_of_keys_have_rows_of_their_own_in_the_help() {
    for size in [(50, 30), (120, 40)] {
        let mut model = fresh(size);
        press(&mut model, "f1");
        press(&mut model, "/");
        write(&mut model, "Deletes to the start");
        let shown = text(&mut model);
        let row = shown.lines().find(|row| row.contains("Ctrl-W")).unwrap_or_else(|| panic!("{shown}"));
        assert!(row.contains("Deletes") && !row.contains("Ctrl-Backspace"), "{shown}");
    }
}
