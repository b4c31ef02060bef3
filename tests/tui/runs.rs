//! The runs of a draft: kept, shown again, compared, and distinguished from the texts in the editors.

use ptc_workbench::agent::Place;
use ptc_workbench::event::ErrorRecord;
use ptc_workbench::tui::archive::{AgentSource, ArchiveResponse};
use ptc_workbench::tui::compare::CompareRequest;
use ptc_workbench::tui::draft::{Motion, Reach};
use ptc_workbench::tui::message::{Effect, Msg, Slot};
use ptc_workbench::tui::model::{MOST_RUNS, Model, Screen, draft_difference};
use ptc_workbench::tui::picture;
use ptc_workbench::workbench::{OpenAgent, RunEnding, RunUpdate};

use super::pictures::{rows, screens};
use super::press;
use super::story::{apply_message, fresh, missed, two_turns};
use super::write;

const SIZES: &[(u16, u16)] = &[(80, 24), (120, 40), (200, 60)];

/// Runs the draft to its end: the run's session has this name.
fn run(model: &mut Model, session: &str, events: Vec<ptc_workbench::event::Envelope>) {
    run_to_last_event(model, session, events);
    apply_message(model, ended());
}

/// The session of the run is complete.
fn ended() -> Msg {
    Msg::RunUpdates(Slot::Workbench, vec![RunUpdate::Ended(RunEnding::Run)])
}

/// Runs the draft up to its last event: the session is not complete yet.
fn run_to_last_event(model: &mut Model, session: &str, events: Vec<ptc_workbench::event::Envelope>) {
    let effects = press(model, "f5");
    assert!(matches!(effects.as_slice(), [Effect::Start(_)]), "{effects:?}");
    apply_message(model, Msg::Started(Ok(Some(session.to_owned()))));
    let last = events.last().map_or(model.now_ms, |envelope| envelope.at_ms);
    apply_message(model, Msg::Clock(last.max(model.now_ms)));
    let updates = events.into_iter().map(|envelope| RunUpdate::Event(Box::new(envelope))).collect();
    apply_message(model, Msg::RunUpdates(Slot::Workbench, updates));
}

/// Two runs of a draft whose prompt was edited between them.
pub(super) fn two_runs(size: (u16, u16)) -> Model {
    let mut model = fresh(size);
    let fail = ErrorRecord::new(ptc_core::reasons::Reason::MaxTurnsExceeded, "no turn is left");
    run(&mut model, "first", missed().run_end(None, Some(fail), (1, 1, 1)).events());
    press(&mut model, "alt-g");
    press(&mut model, "p");
    model.workbench.editor_mut(Place::Prompt).draft.go(Motion::End, Reach::Move, 80);
    write(&mut model, " Answer with JSON.");
    run(&mut model, "second", two_turns());
    press(&mut model, "alt-g");
    press(&mut model, "r");
    model
}

fn shown(model: &Model) -> Option<&str> {
    model.workbench.run.as_ref()?.session.as_deref()
}

#[test]
fn a_run_that_has_returned_is_compared_when_its_session_is_complete() {
    let pair = || Effect::Compare(CompareRequest::Sessions(vec!["first".to_owned(), "second".to_owned()]));
    for leaves in [false, true] {
        let mut model = fresh((120, 40));
        run(&mut model, "first", two_turns());
        run_to_last_event(&mut model, "second", two_turns());
        assert!(rows(&mut model).contains("[2 ✓"), "{}", rows(&mut model));
        assert_eq!(press(&mut model, "f4"), []);
        assert_eq!(model.screen, Screen::Compare);
        if leaves {
            press(&mut model, "f2");
        }
        let effects = apply_message(&mut model, ended());
        assert_eq!(effects.contains(&pair()), !leaves, "{effects:?}");
        assert_eq!(model.screen == Screen::Compare, !leaves);
    }
}

#[test]
fn the_next_run_starts_although_the_comparison_was_opened() {
    let mut model = fresh((120, 40));
    run(&mut model, "first", two_turns());
    run_to_last_event(&mut model, "second", two_turns());
    assert_eq!(press(&mut model, "f5"), [], "it starts when the session is complete");
    press(&mut model, "f4");
    let effects = apply_message(&mut model, ended());
    assert!(effects.iter().any(|effect| matches!(effect, Effect::Start(_))), "{effects:?}");
}

