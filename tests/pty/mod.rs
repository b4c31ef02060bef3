//! The real program in a pseudo-terminal: opened, used, stopped, resized, left and killed.

#![cfg(unix)]

mod candidates;
mod compare;
mod panics;
mod paths;
mod presses;
mod prompts;
mod questions;
mod repl;
mod sessions;
mod suggest;
pub(crate) mod terminal;
mod tour;
mod traffic;
mod typing;

use std::process::{Command, Stdio};

use rustix::process::Signal;
use terminal::{Start, Terminal, home};

const F2: &str = "\x1bOQ";
const F3: &str = "\x1bOR";
const F5: &str = "\x1b[15~";
const CTRL_DOWN: &str = "\x1b[1;5B";
const CTRL_E: &str = "\x05";
const CTRL_Q: &str = "\x11";
const CTRL_U: &str = "\x15";
const CTRL_Z: &str = "\x1a";
const ENTER: &str = "\r";

fn open(home: &tempfile::TempDir) -> Terminal {
    let terminal = Start::workbench(home.path()).args(&["mood.toml"]).spawn();
    terminal.wait_for("✓ 2 fields");
    terminal
}

#[test]
fn it_opens_runs_two_turns_and_leaves_the_terminal_as_it_was() {
    let (home, _) = home("sample:missing_field");
    let mut terminal = open(&home);
    terminal.send(F5);
    terminal.wait_for("✓ returned");
    let screen = terminal.screen();
    for part in ["Turn 1", "✗ check", "Feedback sent to the model", "Turn 2", "Return", "turns 2/3"] {
        assert!(screen.contains(part), "{part}:\n{screen}");
    }
    terminal.send(CTRL_Q);
    assert_eq!(terminal.exit_code(), 0);
    terminal.assert_restored();
}

#[test]
fn a_saved_run_is_opened_and_replayed() {
    let (home, _) = home("sample");
    let mut terminal = open(&home);
    terminal.send(F5);
    terminal.wait_for("✓ returned");
    terminal.send(F3);
    // The examples of the same day are listed first; the run's own line comes a moment later.
    terminal.wait_for("json      sample");
    terminal.send(ENTER);
    terminal.wait_for("read-only");
    terminal.wait_for("read from");
    terminal.send("r");
    terminal.wait_for("✓ replayed: identical");
    terminal.send(CTRL_Q);
    assert_eq!(terminal.exit_code(), 0);
}

#[test]
fn a_run_that_asks_is_stopped_with_escape_pressed_twice() {
    let (home, _) = home("human");
    let mut terminal = open(&home);
    terminal.send(F5);
    terminal.wait_for("You are the model");
    terminal.send("\x1b");
    terminal.wait_for("Esc again stops it");
    terminal.send("\x1b");
    terminal.wait_for("✗ cancelled");
    terminal.send(CTRL_Q);
    assert_eq!(terminal.exit_code(), 0);
}

#[test]
fn a_user_is_the_model() {
    let (home, _) = home("human");
    let mut terminal = open(&home);
    terminal.send(F5);
    terminal.wait_for("You are the model");
    terminal.wait_for("▲");
    terminal.wait_for("F5 send reply");
    terminal.send(CTRL_DOWN);
    terminal.send("{\"mood\": \"good\", \"score\": 1}");
    terminal.send(F5);
    terminal.wait_for("✓ returned");
    terminal.send(CTRL_Q);
    assert_eq!(terminal.exit_code(), 0);
}

#[test]
fn what_is_typed_is_checked_and_asked_about_before_leaving() {
    let (home, agent) = home("sample");
    let mut terminal = open(&home);
    terminal.send("{{tone}} ");
    terminal.wait_for("✗ line 1:1");
    terminal.send(CTRL_Q);
    terminal.wait_for("Unsaved edits");
    terminal.send("\x1b");
    terminal.wait_until_gone("Unsaved edits");
    terminal.send(CTRL_U);
    terminal.send(CTRL_U);
    terminal.wait_until_gone("✗ line 1:1");
    terminal.send("Please! ");
    terminal.send(CTRL_Q);
    terminal.wait_for("Unsaved edits");
    terminal.send("s");
    assert_eq!(terminal.exit_code(), 0);
    let saved = std::fs::read_to_string(agent).unwrap();
    assert!(saved.contains("Please! Mood of: {{text}}"), "{saved}");
}

