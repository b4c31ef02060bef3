//! Files of other programs as captured sessions: spans, trajectories, transcripts of coding assistants.

use serde_json::{Value, json};

use crate::cli::program::Program;

/// Imports a file; its only session as `sessions show --json`, and the report.
pub(super) fn import_one(program: &Program, name: &str, text: &str) -> (String, Value, Value) {
    program.file(name, text);
    let report = program.run(["sessions", "import", name, "--json"]).exits(0).json();
    let [session] = report["sessions"].as_array().unwrap().as_slice() else { panic!("{report}") };
    let session = session.as_str().unwrap().to_owned();
    program.run(["sessions", "verify", &session]).exits(0);
    let shown = program.run(["sessions", "show", &session, "--json"]).exits(0).json();
    let again = program.run(["sessions", "import", name]);
    assert!(again.exits(2).stderr.contains("nothing was imported"), "{}", again.stderr);
    (session, shown, report)
}

/// The body of a request.
pub(super) fn body(program: &Program, session: &str, turn: u32) -> Value {
    let address = format!("r0/t{turn}");
    serde_json::from_str(&program.run(["sessions", "show", session, "--body", &address]).exits(0).stdout).unwrap()
}

pub(super) fn lines(lines: &[Value]) -> String {
    lines.iter().map(Value::to_string).collect::<Vec<_>>().join("\n") + "\n"
}

