//! The first difference is named by turn and layer, for each layer that there is.

use serde_json::Value;

use super::{alter, reword};
use crate::cli::program::Program;

/// One alteration and where it must be found.
struct Case {
    at: &'static str,
    kind: &'static str,
    edit: fn(&mut Value),
    found: &'static str,
    layer: &'static str,
}

/// A run of two turns whose first reply misses a field.
fn recorded() -> (Program, String) {
    let program = Program::new();
    program.run(["run", "sentiment", "--model", "sample:missing_field"]).exits(0);
    let text = std::fs::read_to_string(program.session_file()).unwrap();
    (program, text)
}

/// Replays `altered.jsonl` and expects this difference.
#[track_caller]
fn differs(program: &Program, found: &str, layer: &str) -> String {
    let done = program.run(["replay", "altered.jsonl", "--check"]);
    let first = done.exits(3).stdout.lines().next().unwrap().to_owned();
    assert!(first.starts_with("first difference at ") && first.contains(found), "{}", done.stdout);
    let said = program.run(["replay", "altered.jsonl", "--json"]).exits(3).json();
    assert_eq!((said["outcome"].as_str(), said["layer"].as_str()), (Some("diverged"), Some(layer)), "{said}");
    done.stdout
}

const CASES: &[Case] = &[
    Case {
        at: "r0/t1",
        kind: "reply.part",
        edit: |data| reword(&mut data["text"], "score", "scare"),
        found: "r0/t1 (turn 1, layer extraction, event extract)",
        layer: "extraction",
    },
    Case {
        at: "r0/t1",
        kind: "message",
        edit: |data| reword(&mut data["parts"][0]["text"], "You answer with data", "You always answer with data"),
        found: "r0/t1 (turn 1, layer prompt, event message)",
        layer: "prompt",
    },
    Case {
        at: "r0/t1",
        kind: "check",
        edit: |data| reword(&mut data["issues"][0]["message"], "expected field", "expected a field"),
        found: "r0/t1 (turn 1, layer check, event check)",
        layer: "check",
    },
    Case {
        at: "r0/t1",
        kind: "turn.end",
        edit: |data| data["totals"]["requests"] = 7.into(),
        found: "r0/t1 (turn 1, layer step, event turn.end)",
        layer: "step",
    },
    Case {
        at: "r0/t2",
        kind: "request",
        edit: |data| data["want"] = "text".into(),
        found: "r0/t2 (turn 2, layer request, event request)",
        layer: "request",
    },
    Case {
        at: "r0/t2",
        kind: "check",
        edit: |data| data["ok"] = false.into(),
        found: "r0/t2 (turn 2, layer check, event check)",
        layer: "check",
    },
    Case {
        at: "r0",
        kind: "run.end",
        edit: |data| data["return"]["score"] = 0.5.into(),
        found: "r0 (layer step, event run.end)",
        layer: "step",
    },
];

#[test]
fn an_altered_recording_is_found_at_its_turn_and_layer() {
    let (program, text) = recorded();
    for case in CASES {
        alter(&program, &text, case.at, case.kind, case.edit);
        differs(&program, case.found, case.layer);
    }
    // Feedback is the second message of its turn that is not from the prompt.
    let feedback = text.lines().find(|line| line.contains(r#""source":"feedback""#)).unwrap();
    program.file("altered.jsonl", text.replace(feedback, &feedback.replacen("could not be used", "was not usable", 1)));
    let said = differs(&program, "r0/t1 (turn 1, layer feedback, event message)", "feedback");
    insta::assert_snapshot!(said, @r#"
    first difference at r0/t1 (turn 1, layer feedback, event message):
      at        parts.0.text
      --- recorded
      +++ now
      @@ -1,4 +1,4 @@
      -Your answer was not usable.
      +Your answer could not be used.
       
       Error:
       - sentiment: expected field, got nil
    "#);
}

#[test]
fn another_prompt_in_the_program_differs_in_the_layer_prompt() {
    // The same reply under an agent with another system text: what the program says is not what was recorded.
    let (program, text) = recorded();
    let toml = |data: &mut Value, line: &str| {
        let text = format!("{line}\n{}", data["agent"]["toml"].as_str().unwrap());
        data["agent"]["toml"] = text.into();
    };
    alter(&program, &text, "r0", "run.start", |data| toml(data, "system_prompt = \"Only JSON, please.\""));
    differs(&program, "r0/t1 (turn 1, layer prompt, event message)", "prompt");
    alter(&program, &text, "r0", "run.start", |data| {
        reword(&mut data["agent"]["toml"], "confidence between 0 and 1", "confidence from 0 to 1");
    });
    differs(&program, "r0/t1 (turn 1, layer prompt, event message)", "prompt");
}

#[test]
fn another_check_in_the_program_differs_in_the_layer_check() {
    // Lenient recovery takes "0.5" as a number and sends the same prompt: only the verdict differs.
    let program = Program::new();
    let replies =
        "{\"sentiment\": \"positive\", \"score\": \"0.5\"}\n.\n{\"sentiment\": \"positive\", \"score\": 0.5}\n";
    program.fed(["run", "sentiment", "--model", "human"], replies).exits(0);
    let text = std::fs::read_to_string(program.session_file()).unwrap();
    alter(&program, &text, "r0", "run.start", |data| {
        let toml = data["agent"]["toml"].as_str().unwrap();
        data["agent"]["toml"] = format!("recovery = \"lenient\"\n{toml}").into();
    });
    differs(&program, "r0/t1 (turn 1, layer check, event check)", "check");
}

#[test]
fn more_or_fewer_turns_than_recorded_are_a_difference() {
    let (program, text) = recorded();
    alter(&program, &text, "r0", "run.start", |data| {
        reword(&mut data["agent"]["toml"], "max_turns = 3", "max_turns = 1");
    });
    differs(&program, "r0/t1 (turn 1, layer feedback, event turn.end)", "feedback");
    // The second reply does not fit any more either: a third turn begins that was never recorded.
    alter(&program, &text, "r0/t2", "reply.part", |data| reword(&mut data["text"], "sentiment", "sontiment"));
    differs(&program, "r0/t2 (turn 2, layer extraction, event extract)", "extraction");
}

#[test]
fn a_replay_never_changes_what_it_reads() {
    let (program, text) = recorded();
    alter(&program, &text, "r0/t1", "check", |data| data["ok"] = true.into());
    let files = [program.session_file(), program.dir().join("altered.jsonl")];
    let state = || {
        let read = |file: &std::path::PathBuf| {
            (std::fs::read(file).unwrap(), std::fs::metadata(file).unwrap().modified().unwrap())
        };
        (files.each_ref().map(read), program.session_files().len())
    };
    let before = state();
    program.run(["replay", "last"]).exits(0);
    program.run(["replay", "last", "--check"]).exits(0);
    program.run(["replay", "altered.jsonl"]).exits(3);
    program.run(["sessions", "show", "altered.jsonl"]).exits(0);
    assert_eq!(state(), before);
}
