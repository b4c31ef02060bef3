//! Limits of the MCP server: exact numbers, sizes of results, errors for what cannot be read, who may resume.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;

use super::ASK;
use super::kit::Wish;
use super::mcp::{Client, READS, RUNS, ToolResult, word_after};

/// Adds one.
const PLUS: &str = r#"
name = "plus"
mode = "ptc_lisp"
prompt = "go"
signature = "(n :int) -> :int"
max_turns = 1
program = "(return (+ 1 data/n))"
"#;

/// Returns its input.
const ECHO: &str = r#"
name = "echo"
mode = "ptc_lisp"
prompt = "go"
signature = "(x :any) -> {x :any}"
max_turns = 1
program = "(return {:x data/x})"
"#;

/// The next message of the server.
async fn next(client: &mut Client) -> Value {
    let line = client.lines.next_line().await.unwrap().expect("the server answers");
    serde_json::from_str(&line).unwrap()
}

/// Sends a line as it is.
async fn send(client: &mut Client, line: &[u8]) {
    client.input.write_all(line).await.unwrap();
    client.input.write_all(b"\n").await.unwrap();
}

/// Calls a tool with arguments as they are written.
async fn call(client: &mut Client, name: &str, arguments: &str) -> ToolResult {
    let line = format!(
        r#"{{"jsonrpc":"2.0","id":"raw","method":"tools/call","params":{{"name":"{name}","arguments":{arguments}}}}}"#
    );
    send(client, line.as_bytes()).await;
    let reply = next(client).await;
    assert_eq!(reply["id"], "raw", "{reply}");
    ToolResult::of(&reply)
}

