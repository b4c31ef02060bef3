//! WebSockets of the Responses API: messages pass, each request is a turn, rules and recordings apply. Other WebSockets pass as bytes.

use std::sync::Arc;

use futures::SinkExt as _;
use ptc_workbench::event::Event;
use ptc_workbench::proxy::Answers;
use ptc_workbench::replay::verify;
use ptc_workbench::session::Session;
use ptc_workbench::workbench::sent_body;
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::{Error, Message};

use super::background::{messages, requests, tokens};
use super::kit::{self, Proxied, Wish, fetch};
use super::websocket_kit::{self, Act, PATH, client, create, echo, end, errors, handshake, proxied, reply, sends};
use crate::openai::server::{Play, Server, answer};

fn notices(session: &Session) -> Vec<String> {
    let of = session.events().filter_map(|envelope| match envelope.event {
        Event::Notice(notice) => Some(notice.text),
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
    let mut client = websocket_kit::client(&proxied).await;
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
    let answers = || Some(Answers::read(&[sessions[0].path.clone()], &[]).unwrap());
    let recorded = answers();
    let replay =
        Proxied::at(Server::play(vec![]).await, "http://127.0.0.1:9", Wish { recorded, ..Wish::default() }).await;
    let mut client = websocket_kit::client(&replay).await;
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
    // With `--record-missing` only what is not recorded needs the service.
    let wish = Wish { recorded: answers(), asks_upstream: true, ..Wish::default() };
    let replay = Proxied::at(Server::play(vec![]).await, "http://127.0.0.1:9", wish).await;
    let mut client = websocket_kit::client(&replay).await;
    client.send(&create("one")).await;
    assert_eq!(client.reply().await, reply("resp_one", "re: one"));
    client.send(&create("two")).await;
    let refused = client.reply().await;
    assert_eq!(refused[0]["status"], 502);
    assert!(refused[0]["error"]["message"].as_str().unwrap().contains("openai cannot be reached"), "{refused:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_recorded_reply_has_the_stream_of_the_request() {
    let in_stream = |id: &str| {
        let mut request = create("one");
        request["stream_id"] = json!(id);
        request
    };
    let (recording, _) = proxied(echo, Wish::default()).await;
    let mut client = client(&recording).await;
    client.send(&in_stream("5f0e8b1c-0f5c-4f0e-9d8e-2f7b8f4d3c21")).await;
    assert_eq!(client.reply().await.len(), 3);
    drop(client);
    let (sessions, _dir) = end(recording).await;
    let recorded = Some(Answers::read(&[sessions[0].path.clone()], &[]).unwrap());
    let replay =
        Proxied::at(Server::play(vec![]).await, "http://127.0.0.1:9", Wish { recorded, ..Wish::default() }).await;
    let mut client = websocket_kit::client(&replay).await;
    let other = "0b6f1f0e-7d0a-4e56-8c4b-6a1d1c5b7e90";
    client.send(&in_stream(other)).await;
    let came = client.reply().await;
    assert!(came.len() == 3 && came.iter().all(|event| event["stream_id"] == other), "{came:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn replies_of_a_stream_come_in_order_whoever_answers() {
    let kept = std::sync::Mutex::new(0);
    let script = move |request: &Value| {
        if request["type"] == "response.create" {
            let mut first = reply("resp_1", "slow");
            first.truncate(1);
            return sends(first);
        }
        *kept.lock().unwrap() += 1;
        sends(reply("resp_1", "slow").split_off(1))
    };
    let (proxied, _) = proxied(script, Wish { rules: "when text = \"fail\": fail 503", ..Wish::default() }).await;
    let mut client = client(&proxied).await;
    client.send(&create("slow")).await;
    client.send(&create("fail")).await;
    assert!(client.next().await.is_some());
    client.send(&json!({"type": "go on"})).await;
    let kinds =
        |all: Vec<Value>| all.iter().map(|event| event["type"].as_str().unwrap().to_owned()).collect::<Vec<_>>();
    assert_eq!(kinds(client.reply().await), ["response.output_text.delta", "response.completed"]);
    assert_eq!(kinds(client.reply().await), ["error"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reply_without_a_request_is_a_turn_of_its_own() {
    let script = |request: &Value| {
        if request["type"] == "response.create" {
            return vec![Act::Send(reply("resp_1", "x").remove(0))];
        }
        let mut first = reply("resp_1", "first").split_off(1);
        first.extend(reply("resp_2", "second"));
        sends(first)
    };
    let (proxied, _) = proxied(script, Wish::default()).await;
    let mut client = client(&proxied).await;
    client.send(&create("one")).await;
    assert!(client.next().await.is_some());
    let steer = json!({"type": "response.steer", "input": "faster"});
    client.send(&steer).await;
    assert_eq!(client.reply().await.len(), 2);
    assert_eq!(client.reply().await.len(), 3);
    drop(client);
    let (sessions, _dir) = end(proxied).await;
    let sent = steer.to_string();
    let steered = sessions.iter().find(|session| sent_body(session, "r0/t1").is_ok_and(|body| body == sent));
    let steered = steered.unwrap();
    let text = std::fs::read_to_string(&steered.path).unwrap();
    assert!(text.contains("second") && text.contains("began this reply without a request"), "{text}");
    assert_eq!(sessions.iter().flat_map(errors).count(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_handshake_passes_as_it_came() {
    let proxied = Proxied::play([Play::json("426 Upgrade Required", r#"{"error": "use HTTP"}"#.to_owned())]).await;
    let got = refused_handshake(&proxied).await;
    assert_eq!((got.status, got.text().as_str()), (426, r#"{"error": "use HTTP"}"#));
    let lines = Arc::clone(&proxied.unrecorded);
    let (sessions, _dir) = proxied.end().await;
    assert!(sessions.is_empty());
    assert_eq!(lines.lock().unwrap()[0].status, Some(426));
}

/// Asks for a WebSocket and reads the reply as that to any request.
async fn refused_handshake(proxied: &Proxied) -> kit::Got {
    let asked = kit::client().get(format!("{}{PATH}", proxied.base));
    let headers =
        [("connection", "Upgrade"), ("upgrade", "websocket"), ("sec-websocket-key", "AAAAAAAAAAAAAAAAAAAAAA==")];
    fetch(headers.iter().fold(asked, |asked, (name, value)| asked.header(*name, *value))).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_handshake_is_refused_where_only_requests_over_http_are_recorded() {
    let proxied = Proxied::play([answer("hello")]).await;
    proxied.chat(&[("user", "hi")]).await;
    let (sessions, _dir) = proxied.end().await;
    let answers = || Some(Answers::read(&[sessions[0].path.clone()], &[]).unwrap());
    let nowhere = "http://127.0.0.1:9";
    for asks_upstream in [false, true] {
        let wish = Wish { recorded: answers(), asks_upstream, ..Wish::default() };
        let replay = Proxied::at(Server::play(vec![]).await, nowhere, wish).await;
        let got = refused_handshake(&replay).await;
        assert!(got.status == 426 && got.text().contains("not_recorded"), "{got:?}");
        // The client sends its request over HTTP.
        assert!(replay.chat(&[("user", "hi")]).await.text().contains("hello"));
        assert_eq!(replay.misses(), 0);
    }
    // The service's own refusal passes.
    let plays = vec![Play::json("426 Upgrade Required", r#"{"error": "use HTTP"}"#.to_owned())];
    let wish = Wish { recorded: answers(), asks_upstream: true, ..Wish::default() };
    let replay = Proxied::start(Server::play(plays).await, wish).await;
    let got = refused_handshake(&replay).await;
    assert_eq!((got.status, got.text().as_str()), (426, r#"{"error": "use HTTP"}"#));
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
