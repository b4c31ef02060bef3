//! Signals and closed pipes: a run that is stopped writes its end, and nothing panics.
#![cfg(unix)]

use std::process::Stdio;

use ptc_workbench::agent::StepFold;

use super::program::{Program, read_until, signal};

#[test]
fn ctrl_c_ends_a_run_with_130_and_a_whole_session() {
    let program = Program::new();
    let mut child = program.command(["run", "sentiment", "--model", "sample:slow", "--json"]).spawn().unwrap();
    let mut stderr = child.stderr.take().unwrap();
    let before = read_until(&mut stderr, "  | {");
    signal(&child, "INT");
    let after = read_until(&mut stderr, "saved as ");
    let done = program.done(child.wait_with_output().unwrap());
    assert_eq!(done.code, Some(130), "{before}{after}");
    assert!(after.contains("cancelled: the run was stopped by the user"), "{after}");
    assert_eq!(done.json()["fail"]["reason"], "cancelled");

    let session = program.session();
    assert_eq!(session.damage, []);
    let mut fold = StepFold::default();
    session.events().for_each(|envelope| fold.apply(&envelope));
    assert!(fold.is_complete());
    assert!(fold.step().turns[0].raw_response.starts_with('{'));
    program.run(["replay", "last", "--check"]).exits(0);
}

#[test]
fn a_user_who_never_answers_can_be_interrupted() {
    let program = Program::new();
    let mut command = program.command(["run", "sentiment", "--model", "human"]);
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut stderr = child.stderr.take().unwrap();
    read_until(&mut stderr, "[your reply for r0/t1");
    signal(&child, "INT");
    read_until(&mut stderr, "saved as ");
    // Its stdin is still open.
    assert_eq!(child.wait().unwrap().code(), Some(130));
    program.run(["replay", "last", "--check"]).exits(0);
}

#[test]
fn a_closed_pipe_is_no_panic() {
    let program = Program::new();
    let commands: [&[&str]; 4] =
        [&["run", "sentiment", "--model", "sample", "--json"], &["sessions", "list"], &["models"], &["--help"]];
    for arguments in commands {
        let mut child = program.command(arguments).spawn().unwrap();
        drop(child.stdout.take());
        let done = program.done(child.wait_with_output().unwrap());
        assert_eq!(done.code, Some(0), "{arguments:?}: {}", done.stderr);
        assert!(!done.stderr.contains("panic"), "{arguments:?}: {}", done.stderr);
    }
    // The turns are not read either: the run continues and is saved.
    let mut child = program.command(["run", "sentiment", "--model", "sample:bad_json"]).spawn().unwrap();
    drop((child.stdout.take(), child.stderr.take()));
    assert_eq!(child.wait().unwrap().code(), Some(0));
    program.run(["replay", "last", "--check"]).exits(0);
}
