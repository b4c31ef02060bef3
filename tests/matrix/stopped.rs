//! A matrix that was stopped keeps what is finished, and comes to the same end.
#![cfg(unix)]

use std::fs::OpenOptions;
use std::io::Write as _;

use super::lasting;
use crate::cli::program::{Program, read_until, signal};

/// The first trial is quick, the second one slow enough to be stopped in.
const MATRIX: [&str; 10] =
    ["compare", "sentiment", "--modes", "json", "--models", "sample,sample:slow", "--trials", "2", "--jobs", "1"];

fn file(program: &Program) -> std::path::PathBuf {
    let mut files = std::fs::read_dir(program.sessions_dir().join("matrix")).unwrap();
    files.next().unwrap().unwrap().path()
}

#[test]
fn ctrl_c_keeps_what_is_finished_and_says_how_to_continue() {
    let program = Program::new();
    let mut child = program.command(MATRIX).spawn().unwrap();
    let mut stderr = child.stderr.take().unwrap();
    read_until(&mut stderr, "1/4");
    signal(&child, "INT");
    let output = read_until(&mut stderr, "--resume m-");
    let done = program.done(child.wait_with_output().unwrap());
    assert_eq!(done.code, Some(130), "{output}");
    assert!(
        output.contains("stopped: 1 of 4 trials are kept; resume with: ptc-workbench compare --resume"),
        "{output}"
    );
    assert_eq!(done.stdout, "");

    // The program died once more while it wrote, and a line is damaged.
    let path = file(&program);
    let mut matrix = OpenOptions::new().append(true).open(&path).unwrap();
    matrix.write_all(b"{\"cell\":0}\n{\"cell\":1,\"trial\":1,\"sess").unwrap();
    let id = path.file_stem().unwrap().to_str().unwrap();
    let resumed = program.run(["compare", &id[..12], "--jobs", "4", "--json"]);
    resumed
        .exits(0)
        .reports("1 of 4 trials are already done")
        .reports("these lines cannot be read, their trials run again: 3");

    let whole = Program::new();
    let undisturbed = whole.run(MATRIX.iter().copied().chain(["--json"])).exits(0).json();
    assert_eq!(lasting(resumed.json()), lasting(undisturbed));

    // A complete one is shown again, and nothing runs.
    let sessions = program.session_files().len();
    let shown = program.run(["compare", "--resume", "last", "--json"]).exits(0).json();
    assert_eq!(lasting(shown), lasting(resumed.json()));
    assert_eq!(program.session_files().len(), sessions);
    program.run(["compare", id, "--trials", "9"]).exits(2).reports("the plan of a matrix is fixed");
}

#[test]
fn what_is_finished_of_a_stopped_matrix_is_printed_as_json() {
    let program = Program::new();
    let mut child = program.command(MATRIX.iter().copied().chain(["--json"])).spawn().unwrap();
    let mut stderr = child.stderr.take().unwrap();
    read_until(&mut stderr, "1/4");
    signal(&child, "INT");
    read_until(&mut stderr, "--resume m-");
    let done = program.done(child.wait_with_output().unwrap());
    let matrix = done.exits(130).json();
    let trials: Vec<_> = matrix["cells"].as_array().unwrap().iter().map(|cell| cell["trials"].as_u64()).collect();
    assert_eq!((&matrix["complete"], trials), (&serde_json::json!(false), vec![Some(1), Some(0)]));
}

#[test]
fn a_killed_matrix_continues() {
    let program = Program::new();
    let mut child = program.command(MATRIX).spawn().unwrap();
    let mut stderr = child.stderr.take().unwrap();
    read_until(&mut stderr, "1/4");
    signal(&child, "KILL");
    child.wait().unwrap();
    let kept = std::fs::read_to_string(file(&program)).unwrap();
    assert_eq!(kept.lines().count(), 2);
    let resumed = program.run(["compare", "--resume", "last", "--json"]).exits(0).json();
    assert_eq!(resumed["complete"], serde_json::json!(true));
    let all = std::fs::read_to_string(file(&program)).unwrap();
    assert!(all.starts_with(&kept) && all.lines().count() == 5, "{all}");
}

