//! A fix that a model suggests for a failing turn: asked for at a turn, stopped, shown change by change, made as far as the user accepts it.

use std::path::Path;

use ptc_workbench::agent::{Agent, DraftTexts, Place};
use ptc_workbench::event::ErrorRecord;
use ptc_workbench::tui::archive::{ArchiveRequest, ArchiveResponse, SuggestedTexts};
use ptc_workbench::tui::message::{Effect, Msg};
use ptc_workbench::tui::model::{Model, Screen};
use ptc_workbench::workbench::SessionKey;
use ptc_workbench::workbench::optimize::{SuggestRequest, SuggestSpec};

use super::pictures::text;
use super::services::{many_turns, workbench, write_session};
use super::sessions::{list, session};
use super::story::{NOW_MS, apply_message, sentiment};
use super::{press, write};

/// Returns the request for a suggestion about the second of three turns.
fn request(dir: &Path) -> Box<SuggestRequest> {
    let (workbench, path) = (workbench(dir), write_session(dir, &many_turns(3)));
    let session = workbench.open_found(&SessionKey::File(path)).unwrap();
    let agent = Agent { model: Some("sample".to_owned()), ..sentiment().to_agent(&Agent::default()).unwrap() };
    let problem = Some("the answer has no score: a number from 0 to 1 was expected".to_owned());
    let file = ("sentiment.toml".to_owned(), agent.to_toml());
    let spec = SuggestSpec { turn: Some("r0/t2".into()), file, model: None, problem };
    Box::new(workbench.suggest_request(&session, spec).unwrap())
}

/// A session opened at its second turn.
fn opened() -> Model {
    let mut model = list(vec![session("long")]);
    apply_message(&mut model, Msg::Opened(Ok(super::services::long_session(3))));
    model.sessions.viewer.as_mut().unwrap().transcript.go_to(&"r0/t2".into());
    model
}

/// Returns a model that shows the request for a suggestion.
pub(super) fn question() -> Model {
    let dir = tempfile::tempdir().unwrap();
    let mut model = opened();
    press(&mut model, "alt-f");
    let prepared = ArchiveResponse::SuggestionPrepared(Ok(request(dir.path())));
    apply_message(&mut model, Msg::Archive(prepared));
    model
}

/// The model works at it, since four seconds.
pub(super) fn asking() -> Model {
    let mut model = question();
    let asked = press(&mut model, "enter");
    assert!(matches!(&asked[..], [Effect::Archive(ArchiveRequest::Suggest(_, 1))]), "{asked:?}");
    apply_message(&mut model, Msg::Clock(NOW_MS + 4_200));
    model
}

/// Texts with a change of the prompt and one of the options.
fn suggestion() -> DraftTexts {
    let now = sentiment();
    DraftTexts {
        prompt: format!("A score is a number from 0 to 1.\n{}", now.prompt),
        options: format!("{}max_turns = 4\n", now.options.replace("max_turns = 3\n", "")),
        ..now
    }
}

fn suggested(number: u64, texts: Option<DraftTexts>) -> Msg {
    let message = "the text does not say what a score is · 718 tokens".to_owned();
    let texts = texts.map(|texts| Box::new(SuggestedTexts { texts, message }));
    Msg::Archive(ArchiveResponse::Suggested(number, Ok(texts)))
}

/// The suggestion has come, and can be answered.
pub(super) fn answered() -> Model {
    let mut model = asking();
    apply_message(&mut model, suggested(1, Some(suggestion())));
    apply_message(&mut model, Msg::Clock(NOW_MS + 6_000));
    model
}

#[test]
fn a_suggestion_is_asked_for_at_a_turn_and_made_change_by_change() {
    let mut model = opened();
    let now = model.workbench.texts();
    let asked = press(&mut model, "alt-f");
    assert!(
        matches!(&asked[..], [Effect::Archive(ArchiveRequest::PrepareSuggestion(_, turn, None, texts))] if turn.as_str() == "r0/t2" && **texts == now),
        "{asked:?}"
    );
    let mut model = answered();
    let shown = text(&mut model);
    for part in ["Suggested fix", "what a score is", "prompt, line 1", "+A score is a number", "+max_turns = 4"] {
        assert!(shown.contains(part), "{part}:\n{shown}");
    }
    press(&mut model, "enter");
    let first = model.workbench.editor(Place::Prompt).draft.text().to_owned();
    assert_eq!((&first, &model.workbench.texts().options), (&suggestion().prompt, &now.options));
    assert!(text(&mut model).contains("+max_turns = 4"), "the other change is still offered");
    press(&mut model, "enter");
    assert_eq!(model.workbench.texts(), suggestion());
    assert!(model.popups.is_empty(), "nothing is left of it");
    // Undo takes a change back.
    press(&mut model, "ctrl-u");
    assert_eq!(model.workbench.texts().options, now.options);
}

