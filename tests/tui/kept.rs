//! Typed text is not lost: by Escape in a dialog, by keys that lead elsewhere, by late responses, by a question that ends, at exit.
//! No IO.

use ptc_workbench::agent::Place;
use ptc_workbench::event::{Address, ErrorRecord};
use ptc_workbench::port::Question;
use ptc_workbench::session::{RunState, Summary};
use ptc_workbench::tui::archive::{AgentSource, ArchiveRequest, ArchiveResponse};
use ptc_workbench::tui::candidates::CandidatesResponse;
use ptc_workbench::tui::compare::{CompareRequest, CompareResponse};
use ptc_workbench::tui::draft::Draft;
use ptc_workbench::tui::form::Form;
use ptc_workbench::tui::message::{Effect, Msg, Slot};
use ptc_workbench::tui::model::{Model, Popup, RunView, Screen};
use ptc_workbench::tui::recovery::{Recovery, SavedReply};
use ptc_workbench::workbench::{NewAgent, OpenAgent, RunEnding, RunUpdate, SaveError};

use super::candidates::{line, outline};
use super::pictures::text;
use super::sessions::{key, list, session};
use super::story::{SESSION, apply_message, asked, fresh, ran, two_turns};
use super::{press, write};

const SMALL: (u16, u16) = (80, 24);
const LARGE: (u16, u16) = (120, 40);
/// The hint of a text that an earlier opening left.
const HINT: &str = "Kept from before: Ctrl-U reverts it.";

fn written(model: &Model) -> &str {
    model.active_draft().map_or("", |draft| draft.text())
}

fn toast(model: &Model) -> &str {
    model.toast.as_ref().map_or("", |toast| toast.text.as_str())
}

fn dialog(model: &Model) -> &Form {
    let Some(Popup::Form(form, _)) = model.popups.last() else { panic!("no dialog") };
    form
}

fn archive(model: &mut Model, response: ArchiveResponse) -> Vec<Effect> {
    apply_message(model, Msg::Archive(response))
}

fn failure(message: &str) -> ErrorRecord {
    ErrorRecord { message: message.to_owned(), ..ErrorRecord::default() }
}

#[test]
fn a_note_that_was_not_confirmed_is_there_again_and_undo_reverts_it() {
    let mut model = list(vec![session("b"), session("a")]);
    press(&mut model, "w");
    write(&mut model, "half a thought");
    press(&mut model, "esc");
    assert!(model.popups.is_empty());
    assert!(text(&mut model).contains("the text is kept"), "{}", text(&mut model));
    // The note of another session is another one.
    press(&mut model, "down");
    press(&mut model, "w");
    assert_eq!(written(&model), "");
    assert!(!text(&mut model).contains(HINT));
    press(&mut model, "esc");
    press(&mut model, "up");
    press(&mut model, "w");
    assert_eq!(written(&model), "half a thought");
    assert!(text(&mut model).contains(HINT), "{}", text(&mut model));
    press(&mut model, "esc");
    press(&mut model, "w");
    assert_eq!(written(&model), "half a thought", "it is kept as often as the dialog is closed");
    press(&mut model, "ctrl-u");
    assert_eq!(written(&model), "");
    assert!(!text(&mut model).contains(HINT));
    press(&mut model, "esc");
    press(&mut model, "w");
    assert_eq!(written(&model), "");
}

#[test]
fn a_note_that_was_written_is_not_kept() {
    let mut model = list(vec![session("a")]);
    press(&mut model, "w");
    write(&mut model, "done");
    press(&mut model, "esc");
    press(&mut model, "w");
    assert!(matches!(press(&mut model, "f5").as_slice(), [Effect::Archive(ArchiveRequest::Mark { .. })]));
    archive(&mut model, ArchiveResponse::Marked(Ok(())));
    assert!(model.popups.is_empty());
    press(&mut model, "w");
    assert_eq!(written(&model), "");
}

