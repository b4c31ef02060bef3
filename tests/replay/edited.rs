//! Edits in a fork apply wherever the fork is read or repeated, in place of the texts of its parent.

use serde_json::Value;

use super::newest_file;
use crate::cli::program::Program;

/// A fork of a run of the example `sentiment` that asks something else about another text.
fn edited() -> Program {
    let program = Program::new();
    program.run(["run", "sentiment", "--model", "sample", "--set", "text=before"]).exits(0);
    let flags = ["--at", "r0/t1", "--prompt", "How is this: {{text}}", "--set", "text=after", "--model", "sample"];
    program.run(["fork", "last"].iter().chain(&flags)).exits(0);
    let file = newest_file(&program);
    std::fs::copy(file, program.dir().join("fork.jsonl")).unwrap();
    program
}

/// The first request of the newest session.
fn sent(program: &Program) -> String {
    let step = program.run(["sessions", "show", newest_file(program).to_str().unwrap(), "--json"]).exits(0).json();
    let turns = step[step.as_array().unwrap().len() - 1]["turns"].clone();
    turns[0]["messages"].to_string()
}

#[test]
fn a_fork_is_made_again_with_what_was_edited_in_it() {
    let program = edited();
    program.run(["rerun", "fork.jsonl"]).exits(0);
    let text = sent(&program);
    assert!(text.contains("How is this: after") && !text.contains("before"), "{text}");
}

#[test]
fn a_case_of_a_fork_holds_its_own_inputs() {
    let program = edited();
    program.run(["sessions", "case", "fork.jsonl", "--agent", "mood.toml", "--name", "edited"]).exits(0);
    let text = std::fs::read_to_string(program.dir().join("mood.toml")).unwrap();
    assert!(text.contains("after") && text.contains("How is this") && !text.contains("before"), "{text}");
    program.run(["test", "mood.toml", "--model", "sample"]).exits(0);
}

#[test]
fn a_comparison_finds_what_was_edited() {
    let program = edited();
    let parent = program.session_files().into_iter().find(|file| *file != newest_file(&program)).unwrap();
    let output = program.run(["compare", parent.to_str().unwrap(), "fork.jsonl", "--json"]).exits(0).json();
    let pair = output["differences"][0].clone();
    assert!(pair["definition"].to_string().contains("How is this"), "{pair}");
    assert!(pair["inputs"].to_string().contains("after"), "{pair}");
}

#[test]
fn exports_show_each_edit_where_it_is_met() {
    let program = edited();
    for format in ["md", "html"] {
        let page = program.run(["sessions", "export", "fork.jsonl", "--format", format]).exits(0).printed();
        assert!(page.to_lowercase().contains("edited by"), "{format}: {page}");
        assert!(page.contains("How is this"), "{format}: {page}");
    }
    let output = program.run(["sessions", "show", "fork.jsonl", "--json"]).exits(0).json();
    let edits: Vec<&Value> =
        output[0]["turns"][0]["edits"].as_array().unwrap().iter().map(|edit| &edit["target"]).collect();
    assert_eq!(edits, ["prompt", "context.text", "model"], "{output}");
}

#[test]
fn a_cassette_of_a_fork_passes() {
    let program = Program::new();
    program.run(["run", "sentiment", "--model", "sample:missing_field"]).exits(0);
    program.run(["fork", "last", "--at", "r0/t2", "--prompt", "How is this: {{text}}", "--model", "sample"]).exits(0);
    let file = newest_file(&program);
    let case = ["sessions", "case", file.to_str().unwrap(), "--cassette", "--agent", "mood.toml", "--name", "edited"];
    program.run(case).exits(0);
    program.run(["test", "mood.toml"]).exits(0);
}

#[test]
fn the_context_of_a_fork_is_its_own_in_every_export() {
    let program = edited();
    for format in ["json", "atif", "otlp"] {
        let page = program.run(["sessions", "export", "fork.jsonl", "--format", format]).exits(0).printed();
        assert!(page.contains("after") && !page.contains("before"), "{format}: {page}");
    }
}

#[test]
fn a_limit_that_a_fork_raised_is_reported_as_it_is_and_raised_from_there() {
    let program = Program::new();
    program.file("never.toml", "mode = \"json\"\nmax_turns = 2\nmodel = \"sample:missing_field,every\"\nprompt = \"go\"\nsignature = \"{n :int}\"\n");
    program.run(["run", "never.toml"]).exits(1);
    let forked = program.run(["fork", "last", "--at", "r0/t2", "--option", "max_turns=3"]);
    forked.exits(1).reports("(it was 3)");
    program
        .run(["continue", newest_file(&program).to_str().unwrap(), "Again."])
        .exits(1)
        .reports("max_turns = 3; this one may use 6");
}

#[test]
fn a_program_of_a_fork_is_pinned_with_what_was_defined_there() {
    let program = Program::new();
    program
        .file("k.toml", "mode = \"ptc_lisp\"\nprompt = \"go\"\nprogram = '(return (* k 5))'\n[memory]\nk = \"10\"\n");
    program.run(["run", "k.toml"]).exits(0);
    let forked = program.run(["fork", "last", "--at", "r0/t1", "--memory", "k=100", "--json"]);
    assert_eq!(forked.exits(0).json()["return"], 500);
    let pinned = program.run(["exec", newest_file(&program).to_str().unwrap(), "r0/t1", "--json"]);
    assert_eq!(pinned.exits(0).json()["return"], 500);
}
