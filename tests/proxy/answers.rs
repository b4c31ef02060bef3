//! Answers from recordings: the same bytes with the service switched off, and what is not recorded.

use std::path::{Path, PathBuf};

use ptc_workbench::proxy::Answers;
use serde_json::{Value, json};

#[cfg(unix)]
use crate::cli::program::Program;
use crate::openai::server::{Play, Server, answer, delta};

use super::kit::{Got, Proxied, Wish, body_of, fetch, sessions_in};

async fn record() -> (Vec<PathBuf>, Vec<Got>, tempfile::TempDir) {
    let busy = Play::page("429 Too Many Requests", "retry-after: 1\r\n", "{}");
    let proxied = Proxied::play([busy, answer("first"), answer("second")]).await;
    let mut got = Vec::new();
    for _ in 0..2 {
        got.push(proxied.chat(&[("user", "on 2026-01-02 in /home/me/a")]).await);
    }
    got.push(proxied.chat(&[("user", "other")]).await);
    let (sessions, dir) = proxied.end().await;
    (sessions.iter().map(|session| session.path.clone()).collect(), got, dir)
}

async fn answering(files: &[PathBuf], asks_upstream: bool, plays: Vec<Play>) -> Proxied {
    let recorded = Some(Answers::read(files, &["nonce-[0-9]+".to_owned()]).unwrap());
    Proxied::start(Server::play(plays).await, Wish { recorded, asks_upstream, ..Wish::default() }).await
}