#[test]
fn choices_come_back_with_the_text_but_not_alone() {
    let mut model = fresh(LARGE);
    press(&mut model, "ctrl-n");
    press(&mut model, "tab");
    press(&mut model, "right");
    press(&mut model, "esc");
    press(&mut model, "ctrl-n");
    assert_eq!(dialog(&model).chosen("mode"), 0);
    write(&mut model, "invoice");
    press(&mut model, "tab");
    press(&mut model, "right");
    press(&mut model, "esc");
    press(&mut model, "ctrl-n");
    assert_eq!((dialog(&model).written("name"), dialog(&model).chosen("mode")), ("invoice", 1));
}

#[test]
fn a_name_is_kept_while_the_question_about_unsaved_edits_decides() {
    let mut model = fresh(LARGE);
    write(&mut model, "Edited: ");
    let opened = |model: &mut Model| {
        let source = AgentSource::New(NewAgent::at("invoice"));
        archive(model, ArchiveResponse::AgentOpened(source, Ok(Box::new(OpenAgent::default()))));
        assert!(matches!(model.popups.last(), Some(Popup::Leaving(_))));
    };
    press(&mut model, "ctrl-n");
    write(&mut model, "invoice");
    press(&mut model, "enter");
    opened(&mut model);
    press(&mut model, "esc");
    press(&mut model, "ctrl-n");
    assert_eq!(written(&model), "invoice", "it is not written again");
    press(&mut model, "enter");
    opened(&mut model);
    press(&mut model, "d");
    press(&mut model, "ctrl-n");
    assert_eq!(written(&model), "", "the agent is in the editors");
}

#[test]
fn a_response_to_something_else_closes_no_dialog() {
    let mut model = list(vec![session("a")]);
    press(&mut model, "m");
    press(&mut model, "w");
    write(&mut model, "typed meanwhile");
    archive(&mut model, ArchiveResponse::Marked(Ok(())));
    assert_eq!(written(&model), "typed meanwhile");

    let mut model = fresh(LARGE);
    press(&mut model, "ctrl-n");
    write(&mut model, "invoice");
    let source = AgentSource::Session(key("a"));
    archive(&mut model, ArchiveResponse::AgentOpened(source, Ok(Box::new(OpenAgent::default()))));
    assert_eq!(written(&model), "invoice");
}

#[test]
fn an_error_of_something_else_is_not_shown_in_a_dialog() {
    let unchanged = |model: &Model, typed: &str, words: &str| {
        assert_eq!((dialog(model).error.as_deref(), written(model)), (None, typed), "{words}");
        assert!(toast(model).contains(words), "{words}: {}", toast(model));
    };
    let mut model = list(vec![session("a")]);
    press(&mut model, "m");
    press(&mut model, "w");
    write(&mut model, "typed meanwhile");
    archive(&mut model, ArchiveResponse::Marked(Err(failure("read-only"))));
    unchanged(&model, "typed meanwhile", "not written: read-only");

    let mut model = fresh(LARGE);
    press(&mut model, "ctrl-n");
    write(&mut model, "invoice");
    archive(&mut model, ArchiveResponse::AgentOpened(AgentSource::Session(key("a")), Err(failure("gone"))));
    unchanged(&model, "invoice", "not opened: gone");

    let mut model = fresh(LARGE);
    press(&mut model, "alt-i");
    write(&mut model, "notes.md");
    archive(&mut model, ArchiveResponse::FileRead(Err(failure("too large"))));
    unchanged(&model, "notes.md", "not inserted: too large");

    let mut model = fresh(LARGE);
    let searched = |result| Msg::Candidates(CandidatesResponse::Opened("other".into(), result));
    apply_message(&mut model, searched(Ok(outline(vec![line(0, &[], 0)]))));
    press(&mut model, "o");
    write(&mut model, "mine");
    apply_message(&mut model, searched(Err("no search".to_owned())));
    unchanged(&model, "mine", "not opened: no search");
    assert_eq!(model.popups.len(), 1);
}

