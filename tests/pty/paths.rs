//! The main paths that no other file takes: gates, tools, a killed program and a killed run, no colours, line by line.

use std::path::Path;

use rustix::process::Signal;

use super::terminal::{Start, Terminal, home};
use super::typing::bytes;
use super::{CTRL_Q, ENTER, F3, F5, open};

const CTRL_A: &str = "\x01";
const CTRL_S: &str = "\x13";

/// Returns whether the name of a file has this ending.
fn is_named(name: &str, ending: &str) -> bool {
    std::path::Path::new(name).extension().is_some_and(|found| found == ending)
}

/// Presses chords as the table of actions writes them.
fn press(terminal: &mut Terminal, chords: &[&str]) {
    for chord in chords {
        terminal.send(&bytes(chord));
    }
}

fn leave(mut terminal: Terminal) {
    terminal.send(CTRL_Q);
    assert_eq!(terminal.exit_code(), 0);
    terminal.assert_restored();
}

#[test]
fn a_run_stops_at_the_gates_and_continues_with_what_was_changed_there() {
    let (home, _) = home("sample");
    let mut terminal = open(&home);
    press(&mut terminal, &["f7"]);
    terminal.wait_for("runs stop before");
    press(&mut terminal, &["shift-f7", "f5"]);
    terminal.wait_for("Before the request is sent");
    terminal.wait_for("F5 send it");
    press(&mut terminal, &["ctrl-end"]);
    terminal.send("Be brief.");
    terminal.wait_for("Be brief.");
    terminal.send(F5);
    terminal.wait_for("Before the reply is applied");
    terminal.wait_for("F5 apply it");
    terminal.send(CTRL_A);
    terminal.send("{\"mood\": \"bad\", \"score\": 0.125}");
    terminal.wait_for("✓ fits");
    terminal.send(F5);
    // The frame comes in pieces.
    for part in ["✓ returned", "✎ request edited by user", "✎ reply edited by user", "0.125"] {
        terminal.wait_for(part);
    }
    leave(terminal);
}

#[test]
fn the_result_of_a_tool_is_changed_before_the_program_gets_it() {
    let home = tempfile::tempdir().unwrap();
    let mut terminal = Start::workbench(home.path()).args(&["sales"]).size(120, 40).spawn();
    terminal.wait_for("✓ 1 field");
    press(&mut terminal, &["alt-g r", "alt-f7", "f5"]);
    terminal.wait_for("The result of region_name {\"id\":1}");
    terminal.send(CTRL_A);
    terminal.send("\"Nowhere\"");
    terminal.wait_for("✓ valid");
    for id in 2..5 {
        terminal.send(F5);
        terminal.wait_for(&format!("The result of region_name {{\"id\":{id}}}"));
    }
    terminal.send(F5);
    terminal.wait_for("✓ returned");
    terminal.wait_for("Nowhere");
    leave(terminal);
}

#[test]
fn a_tool_is_written_checked_saved_and_called() {
    let (home, agent) = home("sample");
    let mut terminal = open(&home);
    press(&mut terminal, &["alt-g t"]);
    let tool = "[tools.lookup]\nkind = \"snippet\"\nsignature = \"(id :int) -> :string\"\ncode = \"(str data/id)\"\n";
    terminal.send(&format!("\x1b[200~{tool}\x1b[201~"));
    terminal.wait_for("json mode has no tools");
    press(&mut terminal, &["alt-m p"]);
    terminal.wait_for("ptc_lisp · sample");
    terminal.wait_until_gone("json mode has no tools");
    terminal.send(CTRL_S);
    terminal.wait_for("✓ saved");
    terminal.send(F5);
    terminal.wait_for("✓ returned");
    assert!(terminal.screen().contains("(tool/lookup {:id "), "it is called:\n{}", terminal.screen());
    leave(terminal);
    let saved = std::fs::read_to_string(agent).unwrap();
    assert!(saved.contains("[tools.lookup]") && saved.contains("mode = \"ptc_lisp\""), "{saved}");
}

