//! Cards next to each other and values one after the other: agents at the same time, definitions and tasks over turns.

use ptc_workbench::event::{MemoryChange, TasksKept, TextRecord};
use ptc_workbench::tui::transcript::Transcript;

use super::services::saved;
use super::story::{NOW_MS, Story};
use super::work::{beside, rows, transcript_of};

#[test]
fn agents_at_work_at_the_same_time_are_in_the_order_of_their_addresses() {
    // Whichever event came first: every part of the story keeps the order.
    let events = beside();
    for arrived in 1..=events.len() {
        let mut transcript = transcript_of(&events[..arrived]);
        let rows = rows(&mut transcript).join("\n");
        if let (Some(first), Some(second)) = (rows.find("r0/t1/p1.0/c0"), rows.find("r0/t1/p1.1/c0")) {
            assert!(first < second, "{rows}");
        }
    }
    let mut transcript = Transcript::default();
    for event in &events {
        transcript.apply(event);
        transcript.prepare(100, 5, NOW_MS);
        transcript.step_up(NOW_MS);
    }
    transcript.toggle_all();
    rows(&mut transcript);
}

#[test]
fn memory_shows_what_a_definition_replaces_and_tasks_what_the_journal_keeps() {
    let kept = |name: &str, value: &str| (name.to_owned(), TextRecord::Whole(value.to_owned()));
    let change = |set: Vec<(String, TextRecord)>, del: &[&str]| MemoryChange {
        set,
        del: del.iter().map(|name| (*name).to_owned()).collect(),
        ..MemoryChange::default()
    };
    let tasks = TasksKept { set: vec![kept("load", "120")], del: vec!["old".to_owned()] };
    let events = Story::new()
        .run("r0", "sales", "ptc_lisp", "{}")
        .turn("r0/t1")
        .program("r0/t1", "(def total 1)")
        .apply_message("r0/t1", change(vec![kept("total", "1"), kept("rows", "[1 2]")], &[]))
        .ended("r0/t1")
        .turn("r0/t2")
        .program("r0/t2", "(def total 2)")
        .apply_message("r0/t2", change(vec![kept("total", "2"), kept("new", ":x")], &["rows"]))
        .apply_message("r0/t2", tasks)
        .ended("r0/t2")
        .events();
    let shown = rows(&mut transcript_of(&events)).join("\n");
    for line in ["+ total 1", "~ total 1  →  2", "+ new :x", "- rows [1 2]", "tasks   ✓ load  120", "- old  forgotten"]
    {
        assert!(shown.contains(line), "{line:?} is not in\n{shown}");
    }
    let dir = tempfile::tempdir().unwrap();
    let opened = saved(dir.path(), &events);
    let mut read = Transcript::of_session(&opened);
    rows(&mut read);
    // The later turn is read first: what it replaces is known all the same.
    let (turn, places) = read.unread().pop().unwrap();
    let body = opened.turns.read(&turn, places).unwrap();
    read.read_turn(&turn, &body.events, None);
    read.set_replaced(&turn, &body.replaced);
    let shown = rows(&mut read).join("\n");
    assert!(shown.contains("~ total 1  →  2"), "{shown}");
}
