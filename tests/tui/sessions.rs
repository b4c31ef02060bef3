//! The sessions screen: searching as one types, branches, dialogs, playing. No IO.

use std::collections::BTreeSet;
use std::sync::Arc;

use ptc_core::value::Json;
use ptc_workbench::agent::Mode;
use ptc_workbench::event::{Address, Editor, ErrorRecord};
use ptc_workbench::replay::{Policy, Stage};
use ptc_workbench::session::index::{Field, FoundSession, QueryError, SearchMatch};
use ptc_workbench::session::{Mark, MarkChange, Marks, Parent, ParentKind, Summary, write_mark};
use ptc_workbench::tui::archive::{ArchiveRequest, ArchiveResponse, EditTarget};
use ptc_workbench::tui::form::Input;
use ptc_workbench::tui::message::{Effect, Msg, Slot};
use ptc_workbench::tui::model::{Model, Phase, Popup, Screen};
use ptc_workbench::workbench::{
    CurrentText, FailureGroup, ForkChange, ForkPoints, ForkSpec, RerunSpec, SearchError, SessionKey, TurnPoints,
};

use super::pictures::{listed, screens, text};
use super::story::{NOW_MS, apply_message, fresh, two_turns};
use super::{press, write};

const SMALL: (u16, u16) = (80, 24);
const LARGE: (u16, u16) = (120, 40);

pub(super) fn key(id: &str) -> SessionKey {
    SessionKey::Example(id.to_owned())
}

pub(super) fn session(id: &str) -> Summary {
    Summary { id: id.to_owned(), example: true, agent: "mood".to_owned(), ..Summary::default() }
}

/// Tags as a mark holds them.
fn tags<const N: usize>(tags: [&str; N]) -> BTreeSet<String> {
    tags.map(str::to_owned).into()
}

/// Marks on sessions, written and read as the workbench does.
pub(super) fn marks(all: &[(&str, &Mark)]) -> Marks {
    let dir = tempfile::tempdir().unwrap();
    for (id, mark) in all {
        let (session, add) = ((*id).to_owned(), mark.tags.iter().cloned().collect());
        let (note, label) = (mark.note.clone(), mark.label.clone());
        let change = MarkChange { session, add, note, label, mark: Some(mark.marked), ..MarkChange::default() };
        write_mark(dir.path(), &change).unwrap();
    }
    Marks::read(dir.path()).unwrap()
}

/// A fork as the dialog describes it.
pub(super) fn fork_spec(at: &str, change: Option<ForkChange>) -> ForkSpec {
    let (changes, by) = (change.into_iter().collect(), Editor::User);
    ForkSpec { at: at.to_owned(), changes, model: None, by, kind: ParentKind::Fork }
}

pub(super) fn below(id: &str, origin: &str) -> Summary {
    let parent = Parent { at: Some("r0/t1".to_owned()), ..Parent::whole(origin, ParentKind::Fork) };
    Summary { parent: Some(parent), ..session(id) }
}

/// The list with these sessions.
pub(super) fn list(sessions: Vec<Summary>) -> Model {
    let mut model = fresh(LARGE);
    press(&mut model, "f3");
    apply_message(&mut model, Msg::Listed(sessions, Marks::default()));
    model
}

fn shown(model: &Model) -> Vec<&str> {
    model.sessions.shown().map(|session| session.id.as_str()).collect()
}

fn hit(id: &str) -> FoundSession {
    let matched =
        SearchMatch { at: "r0/t2".into(), field: Field::Reply, excerpt: "a good lamp".to_owned(), highlight: (2, 6) };
    FoundSession { summary: session(id), matches: vec![matched], count: 3, failures: Vec::new() }
}

fn found(model: &mut Model, query: &str, ids: &[&str]) -> Vec<Effect> {
    apply_message(
        model,
        Msg::Archive(ArchiveResponse::Found(query.to_owned(), Ok(ids.iter().map(|id| hit(id)).collect()))),
    )
}

fn search(query: &str) -> Vec<Effect> {
    vec![Effect::Archive(ArchiveRequest::Search(query.to_owned()))]
}

