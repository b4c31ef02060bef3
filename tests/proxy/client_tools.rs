//! Tools that are no functions: those of the client are calls with results, those of the service are parts of its reply.

use ptc_workbench::event::Address;
use ptc_workbench::replay::verify;
use ptc_workbench::session::Session;
use ptc_workbench::workbench::agent_of_request;
use serde_json::{Value, json};

use super::kit::{Proxied, fetch};
use crate::openai::server::Play;

/// The data of the events of a kind.
fn events(session: &Session, kind: &str) -> Vec<Value> {
    let of = session.events().filter(|envelope| envelope.event.kind() == kind);
    of.map(|envelope| serde_json::from_str(envelope.event.data().unwrap().get()).unwrap()).collect()
}

/// Sends two requests, which get the same reply; returns their one session.
async fn conversation(path: &str, requests: [&Value; 2], reply: Play) -> (Session, tempfile::TempDir) {
    let proxied = Proxied::play([reply]).await;
    for request in requests {
        assert_eq!(fetch(proxied.post(path, request.to_string())).await.status, 200, "{path}");
    }
    let (mut sessions, dir) = proxied.end().await;
    assert_eq!(sessions.len(), 1, "{path}: {requests:?}");
    let session = sessions.remove(0);
    let verified = verify(&session).await;
    assert!(verified.findings.is_empty(), "{path}: {:?}", verified.findings);
    (session, dir)
}

fn roles(session: &Session) -> Vec<Value> {
    events(session, "message").iter().map(|message| message["role"].clone()).collect()
}

const PATCH: &str = "*** Begin Patch\n+a\n";

