//! The sessions screen of the real program: from a search to an export, without leaving the keyboard.

use std::path::Path;

use super::terminal::{Start, home};
use super::{CTRL_Q, ENTER, F3, F5, home_after_a_run};

const RIGHT: &str = "\x1b[C";
const TAB: &str = "\t";
const CTRL_A: &str = "\x01";

#[test]
fn a_session_is_found_opened_forked_with_another_reply_replayed_and_exported() {
    let home = home_after_a_run();
    let mut terminal = Start::workbench(home.path()).args(&["mood.toml"]).size(120, 40).spawn();
    terminal.wait_for("✓ 2 fields");
    terminal.send(F3);
    terminal.wait_for("Preview");
    terminal.send("/");
    terminal.wait_for("turns>3");
    terminal.send("love agent:mood");
    terminal.wait_for("1 of ");
    terminal.wait_for("prompt: ");
    terminal.send(ENTER);
    terminal.wait_for("read-only");

    terminal.send("f");
    terminal.wait_for("continues live from there");
    terminal.send(RIGHT);
    terminal.wait_for("\"mood\":");
    terminal.send(TAB);
    terminal.send(TAB);
    terminal.send(TAB);
    terminal.wait_for("The new reply of the model");
    terminal.send(CTRL_A);
    terminal.send("{\"mood\": \"bad\", \"score\": 0.125}");
    terminal.send(F5);
    terminal.wait_until_gone("Fork: a new session");
    terminal.wait_for("✓ returned");
    terminal.wait_for("0.125");

    terminal.send(F3);
    terminal.wait_for("read-only");
    terminal.send(F3);
    terminal.wait_for("▸ └ fork t1");
    terminal.send("r");
    terminal.wait_for("✓ replayed: identical");

    terminal.send("e");
    terminal.wait_for("nothing is omitted");
    for _ in 0..3 {
        terminal.send(TAB);
    }
    terminal.wait_for("Path of the file");
    terminal.send("fork.md");
    terminal.send(ENTER);
    terminal.wait_for("✓ exported /");
    terminal.wait_for("/fork.md");
    let exported = std::fs::read_to_string(home.path().join("fork.md")).unwrap();
    assert!(exported.contains("0.125"), "{exported}");
    terminal.send(CTRL_Q);
    assert_eq!(terminal.exit_code(), 0);
}

#[test]
#[cfg(target_os = "linux")]
fn leaving_with_a_session_that_no_folder_took_is_an_error_that_says_so() {
    let (home, _) = home("sample:missing_field");
    // No file may be longer than 4 KiB, in the spare folder neither.
    let limited = "ulimit -f 4; exec \"$0\" \"$@\"";
    let program = env!("CARGO_BIN_EXE_ptc-workbench");
    let arguments = ["-c", limited, program, "--spare-sessions", "spare", "mood.toml"];
    let mut terminal = Start::program(Path::new("bash"), home.path()).args(&arguments).size(120, 40).spawn();
    terminal.wait_for("✓ 2 fields");
    terminal.send(F5);
    terminal.wait_for("cannot be written");
    terminal.send(CTRL_Q);
    terminal.wait_for_bytes(b"could not be written either");
    assert_eq!(terminal.exit_code(), 2);
}