#[test]
fn one_search_at_a_time_is_under_way_and_the_latest_query_counts() {
    let mut model = list(vec![session("c"), session("b"), session("a")]);
    press(&mut model, "/");
    assert_eq!(write(&mut model, "g"), search("g"));
    assert_eq!(write(&mut model, "ood"), []);
    assert_eq!(shown(&model), ["c", "b", "a"], "nothing is hidden before something was found");
    assert_eq!(found(&mut model, "g", &["c"]), search("good"), "the older answer is not shown");
    assert_eq!(shown(&model), ["c", "b", "a"]);
    assert_eq!(found(&mut model, "good", &["b"]), []);
    assert_eq!(shown(&model), ["b"]);
    assert!(text(&mut model).contains("reply: a good lamp"), "the excerpt stands in the line");
    assert_eq!(press(&mut model, "enter"), [Effect::Open(key("b"))]);
    press(&mut model, "esc");
    assert_eq!(shown(&model), ["c", "b", "a"]);
}

#[test]
fn an_answer_that_comes_after_the_query_was_cleared_changes_nothing() {
    let mut model = list(vec![session("b"), session("a")]);
    press(&mut model, "/");
    write(&mut model, "x");
    press(&mut model, "esc");
    assert_eq!(found(&mut model, "x", &[]), []);
    assert_eq!(shown(&model), ["b", "a"]);
}

#[test]
fn what_is_wrong_with_a_query_is_reported() {
    let mut model = list(vec![session("b"), session("a")]);
    press(&mut model, "/");
    write(&mut model, "x");
    found(&mut model, "x", &["a"]);
    write(&mut model, " modle:y");
    let message = "there is no filter `modle`".to_owned();
    let problem = SearchError::Query(QueryError { span: (2, 7), message, near: Some("mode".to_owned()) });
    let query = "x ".to_owned();
    apply_message(&mut model, Msg::Archive(ArchiveResponse::Found(query.trim().to_owned(), Ok(Vec::new()))));
    apply_message(&mut model, Msg::Archive(ArchiveResponse::Found("x modle:y".to_owned(), Err(problem))));
    assert!(text(&mut model).contains("did you mean `mode`"));
}

#[test]
fn an_opened_session_begins_where_the_words_are() {
    let mut model = list(vec![session("long")]);
    press(&mut model, "/");
    write(&mut model, "lamp");
    found(&mut model, "lamp", &["long"]);
    press(&mut model, "enter");
    apply_message(&mut model, Msg::Opened(Ok(super::services::long_session(30))));
    let at = model.selected_address().unwrap();
    assert_eq!(at.as_str(), "r0/t2");
}

#[test]
fn branches_are_below_what_they_began_as_and_the_youngest_tree_first() {
    let all = vec![below("f2", "f1"), session("new"), below("f1", "old"), session("mid"), session("old")];
    let mut model = list(all);
    assert_eq!(shown(&model), ["old", "f1", "f2", "new", "mid"]);
    let depths: Vec<usize> = model.sessions.lines().map(|(_, depth)| depth).collect();
    assert_eq!(depths, [0, 1, 2, 0, 0]);
    press(&mut model, "b");
    assert_eq!(shown(&model), ["f2", "new", "f1", "mid", "old"]);
    // Headers that name each other are still listed.
    let model = list(vec![below("a", "b"), below("b", "a"), below("c", "c")]);
    assert_eq!(shown(&model).len(), 3);
}

