//! Requests and replies that wait for the user: edited, answered, dropped, and what happens to clients meanwhile.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ptc_workbench::event::{Event, Tokens};
use ptc_workbench::proxy::{Answers, ConversationState, HeldExchange, HeldSide, LiveTraffic, TrafficUpdate, Verdict};
use ptc_workbench::replay::{Check, verify};
use ptc_workbench::session::Session;
use ptc_workbench::workbench::sent_body;

use crate::openai::server::{Play, Server, answer};

use super::header_fields::{TRAILERS, with_trailers};
use super::kit::{Got, Proxied, Wish, body_of, fetch, gzip};

/// The exchanges that wait, once there are so many.
pub(super) async fn waiting(live: &LiveTraffic, count: usize) -> Vec<Arc<HeldExchange>> {
    loop {
        for update in live.drain() {
            if let TrafficUpdate::Held(held) = update
                && held.len() == count
            {
                return held;
            }
        }
        live.changed().await;
    }
}

/// A proxy whose gates a test decides at.
async fn held(plays: impl IntoIterator<Item = Play>, rules: &'static str) -> (Arc<Proxied>, LiveTraffic) {
    let live = LiveTraffic::new();
    let wish = Wish { rules, live: Some(live.clone()), ..Wish::default() };
    (Arc::new(Proxied::start(Server::play(plays).await, wish).await), live)
}

fn ask(proxied: &Arc<Proxied>, text: &'static str) -> tokio::task::JoinHandle<Got> {
    let proxied = Arc::clone(proxied);
    tokio::spawn(async move { proxied.chat(&[("user", text)]).await })
}

/// Asks, and returns whether the connection broke before the end of the reply.
fn ask_in_vain(proxied: &Arc<Proxied>, text: &'static str) -> tokio::task::JoinHandle<bool> {
    let proxied = Arc::clone(proxied);
    tokio::spawn(async move {
        let reply = proxied.post("/v1/chat/completions", body_of(&[("user", text)])).send().await;
        match reply {
            Ok(reply) => reply.bytes().await.is_err(),
            Err(_) => true,
        }
    })
}

