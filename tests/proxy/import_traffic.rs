//! Bytes that other programs recorded: keys in them, replies that a file lacks, times and statuses, pauses.

use ptc_workbench::event::Event;
use ptc_workbench::model::unpack;
use ptc_workbench::proxy::Answers;
use ptc_workbench::session::Session;
use serde_json::{Value, json};

use super::background::{assert_known, messages, requests, response, tokens};
use super::imports::lines;
use crate::cli::program::Program;

/// An entry of an archive whose response has this status and content.
fn entry(at: &str, messages: &Value, status: u16, content: &Value) -> Value {
    json!({"startedDateTime": at, "time": 12.5,
        "request": {"method": "POST", "url": "https://api.openai.com/v1/chat/completions", "headers": [],
            "postData": {"text": json!({"model": "gpt-x", "messages": messages}).to_string()}},
        "response": {"status": status, "headers": [], "content": content}})
}

fn archive(entries: &[Value]) -> String {
    json!({"log": {"entries": entries}}).to_string()
}

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

fn reply(text: &str) -> Value {
    let message = json!({"role": "assistant", "content": text});
    json!({"model": "gpt-x", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})
}

fn import(program: &Program, name: &str, text: &str) -> Value {
    program.file(name, text);
    program.run(["sessions", "import", name, "--json"]).exits(0).json()
}

fn sessions(program: &Program) -> Vec<Session> {
    program.session_files().iter().map(|file| Session::open(file).unwrap()).collect()
}

/// Everything that a session has, with the bytes of replies.
fn content(session: &Session) -> String {
    let mut text = std::fs::read_to_string(&session.path).unwrap();
    for envelope in session.events() {
        if let Event::Wire(wire) = &envelope.event {
            for (_, bytes) in unpack(wire).unwrap() {
                text.push_str(&String::from_utf8_lossy(&bytes));
            }
        }
    }
    text
}

#[test]
fn keys_in_addresses_and_headers_of_a_file_are_not_recorded() {
    let program = Program::new();
    let words = "hunter2pass sk-header-12345678";
    let request = json!({"model": "gpt-x", "messages": [user("hi")]});
    let mut of_archive =
        entry("2026-06-01T10:00:00Z", &json!([user("hi")]), 200, &json!({"text": reply(words).to_string()}));
    of_archive["request"]["url"] =
        json!("https://user:hunter2pass@llm.example/v1/chat/completions?api-key=sk-query-12345678#part");
    of_archive["request"]["headers"] = json!([{"name": "authorization", "value": "Bearer sk-header-12345678"}]);
    import(&program, "keys.har", &archive(&[of_archive]));
    let headers = json!({"Authorization": "Bearer sk-header-12345678", "x-own": ["kept"]});
    let pairs = ["body", "json", "content", "data"].map(|member| {
        json!({"request": {"url": "https://user:hunter2pass@llm.example/v1/chat/completions#part", "headers": headers, member: request},
            "response": {"status_code": 200, "headers": {"set-cookie": "session=sk-cookie-12345678"}, member: reply(words)}})
    });
    import(&program, "keys.jsonl", &lines(&pairs));
    import(
        &program,
        "host.jsonl",
        &lines(&[
            json!({"url": "user:hunter2pass@llm.example/v1/chat/completions", "request": request, "response": reply("x")}),
        ]),
    );
    let sessions = sessions(&program);
    assert_eq!(sessions.len(), 6);
    for session in &sessions {
        let text = content(session);
        for key in ["hunter2pass", "sk-header", "sk-query", "sk-cookie", "user:", "#part"] {
            assert!(!text.contains(key), "{key}: {text}");
        }
        let sent = session.events().find_map(|envelope| match &envelope.event {
            Event::Sent(sent) => Some(sent.url.clone()),
            _ => None,
        });
        assert!(sent.unwrap().ends_with("://llm.example/v1/chat/completions"));
    }
    assert!(sessions.iter().any(|session| content(session).contains("x-own")));
}