#[test]
fn tags_notes_and_marks_are_written_on_the_session_and_on_a_turn_of_it() {
    let written = Mark { tags: tags(["slow"]), note: Some("why?".to_owned()), marked: false, label: None };
    let mut model = fresh(LARGE);
    press(&mut model, "f3");
    apply_message(&mut model, Msg::Listed(vec![session("long")], marks(&[("long", &written)])));
    let request = |at: Option<&str>, mark: Mark| {
        [Effect::Archive(ArchiveRequest::Mark { session: "long".to_owned(), at: at.map(Into::into), mark })]
    };
    let marked = Mark { marked: true, ..written.clone() };
    assert_eq!(press(&mut model, "m"), request(None, marked));
    press(&mut model, "t");
    press(&mut model, "end");
    write(&mut model, " seen");
    let tagged = Mark { tags: tags(["slow", "seen"]), ..written };
    assert_eq!(press(&mut model, "enter"), request(None, tagged));
    let refused = ErrorRecord { message: "the folder is read-only".to_owned(), ..ErrorRecord::default() };
    apply_message(&mut model, Msg::Archive(ArchiveResponse::Marked(Err(refused))));
    assert!(text(&mut model).contains("not written: the folder is read-only"), "what was typed is still there");
    press(&mut model, "enter");
    apply_message(&mut model, Msg::Archive(ArchiveResponse::Marked(Ok(()))));
    assert!(model.popups.is_empty());

    apply_message(&mut model, Msg::Opened(Ok(super::services::long_session(3))));
    model.sessions.viewer.as_mut().unwrap().transcript.go_to(&"r0/t2".into());
    assert_eq!(press(&mut model, "m"), request(Some("r0/t2"), Mark { marked: true, ..Mark::default() }));
}

#[test]
fn two_to_four_marked_sessions_are_compared() {
    let mut model = list(vec![session("c"), session("b"), session("a")]);
    press(&mut model, "c");
    assert!(text(&mut model).contains("mark two to four sessions first"));
    let mut model = list(vec![session("c"), session("b"), session("a")]);
    let mark = Mark { marked: true, ..Mark::default() };
    model.sessions.marks = marks(&[("c", &mark), ("a", &mark)]);
    assert_eq!(model.sessions.compared(), Ok(vec![key("c"), key("a")]));
    press(&mut model, "c");
    assert!(model.screen != Screen::Sessions || !model.popups.is_empty());
}

pub(super) fn points() -> ForkPoints {
    let turn = |number: u32, last: bool, calls: Vec<(&str, &str)>| TurnPoints {
        address: format!("r0/t{number}").as_str().into(),
        stages: if last {
            vec![Stage::Request, Stage::Reply]
        } else {
            vec![Stage::Request, Stage::Reply, Stage::After]
        },
        calls: calls.into_iter().map(|(at, tool)| (at.into(), tool.to_owned())).collect(),
        program: false,
        defined: Vec::new(),
        has_memory: true,
    };
    ForkPoints {
        summary: Box::new(Summary { models: vec!["demo".to_owned()], mode: "json".to_owned(), ..session("long") }),
        runs: vec!["r0".into()],
        turns: vec![turn(1, false, vec![("r0/t1/c1", "orders")]), turn(2, true, Vec::new())],
    }
}

/// A dialog of a fork whose session was read.
pub(super) fn forking(size: (u16, u16)) -> Model {
    let mut model = Model { size, ..list(vec![session("long")]) };
    assert_eq!(press(&mut model, "f"), [Effect::Archive(ArchiveRequest::ForkPoints(key("long")))]);
    apply_message(&mut model, Msg::Archive(ArchiveResponse::ForkPoints(key("long"), Ok(points()))));
    model
}

/// Returns the current text of a JSON reply, as a dialog gets it.
pub(super) fn standing(text: impl Into<String>) -> CurrentText {
    CurrentText { text: Some(text.into()), want: "json".to_owned(), ..CurrentText::default() }
}

pub(super) fn spot(at: &str, target: &str) -> EditTarget {
    EditTarget { key: key("long"), at: at.to_owned(), name: target.to_owned() }
}

