//! Rows of results: shards merged are what one machine has; pages and summaries of them.

use serde_json::{Value, json};

use super::lasting;
use crate::cli::program::{Done, Program};

/// Two versions of an agent: the first passes the cases with an even number, the second all. Neither can run in json mode.
fn program() -> Program {
    let program = Program::new();
    let tool = "[tools.t]\nkind = \"table\"\nsignature = \"() -> :int\"\ndescription = \"A number\"\ndefault = 1\n";
    let agent = |word: &str| {
        format!(
            "cases = [\"c.jsonl\"]\nmode = \"text\"\nmodel = \"sample\"\nprompt = \"{{{{n}}}}\"\n\
             signature = \"(n :int) -> {{ok :enum[{word}], score :float}}\"\n{tool}"
        )
    };
    program.file("a.toml", agent("no"));
    program.file("b.toml", agent("yes"));
    let expect = r#"(or (even? (:n context)) (= \"yes\" (:ok result)))"#;
    let row = |number: u32| {
        format!("{{\"name\":\"case {number}\",\"context\":{{\"n\":{number}}},\"expect\":\"{expect}\"}}\n")
    };
    program.file("c.jsonl", (1..=12).map(row).collect::<String>());
    program
}

fn compare(program: &Program, more: &[&str]) -> Done {
    let fixed = ["compare", "a.toml", "b.toml", "--modes", "text,json", "--trials", "2", "--json"];
    program.run(fixed.iter().chain(more))
}

#[test]
fn merged_shards_are_the_matrix_of_one_machine() {
    let program = program();
    let whole = compare(&program, &["--results", "whole.jsonl"]).exits(0).json();
    for shard in ["1", "2", "3"] {
        compare(&program, &["--shard", &format!("{shard}/3"), "--results", &format!("{shard}.jsonl")]).exits(0);
    }
    let merged = program.run(["merge", "3.jsonl", "1.jsonl", "2.jsonl", "--json", "--results", "merged.jsonl"]);
    let merged = merged.exits(0).json();
    assert_eq!(lasting(merged.clone()), lasting(whole.clone()));
    assert_eq!(merged["cells"].as_array().unwrap().len(), whole["cells"].as_array().unwrap().len());
    // Merging one machine's file changes nothing, and neither does merging a merged file.
    for file in ["whole.jsonl", "merged.jsonl"] {
        assert_eq!(lasting(program.run(["merge", file, "--json"]).exits(0).json()), lasting(whole.clone()));
    }
    let pair = &merged["paired"][0];
    assert_eq!(
        (&pair["verdict"], &pair["gained"], &pair["lost"], &pair["p"]),
        (&json!("better"), &json!(6), &json!(0), &json!(0.03125))
    );
    assert_eq!(&pair["rate"][0], &json!(0.5));
    let text = program.run(["merge", "1.jsonl", "2.jsonl", "3.jsonl"]);
    let wanted = "b.toml · text · sample: better: 6 gained, 0 lost of 12 cases, p = 0.031";
    assert!(text.exits(0).stdout.contains(wanted), "{}", text.stdout);
}

#[test]
fn a_row_has_what_other_programs_need() {
    let program = program();
    compare(&program, &["--results", "rows.jsonl", "--filter", "case 12"]).exits(0);
    let text = std::fs::read_to_string(program.dir().join("rows.jsonl")).unwrap();
    let rows: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let tried: Vec<&Value> = rows.iter().filter(|row| row["verdict"] != "cannot_run").collect();
    assert_eq!(tried.len(), 4);
    let row = tried[0];
    assert_eq!(
        (&row["agent"], &row["mode"], &row["model"], &row["case"], &row["trial"], &row["order"][3]),
        (&json!("a.toml"), &json!("text"), &json!("sample"), &json!("case 12"), &json!(1), &json!(11))
    );
    assert!(row["session"].is_string() && row["turns"].is_u64() && row["time_ms"].is_u64() && row["score"].is_f64());
    assert!(rows.iter().any(|row| row["verdict"] == "cannot_run" && row["mode"] == "json"), "{text}");
}

