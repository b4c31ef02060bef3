//! Headers and trailers on their way: how many pass, to whom, and what is recorded of them.

use std::sync::Arc;

use ptc_workbench::event::{Event, NoticeLevel};
use ptc_workbench::replay::verify;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use crate::openai::server::{Play, Server, delta, ending};

use super::kit::{Proxied, Wish, body_of, raw_request};

/// The trailers that the head of [`with_trailers`] names.
pub(crate) const TRAILERS: &str = "x-checksum: 1a2b\r\nx-api-key: sk-trailer-1\r\n";

/// A head, two chunks, and an end with trailers, one of which the head does not name.
fn writes() -> [String; 4] {
    let chunk = |text: String| format!("{:x}\r\n{text}\r\n", text.len());
    let head = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: text/event-stream\r\n\
                transfer-encoding: chunked\r\ntrailer: X-Checksum, x-api-key\r\n\r\n";
    let end = format!("0\r\n{TRAILERS}x-unannounced: 1\r\n\r\n");
    [head.to_owned(), chunk(delta("one")), chunk(ending("stop")), end]
}

/// The content of [`with_trailers`].
fn content() -> String {
    delta("one") + &ending("stop")
}

/// A streamed reply with trailers.
pub(crate) fn with_trailers() -> Play {
    Play::Bytes(writes().map(String::into_bytes).to_vec())
}

/// Sends a request with these further header lines; returns what comes up to this end.
async fn ask_up_to(connection: &mut TcpStream, headers: &str, end: &str) -> String {
    connection.write_all(raw_request(headers).as_bytes()).await.unwrap();
    let mut bytes = Vec::new();
    while !bytes.ends_with(end.as_bytes()) {
        let read = connection.read_buf(&mut bytes).await.unwrap();
        assert!(read > 0, "{}", String::from_utf8_lossy(&bytes));
    }
    String::from_utf8(bytes).unwrap()
}

