//! The questions of docs/debugging.md, answered by the real program in a pseudo-terminal about a recorded run of 33 turns.

use super::terminal::{Start, Terminal};
use super::{CTRL_Q, ENTER, F2, F3, F5, home_after_a_run};

const DOWN: &str = "\x1b[B";
const ESC: &str = "\x1b";
const HOME: &str = "\x1b[H";
const BACK_TAB: &str = "\x1b[Z";
const F11: &str = "\x1b[23~";
/// A run in which a tool failed in four turns, one turn was slow and one waited.
const AUDIT: &str = include_str!("../../assets/scenes/audit.jsonl");
const ID: &str = "2026-11-20T09-00-00Z-7b5f546d";

/// The program with the long run among its sessions.
fn open(home: &tempfile::TempDir, size: (u16, u16)) -> Terminal {
    let made = walk(home.path()).into_iter().find(|path| path.extension().is_some_and(|kind| kind == "jsonl"));
    let folder = made.as_ref().and_then(|path| path.parent()).unwrap();
    std::fs::write(folder.join(format!("{ID}.jsonl")), AUDIT).unwrap();
    let terminal = Start::workbench(home.path()).args(&["mood.toml"]).size(size.0, size.1).spawn();
    terminal.wait_for("✓ 2 fields");
    terminal
}

/// The same with the session open that a search finds.
fn open_session(home: &tempfile::TempDir, size: (u16, u16), query: &str) -> Terminal {
    let mut terminal = open(home, size);
    terminal.send(F3);
    terminal.wait_for("result");
    terminal.send("/");
    terminal.send(query);
    terminal.wait_for("1 of ");
    terminal.send(ENTER);
    terminal.wait_for("read-only");
    terminal
}

fn walk(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { walk(&path) } else { vec![path] }).collect()
}

#[test]
fn the_tool_failure_across_sessions_and_each_failing_turn_are_a_few_keys_away() {
    let home = home_after_a_run();
    let mut terminal = open(&home, (140, 40));
    terminal.send(F3);
    terminal.wait_for("Preview");
    terminal.send("/");
    terminal.wait_for("turns>3");
    terminal.send("tool:fetch failed");
    terminal.wait_for("1 of ");
    terminal.send(ENTER);
    terminal.wait_for("no invoice 7");
    terminal.wait_for("t33");
    terminal.send("}");
    terminal.wait_for("failure 2 of 5");
    terminal.send("}");
    terminal.wait_for("no invoice 18");
    terminal.send(ESC);
    terminal.wait_for("Preview");
    terminal.send("x");
    terminal.wait_for("tool_error of fetch");
    terminal.wait_for("r0/t26/c");
    terminal.send(DOWN);
    terminal.send(ENTER);
    terminal.wait_for("read-only");
    terminal.wait_for("no invoice 7");
    terminal.send(CTRL_Q);
    assert_eq!(terminal.exit_code(), 0);
}

#[test]
fn the_overview_names_why_a_turn_was_slow_at_80_columns_too() {
    for size in [(80, 24), (140, 40)] {
        let home = home_after_a_run();
        let mut terminal = open_session(&home, size, "agent:audit");
        terminal.send("u");
        terminal.wait_for("33 turns");
        terminal.wait_for("5 failed");
        terminal.send("s");
        terminal.wait_for("slowest first");
        terminal.send(HOME);
        terminal.wait_for("model 1.6 s");
        terminal.send(DOWN);
        terminal.wait_for("waiting 1.");
        terminal.send("/");
        terminal.send("retried");
        terminal.send(ENTER);
        terminal.wait_for("1 of 33 turns");
        terminal.send(ENTER);
        terminal.wait_for("Turn 15");
        terminal.send(CTRL_Q);
        assert_eq!(terminal.exit_code(), 0);
    }
}

#[test]
fn what_fills_the_prompt_and_what_was_in_memory_is_shown_for_a_turn_of_a_session() {
    for size in [(80, 24), (140, 40)] {
        let home = home_after_a_run();
        let mut terminal = open_session(&home, size, "agent:sales mode:ptc_lisp");
        terminal.send("b");
        terminal.wait_for("over the turns");
        terminal.wait_for("S system");
        terminal.send(BACK_TAB);
        terminal.wait_for("[Wire]");
        terminal.send(BACK_TAB);
        terminal.wait_for("[Memory]");
        terminal.wait_for("names");
        terminal.send("i");
        terminal.wait_for("REPL on the memory and data of this turn");
        terminal.send("(count data/rows)");
        terminal.send(ENTER);
        terminal.wait_for("500");
        terminal.send(CTRL_Q);
        assert_eq!(terminal.exit_code(), 0);
    }
}

#[test]
fn a_part_of_a_request_is_dropped_and_the_model_asked_again_beside_the_run() {
    for size in [(80, 24), (140, 40)] {
        let home = home_after_a_run();
        let mut terminal = open(&home, size);
        terminal.send(F5);
        terminal.wait_for("✓ returned");
        // On a small screen the run has the page already.
        if size.0 >= 100 {
            terminal.send(F2);
        }
        terminal.send(ENTER);
        // The parts are there when the turn has been read.
        terminal.wait_for("whole request");
        terminal.send("x");
        terminal.wait_for("Drop a part of the request of r0/t1");
        terminal.send(ENTER);
        terminal.wait_for("first difference at r0/t1: request");
        terminal.wait_for("Compare  mood · 2 runs");
        terminal.send(CTRL_Q);
        assert_eq!(terminal.exit_code(), 0);
    }
}

#[test]
fn a_draft_without_cases_opens_the_tests_with_the_next_step() {
    let home = home_after_a_run();
    let mut terminal = open(&home, (100, 30));
    terminal.send(F11);
    terminal.wait_for("no cases yet");
    terminal.send(ESC);
    terminal.wait_for("✓ 2 fields");
    terminal.send(CTRL_Q);
    assert_eq!(terminal.exit_code(), 0);
}
