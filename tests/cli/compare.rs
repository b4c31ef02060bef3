//! `compare SESSION SESSION…` as a script sees it.

use serde_json::{Value, json};

use super::program::{Program, keys};

/// The id of the session that a run wrote.
fn ran(program: &Program, model: &str) -> String {
    let done = program.run(["run", "sentiment", "--model", model, "--json"]).json();
    done["session"].as_str().unwrap().to_owned()
}

#[test]
fn two_sessions_are_compared_as_text_and_as_json() {
    let program = Program::new();
    let (one, other) = (ran(&program, "sample"), ran(&program, "sample:wrong_type"));
    let done = program.run(["compare", &one, &other]);
    let text = done.exits(0).stdout.clone();
    let heads =
        ["agent", "model    ≠", "end", "turns", "≠  –", "run 2 against run 1: first difference at r0/t1: reply"];
    for head in heads {
        assert!(text.lines().any(|line| line.starts_with(head)), "{head:?} is missing:\n{text}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");

    let found = program.run(["compare", &one, &other, "--json"]).exits(0).json();
    assert_eq!(keys(&found), ["columns", "rows", "differences"]);
    assert_eq!(found["columns"][1]["session"], json!(other));
    assert_eq!(
        keys(&found["columns"][0]["totals"]),
        ["own", "below", "all", "duration_ms", "first_ms", "data_bytes", "kept_out_bytes"]
    );
    assert_eq!(found["columns"][1]["totals"]["all"]["validation_errors"], json!(1));
    assert_eq!(
        found["rows"],
        json!([
            {"turns": [null, "r0/t1"], "differs": true},
            {"turns": ["r0/t1", "r0/t2"], "differs": true},
        ])
    );
    let pair = &found["differences"][0];
    let members = ["column", "same", "first", "definition", "inputs", "turns", "answers", "ends"];
    assert_eq!(keys(pair), members);
    assert_eq!(pair["first"], json!({"at": "r0/t1", "part": "reply"}));
}

#[test]
fn copies_of_a_session_are_called_by_their_files() {
    let program = Program::new();
    let id = ran(&program, "sample");
    let copy = program.file("old.jsonl", std::fs::read(program.session_file()).unwrap());
    let called = |names: &[&str]| -> Vec<Value> {
        let found = program.run([&["compare", "--json"], names].concat()).exits(0).json();
        found["columns"].as_array().unwrap().iter().map(|column| column["session"].clone()).collect()
    };
    assert_eq!(called(&[&id, copy]), [json!(id), json!(copy)]);
    assert_eq!(called(&[&format!("{copy}:r0"), &format!("{id}:r0")]), [format!("{copy}:r0"), format!("{id}:r0")]);
    let heads = program.run(["compare", &id, copy]).exits(0).stdout.clone();
    assert!(heads.contains("old.jsonl"), "{heads}");
}

#[test]
fn a_session_is_the_same_as_itself_and_runs_can_be_named() {
    let program = Program::new();
    let id = ran(&program, "sample");
    let done = program.run(["compare", &id, "last", &format!("{id}:r0"), "--json"]).exits(0).json();
    let same = |pair: &Value| pair["same"] == json!(true) && pair["first"].is_null();
    assert!(done["differences"].as_array().unwrap().iter().all(same), "{done}");
    assert_eq!(done["columns"][2]["session"], json!(format!("{id}:r0")));
    // The child agent of an example also works alone.
    let below = "2026-11-22T00-00-28:r0/t1/c0";
    let found = program.run(["compare", below, "2026-11-22T00-00-28:r0/t1/c1", "--json"]).exits(0).json();
    assert_eq!(found["columns"][0]["totals"]["own"]["turns"], json!(1), "{found}");
    assert_eq!(found["columns"][0]["totals"]["below"]["turns"], json!(0));
    program.run(["compare", &id, &format!("{id}:r7")]).exits(2).reports("has no run r7");
}

#[test]
fn what_cannot_be_compared_is_reported() {
    let program = Program::new();
    program.run(["compare"]).exits(2);
    program.run(["compare", "last"]).exits(2).reports("name two sessions or more");
    program.run(["compare", "last", "last"]).exits(2).reports("no last session");
    program.run(["compare", "sentiment", "2026-11-22T00-00-28"]).exits(2).reports("not both");
    let both = ["2026-11-22T00-00-28", "2026-11-22T00-00-29"];
    program.run([&["compare", "--trials", "2"], &both[..]].concat()).exits(2).reports("--trials belongs to the matrix");
    let plain = program.run([&["--plain", "compare"], &both[..]].concat()).exits(0).stdout.clone();
    assert!(!plain.contains(['✓', '✗', '≠']), "{plain}");
    for line in
        ["session 1: ", "mode differs: ", " in session 1, ", "agent: reviews in all", "differs: in session 1 t1 "]
    {
        assert!(plain.contains(line), "each value is heard with its session, {line:?}: {plain}");
    }
    let before_details = plain.split("run 2 against run 1").next().unwrap();
    assert!(!before_details.contains("  "), "no gaps of a table: {plain}");
}

#[test]
fn agents_of_a_pipeline_are_named_once() {
    let program = Program::new();
    let step = |name: &str| {
        format!(
            "[[steps]]\nname = '{name}'\nmode = 'json'\nmodel = 'sample'\nprompt = '{{{{a}}}}'\nsignature = '(a :int) -> {{a :int}}'\n"
        )
    };
    program.file("aba.toml", [step("first"), step("other"), step("first")].concat());
    program.run(["run", "aba.toml", "--set", "a=1"]).exits(0);
    let text = program.run(["compare", "last", "last"]).exits(0).stdout.clone();
    let agents = text.lines().find(|line| line.starts_with("agent")).unwrap();
    assert_eq!(agents.split_whitespace().collect::<Vec<_>>(), ["agent", "first,", "other", "first,", "other"]);
}
