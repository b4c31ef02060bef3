//! The commands `serve` and `mcp` as a user starts them: what they refuse, and what they print.

use std::net::TcpListener;

use crate::cli::program::Program;

#[test]
fn what_cannot_be_served_is_refused_before_anything_listens() {
    let program = Program::new().with_env("SHORT", "0123456789");
    program.file("broken.toml", "mode = \"json\"\nprompt = \"{{a\"\n");
    std::fs::create_dir(program.dir().join("other")).unwrap();
    let agent = "mode = \"text\"\nprompt = \"Go\"\n";
    program.file("same.toml", agent);
    program.file("other/same.toml", agent);
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let rows: &[(&[&str], &str)] = &[
        (&["serve"], "<AGENT.toml>"),
        (&["serve", "sentimen"], "no such agent file; did you mean `sentiment`?"),
        (&["serve", "quote"], "is a pipeline"),
        (&["serve", "sentiment", "sentiment"], "named twice"),
        (&["serve", "same.toml", "other/same.toml"], "would both be served as `same`"),
        (&["serve", "broken.toml"], "broken.toml: this tag is never closed"),
        (&["serve", "sentiment", "--host", "0.0.0.0"], "--key-env"),
        (&["serve", "sentiment", "--host", "0.0.0.0", "--key-env", "NOT_SET"], "is not set"),
        (&["serve", "sentiment", "--key-env", "SHORT"], "at least 16 characters"),
        (&["serve", "sentiment", "--key-env", "sk-abcdef123456"], "variable, not the key itself"),
        (&["serve", "sentiment", "--port", &port], "cannot listen on 127.0.0.1"),
        (&["serve", "sentiment", "--max-runs", "0"], "--max-runs"),
        (&["mcp", "--agent", "sentimen"], "did you mean `sentiment`?"),
    ];
    for (arguments, words) in rows {
        let done = program.run(*arguments);
        assert!(done.exits(2).stderr.contains(words), "{arguments:?}: {}", done.stderr);
    }
}
