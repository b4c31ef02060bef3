//! Pass-through of the proxy: the same bytes in both directions, whatever happens to the connections.

use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::openai::server::{Play, Server, answer, delta, ending};

use super::kit::{Proxied, Wish, body_of, client, fetch, raw_request, read_reply};

#[tokio::test(flavor = "multi_thread")]
async fn bodies_pass_byte_for_byte_and_headers_with_them() {
    // Blanks, a broken escape and bytes that are no JSON: the proxy understands none of it and passes all of it.
    let reply = b"data: {\"a\" :  1}\r\n\r\n: ping\n\ndata: [DONE]\n\n\xff\xfe".to_vec();
    let proxied = Proxied::play([Play::events(reply.chunks(3))]).await;
    for body in [" {\"model\":\"m\", \"messages\": [ ] }\n", "no JSON \u{fc}", ""] {
        let request =
            proxied.post("/v1/chat/completions?a=b%20c", body).header("x-own", "1").header("authorization", "Bearer k");
        let got = fetch(request).await;
        assert_eq!((got.status, got.body.as_slice(), got.is_whole), (200, reply.as_slice(), true));
        assert_eq!(got.headers["content-type"], "text/event-stream");
        let received = proxied.server.received().pop().unwrap();
        assert_eq!(received.body, body);
        assert!(received.head.starts_with("POST /v1/chat/completions?a=b%20c HTTP/1.1"), "{}", received.head);
        assert_eq!((received.header("x-own").as_str(), received.header("authorization").as_str()), ("1", "Bearer k"));
        assert!(!received.header("host").contains(proxied.base.trim_start_matches("http://")), "{}", received.head);
    }
    let got = fetch(client().get(format!("{}/v1/models", proxied.base))).await;
    assert_eq!((got.status, got.is_whole), (200, true));
    assert!(proxied.server.received().pop().unwrap().head.starts_with("GET /v1/models "));
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_of_the_service_pass_as_they_came() {
    let body = r#"{"error":{"message":"slow down","type":"rate_limit"}}"#;
    let busy = Play::page("429 Too Many Requests", "retry-after: 7\r\ncontent-type: application/json\r\n", body);
    let proxied = Proxied::play([busy]).await;
    let got = proxied.chat(&[("user", "hi")]).await;
    assert_eq!((got.status, got.text().as_str()), (429, body));
    assert_eq!(got.headers["retry-after"], "7");
    let (sessions, _dir) = proxied.end().await;
    let text = std::fs::read_to_string(&sessions[0].path).unwrap();
    assert!(text.contains("status 429: slow down") && text.contains("\"retry-after\",\"7\""), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reply_that_breaks_off_breaks_off_for_the_client() {
    let proxied = Proxied::play([Play::cut([delta("half")])]).await;
    let got = proxied.chat(&[("user", "hi")]).await;
    assert!(!got.is_whole && got.text().starts_with(&delta("half")), "{}", got.text());
    let (sessions, _dir) = proxied.end().await;
    let text = std::fs::read_to_string(&sessions[0].path).unwrap();
    assert!(text.contains("\"status\":\"error\"") && text.contains("broke"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_that_is_not_there_is_a_502_that_names_it() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let root = format!("http://{}", free.local_addr().unwrap());
    drop(free);
    let proxied = Proxied::at(Server::play([answer("")]).await, &root, Wish::default()).await;
    let got = proxied.chat(&[("user", "hi")]).await;
    assert_eq!(got.status, 502);
    assert!(got.text().contains("openai cannot be reached"), "{}", got.text());
    let (sessions, _dir) = proxied.end().await;
    assert!(std::fs::read_to_string(&sessions[0].path).unwrap().contains("cannot be reached"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_path_that_leads_above_the_address_is_refused() {
    let proxied = Proxied::play([answer("hi")]).await;
    for path in ["/v1/../secret/v1/chat/completions", "/v1/%2E%2e/models"] {
        let mut connection = tokio::net::TcpStream::connect(proxied.base.trim_start_matches("http://")).await.unwrap();
        let headers = "host: 127.0.0.1\r\ncontent-length: 2\r\nconnection: close";
        let request = format!("POST {path} HTTP/1.1\r\n{headers}\r\n\r\n{{}}");
        connection.write_all(request.as_bytes()).await.unwrap();
        let mut reply = String::new();
        connection.read_to_string(&mut reply).await.unwrap();
        assert!(reply.starts_with("HTTP/1.1 400") && reply.contains("bad_path"), "{reply}");
    }
    assert!(proxied.server.received().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_password_of_an_address_is_sent_and_not_recorded() {
    let server = Server::play([answer("hi")]).await;
    let root = server.base_url.trim_end_matches("/v1").replace("http://", "http://user:PASSWORD@");
    let proxied = Proxied::at(server, &root, Wish::default()).await;
    assert_eq!(proxied.chat(&[("user", "hi")]).await.status, 200);
    assert!(proxied.server.received()[0].header("authorization").starts_with("Basic "));
    let (sessions, _dir) = proxied.end().await;
    assert!(!std::fs::read_to_string(&sessions[0].path).unwrap().contains("PASSWORD"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_leaves_ends_the_request_of_the_upstream() {
    let mut proxied = Proxied::play([Play::silent([delta("half")])]).await;
    let mut reply = proxied.post("/v1/chat/completions", body_of(&[("user", "hi")])).send().await.unwrap();
    assert!(reply.chunk().await.unwrap().is_some());
    drop(reply);
    assert_eq!(proxied.server.client_hung_up().await, 0);
    let (sessions, _dir) = proxied.end().await;
    let text = std::fs::read_to_string(&sessions[0].path).unwrap();
    assert!(text.contains("\"status\":\"cancelled\"") && text.contains("the client closed the connection"), "{text}");
    assert!(text.contains("half"), "what came is kept: {text}");
}

/// A client that has left, and one that has only ended its side, look the same until something is sent.
#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_ends_its_side_while_the_service_thinks_counts_as_having_left() {
    let mut proxied = Proxied::play([Play::Stall(Vec::new())]).await;
    let mut connection = proxied.connect().await;
    connection.write_all(raw_request("").as_bytes()).await.unwrap();
    while proxied.server.received().is_empty() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    connection.shutdown().await.unwrap();
    assert_eq!(proxied.server.client_hung_up().await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_without_an_upstream_and_of_foreign_pages_are_refused() {
    let proxied = Proxied::play([answer("hi")]).await;
    let got = fetch(client().get(format!("{}/favicon.ico", proxied.base))).await;
    assert!(got.status == 404 && got.text().contains("no upstream"), "{}", got.text());
    let foreign = proxied.post("/v1/chat/completions", "{}").header("origin", "https://evil.example");
    assert_eq!(fetch(foreign).await.status, 403);
    let rebound = proxied.post("/v1/chat/completions", "{}").header("host", "evil.example");
    assert_eq!(fetch(rebound).await.status, 403);
    assert!(proxied.server.received().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn rules_make_faults_that_the_client_sees_and_the_session_names() {
    let rules = "when text ~ busy first 1: fail 429 \"try later\"\nwhen text ~ cut: cut 10\nwhen text ~ drop: drop\n\
                 when text ~ slow: delay 5; set model = \"other\"";
    let server = Server::play([answer("fine")]).await;
    let proxied = Proxied::start(server, Wish { rules, ..Wish::default() }).await;
    let busy = proxied.chat(&[("user", "busy")]).await;
    assert!(busy.status == 429 && busy.text().contains("try later"), "{}", busy.text());
    assert_eq!(proxied.chat(&[("user", "busy")]).await.status, 200);
    let cut = proxied.chat(&[("user", "cut")]).await;
    assert!(!cut.is_whole && cut.body.len() == 10, "{}", cut.text());
    let before = proxied.server.received().len();
    let dropped = proxied.post("/v1/chat/completions", body_of(&[("user", "drop")])).send().await;
    assert!(match dropped {
        Ok(mut reply) => reply.chunk().await.is_err(),
        Err(_) => true,
    });
    assert_eq!(proxied.server.received().len(), before, "nothing was asked");
    assert!(proxied.chat(&[("user", "slow")]).await.is_whole);
    assert_eq!(proxied.server.received().pop().unwrap().json()["model"], "other");
    let (sessions, _dir) = proxied.end().await;
    let text: String = sessions.iter().map(|session| std::fs::read_to_string(&session.path).unwrap()).collect();
    for words in [
        "a rule of the proxy: when text ~ busy first 1",
        "a rule of the proxy: when text ~ slow",
        "a rule of the proxy cut the reply",
    ] {
        assert!(text.contains(words), "{words}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_cuts_a_reply_only_where_more_of_it_follows() {
    let body = r#"{"a": 123}"#;
    let (first, second) = body.split_at(5);
    for play in [Play::events([first, second]), Play::json("200 OK", body)] {
        for (rules, bytes) in [
            ("when path ~ /v1: cut 0", 0),
            ("when path ~ /v1: cut 5", 5),
            ("when path ~ /v1: cut 9", 9),
            ("when path ~ /v1: cut 10", 10),
            ("when path ~ /v1: cut 11", 10),
        ] {
            let server = Server::play([play.clone()]).await;
            let proxied = Proxied::start(server, Wish { rules, ..Wish::default() }).await;
            let reply = proxied.post("/v1/chat/completions", body_of(&[("user", "hi")])).send().await;
            // A connection that breaks before the first byte may break before the head has left.
            let Ok(reply) = reply else {
                assert_eq!(bytes, 0, "{rules}");
                continue;
            };
            let got = read_reply(reply).await;
            assert_eq!((got.body.len(), got.is_whole), (bytes, bytes == body.len()), "{rules}: {play:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_reason_phrase_of_the_service_passes() {
    for (status, expected) in [("200 Fine", Some("Fine")), ("200 OK", None)] {
        let proxied = Proxied::play([Play::json(status, "{}")]).await;
        let recorded = proxied.post("/v1/chat/completions", body_of(&[("user", "hi")]));
        let unrecorded = client().get(format!("{}/v1/models", proxied.base));
        for request in [recorded, unrecorded] {
            let reply = request.send().await.unwrap();
            let reason = reply.extensions().get::<hyper::ext::ReasonPhrase>();
            assert_eq!(reason.map(hyper::ext::ReasonPhrase::as_bytes), expected.map(str::as_bytes));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn compressed_replies_pass_as_they_are_and_are_read() {
    use std::io::Write as _;
    let events = format!("{}{}", delta("packed words"), ending("stop"));
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(events.as_bytes()).unwrap();
    let packed = encoder.finish().unwrap();
    let proxied = Proxied::play([Play::coded("gzip", "content-type: text/event-stream\r\n", &packed)]).await;
    let request =
        proxied.post("/v1/chat/completions", body_of(&[("user", "hi")])).header("accept-encoding", "br, gzip");
    let got = fetch(request).await;
    assert_eq!((got.body, got.headers["content-encoding"].to_str().unwrap()), (packed, "gzip"));
    assert_eq!(proxied.server.received()[0].header("accept-encoding"), "gzip");
    let (sessions, _dir) = proxied.end().await;
    assert!(std::fs::read_to_string(&sessions[0].path).unwrap().contains("packed words"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_beyond_the_limit_is_refused_and_nothing_hangs() {
    let proxied = Proxied::play([answer("hi")]).await;
    // More than the buffers of a connection hold.
    let huge = vec![b' '; (64 << 20) + (16 << 20)];
    let sent = tokio::time::timeout(Duration::from_mins(1), proxied.post("/v1/chat/completions", huge).send()).await;
    assert_eq!(sent.expect("it ends").unwrap().status().as_u16(), 413);
    // A client that waits for leave to send it sends nothing.
    let waiting = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\ncontent-length: {}\r\nexpect: 100-continue\r\n\r\n",
        65 << 20
    );
    let mut connection = proxied.connect().await;
    connection.write_all(waiting.as_bytes()).await.unwrap();
    let mut reply = String::new();
    connection.read_to_string(&mut reply).await.unwrap();
    assert!(reply.starts_with("HTTP/1.1 413 "), "{reply}");
    assert!(proxied.chat(&[("user", "hi")]).await.is_whole);
}
