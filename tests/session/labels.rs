//! Labels: written next to the sessions, found by searches, used by cases and compared with judges.

use serde_json::json;

use crate::cli::program::Program;

const AGENT: &str = r#"
name = "help"
mode = "json"
model = "sample"
prompt = "Answer {{q}}"
signature = "(q :string) -> {text :string}"

[[cases]]
name = "one"
context = { q = "When?" }
expect = { rubric = "It names hours.", model = "sample:seed=2", votes = 2 }

[[cases]]
name = "two"
context = { q = "Where?" }
expect = { rubric = "It names a place.", model = "sample", at_least = 0.9 }
"#;

/// A program whose sessions are the two runs of the cases with their judges; the ids of the judged ones by case.
fn tested() -> (Program, Vec<String>) {
    let program = Program::new();
    program.file("help.toml", AGENT);
    let results = program.run(["test", "help.toml", "--jobs", "1", "--json"]).json();
    let cases = results["agents"][0]["cases"].as_array().unwrap();
    let ids = cases.iter().map(|case| case["trials"][0]["session"].as_str().unwrap().to_owned()).collect();
    (program, ids)
}

fn found(program: &Program, query: &str) -> u64 {
    program.run(["sessions", "search", "--json", query]).json()["found"].as_u64().unwrap()
}

#[test]
fn a_label_is_shown_searched_replaced_and_removed() {
    let (program, ids) = tested();
    let file = program.sessions_dir().join(format!("{}.jsonl", ids[0]));
    let before = std::fs::read(&file).unwrap();
    // Runs of judges wait for no label, and `last` is what was tested.
    assert_eq!(found(&program, "is:unlabelled"), 2);
    let last = program.run(["sessions", "label", "last", "0.7", "--json"]).exits(0).json();
    assert_eq!((&last["session"], &last["label"]), (&json!(ids[1]), &json!({"grade": 0.7})));
    let label = ["sessions", "label", &ids[0], "fail", "--note", "no hours", "--json"];
    assert_eq!(program.run(label).exits(0).json()["label"], json!({"grade": "fail", "note": "no hours"}));
    let counts = ["is:unlabelled", "label:fail", "label:0.7", "label:pass", "-label:fail agent:help", "in:note hours"];
    assert_eq!(counts.map(|query| found(&program, query)), [0, 1, 1, 0, 1, 1]);
    program
        .run(["sessions", "show", &ids[0]])
        .reports("session: [fail no hours]")
        .reports("judged by the rubric \"It names hours.\"");
    program.run(["sessions", "label", &format!("{}@r0", ids[0]), "pass"]).exits(0);
    program.run(["sessions", "label", &ids[0], "none"]).exits(0);
    assert_eq!(["label:fail", "label:pass"].map(|query| found(&program, query)), [0, 1]);
    assert_eq!(std::fs::read(&file).unwrap(), before, "the session is not touched");
    program.run(["sessions", "label", &ids[0], "good"]).exits(2).reports("write pass, fail or a score from 0 to 1");
    program.run(["sessions", "label", &ids[0], "none", "--note", "x"]).exits(2).reports("`none` removes the label");
}

#[test]
fn judges_are_compared_with_labels() {
    let (program, ids) = tested();
    program.run(["judge", "help.toml"]).exits(2).reports("no run of the agent `help` has a label");
    program.run(["sessions", "label", &ids[0], "pass"]).exits(0);
    program.run(["sessions", "label", &format!("{}@r0", ids[1]), "fail"]).exits(0);
    // Each run is judged by the rubric of the case with its inputs.
    let by_cases = program.run(["judge", "help.toml", "--json"]).exits(0).json();
    assert_eq!((&by_cases["judges"]["votes"], by_cases["runs"].as_array().unwrap().len()), (&json!(3), 2));
    let rubrics: Vec<_> = by_cases["runs"].as_array().unwrap().iter().map(|run| &run["rulings"][0]["rubric"]).collect();
    assert_eq!(rubrics, ["It names a place.", "It names hours."]);
    assert_eq!(by_cases["agreement"], json!(1.0), "{by_cases}");
    assert_eq!(
        (&by_cases["kappa"], &by_cases["both_pass"], &by_cases["both_fail"]),
        (&json!(1.0), &json!(1), &json!(1))
    );
    let by_one =
        program.run(["judge", "help.toml", "--rubric", "x", "--models", "sample:seed=2", "--limit", "1", "--json"]);
    assert_eq!((&by_one.json()["kappa"], &by_one.json()["only_judge"]), (&json!(0.0), &json!(1)));
    // No answer, no judge.
    program.file("other.toml", AGENT.replace("sample:seed=2", "recorded:nothing"));
    assert!(program.run(["judge", "other.toml"]).exits(1).stdout.contains("not judged: "));
}

#[test]
fn a_label_becomes_an_expectation_or_an_example_of_a_judge() {
    let (program, ids) = tested();
    let case = |more: &[&str]| {
        let done = program.run(["sessions", "case", &ids[0], "--agent", "help.toml"].iter().chain(more));
        done.exits(0);
        std::fs::read_to_string(program.dir().join("help.toml")).unwrap()
    };
    assert!(case(&["--name", "a"]).contains("name = \"a\"\ncontext = { q = \"When?\" }\nexpect = { text = "));
    program.run(["sessions", "label", &ids[0], "fail", "--note", "no hours"]).exits(0);
    let text = case(&["--name", "b"]);
    assert!(text.contains("name = \"b\"\ncontext = { q = \"When?\" }\nexpect = { not = { value = { text = "), "{text}");
    let text = case(&["--name", "c", "--rubric", "It names hours."]);
    let example = "score = 0.0, reason = \"no hours\" }] }";
    assert!(
        text.contains("expect = { rubric = \"It names hours.\", examples = [{ answer = { text = ")
            && text.contains(example),
        "{text}"
    );
    program.run(["sessions", "case", &ids[0], "--agent", "help.toml", "--name", "d", "--rubric", " "]).exits(2);
}

#[test]
fn the_runs_of_judges_are_whole_sessions_and_in_the_files_of_results() {
    let program = Program::new();
    program.file("help.toml", AGENT);
    let files = ["--junit", "j.xml", "--results", "r.jsonl", "--report", "r.html"];
    let results = program.run(["test", "help.toml", "--json"].iter().chain(&files)).json();
    for case in results["agents"][0]["cases"].as_array().unwrap() {
        let ruling = &case["trials"][0]["rulings"][0];
        for vote in ruling["votes"].as_array().unwrap() {
            let id = vote["session"].as_str().unwrap();
            program.run(["replay", id, "--check"]).exits(0);
            program.run(["sessions", "verify", id]).exits(0);
            let reason = vote["reason"].as_str().unwrap();
            for file in ["j.xml", "r.jsonl", "r.html"] {
                let text = std::fs::read_to_string(program.dir().join(file)).unwrap();
                assert!(text.contains(reason), "{file}: {reason}");
            }
        }
    }
    let merged = program.run(["merge", "r.jsonl", "--json"]).exits(0).json();
    assert_eq!(merged["judges"]["votes"], json!(3));
}
