//! Continuing sessions that an older version recorded: what is recorded counts, the differences are reported, and what takes another
//! course today is refused.

use std::path::Path;

use serde_json::{Value, json};

use super::{alter, header, newest_file, reword};
use crate::cli::program::{Done, Program};

/// The text of a session as if the program had worded the prompt and the feedback in another way.
fn older(text: &str) -> String {
    let line = text.lines().find(|line| line.contains("\"role\":\"system\"")).unwrap();
    text.replace(line, &line.replacen(". ", "! ", 1)).replace("could not be used", "was of no use")
}

/// A run of two turns as an older version recorded it, in `old.jsonl`.
fn two_turns() -> Program {
    let program = Program::new();
    program.run(["run", "sentiment", "--model", "sample:missing_field"]).exits(0);
    let file = program.session_file();
    let text = std::fs::read_to_string(&file).unwrap();
    assert_ne!(older(&text), text);
    program.file("old.jsonl", older(&text));
    std::fs::remove_file(file).unwrap();
    program.run(["replay", "old.jsonl", "--check"]).exits(3);
    program
}

/// It continued, reported that something differs, and a lenient replay of what came of it finds nothing else.
#[track_caller]
fn went_on(program: &Program, done: &Done, layers: &[&str]) -> String {
    done.exits(0).reports("this version computes some recorded events differently");
    done.reports("replay old.jsonl --lenient");
    let file = newest_file(program);
    let output = program.run(["replay", file.to_str().unwrap(), "--lenient", "--json"]).exits(0).json();
    let found: Vec<&str> =
        output["differences"].as_array().unwrap().iter().map(|one| one["layer"].as_str().unwrap()).collect();
    assert_eq!((found, &output["missing"]), (layers.to_vec(), &json!([])), "{output}");
    std::fs::read_to_string(file).unwrap()
}

#[test]
fn a_session_with_other_wording_is_forked_re_run_and_continued_with_what_is_recorded() {
    let program = two_turns();
    let before = std::fs::read(program.dir().join("old.jsonl")).unwrap();
    let forked = program.run(["fork", "old.jsonl", "--at", "r0/t2", "--model", "sample"]);
    let text = went_on(&program, &forked, &["prompt", "feedback"]);
    assert!(text.contains("was of no use") && !text.contains("could not be used"), "{text}");
    assert!(text.contains("\"k\":\"notice\""), "the new session tells it too");
    let again = program.run(["rerun", "old.jsonl", "--from", "r0/t2", "--model", "sample"]);
    went_on(&program, &again, &["prompt", "feedback"]);
    let continued = program.run(["continue", "old.jsonl", "Again.", "--model", "sample"]);
    let text = went_on(&program, &continued, &["prompt", "feedback"]);
    assert!(text.contains("\"r\":\"r1/t1\""), "{text}");
    // What was answered stays the answer, also for the run that is repeated after it.
    let file = newest_file(&program);
    assert_eq!(header(&file)["parent"]["kind"], "continue");
    let again = program.run(["rerun", file.to_str().unwrap(), "--from", "r1", "--model", "sample"]);
    again.exits(0).reports("this version computes some recorded events differently");
    let sent = std::fs::read_to_string(newest_file(&program)).unwrap();
    let carried = |line: &&str| line.contains("\"r\":\"r1/t1\"") && line.contains("was of no use");
    assert_eq!(sent.lines().filter(carried).count(), text.lines().filter(carried).count(), "{sent}");
    assert_eq!(std::fs::read(program.dir().join("old.jsonl")).unwrap(), before);
}

/// Asks twice; its program replaces the model.
const ASK: &str = r#"
mode = "ptc_lisp"
prompt = "go"
program = '(return [(tool/ask_user {:question "Which colour?"}) (tool/look {}) (tool/ask_user {:question "Which size?"})])'
[tools.ask_user]
kind = "builtin"
[tools.look]
kind = "table"
default = "seen"
"#;

/// A run that waits for its second answer, and the text of its session.
fn waiting() -> (Program, String) {
    let program = Program::new();
    program.file("ask.toml", ASK);
    program.run(["run", "ask.toml"]).exits(4);
    program.run(["resume", "last", "--answer", "blue"]).exits(4);
    let text = std::fs::read_to_string(program.session_file()).unwrap();
    (program, text)
}

#[test]
fn a_run_that_waits_since_before_an_upgrade_takes_its_answer() {
    let (program, text) = waiting();
    let file = program.session_file();
    std::fs::write(&file, older(&text)).unwrap();
    let done = program.run(["resume", "last", "--answer", "large", "--json"]);
    assert_eq!(done.exits(0).json()["return"], json!(["blue", "seen", "large"]));
    done.reports("layer prompt");
    let now = std::fs::read_to_string(&file).unwrap();
    assert!(now.starts_with(&older(&text)), "what was recorded stays");
    program.run(["replay", "last", "--lenient", "--check"]).exits(0);
}

