//! A call that was begun when the program was killed: it is never repeated silently.

use serde_json::json;

use super::{agent, script};
use crate::cli::program::{Program, signal, wait_for};

/// A run that was killed within its only call. The first call would last for ever, later ones answer.
fn killed() -> Program {
    let program = Program::new();
    let text = "echo x >> calls\nif [ \"$(wc -l < calls)\" -eq 1 ]; then echo $$ > pid.new; mv pid.new pid; exec sleep 600; fi\necho '\"done\"'\n";
    let argv = script(&program, "once.sh", text);
    let code = "(return (tool/t {}))";
    program.file(
        "a.toml",
        agent(code, &format!("[tools.t]\nkind = \"command\"\ncommand = {argv}\ntimeout_ms = 600000\n")),
    );
    let mut child = program.command(["run", "a.toml", "--allow-tools"]).spawn().unwrap();
    let id = wait_for("the call", || std::fs::read_to_string(program.dir().join("pid")).ok());
    signal(&child, "KILL");
    child.wait().unwrap();
    // What the killed program could not end.
    std::process::Command::new("/bin/sh").args(["-c", &format!("kill {}", id.trim())]).status().unwrap();
    program
}

fn calls(program: &Program) -> usize {
    std::fs::read_to_string(program.dir().join("calls")).unwrap().lines().count()
}

#[test]
fn a_resume_asks_and_waits() {
    let program = killed();
    program.run(["resume", "last"]).exits(4).reports("may have taken effect");
    program.run(["resume", "last", "--allow-tools"]).exits(4);
    assert_eq!(calls(&program), 1);
}

#[test]
fn repeated_by_a_user_it_is_made_again() {
    let program = killed();
    program.run(["resume", "last"]).exits(4);
    let done = program.run(["resume", "last", "--answer", "repeat", "--allow-tools", "--json"]);
    assert_eq!(done.exits(0).json()["return"], json!("done"));
    assert_eq!(calls(&program), 2);
    program.run(["replay", "last", "--check"]).exits(0);
    assert_eq!(calls(&program), 2);
}

#[test]
fn left_out_it_fails_and_is_recorded_as_unknown() {
    let program = killed();
    program.run(["resume", "last"]).exits(4);
    program.run(["resume", "last", "--answer", "skip"]).exits(1).reports("the outcome of this call is unknown");
    assert_eq!(calls(&program), 1);
    assert!(std::fs::read_to_string(program.session_file()).unwrap().contains("\"status\":\"unknown\""));
    program.run(["replay", "last", "--check"]).exits(0);
}

#[test]
fn an_answer_names_an_option_by_its_beginning_or_is_refused() {
    let program = killed();
    program.run(["resume", "last"]).exits(4);
    let before = std::fs::read(program.session_file()).unwrap();
    for answer in ["yes", "once", "", "repeated"] {
        program.run(["resume", "last", "--answer", answer]).exits(2).reports("repeat, skip");
        assert_eq!(std::fs::read(program.session_file()).unwrap(), before, "{answer:?} was written");
    }
    let done = program.run(["resume", "last", "--answer", "R", "--allow-tools", "--json"]);
    assert_eq!(done.exits(0).json()["return"], json!("done"));
    assert_eq!(calls(&program), 2);
}
