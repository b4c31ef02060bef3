//! Messages of the MCP server other than replies: withdrawn questions, and the progress of runs.

use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;

use super::mcp::{Client, READS};
use super::{ASK, DOUBLE};

/// The next message of the server.
async fn next(client: &mut Client) -> Value {
    let line = client.lines.next_line().await.unwrap().expect("the server sends a message");
    serde_json::from_str(&line).unwrap()
}

async fn send(client: &mut Client, message: &Value) {
    client.input.write_all(format!("{message}\n").as_bytes()).await.unwrap();
}

/// Sends a tool call with this id.
async fn call(client: &mut Client, id: &str, params: Value) {
    send(client, &json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})).await;
}

#[tokio::test]
async fn a_question_of_a_cancelled_call_is_withdrawn() {
    let mut client = Client::start(&[("ask", ASK)], READS, Some(json!({}))).await;
    call(&mut client, "first", json!({"name": "ask"})).await;
    let question = next(&mut client).await;
    assert_eq!(question["method"], "elicitation/create", "{question}");
    send(
        &mut client,
        &json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "first"}}),
    )
    .await;
    let withdrawn = next(&mut client).await;
    assert_eq!(withdrawn["method"], "notifications/cancelled", "{withdrawn}");
    assert_eq!(withdrawn["params"]["requestId"], question["id"]);
    // A question that was answered is not withdrawn, and a late answer is no error.
    let answer = |question: &Value| {
        let accepted = json!({"action": "accept", "content": {"answer": "blue"}});
        json!({"jsonrpc": "2.0", "id": question["id"], "result": accepted})
    };
    send(&mut client, &answer(&question)).await;
    call(&mut client, "second", json!({"name": "ask"})).await;
    for _ in 0..2 {
        let question = next(&mut client).await;
        assert_eq!(question["method"], "elicitation/create", "{question}");
        send(&mut client, &answer(&question)).await;
    }
    let reply = next(&mut client).await;
    assert_eq!((&reply["id"], reply["result"]["isError"].as_bool()), (&json!("second"), Some(false)), "{reply}");
}

#[tokio::test]
async fn a_request_with_a_progress_token_gets_the_turns_of_its_run() {
    let mut client = Client::start(&[("ask", ASK), ("double", DOUBLE)], READS, Some(json!({}))).await;
    call(&mut client, "first", json!({"name": "ask", "_meta": {"progressToken": "token"}})).await;
    // The run waits for the answer meanwhile.
    let (mut messages, mut methods) = (Vec::new(), Vec::new());
    for _ in 0..2 {
        let message = next(&mut client).await;
        methods.push(message["method"].as_str().unwrap_or_default().to_owned());
        messages.push(message);
    }
    methods.sort();
    assert_eq!(methods, ["elicitation/create", "notifications/progress"], "{messages:?}");
    let progress = messages.iter().find(|message| message["method"] == "notifications/progress").unwrap();
    let params = &progress["params"];
    assert_eq!((&params["progressToken"], &params["message"]), (&json!("token"), &json!("turn 1 of 1")));
    assert_eq!((params["progress"].as_f64(), params["total"].as_f64()), (Some(1.0), Some(1.0)));
    // Without a token there is none.
    call(&mut client, "second", json!({"name": "double", "arguments": {"n": 1}})).await;
    let reply = next(&mut client).await;
    assert_eq!(
        (&reply["id"], &reply["result"]["structuredContent"]["twice"]),
        (&json!("second"), &json!(2)),
        "{reply}"
    );
}