/// The content of a chunked body, and what follows its last chunk.
fn unchunked(mut body: &str) -> (String, &str) {
    let mut content = String::new();
    loop {
        let (size, rest) = body.split_once("\r\n").unwrap();
        let size = usize::from_str_radix(size, 16).unwrap();
        if size == 0 {
            return (content, rest);
        }
        content.push_str(&rest[..size]);
        body = rest[size..].strip_prefix("\r\n").unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn trailers_pass_to_a_client_that_accepts_them_and_are_recorded_without_keys() {
    let proxied = Proxied::play([with_trailers()]).await;
    // The connection stays open.
    let mut connection = proxied.connect().await;
    for (headers, trailers, offered) in
        [("te: gzip, trailers\r\n", TRAILERS, ("trailers", "te")), ("te: gzip\r\n", "", ("", "")), ("", "", ("", ""))]
    {
        let reply = ask_up_to(&mut connection, headers, &format!("\r\n0\r\n{trailers}\r\n")).await;
        let (head, body) = reply.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
        assert!(head.lines().any(|line| line == "trailer: X-Checksum, x-api-key"), "{head}");
        let end = format!("{trailers}\r\n");
        assert_eq!(unchunked(body), (content(), end.as_str()));
        let received = proxied.server.received().pop().unwrap();
        assert_eq!((received.header("te").as_str(), received.header("connection").as_str()), offered);
    }
    drop(connection);
    let lines = Arc::clone(&proxied.lines);
    let (sessions, _dir) = proxied.end().await;
    for line in lines.lock().unwrap().iter() {
        assert_eq!((line.status, &line.problem), (Some(200), &None));
    }
    let mut notices = Vec::new();
    for session in &sessions {
        notices.extend(session.events().filter_map(|envelope| match envelope.event {
            Event::Notice(notice) if notice.text.contains("trailers") => Some((notice.level, notice.text)),
            _ => None,
        }));
        assert!(!std::fs::read_to_string(&session.path).unwrap().contains("sk-trailer-1"));
        assert_eq!(verify(session).await.findings, []);
    }
    let text =
        "trailers of the service's reply: x-checksum: 1a2b; x-unannounced: 1; 1 with keys, not recorded".to_owned();
    assert_eq!(notices, vec![(NoticeLevel::Info, text); 3]);
}

/// A service that reads one request, chunked or not, and answers it. Returns its root, and what it reads.
async fn reading_service() -> (String, JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let root = format!("http://{}", listener.local_addr().unwrap());
    let received = tokio::spawn(async move {
        let (mut connection, _) = listener.accept().await.unwrap();
        let mut bytes = Vec::new();
        loop {
            assert!(connection.read_buf(&mut bytes).await.unwrap() > 0);
            let text = String::from_utf8_lossy(&bytes).into_owned();
            let is_sized = text.contains("content-length: ") && text.ends_with('}');
            if is_sized || text.contains("\r\n0\r\n") && text.ends_with("\r\n\r\n") {
                connection.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}").await.unwrap();
                return text;
            }
        }
    });
    (root, received)
}

/// Sends a chunked request with trailers, and extensions of its chunks, to a proxy with these rules; returns what the service gets, and
/// the sessions as text.
async fn send_trailers(path: &str, rules: &'static str) -> (String, String) {
    let (root, received) = reading_service().await;
    let wish = Wish { rules, ..Wish::default() };
    let proxied = Proxied::at(Server::play([with_trailers()]).await, &root, wish).await;
    let body = body_of(&[("user", "hi")]);
    let request = format!(
        "POST {path} HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\
         trailer: X-Checksum, x-api-key\r\n\r\n{:x};a=\"b\"\r\n{body}\r\n0\r\n{TRAILERS}x-unannounced: 1\r\n\r\n",
        body.len()
    );
    let mut connection = proxied.connect().await;
    connection.write_all(request.as_bytes()).await.unwrap();
    let mut reply = String::new();
    connection.read_to_string(&mut reply).await.unwrap();
    assert!(reply.starts_with("HTTP/1.1 200 OK\r\n"), "{reply}");
    let (sessions, _dir) = proxied.end().await;
    let texts = sessions.iter().map(|session| std::fs::read_to_string(&session.path).unwrap());
    (received.await.unwrap(), texts.collect())
}

#[tokio::test(flavor = "multi_thread")]
async fn trailers_of_a_request_pass_and_are_recorded_without_keys() {
    let path = "/v1/chat/completions";
    let notice = "trailers of the client's request: x-checksum: 1a2b; x-unannounced: 1; 1 with keys, not recorded";
    for (path, rules, trailers, is_recorded) in [
        (path, "", TRAILERS, true),
        (path, "when path ~ chat: set temperature = 0", "", true),
        ("/v1/embeddings", "", TRAILERS, false),
    ] {
        let (received, sessions) = send_trailers(path, rules).await;
        let (head, body) = received.split_once("\r\n\r\n").unwrap();
        let is_chunked = head.contains("\r\ntransfer-encoding: chunked");
        let is_named = head.contains("\r\ntrailer: X-Checksum, x-api-key");
        assert_eq!((is_chunked, is_named), (!trailers.is_empty(), !trailers.is_empty()), "{path} {rules}: {head}");
        if is_chunked {
            let end = format!("{trailers}\r\n");
            assert_eq!(unchunked(body), (body_of(&[("user", "hi")]), end.as_str()), "{path}");
        } else {
            assert!(body.contains("\"temperature\":0") && body.ends_with('}'), "{body}");
        }
        assert_eq!(sessions.contains(notice), is_recorded, "{path} {rules}");
        assert!(!sessions.contains("sk-trailer-1"), "{path} {rules}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn trailers_pass_where_nothing_is_recorded() {
    let wish = Wish { saves_nothing: true, ..Wish::default() };
    let proxied = Proxied::start(Server::play([with_trailers()]).await, wish).await;
    let reply = proxied.raw_chat("te: trailers\r\n").await;
    let (_, body) = reply.split_once("\r\n\r\n").unwrap();
    let end = format!("{TRAILERS}\r\n");
    assert_eq!(unchunked(body), (content(), end.as_str()));
    let unrecorded = Arc::clone(&proxied.unrecorded);
    let (sessions, _dir) = proxied.end().await;
    assert!(sessions.is_empty());
    let lines = unrecorded.lock().unwrap().clone();
    assert_eq!(lines.len(), 1);
    assert_eq!((lines[0].status, lines[0].bytes, &lines[0].problem), (Some(200), content().len() as u64, &None));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chunk_does_not_wait_for_the_trailers() {
    let [head, chunk, ..] = writes();
    let proxied = Proxied::play([Play::Stall(vec![head.into_bytes(), chunk.into_bytes()])]).await;
    let mut connection = proxied.connect().await;
    let reply = ask_up_to(&mut connection, "te: trailers\r\n", &format!("{}\r\n", delta("one"))).await;
    assert!(reply.starts_with("HTTP/1.1 200 OK\r\n"), "{reply}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reply_that_breaks_off_inside_its_trailers_breaks_off_for_the_client() {
    let mut bytes = writes().map(String::into_bytes).to_vec();
    bytes[3] = b"0\r\nx-check".to_vec();
    let proxied = Proxied::play([Play::Bytes(bytes)]).await;
    let got = proxied.chat(&[("user", "hi")]).await;
    assert_eq!((got.text(), got.is_whole), (content(), false));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_cuts_no_trailers_off_a_body_that_is_not_longer() {
    let rules = "when path ~ /v1: cut 10";
    let reply = "HTTP/1.1 200 OK\r\nconnection: close\r\ntransfer-encoding: chunked\r\ntrailer: x-checksum\r\n\r\n\
                 a\r\n{\"a\": 123}\r\n0\r\nx-checksum: 1a2b\r\n\r\n";
    let server = Server::play([Play::Bytes(vec![reply.as_bytes().to_vec()])]).await;
    let proxied = Proxied::start(server, Wish { rules, ..Wish::default() }).await;
    let got = proxied.raw_chat("te: trailers\r\n").await;
    let (_, body) = got.split_once("\r\n\r\n").unwrap();
    assert_eq!(unchunked(body), ("{\"a\": 123}".to_owned(), "x-checksum: 1a2b\r\n\r\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn two_hundred_headers_pass_in_both_directions_and_more_are_refused() {
    let lines = "x-own: 1\r\n".repeat(200);
    // Short enough to arrive at once: the proxy reads no more after the last header that it accepts.
    let excess = "x: 1\r\n".repeat(257);
    let proxied = Proxied::play([Play::page("200 OK", &lines, "{}"), Play::page("200 OK", &excess, "{}")]).await;
    let reply = proxied.raw_chat(&lines).await;
    assert!(reply.starts_with("HTTP/1.1 200 OK\r\n") && reply.ends_with("\r\n\r\n{}"), "{reply}");
    let count = |head: &str| head.lines().filter(|line| *line == "x-own: 1").count();
    assert_eq!((count(&reply), count(&proxied.server.received()[0].head)), (200, 200));
    assert!(proxied.raw_chat("").await.starts_with("HTTP/1.1 502 "));
    assert!(proxied.raw_chat(&excess).await.starts_with("HTTP/1.1 431 "));
    assert_eq!(proxied.server.received().len(), 2);
}
