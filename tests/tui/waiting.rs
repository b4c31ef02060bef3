//! Live means live: reasoning as it comes, how long the model is waited for, how fast it writes, and notifications.

use ptc_workbench::config::Notify;
use ptc_workbench::event::{Address, PartKind, ReplyPart};
use ptc_workbench::port::Question;
use ptc_workbench::tui::message::{Effect, Msg, Slot};
use ptc_workbench::tui::model::{Model, Phase, RunView};
use ptc_workbench::workbench::{RunEnding, RunUpdate};

use super::pictures::{rows, screens};
use super::story::{Story, apply_message, asked, fresh};

/// Reasoning of the first attempt of a turn.
fn thought(story: Story, text: &str) -> Story {
    let lens = vec![u32::try_from(text.len()).unwrap()];
    let part = ReplyPart { attempt: 1, kind: PartKind::Reasoning, text: text.to_owned(), lens, ms: vec![0] };
    story.apply_message("r0/t1", part)
}

/// A run in progress with these events, so many ms after the last one.
fn running(size: (u16, u16), story: Story, later_ms: i64) -> Model {
    let mut model = fresh(size);
    let mut view = RunView { phase: Phase::Running, ..RunView::default() };
    let events = story.events();
    let now_ms = events.last().unwrap().at_ms + later_ms;
    for event in events {
        view.transcript.apply(&event);
    }
    model.workbench.run = Some(view);
    apply_message(&mut model, Msg::Clock(now_ms));
    model
}

fn thinking(size: (u16, u16)) -> Model {
    let story = thought(asked().wait(200), "The text is about love. ");
    let story = thought(story.wait(1_800), "So the sentiment is positive, and the score is high.");
    running(size, story, 200)
}

#[test]
fn reasoning_is_shown_as_it_comes_and_the_card_says_thinking() {
    let mut model = thinking((120, 40));
    let text = rows(&mut model);
    assert!(text.contains("● thinking") && !text.contains("● waiting"), "{text}");
    assert!(text.contains("score is high"), "{text}");
    assert!(text.contains("thinking: 76 bytes so far") && text.contains("tok/s"), "{text}");
    // The reply takes its place.
    let story = thought(asked().wait(200), "Hm.").part("r0/t1", 1, "{\"sent");
    let text = rows(&mut running((120, 40), story, 100));
    assert!(text.contains("● streaming") && !text.contains("thinking:"), "{text}");
    screens("thinking", &[(80, 24), (120, 40)], thinking);
}

#[test]
fn a_turn_that_waits_says_for_how_long() {
    let text = rows(&mut running((120, 40), asked(), 3_000));
    assert!(text.contains("waiting for the model for 3.0 s"), "{text}");
}

/// The notifications among what an interface asks for.
fn notified(effects: &[Effect]) -> Vec<&str> {
    let texts = effects.iter().filter_map(|effect| match effect {
        Effect::Notify(_, text) => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}

#[test]
fn long_runs_and_questions_notify_where_that_is_switched_on() {
    let question = || {
        let address = Address::from("r0/t1/q0");
        RunUpdate::Question(Question { address, text: "which?".to_owned(), gate: None, options: Vec::new() })
    };
    let ended = || RunUpdate::Ended(RunEnding::Run);
    let tell = |notify: Notify, update: RunUpdate, long_ms: i64| {
        let mut model = running((120, 40), asked(), long_ms);
        model.notify = notify;
        apply_message(&mut model, Msg::RunUpdates(Slot::Workbench, vec![update]))
    };
    for (notify, update, long_ms, expected) in [
        (Notify::Off, question(), 0, 0),
        (Notify::Bell, question(), 0, 1),
        (Notify::Off, ended(), 20_000, 0),
        (Notify::Osc9, ended(), 20_000, 1),
        (Notify::Osc9, ended(), 1_000, 0),
    ] {
        let effects = tell(notify, update, long_ms);
        assert_eq!(notified(&effects).len(), expected, "{notify:?} after {long_ms} ms: {effects:?}");
    }
}