#[test]
fn a_shard_without_a_case_is_no_error() {
    let program = program();
    let part = |shard: &str| {
        let results = format!("{}.jsonl", &shard[..1]);
        compare(&program, &["--filter", "case 12", "--shard", shard, "--results", &results]).exits(0).stderr.clone()
    };
    let shown = [part("1/2"), part("2/2")].concat();
    assert_eq!(shown.matches("this shard has no case").count(), 1, "{shown}");
    let merged = program.run(["merge", "1.jsonl", "2.jsonl", "--json"]).exits(0).json();
    let passed: Vec<&Value> = merged["cells"].as_array().unwrap().iter().map(|cell| &cell["passed"]).collect();
    assert_eq!(passed.iter().filter(|passed| ***passed == json!(2)).count(), 2, "{passed:?}");
}

#[test]
fn results_of_test_are_merged_too() {
    let program = program();
    let test = |more: &[&str]| program.run(["test", "a.toml"].iter().chain(more));
    test(&["--results", "whole.jsonl"]);
    test(&["--results", "1.jsonl", "--shard", "1/2"]);
    test(&["--results", "2.jsonl", "--shard", "2/2"]);
    let merge = |files: &[&str]| program.run(["merge", "--json"].iter().chain(files)).exits(0).json();
    let whole = merge(&["whole.jsonl"]);
    assert_eq!(lasting(merge(&["2.jsonl", "1.jsonl"])), lasting(whole.clone()));
    assert_eq!(whole["cells"].as_array().unwrap().len(), 12);
}

#[test]
fn rows_that_do_not_fit_together_are_refused() {
    let program = program();
    compare(&program, &["--results", "a.jsonl", "--filter", "case 12"]).exits(0);
    program
        .run(["merge", "a.jsonl", "a.jsonl"])
        .exits(2)
        .reports("trial 1 of a.toml · text · sample · case 12 appears twice");
    compare(&program, &["--results", "b.jsonl", "--filter", "case 2", "--seed", "9"]).exits(0);
    program.run(["merge", "a.jsonl", "b.jsonl"]).exits(2).reports("are of different plans");
    program.file("no.jsonl", "{\"result\":1}\n");
    program.run(["merge", "no.jsonl"]).exits(2).reports("no.jsonl:1: invalid result row");
    program.file(
        "newer.jsonl",
        std::fs::read_to_string(program.dir().join("a.jsonl")).unwrap().replace("\"result\":1", "\"result\":9"),
    );
    program.run(["merge", "newer.jsonl"]).exits(2).reports("a newer ptc-workbench wrote this");
    program.file("empty.jsonl", "");
    program.run(["merge", "empty.jsonl"]).exits(2).reports("the files contain no results");
    program.file("mine.jsonl", "mine\n");
    compare(&program, &["--results", "mine.jsonl"]).exits(2).reports("a file of another kind exists there");
}

#[test]
fn a_page_and_a_summary_show_failures_with_their_turns_and_what_changed() {
    let program = program();
    compare(&program, &["--report", "out.html", "--summary", "out.md", "--results", "r.jsonl"]).exits(0);
    let read = |name: &str| std::fs::read_to_string(program.dir().join(name)).unwrap();
    let (page, summary) = (read("out.html"), read("out.md"));
    for part in ["<h2>Against a.toml · text · sample</h2>", "<h2>Failures</h2>", "<h4>Turn 1</h4>", "Cannot run"] {
        assert!(page.contains(part), "{part}\n{page}");
    }
    assert!(!page.contains("<script") && !page.contains("src="), "{page}");
    assert!(summary.starts_with("## Matrix m-") && summary.contains("| b.toml | text |"), "{summary}");
    // Of results from elsewhere the page has the reasons and no turns.
    std::fs::remove_dir_all(program.sessions_dir()).unwrap();
    program.run(["merge", "r.jsonl", "--report", "merged.html"]).exits(0);
    let merged = read("merged.html");
    assert!(merged.contains("the predicate is false") && !merged.contains("<h4>Turn"), "{merged}");
}

#[test]
fn a_largest_cost_ends_a_matrix_that_can_be_resumed() {
    let program = program();
    // The sample model costs nothing: a largest cost of nothing is reached before the first trial.
    let stopped = compare(&program, &["--max-cost", "0"]);
    stopped
        .exits(1)
        .reports("stopped at --max-cost: 0 of 48 trials are kept; resume with: ptc-workbench compare --resume m-");
    assert_eq!(program.session_files().len(), 0);
    let resumed = program.run(["compare", "--resume", "last", "--json"]).exits(0).json();
    assert_eq!(resumed["complete"], json!(true));
    program.run(["test", "a.toml", "--max-cost", "1"]).reports("the cost of some trials is not known");
}
