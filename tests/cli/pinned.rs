//! Agents whose program replaces the model: it runs once, whatever comes of it.

use serde_json::json;

use super::program::Program;

/// Calls a tool that leaves a line, then returns what does not fit.
const WRONG: &str = r#"
mode = "ptc_lisp"
prompt = "go"
signature = "-> :int"
program = '(do (tool/leave {}) (return "not an int"))'
[tools.leave]
kind = "command"
command = ["sh", "-c", "echo once >> left.txt"]
description = "Leaves a line"
signature = "-> :string"
"#;

fn left(program: &Program) -> usize {
    std::fs::read_to_string(program.dir().join("left.txt")).map_or(0, |text| text.lines().count())
}

#[test]
fn a_pinned_program_whose_tool_was_not_allowed_is_not_what_is_wrong() {
    let program = Program::new();
    program.file("wrong.toml", WRONG);
    let refused = program.run(["run", "wrong.toml"]);
    let last = refused.exits(1).stderr.lines().rfind(|line| line.starts_with("  ")).unwrap().to_owned();
    assert_eq!(last, "  Allow it when asked, or start the program with --allow-tools.", "{}", refused.stderr);
    assert_eq!(left(&program), 0);
}

#[test]
fn a_pinned_program_that_fails_has_run_once_and_ends_with_its_own_reason() {
    let program = Program::new();
    program.file("wrong.toml", WRONG);
    let done = program.run(["run", "wrong.toml", "--allow-tools", "--json"]);
    let step = done.exits(1).json();
    assert_eq!(left(&program), 1, "{}", done.stderr);
    assert_eq!(step["fail"]["reason"], "return_validation_failed");
    assert!(step["fail"]["hint"].as_str().unwrap().contains("correct the program"), "{step}");
    assert_eq!(step["turns"].as_array().unwrap().len(), 1);
    program.run(["replay", "last", "--check"]).exits(0);
    // Neither retry turns nor a transport of the agent change that.
    let more =
        WRONG.replace("signature = \"-> :int\"", "signature = \"-> :int\"\nretry_turns = 2\ntransport = \"tool_call\"");
    program.file("more.toml", more);
    let step = program.run(["run", "more.toml", "--allow-tools", "--json"]).exits(1).json();
    assert_eq!((left(&program), &step["fail"]["reason"]), (2, &json!("return_validation_failed")));
}

#[test]
fn a_pinned_program_that_breaks_ends_with_its_error() {
    let program = Program::new();
    program.file("a.toml", "mode = \"ptc_lisp\"\nprompt = \"go\"\nprogram = \"(return (/ 1 0))\"\n");
    let step = program.run(["run", "a.toml", "--json"]).exits(1).json();
    assert_eq!(step["fail"]["reason"], "arithmetic_error");
    assert_eq!(step["turns"].as_array().unwrap().len(), 1);
}

#[test]
fn a_pinned_program_is_named_where_a_model_would_be() {
    let program = Program::new();
    let case = "[[cases]]\nname = \"seven\"\nexpect = \"(= 7 result)\"\n";
    let agent = "mode = \"ptc_lisp\"\nprompt = \"go\"\nsignature = \"-> :int\"\n";
    program.file("a.toml", format!("{agent}program = \"(return 7)\"\n{case}"));
    program.run(["prompt", "a.toml"]).exits(0).reports("it answers in place of a model, so this request is not sent");
    let asked = program.run(["prompt", "a.toml", "--model", "sample"]);
    assert!(!asked.exits(0).stderr.contains("not sent"), "{}", asked.stderr);
    let tested = program.run(["test", "a.toml"]);
    assert!(tested.exits(0).stdout.contains("· pinned"), "{}", tested.stdout);
    // More turns would run the same program again.
    program.file("wrong.toml", format!("{agent}program = '(return \"x\")'\n"));
    let wrong = program.run(["run", "wrong.toml"]);
    wrong.exits(1).reports("Correct the pinned program.");
    assert!(!wrong.stderr.contains("max_turns"), "{}", wrong.stderr);
    // What cannot be read is known before the run.
    program.file("broken.toml", format!("{agent}program = \"(return (+ 1\"\n"));
    program.run(["run", "broken.toml"]).exits(1).reports("warning: program, line 1, column ");
}

#[test]
fn another_model_in_the_place_of_the_program_is_asked_again_by_a_re_run() {
    let program = Program::new();
    program.file("a.toml", "mode = \"ptc_lisp\"\nprompt = \"go\"\nsignature = \"-> :int\"\nprogram = \"(return 7)\"\n");
    let answer = |done: super::program::Done| done.exits(0).json()["return"].clone();
    assert_eq!(answer(program.run(["run", "a.toml", "--json"])), 7);
    assert_eq!(answer(program.run(["rerun", "last", "--json"])), 7);
    assert_ne!(answer(program.run(["run", "a.toml", "--model", "sample", "--json"])), 7);
    assert_ne!(answer(program.run(["rerun", "last", "--json"])), 7);
}