async fn end(proxied: Arc<Proxied>) -> (String, String, tempfile::TempDir) {
    let Ok(proxied) = Arc::try_unwrap(proxied) else { panic!("a client still uses it") };
    let (sessions, dir) = proxied.end().await;
    let path = &sessions.first().unwrap().path;
    (std::fs::read_to_string(path).unwrap(), path.display().to_string(), dir)
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edited_request_is_sent_and_both_bodies_are_recorded() {
    let (proxied, live) = held([answer("four")], "when text ~ plus: hold").await;
    let got = ask(&proxied, "2 plus 2");
    let waits = waiting(&live, 1).await;
    assert_eq!((waits[0].side, waits[0].model.as_str(), waits[0].is_streamed), (HeldSide::Request, "m-asked", true));
    let edited = waits[0].text.replace("2 plus 2", "3 plus 3");
    assert!(proxied.server.received().is_empty(), "nothing is sent before the decision");
    assert!(live.holds().decide(waits[0].id, Verdict::Edited(edited.clone())));
    assert_eq!(got.await.unwrap().status, 200);
    assert_eq!(proxied.server.received()[0].body, edited);
    let (text, path, dir) = end(proxied).await;
    assert!(text.contains("the user edited the request"), "{text}");
    let session = Session::open(Path::new(&path)).unwrap();
    assert_eq!(sent_body(&session, "r0/t1").unwrap(), edited);
    assert_eq!(sent_body(&session, "r0/t1:client").unwrap(), body_of(&[("user", "2 plus 2")]));
    assert!(sent_body(&session, "r0/t1:service").unwrap_err().to_string().contains("was not replaced"));
    drop(dir);
}

/// Returns the findings of `sessions verify` in a session whose first replaced body has this text, after a change of its bytes or of their
/// hash.
async fn findings_after(text: &str, path: &str, change: impl FnOnce(&mut serde_json::Value)) -> Vec<Check> {
    let mut change = Some(change);
    let changed = text.lines().map(|line| {
        let mut json: serde_json::Value = serde_json::from_str(line).unwrap();
        match json.pointer_mut("/d/came") {
            Some(came) => {
                change.take().into_iter().for_each(|change| change(came));
                json.to_string()
            }
            None => line.to_owned(),
        }
    });
    let changed = changed.map(|line| line + "\n").collect::<String>();
    assert!(change.is_none(), "a body was replaced: {text}");
    let session = Session::from_bytes(Path::new(path), changed.into_bytes()).unwrap();
    verify(&session).await.findings.into_iter().map(|found| found.check).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_recording_of_a_replaced_body_is_found() {
    for (rules, side) in
        [("when text ~ plus: hold", HeldSide::Request), ("when text ~ plus: hold reply", HeldSide::Reply)]
    {
        let (proxied, live) = held([answer("four")], rules).await;
        let got = ask(&proxied, "2 plus 2");
        let waits = waiting(&live, 1).await;
        assert_eq!(waits[0].side, side);
        let edited = waits[0].text.replace("2 plus 2", "3 plus 3").replace("four", "five");
        assert!(live.holds().decide(waits[0].id, Verdict::Edited(edited)));
        got.await.unwrap();
        let (text, path, _dir) = end(proxied).await;
        assert_eq!(findings_after(&text, &path, |_| {}).await, [], "{text}");
        let other = ptc_workbench::model::pack_body(b"{\"model\":\"another\"}", None, 0);
        let bytes = findings_after(&text, &path, |came| came["data"] = other.data.clone().into()).await;
        assert!(bytes.contains(&Check::Request), "{side:?} {bytes:?}");
        let hash = findings_after(&text, &path, |came| came["sha"] = other.sha.clone().into()).await;
        assert!(hash.contains(&Check::Request), "{side:?} {hash:?}");
        let broken = findings_after(&text, &path, |came| came["data"] = "%".into()).await;
        assert!(broken.contains(&Check::Request), "{side:?} {broken:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_the_user_edited_is_answered_from_its_recording_as_the_client_sent_it() {
    let (proxied, live) = held([answer("six")], "when text ~ plus: hold").await;
    let got = ask(&proxied, "2 plus 2");
    let waits = waiting(&live, 1).await;
    let edited = waits[0].text.replace("2 plus 2", "3 plus 3");
    assert!(live.holds().decide(waits[0].id, Verdict::Edited(edited)));
    let recorded = got.await.unwrap();
    let (_, path, _dir) = end(proxied).await;
    let recording = Some(Answers::read(&[path.into()], &[]).unwrap());
    let proxied = Proxied::start(Server::play([]).await, Wish { recorded: recording, ..Wish::default() }).await;
    for text in ["2 plus 2", "3 plus 3"] {
        let got = proxied.chat(&[("user", text)]).await;
        assert_eq!((got.status, got.body), (200, recorded.body.clone()), "{text}");
    }
    assert_eq!((proxied.misses(), proxied.server.received().len()), (0, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_passes_unchanged_when_the_user_changes_nothing() {
    let (proxied, live) = held([answer("four")], "").await;
    live.holds().set(HeldSide::Request, true);
    let got = ask(&proxied, "2 plus 2");
    let waits = waiting(&live, 1).await;
    assert!(live.holds().decide(waits[0].id, Verdict::Edited(waits[0].text.clone())));
    assert_eq!(got.await.unwrap().status, 200);
    assert_eq!(proxied.server.received()[0].body, body_of(&[("user", "2 plus 2")]), "byte for byte");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_in_the_models_place_is_a_stream_of_the_protocol_and_the_service_is_not_asked() {
    let (proxied, live) = held([answer("four")], "").await;
    live.holds().set(HeldSide::Request, true);
    let got = ask(&proxied, "2 plus 2");
    let waits = waiting(&live, 1).await;
    assert!(live.holds().decide(waits[0].id, Verdict::Answer("It is five.".to_owned())));
    let got = got.await.unwrap();
    assert_eq!((got.status, got.is_whole), (200, true));
    assert_eq!(got.headers["content-type"], "text/event-stream");
    assert!(got.text().contains("\"content\":\"five.\"") && got.text().ends_with("data: [DONE]\n\n"), "{}", got.text());
    assert!(proxied.server.received().is_empty());
    // The conversation continues from that reply.
    live.holds().set(HeldSide::Request, false);
    let more = [("user", "2 plus 2"), ("assistant", "It is five."), ("user", "sure?")];
    assert_eq!(proxied.chat(&more).await.status, 200);
    let Ok(proxied) = Arc::try_unwrap(proxied) else { panic!("a client still uses it") };
    let (sessions, _dir) = proxied.end().await;
    assert_eq!(sessions.len(), 1);
    let text = std::fs::read_to_string(&sessions[0].path).unwrap();
    assert!(text.contains("\"by\":\"the user\"") && text.contains("answered in the model's place"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_to_a_compressed_request_is_a_stream_too() {
    let (proxied, live) = held([answer("four")], "").await;
    live.holds().set(HeldSide::Request, true);
    let packed = gzip(&body_of(&[("user", "2 plus 2")]), 1);
    let got = tokio::spawn(fetch(proxied.post("/v1/chat/completions", packed).header("content-encoding", "gzip")));
    let waits = waiting(&live, 1).await;
    assert!(live.holds().decide(waits[0].id, Verdict::Answer("It is five.".to_owned())));
    let got = got.await.unwrap();
    assert_eq!(got.headers["content-type"], "text/event-stream");
    assert!(got.text().contains("\"model\":\"m-asked\"") && got.text().ends_with("data: [DONE]\n\n"), "{}", got.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edited_reply_is_passed_on_in_the_form_of_the_protocol_and_both_are_recorded() {
    let (proxied, live) = held([answer("four")], "when model ~ asked: hold reply").await;
    let got = ask(&proxied, "2 plus 2");
    let waits = waiting(&live, 1).await;
    assert_eq!((waits[0].side, waits[0].text.as_str(), waits[0].status), (HeldSide::Reply, "four", Some(200)));
    assert!(live.holds().decide(waits[0].id, Verdict::Edited("five".to_owned())));
    let got = got.await.unwrap();
    assert!(got.is_whole && got.text().contains("\"content\":\"five\""), "{}", got.text());
    let (text, path, dir) = end(proxied).await;
    assert!(text.contains("\"came\""), "{text}");
    let session = Session::open(Path::new(&path)).unwrap();
    assert!(sent_body(&session, "r0/t1:service").unwrap().contains("\"four\""));
    drop(dir);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reply_that_is_not_changed_passes_byte_for_byte() {
    let reply = br#"{ "model":"m",  "choices":[{"index":0,"message":{"role":"assistant","content":"four"},"finish_reason":"stop"}] }"#;
    let play = Play::page("200 OK", "content-type: application/json\r\n", String::from_utf8_lossy(reply));
    let (proxied, live) = held([play], "").await;
    live.holds().set(HeldSide::Reply, true);
    let got = ask(&proxied, "2 plus 2");
    let waits = waiting(&live, 1).await;
    assert!(waits[0].text.contains('\n'), "JSON is laid out: {}", waits[0].text);
    assert!(live.holds().decide(waits[0].id, Verdict::Edited(waits[0].text.clone())));
    assert_eq!(got.await.unwrap().body, reply);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_held_reply_passes_with_its_trailers_and_one_that_is_changed_without() {
    for (verdict, trailers) in [(Verdict::Pass, TRAILERS), (Verdict::Edited("two".to_owned()), "")] {
        let (proxied, live) = held([with_trailers()], "").await;
        live.holds().set(HeldSide::Reply, true);
        let asking = Arc::clone(&proxied);
        let got = tokio::spawn(async move { asking.raw_chat("te: trailers\r\n").await });
        let waits = waiting(&live, 1).await;
        assert!(live.holds().decide(waits[0].id, verdict));
        let got = got.await.unwrap();
        assert!(got.ends_with(&format!("\r\n0\r\n{trailers}\r\n")), "{got}");
        let (text, _, _dir) = end(proxied).await;
        assert!(text.contains("trailers of the service's reply: x-checksum: 1a2b"), "{text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dropped_request_breaks_the_connection_and_is_recorded() {
    let (proxied, live) = held([answer("four")], "").await;
    live.holds().set(HeldSide::Request, true);
    let broke = ask_in_vain(&proxied, "2 plus 2");
    let waits = waiting(&live, 1).await;
    assert!(live.holds().decide(waits[0].id, Verdict::Drop));
    assert!(broke.await.unwrap());
    let (text, _, _dir) = end(proxied).await;
    assert!(text.contains("the user closed the connection") && text.contains("2 plus 2"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_leaves_closes_its_gate_and_what_came_is_recorded() {
    for side in [HeldSide::Request, HeldSide::Reply] {
        let (proxied, live) = held([answer("four")], "").await;
        live.holds().set(side, true);
        let got = ask(&proxied, "2 plus 2");
        let waits = waiting(&live, 1).await;
        got.abort();
        assert!(waiting(&live, 0).await.is_empty());
        assert!(!live.holds().decide(waits[0].id, Verdict::Pass));
        assert!(got.await.is_err());
        let unrecorded = Arc::clone(&proxied.unrecorded);
        let (text, _, _dir) = end(proxied).await;
        assert!(unrecorded.lock().unwrap().is_empty(), "{side:?}: it is reported once");
        assert!(text.contains("the client closed the connection") && text.contains("2 plus 2"), "{side:?}: {text}");
        assert_eq!(text.contains("\"four\""), side == HeldSide::Reply, "{side:?}: {text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reply_that_breaks_off_is_not_held() {
    let (proxied, live) = held([Play::cut([crate::openai::server::delta("half")])], "").await;
    live.holds().set(HeldSide::Reply, true);
    let got = ask(&proxied, "2 plus 2").await.unwrap();
    assert!(!got.is_whole && got.text().contains("half"), "{}", got.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_waits_when_the_proxy_ends_is_dropped_and_not_recorded_as_a_decision() {
    for side in [HeldSide::Request, HeldSide::Reply] {
        let (proxied, live) = held([answer("four")], "").await;
        live.holds().set(side, true);
        let broke = [ask_in_vain(&proxied, "one"), ask_in_vain(&proxied, "two")];
        waiting(&live, 2).await;
        live.holds().end();
        for broke in broke {
            assert!(broke.await.unwrap());
        }
        let (text, _, _dir) = end(proxied).await;
        assert!(text.contains("the proxy ended before the end of the reply"), "{side:?}: {text}");
        assert!(!text.contains("the user"), "{side:?}: {text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_part_of_a_reply_that_is_to_be_held_is_recorded_as_ended_by_the_proxy() {
    let (proxied, live) = held([Play::silent([crate::openai::server::delta("half")])], "").await;
    let Ok(mut proxied) = Arc::try_unwrap(proxied) else { panic!("a client uses it") };
    live.holds().set(HeldSide::Reply, true);
    let asked = tokio::spawn(proxied.post("/v1/chat/completions", body_of(&[("user", "2 plus 2")])).send());
    while proxied.server.received().is_empty() {
        tokio::time::sleep(crate::POLL).await;
    }
    proxied.abort().await;
    assert!(asked.await.unwrap().is_err());
    let (sessions, _dir) = proxied.end().await;
    let text = std::fs::read_to_string(&sessions[0].path).unwrap();
    // The class lets a replay break off, too.
    assert!(text.contains("the proxy ended before the end of the reply") && text.contains("cancelled"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_without_requests_ends_by_itself() {
    let live = LiveTraffic::new();
    let wish = Wish { idle: Some(Duration::from_millis(1)), live: Some(live.clone()), ..Wish::default() };
    let proxied = Proxied::start(Server::play([answer("four")]).await, wish).await;
    assert_eq!(fetch(proxied.post("/v1/chat/completions", body_of(&[("user", "hi")]))).await.status, 200);
    let mut states = Vec::new();
    while states.last() != Some(&ConversationState::Ended) {
        live.changed().await;
        states.extend(live.drain().into_iter().filter_map(|update| match update {
            TrafficUpdate::Conversation(line) => Some(line.state),
            _ => None,
        }));
    }
    let (sessions, _dir) = proxied.end().await;
    assert!(std::fs::read_to_string(&sessions[0].path).unwrap().contains("run.end"));
}

/// Tokens of a session as its list shows them, and those of its turns.
fn tokens_of(session: &Session) -> [Option<(u64, u64)>; 2] {
    let pair = |tokens: Tokens| (tokens.input, tokens.output);
    let ends = session.events().filter_map(|envelope| match envelope.event {
        Event::TurnEnd(end) => Some(end.usage),
        _ => None,
    });
    [session.skeleton().usage().tokens.map(pair), ends.last().flatten().map(pair)]
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reply_that_is_replaced_was_paid_for_and_one_that_the_user_writes_counts_nothing() {
    let body = r#"{"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"four"},"finish_reason":"stop"}],"usage":{"prompt_tokens":50,"completion_tokens":9}}"#;
    let whole = || Play::page("200 OK", "content-type: application/json\r\n", body);
    let edited = |text: &str| Verdict::Edited(text.to_owned());
    let written = || Verdict::Answer("five".to_owned());
    let rows = [
        (HeldSide::Reply, answer("four"), edited("five"), Some((10, 7))),
        (HeldSide::Reply, answer("four"), written(), Some((10, 7))),
        (HeldSide::Reply, answer("four"), Verdict::Drop, Some((10, 7))),
        (HeldSide::Reply, whole(), edited(&body.replace("four", "five").replace("50", "1")), Some((50, 9))),
        (HeldSide::Reply, whole(), written(), Some((50, 9))),
        (HeldSide::Request, whole(), written(), None),
    ];
    for (row, (side, play, verdict, tokens)) in rows.into_iter().enumerate() {
        let (proxied, live) = held([play], "").await;
        live.holds().set(side, true);
        let asking = Arc::clone(&proxied);
        let body = body_of(&[("user", "2 plus 2")]);
        // The last one is whole: its zeros are not counts.
        let body = if side == HeldSide::Request { body.replace("\"stream\":true", "\"stream\":false") } else { body };
        let got = tokio::spawn(async move {
            let reply = asking.post("/v1/chat/completions", body).send().await;
            // A dropped connection has no reply.
            if let Ok(reply) = reply {
                drop(reply.bytes().await);
            }
        });
        let waits = waiting(&live, 1).await;
        assert!(live.holds().decide(waits[0].id, verdict));
        got.await.unwrap();
        let (_, path, _dir) = end(proxied).await;
        let session = Session::open(Path::new(&path)).unwrap();
        assert_eq!(tokens_of(&session), [tokens, tokens], "row {row}");
        assert_eq!(verify(&session).await.findings, [], "row {row}");
    }
}
