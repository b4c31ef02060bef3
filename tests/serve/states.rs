//! Runs beyond one request: clients that do not read or leave, runs that wait, run or were killed, the end of the server.

use std::time::Duration;

use ptc_core::value::{Json, json as core_json};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::kit::{Served, Wish};
use super::{ASK, DOUBLE, JSON};
use crate::openai::server::{Play, Server, answer};

fn context(text: &str) -> Json {
    core_json::parse(text).unwrap()
}

/// The id of the only session.
fn only_id(served: &Served) -> String {
    let files = served.session_files();
    files[0].file_stem().unwrap().to_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_client_that_does_not_read_keeps_no_run_from_its_time_limit() {
    let model = Server::play([Play::silent([""; 0])]).await;
    let mut wish = Wish::of(&[("judge", JSON)]).with_model_at(&model.base_url);
    wish.options.timeout = Some(Duration::from_millis(50));
    wish.options.max_runs = 1;
    let served = wish.start().await;
    let judge = &served.runs.agents[0];
    let mut run = served.runs.start(judge, context(r#"{"text": "a"}"#), 0).unwrap();
    tokio::select! {
        () = run.overdue() => panic!("the client has time to read the end"),
        () = served.until_counted("runs_total{agent=\"judge\",outcome=\"mission_timeout\"} 1") => {}
    }
    served.until_counted("runs_active{agent=\"judge\"} 0").await;
    // Its slot is free, and its end can be read.
    drop(served.runs.start(judge, context(r#"{"text": "b"}"#), 0).unwrap());
    assert_eq!(run.finish().await.fail.unwrap().reason, "mission_timeout");
}

#[tokio::test]
async fn a_run_that_ended_before_its_client_left_is_counted_as_what_it_was() {
    let served = Wish::of(&[("double", DOUBLE)]).start().await;
    let run = served.runs.start(&served.runs.agents[0], context(r#"{"n": 1}"#), 0).unwrap();
    let id = run.session().unwrap().to_owned();
    while !served.session(&id).events().any(|envelope| envelope.event.kind() == "run.end") {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    drop(run);
    served.until_counted("runs_total{agent=\"double\",outcome=\"returned\"} 1").await;
    served.until_counted("runs_active{agent=\"double\"} 0").await;
}

#[tokio::test]
async fn tokens_of_a_run_that_is_resumed_are_counted_once() {
    let agent = "mode = \"ptc_lisp\"\nprompt = \"go\"\nsignature = \"() -> :string\"\nmax_turns = 1\n[tools.ask_user]\nkind = \"builtin\"\n";
    let model = Server::play([answer("```clojure\n(return (tool/ask_user {:question \"Which?\"}))\n```")]).await;
    let served = Wish::of(&[("asks", agent)]).with_model_at(&model.base_url).start().await;
    let waiting = served.post("/agents/asks/run", "{}").await;
    assert_eq!(waiting.status, 202, "{}", waiting.text);
    let tokens = "tokens_total{agent=\"asks\",kind=\"output\"} 7";
    served.until_counted(tokens).await;
    let done = served.post(&format!("/runs/{}/answers", waiting.session.unwrap()), r#"{"answer": "this"}"#).await;
    assert_eq!((done.status, done.json()["return"].clone()), (200, json!("this")), "{}", done.text);
    served.until_counted("run_seconds_count{agent=\"asks\"} 2").await;
    served.until_counted(tokens).await;
}

#[tokio::test]
async fn a_run_that_waits_is_read_as_its_request_was_answered() {
    let served = Wish::of(&[("ask", ASK)]).start().await;
    let posted = served.post("/agents/ask/run", "{}").await;
    let id = posted.session.clone().unwrap();
    let waiting = served.get(&format!("/runs/{id}")).await;
    assert_eq!(waiting.status, 202, "{}", waiting.text);
    for member in ["fail", "waits_for", "questions", "session"] {
        assert_eq!(waiting.json()[member], posted.json()[member], "{member}");
    }
    assert_eq!(waiting.json()["fail"]["hint"], format!("Answer with POST /runs/{id}/answers."));
}

#[tokio::test]
async fn a_run_in_progress_is_read_as_running() {
    let model = Server::play([Play::silent([""; 0])]).await;
    let served = Wish::of(&[("judge", JSON)]).with_model_at(&model.base_url).start().await;
    let request = served.request("POST", "/agents/judge/run").body(r#"{"context": {"text": "a"}}"#);
    let request = tokio::spawn(request.send());
    while model.received().is_empty() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let running = served.get(&format!("/runs/{}", only_id(&served))).await;
    assert_eq!((running.status, running.json()["state"].clone()), (202, json!("running")), "{}", running.text);
    request.abort();
}

#[tokio::test]
async fn a_run_whose_program_was_killed_is_read_as_interrupted() {
    let ended = Wish::of(&[("double", DOUBLE)]).start().await;
    ended.post("/agents/double/run", r#"{"context": {"n": 1}}"#).await;
    let served = Wish::of(&[("double", DOUBLE)]).start().await;
    let id = served.adopt(&ended);
    assert_eq!(served.get(&format!("/runs/{id}")).await.status, 200);
    let file = served.session_files().remove(0);
    let text = std::fs::read_to_string(&file).unwrap();
    let lines: Vec<&str> = text.lines().filter(|line| !line.contains("\"run.end\"")).collect();
    std::fs::write(&file, lines.join("\n") + "\n").unwrap();
    let killed = served.get(&format!("/runs/{id}")).await;
    assert_eq!((killed.status, killed.json()["fail"]["reason"].clone()), (503, json!("cancelled")), "{}", killed.text);
    assert!(killed.text.contains("interrupted"), "{}", killed.text);
}

#[tokio::test]
async fn a_run_of_another_agent_of_the_same_name_is_neither_read_nor_answered() {
    let foreign = Wish::of(&[("ask", ASK)]).start().await;
    foreign.post("/agents/ask/run", "{}").await;
    let other = ASK.replace("Which size?", "How large?");
    // The second one is the same agent, as after a restart.
    for (agent, status) in [(other.as_str(), 404), (ASK, 202)] {
        let served = Wish::of(&[("ask", agent)]).start().await;
        let id = served.adopt(&foreign);
        let got = served.get(&format!("/runs/{id}")).await;
        assert_eq!(got.status, status, "{}", got.text);
        let got = served.post(&format!("/runs/{id}/answers"), r#"{"answer": "blue"}"#).await;
        assert_eq!(got.status, status, "{}", got.text);
    }
    // The model that a server uses is no part of an agent.
    let model = Server::play([answer("{\"good\": true}")]).await;
    let first = Wish::of(&[("judge", JSON)]).with_model_at(&model.base_url).start().await;
    first.post("/agents/judge/run", r#"{"context": {"text": "a"}}"#).await;
    let second = Wish::of(&[("judge", JSON)]).start().await;
    let id = second.adopt(&first);
    assert_eq!(second.get(&format!("/runs/{id}")).await.status, 200);
}

#[tokio::test]
async fn a_run_that_is_being_continued_takes_no_second_answer() {
    let served = Wish::of(&[("ask", ASK)]).start().await;
    let id = served.post("/agents/ask/run", "{}").await.session.unwrap();
    let file = std::fs::File::options().append(true).open(served.session_files().remove(0)).unwrap();
    file.try_lock().unwrap();
    let got = served.post(&format!("/runs/{id}/answers"), r#"{"answer": "blue"}"#).await;
    assert_eq!(got.status, 409, "{}", got.text);
    assert!(got.text.contains("another request") && !got.text.contains(".jsonl"), "{}", got.text);
    file.unlock().unwrap();
    assert_eq!(served.post(&format!("/runs/{id}/answers"), r#"{"answer": "blue"}"#).await.status, 202);
}

async fn connect(served: &Served, text: &str) -> TcpStream {
    let mut connection = TcpStream::connect(served.base.strip_prefix("http://").unwrap()).await.unwrap();
    connection.write_all(text.as_bytes()).await.unwrap();
    connection
}

#[tokio::test]
async fn requests_that_are_not_whole_do_not_delay_the_end_of_the_server() {
    let served = Wish::of(&[("double", DOUBLE)]).start().await;
    let _head = connect(&served, "GET /healthz HTTP/1.1\r\nHo").await;
    let unfinished = "POST /agents/double/run HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{";
    let mut unfinished = connect(&served, unfinished).await;
    let mut idle = connect(&served, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n").await;
    let mut reply = [0; 15];
    idle.read_exact(&mut reply).await.unwrap();
    assert_eq!(reply, *b"HTTP/1.1 200 OK");
    // The body that is not whole is being read.
    tokio::time::sleep(Duration::from_millis(100)).await;
    served.end.cancel();
    served.closing.close();
    let mut reply = [0; 12];
    unfinished.read_exact(&mut reply).await.unwrap();
    assert_eq!(reply, *b"HTTP/1.1 503");
    // The grace of this server is longer.
    tokio::time::timeout(Duration::from_secs(10), served.task).await.unwrap().unwrap();
}
