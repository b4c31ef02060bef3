//! Questions about prompts, answered by the real program in a pseudo-terminal as docs/prompts.md describes.

use super::terminal::{Start, Terminal, home};
use super::{ENTER, F2, F5};

/// To the run: Alt-G, then r.
const TO_RUN: &str = "\x1bgr";
/// To the prompt: Alt-G, then p.
const TO_PROMPT: &str = "\x1bgp";
const SHIFT_F9: &str = "\x1b[20;2~";

fn open(home: &tempfile::TempDir) -> Terminal {
    let terminal = Start::workbench(home.path()).args(&["mood.toml"]).size(140, 40).spawn();
    terminal.wait_for("✓ 2 fields");
    terminal
}

#[test]
fn what_fills_the_prompt_by_kind_over_the_turns_is_one_key() {
    let (home, _) = home("sample:missing_field");
    let mut terminal = open(&home);
    terminal.send(F5);
    terminal.wait_for("✓ returned");
    terminal.send(TO_RUN);
    terminal.wait_for("Enter open turn");
    terminal.send("b");
    terminal.wait_for("over the turns · size by kind");
    let screen = terminal.screen();
    for part in ["P task", "F feedback", "t1", "t2"] {
        assert!(screen.contains(part), "{part}:\n{screen}");
    }
}

#[test]
fn which_part_of_the_prompt_made_it_do_that_is_found_by_comparing_two_runs() {
    let (home, _) = home("sample");
    let mut terminal = open(&home);
    terminal.send(F5);
    terminal.wait_for("✓ returned");
    terminal.send(TO_PROMPT);
    terminal.send(" Be brief.");
    terminal.wait_for("older draft");
    terminal.send(F5);
    terminal.wait_for("draft: prompt");
    terminal.wait_for("✓ returned");
    terminal.send(TO_RUN);
    terminal.wait_for("Enter open turn");
    terminal.send("=");
    terminal.wait_for("run 2 against run 1:");
    terminal.send("t");
    terminal.wait_for("Turns");
    terminal.send(F2);
    terminal.wait_for("[2 ✓");
    terminal.send("[");
    terminal.wait_for("[1 ✓");
}

#[test]
fn what_a_change_of_the_prompt_did_to_the_pass_rate_is_one_key_after_the_edit() {
    let (home, _) = home("sample");
    let mut terminal = open(&home);
    terminal.send(TO_PROMPT);
    terminal.send(" Be brief.");
    terminal.wait_for("● unsaved");
    terminal.send(SHIFT_F9);
    terminal.wait_for("the matrix is complete");
    let screen = terminal.screen();
    for part in ["draft", "saved"] {
        assert!(screen.contains(part), "{part}:\n{screen}");
    }
    terminal.send(ENTER);
    terminal.wait_for("read-only");
}
