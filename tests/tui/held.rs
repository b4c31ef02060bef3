//! Dialogs that are still read, texts longer than their place, errors longer than their line. No IO.

use ptc_workbench::session::index::QueryError;
use ptc_workbench::tui::archive::{ArchiveRequest, ArchiveResponse};
use ptc_workbench::tui::message::{Effect, Msg};
use ptc_workbench::tui::model::Model;
use ptc_workbench::workbench::{ForkChange, SearchError};

use super::pictures::text;
use super::sessions::fork_spec;
use super::sessions::{forking, key, list, points, session, spot, standing};
use super::story::apply_message;
use super::{press, write};

const SMALL: (u16, u16) = (80, 24);
const LARGE: (u16, u16) = (120, 40);

#[test]
fn keys_wait_for_the_text_that_they_are_for() {
    let mut model = forking(LARGE);
    press(&mut model, "right");
    for _ in 0..3 {
        press(&mut model, "tab");
    }
    press(&mut model, "ctrl-a");
    write(&mut model, "mi");
    apply_message(&mut model, Msg::Paste("n".to_owned()));
    write(&mut model, "e");
    assert_eq!(model.active_draft().unwrap().text(), "");
    assert!(text(&mut model).contains("your keys wait for it"));
    apply_message(
        &mut model,
        Msg::Archive(ArchiveResponse::CurrentText(spot("r0/t1:reply", "reply"), Ok(standing("of another turn")))),
    );
    assert_eq!(model.active_draft().unwrap().text(), "", "it is not the text that is waited for");
    apply_message(
        &mut model,
        Msg::Archive(ArchiveResponse::CurrentText(spot("r0/t2:reply", "reply"), Ok(standing("theirs")))),
    );
    assert_eq!(model.active_draft().unwrap().text(), "mine", "all of it was selected, then replaced");
    assert!(text(&mut model).contains("theirs"), "what stood there is shown below");
}

#[test]
fn keys_pressed_while_a_dialog_still_reads_the_session_are_done_when_it_has() {
    let mut model = list(vec![session("long")]);
    press(&mut model, "f");
    press(&mut model, "right");
    for _ in 0..3 {
        press(&mut model, "tab");
    }
    press(&mut model, "ctrl-a");
    write(&mut model, "{}");
    assert_eq!(press(&mut model, "f5"), []);
    let asked = apply_message(&mut model, Msg::Archive(ArchiveResponse::ForkPoints(key("long"), Ok(points()))));
    assert_eq!(
        asked,
        [Effect::Archive(ArchiveRequest::CurrentText(spot("r0/t2:reply", "reply")))],
        "the value was chosen"
    );
    let fork = fork_spec("r0/t2:reply", ForkChange::parse("reply", "{}").ok());
    let done = apply_message(
        &mut model,
        Msg::Archive(ArchiveResponse::CurrentText(spot("r0/t2:reply", "reply"), Ok(standing("theirs")))),
    );
    assert_eq!(done, [Effect::Archive(ArchiveRequest::Fork(key("long"), fork))]);
}

#[test]
fn a_dialog_that_still_reads_is_closed_at_once_and_its_keys_with_it() {
    let mut model = list(vec![session("long")]);
    press(&mut model, "f");
    press(&mut model, "f5");
    press(&mut model, "esc");
    assert!(model.popups.is_empty());
    assert_eq!(apply_message(&mut model, Msg::Archive(ArchiveResponse::ForkPoints(key("long"), Ok(points())))), []);
}

#[test]
fn a_text_with_more_lines_than_are_seen_says_so() {
    let mut model = forking(SMALL);
    press(&mut model, "right");
    let lines: Vec<String> = (1..=30).map(|line| format!("line {line}")).collect();
    let reply = standing(lines.join("\n"));
    apply_message(&mut model, Msg::Archive(ArchiveResponse::CurrentText(spot("r0/t2:reply", "reply"), Ok(reply))));
    for _ in 0..3 {
        press(&mut model, "tab");
    }
    let heading = |model: &mut Model| text(model).lines().find(|line| line.contains("▸ text")).unwrap().to_owned();
    assert!(heading(&mut model).contains("▼ 2"), "{}", heading(&mut model));
    press(&mut model, "ctrl-end");
    assert!(heading(&mut model).contains("▲ 2") && !heading(&mut model).contains('▼'), "{}", heading(&mut model));
}

#[test]
fn what_is_wrong_with_a_query_is_reported_whole() {
    let mut model = Model { size: SMALL, ..list(vec![session("a")]) };
    press(&mut model, "/");
    write(&mut model, "x");
    let message =
        format!("{}this is the end of it", "there is much to say about this query, and all of it is said. ".repeat(3));
    let problem = SearchError::Query(QueryError { span: (0, 1), message, near: None });
    apply_message(&mut model, Msg::Archive(ArchiveResponse::Found("x".to_owned(), Err(problem))));
    assert!(text(&mut model).contains("this is the end of it"), "{}", text(&mut model));
}

#[test]
fn a_very_long_text_is_neither_checked_nor_shown_twice_at_every_key() {
    let mut model = forking((120, 40));
    press(&mut model, "right");
    let reply = standing("x".repeat(300_000));
    apply_message(&mut model, Msg::Archive(ArchiveResponse::CurrentText(spot("r0/t2:reply", "reply"), Ok(reply))));
    let shown = text(&mut model);
    assert!(shown.contains("300 KB · checked when it is used"), "{shown}");
    assert!(shown.contains("the earlier text, the first 32 KB of 300 KB:"), "{shown}");
}
