//! The interface for a new user: each next step is named where it is needed, and nothing that was on the screen disappears.

use ptc_core::reasons::Reason;
use ptc_core::text::Span;
use ptc_workbench::agent::{Diagnostic, DraftTexts, Fix, Place};
use ptc_workbench::event::{Address, ErrorRecord};
use ptc_workbench::port::Question;
use ptc_workbench::session::{Marks, RunState, Summary};
use ptc_workbench::tui::archive::{AgentSource, ArchiveRequest, ArchiveResponse};
use ptc_workbench::tui::inspector::{Focus, Tab};
use ptc_workbench::tui::message::{Effect, Msg, Slot};
use ptc_workbench::tui::model::{Model, Pane, Popup, Screen};
use ptc_workbench::workbench::{AgentFile, DraftSummary, OpenAgent, RunEnding, RunUpdate, SessionKey};

use super::pictures::{screens, text};
use super::story::{SESSION, apply_message, asked, fresh, ran, two_turns};
use super::{press, write};

const SMALL: (u16, u16) = (80, 24);

fn finished() -> Model {
    let mut model = fresh(SMALL);
    ran(&mut model, two_turns(), Some(RunEnding::Run));
    model
}

/// The last line of the screen: the keys that do something.
fn footer(model: &mut Model) -> String {
    text(model).lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default().to_owned()
}

#[test]
fn enter_opens_the_last_turn_where_none_is_selected_and_the_footer_says_so() {
    let mut model = finished();
    assert!(footer(&mut model).contains("Enter open turn"), "{}", footer(&mut model));
    press(&mut model, "enter");
    assert_eq!(model.inspector.as_ref().map(|open| open.turn.as_str()), Some("r0/t2"));
}

#[test]
fn a_refused_start_leaves_the_run_before_on_the_screen() {
    let mut model = finished();
    press(&mut model, "f5");
    apply_message(&mut model, Msg::Started(Err(vec![Diagnostic::error(Place::Options, Reason::InvalidAgent, "no")])));
    let shown = model.workbench.run.as_ref().and_then(|run| run.session.clone());
    assert_eq!(shown.as_deref(), Some(SESSION));
    press(&mut model, "f5");
    apply_message(&mut model, Msg::Started(Ok(Some("new".to_owned()))));
    assert!(model.workbench.before.is_none(), "a run that has begun takes the place for good");
}

#[test]
fn a_session_that_does_not_continue_leaves_the_run_before_on_the_screen() {
    let mut model = finished();
    model.workbench.begin();
    apply_message(
        &mut model,
        Msg::SessionResumed(Err(ErrorRecord { message: "no".to_owned(), ..ErrorRecord::default() })),
    );
    assert_eq!(model.workbench.run.as_ref().and_then(|run| run.session.clone()).as_deref(), Some(SESSION));
}

#[test]
fn the_preview_of_the_draft_is_offered_where_the_draft_is() {
    let mut model = finished();
    assert!(press(&mut model, "f6").is_empty() && model.popups.len() == 1);
    press(&mut model, "esc");
    for screen in ["f3", "f4"] {
        press(&mut model, screen);
        assert!(!footer(&mut model).contains("preview"), "{}", footer(&mut model));
        press(&mut model, "f6");
        assert!(model.popups.is_empty() && text(&mut model).contains("preview: only for the draft"));
    }
}

#[test]
fn a_search_that_found_nothing_leaves_no_files_and_one_that_did_is_cleared_by_escape() {
    let mut model = finished();
    press(&mut model, "/");
    write(&mut model, "no such words");
    assert!(footer(&mut model).contains("Esc close"), "{}", footer(&mut model));
    press(&mut model, "esc");
    assert!(model.active_transcript().unwrap().needle().is_empty());

    press(&mut model, "/");
    write(&mut model, "sentiment");
    assert!(footer(&mut model).contains("Esc keep the marks"), "{}", footer(&mut model));
    press(&mut model, "esc");
    assert!(footer(&mut model).contains("Esc clear search"), "{}", footer(&mut model));
    press(&mut model, "esc");
    assert!(model.active_transcript().unwrap().needle().is_empty());
}

