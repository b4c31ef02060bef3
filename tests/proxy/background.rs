//! Replies in the background: the request that fetches the final reply is a turn of the conversation.

use std::path::PathBuf;
use std::sync::Arc;

use ptc_workbench::event::{Address, Event};
use ptc_workbench::model::unpack;
use ptc_workbench::proxy::Answers;
use ptc_workbench::replay::verify;
use ptc_workbench::session::Session;
use ptc_workbench::workbench::sent_body;
use serde_json::{Value, json};

use super::kit::{Got, Proxied, Wish, client, fetch};
use crate::openai::server::{Play, Server};

pub(super) const RESPONSES: &str = "/v1/responses";

/// A response in this state. A completed one has a text and tokens.
pub(super) fn response(id: &str, status: &str) -> Value {
    let text = json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "at last"}]});
    let (output, usage) = match status {
        "completed" => (json!([text]), json!({"input_tokens": 5, "output_tokens": 7})),
        _ => (json!([]), Value::Null),
    };
    let error =
        if status == "failed" { json!({"code": "server_error", "message": "out of luck"}) } else { Value::Null };
    json!({"id": id, "object": "response", "status": status, "model": "m", "output": output, "usage": usage, "error": error})
}

pub(super) fn reply(id: &str, status: &str) -> Play {
    Play::json("200 OK", response(id, status).to_string())
}

/// A service that is asked so many times for the reply `resp_0`, which then has these states; requests that continue it are answered.
async fn service(states: &'static [&'static str], wish: Wish) -> Proxied {
    let server = Server::script(move |number, received| {
        let continues = received.body.contains("previous_response_id");
        reply(if continues { "resp_1" } else { "resp_0" }, states[number.min(states.len() - 1)])
    });
    Proxied::start(server.await, wish).await
}

/// Asks in the background.
pub(super) async fn ask(proxied: &Proxied) -> Got {
    let body = json!({"model": "m", "background": true, "input": "a long question"});
    fetch(proxied.post(RESPONSES, body.to_string())).await
}

/// Asks in the background for a stream, which is open.
pub(super) async fn ask_stream(proxied: &Proxied) -> reqwest::Response {
    let body = json!({"model": "m", "background": true, "stream": true, "input": "a long question"});
    proxied.post(RESPONSES, body.to_string()).send().await.unwrap()
}

/// Asks what continues the reply.
pub(super) async fn ask_next(proxied: &Proxied) -> Got {
    let body = json!({"model": "m", "previous_response_id": "resp_0", "input": "and?"});
    fetch(proxied.post(RESPONSES, body.to_string())).await
}

pub(super) fn get(proxied: &Proxied, query: &str) -> reqwest::RequestBuilder {
    client().get(format!("{}{RESPONSES}/resp_0{query}", proxied.base))
}

pub(super) async fn poll(proxied: &Proxied) -> Got {
    fetch(get(proxied, "")).await
}

pub(super) fn events(all: &[Value]) -> String {
    let texts = all.iter().map(|event| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap()));
    texts.collect::<Vec<_>>().concat()
}

fn piece(text: &str) -> Value {
    json!({"type": "response.output_text.delta", "output_index": 0, "delta": text})
}

/// The stream of a reply up to its first piece, with this text.
pub(super) fn start(id: &str, text: &str) -> String {
    events(&[json!({"type": "response.created", "response": {"id": id, "status": "in_progress"}}), piece(text)])
}

/// The stream of the reply after its first piece.
pub(super) fn rest() -> String {
    events(&[piece(" last"), json!({"type": "response.completed", "response": response("resp_0", "completed")})])
}

/// Method and path of each turn.
pub(super) fn requests(session: &Session) -> Vec<String> {
    let of = session.events().filter_map(|envelope| match envelope.event {
        Event::RawRequest(raw) => Some(format!("{} {}", raw.method, raw.path)),
        _ => None,
    });
    of.collect()
}

/// Input and output tokens of a session.
pub(super) fn tokens(session: &Session) -> Option<(u64, u64)> {
    session.events().find_map(|envelope| match envelope.event {
        Event::RunEnd(end) => end.usage.totals.tokens.map(|tokens| (tokens.input, tokens.output)),
        _ => None,
    })
}

/// Roles and texts of the messages of a request.
pub(super) fn messages(session: &Session, turn: &str) -> Vec<(&'static str, String)> {
    let messages = session.request(&Address::from(turn)).unwrap();
    messages.iter().map(|message| (message.role.name(), message.text())).collect()
}