#[test]
fn a_note_whose_dialog_is_closed_while_it_is_written_is_confirmed_by_the_response() {
    for (response, kept) in [(Ok(()), ""), (Err(failure("read-only")), "done")] {
        let mut model = list(vec![session("a")]);
        press(&mut model, "w");
        write(&mut model, "done");
        press(&mut model, "f5");
        press(&mut model, "esc");
        assert!(model.popups.is_empty() && model.toast.is_none(), "{}", toast(&model));
        archive(&mut model, ArchiveResponse::Marked(response));
        // Another response is not about it any more.
        archive(&mut model, ArchiveResponse::Marked(Ok(())));
        press(&mut model, "w");
        assert_eq!(written(&model), kept);
    }
}

#[test]
fn a_message_whose_start_was_given_up_and_failed_is_kept() {
    let mut model = list(vec![Summary { state: RunState::Returned, ..session("one") }]);
    press(&mut model, "o");
    write(&mut model, "Go on.");
    press(&mut model, "f5");
    press(&mut model, "esc");
    assert!(!model.popups.is_empty(), "the start is waited for");
    archive(&mut model, ArchiveResponse::Started(Err(failure("it does not replay"))));
    assert!(model.popups.is_empty());
    press(&mut model, "o");
    assert_eq!(written(&model), "Go on.");
}

#[test]
fn models_that_are_refused_are_there_again() {
    let captured = Summary { is_foreign: true, ..session("long") };
    let mut model = list(vec![captured]);
    apply_message(&mut model, Msg::Opened(Ok(super::services::long_session(2))));
    press(&mut model, "shift-m");
    write(&mut model, "smal");
    let asks = press(&mut model, "f5");
    assert!(matches!(asks.as_slice(), [Effect::Compare(CompareRequest::Others(_))]), "{asks:?}");
    apply_message(&mut model, Msg::Compare(CompareResponse::Without(Err(failure("unknown model `smal`")))));
    assert_eq!(model.screen, Screen::Sessions);
    press(&mut model, "shift-m");
    assert_eq!(written(&model), "smal");
}

#[test]
fn a_path_that_was_not_saved_to_is_there_again() {
    let mut model = fresh(LARGE);
    write(&mut model, "x");
    press(&mut model, "ctrl-s");
    write(&mut model, "mine.toml");
    press(&mut model, "esc");
    let is_kept =
        |model: &Model| matches!(model.popups.last(), Some(Popup::SavePath { field, .. }) if field.is_restored());
    press(&mut model, "ctrl-s");
    assert_eq!(written(&model), "mine.toml");
    assert!(is_kept(&model) && text(&mut model).contains("Kept"), "{}", text(&mut model));
    // Another file is there, and is not overwritten.
    press(&mut model, "enter");
    let texts = model.workbench.texts();
    apply_message(&mut model, Msg::Saved("mine.toml".to_owned(), texts, Err(SaveError::Changed)));
    assert!(matches!(model.popups.last(), Some(Popup::Overwrite { .. })));
    press(&mut model, "esc");
    press(&mut model, "ctrl-s");
    assert_eq!(written(&model), "mine.toml");
    press(&mut model, "ctrl-u");
    assert_eq!((written(&model), is_kept(&model)), ("sentiment.toml", false));
    // The path of an attempt that failed is kept, too.
    write(&mut model, "2");
    press(&mut model, "enter");
    let texts = model.workbench.texts();
    let failed = SaveError::Failed(failure("disk full"));
    apply_message(&mut model, Msg::Saved("other.toml".to_owned(), texts, Err(failed)));
    assert_eq!(written(&model), "other.toml");
    press(&mut model, "esc");
    press(&mut model, "ctrl-s");
    assert_eq!(written(&model), "other.toml");
}

