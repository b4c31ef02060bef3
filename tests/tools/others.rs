//! Servers that others wrote: an agent in each mode calls their tools. Skipped with a message, unless `tests/peers/install.sh` was run.

use std::io::Write as _;
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::json;

use crate::cli::program::{Program, wait_for};

/// Prints to stderr that a peer is missing, on a line after the test's own.
fn say_skipped(what: &str) {
    _ = writeln!(std::io::stderr(), "SKIPPED: {what}; run tests/peers/install.sh");
}

/// The folder of the peers, when this file is in it.
pub(crate) fn peers(file: &str) -> Option<PathBuf> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let peers = std::env::var_os("PEERS").map_or_else(|| root.join("target/peers"), PathBuf::from);
    if peers.join(file).is_file() {
        return Some(peers);
    }
    say_skipped(&format!("{file} is not in {}", peers.display()));
    None
}

/// The program with a configuration that names the servers, and PATH, which node needs.
fn program() -> Option<Program> {
    let peers = peers("node_modules/@modelcontextprotocol/server-everything/dist/index.js")?;
    peers.join("venv/bin/mcp-server-time").is_file().then_some(())?;
    let program = Program::new().with_env("PATH", &std::env::var("PATH").unwrap());
    let memory = program.dir().join("memory.jsonl").display().to_string();
    let program = program.with_env("MEMORY_FILE_PATH", &memory);
    let server = |name: &str| peers.join(format!("node_modules/@modelcontextprotocol/server-{name}/dist/index.js"));
    let quoted = |path: PathBuf| format!("{:?}", path.display().to_string());
    let config = format!(
        "[mcp.everything]\ncommand = [\"node\", {}, \"stdio\"]\n[mcp.files]\ncommand = [\"node\", {}, {}]\n[mcp.memory]\ncommand = [\"node\", {}]\nenv = [\"MEMORY_FILE_PATH\"]\n[mcp.time]\ncommand = [{}]\n",
        quoted(server("everything")),
        quoted(server("filesystem")),
        quoted(program.dir().canonicalize().unwrap()),
        quoted(server("memory")),
        quoted(peers.join("venv/bin/mcp-server-time")),
    );
    program.file("config.toml", config);
    program.file("note.txt", "hello from a file\n");
    Some(program)
}

const TOOLS: &str = r#"
[tools.echo]
kind = "mcp"
server = "everything"
[tools.get-sum]
kind = "mcp"
server = "everything"
[tools.read_text_file]
kind = "mcp"
server = "files"
[tools.create_entities]
kind = "mcp"
server = "memory"
[tools.convert_time]
kind = "mcp"
server = "time"
"#;

fn file(program: &Program, mode: &str, rest: &str) {
    program.file("a.toml", format!("name = \"a\"\nmode = \"{mode}\"\nprompt = \"go\"\nmax_turns = 4\n{rest}{TOOLS}"));
}

fn run(program: &Program, stdin: &str) -> crate::cli::program::Done {
    let arguments = ["--config", "config.toml", "run", "a.toml", "--model", "human", "--allow-tools", "--json"];
    program.fed(arguments, stdin)
}

#[test]
fn their_tools_are_listed_as_signatures() {
    let Some(program) = program() else { return };
    file(&program, "text", "");
    let done = program.run(["--config", "config.toml", "tools", "a.toml", "--connect"]);
    for words in [
        // Their own tools, and those for the resources and prompts that a server declares.
        // This server offers two tools more to clients that answer questions (elicitation by form and by URL), which ours does.
        "server everything: 19 tools",
        "trigger-elicitation-request",
        "read_resource  (uri :string) -> :string",
        "get_prompt  (name :string, arguments :map?)",
        "server files: 14 tools",
        "server memory: 11 tools",
        "server time: 6 tools",
        "get-sum  (a :float \"First number\", b :float \"Second number\") -> :string",
        "convert_time  (source_timezone :string",
    ] {
        assert!(done.exits(0).stdout.contains(words), "{words}:\n{}", done.stdout);
    }
}