#[test]
fn a_reply_that_a_file_lacks_is_missing_and_an_error_may_be_empty() {
    let program = Program::new();
    let stream = json!({"mimeType": "text/event-stream", "size": 0});
    let entries = [
        entry("2026-06-01T10:00:00Z", &json!([user("not saved")]), 200, &stream),
        entry("2026-06-01T10:01:00Z", &json!([user("empty")]), 200, &json!({"text": ""})),
        entry("2026-06-01T10:02:00Z", &json!([user("aborted")]), 0, &json!({"text": ""})),
        entry("2026-06-01T10:03:00Z", &json!([user("broken")]), 200, &json!({"text": "%", "encoding": "base64"})),
        entry("2026-06-01T10:04:00Z", &json!([user("left out")]), 401, &json!({"size": 20})),
        entry("2026-06-01T10:05:00Z", &json!([user("refused")]), 401, &json!({"text": ""})),
    ];
    let report = import(&program, "lacks.har", &archive(&entries));
    assert_eq!((&report["requests"], &report["skipped"]), (&json!(6), &json!(0)), "{report}");
    let without = json!({"request": {"model": "gpt-x", "messages": [user("nothing")]}, "response": null});
    import(&program, "lacks.jsonl", &lines(&[without]));
    let mut refused = 0;
    for session in report["sessions"].as_array().unwrap() {
        let shown = program.run(["sessions", "show", session.as_str().unwrap()]).exits(0).stdout.clone();
        refused += usize::from(!shown.contains("the file has no reply"));
    }
    assert_eq!(refused, 2, "a refusal keeps its status without its text");
    let files = program.session_files();
    assert_eq!((files.len(), Answers::read(&files, &[]).unwrap().len()), (7, 2), "only the refusals can be repeated");
}

#[test]
fn a_body_that_was_compressed_is_read_and_an_http_message_is_no_body() {
    let program = Program::new();
    let mut packed = entry("2026-06-01T10:00:00Z", &json!([user("hi")]), 200, &json!({"text": reply("x").to_string()}));
    packed["request"]["headers"] = json!([{"name": "content-encoding", "value": "gzip"}]);
    import(&program, "packed.har", &archive(&[packed]));
    assert_eq!(sessions(&program)[0].request(&"r0/t1".into()).unwrap().len(), 1, "its message is read");
    let raw = "POST /v1/chat/completions HTTP/1.1\nAuthorization: Bearer sk-header-12345678\n\n{}";
    program.file("raw.jsonl", lines(&[json!({"url": "/v1/chat/completions", "request": raw, "response": reply("x")})]));
    let done = program.run(["sessions", "import", "raw.jsonl"]);
    assert!(done.stderr.contains("the body of request 1 is not JSON"), "{}", done.stderr);
    assert!(sessions(&program).iter().all(|session| !content(session).contains("sk-header")));
}

#[test]
fn a_request_without_its_body_is_reported() {
    let program = Program::new();
    let mut bare = entry("2026-06-01T10:01:00Z", &json!([]), 200, &json!({"text": reply("x").to_string()}));
    bare["request"].as_object_mut().unwrap().remove("postData");
    let whole = entry("2026-06-01T10:00:00Z", &json!([user("hi")]), 200, &json!({"text": reply("x").to_string()}));
    program.file("bare.har", archive(&[whole, bare]));
    let done = program.run(["sessions", "import", "bare.har"]);
    assert!(
        done.exits(0).stderr.contains("the request of 2026-06-01T10:01:00Z has no body in the file"),
        "{}",
        done.stderr
    );
    let url = "https://api.openai.com/v1/chat/completions";
    let pairs = lines(&[
        json!({"request": {"model": "gpt-x", "messages": [user("hi")]}, "response": reply("x")}),
        json!({"request": {"url": url, "headers": {"authorization": "Bearer sk-header-12345678"}}, "response": reply("x")}),
    ]);
    program.file("bare.jsonl", format!("{pairs}broken\n"));
    let done = program.run(["sessions", "import", "bare.jsonl"]);
    assert!(done.exits(0).stderr.contains("request 2 has no body in the file"), "{}", done.stderr);
    assert!(done.stderr.contains("a line is not JSON") && done.stderr.contains("2 others skipped"), "{}", done.stderr);
}

#[test]
fn times_and_statuses_of_lines_are_read_wherever_they_are() {
    let program = Program::new();
    let request = |text: &str| json!({"url": "https://api.openai.com/v1/chat/completions", "body": {"model": "gpt-x", "messages": [user(text)]}});
    let failed = json!({"error": {"message": "Rate limit", "type": "rate_limit"}});
    let text = lines(&[
        json!({"timestamp": 1_714_000_000, "request": request("one"), "response": {"status": 429, "headers": {"retry-after": "7"}, "body": failed}}),
        json!({"timestamp": 1_714_000_005.5, "request": request("two"), "response": {"status_code": 503, "json": failed}}),
        json!({"time": "2024-04-24T23:06:47", "status": 500, "request": request("three"), "response": {"body": failed}}),
    ]);
    import(&program, "times.jsonl", &text);
    let found: Vec<(i64, u16, bool)> = sessions(&program)
        .iter()
        .map(|session| {
            let head = session.events().find_map(|envelope| match &envelope.event {
                Event::RawReply(head) => Some((envelope.at_ms, head.status, content(session).contains("retry-after"))),
                _ => None,
            });
            head.unwrap()
        })
        .collect();
    assert_eq!(
        found,
        [(1_714_000_000_000, 429, true), (1_714_000_005_500, 503, false), (1_714_000_007_000, 500, false)]
    );
}

