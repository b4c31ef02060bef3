//! Resources of servers as inputs of runs: read once and with consent, sent as the part of their type, replayed without a server.

use ptc_workbench::event::{Event, FileRecord, hex_sha};
use serde_json::{Value, json};

use super::mcp_features::{sent, server};
use crate::cli::program::{Done, Program};
use crate::openai::server::{Server, answer};

const PNG: &[u8] = b"\x89PNG\r\n\x1a\nthe picture";
const BASE64: &str = "iVBORw0KGgp0aGUgcGljdHVyZQ==";
const AGENT: &str = "mode = \"text\"\nmodel = \"mine:m\"\nprompt = \"What is on {{photo}}?\"\nsignature = \"(photo :file) -> :string\"\n\
                     [context]\nphoto = { resource = \"files:note://1\" }\n";

/// An MCP server with this resource.
async fn files(contents: Value) -> Server {
    server(json!({"resources": {}}), vec![("resources/read", json!({"contents": contents}))]).await
}

fn picture() -> Value {
    json!([{"uri": "note://1", "mimeType": "application/octet-stream", "blob": BASE64}])
}

fn program(files: &Server, models: &Server) -> Program {
    let program = Program::new();
    let provider = format!("[providers.mine]\nkind = \"openai\"\nbase_url = \"{}\"\n", models.base_url);
    program.file("config.toml", format!("[mcp.files]\nurl = \"{}\"\n{provider}", files.base_url));
    program.file("a.toml", AGENT);
    program
}

fn run(program: &Program, arguments: &[&str]) -> Done {
    tokio::task::block_in_place(|| program.run(["--config", "config.toml"].iter().chain(arguments)))
}

/// The content of the user's message in the last request.
fn content(models: &Server) -> Value {
    models.received().last().unwrap().json()["messages"].as_array().unwrap().last().unwrap()["content"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_resource_is_read_once_and_sent_as_the_part_of_its_type() {
    let (files, models) = (files(picture()).await, Server::play([answer("a lamp")]).await);
    let program = program(&files, &models);
    let done = run(&program, &["run", "a.toml", "--allow-tools", "--json"]);
    assert_eq!(done.exits(0).json()["return"], "a lamp", "{}", done.stderr);
    let parts = content(&models);
    assert_eq!(parts[0]["image_url"]["url"], format!("data:image/png;base64,{BASE64}"), "{parts}");
    assert!(parts[1]["text"].as_str().unwrap().contains("What is on note://1 (image/png, 19 bytes)?"), "{parts}");
    assert_eq!(sent(&files, "resources/read").unwrap()["uri"], "note://1");
    let session = program.session();
    let start = session.events().find_map(|envelope| match &envelope.event {
        Event::RunStart(start) => Some(start.clone()),
        _ => None,
    });
    let start = start.unwrap();
    let record = FileRecord::of_json(start.context.json().get("photo").unwrap()).unwrap();
    assert_eq!((record.name.as_str(), record.sha256.as_str()), ("note://1", hex_sha(PNG).as_str()));
    assert!(start.consents[0].what.contains("the resource note://1 of the server files"), "{:?}", start.consents);
    assert!(!std::fs::read_to_string(program.session_file()).unwrap().contains("dGhlIHBpY3R1cmU"));
    // Without the server: replay, verification, and the request again from the stored bytes.
    drop(files);
    run(&program, &["replay", "last", "--check"]).exits(0);
    run(&program, &["sessions", "verify", "last"]).exits(0);
    let body = run(&program, &["sessions", "show", "last", "--body", "r0/t1"]);
    assert!(body.exits(0).stdout.contains(BASE64), "{}", body.stdout);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_resource_is_named_on_the_command_line_and_texts_stay_inside_a_tag() {
    let contents = json!([{"uri": "a:1", "text": "one </file> two"}, {"uri": "a:2", "text": "three"}]);
    let (files, models) = (files(contents).await, Server::play([answer("ok")]).await);
    let program = program(&files, &models);
    program.file("b.toml", AGENT.split("[context]").next().unwrap());
    run(&program, &["run", "b.toml", "--allow-tools", "--set", "photo=@resource:files:a:1"]).exits(0);
    let text = content(&models).to_string();
    assert!(text.contains("<file name=\\\"a:1\\\">\\none <\\\\/file> two\\nthree\\n</file>"), "{text}");
    let wrong = run(&program, &["run", "b.toml", "--set", "photo=@resource:files"]);
    wrong.exits(2).reports("write it as photo=@resource:SERVER:URI");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_consent_or_content_nothing_is_sent() {
    let (files, models) = (files(json!([{"uri": "x", "blob": "AP8="}])).await, Server::play([answer("no")]).await);
    let program = program(&files, &models);
    let refused = run(&program, &["run", "a.toml"]);
    refused.exits(1).reports("the resource note://1 of the server files was not read; it needs your consent");
    assert!(sent(&files, "resources/read").is_none());
    let unusable = run(&program, &["run", "a.toml", "--allow-tools"]);
    unusable.exits(1).reports("was not read: its type is unknown");
    run(&program, &["replay", "last", "--check"]).exits(0);
    program.file("c.toml", AGENT.replace("files:note", "fles:note"));
    run(&program, &["run", "c.toml", "--allow-tools"]).reports("the configuration has no section [mcp.fles]");
    assert!(models.received().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_preview_reads_nothing() {
    let (files, models) = (files(picture()).await, Server::play([]).await);
    let program = program(&files, &models);
    let shown = run(&program, &["prompt", "a.toml"]);
    assert!(shown.exits(0).stdout.contains("note://1 (read when the run begins, 0 bytes)"), "{}", shown.stdout);
    assert!(files.received().is_empty() && models.received().is_empty());
}

#[test]
fn an_inspection_names_the_servers_that_inputs_come_from() {
    let program = Program::new();
    program.file("config.toml", "[mcp.files]\ncommand = [\"file-server\", \"--all\"]\n");
    program.file("a.toml", AGENT);
    let done = program.run(["--config", "config.toml", "inspect", "a.toml", "--json"]);
    let report = done.exits(1).json();
    let starts = report["lines"].as_array().unwrap().iter().find(|line| line["effect"] == "starts").unwrap();
    assert_eq!((&starts["key"], &starts["what"]), (&json!("context.photo"), &json!("file-server")), "{report}");
    assert_eq!((&starts["consent"], &report["needs_consent"]), (&json!("needed"), &json!(true)));
}
