//! Spans as libraries write them: messages, tools and token counts under their names, log records, and everything else that a file has.

use ptc_workbench::event::Event;
use ptc_workbench::session::Session;
use serde_json::{Value, json};

use super::imports::{body, document, import_one, lines, span};
use crate::cli::program::Program;

/// A value in the protocol's form.
fn any(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let members: Vec<Value> =
                members.iter().map(|(key, value)| json!({"key": key, "value": any(value)})).collect();
            json!({"kvlistValue": {"values": members}})
        }
        Value::String(text) => json!({"stringValue": text}),
        other => json!({"intValue": other}),
    }
}

/// A document with log records of the span `a`: names and bodies.
fn logs(records: &[(&str, Value)]) -> Value {
    let record = |(name, body): &(&str, Value)| {
        json!({"timeUnixNano": "1772359201500000000", "eventName": name, "body": any(body), "severityText": "kept too",
            "traceId": "00000000000000000000000000000001", "spanId": "a"})
    };
    let records: Vec<Value> = records.iter().map(record).collect();
    json!({"resourceLogs": [{"resource": {}, "scopeLogs": [{"scope": {"name": "logger"}, "logRecords": records}]}]})
}

/// Text of a JSON value, as attributes have it.
fn text(value: &Value) -> Value {
    json!(value.to_string())
}

#[test]
fn parts_tools_options_and_token_details_of_open_inference_are_read() {
    let program = Program::new();
    let input = "llm.input_messages.0.message";
    let output = "llm.output_messages.0.message";
    let keys: Vec<(String, Value)> = [
        (format!("{input}.role"), json!("user")),
        (format!("{input}.contents.0.message_content.type"), json!("text")),
        (format!("{input}.contents.0.message_content.text"), json!("What is in the picture?")),
        (format!("{input}.contents.1.message_content.type"), json!("image")),
        (format!("{input}.contents.1.message_content.image.image.url"), json!("https://x.example/y.png")),
        (format!("{output}.role"), json!("assistant")),
        (format!("{output}.contents.0.message_content.type"), json!("text")),
        (format!("{output}.contents.0.message_content.text"), json!("A cat.")),
        (format!("{output}.contents.1.message_content.type"), json!("tool_use")),
        (format!("{output}.contents.1.tool_call.id"), json!("c1")),
        (format!("{output}.contents.1.tool_call.function.name"), json!("zoom")),
        (format!("{output}.contents.1.tool_call.function.arguments"), json!("{\"by\": 2}")),
    ]
    .into();
    let schema = text(&json!({"type": "function", "function": {"name": "zoom", "parameters": {"type": "object"}}}));
    let mut attributes = vec![
        ("openinference.span.kind", json!("LLM")),
        ("llm.model_name", json!("claude-x")),
        ("llm.provider", json!("anthropic")),
        ("llm.invocation_parameters", text(&json!({"temperature": 0.3, "top_k": 4, "model": "other"}))),
        ("llm.tools.0.tool.json_schema", schema),
        ("llm.token_count.prompt", json!(1000)),
        ("llm.token_count.completion", json!(20)),
        ("llm.token_count.prompt_details.cache_read", json!(900)),
        ("llm.token_count.prompt_details.cache_write", json!(50)),
        ("llm.token_count.completion_details.reasoning", json!(5)),
    ];
    attributes.extend(keys.iter().map(|(key, value)| (key.as_str(), value.clone())));
    let (session, ..) =
        import_one(&program, "oi.json", &document(&[span("a", 1, &attributes, &json!([]))]).to_string());
    let sent = body(&program, &session, 1);
    let content = &sent["messages"][0]["content"];
    assert_eq!(content[0], json!({"type": "text", "text": "What is in the picture?"}));
    assert_eq!(content[1], json!({"type": "image_url", "image_url": {"url": "https://x.example/y.png"}}));
    assert_eq!((&sent["tools"][0]["function"]["name"], &sent["model"]), (&json!("zoom"), &json!("claude-x")));
    assert_eq!((&sent["temperature"], &sent["top_k"]), (&json!(0.3), &json!(4)));
    let printed = program.run(["sessions", "show", &session]).exits(0).stdout.clone();
    assert!(printed.contains("A cat.") && printed.contains("zoom") && !printed.contains("the span has"), "{printed}");
    let recorded = Session::open(&program.session_file()).unwrap();
    let usage = recorded.events().find_map(|envelope| match &envelope.event {
        Event::ReplyEnd(end) => end.usage,
        _ => None,
    });
    let usage = usage.unwrap();
    assert_eq!((usage.input, usage.output, usage.reasoning), (1000, 20, Some(5)));
    assert_eq!((usage.cache_read, usage.cache_creation), (Some(900), Some(50)));
}

