//! `sessions example`: a turn of a session as an example in the prompt of its agent file.

use super::program::{Program, keys};

const AGENT: &str = r#"# mine
name = "answers"
mode = "json"
model = "sample"
prompt = "Say {{word}}"   # short
signature = "(word :string) -> {text :bool}"

[context]
word = "{{yes}}"
"#;

/// A program with a session of that agent.
fn ran(agent: &str) -> Program {
    let program = Program::new();
    program.run(["run", program.file("answers.toml", agent), "--json"]).exits(0);
    program
}

#[test]
fn a_turn_becomes_an_example_in_the_agent_file_and_the_model_is_sent_it() {
    let program = ran(AGENT);
    let output = program.run(["sessions", "example", "last", "--json"]).exits(0).json();
    assert_eq!(keys(&output), ["session", "address", "file", "new_file", "example"]);
    assert_eq!(
        (&output["address"], &output["file"], &output["new_file"]),
        (&"r0/t1".into(), &"answers.toml".into(), &false.into())
    );
    let example = output["example"].as_str().unwrap();
    assert!(example.starts_with("\n\n# Examples\n\nInput:\n{\"word\":\"{ {yes}}\"}\n\nAnswer:\n{"), "{example}");
    let file = std::fs::read_to_string(program.dir().join("answers.toml")).unwrap();
    assert!(file.starts_with("# mine\n") && file.contains("# short"), "{file}");
    let sent = program.run(["prompt", "answers.toml"]).exits(0).json().to_string();
    assert!(sent.contains("# Examples") && sent.contains("Say {{yes}}"), "{sent}");
    program.run(["run", "answers.toml", "--json"]).exits(0);
    // The second one is under the same heading.
    let output = program.run(["sessions", "example", "last@r0/t1"]);
    assert!(output.exits(0).stdout.starts_with("Input:"), "{}", output.stdout);
    let file = std::fs::read_to_string(program.dir().join("answers.toml")).unwrap();
    assert_eq!((file.matches("# Examples").count(), file.matches("Answer:").count()), (1, 2), "{file}");
}

#[test]
fn an_example_needs_a_reply_and_a_prompt_that_is_used() {
    let program = ran(AGENT);
    program.run(["sessions", "example", "last@r0"]).exits(2).reports("r0 is not a turn");
    program.run(["sessions", "example", "last@r0/t7"]).exits(2).reports("has no reply at r0/t7");
    program.run(["continue", "last", "And now?", "--model", "sample"]).exits(0);
    program.run(["sessions", "example", "last"]).exits(2).reports("its reply depends on what was sent there");
    program.run(["run", "answers.toml"]).exits(0);
    program
        .run(["sessions", "example", "last", "--agent", "sentiment"])
        .exits(2)
        .reports("is an example of the program");
    let own = format!("{AGENT}\n[modes.json]\nprompt = \"Tell {{{{word}}}}\"\n");
    program.file("answers.toml", &own);
    program.run(["sessions", "example", "last"]).exits(2).reports("a prompt of its own for the mode json");
    assert_eq!(std::fs::read_to_string(program.dir().join("answers.toml")).unwrap(), own);
    // A file that is named and does not exist is made from the session.
    program.run(["sessions", "example", "last", "--agent", "new.toml"]).exits(0).reports("in new file new.toml");
    assert!(std::fs::read_to_string(program.dir().join("new.toml")).unwrap().contains("# Examples"));
}

#[test]
fn a_turn_that_failed_is_no_example() {
    let program = Program::new();
    program.run(["run", "sentiment", "--model", "sample:missing_field"]).exits(0);
    program
        .run(["sessions", "example", "last@r0/t1", "--agent", "new.toml"])
        .exits(2)
        .reports("r0/t1 failed (validation_error)");
    assert!(!program.dir().join("new.toml").exists());
    program.run(["sessions", "example", "last@r0/t2", "--agent", "new.toml"]).exits(0);
}
