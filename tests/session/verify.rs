//! `sessions verify`: what is wrong in a file is found, with its line and address.

use std::path::Path;

use ptc_workbench::replay::verify;
use ptc_workbench::session::Session;
use ptc_workbench::workbench::example_sessions;
use serde_json::{Value, json};

use crate::cli::program::Program;

/// A run of two turns, and the text of its session.
fn recorded() -> (Program, String) {
    let program = Program::new();
    program.run(["run", "sentiment", "--model", "sample:missing_field"]).exits(0);
    let text = std::fs::read_to_string(program.session_file()).unwrap();
    (program, text)
}

/// Verifies the text with the first line of this address and kind edited. Returns the findings.
fn findings(program: &Program, text: &str, at: &str, kind: &str, edit: impl FnOnce(&mut Value)) -> Vec<Value> {
    let mut lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let place = lines.iter().position(|line| line["r"] == at && line["k"] == kind).unwrap();
    edit(&mut lines[place]["d"]);
    let lines: Vec<String> = lines.iter().map(ToString::to_string).collect();
    program.file("altered.jsonl", lines.join("\n") + "\n");
    let found = program.run(["sessions", "verify", "altered.jsonl", "--json"]).exits(3).json();
    assert_eq!(found["ok"], false);
    let of_place = |finding: &&Value| finding["line"] == place + 1 && finding["address"] == at;
    let findings = found["findings"].as_array().unwrap();
    assert!(findings.iter().any(|finding| of_place(&finding)), "{findings:?}");
    findings.clone()
}

#[test]
fn every_example_session_is_verified() {
    for session in example_sessions() {
        let program = Program::new();
        let id = session.header.id.as_str();
        let done = program.run(["sessions", "verify", id]);
        assert!(done.exits(0).stdout.contains("no findings; identical: "), "{id}: {}", done.stdout);
        assert_eq!(program.run(["sessions", "verify", id, "--json"]).exits(0).json()["ok"], true);
    }
}

#[test]
fn what_is_wrong_is_named_with_its_line_and_address() {
    let (program, text) = recorded();
    let has = |found: &[Value], check: &str| found.iter().any(|finding| finding["check"] == check);
    let agent = findings(&program, &text, "r0", "run.start", |data| data["agent"]["sha"] = "0".repeat(64).into());
    assert!(has(&agent, "agent"));
    let sum = findings(&program, &text, "r0", "run.end", |data| data["usage"]["turns"] = 7.into());
    assert!(has(&sum, "sum"));
    let left = findings(&program, &text, "r0/t2", "turn.start", |data| data["remaining"]["tree"] = 3.into());
    assert!(has(&left, "sum"));
    let number = findings(&program, &text, "r0/t1", "reply.part", |data| data["attempt"] = 2.into());
    assert!(has(&number, "number"));
    let message = findings(&program, &text, "r0/t1", "message", |data| data["m"] = 5.into());
    assert!(has(&message, "number"));
    let done = program.run(["sessions", "verify", "altered.jsonl"]);
    assert!(done.exits(3).stdout.contains("line 4, r0/t1: number: message 5 follows 0 messages"), "{}", done.stdout);
}

#[test]
fn the_check_of_a_replay_includes_it() {
    let (program, text) = recorded();
    findings(&program, &text, "r0", "run.start", |data| data["agent"]["sha"] = "0".repeat(64).into());
    program.run(["replay", "altered.jsonl", "--check"]).exits(3);
    let output = program.run(["replay", "altered.jsonl", "--check", "--json"]).exits(3).json();
    assert_eq!(output["findings"][0]["check"], "agent", "{output}");
    assert_eq!(output["findings"][0]["line"], 2);
}

#[test]
fn a_damaged_file_is_wrong_and_a_torn_or_waiting_one_is_not() {
    let (program, text) = recorded();
    let verify = |text: &str| {
        program.file("altered.jsonl", text);
        program.run(["sessions", "verify", "altered.jsonl"])
    };
    let lines: Vec<&str> = text.lines().collect();
    let without = [&lines[..4], &lines[5..]].concat().join("\n") + "\n";
    let done = verify(&without);
    assert!(done.exits(3).stdout.contains("line 5: file: event 5 follows event 3"), "{}", done.stdout);
    verify("no session at all\n").exits(3);
    verify(&text[..text.len() - 20]).exits(0);
    verify(&(lines[..6].join("\n") + "\n")).exits(0);
    program.run(["sessions", "verify", "missing.jsonl"]).exits(2);
}

