//! Replies that servers of others gave, recorded: we read in them what the official SDK of each protocol reads.
//!
//! `tests/peers/judge.py` made the file: it names each server with its version, and asked the SDKs.

use ptc_workbench::model::Adapter;
use serde::Deserialize;
use serde_json::Value;

use super::ask;
use super::kit::ALL;
use crate::openai::request;
use crate::openai::server::{Play, Server};

#[derive(Deserialize)]
struct Recorded {
    server: String,
    protocol: String,
    stream: bool,
    #[serde(rename = "type")]
    content_type: String,
    body: String,
    expected: ReadMessage,
}

/// A reply as the SDK read it.
#[derive(Debug, PartialEq, Deserialize)]
struct ReadMessage {
    text: String,
    calls: Vec<(String, Value)>,
    finish: Option<String>,
    /// Tokens in and out.
    usage: Option<(u64, u64)>,
}

#[tokio::test]
async fn recorded_replies_say_what_the_official_sdks_read_in_them() {
    let all: Vec<Recorded> = serde_json::from_str(include_str!("recorded.json")).unwrap();
    let mut protocols: Vec<_> = all.iter().map(|one| (one.protocol.as_str(), one.stream)).collect();
    protocols.sort_unstable();
    protocols.dedup();
    assert_eq!(protocols.len(), 8, "every protocol, streamed and at once: {protocols:?}");
    for Recorded { server: name, protocol, stream, content_type, body, expected } in &all {
        let kit = ALL.into_iter().find(|kit| kit.0.name() == protocol).unwrap();
        let server = Server::play([Play::page("200 OK", &format!("content-type: {content_type}\r\n"), body)]).await;
        let mut endpoint = kit.endpoint(&server);
        endpoint.stream = *stream;
        let model = Adapter::new(endpoint).unwrap();
        let asked = ask(kit, &server, &model, &request("hi")).await;
        let reply = asked.reply();
        let read = ReadMessage {
            text: reply.text.clone(),
            calls: reply
                .calls
                .iter()
                .map(|call| (call.name.clone(), serde_json::from_str(&call.args).unwrap()))
                .collect(),
            finish: reply.finish.as_ref().map(|finish| finish.name().to_owned()),
            usage: reply.usage.map(|tokens| (tokens.input, tokens.output)),
        };
        assert_eq!(read, *expected, "{name} {protocol} {stream}: {body}");
    }
}