#[test]
fn a_reply_that_was_put_aside_continues_where_it_was() {
    let mut model = fresh(SMALL);
    ran(&mut model, asked().events(), None);
    let question = |at: &str| Question {
        address: Address::from(at),
        text: "Which one?".to_owned(),
        options: Vec::new(),
        gate: None,
    };
    let ask = |model: &mut Model, at: &str| {
        apply_message(model, Msg::RunUpdates(Slot::Workbench, vec![RunUpdate::Question(question(at))]));
    };
    ask(&mut model, "r0/t1");
    write(&mut model, "the first half");
    press(&mut model, "esc");
    assert!(model.popups.is_empty());
    press(&mut model, "f5");
    assert!(text(&mut model).contains("the first half"));
    press(&mut model, "esc");
    ask(&mut model, "r0/t2");
    assert!(!text(&mut model).contains("the first half"), "another question has another reply");
}

#[test]
fn tab_is_offered_in_a_dialog_of_several_fields_only() {
    let mut model = fresh(SMALL);
    press(&mut model, "f3");
    apply_message(
        &mut model,
        Msg::Listed(vec![Summary { id: "one".to_owned(), example: true, ..Summary::default() }], Marks::default()),
    );
    press(&mut model, "t");
    assert!(!text(&mut model).contains("next field"));
    press(&mut model, "esc");
    press(&mut model, "e");
    assert!(text(&mut model).contains("Tab next field"));
}

#[test]
fn what_stops_runs_is_reported_in_the_title_as_long_as_it_holds() {
    let mut model = fresh(SMALL);
    press(&mut model, "f7");
    assert!(text(&mut model).lines().next().unwrap().contains("json · demo · intercepts"));
    press(&mut model, "f7");
    assert!(!text(&mut model).lines().next().unwrap().contains("intercepts"));
}

#[test]
fn sessions_that_are_not_finished_are_reported_at_the_start() {
    let mut model = fresh(SMALL);
    let open = Summary { id: "one".to_owned(), path: "one.jsonl".into(), state: RunState::Open, ..Summary::default() };
    apply_message(&mut model, Msg::Listed(vec![open], Marks::default()));
    assert!(text(&mut model).contains("nothing has run yet   1 session not finished: F3, then o resumes it"));
}

#[test]
fn a_question_of_consent_does_not_hide_the_beginning_of_what_the_model_reads_next() {
    let mut model = fresh(SMALL);
    ran(&mut model, asked().events(), None);
    let question = |address: &str, text: &str, options: &[&str]| Question {
        address: address.into(),
        text: text.to_owned(),
        gate: None,
        options: options.iter().map(|option| (*option).to_owned()).collect(),
    };
    let first = "[system]\nThe rules.\n[user]\nThe task.\n";
    let mut ask = |question: Question| {
        let shown = vec![ptc_workbench::workbench::RunUpdate::Question(question)];
        apply_message(&mut model, Msg::RunUpdates(ptc_workbench::tui::message::Slot::Workbench, shown));
        let new = model.workbench.run.as_ref().unwrap().asked.1;
        model.popups.clear();
        new
    };
    assert_eq!(Some(ask(question("r0/t1", first, &[]))), first.find("[user]"), "the first one opens at the task");
    assert_eq!(ask(question("r0/t1/c0/q0", "May the tool be called?", &["once", "deny"])), 0);
    let second = format!("{first}[assistant]\n(f)\n[user]\nIt was denied.\n");
    let new = ask(question("r0/t2", &second, &[]));
    assert_eq!(&second[new..], "[user]\nIt was denied.\n");
}

#[test]
fn models_are_chosen_from_a_list_of_those_that_can_be_used() {
    let mut model = fresh(SMALL);
    let options = model.workbench.editor(Place::Options).draft.text().to_owned();
    let at = options.find("\"demo\"").unwrap();
    let fix = |name: &str| Fix {
        title: format!("use the model {name}: it"),
        place: Place::Options,
        span: Span::new(at, at + 6),
        text: format!("\"{name}\""),
    };
    let models = vec![fix("sample"), fix("demo"), fix("human")];
    let preview = DraftSummary { models, ..model.workbench.preview.clone() };
    let version = model.workbench.version();
    apply_message(&mut model, Msg::Checked(version, Vec::new(), Box::new(preview)));
    press(&mut model, "f3");
    press(&mut model, "alt-m");
    press(&mut model, "m");
    assert!(matches!(model.popups.last(), Some(Popup::Fixes { selected: 1, .. })), "the one in use is selected");
    assert!(text(&mut model).contains("The model is demo.") && model.screen == Screen::Workbench);
    press(&mut model, "down");
    press(&mut model, "enter");
    assert!(model.workbench.editor(Place::Options).draft.text().contains("model = \"human\""));
    assert!(text(&mut model).contains("reverts it"));
}

