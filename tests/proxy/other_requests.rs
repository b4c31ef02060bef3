//! Non-chat requests are recorded where the user wants that, and answered from recordings like others.

use std::path::PathBuf;
use std::sync::Arc;

use ptc_workbench::event::Event;
use ptc_workbench::proxy::{Answers, LiveTraffic, TrafficUpdate};
use ptc_workbench::replay::verify;
use ptc_workbench::session::Session;
use serde_json::json;

use crate::openai::server::{Play, Server, answer};

use super::background::tokens;
use super::kit::{Got, Proxied, Wish, client, fetch};

const TAGS: &str = "/api/tags";
const EMBEDDINGS: &str = "/v1/embeddings";

async fn get(proxied: &Proxied, path: &str) -> Got {
    fetch(client().get(format!("{}{path}", proxied.base))).await
}

async fn embed(proxied: &Proxied, text: &str) -> Got {
    fetch(proxied.post(EMBEDDINGS, json!({"model": "e", "input": text}).to_string())).await
}

async fn recording(plays: Vec<Play>) -> Proxied {
    Proxied::start(Server::play(plays).await, Wish { records_all: true, ..Wish::default() }).await
}

async fn replaying(files: &[PathBuf]) -> Proxied {
    let recorded = Some(Answers::read(files, &[]).unwrap());
    Proxied::start(Server::play(vec![]).await, Wish { recorded, ..Wish::default() }).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replay_answers_them_with_the_recorded_bytes() {
    let vector = |number: f64| Play::json("200 OK", json!({"data": [{"embedding": [number]}]}).to_string());
    let plays =
        vec![vector(0.5), vector(0.25), Play::json("200 OK", "{\"models\": []}"), Play::json("404 Not Found", "{}")];
    let proxied = recording([plays, vec![answer("hello")]].concat()).await;
    let recorded = [embed(&proxied, "a").await, embed(&proxied, "b").await, get(&proxied, TAGS).await];
    assert_eq!(get(&proxied, "/v1/models/absent").await.status, 404);
    proxied.chat(&[("user", "hello")]).await;
    assert!(proxied.unrecorded.lock().unwrap().is_empty());
    let lines = Arc::clone(&proxied.lines);
    let (sessions, _dir) = proxied.end().await;
    let lines: Vec<String> = lines.lock().unwrap().iter().map(|line| line.model.clone()).collect();
    assert_eq!(lines[..3], ["POST /v1/embeddings", "POST /v1/embeddings", "GET /api/tags"]);
    // One of each upstream, and the conversation.
    assert_eq!(sessions.len(), 3);
    let starts = sessions.iter().flat_map(Session::events).filter_map(|envelope| match envelope.event {
        Event::RunStart(start) => Some((start.agent.name.clone(), start.model.alias.clone())),
        _ => None,
    });
    let mut names: Vec<(String, String)> = starts.collect();
    names.sort();
    let expected = [("m-asked", "openai:m-asked"), ("other requests", "ollama"), ("other requests", "openai")];
    assert_eq!(names, expected.map(|(name, alias)| (name.to_owned(), alias.to_owned())));
    for session in &sessions {
        let found = verify(session).await;
        assert!(!found.is_faulty(), "{:?}", found.findings);
    }

    let files: Vec<PathBuf> = sessions.iter().map(|session| session.path.clone()).collect();
    let proxied = replaying(&files).await;
    let again = [embed(&proxied, "a").await, embed(&proxied, "b").await, get(&proxied, TAGS).await];
    for (got, recorded) in again.iter().zip(&recorded) {
        assert_eq!((got.status, &got.body, got.is_whole), (200, &recorded.body, true));
    }
    assert_eq!(get(&proxied, "/v1/models/absent").await.status, 404);
    assert_eq!((proxied.misses(), proxied.server.received().len()), (0, 0));
    // Another method, another text, another path.
    let other = fetch(proxied.post(TAGS, "")).await;
    let texts = [other.text(), embed(&proxied, "c").await.text(), get(&proxied, "/v1/models").await.text()];
    assert!(texts.iter().all(|text| text.contains("not_recorded")), "{texts:?}");
    assert!(texts[1].contains("+ ") && texts[1].contains("\\\"c\\\""), "{texts:?}");
    assert_eq!(proxied.misses(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_tokens_that_their_replies_count_are_those_of_the_session() {
    let counted = |tokens: u64| {
        let usage = json!({"prompt_tokens": tokens, "total_tokens": tokens});
        Play::json("200 OK", json!({"object": "list", "data": [], "usage": usage}).to_string())
    };
    let proxied = recording(vec![counted(8), counted(5), counted(100)]).await;
    embed(&proxied, "a").await;
    embed(&proxied, "b").await;
    // It repeats the count of an earlier reply.
    get(&proxied, "/v1/models").await;
    let lines = Arc::clone(&proxied.lines);
    let (sessions, _dir) = proxied.end().await;
    let [session] = sessions.as_slice() else { panic!("{} sessions", sessions.len()) };
    assert_eq!(tokens(session), Some((13, 0)));
    let counts: Vec<Option<u64>> =
        lines.lock().unwrap().iter().map(|line| line.usage.map(|usage| usage.input)).collect();
    assert_eq!(counts, [Some(8), Some(5), None]);
    assert_eq!(verify(session).await.findings, []);
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_at_the_same_time_are_whole() {
    let server = Server::script(|_, received| {
        let text = received.body.clone();
        Play::json("200 OK", json!({ "asked": text }).to_string())
    })
    .await;
    let proxied = Proxied::start(server, Wish { records_all: true, ..Wish::default() }).await;
    let texts: Vec<String> = (0..16).map(|number| format!("text {number}")).collect();
    let recorded = futures::future::join_all(texts.iter().map(|text| embed(&proxied, text))).await;
    let (sessions, _dir) = proxied.end().await;
    let requests = sessions.iter().flat_map(Session::events);
    assert_eq!(requests.filter(|envelope| envelope.event.kind() == "raw.request").count(), 16);
    let files: Vec<PathBuf> = sessions.iter().map(|session| session.path.clone()).collect();
    let proxied = replaying(&files).await;
    for (text, recorded) in texts.iter().zip(&recorded) {
        assert_eq!(embed(&proxied, text).await.body, recorded.body, "{text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_screen_names_them_in_the_place_of_a_model() {
    let live = LiveTraffic::new();
    let wish = Wish { records_all: true, live: Some(live.clone()), ..Wish::default() };
    let proxied = Proxied::start(Server::play([Play::json("200 OK", "{}")]).await, wish).await;
    get(&proxied, TAGS).await;
    let (_, _dir) = proxied.end().await;
    let lines = live.drain().into_iter().filter_map(|update| match update {
        TrafficUpdate::Conversation(line) => Some((line.upstream, line.model)),
        _ => None,
    });
    assert_eq!(lines.collect::<Vec<_>>(), [("ollama".to_owned(), "other requests".to_owned())]);
}

#[tokio::test(flavor = "multi_thread")]
async fn files_and_other_bytes_pass_without_a_record() {
    let image = Play::page("200 OK", "content-type: image/png\r\n", "not a picture");
    let proxied = recording(vec![image, Play::json("200 OK", "{}")]).await;
    assert_eq!(get(&proxied, "/v1/files/1/content").await.text(), "not a picture");
    assert_eq!(fetch(proxied.post("/v1/files", "x".repeat((1 << 20) + 1))).await.status, 200);
    assert_eq!(proxied.unrecorded.lock().unwrap().len(), 2);
    let (sessions, _dir) = proxied.end().await;
    assert!(sessions.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_are_in_no_record_of_them() {
    const KEY: &str = "sk-other-0123456789";
    let escaped = KEY.replace('k', "\\u006b");
    let echo = Play::json("200 OK", format!("{{\"key\": \"{KEY}\"}}"));
    let proxied = recording(vec![echo, Play::json("200 OK", format!("{{\"key\": \"{escaped}\"}}"))]).await;
    for body in [format!("{{\"input\": \"{KEY}\"}}"), "{}".to_owned()] {
        let request = proxied.post(EMBEDDINGS, body).header("authorization", format!("Bearer {KEY}"));
        assert_eq!(fetch(request).await.status, 200);
    }
    let (sessions, _dir) = proxied.end().await;
    let text = std::fs::read_to_string(&sessions[0].path).unwrap();
    assert!(!text.contains(KEY) && !text.contains(&escaped));
    let mut bodies = Vec::new();
    for envelope in sessions[0].events() {
        if let Event::Wire(wire) = &envelope.event {
            bodies.push(ptc_workbench::model::unpack(wire).unwrap());
        }
    }
    let bodies: Vec<String> = bodies
        .into_iter()
        .map(|reads| String::from_utf8(reads.into_iter().flat_map(|(_, bytes)| bytes).collect()).unwrap())
        .collect();
    let masked = |length: usize| format!("{{\"key\": \"{}\"}}", "*".repeat(length));
    assert_eq!(bodies, [masked(KEY.len()), masked(escaped.len())]);
}
