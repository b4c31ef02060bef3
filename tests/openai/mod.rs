//! The adapter for chat completions against servers that behave and servers that do not.
//!
//! Every request body that any of these tests sends is checked against the JSON Schema of the official SDK.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up fails")]

pub(crate) mod aimock;
mod faults;
mod replies;
mod secrets;
pub(crate) mod server;
mod structure;
mod tools;

use std::net::TcpListener;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU16, Ordering};

use jsonschema::Validator;
use ptc_core::value::json;
use ptc_workbench::event::{Address, Options, PartKind, Role};
use ptc_workbench::model::{
    Adapter, Call, Endpoint, FileBytes, Message, Model, ModelError, ModelEvent, Reply, Request, RetryPolicy, Timeouts,
    Want, unpack,
};
use server::Server;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// A port on which nothing listens, for a program that needs a port number. Listeners that bind port 0 get ports from 32768 on:
/// one of those that is free now can belong to another test a moment later.
pub(crate) fn unused_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let first = 20_000 + u16::try_from(std::process::id() % 10_000).unwrap();
    loop {
        let port = first + NEXT.fetch_add(1, Ordering::Relaxed);
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

/// Result of one question to a model.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) result: Result<Reply, ModelError>,
    pub(crate) events: Vec<ModelEvent>,
}

impl Asked {
    pub(crate) fn reply(&self) -> &Reply {
        self.result.as_ref().unwrap()
    }

    pub(crate) fn error(&self) -> &ModelError {
        self.result.as_ref().unwrap_err()
    }

    /// The deltas of this kind in an attempt, joined.
    pub(crate) fn text_of(&self, of: u32, wanted: PartKind) -> String {
        self.events
            .iter()
            .filter_map(|event| match event {
                ModelEvent::Delta { attempt, kind, text } if (*attempt, *kind) == (of, wanted) => Some(text.as_str()),
                _ => None,
            })
            .collect()
    }

    pub(crate) fn notices(&self) -> Vec<&str> {
        let texts = self.events.iter().filter_map(|event| match event {
            ModelEvent::Notice(text) => Some(text.as_str()),
            _ => None,
        });
        texts.collect()
    }

    /// Class and attempt of each attempt that was given up.
    pub(crate) fn discarded(&self) -> Vec<(u32, String)> {
        self.events
            .iter()
            .filter_map(|event| match event {
                ModelEvent::Discarded(end) => Some((end.attempt, end.error.clone()?.class?)),
                _ => None,
            })
            .collect()
    }

    /// The raw bytes of an attempt.
    pub(crate) fn raw(&self, attempt: u32) -> Vec<u8> {
        let wire = self.events.iter().find_map(|event| match event {
            ModelEvent::Wire(wire) if wire.attempt == attempt => Some(wire),
            _ => None,
        });
        unpack(wire.unwrap()).unwrap().into_iter().flat_map(|(_, bytes)| bytes).collect()
    }

    /// Everything that left the port, as text.
    pub(crate) fn everything(&self) -> String {
        let mut all = format!("{:?} {:?}", self.result, self.events);
        for event in &self.events {
            if let ModelEvent::Wire(wire) = event {
                for (_, bytes) in unpack(wire).unwrap() {
                    all.push_str(&String::from_utf8_lossy(&bytes));
                }
            }
        }
        all
    }
}

/// An endpoint at this server with short waits.
pub(crate) fn endpoint(server: &Server) -> Endpoint {
    let mut endpoint = Endpoint::new("local", "m-asked", server.base_url.clone());
    endpoint.retry = RetryPolicy { base_delay_ms: 1, ..RetryPolicy::default() };
    endpoint.timeouts = Timeouts { first_byte_ms: 10_000, silence_ms: 10_000, ..Timeouts::default() };
    endpoint
}

fn model(server: &Server) -> Adapter {
    Adapter::new(endpoint(server)).unwrap()
}

pub(crate) fn request(text: &str) -> Request {
    Request {
        address: Address::run(0).turn(1),
        agent: "my agent".into(),
        mode: "json".into(),
        want: Want::Json,
        system: Some("Answer with JSON.".into()),
        messages: vec![Message::text(Role::User, text).into()],
        files: FileBytes::default(),
        schema: None,
        tools: Vec::new(),
        tool_choice: None,
        tool_names: Vec::new(),
        tool_signatures: Vec::new(),
        retry: ptc_workbench::model::Retry::default(),
        signature: None,
        options: Options::default(),
        cache: false,
        seed: 1,
    }
}

/// The same with a schema.
pub(crate) fn request_json(text: &str) -> Request {
    let schema = r#"{"type":"object","properties":{"score":{"type":"number"}},"required":["score"],"additionalProperties":false}"#;
    Request { schema: Some(json::parse(schema).unwrap()), ..request(text) }
}

/// Asks and keeps every event.
async fn ask(model: &Adapter, request: &Request) -> Asked {
    ask_until(model, request, CancellationToken::new()).await
}

async fn ask_until(model: &Adapter, request: &Request, cancel: CancellationToken) -> Asked {
    let asked = hear(model, request, cancel).await;
    assert_fits_schema(&serde_json::from_str(&model.body(request).to_text()).unwrap());
    asked
}

/// The same in any protocol.
pub(crate) async fn hear(model: &dyn Model, request: &Request, cancel: CancellationToken) -> Asked {
    let (events, mut inbox) = mpsc::channel(4);
    let answer = async {
        let call = Call { events, cancel };
        model.answer(request, &call).await
    };
    let listen = async {
        let mut events = Vec::new();
        while let Some(event) = inbox.recv().await {
            events.push(event);
        }
        events
    };
    let (result, events) = futures::join!(answer, listen);
    Asked { result, events }
}

/// Asks a server's model, and checks every body that the server got.
async fn ask_server(server: &Server, model: &Adapter, request: &Request) -> Asked {
    let asked = ask(model, request).await;
    for received in server.received() {
        assert_fits_schema(&received.json());
    }
    asked
}

fn assert_fits_schema(body: &serde_json::Value) {
    static VALIDATOR: OnceLock<Validator> = OnceLock::new();
    let validator = VALIDATOR.get_or_init(|| {
        let schema: serde_json::Value = serde_json::from_str(include_str!("request.schema.json")).unwrap();
        jsonschema::validator_for(&schema).unwrap()
    });
    let errors: Vec<String> =
        validator.iter_errors(body).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert!(errors.is_empty(), "{errors:?} in {body}");
}
