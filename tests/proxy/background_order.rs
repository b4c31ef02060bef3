//! Replies in the background next to other requests that are in progress, and the parts of them that are on the disk.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ptc_workbench::event::Event;
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::background::{
    RESPONSES, ask, ask_next, ask_stream, assert_in_order, assert_known, events, get, messages, poll, reply, requests,
    rest, start, tokens,
};
use super::kit::{Proxied, Wish, fetch, read_reply};
use crate::openai::server::{Play, Server};

/// Waits until a condition holds.
async fn until(what: &str, holds: impl Fn() -> bool) {
    let waited = async {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    assert!(tokio::time::timeout(Duration::from_secs(10), waited).await.is_ok(), "{what}");
}

/// Number of exchanges that have ended.
fn ended(proxied: &Proxied) -> usize {
    proxied.lines.lock().unwrap().len()
}

/// Kinds of the events in the session files of a folder, up to the last complete line of each.
fn kinds_on_disk(dir: &Path) -> Vec<String> {
    let files = std::fs::read_dir(dir).into_iter().flatten().map(|entry| entry.unwrap().path());
    let sessions = files.filter(|path| path.extension().is_some_and(|ending| ending == "jsonl"));
    let texts: Vec<String> = sessions.map(|path| std::fs::read_to_string(path).unwrap()).collect();
    let lines = texts.iter().flat_map(|text| text.lines()).filter_map(|line| serde_json::from_str::<Value>(line).ok());
    lines.filter_map(|line| line["k"].as_str().map(str::to_owned)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reply_that_is_fetched_during_another_request_is_a_turn_after_it_and_only_once() {
    let gate = Arc::<Notify>::default();
    let kept = Arc::clone(&gate);
    let server = Server::script(move |number, _| match number {
        0 => reply("resp_0", "queued"),
        1 => {
            let usage = json!({"input_tokens": 5, "output_tokens": 7});
            let last = json!({"id": "resp_1", "status": "completed", "usage": usage});
            let end = events(&[json!({"type": "response.completed", "response": last})]);
            Play::gated(&start("resp_1", "not yet"), &end, &kept)
        }
        2 | 3 => reply("resp_0", "completed"),
        _ => reply("resp_2", "completed"),
    });
    let proxied = Proxied::start(server.await, Wish::default()).await;
    ask(&proxied).await;
    let body = json!({"model": "m", "stream": true, "previous_response_id": "resp_0", "input": "meanwhile"});
    let other = proxied.post(RESPONSES, body.to_string()).send().await.unwrap();
    for _ in 0..2 {
        assert!(poll(&proxied).await.text().contains("at last"));
    }
    gate.notify_one();
    assert!(read_reply(other).await.is_whole);
    until("the fetched reply is a turn", || ended(&proxied) == 3).await;
    ask_next(&proxied).await;
    let (lines, unrecorded) = (Arc::clone(&proxied.lines), Arc::clone(&proxied.unrecorded));
    let (sessions, _dir) = proxied.end().await;
    let [session] = sessions.as_slice() else { panic!("{} sessions", sessions.len()) };
    let (post, fetched) = ("POST /v1/responses", "GET /v1/responses/resp_0");
    assert_eq!(requests(session), [post, post, fetched, post]);
    assert_in_order(session).await;
    let expected = [("user", "a long question"), ("assistant", "at last"), ("user", "and?")];
    assert_eq!(messages(session, "r0/t4"), expected.map(|(role, text)| (role, text.to_owned())));
    assert_eq!(tokens(session), Some((15, 21)), "of the three replies, each once");
    let lines: Vec<_> =
        lines.lock().unwrap().iter().map(|line| (line.place.clone().unwrap().1, line.problem.clone())).collect();
    assert_eq!(lines, [(1, None), (2, None), (3, None), (4, None)]);
    assert_eq!(unrecorded.lock().unwrap().len(), 1, "the other poll");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_request_and_the_head_of_the_reply_are_on_the_disk_while_a_stream_is_open() {
    let gate = Arc::<Notify>::default();
    let kept = Arc::clone(&gate);
    let server = Server::script(move |_, _| Play::gated(&start("resp_0", "at"), &rest(), &kept));
    let proxied = Proxied::start(server.await, Wish::default()).await;
    let mut open = ask_stream(&proxied).await;
    assert!(open.chunk().await.unwrap().is_some());
    let dir = proxied.sessions_dir();
    let is_on_disk = |wanted: &str| kinds_on_disk(&dir).iter().any(|kind| kind == wanted);
    for kind in ["message", "request", "raw.request", "raw.reply"] {
        until(kind, || is_on_disk(kind)).await;
    }
    assert!(!is_on_disk("reply.end") && !is_on_disk("turn.end"));
    gate.notify_one();
    assert!(read_reply(open).await.is_whole);
    let (sessions, _dir) = proxied.end().await;
    let [session] = sessions.as_slice() else { panic!("{} sessions", sessions.len()) };
    assert_eq!(tokens(session), Some((5, 7)));
    assert_in_order(session).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_background_stream_that_is_resumed_while_it_is_open_has_its_reply_in_a_turn_when_it_ends() {
    let start = start("resp_0", "at");
    let server = Server::script(move |number, _| match number {
        0 => Play::silent([&start]),
        1 => Play::events([rest()]),
        _ => reply("resp_1", "completed"),
    });
    let mut proxied = Proxied::start(server.await, Wish::default()).await;
    // The client reads no more of it and keeps the connection.
    let mut first = ask_stream(&proxied).await;
    assert!(first.chunk().await.unwrap().is_some());
    let query = "?stream=true&starting_after=1";
    assert_eq!(fetch(get(&proxied, query)).await.text(), rest());
    assert_eq!(ended(&proxied), 0, "a turn ends before the next one begins");
    drop(first);
    assert_eq!(proxied.server.client_hung_up().await, 0);
    until("both turns have ended", || ended(&proxied) == 2).await;
    ask_next(&proxied).await;
    let (lines, unrecorded) = (Arc::clone(&proxied.lines), Arc::clone(&proxied.unrecorded));
    let (sessions, _dir) = proxied.end().await;
    let [session] = sessions.as_slice() else { panic!("{} sessions", sessions.len()) };
    let fetched = format!("GET /v1/responses/resp_0{query}");
    assert_eq!(requests(session), ["POST /v1/responses", &fetched, "POST /v1/responses"]);
    assert_known(session, "r0/t3").await;
    assert_eq!(tokens(session), Some((10, 14)));
    let problems: Vec<bool> = lines.lock().unwrap().iter().map(|line| line.problem.is_some()).collect();
    assert_eq!(problems, [true, false, false]);
    assert!(unrecorded.lock().unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_result_is_the_reply_to_the_last_request_whenever_an_earlier_one_is_fetched() {
    for (fetched, next) in [("completed", "completed"), ("cancelled", "completed"), ("completed", "failed")] {
        let server = Server::script(move |number, _| match number {
            0 => reply("resp_0", "queued"),
            1 if next == "failed" => Play::json("400 Bad Request", r#"{"error":{"message":"not now"}}"#),
            1 => {
                let text = json!([{"type": "output_text", "text": "the second"}]);
                let output = json!([{"type": "message", "role": "assistant", "content": text}]);
                let body = json!({"id": "resp_1", "object": "response", "status": "completed", "output": output});
                Play::json("200 OK", body.to_string())
            }
            _ => reply("resp_0", fetched),
        });
        let proxied = Proxied::start(server.await, Wish::default()).await;
        ask(&proxied).await;
        ask_next(&proxied).await;
        poll(&proxied).await;
        let (sessions, _dir) = proxied.end().await;
        let [session] = sessions.as_slice() else { panic!("{} sessions", sessions.len()) };
        assert_eq!(requests(session).len(), 3, "{fetched}");
        let end = session.events().find_map(|envelope| match envelope.event {
            Event::RunEnd(end) => Some(end),
            _ => None,
        });
        let end = end.unwrap();
        match next {
            "completed" => assert_eq!(end.value.unwrap().json().as_str(), Some("the second"), "{fetched}"),
            _ => assert!(end.fail.unwrap().message.contains("not now"), "{fetched}"),
        }
    }
}
