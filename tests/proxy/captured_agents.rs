//! Agents of captured requests: what they send is the captured request, and differences are listed.

use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ptc_workbench::agent::Agent;
use ptc_workbench::config::{Config, Folders};
use ptc_workbench::event::Address;
use ptc_workbench::session::Session;
use ptc_workbench::workbench::{CapturedAgent, FileNaming, Workbench, write_new_agent};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::kit::{Proxied, fetch};
use crate::cli::program::Program;
use crate::openai::server::answer;

const CHAT: &str = "/v1/chat/completions";

/// Passes requests (path, body) of one conversation through a proxy.
async fn recorded(requests: &[(&str, Value)]) -> (Session, TempDir) {
    let proxied = Proxied::script(|number, _| answer(&format!("reply {number}"))).await;
    for (path, body) in requests {
        assert!(fetch(proxied.post(path, body.to_string())).await.is_whole);
    }
    let (mut sessions, dir) = proxied.end().await;
    assert_eq!(sessions.len(), 1);
    (sessions.remove(0), dir)
}

/// The agent of a turn.
fn agent_at(session: &Session, turn: &str) -> CapturedAgent {
    let dir = session.path.parent().unwrap();
    let workbench = Workbench::new(Config::built_in().unwrap(), Folders::at(dir.to_owned(), dir, None));
    workbench.captured_agent(session, &Address::from(turn), "seen", FileNaming::Name).unwrap()
}

/// The body that an agent sends first, and the program with its file `seen.toml`.
fn sent(agent: &CapturedAgent) -> (Value, Program) {
    let program = Program::new();
    write_new_agent(&program.dir().join("seen.toml"), agent).unwrap();
    let shown = tokio::task::block_in_place(|| program.run(["prompt", "seen.toml"]));
    (shown.exits(0).json()["body"].clone(), program)
}

/// A schema with what signatures cannot express.
fn grep_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "pattern": {"type": "string", "description": "The regular expression", "minLength": 1},
            "-A": {"type": "integer", "minimum": 0, "description": "Lines after a match"},
            "-n": {"type": "boolean"},
            "x.y": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            "$ref": {"$ref": "#/$defs/mode"},
        },
        "required": ["pattern"],
        "additionalProperties": false,
        "$defs": {"mode": {"enum": ["content", "count"]}},
    })
}

fn function(name: &str) -> Value {
    json!({"type": "function", "function": {"name": name, "description": "Searches", "parameters": grep_schema()}})
}