#[test]
fn a_fork_with_another_reply_is_described_and_runs_on_the_workbench() {
    let mut model = forking(LARGE);
    let asked = press(&mut model, "right");
    assert_eq!(asked, [Effect::Archive(ArchiveRequest::CurrentText(spot("r0/t2:reply", "reply")))]);
    let reply = "{\"score\":2}".to_owned();
    apply_message(
        &mut model,
        Msg::Archive(ArchiveResponse::CurrentText(spot("r0/t2:reply", "reply"), Ok(standing(reply)))),
    );
    assert!(text(&mut model).contains("{\"score\":2}"), "the reply has its own layout");
    press(&mut model, "tab");
    press(&mut model, "tab");
    press(&mut model, "tab");
    press(&mut model, "ctrl-a");
    write(&mut model, "{}");
    let fork = fork_spec("r0/t2:reply", Some(ForkChange::new("reply", Json::str("{}"))));
    assert_eq!(press(&mut model, "f5"), [Effect::Archive(ArchiveRequest::Fork(key("long"), fork))]);
    assert!(text(&mut model).contains("replaying up to the point"));
    assert_eq!(press(&mut model, "f5"), [], "it is asked for once");
    apply_message(&mut model, Msg::Archive(ArchiveResponse::Started(Ok(Some("new".to_owned())))));
    assert!(model.popups.is_empty() && model.screen == Screen::Workbench && model.workbench.running());
}

#[test]
fn a_refused_fork_keeps_what_was_written() {
    let mut model = forking(LARGE);
    press(&mut model, "f5");
    let refused = ErrorRecord { message: "it does not replay".to_owned(), ..ErrorRecord::default() };
    apply_message(&mut model, Msg::Archive(ArchiveResponse::Started(Err(refused))));
    assert!(text(&mut model).contains("✗ it does not replay"));
    assert!(matches!(press(&mut model, "f5").as_slice(), [Effect::Archive(ArchiveRequest::Fork(..))]));
}

#[test]
fn a_fork_that_was_given_up_is_stopped_when_it_begins() {
    let mut model = forking(LARGE);
    press(&mut model, "f5");
    press(&mut model, "esc");
    let effects = apply_message(&mut model, Msg::Archive(ArchiveResponse::Started(Ok(Some("new".to_owned())))));
    assert!(effects.contains(&Effect::Cancel(Slot::Workbench)), "{effects:?}");
    assert!(model.popups.is_empty());
    assert_eq!(model.workbench.run.as_ref().unwrap().phase, Phase::Stopping);
}

#[test]
fn what_can_be_changed_follows_the_turn() {
    let mut model = forking(LARGE);
    press(&mut model, "backtab");
    press(&mut model, "left");
    press(&mut model, "tab");
    press(&mut model, "left");
    assert!(text(&mut model).contains("result of orders (c1)"));
    let mut last = Vec::new();
    for _ in 0..3 {
        last = press(&mut model, "left");
    }
    assert_eq!(last, [Effect::Archive(ArchiveRequest::CurrentText(spot("r0/t1:request", "signature")))]);
    press(&mut model, "tab");
    assert_eq!(
        press(&mut model, "right"),
        [Effect::Archive(ArchiveRequest::CurrentText(spot("r0/t1:after", "signature")))]
    );
}

#[test]
fn a_rerun_takes_another_mode_from_the_start_of_a_run_only() {
    let mut model = list(vec![session("long")]);
    press(&mut model, "shift-r");
    apply_message(&mut model, Msg::Archive(ArchiveResponse::ForkPoints(key("long"), Ok(points()))));
    press(&mut model, "tab");
    press(&mut model, "right");
    let rerun = RerunSpec { from: Some("r0".to_owned()), mode: Some(Mode::PtcLisp), ..RerunSpec::default() };
    assert_eq!(press(&mut model, "f5"), [Effect::Archive(ArchiveRequest::Rerun(key("long"), rerun))]);
    apply_message(&mut model, Msg::Archive(ArchiveResponse::Started(Err(ErrorRecord::default()))));
    press(&mut model, "backtab");
    write(&mut model, "sample");
    press(&mut model, "backtab");
    press(&mut model, "right");
    let rerun = RerunSpec { from: Some("r0/t1".to_owned()), model: Some("sample".to_owned()), ..RerunSpec::default() };
    assert_eq!(press(&mut model, "f5"), [Effect::Archive(ArchiveRequest::Rerun(key("long"), rerun))]);
}

