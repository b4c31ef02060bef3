//! Handling of a replay that differs, and a turn as an example of the prompt. No IO.

use ptc_workbench::event::{Address, ErrorRecord};
use ptc_workbench::replay::Policy;
use ptc_workbench::tui::archive::{ArchiveRequest, ArchiveResponse};
use ptc_workbench::tui::message::{Effect, Msg, Slot};
use ptc_workbench::tui::model::{Model, Screen};
use ptc_workbench::workbench::{RunEnding, RunUpdate};

use super::pictures::text;
use super::press;
use super::sessions::{key, list, session};
use super::story::{NOW_MS, apply_message, two_turns};

const SMALL: (u16, u16) = (80, 24);

/// A replay of the listed session that gave something else.
pub(super) fn differing(size: (u16, u16), key: &str) -> Model {
    let mut model = list(vec![session("long")]);
    apply_message(&mut model, Msg::Resize(size.0, size.1));
    press(&mut model, key);
    apply_message(&mut model, Msg::ReplayStarted(Ok(())));
    let report = "recorded: Classify the sentiment of: I love this product!\nnow:      Name the sentiment of: I love this product!";
    let parts = vec![("r0/t2 (turn 2, layer prompt, event message)".to_owned(), report.to_owned())];
    let ended = RunUpdate::Ended(RunEnding::Diverged { at: "r0/t2".into(), parts });
    let shown = two_turns().into_iter().map(|event| RunUpdate::Event(Box::new(event))).chain([ended]).collect();
    apply_message(&mut model, Msg::RunUpdates(Slot::Viewer, shown));
    model
}

#[test]
fn a_replay_that_differs_continues_leniently_is_accepted_or_leads_to_the_turn() {
    let choices = [
        ("l", Effect::Replay(key("long"), Policy::Lenient)),
        ("a", Effect::Archive(ArchiveRequest::Accept(key("long")))),
        ("enter", Effect::Open(key("long"))),
    ];
    for (choice, effect) in choices {
        let mut model = differing(SMALL, "r");
        assert_eq!(press(&mut model, choice), [], "a key that was on its way is not a choice");
        apply_message(&mut model, Msg::Clock(NOW_MS + 1_000));
        assert!(text(&mut model).contains("l leniently"), "{}", text(&mut model));
        assert_eq!(press(&mut model, choice), [effect]);
        assert!(model.popups.is_empty(), "{choice}");
        let wanted = (choice == "enter").then(|| Address::from("r0/t2"));
        assert_eq!(model.compare.wanted, wanted, "{choice}");
    }
    // What was accepted is the workbench's run; what was not is reported.
    let mut model = differing(SMALL, "r");
    apply_message(&mut model, Msg::Clock(NOW_MS + 1_000));
    press(&mut model, "a");
    let mut refused = model.clone();
    apply_message(&mut model, Msg::Archive(ArchiveResponse::Started(Ok(Some("new".to_owned())))));
    assert_eq!(model.screen, Screen::Workbench);
    assert_eq!(model.workbench.run.as_ref().and_then(|run| run.session.as_deref()), Some("new"));
    let error = ErrorRecord { message: "the disk is full".to_owned(), ..ErrorRecord::default() };
    apply_message(&mut refused, Msg::Archive(ArchiveResponse::Started(Err(error))));
    assert!(refused.toast.as_ref().is_some_and(|toast| toast.text.contains("the disk is full")));
}

#[test]
fn a_turn_becomes_an_example_at_the_end_of_the_prompt() {
    let mut model = list(vec![session("long")]);
    press(&mut model, "enter");
    let mut opened = super::services::long_session(2);
    opened.summary.id = "long".to_owned();
    apply_message(&mut model, Msg::Opened(Ok(opened)));
    press(&mut model, "g");
    let prompt = model.workbench.texts().prompt;
    let asked = press(&mut model, "shift-x");
    let [Effect::Archive(ArchiveRequest::Example(of, turn, given))] = asked.as_slice() else { panic!("{asked:?}") };
    assert_eq!((of, given), (&key("long"), &prompt));
    assert!(turn.turn_number().is_some(), "{turn}");
    let mut refused = model.clone();
    apply_message(
        &mut model,
        Msg::Archive(ArchiveResponse::Example(Ok("\n\n# Examples\n\nAnswer:\nyes\n".to_owned()))),
    );
    assert_eq!(
        (model.screen, model.workbench.texts().prompt.clone()),
        (Screen::Workbench, format!("{prompt}\n\n# Examples\n\nAnswer:\nyes\n"))
    );
    assert!(text(&mut model).contains("# Examples"), "it is seen before it is saved");
    press(&mut model, "alt-z");
    assert_eq!(model.workbench.texts().prompt, prompt);
    let error = ErrorRecord { message: "there is no reply at r0/t1".to_owned(), ..ErrorRecord::default() };
    apply_message(&mut refused, Msg::Archive(ArchiveResponse::Example(Err(error))));
    assert_eq!((refused.screen, refused.workbench.texts().prompt), (Screen::Sessions, prompt));
}

#[test]
fn a_lenient_replay_that_differs_has_nothing_more_to_report() {
    let mut model = differing(SMALL, "l");
    apply_message(&mut model, Msg::Clock(NOW_MS + 1_000));
    assert!(!text(&mut model).contains("l leniently"), "{}", text(&mut model));
    assert_eq!(press(&mut model, "l"), []);
    assert_eq!(press(&mut model, "enter"), [Effect::Open(key("long"))]);
}