/// A library, and the attributes of a span that it wrote of a question and its answer.
type Case = (&'static str, Vec<(&'static str, Value)>);

fn vercel_cases() -> [Case; 2] {
    let sent = json!([{"role": "system", "content": "Be short."}, {"role": "user", "content": [{"type": "text", "text": "a question"}]},
        {"role": "assistant", "content": [{"type": "tool-call", "toolCallId": "c1", "toolName": "find", "input": {"what": "x"}}]},
        {"role": "tool", "content": [{"type": "tool-result", "toolCallId": "c1", "toolName": "find", "output": {"type": "text", "value": "3 hits"}}]}]);
    [
        (
            "a call of the Vercel AI SDK",
            vec![
                ("ai.operationId", json!("ai.generateText.doGenerate")),
                ("ai.model.id", json!("gpt-x")),
                ("ai.model.provider", json!("openai.chat")),
                ("ai.prompt.messages", text(&sent)),
                (
                    "ai.prompt.tools",
                    text(&json!([text(&json!({"type": "function", "name": "find", "inputSchema": {}}))])),
                ),
                ("ai.response.text", json!("an answer")),
                ("ai.response.finishReason", json!("stop")),
                ("ai.usage.inputTokens", json!(5)),
            ],
        ),
        (
            "a run of the Vercel AI SDK whose calls are not in the file",
            vec![
                ("ai.operationId", json!("ai.generateText")),
                ("ai.model.id", json!("gpt-x")),
                ("ai.prompt", text(&json!({"prompt": "a question"}))),
                ("ai.response.text", json!("an answer")),
            ],
        ),
    ]
}

fn other_cases() -> [Case; 6] {
    let events = |last: Value| {
        text(&json!([{"event.name": "gen_ai.user.message", "content": "a question", "role": "user"}, last]))
    };
    let choice =
        json!({"event.name": "gen_ai.choice", "index": 0, "message": {"role": "assistant", "content": "an answer"}});
    let answered = json!({"event.name": "gen_ai.assistant.message", "role": "assistant", "content": "an answer"});
    let parts = |role: &str, words: &str| json!({"role": role, "parts": [{"type": "text", "content": words}]});
    let model = ("gen_ai.request.model", json!("gpt-x"));
    [
        (
            "Logfire",
            vec![
                model.clone(),
                (
                    "request_data",
                    text(
                        &json!({"model": "gpt-x", "messages": [{"role": "user", "content": "a question"}], "temperature": 0.3}),
                    ),
                ),
                (
                    "response_data",
                    text(
                        &json!({"message": {"role": "assistant", "content": "an answer"}, "usage": {"prompt_tokens": 5}}),
                    ),
                ),
            ],
        ),
        (
            "a stream of Logfire",
            vec![
                (
                    "request_data",
                    text(
                        &json!({"model": "claude-x", "system": "Be short.", "messages": [{"role": "user", "content": "a question"}]}),
                    ),
                ),
                ("response_data", text(&json!({"combined_chunk_content": "an answer", "chunk_count": 2}))),
            ],
        ),
        ("Pydantic AI", vec![model.clone(), ("events", events(choice))]),
        ("a run of Pydantic AI", vec![("all_messages_events", events(answered))]),
        (
            "a later run of Pydantic AI",
            vec![(
                "pydantic_ai.all_messages",
                text(&json!([parts("user", "a question"), parts("assistant", "an answer")])),
            )],
        ),
        (
            "raw values of OpenInference",
            vec![
                ("openinference.span.kind", json!("LLM")),
                ("input.value", text(&json!({"messages": [{"role": "user", "content": "a question"}]}))),
                ("output.value", json!("an answer")),
            ],
        ),
    ]
}

