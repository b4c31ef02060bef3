//! Reused connections to the service, which it may close just when the next request is sent.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ptc_workbench::model::{Adapter, Endpoint};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::openai::request;
use crate::openai::server::{Server, answer};

use super::kit::{Proxied, Wish, client, fetch};

/// Reads a request; `None` when the connection is closed.
async fn read_request(connection: &mut TcpStream) -> Option<()> {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes).to_lowercase();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            let length = length.map_or(0, |length| length.parse().unwrap());
            if body.len() >= length {
                return Some(());
            }
        }
        if connection.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
}

/// A service that answers `answered` requests of each connection, and closes it when the next one has come. Returns its root, and how many
/// requests it has read.
async fn closing_service(answered: usize) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let root = format!("http://{}", listener.local_addr().unwrap());
    let requests = Arc::<AtomicUsize>::default();
    let counted = Arc::clone(&requests);
    tokio::spawn(async move {
        while let Ok((mut connection, _)) = listener.accept().await {
            let counted = Arc::clone(&counted);
            tokio::spawn(async move {
                let body =
                    r#"{"choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}]}"#;
                let reply = format!(
                    "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
                    body.len()
                );
                for number in 0.. {
                    if read_request(&mut connection).await.is_none() {
                        return;
                    }
                    counted.fetch_add(1, Ordering::SeqCst);
                    if number == answered {
                        return;
                    }
                    connection.write_all(reply.as_bytes()).await.unwrap();
                }
            });
        }
    });
    (root, requests)
}

/// Returns how many times requests were sent again, by the notices in a text.
fn sent_again(text: &str) -> usize {
    let counts = text.split("this request was sent ").skip(1);
    counts.map(|rest| rest.split(' ').next().unwrap().parse::<usize>().unwrap() - 1).sum()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_on_a_connection_that_the_service_closes_is_sent_again_on_another_one() {
    let (root, requests) = closing_service(1).await;
    let proxied = Proxied::at(Server::play([answer("")]).await, &root, Wish::default()).await;
    for _ in 0..4 {
        let got = proxied.chat(&[("user", "hi")]).await;
        assert_eq!((got.status, got.is_whole), (200, true), "{}", got.text());
    }
    let (sessions, _dir) = proxied.end().await;
    let texts = sessions.iter().map(|session| std::fs::read_to_string(&session.path).unwrap());
    let again: usize = texts.map(|text| sent_again(&text)).sum();
    assert!(again > 0);
    assert_eq!(requests.load(Ordering::SeqCst), 4 + again, "what was sent again is recorded");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_on_a_connection_of_its_own_is_sent_once() {
    let (root, requests) = closing_service(0).await;
    let proxied = Proxied::at(Server::play([answer("")]).await, &root, Wish::default()).await;
    for number in 1..4 {
        assert_eq!(proxied.chat(&[("user", "hi")]).await.status, 502);
        assert_eq!(requests.load(Ordering::SeqCst), number);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_without_a_record_that_is_sent_again_has_the_count_in_its_line() {
    let (root, _) = closing_service(1).await;
    let proxied = Proxied::at(Server::play([answer("")]).await, &root, Wish::default()).await;
    for _ in 0..4 {
        assert_eq!(fetch(client().get(format!("{}/v1/models", proxied.base))).await.status, 200);
    }
    let unrecorded = Arc::clone(&proxied.unrecorded);
    let (_, _dir) = proxied.end().await;
    let again = unrecorded.lock().unwrap().iter().find(|line| line.retries > 0).cloned().unwrap();
    assert!(again.to_string().contains(&format!("/v1/models (sent {} times)  200", again.retries + 1)), "{again}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_without_a_record_that_has_a_body_is_sent_again() {
    let (root, requests) = closing_service(1).await;
    let proxied = Proxied::at(Server::play([answer("")]).await, &root, Wish::default()).await;
    for _ in 0..4 {
        let got = fetch(proxied.post("/v1/embeddings", "{\"input\": \"a\"}")).await;
        assert_eq!((got.status, got.is_whole), (200, true), "{}", got.text());
    }
    assert!(requests.load(Ordering::SeqCst) > 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_of_a_run_is_sent_again_with_a_notice_and_without_an_error() {
    let (root, requests) = closing_service(1).await;
    let mut endpoint = Endpoint::new("local", "m", format!("{root}/v1"));
    endpoint.retry.max_attempts = 1;
    let model = Adapter::new(endpoint).unwrap();
    let mut again = 0;
    for _ in 0..4 {
        let asked = crate::openai::hear(&model, &request("hi"), tokio_util::sync::CancellationToken::new()).await;
        assert_eq!(asked.reply().text, "hi");
        again += asked.notices().iter().map(|text| sent_again(text)).sum::<usize>();
    }
    assert!(again > 0);
    assert_eq!(requests.load(Ordering::SeqCst), 4 + again);
}
