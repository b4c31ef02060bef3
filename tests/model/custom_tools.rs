//! Custom tools: a text instead of JSON arguments in the protocols that have them, a function with the parameter `input` in the others.

use std::sync::Arc;

use ptc_core::value::json as core_json;
use ptc_workbench::config::Protocol;
use ptc_workbench::event::{JsonText, NativeCall, Role, ToolSchema};
use ptc_workbench::model::{Content, Message, Request};
use serde_json::{Value, json};

use super::ask;
use super::kit::ALL;
use crate::openai::request;
use crate::openai::server::{Play, Server};

const FORMAT: &str = r#"{"format":{"type":"text"}}"#;
const INPUT: &str =
    r#"{"type":"object","properties":{"input":{"type":"string"}},"required":["input"],"additionalProperties":false}"#;

/// A request that offers a custom tool, after a call of it and the result.
fn asking() -> Request {
    let schema = |text: &str| JsonText::of(&core_json::parse(text).unwrap());
    let patch = ToolSchema {
        name: "patch".into(),
        description: Some("Patches".into()),
        parameters: schema(INPUT),
        custom: Some(schema(FORMAT)),
    };
    let call = NativeCall { id: "c1".into(), name: "patch".into(), args: r#"{"input":"+a\n\"b\""}"#.into() };
    let result = Content::Result { call: "c1".into(), name: "patch".into(), result: "done".into() };
    let asked = request("Patch it");
    let mut messages = asked.messages.clone();
    messages.push(Arc::new(Message { role: Role::Assistant, parts: vec![Content::Call(call)] }));
    messages.push(Arc::new(Message { role: Role::Tool, parts: vec![result] }));
    Request { tools: vec![patch], messages, ..asked }
}

/// A reply with a call of the tool.
fn calling(protocol: Protocol) -> Play {
    let body = match protocol {
        Protocol::OpenAi => json!({"choices": [{"message": {"role": "assistant", "content": null, "tool_calls":
            [{"id": "c2", "type": "custom", "custom": {"name": "patch", "input": "{\"x\": 1}\n+c"}}]}, "finish_reason": "tool_calls"}]}),
        _ => json!({"id": "r", "status": "completed", "output":
            [{"type": "custom_tool_call", "call_id": "c2", "name": "patch", "input": "{\"x\": 1}\n+c"}]}),
    };
    Play::json("200 OK", body.to_string())
}

#[tokio::test]
async fn the_text_of_a_custom_tool_is_sent_and_read_as_it_is() {
    for kit in ALL.into_iter().filter(|kit| [Protocol::OpenAi, Protocol::Responses].contains(&kit.0)) {
        let server = Server::play([calling(kit.0)]).await;
        let model = kit.model(&server);
        let asked = ask(kit, &server, &model, &asking()).await;
        let call = &asked.reply().calls[0];
        assert_eq!((call.id.as_str(), call.name.as_str()), ("c2", "patch"), "{kit:?}");
        assert_eq!(call.json_args().get("input").unwrap().as_str(), Some("{\"x\": 1}\n+c"), "{kit:?}");
        let sent = server.received()[0].json();
        let own = json!({"name": "patch", "description": "Patches", "format": {"type": "text"}});
        let text = "+a\n\"b\"";
        if kit.0 == Protocol::OpenAi {
            assert_eq!(sent["tools"], json!([{"type": "custom", "custom": own}]));
            let calls = json!([{"id": "c1", "type": "custom", "custom": {"name": "patch", "input": text}}]);
            assert_eq!(sent["messages"][2]["tool_calls"], calls, "{sent}");
        } else {
            let mut own = own;
            own["type"] = json!("custom");
            assert_eq!(sent["tools"], json!([own]));
            let call = json!({"type": "custom_tool_call", "call_id": "c1", "name": "patch", "input": text});
            let output = json!({"type": "custom_tool_call_output", "call_id": "c1", "output": "done"});
            assert_eq!(sent["input"].as_array().unwrap()[1..], [call, output]);
        }
    }
}

#[tokio::test]
async fn protocols_without_custom_tools_get_a_function() {
    for kit in ALL.into_iter().filter(|kit| ![Protocol::OpenAi, Protocol::Responses].contains(&kit.0)) {
        let args = json!({"input": "+c"});
        let server = Server::play([kit.play([kit.begin(), kit.call(0, "c2", "patch", &args), kit.end("calls")])]).await;
        let model = kit.model(&server);
        let asked = ask(kit, &server, &model, &asking()).await;
        let got: Value = serde_json::from_str(&asked.reply().calls[0].args).unwrap();
        assert_eq!(got, args, "{kit:?}");
        assert!(server.received()[0].json().to_string().contains("\"input\""), "{kit:?}");
    }
}
