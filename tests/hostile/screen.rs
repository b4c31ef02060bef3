//! The screen of the real program: a hostile agent in the editors, its session in every view, in the inspector, the dialogs and side by
//! side.

use std::path::Path;

use super::plant::foreign;
use crate::cli::program::Program;
use crate::pty::terminal::{Start, Terminal};

const F3: &str = "\x1bOR";
const F6: &str = "\x1b[17~";
const ENTER: &str = "\r";
const ESC: &str = "\x1b";
const CTRL_Q: &str = "\x11";

/// Opens the agent in the program's folder and looks at everything.
pub(super) fn try_all(program: &Program, agent: &Path) {
    let sessions = program.sessions_dir();
    let start = Start::workbench(program.dir()).env("LOCAL_KEY", "a-key-of-nobody-1234").size(140, 50);
    let mut terminal = start
        .args(&["--config", "config.toml", "--sessions", &sessions.to_string_lossy(), &agent.to_string_lossy()])
        .spawn();
    terminal.wait_for("zqprompt");
    terminal.wait_for("zqcontext");
    terminal.send(F6);
    terminal.wait_for("Preview of the request");
    terminal.send(ESC);
    terminal.wait_until_gone("Preview of the request");
    terminal.send(F3);
    terminal.wait_for("ptc_lisp  evil");
    terminal.send(ENTER);
    terminal.wait_for("read-only");
    through(&mut terminal, "zqprint");
    for view in ["raw view", "wire view"] {
        terminal.send("v");
        terminal.wait_for(view);
        through(&mut terminal, "zq");
    }
    terminal.send("v");
    terminal.wait_until_gone("wire view");
    inspect(&mut terminal);
    for (key, words) in [("e", "Export "), ("w", "Note on "), ("t", "Tags of ")] {
        terminal.send(key);
        terminal.wait_for(words);
        terminal.send(ESC);
        terminal.wait_until_gone(words);
    }
    terminal.send("r");
    terminal.wait_for("✓ replayed: identical");
    terminal.send(CTRL_Q);
    assert_eq!(terminal.exit_code(), 0);
    let found = foreign(&terminal.bytes());
    assert!(found.is_empty(), "the terminal was sent {found:#?}");
}

/// Pages through the transcript from its start to its end.
fn through(terminal: &mut Terminal, words: &str) {
    terminal.send("g");
    for _ in 0..12 {
        terminal.send("\x1b[6~");
    }
    terminal.send("\x1b[5~");
    terminal.wait_for(words);
}

/// Every tab of the inspector.
fn inspect(terminal: &mut Terminal) {
    terminal.send("G");
    terminal.send("k");
    terminal.send(ENTER);
    terminal.wait_for("Extract");
    for _ in 0..7 {
        for _ in 0..4 {
            terminal.send("j");
        }
        terminal.send("\t");
    }
    terminal.send(ESC);
    terminal.wait_until_gone("Extract");
}
