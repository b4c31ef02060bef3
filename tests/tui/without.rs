//! Dropping a part of a request and asking again: the dialog over the open turn, the runs next to the original. No IO.

use ptc_workbench::event::Address;
use ptc_workbench::tui::compare::{CompareRequest, CompareResponse, StartedWithout, WithoutRequest};
use ptc_workbench::tui::inspector::{Inspector, Subject};
use ptc_workbench::tui::message::{Effect, Msg, Slot};
use ptc_workbench::tui::model::{Model, Popup, Screen};
use ptc_workbench::tui::transcript::Transcript;
use ptc_workbench::workbench::inspect::Inspection;
use ptc_workbench::workbench::{RequestPlace, RunEnding, example_sessions};

use super::compare::happens;
use super::pictures::rows;
use super::press;
use super::story::{apply_message, fresh, ran, two_turns};

const SALES: &str = "2026-11-22T00-00-32Z-365950d7";

/// A model in which the second turn of an example session is open.
fn opened() -> Model {
    let mut model = fresh((140, 40));
    ran(&mut model, two_turns(), Some(RunEnding::Run));
    let session =
        example_sessions().iter().find(|session| session.header.id.to_string() == SALES).expect("the example");
    let turn = Address::run(0).turn(2);
    let mut inspector = Inspector::new(Subject::Named(SALES.to_owned()), turn.clone());
    inspector.take(Ok(Inspection::of(session, &turn).unwrap()));
    model.inspector = Some(Box::new(inspector));
    model
}

fn request(effects: &[Effect]) -> &WithoutRequest {
    let [Effect::Compare(CompareRequest::Without(request))] = effects else { panic!("{effects:?}") };
    request
}

#[test]
fn the_selected_part_is_chosen_and_the_runs_are_shown_next_to_the_original() {
    let mut model = opened();
    for _ in 0..5 {
        press(&mut model, "down");
    }
    let part = model.inspector.as_ref().unwrap().part().unwrap().clone();
    assert!(part.place.is_some(), "a section of the request is selected: {}", part.title);
    assert_eq!(press(&mut model, "x"), []);
    let text = rows(&mut model);
    assert!(text.contains("Drop a part of the request of r0/t2 and re-run") && text.contains(&part.title), "{text}");
    press(&mut model, "tab");
    press(&mut model, "right");
    let effects = press(&mut model, "enter");
    let asked = request(&effects);
    assert_eq!((asked.place.clone(), asked.times, &asked.title), (part.place.unwrap(), 2, &part.title));
    assert_eq!((asked.name.as_str(), asked.turn.clone()), (SALES, Address::run(0).turn(2)));
    assert!(model.screen == Screen::Compare && model.inspector.is_none() && model.compare.sides.len() == 3);

    let mut original = Transcript::default();
    for envelope in two_turns() {
        original.apply(&envelope);
    }
    original.close();
    let sessions = vec![Some("one".to_owned()), Some("other".to_owned())];
    let started = StartedWithout { turn: Address::run(0).turn(2), original: Some(original), sessions };
    apply_message(&mut model, Msg::Compare(CompareResponse::Without(Ok(Box::new(started)))));
    assert!(model.compare.runs());
    assert_eq!(happens(&mut model, Slot::Third, two_turns(), Some(RunEnding::Run)), [Effect::List]);
    let effects = happens(&mut model, Slot::Right, two_turns(), Some(RunEnding::Run));
    let names = [SALES, "one", "other"].map(str::to_owned).to_vec();
    assert_eq!(effects, [Effect::List, Effect::Compare(CompareRequest::Sessions(names))], "the original is the first");
    press(&mut model, "f2");
    assert_eq!(model.workbench.runs.all().len(), 1, "they are not runs of the draft");
}

#[test]
fn from_the_lists_and_the_chart_the_largest_part_is_chosen() {
    for keys in [&["down"][..], &["b"]] {
        let mut model = opened();
        for key in keys {
            press(&mut model, key);
        }
        press(&mut model, "x");
        let effects = press(&mut model, "enter");
        let parts = opened().inspector.unwrap().inspection().unwrap().request.clone();
        let largest = parts
            .iter()
            .filter(|part| part.place.is_some() && part.fixed.is_none())
            .max_by_key(|part| part.bytes)
            .unwrap();
        assert_eq!(Some(&request(&effects).place), largest.place.as_ref());
    }
}

#[test]
fn a_refusal_leads_back_with_its_reason() {
    let mut model = opened();
    press(&mut model, "x");
    press(&mut model, "enter");
    let error = ptc_workbench::event::ErrorRecord::new(
        ptc_core::reasons::Reason::SessionUnreadable,
        "nothing else would be sent",
    );
    apply_message(&mut model, Msg::Compare(CompareResponse::Without(Err(error))));
    assert_eq!(model.screen, Screen::Workbench);
    assert!(rows(&mut model).contains("not re-run: nothing else would be sent"));
}

#[test]
fn every_part_that_was_sent_has_a_place_and_says_why_it_cannot_be_dropped() {
    let parts = opened().inspector.unwrap().inspection().unwrap().request.clone();
    let named = |title: &str| parts.iter().find(|part| part.title == title).unwrap();
    assert!(["whole request", "parts by kind", "over the turns"].into_iter().all(|title| named(title).place.is_none()));
    let sections = parts.iter().filter(|part| matches!(part.place, Some(RequestPlace::Section { .. })));
    assert!(sections.clone().count() > 3 && sections.into_iter().all(|part| part.fixed.is_none()));
    assert_eq!(named("options").fixed.as_deref(), Some("no option is set"));

    let mut model = opened();
    press(&mut model, "x");
    press(&mut model, "left");
    while !rows(&mut model).contains("cannot be dropped: no option is set") {
        press(&mut model, "left");
    }
    press(&mut model, "enter");
    assert!(rows(&mut model).contains("options cannot be dropped: no option is set"), "{}", rows(&mut model));
    assert!(matches!(model.popups.last(), Some(Popup::Form(..))), "another part can be chosen");
}