#[tokio::test(flavor = "multi_thread")]
async fn tools_are_sent_with_their_captured_schemas_and_the_agent_runs() {
    let call = json!({"id": "c1", "type": "function",
        "function": {"name": "Grep", "arguments": "{\"pattern\":\"fn main\",\"-n\":true}"}});
    let body = json!({"model": "gpt-4.1", "tools": [function("Grep"), function("mcp__docs__resolve-id"), function("a.b")],
        "messages": [{"role": "user", "content": "Find it"}, {"role": "assistant", "content": null, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c1", "content": "src/main.rs:1"}]});
    let (session, _dir) = recorded(&[(CHAT, body.clone())]).await;
    let agent = agent_at(&session, "r0/t1");
    let (sent, program) = sent(&agent);
    for (tool, name) in sent["tools"].as_array().unwrap().iter().zip(["Grep", "mcp__docs__resolve-id", "a_b"]) {
        assert_eq!(
            tool["function"],
            json!({"name": name, "description": "Searches", "parameters": grep_schema()}),
            "the schema stays as it is, and the service is not asked to enforce it"
        );
    }
    assert!(agent.differences.iter().any(|text| text.contains("the tool a.b is named a_b")), "{:?}", agent.differences);
    let typed = "/call Grep {\"pattern\": \"fn main\", \"-n\": true}\n.\nfine\n.\n";
    let done = tokio::task::block_in_place(|| program.fed(["run", "seen.toml", "--model", "human", "--json"], typed));
    done.exits(0);
    let results: Vec<String> = program
        .session()
        .events()
        .filter(|envelope| envelope.event.kind() == "tool.end")
        .map(|envelope| envelope.event.data().unwrap().get().to_owned())
        .collect();
    assert!(results.len() == 1 && results[0].contains("src/main.rs:1"), "{results:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_conversation_is_sent_as_messages_in_the_captured_order() {
    let call =
        json!({"id": "c1", "type": "function", "function": {"name": "Grep", "arguments": "{\"pattern\":\"x\"}"}});
    let messages = json!([{"role": "system", "content": "Be brief"}, {"role": "user", "content": "2 + 2"},
        {"role": "assistant", "content": "4"}, {"role": "user", "content": "Search x"},
        {"role": "assistant", "content": "I look.", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "no match"}]);
    let body = json!({"model": "gpt-4.1", "tools": [function("Grep")], "messages": messages});
    let (session, _dir) = recorded(&[(CHAT, body)]).await;
    let agent = agent_at(&session, "r0/t1");
    assert_eq!(agent.differences, [""; 0]);
    let (sent, program) = sent(&agent);
    assert_eq!(sent["messages"], messages);
    // A run records them, answers after them, and replays.
    tokio::task::block_in_place(|| {
        program.fed(["run", "seen.toml", "--model", "human"], "done\n.\n").exits(0);
        program.run(["replay", "last", "--check"]).exits(0);
    });
    let step = program.session();
    let roles: Vec<&str> = step.request(&"r0/t1".into()).unwrap().iter().map(|message| message.role.name()).collect();
    assert_eq!(roles, ["system", "user", "assistant", "user", "assistant", "tool"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn differences_of_the_messages_are_listed_in_the_file_and_by_the_command() {
    let text = |text: &str| json!({"type": "text", "text": text});
    let body = json!({"model": "claude-x", "max_tokens": 9, "system": [text("One."), text("Two.")],
        "messages": [{"role": "user", "content": [text("a"), text("b")]},
            {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm", "signature": "s"}, text("c")]},
            {"role": "user", "content": [text("d")]}]});
    let (session, _dir) = recorded(&[("/v1/messages", body)]).await;
    let program = Program::new();
    std::fs::create_dir(program.sessions_dir()).unwrap();
    let name = session.path.file_name().unwrap();
    std::fs::copy(&session.path, program.sessions_dir().join(name)).unwrap();
    let done = tokio::task::block_in_place(|| program.run(["sessions", "agent", "last", "-o", "seen.toml"]));
    done.exits(0)
        .reports("differs from the captured request: several texts of a message are joined")
        .reports("differs from the captured request: the reasoning of earlier replies is not sent");
    let file = std::fs::read_to_string(program.dir().join("seen.toml")).unwrap();
    assert!(file.starts_with("# differences to the captured request:\n# * "), "{file}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_schema_stays_next_to_tools() {
    let schema = json!({"type": "object", "properties": {"hits": {"type": "integer"}}, "required": ["hits"], "additionalProperties": false});
    let body = json!({"model": "gpt-4.1", "tools": [function("Grep")],
        "response_format": {"type": "json_schema", "json_schema": {"name": "hits", "schema": schema}},
        "messages": [{"role": "user", "content": "Count"}]});
    let (session, _dir) = recorded(&[(CHAT, body)]).await;
    let agent = agent_at(&session, "r0/t1");
    let read = Agent::from_toml(&agent.text, "seen.toml").unwrap();
    assert_eq!(serde_json::from_str::<Value>(&read.schema.unwrap().to_text()).unwrap(), schema);
    let (sent, program) = sent(&agent);
    let format = json!({"name": "seen", "schema": schema});
    assert_eq!(sent["response_format"], json!({"type": "json_schema", "json_schema": format}));
    assert_eq!(sent["messages"], json!([{"role": "user", "content": "Count"}]));
    let name = "response_format.json_schema.name is sent as \"seen\" instead of \"hits\"";
    assert_eq!(agent.differences, [name]);
    let typed = "{\"hits\": \"many\"}\n.\n{\"hits\": 2}\n.\n";
    let done = tokio::task::block_in_place(|| program.fed(["run", "seen.toml", "--model", "human"], typed));
    assert_eq!(done.exits(0).json(), json!({"hits": 2}), "the first answer does not fit");
}

#[tokio::test(flavor = "multi_thread")]
async fn options_without_a_key_of_their_own_are_further_members_of_the_body() {
    let schema = grep_schema();
    let body = json!({"model": "gpt-4.1", "temperature": 0.5, "frequency_penalty": 0.25, "n": 2,
        "response_format": {"type": "json_object"}, "functions": [{"name": "look", "parameters": schema}],
        "function_call": {"name": "look"}, "messages": [{"role": "user", "content": "Answer in JSON"}]});
    let (session, _dir) = recorded(&[(CHAT, body)]).await;
    let agent = agent_at(&session, "r0/t1");
    let (sent, _program) = sent(&agent);
    assert_eq!(sent["frequency_penalty"], 0.25);
    assert_eq!(sent["response_format"], json!({"type": "json_object"}));
    assert_eq!(sent["tool_choice"], json!({"type": "function", "function": {"name": "look"}}));
    assert_eq!(sent["tools"][0]["function"], json!({"name": "look", "parameters": schema}));
    assert_eq!((&sent["temperature"], sent.get("n")), (&json!(0.5), None));
    for expected in ["n is not sent: 2", "max_turns = 1"] {
        assert!(agent.differences.iter().any(|text| text.contains(expected)), "{expected}: {:?}", agent.differences);
    }
    assert!(agent.comments().contains("extra_body is for the protocol openai"), "{}", agent.comments());
}

#[tokio::test(flavor = "multi_thread")]
async fn options_that_cannot_be_read_are_listed_and_choices_of_tools_have_the_new_names() {
    let choice = json!({"type": "allowed_tools", "allowed_tools": {"mode": "required",
        "tools": [{"type": "function", "function": {"name": "_t.x"}}]}});
    let body = json!({"model": "gpt-4.1", "seed": -1, "tools": [function("_t.x")], "tool_choice": choice,
        "messages": [{"role": "user", "content": "Hi"}]});
    let (session, _dir) = recorded(&[(CHAT, body)]).await;
    let agent = agent_at(&session, "r0/t1");
    for expected in ["seed is not sent: -1", "the tool _t.x is named t__t_x", "max_turns = 1"] {
        assert!(agent.differences.iter().any(|text| text.contains(expected)), "{expected}: {:?}", agent.differences);
    }
    let (sent, _program) = sent(&agent);
    let name = "t__t_x";
    assert_eq!((&sent["tools"][0]["function"]["name"], sent.get("seed")), (&json!(name), None));
    assert_eq!(sent["tool_choice"]["allowed_tools"]["tools"][0]["function"]["name"], name);
    let Some(choice) = agent.extra_body.get("tool_choice") else { panic!("{:?}", agent.extra_body) };
    assert!(choice.to_text().contains(name) && !choice.to_text().contains("_t.x"), "{}", choice.to_text());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_item_of_the_user_that_is_no_file_stays_next_to_an_image() {
    let png = STANDARD.encode(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR");
    let look = json!({"role": "user", "content": [{"type": "input_image", "image_url": format!("data:image/png;base64,{png}")},
        {"type": "input_text", "text": "Look"}]});
    let asked =
        json!({"type": "mcp_approval_request", "id": "a1", "name": "f", "arguments": "{}", "server_label": "s"});
    let approved = json!({"type": "mcp_approval_response", "approval_request_id": "a1", "approve": true});
    for input in [json!([look, asked, approved]), json!([asked, approved, look])] {
        let (session, _dir) = recorded(&[("/v1/responses", json!({"model": "gpt-5.2", "input": input}))]).await;
        let agent = agent_at(&session, "r0/t1");
        assert_eq!((agent.files.len(), agent.unsent.as_slice()), (1, &["mcp_approval_response".to_owned()][..]));
        assert!(agent.text.contains("approval_request_id") && !agent.text.contains("[input_image"), "{}", agent.text);
        let named = "parts that are sent by name only: mcp_approval_response";
        assert!(agent.differences.iter().any(|text| text == named), "{:?}", agent.differences);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn results_without_ids_and_names_belong_to_the_calls_in_their_order() {
    let call = |name: &str| json!({"function": {"name": name, "arguments": {}}});
    let body = json!({"model": "m", "tools": [function("a"), function("b")], "messages": [{"role": "user", "content": "Go"},
        {"role": "assistant", "content": "", "tool_calls": [call("a"), call("b")]},
        {"role": "tool", "content": "ra"}, {"role": "tool", "content": "rb"}]});
    let (session, _dir) = recorded(&[("/api/chat", body)]).await;
    let agent = agent_at(&session, "r0/t1");
    for result in [r#"{ id = "tc_1", name = "a", result = "ra" }"#, r#"{ id = "tc_2", name = "b", result = "rb" }"#] {
        assert!(agent.text.contains(result), "{}", agent.text);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn marks_of_failed_results_are_listed_and_no_system_message_is_added() {
    let has = |agent: &CapturedAgent, text: &str| agent.differences.iter().any(|difference| difference.contains(text));
    let tool = json!({"name": "f", "input_schema": {"type": "object", "properties": {}}});
    let result = json!({"type": "tool_result", "tool_use_id": "t1", "content": "no", "is_error": true});
    let body = json!({"model": "claude-x", "max_tokens": 9, "tools": [tool], "messages": [{"role": "user", "content": "Go"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "f", "input": {}}]},
        {"role": "user", "content": [result]}]});
    let (session, _dir) = recorded(&[("/v1/messages", body)]).await;
    let agent = agent_at(&session, "r0/t1");
    assert!(has(&agent, "is_error") && !has(&agent, "system message"), "{:?}", agent.differences);

    let body = json!({"model": "gpt-4.1", "messages": [{"role": "user", "content": "Hi"}]});
    let (session, _dir) = recorded(&[(CHAT, body)]).await;
    let agent = agent_at(&session, "r0/t1");
    assert_eq!(agent.differences, [""; 0]);
    let (sent, _program) = sent(&agent);
    assert_eq!(sent["messages"], json!([{"role": "user", "content": "Hi"}]));
}

#[tokio::test(flavor = "multi_thread")]
async fn members_of_another_protocol_are_left_out_and_listed() {
    let body =
        json!({"model": "gpt-5.2", "logit_bias": {"50256": -100}, "messages": [{"role": "user", "content": "Hi"}]});
    let (session, _dir) = recorded(&[(CHAT, body)]).await;
    let program = Program::new();
    std::fs::create_dir(program.sessions_dir()).unwrap();
    let copy: PathBuf = program.sessions_dir().join(session.path.file_name().unwrap());
    std::fs::copy(&session.path, copy).unwrap();
    tokio::task::block_in_place(|| {
        // The shipped table asks this model through the Responses API.
        let done = program.run(["sessions", "agent", "last", "-o", "seen.toml"]);
        done.exits(0).reports("the request is sent with the protocol responses, without logit_bias");
        let shown = program.run(["prompt", "seen.toml"]).exits(0).json();
        assert_eq!((&shown["body"]["model"], shown["body"].get("logit_bias")), (&json!("gpt-5.2"), None));
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn the_model_is_that_of_the_request() {
    let user = |text: &str| json!({"role": "user", "content": text});
    let first = json!({"model": "gpt-4.1-nano", "messages": [user("hello")]});
    let second = json!({"model": "gpt-5.2-pro",
        "messages": [user("hello"), {"role": "assistant", "content": "reply 0"}, user("and?")]});
    let (session, _dir) = recorded(&[(CHAT, first), (CHAT, second)]).await;
    assert_eq!(agent_at(&session, "r0/t1").model.as_deref(), Some("openai:gpt-4.1-nano"));
    let later = agent_at(&session, "r0/t2");
    assert!(later.text.contains("model = \"openai:gpt-5.2-pro\""), "{}", later.text);

    let azure = "/openai/deployments/my-gpt/chat/completions?api-version=2024-10-21";
    let (session, _dir) = recorded(&[(azure, json!({"messages": [user("hello")]}))]).await;
    let agent = agent_at(&session, "r0/t1");
    assert_eq!(agent.model.as_deref(), Some("openai:my-gpt"));
    assert_eq!(sent(&agent).0["model"], "my-gpt");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_makes_no_runnable_agent_makes_no_file() {
    let body = json!({"model": "gpt-4.1", "messages": [{"role": "user", "content": " "}]});
    let (session, dir) = recorded(&[(CHAT, body)]).await;
    let file = dir.path().join("seen.toml");
    let refused = write_new_agent(&file, &agent_at(&session, "r0/t1")).unwrap_err();
    assert!(refused.message.contains("cannot run: the prompt is empty"), "{}", refused.message);
    assert!(!file.exists());
}
