//! Re-runs: live again on the same inputs. And the tree of what began as what.

use serde_json::Value;

use super::{header, newest_file};
use crate::cli::program::Program;

/// The id of the newest session.
fn newest(program: &Program) -> String {
    header(&newest_file(program))["id"].as_str().unwrap().to_owned()
}

#[test]
fn from_the_start_with_another_model_mode_or_agent() {
    let program = Program::new();
    program.run(["run", "sentiment", "--model", "sample:missing_field", "--set", "text=So so"]).exits(0);
    let first = newest(&program);
    let before = std::fs::read(program.session_file()).unwrap();
    let agent =
        "prompt = \"Only the mood of: {{text}}\"\nsignature = \"(text :string) -> {mood :string}\"\nmode = \"json\"\n";
    program.file("other.toml", agent);
    let cases: &[&[&str]] = &[
        &[],
        &["--model", "sample"],
        &["--mode", "json_loop", "--model", "sample"],
        &["--agent", "other.toml", "--model", "sample"],
    ];
    for flags in cases {
        let step = program.run(["rerun", &first, "--json"].iter().chain(*flags)).exits(0).json();
        let last = step["turns"].as_array().unwrap().last().unwrap();
        let asked = last["messages"][0]["content"].as_str().unwrap();
        assert!(asked.contains("So so"), "{flags:?}: {asked}");
        let id = step["session"].as_str().unwrap();
        program.run(["replay", id, "--check"]).exits(0);
        assert_eq!(step["return"]["mood"].is_string(), flags.contains(&"--agent"), "{step}");
    }
    let original = program.session_files().into_iter().find(|file| file.to_str().unwrap().contains(&first)).unwrap();
    assert_eq!(std::fs::read(original).unwrap(), before);
    let parent = &header(&newest_file(&program))["parent"];
    assert_eq!((parent["kind"].as_str(), parent["session"].as_str()), (Some("rerun"), Some(first.as_str())));
    program.run(["rerun", &first, "--mode", "jsn"]).exits(2).reports("did you mean `json`?");
    program.run(["rerun", &first, "--from", "r3"]).exits(2).reports("unknown run r3 (runs: r0)");
}

#[test]
fn from_a_turn_the_turns_before_stay() {
    let program = Program::new();
    program.run(["run", "sentiment", "--model", "sample:missing_field"]).exits(0);
    let first = newest(&program);
    let step = program.run(["rerun", &first, "--from", "r0/t2", "--model", "sample:seed=9", "--json"]).exits(0).json();
    assert_eq!(step["turns"].as_array().unwrap().len(), 2);
    let id = step["session"].as_str().unwrap();
    program.run(["replay", id, "--check"]).exits(0);
    program
        .run(["rerun", &first, "--from", "r0/t2", "--mode", "text"])
        .exits(2)
        .reports("the mode cannot change at r0/t2");
    // Another version of the agent from the second turn on.
    program.file(
        "other.toml",
        "mode = \"json\"\nprompt = \"Now: {{text}}\"\nsignature = \"(text :string) -> {n :int}\"\n",
    );
    let flags = ["rerun", &first, "--from", "r0/t2", "--agent", "other.toml", "--model", "sample", "--json"];
    let step = program.run(flags).exits(0).json();
    assert!(step["return"]["n"].is_number(), "{step}");
    assert!(step["turns"][0]["messages"][0]["content"].as_str().unwrap().contains("Classify the sentiment"));
    program.run(["replay", step["session"].as_str().unwrap(), "--check"]).exits(0);
}