#[tokio::test(flavor = "multi_thread")]
async fn recorded_requests_get_the_recorded_bytes_in_the_recorded_order() {
    let (files, recorded, _dir) = record().await;
    let proxied = answering(&files, false, vec![]).await;
    let mut got = Vec::new();
    for _ in 0..2 {
        got.push(proxied.chat(&[("user", "on 2026-01-02 in /home/me/a")]).await);
    }
    got.push(proxied.chat(&[("user", "other")]).await);
    for (got, recorded) in got.iter().zip(&recorded) {
        assert_eq!((got.status, &got.body, got.is_whole), (recorded.status, &recorded.body, true));
        assert_eq!(got.headers.get("retry-after"), recorded.headers.get("retry-after"));
    }
    // The last one is repeated.
    assert_eq!(proxied.chat(&[("user", "other")]).await.body, recorded[2].body);
    assert!(proxied.server.received().is_empty());
    assert_eq!(proxied.misses(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn dates_paths_and_what_the_user_names_do_not_count() {
    let (files, recorded, _dir) = record().await;
    let proxied = answering(&files, false, vec![]).await;
    let got = proxied.chat(&[("user", "on 2027-11-30T10:00:00Z in /tmp/other/b")]).await;
    assert_eq!((got.status, got.body), (429, recorded[0].body.clone()));
    // The order of members and blanks do not count either; a text does.
    let blanks = body_of(&[("user", "other")]).replace(':', ": ");
    assert_eq!(fetch(proxied.post("/v1/chat/completions", blanks)).await.body, recorded[2].body);
    assert_eq!(proxied.misses(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_is_not_recorded_is_a_404_with_the_nearest_as_a_diff() {
    let (files, ..) = record().await;
    let dir = tempfile::tempdir().unwrap();
    let _ = &dir;
    assert!(files.iter().all(|file| !file.exists()), "the folder of the recording is gone");
    let (files, _, _dir) = record().await;
    let proxied = answering(&files, false, vec![]).await;
    let got = proxied.chat(&[("user", "another")]).await;
    let text = got.text();
    assert_eq!(got.status, 404);
    assert!(
        text.contains("not_recorded") && text.contains("- ") && text.contains("other") && text.contains("another"),
        "{text}"
    );
    let models = fetch(super::kit::client().get(format!("{}/v1/models", proxied.base))).await;
    assert_eq!(models.status, 404);
    assert_eq!((proxied.misses(), proxied.server.received().len()), (1, 0));
}

/// Sends the request, reads its first piece and leaves.
async fn leave(proxied: &Proxied, words: &str) {
    let mut reply = proxied.post("/v1/chat/completions", body_of(&[("user", words)])).send().await.unwrap();
    assert!(reply.chunk().await.unwrap().is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn replies_that_broke_off_break_off_again_and_errors_inside_of_replies_come_again() {
    let inside = "data: {\"error\":{\"message\":\"overloaded\"}}\n\n";
    let proxied = Proxied::play([Play::cut([delta("one")]), answer("two"), Play::events([inside])]).await;
    let mut recorded = Vec::new();
    for words in ["cut", "cut", "inside"] {
        recorded.push(proxied.chat(&[("user", words)]).await);
    }
    assert_eq!(recorded.iter().map(|got| got.is_whole).collect::<Vec<_>>(), [false, true, true]);
    let (sessions, _dir) = proxied.end().await;
    let files: Vec<PathBuf> = sessions.iter().map(|session| session.path.clone()).collect();
    let proxied = answering(&files, false, vec![]).await;
    for (words, recorded) in ["cut", "cut", "inside"].into_iter().zip(recorded) {
        let got = proxied.chat(&[("user", words)]).await;
        assert_eq!((got.body, got.is_whole), (recorded.body, recorded.is_whole), "{words}");
    }
    assert_eq!(proxied.misses(), 0);
}

/// Writes the session again with changed lines.
fn rewrite(file: &Path, change: impl Fn(&mut Value)) {
    let text = std::fs::read_to_string(file).unwrap();
    let mut lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()).collect::<Vec<_>>();
    for line in &mut lines {
        line.as_object_mut().unwrap().remove("b");
        change(line);
    }
    let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
    std::fs::write(file, lines.join("\n") + "\n").unwrap();
}

/// Writes the session again as it was before errors had a class.
fn without_classes(file: &Path) {
    rewrite(file, |line| {
        if let Some(error) = line.pointer_mut("/d/error").and_then(Value::as_object_mut) {
            assert!(error.remove("class").is_some());
        }
    });
}

/// Ends the recording proxy; returns its files.
async fn files_of(proxied: Proxied) -> (Vec<PathBuf>, tempfile::TempDir) {
    let (sessions, dir) = proxied.end().await;
    (sessions.iter().map(|session| session.path.clone()).collect(), dir)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_request_gets_the_replies_of_all_sessions_in_the_order_of_their_time() {
    let proxied = Proxied::script(|number, _| answer(&format!("reply {number}"))).await;
    // Only the date differs, and the replies begin conversations of their own.
    let asked: Vec<String> = [1, 2, 1, 1, 2, 1].iter().map(|day| format!("on 2026-01-0{day}")).collect();
    let mut recorded = Vec::new();
    for text in &asked {
        recorded.push(proxied.chat(&[("user", text.as_str())]).await.body);
    }
    let (mut files, _dir) = files_of(proxied).await;
    files.reverse();
    let proxied = answering(&files, false, vec![]).await;
    for (text, recorded) in asked.iter().zip(&recorded) {
        assert_eq!(proxied.chat(&[("user", text.as_str())]).await.body, *recorded);
    }
    let proxied = answering(&files, false, vec![]).await;
    for recorded in &recorded {
        assert_eq!(proxied.chat(&[("user", "on 2027-11-30")]).await.body, *recorded);
    }
}

/// Sends an empty request with a key in the query.
async fn ask(proxied: &Proxied, path: &str) -> Got {
    let mark = if path.contains('?') { '&' } else { '?' };
    fetch(proxied.post(&format!("{path}{mark}key=sk-1"), "{}")).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_recording_answers_for_its_upstream_and_the_form_that_the_query_asks_for() {
    let proxied = Proxied::script(|number, _| answer(&format!("reply {number}"))).await;
    let paths = [
        "/v1/chat/completions",
        "/ollama/v1/chat/completions",
        "/v1beta/models/g:streamGenerateContent?alt=sse",
        "/v1beta/models/g:streamGenerateContent",
        "/v1/responses",
    ];
    let mut recorded = Vec::new();
    for path in paths {
        recorded.push(ask(&proxied, path).await.body);
    }
    let (files, _dir) = files_of(proxied).await;
    let proxied = answering(&files, false, vec![]).await;
    for (path, recorded) in paths.iter().zip(&recorded).rev() {
        assert_eq!(ask(&proxied, path).await.body, *recorded, "{path}");
    }
    // Another upstream of the proxy is another service; an upstream that it does not have may have had another name.
    let other = ask(&proxied, "/ollama/v1/responses").await;
    assert_eq!(other.status, 404);
    assert!(other.text().contains("of ollama;") && other.text().contains("of openai"), "{}", other.text());
    assert_eq!(ask(&proxied, "/v1beta/models/g:generateContent?alt=sse").await.status, 404);
    for file in &files {
        rewrite(file, |line| {
            let upstream = line.pointer_mut("/captured/upstream").filter(|name| name.as_str() == Some("openai"));
            if let Some(upstream) = upstream {
                *upstream = "renamed".into();
            }
        });
    }
    let proxied = answering(&files, false, vec![]).await;
    assert_eq!(ask(&proxied, "/v1/responses").await.body, recorded[4]);
    assert_eq!(ask(&proxied, "/ollama/v1/responses").await.body, recorded[4]);
    assert_eq!(ask(&proxied, "/ollama/v1/chat/completions").await.body, recorded[1]);
}

/// Asks for a chat completion with this key.
async fn chat_with_key(proxied: &Proxied, key: &str, text: &str) -> Got {
    let request = proxied.post("/v1/chat/completions", body_of(&[("user", text)]));
    fetch(request.header("authorization", format!("Bearer {key}"))).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_with_the_key_of_the_client_is_found_and_the_key_is_not_shown() {
    let keys = ["sk-proxy-0123456789", "sk-another-9876543210"];
    let proxied = Proxied::play([answer("fine")]).await;
    let recorded = chat_with_key(&proxied, keys[0], &format!("use {}", keys[0])).await;
    let (files, _dir) = files_of(proxied).await;
    let proxied = answering(&files, false, vec![]).await;
    for key in keys {
        assert_eq!(chat_with_key(&proxied, key, &format!("use {key}")).await.body, recorded.body);
        let missed = chat_with_key(&proxied, key, &format!("do not use {key}")).await;
        assert!(missed.status == 404 && missed.text().contains("do not use"), "{}", missed.text());
        assert!(!missed.text().contains(key), "{}", missed.text());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reply_that_was_not_recorded_is_a_miss_that_names_the_reason() {
    let key = "sk-proxy-0123456789";
    let pieces = [delta("your key is sk-proxy-01"), delta("23456789")];
    let proxied = Proxied::play([Play::events(pieces)]).await;
    let text = "which key?";
    assert!(chat_with_key(&proxied, key, text).await.is_whole);
    let (files, _dir) = files_of(proxied).await;
    let proxied = answering(&files, true, vec![answer("asked")]).await;
    assert!(chat_with_key(&proxied, key, text).await.text().contains("asked"));
    let proxied = answering(&files, false, vec![]).await;
    let got = chat_with_key(&proxied, key, text).await;
    assert!(got.status == 404 && got.text().contains("bytes of the reply were not recorded"), "{}", got.text());

    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let root = format!("http://{}", free.local_addr().unwrap());
    drop(free);
    let proxied = Proxied::at(Server::play([answer("")]).await, &root, Wish::default()).await;
    assert_eq!(proxied.chat(&[("user", "hi")]).await.status, 502);
    let (files, _dir) = files_of(proxied).await;
    let proxied = answering(&files, false, vec![]).await;
    let got = proxied.chat(&[("user", "hi")]).await;
    assert_eq!(got.status, 404);
    assert!(got.text().contains("r0/t1 contains this request to /v1/chat/completions, but no reply"), "{}", got.text());
    assert_eq!(proxied.misses(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn replies_of_older_recordings_break_off_again() {
    let proxied = Proxied::script(|number, _| match number {
        0 => Play::cut([delta("one")]),
        _ => Play::silent([delta("begin")]),
    })
    .await;
    proxied.chat(&[("user", "cut")]).await;
    leave(&proxied, "left").await;
    let (sessions, _dir) = proxied.end().await;
    let files: Vec<PathBuf> = sessions.iter().map(|session| session.path.clone()).collect();
    for file in &files {
        without_classes(file);
    }
    let proxied = answering(&files, false, vec![]).await;
    for words in ["cut", "left"] {
        let got = proxied.chat(&[("user", words)]).await;
        assert!(!got.is_whole && got.status == 200, "{words}: {got:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_loads_a_model_is_answered_without_a_recording() {
    let (files, _, _dir) = record().await;
    let proxied = answering(&files, false, vec![]).await;
    let chat = json!({"model": "m", "messages": []});
    for (path, body, reason) in [
        ("/api/generate", json!({"model": "m"}), "load"),
        ("/api/chat", chat, "load"),
        ("/api/generate", json!({"model": "m", "keep_alive": 0}), "unload"),
    ] {
        let got = fetch(proxied.post(path, body.to_string())).await;
        let reply: Value = serde_json::from_str(&got.text()).unwrap();
        assert_eq!((got.status, &reply["model"], &reply["done_reason"]), (200, &json!("m"), &json!(reason)), "{path}");
    }
    assert_eq!((proxied.misses(), proxied.server.received().len()), (0, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_client_did_not_wait_for_is_an_answer_only_if_there_is_no_other() {
    let proxied = Proxied::script(|number, _| match number {
        1 => answer("whole"),
        _ => Play::silent([delta("begin")]),
    })
    .await;
    leave(&proxied, "twice").await;
    let whole = proxied.chat(&[("user", "twice")]).await;
    leave(&proxied, "once").await;
    let (sessions, _dir) = proxied.end().await;
    let files: Vec<PathBuf> = sessions.iter().map(|session| session.path.clone()).collect();
    let proxied = answering(&files, false, vec![]).await;
    assert_eq!(proxied.chat(&[("user", "twice")]).await.body, whole.body);
    let begun = proxied.chat(&[("user", "once")]).await;
    assert!(!begun.is_whole && begun.text().contains("begin"), "{begun:?}");
    assert_eq!(proxied.misses(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_missing_is_asked_and_recorded_when_that_is_wanted() {
    let (files, recorded, _dir) = record().await;
    let proxied = answering(&files, true, vec![answer("from upstream")]).await;
    assert_eq!(proxied.chat(&[("user", "other")]).await.body, recorded[2].body);
    assert!(proxied.server.received().is_empty());
    assert!(proxied.chat(&[("user", "new")]).await.text().contains("from upstream"));
    assert_eq!(proxied.server.received().len(), 1);
    let folder = proxied.sessions_dir();
    let unrecorded = std::sync::Arc::clone(&proxied.unrecorded);
    let (sessions, _dir) = proxied.end().await;
    // What a recording has answered is not recorded again.
    assert_eq!(sessions.len(), 1);
    let lines = unrecorded.lock().unwrap().clone();
    assert!(lines.len() == 1 && lines[0].from.is_some(), "{lines:?}");
    let all: Vec<PathBuf> = sessions_in(&folder).iter().map(|session| session.path.clone()).collect();
    // The new recording answers the new request.
    let again = answering(&all, false, vec![]).await;
    assert!(again.chat(&[("user", "new")]).await.text().contains("from upstream"));
    assert!(again.server.received().is_empty());
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn a_folder_of_recordings_begins_with_record_missing() {
    let chat =
        json!({"choices": [{"index": 0, "message": {"role": "assistant", "content": "hi"}, "finish_reason": "stop"}]});
    let server = Server::play([Play::json("200 OK", chat.to_string())]).await;
    let upstream = format!("openai={}", server.base_url.trim_end_matches("/v1"));
    let body = json!({"model": "m", "messages": [{"role": "user", "content": "hi"}]});
    let script = format!("curl -s $OPENAI_BASE_URL/chat/completions -d '{body}'");
    let all = tokio::task::spawn_blocking(move || {
        let program = Program::new();
        let run = |flags: &[&str]| {
            let start = ["proxy", "--upstream", &upstream, "--port", "0"];
            program.run([&start[..], flags, &["--", "sh", "-c", &script]].concat())
        };
        for name in ["new", "new", "tests/2026"] {
            run(&["--replay", name, "--record-missing"]).exits(0);
            let files = std::fs::read_dir(program.dir().join(name)).unwrap();
            let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
            assert_eq!(names.filter(|name| name.starts_with("20")).count(), 1, "{name}");
        }
        // These name sessions.
        for name in ["2026-01-01", "0badc0de", "last", "absent.jsonl"] {
            assert!(run(&["--replay", name, "--record-missing"]).exits(2).stderr.contains("--replay"));
            assert!(!program.dir().join(name).exists(), "{name}");
        }
        run(&["--replay", "new"]).exits(0).stdout.clone()
    });
    assert_eq!(all.await.unwrap(), chat.to_string());
    assert_eq!(server.received().len(), 2);
}

/// A request of Claude Code with two results in this order, as it is on this day and machine.
fn claude_body(day: &str, device: &str, order: [usize; 2]) -> String {
    let ids = ["toolu_01KCiJB4lMISN2g79ln5Mur9", "toolu_01BqI3JUH39U9a6FWa3hMN1f"];
    let uses: Vec<Value> = ids
        .iter()
        .map(|id| json!({"type": "tool_use", "id": id, "name": "Bash", "input": {"command": "ls"}}))
        .collect();
    let mut results: Vec<Value> = order
        .iter()
        .map(
            |&number| json!({"type": "tool_result", "tool_use_id": ids[number], "content": format!("result {number}")}),
        )
        .collect();
    results[1]["cache_control"] = json!({"type": "ephemeral"});
    let device = format!(r#"{{"device_id":"{device}","account_uuid":""}}"#);
    json!({
        "model": "claude", "max_tokens": 9, "metadata": {"user_id": device},
        "tools": [{"name": "Bash", "description": format!("The current month is {day}."), "input_schema": {"type": "object"}}],
        "messages": [
            {"role": "user", "content": "look"},
            {"role": "assistant", "content": uses},
            {"role": "user", "content": results},
        ],
    })
    .to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn another_day_another_machine_and_results_in_another_order_are_the_same_request() {
    let ask = async |proxied: &Proxied, body: String| fetch(proxied.post("/v1/messages", body)).await;
    let proxied = Proxied::play([answer("looked")]).await;
    let device = "730c524048bd36a19c4ab6c650df488494f6669c154c3fa559b5d54a05904a9c";
    let recorded = ask(&proxied, claude_body("November 2026", device, [0, 1])).await;
    let (files, _dir) = files_of(proxied).await;
    let proxied = answering(&files, false, vec![]).await;
    let other = "fff3a00fe67bb3ec5dac90824d5d9f7d6f0cd4fdf34122346ada0ec5525dffda";
    assert_eq!(ask(&proxied, claude_body("December 2026", other, [1, 0])).await.body, recorded.body);
    assert_eq!(proxied.misses(), 0);
    let exchanged = claude_body("November 2026", device, [0, 1]).replace("result 0", "result 1");
    assert_eq!(ask(&proxied, exchanged).await.status, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_recording_with_the_same_texts_is_preferred_to_one_that_differs_in_dates() {
    let ask = async |proxied: &Proxied, day: u32, key: &str| {
        let message = json!({"role": "user", "content": format!("What happened on November {day}, 2026?")});
        let body = json!({"model": "m", "prompt_cache_key": key, "messages": [message]});
        fetch(proxied.post("/v1/chat/completions", body.to_string())).await.body
    };
    let proxied = Proxied::script(|number, _| answer(&format!("reply {number}"))).await;
    let recorded = [ask(&proxied, 1, "ses_1").await, ask(&proxied, 2, "ses_2").await];
    let (files, _dir) = files_of(proxied).await;
    let proxied = answering(&files, false, vec![]).await;
    assert_eq!(ask(&proxied, 2, "ses_3").await, recorded[1]);
    assert_eq!(ask(&proxied, 1, "ses_4").await, recorded[0]);
    // No recording is of this day: they answer in their order.
    let proxied = answering(&files, false, vec![]).await;
    assert_eq!(ask(&proxied, 3, "ses_5").await, recorded[0]);
    assert_eq!(ask(&proxied, 3, "ses_6").await, recorded[1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_difference_to_the_nearest_request_is_cut_to_what_differs() {
    let proxied = Proxied::play([answer("one")]).await;
    let long = |word: &str| format!("{}{word}{}", "before ".repeat(500), " after".repeat(500));
    proxied.chat(&[("user", &long("red"))]).await;
    let (files, _dir) = files_of(proxied).await;
    let proxied = answering(&files, false, vec![]).await;
    let missed = proxied.chat(&[("user", &long("blue"))]).await.text();
    assert!(missed.contains("before red after") && missed.contains("before blue after"), "{missed}");
    assert!(missed.len() < 1_000, "{} bytes", missed.len());
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn a_miss_is_printed_once_also_when_its_upstream_answers() {
    let chat =
        json!({"choices": [{"index": 0, "message": {"role": "assistant", "content": "hi"}, "finish_reason": "stop"}]});
    let server = Server::script(move |_, _| Play::json("200 OK", chat.to_string())).await;
    let upstream = format!("openai={}", server.base_url.trim_end_matches("/v1"));
    let ask = |text: &str| {
        let body = json!({"model": "m", "messages": [{"role": "user", "content": text}]});
        format!("curl -s -o /dev/null $OPENAI_BASE_URL/chat/completions -d '{body}'")
    };
    let (one, twice) = (ask("one"), format!("{0}; {0}", ask("other")));
    let runs = tokio::task::spawn_blocking(move || {
        let program = Program::new();
        let run = |script: &str, flags: &[&str], code: i32| {
            let start = ["proxy", "--upstream", &upstream, "--port", "0", "--replay", "new"];
            program.run([&start[..], flags, &["--", "sh", "-c", script]].concat()).exits(code).stderr.clone()
        };
        let missing = &["--record-missing"][..];
        [run(&one, missing, 0), run(&twice, &[], 3), run(&twice, missing, 0)]
    });
    let [first, replayed, asked] = runs.await.unwrap();
    let why = "2 × this request to /v1/chat/completions is not recorded; the nearest is ";
    assert!(!first.contains("is not recorded"), "{first}");
    assert_eq!(replayed.matches(&format!("error: {why}")).count(), 1, "{replayed}");
    assert_eq!(replayed.matches("\"other\"").count(), 1, "{replayed}");
    assert_eq!(asked.matches(&format!("sent to its upstream: {why}")).count(), 1, "{asked}");
}

#[test]
fn other_sessions_and_broken_patterns_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("2026-01-01T00-00-00Z-00000000.jsonl");
    std::fs::write(&file, "nonsense\n").unwrap();
    assert!(Answers::read(&[file], &[]).is_err());
    assert!(Answers::read(&[], &["(".to_owned()]).err().unwrap().contains("is not a pattern"));
}
