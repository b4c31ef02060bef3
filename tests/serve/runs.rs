//! `/agents` and `/runs`.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use ptc_workbench::event::Event;
use ptc_workbench::session::Session;
use serde_json::json;

use super::kit::{Served, Wish};
use super::{ASK, COMMAND, DOUBLE, JSON, TEXT};
use crate::openai::server::{Play, Server, answer};

/// The kinds of the events in a session.
fn kinds(served: &Served, id: &str) -> Vec<String> {
    served.session(id).events().map(|envelope| envelope.event.kind().to_owned()).collect()
}

#[tokio::test]
async fn a_run_gives_its_step_and_leaves_a_session_that_replays() {
    let served = Wish::of(&[("double", DOUBLE)]).start().await;
    let got = served.post("/agents/double/run", r#"{"context": {"n": 21}}"#).await;
    assert_eq!((got.status, got.json()["return"].clone()), (200, json!({"twice": 42})));
    let id = got.session.clone().unwrap();
    assert_eq!(got.json()["session"], id.as_str());
    let report = served.workbench.replay(&served.session(&id)).await.unwrap();
    assert_eq!(report.differences, []);
    // The saved run is the same Step.
    assert_eq!(served.get(&format!("/runs/{id}")).await.json(), got.json());
}

#[tokio::test]
async fn the_schemas_of_an_agent_describe_its_context_and_its_answer() {
    let list = DOUBLE.replace("{twice :int}", "[:int]").replace("{:twice (* 2 data/n)}", "[data/n]");
    let text = DOUBLE.replace("{twice :int}", ":string").replace("{:twice (* 2 data/n)}", "(str data/n)");
    let open = DOUBLE.replace("{twice :int}", "{twice :int?, a-b {c :int?}}");
    let open = open.replace("{:twice (* 2 data/n)}", "{:twice nil :a-b {:c nil} :more data/n}");
    for toml in [DOUBLE, &list, &text, &open] {
        let served = Wish::of(&[("double", toml)]).start().await;
        let described = served.get("/agents/double").await.json();
        let context = json!({"n": 2});
        assert!(jsonschema::is_valid(&described["context_schema"], &context), "{described}");
        let answer = served.post("/agents/double/run", json!({"context": context}).to_string()).await.json();
        let schema = &described["answer_schema"];
        assert!(schema.is_object() && jsonschema::is_valid(schema, &answer["return"]), "{schema} {}", answer["return"]);
    }
}

#[tokio::test]
async fn a_stream_has_every_event_of_the_session_and_ends_with_the_step() {
    let served = Wish::of(&[("double", DOUBLE)]).start().await;
    let got = served.post("/agents/double/run", r#"{"context": {"n": 4}, "stream": true}"#).await;
    let events = got.events();
    let (last, streamed) = events.split_last().unwrap();
    let names: Vec<&str> = streamed.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, kinds(&served, &got.session.unwrap()));
    assert_eq!(last.0, "step");
    assert_eq!(serde_json::from_str::<serde_json::Value>(&last.1).unwrap()["return"], json!({"twice": 8}));
    let asked = served.request("POST", "/agents/double/run").header("accept", "text/event-stream");
    let by_header = served.send(asked.body(r#"{"context": {"n": 4}}"#)).await;
    assert_eq!(by_header.events().last().unwrap().0, "step");
}

#[tokio::test]
async fn a_run_that_waits_is_resumed_over_http_question_by_question() {
    let served = Wish::of(&[("ask", ASK)]).start().await;
    let waiting = served.post("/agents/ask/run", "{}").await;
    let id = waiting.session.clone().unwrap();
    assert_eq!((waiting.status, waiting.json()["fail"]["reason"].clone()), (202, json!("suspended")));
    let question = waiting.json()["waits_for"].as_str().unwrap().to_owned();
    let answers = json!({"answers": {(question.as_str()): "blue"}}).to_string();
    let second = served.post(&format!("/runs/{id}/answers"), answers).await;
    assert_eq!(second.status, 202, "{}", second.text);
    assert_ne!(second.json()["waits_for"], question);
    let done = served.post(&format!("/runs/{id}/answers"), r#"{"answer": "large"}"#).await;
    assert_eq!((done.status, done.json()["return"].clone()), (200, json!({"colour": "blue", "size": "large"})));
    assert_eq!(served.session_files().len(), 1);
    let again = served.post(&format!("/runs/{id}/answers"), r#"{"answer": "large"}"#).await;
    assert!(again.status == 400 && again.text.contains("has ended"), "{} {}", again.status, again.text);
    assert_eq!(again.json()["error"]["reason"], "invalid_context");
    assert!(again.text.contains("GET /runs/ID") && !again.text.contains("`continue`"), "{}", again.text);
}

#[tokio::test]
async fn a_session_whose_file_is_lost_is_whole_in_the_spare_folder_and_found_there() {
    let folder: Arc<OnceLock<PathBuf>> = Arc::default();
    let known = Arc::clone(&folder);
    let model = Server::script(move |_, _| {
        let files = std::fs::read_dir(known.get().unwrap()).unwrap().map(|entry| entry.unwrap().path());
        for file in files.filter(|file| file.extension().is_some_and(|ending| ending == "jsonl")) {
            std::fs::remove_file(file).unwrap();
        }
        answer("a poem")
    })
    .await;
    let served = Wish::of(&[("writer", TEXT)]).with_model_at(&model.base_url).start().await;
    let folders = served.workbench.folders.clone();
    folder.set(folders.sessions_dir.clone()).unwrap();
    let got = served.post("/agents/writer/run", r#"{"context": {"subject": "rain"}}"#).await;
    assert_eq!((got.status, got.json()["return"].clone()), (200, json!("a poem")), "{}", got.text);
    let id = got.session.clone().unwrap();
    let spare = Session::open(&folders.spare_dir.join(format!("{id}.jsonl"))).unwrap();
    assert_eq!(spare.events().last().unwrap().event.kind(), "run.end");
    let read = served.get(&format!("/runs/{id}")).await;
    assert_eq!((read.status, read.json()["return"].clone()), (200, json!("a poem")));
}

#[tokio::test]
async fn a_request_names_no_files_and_no_runs_of_agents_that_are_not_served() {
    let served = Wish::of(&[("double", DOUBLE)]).start().await;
    let own = served.post("/agents/double/run", r#"{"context": {"n": 1}}"#).await.session.unwrap();
    let other = Wish::of(&[("ask", ASK)]).start().await;
    let foreign = other.post("/agents/ask/run", "{}").await.session.unwrap();
    let file = other.session_files().remove(0);
    // The same file, in the folder of the first server.
    std::fs::copy(&file, served.workbench.folders.sessions_dir.join(file.file_name().unwrap())).unwrap();
    let encoded = file.display().to_string().replace('/', "%2F");
    for id in [foreign.as_str(), "last", "..", &encoded, &own[..12], "2026-11-25T00-00-00Z-00000000"] {
        let got = served.get(&format!("/runs/{id}")).await;
        assert_eq!(got.status, 404, "{id}: {}", got.text);
    }
}

#[tokio::test]
async fn tools_that_start_a_process_are_refused_by_name_unless_they_are_allowed() {
    let served = Wish::of(&[("shell", COMMAND)]).start().await;
    let got = served.post("/agents/shell/run", "{}").await;
    assert_eq!((got.status, got.json()["error"]["reason"].clone()), (403, json!("tool_denied")));
    assert!(got.text.contains("touch") && got.text.contains("--allow-tools"), "{}", got.text);
    assert!(served.session_files().is_empty());
    let parent = "name = \"parent\"\nmode = \"ptc_lisp\"\nprompt = \"go\"\nprogram = \"(return (tool/child {}))\"\n[tools.child]\nkind = \"agent\"\ndescription = \"A child\"\n";
    let agent = format!("{parent}[tools.child.agent]\n{}", COMMAND.replace("[tools.", "[tools.child.agent.tools."));
    let served = Wish::of(&[("parent", &agent)]).start().await;
    assert_eq!(served.post("/agents/parent/run", "{}").await.status, 403);
}

#[tokio::test]
async fn unusable_requests_get_an_error_that_names_what_is_wrong() {
    let served = Wish::of(&[("double", DOUBLE), ("judge", JSON)]).start().await;
    let large = format!("{{\"context\": {{\"n\": \"{}\"}}}}", "x".repeat(17 << 20));
    let rows: &[(&str, &str, &str, u16, &str)] = &[
        ("POST", "/agents/duble/run", "{}", 404, "did you mean `double`"),
        ("POST", "/agents/double/run", "{", 400, "not JSON"),
        ("POST", "/agents/double/run", "[]", 400, "not a JSON object"),
        ("POST", "/agents/double/run", r#"{"context": {"n": 1, "n": 2}}"#, 400, r#"the member \"n\" twice"#),
        ("POST", "/v1/chat/completions", r#"{"n": 1, "n": 1}"#, 400, r#"the member \"n\" twice"#),
        ("POST", "/agents/double/run", r#"{"contxt": {}}"#, 400, "did you mean `context`"),
        ("POST", "/agents/double/run", r#"{"context": 1}"#, 400, "`context`"),
        ("POST", "/agents/double/run", r#"{"context": {"n": 1, "nn": 2}}"#, 400, "no input `nn`; did you mean `n`?"),
        ("POST", "/agents/double/run", r#"{"seed": -1}"#, 400, "`seed`"),
        ("POST", "/agents/double/run", r#"{"stream": 1}"#, 400, "`stream`"),
        ("POST", "/agents/double/run", r#"{"context": {"n": "many"}}"#, 400, "invalid_context"),
        ("POST", "/agents/double/run", "{}", 400, "`n` is missing"),
        ("POST", "/agents/double/run", &large, 413, "more than"),
        ("GET", "/agents/double/run", "", 405, "methods: POST"),
        ("DELETE", "/healthz", "", 405, "methods: GET"),
        ("POST", "/agents/double/stop", "{}", 404, "paths:"),
        ("GET", "/", "", 404, "paths:"),
        ("POST", "/v1/chat/completions", "{}", 400, "`model` is missing"),
        ("POST", "/v1/embeddings", "{}", 404, "paths:"),
    ];
    for (method, path, body, status, text) in rows {
        let request = served.request(method, path).body((*body).to_owned());
        let got = served.send(request).await;
        let start: String = body.chars().take(40).collect();
        assert_eq!(got.status, *status, "{method} {path} {start}: {}", got.text);
        assert!(got.text.contains(text), "{method} {path} {start}: {}", got.text);
    }
}

#[tokio::test]
async fn a_key_is_needed_for_everything_but_the_health_check() {
    let key = "0123456789abcdef";
    let served = Wish { key: Some(key), ..Wish::of(&[("double", DOUBLE)]) }.start().await;
    assert_eq!(served.get("/healthz").await.status, 200);
    for (method, path) in [
        ("GET", "/agents"),
        ("GET", "/metrics"),
        ("POST", "/agents/double/run"),
        ("GET", "/v1/models"),
        ("GET", "/none"),
    ] {
        for given in [None, Some("Bearer 0123456789abcdeg"), Some("Bearer "), Some(key)] {
            let request = served.request(method, path);
            let request = given.into_iter().fold(request, |request, given| request.header("authorization", given));
            assert_eq!(served.send(request).await.status, 401, "{method} {path} {given:?}");
        }
    }
    for scheme in ["Bearer", "bearer", "BEARER"] {
        let request = served.request("GET", "/agents").header("authorization", format!("{scheme} {key}"));
        assert_eq!(served.send(request).await.status, 200, "{scheme}");
    }
    assert!(!served.log.lock().unwrap().join("\n").contains(key));
}

#[tokio::test]
async fn requests_beyond_the_most_runs_are_refused_and_a_client_that_leaves_stops_its_run() {
    let mut model = Server::play([Play::silent([""; 0])]).await;
    let mut wish = Wish::of(&[("judge", JSON)]).with_model_at(&model.base_url);
    wish.options.max_runs = 1;
    let served = wish.start().await;
    let first = served.request("POST", "/agents/judge/run").body(r#"{"context": {"text": "a"}}"#);
    let first = tokio::spawn(first.send());
    while model.received().is_empty() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let busy = served.post("/agents/judge/run", r#"{"context": {"text": "b"}}"#).await;
    assert!(busy.status == 429 && busy.text.contains("--max-runs"), "{} {}", busy.status, busy.text);
    first.abort();
    // The model's connection is closed with the run.
    assert_eq!(model.client_hung_up().await, 0);
    let file = served.session_files().remove(0);
    loop {
        let session = ptc_workbench::session::Session::open(&file).unwrap();
        let ended = session.events().find_map(|envelope| match envelope.event {
            Event::RunEnd(end) => Some(end),
            _ => None,
        });
        if let Some(end) = ended {
            assert_eq!(end.fail.unwrap().reason, "cancelled");
            break;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    for line in [
        "runs_active{agent=\"judge\"} 0",
        "runs_total{agent=\"judge\",outcome=\"cancelled\"} 1",
        "run_seconds_bucket{agent=\"judge\",le=\"300\"} 1",
        "run_seconds_count{agent=\"judge\"} 1",
    ] {
        served.until_counted(line).await;
    }
}

#[tokio::test]
async fn a_run_beyond_its_time_ends_as_a_timeout() {
    let model = Server::play([Play::silent([""; 0])]).await;
    let mut wish = Wish::of(&[("judge", JSON)]).with_model_at(&model.base_url);
    wish.options.timeout = Some(Duration::from_millis(50));
    let served = wish.start().await;
    let got = served.post("/agents/judge/run", r#"{"context": {"text": "a"}}"#).await;
    assert_eq!((got.status, got.json()["fail"]["reason"].clone()), (504, json!("mission_timeout")));
    let fail = &got.json()["fail"];
    assert_eq!(fail["message"], "the run did not end within the --timeout of the server");
    assert!(fail["hint"].as_str().unwrap().contains("--timeout"), "{fail}");
    let replayed = served.workbench.replay(&served.session(&got.session.unwrap())).await.unwrap();
    assert_eq!(replayed.differences, []);
}

#[tokio::test]
async fn names_that_need_encoding_are_served() {
    let served = Wish::of(&[("my agent", DOUBLE), ("gr\u{fc}n \"a\"", DOUBLE)]).start().await;
    for name in ["my%20agent", "gr%C3%BCn%20%22a%22"] {
        assert_eq!(served.get(&format!("/agents/{name}")).await.status, 200, "{name}");
        let got = served.post(&format!("/agents/{name}/run"), r#"{"context": {"n": 3}}"#).await;
        assert_eq!((got.status, got.json()["return"].clone()), (200, json!({"twice": 6})), "{name}");
    }
}

#[tokio::test]
async fn requests_of_foreign_pages_and_hosts_get_an_error_of_the_usual_form() {
    let served = Wish::of(&[("double", DOUBLE)]).start().await;
    for (header, value) in [("host", "evil.example"), ("origin", "https://evil.example")] {
        let got = served.send(served.request("GET", "/agents").header(header, value)).await;
        let error = &got.json()["error"];
        assert_eq!((got.status, error["reason"].clone()), (403, json!("forbidden")), "{header}");
        assert!(error["message"].is_string() && error["hint"].is_string(), "{error}");
    }
    assert_eq!(served.send(served.request("HEAD", "/healthz")).await.status, 200);
}

#[tokio::test]
async fn the_end_of_the_server_stops_its_runs_and_their_clients_get_their_steps() {
    let model = Server::play([Play::silent([""; 0])]).await;
    let served = Wish::of(&[("judge", JSON)]).with_model_at(&model.base_url).start().await;
    let running = served.request("POST", "/agents/judge/run").body(r#"{"context": {"text": "a"}}"#);
    let running = tokio::spawn(running.send());
    while model.received().is_empty() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    served.end.cancel();
    served.closing.close();
    let reply = running.await.unwrap().unwrap();
    assert_eq!(reply.status().as_u16(), 503);
    let step: serde_json::Value = serde_json::from_str(&reply.text().await.unwrap()).unwrap();
    assert_eq!(step["fail"]["reason"], "cancelled");
    served.task.await.unwrap();
}

#[tokio::test]
async fn runs_at_the_same_time_leave_whole_sessions_and_are_counted() {
    let model = Server::play([answer("{\"good\": true}")]).await;
    let mut wish = Wish::of(&[("judge", JSON), ("writer", TEXT)]).with_model_at(&model.base_url);
    wish.options.max_runs = 64;
    let served = wish.start().await;
    let requests = (0..40).map(|number| {
        let body = json!({"context": {"text": format!("text {number}")}}).to_string();
        served.post("/agents/judge/run", body)
    });
    let all = futures::future::join_all(requests).await;
    let mut ids: Vec<String> = all.iter().filter_map(|got| got.session.clone()).collect();
    ids.sort();
    ids.dedup();
    assert_eq!((all.iter().filter(|got| got.status == 200).count(), ids.len()), (40, 40));
    for id in &ids {
        assert_eq!(served.session(id).damage, []);
    }
    let metrics = served.get("/metrics").await.text;
    assert!(metrics.contains("runs_total{agent=\"judge\",outcome=\"returned\"} 40"), "{metrics}");
    assert!(metrics.contains("tokens_total{agent=\"judge\",kind=\"output\"} 280"), "{metrics}");
    assert!(served.dir().exists());
}

#[tokio::test]
async fn a_client_cannot_name_a_file_of_the_server() {
    let agent = "mode = \"text\"\nprompt = \"{{photo}}\"\nsignature = \"(photo :file?) -> :string\"\n";
    let served = Wish::of(&[("seer", agent)]).start().await;
    let record = json!({"name": "a", "type": "text/plain", "size": 1, "sha256": "0".repeat(64)});
    for photo in [json!({"file": "/etc/passwd"}), json!({"file": "seer.toml"}), record] {
        let got = served.post("/agents/seer/run", json!({"context": {"photo": photo}}).to_string()).await;
        assert!(got.status == 400 && got.text.contains("clients cannot give files"), "{} {}", got.status, got.text);
    }
    assert_eq!(served.session_files().len(), 0);
}

#[tokio::test]
async fn the_stream_of_a_resumed_run_has_every_event_with_its_number_in_the_session() {
    let agent = "mode = \"ptc_lisp\"\nprompt = \"go\"\nsignature = \"() -> :string\"\nmax_turns = 1\n[tools.ask_user]\nkind = \"builtin\"\n";
    let model = Server::play([answer("```clojure\n(return (tool/ask_user {:question \"Which?\"}))\n```")]).await;
    let served = Wish::of(&[("asks", agent)]).with_model_at(&model.base_url).start().await;
    let id = served.post("/agents/asks/run", "{}").await.session.unwrap();
    let got = served.post(&format!("/runs/{id}/answers"), r#"{"answer": "this", "stream": true}"#).await;
    let events = got.events();
    let (last, streamed) = events.split_last().unwrap();
    assert_eq!(last.0, "step", "{}", got.text);
    let data = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
    let numbers: Vec<(u64, String)> =
        streamed.iter().map(|(name, line)| (data(line)["s"].as_u64().unwrap(), name.clone())).collect();
    let session = served.session(&id);
    let recorded = session.events().map(|envelope| (envelope.seq, envelope.event.kind().to_owned()));
    assert_eq!(numbers, recorded.collect::<Vec<_>>());
}
