//! The official clients of MCP in TypeScript and Python use the server. Skipped with a message, unless `tests/peers/install.sh` was run.

use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};

use super::ASK;
use crate::cli::program::Program;
use crate::tools::others::peers;

const OPTIONAL: &str = r#"
name = "optional"
mode = "ptc_lisp"
prompt = "go"
signature = "() -> {note :string?, n :int, inner {note :string?}}"
max_turns = 1
program = "(return {:note nil :n 1 :inner {:note nil}})"
"#;

/// Runs a client, which starts the server with two agents as tools, and checks its report.
fn check(mut client: Command) {
    let program = Program::new().with_env("PATH", &std::env::var("PATH").unwrap());
    program.file("optional.toml", OPTIONAL);
    program.file("ask.toml", ASK);
    program.surround(&mut client);
    client.arg(env!("CARGO_BIN_EXE_ptc-workbench")).arg("--sessions").arg(program.sessions_dir());
    client.args(["mcp", "--agent", "optional.toml", "--agent", "ask.toml"]);
    let done = client.output().unwrap();
    let report: Value = serde_json::from_slice(&done.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&done.stderr)));
    let tools: Vec<&str> = report["tools"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    for name in ["agents_list", "sessions_search", "optional", "ask"] {
        assert!(tools.contains(&name), "{tools:?}");
    }
    assert_eq!(report["optional"], json!({"note": null, "n": 1, "inner": {"note": null}}));
    assert_eq!(report["asked"], json!({"colour": "red", "size": "large"}));
    assert_eq!(report["unknown"], true);
    assert_eq!(program.session_files().len(), 2);
}

fn script(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/peers").join(name)
}

#[test]
fn the_client_in_typescript_gets_answers_and_answers_questions() {
    let Some(peers) = peers("node_modules/@modelcontextprotocol/sdk/package.json") else { return };
    let mut client = Command::new("node");
    client.arg(script("mcp_client.mjs")).arg(peers.join("node_modules"));
    check(client);
}

#[test]
fn the_client_in_python_gets_answers_and_answers_questions() {
    let Some(peers) = peers("venv/bin/mcp-server-time") else { return };
    let mut client = Command::new(peers.join("venv/bin/python"));
    client.arg(script("mcp_client.py"));
    check(client);
}
