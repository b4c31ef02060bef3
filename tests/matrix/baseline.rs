//! Baselines on the command line: written, compared with, and the exit code of a regression.

use serde_json::json;

use crate::cli::program::{Done, Program};

fn agent(program: &Program, predicate: &str) {
    let agent = "mode = \"json\"\nmodel = \"sample:seed=1\"\nprompt = \"go\"\nsignature = \"{n :int}\"\n";
    program.file("a.toml", format!("{agent}[[cases]]\nname = \"c\"\nexpect = \"{predicate}\"\n"));
}

fn compare(program: &Program, more: &[&str]) -> Done {
    program.run(["compare", "a.toml", "--modes", "json", "--trials", "2"].iter().chain(more))
}

#[test]
fn what_got_worse_is_reported_and_ends_with_1() {
    let program = Program::new();
    agent(&program, "(int? (:n result))");
    compare(&program, &["--save-baseline", "base.json"]).exits(0).reports("baseline written to base.json");

    let same = compare(&program, &["--baseline", "base.json"]);
    assert!(same.exits(0).stdout.contains("since the baseline: 1 unchanged\n"), "{}", same.stdout);

    agent(&program, "(nil? result)");
    let worse = compare(&program, &["--baseline", "base.json"]);
    let text = &worse.exits(1).stdout;
    assert!(
        text.contains(
            "since the baseline: 1 worse\n  ✗ worse a.toml · json · sample:seed=1 · c: passed 2/2 in the baseline, 0/2 now"
        ),
        "{text}"
    );
    let output = compare(&program, &["--baseline", "base.json", "--json"]).exits(1).json();
    assert_eq!(
        (&output["baseline"]["regression"], &output["baseline"]["cells"][0]["change"]),
        (&json!(true), &json!("worse"))
    );

    // What is bad stays unchanged, and getting better is no failure.
    compare(&program, &["--save-baseline", "bad.json"]).exits(0);
    compare(&program, &["--baseline", "bad.json"]).exits(0);
    agent(&program, "(int? (:n result))");
    let better = compare(&program, &["--baseline", "bad.json"]);
    assert!(better.exits(0).stdout.contains("1 better"), "{}", better.stdout);
}

#[test]
fn other_answers_are_reported_and_are_no_regression() {
    let program = Program::new();
    let agent = "mode = \"json\"\nmodel = \"sample\"\nprompt = \"go\"\n";
    program.file("b.toml", format!("{agent}signature = \"{{a :float, b :float, c :enum[x y z], d :enum[x y z]}}\"\n"));
    let compare = |more: &[&str]| program.run(["compare", "b.toml", "--modes", "json"].iter().chain(more));
    compare(&["--save-baseline", "base.json", "--models", "sample,sample:seed=3"]).exits(0);
    let fewer = compare(&["--models", "sample:seed=3", "--baseline", "base.json"]);
    let output = &fewer.exits(0).stdout;
    assert!(output.contains("not run b.toml · json · sample: not in this matrix"), "{output}");
    compare(&["--save-baseline", "base.json"]).exits(0);
    let other = compare(&["--baseline", "base.json", "--seed", "1"]);
    assert!(other.exits(0).stdout.contains("= unchanged b.toml · json · sample; answers changed"), "{}", other.stdout);
    let more = compare(&["--models", "sample,sample:seed=2", "--baseline", "base.json"]);
    assert!(more.exits(0).stdout.contains("since the baseline: 1 unchanged, 1 new\n"), "{}", more.stdout);
}

#[test]
fn an_agent_is_the_same_however_its_path_is_written() {
    let program = Program::new();
    agent(&program, "(int? (:n result))");
    compare(&program, &["--save-baseline", "base.json"]).exits(0);
    agent(&program, "(nil? result)");
    let whole = program.dir().canonicalize().unwrap().join("a.toml");
    for name in ["./a.toml", ".//./a.toml", whole.to_str().unwrap()] {
        let worse = program.run(["compare", name, "--modes", "json", "--trials", "2", "--baseline", "base.json"]);
        let text = &worse.exits(1).stdout;
        assert!(
            text.contains("✗ worse a.toml · json · sample:seed=1 · c: passed 2/2 in the baseline, 0/2 now"),
            "{name}: {text}"
        );
    }
    program.run(["compare", "a.toml", "./a.toml"]).exits(2).reports("`a.toml` is named twice");
}

#[test]
fn a_baseline_of_an_older_program_names_the_agent_as_it_was_typed() {
    let program = Program::new();
    agent(&program, "(int? (:n result))");
    compare(&program, &["--save-baseline", "base.json"]).exits(0);
    let text = std::fs::read_to_string(program.dir().join("base.json")).unwrap();
    let whole = program.dir().canonicalize().unwrap().join("a.toml");
    for typed in ["./a.toml", ".//./a.toml", whole.to_str().unwrap()] {
        let old = text.replace(r#""agent": "a.toml""#, &format!(r#""agent": "{typed}""#));
        assert_ne!(old, text);
        program.file("old.json", old);
        let same = compare(&program, &["--baseline", "old.json"]);
        assert!(same.exits(0).stdout.contains("since the baseline: 1 unchanged\n"), "{typed}: {}", same.stdout);
    }
    // A matrix that it planned is continued.
    program.file("old.json", text.replace(r#""agent": "a.toml""#, r#""agent": "./a.toml""#));
    let folder = program.sessions_dir().join("matrix");
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let planned = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, planned.replace(r#""a.toml""#, r#""./a.toml""#)).unwrap();
    }
    let shown = program.run(["compare", "--resume", "last", "--baseline", "old.json"]);
    assert!(shown.exits(0).stdout.contains("since the baseline: 1 unchanged\n"), "{}", shown.stdout);
}

#[test]
fn a_baseline_of_something_else_is_an_error() {
    let program = Program::new();
    agent(&program, "(int? (:n result))");
    compare(&program, &["--save-baseline", "base.json"]).exits(0);
    let before = program.session_files().len();
    let other = compare(&program, &["--models", "sample:seed=2", "--baseline", "base.json"]);
    other
        .exits(2)
        .reports("base.json: none of its cells is in this matrix: it begins with `a.toml · json · sample:seed=1 · c`")
        .reports("`a.toml · json · sample:seed=2 · c`");
    assert_eq!(program.session_files().len(), before, "nothing was run");
}
