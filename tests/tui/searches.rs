//! Searching the sessions while it is still under way, and queries that are not what was meant: nothing is done with a row that does not
//! belong to the typed query. No IO.

use ptc_workbench::event::ErrorRecord;
use ptc_workbench::session::index::{FoundSession, QueryError};
use ptc_workbench::session::{Mark, Marks, RunState, Summary};
use ptc_workbench::tui::archive::{ArchiveRequest, ArchiveResponse};
use ptc_workbench::tui::message::{Effect, Msg};
use ptc_workbench::tui::model::{Model, Pane, Popup, Screen};
use ptc_workbench::workbench::{BY_FLAG, SearchError};

use super::pictures::text;
use super::sessions::{key, list, marks, session};
use super::story::{apply_message, fresh, ran, two_turns};
use super::{press, write};

pub(super) fn found(model: &mut Model, query: &str, ids: &[&str]) -> Vec<Effect> {
    let hit = |id: &&str| FoundSession { summary: session(id), matches: Vec::new(), count: 0, failures: Vec::new() };
    apply_message(model, Msg::Archive(ArchiveResponse::Found(query.to_owned(), Ok(ids.iter().map(hit).collect()))))
}

fn failed(model: &mut Model, query: &str) {
    let error = QueryError { span: (0, 1), message: "there is no such filter".to_owned(), near: None };
    apply_message(model, Msg::Archive(ArchiveResponse::Found(query.to_owned(), Err(SearchError::Query(error)))));
}

fn toast(model: &Model) -> &str {
    model.toast.as_ref().map_or("", |toast| &toast.text)
}

/// The list while a typed query is still looked for.
fn searching() -> Model {
    let mut model = list(vec![session("c"), session("b"), session("a")]);
    press(&mut model, "/");
    write(&mut model, "good");
    model
}

#[test]
fn enter_opens_what_the_search_finds_and_not_what_was_selected_before_it() {
    let mut model = searching();
    assert_eq!(press(&mut model, "enter"), [], "the search has not ended");
    assert!(toast(&model).contains("as soon as the search has ended"), "{}", toast(&model));
    let next = found(&mut model, "g", &["c"]);
    assert_eq!(next, [Effect::Archive(ArchiveRequest::Search("good".to_owned()))], "rows of another query");
    assert_eq!(found(&mut model, "good", &["b", "a"]), [Effect::Open(key("b"))]);

    let mut model = searching();
    press(&mut model, "enter");
    found(&mut model, "g", &["c"]);
    assert_eq!(found(&mut model, "good", &[]), []);
    assert!(toast(&model).contains("no session fits the search"), "{}", toast(&model));
}

#[test]
fn a_key_after_enter_ends_the_wait_for_the_search() {
    let mut model = searching();
    press(&mut model, "enter");
    press(&mut model, "down");
    found(&mut model, "g", &["c"]);
    assert_eq!(found(&mut model, "good", &["b"]), []);
    assert_eq!(press(&mut model, "enter"), [Effect::Open(key("b"))]);
}

#[test]
fn no_action_takes_a_row_of_another_query() {
    for chord in ["f", "shift-r", "e", "shift-t", "t", "n", "m", "r", "l", "o", "d", "shift-a"] {
        let mut model = searching();
        press(&mut model, "down");
        let effects = press(&mut model, chord);
        let acts = effects.iter().any(|effect| !matches!(effect, Effect::List));
        assert!(!acts && model.popups.is_empty(), "{chord}: {effects:?}");
        assert!(model.sessions.viewer.is_none(), "{chord}");
    }
    let mut model = searching();
    press(&mut model, "down");
    press(&mut model, "f");
    assert!(toast(&model).contains("the search has not ended yet"), "{}", toast(&model));
    let mut model = searching();
    model.sessions.marks = marks(&[("a", &Mark { marked: true, ..Mark::default() })]);
    assert!(model.sessions.compared().unwrap_err().contains("search"), "the selected row is not compared");
}