#[test]
fn a_signal_restores_the_terminal_and_keeps_the_edits_for_the_next_start() {
    for (signal, code) in [(Signal::TERM, 143), (Signal::HUP, 129), (Signal::INT, 130), (Signal::QUIT, 131)] {
        let (home, _) = home("sample");
        let mut terminal = open(&home);
        terminal.send("Kept words. ");
        terminal.wait_for("Kept words. Mood of");
        terminal.signal(signal);
        assert_eq!(terminal.exit_code(), code);
        terminal.assert_restored();
        let mut again = Start::workbench(home.path()).args(&["mood.toml"]).spawn();
        again.wait_for("r restore");
        again.send("r");
        again.wait_for("Kept words. Mood of");
        again.send(CTRL_Q);
        again.wait_for("Unsaved edits");
        again.send("d");
        assert_eq!(again.exit_code(), 0);
        let last = open(&home);
        assert!(!last.screen().contains("Kept drafts"), "discarded drafts are not offered again");
    }
}

#[test]
fn it_is_resized_down_to_the_smallest_screen_and_below() {
    let (home, _) = home("sample");
    let mut terminal = open(&home);
    terminal.send(F5);
    terminal.wait_for("✓ returned");
    terminal.resize(40, 10);
    terminal.wait_for("F2 run page");
    terminal.send(F2);
    terminal.wait_for("score");
    terminal.wait_for("F1 help");
    terminal.resize(39, 9);
    terminal.wait_for("This terminal is 39×9");
    terminal.resize(1, 1);
    terminal.resize(80, 24);
    terminal.wait_for("Return");
    terminal.send(F2);
    terminal.wait_for("Mood of");
    terminal.send(CTRL_Q);
    assert_eq!(terminal.exit_code(), 0);
    terminal.assert_restored();
}

#[test]
fn the_text_goes_through_the_users_editor_which_gets_every_key() {
    use std::os::unix::fs::PermissionsExt as _;
    let (home, _) = home("sample");
    let editor = home.path().join("my editor");
    // Reads one key from the terminal, so that a reader that the interface left running would be noticed.
    let script = "#!/bin/sh\nold=$(stty -g)\nstty raw\necho EDITING\nkey=$(dd bs=1 count=1 2>/dev/null)\nstty $old\nprintf 'Edited with %s of {{text}}' \"$key\" > \"$2\"\n";
    std::fs::write(&editor, script).unwrap();
    std::fs::set_permissions(&editor, std::fs::Permissions::from_mode(0o755)).unwrap();
    let command = format!("'{}' --flag", editor.display());
    let mut terminal = Start::workbench(home.path()).args(&["mood.toml"]).env("VISUAL", command).spawn();
    terminal.wait_for("✓ 2 fields");
    terminal.send(CTRL_E);
    terminal.wait_for("EDITING");
    terminal.send("k");
    terminal.wait_for("Edited with k of");
    terminal.send(CTRL_U);
    terminal.wait_for("Mood of");
    terminal.send(CTRL_Q);
    assert_eq!(terminal.exit_code(), 0);
    terminal.assert_restored();
}

#[test]
fn the_shell_gets_the_terminal_on_ctrl_z_and_gives_it_back() {
    let (home, _) = home("sample");
    let shell = std::path::Path::new("/bin/sh");
    let mut terminal = Start::program(shell, home.path()).args(&["-i"]).env("PS1", "PROMPT> ").spawn();
    terminal.wait_for_prompt("PROMPT>");
    terminal.send(&format!("{} mood.toml{ENTER}", env!("CARGO_BIN_EXE_ptc-workbench")));
    terminal.wait_for("✓ 2 fields");
    terminal.send(CTRL_Z);
    terminal.wait_for("Stopped");
    terminal.wait_for_prompt("PROMPT>");
    terminal.send(&format!("echo BACK IN THE $((1+1)) SHELL{ENTER}"));
    terminal.wait_for("BACK IN THE 2 SHELL");
    terminal.wait_for_prompt("PROMPT>");
    // The shell gets the signal of the new size, the stopped program does not.
    terminal.resize(100, 30);
    terminal.send(&format!("fg{ENTER}"));
    terminal.wait_for("✓ 2 fields");
    terminal.wait_for_row(29, "F1 help");
    terminal.send("Typed after. ");
    terminal.wait_for("Typed after. Mood");
    terminal.send(CTRL_Q);
    terminal.wait_for("Unsaved edits");
    terminal.send("d");
    terminal.wait_for_prompt("PROMPT>");
    terminal.send(&format!("exit{ENTER}"));
    assert_eq!(terminal.exit_code(), 0);
}