/// Waits until this holds of the files below a folder.
fn wait_for_file(folder: &Path, holds: impl Fn(&str, &str) -> bool) {
    let limit = std::time::Instant::now() + std::time::Duration::from_secs(30);
    let files = || std::fs::read_dir(folder).into_iter().flatten().flatten();
    let fits = |entry: std::fs::DirEntry| {
        let text = std::fs::read_to_string(entry.path()).unwrap_or_default();
        holds(&entry.file_name().to_string_lossy(), &text)
    };
    while !files().any(fits) {
        assert!(std::time::Instant::now() < limit, "nothing fits in {}", folder.display());
        std::thread::sleep(crate::POLL);
    }
}

#[test]
fn what_was_typed_before_the_program_was_killed_is_offered_again() {
    let (home, _) = home("sample");
    let mut terminal = open(&home);
    terminal.send("Kept words. ");
    let drafts = home.path().join(".local/share/ptc-workbench/sessions/drafts");
    wait_for_file(&drafts, |name, text| is_named(name, "json") && text.contains("Kept words. "));
    terminal.signal(Signal::KILL);
    terminal.exit_code();
    let mut again = Start::workbench(home.path()).args(&["mood.toml"]).spawn();
    again.wait_for("r restore");
    again.send("r");
    again.wait_for("Kept words. Mood of");
    again.send(CTRL_S);
    again.wait_for("✓ saved");
    leave(again);
}

#[test]
fn a_run_whose_program_was_killed_continues_where_it_was() {
    let (home, _) = home("human");
    let mut terminal = open(&home);
    terminal.send(F5);
    terminal.wait_for("You are the model");
    let sessions = home.path().join(".local/share/ptc-workbench/sessions");
    wait_for_file(&sessions, |name, text| is_named(name, "jsonl") && text.contains("\"k\":\"request\""));
    terminal.signal(Signal::KILL);
    terminal.exit_code();
    let mut again = open(&home);
    again.send(F3);
    again.wait_for("json      human");
    again.send(ENTER);
    again.wait_for("read-only");
    again.send("o");
    again.wait_for("You are the model");
    again.wait_for("F5 send reply");
    again.send("{\"mood\": \"good\", \"score\": 1}");
    again.wait_for("✓ fits");
    again.send(F5);
    again.wait_for("✓ returned");
    leave(again);
}

/// The parameters of every sequence that sets how text looks.
fn looks(bytes: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(bytes);
    let sequences = text.split("\x1b[").skip(1);
    let looks = sequences.filter_map(|rest| rest.split_once('m').map(|(parameters, _)| parameters));
    looks.filter(|parameters| parameters.chars().all(|c| c.is_ascii_digit() || c == ';')).map(str::to_owned).collect()
}

#[test]
fn without_colours_none_is_sent_and_marks_show_the_same() {
    let (home, _) = home("sample:missing_field");
    let is_colour = |one: &&str| one.parse().is_ok_and(|code: u8| matches!(code, 30..=38 | 40..=48 | 90..=107));
    for (flags, variable) in [(&["mood.toml"][..], "1"), (&["--no-color", "mood.toml"], "")] {
        let start = Start::workbench(home.path()).args(flags).env("COLORTERM", "truecolor");
        let mut terminal = if variable.is_empty() { start } else { start.env("NO_COLOR", variable) }.spawn();
        terminal.wait_for("✓ 2 fields");
        terminal.send(F5);
        terminal.wait_for("✓ returned");
        assert!(terminal.screen().contains("✗ mood"), "{}", terminal.screen());
        let looks = looks(&terminal.bytes());
        assert!(looks.iter().any(|look| look.split(';').any(|one| one == "1")), "headings are bold: {looks:?}");
        let coloured: Vec<&String> = looks.iter().filter(|look| look.split(';').any(|one| is_colour(&one))).collect();
        assert!(coloured.is_empty(), "{coloured:?}");
        leave(terminal);
    }
}

