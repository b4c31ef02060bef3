//! Signals and closed pipes: a run that is stopped writes its end, and nothing panics.
#![cfg(unix)]

use std::io::Write as _;
use std::process::{Child, Stdio};

use ptc_workbench::agent::StepFold;
use serde_json::json;

use super::program::{Program, read_until, signal, wait_for};

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

/// Returns whether the process has handlers for SIGINT and SIGTERM.
#[cfg(target_os = "linux")]
fn catches_ends(status: &str) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap();
    let mask = u64::from_str_radix(mask.trim(), 16).unwrap();
    [2, 15].iter().all(|signal| mask & (1 << (signal - 1)) != 0)
}

/// Starts the program with a stderr that takes nothing, so that it stays at the first text that it prints.
#[cfg(target_os = "linux")]
fn start_unheard(program: &Program, arguments: &[&str]) -> (Child, std::io::PipeReader) {
    let (reader, mut writer) = std::io::pipe().unwrap();
    writer.write_all(&vec![b' '; 1 << 16]).unwrap();
    let child = program.command(arguments).stderr(writer).spawn().unwrap();
    (child, reader)
}

#[cfg(target_os = "linux")]
#[test]
fn the_signal_handlers_are_installed_before_a_command_can_be_observed() {
    let program = Program::new();
    // An address of this process only.
    let [.., high, low] = std::process::id().to_be_bytes();
    for (number, command) in [(1, &["proxy"][..]), (2, &["serve", "sentiment"])] {
        let host = format!("127.{high}.{low}.{number}");
        let arguments = [command, &["--host", &host, "--port", "4142"]].concat();
        let (mut child, mut stderr) = start_unheard(&program, &arguments);
        wait_for("it listens", || std::net::TcpStream::connect((host.as_str(), 4142)).ok());
        let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
        assert!(catches_ends(&status), "{command:?}: {status}");
        signal(&child, "INT");
        std::io::copy(&mut stderr, &mut std::io::sink()).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(0), "{command:?}");
    }
    let (mut child, mut stderr) = start_unheard(&program, &["run", "sentiment", "--model", "human"]);
    wait_for("a session", || std::fs::read_dir(program.sessions_dir()).ok()?.next()).unwrap();
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    assert!(catches_ends(&status), "run: {status}");
    signal(&child, "INT");
    std::io::copy(&mut stderr, &mut std::io::sink()).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let done = program.run(["proxy", "--port", "0", "--", "sh", "-c", "cat /proc/$PPID/status"]);
    assert!(catches_ends(&done.exits(0).stdout), "{}", done.stdout);
}

#[test]
fn sigterm_reaches_the_command_of_a_proxy_which_decides_about_the_end() {
    let program = Program::new();
    let script = "trap 'exit 9' TERM; kill -TERM $PPID; while :; do sleep 0.05; done";
    let done = program.run(["proxy", "--port", "0", "--", "sh", "-c", script]);
    assert_eq!(done.code, Some(9), "{}", done.stderr);
}

#[test]
fn sigterm_ends_every_command_with_143() {
    let matrix = ["--modes", "json", "--models", "sample:slow", "--trials", "2", "--jobs", "1"];
    let commands: [&[&str]; 3] = [
        &["test", "sentiment", "--model", "sample:slow"],
        &[&["compare", "sentiment"][..], &matrix].concat(),
        &["rerun", "last", "--times", "3", "--model", "sample:slow"],
    ];
    for arguments in commands {
        let program = Program::new();
        program.run(["run", "sentiment"]).exits(0);
        let child = program.command(arguments).spawn().unwrap();
        wait_for("a session", || (program.session_files().len() == 2).then_some(()));
        signal(&child, "TERM");
        let done = program.done(child.wait_with_output().unwrap());
        assert_eq!(done.code, Some(143), "{arguments:?}: {}", done.stderr);
        assert_eq!(program.session_files().len(), 2, "{arguments:?}: nothing begins after it");
    }
}

#[test]
fn sigterm_stops_the_runs_of_an_mcp_server_and_their_requests_are_answered() {
    let program = Program::new();
    let mut command = program.command(["mcp", "--allow-runs"]);
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let client = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "test", "version": "1" } });
    let call = json!({ "name": "agent_run", "arguments": { "agent": "sentiment", "model": "sample:slow" } });
    for message in [
        json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": client }),
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
        json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call }),
    ] {
        writeln!(stdin, "{message}").unwrap();
    }
    wait_for("a session", || std::fs::read_dir(program.sessions_dir()).ok()?.next()).unwrap();
    signal(&child, "TERM");
    // Its stdin is still open.
    let done = program.done(child.wait_with_output().unwrap());
    assert_eq!(done.code, Some(143), "{}", done.stderr);
    let reply = done.stdout.lines().last().unwrap();
    assert!(reply.contains("\"id\":2") && reply.contains("cancelled"), "{}", done.stdout);
    program.run(["replay", "last", "--check"]).exits(0);
    drop(stdin);
}
