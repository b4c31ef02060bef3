//! The list of what failed: its kinds, and the places of a kind that happened often.

use ptc_workbench::event::Address;
use ptc_workbench::tui::archive::ArchiveResponse;
use ptc_workbench::tui::message::{Effect, Msg};
use ptc_workbench::workbench::{FailureGroup, FailurePlace};

use super::pictures::text;
use super::press;
use super::sessions::{key, list, session};
use super::story::apply_message;

#[test]
fn the_places_of_a_failure_beyond_the_first_few_are_listed_by_one_line() {
    let mut model = list(vec![session("one"), session("two")]);
    press(&mut model, "x");
    let place = |number: u32| FailurePlace {
        session: key("one"),
        at: Address::from(format!("r0/t{number}").as_str()),
        created_ms: 0,
        agent: "sentiment".to_owned(),
        message: "no such invoice".to_owned(),
    };
    let group = |reason: &str, places: u32| FailureGroup {
        reason: reason.to_owned(),
        path: String::new(),
        count: places as usize,
        sessions: 1,
        newest: session("one"),
        at: Address::from("r0/t1"),
        places: (1..=places).map(place).collect(),
    };
    let failures = vec![group("validation_error", 12), group("tool_error", 1)];
    apply_message(&mut model, Msg::Archive(ArchiveResponse::Failures(Ok(failures))));
    let shown = text(&mut model);
    assert!(shown.contains("tool_error") && shown.contains("… 9 more places"), "the next kind is in sight:\n{shown}");
    for _ in 0..4 {
        press(&mut model, "down");
    }
    assert!(text(&mut model).contains("Enter list them"), "{}", text(&mut model));
    press(&mut model, "enter");
    let shown = text(&mut model);
    assert!(shown.contains("r0/t4") && !shown.contains("more places"), "{shown}");
    assert_eq!(press(&mut model, "enter"), [Effect::Open(key("one"))]);
    assert_eq!(model.compare.wanted, Some(Address::from("r0/t4")));
}

#[test]
fn places_that_are_not_kept_are_counted_and_messages_are_in_plain_words() {
    let mut model = list(vec![session("one"), session("two")]);
    press(&mut model, "x");
    let place = |id: &str, number: u32| FailurePlace {
        session: key(id),
        at: Address::from(format!("r0/t{number}").as_str()),
        created_ms: 0,
        agent: "sentiment".to_owned(),
        message: "expected field, got nil".to_owned(),
    };
    let mut places: Vec<FailurePlace> = (1..=100).map(|number| place("one", number)).collect();
    places.push(place("two", 1));
    let group = FailureGroup {
        reason: "no_code_found".to_owned(),
        path: String::new(),
        count: 1_030,
        sessions: 2,
        newest: session("one"),
        at: Address::from("r0/t1"),
        places,
    };
    apply_message(&mut model, Msg::Archive(ArchiveResponse::Failures(Ok(vec![group]))));
    let shown = text(&mut model);
    assert!(shown.contains("1,030 times in 2 sessions"), "{shown}");
    assert!(shown.contains("… 1,027 more places, 98 of them listed"), "{shown}");
    assert!(shown.contains("missing field") && !shown.contains("got nil"), "{shown}");
}
