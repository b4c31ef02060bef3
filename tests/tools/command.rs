//! Commands: arguments in, result out, limits, and nothing left running.

use serde_json::json;

use super::{agent, allowed, script};
use crate::cli::program::{Program, signal, wait_for};

fn command(argv: &str, rest: &str) -> String {
    format!("[tools.t]\nkind = \"command\"\ncommand = {argv}\n{rest}")
}

#[test]
fn arguments_go_in_and_the_result_comes_out_as_json() {
    let program = Program::new();
    let tool = command(r#"["/bin/cat"]"#, "signature = \"(n :int, s :string) -> {n :int, s :string}\"\n");
    let done = allowed(&program, r#"(return (tool/t {:n 41 :s "a \"b\" ; $(id)"}))"#, &tool);
    assert_eq!(done.exits(0).json()["return"], json!({"n": 41, "s": "a \"b\" ; $(id)"}));
    program.run(["replay", "last", "--check"]).exits(0);
}

#[test]
fn a_text_is_a_result_where_the_signature_wants_one() {
    let program = Program::new();
    let argv = r#"["/bin/echo", "12 $HOME *"]"#;
    let done = allowed(&program, "(return (tool/t {}))", &command(argv, "signature = \"() -> :string\"\n"));
    assert_eq!(done.exits(0).json()["return"], json!("12 $HOME *"));
    let done = allowed(&program, "(return (tool/t {}))", &command(argv, "signature = \"() -> {n :int}\"\n"));
    done.exits(1).reports("the output of `/bin/echo` is not JSON");
}

#[test]
fn a_failure_shows_status_and_stderr() {
    let program = Program::new();
    let argv = script(&program, "fail.sh", "echo what went wrong >&2\nexit 3\n");
    let done = allowed(&program, "(return (tool/t {}))", &command(&argv, ""));
    done.exits(1).reports("ended with exit status: 3; stderr: what went wrong");
    let done = allowed(&program, "(return (tool/t {}))", &command(r#"["/no/such/program"]"#, ""));
    done.exits(1).reports("could not start `/no/such/program`");
    let starts = [
        ("[\"ls\"]", "folder = \"/no/such/folder\"\n", "its folder /no/such/folder does not exist or is not a folder"),
        ("[\"ls -l\"]", "", "could not start `ls -l`: `command` is not passed to a shell; write command = ["),
    ];
    for (argv, rest, words) in starts {
        allowed(&program, "(return (tool/t {}))", &command(argv, rest)).exits(1).reports(words);
    }
}

#[test]
fn only_named_variables_and_the_usual_ones_reach_a_command() {
    let program = Program::new().with_env("GIVEN", "yes").with_env("HIDDEN_TOKEN", "no-no-no-no");
    let argv = script(&program, "env.sh", "echo \"$GIVEN/$HIDDEN_TOKEN/$(pwd)\"\n");
    let rest = "env = [\"GIVEN\"]\nfolder = \"home\"\nsignature = \"() -> :string\"\n";
    let done = allowed(&program, "(return (tool/t {}))", &command(&argv, rest));
    let output = done.exits(0).json()["return"].as_str().unwrap().to_owned();
    assert!(output.starts_with("yes//") && output.ends_with("/home"), "{output}");
}

#[test]
fn a_secret_of_the_environment_is_in_no_result() {
    let program = Program::new().with_env("MY_TOKEN", "planted-secret-1234");
    let argv = script(&program, "leak.sh", "echo \"it is $MY_TOKEN\"; echo \"$MY_TOKEN\" >&2\nexit $1\n");
    for code in ["0", "1"] {
        let argv = argv.replace(']', &format!(", \"{code}\"]"));
        let done = allowed(&program, "(return (tool/t {}))", &command(&argv, "env = [\"MY_TOKEN\"]\n"));
        assert!(!done.stdout.contains("planted") && !done.stderr.contains("planted"), "{done:?}");
    }
    for file in program.session_files() {
        assert!(!std::fs::read_to_string(file).unwrap().contains("planted"));
    }
}

#[test]
fn too_much_output_ends_the_command() {
    let program = Program::new();
    let argv = script(&program, "flood.sh", "while :; do echo 0123456789; done\n");
    let done = allowed(&program, "(return (tool/t {}))", &command(&argv, "output_max_bytes = 1000\n"));
    done.exits(1).reports("wrote more than output_max_bytes = 1000");
}

#[test]
fn a_command_in_time_leaves_nothing_running() {
    let program = Program::new();
    // The child would write a file if it were still there when the test looks.
    let argv = script(&program, "hang.sh", "sleep 600 &\necho $! > child\nwait\n");
    let done = allowed(&program, "(return (tool/t {}))", &command(&argv, "timeout_ms = 300\n"));
    done.exits(1).reports("did not answer within timeout_ms = 300");
    gone(&program);
}

#[test]
fn what_a_command_leaves_running_is_ended_with_it() {
    let program = Program::new();
    let argv = script(&program, "leave.sh", "sleep 600 &\necho $! > child\necho '{\"ok\":true}'\n");
    let done = allowed(&program, "(return (tool/t {}))", &command(&argv, ""));
    assert_eq!(done.exits(0).json()["return"], json!({"ok": true}));
    gone(&program);
}

#[test]
fn a_cancel_ends_the_whole_group() {
    let program = Program::new();
    let argv = script(&program, "hang.sh", "sleep 600 &\necho $! > child.new\nmv child.new child\nwait\n");
    program.file("a.toml", agent("(return (tool/t {}))", &command(&argv, "")));
    let child = program.command(["run", "a.toml", "--allow-tools"]).spawn().unwrap();
    wait_for("the command", || program.dir().join("child").exists().then_some(()));
    signal(&child, "INT");
    program.done(child.wait_with_output().unwrap()).exits(130);
    gone(&program);
}

/// Waits until the process that the file `child` names is gone.
fn gone(program: &Program) {
    let id = std::fs::read_to_string(program.dir().join("child")).unwrap();
    let id = rustix::process::Pid::from_raw(id.trim().parse().unwrap()).unwrap();
    wait_for("the end of the process", || rustix::process::test_kill_process(id).is_err().then_some(()));
}