#[test]
fn a_session_leader_stays_because_no_shell_would_wake_it() {
    let (home, _) = home("sample");
    let mut terminal = open(&home);
    terminal.send(CTRL_Z);
    terminal.wait_for("not suspended: no shell is waiting");
    terminal.send(CTRL_Q);
    assert_eq!(terminal.exit_code(), 0);
}

#[test]
fn without_a_terminal_it_says_what_works_instead() {
    let (home, _) = home("sample");
    let output = Command::new(env!("CARGO_BIN_EXE_ptc-workbench"))
        .current_dir(home.path())
        .env("HOME", home.path())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    let printed_text = String::from_utf8(output.stderr).unwrap();
    assert!(printed_text.contains("needs a terminal") && printed_text.contains("run AGENT.toml"), "{printed_text}");
    assert!(output.stdout.is_empty());
}

#[test]
fn a_terminal_that_cannot_place_text_and_a_screen_reader_get_lines() {
    let (home, _) = home("sample");
    for (name, value) in [("TERM", "dumb"), ("ORCA_RUNNING", "1")] {
        let mut terminal = Start::workbench(home.path()).env(name, value).spawn();
        assert_eq!(terminal.exit_code(), 0);
        terminal.wait_for_bytes(b"ptc-workbench run ");
        assert!(!terminal.bytes().contains(&0x1b), "nothing is drawn");
    }
    // The screen is asked for with a flag.
    let file = home.path().join("drawn.toml");
    std::fs::write(&file, "[interface]\nplain = false\n").unwrap();
    let name = file.to_str().unwrap();
    let mut terminal = Start::workbench(home.path()).args(&["--config", name]).env("TERM", "dumb").spawn();
    assert_eq!(terminal.exit_code(), 2);
    terminal.wait_for_bytes(b"needs a terminal");
    terminal.wait_for_bytes(b"run AGENT.toml");
}

/// A home folder in which the workbench made one session.
fn home_after_a_run() -> tempfile::TempDir {
    let (home, _) = home("sample");
    let mut terminal = open(&home);
    terminal.send(F5);
    terminal.wait_for("✓ returned");
    terminal.send(CTRL_Q);
    assert_eq!(terminal.exit_code(), 0);
    home
}

#[test]
fn a_turn_of_a_live_run_is_taken_apart_and_the_repl_answers() {
    let (home, _) = home("sample:missing_field");
    let mut terminal = open(&home);
    terminal.send(F5);
    terminal.wait_for("✓ returned");
    terminal.send(F2);
    terminal.send("k");
    terminal.wait_for("open turn");
    terminal.send(ENTER);
    terminal.wait_for("whole request");
    terminal.send("\x1b[Z\x1b[Z");
    terminal.wait_for("REPL on the memory and data");
    terminal.send(ENTER);
    terminal.send("(+ 40 2)\r");
    terminal.wait_for("42");
    terminal.send("\x1b");
    terminal.wait_for("Enter type");
    terminal.send("\x1b");
    terminal.wait_for("open turn");
    terminal.send(CTRL_Q);
    assert_eq!(terminal.exit_code(), 0);
    terminal.assert_restored();
}

#[test]
fn a_session_given_by_name_is_opened() {
    let home = home_after_a_run();
    let mut terminal = Start::workbench(home.path()).args(&["last"]).size(80, 24).spawn();
    terminal.wait_for("read-only");
    terminal.wait_for_bytes(b"Return");
    terminal.send(CTRL_Q);
    assert_eq!(terminal.exit_code(), 0);
}

#[test]
fn a_session_given_by_path_is_that_file_and_its_damage_is_reported() {
    let home = home_after_a_run();
    let folder = home.path().join(".local/share/ptc-workbench/sessions");
    let whole =
        std::fs::read_dir(folder).unwrap().find_map(|entry| std::fs::read_to_string(entry.unwrap().path()).ok());
    let other = whole.unwrap().replace("\"name\":\"mood\"", "\"name\":\"gloom\"");
    std::fs::write(home.path().join("mod.jsonl"), &other).unwrap();
    std::fs::write(home.path().join("torn.jsonl"), &other[..other.len() - 20]).unwrap();
    for (file, shown) in [("mod.jsonl", "✓ returned"), ("torn.jsonl", "! not finished")] {
        let mut terminal = Start::workbench(home.path()).args(&[file]).spawn();
        terminal.wait_for(&format!("Session {file}"));
        terminal.wait_for(shown);
        terminal.wait_for("gloom");
        assert_eq!(terminal.screen().contains("damaged:"), file == "torn.jsonl", "{}", terminal.screen());
        terminal.send(CTRL_Q);
        assert_eq!(terminal.exit_code(), 0);
    }
}