#[test]
fn a_transcript_of_claude_code_is_a_conversation_with_everything_that_the_file_has() {
    let program = Program::new();
    let line = |kind: &str, uuid: &str, parent: Value, second: u32, message: Value| {
        json!({"type": kind, "uuid": uuid, "parentUuid": parent, "sessionId": "s1", "isSidechain": false, "cwd": "/work",
            "timestamp": format!("2026-03-01T10:00:{second:02}.000Z"), "message": message})
    };
    let part = |content: Value, output: u32, stop: Value| {
        json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-x", "content": [content],
            "stop_reason": stop, "usage": {"input_tokens": 10, "output_tokens": output}})
    };
    let mut result = line(
        "user",
        "u4",
        json!("u3"),
        9,
        json!({"role": "user", "content":
        [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "two files"}]}),
    );
    result["toolUseResult"] = json!({"stdout": "a\nb"});
    let text = format!(
        "{}this line is broken\n{}",
        lines(&[
            json!({"type": "summary", "summary": "an earlier one", "leafUuid": "x"}),
            line("user", "u1", Value::Null, 0, json!({"role": "user", "content": "list the files"})),
            line("assistant", "u2", json!("u1"), 3, part(json!({"type": "text", "text": "I look."}), 1, Value::Null)),
        ]),
        lines(&[
            line(
                "assistant",
                "u3",
                json!("u2"),
                5,
                part(
                    json!({"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "ls"}}),
                    20,
                    json!("tool_use")
                )
            ),
            json!({"type": "system", "content": "a hook ran", "uuid": "u3b", "sessionId": "s1", "timestamp": "2026-03-01T10:00:06.000Z"}),
            result,
            line(
                "assistant",
                "u5",
                json!("u4"),
                12,
                json!({"id": "msg_2", "type": "message", "role": "assistant", "model": "claude-x",
                "content": [{"type": "text", "text": "There are two."}], "stop_reason": "end_turn",
                "usage": {"input_tokens": 30, "output_tokens": 5}})
            ),
        ])
    );
    let (session, shown, report) = import_one(&program, "claude.jsonl", &text);
    assert_eq!((&report["requests"], &report["skipped"]), (&json!(2), &json!(1)));
    assert_eq!(shown[0]["return"], "There are two.");
    assert_eq!((&shown[0]["usage"]["input_tokens"], &shown[0]["usage"]["output_tokens"]), (&json!(40), &json!(25)));
    let second = body(&program, &session, 2);
    let kinds: Vec<&str> =
        second["messages"].as_array().unwrap().iter().map(|message| message["role"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["user", "assistant", "user"]);
    assert_eq!(second["messages"][1]["content"].as_array().unwrap().len(), 2, "both lines of the reply");
    let kept = second["transcript"].to_string();
    assert!(kept.contains("a hook ran") && kept.contains("toolUseResult") && kept.contains("/work"), "{kept}");
    assert!(body(&program, &session, 1)["transcript"].to_string().contains("an earlier one"));
    // Readers learn that the bytes are not those that were sent, and which line was left out.
    let printed = program.run(["sessions", "show", &session]).exits(0).stdout.clone();
    assert!(printed.contains("rebuilt"), "{printed}");
    program.file("other.jsonl", text.replace("list the files", "list all files"));
    let report = program.run(["sessions", "import", "other.jsonl"]);
    assert!(report.exits(0).stderr.contains("line 4 is not JSON"), "{}", report.stderr);
    assert!(program.run(["sessions", "search", "two files"]).exits(0).stdout.contains(&session));
}

#[test]
fn side_chains_and_compacted_conversations_are_sessions_of_their_own() {
    let program = Program::new();
    let line = |kind: &str, is_side: bool, parent: Value, second: u32, message: Value| {
        json!({"type": kind, "uuid": format!("u{second}"), "parentUuid": parent, "sessionId": "s1", "isSidechain": is_side,
            "timestamp": format!("2026-03-01T10:00:{second:02}.000Z"), "message": message})
    };
    let user = |text: &str| json!({"role": "user", "content": text});
    let reply = |id: &str, text: &str| json!({"id": id, "role": "assistant", "model": "claude-x", "content": [{"type": "text", "text": text}]});
    program.file(
        "side.jsonl",
        lines(&[
            line("user", false, Value::Null, 1, user("main task")),
            line("user", true, Value::Null, 2, user("sub task")),
            // Another subagent works at the same time.
            line("user", true, Value::Null, 7, user("other task")),
            line("assistant", true, json!("u2"), 3, reply("m1", "sub answer")),
            line("assistant", true, json!("u7"), 8, reply("m4", "other answer")),
            line("assistant", false, json!("u1"), 4, reply("m2", "main answer")),
            line("user", false, Value::Null, 5, user("a summary of what was before")),
            line("assistant", false, json!("u5"), 6, reply("m3", "after it")),
        ]),
    );
    let report = program.run(["sessions", "import", "side.jsonl", "--json"]).exits(0).json();
    let sessions = report["sessions"].as_array().unwrap();
    assert_eq!(sessions.len(), 4, "{report}");
    let mut answers: Vec<String> = sessions
        .iter()
        .map(|session| {
            let shown = program.run(["sessions", "show", session.as_str().unwrap(), "--json"]).exits(0).json();
            shown[0]["return"].as_str().unwrap().to_owned()
        })
        .collect();
    answers.sort();
    assert_eq!(answers, ["after it", "main answer", "other answer", "sub answer"]);
}

#[test]
fn a_transcript_of_codex_has_a_request_for_each_row_of_items_of_the_model() {
    let program = Program::new();
    let line = |second: u32, kind: &str, payload: Value| json!({"timestamp": format!("2026-03-01T10:00:{second:02}.000Z"), "type": kind, "payload": payload});
    let words = |role: &str, kind: &str, text: &str| json!({"type": "message", "role": role, "content": [{"type": kind, "text": text}]});
    let usage = |input: u32| {
        json!({"type": "token_count", "info": {"last_token_usage": {"input_tokens": input, "cached_input_tokens": 1,
            "output_tokens": 4, "reasoning_output_tokens": 2, "total_tokens": input + 4}}})
    };
    let text = lines(&[
        line(
            0,
            "session_meta",
            json!({"id": "c1", "cwd": "/work", "cli_version": "0.90.0", "instructions": "Be short."}),
        ),
        line(1, "turn_context", json!({"model": "gpt-x", "effort": "high", "cwd": "/work"})),
        line(2, "response_item", words("user", "input_text", "what is here?")),
        line(2, "event_msg", json!({"type": "user_message", "message": "what is here?"})),
        line(
            5,
            "response_item",
            json!({"type": "reasoning", "summary": [{"type": "summary_text", "text": "look"}], "encrypted_content": "xyz"}),
        ),
        line(
            5,
            "response_item",
            json!({"type": "function_call", "name": "shell", "arguments": "{\"command\":[\"ls\"]}", "call_id": "call_1"}),
        ),
        line(5, "event_msg", usage(100)),
        line(6, "response_item", json!({"type": "function_call_output", "call_id": "call_1", "output": "a b"})),
        line(8, "response_item", words("assistant", "output_text", "Two files.")),
        line(8, "event_msg", usage(120)),
    ]);
    let (session, shown, report) = import_one(&program, "rollout.jsonl", &text);
    assert_eq!((&report["requests"], &report["skipped"]), (&json!(2), &json!(0)));
    assert_eq!(shown[0]["return"], "Two files.");
    assert_eq!(shown[0]["usage"]["input_tokens"], 220);
    let first = body(&program, &session, 1);
    assert_eq!((&first["instructions"], &first["reasoning"]["effort"]), (&json!("Be short."), &json!("high")));
    assert_eq!(first["input"].as_array().unwrap().len(), 1);
    assert!(first["transcript"].to_string().contains("0.90.0"));
    let second = body(&program, &session, 2);
    assert_eq!(second["input"].as_array().unwrap().len(), 4);
    assert_eq!(second["input"][1]["encrypted_content"], "xyz");
}

#[test]
fn a_chat_of_gemini_cli_has_a_request_for_each_message_of_the_model() {
    let program = Program::new();
    let chat = json!({"sessionId": "g1", "projectHash": "h", "startTime": "2026-03-01T10:00:00.000Z", "messages": [
        {"id": "1", "timestamp": "2026-03-01T10:00:01.000Z", "type": "user", "content": "list files"},
        {"id": "2", "timestamp": "2026-03-01T10:00:03.000Z", "type": "gemini", "content": "", "model": "gemini-x",
            "thoughts": [{"subject": "Plan", "description": "use the tool"}],
            "tokens": {"input": 50, "output": 5, "cached": 10, "thoughts": 3, "tool": 0, "total": 58},
            "toolCalls": [{"id": "t1", "name": "list_directory", "args": {"path": "."}, "status": "success",
                "result": [{"functionResponse": {"id": "t1", "name": "list_directory", "response": {"output": "a b"}}}]}]},
        {"id": "3", "timestamp": "2026-03-01T10:00:04.000Z", "type": "info", "content": "a notice of the program"},
        {"id": "4", "timestamp": "2026-03-01T10:00:06.000Z", "type": "gemini", "content": "Two files.", "model": "gemini-x",
            "tokens": {"input": 70, "output": 4, "cached": 0, "total": 74}}]});
    let (session, shown, _) = import_one(&program, "chat.json", &serde_json::to_string_pretty(&chat).unwrap());
    assert_eq!(shown[0]["return"], "Two files.");
    assert_eq!(shown[0]["usage"]["input_tokens"], 120);
    let second = body(&program, &session, 2);
    assert_eq!(second["contents"][1]["parts"][0]["functionCall"]["name"], "list_directory");
    assert_eq!(second["contents"][2]["parts"][0]["functionResponse"]["response"]["output"], "a b");
    assert!(second["transcript"].to_string().contains("a notice of the program"));
}

#[test]
fn a_trajectory_has_a_request_for_each_step_of_the_agent_and_ours_can_be_read_back() {
    let program = Program::new();
    let trajectory = json!({"schema_version": "ATIF-v1.4", "session_id": "a1",
        "agent": {"name": "own-agent", "version": "2", "model_name": "gpt-x", "tool_definitions":
            [{"type": "function", "function": {"name": "find", "description": "Finds.", "parameters": {"type": "object"}}}]},
        "steps": [
            {"step_id": 1, "timestamp": "2026-03-01T10:00:00Z", "source": "system", "message": "Be short."},
            {"step_id": 2, "timestamp": "2026-03-01T10:00:01Z", "source": "user", "message": "How many?"},
            {"step_id": 3, "timestamp": "2026-03-01T10:00:03Z", "source": "agent", "message": "", "reasoning_content": "I count.",
                "tool_calls": [{"tool_call_id": "c1", "function_name": "find", "arguments": {"what": "x"}}],
                "observation": {"results": [{"source_call_id": "c1", "content": "3 hits"}]},
                "metrics": {"prompt_tokens": 20, "completion_tokens": 6, "cached_tokens": 2, "cost_usd": 0.01, "own": "kept"}},
            {"step_id": 4, "timestamp": "2026-03-01T10:00:05Z", "source": "agent", "message": "Three.",
                "metrics": {"prompt_tokens": 30, "completion_tokens": 2}}],
        "subagent_trajectories": [{"session_id": "a2", "agent": {"name": "inner"}, "steps": [
            {"step_id": 1, "timestamp": "2026-03-01T10:00:02Z", "source": "user", "message": "inner task"},
            {"step_id": 2, "timestamp": "2026-03-01T10:00:03Z", "source": "agent", "message": "inner answer"}]}]});
    program.file("trajectory.json", serde_json::to_string_pretty(&trajectory).unwrap());
    let report = program.run(["sessions", "import", "trajectory.json", "--json"]).exits(0).json();
    let sessions = report["sessions"].as_array().unwrap();
    assert_eq!((sessions.len(), &report["requests"]), (2, &json!(3)));
    let of = |answer: &str| {
        let found = sessions.iter().map(|session| session.as_str().unwrap()).find(|session| {
            program.run(["sessions", "show", session, "--json"]).exits(0).json()[0]["return"] == answer
        });
        found.unwrap_or_else(|| panic!("{answer} in {report}")).to_owned()
    };
    _ = of("inner answer");
    let session = of("Three.");
    program.run(["sessions", "verify", &session]).exits(0);
    let second = body(&program, &session, 2);
    let roles: Vec<&str> =
        second["messages"].as_array().unwrap().iter().map(|message| message["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["system", "user", "assistant", "tool"]);
    assert_eq!(second["tools"][0]["function"]["name"], "find");
    assert!(body(&program, &session, 1)["atif"]["step"]["metrics"].to_string().contains("kept"));
    // A captured session exports the results that its requests contain, next to their calls.
    let exported = program.run(["sessions", "export", &session, "--format", "atif"]).exits(0).json();
    let steps = exported["steps"].as_array().unwrap();
    let asked = steps.iter().find(|step| step["tool_calls"].is_array()).unwrap();
    assert_eq!(asked["tool_calls"][0]["function_name"], "find");
    let result = json!({"source_call_id": asked["tool_calls"][0]["tool_call_id"], "content": "3 hits"});
    assert_eq!(asked["observation"]["results"], json!([result]));

    // What we export as a trajectory or as spans can be imported: every turn is a request.
    let program = Program::new();
    let example = program.run(["run", "sentiment", "--model", "sample"]);
    let own = program.session_file().file_stem().unwrap().to_string_lossy().into_owned();
    let turns = program.run(["sessions", "show", &own, "--json"]).exits(0).json()[0]["usage"]["turns"].clone();
    assert!(turns.as_u64().unwrap() > 0, "{}", example.stdout);
    for format in ["atif", "otlp"] {
        let exported = program.run(["sessions", "export", &own, "--format", format]).exits(0).stdout.clone();
        let name = format!("own.{format}.json");
        program.file(&name, exported);
        let report = program.run(["sessions", "import", &name, "--json"]).exits(0).json();
        assert_eq!(report["requests"], turns, "{format}: {report}");
    }
}

/// A span with these attributes.
pub(super) fn span(id: &str, second: u32, attributes: &[(&str, Value)], events: &Value) -> Value {
    let any = |value: &Value| match value {
        Value::String(text) => json!({"stringValue": text}),
        Value::Number(number) if number.is_f64() => json!({"doubleValue": number}),
        Value::Number(number) => json!({"intValue": number.to_string()}),
        other => json!({"stringValue": other.to_string()}),
    };
    let attributes: Vec<Value> =
        attributes.iter().map(|(key, value)| json!({"key": key, "value": any(value)})).collect();
    let nanoseconds = |second: u32| format!("{}000000000", 1_772_359_200 + second);
    json!({"traceId": "00000000000000000000000000000001", "spanId": id, "name": "chat gpt-x", "kind": 3,
        "startTimeUnixNano": nanoseconds(second), "endTimeUnixNano": nanoseconds(second + 1), "attributes": attributes, "events": events})
}

pub(super) fn document(spans: &[Value]) -> Value {
    json!({"resourceSpans": [{"resource": {"attributes": []}, "scopeSpans": [{"scope": {"name": "x"}, "spans": spans}]}]})
}

#[test]
fn spans_are_read_as_the_conventions_name_things_now() {
    let program = Program::new();
    let messages = |list: Value| json!(list.to_string());
    let now = document(&[
        span(
            "b",
            5,
            &[
                ("gen_ai.operation.name", json!("execute_tool")),
                ("gen_ai.tool.name", json!("find")),
                ("own.key", json!("kept")),
            ],
            &json!([]),
        ),
        span(
            "a",
            1,
            &[
                ("gen_ai.operation.name", json!("chat")),
                ("gen_ai.provider.name", json!("openai")),
                ("gen_ai.request.model", json!("gpt-x")),
                ("gen_ai.request.temperature", json!(0.5)),
                ("gen_ai.usage.input_tokens", json!(11)),
                ("gen_ai.usage.output_tokens", json!(3)),
                ("gen_ai.system_instructions", messages(json!([{"type": "text", "content": "Be short."}]))),
                (
                    "gen_ai.input.messages",
                    messages(json!([{"role": "user", "parts": [{"type": "text", "content": "How many?"}]}])),
                ),
                (
                    "gen_ai.output.messages",
                    messages(json!([{"role": "assistant", "finish_reason": "tool_call", "parts":
                [{"type": "tool_call", "id": "c1", "name": "find", "arguments": {"what": "x"}}]}])),
                ),
                (
                    "gen_ai.tool.definitions",
                    messages(json!([{"type": "function", "name": "find", "parameters": {"type": "object"}}])),
                ),
            ],
            &json!([]),
        ),
        span(
            "c",
            8,
            &[
                ("gen_ai.operation.name", json!("chat")),
                ("gen_ai.provider.name", json!("openai")),
                ("gen_ai.request.model", json!("gpt-x")),
                ("gen_ai.usage.input_tokens", json!(20)),
                ("gen_ai.usage.output_tokens", json!(2)),
                ("gen_ai.system_instructions", messages(json!([{"type": "text", "content": "Be short."}]))),
                (
                    "gen_ai.input.messages",
                    messages(json!([
                {"role": "user", "parts": [{"type": "text", "content": "How many?"}]},
                {"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "find", "arguments": {"what": "x"}}]},
                {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "3 hits"}]}])),
                ),
                (
                    "gen_ai.output.messages",
                    messages(json!([{"role": "assistant", "finish_reason": "stop", "parts":
                [{"type": "text", "content": "Three."}]}])),
                ),
            ],
            &json!([]),
        ),
    ]);
    let (session, shown, report) = import_one(&program, "now.json", &now.to_string());
    assert_eq!((&report["requests"], &report["skipped"]), (&json!(2), &json!(0)));
    assert_eq!((&shown[0]["return"], &shown[0]["usage"]["input_tokens"]), (&json!("Three."), &json!(31)));
    let first = body(&program, &session, 1);
    assert_eq!((&first["messages"][0]["role"], &first["temperature"]), (&json!("system"), &json!(0.5)));
    assert_eq!(first["tools"][0]["function"]["name"], "find");
    assert!(first["otlp"]["other_spans"].to_string().contains("kept"), "the tool's span is with the request before it");
    assert_eq!(body(&program, &session, 2)["messages"][3]["content"], "3 hits");
}

#[test]
fn spans_are_read_as_earlier_conventions_and_other_libraries_name_things() {
    let program = Program::new();
    let attribute = |key: &str, text: &str| json!({"key": key, "value": {"stringValue": text}});
    let events = span(
        "a",
        1,
        &[("gen_ai.system", json!("openai")), ("gen_ai.request.model", json!("gpt-x"))],
        &json!([
        {"name": "gen_ai.system.message", "attributes": [attribute("content", "Be short.")]},
        {"name": "gen_ai.user.message", "attributes": [attribute("content", "How many?")]},
        {"name": "gen_ai.choice", "attributes": [attribute("finish_reason", "stop"), attribute("message", "{\"content\": \"By events.\"}")]}]),
    );
    let numbered = span(
        "a",
        2,
        &[
            ("gen_ai.system", json!("openai")),
            ("gen_ai.request.model", json!("gpt-x")),
            ("gen_ai.prompt.0.role", json!("user")),
            ("gen_ai.prompt.0.content", json!("How many?")),
            ("gen_ai.completion.0.role", json!("assistant")),
            ("gen_ai.completion.0.content", json!("By numbers.")),
            ("gen_ai.usage.prompt_tokens", json!(7)),
            ("gen_ai.usage.completion_tokens", json!(1)),
        ],
        &json!([]),
    );
    let inference = span(
        "a",
        3,
        &[
            ("openinference.span.kind", json!("LLM")),
            ("llm.model_name", json!("gpt-x")),
            ("llm.input_messages.0.message.role", json!("user")),
            ("llm.input_messages.0.message.content", json!("How many?")),
            ("llm.output_messages.0.message.role", json!("assistant")),
            ("llm.output_messages.0.message.tool_calls.0.tool_call.id", json!("c9")),
            ("llm.output_messages.0.message.tool_calls.0.tool_call.function.name", json!("find")),
            ("llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments", json!("{\"a\": 1}")),
        ],
        &json!([]),
    );
    let mut failed = span(
        "a",
        4,
        &[
            ("gen_ai.operation.name", json!("chat")),
            ("error.type", json!("429")),
            ("http.response.status_code", json!(429)),
        ],
        &json!([]),
    );
    failed["status"] = json!({"code": 2, "message": "too many requests"});
    // A document in each line, as collectors write files.
    for (number, (one, wanted)) in
        [(events, "By events."), (numbered, "By numbers."), (inference, "find"), (failed, "too many requests")]
            .iter()
            .enumerate()
    {
        let text = format!("{}\n{}\n", document(&[]), document(std::slice::from_ref(one)));
        let (session, ..) = import_one(&program, &format!("older{number}.jsonl"), &text);
        let printed = program.run(["sessions", "show", &session]).exits(0).stdout.clone();
        assert!(printed.contains(wanted), "{wanted}: {printed}");
    }
}

#[test]
fn odd_names_and_contents_lose_no_reply() {
    let program = Program::new();
    let line = |kind: &str, uuid: &str, message: Value| json!({"type": kind, "uuid": uuid, "sessionId": "s", "timestamp": "2026-03-01T10:00:00Z", "message": message});
    let text = lines(&[
        line("user", "1", json!({"role": "user", "content": "hi"})),
        line("assistant", "2", json!({"id": "m", "role": "assistant", "model": "x", "content": "a text, not parts"})),
    ]);
    let (_, shown, _) = import_one(&program, "text.jsonl", &text);
    assert_eq!(shown[0]["return"], "a text, not parts");
    let chat = json!({"sessionId": "g", "messages": [
        {"type": "user", "content": "hi"}, {"type": "gemini", "content": "hello", "model": "a/b?c#d"}]});
    let (_, shown, report) = import_one(&program, "chat.json", &chat.to_string());
    assert_eq!((&shown[0]["return"], &report["requests"]), (&json!("hello"), &json!(1)));
    let more = json!({"sessionId": "g", "messages": [{"type": "gemini", "content": "hello"}, {"type": "user", "content": "and?"}]});
    program.file("more.json", more.to_string());
    let done = program.run(["sessions", "import", "more.json"]);
    assert!(done.exits(0).stderr.contains("no reply follows the last lines or items (1)"), "{}", done.stderr);
    let attributes = [("gen_ai.operation.name", json!("chat")), ("gen_ai.provider.name", json!("Ünï code/../x"))];
    let (session, ..) =
        import_one(&program, "odd.json", &document(&[span("a", 1, &attributes, &json!([]))]).to_string());
    assert!(body(&program, &session, 1)["otlp"].to_string().contains("Ünï code"));
}

#[test]
fn files_that_are_nothing_of_it_are_refused_with_what_can_be_read() {
    let program = Program::new();
    program.file("odd.json", r#"{"something": "else"}"#);
    program.run(["sessions", "import", "odd.json"]).exits(2);
    program.file("cut.jsonl", "{\"type\": \"session_meta\", \"payload\": {}}\n{\"type\": \"resp");
    let refused = program.run(["sessions", "import", "cut.jsonl"]);
    assert!(refused.exits(2).stderr.contains("line 2 is not JSON"), "{}", refused.stderr);
    program.file("no-steps.json", r#"{"schema_version": "ATIF-v1.4", "steps": []}"#);
    let refused = program.run(["sessions", "import", "no-steps.json"]);
    assert!(refused.exits(2).stderr.contains("no request to a model"), "{}", refused.stderr);
    program.file("nothing.jsonl", document(&[]).to_string());
    program.run(["sessions", "import", "nothing.jsonl"]).exits(2);
}
