//! Imports of the same request several times, of a file that was imported before, of rewinds and of spans without messages.

use ptc_workbench::proxy::Retention;
use serde_json::{Value, json};

use crate::cli::program::Program;

fn lines(lines: &[Value]) -> String {
    lines.iter().map(Value::to_string).collect::<Vec<_>>().join("\n") + "\n"
}

/// A request with this question and its reply.
fn pair(question: &str, reply: &str) -> Value {
    let message = json!({"role": "assistant", "content": reply});
    json!({"time": "2026-03-01T10:00:00Z",
        "request": {"model": "gpt-x", "messages": [{"role": "user", "content": question}]},
        "response": {"model": "gpt-x", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}})
}

/// Returns the answers of the sessions, sorted.
fn returned(program: &Program, sessions: &Value) -> Vec<String> {
    let mut all: Vec<String> = sessions.as_array().unwrap().iter().map(|id| returned_of(program, id)).collect();
    all.sort();
    all
}

fn returned_of(program: &Program, session: &Value) -> String {
    let shown = program.run(["sessions", "show", session.as_str().unwrap(), "--json"]).exits(0).json();
    shown[0]["return"].as_str().unwrap().to_owned()
}

/// The body of a request.
fn body(program: &Program, session: &Value, turn: u32) -> Value {
    let address = format!("r0/t{turn}");
    let shown =
        program.run(["sessions", "show", session.as_str().unwrap(), "--body", &address]).exits(0).stdout.clone();
    serde_json::from_str(&shown).unwrap()
}

#[test]
fn the_same_request_several_times_at_one_time_loses_no_reply() {
    let program = Program::new();
    program.file("samples.jsonl", lines(&[pair("hi", "one"), pair("hi", "two"), pair("hi", "three")]));
    let done = program.run(["sessions", "import", "samples.jsonl", "--json"]);
    assert_eq!(done.exits(0).stderr, "");
    let report = done.json();
    assert_eq!((&report["requests"], &report["skipped"]), (&json!(3), &json!(0)));
    assert_eq!(returned(&program, &report["sessions"]), ["one", "three", "two"]);

    // The same entry twice, too.
    let entry = json!({"startedDateTime": "2026-03-01T10:00:00Z", "time": 5,
        "request": {"method": "POST", "url": "https://api.openai.com/v1/chat/completions", "headers": [],
            "postData": {"text": pair("hi", "")["request"].to_string()}},
        "response": {"status": 200, "headers": [], "content": {"mimeType": "application/json", "text": pair("hi", "twice")["response"].to_string()}}});
    program.file("twice.har", json!({"log": {"entries": [entry, entry]}}).to_string());
    let report = program.run(["sessions", "import", "twice.har", "--json"]).exits(0).json();
    assert_eq!(returned(&program, &report["sessions"]), ["twice", "twice"]);
}

#[test]
fn a_file_that_was_imported_before_is_recognised_and_what_is_missing_of_it_is_imported_again() {
    let program = Program::new();
    program.file("samples.jsonl", lines(&[pair("hi", "one"), pair("hi", "two")]));
    let first = program.run(["sessions", "import", "samples.jsonl", "--json"]).exits(0).json();
    let again = program.run(["sessions", "import", "samples.jsonl"]);
    assert!(again.exits(2).stderr.contains("nothing was imported: it was imported before, as 2026-03-01T10-00-00Z-"));
    assert!(again.stderr.contains(" and 1 other") && !again.stderr.contains("File exists"), "{}", again.stderr);
    let lost = first["sessions"][1].as_str().unwrap();
    std::fs::remove_file(program.sessions_dir().join(format!("{lost}.jsonl"))).unwrap();
    let report = program.run(["sessions", "import", "samples.jsonl", "--json"]).exits(0).json();
    assert_eq!((&report["sessions"], &report["requests"]), (&json!([lost]), &json!(1)));
    assert_eq!(report["known"], json!([first["sessions"][0]]));
    // The proxy's limits are for what it captured itself.
    assert_eq!(Retention { sessions: 0, bytes: 0 }.apply(&program.sessions_dir()), 0);
    assert_eq!(program.session_files().len(), 2);
}

#[test]
fn a_file_whose_sessions_cannot_be_written_is_not_imported() {
    let program = Program::new();
    program.file("samples.jsonl", lines(&[pair("hi", "one")]));
    program.file("sessions", "a file in the place of the folder");
    let done = program.run(["sessions", "import", "samples.jsonl"]);
    assert!(done.exits(2).stdout.is_empty(), "{}", done.stdout);
}

/// A line of a transcript of Claude Code.
fn line(kind: &str, uuid: &str, parent: &str, message: &Value) -> Value {
    json!({"type": kind, "uuid": uuid, "parentUuid": Some(parent).filter(|parent| !parent.is_empty()), "sessionId": "s1",
        "timestamp": "2026-03-01T10:00:00Z", "message": message})
}

fn user(uuid: &str, parent: &str, text: &str) -> Value {
    line("user", uuid, parent, &json!({"role": "user", "content": text}))
}

