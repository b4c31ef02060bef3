//! The compare screen of the real program: both modes by one key, aligned, a turn opened; a matrix of three trials, opened again.

use super::terminal::{Start, home};
use super::{CTRL_Q, ENTER};

const F4: &str = "\x1bOS";
const F9: &str = "\x1b[20~";

#[test]
fn both_modes_run_side_by_side_and_a_matrix_of_three_trials_follows() {
    let (home, _) = home("sample");
    let mut terminal = Start::workbench(home.path()).args(&["mood.toml"]).size(120, 40).spawn();
    terminal.wait_for("✓ 2 fields");
    terminal.send(F4);
    terminal.wait_for("Nothing is compared yet");
    terminal.send(F9);
    terminal.wait_for("run 2 against run 1: first difference");
    let screen = terminal.screen();
    for part in ["ptc_lisp · sample", "json · sample", "Turn 1", "◆"] {
        assert!(screen.contains(part), "the transcripts stay, {part}:\n{screen}");
    }
    terminal.send("t");
    terminal.wait_for("First difference");
    let screen = terminal.screen();
    for part in ["1 ptc_lisp · sample", "2 json · sample", "turns  ", "kept out", "◆≠", "First difference"] {
        assert!(screen.contains(part), "{part}:\n{screen}");
    }
    terminal.send(ENTER);
    terminal.wait_for("read-only");
    terminal.send("\x1b");
    terminal.wait_for("First difference");
    terminal.send("m");
    terminal.wait_for("New matrix");
    terminal.send(ENTER);
    terminal.wait_for("6 of 6 trials");
    terminal.wait_for("▰▰▰");
    assert!(terminal.screen().contains("3/3"), "{}", terminal.screen());
    terminal.send(ENTER);
    terminal.wait_for("read-only");
    terminal.send(F4);
    terminal.send("M");
    terminal.wait_for("✓ 6 passed");
    terminal.send(CTRL_Q);
    assert_eq!(terminal.exit_code(), 0);
    terminal.assert_restored();
}
