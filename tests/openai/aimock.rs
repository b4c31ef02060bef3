//! The adapter against a mock of the API that others wrote. Skipped with a message, unless `tests/peers/install.sh` was run.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use ptc_workbench::event::{PartKind, Role, StructuredBy};
use ptc_workbench::model::{Adapter, Endpoint, ErrorClass, Finish, Message, ModelEvent, Request, RetryPolicy};
use tokio::net::TcpStream;
use tokio_util::sync::CancellationToken;

use super::{Asked, ask, ask_until, request, request_json, unused_port};

/// A running aimock; ends with the test.
pub(crate) struct Peer {
    process: Child,
    pub(crate) base_url: String,
}

impl Drop for Peer {
    fn drop(&mut self) {
        // Its standard input closes, and it ends.
        drop(self.process.stdin.take());
        drop(self.process.wait());
    }
}

impl Peer {
    /// Starts it and waits until it listens; `None` when it is not installed.
    async fn start() -> Option<Self> {
        Self::start_with("tests/peers/fixtures").await
    }

    /// The same with the fixtures of this folder.
    pub(crate) async fn start_with(fixtures: &str) -> Option<Self> {
        let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
        let peers = std::env::var_os("PEERS").map_or_else(|| root.join("target/peers"), PathBuf::from);
        if !peers.join("node_modules/@copilotkit/aimock/dist/cli.js").is_file() {
            say_skipped(&format!("aimock is not in {}; run tests/peers/install.sh", peers.display()));
            return None;
        }
        let port = unused_port();
        let process = Command::new(root.join("tests/peers/aimock.sh"))
            .args([port.to_string().as_str(), "attached"])
            .env("PEERS", peers)
            .env("FIXTURES", root.join(fixtures))
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let mut peer = Self { process, base_url: format!("http://127.0.0.1:{port}/v1") };
        while TcpStream::connect(("127.0.0.1", port)).await.is_err() {
            assert!(peer.process.try_wait().unwrap().is_none(), "aimock ended at its start");
            tokio::time::sleep(crate::POLL).await;
        }
        Some(peer)
    }

    fn model(&self, stream: bool) -> Adapter {
        let mut endpoint = Endpoint::new("aimock", "gpt-test", self.base_url.clone());
        endpoint.retry = RetryPolicy { base_delay_ms: 1, ..RetryPolicy::default() };
        endpoint.stream = stream;
        Adapter::new(endpoint).unwrap()
    }

    async fn ask(&self, text: &str) -> Asked {
        ask(&self.model(true), &request(text)).await
    }
}

/// Written past the test harness, which would hide it.
pub(crate) fn say_skipped(why: &str) {
    std::io::stderr().write_all(format!("SKIPPED: {why}\n").as_bytes()).unwrap();
}

#[tokio::test]
async fn replies_arrive_streamed_and_at_once() {
    let Some(peer) = Peer::start().await else { return };
    for stream in [true, false] {
        let asked = ask(&peer.model(stream), &request("hello")).await;
        let reply = asked.reply();
        assert_eq!((reply.text.as_str(), reply.finish.clone()), ("Hello! I am a mock.", Some(Finish::Stop)));
        assert_eq!(reply.usage.map(|usage| (usage.input, usage.output)), Some((8, 6)));
        assert_eq!(reply.model.as_deref(), Some("gpt-test"));
    }
    let asked = peer.ask("reason first").await;
    assert_eq!(
        (asked.reply().text.as_str(), asked.text_of(1, PartKind::Reasoning).as_str()),
        ("42", "Six times seven.")
    );
    // It cuts text by UTF-16 unit, here into pieces of one.
    let asked = peer.ask("unicode").await;
    assert_eq!(asked.reply().text, "naïve café 日本語 🚀👩‍💻 one\ntwo\r\n\u{2028}end");
}

#[tokio::test]
async fn feedback_brings_the_missing_field() {
    let Some(peer) = Peer::start().await else { return };
    let model = peer.model(true);
    let mut question = request_json("Find the product and the sentiment. Fields: product, sentiment, score.");
    let first = ask(&model, &question).await;
    assert_eq!(first.reply().text, r#"{"product": "lamp", "sentiment": "positive"}"#);
    assert_eq!(first.reply().structured_by, Some(StructuredBy::JsonSchema));
    question.messages.push(Message::text(Role::Assistant, first.reply().text.clone()).into());
    question.messages.push(Message::text(Role::User, "score: required, but missing").into());
    let second = ask(&model, &question).await;
    assert_eq!(second.reply().text, r#"{"product": "lamp", "sentiment": "positive", "score": 0.97}"#);
}

#[tokio::test]
async fn failures_are_classed_and_tried_again() {
    let Some(peer) = Peer::start().await else { return };
    let asked = peer.ask("rate limited once").await;
    assert_eq!((asked.reply().text.as_str(), asked.reply().attempt), ("the second try worked", 2));
    let waits: Vec<_> = asked
        .events
        .iter()
        .filter_map(|event| match event {
            ModelEvent::RetryWait(wait) => Some((wait.wait_ms, wait.retry_after)),
            _ => None,
        })
        .collect();
    assert_eq!(waits, [(1_000, true)]);

    let asked = peer.ask("always 429").await;
    assert_eq!(
        (asked.error().class, asked.error().status, asked.error().requests),
        (ErrorClass::RateLimit, Some(429), 3)
    );
    let asked = peer.ask("server error").await;
    assert_eq!((asked.error().class, asked.error().requests), (ErrorClass::Server, 3));
    assert!(asked.error().message.contains("The engine stopped"), "{}", asked.error().message);
    for broken in ["truncate", "disconnect"] {
        let asked = peer.ask(broken).await;
        assert!(asked.error().class.is_retryable(), "{:?}", asked.error());
        assert_eq!((asked.error().requests, asked.discarded().len()), (3, 2), "{broken}");
        assert!(!asked.text_of(1, PartKind::Text).is_empty(), "{broken}");
    }
    let asked = peer.ask("length").await;
    assert_eq!(asked.reply().finish, Some(Finish::Length));
}

#[tokio::test]
async fn a_slow_reply_can_be_stopped() {
    let Some(peer) = Peer::start().await else { return };
    let (model, slow): (Adapter, Request) = (peer.model(true), request("slow"));
    let cancel = CancellationToken::new();
    let stop = cancel.clone();
    let (events, mut inbox) = tokio::sync::mpsc::channel(8);
    let call = ptc_workbench::model::Call { events, cancel };
    let (result, ()) = futures::join!(ptc_workbench::model::Model::answer(&model, &slow, &call), async {
        while let Some(event) = inbox.recv().await {
            if matches!(event, ModelEvent::Delta { .. }) {
                return stop.cancel();
            }
        }
    });
    assert_eq!(result.unwrap_err().class, ErrorClass::Cancelled);
    let before = CancellationToken::new();
    before.cancel();
    assert_eq!(ask_until(&model, &slow, before).await.error().requests, 0);
}