#[test]
fn a_program_calls_tools_of_four_servers() {
    let Some(program) = program() else { return };
    file(&program, "ptc_lisp", "");
    let note = program.dir().canonicalize().unwrap().join("note.txt");
    let code = format!(
        "```clojure\n(return {{:echo (tool/echo {{:message \"hi\"}}) :sum (tool/get-sum {{:a 2 :b 3}}) :note (tool/read_text_file {{:path {note:?}}}) :made (tool/create_entities {{:entities [{{:name \"x\" :entityType \"t\" :observations [\"o\"]}}]}}) :time (tool/convert_time {{:source_timezone \"UTC\" :time \"12:00\" :target_timezone \"Asia/Tokyo\"}})}})\n```\n.\n"
    );
    let done = run(&program, &code);
    let got = done.exits(0).json()["return"].clone();
    assert!(got["echo"].as_str().unwrap().contains("hi"), "{got}");
    assert!(got["sum"].as_str().unwrap().contains('5'), "{got}");
    assert!(got["note"].to_string().contains("hello from a file"), "{got}");
    assert!(got["made"].to_string().contains("observations"), "{got}");
    assert!(got["time"].to_string().contains("21:00"), "{got}");
    program.run(["replay", "last", "--check"]).exits(0);
}

#[test]
fn a_model_calls_them_natively_and_by_control_objects() {
    let Some(program) = program() else { return };
    file(&program, "text", "signature = \"() -> :string\"\n");
    let done = run(&program, "/call get_sum {\"a\": 20, \"b\": 22}\n.\nforty-two\n.\n");
    assert_eq!(done.exits(0).json()["return"], json!("forty-two"));
    done.reports("42");
    file(&program, "json_loop", "signature = \"() -> {n :int}\"\n");
    let call = "{\"thought\":\"add\",\"tool_call\":{\"name\":\"get-sum\",\"arguments\":{\"a\":20,\"b\":22}},\"final_answer\":null}";
    let end = "{\"thought\":\"done\",\"tool_call\":null,\"final_answer\":{\"n\":42}}";
    let done = run(&program, &format!("{call}\n.\n{end}\n.\n"));
    assert_eq!(done.exits(0).json()["return"], json!({"n": 42}));
    done.reports("42");
}

/// A server that ends with the test.
struct Listening(std::process::Child);

impl Drop for Listening {
    fn drop(&mut self) {
        self.0.kill().unwrap_or_default();
        drop(self.0.wait());
    }
}

#[test]
fn a_server_over_http_is_called_with_headers() {
    let Some(program) = program() else { return };
    let Some(peers) = peers("node_modules/@modelcontextprotocol/server-everything/dist/index.js") else { return };
    let port = crate::openai::unused_port();
    let shim = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/peers/loopback.cjs");
    let node = Command::new("node")
        .arg("--require")
        .arg(shim)
        .arg(peers.join("node_modules/@modelcontextprotocol/server-everything/dist/index.js"))
        .arg("streamableHttp")
        .env("PORT", port.to_string())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let _server = Listening(node);
    wait_for("the server", || TcpStream::connect(("127.0.0.1", port)).ok());
    program.file("config.toml", format!("[mcp.everything]\nurl = \"http://127.0.0.1:{port}/mcp\"\n"));
    let tool = "[tools.get-sum]\nkind = \"mcp\"\nserver = \"everything\"\n";
    program.file("a.toml", super::agent("(return (tool/get-sum {:a 20 :b 22}))", tool));
    let done = program.run(["--config", "config.toml", "run", "a.toml", "--allow-tools", "--json"]);
    assert!(done.exits(0).json()["return"].as_str().unwrap().contains("42"));
    program.run(["replay", "last", "--check"]).exits(0);
}