#[test]
fn the_runs_of_a_draft_are_kept_and_one_key_apart() {
    let mut model = two_runs((120, 40));
    assert_eq!(shown(&model), Some("second"));
    press(&mut model, "[");
    assert_eq!(shown(&model), Some("first"));
    assert!(rows(&mut model).contains("older draft"), "{}", rows(&mut model));
    press(&mut model, "[");
    assert_eq!(shown(&model), Some("first"), "before the first there is none");
    press(&mut model, "]");
    assert_eq!(shown(&model), Some("second"));
    let text = rows(&mut model);
    assert!(!text.contains("older draft") && text.contains("draft: prompt +1 -1"), "{text}");
    press(&mut model, "f5");
    press(&mut model, "[");
    assert_eq!(shown(&model), None, "a run in progress stays shown");
    let refused = Vec::new();
    apply_message(&mut model, Msg::Started(Err(refused)));
    assert_eq!(shown(&model), Some("second"), "a run that does not start changes nothing");
    assert_eq!(model.workbench.runs.all().len(), 2);
}

#[test]
fn one_key_compares_the_run_with_the_one_before_the_older_on_the_left() {
    let mut model = two_runs((120, 40));
    let effects = press(&mut model, "=");
    let names = vec!["first".to_owned(), "second".to_owned()];
    assert_eq!(effects, [Effect::Compare(CompareRequest::Sessions(names))]);
    assert_eq!(model.screen, Screen::Compare);
}

#[test]
fn what_changed_between_two_drafts_is_a_diff_by_field() {
    let model = two_runs((120, 40));
    let all = model.workbench.runs.all();
    let (old, new) = (all[0].texts.as_ref().unwrap(), all[1].texts.as_ref().unwrap());
    let lines: Vec<String> = draft_difference(old, new).into_iter().map(|line| line.text).collect();
    assert_eq!(lines[0], "Prompt");
    assert!(lines.iter().any(|line| line.starts_with("+ ") && line.ends_with(" Answer with JSON.")), "{lines:?}");
    assert!(draft_difference(new, new).is_empty());
}

#[test]
fn the_oldest_run_makes_room() {
    let mut model = fresh((120, 40));
    for number in 0..MOST_RUNS + 3 {
        run(&mut model, &format!("s{number}"), two_turns());
    }
    let all = model.workbench.runs.all();
    assert_eq!((all.len(), all[0].number), (MOST_RUNS, 4));
    press(&mut model, "alt-g");
    press(&mut model, "r");
    for _ in 0..MOST_RUNS + 3 {
        press(&mut model, "[");
    }
    assert_eq!(shown(&model), Some("s3"));
}

#[test]
fn runs_of_an_agent_that_left_the_editors_during_a_run_are_forgotten() {
    let mut model = two_runs((120, 40));
    press(&mut model, "f5");
    apply_message(&mut model, Msg::Started(Ok(Some("third".to_owned()))));
    let mut texts = model.workbench.texts();
    texts.prompt = "Another one".to_owned();
    model.workbench.saved = model.workbench.texts();
    let opened = Box::new(OpenAgent { texts, ..OpenAgent::default() });
    let source = AgentSource::Named("other".to_owned());
    apply_message(&mut model, Msg::Archive(ArchiveResponse::AgentOpened(source, Ok(opened))));
    assert_eq!((model.workbench.runs.all().len(), shown(&model)), (1, Some("third")), "the run in progress stays");
    apply_message(&mut model, Msg::RunUpdates(Slot::Workbench, vec![RunUpdate::Ended(RunEnding::Run)]));
    run(&mut model, "fourth", two_turns());
    assert_eq!((model.workbench.runs.all().len(), shown(&model)), (1, Some("fourth")));
    run(&mut model, "fifth", two_turns());
    assert_eq!(model.workbench.runs.all().len(), 2);
}

#[test]
fn files_of_a_draft_that_were_not_stored_are_reported() {
    let mut model = fresh((120, 40));
    let problem = Some("the folder is read-only".to_owned());
    let opened = Box::new(OpenAgent { texts: model.workbench.texts(), problem, ..OpenAgent::default() });
    let source = AgentSource::Named("captured".to_owned());
    apply_message(&mut model, Msg::Archive(ArchiveResponse::AgentOpened(source, Ok(opened))));
    assert!(model.toast.as_ref().is_some_and(|toast| toast.text.ends_with("cannot run: the folder is read-only")));
}

#[test]
fn the_draft_is_tried_against_its_saved_version_with_one_key() {
    let mut model = two_runs((120, 40));
    let effects = press(&mut model, "shift-f9");
    let [Effect::Compare(CompareRequest::AgainstSaved(draft, saved, spec, _))] = effects.as_slice() else {
        panic!("{effects:?}")
    };
    assert_eq!((draft, saved), (&model.workbench.texts(), &model.workbench.saved));
    assert_eq!((spec.trials, spec.modes.len()), (5, 1));
    let mut unchanged = fresh((120, 40));
    assert_eq!(press(&mut unchanged, "shift-f9"), [], "nothing was changed");
}

#[test]
fn pictures_of_the_runs_of_a_draft() {
    screens("draft_runs", SIZES, two_runs);
    screens("draft_runs_older", &SIZES[..2], |size| {
        let mut model = two_runs(size);
        press(&mut model, "[");
        picture(&mut model, size);
        model
    });
}