#[test]
fn a_pause_does_not_split_a_conversation_of_a_file() {
    let program = Program::new();
    let text = |words: &str| json!({"mimeType": "application/json", "text": reply(words).to_string()});
    let said = json!({"role": "assistant", "content": "one"});
    let entries = [
        entry("2026-06-01T10:00:00Z", &json!([user("first")]), 200, &text("one")),
        // Other conversations begin in the meantime.
        entry("2026-06-01T10:20:00Z", &json!([user("other")]), 200, &text("else")),
        entry("2026-06-01T18:00:00Z", &json!([user("first"), said, user("second")]), 200, &text("two")),
    ];
    let report = import(&program, "pause.har", &archive(&entries));
    assert_eq!(report["sessions"].as_array().unwrap().len(), 2, "{report}");
    let first = report["sessions"][0].as_str().unwrap();
    let shown = program.run(["sessions", "show", first, "--json"]).exits(0).json();
    assert_eq!((&shown[0]["return"], &shown[0]["usage"]["turns"]), (&json!("two"), &json!(2)));
}

/// The requests of a conversation whose first reply is fetched: method, path, body, reply.
fn background_requests() -> Vec<(&'static str, &'static str, Option<Value>, Value)> {
    let ask = json!({"model": "m", "background": true, "input": "a long question"});
    let next = json!({"model": "m", "previous_response_id": "resp_0", "input": "and?"});
    let fetch = |path: &'static str, status: &str| ("GET", path, None, response("resp_0", status));
    vec![
        ("GET", "/v1/responses/resp_9", None, response("resp_9", "completed")),
        ("POST", "/v1/responses", Some(ask), response("resp_0", "queued")),
        fetch("/v1/responses/resp_0", "in_progress"),
        fetch("/v1/responses/resp_0?include=x", "completed"),
        fetch("/v1/responses/resp_0", "completed"),
        ("GET", "/v1/models", None, json!({"data": []})),
        ("POST", "/v1/responses", Some(next), response("resp_1", "completed")),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_fetches_a_deferred_reply_is_a_turn_in_every_file() {
    let archived = (0..).zip(background_requests()).map(|(second, (method, path, body, reply))| {
        let mut request = json!({"method": method, "url": format!("https://api.openai.com{path}"), "headers": []});
        if let Some(body) = body {
            request["postData"] = json!({"text": body.to_string()});
        }
        let content = json!({"mimeType": "application/json", "text": reply.to_string()});
        json!({"startedDateTime": format!("2026-06-01T10:00:{second:02}Z"), "time": 100, "request": request,
            "response": {"status": 200, "headers": [], "content": content}})
    });
    let har = archive(&archived.collect::<Vec<_>>());
    let pairs = background_requests().into_iter().map(|(method, path, body, reply)| {
        json!({"request": {"method": method, "url": format!("https://api.openai.com{path}"), "body": body},
            "response": {"status": 200, "body": reply}})
    });
    let pairs = lines(&pairs.collect::<Vec<_>>());
    for (name, text) in [("fetched.har", har), ("fetched.jsonl", pairs)] {
        let program = Program::new();
        let report = import(&program, name, &text);
        assert_eq!((&report["requests"], &report["skipped"]), (&json!(3), &json!(4)), "{name}: {report}");
        let sessions = sessions(&program);
        let [session] = sessions.as_slice() else { panic!("{name}: {} sessions", sessions.len()) };
        let expected = ["POST /v1/responses", "GET /v1/responses/resp_0?include=x", "POST /v1/responses"];
        assert_eq!(requests(session), expected, "{name}");
        assert_known(session, "r0/t3").await;
        assert_eq!((messages(session, "r0/t2"), tokens(session)), (vec![], Some((10, 14))), "{name}");
    }
}

#[test]
fn a_file_of_no_format_is_refused_with_the_formats() {
    let program = Program::new();
    for text in [r#"{"something": "else"}"#, "{\"a\": 1}\n{\"b\": 2}\n", "# notes\n"] {
        program.file("odd.jsonl", text);
        let done = program.run(["sessions", "import", "odd.jsonl"]);
        for format in ["PtcRunner", "HAR", "OTLP", "ATIF", "Claude Code, Codex and Gemini CLI"] {
            assert!(done.exits(2).stderr.contains(format), "{format}: {}", done.stderr);
        }
    }
    // A trace with a broken line is still one.
    program.file("trace.jsonl", "{\"schema_version\": 2, \"event\": \"run.start\"}\nbroken\n");
    assert!(program.run(["sessions", "import", "trace.jsonl"]).exits(2).stderr.contains("line 2 is not JSON"));
}
