//! `--context` and `--set`: types, files, an earlier step, and who wins.

use serde_json::{Value, json};

use super::program::Program;

const AGENT: &str = r#"
name = "echo"
mode = "json"
model = "sample"
prompt = "{{text}} {{n}} {{flag}}"
signature = "(text :string, n :int?, flag :bool?, tags [:string]?) -> {a :string}"
[context]
text = "own"
n = 1
"#;

/// The context that a run of these arguments was started with.
fn context(program: &Program, arguments: &[&str]) -> Value {
    let before = program.session_files();
    program.run(["run", "echo.toml"].iter().chain(arguments)).exits(0);
    let file = program.session_files().into_iter().find(|file| !before.contains(file)).unwrap();
    let text = std::fs::read_to_string(file).unwrap();
    let start: Value = serde_json::from_str(text.lines().nth(1).unwrap()).unwrap();
    start["d"]["context"].clone()
}

#[test]
fn set_beats_context_which_beats_the_agents_own() {
    let program = Program::new();
    program.file("echo.toml", AGENT);
    program.file("given.json", "\u{feff}{\"text\": \"file\", \"n\": 3}");
    assert_eq!(context(&program, &[]), json!({"text": "own", "n": 1}));
    assert_eq!(context(&program, &["--context", r#"{"text": "given"}"#]), json!({"text": "given"}));
    assert_eq!(context(&program, &["--context", "@given.json"]), json!({"text": "file", "n": 3}));
    assert_eq!(context(&program, &["--set", "text=set"]), json!({"n": 1, "text": "set"}));
    let both = ["--context", "@given.json", "--set", "text=set", "--set", "text=last"];
    assert_eq!(context(&program, &both), json!({"n": 3, "text": "last"}));
}

#[test]
fn a_value_takes_the_type_of_its_parameter() {
    let program = Program::new();
    program.file("echo.toml", AGENT);
    program.file("note.txt", "line one\nline = two @x\n");
    program.file("tags.json", "[\"a\", \"b\"]\n");
    let sets = ["--set", "text=42", "--set", "n= 7", "--set", "flag=true", "--set", "tags=@tags.json"];
    assert_eq!(context(&program, &sets), json!({"text": "42", "n": 7, "flag": true, "tags": ["a", "b"]}));
    assert_eq!(context(&program, &["--set", "text=@note.txt"])["text"], "line one\nline = two @x\n");
    program.file("marked.txt", "\u{feff}from Windows");
    assert_eq!(context(&program, &["--set", "text=@marked.txt"])["text"], "from Windows");
    assert_eq!(context(&program, &["--set", "text=a=b"])["text"], "a=b");
    assert_eq!(context(&program, &["--set", "text="])["text"], "");
    let errors = [
        ("n=seven", "error: --set n: line 1, column 1: "),
        ("n=  1 2", "error: --set n: line 1, column 5: "),
        ("txt=a", "error: --set txt: no such parameter; did you mean `text`? (parameters: text, n, flag, tags)"),
        ("text", "error: --set text: write it as NAME=VALUE or NAME=@FILE"),
        ("text=@none.txt", "error: none.txt: cannot be read: No such file or directory"),
        ("text=@.", "error: .: cannot be read: Is a directory"),
    ];
    for (set, message) in errors {
        program.run(["run", "echo.toml", "--set", set]).exits(2).reports(message);
    }
}

#[test]
fn an_input_of_context_that_is_not_declared_is_a_warning() {
    let program = Program::new();
    program.file("echo.toml", AGENT);
    program.file("free.toml", "mode = \"text\"\nmodel = \"sample\"\nprompt = \"Hello\"\n");
    let done = program.run(["run", "echo.toml", "--context", r#"{"text": "a", "txt": 1, "zz": 2}"#]);
    let known = "(inputs: text, n, flag, tags)";
    done.exits(0).reports(&format!("warning: --context: no input `txt`; did you mean `text`? {known}"));
    done.reports(&format!("warning: --context: no input `zz` {known}"));
    let declared = program.run(["run", "echo.toml", "--context", r#"{"text": "a"}"#]);
    let free = program.run(["run", "free.toml", "--context", r#"{"zz": 2}"#]);
    for done in [declared, free] {
        assert!(!done.exits(0).stderr.contains("no input"), "{}", done.stderr);
    }
    let fork = [
        "fork",
        "last",
        "--at",
        "r0/t1",
        "--signature",
        "(number :int) -> :string",
        "--context",
        r#"{"number": 1, "numbr": 2}"#,
    ];
    program.run(fork).reports("warning: --context: no input `numbr`; did you mean `number`? (inputs: number)");
    program.file(
        "twice.toml",
        "mode = \"ptc_lisp\"\nprompt = \"go\"\nsignature = \"(n :int) -> :int\"\nprogram = \"(return (* 2 data/n))\"\n",
    );
    let twice = program.run(["run", "twice.toml", "--set", "n=1", "--json"]).exits(0).json();
    let pinned = ["exec", twice["session"].as_str().unwrap(), "r0/t1", "--context", r#"{"n": 2, "nn": 3}"#];
    program.run(pinned).exits(0).reports("warning: --context: no input `nn`; did you mean `n`? (inputs: n)");
    let preview = program.run(["prompt", "echo.toml", "--context", r#"{"text": "a", "txt": 1}"#]);
    preview.exits(0).reports(&format!("warning: --context: no input `txt`; did you mean `text`? {known}"));
}

#[test]
fn json_with_two_members_of_one_name_is_refused_because_readers_disagree() {
    let program = Program::new();
    program.file("echo.toml", AGENT);
    program.file("free.toml", "mode = \"text\"\nmodel = \"sample\"\nprompt = \"Hello\"\n");
    program.file("twice.json", "{\n  \"n\": 1,\n  \"n\": 2\n}");
    let inline = r#"{"n":1,"n":2}"#;
    let set = format!("rows={inline}");
    let commands: [(&[&str], &str); 8] = [
        (&["run", "echo.toml", "--context", inline], "--context: line 1, column 8"),
        (&["run", "echo.toml", "--context", "@twice.json"], "twice.json: line 3, column 3"),
        (&["run", "echo.toml", "--set", r#"tags=[{"n":1,"n":2}]"#], "--set tags: line 1, column 9"),
        (&["run", "free.toml", "--set", &set], "--set rows: line 1, column 8"),
        (&["run", "echo.toml", "--journal", "twice.json"], "--journal twice.json: line 3, column 3"),
        (&["prompt", "echo.toml", "--context", inline], "--context: line 1, column 8"),
        (&["lisp", "run", "-e", "data/n", "--context", inline], "--context: line 1, column 8"),
        (&["lisp", "run", "-e", "data/n", "--context", "@twice.json"], "twice.json: line 3, column 3"),
    ];
    for (arguments, place) in commands {
        let expected = format!(
            "error: {place}: the JSON is ambiguous: an object has the member \"n\" twice, and readers of JSON disagree about which one counts"
        );
        program.run(arguments).exits(2).reports(&expected);
    }
    assert_eq!(program.session_files().len(), 0);
    program.run(["run", "free.toml"]).exits(0);
    let fork = |flag: &str, value: &str| program.run(["fork", "last", "--at", "r0/t1", flag, value]);
    fork("--context", inline).exits(2).reports("--context: line 1, column 8");
    fork("--reply-json", inline).exits(2).reports("--reply-json: line 1, column 8");
    fork("--option", &format!("max_turns={inline}")).exits(2).reports("--option max_turns: line 1, column 8");
}

#[test]
fn digits_of_a_whole_number_are_bounded_in_contexts() {
    // Limit json_digits.
    let program = Program::new();
    program.file("echo.toml", AGENT);
    program.file("most.txt", "9".repeat(10_000));
    program.file("more.txt", "9".repeat(10_001));
    let most = program.run(["prompt", "echo.toml", "--set", "n=@most.txt"]);
    assert!(most.exits(0).stdout.contains(&"9".repeat(10_000)));
    let more = program.run(["prompt", "echo.toml", "--set", "n=@more.txt"]);
    more.exits(2).reports("--set n: line 1, column 1: a whole number of more than 10000 digits");
}

#[test]
fn the_output_of_a_run_is_the_context_of_the_next() {
    let program = Program::new();
    program.file(
        "next.toml",
        "name = \"next\"\nmode = \"json\"\nmodel = \"sample\"\nprompt = \"{{sentiment}}\"\n\
        signature = \"(sentiment :string) -> {a :int}\"\n",
    );
    let step = program.run(["run", "sentiment", "--model", "sample", "--json"]);
    program.file("step.json", &step.exits(0).stdout);
    let sent = program.run(["prompt", "next.toml", "--context", "@step.json"]).exits(0).json();
    let message = sent["request"]["messages"][1]["content"].as_str().unwrap();
    assert!(message.contains("positive") && message.contains("the attitude of the writer"), "{message}");
    program.run(["run", "next.toml", "--context", "@step.json"]).exits(0);

    let failed = program.run(["run", "sentiment", "--model", "sample:bad_json,every", "--json"]);
    program.file("failed.json", &failed.exits(1).stdout);
    let refused = program.run(["run", "next.toml", "--context", "@failed.json"]);
    refused.exits(2).reports("failed.json: chained_failure: the earlier step `sentiment` failed with json_parse_error");

    program.file(
        "other.toml",
        "name = \"other\"\nmode = \"json\"\nmodel = \"sample\"\nprompt = \"{{who}} {{sentiment}}\"\n\
        signature = \"(who :string, sentiment :string) -> {a :int}\"\n",
    );
    let refused = program.run(["run", "other.toml", "--context", "@step.json"]);
    refused
        .exits(2)
        .reports("step.json: chain_error: the earlier step `sentiment` returned `sentiment`, `score`; missing: `who`");
    program.run(["run", "other.toml", "--context", "@step.json", "--set", "who=me"]).exits(0);
}

#[test]
fn a_context_that_does_not_fit_fails_before_the_model_is_asked() {
    let program = Program::new();
    let done = program.run(["run", "sentiment", "--model", "sample", "--context", r#"{"text": 5}"#, "--json"]);
    let step = done.exits(1).json();
    assert_eq!((&step["fail"]["reason"], &step["turns"]), (&json!("invalid_context"), &json!([])));
    program.run(["replay", "last", "--check"]).exits(0);
    for (context, line) in
        [(r#"{"text": 5}"#, "✗ text: expected string, got int"), ("{}", "✗ text: is missing; add it to the context")]
    {
        let done = program.run(["run", "sentiment", "--model", "sample", "--no-save", "--context", context]);
        done.exits(1);
        assert!(done.stderr.lines().any(|have| have.trim() == line), "{}", done.stderr);
    }
}

/// A Step with `"fail": null` did not fail.
#[test]
fn a_step_whose_failure_is_null_did_not_fail() {
    let program = Program::new();
    program.file("echo.toml", AGENT);
    let step = r#"{"return": {"text": "earlier"}, "fail": null, "usage": {}, "turns": [], "memory": {}, "signature": null, "name": "before"}"#;
    program.file("step.json", step);
    assert_eq!(context(&program, &["--context", "@step.json"]), json!({"text": "earlier"}));
    program.file(
        "failed.json",
        step.replace("null, \"usage\"", "{\"reason\": \"failed\", \"message\": \"no\"}, \"usage\""),
    );
    program.run(["run", "echo.toml", "--context", "@failed.json"]).exits(2).reports("chained_failure");
}

#[test]
fn what_a_step_of_a_pipeline_does_not_get_comes_from_its_own_context() {
    let program = Program::new();
    let gather = "[[steps]]\nname = \"gather\"\nmode = \"ptc_lisp\"\nprompt = \"go\"\nsignature = \"() -> {population :int, country :string}\"\n\
                  program = '{:population 14 :country \"Japan\"}'\nmax_turns = 1\n";
    let sum_up = |context: &str| {
        format!(
            "{gather}[[steps]]\nname = \"summarize\"\nmode = \"ptc_lisp\"\nprompt = \"go\"\n\
             signature = \"(city :string, population :int, country :string) -> :string\"\n\
             program = '(str data/city \" \" data/population \" \" data/country)'\nmax_turns = 1\n{context}"
        )
    };
    program.file("p.toml", sum_up("context = { city = \"Tokyo\", country = \"?\" }\n"));
    let done = program.run(["run", "p.toml", "--json"]);
    assert_eq!(done.exits(0).json()["return"], "Tokyo 14 Japan");
    program.file("without.toml", sum_up(""));
    program
        .run(["run", "without.toml"])
        .exits(2)
        .reports("step 2 (summarize): the input `city` is missing: the answer of step");
    // The context in the file of a later step is an example for running it alone.
    program.file(
        "sum.toml",
        "mode = \"ptc_lisp\"\nprompt = \"go\"\nsignature = \"(city :string) -> :string\"\n\
                               program = 'data/city'\nmax_turns = 1\ncontext = { city = \"Paris\" }\n",
    );
    program.file("files.toml", format!("{gather}[[steps]]\nfile = \"sum.toml\"\n"));
    program
        .run(["run", "files.toml"])
        .exits(2)
        .reports("step 2 (sum): the input `city` is missing: the answer of step 1 (gather)");
    program.file("files.toml", format!("{gather}[[steps]]\nfile = \"sum.toml\"\ncontext = {{ city = \"Oslo\" }}\n"));
    assert_eq!(program.run(["run", "files.toml", "--json"]).exits(0).json()["return"], "Oslo");
}