#[test]
fn a_query_with_an_error_shows_no_session() {
    let mut model = searching();
    found(&mut model, "g", &[]);
    found(&mut model, "good", &["b"]);
    write(&mut model, " x:y");
    found(&mut model, "good ".trim(), &["b"]);
    failed(&mut model, "good x:y");
    assert_eq!(model.sessions.shown().count(), 0);
    let shown = text(&mut model);
    assert!(shown.contains("there is no such filter") && shown.contains("so no session is shown"), "{shown}");
    assert_eq!(press(&mut model, "enter"), []);
    for _ in 0..4 {
        press(&mut model, "backspace");
    }
    found(&mut model, "good", &["b"]);
    assert_eq!(press(&mut model, "enter"), [Effect::Open(key("b"))]);
}

#[test]
fn a_word_that_looks_like_a_filter_and_found_nothing_is_reported() {
    let mut model = list(vec![session("a")]);
    press(&mut model, "/");
    write(&mut model, "foo:bar");
    found(&mut model, "f", &["a"]);
    found(&mut model, "foo:bar", &[]);
    let shown = text(&mut model);
    assert!(shown.contains("`foo:bar` was searched as text; filters are mode, model, "), "{shown}");
    write(&mut model, "x");
    assert!(!text(&mut model).contains("was searched as text"), "the notice is about another query");
    found(&mut model, "foo:barx", &["a"]);
    assert!(!text(&mut model).contains("was searched as text"), "it was found as text");
}

fn unfinished(id: &str) -> Summary {
    Summary { id: id.to_owned(), path: format!("{id}.jsonl").into(), state: RunState::Open, ..Summary::default() }
}

#[test]
fn sessions_that_a_program_is_writing_are_not_offered_to_be_resumed() {
    let mut model = fresh((80, 24));
    let busy = Summary { is_in_use: true, ..unfinished("busy") };
    apply_message(&mut model, Msg::Listed(vec![busy.clone(), unfinished("idle")], Marks::default()));
    let shown = text(&mut model);
    assert!(shown.contains("1 session not finished: F3, then o resumes it"), "{shown}");
    press(&mut model, "f3");
    assert_eq!(model.sessions.current().map(|session| session.id.as_str()), Some("idle"), "the one that is meant");
    let mut model = fresh((80, 24));
    apply_message(&mut model, Msg::Listed(vec![busy], Marks::default()));
    let shown = text(&mut model);
    assert!(shown.contains("nothing has run yet") && !shown.contains("not finished"), "{shown}");
}

#[test]
fn a_session_that_cannot_be_resumed_leaves_the_list_on_the_screen() {
    let mut model = fresh((120, 40));
    ran(&mut model, two_turns(), Some(ptc_workbench::workbench::RunEnding::Run));
    let before = model.workbench.run.as_ref().and_then(|run| run.session.clone());
    press(&mut model, "f3");
    apply_message(&mut model, Msg::Listed(vec![unfinished("one")], Marks::default()));
    let effects = press(&mut model, "o");
    assert!(matches!(effects.as_slice(), [Effect::Resume(_)]), "{effects:?}");
    assert_eq!(model.screen, Screen::Sessions, "the workbench shows its old run until then");
    assert!(press(&mut model, "o").is_empty(), "it is being resumed");
    let locked =
        ErrorRecord { message: "another program is writing to this session".to_owned(), ..ErrorRecord::default() };
    apply_message(&mut model, Msg::SessionResumed(Err(locked)));
    assert_eq!(model.screen, Screen::Sessions);
    assert!(text(&mut model).contains("another program is writing to this session"));
    assert_eq!(model.workbench.run.as_ref().and_then(|run| run.session.clone()), before);
    press(&mut model, "o");
    apply_message(&mut model, Msg::SessionResumed(Ok(Some("one".to_owned()))));
    assert_eq!((model.screen, model.workbench.focus), (Screen::Workbench, Pane::Run));
}

/// The field `model` of the dialog on top: what is written in it.
fn named_model(model: &Model) -> String {
    let Some(Popup::Form(form, _)) = model.popups.last() else { panic!("no dialog") };
    form.written("model").to_owned()
}

