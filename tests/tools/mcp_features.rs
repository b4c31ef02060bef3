//! Resources and prompts of servers, called as tools.

use ptc_workbench::agent::DraftTexts;
use ptc_workbench::event::Decision;
use ptc_workbench::tool::ConsentPolicy;
use ptc_workbench::workbench::{PromptArgument, PromptList, PromptQuery, PromptRequest};
use serde_json::{Value, json};

use super::agent;
use crate::cli::program::Program;
use crate::openai::server::{Play, Server};

const TOOLS: &str = "[tools.list_resources]\nkind = \"mcp\"\nserver = \"files\"\n[tools.read]\nkind = \"mcp\"\nserver = \"files\"\n\
                     tool = \"read_resource\"\n[tools.list_prompts]\nkind = \"mcp\"\nserver = \"files\"\n[tools.get_prompt]\nkind = \"mcp\"\n\
                     server = \"files\"\n";

/// A server with these capabilities that answers these methods and refuses all others.
pub(super) async fn server(capabilities: Value, answers: Vec<(&'static str, Value)>) -> Server {
    Server::script(move |_, received| {
        let Ok(message) = serde_json::from_str::<Value>(&received.body) else {
            return Play::page("405 Method Not Allowed", "", "");
        };
        let method = message["method"].as_str().unwrap_or_default();
        let answer = match method {
            "initialize" => {
                Some(json!({"protocolVersion": message["params"]["protocolVersion"], "capabilities": capabilities,
                "serverInfo": {"name": "s", "version": "1"}}))
            }
            _ => answers.iter().find(|(known, _)| *known == method).map(|(_, answer)| answer.clone()),
        };
        let reply = match (answer, message.get("id")) {
            (_, None) => return Play::page("202 Accepted", "", ""),
            (Some(result), Some(id)) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
            (None, Some(id)) => {
                json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "unknown method"}})
            }
        };
        Play::json("200 OK", reply.to_string())
    })
    .await
}

fn answers() -> Vec<(&'static str, Value)> {
    let contents = json!([{"uri": "note://1", "mimeType": "text/plain", "text": "first note"},
        {"uri": "note://1/picture", "mimeType": "image/png", "blob": "AAAA"}]);
    let messages = json!([{"role": "user", "content": {"type": "text", "text": "Review main.rs"}},
        {"role": "assistant", "content": {"type": "text", "text": "Gladly."}}]);
    vec![
        ("resources/list", json!({"resources": [{"uri": "note://1", "name": "one", "mimeType": "text/plain"}]})),
        ("resources/read", json!({"contents": contents})),
        (
            "prompts/list",
            json!({"prompts": [{"name": "review", "description": "Reviews a file",
                "arguments": [{"name": "file", "required": true}, {"name": "style"}]}]}),
        ),
        ("prompts/get", json!({"messages": messages})),
    ]
}

pub(super) fn sent(server: &Server, method: &str) -> Option<Value> {
    let bodies =
        server.received().into_iter().filter_map(|received| serde_json::from_str::<Value>(&received.body).ok());
    bodies.filter(|body| body["method"] == method).map(|body| body["params"].clone()).next()
}