#[test]
fn a_finding_is_corrected_by_one_key_and_words_are_replaced() {
    let (home, agent) = home("sample");
    let mut terminal = open(&home);
    terminal.send("{{tone}} ");
    terminal.wait_for("F8 ");
    terminal.send("\x1b[19~");
    terminal.wait_for("tone :string");
    terminal.send("\x1bgp");
    terminal.send("\x06");
    terminal.wait_for("type the text to find");
    terminal.send("mood of");
    terminal.wait_for("1 of 1");
    terminal.send("\tFeeling in\x1ba");
    terminal.wait_for("replaced 1 match");
    terminal.send("\x1b");
    terminal.wait_until_gone("no matches");
    terminal.send("\x13");
    terminal.wait_for("✓ saved");
    terminal.send(CTRL_Q);
    assert_eq!(terminal.exit_code(), 0);
    let saved = std::fs::read_to_string(agent).unwrap();
    assert!(saved.contains("{{tone}} Feeling in: {{text}}") && saved.contains("tone :string"), "{saved}");
}

#[test]
fn the_tour_is_shown_at_the_first_start_only() {
    let (home, _) = home("sample");
    let mut first = Start::workbench(home.path()).args(&["mood.toml"]).first_time(home.path()).spawn();
    first.wait_for("Tour 1 of 6");
    first.send(ENTER);
    first.wait_for("Tour 2 of 6");
    first.send("\x1b");
    first.wait_until_gone("Tour 2 of 6");
    first.send(CTRL_Q);
    assert_eq!(first.exit_code(), 0);
    assert!(home.path().join(".local/share/ptc-workbench/tour-seen").exists());
}

#[test]
fn the_tour_does_not_cover_a_session_that_is_opened_at_the_first_start() {
    let (home, _) = home("sample");
    let sessions = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/sessions")).unwrap();
    let session =
        sessions.map(|entry| entry.unwrap().path()).find(|path| path.extension().is_some_and(|end| end == "jsonl"));
    let session = session.unwrap().display().to_string();
    let mut first = Start::workbench(home.path()).args(&[&session]).first_time(home.path()).spawn();
    first.wait_for("r replay");
    assert!(!first.screen().contains("Tour 1"));
    first.send(CTRL_Q);
    assert_eq!(first.exit_code(), 0);
    assert!(!home.path().join(".local/share/ptc-workbench/tour-seen").exists(), "it is shown at the next start");
}

#[test]
fn the_mouse_is_left_to_the_terminal_when_the_configuration_says_so_and_a_theme_is_taken_from_its_file() {
    let (home, _) = home("sample");
    let config = home.path().join(".config/ptc-workbench");
    std::fs::create_dir_all(config.join("themes")).unwrap();
    std::fs::write(config.join("config.toml"), "[interface]\nmouse = false\ntheme = \"mine\"\n").unwrap();
    std::fs::write(config.join("themes/mine.toml"), "base = \"dark\"\n[roles]\ntitle = \"#010203\"\n").unwrap();
    let mut terminal = Start::workbench(home.path()).args(&["mood.toml"]).env("COLORTERM", "truecolor").spawn();
    terminal.wait_for("✓ 2 fields");
    terminal.send(CTRL_Q);
    assert_eq!(terminal.exit_code(), 0);
    let out = String::from_utf8_lossy(&terminal.bytes()).into_owned();
    assert!(!out.contains("\x1b[?1000h"), "no mouse is asked for");
    assert!(out.contains("38;2;1;2;3"), "the title has the colour of the file");
    std::fs::write(config.join("themes/mine.toml"), "[roles]\ntitel = \"red\"\n").unwrap();
    let mut broken = Start::workbench(home.path()).args(&["mood.toml"]).spawn();
    broken.wait_for_bytes(b"mine.toml:2:1");
    broken.wait_for_bytes("did you mean `title`?".as_bytes());
    assert_ne!(broken.exit_code(), 0);
}
