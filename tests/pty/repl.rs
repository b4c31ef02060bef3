//! `lisp repl` at a terminal: typed, completed, remembered, stopped, left.

use super::terminal::{Start, Terminal};

const CTRL_C: &str = "\x03";
const CTRL_D: &str = "\x04";
const ENTER: &str = "\r";
const TAB: &str = "\t";
const UP: &str = "\x1b[A";
const PROMPT: &str = "ptc>";

fn repl(home: &tempfile::TempDir, more: &[&str]) -> Terminal {
    start(Start::workbench(home.path()), more)
}

fn start(start: Start, more: &[&str]) -> Terminal {
    let arguments: Vec<&str> = ["lisp", "repl"].iter().chain(more).copied().collect();
    let terminal = start.args(&arguments).size(60, 20).spawn();
    terminal.wait_for_prompt(PROMPT);
    terminal
}

/// Types an input, waits for its echo's end and for the next prompt after these words.
fn enter(terminal: &mut Terminal, input: &str, answer: &str) {
    terminal.send(&format!("{input}{ENTER}"));
    terminal.wait_for(answer);
    terminal.wait_for_prompt(PROMPT);
}

fn leave(mut terminal: Terminal) {
    terminal.wait_for_prompt(PROMPT);
    terminal.send(CTRL_D);
    assert_eq!(terminal.exit_code(), 0);
}

#[test]
fn programs_of_several_lines_run_when_they_are_closed_and_are_remembered_over_restarts() {
    let home = tempfile::tempdir().unwrap();
    let mut terminal = repl(&home, &[]);
    terminal.send(&format!("(defn twice [x]{ENTER}  (* 2{ENTER}x)){ENTER}"));
    terminal.wait_for("#'twice");
    enter(&mut terminal, "(twice 21)", "42");
    enter(&mut terminal, "(+ *1 1)", "43");
    leave(terminal);
    let mut terminal = repl(&home, &[]);
    enter(&mut terminal, "(twice 21)", "unbound_var");
    terminal.send(&format!("{UP}{UP}{UP}{UP}{ENTER}"));
    terminal.wait_for("#'twice");
    leave(terminal);
}

#[test]
fn tab_completes_names_namespaces_definitions_data_and_commands() {
    let home = tempfile::tempdir().unwrap();
    let mut terminal = repl(&home, &["--context", r#"{"rows": [1, 2, 3]}"#]);
    enter(&mut terminal, "(def my-number 5)", "#'my-number");
    enter(&mut terminal, &format!("(frequ{TAB} [my-n{TAB}])"), "{5 1}");
    enter(&mut terminal, &format!("(str/upper-{TAB} \"a\")"), "\"A\"");
    enter(&mut terminal, &format!("data/r{TAB}"), "[1 2 3]");
    enter(&mut terminal, &format!(":mem{TAB}"), "my-number = 5");
    terminal.send(&format!("(str/up{TAB}{TAB}"));
    terminal.wait_for("str/upcase");
    terminal.send(CTRL_C);
    terminal.wait_for(":quit or Ctrl-D quits");
    leave(terminal);
}

#[test]
fn a_running_program_is_stopped_and_what_was_kept_stays() {
    let home = tempfile::tempdir().unwrap();
    let mut terminal = repl(&home, &["--timeout", "60000"]);
    enter(&mut terminal, "(def kept 7)", "#'kept");
    enter(&mut terminal, "(defn f [n] (if (< n 2) n (+ (f (- n 1)) (f (- n 2)))))", "#'f");
    terminal.send(&format!("(f 60){ENTER}"));
    terminal.wait_for("(f 60)");
    terminal.wait_until_cooked();
    terminal.send(CTRL_C);
    terminal.wait_for("cancelled: the program was stopped");
    enter(&mut terminal, "(+ kept 100)", "107");
    leave(terminal);
}

#[test]
fn a_long_value_is_cut_to_be_read_and_can_be_shown_whole() {
    let home = tempfile::tempdir().unwrap();
    let mut terminal = repl(&home, &[]);
    enter(&mut terminal, "(range 5000)", "(100/5000)");
    terminal.wait_for("(cut; :all shows it whole)");
    enter(&mut terminal, ":all", "4999]");
    enter(&mut terminal, "(zipmap (map keyword [\"k1\" \"k2\" \"k3\"]) (repeat 3 (range 12)))", ":k3 [0");
    let screen = terminal.screen();
    assert!(screen.contains("\n :k2 [0 1 2 3 4 5 6 7 8 9 10 11]\n"), "one entry a line:\n{screen}");
    leave(terminal);
}

#[test]
fn colours_are_shown_unless_they_are_not_wanted() {
    let coloured = b"\x1b[36m42\x1b[0m";
    let home = tempfile::tempdir().unwrap();
    let mut terminal = repl(&home, &[]);
    enter(&mut terminal, "(* 6 7)", "42");
    terminal.wait_for_bytes(coloured);
    leave(terminal);
    let quiet = |terminal: Start, more: &[&str]| {
        let mut terminal = start(terminal, more);
        enter(&mut terminal, "(* 6 7)", "42");
        let bytes = terminal.bytes();
        assert!(!bytes.windows(2).any(|pair| pair == b"[3"), "{}", String::from_utf8_lossy(&bytes));
        leave(terminal);
    };
    quiet(Start::workbench(home.path()), &["--no-color"]);
    quiet(Start::workbench(home.path()).env("NO_COLOR", "1"), &[]);
}

#[test]
fn text_of_programs_cannot_act_on_the_terminal() {
    let home = tempfile::tempdir().unwrap();
    let mut terminal = repl(&home, &["--context", r#"{"e": "a\u001b]0;title\u0007\u001b[2Jb"}"#]);
    enter(&mut terminal, "(println data/e)", "ab");
    enter(&mut terminal, "[data/e]", "\\e]0;title");
    enter(&mut terminal, "(fail data/e)", "the program failed");
    let bytes = terminal.bytes();
    let acts = |part: &[u8]| part == b"\x1b[2J" || part == b"\x1b]0;";
    assert!(!bytes.windows(4).any(acts), "{}", String::from_utf8_lossy(&bytes));
    leave(terminal);
}

#[test]
fn many_forms_can_be_pasted_line_by_line() {
    let home = tempfile::tempdir().unwrap();
    let mut terminal = repl(&home, &[]);
    terminal.send(&format!("(def a 20){ENTER}{ENTER}(def b{ENTER} 3){ENTER}(* a b){ENTER}"));
    terminal.wait_for("60");
    leave(terminal);
}