#[test]
fn line_by_line_nothing_but_text_reaches_the_terminal() {
    let (home, _) = home("sample:missing_field");
    let path = |args: &[&str], shown: &str| {
        let mut terminal = Start::workbench(home.path()).args(&[&["--plain"], args].concat()).spawn();
        let code = terminal.exit_code();
        terminal.wait_for_bytes(shown.as_bytes());
        let bytes = terminal.bytes();
        let text = String::from_utf8(bytes).unwrap();
        let drawn = |c: char| c == '\x1b' || matches!(c, '─'..='╿' | '▀'..='▟' | '⠀'..='⣿');
        assert!(!text.contains(drawn), "{text:?}");
        assert!(!text.replace("\r\n", "").contains('\r'), "no line is written again: {text:?}");
        code
    };
    assert_eq!(path(&["run", "mood.toml"], "ok: returned after 2 turns"), 0);
    assert_eq!(path(&["run", "mood.toml", "--model", "sample"], "ok: returned after 1 turn"), 0);
    assert_eq!(path(&["replay", "last"], "identical"), 0);
    let folder = home.path().join(".local/share/ptc-workbench/sessions");
    let names = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter_map(|name| Some(name.strip_suffix(".jsonl")?.to_owned())).collect();
    names.retain(|name| name.starts_with("20"));
    names.sort();
    assert_eq!(path(&["compare", &names[0], &names[1]], "first difference"), 0);
}

/// A press and a release of the left button at a column and a row, from 1.
fn click(terminal: &mut Terminal, column: usize, row: usize) {
    terminal.send(&format!("\x1b[<0;{column};{row}M\x1b[<0;{column};{row}m"));
}

/// Returns the column and row of a text on the screen, from 1.
fn place_of(terminal: &Terminal, text: &str) -> (usize, usize) {
    let screen = terminal.screen();
    let found =
        screen.lines().enumerate().find_map(|(row, line)| Some((line.split_once(text)?.0.chars().count(), row)));
    let (column, row) = found.unwrap_or_else(|| panic!("{text:?} is not there:\n{screen}"));
    (column + 1, row + 1)
}

#[test]
fn the_mouse_runs_opens_the_menu_and_copies_what_is_dragged_over() {
    let (home, _) = home("sample");
    let mut terminal = open(&home);
    let (column, row) = place_of(&terminal, "F5 run");
    click(&mut terminal, column, row);
    terminal.wait_for("✓ returned");
    let (column, row) = place_of(&terminal, "1 turn · ");
    let end = column + "1 turn".len();
    terminal.send(&format!("\x1b[<0;{column};{row}M\x1b[<32;{end};{row}M\x1b[<0;{end};{row}m"));
    press(&mut terminal, &["y"]);
    // "1 turn" in the terminal's clipboard.
    terminal.wait_for_bytes(b"\x1b]52;c;MSB0dXJu");
    click(&mut terminal, 2, 1);
    terminal.wait_for("Menu");
    press(&mut terminal, &["esc"]);
    terminal.wait_until_gone("Menu");
    leave(terminal);
}

#[test]
fn a_reply_is_found_changed_in_the_transcript_and_the_run_continues_from_it() {
    let (home, _) = home("sample:missing_field");
    let mut terminal = open(&home);
    terminal.send(F5);
    terminal.wait_for("✓ returned");
    press(&mut terminal, &["f2", "/"]);
    terminal.send("score");
    terminal.wait_for("1 of ");
    press(&mut terminal, &["esc"]);
    terminal.wait_for("Enter open turn");
    press(&mut terminal, &["end", "shift-e"]);
    terminal.wait_for("Edit and continue: a new session");
    terminal.wait_for("the earlier text:");
    press(&mut terminal, &["ctrl-a"]);
    terminal.send("{\"mood\": \"bad\", \"score\": 0.125}");
    terminal.wait_for("✓ fits");
    terminal.send(F5);
    terminal.wait_for("✎ reply edited by user");
    terminal.wait_for("✓ returned");
    terminal.wait_for("0.125");
    leave(terminal);
}

#[test]
fn a_file_that_another_program_changes_is_noticed_and_merged_while_the_draft_is_edited() {
    let (home, agent) = home("sample");
    let mut terminal = open(&home);
    terminal.send("Please: ");
    terminal.wait_for("● unsaved");
    let text = std::fs::read_to_string(&agent).unwrap();
    std::fs::write(&agent, text.replace("max_turns = 3", "max_turns = 2")).unwrap();
    terminal.wait_for("another program changed mood.toml");
    terminal.wait_for("changed on disk");
    terminal.send(CTRL_S);
    terminal.wait_for("has changed since it was read");
    terminal.wait_for("Please: Mood of");
    terminal.send("m");
    terminal.wait_for("saved mood.toml");
    let merged = std::fs::read_to_string(&agent).unwrap();
    assert!(merged.contains("max_turns = 2") && merged.contains("Please: Mood of"), "{merged}");
    leave(terminal);
}
