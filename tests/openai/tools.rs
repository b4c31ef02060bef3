//! Native tools: definitions in the request, calls in replies of any cut, calls and results in the history.

use std::sync::Arc;

use ptc_core::value::json;
use ptc_workbench::event::{JsonText, NativeCall, PartKind, Role, StructuredBy, ToolSchema};
use ptc_workbench::model::{Adapter, Content, Finish, Message, Request, StructuredOutput};
use serde_json::{Value, json};

use super::server::{Play, Server, answer, delta, ending};
use super::{ask_server, endpoint, model, request, request_json};

fn tool(name: &str, description: Option<&str>) -> ToolSchema {
    let schema =
        r#"{"type":"object","properties":{"city":{"type":"string"}},"required":["city"],"additionalProperties":false}"#;
    let parameters = JsonText::of(&json::parse(schema).unwrap());
    ToolSchema { name: name.into(), description: description.map(str::to_owned), parameters, custom: None }
}

fn with_tools(text: &str) -> Request {
    Request { tools: vec![tool("get_weather", Some("Tells the weather.")), tool("now", None)], ..request(text) }
}

/// A streamed piece of the call with this index.
fn piece(call: &Value) -> String {
    format!("data: {}\n\n", json!({"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]}))
}

fn named(id: &str, name: &str, args: &str) -> NativeCall {
    NativeCall { id: id.into(), name: name.into(), args: args.into() }
}

#[tokio::test]
async fn tools_are_offered_as_functions() {
    let server = Server::play([answer("fine")]).await;
    let asked = ask_server(&server, &model(&server), &with_tools("hi")).await;
    assert_eq!((asked.reply().text.as_str(), asked.reply().calls.len()), ("fine", 0));
    let body = server.received().remove(0).json();
    let expected = json!({"type": "function", "function": {"name": "get_weather", "description": "Tells the weather.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"], "additionalProperties": false}}});
    assert_eq!(body["tools"][0], expected);
    assert_eq!(body["tools"][1]["function"].get("description"), None);
    assert_eq!((body.get("tool_choice"), body.get("response_format")), (None, None));
}

#[tokio::test]
async fn streamed_calls_are_put_together() {
    let server = Server::play([Play::events([
        delta("Let me see."),
        piece(&json!({"index": 0, "id": "call_a", "type": "function", "function": {"name": "get_weather", "arguments": ""}})),
        piece(&json!({"index": 0, "function": {"arguments": "{\"city\":"}})),
        piece(&json!({"index": 0, "function": {"arguments": "\"Oslo\"}"}})),
        piece(&json!({"index": 1, "id": "call_b", "type": "function", "function": {"name": "now", "arguments": "{}"}})),
        ending("tool_calls"),
    ])])
    .await;
    let asked = ask_server(&server, &model(&server), &with_tools("hi")).await;
    let reply = asked.reply();
    assert_eq!(reply.calls, [named("call_a", "get_weather", r#"{"city":"Oslo"}"#), named("call_b", "now", "{}")]);
    assert_eq!((reply.text.as_str(), reply.finish.clone()), ("Let me see.", Some(Finish::ToolCalls)));
    assert_eq!(asked.text_of(1, PartKind::Call), "get_weather {\"city\":\"Oslo\"}\nnow {}");
    assert_eq!(asked.text_of(1, PartKind::Text), "Let me see.");
}

#[tokio::test]
async fn a_whole_answer_may_hold_calls_without_ids() {
    let body = json!({"choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": null,
        "tool_calls": [{"type": "function", "function": {"name": "now", "arguments": {}}},
                       {"type": "function", "function": {"name": "now", "arguments": "{}"}}]}}]});
    let server = Server::play([Play::json("200 OK", body.to_string())]).await;
    let mut asked = with_tools("hi");
    asked
        .messages
        .push(Message { role: Role::Assistant, parts: vec![Content::Call(named("tc_1", "now", "{}"))] }.into());
    asked.messages.push(result("tc_1", "12:00"));
    let asked = ask_server(&server, &model(&server), &asked).await;
    let reply = asked.reply();
    assert_eq!(reply.calls, [named("tc_2", "now", "{}"), named("tc_3", "now", "{}")]);
    assert_eq!(reply.finish, Some(Finish::ToolCalls));
}

fn result(call: &str, result: &str) -> Arc<Message> {
    let part = Content::Result { call: call.into(), name: "now".into(), result: result.into() };
    Message { role: Role::Tool, parts: vec![part] }.into()
}

#[tokio::test]
async fn calls_and_their_results_go_back_in_pairs() {
    let server = Server::play([answer("fine")]).await;
    let mut asked = with_tools("hi");
    let calls = [named("a", "get_weather", r#"{"city":"Oslo"}"#), named("b", "no.such-tool", "{broken")];
    let parts = [Content::Text("Let me see.".into())].into_iter().chain(calls.map(Content::Call)).collect();
    asked.messages.push(Message { role: Role::Assistant, parts }.into());
    asked.messages.extend([result("a", r#"{"degrees":7}"#), result("b", r#"{"error":"no JSON"}"#)]);
    asked.messages.push(Message { role: Role::Assistant, parts: vec![Content::Call(named("c", "now", "{}"))] }.into());
    asked.messages.push(result("c", "12"));
    ask_server(&server, &model(&server), &asked).await;
    let messages = server.received().remove(0).json()["messages"].clone();
    let call = |id: &str, name: &str, arguments: &str| json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}});
    let expected = json!([
        {"role": "assistant", "content": "Let me see.",
         "tool_calls": [call("a", "get_weather", r#"{"city":"Oslo"}"#), call("b", "no_such-tool", "{}")]},
        {"role": "tool", "tool_call_id": "a", "content": r#"{"degrees":7}"#},
        {"role": "tool", "tool_call_id": "b", "content": r#"{"error":"no JSON"}"#},
        {"role": "assistant", "content": null, "tool_calls": [call("c", "now", "{}")]},
        {"role": "tool", "tool_call_id": "c", "content": "12"},
    ]);
    assert_eq!(json!(messages.as_array().unwrap()[2..]), expected);
}

#[tokio::test]
async fn what_has_no_partner_is_reported_as_text() {
    let server = Server::play([answer("fine")]).await;
    let mut asked = request("hi");
    asked.messages.push(result("lost", "12"));
    asked.messages.push(Message { role: Role::Assistant, parts: vec![Content::Call(named("a", "now", "{}"))] }.into());
    asked.messages.push(Message::text(Role::User, "go on").into());
    asked.messages.push(result("a", "late"));
    ask_server(&server, &model(&server), &asked).await;
    let messages = server.received().remove(0).json()["messages"].clone();
    let expected = json!([
        {"role": "user", "content": "hi\n\n12"},
        {"role": "assistant", "content": "now {}"},
        {"role": "user", "content": "go on\n\nlate"},
    ]);
    assert_eq!(json!(messages.as_array().unwrap()[1..]), expected);
}

#[tokio::test]
async fn the_tool_of_the_schema_is_next_to_the_others() {
    let arguments = |name: &str, args: &str, index: u32| {
        piece(&json!({"index": index, "id": format!("c{index}"),
        "function": {"name": name, "arguments": args}}))
    };
    let server = Server::play([
        Play::events([arguments("now", "{}", 0), ending("tool_calls")]),
        Play::events([arguments("respond", "{\"score\":1}", 0), ending("tool_calls")]),
    ])
    .await;
    let mut forced = endpoint(&server);
    forced.structured_output = StructuredOutput::Fixed(StructuredBy::Tool);
    let (forced, asked) =
        (Adapter::new(forced).unwrap(), Request { tools: with_tools("").tools, ..request_json("hi") });
    let first = ask_server(&server, &forced, &asked).await;
    assert_eq!((first.reply().text.as_str(), &first.reply().calls[..]), ("", &[named("c0", "now", "{}")][..]));
    let second = ask_server(&server, &forced, &asked).await;
    assert_eq!((second.reply().text.as_str(), second.reply().calls.len()), (r#"{"score":1}"#, 0));
    assert_eq!(second.reply().finish, Some(Finish::Stop));
    let body = server.received().remove(0).json();
    let names: Vec<_> = body["tools"].as_array().unwrap().iter().map(|tool| tool["function"]["name"].clone()).collect();
    assert_eq!(
        (names, &body["tool_choice"]),
        (vec![json!("get_weather"), json!("now"), json!("respond")], &json!("required"))
    );
}

#[tokio::test]
async fn a_stream_that_breaks_inside_a_call_is_no_reply() {
    let begun = piece(&json!({"index": 0, "id": "a", "function": {"name": "now", "arguments": "{\"x\""}}));
    let server = Server::play([Play::cut([begun]), answer("fine")]).await;
    let asked = ask_server(&server, &model(&server), &with_tools("hi")).await;
    assert_eq!((asked.reply().text.as_str(), asked.reply().calls.len(), asked.reply().attempt), ("fine", 0, 2));
    assert_eq!(asked.text_of(1, PartKind::Call), "now {\"x\"");
}

#[tokio::test]
async fn a_run_with_tools_talks_to_the_server_in_pairs_and_replays() {
    let server = Server::play([
        Play::events([
            piece(&json!({"index": 0, "id": "call_1", "function": {"name": "look_up", "arguments": "{\"id\":"}})),
            piece(&json!({"index": 0, "function": {"arguments": "7}"}})),
            ending("tool_calls"),
        ]),
        answer("It is a lamp."),
    ])
    .await;
    let agent = "name = \"shop\"\nmode = \"text\"\nprompt = \"What is 7?\"\nsignature = \"() -> :string\"\n\
                 [tools.look-up]\nkind = \"table\"\nsignature = \"(id :int) -> :any\"\nrows = [{ args = { id = 7 }, result = { name = \"lamp\" } }]\n";
    let agent = ptc_workbench::agent::Agent::from_toml(agent, "shop.toml").unwrap();
    let ran = crate::engine::run(&agent, "{}", &model(&server)).await;
    assert_eq!(ran.outcome(), r#""It is a lamp.""#);
    crate::engine::replays(&ran.events).await;
    let bodies: Vec<Value> = server.received().iter().map(super::server::Received::json).collect();
    bodies.iter().for_each(super::assert_fits_schema);
    assert_eq!(bodies[0]["tools"][0]["function"]["name"], "look_up");
    let text = bodies[1]["messages"].as_array().unwrap();
    assert_eq!(text[2]["tool_calls"][0]["id"], "call_1");
    assert_eq!(text[3], json!({"role": "tool", "tool_call_id": "call_1", "content": r#"{"name":"lamp"}"#}));
}
