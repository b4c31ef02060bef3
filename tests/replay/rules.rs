//! Handling of differences in a replay: stop, ignore, continue with the recorded values, or accept the new ones.

use super::{alter, newest_file, reword};
use crate::cli::program::Program;

/// A run of two turns, and the text of its session.
fn recorded() -> (Program, String) {
    let program = Program::new();
    program.run(["run", "sentiment", "--model", "sample:missing_field"]).exits(0);
    let text = std::fs::read_to_string(program.session_file()).unwrap();
    (program, text)
}

/// The same session as two other places of the program would have written it.
fn older() -> (Program, String) {
    let (program, text) = recorded();
    program.file(
        "old.jsonl",
        text.replace("could not be used", "was of no use").replace("\"requests\":1", "\"requests\":3"),
    );
    (program, text)
}

#[test]
fn a_lenient_replay_lists_every_difference_and_continues() {
    let (program, _) = older();
    let output = program.run(["replay", "old.jsonl", "--lenient", "--json"]).exits(0).json();
    let found = |key: &str| -> Vec<String> {
        output["differences"].as_array().unwrap().iter().map(|one| one[key].as_str().unwrap().to_owned()).collect()
    };
    // The recorded feedback is used as it was sent, so that the second turn is the same.
    assert_eq!(found("layer"), ["feedback", "step"]);
    assert_eq!(found("address"), ["r0/t1", "r0/t1"]);
    assert_eq!((&output["outcome"], &output["missing"]), (&"diverged".into(), &serde_json::json!([])));
    let change = &output["differences"][0]["changes"][0];
    assert_eq!(change["path"], "parts.0.text");
    assert!(change["diff"].as_str().unwrap().contains("-Your answer was of no use.\n+Your answer could not be used."));
    let text = program.run(["replay", "old.jsonl", "--lenient", "--check"]);
    assert!(text.exits(0).stdout.ends_with("2 differences: 13 derived events compared\n"), "{}", text.stdout);
}

/// The lines of a session without those of which this is true, numbered without gaps.
fn without(text: &str, left_out: impl Fn(&str) -> bool) -> String {
    let (header, events) = text.split_once('\n').unwrap();
    let kept = events.lines().filter(|line| !left_out(line)).enumerate().map(|(at, line)| {
        let rest = line.split_once(',').unwrap().1;
        format!("{{\"s\":{},{rest}\n", at + 1)
    });
    format!("{header}\n{}", kept.collect::<String>())
}

#[test]
fn a_recording_that_lacks_its_start_or_an_answer_says_so() {
    let (program, text) = recorded();
    program.file("no-start.jsonl", without(&text, |line| line.contains("\"run.start\"")));
    program.run(["replay", "no-start.jsonl", "--check"]).exits(2).reports("its run.start is missing");
    let is_reply = |line: &str| line.contains("\"r0/t2\"") && line.contains("\"k\":\"reply.");
    program.file("no-reply.jsonl", without(&text, is_reply));
    let output = program.run(["replay", "no-reply.jsonl", "--check"]);
    assert!(output.exits(3).stdout.contains("no recorded answer at r0/t2: --missing model"), "{}", output.stdout);
}

#[test]
fn what_is_ignored_is_no_difference() {
    let (program, _) = older();
    let replay = |ignored: &[&str]| {
        let flags = ignored.iter().flat_map(|text| ["--ignore", text]);
        program.run(["replay", "old.jsonl", "--check"].into_iter().chain(flags))
    };
    replay(&[]).exits(3);
    replay(&["feedback"]).exits(3);
    let done = replay(&["feedback", "step:totals.requests"]);
    assert_eq!(done.exits(0).stdout, "identical: 13 derived events compared, 2 omitted\n");
    replay(&["feedback:parts.*.text", ":totals.requests"]).exits(0);
    replay(&["feedback", "step:totals.turns"]).exits(3);
    replay(&["feedbak"]).exits(2).reports("--ignore: unknown layer \"feedbak\"; did you mean `feedback`?");
}

#[test]
fn accepting_writes_a_new_session_with_the_recorded_inputs() {
    let (program, text) = older();
    let before = std::fs::read(program.dir().join("old.jsonl")).unwrap();
    program.run(["replay", "old.jsonl", "--accept"]).exits(0);
    assert_eq!(std::fs::read(program.dir().join("old.jsonl")).unwrap(), before);
    assert_eq!(program.session_files().len(), 2);
    program.run(["replay", "last", "--check"]).exits(0);
    let accepted = std::fs::read_to_string(newest_file(&program)).unwrap();
    // Nothing differs from what was written in the first place, times included: everything from outside stayed as it was.
    assert_eq!(accepted.lines().skip(1).collect::<Vec<_>>(), text.lines().skip(1).collect::<Vec<_>>());
    let header: serde_json::Value = serde_json::from_str(accepted.lines().next().unwrap()).unwrap();
    assert_eq!(header["parent"]["kind"], "accept");
    let nothing = program.run(["replay", "last", "--accept"]);
    assert_eq!(nothing.exits(0).stdout, "identical: there is nothing to accept\n");
    assert_eq!(program.session_files().len(), 2);
}