#[test]
fn the_repl_has_a_key_and_a_name() {
    let mut model = finished();
    press(&mut model, "ctrl-p");
    write(&mut model, "repl");
    assert!(text(&mut model).contains("▸ REPL"));
    press(&mut model, "esc");
    let effects = press(&mut model, "i");
    assert!(matches!(effects.as_slice(), [Effect::Inspect(_, turn)] if turn.as_str() == "r0/t2"));
    let open = model.inspector.as_ref().unwrap();
    assert_eq!((open.tab, open.focus), (Tab::Memory, Focus::Input));
}

#[test]
fn the_palette_shows_the_name_that_a_key_is_given_to() {
    let mut model = fresh((120, 40));
    press(&mut model, "ctrl-p");
    write(&mut model, "both modes");
    assert!(text(&mut model).contains("In [keys] of config.toml: run.both_modes"));
}

fn taken() -> OpenAgent {
    let texts = DraftTexts { prompt: "Another task".to_owned(), ..DraftTexts::default() };
    OpenAgent { texts, ..OpenAgent::default() }
}

#[test]
fn another_agent_is_opened_from_the_examples_or_a_file() {
    let mut model = fresh(SMALL);
    press(&mut model, "ctrl-o");
    assert!(text(&mut model).contains("sentiment"), "the examples are named");
    press(&mut model, "tab");
    write(&mut model, "mine.toml");
    let source = AgentSource::Named("mine.toml".to_owned());
    assert_eq!(press(&mut model, "f5"), [Effect::Archive(ArchiveRequest::OpenAgent(source.clone()))]);
    let missing = ErrorRecord { message: "mine.toml: no such file".to_owned(), ..ErrorRecord::default() };
    apply_message(&mut model, Msg::Archive(ArchiveResponse::AgentOpened(source.clone(), Err(missing))));
    assert!(text(&mut model).contains("✗ mine.toml: no such file"), "the dialog stays, so that it can be corrected");
    press(&mut model, "f5");
    apply_message(&mut model, Msg::Archive(ArchiveResponse::AgentOpened(source, Ok(Box::new(taken())))));
    assert!(model.popups.is_empty() && !model.workbench.unsaved());
    assert_eq!(model.workbench.editor(Place::Prompt).draft.text(), "Another task");
}

#[test]
fn unsaved_edits_are_asked_about_before_another_agent_takes_their_place() {
    let mut model = fresh(SMALL);
    write(&mut model, "Edited: ");
    press(&mut model, "f3");
    apply_message(
        &mut model,
        Msg::Listed(vec![Summary { id: "one".to_owned(), example: true, ..Summary::default() }], Marks::default()),
    );
    let source = AgentSource::Session(SessionKey::Example("one".to_owned()));
    let ask = [Effect::Archive(ArchiveRequest::OpenAgent(source.clone()))];
    assert_eq!(press(&mut model, "shift-a"), ask);
    let shown = || Msg::Archive(ArchiveResponse::AgentOpened(source.clone(), Ok(Box::new(taken()))));
    apply_message(&mut model, shown());
    assert!(text(&mut model).contains("unsaved edits in prompt. Open another agent?"));
    press(&mut model, "esc");
    assert!(model.workbench.editor(Place::Prompt).draft.text().starts_with("Edited: "));

    press(&mut model, "shift-a");
    apply_message(&mut model, shown());
    assert!(matches!(model.popups.last(), Some(Popup::Leaving(_))), "what was answered once is asked again");
    press(&mut model, "d");
    assert!(!model.quitting);
    assert_eq!(model.workbench.editor(Place::Prompt).draft.text(), "Another task");
    assert_eq!((model.screen, model.workbench.focus), (Screen::Workbench, Pane::Editor(Place::Prompt)));
    assert!(text(&mut model).contains("✓ the agent is in the editors"));
    press(&mut model, "ctrl-u");
    assert_eq!(
        model.workbench.editor(Place::Prompt).draft.text(),
        "Another task",
        "the text of one agent does not come back under the name of another one"
    );
}

#[test]
fn edits_that_are_saved_first_make_room_for_the_other_agent_as_it_is_then() {
    let mut model = fresh(SMALL);
    write(&mut model, "Edited: ");
    let source = AgentSource::Named("mine.toml".to_owned());
    apply_message(&mut model, Msg::Archive(ArchiveResponse::AgentOpened(source.clone(), Ok(Box::new(taken())))));
    press(&mut model, "s");
    let saves = press(&mut model, "enter");
    assert!(matches!(saves.as_slice(), [Effect::Save { .. }]), "{saves:?}");
    let file = AgentFile { path: "sentiment.toml".into(), sha: String::new() };
    let texts = model.workbench.texts();
    let next = apply_message(&mut model, Msg::Saved("sentiment.toml".to_owned(), texts, Ok(file)));
    assert_eq!(next, [Effect::Forget, Effect::Archive(ArchiveRequest::OpenAgent(source.clone()))]);
    assert!(!model.quitting);
    apply_message(&mut model, Msg::Archive(ArchiveResponse::AgentOpened(source, Ok(Box::new(taken())))));
    assert_eq!(model.workbench.editor(Place::Prompt).draft.text(), "Another task");
}

