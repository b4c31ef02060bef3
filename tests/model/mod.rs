//! Every protocol against servers that behave and servers that do not: the same questions, the same expectations.
//!
//! Every body that a test sends is checked against the schema of the protocol's official SDK.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up fails")]

mod bedrock;
mod bodies;
mod check;
mod custom_tools;
mod documents;
mod faults;
mod files;
#[cfg(unix)]
mod key_command;
pub(crate) mod kit;
mod listing;
mod peer;
mod proxies;
mod recorded;
mod replies;
mod secrets;
mod services;
mod strict_tools;
mod structure;
mod tls;

use std::sync::{Arc, OnceLock};

use jsonschema::Validator;
use ptc_core::value::json;
use ptc_workbench::config::Protocol;
use ptc_workbench::event::{JsonText, NativeCall, Role, ToolSchema};
use ptc_workbench::model::{Adapter, Content, Message, Request};
use tokio_util::sync::CancellationToken;

use crate::openai::server::Server;
use crate::openai::{Asked, hear};
use kit::Kit;

/// Asks a server's model, and checks every body that the server got.
async fn ask(kit: Kit, server: &Server, model: &Adapter, request: &Request) -> Asked {
    let asked = hear(model, request, CancellationToken::new()).await;
    for received in server.received().iter().filter(|received| !received.body.is_empty()) {
        assert_fits(kit.0, &received.json());
    }
    asked
}

fn assert_fits(protocol: Protocol, body: &serde_json::Value) {
    static OPENAI: OnceLock<Validator> = OnceLock::new();
    static ANTHROPIC: OnceLock<Validator> = OnceLock::new();
    static GEMINI: OnceLock<Validator> = OnceLock::new();
    static OLLAMA: OnceLock<Validator> = OnceLock::new();
    static RESPONSES: OnceLock<Validator> = OnceLock::new();
    static BEDROCK: OnceLock<Validator> = OnceLock::new();
    let (place, schema) = match protocol {
        Protocol::OpenAi => (&OPENAI, include_str!("../openai/request.schema.json")),
        Protocol::Anthropic => (&ANTHROPIC, include_str!("anthropic.schema.json")),
        // Made of the SDKs' types by `tests/peers/schemas.py`.
        Protocol::Gemini => (&GEMINI, include_str!("gemini.schema.json")),
        Protocol::Responses => (&RESPONSES, include_str!("responses.schema.json")),
        Protocol::Ollama => (&OLLAMA, include_str!("ollama.schema.json")),
        Protocol::Bedrock => (&BEDROCK, include_str!("bedrock.schema.json")),
    };
    let validator = place.get_or_init(|| jsonschema::validator_for(&serde_json::from_str(schema).unwrap()).unwrap());
    let errors: Vec<String> =
        validator.iter_errors(body).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert!(errors.is_empty(), "{errors:?} in {body}");
}

fn tool(name: &str) -> ToolSchema {
    let schema =
        r#"{"type":"object","properties":{"city":{"type":"string"}},"required":["city"],"additionalProperties":false}"#;
    ToolSchema {
        name: name.into(),
        description: Some("Tells the weather.".into()),
        parameters: JsonText::of(&json::parse(schema).unwrap()),
        custom: None,
    }
}

fn call(id: &str, args: &str) -> NativeCall {
    NativeCall { id: id.into(), name: "get_weather".into(), args: args.into() }
}

fn result(id: &str, result: &str) -> Arc<Message> {
    let part = Content::Result { call: id.into(), name: "get_weather".into(), result: result.into() };
    Message { role: Role::Tool, parts: vec![part] }.into()
}
