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
    let output = program.run(["replay", "altered.jsonl", "--json"]).exits(3).json();
    assert_eq!((output["outcome"].as_str(), output["layer"].as_str()), (Some("diverged"), Some(layer)), "{output}");
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
    let reply_text = differs(&program, "r0/t1 (turn 1, layer feedback, event message)", "feedback");
    insta::assert_snapshot!(reply_text, @r#"
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
    // The same reply under an agent with another system text: what the program computes is not what was recorded.
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

/// An example session of the mode `ptc_lisp` with tools and definitions.
const STATEMENT: &str = "sessions/2026-11-22T00-00-38Z-34f89148.jsonl";

#[test]
fn programs_and_tool_arguments_have_layers_of_their_own() {
    let program = Program::new();
    let text = std::fs::read_to_string(std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(STATEMENT)).unwrap();
    alter(&program, &text, "r0/t2/c1", "tool.call", |data| data["args"]["currency"] = "usd".into());
    let message = differs(&program, "r0/t2/c1 (turn 2, layer tool arguments, event tool.call)", "tool arguments");
    assert!(message.ends_with("  at        args.currency\n  recorded  \"usd\"\n  now       \"USD\"\n"), "{message}");
    alter(&program, &text, "r0/t3", "program.end", |data| reword(&mut data["value"], "3118.0", "3117.0"));
    differs(&program, "r0/t3 (turn 3, layer program, event program.end)", "program");
    alter(&program, &text, "r0/t2", "memory", |data| data["bytes"] = 1.into());
    differs(&program, "r0/t2 (turn 2, layer program, event memory)", "program");
    // Another result of a tool is computed with: what differs first is what the program gave.
    alter(&program, &text, "r0/t2/c1", "tool.end", |data| data["result"] = 0.5.into());
    differs(&program, "r0/t2 (turn 2, layer program, event program.end)", "program");
}

/// All lines of a long diff are not shown, and no text from a session reaches the terminal as it is.
#[test]
fn a_report_is_bounded_and_made_safe() {
    let (program, text) = recorded();
    alter(&program, &text, "r0/t1", "message", |data| {
        let long: String =
            (0..500).map(|number| number.to_string()).collect::<Vec<_>>().join(" \u{1b}[31m\u{202e}\nline ");
        data["parts"][0]["text"] = long.into();
    });
    let output = program.run(["replay", "altered.jsonl", "--check"]).exits(3).stdout.clone();
    assert!(output.contains("more lines") && output.lines().count() < 80, "{output}");
    assert!(!output.contains('\u{1b}') && !output.contains('\u{202e}'), "{output}");
    let data = program.run(["replay", "altered.jsonl", "--json"]).exits(3).stdout.clone();
    assert!(!data.contains('\u{1b}') && !data.contains('\u{202e}'), "{data}");
}

#[test]
fn a_replay_opens_no_socket() {
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    server.set_nonblocking(true).unwrap();
    let (program, text) = recorded();
    let url = format!("http://{}/v1", server.local_addr().unwrap());
    program.file("config.toml", format!("[providers.far]\nkind = \"openai\"\nbase_url = \"{url}\"\n"));
    alter(&program, &text, "r0", "run.start", |data| {
        data["model"] = serde_json::json!({"alias": "far:model", "provider": "far", "id": "model"});
        reword(&mut data["agent"]["toml"], "model = \"demo\"", "model = \"far:model\"");
    });
    let replay = |flags: &[&str]| {
        program.run(["--config", "config.toml", "replay", "altered.jsonl"].iter().chain(flags)).exits(0);
    };
    for flags in [&["--check"][..], &["--lenient"], &["--accept"], &["--json"]] {
        replay(flags);
    }
    let nobody = server.accept().map(drop).unwrap_err();
    assert_eq!(nobody.kind(), std::io::ErrorKind::WouldBlock);
}

/// Earlier versions did not record what a run leaves in its journal.
#[test]
fn a_journal_at_the_end_is_compared_where_it_is_recorded() {
    let program = Program::new();
    let toml = "mode = \"ptc_lisp\"\njournaling = true\nprompt = \"go\"\nprogram = '(return (task \"a\" 1))'\n";
    program.file("a.toml", toml);
    program.run(["run", "a.toml"]).exits(0);
    let text = std::fs::read_to_string(program.session_file()).unwrap();
    alter(&program, &text, "r0", "run.end", |data| data["journal"]["a"] = 2.into());
    let message = differs(&program, "r0 (layer step, event run.end)", "step");
    assert!(message.contains("journal"), "{message}");
    alter(&program, &text, "r0", "run.end", |data| _ = data.as_object_mut().unwrap().remove("journal").unwrap());
    program.run(["replay", "altered.jsonl", "--check"]).exits(0);
}