fn assistant(uuid: &str, parent: &str, text: &str) -> Value {
    let content = json!([{"type": "text", "text": text}]);
    line(
        "assistant",
        uuid,
        parent,
        &json!({"id": format!("msg_{uuid}"), "role": "assistant", "model": "claude-x", "content": content}),
    )
}

/// Role and text of each message of a request.
fn words(body: &Value) -> Vec<String> {
    let words = |message: &Value| match &message["content"] {
        Value::String(text) => text.clone(),
        parts => parts.as_array().unwrap().iter().map(|part| part["text"].as_str().unwrap_or("–")).collect(),
    };
    body["messages"].as_array().unwrap().iter().map(words).collect()
}

#[test]
fn what_a_user_went_back_from_is_not_in_later_requests() {
    let program = Program::new();
    let text = lines(&[
        user("u1", "", "first"),
        assistant("a1", "u1", "answer one"),
        user("u2", "a1", "second"),
        assistant("a2", "u2", "answer two"),
        // Nobody answered this.
        user("u3", "a1", "unanswered"),
        user("u4", "a1", "another second"),
        assistant("a4", "u4", "another answer"),
        // And back to the first branch.
        user("u5", "a2", "third"),
        assistant("a5", "u5", "answer three"),
    ]);
    program.file("rewind.jsonl", text);
    let report = program.run(["sessions", "import", "rewind.jsonl", "--json"]).exits(0).json();
    assert_eq!((&report["requests"], &report["skipped"]), (&json!(4), &json!(0)));
    let sessions = report["sessions"].as_array().unwrap();
    let of = |answer: &str| sessions.iter().find(|session| returned_of(&program, session) == answer).unwrap();
    let branch = body(&program, of("another answer"), 1);
    assert_eq!(words(&branch), ["first", "answer one", "another second"]);
    assert!(branch["transcript"].to_string().contains("unanswered"), "{branch}");
    let last = of("answer three");
    let turns =
        program.run(["sessions", "show", last.as_str().unwrap(), "--json"]).exits(0).json()[0]["usage"]["turns"]
            .as_u64()
            .unwrap();
    let last = body(&program, last, u32::try_from(turns).unwrap());
    assert_eq!(words(&last), ["first", "answer one", "second", "answer two", "third"]);
}

#[test]
fn results_of_parallel_calls_name_earlier_lines_and_nothing_is_left_out_for_them() {
    let program = Program::new();
    let call = |uuid: &str, parent: &str, id: &str| {
        let content = json!([{"type": "tool_use", "id": id, "name": "Read", "input": {"file": id}}]);
        let message = json!({"id": "msg_1", "role": "assistant", "model": "claude-x", "content": content});
        line("assistant", uuid, parent, &message)
    };
    let result = |uuid: &str, parent: &str, id: &str| {
        let content = json!([{"type": "tool_result", "tool_use_id": id, "content": format!("result of {id}")}]);
        line("user", uuid, parent, &json!({"role": "user", "content": content}))
    };
    let text = lines(&[
        user("u1", "", "read both"),
        call("c1", "u1", "toolu_1"),
        call("c2", "c1", "toolu_2"),
        result("r1", "c1", "toolu_1"),
        result("r2", "c2", "toolu_2"),
        assistant("a1", "r1", "done"),
    ]);
    program.file("parallel.jsonl", text);
    let report = program.run(["sessions", "import", "parallel.jsonl", "--json"]).exits(0).json();
    let [session] = report["sessions"].as_array().unwrap().as_slice() else { panic!("{report}") };
    let second = body(&program, session, 2);
    let messages = second["messages"].as_array().unwrap();
    assert_eq!(messages.len(), 3, "{second}");
    assert_eq!(messages[1]["content"].as_array().unwrap().len(), 2);
    let results = messages[2]["content"].to_string();
    assert!(results.contains("result of toolu_1") && results.contains("result of toolu_2"), "{results}");
}

#[test]
fn spans_without_messages_are_calls_of_their_trace_with_a_notice() {
    let program = Program::new();
    let attribute = |key: &str, text: &str| json!({"key": key, "value": {"stringValue": text}});
    let span = |trace: &str, id: &str, second: u32| {
        let time = |second: u32| format!("{}000000000", 1_772_359_200 + second);
        json!({"traceId": trace, "spanId": id, "name": "chat gpt-x", "kind": 3,
            "startTimeUnixNano": time(second), "endTimeUnixNano": time(second + 1), "attributes": [
                attribute("gen_ai.operation.name", "chat"), attribute("gen_ai.provider.name", "openai"),
                attribute("gen_ai.request.model", "gpt-x"),
                {"key": "gen_ai.usage.input_tokens", "value": {"intValue": "11"}},
                {"key": "gen_ai.usage.output_tokens", "value": {"intValue": "3"}},
                {"key": "gen_ai.response.finish_reasons", "value": {"arrayValue": {"values": [{"stringValue": "stop"}]}}}]})
    };
    let spans = [span("01", "a", 1), span("02", "b", 2), span("01", "c", 3)];
    let document = json!({"resourceSpans": [{"resource": {}, "scopeSpans": [{"scope": {}, "spans": spans}]}]});
    program.file("spans.json", document.to_string());
    let report = program.run(["sessions", "import", "spans.json", "--json"]).exits(0).json();
    assert_eq!((&report["requests"], report["sessions"].as_array().unwrap().len()), (&json!(3), 2));
    let session = report["sessions"][0].as_str().unwrap();
    let shown = program.run(["sessions", "show", session, "--json"]).exits(0).json();
    assert_eq!((&shown[0]["usage"]["turns"], &shown[0]["usage"]["input_tokens"]), (&json!(2), &json!(22)));
    assert!(shown[0].get("fail").is_none_or(Value::is_null), "{shown}");
    let printed = program.run(["sessions", "show", session]).exits(0).stdout.clone();
    assert!(printed.contains("the span has no message content") && !printed.contains("error"), "{printed}");
}

