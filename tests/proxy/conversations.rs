//! Which requests belong to one conversation, and the notices about messages that are not in the session.

use std::sync::Arc;

use ptc_workbench::event::Address;
use ptc_workbench::replay::verify;
use ptc_workbench::session::Session;
use ptc_workbench::workbench::agent_of_request;
use serde_json::{Value, json};

use super::kit::{Proxied, Wish, fetch};
use crate::cli::program::Program;
use crate::openai::server::{Play, Server, answer};

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
    let wanted = "it continues resp_unknown, which this session does not have: the messages before are not recorded";
    assert_eq!(notices(unknown), [wanted]);
    assert!(!notices(session).iter().any(|text| text.contains("it continues")));
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