/// An opened session that is played from its start.
pub(super) fn playing(size: (u16, u16)) -> Model {
    let mut model = Model { size, ..list(vec![session("long")]) };
    apply_message(&mut model, Msg::Opened(Ok(super::services::long_session(2))));
    assert_eq!(press(&mut model, "p"), [Effect::Archive(ArchiveRequest::Events(key("long")))]);
    apply_message(&mut model, Msg::Archive(ArchiveResponse::Events(key("long"), Ok(Arc::from(two_turns())))));
    model
}

#[test]
fn a_session_is_played_by_events_by_turns_and_by_time() {
    let mut model = playing(LARGE);
    let at = |model: &Model| model.sessions.scrub.as_ref().unwrap().at;
    let all = two_turns().len();
    press(&mut model, "space");
    let begun = at(&model);
    press(&mut model, "right");
    assert_eq!(at(&model), begun + 1);
    press(&mut model, "left");
    assert_eq!(at(&model), begun);
    press(&mut model, "end");
    assert_eq!(at(&model), all);
    assert!(text(&mut model).contains("Return"));
    press(&mut model, "shift-left");
    let second = at(&model);
    assert!(second > 1 && second < all);
    assert!(text(&mut model).contains("Turn 2") && !text(&mut model).contains("Return"));
    press(&mut model, "home");
    assert_eq!(at(&model), 0);
    press(&mut model, "4");
    apply_message(&mut model, Msg::Clock(NOW_MS + 600_000));
    for hour in 1..40 {
        apply_message(&mut model, Msg::Clock(NOW_MS + hour * 3_600_000));
    }
    assert_eq!(at(&model), all, "it has come to the end");
    assert_eq!(model.sessions.scrub.as_ref().unwrap().playing, None);
    press(&mut model, "esc");
    assert!(model.sessions.scrub.is_none() && model.sessions.viewer.is_some(), "the session is opened as before");
}

#[test]
fn a_lenient_replay_is_asked_for_as_such() {
    let mut model = list(vec![session("long")]);
    assert_eq!(press(&mut model, "l"), [Effect::Replay(key("long"), Policy::Lenient)]);
}

#[test]
fn a_session_that_was_run_on_the_workbench_is_forked_from_its_transcript() {
    let mut model = fresh(LARGE);
    super::story::ran(&mut model, two_turns(), Some(ptc_workbench::workbench::RunEnding::Run));
    apply_message(&mut model, Msg::Listed(vec![session(super::story::SESSION)], Marks::default()));
    press(&mut model, "backtab");
    text(&mut model);
    press(&mut model, "home");
    assert_eq!(press(&mut model, "f"), [Effect::Archive(ArchiveRequest::ForkPoints(key(super::story::SESSION)))]);
    assert!(matches!(model.popups.last(), Some(Popup::Form(..))));
}

/// A search for something that is not there, by a query that is wrong.
pub(super) fn wrong_query(size: (u16, u16)) -> Model {
    let mut model = Model { size, ..list(vec![below("b", "a"), session("a")]) };
    press(&mut model, "/");
    write(&mut model, "日本 x:");
    found(&mut model, "日", &[]);
    let problem = SearchError::Query(QueryError { span: (7, 9), message: "long ".repeat(80), near: None });
    apply_message(&mut model, Msg::Archive(ArchiveResponse::Found("日本 x:".to_owned(), Err(problem))));
    model
}

/// A note that is longer than its line.
pub(super) fn long_note(size: (u16, u16)) -> Model {
    let mut model = Model { size, ..list(vec![session("a")]) };
    press(&mut model, "n");
    write(&mut model, &"a long note ".repeat(40));
    model
}

/// A fork that was refused with many words.
pub(super) fn fork_refused(size: (u16, u16)) -> Model {
    let mut model = forking(size);
    let refused = ErrorRecord { message: "long ".repeat(300), ..ErrorRecord::default() };
    press(&mut model, "f5");
    apply_message(&mut model, Msg::Archive(ArchiveResponse::Started(Err(refused))));
    model
}