#[test]
fn a_replacement_that_was_typed_last_is_there_at_the_next_search() {
    let mut model = fresh(LARGE);
    press(&mut model, "ctrl-f");
    write(&mut model, "sentiment");
    press(&mut model, "tab");
    write(&mut model, "mood");
    press(&mut model, "esc");
    press(&mut model, "ctrl-f");
    let Some(Popup::Find(find)) = model.popups.last() else { panic!("no search") };
    assert_eq!((find.sought.text(), find.with.text()), ("sentiment", "mood"));
}

#[test]
fn the_input_of_the_repl_is_kept_when_keys_lead_elsewhere() {
    let mut model = fresh(SMALL);
    ran(&mut model, two_turns(), Some(RunEnding::Run));
    let input = |model: &Model| model.inspector.as_ref().unwrap().repl.input.text().to_owned();
    press(&mut model, "i");
    write(&mut model, "(+ 1");
    press(&mut model, "f3");
    assert!(model.inspector.is_none());
    press(&mut model, "f2");
    press(&mut model, "i");
    assert_eq!(input(&model), "(+ 1");
    // Another turn has its own.
    press(&mut model, "esc");
    press(&mut model, "p");
    assert_eq!((model.inspector.as_ref().unwrap().turn.as_str(), input(&model).as_str()), ("r0/t1", ""));
    press(&mut model, "esc");
    press(&mut model, "i");
    assert_eq!((model.inspector.as_ref().unwrap().turn.as_str(), input(&model).as_str()), ("r0/t2", "(+ 1"));
    // A search that has been read opens its screen by itself.
    let searched = Ok(outline(vec![line(0, &[], 0)]));
    apply_message(&mut model, Msg::Candidates(CandidatesResponse::Opened("other".into(), searched)));
    assert!(model.inspector.is_none() && model.screen == Screen::Candidates);
    press(&mut model, "f2");
    press(&mut model, "i");
    assert_eq!(input(&model), "(+ 1");
}

#[test]
fn recalling_earlier_inputs_keeps_the_one_that_is_being_typed() {
    let mut model = fresh(SMALL);
    ran(&mut model, two_turns(), Some(RunEnding::Run));
    let input = |model: &Model| model.inspector.as_ref().unwrap().repl.input.text().to_owned();
    press(&mut model, "i");
    write(&mut model, "1");
    press(&mut model, "up");
    assert_eq!(input(&model), "1", "there is no earlier input");
    assert!(matches!(press(&mut model, "enter").as_slice(), [Effect::Evaluate(..)]));
    write(&mut model, "(+ 2");
    press(&mut model, "up");
    assert_eq!(input(&model), "1");
    press(&mut model, "down");
    assert_eq!(input(&model), "(+ 2");
    press(&mut model, "down");
    assert_eq!(input(&model), "(+ 2");
}

#[test]
fn leaving_asks_about_a_dialog_with_a_text() {
    let mut model = list(vec![session("a")]);
    press(&mut model, "w");
    let mut untouched = model.clone();
    press(&mut untouched, "ctrl-q");
    assert!(untouched.quitting);
    write(&mut model, "half a thought");
    press(&mut model, "ctrl-q");
    assert!(!model.quitting && matches!(model.popups.last(), Some(Popup::Leaving(_))));
    let shown = text(&mut model);
    assert!(shown.contains("Note on the session") && shown.contains("d leave"), "{shown}");
    press(&mut model, "esc");
    assert_eq!(written(&model), "half a thought");
    press(&mut model, "ctrl-q");
    press(&mut model, "d");
    assert!(model.quitting);
}

/// A run that asks, with a reply that is not sent.
fn replying() -> Model {
    let mut model = fresh(LARGE);
    ran(&mut model, asked().events(), None);
    let question = Question {
        address: Address::from("r0/t1"),
        text: "[user]\nDo it.".to_owned(),
        options: Vec::new(),
        gate: None,
    };
    apply_message(&mut model, Msg::RunUpdates(Slot::Workbench, vec![RunUpdate::Question(question)]));
    write(&mut model, "half a reply");
    model
}