#[tokio::test(flavor = "multi_thread")]
async fn a_patch_of_codex_is_a_call_and_its_output_the_result_of_a_tool() {
    let tools = json!([{"type": "custom", "name": "apply_patch", "format": {"type": "text"}}, {"type": "local_shell"}]);
    let user = json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "edit it"}]});
    let call = |input: &str| json!({"type": "custom_tool_call", "id": "ctc_1", "call_id": "c1", "name": "apply_patch", "input": input});
    let shell = json!({"type": "local_shell_call", "id": "lsh_1", "call_id": "c2", "action": {"type": "exec", "command": ["ls"], "env": {}}});
    let frames = [
        json!({"type": "response.created", "response": {"id": "resp_1", "status": "in_progress"}}),
        json!({"type": "response.output_item.added", "output_index": 0, "item": call("")}),
        json!({"type": "response.custom_tool_call_input.delta", "output_index": 0, "delta": &PATCH[..10]}),
        json!({"type": "response.custom_tool_call_input.delta", "output_index": 0, "delta": &PATCH[10..]}),
        json!({"type": "response.custom_tool_call_input.done", "output_index": 0, "input": PATCH}),
        json!({"type": "response.output_item.done", "output_index": 0, "item": call(PATCH)}),
        json!({"type": "response.output_item.done", "output_index": 1, "item": shell}),
        json!({"type": "response.completed", "response": {"id": "resp_1", "status": "completed"}}),
    ];
    let first = json!({"model": "m", "stream": true, "tools": tools, "input": [user]});
    // Codex writes the action again, in its own order.
    let again = json!({"type": "local_shell_call", "call_id": "c2", "action": {"command": ["ls"], "env": {}, "user": null, "type": "exec"}});
    let second = json!({"model": "m", "stream": true, "tools": tools, "input": [user, call(PATCH), again,
        {"type": "custom_tool_call_output", "call_id": "c1", "output": "Done"},
        {"type": "local_shell_call_output", "id": "c2", "output": "{\"output\":\"a\"}"}]});
    let reply = Play::events(frames.map(|frame| format!("data: {frame}\n\n")));
    let (session, _dir) = conversation("/v1/responses", [&first, &second], reply).await;
    let end = &events(&session, "reply.end")[0];
    let calls = json!([{"id": "c1", "name": "apply_patch", "args": PATCH},
        {"id": "c2", "name": "local_shell", "args": "{\"type\":\"exec\",\"command\":[\"ls\"],\"env\":{}}"}]);
    assert_eq!((&end["calls"], &end["finish"]), (&calls, &json!("tool_calls")));
    assert_eq!(roles(&session), ["user", "assistant", "tool"]);
    let messages = events(&session, "message");
    assert_eq!(messages[1]["parts"], json!([{"reply": "r0/t1"}]));
    assert_eq!(messages[2]["parts"][0], json!({"call": "c1", "name": "apply_patch", "result": "\"Done\""}));
    assert_eq!(messages[2]["parts"][1], json!({"call": "c2", "name": "local_shell", "result": "{\"output\":\"a\"}"}));
    let shown: String = events(&session, "reply.part").iter().map(|part| part["text"].as_str().unwrap()).collect();
    assert!(shown.starts_with("apply_patch *** Begin Patch"), "{shown}");
    assert_eq!(events(&session, "request")[0]["tool_names"], json!(["apply_patch", "local_shell"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_custom_tool_of_a_chat_is_offered_called_and_answered_by_its_name() {
    let tools = json!([{"type": "custom", "custom": {"name": "apply_patch", "description": "Edits"}}]);
    let called = json!({"role": "assistant", "content": null,
        "tool_calls": [{"id": "c1", "type": "custom", "custom": {"name": "apply_patch", "input": PATCH}}]});
    let user = json!({"role": "user", "content": "edit it"});
    let first = json!({"model": "m", "tools": tools, "messages": [user]});
    let second = json!({"model": "m", "tools": tools,
        "messages": [user, called, {"role": "tool", "tool_call_id": "c1", "content": "Done"}]});
    let reply = json!({"choices": [{"index": 0, "message": called, "finish_reason": "tool_calls"}]});
    let reply = Play::json("200 OK", reply.to_string());
    let (session, _dir) = conversation("/v1/chat/completions", [&first, &second], reply).await;
    let calls = json!([{"id": "c1", "name": "apply_patch", "args": PATCH}]);
    assert_eq!(events(&session, "reply.end")[0]["calls"], calls);
    assert_eq!(roles(&session), ["user", "assistant", "tool"]);
    assert_eq!(events(&session, "message")[2]["parts"][0]["name"], "apply_patch");
    assert_eq!(events(&session, "request")[0]["tool_names"], json!(["apply_patch"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reply_with_tools_of_the_service_is_continued_by_the_request_that_repeats_it() {
    let user = |text: &str| json!({"role": "user", "content": text});
    let output = json!([{"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "x"}},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "rain"}]}]);
    let mut input = vec![user("weather?")];
    input.extend(output.as_array().unwrap().iter().cloned());
    input.push(user("and?"));
    let content = json!([{"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "x"}},
        {"type": "web_search_tool_result", "tool_use_id": "s1", "content": []}, {"type": "text", "text": "rain"}]);
    let message = json!({"role": "assistant", "content": content});
    let rows = [
        (
            "/v1/responses",
            json!({"model": "m", "input": [user("weather?")]}),
            json!({"id": "resp_1", "status": "completed", "output": output}),
            json!({"model": "m", "input": input}),
        ),
        (
            "/v1/messages",
            json!({"model": "m", "messages": [user("weather?")]}),
            json!({"type": "message", "role": "assistant", "content": content, "stop_reason": "end_turn"}),
            json!({"model": "m", "messages": [user("weather?"), message, user("and?")]}),
        ),
    ];
    for (path, first, reply, second) in rows {
        let reply = Play::json("200 OK", reply.to_string());
        let (session, _dir) = conversation(path, [&first, &second], reply).await;
        assert_eq!(roles(&session), ["user", "assistant", "user"], "{path}");
        assert_eq!(events(&session, "message")[1]["parts"], json!([{"reply": "r0/t1"}]), "{path}");
        assert!(events(&session, "reply.end")[0].get("calls").is_none_or(|calls| calls == &json!([])), "{path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn ids_that_the_client_gives_to_calls_are_recorded_and_calls_without_ids_are_those_of_the_reply() {
    let user = json!({"role": "user", "parts": [{"text": "weather?"}]});
    let parts = |id: Option<&str>| match id {
        Some(id) => json!([{"functionCall": {"id": id, "name": "weather", "args": {"city": "Rome"}}}]),
        None => json!([{"functionCall": {"name": "weather", "args": {"city": "Rome"}}}]),
    };
    let reply = json!({"candidates": [{"content": {"role": "model", "parts": parts(None)}, "finishReason": "STOP"}]});
    let path = "/v1beta/models/gemini-x:generateContent";
    for id in [Some("weather_1796042470559_0"), None] {
        let mut result = json!({"name": "weather", "response": {"sky": "clear"}});
        if let Some(id) = id {
            result["id"] = json!(id);
        }
        let first = json!({"contents": [user]});
        let second = json!({"contents": [user, {"role": "model", "parts": parts(id)},
            {"role": "user", "parts": [{"functionResponse": result}]}]});
        let (session, _dir) = conversation(path, [&first, &second], Play::json("200 OK", reply.to_string())).await;
        let messages = events(&session, "message");
        assert_eq!(roles(&session), ["user", "assistant", "tool"]);
        let expected = match id {
            Some(id) => json!([{"call": {"id": id, "name": "weather", "args": "{\"city\":\"Rome\"}"}}]),
            None => json!([{"reply": "r0/t1"}]),
        };
        assert_eq!(messages[1]["parts"], expected);
        let agent = agent_of_request(&session, &Address::from("r0/t2"), "seen").unwrap();
        let id = id.unwrap_or("tc_1");
        assert_eq!(agent.matches(id).count(), 2, "the call and its result: {agent}");
    }
}