#[test]
fn messages_are_read_as_each_library_writes_them() {
    for (library, attributes) in vercel_cases().into_iter().chain(other_cases()) {
        let program = Program::new();
        let file = document(&[span("a", 1, &attributes, &json!([]))]);
        let (session, shown, report) = import_one(&program, "library.json", &file.to_string());
        assert_eq!(report["requests"], 1, "{library}");
        assert_eq!(shown[0]["return"], "an answer", "{library}");
        let sent = body(&program, &session, 1);
        assert!(sent["messages"].to_string().contains("a question"), "{library}: {sent}");
        let printed = program.run(["sessions", "show", &session]).exits(0).stdout.clone();
        assert!(!printed.contains("the span has"), "{library}: {printed}");
        if library.starts_with("a call of the Vercel") {
            assert_eq!(sent["messages"][2]["tool_calls"][0]["function"]["name"], "find");
            assert_eq!(sent["messages"][3], json!({"role": "tool", "tool_call_id": "c1", "content": "3 hits"}));
            assert_eq!(sent["tools"][0]["function"]["name"], "find");
        }
        if library == "Logfire" {
            assert_eq!((&sent["temperature"], &shown[0]["usage"]["input_tokens"]), (&json!(0.3), &json!(5)));
        }
    }
}

#[test]
fn the_two_spans_of_a_stream_are_one_request_with_all_of_its_tokens() {
    let program = Program::new();
    let request =
        text(&json!({"model": "claude-x", "messages": [{"role": "user", "content": "a question"}], "stream": true}));
    let usage = json!({"input_tokens": 5, "output_tokens": 2, "cache_read_input_tokens": 1000, "cache_creation_input_tokens": 100});
    let response = text(&json!({"message": {"role": "assistant", "content": "an answer"}, "usage": usage}));
    let asked = span("a", 1, &[("request_data", request.clone())], &json!([]));
    let answered = span("b", 4, &[("request_data", request), ("response_data", response)], &json!([]));
    let (_, shown, report) = import_one(&program, "stream.json", &document(&[asked, answered]).to_string());
    assert_eq!((&report["requests"], &shown[0]["return"]), (&json!(1), &json!("an answer")));
    assert_eq!(shown[0]["usage"]["input_tokens"], 1105, "Anthropic counts what is cached apart");
}

#[test]
fn the_span_of_a_run_is_no_request_where_the_file_has_its_calls() {
    let program = Program::new();
    let run = span("b", 1, &[("all_messages_events", text(&json!([{"role": "user", "content": "hi"}])))], &json!([]));
    let messages = text(&json!([{"role": "user", "parts": [{"type": "text", "content": "hi"}]}]));
    let call =
        span("a", 2, &[("gen_ai.operation.name", json!("chat")), ("gen_ai.input.messages", messages)], &json!([]));
    let (session, _, report) = import_one(&program, "run.json", &document(&[run, call]).to_string());
    assert_eq!((&report["requests"], &report["skipped"]), (&json!(1), &json!(0)));
    assert!(body(&program, &session, 1)["otlp"]["other_spans"].to_string().contains("all_messages_events"));
}

