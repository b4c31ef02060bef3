//! Requests that are not recorded are reported, and Ollama's `/api/generate` is a conversation.

use std::sync::Arc;

use ptc_workbench::replay::verify;
use ptc_workbench::session::Session;
use serde_json::{Value, json};

use crate::cli::program::Program;
use crate::openai::server::{Play, Server, delta};

use super::kit::{Proxied, body_of, client, fetch};

fn events(session: &Session, kind: &str) -> Vec<Value> {
    let of = session.events().filter(|envelope| envelope.event.kind() == kind);
    of.map(|envelope| serde_json::from_str(envelope.event.data().unwrap().get()).unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_asks_no_model_has_a_line_with_its_path_status_bytes_and_time() {
    let embeddings = json!({"object": "list", "data": [{"embedding": [0.5, 0.25]}]}).to_string();
    let proxied = Proxied::play([
        Play::json("200 OK", embeddings.clone()),
        Play::json("404 Not Found", "{}"),
        Play::cut(["half"]),
        Play::json("200 OK", "{\"input_tokens\": 3}"),
    ])
    .await;
    let got = fetch(proxied.post("/v1/embeddings?key=sk-secret-1", "{\"input\": \"a\"}")).await;
    assert_eq!(got.text(), embeddings);
    fetch(client().get(format!("{}/v1/models/absent", proxied.base))).await;
    assert!(!fetch(client().get(format!("{}/api/tags", proxied.base))).await.is_whole);
    fetch(proxied.post("/v1/messages/count_tokens", "{}")).await;
    assert_eq!(fetch(client().get(format!("{}/favicon.ico", proxied.base))).await.status, 404);
    let passed = Arc::clone(&proxied.unrecorded);
    let (sessions, _dir) = proxied.end().await;
    assert!(sessions.is_empty());
    let lines: Vec<String> = passed
        .lock()
        .unwrap()
        .iter()
        .map(|line| {
            let text = line.to_string();
            let (start, end) = text.split_once(&format!("  {} ms", line.ms)).unwrap();
            assert!(line.upstream.is_none() || line.path == "/api/tags" || end.is_empty(), "{text}");
            start.to_owned()
        })
        .collect();
    let expected = [
        format!("not recorded  openai POST /v1/embeddings  200  {} bytes", embeddings.len()),
        "not recorded  openai GET /v1/models/absent  404  2 bytes".to_owned(),
        "not recorded  ollama GET /api/tags  200  15 bytes".to_owned(),
        "not recorded  anthropic POST /v1/messages/count_tokens  200  19 bytes".to_owned(),
    ];
    assert_eq!(lines[..4], expected);
    assert!(lines[4].starts_with("not recorded  – GET /favicon.ico  404  "), "{lines:?}");
    assert!(passed.lock().unwrap()[2].problem.is_some(), "the reply broke off");
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_of_all_sizes_pass_whole() {
    let proxied = Proxied::play([Play::json("200 OK", "{}")]).await;
    for size in [1, 1 << 20, (1 << 20) + 1, 3 << 20] {
        let body = "x".repeat(size);
        assert_eq!(fetch(proxied.post("/v1/files", body.clone())).await.status, 200);
        let received = proxied.server.received().pop().unwrap();
        assert!(received.body == body && received.header("content-length") == size.to_string(), "{}", received.head);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_aborted_by_the_end_of_the_proxy_are_reported_before_it_has_ended() {
    let open = [Play::silent([delta("begin")]), Play::silent(["half"])];
    let mut proxied = Proxied::play(open).await;
    let chat = proxied.post("/v1/chat/completions", body_of(&[("user", "hi")])).send().await.unwrap();
    let list = client().get(format!("{}/v1/models", proxied.base)).send().await.unwrap();
    let (recorded, unrecorded) = (Arc::clone(&proxied.lines), Arc::clone(&proxied.unrecorded));
    proxied.abort().await;
    let ended = "the proxy ended before the end of the reply";
    assert_eq!(unrecorded.lock().unwrap()[0].problem.as_deref(), Some(ended));
    let (sessions, _dir) = proxied.end().await;
    assert_eq!(recorded.lock().unwrap()[0].problem.as_deref(), Some(ended));
    assert_eq!(sessions.len(), 1);
    drop((chat, list));
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn the_command_prints_a_line_for_each_request_and_their_numbers_at_the_end() {
    let chat =
        json!({"choices": [{"index": 0, "message": {"role": "assistant", "content": "hi"}, "finish_reason": "stop"}]});
    let server = Server::script(move |_, request| {
        Play::json("200 OK", if request.head.contains("/chat/") { chat.to_string() } else { "{}".to_owned() })
    })
    .await;
    let upstream = format!("openai={}", server.base_url.trim_end_matches("/v1"));
    let get = "curl -s -o /dev/null $OPENAI_BASE_URL";
    let script = format!(
        "{get}/models; {get}/models; {get}/embeddings -d '{{}}'; {get}/chat/completions -d '{{\"model\": \"m\", \"messages\": [{{\"role\": \"user\", \"content\": \"hi\"}}]}}'"
    );
    let run = |flags: &'static [&'static str]| {
        let (script, upstream) = (script.clone(), upstream.clone());
        tokio::task::spawn_blocking(move || {
            let program = Program::new();
            let arguments = [&["proxy", "--upstream", &upstream, "--port", "0"], flags, &["--", "sh", "-c", &script]];
            program.run(arguments.concat()).exits(0).stderr.clone()
        })
    };
    let stderr = run(&[]).await.unwrap();
    let count = |stderr: &str, words: &str| stderr.lines().filter(|line| line.contains(words)).count();
    assert_eq!(count(&stderr, "not recorded  openai GET /v1/models  200  2 bytes"), 2, "{stderr}");
    assert_eq!(count(&stderr, "not recorded  openai POST /v1/embeddings  200  2 bytes"), 1, "{stderr}");
    let last = stderr.lines().last().unwrap();
    assert_eq!(
        last, "1 request recorded in 1 session; 3 requests not recorded: 2 × GET /v1/models, 1 × POST /v1/embeddings",
        "{stderr}"
    );
    // Nothing is recorded, and nothing is invisible.
    let stderr = run(&["--no-save"]).await.unwrap();
    assert_eq!(count(&stderr, "not recorded  openai POST /v1/chat/completions  200"), 1, "{stderr}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_to_generate_is_a_conversation_that_its_context_continues() {
    let line = |text: &str, more: Value| {
        let mut line = json!({"model": "m", "created_at": "2026-01-01T00:00:00Z", "response": text, "done": false});
        line.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        format!("{line}\n")
    };
    let done = |context: Value| json!({"done": true, "done_reason": "stop", "prompt_eval_count": 3, "eval_count": 2, "context": context});
    let loaded = json!({"model": "m", "response": "", "done": true, "done_reason": "load"}).to_string();
    let proxied = Proxied::play([
        Play::json("200 OK", loaded),
        Play::events([
            line("It \u{1f327} ", json!({"thinking": "hm"})),
            line("rains", json!({})),
            line("", done(json!([1, 2, 3]))),
        ])
        .into_lines(),
        Play::json("200 OK", line("Yes", done(json!([1, 2, 3, 4])))),
        Play::json("200 OK", line("Other", done(json!([9])))),
    ])
    .await;
    fetch(proxied.post("/api/generate", json!({"model": "m"}).to_string())).await;
    let first = json!({"model": "m", "system": "Be brief", "prompt": "How is it?", "options": {"num_predict": 9}, "images": ["AAAA"]});
    let got = fetch(proxied.post("/api/generate", first.to_string())).await;
    assert!(got.is_whole && got.text().contains("rains"));
    let second = json!({"model": "m", "prompt": "Sure?", "stream": false, "context": [1, 2, 3]});
    fetch(proxied.post("/api/generate", second.to_string())).await;
    fetch(proxied.post("/api/generate", json!({"model": "m", "prompt": "Alone", "stream": false}).to_string())).await;
    let passed = Arc::clone(&proxied.unrecorded);
    let (sessions, _dir) = proxied.end().await;
    let passed: Vec<String> = passed.lock().unwrap().iter().map(|line| line.path.clone()).collect();
    assert_eq!(passed, ["/api/generate"], "the request without a prompt loads the model");
    let [session, other] = sessions.as_slice() else { panic!("{} sessions", sessions.len()) };
    let (session, other) = if events(session, "request").len() == 2 { (session, other) } else { (other, session) };
    assert_eq!(events(other, "request").len(), 1);
    let messages = events(session, "message");
    let roles: Vec<&str> = messages.iter().filter_map(|message| message["role"].as_str()).collect();
    assert_eq!(roles, ["system", "user", "assistant", "user"]);
    assert_eq!(messages[1]["parts"][0]["text"], "How is it?");
    assert!(messages[1]["parts"][1]["text"].as_str().unwrap().contains("image"), "{messages:?}");
    let requests = events(session, "request");
    assert_eq!((&requests[0]["options"]["max_tokens"], &requests[1]["messages"]), (&json!(9), &json!([[0, 3]])));
    let ends = events(session, "reply.end");
    for end in &ends {
        assert_eq!(
            (&end["status"], &end["finish"], &end["usage"]["output"]),
            (&json!("ok"), &json!("stop"), &json!(2))
        );
    }
    assert_eq!(events(session, "run.end")[0]["return"], "Yes");
    assert_eq!(verify(session).await.findings, []);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_check_whether_the_address_answers_is_no_request_to_a_service() {
    let check = async |proxied: &Proxied, agent: &str| {
        let request = client().head(format!("{}/", proxied.base)).header("user-agent", agent);
        request.send().await.unwrap().status().as_u16()
    };
    let proxied = Proxied::play([Play::json("503 Service Unavailable", "{}")]).await;
    assert_eq!(check(&proxied, "Bun/1.3.5").await, 200);
    assert!(proxied.server.received().is_empty());
    // The program `ollama` asks whether its server runs.
    assert_eq!(check(&proxied, "ollama/0.13.0 (amd64 linux) Go/go1.24.1").await, 503);
    let passed = Arc::clone(&proxied.unrecorded);
    proxied.end().await;
    let passed: Vec<Option<u16>> = passed.lock().unwrap().iter().map(|line| line.status).collect();
    assert_eq!(passed, [Some(503)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reply_without_a_body_is_whole_and_a_client_that_left_before_a_reply_has_a_line() {
    let proxied = Proxied::play([Play::json("200 OK", "{\"models\": []}"), Play::Stall(Vec::new())]).await;
    let head = client().head(format!("{}/v1/models", proxied.base)).send().await.unwrap();
    assert_eq!(head.status(), 200);
    let limit = std::time::Duration::from_millis(300);
    client().get(format!("{}/v1/models/slow", proxied.base)).timeout(limit).send().await.unwrap_err();
    let passed = Arc::clone(&proxied.unrecorded);
    while passed.lock().unwrap().len() < 2 {
        tokio::time::sleep(crate::POLL).await;
    }
    let lines = passed.lock().unwrap().clone();
    assert_eq!((lines[0].status, &lines[0].problem), (Some(200), &None), "{lines:?}");
    assert_eq!(lines[1].status, None);
    assert!(lines[1].to_string().contains("GET /v1/models/slow  no reply  0 bytes"), "{}", lines[1]);
    assert!(lines[1].problem.as_deref().unwrap().contains("before the reply"), "{lines:?}");
}
