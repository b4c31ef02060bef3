//! WebSockets of the Responses API: what the user decides, and how connections end.

use std::time::Duration;

use futures::SinkExt as _;
use ptc_workbench::proxy::{HeldSide, LiveTraffic, Verdict};
use ptc_workbench::workbench::sent_body;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;

use super::background::messages;
use super::holding::waiting;
use super::kit::Wish;
use super::websocket_kit::{Act, client, create, echo, end, errors, proxied, reply};

#[tokio::test(flavor = "multi_thread")]
async fn an_end_of_the_connection_is_the_end_of_its_turn() {
    let script = |request: &Value| {
        let start = reply("resp_1", "half").remove(0);
        let end = match request["input"].as_str() {
            Some("close") => {
                Act::Close(CloseFrame { code: CloseCode::Policy, reason: "too old: sk-websocket-12345".into() })
            }
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
    assert_eq!((u16::from(frame.code), frame.reason.as_str()), (1008, "too old: sk-websocket-12345"));
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
    assert!(
        found("close")
            .contains("the connection to openai broke: the service closed it with code 1008: too old: [secret]"),
        "{}",
        found("close")
    );
    assert!(!found("break").is_empty() && !found("break").contains("client"), "{}", found("break"));
    for input in ["leave", "close myself"] {
        assert!(found(input).contains("the client closed the connection"), "{}", found(input));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn both_sides_are_read_while_a_request_is_held() {
    let live = LiveTraffic::new();
    let rules = "when text = \"held\": hold";
    let (proxied, service) = proxied(echo, Wish { rules, live: Some(live.clone()), ..Wish::default() }).await;
    let mut client = client(&proxied).await;
    client.send(&create("held")).await;
    waiting(&live, 1).await;
    client.0.send(Message::Ping(vec![7].into())).await.unwrap();
    assert_eq!(client.next().await, Some(Message::Pong(vec![7].into())));
    let mut other = create("other");
    other["stream_id"] = json!("a");
    client.send(&other).await;
    assert_eq!(client.reply().await.len(), 3);
    drop(client);
    // A client that has left waits for no decision.
    waiting(&live, 0).await;
    assert_eq!(service.texts(), [other.to_string()]);
    let (sessions, _dir) = end(proxied).await;
    let held = sessions.iter().find(|session| messages(session, "r0/t1")[0].1 == "held").unwrap();
    assert!(errors(held).concat().contains("the client closed the connection"), "{:?}", errors(held));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reply_that_breaks_off_while_it_is_gathered_passes_as_it_came() {
    let live = LiveTraffic::new();
    let script = |_: &Value| vec![Act::Send(reply("resp_1", "half").remove(0)), Act::Break];
    let (proxied, _) = proxied(script, Wish { live: Some(live.clone()), ..Wish::default() }).await;
    live.holds().set(HeldSide::Reply, true);
    let mut client = client(&proxied).await;
    client.send(&create("one")).await;
    assert_eq!(client.reply().await, [reply("resp_1", "half").remove(0)]);
    drop(client);
    let (sessions, _dir) = end(proxied).await;
    assert!(errors(&sessions[0]).concat().contains("the connection to openai broke"), "{:?}", errors(&sessions[0]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_is_too_large_closes_the_connection_with_its_code() {
    let script = |_: &Value| vec![Act::Send(reply("resp_1", "half").remove(0))];
    let (proxied, _) = proxied(script, Wish::default()).await;
    let mut client = client(&proxied).await;
    client.send(&create("one")).await;
    assert!(client.next().await.is_some());
    // The head of a frame of 128 MiB.
    let head = [0x81, 0xff, 0, 0, 0, 0, 8, 0, 0, 0, 1, 2, 3, 4];
    client.0.get_mut().write_all(&head).await.unwrap();
    let Some(Message::Close(Some(frame))) = client.next().await else { panic!("no close frame") };
    assert_eq!(u16::from(frame.code), 1009);
    drop(client);
    let (sessions, _dir) = end(proxied).await;
    assert!(errors(&sessions[0]).concat().contains("too"), "{:?}", errors(&sessions[0]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_sends_a_message_to_its_end_gets_the_code_that_refuses_it() {
    let (proxied, _) = proxied(echo, Wish::default()).await;
    let mut client = client(&proxied).await;
    // A frame of 65 MiB, written before anything is read.
    let connection = client.0.get_mut();
    connection.write_all(&[0x81, 0xff, 0, 0, 0, 0, 4, 0x10, 0, 0, 1, 2, 3, 4]).await.unwrap();
    let piece = vec![0; 1 << 20];
    for _ in 0..65 {
        connection.write_all(&piece).await.unwrap();
    }
    let Some(Message::Close(Some(frame))) = client.next().await else { panic!("no close frame") };
    assert_eq!(u16::from(frame.code), 1009);
    drop(client);
    end(proxied).await;
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
async fn messages_of_a_stream_keep_their_order_while_a_request_is_decided_about() {
    let live = LiveTraffic::new();
    let rules = "when text = \"held\": hold";
    let script = |request: &Value| if request["type"] == "response.create" { echo(request) } else { Vec::new() };
    let (proxied, service) = proxied(script, Wish { rules, live: Some(live.clone()), ..Wish::default() }).await;
    let mut client = client(&proxied).await;
    let cancel = json!({"type": "response.cancel"});
    for message in [&create("at once"), &cancel, &create("held"), &cancel, &create("after")] {
        client.0.feed(Message::text(message.to_string())).await.unwrap();
    }
    client.0.flush().await.unwrap();
    assert_eq!(client.reply().await.len(), 3);
    let waits = waiting(&live, 1).await;
    assert_eq!(service.texts(), [create("at once").to_string(), cancel.to_string()]);
    assert!(live.holds().decide(waits[0].id, Verdict::Pass));
    for input in ["held", "after"] {
        assert_eq!(client.reply().await, reply(&format!("resp_{input}"), &format!("re: {input}")));
    }
    let rest: Vec<String> = service.texts().split_off(2);
    assert_eq!(rest, [create("held").to_string(), cancel.to_string(), create("after").to_string()]);
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_that_wait_when_the_service_closes_the_connection_are_recorded_with_its_reason() {
    let live = LiveTraffic::new();
    let rules = "when text = \"held\": hold";
    let script = |_: &Value| vec![Act::Close(CloseFrame { code: CloseCode::Again, reason: "busy".into() })];
    let (proxied, service) = proxied(script, Wish { rules, live: Some(live.clone()), ..Wish::default() }).await;
    let mut client = client(&proxied).await;
    client.send(&create("held")).await;
    client.send(&create("queued")).await;
    waiting(&live, 1).await;
    let mut other = create("other");
    other["stream_id"] = json!("a");
    client.send(&other).await;
    assert!(matches!(client.next().await, Some(Message::Close(_))));
    drop(client);
    assert_eq!(service.texts(), [other.to_string()]);
    let (sessions, _dir) = end(proxied).await;
    let mut asked: Vec<String> = sessions.iter().map(|session| messages(session, "r0/t1")[0].1.clone()).collect();
    asked.sort();
    assert_eq!(asked, ["held", "other", "queued"]);
    for session in &sessions {
        assert!(
            errors(session).concat().contains("the service closed it with code 1013: busy"),
            "{:?}",
            errors(session)
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_that_drops_one_request_closes_the_connection_for_all() {
    let script = |_: &Value| vec![Act::Send(reply("resp_1", "half").remove(0))];
    let (proxied, _) = proxied(script, Wish { rules: "when text = \"drop\": drop", ..Wish::default() }).await;
    let mut client = client(&proxied).await;
    client.send(&create("runs")).await;
    assert!(client.next().await.is_some());
    let mut other = create("drop");
    other["stream_id"] = json!("a");
    client.send(&other).await;
    assert!(client.next().await.is_none());
    drop(client);
    let (sessions, _dir) = end(proxied).await;
    for session in &sessions {
        let error = errors(session).concat();
        let is_dropped = messages(session, "r0/t1")[0].1 == "drop";
        let why = "a rule of the proxy closed the connection";
        let expected = if is_dropped { why.to_owned() } else { format!("the WebSocket was closed: {why}") };
        assert_eq!(error, expected);
    }
}
