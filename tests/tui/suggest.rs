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
    let texts = DraftTexts { prompt: format!("A rule.\n{}\nAnother rule.", now.prompt), ..now.clone() };
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
    for part in ["Suggested fix", "the text lacks a rule", "prompt, line 1", "+A rule.", "+Another rule."] {
        assert!(shown.contains(part), "{part}:\n{shown}");
    }
    press(&mut model, "enter");
    let first = model.workbench.editor(Place::Prompt).draft.text().to_owned();
    assert!(first.starts_with("A rule.\n") && !first.contains("Another rule."), "{first}");
    assert!(text(&mut model).contains("+Another rule."), "the other change is still offered");
    press(&mut model, "enter");
    assert_eq!(model.workbench.texts(), texts);
    assert!(model.popups.is_empty(), "nothing is left of it");
    // Undo takes each change back.
    (0..2).for_each(|_| _ = press(&mut model, "ctrl-z"));
    assert_eq!(model.workbench.texts(), now);
    // The draft has changed since: its changes would be overwritten.
    apply_message(&mut model, suggested(&texts));
    assert!(model.popups.is_empty());
    assert!(text(&mut model).contains("the texts have changed since the model was asked"));
}