#[test]
fn conversations_and_pipelines_are_made_again_run_by_run() {
    let program = Program::new();
    program.run(["run", "quote", "--model", "demo"]).exits(0);
    let pipeline = newest(&program);
    for from in [&[][..], &["--from", "r1"]] {
        let step = program.run(["rerun", &pipeline, "--json"].iter().chain(from)).exits(0).json();
        let id = step["session"].as_str().unwrap();
        program.run(["replay", id, "--check"]).exits(0);
        let steps = program.run(["sessions", "show", id, "--json"]).exits(0).json();
        let original = program.run(["sessions", "show", &pipeline, "--json"]).exits(0).json();
        let answers =
            |steps: &Value| steps.as_array().unwrap().iter().map(|step| step["return"].clone()).collect::<Vec<_>>();
        assert_eq!(answers(&steps), answers(&original));
    }

    program.run(["run", "--prompt", "Tell a story", "--mode", "text", "--model", "sample"]).exits(0);
    program.run(["continue", &newest(&program), "shorter", "--model", "sample"]).exits(0);
    let talk = newest(&program);
    let step = program.run(["rerun", &talk, "--model", "sample:seed=4", "--json"]).exits(0).json();
    let asked = step["turns"][0]["messages"].as_array().unwrap();
    let texts: Vec<_> = asked.iter().map(|message| message["content"].as_str().unwrap()).collect();
    assert!(texts[0].contains("Tell a story") && texts.last().unwrap().contains("shorter"), "{texts:?}");
    program.run(["replay", step["session"].as_str().unwrap(), "--check"]).exits(0);
    program.run(["rerun", &talk, "--agent", "sentiment"]).exits(2).reports("name the last one with --from");
}

#[test]
fn a_pinned_program_is_run_again_as_it_is() {
    let program = Program::new();
    program.file("p.toml", "mode = \"ptc_lisp\"\nprompt = \"go\"\nmax_turns = 1\nprogram = \"(return 7)\"\n");
    program.run(["run", "p.toml"]).exits(0);
    assert_eq!(program.run(["rerun", "last", "--json"]).exits(0).json()["return"], 7);
}

#[test]
fn the_tree_shows_what_began_as_what() {
    let program = Program::new();
    program.run(["run", "sentiment", "--model", "sample:missing_field"]).exits(0);
    let first = newest(&program);
    assert_eq!(program.run(["sessions", "tree"]).exits(0).stdout, "");
    let session = |done: Value| done["session"].as_str().unwrap().to_owned();
    let fork = session(program.run(["fork", &first, "--at", "r0/t2:reply", "--json"]).exits(0).json());
    let again = session(program.run(["rerun", &first, "--model", "sample", "--json"]).exits(0).json());
    let deep = session(program.run(["fork", &fork, "--at", "r0/t1", "--json"]).exits(0).json());
    program.run(["run", "sentiment", "--model", "sample"]).exits(0);

    let tree = program.run(["sessions", "tree"]);
    let expected = format!(
        "{first}\n  {fork}  fork at r0/t2:reply\n    {deep}  fork at r0/t1:request\n  {again}  re-run from r0\n"
    );
    assert_eq!(tree.exits(0).stdout, expected);
    assert_eq!(program.run(["sessions", "tree", &deep]).exits(0).stdout, expected);
    // The session that all began as lies elsewhere: its path finds them.
    let file = program.session_files().into_iter().find(|file| file.to_str().unwrap().contains(&first)).unwrap();
    let elsewhere = program.dir().join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    let moved = elsewhere.join(file.file_name().unwrap());
    std::fs::rename(&file, &moved).unwrap();
    assert_eq!(program.run(["sessions", "tree", moved.to_str().unwrap()]).exits(0).stdout, expected);
    std::fs::rename(&moved, &file).unwrap();
    let data = program.run(["sessions", "tree", "--json"]).exits(0).json();
    let branch = &data[0]["branches"][0]["branches"][0];
    assert_eq!((branch["id"].as_str(), branch["parent"]["session"].as_str()), (Some(&*deep), Some(&*fork)));

    // A branch whose parent is missing is marked.
    std::fs::remove_file(program.sessions_dir().join(format!("{first}.jsonl"))).unwrap();
    let output = program.run(["sessions", "tree", &again]);
    assert_eq!(output.exits(0).stdout, format!("{again}  re-run from r0 of {first}, which is missing\n"));
}
