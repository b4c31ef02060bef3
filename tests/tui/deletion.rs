//! Deleting a session from the list: no key deletes it at once, and what comes of it is shown.

use ptc_workbench::session::Summary;
use ptc_workbench::tui::archive::{ArchiveRequest, ArchiveResponse};
use ptc_workbench::tui::message::{Effect, Msg};
use ptc_workbench::tui::model::Popup;

use super::pictures::text;
use super::press;
use super::sessions::{list, session};
use super::story::apply_message;

fn saved(id: &str) -> Summary {
    Summary { path: format!("/sessions/{id}.jsonl").into(), example: false, ..session(id) }
}

#[test]
fn a_session_is_deleted_when_the_user_has_chosen_it() {
    for key in ["delete", "shift-d"] {
        let mut model = list(vec![saved("one"), saved("two")]);
        press(&mut model, key);
        assert!(text(&mut model).contains("Delete one"), "{}", text(&mut model));
        // Enter alone keeps it, and so do the letters of a word.
        assert_eq!(press(&mut model, "enter"), []);
        assert!(text(&mut model).contains("choose `delete it`, or close the dialog"));
        press(&mut model, "down");
        let request = ArchiveRequest::Delete(saved("one").key());
        assert_eq!(press(&mut model, "enter"), [Effect::Archive(request)]);
        let done = apply_message(&mut model, Msg::Archive(ArchiveResponse::Deleted(Ok("one".to_owned()))));
        assert_eq!(done, [Effect::List]);
        assert!(model.popups.is_empty());
        assert!(text(&mut model).contains("deleted one"));
        let rest = vec![saved("two")];
        apply_message(&mut model, Msg::Listed(rest, ptc_workbench::session::Marks::default()));
        assert_eq!(model.sessions.selected_row().map(|session| session.id.as_str()), Some("two"));
    }
}

#[test]
fn a_refused_deletion_shows_why_in_its_dialog() {
    let mut model = list(vec![saved("one")]);
    press(&mut model, "delete");
    press(&mut model, "down");
    press(&mut model, "enter");
    let refused = Err("one cannot be deleted: a program is writing it now".to_owned());
    apply_message(&mut model, Msg::Archive(ArchiveResponse::Deleted(refused)));
    assert!(matches!(model.popups.last(), Some(Popup::Form(..))));
    assert!(text(&mut model).contains("a program is writing it now"));
}

#[test]
fn an_example_is_not_deleted() {
    let mut model = list(vec![session("one")]);
    assert_eq!(press(&mut model, "delete"), []);
    assert!(model.popups.is_empty());
    assert!(text(&mut model).contains("an example is a part of the program"), "{}", text(&mut model));
}