#[test]
fn a_refused_suggestion_leaves_the_draft_as_it_is() {
    let mut model = answered();
    let now = model.workbench.texts();
    press(&mut model, "esc");
    assert!(model.popups.is_empty());
    assert_eq!(model.workbench.texts(), now);
    assert_eq!(model.screen, Screen::Sessions, "what was read is still there");
}

#[test]
fn a_suggestion_that_comes_while_a_key_is_on_its_way_is_not_accepted_by_it() {
    let mut model = asking();
    let now = model.workbench.texts();
    apply_message(&mut model, suggested(1, Some(suggestion())));
    press(&mut model, "enter");
    assert_eq!((model.workbench.texts(), model.popups.len()), (now, 1));
}

#[test]
fn while_a_model_works_the_screen_says_so_and_the_session_can_be_read() {
    let mut model = asking();
    let shown = text(&mut model);
    assert!(shown.contains("● sample is asked for a fix of r0/t2 · 4 s · Esc stops"), "{shown}");
    assert!(shown.contains("Esc stop asking"), "{shown}");
    assert_eq!(model.deadline_ms().map(|at| at - model.now_ms), Some(1_000), "the seconds are counted");
    press(&mut model, "up");
    press(&mut model, "/");
    press(&mut model, "esc");
    assert!(text(&mut model).contains("is asked for a fix"), "closing the search stops nothing");
    apply_message(&mut model, suggested(1, Some(suggestion())));
    assert!(text(&mut model).contains("Suggested fix"));
}

#[test]
fn escape_the_key_itself_and_leaving_the_screen_stop_the_model_and_nothing_of_it_comes_later() {
    for keys in [&["esc"][..], &["alt-f"], &["f2"], &["f3"], &["ctrl-q"]] {
        let mut model = asking();
        let now = model.workbench.texts();
        let effects: Vec<Effect> = keys.iter().flat_map(|key| press(&mut model, key)).collect();
        assert!(effects.contains(&Effect::StopSuggestion), "{keys:?}: {effects:?}");
        assert!(!text(&mut model).contains("is asked for a fix"), "{keys:?}");
        // It may have answered at the same moment, or ended as it was told.
        apply_message(&mut model, suggested(1, Some(suggestion())));
        apply_message(&mut model, suggested(1, None));
        assert!(model.popups.is_empty(), "{keys:?}");
        assert_eq!(model.workbench.texts(), now, "{keys:?}");
    }
    let mut model = asking();
    press(&mut model, "esc");
    assert!(text(&mut model).contains("stopped asking sample for a fix of r0/t2"));
    assert!(model.sessions.viewer.is_some(), "the session stays open");
    press(&mut model, "esc");
    assert!(model.sessions.viewer.is_none(), "the next one closes it");
}

#[test]
fn the_response_to_a_stopped_request_does_not_answer_the_next_one() {
    let dir = tempfile::tempdir().unwrap();
    let mut model = asking();
    press(&mut model, "esc");
    apply_message(&mut model, Msg::Archive(ArchiveResponse::SuggestionPrepared(Ok(request(dir.path())))));
    let asked = press(&mut model, "enter");
    assert!(matches!(&asked[..], [Effect::Archive(ArchiveRequest::Suggest(_, 2))]), "{asked:?}");
    apply_message(&mut model, suggested(1, None));
    assert!(text(&mut model).contains("is asked for a fix"));
    apply_message(&mut model, suggested(2, Some(suggestion())));
    assert!(text(&mut model).contains("Suggested fix"));
}

#[test]
fn texts_that_were_edited_meanwhile_stay_and_the_others_are_offered() {
    let mut model = asking();
    model.workbench.editor_mut(Place::Prompt).draft.replace_all("Mine: {{text}}");
    apply_message(&mut model, suggested(1, Some(suggestion())));
    let shown = text(&mut model);
    for part in ["left as it is: prompt", "+max_turns = 4"] {
        assert!(shown.contains(part), "{part}:\n{shown}");
    }
    assert!(!shown.contains("+A score"), "{shown}");
    // Nothing else was suggested.
    let mut model = asking();
    write(&mut model, "x");
    model.workbench.editor_mut(Place::Prompt).draft.replace_all("Mine: {{text}}");
    let only = DraftTexts { options: sentiment().options, ..suggestion() };
    apply_message(&mut model, suggested(1, Some(only)));
    assert!(model.popups.is_empty());
    assert!(text(&mut model).contains("texts that were edited meanwhile (prompt): ask again"));
}

#[test]
fn a_model_that_cannot_be_asked_is_reported() {
    let mut model = asking();
    let error = ErrorRecord::new(ptc_core::reasons::Reason::InvalidAgent, "sample could not be asked: it is gone");
    apply_message(&mut model, Msg::Archive(ArchiveResponse::Suggested(1, Err(error))));
    let shown = text(&mut model);
    assert!(shown.contains("no suggestion: sample could not be asked") && !shown.contains("Esc stops"), "{shown}");
}