#[test]
fn a_distance_between_turns_that_is_wrong_is_found_and_does_not_concern_a_replay() {
    let (program, text) = recorded();
    let wrong = regex::Regex::new(r#""b":\d+"#).unwrap().replace(&text, r#""b":17"#).into_owned();
    assert_ne!(wrong, text);
    program.file("altered.jsonl", wrong);
    let found = program.run(["sessions", "verify", "altered.jsonl", "--json"]).exits(3).json();
    assert_eq!(found["findings"][0]["check"], "offset");
    program.run(["replay", "altered.jsonl", "--check"]).exits(0);
}

#[test]
fn an_address_beyond_the_limit_is_damage() {
    let (program, text) = recorded();
    let long = format!("r0{}", "/t1/c0".repeat(50_000));
    let line = format!(r#"{{"s":2,"t":1,"r":"{long}","k":"tool.end","d":{{"status":"ok","ms":0}}}}"#);
    let mut lines: Vec<&str> = text.lines().collect();
    lines[2] = &line;
    program.file("altered.jsonl", lines.join("\n") + "\n");
    let done = program.run(["sessions", "verify", "altered.jsonl"]);
    assert!(done.exits(3).stdout.contains("its address has 300002 bytes, the limit is 65536"), "{}", done.stdout);
    program.run(["replay", "altered.jsonl", "--check"]).exits(2).reports("is damaged");
}

#[tokio::test]
async fn an_invented_stop_is_found_wherever_it_is_in_a_run_that_failed() {
    let program = Program::new();
    program.run(["run", "sentiment", "--model", "sample:missing_field,every"]).exits(1);
    let text = std::fs::read_to_string(program.session_file()).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let last = lines.iter().rfind(|line| line["k"] == "turn.start").unwrap()["r"].as_str().unwrap();
    let places = (1..lines.len()).filter(|place| lines[*place]["r"] == last && lines[*place]["k"] != "turn.start");
    let mut tried = 0;
    for place in places {
        for reason in ["cancelled", "mission_timeout"] {
            let stop = json!({"s": 0, "t": 1, "r": last, "k": "interrupt", "d": {"reason": reason, "by": "user"}});
            let mut all = lines.clone();
            all.insert(place, stop);
            let numbered = all.iter_mut().enumerate().map(|(number, line)| {
                if number > 0 {
                    line["s"] = number.into();
                    line.as_object_mut().unwrap().remove("b");
                }
                line.to_string()
            });
            let bytes = numbered.collect::<Vec<_>>().join("\n") + "\n";
            let session = Session::from_bytes(Path::new("x.jsonl"), bytes.into_bytes()).unwrap();
            assert!(verify(&session).await.is_faulty(), "{reason} before line {}: {}", place + 1, lines[place]["k"]);
            tried += 1;
        }
    }
    assert!(tried > 10, "{tried}");
}

#[test]
fn a_session_that_was_stopped_before_its_run_is_not_listed_and_cannot_be_resumed() {
    let (program, text) = recorded();
    let header: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    for (number, rest) in ["", "{\"s\":1,\"t\":17"].into_iter().enumerate() {
        let id = format!("2099-01-01T00-00-0{number}Z-00000001");
        let mut header = header.clone();
        header["id"] = id.as_str().into();
        std::fs::write(program.sessions_dir().join(format!("{id}.jsonl")), format!("{header}\n{rest}")).unwrap();
        let resumed = program.run(["resume", &id]);
        resumed.exits(2).reports("holds no run: the program stopped before the run started");
    }
    let listed = program.run(["sessions", "list", "--json"]).exits(0).json();
    let own = listed.as_array().unwrap().iter().filter(|session| session["example"].is_null()).count();
    assert_eq!(own, 1, "{listed}");
    let last = program.run(["sessions", "show", "last"]).exits(0).stdout.clone();
    assert!(last.contains("r0/t2"), "{last}");
    assert_eq!(ptc_workbench::session::list(Path::new(&program.sessions_dir())).len(), 1);
}