#[cfg(target_os = "linux")]
#[test]
fn an_accepted_session_that_its_folder_does_not_take_is_named_with_its_path() {
    let (program, _) = older();
    let accept = |flags: &[&str]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_ptc-workbench"));
        program.surround(&mut command);
        // Nobody can create folders there, not even root.
        command.args([
            "--sessions",
            "/sys/ptc-sessions",
            "--spare-sessions",
            "spare",
            "replay",
            "old.jsonl",
            "--accept",
        ]);
        program.done(command.args(flags).output().unwrap())
    };
    let done = accept(&[]);
    done.exits(0).reports("warning: a session could not be created in /sys/ptc-sessions").reports("it is in spare (");
    let done = accept(&["--json"]);
    let output = done.exits(0).reports("it is in spare (").json();
    let path = output["path"].as_str().unwrap();
    assert!(path.starts_with("spare/") && path.contains(output["accepted"].as_str().unwrap()), "{output}");
    program.run(["replay", path, "--check"]).exits(0);
}

#[cfg(unix)]
#[test]
fn an_accepted_session_that_no_folder_takes_to_its_end_is_no_success() {
    let (program, _) = older();
    let mut shell = std::process::Command::new("sh");
    program.surround(&mut shell);
    // A limit on the size of files is used for full disks everywhere: 4 blocks of 512 bytes.
    let script = "trap '' XFSZ; ulimit -f 4; exec \"$0\" \"$@\"";
    shell.args(["-c", script, env!("CARGO_BIN_EXE_ptc-workbench"), "--sessions", "sessions"]);
    shell.args(["--spare-sessions", "spare", "replay", "old.jsonl", "--accept"]);
    let done = program.done(shell.output().unwrap());
    done.exits(2)
        .reports("spare/")
        .reports("could not be written either")
        .reports("name a folder with --spare-sessions");
}

/// The second reply does not fit the agent as it is in `altered.jsonl`: a third turn is needed, which was not recorded.
fn one_answer_short() -> Program {
    let (program, text) = recorded();
    alter(&program, &text, "r0", "run.start", |data| {
        reword(&mut data["agent"]["toml"], "score :float", "score :int");
    });
    program
}

#[test]
fn a_missing_answer_fails_or_is_asked_for() {
    let program = one_answer_short();
    let output = program.run(["replay", "altered.jsonl", "--lenient", "--json"]).exits(0).json();
    assert_eq!(output["missing"], serde_json::json!(["r0/t3"]), "{output}");
    program.run(["replay", "altered.jsonl", "--missing", "model:sample:seed=2"]).exits(0);
    program.run(["replay", "last", "--check"]).exits(0);
    let fed =
        program.fed(["replay", "altered.jsonl", "--missing", "human"], "{\"sentiment\":\"neutral\",\"score\":1}\n.\n");
    fed.exits(0);
    let step = program.run(["sessions", "show", "last", "--json"]).exits(0).json();
    assert_eq!(step[0]["return"], serde_json::json!({"sentiment": "neutral", "score": 1}));
    program.run(["replay", "last", "--check"]).exits(0);
    program
        .run(["replay", "altered.jsonl", "--missing", "nobody"])
        .exits(2)
        .reports("write fail, model, model:NAME or human");
}

#[test]
fn every_example_is_accepted_as_it_was_after_a_word_of_its_prompt_changed() {
    let dir = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("sessions");
    let program = Program::new();
    let mut files: Vec<_> = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|ending| ending == "jsonl"));
    files.sort();
    for entry in files.into_iter().step_by(crate::by_form(1, 1, 3)) {
        let text = std::fs::read_to_string(&entry).unwrap();
        let line = text.lines().find(|line| line.contains("\"role\":\"system\"")).unwrap();
        program.file("old.jsonl", text.replace(line, &line.replacen(". ", "! ", 1)));
        program.run(["replay", "old.jsonl", "--accept"]).exits(0);
        let new = newest_file(&program);
        program.run(["replay", new.to_str().unwrap(), "--check"]).exits(0);
        let accepted = std::fs::read_to_string(&new).unwrap();
        let kinds = |text: &str| {
            let mut kinds: Vec<(String, String)> = text
                .lines()
                .skip(1)
                .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap())
                .filter(|line| line["k"] != "resume" && line["k"] != "run.wait" && line["k"] != "notice")
                .map(|line| (line["r"].to_string(), format!("{} {}", line["k"], line["d"])))
                .collect();
            kinds.sort();
            kinds
        };
        assert_eq!(kinds(&accepted), kinds(&text), "{}", entry.display());
    }
}