#[test]
fn a_dialog_does_not_propose_a_model_that_cannot_be_used_and_names_its_own_field() {
    let ended = Summary { state: RunState::Returned, models: vec!["mock".to_owned()], ..session("one") };
    let looked = |is_usable| Msg::Archive(ArchiveResponse::ModelLooked("mock".to_owned(), is_usable));
    let mut model = list(vec![ended.clone()]);
    assert_eq!(press(&mut model, "o"), [Effect::Archive(ArchiveRequest::LookAtModel("mock".to_owned()))]);
    apply_message(&mut model, looked(true));
    assert_eq!(named_model(&model), "mock");
    apply_message(&mut model, looked(false));
    assert_eq!(named_model(&model), "");
    write(&mut model, "Go on.");
    press(&mut model, "f5");
    let message = format!("the recorded model `mock` is not known here: {BY_FLAG}");
    let refused = ErrorRecord { message, ..ErrorRecord::default() };
    apply_message(&mut model, Msg::Archive(ArchiveResponse::Started(Err(refused))));
    let Some(Popup::Form(form, _)) = model.popups.last() else { panic!("no dialog") };
    let error = "the recorded model `mock` is not known here: name another one in the field `model`";
    assert_eq!(form.error.as_deref(), Some(error));

    // A re-run is filled in with the same model.
    let mut model = list(vec![ended.clone()]);
    press(&mut model, "shift-r");
    let points = super::sessions::points();
    let points =
        ptc_workbench::workbench::ForkPoints { summary: Box::new(Summary { id: "one".to_owned(), ..ended }), ..points };
    let asked = apply_message(&mut model, Msg::Archive(ArchiveResponse::ForkPoints(key("one"), Ok(points))));
    assert_eq!(asked, [Effect::Archive(ArchiveRequest::LookAtModel("mock".to_owned()))]);
    apply_message(&mut model, looked(false));
    assert_eq!(named_model(&model), "");

    let dir = tempfile::tempdir().unwrap();
    let workbench = super::services::workbench(dir.path());
    assert_eq!([workbench.is_usable_model("mock"), workbench.is_usable_model("demo")], [false, true]);
}

#[test]
fn the_stage_of_a_fork_says_what_happens_with_the_chosen_change() {
    let mut model = super::sessions::forking((120, 40));
    let meanings = |model: &mut Model| {
        let Some(Popup::Form(form, _)) = model.popups.last() else { panic!("no dialog") };
        let field = form.field("stage").map(|field| &field.input);
        let Some(ptc_workbench::tui::form::Input::Choice { options, .. }) = field else { panic!("no stage") };
        options.iter().map(|option| format!("{}: {}", option.name, option.meaning)).collect::<Vec<_>>()
    };
    let nothing = meanings(&mut model);
    assert_eq!(nothing[1], "reply: its request is kept, the reply is requested again");
    press(&mut model, "right");
    assert_eq!(meanings(&mut model), ["reply: the edited reply is used at once, without a request"]);
    press(&mut model, "right");
    assert_eq!(meanings(&mut model), ["request: before the turn: its request is sent with the edit"]);
    // The turn before it has a call, and another turn after it.
    let mut model = super::sessions::forking((120, 40));
    press(&mut model, "backtab");
    press(&mut model, "left");
    press(&mut model, "tab");
    for _ in 0..2 {
        press(&mut model, "right");
    }
    assert_eq!(meanings(&mut model)[1], "after: the turn is kept, the next one gets the edit");
    for _ in 0..4 {
        press(&mut model, "right");
    }
    assert_eq!(meanings(&mut model), ["call: the call is kept, its result is the edited one"]);
    press(&mut model, "esc");
    let mut model = super::continuing::editing((120, 40));
    assert_eq!(meanings(&mut model), ["reply: the edited program runs at once, without a request"]);
}

#[test]
fn of_several_unfinished_sessions_one_is_resumed() {
    let mut model = fresh((80, 24));
    apply_message(&mut model, Msg::Listed(vec![unfinished("one"), unfinished("two")], Marks::default()));
    let shown = text(&mut model);
    assert!(shown.contains("2 sessions not finished: F3 lists them, o resumes one"), "{shown}");
}

#[test]
fn a_word_that_names_an_agent_leads_to_its_filter() {
    let mut model = list(vec![session("a")]);
    press(&mut model, "/");
    write(&mut model, "mood");
    found(&mut model, "mood", &[]);
    let shown = text(&mut model);
    assert!(shown.contains("No session fits the search. agent:mood finds some."), "{shown}");
    write(&mut model, "y");
    found(&mut model, "moody", &[]);
    let shown = text(&mut model);
    assert!(shown.contains("No session fits the search. Esc clears it."), "{shown}");
}
