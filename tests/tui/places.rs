//! The places of a failure in the list of sessions, and a filtered list that is acted on.

use ptc_workbench::event::Address;
use ptc_workbench::tui::archive::{ArchiveRequest, ArchiveResponse};
use ptc_workbench::tui::message::{Effect, Msg};
use ptc_workbench::workbench::{FailureGroup, FailurePlace};

use super::searches::found;
use super::sessions::{key, list, session};
use super::story::{NOW_MS, apply_message};
use super::{press, write};

#[test]
fn every_place_of_a_failure_is_listed_and_opened() {
    let mut model = list(vec![session("one"), session("two")]);
    press(&mut model, "x");
    let place = |id: &str, at: &str| FailurePlace {
        session: key(id),
        agent: "audit".to_owned(),
        created_ms: NOW_MS,
        at: Address::from(at),
        message: String::new(),
    };
    let group = FailureGroup {
        reason: "tool_error".to_owned(),
        path: "fetch".to_owned(),
        count: 3,
        sessions: 2,
        newest: session("one"),
        at: Address::from("r0/t7/c1"),
        places: vec![place("one", "r0/t7/c1"), place("one", "r0/t18/c1"), place("two", "r0/t3/c1")],
    };
    apply_message(&mut model, Msg::Archive(ArchiveResponse::Failures(Ok(vec![group]))));
    for _ in 0..3 {
        press(&mut model, "down");
    }
    assert_eq!(press(&mut model, "enter"), [Effect::Open(key("two"))]);
    assert_eq!(model.compare.wanted, Some(Address::from("r0/t3/c1")));
}

#[test]
fn a_filtered_list_is_acted_on_after_moving_in_it() {
    let mut model = list(vec![session("one"), session("two")]);
    press(&mut model, "/");
    write(&mut model, "m");
    assert_eq!(model.sessions.filter.text(), "m", "letters are typed first");
    found(&mut model, "m", &["one", "two"]);
    press(&mut model, "down");
    assert!(!model.sessions.filtering, "the keys are in the list now");
    let effects = press(&mut model, "m");
    assert!(matches!(effects.as_slice(), [Effect::Archive(ArchiveRequest::Mark { .. })]), "{effects:?}");
    assert_eq!(model.sessions.filter.text(), "m", "the list stays filtered");
    press(&mut model, "esc");
    assert!(model.sessions.filter.text().is_empty());
}