#[test]
fn rows_of_results_are_there_as_soon_as_their_trials_have_ended() {
    let program = Program::new();
    let results = ["--results", "rows.jsonl"];
    let rows = || std::fs::read_to_string(program.dir().join("rows.jsonl")).unwrap();
    let killed = |arguments: &[&str], words: &str| {
        let mut child = program.command(arguments.iter().chain(&results)).spawn().unwrap();
        let mut stderr = child.stderr.take().unwrap();
        read_until(&mut stderr, words);
        signal(&child, "KILL");
        child.wait().unwrap();
        assert!(rows().ends_with("}\n"), "{}", rows());
        program.run(["merge", "rows.jsonl", "--json"]).exits(0).json()
    };
    let merged = killed(&MATRIX, "1/4");
    assert_eq!(merged["cells"][0]["trials"], 1, "{merged}");
    // What ended before is there too when it is resumed, in the end in the order of the plan.
    let whole = program.run(["compare", "--resume", "last", "--json"].iter().chain(&results)).exits(0).json();
    let merged = program.run(["merge", "rows.jsonl", "--json"]).exits(0).json();
    assert_eq!(lasting(merged["cells"].clone()), lasting(whole["cells"].clone()));
    let order = |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap()["order"].to_string();
    let orders: Vec<String> = rows().lines().map(order).collect();
    assert!(orders.len() == 4 && orders.is_sorted(), "{orders:?}");

    // `test` likewise; rows of an earlier run are gone with the first new one.
    program.file(
        "slow.toml",
        "name = \"slow\"\nmode = \"json\"\nmodel = \"sample:slow\"\nprompt = \"{{n}}\"\nsignature = \"(n :int) -> {ok :bool}\"\n\
         [[cases]]\nname = \"one\"\ncontext = { n = 1 }\nexpect = \"(map? result)\"\n[[cases]]\nname = \"two\"\ncontext = { n = 2 }\nexpect = \"(map? result)\"\n",
    );
    let merged = killed(&["test", "slow.toml", "--jobs", "1"], "slow · one");
    assert_eq!((rows().lines().count(), &merged["cells"][0]["case"]), (1, &serde_json::json!("one")), "{merged}");
}

#[test]
fn two_programs_do_not_run_one_matrix() {
    let program = Program::new();
    let mut child = program.command(MATRIX).spawn().unwrap();
    let mut stderr = child.stderr.take().unwrap();
    read_until(&mut stderr, "1/4");
    program.run(["compare", "--resume", "last"]).exits(2).reports("another program is running this matrix");
    signal(&child, "INT");
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(130));
}

#[test]
fn what_is_finished_of_a_matrix_on_a_full_disk_is_shown_with_the_way_on() {
    let program = Program::new();
    // No file grows beyond 16 KB: the sessions fit, and the matrix outgrows it here and in the spare folder.
    let mut shell = std::process::Command::new("/bin/sh");
    program.surround(&mut shell);
    let binary = env!("CARGO_BIN_EXE_ptc-workbench");
    let line = format!(
        "trap '' XFSZ; ulimit -f 32; exec {binary} --sessions sessions --spare-sessions spare compare sentiment \
         --modes json --models sample --trials 80 --jobs 1 --save-baseline base.json"
    );
    let done = program.done(shell.args(["-c", &line]).output().unwrap());
    done.exits(2)
        .reports("cannot write the matrix to")
        .reports("nor to spare")
        .reports("of 80 trials are saved; free some disk space");
    assert!(done.stdout.contains("json") && done.stdout.contains("pass"), "{}", done.stdout);
    assert!(!program.dir().join("base.json").exists(), "half a matrix is not a baseline");
    let resumed = program.run(["compare", "--resume", "last", "--json"]).exits(0).json();
    assert_eq!(resumed["complete"], serde_json::json!(true));
}