#[tokio::test]
async fn integers_of_any_size_reach_agents_and_programs_exactly() {
    let mut client = Client::start(&[("plus", PLUS), ("echo", ECHO)], RUNS, None).await;
    let got = call(&mut client, "plus", r#"{"n":18446744073709551614}"#).await;
    assert_eq!((got.text.as_str(), got.structured), ("18446744073709551615", json!({"value": u64::MAX})));
    let got = call(&mut client, "lisp_run", r#"{"program":"data/x","data":{"x":[12345678901234567890123,-0]}}"#).await;
    assert_eq!(got.text, "[12345678901234567890123 0]");
    // Structured content is read by parsers that hold 64 bits: an answer beyond them is text only.
    let got = call(&mut client, "plus", r#"{"n":18446744073709551616}"#).await;
    assert!(got.is_error && got.structured.is_null(), "{}", got.text);
    assert!(got.text.contains("beyond 64 bits") && got.text.ends_with("18446744073709551617"), "{}", got.text);
    let served = Wish::of(&[("plus", PLUS), ("echo", ECHO)]).start().await;
    let got = served.post("/agents/plus/run", r#"{"context":{"n":18446744073709551616}}"#).await;
    assert!(got.status == 200 && got.text.contains("18446744073709551617"), "{}", got.text);
    let got = served.post("/agents/echo/run", r#"{"context":{"x":[12345678901234567890123,-0]}}"#).await;
    assert!(got.status == 200 && got.text.contains("[12345678901234567890123,0]"), "{}", got.text);
}

#[tokio::test]
async fn failures_are_cut_like_results() {
    let mut client = Client::start(&[], READS, None).await;
    let program = "(do (doseq [x data/xs] (println x)) (fail \"x\"))";
    let arguments = json!({"program": program, "data": {"xs": vec!["t".repeat(1_000); 20]}});
    let failed = client.call("lisp_run", arguments.clone()).await;
    assert!(failed.is_error && failed.text.chars().count() < 12_100, "{}", failed.text.len());
    assert!(failed.text.contains("the next page: offset 12000"), "{}", failed.text);
    let mut rest = arguments;
    rest["offset"] = json!(12_000);
    let failed = client.call("lisp_run", rest).await;
    assert!(failed.is_error && failed.text.contains("the program failed: x"), "{}", failed.text);
}

#[tokio::test]
async fn a_long_answer_of_an_agent_is_cut_as_text_and_names_where_the_rest_is() {
    let mut client = Client::start(&[("echo", ECHO)], READS, None).await;
    let long = "x".repeat(40_000);
    let got = client.call("echo", json!({"x": long})).await;
    assert_eq!(got.structured, json!({"x": long}));
    assert!(!got.is_error && got.text.chars().count() < 12_200, "{}", got.text.len());
    let session = word_after(&got.text, "session_show with the session ").trim_end_matches(']').to_owned();
    let (mut offset, mut whole) = (0, String::new());
    loop {
        let page = client.call("session_show", json!({"session": session, "offset": offset})).await.text;
        let (part, note) = page.rsplit_once("\n[").unwrap();
        whole.push_str(part);
        let Some((_, next)) = note.split_once("offset ") else { break };
        offset = next.trim_end_matches(']').parse::<usize>().unwrap();
    }
    assert!(whole.contains(&long), "{}", whole.len());
}

#[tokio::test]
async fn wrong_params_of_a_known_method_are_no_unknown_method() {
    let mut client = Client::start(&[], READS, None).await;
    let rows = [
        ("tools/call", json!({"nam": "x"}), -32602, "name"),
        ("tools/call", json!({"name": "lisp_run", "arguments": [1]}), -32602, "map"),
        ("tools/call", json!([1]), -32602, "params"),
        ("resources/read", json!({}), -32602, "uri"),
        ("prompts/get", json!({}), -32602, "name"),
        ("tools/none", json!({}), -32601, "tools/none"),
    ];
    for (method, params, code, words) in rows {
        let reply = client.request(method, params.clone()).await;
        assert_eq!(reply["error"]["code"], code, "{method} {params}: {reply}");
        let message = reply["error"]["message"].as_str().unwrap();
        assert!(message.contains(words), "{method} {params}: {reply}");
    }
    send(&mut client, br#"{"jsonrpc":"2.0","id":"no params","method":"tools/call"}"#).await;
    let reply = next(&mut client).await;
    assert_eq!((&reply["id"], &reply["error"]["code"]), (&json!("no params"), &json!(-32602)), "{reply}");
}

#[tokio::test]
async fn a_line_that_cannot_be_read_gets_an_error_and_the_server_continues() {
    let mut client = Client::start(&[], READS, None).await;
    let rows: [(&[u8], Value, i64); 7] = [
        (b"{", Value::Null, -32700),
        (b"{\"id\":1,\"method\":\"\xff\"}", Value::Null, -32700),
        (b"[]", Value::Null, -32600),
        (b"1", Value::Null, -32600),
        (br#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, Value::Null, -32600),
        (br#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, json!(1.5), -32600),
        (br#"{"id":"a","method":"ping"}"#, json!("a"), -32600),
    ];
    for (line, id, code) in rows {
        send(&mut client, line).await;
        let reply = next(&mut client).await;
        let shown = String::from_utf8_lossy(line);
        assert_eq!((reply.get("id"), &reply["error"]["code"]), (Some(&id), &json!(code)), "{shown}: {reply}");
    }
    // Notifications and replies get no reply, whatever is wrong with them.
    for line in [r#"{"jsonrpc":"2.0","method":"notifications/x","params":[1]}"#, r#"{"id":9,"error":{}}"#, "", " \r"] {
        send(&mut client, line.as_bytes()).await;
    }
    assert!(client.request("ping", json!({})).await["result"].is_object());
}

#[tokio::test]
async fn a_request_with_two_members_of_one_name_is_refused_by_its_id() {
    let mut client = Client::start(&[("plus", PLUS)], READS, None).await;
    let rows = [
        (r#"{"name":"plus","arguments":{"n":1,"n":2}}"#, "\"n\""),
        (r#"{"name":"plus","name":"other","arguments":{"n":1}}"#, "\"name\""),
    ];
    for (params, name) in rows {
        let line = format!(r#"{{"jsonrpc":"2.0","id":"twice","method":"tools/call","params":{params}}}"#);
        send(&mut client, line.as_bytes()).await;
        let reply = next(&mut client).await;
        assert_eq!((&reply["id"], &reply["error"]["code"]), (&json!("twice"), &json!(-32600)), "{reply}");
        let message = reply["error"]["message"].as_str().unwrap();
        assert!(message.contains(&format!("the member {name} twice")), "{reply}");
    }
    // Which id is meant?
    send(&mut client, br#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#).await;
    let reply = next(&mut client).await;
    assert_eq!((&reply["id"], &reply["error"]["code"]), (&Value::Null, &json!(-32700)), "{reply}");
    assert!(client.request("ping", json!({})).await["result"].is_object());
}

#[tokio::test]
async fn every_request_of_a_batch_is_answered() {
    let mut client = Client::start(&[], READS, None).await;
    let ping = |id: u64| json!({"jsonrpc": "2.0", "id": id, "method": "ping"});
    send(&mut client, json!([ping(101), 7, ping(102)]).to_string().as_bytes()).await;
    let mut ids = Vec::new();
    for _ in 0..3 {
        ids.push(next(&mut client).await["id"].to_string());
    }
    ids.sort();
    assert_eq!(ids, ["101", "102", "null"]);
}

#[tokio::test]
async fn each_message_of_a_batch_has_its_own_error() {
    let mut client = Client::start(&[], READS, None).await;
    let twice = r#"{"jsonrpc":"2.0","id":"twice","method":"ping","params":{"n":1,"n":2}}"#;
    let good = r#"{"jsonrpc":"2.0","id":"good","method":"ping"}"#;
    let notification = r#"{"jsonrpc":"2.0","method":"notifications/x","params":{"a":1,"a":2}}"#;
    send(&mut client, format!("[{twice}, {notification},{good}]").as_bytes()).await;
    let mut replies = BTreeMap::new();
    for _ in 0..2 {
        let reply = next(&mut client).await;
        replies.insert(reply["id"].as_str().unwrap().to_owned(), reply["error"]["code"].clone());
    }
    let expected = [("good", Value::Null), ("twice", json!(-32600))];
    assert_eq!(replies, BTreeMap::from(expected.map(|(id, code)| (id.to_owned(), code))));
    assert!(client.request("ping", json!({})).await["result"].is_object());
}

#[tokio::test]
async fn waiting_runs_of_served_agents_are_answered_without_the_flag() {
    let mut client = Client::start(&[("ask", ASK)], READS, None).await;
    assert!(client.tools().await.iter().any(|tool| tool["name"] == "session_resume"));
    let waits = client.call("ask", json!({})).await.text;
    assert!(waits.contains("hint: answer with the tool session_resume") && !waits.contains("--answer"), "{waits}");
    let session = word_after(&waits, "session: ").to_owned();
    let done = client.call("session_resume", json!({"session": session, "answers": ["red", "small"]})).await;
    assert!(done.text.contains("{\"colour\":\"red\",\"size\":\"small\"}"), "{}", done.text);
    let other = client.workbench.sessions().iter().find(|session| session.example).unwrap().id.clone();
    let refused = client.call("session_resume", json!({"session": other})).await;
    assert!(refused.is_error && refused.text.contains("--allow-runs"), "{}", refused.text);
}
