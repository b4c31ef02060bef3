//! Files of cases on the command line: the choice of cases, what failed last, shards.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::program::{Done, Program};

/// An agent whose cases with an even number pass.
fn program() -> Program {
    let program = Program::new();
    program.file(
        "a.toml",
        "cases = [\"c.jsonl\"]\nmode = \"json\"\nmodel = \"sample\"\nprompt = \"{{n}}\"\nsignature = \"(n :int) -> {ok :bool}\"\n",
    );
    let row = |number: u32| {
        let tags = if number < 3 { "\"tags\":[\"early\"]," } else { "" };
        format!(
            "{{\"name\":\"case {number}\",{tags}\"context\":{{\"n\":{number}}},\"expect\":\"(even? (:n context))\"}}\n"
        )
    };
    program.file("c.jsonl", (1..=8).map(row).collect::<String>());
    program
}

fn test(program: &Program, more: &[&str]) -> Done {
    program.run(["test", "a.toml", "--json"].iter().chain(more))
}

fn names(done: &Done) -> Vec<String> {
    let cases = done.json()["agents"][0]["cases"].as_array().unwrap().clone();
    cases.iter().map(|case| case["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn cases_are_chosen_by_name_and_tag() {
    let program = program();
    let all = test(&program, &[]);
    assert_eq!((all.exits(1).json()["passed"].clone(), names(&all).len()), (json!(4), 8));
    assert_eq!(names(&test(&program, &["--filter", "case 2"])), ["case 2"]);
    assert_eq!(names(&test(&program, &["--filter", "tag:early"])), ["case 1", "case 2"]);
    assert_eq!(names(&test(&program, &["--filter", "tag:early", "--filter", "!case 1"])), ["case 2"]);
    test(&program, &["--filter", "nothing"]).exits(2).reports("none of 8 cases is selected");
}

#[test]
fn a_sample_is_the_same_for_the_same_seed() {
    let program = program();
    let sample = |seed: &str| names(&test(&program, &["--sample", "4", "--seed", seed]));
    assert_eq!(sample("1"), sample("1"));
    assert_eq!(sample("1").len(), 4);
    let different: BTreeSet<Vec<String>> = ["1", "2", "3", "4"].map(sample).into_iter().collect();
    assert!(different.len() > 1);
}

#[test]
fn the_cases_that_failed_last_run_again() {
    let program = program();
    test(&program, &["--failed"]).exits(2).reports("a.toml has not been tested yet");
    test(&program, &[]).exits(1);
    assert_eq!(names(&test(&program, &["--failed"])), ["case 1", "case 3", "case 5", "case 7"]);
    // Cases that are not run keep their state; those that pass now leave the list.
    let text = std::fs::read_to_string(program.dir().join("c.jsonl")).unwrap();
    program.file("c.jsonl", text.replace("even?", "int?"));
    test(&program, &["--failed", "--filter", "case 1"]).exits(0);
    assert_eq!(names(&test(&program, &["--failed"])), ["case 3", "case 5", "case 7"]);
    test(&program, &["--failed"]).exits(0).reports("none of 8 cases is selected");
}

#[test]
fn shards_share_no_case_and_have_all() {
    let program = program();
    let shard = |shard: &str| test(&program, &["--shard", shard]);
    let parts: Vec<Value> = ["1/3", "2/3", "3/3"].map(|one| shard(one).json()).to_vec();
    let mut all: Vec<&str> = parts
        .iter()
        .flat_map(|part| part["agents"][0]["cases"].as_array().unwrap())
        .map(|case| case["name"].as_str().unwrap())
        .collect();
    all.sort_unstable();
    assert_eq!(all, (1..=8).map(|number| format!("case {number}")).collect::<Vec<_>>());
    shard("4/3").exits(2).reports("write I/N with I from 1 to N");
}

#[test]
fn weights_scores_and_marks_are_reported() {
    let program = Program::new();
    program.file(
        "a.toml",
        "mode = \"json\"\nmodel = \"sample\"\nprompt = \"go\"\nsignature = \"{ok :bool}\"\n\
         [[cases]]\nname = \"heavy\"\nweight = 3\nexpect = { run = { turns = 1 } }\n\
         [[cases]]\nname = \"half\"\nexpect = { all = [{ run = { turns = 1 } }, { fail = \"timeout\" }] }\n\
         [[cases]]\nname = \"later\"\nskip = true\n",
    );
    let report = program.run(["test", "a.toml", "--json"]).exits(1).json();
    assert_eq!((&report["weighted"], &report["agents"][0]["skipped"]), (&json!(0.75), &json!(1)));
    let trial = &report["agents"][0]["cases"][1]["trials"][0];
    assert_eq!((&trial["score"], &trial["why"][0]["expectation"]), (&json!(0.5), &json!("all.1.fail")));
    let text = program.run(["test", "a.toml"]);
    assert!(
        text.exits(1).reports("1 case skipped").stdout.contains("weighted by the cases: 75.0 % passed"),
        "{}",
        text.stdout
    );
}

#[test]
fn a_row_that_is_no_case_is_reported_before_anything_runs() {
    let program = program();
    program.file("c.jsonl", "{\"name\":\"a\",\"context\":{\"n\":2}}\n{\"name\":\"a\",\"context\":{\"n\":2}}\n");
    program.run(["test", "a.toml"]).exits(2).reports("two cases have the name `a`");
    program.file("c.jsonl", "{\"name\":\"a\",\"context\":{\"n\":2}}\n{\"expct\":1}\n");
    program.run(["test", "a.toml"]).exits(2).reports("c.jsonl row 2");
    assert_eq!(program.session_files().len(), 0);
}

#[test]
fn only_the_chosen_cases_must_be_usable() {
    let program = program();
    program.file(
        "c.jsonl",
        "{\"name\":\"good\",\"context\":{\"n\":2}}\n{\"name\":\"never\",\"context\":{\"n\":1},\"expect\":3}\n\
         {\"name\":\"unknown\",\"tags\":[\"new\"],\"expct\":1}\n",
    );
    assert_eq!(names(&test(&program, &["--filter", "good"])), ["good"]);
    test(&program, &["--filter", "!never", "--filter", "!tag:new"]).exits(0);
    test(&program, &["--filter", "never"]).exits(2).reports("the case `never`: `expect` can never hold");
    test(&program, &["--filter", "tag:new"]).exits(2).reports("c.jsonl row 3");
    test(&program, &[]).exits(2).reports("the case `never`");
    let sessions = program.session_files().len();
    // A cell that is not of the type of its input.
    let agent = std::fs::read_to_string(program.dir().join("a.toml")).unwrap();
    program.file("b.toml", agent.replace("c.jsonl", "c.csv"));
    program.file("c.csv", "name,context.n,tags\nodd,many,new odd\ngood,2,\n");
    for filter in ["good", "!tag:odd"] {
        assert_eq!(names(&program.run(["test", "b.toml", "--json", "--filter", filter])), ["good"], "{filter}");
    }
    program.run(["test", "b.toml", "--filter", "tag:odd"]).exits(2).reports("c.csv: row 1: the input `n`");
    program.run(["test", "b.toml"]).exits(2).reports("c.csv: row 1");
    assert_eq!(program.session_files().len(), sessions + 2);
}