/// Asserts that the reply is part of the next request, without a warning, and that the turns follow each other.
pub(super) async fn assert_known(session: &Session, turn: &str) {
    let expected = [("user", "a long question"), ("assistant", "at last"), ("user", "and?")];
    assert_eq!(messages(session, turn), expected.map(|(role, text)| (role, text.to_owned())));
    let is_unknown = |envelope: ptc_workbench::event::Envelope| match envelope.event {
        Event::Notice(notice) => notice.text.contains("the reply that it continues is not in this session"),
        _ => false,
    };
    assert!(!session.events().any(is_unknown));
    assert_in_order(session).await;
}

/// Asserts that the turns follow each other and that the session can be replayed.
pub(super) async fn assert_in_order(session: &Session) {
    let turns: Vec<u32> = session.events().filter_map(|envelope| envelope.address.turn_number()).collect();
    assert!(turns.is_sorted(), "{turns:?}");
    let found = verify(session).await;
    assert!(found.findings.is_empty(), "{:?}", found.findings);
}

fn files(sessions: &[Session]) -> Vec<PathBuf> {
    sessions.iter().map(|session| session.path.clone()).collect()
}

async fn replaying(sessions: &[Session]) -> Proxied {
    let recorded = Some(Answers::read(&files(sessions), &[]).unwrap());
    Proxied::start(Server::play(vec![]).await, Wish { recorded, ..Wish::default() }).await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_request_that_fetches_the_final_reply_is_a_turn_and_polls_are_not() {
    let states = &["queued", "queued", "in_progress", "completed"];
    let proxied = service(states, Wish::default()).await;
    let asked = ask(&proxied).await;
    let mut polled = Vec::new();
    for _ in 0..4 {
        polled.push(poll(&proxied).await);
    }
    let next = ask_next(&proxied).await;
    let (lines, unrecorded) = (Arc::clone(&proxied.lines), Arc::clone(&proxied.unrecorded));
    let (sessions, _dir) = proxied.end().await;
    let [session] = sessions.as_slice() else { panic!("{} sessions", sessions.len()) };
    assert_eq!(requests(session), ["POST /v1/responses", "GET /v1/responses/resp_0", "POST /v1/responses"]);
    assert_known(session, "r0/t3").await;
    assert_eq!(messages(session, "r0/t2"), []);
    assert_eq!(tokens(session), Some((10, 14)), "of the two replies, each once");
    let lines: Vec<_> =
        lines.lock().unwrap().iter().map(|line| (line.place.clone().unwrap().1, line.problem.clone())).collect();
    assert_eq!(lines, [(1, None), (2, None), (3, None)]);
    let passed: Vec<String> = unrecorded.lock().unwrap().iter().map(ToString::to_string).collect();
    assert_eq!(passed.len(), 3, "two polls before the final reply and one after it: {passed:?}");
    assert!(
        passed.iter().all(|line| line.starts_with("not recorded  openai GET /v1/responses/resp_0  200")),
        "{passed:?}"
    );

    let again = replaying(&sessions).await;
    assert_eq!(ask(&again).await.body, asked.body);
    for _ in 0..2 {
        assert_eq!(poll(&again).await.body, polled[2].body, "the final reply at once");
    }
    assert_eq!(ask_next(&again).await.body, next.body);
    // Other requests are not recorded, as before.
    let models = fetch(client().get(format!("{}/v1/models", again.base))).await;
    assert!(models.status == 404 && models.text().contains("--record-all"), "{}", models.text());
    assert_eq!((again.misses(), again.server.received().len()), (0, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn with_all_requests_recorded_the_polls_are_other_requests() {
    let states = &["queued", "queued", "in_progress", "completed"];
    let proxied = service(states, Wish { records_all: true, ..Wish::default() }).await;
    ask(&proxied).await;
    for _ in 0..3 {
        poll(&proxied).await;
    }
    assert!(proxied.unrecorded.lock().unwrap().is_empty());
    let (sessions, _dir) = proxied.end().await;
    let mut all: Vec<Vec<String>> = sessions.iter().map(requests).collect();
    all.sort();
    let fetched = "GET /v1/responses/resp_0";
    assert_eq!(all, [vec![fetched, fetched], vec!["POST /v1/responses", fetched]]);
}

/// The states that a replay of these files answers to four polls.
async fn replayed_states(files: &[PathBuf]) -> Vec<String> {
    let recorded = Some(Answers::read(files, &[]).unwrap());
    let again = Proxied::start(Server::play(vec![]).await, Wish { recorded, ..Wish::default() }).await;
    assert_eq!(ask(&again).await.status, 200);
    let mut states = Vec::new();
    for _ in 0..4 {
        let got: Value = serde_json::from_slice(&poll(&again).await.body).unwrap();
        states.push(got["status"].as_str().unwrap().to_owned());
    }
    assert_eq!(again.misses(), 0);
    states
}

/// Polls until the reply is completed, with all requests recorded. Returns the files of the sessions.
async fn recorded_polls() -> (Vec<PathBuf>, tempfile::TempDir) {
    let states = &["queued", "queued", "in_progress", "completed"];
    let proxied = service(states, Wish { records_all: true, ..Wish::default() }).await;
    ask(&proxied).await;
    for _ in 0..3 {
        poll(&proxied).await;
    }
    let (sessions, dir) = proxied.end().await;
    assert_eq!(sessions.len(), 2, "the conversation, and other requests");
    (files(&sessions), dir)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replay_answers_polls_in_the_recorded_order() {
    let (mut files, _dir) = recorded_polls().await;
    for _ in 0..2 {
        assert_eq!(replayed_states(&files).await, ["queued", "in_progress", "completed", "completed"]);
        files.reverse();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replay_answers_the_final_reply_after_polls_of_the_same_millisecond() {
    let (mut files, _dir) = recorded_polls().await;
    for file in &files {
        let text = std::fs::read_to_string(file).unwrap();
        let lines = text.lines().map(|line| {
            let mut line: Value = serde_json::from_str(line).unwrap();
            if let Some(at_ms) = line.get_mut("t") {
                *at_ms = json!(1_795_305_617_000_i64);
            }
            format!("{line}\n")
        });
        std::fs::write(file, lines.collect::<Vec<_>>().concat()).unwrap();
    }
    for _ in 0..2 {
        assert_eq!(replayed_states(&files).await, ["queued", "in_progress", "completed", "completed"]);
        files.reverse();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_polls_at_the_same_time_one_is_the_turn() {
    let proxied = service(&["queued", "completed"], Wish::default()).await;
    ask(&proxied).await;
    let polled = futures::future::join_all((0..16).map(|_| poll(&proxied))).await;
    assert!(polled.iter().all(|got| got.is_whole && got.text().contains("at last")));
    ask_next(&proxied).await;
    let unrecorded = Arc::clone(&proxied.unrecorded);
    let (sessions, _dir) = proxied.end().await;
    let [session] = sessions.as_slice() else { panic!("{} sessions", sessions.len()) };
    assert_eq!(requests(session).len(), 3);
    assert_known(session, "r0/t3").await;
    assert_eq!(unrecorded.lock().unwrap().len(), 15);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reply_that_is_fetched_as_a_stream_is_whole_wherever_the_stream_begins() {
    let sent = rest();
    let server = Server::script(move |number, _| match number {
        0 => reply("resp_0", "queued"),
        // The client asks on before the end of the body.
        1 => Play::silent([&sent]),
        _ => reply("resp_1", "completed"),
    });
    let proxied = Proxied::start(server.await, Wish::default()).await;
    ask(&proxied).await;
    let query = "?stream=true&starting_after=3";
    let mut fetching = get(&proxied, query).send().await.unwrap();
    let mut seen = Vec::new();
    while seen.len() < rest().len() {
        seen.extend(fetching.chunk().await.unwrap().unwrap());
    }
    ask_next(&proxied).await;
    drop(fetching);
    let (lines, unrecorded) = (Arc::clone(&proxied.lines), Arc::clone(&proxied.unrecorded));
    let (sessions, _dir) = proxied.end().await;
    let [session] = sessions.as_slice() else { panic!("{} sessions", sessions.len()) };
    let fetched = format!("GET /v1/responses/resp_0{query}");
    assert_eq!(requests(session), ["POST /v1/responses", &fetched, "POST /v1/responses"]);
    assert_known(session, "r0/t3").await;
    assert_eq!(tokens(session), Some((10, 14)));
    assert!(lines.lock().unwrap().iter().all(|line| line.problem.is_none()));
    assert!(unrecorded.lock().unwrap().is_empty());

    let again = replaying(&sessions).await;
    ask(&again).await;
    assert_eq!(fetch(get(&again, query)).await.text(), rest());
    let whole = poll(&again).await;
    assert!(
        whole.status == 404 && whole.text().contains("not_recorded"),
        "only the stream is recorded: {}",
        whole.text()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_background_stream_that_its_client_leaves_is_resumed_in_its_session() {
    let start = start("resp_0", "at");
    let server = Server::script(move |number, _| match number {
        0 => Play::silent([&start]),
        1 => Play::events([rest()]),
        _ => reply("resp_1", "completed"),
    });
    let mut proxied = Proxied::start(server.await, Wish::default()).await;
    let mut first = ask_stream(&proxied).await;
    assert!(first.chunk().await.unwrap().is_some());
    drop(first);
    assert_eq!(proxied.server.client_hung_up().await, 0);
    assert_eq!(fetch(get(&proxied, "?stream=true&starting_after=1")).await.text(), rest());
    ask_next(&proxied).await;
    let lines = Arc::clone(&proxied.lines);
    let (sessions, _dir) = proxied.end().await;
    let [session] = sessions.as_slice() else { panic!("{} sessions", sessions.len()) };
    assert_known(session, "r0/t3").await;
    assert_eq!(tokens(session), Some((10, 14)));
    let problems: Vec<bool> = lines.lock().unwrap().iter().map(|line| line.problem.is_some()).collect();
    assert_eq!(problems, [true, false, false]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reply_that_fails_or_is_cancelled_fails_its_turn_and_the_next_request_is_a_retry() {
    for (states, problem) in [
        (&["queued", "failed", "failed", "completed"], "out of luck"),
        (&["queued", "cancelled", "cancelled", "completed"], "the reply was cancelled"),
    ] {
        let proxied = service(states, Wish::default()).await;
        ask(&proxied).await;
        fetch(proxied.post("/v1/responses/resp_0/cancel", "{}")).await;
        poll(&proxied).await;
        ask(&proxied).await;
        let (lines, unrecorded) = (Arc::clone(&proxied.lines), Arc::clone(&proxied.unrecorded));
        let (sessions, _dir) = proxied.end().await;
        let [session] = sessions.as_slice() else { panic!("{} sessions", sessions.len()) };
        assert_eq!(requests(session), ["POST /v1/responses", "GET /v1/responses/resp_0", "POST /v1/responses"]);
        let problems: Vec<Option<String>> = lines.lock().unwrap().iter().map(|line| line.problem.clone()).collect();
        assert_eq!(problems, [None, Some(problem.to_owned()), None]);
        assert_eq!(unrecorded.lock().unwrap().len(), 1, "to cancel is another request");
        assert!(verify(session).await.findings.is_empty());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_of_a_request_are_not_in_the_record_of_its_reply_that_another_key_fetches() {
    const ASKS: &str = "sk-asks-abcdefgh-77";
    const FETCHES: &str = "sk-fetches-mnopqrst-88";
    const TOOL: &str = "gho_two1234567890";
    let tool = json!({"type": "mcp", "server_label": "files", "server_url": "https://tools.example/mcp", "authorization": TOOL});
    let text = format!("at last with {TOOL} and {ASKS}");
    let mut whole = response("resp_0", "completed");
    whole["tools"] = json!([tool]);
    whole["output"][0]["content"][0]["text"] = json!(text);
    // The key of the tool comes in two pieces.
    let (begin, rest) = text.split_at("at last with gho_two".len());
    let stream =
        [start("resp_0", begin), events(&[piece(rest), json!({"type": "response.completed", "response": whole})])];
    let rows = [("", Play::json("200 OK", whole.to_string())), ("?stream=true", Play::events(stream))];
    for (query, fetched) in rows {
        let server = Server::script(move |number, _| match number {
            0 => reply("resp_0", "queued"),
            1 => fetched.clone(),
            _ => reply("resp_1", "completed"),
        });
        let proxied = Proxied::start(server.await, Wish::default()).await;
        let body = json!({"model": "m", "background": true, "input": "a long question", "tools": [tool]});
        let asked = proxied.post(RESPONSES, body.to_string()).header("authorization", format!("Bearer {ASKS}"));
        assert_eq!(fetch(asked).await.status, 200);
        let got = fetch(get(&proxied, query).header("authorization", format!("Bearer {FETCHES}"))).await;
        assert!(got.text().contains(TOOL) && got.text().contains(ASKS), "the client gets it: {}", got.text());
        ask_next(&proxied).await;
        let (sessions, _dir) = proxied.end().await;
        let [session] = sessions.as_slice() else { panic!("{query}: {} sessions", sessions.len()) };
        assert_eq!(requests(session).len(), 3, "{query}");
        assert_eq!(messages(session, "r0/t3")[1].1, "at last with [secret] and [secret]", "{query}");
        let file = std::fs::read_to_string(&session.path).unwrap();
        let mut bytes = Vec::new();
        for envelope in session.events() {
            if let Event::Wire(wire) = envelope.event {
                bytes.extend(unpack(&wire).unwrap().into_iter().flat_map(|(_, bytes)| bytes));
            }
        }
        let (bytes, sent) = (String::from_utf8(bytes).unwrap(), sent_body(session, "r0/t1").unwrap());
        for key in [ASKS, FETCHES, TOOL, "gho_two"] {
            let is_recorded = [&file, &bytes, &sent].iter().any(|text| text.contains(key));
            assert!(!is_recorded, "{query} {key}: {file} {bytes} {sent}");
        }
    }
}