#[test]
fn pictures_of_the_dialogs() {
    screens("fork", &[SMALL, LARGE], |size| {
        let mut model = forking(size);
        press(&mut model, "right");
        let reply = "{\"sentiment\":\"positive\",\"score\":0.97}".to_owned();
        apply_message(
            &mut model,
            Msg::Archive(ArchiveResponse::CurrentText(spot("r0/t2:reply", "reply"), Ok(standing(reply)))),
        );
        model
    });
    screens("export", &[SMALL, LARGE], super::exports::exporting);
    screens("rerun", &[SMALL], |size| {
        let mut model = Model { size, ..list(vec![session("long")]) };
        press(&mut model, "shift-r");
        apply_message(&mut model, Msg::Archive(ArchiveResponse::ForkPoints(key("long"), Ok(points()))));
        model
    });
    screens("case", &[SMALL], |size| {
        let mut model = Model { size, ..list(vec![session("long")]) };
        press(&mut model, "shift-t");
        model
    });
    screens("playing", &[SMALL, LARGE], |size| {
        let mut model = playing(size);
        press(&mut model, "end");
        press(&mut model, "shift-left");
        model
    });
}

#[test]
fn pictures_of_a_search() {
    screens("sessions_filtered", &[SMALL, LARGE], |size| {
        let mut model = listed(size);
        press(&mut model, "/");
        write(&mut model, "north");
        let ids = ["2026-11-21T20-49-07Z-00000002", "2026-11-21T20-50-07Z-00000003"];
        let hits = ids.map(|id| {
            let summary = Summary { example: false, path: format!("{id}.jsonl").into(), ..session(id) };
            FoundSession { summary, ..hit(id) }
        });
        apply_message(&mut model, Msg::Archive(ArchiveResponse::Found("n".to_owned(), Ok(Vec::new()))));
        apply_message(&mut model, Msg::Archive(ArchiveResponse::Found("north".to_owned(), Ok(hits.to_vec()))));
        model
    });
}

#[test]
fn what_failed_is_listed_and_opened_where_it_failed() {
    let mut model = list(vec![session("one"), session("two")]);
    let asked = press(&mut model, "x");
    assert_eq!(asked, [Effect::Archive(ArchiveRequest::Failures(String::new()))]);
    let failing = |id: &str, at: &str| FailureGroup {
        reason: "validation_error".to_owned(),
        path: String::new(),
        count: 1,
        sessions: 1,
        newest: session(id),
        at: Address::from(at),
        places: Vec::new(),
    };
    let failures = vec![failing("one", "r0/t1"), failing("two", "r0/t2/c0")];
    apply_message(&mut model, Msg::Archive(ArchiveResponse::Failures(Ok(failures))));
    press(&mut model, "down");
    let opened = press(&mut model, "enter");
    assert_eq!(opened, [Effect::Open(key("two"))]);
    assert_eq!(model.compare.wanted, Some(Address::from("r0/t2/c0")));
    apply_message(&mut model, Msg::Archive(ArchiveResponse::Failures(Ok(Vec::new()))));
    assert!(model.popups.is_empty(), "an empty list is a message, not a popup");
}

#[test]
fn definitions_are_edited_only_where_a_run_has_programs() {
    let dir = tempfile::tempdir().unwrap();
    let workbench = super::services::workbench(dir.path());
    let offers = |mode: &str| {
        let of = |session: &Summary| session.agent == "sales" && session.mode == mode;
        let summary = workbench.sessions().into_iter().find(of).unwrap();
        let mut model = list(vec![summary.clone()]);
        press(&mut model, "f");
        let points = workbench.fork_points(&workbench.open_session(&summary.id).unwrap()).unwrap();
        apply_message(&mut model, Msg::Archive(ArchiveResponse::ForkPoints(summary.key(), Ok(points))));
        let Some(Popup::Form(form, _)) = model.popups.last() else { panic!("no dialog") };
        let Some(Input::Choice { options, .. }) = form.field("change").map(|field| &field.input) else {
            panic!("no choice")
        };
        options.iter().map(|option| option.name.clone()).collect::<Vec<_>>()
    };
    let (programs, words) = (offers("ptc_lisp"), offers("text"));
    assert!(programs.contains(&"memory".to_owned()), "{programs:?}");
    assert!(words.contains(&"prompt".to_owned()) && !words.contains(&"memory".to_owned()), "{words:?}");
}
