//! WebSockets of the Responses API: messages pass, each request is a turn, rules and recordings apply. Other WebSockets pass as bytes.

use std::sync::Arc;
use std::time::Duration;

use futures::SinkExt as _;
use ptc_workbench::event::Event;
use ptc_workbench::proxy::{Answers, HeldSide, LiveTraffic, Verdict};
use ptc_workbench::replay::verify;
use ptc_workbench::session::Session;
use ptc_workbench::workbench::sent_body;
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::{Error, Message};

use super::background::{messages, requests, tokens};
use super::holding::waiting;
use super::kit::{Proxied, Wish};
use super::websocket_kit::{Act, Client, create, end, handshake, proxied, reply, sends};
use crate::openai::server::{Play, Server};

const PATH: &str = "/v1/responses";

/// Answers requests with the next number of the reply.
fn echo(request: &Value) -> Vec<Act> {
    let input = request["input"].as_str().unwrap_or("something");
    let mut all = reply(&format!("resp_{input}"), &format!("re: {input}"));
    if let Some(id) = request.get("stream_id") {
        for event in &mut all {
            event["stream_id"] = id.clone();
        }
    }
    sends(all)
}

async fn client(proxied: &Proxied) -> Client {
    handshake(proxied, PATH).await.unwrap()
}

fn notices(session: &Session) -> Vec<String> {
    let of = session.events().filter_map(|envelope| match envelope.event {
        Event::Notice(notice) => Some(notice.text),
        _ => None,
    });
    of.collect()
}

