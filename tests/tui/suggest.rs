//! A fix that a model suggests for a failing turn: asked for at a turn, shown change by change, made as far as the user accepts it.

use ptc_workbench::agent::{DraftTexts, Place};
use ptc_workbench::tui::archive::{ArchiveRequest, ArchiveResponse, SuggestedTexts};
use ptc_workbench::tui::message::{Effect, Msg};

use super::pictures::text;
use super::press;
use super::sessions::{list, session};
use super::story::apply_message;

#[test]
fn a_suggestion_is_asked_for_at_a_turn_and_made_change_by_change() {
    let mut model = list(vec![session("long")]);
    apply_message(&mut model, Msg::Opened(Ok(super::services::long_session(3))));
    model.sessions.viewer.as_mut().unwrap().transcript.go_to(&"r0/t2".into());
    let now = model.workbench.texts();
    let asked = press(&mut model, "alt-f");
    assert!(
        matches!(&asked[..], [Effect::Archive(ArchiveRequest::PrepareSuggestion(_, turn, None, texts))] if turn.as_str() == "r0/t2" && **texts == now),
        "{asked:?}"
    );
    let version = model.workbench.version();
    let texts = DraftTexts {
        prompt: format!("A rule.\n{}", now.prompt),
        options: format!("{}max_turns = 3\n", now.options),
        ..now.clone()
    };
    let suggested = |texts: &DraftTexts| {
        let message = "the text lacks a rule · 718 tokens".to_owned();
        Msg::Archive(ArchiveResponse::Suggested(Ok(Box::new(SuggestedTexts {
            texts: texts.clone(),
            message,
            version,
        }))))
    };
    apply_message(&mut model, suggested(&texts));
    let shown = text(&mut model);
    for part in ["Suggested fix", "the text lacks a rule", "prompt, line 1", "+A rule.", "+max_turns = 3"] {
        assert!(shown.contains(part), "{part}:\n{shown}");
    }
    press(&mut model, "enter");
    let first = model.workbench.editor(Place::Prompt).draft.text().to_owned();
    assert_eq!((&first, &model.workbench.texts().options), (&texts.prompt, &now.options));
    assert!(text(&mut model).contains("+max_turns = 3"), "the other change is still offered");
    press(&mut model, "enter");
    assert_eq!(model.workbench.texts(), texts);
    assert!(model.popups.is_empty(), "nothing is left of it");
    // Undo takes a change back.
    press(&mut model, "ctrl-u");
    assert_eq!(model.workbench.texts().options, now.options);
    // The draft has changed since: its changes would be overwritten.
    apply_message(&mut model, suggested(&texts));
    assert!(model.popups.is_empty());
    assert!(text(&mut model).contains("the texts have changed since the model was asked"));
}