#[test]
fn several_re_runs_show_whether_they_are_the_same_and_where_they_part() {
    let program = Program::new();
    program.run(["run", "sentiment", "--model", "sample:missing_field"]).exits(0);
    let output = program.run(["rerun", "last", "--from", "r0/t2", "--times", "3", "--json"]).exits(0).json();
    assert_eq!((&output["times"], &output["same"], &output["same_until"]), (&json!(3), &json!(3), &json!("r0/t2")));
    assert_eq!((&output["first_difference"], output["runs"].as_array().unwrap().len()), (&json!(null), 3));
    // A tool that counts answers differently each time.
    let counts = WRONG
        .replace("echo once >> left.txt", "echo once >> left.txt; wc -l < left.txt")
        .replace("\"not an int\"", "1");
    program.file("counts.toml", counts);
    program.run(["run", "counts.toml", "--allow-tools"]).exits(0);
    let output = program.run(["rerun", "last", "--times", "2", "--allow-tools", "--json"]).exits(0).json();
    assert_eq!((&output["same"], &output["same_until"]), (&json!(1), &json!(null)), "{output}");
    assert_eq!(output["first_difference"], json!({"address": "r0/t1", "part": "calls"}));
    let output = program.run(["rerun", "last", "--times", "2", "--allow-tools"]);
    assert!(
        output.exits(0).stdout.ends_with("1 of 2 runs identical; first difference at r0/t1: calls\n"),
        "{}",
        output.stdout
    );
}

#[test]
fn what_looks_like_a_secret_in_an_agent_is_reported_when_a_run_begins() {
    let program = Program::new();
    // Put together here, so that no file of the project holds the shape of a key.
    let key = format!("ghp_{}", "Zx9Kq2Lm7Vb4Nt8Rw3Yp6Sd1Fg5Hj0AcEuIo");
    program.file("a.toml", format!("mode = \"text\"\nprompt = \"Use {key} now\"\n"));
    let done = program.run(["run", "a.toml", "--model", "sample"]);
    done.exits(0).reports("the prompt contains text that looks like a token of GitHub (github_token)");
    let text = std::fs::read_to_string(program.session_file()).unwrap();
    let notice = text.lines().find(|line| line.contains("\"k\":\"notice\"")).unwrap();
    assert!(notice.contains("github_token") && !notice.contains(&key));
    program.run(["replay", "last", "--check"]).exits(0);
}

#[test]
fn a_key_of_the_environment_is_reported_when_a_run_begins() {
    let program = Program::new().with_env("MY_API_KEY", "supersecretvalue");
    let done = program.run(["run", "--prompt", "Use supersecretvalue", "--mode", "text", "--model", "sample"]);
    done.exits(0).reports("the prompt contains a known secret (known_secret)");
    let warning = done.stderr.lines().find(|line| line.contains("known_secret")).unwrap();
    assert!(!warning.contains("supersecret"), "{warning}");
}

#[test]
fn a_re_run_that_waits_is_not_the_same_and_says_how_to_answer() {
    let program = Program::new();
    program.fed(["run", "sentiment", "--model", "human"], r#"{"sentiment": "positive", "score": 0.75}"#).exits(0);
    let output = program.run(["rerun", "last", "--model", "human", "--times", "2"]);
    output.exits(4).reports("resume ").reports("--answer");
    assert!(output.stdout.contains("waits for the answer to r0/t1/q0"), "{}", output.stdout);
    assert!(!["same", "identical"].iter().any(|word| output.stdout.contains(word)), "{}", output.stdout);
    let output = program.run(["rerun", "last", "--model", "human", "--times", "2", "--json"]).exits(4).json();
    assert_eq!((&output["times"], &output["same"]), (&json!(1), &json!(0)));
    assert_eq!(output["runs"][0]["waits_for"], json!("r0/t1/q0"));
}

#[test]
fn the_first_program_of_a_process_does_not_pay_for_the_tables_of_the_language() {
    let program = Program::new();
    // The smallest limit that docs/agent-files.md allows. Each process starts without these tables.
    let limited = "mode = \"ptc_lisp\"\nprompt = \"go\"\nsignature = \"-> :int\"\nprogram_memory_bytes = 1000\n";
    program.file("a.toml", format!("{limited}program = \"(return 1)\"\n"));
    let step = program.run(["run", "a.toml", "--json"]).exits(0).json();
    assert_eq!(step["return"], 1, "{step}");
}
