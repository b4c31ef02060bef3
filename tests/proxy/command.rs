//! The command `proxy` as a user starts it: what it refuses, the program that it starts, and its exit code.

use std::net::TcpListener;

use crate::cli::program::Program;

#[test]
fn what_cannot_be_proxied_is_refused_before_anything_listens() {
    let program = Program::new();
    program.file("rules.txt", "when model = m: fail 200\n");
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let rows: &[(&[&str], &str)] = &[
        (&["proxy", "--upstream", "nowhere"], "no provider has this name"),
        (&["proxy", "--upstream", "a=ftp://x"], "begins with http"),
        (&["proxy", "--rules", "absent.txt"], "--rules absent.txt"),
        (&["proxy", "--rules", "rules.txt"], "line 1: the status of a failure"),
        (&["proxy", "--replay", "absent"], "--replay absent"),
        (&["proxy", "--record-missing"], "--replay"),
        (&["proxy", "--port", &port], "take another port"),
    ];
    for (arguments, words) in rows {
        let done = program.run(*arguments);
        assert!(done.exits(2).stderr.contains(words), "{arguments:?}: {}", done.stderr);
    }
}

#[cfg(unix)]
#[test]
fn a_program_gets_the_variables_and_gives_its_exit_code() {
    let program = Program::new();
    let script = "echo \"$OPENAI_BASE_URL|$ANTHROPIC_BASE_URL|$OLLAMA_HOST\"; exit 7";
    let done = program.run(["proxy", "--port", "0", "--", "sh", "-c", script]);
    let stdout = &done.exits(7).stdout;
    let values: Vec<&str> = stdout.trim().split('|').collect();
    let [openai, anthropic, ollama] = values.as_slice() else { panic!("{stdout}") };
    assert!(anthropic.starts_with("http://127.0.0.1:") && *openai == format!("{anthropic}/v1"), "{stdout}");
    assert_eq!(anthropic, ollama);
    let done = program.run(["proxy", "--port", "0", "--", "absent-program"]);
    assert!(done.exits(2).stderr.contains("absent-program"), "{}", done.stderr);
}