#[tokio::test(flavor = "multi_thread")]
async fn resources_and_prompts_are_tools_of_a_server_that_has_them() {
    let server = server(json!({"resources": {}, "prompts": {}}), answers()).await;
    let program = Program::new();
    program.file("config.toml", format!("[mcp.files]\nurl = \"{}\"\n", server.base_url));
    let code = "(return [(tool/list_resources {}) (tool/read {:uri \"note://1\"}) (tool/list_prompts {}) \
                (tool/get_prompt {:name \"review\" :arguments {:file \"main.rs\"}})])";
    program.file("a.toml", agent(code, TOOLS));
    let run = |arguments: &[&str]| {
        tokio::task::block_in_place(|| program.run(["--config", "config.toml"].iter().chain(arguments)))
    };
    let done = run(&["run", "a.toml", "--allow-tools", "--json"]);
    let expected = json!([
        [{"uri": "note://1", "name": "one", "mime_type": "text/plain"}],
        "first note\n[resource note://1/picture, about 3 bytes, not shown to models]",
        [{"name": "review", "description": "Reviews a file", "required": ["file"], "optional": ["style"]}],
        [{"role": "user", "text": "Review main.rs"}, {"role": "assistant", "text": "Gladly."}],
    ]);
    assert_eq!(done.exits(0).json()["return"], expected, "{}", done.stderr);
    assert_eq!(sent(&server, "resources/read").unwrap()["uri"], "note://1");
    assert_eq!(sent(&server, "prompts/get").unwrap()["arguments"], json!({"file": "main.rs"}));
    assert_eq!(sent(&server, "tools/list"), None, "a server without tools is not asked for them");
    let before = server.received().len();
    run(&["replay", "last", "--check"]).exits(0);
    assert_eq!(server.received().len(), before, "a replay asks no server");
    let shown = run(&["tools", "--server", "files"]);
    for words in ["server files: 4 tools", "read_resource", "(uri :string) -> :string", "get_prompt"] {
        assert!(shown.exits(0).stdout.contains(words), "{words}: {}", shown.stdout);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn resources_and_prompts_are_listed_and_printed_without_an_agent() {
    let server = server(json!({"resources": {}, "prompts": {}}), answers()).await;
    let program = Program::new();
    program.file("config.toml", format!("[mcp.files]\nurl = \"{}\"\n", server.base_url));
    program.file(
        "a.toml",
        agent("1", &format!("[tools.list_prompts]\nkind = \"mcp\"\nserver = \"own\"\nurl = \"{}\"\n", server.base_url)),
    );
    let run = |arguments: &[&str]| {
        tokio::task::block_in_place(|| program.run(["--config", "config.toml", "tools"].iter().chain(arguments)))
    };
    assert_eq!(run(&["resources", "files"]).exits(0).stdout, "note://1  one  text/plain\n");
    assert_eq!(run(&["resources", &server.base_url, "--json"]).exits(0).json()[0]["uri"], "note://1");
    assert!(
        run(&["resources", "files", "note://1"]).exits(0).stdout.starts_with("first note\n[resource note://1/picture")
    );
    assert_eq!(
        run(&["prompts", "own", "--agent", "a.toml"]).exits(0).stdout,
        "review (file, style?)\n    Reviews a file\n"
    );
    let filled = run(&["prompts", "files", "review", "--set", "file=main.rs"]);
    assert_eq!(filled.exits(0).stdout, "[user]\nReview main.rs\n[assistant]\nGladly.\n");
    assert_eq!(sent(&server, "prompts/get").unwrap()["arguments"], json!({"file": "main.rs"}));
    run(&["prompts", "files", "review", "--set", "file"]).exits(2).reports("write NAME=TEXT");
    run(&["resources", "other"]).exits(2).reports("the configuration has no section [mcp.other]");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_without_resources_or_prompts_is_reported() {
    let server = server(json!({"tools": {}}), Vec::new()).await;
    let program = Program::new();
    for (what, words) in [("resources", "the server"), ("prompts", "has no prompts")] {
        let done = tokio::task::block_in_place(|| program.run(["tools", what, &server.base_url]));
        done.exits(1).reports(words).reports(&format!("has no {what}"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_is_asked_for_the_configured_log_level_when_it_has_one() {
    for (capabilities, expected) in
        [(json!({"logging": {}, "resources": {}}), Some(json!({"level": "error"}))), (json!({"resources": {}}), None)]
    {
        let server = server(capabilities, answers()).await;
        let program = Program::new();
        program.file("config.toml", format!("[mcp.files]\nurl = \"{}\"\nlog_level = \"error\"\n", server.base_url));
        let done =
            tokio::task::block_in_place(|| program.run(["--config", "config.toml", "tools", "--server", "files"]));
        done.exits(0);
        let asked = sent(&server, "logging/setLevel").map(|params| json!({"level": params["level"]}));
        assert_eq!(asked, expected);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_of_the_server_hides_the_feature_of_its_name_and_a_refusal_is_an_error_of_the_call() {
    let own = json!({"tools": [{"name": "read-resource", "inputSchema": {"type": "object", "properties": {"uri": {"type": "string"}},
        "required": ["uri"]}}]});
    let called = json!({"content": [{"type": "text", "text": "by the tool"}]});
    let answers = vec![("tools/list", own), ("tools/call", called)];
    let server = server(json!({"tools": {}, "resources": {}}), answers).await;
    let program = Program::new();
    program.file("config.toml", format!("[mcp.files]\nurl = \"{}\"\n", server.base_url));
    let tools = "[tools.read]\nkind = \"mcp\"\nserver = \"files\"\ntool = \"read_resource\"\n[tools.list_resources]\nkind = \"mcp\"\nserver = \"files\"\n";
    let run = |code: &str| {
        program.file("a.toml", agent(code, tools));
        tokio::task::block_in_place(|| {
            program.run(["--config", "config.toml", "run", "a.toml", "--allow-tools", "--json"])
        })
    };
    assert_eq!(run("(return (tool/read {:uri \"a\"}))").exits(0).json()["return"], "by the tool");
    run("(return (tool/list_resources {}))").exits(1).reports("the server files refused: unknown method");
}

#[tokio::test(flavor = "multi_thread")]
async fn prompts_of_the_servers_of_a_draft_are_listed_and_filled_in_after_consent() {
    let own = server(json!({"prompts": {}}), answers()).await;
    let bare = server(json!({"tools": {}}), vec![("tools/list", json!({"tools": []}))]).await;
    let dir = tempfile::tempdir().unwrap();
    let workbench = crate::tui::services::workbench(dir.path()).with_policy(ConsentPolicy::Ask);
    let tool = |name: &str, server: &Server| {
        format!("[tools.{name}]\nkind = \"mcp\"\nserver = \"{name}\"\nurl = \"{}\"\n", server.base_url)
    };
    let texts = |tools: String| DraftTexts { prompt: "go".to_owned(), tools, ..DraftTexts::default() };
    let mut query = PromptQuery { texts: texts(tool("own", &own) + &tool("bare", &bare)), decisions: Vec::new() };
    for (decision, name) in [(Decision::Once, "own"), (Decision::Deny, "bare")] {
        let Ok(PromptList::Undecided(definition, question)) = workbench.list_prompts(&query).await else {
            panic!("{name} needs consent")
        };
        assert!(question.contains(name) && question.contains("May this server be used?"), "{question}");
        query.decisions.push((definition, decision));
    }
    assert!(own.received().is_empty() && bare.received().is_empty(), "nothing is asked before the decisions");
    let listed = workbench.list_prompts(&query).await.unwrap();
    let PromptList::Listed(prompts, failures) = listed else { panic!("{listed:?}") };
    assert_eq!(failures, ["bare: not allowed"]);
    let argument = |name: &str, is_required| PromptArgument { name: name.to_owned(), is_required };
    assert_eq!(
        (prompts.len(), prompts[0].name.as_str(), prompts[0].description.as_str()),
        (1, "review", "Reviews a file")
    );
    assert_eq!(prompts[0].arguments, [argument("file", true), argument("style", false)]);
    let arguments = vec![("file".to_owned(), "main.rs".to_owned())];
    let request = PromptRequest { texts: query.texts.clone(), prompt: prompts[0].clone(), arguments };
    let filled = workbench.fill_prompt(&request).await;
    assert_eq!(filled.as_deref(), Ok("user:\nReview main.rs\n\nassistant:\nGladly."));
    let got = sent(&own, "prompts/get").unwrap();
    assert_eq!((&got["name"], &got["arguments"]), (&json!("review"), &json!({"file": "main.rs"})));
    let open = crate::tui::services::workbench(dir.path()).with_policy(ConsentPolicy::Allow);
    let listed = open.list_prompts(&PromptQuery { texts: texts(tool("bare", &bare)), decisions: Vec::new() }).await;
    assert!(
        matches!(&listed, Ok(PromptList::Listed(none, why)) if none.is_empty() && why[0].contains("has no prompts")),
        "{listed:?}"
    );
    let none = open.list_prompts(&PromptQuery { texts: texts(String::new()), decisions: Vec::new() }).await;
    assert!(none.unwrap_err().contains("kind = \"mcp\""));
}
