//! Images of tool results: stored once, given to the model that asked for the call, replayed and rebuilt without the server.

use ptc_workbench::event::{Event, hex_sha};
use serde_json::{Value, json};

use super::mcp::{CALL, READ, answer as mcp_answer, server as mcp_server};
use crate::cli::program::{Done, Program};
use crate::model::kit::Kit;
use crate::openai::server::{Server, answer};
use ptc_workbench::config::Protocol;

const PNG: &[u8] = b"\x89PNG\r\n\x1a\nthe picture";
const BASE64: &str = "iVBORw0KGgp0aGUgcGljdHVyZQ==";

fn program(models: &Server, kind: &str, agent: &str) -> Program {
    let program = Program::new();
    let content = json!([{"type": "text", "text": "a shot"}, {"type": "image", "data": BASE64, "mimeType": "image/jpeg"},
        {"type": "image", "data": "AAAA", "mimeType": "image/png"}]);
    mcp_server(&program, "", READ, &mcp_answer(&json!({"content": content}).to_string()));
    let config = std::fs::read_to_string(program.dir().join("config.toml")).unwrap();
    let base_url = &models.base_url;
    program.file("config.toml", format!("{config}[providers.mine]\nkind = \"{kind}\"\nbase_url = \"{base_url}\"\n"));
    program.file("a.toml", format!("model = \"mine:m\"\nprompt = \"go\"\nmax_turns = 3\n{agent}[tools.read-file]\nkind = \"mcp\"\nserver = \"files\"\n"));
    program
}

fn run(program: &Program, arguments: &[&str]) -> Done {
    tokio::task::block_in_place(|| program.run(["--config", "config.toml"].iter().chain(arguments)))
}

#[tokio::test(flavor = "multi_thread")]
async fn the_model_sees_the_image_of_a_result_and_the_session_holds_its_hash() {
    let kit = Kit(Protocol::Anthropic);
    let call = kit.call(0, "toolu_1", "read_file", &json!({"file_path": "a.txt"}));
    let models = Server::play([kit.play([kit.begin(), call, kit.end("calls")]), kit.answer("a lamp")]).await;
    let program = program(&models, "anthropic", "mode = \"text\"\nsignature = \"() -> :string\"\n");
    let done = run(&program, &["run", "a.toml", "--allow-tools", "--json"]);
    assert_eq!(done.exits(0).json()["return"], "a lamp", "{}", done.stderr);
    let body = models.received()[1].json();
    let content = body["messages"].as_array().unwrap().last().unwrap()["content"][0]["content"].clone();
    assert_eq!(content[1]["source"], json!({"type": "base64", "media_type": "image/png", "data": BASE64}), "{body}");
    let text = content[0]["text"].as_str().unwrap();
    assert!(
        text.contains("[image image/png, 19 bytes]") && text.contains("about 3 bytes, not shown to models"),
        "{text}"
    );
    let session = program.session();
    let ends = session.events().filter_map(|envelope| match &envelope.event {
        Event::ToolEnd(end) => Some(end.files.clone()),
        _ => None,
    });
    let files: Vec<_> = ends.flatten().collect();
    assert_eq!(
        (files.len(), files[0].name.as_str(), files[0].sha256.as_str()),
        (1, "read-file-1", hex_sha(PNG).as_str())
    );
    assert!(!std::fs::read_to_string(program.session_file()).unwrap().contains("dGhlIHBpY3R1cmU"));
    assert_eq!(std::fs::read(program.sessions_dir().join("files").join(hex_sha(PNG))).unwrap(), PNG);
    std::fs::remove_file(program.dir().join("server.sh")).unwrap();
    run(&program, &["replay", "last", "--check"]).exits(0);
    run(&program, &["sessions", "verify", "last"]).exits(0);
    let body = run(&program, &["sessions", "show", "last", "--body", "r0/t2"]);
    assert!(body.exits(0).stdout.contains(BASE64), "{}", body.stdout);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_gets_the_text_that_names_the_image() {
    let models = Server::play([answer(&format!("```clojure\n{CALL}\n```"))]).await;
    let program = program(&models, "openai", "mode = \"ptc_lisp\"\n");
    let done = run(&program, &["run", "a.toml", "--allow-tools", "--json"]);
    let text: Value = done.exits(0).json()["return"].clone();
    assert_eq!(text, "a shot\n[image image/png, 19 bytes]\n[image image/png, about 3 bytes, not shown to models]");
    run(&program, &["replay", "last", "--check"]).exits(0);
}