/// The errors of the turns that ended with one.
fn errors(session: &Session) -> Vec<String> {
    let of = session.events().filter_map(|envelope| match envelope.event {
        Event::ReplyEnd(end) => end.error.map(|error| error.message),
        _ => None,
    });
    of.collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_pass_and_each_request_is_a_turn() {
    let (proxied, service) = proxied(echo, Wish::default()).await;
    let mut client = client(&proxied).await;
    let first = create("one");
    client.send(&first).await;
    assert_eq!(client.reply().await, reply("resp_one", "re: one"));
    let mut second = create("two");
    second["previous_response_id"] = json!("resp_one");
    client.send(&second).await;
    assert_eq!(client.reply().await, reply("resp_two", "re: two"));
    assert_eq!(service.texts(), [first.to_string(), second.to_string()]);
    let handshake = service.handshakes.lock().unwrap()[0].clone();
    assert!(handshake.starts_with("/v1/responses ") && handshake.contains("sk-websocket-12345"), "{handshake}");
    assert!(!handshake.contains("deflate"), "compressed messages could not be read: {handshake}");
    drop(client);
    let (lines, unrecorded) = (Arc::clone(&proxied.lines), Arc::clone(&proxied.unrecorded));
    let (sessions, _dir) = end(proxied).await;
    let [session] = &sessions[..] else { panic!("{} sessions", sessions.len()) };
    assert_eq!(requests(session), ["WEBSOCKET /v1/responses"; 2]);
    assert_eq!(sent_body(session, "r0/t1").unwrap(), first.to_string());
    assert_eq!(sent_body(session, "r0/t2").unwrap(), second.to_string());
    let expected = [("user", "one"), ("assistant", "re: one"), ("user", "two")];
    assert_eq!(messages(session, "r0/t2"), expected.map(|(role, text)| (role, text.to_owned())));
    assert_eq!(tokens(session), Some((10, 14)));
    assert!(verify(session).await.findings.is_empty());
    let text = std::fs::read_to_string(&session.path).unwrap();
    assert!(text.contains("\"ws://127.0.0.1") && text.contains("assistant/1.2"), "{text}");
    assert!(!text.contains("sk-websocket-12345"), "{text}");
    assert_eq!(lines.lock().unwrap().iter().map(|line| line.status).collect::<Vec<_>>(), [Some(101); 2]);
    assert!(unrecorded.lock().unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn replies_that_come_at_once_belong_to_the_requests_of_their_streams() {
    // The replies come when both requests are there, their messages in turns.
    let kept = std::sync::Mutex::new(Vec::new());
    let script = move |request: &Value| {
        let mut kept = kept.lock().unwrap();
        kept.push(request.clone());
        let [one, two] = &kept[..] else { return Vec::new() };
        let of = |request: &Value| echo(request);
        of(one).into_iter().zip(of(two)).flat_map(|(one, two)| [two, one]).collect()
    };
    let (proxied, _) = proxied(script, Wish::default()).await;
    let mut client = client(&proxied).await;
    for input in ["one", "two"] {
        let mut request = create(input);
        request["stream_id"] = json!(format!("stream {input}"));
        client.send(&request).await;
    }
    let came = [client.reply().await, client.reply().await].concat();
    assert_eq!(came.len(), 6);
    assert_eq!((&came[0]["stream_id"], &came[1]["stream_id"]), (&json!("stream two"), &json!("stream one")));
    drop(client);
    let (sessions, _dir) = end(proxied).await;
    let answers: Vec<String> = sessions
        .iter()
        .map(|session| {
            let text = |event| if let Event::ReplyPart(part) = event { part.text } else { String::new() };
            let asked = messages(session, "r0/t1")[0].1.clone();
            format!("{asked} -> {}", session.events().map(|envelope| text(envelope.event)).collect::<String>())
        })
        .collect();
    assert_eq!(answers.len(), 2, "{answers:?}");
    for expected in ["one -> re: one", "two -> re: two"] {
        assert!(answers.iter().any(|answer| answer == expected), "{answers:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn rules_change_fail_cut_and_drop_messages() {
    let rules = "when text = \"set\": set model = \"m-other\"\n\
        when text = \"fail\": fail 429 \"try later\"\n\
        when text = \"cut\": cut 200\n\
        when text = \"drop\": drop\n";
    let (proxied, service) = proxied(echo, Wish { rules, ..Wish::default() }).await;
    let mut client = client(&proxied).await;
    client.send(&create("set")).await;
    assert_eq!(client.reply().await.len(), 3);
    let mut expected = create("set");
    expected["model"] = json!("m-other");
    let received: Vec<Value> = service.texts().iter().map(|text| serde_json::from_str(text).unwrap()).collect();
    assert_eq!(received, [expected]);
    client.send(&create("fail")).await;
    let failure = client.reply().await;
    assert_eq!((&failure[0]["status"], &failure[0]["error"]["message"]), (&json!(429), &json!("try later")));
    client.send(&create("cut")).await;
    let cut = client.reply().await;
    assert!(cut.len() == 1 && cut[0]["type"] == "response.created", "{cut:?}");
    assert!(client.next().await.is_none(), "the connection is closed");
    let mut client = self::client(&proxied).await;
    client.send(&create("drop")).await;
    assert!(client.next().await.is_none(), "the connection is closed");
    assert_eq!(service.texts().len(), 2, "what a rule answers or drops is not sent");
    drop(client);
    let (sessions, _dir) = end(proxied).await;
    let all: Vec<String> = sessions.iter().flat_map(errors).collect();
    for expected in ["try later", "a rule of the proxy cut the reply", "a rule of the proxy closed the connection"] {
        assert!(all.iter().any(|error| error.contains(expected)), "{expected}: {all:?}");
    }
    let changed = sessions.iter().find(|session| sent_body(session, "r0/t1:client").is_ok()).unwrap();
    assert_eq!(sent_body(changed, "r0/t1:client").unwrap(), create("set").to_string());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_end_of_the_connection_is_the_end_of_its_turn() {
    let script = |request: &Value| {
        let start = reply("resp_1", "half").remove(0);
        let end = match request["input"].as_str() {
            Some("close") => Act::Close(CloseFrame { code: CloseCode::Policy, reason: "too old".into() }),
            Some("break") => Act::Break,
            _ => return vec![Act::Send(start)],
        };
        vec![Act::Send(start), end]
    };
    let (proxied, _) = proxied(script, Wish::default()).await;
    let mut clients = Vec::new();
    for input in ["close", "break", "leave", "close myself"] {
        let mut client = client(&proxied).await;
        client.send(&create(input)).await;
        assert!(matches!(client.next().await, Some(Message::Text(_))));
        clients.push(client);
    }
    let mut clients = clients.into_iter();
    let mut closed = clients.next().unwrap();
    let Some(Message::Close(Some(frame))) = closed.next().await else { panic!("no close frame") };
    assert_eq!((u16::from(frame.code), frame.reason.as_str()), (1008, "too old"));
    assert!(clients.next().unwrap().next().await.is_none(), "the connection broke");
    drop(clients.next());
    let mut closing = clients.next().unwrap();
    closing.0.close(None).await.unwrap();
    while closing.next().await.is_some() {}
    drop((closed, clients));
    let (sessions, _dir) = end(proxied).await;
    let found = |input: &str| {
        let session = sessions.iter().find(|session| messages(session, "r0/t1")[0].1 == input).unwrap();
        errors(session).concat()
    };
    assert!(found("close").contains("openai closed the WebSocket with 1008: too old"), "{}", found("close"));
    assert!(!found("break").is_empty() && !found("break").contains("client"), "{}", found("break"));
    for input in ["leave", "close myself"] {
        assert!(found(input).contains("the client closed the connection"), "{}", found(input));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_client_sends_meanwhile_is_in_a_notice() {
    let script = |request: &Value| match request["type"].as_str() {
        Some("response.create") => vec![Act::Send(reply("resp_1", "x").remove(0))],
        _ => sends(reply("resp_1", "steered").split_off(1)),
    };
    let (proxied, service) = proxied(script, Wish::default()).await;
    let mut client = client(&proxied).await;
    client.send(&create("one")).await;
    assert!(client.next().await.is_some());
    let steer = json!({"type": "response.steer", "input": "sk-websocket-12345 faster"});
    client.send(&steer).await;
    assert_eq!(client.reply().await.len(), 2);
    client.0.send(Message::Binary(vec![1, 2, 3].into())).await.unwrap();
    client.0.send(Message::Ping(vec![7].into())).await.unwrap();
    assert_eq!(client.next().await, Some(Message::Pong(vec![7].into())));
    drop(client);
    let (sessions, _dir) = end(proxied).await;
    assert_eq!(service.texts()[1], steer.to_string());
    assert!(service.messages.lock().unwrap().contains(&Message::Binary(vec![1, 2, 3].into())));
    let notices = notices(&sessions[0]);
    let shown = r#"the client sent meanwhile: {"type":"response.steer","input":"[secret] faster"}"#;
    assert!(notices.iter().any(|notice| notice == shown), "{notices:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn recordings_answer_messages_without_the_service() {
    let (recording, _) = proxied(echo, Wish::default()).await;
    let mut client = client(&recording).await;
    client.send(&create("one")).await;
    assert_eq!(client.reply().await.len(), 3);
    drop(client);
    let (sessions, _dir) = end(recording).await;
    let recorded = Some(Answers::read(&[sessions[0].path.clone()], &[]).unwrap());
    let replay =
        Proxied::at(Server::play(vec![]).await, "http://127.0.0.1:9", Wish { recorded, ..Wish::default() }).await;
    let mut client = self::client(&replay).await;
    client.send(&create("one")).await;
    assert_eq!(client.reply().await, reply("resp_one", "re: one"));
    let mut other = create("two");
    other["stream_id"] = json!("a");
    client.send(&other).await;
    let miss = client.reply().await;
    assert_eq!((&miss[0]["status"], &miss[0]["stream_id"]), (&json!(404), &json!("a")));
    let why = miss[0]["error"]["message"].as_str().unwrap();
    assert!(why.contains("is not recorded") && why.contains("\"two\""), "{why}");
    assert_eq!(replay.misses(), 1);
    let Err(Error::Http(refused)) = handshake(&replay, "/v1/realtime").await.map(|_| ()) else { panic!("accepted") };
    assert_eq!(refused.status(), 404);
    drop(client);
    let lines = Arc::clone(&replay.unrecorded);
    replay.end().await;
    let lines: Vec<String> = lines.lock().unwrap().iter().map(ToString::to_string).collect();
    assert!(lines[0].starts_with("from ") && lines[0].contains("WEBSOCKET /v1/responses  101"), "{lines:?}");
    assert!(lines[1].starts_with("not recorded") && lines[1].contains("WEBSOCKET /v1/responses  404"), "{lines:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_handshake_passes_as_it_came() {
    let proxied = Proxied::play([Play::json("426 Upgrade Required", r#"{"error": "use HTTP"}"#.to_owned())]).await;
    let Err(Error::Http(refused)) = handshake(&proxied, PATH).await.map(|_| ()) else { panic!("accepted") };
    assert_eq!(refused.status(), 426);
    assert_eq!(refused.body().as_deref(), Some(&br#"{"error": "use HTTP"}"#[..]));
    let lines = Arc::clone(&proxied.unrecorded);
    let (sessions, _dir) = proxied.end().await;
    assert!(sessions.is_empty());
    assert_eq!(lines.lock().unwrap()[0].status, Some(426));
}

#[tokio::test(flavor = "multi_thread")]
async fn other_websockets_pass_as_bytes() {
    let (proxied, service) = proxied(echo, Wish::default()).await;
    let mut client = handshake(&proxied, "/v1/realtime?model=m").await.unwrap();
    client.send(&create("one")).await;
    assert_eq!(client.reply().await, reply("resp_one", "re: one"));
    assert!(service.handshakes.lock().unwrap()[0].contains("deflate"), "what is not read may be compressed");
    client.0.close(None).await.unwrap();
    while client.next().await.is_some() {}
    drop(client);
    let lines = Arc::clone(&proxied.unrecorded);
    let (sessions, _dir) = end(proxied).await;
    assert!(sessions.is_empty());
    let line = lines.lock().unwrap()[0].clone();
    assert_eq!((line.path.as_str(), line.status, line.problem), ("/v1/realtime", Some(101), None));
    assert!(line.bytes > 300, "{}", line.bytes);
}

#[tokio::test(flavor = "multi_thread")]
async fn held_messages_and_replies_wait_for_the_user() {
    let live = LiveTraffic::new();
    let (proxied, service) = proxied(echo, Wish { live: Some(live.clone()), ..Wish::default() }).await;
    let mut client = client(&proxied).await;
    live.holds().set(HeldSide::Request, true);
    client.send(&create("one")).await;
    let waits = waiting(&live, 1).await;
    assert_eq!((waits[0].side, waits[0].model.as_str(), waits[0].is_streamed), (HeldSide::Request, "m-asked", true));
    let edited = waits[0].text.replace("\"one\"", "\"two\"");
    live.holds().set(HeldSide::Request, false);
    live.holds().set(HeldSide::Reply, true);
    assert!(live.holds().decide(waits[0].id, Verdict::Edited(edited.clone())));
    let waits = waiting(&live, 1).await;
    assert_eq!((waits[0].side, waits[0].text.as_str()), (HeldSide::Reply, "re: two"));
    assert_eq!(service.texts(), std::slice::from_ref(&edited));
    assert!(live.holds().decide(waits[0].id, Verdict::Edited("mine".to_owned())));
    let mine = client.reply().await;
    assert_eq!(mine.last().unwrap()["response"]["output"][0]["content"][0]["text"], "mine");
    live.holds().set(HeldSide::Reply, false);
    live.holds().set(HeldSide::Request, true);
    let mut third = create("three");
    third["stream_id"] = json!("a");
    client.send(&third).await;
    let waits = waiting(&live, 1).await;
    assert!(live.holds().decide(waits[0].id, Verdict::Answer("in its place".to_owned())));
    let written = client.reply().await;
    assert!(written.iter().all(|event| event["stream_id"] == "a"), "{written:?}");
    assert_eq!(service.texts().len(), 1);
    drop(client);
    let (sessions, _dir) = end(proxied).await;
    let first = sessions.iter().find(|session| sent_body(session, "r0/t1:client").is_ok()).unwrap();
    assert_eq!(sent_body(first, "r0/t1").unwrap(), edited);
    assert!(sent_body(first, "r0/t1:service").unwrap().contains("re: two"));
    let text: String = sessions.iter().map(|session| std::fs::read_to_string(&session.path).unwrap()).collect();
    assert!(text.contains("the user answered in the model's place"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_end_of_the_proxy_waits_for_replies_and_closes_idle_connections() {
    let (release, released) = tokio::sync::watch::channel(false);
    let script = move |request: &Value| {
        let slow = request["input"] == "slow";
        let mut released = released.clone();
        if slow {
            // The service is a task of its own: blocking it blocks no other.
            tokio::task::block_in_place(|| {
                tokio::runtime::Handle::current().block_on(released.wait_for(|is_released| *is_released)).unwrap();
            });
        }
        echo(request)
    };
    let (proxied, service) = proxied(script, Wish::default()).await;
    let (mut idle, mut busy) = (client(&proxied).await, client(&proxied).await);
    idle.send(&create("one")).await;
    assert_eq!(idle.reply().await.len(), 3);
    busy.send(&create("slow")).await;
    while service.texts().len() < 2 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let ended = tokio::spawn(end(proxied));
    let Some(Message::Close(Some(frame))) = idle.next().await else { panic!("no close frame") };
    assert_eq!(u16::from(frame.code), 1001);
    release.send_replace(true);
    assert_eq!(busy.reply().await, reply("resp_slow", "re: slow"));
    assert!(matches!(busy.next().await, Some(Message::Close(_))));
    drop((idle, busy));
    let (sessions, _dir) = ended.await.unwrap();
    assert_eq!(sessions.len(), 2);
    assert_eq!(sessions.iter().flat_map(errors).count(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn unsaved_messages_are_lines() {
    let (proxied, _) = proxied(echo, Wish { saves_nothing: true, ..Wish::default() }).await;
    let mut client = client(&proxied).await;
    client.send(&create("one")).await;
    assert_eq!(client.reply().await.len(), 3);
    drop(client);
    let lines = Arc::clone(&proxied.unrecorded);
    let (sessions, _dir) = end(proxied).await;
    assert!(sessions.is_empty());
    let lines: Vec<String> = lines.lock().unwrap().iter().map(ToString::to_string).collect();
    assert!(lines.len() == 1 && lines[0].starts_with("not recorded  openai WEBSOCKET /v1/responses  101"), "{lines:?}");
}