#[test]
fn a_reply_whose_question_has_ended_can_be_pasted() {
    let mut model = replying();
    apply_message(&mut model, Msg::RunUpdates(Slot::Workbench, vec![RunUpdate::Ended(RunEnding::Run)]));
    assert!(model.popups.is_empty());
    assert!(toast(&model).contains("Ctrl-V in a text inserts what you wrote"), "{}", toast(&model));
    press(&mut model, "alt-g");
    press(&mut model, "p");
    press(&mut model, "ctrl-a");
    press(&mut model, "ctrl-v");
    assert_eq!(model.workbench.editor(Place::Prompt).draft.text(), "half a reply");
}

#[test]
fn the_end_of_a_replay_does_not_close_the_question_of_the_run() {
    let mut model = replying();
    model.sessions.viewer = Some(RunView::starting());
    apply_message(&mut model, Msg::RunUpdates(Slot::Viewer, vec![RunUpdate::Ended(RunEnding::Run)]));
    assert_eq!(written(&model), "half a reply");
}

#[test]
fn events_of_a_replay_do_not_end_the_question_of_the_run() {
    let mut model = replying();
    let question = model.workbench.run.as_ref().and_then(|run| run.question.clone());
    model.sessions.viewer = Some(RunView { question, ..RunView::starting() });
    let events = two_turns().into_iter().map(|event| RunUpdate::Event(Box::new(event)));
    apply_message(&mut model, Msg::RunUpdates(Slot::Viewer, events.collect()));
    assert_eq!(written(&model), "half a reply");
    assert!(model.workbench.run.as_ref().is_some_and(|run| run.question.is_some()));
}

#[test]
fn a_kept_reply_does_not_hide_drafts_of_another_start() {
    let draft = Draft::new("half a reply");
    let reply = SavedReply { session: SESSION.to_owned(), question: "r0/t1".to_owned(), draft };
    let replied = Recovery { id: "reply".to_owned(), reply: Some(reply), ..fresh(LARGE).workbench.recovery(2) };
    let mut edited = fresh(LARGE);
    write(&mut edited, "Lost ");
    let edited = Recovery { id: "edits".to_owned(), ..edited.workbench.recovery(1) };
    for found in [[replied.clone(), edited.clone()], [edited, replied]] {
        let mut model = fresh(LARGE);
        let effects = apply_message(&mut model, Msg::Recoveries(found.to_vec()));
        assert!(
            matches!(effects.as_slice(), [Effect::TakeOver(own, id)] if own.reply.is_some() && id == "reply"),
            "{effects:?}"
        );
        assert!(matches!(model.popups.last(), Some(Popup::Recovery(kept)) if kept.id == "edits"));
        assert!(model.workbench.kept_reply.is_some());
    }
}

/// The texts that are kept for the next start.
fn kept(effects: Vec<Effect>) -> Option<Box<Recovery>> {
    effects.into_iter().find_map(|effect| match effect {
        Effect::Keep(recovery) => Some(recovery),
        _ => None,
    })
}

#[test]
fn a_reply_is_kept_for_the_next_start_also_when_edits_are_discarded_or_its_question_did_not_come_back() {
    let mut model = replying();
    press(&mut model, "esc");
    model.workbench.editor_mut(Place::Prompt).draft.replace_all("given up");
    press(&mut model, "ctrl-q");
    let mut left = kept(press(&mut model, "d")).expect("the reply is kept");
    assert_eq!(left.reply.as_ref().map(|reply| reply.draft.text()), Some("half a reply"));
    assert!(left.is_saved && left.drafts[0].text().is_empty(), "the discarded edits are not");

    left.id = "old".to_owned();
    let mut next = fresh(LARGE);
    apply_message(&mut next, Msg::Recoveries(vec![*left]));
    let again = kept(press(&mut next, "ctrl-q")).expect("its session was not resumed: it is kept on");
    assert_eq!(again.reply.map(|reply| reply.draft.text().to_owned()).as_deref(), Some("half a reply"));
}
