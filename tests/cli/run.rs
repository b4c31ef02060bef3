//! `run`: where the agent comes from, what is printed where, what is saved.

use serde_json::json;

use super::program::{Program, keys};

const AGENT: &str = r#"
name = "count"
mode = "json"
model = "sample"
prompt = "Count in {{text}}"
signature = "(text :string) -> {n :int}"
[context]
text = "abc"
"#;

const TOOLS: &str = r#"
[tools.lookup]
kind = "snippet"
signature = "(id :int) -> {name :string}"
description = "Look up a product"
code = "{:name 1}"
"#;

#[test]
fn an_agent_runs_by_file_by_example_name_and_by_prompt() {
    let program = Program::new();
    program.file("count.toml", AGENT);
    let agents: [(&[&str], &str); 4] = [
        (&["count.toml"], "count"),
        (&["sentiment"], "sentiment"),
        (&["--prompt", "Count {{x}}", "--signature", "(x :int) -> {n :int}", "--set", "x=1"], "inline"),
        (&["--prompt", "- a list", "--signature", "-> {n :int}"], "inline"),
    ];
    for (arguments, name) in agents {
        let done = program.run(["run", "--json", "--model", "sample"].iter().chain(arguments));
        assert_eq!(done.exits(0).json()["name"], name, "{arguments:?}");
    }
    assert_eq!(program.session_files().len(), agents.len());
}

#[test]
fn a_file_beats_an_example_of_the_same_name() {
    let program = Program::new();
    program.file("sentiment", AGENT);
    assert_eq!(program.run(["run", "sentiment", "--json"]).exits(0).json()["name"], "count");
}

#[test]
fn the_step_is_the_only_thing_on_stdout_and_its_keys_are_stable() {
    let program = Program::new();
    let done = program.run(["run", "sentiment", "--model", "sample:missing_field", "--json"]);
    let step = done.exits(0).json();
    let expected = [
        "return",
        "summary",
        "refs",
        "memory",
        "journal",
        "summaries",
        "from_turn",
        "waits_for",
        "usage",
        "own_usage",
        "turns",
        "calls",
        "questions",
        "children",
        "signature",
        "name",
        "mode",
        "model",
        "address",
        "field_descriptions",
        "session",
    ];
    assert_eq!(keys(&step), expected);
    assert_eq!(step["memory"], json!({}));
    assert_eq!(step["signature"], "(text :string) -> {sentiment :enum[positive negative neutral], score :float}");
    assert_eq!(step["usage"]["turns"], 2);
    assert_eq!(step["usage"]["schema_used"], false);
    let turns = step["turns"].as_array().unwrap();
    assert_eq!((turns.len(), &turns[0]["success"], &turns[1]["success"]), (2, &json!(false), &json!(true)));
    assert_eq!(turns[0]["reason"], "validation_error");
    assert_eq!(turns[0]["issues"][0]["path"], "sentiment");
    assert_eq!(turns[1]["messages"][2]["content"], turns[0]["feedback"]);
    let file = program.session_file();
    assert_eq!(step["session"].as_str(), file.file_stem().and_then(std::ffi::OsStr::to_str));

    let failed = program.run(["run", "sentiment", "--model", "sample:bad_json,every", "--json"]);
    let step = failed.exits(1).json();
    assert_eq!((keys(&step)[0], &step["fail"]["reason"]), ("fail", &json!("json_parse_error")));
}

