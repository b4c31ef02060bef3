//! The commands `serve` and `mcp` as a user starts them: what they refuse, and what they print.

use std::net::TcpListener;

use serde_json::{Value, json};

use super::DOUBLE;
use crate::cli::program::{Done, Program};

/// The replies of `mcp` with these arguments to these requests, in their order, and what the program printed.
fn mcp(program: &Program, arguments: &[&str], requests: &[(&str, Value)]) -> (Vec<Value>, Done) {
    let version =
        json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}});
    let mut lines = vec![
        json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": version}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
    ];
    for (number, (method, params)) in requests.iter().enumerate() {
        lines.push(json!({"jsonrpc": "2.0", "id": number + 1, "method": method, "params": params}));
    }
    let input: Vec<String> = lines.iter().map(|line| format!("{line}\n")).collect();
    let done = program.fed(["mcp"].iter().chain(arguments), input.concat());
    let mut replies: Vec<Value> = done.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    replies.sort_by_key(|reply| reply["id"].as_u64());
    assert_eq!(replies.len(), requests.len() + 1, "{} {}", done.stdout, done.stderr);
    (replies.split_off(1).into_iter().map(|reply| reply["result"].clone()).collect(), done)
}

#[test]
fn an_assistant_sees_the_agent_files_that_have_errors() {
    let program = Program::new();
    let broken = "name = \"a\"\nmode = \"json\"\nprompt = \"Hi\"\nfoo = 1\n";
    program.file("broken.toml", broken);
    program.file("open.toml", "name = \"a\nprompt = \"Hi\"\n");
    program.file("steps.toml", "[[steps]]\nfile = \"none.toml\"\n");
    program.file("double.toml", DOUBLE);
    program.file("untyped.toml", DOUBLE.replace("{twice :int}", "{twice :itn}"));
    program.file("other.toml", "secret = \"hunter2\"\n");
    program.file("torn.toml", "mode = \"release\"\n[db\npassword = \"hunter2\"\n");
    program.file("secret.txt", "prompt = \"hunter2\"\nfoo = 1\n");
    std::fs::create_dir(program.dir().join(".hidden")).unwrap();
    program.file(".hidden/a.toml", "prompt = \"hunter2\"\nfoo = 1\n");
    let read = |name: &str| ("tools/call", json!({"name": "agent_read", "arguments": {"agent": name}}));
    let requests = [
        ("tools/call", json!({"name": "agents_list"})),
        read("broken.toml"),
        read("open.toml"),
        read("steps.toml"),
        read("other.toml"),
        read("torn.toml"),
        read("secret.txt"),
        read(".hidden/a.toml"),
    ];
    let (replies, _) = mcp(&program, &[], &requests);
    let text = |reply: &Value| reply["content"][0]["text"].as_str().unwrap().to_owned();
    let listed = text(&replies[0]);
    for line in [
        "broken.toml: error: ",
        "open.toml: error: ",
        "steps.toml: error: ",
        "untyped.toml: error: signature: ",
        "double.toml: ptc_lisp",
    ] {
        assert!(listed.lines().any(|listed| listed.starts_with(line)), "{line}: {listed}");
    }
    assert!(listed.contains("foo") && !listed.contains("other.toml") && !listed.contains("hidden"), "{listed}");
    assert_eq!((text(&replies[1]).as_str(), replies[1]["isError"].as_bool()), (broken, Some(false)));
    assert!(text(&replies[2]).starts_with("name = \"a\n") && text(&replies[3]).starts_with("[[steps]]"));
    for reply in &replies[4..] {
        assert!(reply["isError"] == true && !text(reply).contains("hunter2"), "{reply}");
    }
}

#[test]
fn names_that_clients_refuse_are_changed_with_a_note() {
    let program = Program::new();
    program.file("my double.v2.toml", DOUBLE);
    program.file("my.double.v2.toml", DOUBLE);
    let requests = [
        ("tools/list", json!({})),
        ("prompts/list", json!({})),
        ("tools/call", json!({"name": "my_double_v2", "arguments": {"n": 2}})),
    ];
    let (replies, done) = mcp(&program, &["--agent", "my double.v2.toml"], &requests);
    done.exits(0);
    assert!(done.stderr.contains("my double.v2.toml is the tool `my_double_v2`"), "{}", done.stderr);
    let is_valid = |name: &str| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    let names: Vec<&str> =
        replies[0]["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert!(names.contains(&"my_double_v2") && names.iter().all(|name| is_valid(name)), "{names:?}");
    assert_eq!(replies[1]["prompts"][0]["name"], "my_double_v2");
    assert_eq!(replies[2]["structuredContent"], json!({"twice": 4}));
    let both = program.run(["mcp", "--agent", "my double.v2.toml", "--agent", "my.double.v2.toml"]);
    let expected = "my double.v2.toml and my.double.v2.toml would both be the tool `my_double_v2`";
    assert!(both.exits(2).stderr.contains(expected), "{}", both.stderr);
    program.file("agent.read.toml", DOUBLE);
    let taken = program.run(["mcp", "--agent", "agent.read.toml"]);
    assert!(taken.exits(2).stderr.contains("has the name `agent_read`"), "{}", taken.stderr);
}

#[test]
fn what_cannot_be_served_is_refused_before_anything_listens() {
    let program = Program::new().with_env("SHORT", "0123456789").with_env("ACCENTS", "0123456789abcd\u{e9}f");
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
        (&["serve", "sentiment", "--key-env", "ACCENTS"], "characters that no request can send"),
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