#[test]
fn log_records_are_read_with_their_span_and_counted_where_it_is_missing() {
    let program = Program::new();
    let asked =
        span("a", 1, &[("gen_ai.operation.name", json!("chat")), ("gen_ai.request.model", json!("gpt-x"))], &json!([]));
    let logged = logs(&[
        ("gen_ai.user.message", json!({"content": "a question"})),
        (
            "gen_ai.choice",
            json!({"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "an answer"}}),
        ),
    ]);
    let text = lines(&[logged.clone(), document(&[asked])]);
    let (session, shown, report) = import_one(&program, "logs.jsonl", &text);
    assert_eq!((&shown[0]["return"], &report["skipped"]), (&json!("an answer"), &json!(0)));
    let sent = body(&program, &session, 1);
    assert_eq!(sent["messages"][0]["content"], "a question");
    let kept = sent["otlp"]["logs"].to_string();
    assert!(kept.contains("kept too") && kept.contains("1772359201500000000") && kept.contains("logger"), "{kept}");
    // Without their spans.
    let other = span("c", 1, &[("gen_ai.operation.name", json!("chat"))], &json!([]));
    program.file("lost.jsonl", lines(&[logged.clone(), document(&[other])]));
    let done = program.run(["sessions", "import", "lost.jsonl", "--json"]);
    assert_eq!(done.exits(0).json()["skipped"], 2);
    assert!(done.stderr.contains("log records that belong to no span of the file (2)"), "{}", done.stderr);
    program.file("only.jsonl", logged.to_string());
    let done = program.run(["sessions", "import", "only.jsonl"]);
    assert!(done.exits(2).stderr.contains("log records that belong to no span"), "{}", done.stderr);
}

#[test]
fn resource_scope_and_times_of_events_are_kept_and_keys_are_not() {
    let program = Program::new();
    let event = json!([{"name": "first token", "timeUnixNano": "1772359201250000000", "droppedAttributesCount": 3}]);
    let headers = ("http.request.header.authorization", json!("Bearer sk-header-12345678"));
    let address = ("url.full", json!("https://llm.example/v1/chat?key=sk-query-12345678"));
    let asked = span("a", 1, &[("gen_ai.operation.name", json!("chat")), headers, address], &event);
    let other = span("b", 2, &[("own.key", json!("x"))], &json!([]));
    let resource = |name: &str| json!({"attributes": [{"key": "service.name", "value": {"stringValue": name}}], "droppedAttributesCount": 1});
    let of = |resource: Value, spans: [Value; 1]| {
        json!({"resource": resource, "schemaUrl": "https://schema.example/1", "scopeSpans": [
        {"scope": {"name": "own.instrumentation", "version": "1.2.3", "attributes": [{"key": "short", "value": {"boolValue": true}}]}, "spans": spans}]})
    };
    let file =
        json!({"resourceSpans": [of(resource("shop-backend"), [asked]), of(resource("search-backend"), [other])]});
    let (session, ..) = import_one(&program, "kept.json", &file.to_string());
    let kept = &body(&program, &session, 1)["otlp"];
    assert_eq!(kept["resource"]["attributes"]["service.name"], "shop-backend");
    assert_eq!(
        (&kept["resource"]["schemaUrl"], &kept["resource"]["droppedAttributesCount"]),
        (&json!("https://schema.example/1"), &json!(1))
    );
    assert_eq!((&kept["scope"]["version"], &kept["scope"]["attributes"]["short"]), (&json!("1.2.3"), &json!(true)));
    assert_eq!(
        (&kept["events"][0]["timeUnixNano"], &kept["events"][0]["droppedAttributesCount"]),
        (&json!("1772359201250000000"), &json!(3))
    );
    let others = &kept["other_spans"][0];
    assert_eq!(others["resource"]["attributes"]["service.name"], "search-backend");
    assert!(others.get("scope").is_none(), "it is the same");
    let printed = program.run(["sessions", "show", &session]).exits(0).stdout.clone();
    assert!(printed.contains("the span has no message content that can be read"), "{printed}");
    let recorded = std::fs::read_to_string(program.session_file()).unwrap();
    assert!(!recorded.contains("sk-header") && !kept.to_string().contains("sk-"), "{kept}");
}
