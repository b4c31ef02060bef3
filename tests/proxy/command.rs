//! The command `proxy` as a user starts it: what it refuses, the program that it starts, and its exit code.

use std::net::TcpListener;

use crate::cli::program::Program;

#[test]
fn what_cannot_be_proxied_is_refused_before_anything_listens() {
    let program = Program::new();
    program.file("rules.txt", "when model = m: fail 200\n");
    program.file("nowhere.txt", "\nwhen upstream = opnai: drop\n");
    program.file("hold.txt", "when text ~ refund: hold\n");
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let rows: &[(&[&str], &str)] = &[
        (&["proxy", "--upstream", "nowhere"], "no provider has this name"),
        (&["proxy", "--upstream", "a=ftp://x"], "begins with http"),
        (&["proxy", "--upstream", "anthropic=http://x/v1"], "write `--upstream anthropic=http://x`"),
        (&["proxy", "--rules", "absent.txt"], "--rules absent.txt"),
        (&["proxy", "--rules", "rules.txt"], "line 1: the status of a failure"),
        (&["proxy", "--rules", "nowhere.txt"], "line 2: unknown upstream `opnai`; did you mean `openai`?"),
        (&["proxy", "--rules", "hold.txt"], "`when text ~ refund: hold` waits for a user"),
        (&["proxy", "--replay", "absent"], "--replay absent"),
        (&["proxy", "--record-missing"], "--replay"),
        (&["proxy", "--port", &port], "choose another port"),
    ];
    for (arguments, words) in rows {
        let done = program.run(*arguments);
        assert!(done.exits(2).stderr.contains(words), "{arguments:?}: {}", done.stderr);
    }
}

#[cfg(unix)]
#[test]
fn a_program_gets_the_variables_and_gives_its_exit_code() {
    let program = Program::new();
    let script = "echo \"$OPENAI_BASE_URL|$ANTHROPIC_BASE_URL|$OLLAMA_HOST\"; exit 7";
    let done = program.run(["proxy", "--port", "0", "--", "sh", "-c", script]);
    let stdout = &done.exits(7).stdout;
    let values: Vec<&str> = stdout.trim().split('|').collect();
    let [openai, anthropic, ollama] = values.as_slice() else { panic!("{stdout}") };
    assert!(anthropic.starts_with("http://127.0.0.1:") && *openai == format!("{anthropic}/v1"), "{stdout}");
    assert_eq!(anthropic, ollama);
    let done = program.run(["proxy", "--port", "0", "--", "absent-program"]);
    assert!(done.exits(2).stderr.contains("absent-program"), "{}", done.stderr);
}

#[test]
fn traffic_that_other_programs_recorded_becomes_sessions_once() {
    let program = Program::new();
    let body = |text: &str| format!(r#"{{"model":"gpt-4.1","messages":[{{"role":"user","content":"{text}"}}]}}"#);
    let reply = r#"{"model":"gpt-4.1","choices":[{"index":0,"message":{"role":"assistant","content":"four"},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":1}}"#;
    let more = r#"{"model":"gpt-4.1","messages":[{"role":"user","content":"2 + 2"},{"role":"assistant","content":"four"},{"role":"user","content":"sure?"}]}"#;
    let entry = |at: &str, body: &str| {
        serde_json::json!({"startedDateTime": at, "time": 120.5,
            "request": {"method": "POST", "url": "https://api.openai.com/v1/chat/completions?key=sk-har-secret-1", "postData": {"text": body},
                "headers": [{"name": "Authorization", "value": "Bearer sk-har-secret-2"}, {"name": "X-Own", "value": "kept"}]},
            "response": {"status": 200, "headers": [{"name": "content-encoding", "value": "br"}], "content": {"mimeType": "application/json", "text": reply}}})
    };
    let image = serde_json::json!({"request": {"method": "GET", "url": "https://example.com/a.png"}, "response": {"status": 200, "content": {}}});
    let archive = serde_json::json!({"log": {"version": "1.2", "entries":
        [entry("2026-01-02T10:00:05Z", more), image, entry("2026-01-02T10:00:00Z", &body("2 + 2"))]}});
    program.file("traffic.har", archive.to_string());
    let done = program.run(["sessions", "import", "traffic.har", "--json"]);
    let report = done.exits(0).json();
    let [session] = report["sessions"].as_array().unwrap().as_slice() else { panic!("{report}") };
    assert_eq!((&report["requests"], &report["skipped"]), (&serde_json::json!(2), &serde_json::json!(1)));
    let session = session.as_str().unwrap();
    assert!(session.starts_with("2026-01-02T10-00-00Z-"), "{session}");
    assert_eq!(program.run(["sessions", "show", session, "--body", "r0/t2"]).exits(0).stdout, more);
    let shown = program.run(["sessions", "show", session, "--json"]).exits(0).json();
    assert_eq!(
        (&shown[0]["usage"]["input_tokens"], &shown[0]["return"]),
        (&serde_json::json!(6), &serde_json::json!("four"))
    );
    program.run(["sessions", "verify", session]).exits(0);
    let text = std::fs::read_to_string(program.sessions_dir().join(format!("{session}.jsonl"))).unwrap();
    assert!(text.contains("kept") && !text.contains("sk-har-secret"), "{text}");
    // It is found, exported and redacted like any other session.
    assert!(program.run(["sessions", "search", "sure?"]).exits(0).stdout.contains(session));
    let exported = program.run(["sessions", "export", session, "--format", "md"]);
    assert!(exported.exits(0).stdout.contains("sure?") && exported.stdout.contains("four"), "{}", exported.stdout);
    let redacted = program.run(["sessions", "export", session, "--format", "json", "--redact", "regex:sure"]);
    assert!(!redacted.exits(0).stdout.contains("sure?"), "{}", redacted.stdout);
    let fork = program.run(["fork", session, "--at", "r0/t1"]);
    assert!(fork.stderr.contains("sessions agent"), "{}", fork.stderr);
    let again = program.run(["sessions", "import", "traffic.har"]);
    assert!(again.exits(2).stderr.contains("nothing was imported"), "{}", again.stderr);
    let replay = program.run(["replay", session]);
    assert!(replay.exits(2).stderr.contains("proxy --replay"), "{}", replay.stderr);

    let anthropic = r#"{"type":"message","role":"assistant","model":"claude-x","content":[{"type":"text","text":"hi"}],"stop_reason":"end_turn","usage":{"input_tokens":2,"output_tokens":1}}"#;
    let pairs = format!(
        "{{\"request\": {}, \"response\": {reply}, \"time\": \"2026-02-01T00:00:00Z\"}}\n\n\
         {{\"request\": {{\"body\": {{\"model\": \"claude-x\", \"max_tokens\": 5, \"messages\": [{{\"role\": \"user\", \"content\": \"hi\"}}]}}}}, \"response\": {{\"body\": {anthropic}}}}}\n\
         {{\"request\": 1}}\n",
        body("3 + 3")
    );
    program.file("pairs.jsonl", &pairs);
    let report = program.run(["sessions", "import", "pairs.jsonl", "--json"]).exits(0).json();
    assert_eq!(
        (report["sessions"].as_array().unwrap().len(), &report["skipped"]),
        (2, &serde_json::json!(1)),
        "{report}"
    );
    program.file("empty.har", r#"{"log": {"entries": []}}"#);
    assert!(program.run(["sessions", "import", "empty.har"]).exits(2).stderr.contains("no request to a model"));
}