#[test]
fn a_log_of_gemini_cli_is_replayed_like_the_program_does() {
    let program = Program::new();
    let record = |id: &str, second: u32, kind: &str, content: Value, more: Value| {
        let mut record = json!({"id": id, "timestamp": format!("2026-09-01T10:00:{second:02}.000Z"), "type": kind, "content": content});
        record.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap_or_default());
        record
    };
    let words = |text: &str| json!([{"text": text}]);
    let reply = |tokens: u32| json!({"model": "gemini-x", "thoughts": [], "tokens": {"input": tokens, "output": 5, "total": tokens + 5}});
    let result = json!([{"functionResponse": {"id": "c1", "name": "ls", "response": {"output": "a b"}}}]);
    let mut called = reply(10);
    called["toolCalls"] = json!([{"id": "c1", "name": "ls", "args": {"path": "."}, "result": result, "status": "success", "displayName": "Lister"}]);
    let text = lines(&[
        json!({"sessionId": "g1", "projectHash": "h", "startTime": "2026-09-01T10:00:00.000Z", "kind": "main"}),
        record("m1", 1, "user", words("list the files"), json!({})),
        json!({"$set": {"lastUpdated": "2026-09-01T10:00:01.000Z"}}),
        // The same message again, when more of it is known.
        record("m2", 3, "gemini", json!("I look."), reply(10)),
        record("m2", 3, "gemini", json!("I look."), called),
        record("m3", 4, "user", result, json!({})),
        record("m4", 5, "gemini", json!("Two files."), reply(20)),
        record("m5", 6, "info", json!("a notice of the program"), json!({})),
        record("m6", 7, "user", words("a wrong question"), json!({})),
        json!({"$rewindTo": "m6"}),
        record("m7", 8, "user", words("which is larger?"), json!({})),
        record("m8", 9, "gemini", json!("The first."), reply(30)),
        // A compression: what follows is what the model gets from here on.
        json!({"$set": {"messages": [
            record("s1", 9, "user", words("a summary"), json!({})),
            record("s2", 9, "gemini", words("Got it."), json!({})),
            record("m8", 9, "gemini", json!([{"text": "The first."}]), reply(30))]}}),
        record("m9", 10, "user", words("go on"), json!({})),
        record("m10", 11, "gemini", json!("Done."), reply(40)),
        json!({"$set": {"summary": "files were listed"}}),
    ]);
    program.file("session-1.jsonl", text);
    let done = program.run(["sessions", "import", "session-1.jsonl", "--json"]);
    assert_eq!(done.exits(0).stderr, "");
    let report = done.json();
    assert_eq!((&report["requests"], &report["skipped"]), (&json!(4), &json!(0)), "{report}");
    let [before, after] = report["sessions"].as_array().unwrap().as_slice() else { panic!("{report}") };
    assert_eq!([before, after].map(|session| returned_of(&program, session)), ["The first.", "Done."]);
    let kinds = |body: &Value| -> Vec<String> {
        let parts =
            body["contents"].as_array().unwrap().iter().flat_map(|content| content["parts"].as_array().unwrap());
        let kind = |part: &Value| {
            part["text"].as_str().map_or_else(|| part.as_object().unwrap().keys().cloned().collect(), str::to_owned)
        };
        parts.map(kind).collect()
    };
    let second = body(&program, before, 2);
    assert_eq!(kinds(&second), ["list the files", "I look.", "functionCall", "functionResponse"]);
    let kept = body(&program, before, 1)["transcript"].to_string();
    assert!(kept.contains("lastUpdated") && kept.contains("Lister"), "{kept}");
    let third = body(&program, before, 3);
    assert_eq!(kinds(&third)[4..], ["Two files.", "which is larger?"]);
    let kept = third["transcript"].to_string();
    assert!(kept.contains("a wrong question") && kept.contains("a notice of the program"), "{kept}");
    let last = body(&program, after, 1);
    assert_eq!(kinds(&last), ["a summary", "Got it.", "The first.", "go on"]);
    assert!(last["transcript"].to_string().contains("files were listed"), "{last}");
}
