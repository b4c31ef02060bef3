//! A service with WebSockets, and clients of it, for the tests of the proxy.
//!
//! In: a function from the messages of clients to those of the service. Out: what clients got, what the service received.

use std::sync::{Arc, Mutex};

use futures::{SinkExt as _, StreamExt as _};
use ptc_workbench::event::Event;
use ptc_workbench::session::Session;
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::handshake::server::{ErrorResponse, Request, Response};
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{WebSocketStream, accept_hdr_async, client_async};

use super::kit::{Proxied, Wish};
use crate::openai::server::Server;

/// The path of the Responses API.
pub(super) const PATH: &str = "/v1/responses";

/// Next action of the service.
pub(super) enum Act {
    Send(Value),
    /// Closes the WebSocket in this way.
    Close(CloseFrame),
    /// Closes the connection.
    Break,
}

/// Handshakes and messages that a service received.
#[derive(Default)]
pub(super) struct Service {
    /// The heads of the handshakes: path and headers.
    pub(super) handshakes: Mutex<Vec<String>>,
    pub(super) messages: Mutex<Vec<Message>>,
}

impl Service {
    /// Received texts.
    pub(super) fn texts(&self) -> Vec<String> {
        let messages = self.messages.lock().unwrap();
        messages.iter().filter(|message| message.is_text()).map(ToString::to_string).collect()
    }
}

/// A proxy in front of a service that answers each text message with these acts.
pub(super) async fn proxied(
    script: impl Fn(&Value) -> Vec<Act> + Send + Sync + 'static,
    wish: Wish,
) -> (Arc<Proxied>, Arc<Service>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let root = format!("http://{}", listener.local_addr().unwrap());
    let (service, script) = (Arc::new(Service::default()), Arc::new(script));
    let kept = Arc::clone(&service);
    tokio::spawn(async move {
        while let Ok((connection, _)) = listener.accept().await {
            tokio::spawn(serve(connection, Arc::clone(&kept), Arc::clone(&script)));
        }
    });
    (Arc::new(Proxied::at(Server::play(vec![]).await, &root, wish).await), service)
}

async fn serve(connection: TcpStream, service: Arc<Service>, script: Arc<impl Fn(&Value) -> Vec<Act> + Send + Sync>) {
    let kept = Arc::clone(&service);
    #[expect(clippy::result_large_err, reason = "the library wants it")]
    let head = move |request: &Request, response: Response| -> Result<Response, ErrorResponse> {
        kept.handshakes.lock().unwrap().push(format!("{} {:?}", request.uri(), request.headers()));
        Ok(response)
    };
    let Ok(mut socket) = accept_hdr_async(connection, head).await else { return };
    while let Some(Ok(message)) = socket.next().await {
        service.messages.lock().unwrap().push(message.clone());
        let Message::Text(text) = message else { continue };
        let Ok(json) = serde_json::from_str(&text) else { continue };
        for act in script(&json) {
            match act {
                Act::Send(event) => socket.send(Message::text(event.to_string())).await.unwrap(),
                Act::Close(frame) => socket.send(Message::Close(Some(frame))).await.unwrap(),
                Act::Break => return,
            }
        }
    }
}

/// A client of the proxy.
pub(super) struct Client(pub(super) WebSocketStream<TcpStream>);

/// Asks the proxy for a WebSocket at this path.
pub(super) async fn handshake(proxied: &Proxied, path: &str) -> Result<Client, Error> {
    let mut request = format!("{}{path}", proxied.base.replace("http://", "ws://")).into_client_request().unwrap();
    for (name, value) in [
        ("authorization", "Bearer sk-websocket-12345"),
        ("user-agent", "assistant/1.2"),
        ("sec-websocket-extensions", "permessage-deflate; client_max_window_bits"),
    ] {
        request.headers_mut().insert(name, value.parse().unwrap());
    }
    client_async(request, proxied.connect().await).await.map(|(socket, _)| Client(socket))
}

impl Client {
    pub(super) async fn send(&mut self, message: &Value) {
        self.0.send(Message::text(message.to_string())).await.unwrap();
    }

    /// The next message; `None` when the connection has ended without a close frame.
    pub(super) async fn next(&mut self) -> Option<Message> {
        self.0.next().await?.ok()
    }

    /// The messages up to the last one of a reply.
    pub(super) async fn reply(&mut self) -> Vec<Value> {
        let mut all: Vec<Value> = Vec::new();
        while let Some(Message::Text(text)) = self.next().await {
            all.push(serde_json::from_str(&text).unwrap());
            if matches!(all.last().unwrap()["type"].as_str(), Some("response.completed" | "response.failed" | "error"))
            {
                break;
            }
        }
        all
    }
}

/// A request for a response.
pub(super) fn create(input: &str) -> Value {
    json!({"type": "response.create", "model": "m-asked", "input": input})
}

/// The messages of a reply with this text.
pub(super) fn reply(id: &str, text: &str) -> Vec<Value> {
    let output = json!([{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}]);
    let response = |status: &str, output: &Value| {
        let usage = if status == "completed" { json!({"input_tokens": 5, "output_tokens": 7}) } else { Value::Null };
        json!({"id": id, "object": "response", "status": status, "model": "m-real", "output": output, "usage": usage})
    };
    vec![
        json!({"type": "response.created", "response": response("in_progress", &json!([]))}),
        json!({"type": "response.output_text.delta", "output_index": 0, "delta": text}),
        json!({"type": "response.completed", "response": response("completed", &output)}),
    ]
}

pub(super) fn sends(messages: Vec<Value>) -> Vec<Act> {
    messages.into_iter().map(Act::Send).collect()
}

/// Ends the proxy, whose clients have left; returns its sessions.
pub(super) async fn end(proxied: Arc<Proxied>) -> (Vec<Session>, tempfile::TempDir) {
    let Ok(proxied) = Arc::try_unwrap(proxied) else { panic!("a client still uses it") };
    proxied.end().await
}

/// Answers a request with its input.
pub(super) fn echo(request: &Value) -> Vec<Act> {
    let input = request["input"].as_str().unwrap_or("something");
    let mut all = reply(&format!("resp_{input}"), &format!("re: {input}"));
    if let Some(id) = request.get("stream_id") {
        for event in &mut all {
            event["stream_id"] = id.clone();
        }
    }
    sends(all)
}

/// A client that asks for responses.
pub(super) async fn client(proxied: &Proxied) -> Client {
    handshake(proxied, PATH).await.unwrap()
}

/// The errors of the turns that ended with one.
pub(super) fn errors(session: &Session) -> Vec<String> {
    let of = session.events().filter_map(|envelope| match envelope.event {
        Event::ReplyEnd(end) => end.error.map(|error| error.message),
        _ => None,
    });
    of.collect()
}