#[test]
fn a_letter_that_means_nothing_says_where_one_types() {
    let mut model = finished();
    let message = |model: &Model| model.toast.as_ref().map(|toast| toast.text.clone()).unwrap_or_default();
    press(&mut model, "x");
    assert_eq!(message(&model), "x has no action here; Tab to edit, F1 for keys");
    press(&mut model, "j");
    assert_eq!(message(&model), "", "a key that means something takes it away");
    press(&mut model, "backspace");
    assert_eq!(message(&model), "Backspace has no action here; Tab to edit, F1 for keys");
    press(&mut model, "f3");
    press(&mut model, "z");
    assert_eq!(message(&model), "z has no action here; / to search, F1 for keys");
    press(&mut model, "f1");
    press(&mut model, "x");
    assert_eq!(message(&model), "x has no action here; F1 for keys");
    let mut model = fresh(SMALL);
    write(&mut model, "x");
    assert_eq!(message(&model), "", "an editor takes it");
}

fn models_listed(size: (u16, u16)) -> Model {
    let mut model = fresh(size);
    let fix = |title: &str| Fix {
        title: title.to_owned(),
        place: Place::Options,
        span: Span::new(0, 0),
        text: String::new(),
    };
    let models = vec![
        fix("use the model demo: answers from the recorded examples"),
        fix("use the model human: you type the replies"),
    ];
    let preview = DraftSummary { models, ..model.workbench.preview.clone() };
    let version = model.workbench.version();
    apply_message(&mut model, Msg::Checked(version, Vec::new(), Box::new(preview)));
    press(&mut model, "alt-m");
    press(&mut model, "m");
    model
}

#[test]
fn the_list_of_models() {
    screens("models", &[SMALL], models_listed);
}

#[test]
fn the_dialog_that_opens_an_agent() {
    screens("open_agent", &[SMALL], |size| {
        let mut model = fresh(size);
        press(&mut model, "ctrl-o");
        model
    });
}

#[test]
fn the_agents_that_can_be_opened_are_a_list() {
    for size in [SMALL, (140, 40)] {
        let mut model = fresh(size);
        press(&mut model, "ctrl-o");
        let shown = text(&mut model);
        for name in ["the one below", "sentiment", "sales", "extract", "a pipeline of"] {
            assert!(shown.contains(name) || size == SMALL, "{name}: {shown}");
        }
        assert!(["sentiment", "sales", "extract"].iter().all(|name| shown.contains(name)), "{shown}");
        press(&mut model, "down");
        press(&mut model, "up");
        press(&mut model, "up");
        let chosen = |model: &Model| match model.popups.last() {
            Some(Popup::Form(form, _)) => form.choice("agent").to_owned(),
            _ => String::new(),
        };
        assert_eq!(chosen(&model), "file");
        press(&mut model, "up");
        let last = chosen(&model);
        assert!(text(&mut model).contains(&last), "the list follows its selection");
        let opens = press(&mut model, "enter");
        let source = AgentSource::Named(last);
        assert_eq!(opens, [Effect::Archive(ArchiveRequest::OpenAgent(source))]);
    }
}

#[test]
fn another_agent_begins_without_the_runs_of_the_one_before() {
    let mut model = finished();
    assert!(model.workbench.run.is_some());
    let opened =
        OpenAgent { file: Some(AgentFile { path: "b.toml".into(), sha: "b".to_owned() }), ..OpenAgent::default() };
    let source = AgentSource::Named("b.toml".to_owned());
    apply_message(&mut model, Msg::Archive(ArchiveResponse::AgentOpened(source, Ok(Box::new(opened)))));
    assert!(model.workbench.run.is_none() && model.workbench.runs.all().is_empty());
    press(&mut model, "f5");
    apply_message(&mut model, Msg::Started(Ok(Some("new".to_owned()))));
    let numbers: Vec<usize> = model.workbench.runs.all().iter().map(|run| run.number).collect();
    assert_eq!(numbers, [1], "its first run is its first");
}