/// Two branches of which one calls again.
const BRANCHES: &str = r#"
mode = "ptc_lisp"
prompt = "go"
program = '(pcalls #(tool/look {:n 1}) #(do (tool/look {:n 2}) (tool/look {:n 3})))'
[tools.look]
kind = "table"
default = "seen"
"#;

#[test]
fn how_far_branches_came_when_a_run_was_stopped_is_no_other_course() {
    let program = Program::new();
    program.file("branches.toml", BRANCHES);
    program.run(["run", "branches.toml"]).exits(0);
    let text = std::fs::read_to_string(program.session_file()).unwrap();
    let events: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let named = |at: &str, kind: &str| events.iter().find(|event| event["r"] == at && event["k"] == kind).unwrap();
    let shown = |at: &str, kind: &str, data: Value| {
        let mut event = named("r0/t1/p1.0/c0", "tool.end").clone();
        (event["r"], event["k"], event["d"]) = (at.into(), kind.into(), data);
        event
    };
    // Stopped while both branches called; the last line is a call that is not begun today.
    let stopped = || json!({"status": "cancelled", "ms": 0});
    let before = events.iter().position(|event| event["k"] == "tool.call").unwrap();
    let mut cut = events[..before].to_vec();
    cut.extend([
        named("r0/t1/p1.0/c0", "tool.call").clone(),
        named("r0/t1/p1.1/c0", "tool.call").clone(),
        shown("r0/t1", "interrupt", json!({"reason": "cancelled", "by": "user"})),
        shown("r0/t1/p1.0/c0", "tool.end", stopped()),
        shown("r0/t1/p1.1/c0", "tool.end", stopped()),
        named("r0/t1/p1.1/c1", "tool.call").clone(),
    ]);
    (1..).zip(&mut cut[1..]).for_each(|(number, event)| event["s"] = Value::from(number));
    let lines: Vec<String> = cut.iter().map(ToString::to_string).collect();
    program.file("cut.jsonl", lines.join("\n") + "\n");
    let replayed = program.run(["replay", "cut.jsonl"]).exits(0).printed();
    assert!(replayed.contains("where the recording ends"), "{replayed}");
    program.run(["resume", "cut.jsonl"]).exits(130).reports("stopped by the user");
}

#[test]
fn what_takes_another_course_is_refused_with_the_place_and_the_way_out() {
    let (program, text) = waiting();
    alter(&program, &text, "r0/t1", "reply.part", |data| {
        let was = data["text"].as_str().unwrap().len();
        reword(&mut data["text"], "(tool/look {})", "(tool/loom {})");
        assert_eq!(data["text"].as_str().unwrap().len(), was);
    });
    let altered = program.dir().join("altered.jsonl");
    let before = std::fs::read(&altered).unwrap();
    let refused = |arguments: &[&str]| {
        let done = program.run(arguments);
        done.exits(2).reports("replays it differently").reports("replay altered.jsonl --accept");
        done.reports("r0/t1 (turn 1, layer extraction, event extract)");
    };
    refused(&["resume", "altered.jsonl", "--answer", "large"]);
    refused(&["fork", "altered.jsonl", "--at", "r0/t1/c1:call", "--result", "1"]);
    assert_eq!(std::fs::read(&altered).unwrap(), before);
    assert_eq!(program.session_files().len(), 1);
}

#[test]
fn an_answer_that_today_ends_the_run_earlier_is_another_course() {
    let program = Program::new();
    program.run(["run", "sentiment", "--model", "sample:missing_field"]).exits(0);
    let text = std::fs::read_to_string(program.session_file()).unwrap();
    // The first reply lacks a field that the agent now does not ask for: the second turn would not be.
    alter(&program, &text, "r0", "run.start", |data| {
        let toml = data["agent"]["toml"].as_str().unwrap();
        let signature = toml.lines().find(|line| line.starts_with("signature")).unwrap().to_owned();
        reword(&mut data["agent"]["toml"], &signature, "signature = \"(text :string) -> {}\"");
    });
    let whole = std::fs::read_to_string(program.dir().join("altered.jsonl")).unwrap();
    // Once as it ended, once as it broke off in the second turn.
    let cut = whole.find("\"r\":\"r0/t2\",\"k\":\"reply.end\"").unwrap();
    let broken = &whole[..=whole[..cut].rfind('\n').unwrap()];
    program.file("broken.jsonl", broken);
    program.run(["continue", "altered.jsonl", "Again."]).exits(2).reports("replays it differently");
    program.run(["resume", "broken.jsonl"]).exits(2).reports("replays it differently");
    assert_eq!(std::fs::read(program.dir().join("broken.jsonl")).unwrap(), broken.as_bytes());
    assert!(Path::new(&program.session_file()).exists());
}
