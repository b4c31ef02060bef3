//! `run --journal`: tasks that a file knows are not done again.

use serde_json::json;

use super::program::Program;

fn agent(program: &str) -> String {
    format!(
        "mode = \"ptc_lisp\"\njournaling = true\nprompt = \"Count the lines\"\nprogram = '''{program}'''\n\
         [tools.read]\nkind = \"table\"\nsignature = \"() -> [:string]\"\ndefault = [\"one\", \"two\"]\n"
    )
}

fn kept(program: &Program, file: &str) -> serde_json::Value {
    serde_json::from_str(&std::fs::read_to_string(program.dir().join(file)).unwrap()).unwrap()
}

#[test]
fn a_task_in_the_journal_is_not_done_again() {
    let program = Program::new();
    program.file("a.toml", agent("(return (count (task \"read\" (tool/read {}))))"));
    let run = || program.run(["run", "a.toml", "--journal", "tasks.json", "--json"]);
    let done = run();
    done.exits(0).reports("journal written to tasks.json");
    let first = done.json();
    assert_eq!((&first["return"], first["calls"].as_array().unwrap().len()), (&json!(2), 1));
    assert_eq!(first["journal"], json!({"read": ["one", "two"]}));
    assert_eq!(kept(&program, "tasks.json"), first["journal"]);
    let second = run().exits(0).json();
    assert_eq!((&second["return"], &second["calls"]), (&json!(2), &json!([])));
    assert_eq!(second["journal"], first["journal"]);
    let shown = second["turns"][0]["system_prompt"].as_str().unwrap();
    assert!(shown.contains("Finished tasks:\n- read: "), "{shown}");
    program.run(["replay", "last"]).exits(0);

    program.file("tasks.json", r#"{"read": ["by hand"]}"#);
    assert_eq!(run().exits(0).json()["return"], 1);
    let without = program.run(["run", "a.toml", "--json"]).exits(0).json();
    assert_eq!(without["calls"].as_array().unwrap().len(), 1, "without the file everything is done");
}

#[test]
fn what_was_finished_before_a_failure_is_kept_and_what_is_reset_is_gone() {
    let program = Program::new();
    program.file("fails.toml", agent("(do (task \"a\" {:n 1}) (task-reset \"old\") (fail \"no luck\"))"));
    program.file("tasks.json", r#"{"old": 1, "other": null}"#);
    program.run(["run", "fails.toml", "--journal", "tasks.json"]).exits(1);
    assert_eq!(kept(&program, "tasks.json"), json!({"a": {"n": 1}, "other": null}));
    program.file("breaks.toml", agent("(do (task \"b\" 1) (/ 1 0))").replace("prompt", "max_turns = 1\nprompt"));
    program.run(["run", "breaks.toml", "--journal", "tasks.json"]).exits(1);
    assert_eq!(kept(&program, "tasks.json"), json!({"a": {"n": 1}, "other": null}), "what broke kept nothing");
}

#[test]
fn a_journal_that_cannot_be_used_is_reported_before_the_run() {
    let program = Program::new();
    program.file("a.toml", agent("(return 1)"));
    program.file("none.toml", agent("(return 1)").replace("journaling = true\n", ""));
    program.file("bad.json", "{\"a\": 1");
    program.file("list.json", "[1]");
    let refused = |agent: &str, file: &str, why: &str| {
        program.run(["run", agent, "--journal", file]).exits(2).reports(why);
    };
    refused("a.toml", "bad.json", "--journal bad.json: line 1, column 8");
    refused("a.toml", "list.json", "a journal is a JSON object");
    refused("a.toml", "nowhere/tasks.json", "the folder nowhere does not exist");
    refused("none.toml", "new.json", "write `journaling = true`");
    refused("sentiment", "new.json", "json mode has no programs");
    refused("quote", "new.json", "pipelines do not support a journal");
    assert!(program.session_files().is_empty() && !program.dir().join("new.json").exists());
}
