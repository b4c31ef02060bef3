//! Keys in compressed bodies, in headers and in addresses: none is recorded.

use std::io::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ptc_workbench::event::Event;
use ptc_workbench::model::unpack;
use ptc_workbench::session::Session;
use ptc_workbench::workbench::sent_body;
use serde_json::json;

use super::kit::{Proxied, Wish, body_of, fetch};
use crate::openai::server::{Play, Server, answer};

const KEY: &str = "sk-proxy-0123456789";

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

/// The recorded bytes of the replies, and the notices.
fn recorded(session: &Session) -> (Vec<u8>, Vec<String>) {
    let (mut bytes, mut notices) = (Vec::new(), Vec::new());
    for envelope in session.events() {
        match envelope.event {
            Event::Wire(wire) => bytes.extend(unpack(&wire).unwrap().into_iter().flat_map(|(_, bytes)| bytes)),
            Event::Notice(notice) => notices.push(notice.text.clone()),
            _ => {}
        }
    }
    (bytes, notices)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_compressed_reply_with_a_key_is_not_recorded_and_the_session_says_so() {
    let packed = gzip(&json!({"error": {"message": format!("Incorrect API key provided: {KEY}.")}}).to_string());
    let head = format!(
        "HTTP/1.1 401 Unauthorized\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-encoding: gzip\r\n\
         content-length: {}\r\n\r\n",
        packed.len()
    );
    let proxied = Proxied::play([Play::Bytes(vec![head.into_bytes(), packed.clone()])]).await;
    let request = proxied.post("/v1/chat/completions", body_of(&[("user", "hi")]));
    let got = fetch(request.header("authorization", format!("Bearer {KEY}"))).await;
    assert_eq!((got.status, got.body), (401, packed));
    let (sessions, _dir) = proxied.end().await;
    let (bytes, notices) = recorded(&sessions[0]);
    assert!(bytes.is_empty());
    assert!(notices.iter().any(|text| text.contains("the bytes of this reply are not recorded")), "{notices:?}");
    let text = std::fs::read_to_string(&sessions[0].path).unwrap();
    assert!(!text.contains(KEY) && text.contains("Incorrect API key provided: [secret]"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_changes_a_compressed_request_which_is_sent_without_compression() {
    let wish = Wish { rules: "when model = m-asked: set model = \"other\"", ..Wish::default() };
    let proxied = Proxied::start(Server::play([answer("fine")]).await, wish).await;
    let body = body_of(&[("user", "hi")]);
    let request = proxied.post("/v1/chat/completions", gzip(&body)).header("content-encoding", "gzip");
    assert!(fetch(request).await.is_whole);
    let received = proxied.server.received().pop().unwrap();
    assert_eq!(received.body, body.replace("m-asked", "other"));
    assert!(!received.head.to_ascii_lowercase().contains("content-encoding"), "{}", received.head);
    let (sessions, _dir) = proxied.end().await;
    assert_eq!(sent_body(&sessions[0], "r0/t1").unwrap(), received.body);
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_in_a_body_are_sent_and_not_recorded() {
    let proxied = Proxied::play([answer(&format!("used {KEY}"))]).await;
    let tool = json!({"type": "mcp", "server_url": "https://user:pass-word-1@x/sse?api_key=sk-query-123456",
        "authorization": KEY, "headers": {"X-Api-Key": "sk-header-1"}});
    let body = json!({"model": "m", "tools": [tool], "messages": [{"role": "user", "content": "hi"}]}).to_string();
    assert!(fetch(proxied.post("/v1/chat/completions", body.clone())).await.is_whole);
    assert_eq!(proxied.server.received()[0].body, body);
    let (sessions, _dir) = proxied.end().await;
    let text = std::fs::read_to_string(&sessions[0].path).unwrap();
    for key in [KEY, "pass-word-1", "sk-query-123456", "sk-header-1"] {
        assert!(!text.contains(key) && !text.contains(&STANDARD.encode(key)), "{key}: {text}");
    }
    let (bytes, _) = recorded(&sessions[0]);
    assert!(!String::from_utf8_lossy(&bytes).contains(KEY));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_compressed_request_is_recorded_as_it_was_sent_unless_it_holds_a_key() {
    for (content, is_decoded) in [(format!("my key is {KEY}"), true), ("no key".to_owned(), false)] {
        let proxied = Proxied::play([answer("fine")]).await;
        let body = body_of(&[("user", &content)]);
        let packed = gzip(&body);
        let request = proxied.post("/v1/chat/completions", packed.clone()).header("content-encoding", "gzip");
        assert!(fetch(request.header("x-api-key", KEY)).await.is_whole);
        let received = proxied.server.received().pop().unwrap();
        assert_eq!(received.body, String::from_utf8_lossy(&packed), "the service gets it as it was sent");
        let (sessions, _dir) = proxied.end().await;
        let sent = sent_body(&sessions[0], "r0/t1").unwrap();
        let asked: Vec<_> = sessions[0].request(&"r0/t1".into()).unwrap();
        assert_eq!(asked.len(), 1, "its message is read");
        let (_, notices) = recorded(&sessions[0]);
        let has_notice = notices.iter().any(|text| text.contains("recorded uncompressed"));
        assert_eq!(has_notice, is_decoded, "{notices:?}");
        if is_decoded {
            assert_eq!(sent, body.replace(KEY, &"*".repeat(KEY.len())));
        } else {
            assert_eq!(sent, String::from_utf8_lossy(&packed));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_in_other_headers_and_in_addresses_are_masked_wherever_they_come_back() {
    let keys = ["sk-first-111", "sk-second-22", "sk-third-333", "sk-fourth-44", "pass-word-55"];
    let reply =
        json!({"choices": [{"message": {"role": "assistant", "content": keys.join(", ")}, "finish_reason": "stop"}]});
    let location = "content-type: application/json\r\nlocation: https://a.example/x?page=2&token=sk-other-66\r\n";
    let proxied = Proxied::play([Play::page("200 OK", location, reply.to_string())]).await;
    let path = format!("/v1/chat/completions?sig={}&access_token={}&page=3", keys[2], keys[3]);
    let request = proxied.post(&path, body_of(&[("user", "hi")]));
    let request = request.header("helicone-auth", format!("Bearer {}", keys[0])).header("x-auth", keys[1]);
    let got = fetch(request.basic_auth("someone", Some(keys[4]))).await;
    assert_eq!(got.text(), reply.to_string());
    assert!(got.headers["location"].to_str().unwrap().ends_with("token=sk-other-66"), "it passes");
    let (sessions, _dir) = proxied.end().await;
    let text = std::fs::read_to_string(&sessions[0].path).unwrap();
    let (bytes, _) = recorded(&sessions[0]);
    let bytes = String::from_utf8(bytes).unwrap();
    for key in keys.into_iter().chain(["sk-other-66"]) {
        assert!(!text.contains(key) && !bytes.contains(key), "{key}: {text}");
    }
    assert!(text.contains("?page=3") && text.contains("?page=2&token=[secret]"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_password_of_an_upstream_is_masked_where_the_service_repeats_it() {
    const WRITTEN: &str = "pass%40word-77";
    const MEANT: &str = "pass@word-77";
    let server = Server::script(|_, received| {
        let sent = received.header("authorization").replace("Basic ", "");
        let forms = format!("{WRITTEN} {MEANT} {sent}");
        let headers = format!("content-type: application/json\r\nx-seen: {forms}\r\n");
        let message = json!({"role": "assistant", "content": forms});
        Play::page("200 OK", &headers, json!({"choices": [{"message": message, "finish_reason": "stop"}]}).to_string())
    })
    .await;
    let root = server.base_url.trim_end_matches("/v1").replace("http://", &format!("http://user:{WRITTEN}@"));
    let proxied = Proxied::at(server, &root, Wish::default()).await;
    let got = proxied.chat(&[("user", "hi")]).await;
    let sent = STANDARD.encode(format!("user:{MEANT}"));
    let forms = [WRITTEN, MEANT, sent.as_str()];
    assert!(got.text().contains(&forms.join(" ")), "it passes: {}", got.text());
    let (sessions, _dir) = proxied.end().await;
    let text = std::fs::read_to_string(&sessions[0].path).unwrap();
    let (bytes, _) = recorded(&sessions[0]);
    let bytes = String::from_utf8(bytes).unwrap();
    for form in forms {
        assert!(!text.contains(form) && !bytes.contains(form), "{form}: {text}");
    }
    assert!(text.contains("x-seen"), "{text}");
}
