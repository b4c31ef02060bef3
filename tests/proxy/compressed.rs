//! Compressed requests: read, answered and made into agents as plain ones are.

use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ptc_workbench::proxy::Answers;
use ptc_workbench::session::Session;
use ptc_workbench::workbench::inspect::Inspection;
use ptc_workbench::workbench::{CapturedAgent, FileNaming, captured_agent};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::kit::{Got, Proxied, Wish, body_of, fetch, gzip};
use crate::openai::server::{Server, answer};

const CHAT: &str = "/v1/chat/completions";
const KEY: &str = "sk-proxy-0123456789";

/// Posts a body that was compressed at this time.
async fn ask(proxied: &Proxied, path: &str, body: &str, mtime: u32) -> Got {
    fetch(proxied.post(path, gzip(body, mtime)).header("content-encoding", "gzip")).await
}

/// The agent of the only request of a session.
fn agent_of(session: &Session) -> CapturedAgent {
    captured_agent(session, &"r0/t1".into(), "seen", FileNaming::Name).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_agent_of_a_compressed_request_is_that_of_the_plain_one() {
    let png = STANDARD.encode(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR");
    let image = json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": png}});
    // With the key, the compressed body is recorded as it was before.
    for look in ["Look".to_owned(), format!("Look: {KEY}")] {
        let system = json!({"type": "text", "text": "Be brief", "cache_control": {"type": "ephemeral"}});
        let thought = json!({"type": "thinking", "thinking": "hm", "signature": "s"});
        let body = json!({"model": "claude-x", "max_tokens": 9, "system": [system], "messages": [
            {"role": "user", "content": "Hi"}, {"role": "assistant", "content": [thought, {"type": "text", "text": "Yes?"}]},
            {"role": "user", "content": [image, {"type": "text", "text": look}]}]});
        let mut agents = Vec::new();
        for (is_packed, rules) in [(false, ""), (true, ""), (true, "when model = claude-x: set max_tokens = 9")] {
            let wish = Wish { rules, ..Wish::default() };
            let proxied = Proxied::start(Server::play([answer("fine")]).await, wish).await;
            let text = body.to_string();
            let request = if is_packed {
                proxied.post("/v1/messages", gzip(&text, 1)).header("content-encoding", "gzip")
            } else {
                proxied.post("/v1/messages", text)
            };
            assert!(fetch(request.header("x-api-key", KEY)).await.is_whole);
            let (sessions, _dir) = proxied.end().await;
            agents.push(agent_of(&sessions[0]));
        }
        let [plain, packed, changed] = agents.as_slice() else { panic!("{}", agents.len()) };
        assert_eq!((packed, changed), (plain, plain), "{look}");
        assert_eq!((plain.files.len(), plain.unsent.len()), (1, 0), "{look}");
        for expected in ["the reasoning of earlier replies", "`cache_control` is set"] {
            assert!(plain.differences.iter().any(|text| text.contains(expected)), "{:?}", plain.differences);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_screen_lays_a_compressed_request_out() {
    let proxied = Proxied::script(|_, _| answer("fine")).await;
    assert!(ask(&proxied, CHAT, &body_of(&[("user", "hello")]), 1).await.is_whole);
    let (sessions, _dir) = proxied.end().await;
    let found = Inspection::of(&sessions[0], &"r0/t1".into()).unwrap();
    let Some(tree) = found.wire.iter().find(|part| part.title == "→ sent 1 · tree") else {
        panic!("{:?}", found.wire)
    };
    assert!(tree.text().contains("hello"), "{}", tree.text());
}

/// Records replies to these bodies, compressed at the time 1; returns the files and the replies.
async fn recorded(rules: &'static str, bodies: &[String]) -> (Vec<PathBuf>, Vec<Got>, TempDir) {
    let server = Server::script(|number, _| answer(&format!("reply {number}"))).await;
    let proxied = Proxied::start(server, Wish { rules, ..Wish::default() }).await;
    let mut got = Vec::new();
    for body in bodies {
        got.push(ask(&proxied, CHAT, body, 1).await);
    }
    let (sessions, dir) = proxied.end().await;
    (sessions.iter().map(|session| session.path.clone()).collect(), got, dir)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_compressed_request_is_answered_from_its_recording_whatever_its_bytes() {
    let bodies = ["one", "two"].map(|text| body_of(&[("user", text)]));
    for rules in ["", "when model = m-asked: set seed = 1"] {
        let (files, recorded, _dir) = recorded(rules, &bodies).await;
        let answers = Some(Answers::read(&files, &[]).unwrap());
        let proxied = Proxied::start(Server::play([]).await, Wish { recorded: answers, ..Wish::default() }).await;
        for (body, recorded) in bodies.iter().zip(&recorded).rev() {
            for mtime in [1, 2] {
                assert_eq!(ask(&proxied, CHAT, body, mtime).await.body, recorded.body, "{body} {rules}");
            }
            assert_eq!(fetch(proxied.post(CHAT, body.clone())).await.body, recorded.body, "{body} {rules}");
        }
        assert_eq!(proxied.misses(), 0);
        let load = ask(&proxied, "/api/generate", r#"{"model":"m"}"#, 1).await;
        assert_eq!(serde_json::from_str::<Value>(&load.text()).unwrap()["done_reason"], "load");
        let missed = ask(&proxied, CHAT, &body_of(&[("user", "three")]), 1).await;
        assert!(missed.status == 404 && missed.text().contains("three"), "{}", missed.text());
        assert!(proxied.server.received().is_empty());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_changes_a_compressed_request_that_asks_no_model() {
    let wish = Wish { rules: "when path ~ embeddings: set input = \"b\"", ..Wish::default() };
    let proxied = Proxied::start(Server::play([answer("fine")]).await, wish).await;
    assert!(ask(&proxied, "/v1/embeddings", r#"{"model":"e","input":"a"}"#, 1).await.is_whole);
    let received = proxied.server.received().pop().unwrap();
    assert_eq!(received.json(), json!({"model": "e", "input": "b"}));
    assert_eq!(received.header("content-encoding"), "");
}