#[test]
fn without_json_the_answer_goes_to_stdout_and_the_turns_to_stderr() {
    let program = Program::new();
    let done = program.run(["run", "sentiment", "--model", "sample:missing_field"]);
    insta::assert_snapshot!(done.exits(0).printed(), @r#"
    {
      "sentiment": "positive",
      "score": 0.92
    }
    "#);
    insta::assert_snapshot!(done.reported(), @r#"
    sentiment · json · sample:missing_field
    turn 1
      | {"score":0.92}
      ✗ sentiment: missing field
      feedback sent to the model
    turn 2
      | {"sentiment":"positive","score":0.92}
    ✓ returned after 2 turns, <time> s
    saved as <id>
    "#);
    let done = program.run(["--plain", "run", "sentiment", "--model", "sample:missing_field"]);
    assert!(done.exits(0).stderr.contains("error: sentiment: missing field") && done.stderr.contains("ok: returned"));
}

#[test]
fn the_answer_keeps_the_order_of_the_reply() {
    let program = Program::new();
    let reply = r#"{"score": 0.5, "sentiment": "neutral"}"#;
    let done = program.fed(["run", "sentiment", "--model", "human", "--json"], reply);
    assert_eq!(keys(&done.exits(0).json()["return"]), ["score", "sentiment"]);
}

#[test]
fn a_run_without_saving_leaves_no_files() {
    let program = Program::new();
    let done = program.run(["run", "sentiment", "--model", "sample", "--no-save", "--json"]);
    assert_eq!(done.exits(0).json()["session"], serde_json::Value::Null);
    assert!(!program.sessions_dir().exists());
    assert!(!done.stderr.contains("saved"), "{}", done.stderr);
}

#[test]
fn tools_in_json_mode_are_refused() {
    let program = Program::new();
    program.file("tools.toml", format!("{AGENT}{TOOLS}"));
    program.run(["run", "tools.toml"]).exits(2).reports("json mode has no tools, and this agent declares `lookup`");
    program.file("lisp.toml", format!("{AGENT}{TOOLS}[modes.json]\ntools = {{}}\n"));
    program.run(["run", "lisp.toml", "--mode", "json"]).exits(0);
    let saved = program.session();
    assert_eq!(saved.damage, []);
}

#[test]
fn sections_of_a_mode_and_the_cache_flag_reach_the_request() {
    let program = Program::new();
    program.file("count.toml", format!("{AGENT}[modes.json]\nprompt = \"Really count in {{{{text}}}}\"\n"));
    let sent = program.run(["prompt", "count.toml", "--cache"]).exits(0).json();
    assert_eq!(sent["request"]["cache"], true);
    assert!(sent["request"]["messages"][1]["content"].as_str().unwrap().contains("Really count in abc"));
}

#[test]
fn a_run_stops_at_its_breakpoints_and_a_replay_knows_them() {
    let program = Program::new();
    program.file(
        "a.toml",
        "name = \"a\"\nmode = \"ptc_lisp\"\nprompt = \"go\"\nmodel = \"human\"\nmax_turns = 1\n\
         [tools.find]\nkind = \"table\"\nsignature = \"(id :int) -> :any\"\ndefault = 7\n",
    );
    let reply = "```clojure\n(def total (tool/find {:id 1})) (return total)\n```\n.\nc\ncontinue\n";
    let done = program.fed(["run", "a.toml", "--stop", "tool:find,def:total"], reply);
    assert_eq!(done.exits(0).stdout, "7\n");
    done.reports("The run stopped before calling (tool/find {\"id\" 1})");
    done.reports("The run stopped after its program:");
    done.reports("total = 7");
    program.run(["replay", "last", "--check"]).exits(0);
    // Without a user the run waits, and only what the breakpoint takes continues it.
    let alone = format!("program = '(return (tool/find {{:id 1}}))'\n{}", "mode = \"ptc_lisp\"\nprompt = \"go\"\n");
    let tools = "[tools.find]\nkind = \"table\"\nsignature = \"(id :int) -> :any\"\ndefault = 7\n";
    program.file("alone.toml", alone + tools);
    program.run(["run", "alone.toml", "--stop", "tool:find"]).exits(4);
    program.run(["resume", "last", "--answer", "STOP IT"]).exits(2).reports("answer with one of: continue");
    assert_eq!(program.run(["resume", "last", "--answer", "continue"]).exits(0).stdout, "7\n");
    let missed = program.run(["run", "a.toml", "--stop", "tool:fnd"]);
    missed.exits(2).reports("--stop tool:fnd: the run would never stop there: the agent has no tool `fnd`");
    program.file("json.toml", "mode = \"json\"\nprompt = \"go\"\nmodel = \"sample\"\nsignature = \"() -> :int\"\n");
    for stop in ["def:total", "error"] {
        program.run(["run", "json.toml", "--stop", stop]).exits(2).reports("an agent in json mode runs no programs");
    }
    let steps = "[[steps]]\nfile = \"json.toml\"\n[[steps]]\nfile = \"json.toml\"\n";
    program.file("steps.toml", steps);
    program.run(["run", "steps.toml", "--stop", "tool:find"]).exits(2).reports("the agent has no tool `find`");
    program.run(["run", "a.toml", "--stop", "find"]).exits(2).reports("write tool:NAME, def:NAME or error");
}

#[test]
fn a_definition_of_memory_without_a_value_is_named() {
    let program = Program::new();
    let rows = [
        (
            "a = '1'\nb = '(+ 1'",
            "[memory] `b` cannot be evaluated: 1 closing parenthesis `)` is missing: the `(` of line 1, column 1",
        ),
        ("a = '(+ 1 zz)'\nb = '2'", "[memory] `a` cannot be evaluated: unknown name `zz`"),
        // Each is one name and one expression: none defines or ends more than that.
        ("x = '1) (def y 2'", "[memory] `x` cannot be evaluated: "),
        ("x = '1 2'", "[memory] `x` cannot be evaluated: write one expression"),
        ("'x 1) (def y 2' = '3'", "[memory] `x 1) (def y 2` cannot be evaluated: invalid name"),
        ("a = '1'\nz1 = '(return 5)'", "[memory] `z1` cannot be evaluated: `return` and `fail` end programs"),
    ];
    for (memory, words) in rows {
        program.file("a.toml", format!("prompt = 'x'\nmode = 'ptc_lisp'\nmodel = 'sample'\n[memory]\n{memory}\n"));
        program.run(["run", "a.toml"]).exits(1).reports(words);
    }
}
