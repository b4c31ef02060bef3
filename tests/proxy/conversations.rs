//! Assignment of requests to conversations, and the notices about messages that are not in the session.

use std::sync::Arc;

use ptc_workbench::event::Address;
use ptc_workbench::replay::verify;
use ptc_workbench::session::Session;
use ptc_workbench::workbench::agent_of_request;
use serde_json::{Value, json};

use super::kit::{Proxied, Wish, fetch};
use crate::cli::program::Program;
use crate::openai::server::{Play, Server, answer, delta, ending};

fn notices(session: &Session) -> Vec<String> {
    let of = session.events().filter(|envelope| envelope.event.kind() == "notice");
    of.map(|envelope| serde_json::from_str::<Value>(envelope.event.data().unwrap().get()).unwrap())
        .map(|notice| notice["text"].as_str().unwrap().to_owned())
        .collect()
}

/// The roles of a request's messages.
fn roles(session: &Session, turn: &str) -> Vec<&'static str> {
    session.request(&Address::from(turn)).unwrap().iter().map(|message| message.role.name()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn unrelated_requests_are_no_turns_of_one_session() {
    let proxied = Proxied::script(|_, received| {
        let body: Option<Value> = serde_json::from_str(&received.body).ok();
        match body {
            Some(body) if !body.to_string().contains("fail") => answer("fine"),
            _ => Play::json("400 Bad Request", r#"{"error":{"message":"no"}}"#),
        }
    })
    .await;
    let post = |body: String| fetch(proxied.post("/v1/chat/completions", body));
    // Bodies that cannot be read, and another program's request.
    assert_eq!(post("{broken".to_owned()).await.status, 400);
    assert_eq!(post("{otherwise broken".to_owned()).await.status, 400);
    assert_eq!(proxied.chat(&[("user", "hello")]).await.status, 200);
    // A system text alone, and another program's request with it.
    assert_eq!(proxied.chat(&[("system", "Be brief.")]).await.status, 200);
    assert_eq!(proxied.chat(&[("system", "Be brief."), ("user", "hi")]).await.status, 200);
    // The same text with two images of one size, after a failure.
    for letter in ["A", "B"] {
        let url = format!("data:image/png;base64,iVBORw0KGgoAAAANSUhEUg{}", letter.repeat(402));
        let content = json!([{"type": "text", "text": "fail"}, {"type": "image_url", "image_url": {"url": url}}]);
        let body = json!({"model": "m", "messages": [{"role": "user", "content": content}]});
        assert_eq!(post(body.to_string()).await.status, 400);
        assert_eq!(post(body.to_string()).await.status, 400, "a retry");
    }
    let (sessions, _dir) = proxied.end().await;
    let turns = |session: &Session| session.skeleton().roots().map(|run| run.turns.len()).sum::<usize>();
    let mut counts: Vec<usize> = sessions.iter().map(turns).collect();
    counts.sort_unstable();
    assert_eq!(counts, [1, 1, 1, 1, 1, 2, 2]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_goes_back_to_an_earlier_reply_has_the_messages_before_it() {
    let proxied = Proxied::script(|number, _| {
        let output = json!([{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": format!("answer {number}")}]}]);
        let reply = json!({"id": format!("resp_{number}"), "object": "response", "status": "completed", "model": "m", "output": output});
        Play::json("200 OK", reply.to_string())
    })
    .await;
    let ask = |input: &str, after: Option<&str>| {
        let body = json!({"model": "m", "input": input, "previous_response_id": after});
        fetch(proxied.post("/v1/responses", body.to_string()))
    };
    assert_eq!(ask("first question", None).await.status, 200);
    assert_eq!(ask("second question", Some("resp_0")).await.status, 200);
    assert_eq!(ask("another question", Some("resp_0")).await.status, 200);
    assert_eq!(ask("what now?", Some("resp_1")).await.status, 200);
    assert_eq!(ask("and here?", Some("resp_unknown")).await.status, 200);
    let (mut sessions, _dir) = proxied.end().await;
    sessions.sort_by_key(|session| std::cmp::Reverse(session.len()));
    let [session, unknown] = sessions.as_slice() else { panic!("{} sessions", sessions.len()) };
    assert_eq!(roles(session, "r0/t2"), ["user", "assistant", "user"]);
    assert_eq!(roles(session, "r0/t3"), ["user", "assistant", "user"]);
    assert_eq!(roles(session, "r0/t4"), ["user", "assistant", "user", "assistant", "user"]);
    let branch = agent_of_request(session, &Address::from("r0/t3"), "branch").unwrap();
    assert!(branch.contains("first question") && branch.contains("another question"), "{branch}");
    assert!(branch.contains("answer 0") && !branch.contains("second question"), "{branch}");
    assert!(verify(session).await.findings.is_empty());
    let wanted = "it continues resp_unknown, which this session does not have: earlier messages are not recorded";
    assert_eq!(notices(unknown), [wanted]);
    assert!(!notices(session).iter().any(|text| text.contains("it continues")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reply_that_the_service_gives_later_is_no_empty_answer() {
    let proxied = Proxied::script(|number, _| {
        let output =
            json!([{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "at last"}]}]);
        let reply = match number {
            0 => json!({"id": "resp_0", "object": "response", "status": "queued", "model": "m", "output": []}),
            _ => json!({"id": "resp_1", "object": "response", "status": "completed", "model": "m", "output": output}),
        };
        Play::json("200 OK", reply.to_string())
    })
    .await;
    let first = json!({"model": "m", "background": true, "input": "a long question"});
    let second = json!({"model": "m", "previous_response_id": "resp_0", "input": "and?"});
    for body in [first, second] {
        assert_eq!(fetch(proxied.post("/v1/responses", body.to_string())).await.status, 200);
    }
    let (sessions, _dir) = proxied.end().await;
    let [session] = sessions.as_slice() else { panic!("{} sessions", sessions.len()) };
    assert_eq!(roles(session, "r0/t2"), ["user", "user"], "the reply between is unknown");
    let wanted = [
        "the service answers in the background (queued): its reply is in this session only if a GET /v1/responses/resp_0 fetches it in a \
         further turn",
        "the reply that it continues is not in this session: the service answers in the background, and no recorded request has fetched the \
         whole reply",
        "kept by the service and not repeated in the body: 1 earlier message",
    ];
    assert_eq!(notices(session), wanted);
    assert!(verify(session).await.findings.is_empty());
}

/// Replies whose end is marked, by path: the list of messages in their requests, and the stream.
fn marked_replies() -> [(&'static str, &'static str, String); 4] {
    let events = |all: &[Value]| all.iter().map(|event| format!("data: {event}\n\n")).collect::<Vec<_>>().concat();
    let responses = events(&[
        json!({"type": "response.created", "response": {"id": "resp_1", "status": "in_progress"}}),
        json!({"type": "response.output_text.delta", "output_index": 0, "delta": "hello"}),
        json!({"type": "response.completed", "response": {"id": "resp_1", "status": "completed"}}),
    ]);
    let messages = events(&[
        json!({"type": "message_start", "message": {"id": "msg_1", "type": "message", "role": "assistant", "content": []}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "hello"}}),
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}}),
        json!({"type": "message_stop"}),
    ]);
    let line = |text: &str, done: bool| {
        format!("{}\n", json!({"message": {"role": "assistant", "content": text}, "done": done}))
    };
    [
        ("/v1/chat/completions", "messages", [delta("hello"), ending("stop")].concat()),
        ("/v1/responses", "input", responses),
        ("/v1/messages", "messages", messages),
        ("/api/chat", "messages", [line("hello", false), line("", true)].concat()),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reply_whose_end_is_marked_is_continued_before_the_end_of_its_body() {
    for (path, list, stream) in marked_replies() {
        let sent = stream.clone();
        let proxied = Proxied::script(move |number, _| {
            let play = if number == 0 { Play::silent([&sent]) } else { Play::events([&sent]) };
            if path == "/api/chat" { play.into_lines() } else { play }
        })
        .await;
        let ask = |messages: &[(&str, &str)]| {
            let messages: Vec<Value> =
                messages.iter().map(|(role, text)| json!({"role": role, "content": text})).collect();
            proxied.post(path, json!({"model": "m", "stream": true, (list): messages}).to_string())
        };
        let mut first = ask(&[("user", "hi")]).send().await.unwrap();
        let mut seen = Vec::new();
        while seen.len() < stream.len() {
            seen.extend(first.chunk().await.unwrap().unwrap());
        }
        let next = fetch(ask(&[("user", "hi"), ("assistant", "hello"), ("user", "and?")])).await;
        assert!(next.is_whole, "{path}");
        drop(first);
        let lines = Arc::clone(&proxied.lines);
        let (sessions, _dir) = proxied.end().await;
        let [session] = sessions.as_slice() else { panic!("{path}: {} sessions", sessions.len()) };
        let of_turns = session.events().filter(|envelope| envelope.address != Address::run(0));
        let of_turns: Vec<(String, String)> =
            of_turns.map(|envelope| (envelope.address.to_string(), envelope.event.kind().to_owned())).collect();
        let second = of_turns.iter().position(|(turn, _)| turn == "r0/t2").unwrap();
        assert!(of_turns[..second].iter().all(|(turn, _)| turn == "r0/t1"), "{path}: {of_turns:?}");
        assert!(of_turns[second..].iter().all(|(turn, _)| turn == "r0/t2"), "{path}: {of_turns:?}");
        assert_eq!(of_turns[second - 1].1, "turn.end", "{path}");
        let problems: Vec<Option<String>> = lines.lock().unwrap().iter().map(|line| line.problem.clone()).collect();
        assert_eq!(problems, [None::<String>, None], "{path}");
        assert_eq!(roles(session, "r0/t2"), ["user", "assistant", "user"], "{path}");
        assert!(verify(session).await.findings.is_empty(), "{path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cut_reply_is_not_taken_for_a_broken_connection_and_the_export_says_that_it_was_captured() {
    let rules = "when model ~ m: cut 10";
    let proxied = Proxied::start(Server::play([answer("fine")]).await, Wish { rules, ..Wish::default() }).await;
    assert!(!proxied.chat(&[("user", "hello")]).await.is_whole);
    let lines = Arc::clone(&proxied.lines);
    let (sessions, _dir) = proxied.end().await;
    let problems: Vec<Option<String>> = lines.lock().unwrap().iter().map(|line| line.problem.clone()).collect();
    assert_eq!(problems, [Some("a rule of the proxy cut the reply".to_owned())]);
    let text = std::fs::read_to_string(&sessions[0].path).unwrap();
    assert!(text.contains("\"a rule of the proxy cut the reply\"") && !text.contains("the connection to"), "{text}");
    let program = Program::new();
    std::fs::create_dir(program.sessions_dir()).unwrap();
    let id = sessions[0].header.id.to_string();
    std::fs::copy(&sessions[0].path, program.sessions_dir().join(format!("{id}.jsonl"))).unwrap();
    let page = tokio::task::block_in_place(|| program.run(["sessions", "export", &id, "--format", "md"]))
        .exits(0)
        .stdout
        .clone();
    assert!(page.contains("Captured: `requests to openai`") && !page.contains("Imported"), "{page}");
}
