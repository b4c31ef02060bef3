//! Recording of traffic: conversations as sessions, with exact bodies and without keys.

use std::sync::Arc;

use ptc_workbench::agent::Agent;
use ptc_workbench::event::{Address, Event};
use ptc_workbench::proxy::Retention;
use ptc_workbench::replay::verify;
use ptc_workbench::session::{MarkChange, Session, write_mark};
use ptc_workbench::workbench::{FileNaming, agent_of_request, captured_agent, sent_body, write_new_agent};
use serde_json::{Value, json};

use crate::openai::server::{Play, Server, answer};

use super::kit::{Proxied, Wish, body_of, fetch, sessions_in};

fn events(session: &Session, kind: &str) -> Vec<Value> {
    let of = session.events().filter(|envelope| envelope.event.kind() == kind);
    of.map(|envelope| serde_json::from_str(envelope.event.data().unwrap().get()).unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_is_one_session_with_a_turn_for_each_request() {
    let proxied = Proxied::script(|number, _| answer(&format!("reply {number}"))).await;
    let mut messages = vec![("system".to_owned(), "Be brief".to_owned())];
    let mut bodies = Vec::new();
    for number in 0..4 {
        messages.push(("user".to_owned(), format!("question {number}")));
        let pairs: Vec<(&str, &str)> = messages.iter().map(|(role, text)| (role.as_str(), text.as_str())).collect();
        bodies.push(body_of(&pairs));
        assert!(proxied.chat(&pairs).await.is_whole);
        messages.push(("assistant".to_owned(), format!("reply {number}")));
    }
    let lines = Arc::clone(&proxied.lines);
    let (sessions, _dir) = proxied.end().await;
    let [session] = sessions.as_slice() else { panic!("{} sessions", sessions.len()) };
    let printed: Vec<String> = lines.lock().unwrap().iter().map(ToString::to_string).collect();
    assert_eq!(printed.len(), 4);
    assert!(
        printed[3].starts_with(&format!("{} t4  openai m-asked  200  10 in, 7 out  ", session.header.id)),
        "{printed:?}"
    );
    assert_eq!(session.header.captured.as_ref().map(|captured| captured.protocol.as_str()), Some("openai"));
    for (turn, body) in (1..).zip(&bodies) {
        assert_eq!(sent_body(session, &format!("r0/t{turn}")).as_ref(), Ok(body));
    }
    // Each message is recorded once, and a reply is not repeated.
    let recorded = events(session, "message");
    assert_eq!(recorded.len(), 8);
    assert_eq!(recorded[2]["parts"], json!([{"reply": "r0/t1"}]));
    assert_eq!(events(session, "request")[3]["messages"], json!([[0, 7]]));
    let last = events(session, "turn.end").pop().unwrap();
    assert_eq!((&last["totals"]["turns"], &last["totals"]["tokens"]["input"]), (&json!(4), &json!(40)));
    assert_eq!(events(session, "run.end")[0]["return"], "reply 3");
    let verified = verify(session).await;
    assert!(verified.findings.is_empty(), "{:?}", verified.findings);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_that_asks_another_model_counts_at_its_price() {
    let proxied = Proxied::script(|number, _| answer(&format!("reply {number}"))).await;
    let first = json!({"role": "user", "content": "hello"});
    let rest = [json!({"role": "assistant", "content": "reply 0"}), json!({"role": "user", "content": "and?"})];
    let whole: Vec<Value> = [first.clone()].into_iter().chain(rest).collect();
    for (model, messages) in [("gpt-4.1-nano", vec![first]), ("gpt-4.1", whole)] {
        let body = json!({"model": model, "messages": messages}).to_string();
        assert_eq!(fetch(proxied.post("/v1/chat/completions", body)).await.status, 200);
    }
    let (sessions, _dir) = proxied.end().await;
    let [session] = sessions.as_slice() else { panic!("{} sessions", sessions.len()) };
    let ends = events(session, "reply.end");
    assert_eq!(ends[0].get("by"), None);
    assert_eq!(ends[1]["by"]["id"], "gpt-4.1");
    assert_ne!(ends[1]["by"]["price"], events(session, "run.start")[0]["model"]["price"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn long_bodies_that_repeat_are_recorded_once() {
    let proxied = Proxied::script(|number, _| answer(&format!("reply {number}"))).await;
    let numbers: Vec<String> = (0..400_000).map(|number| format!("{number:x}")).collect();
    let long = numbers.join(" ") + &"long text ".repeat(300_000);
    let mut messages = vec![("user".to_owned(), long)];
    let mut sent = 0;
    for number in 0..4 {
        let pairs: Vec<(&str, &str)> = messages.iter().map(|(role, text)| (role.as_str(), text.as_str())).collect();
        sent += body_of(&pairs).len();
        assert!(proxied.chat(&pairs).await.is_whole);
        messages.extend([("assistant".to_owned(), format!("reply {number}")), ("user".to_owned(), "and?".to_owned())]);
    }
    let (sessions, _dir) = proxied.end().await;
    let [session] = sessions.as_slice() else { panic!("{} sessions", sessions.len()) };
    let bytes = usize::try_from(std::fs::metadata(&session.path).unwrap().len()).unwrap();
    assert!(sent > 20 << 20 && bytes < sent / 2, "{bytes} of {sent}");
    assert!(verify(session).await.findings.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_ends_with_its_last_turn() {
    let proxied = Proxied::play([answer("there")]).await;
    assert!(proxied.chat(&[("user", "hi")]).await.is_whole);
    tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    let (sessions, _dir) = proxied.end().await;
    let at = |kind: &str| {
        let found = sessions[0].events().find(|envelope| envelope.event.kind() == kind);
        found.unwrap().at_ms
    };
    assert_eq!(at("run.end"), at("turn.end"), "not when the proxy ended");
}

#[tokio::test(flavor = "multi_thread")]
async fn conversations_of_clients_that_ask_at_once_are_apart() {
    let proxied = Proxied::script(|_, received| {
        let asked = received.json();
        let last = asked["messages"].as_array().unwrap().last().unwrap()["content"].as_str().unwrap().to_owned();
        answer(&format!("you asked {last}"))
    })
    .await;
    let clients = (0..8).map(|client| {
        let proxied = &proxied;
        async move {
            // All begin with the same words.
            let mut messages = vec![("user".to_owned(), "hello".to_owned())];
            for turn in 0..4 {
                let pairs: Vec<(&str, &str)> =
                    messages.iter().map(|(role, text)| (role.as_str(), text.as_str())).collect();
                assert!(proxied.chat(&pairs).await.is_whole);
                let asked = messages.last().unwrap().1.clone();
                messages.push(("assistant".to_owned(), format!("you asked {asked}")));
                messages.push(("user".to_owned(), format!("client {client} turn {turn}")));
            }
        }
    });
    futures::future::join_all(clients).await;
    let (sessions, _dir) = proxied.end().await;
    assert_eq!(sessions.len(), 8);
    for session in &sessions {
        let words: Vec<String> = events(session, "message").iter().map(ToString::to_string).collect();
        let named: Vec<usize> =
            (0..8).filter(|client| words.iter().any(|text| text.contains(&format!("client {client} turn")))).collect();
        assert_eq!((events(session, "turn.end").len(), named.len()), (4, 1), "{named:?}");
        assert!(verify(session).await.findings.is_empty());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_tries_again_continues_its_conversation() {
    let failed = Play::json("500 Internal Server Error", r#"{"error":{"message":"oh"}}"#);
    let proxied = Proxied::play([failed, answer("there")]).await;
    assert_eq!(proxied.chat(&[("user", "hi")]).await.status, 500);
    let again = proxied.post("/v1/chat/completions", body_of(&[("user", "hi")])).header("x-stainless-retry-count", "1");
    assert_eq!(fetch(again).await.status, 200);
    let (sessions, _dir) = proxied.end().await;
    let [session] = sessions.as_slice() else { panic!("{} sessions", sessions.len()) };
    assert_eq!(events(session, "reply.end").iter().map(|end| &end["status"]).collect::<Vec<_>>(), ["error", "ok"]);
    assert!(events(session, "notice").iter().any(|notice| notice["text"].as_str().unwrap().contains("retry 1")));
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_are_nowhere_in_a_session_however_they_come_back() {
    let key = "sk-proxy-0123456789";
    // The service repeats the key, whole and in pieces.
    let proxied = Proxied::play([
        answer(&format!("your key is {key}")),
        Play::events([
            crate::openai::server::delta("your key is sk-proxy-01"),
            crate::openai::server::delta("23456789"),
            crate::openai::server::ending("stop"),
        ]),
    ])
    .await;
    for header in ["authorization", "x-api-key"] {
        let value = if header == "authorization" { format!("Bearer {key}") } else { key.to_owned() };
        let request =
            proxied.post(&format!("/v1/chat/completions?key={key}"), body_of(&[("user", key)])).header(header, value);
        assert!(fetch(request).await.is_whole);
    }
    assert!(proxied.server.received()[0].head.contains(key), "the service gets it");
    let (sessions, _dir) = proxied.end().await;
    for session in &sessions {
        let text = std::fs::read_to_string(&session.path).unwrap();
        assert!(!text.contains(key) && !text.contains("0123456789"), "{text}");
        for wire in session.events().filter_map(|envelope| match envelope.event {
            Event::Wire(wire) => Some(wire),
            _ => None,
        }) {
            let reads = ptc_workbench::model::unpack(&wire).unwrap();
            let bytes: Vec<u8> = reads.into_iter().flat_map(|(_, bytes)| bytes).collect();
            assert!(!String::from_utf8_lossy(&bytes).contains("sk-proxy"), "the bytes hold a part of the key");
        }
        let body = sent_body(session, "r0/t1").unwrap();
        assert!(!body.contains(key) && body.contains("****"), "{body}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_protocol_is_read_with_its_messages_tools_and_calls() {
    let schema = json!({"type": "object", "properties": {"city": {"type": "string"}}});
    let openai = json!({"model": "m", "max_tokens": 9, "tools": [{"type": "function", "function": {"name": "find", "description": "Finds", "parameters": schema}}],
        "messages": [{"role": "system", "content": "S"}, {"role": "user", "content": [{"type": "text", "text": "where"}, {"type": "image_url", "image_url": {"url": format!("data:image/png;base64,{}", "A".repeat(500))}}]},
            {"role": "assistant", "content": null, "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "find", "arguments": "{\"city\":\"Rome\"}"}}]},
            {"role": "tool", "tool_call_id": "c1", "content": "found"}]});
    let responses = json!({"model": "m", "max_output_tokens": 9, "instructions": "S", "tools": [{"type": "function", "name": "find", "description": "Finds", "parameters": schema}],
        "input": [{"role": "user", "content": [{"type": "input_text", "text": "where"}]}, {"type": "function_call", "call_id": "c1", "name": "find", "arguments": "{\"city\":\"Rome\"}"},
            {"type": "function_call_output", "call_id": "c1", "output": "found"}]});
    let anthropic = json!({"model": "m", "max_tokens": 9, "system": [{"type": "text", "text": "S"}], "tools": [{"name": "find", "description": "Finds", "input_schema": schema}],
        "messages": [{"role": "user", "content": "where"}, {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "find", "input": {"city": "Rome"}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "found"}]}]}]});
    let gemini = json!({"systemInstruction": {"parts": [{"text": "S"}]}, "generationConfig": {"maxOutputTokens": 9}, "tools": [{"functionDeclarations": [{"name": "find", "description": "Finds", "parameters": schema}]}],
        "contents": [{"role": "user", "parts": [{"text": "where"}]}, {"role": "model", "parts": [{"functionCall": {"name": "find", "args": {"city": "Rome"}}}]},
            {"role": "user", "parts": [{"functionResponse": {"name": "find", "response": {"result": "found"}}}]}]});
    let ollama = json!({"model": "m", "options": {"num_predict": 9}, "tools": [{"type": "function", "function": {"name": "find", "description": "Finds", "parameters": schema}}],
        "messages": [{"role": "system", "content": "S"}, {"role": "user", "content": "where"}, {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "find", "arguments": {"city": "Rome"}}}]},
            {"role": "tool", "tool_name": "find", "content": "found"}]});
    let openai_reply = json!({"model": "m-2", "choices": [{"index": 0, "message": {"role": "assistant", "content": "here"}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 3, "completion_tokens": 2}});
    let responses_reply = json!({"id": "resp_1", "model": "m-2", "status": "completed", "output": [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "here"}]}], "usage": {"input_tokens": 3, "output_tokens": 2}});
    let anthropic_reply = json!({"type": "message", "role": "assistant", "model": "m-2", "content": [{"type": "text", "text": "here"}], "stop_reason": "end_turn", "usage": {"input_tokens": 3, "output_tokens": 2}});
    let gemini_reply = json!({"modelVersion": "m-2", "candidates": [{"content": {"role": "model", "parts": [{"text": "here"}]}, "finishReason": "STOP"}], "usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 2}});
    let ollama_reply = json!({"model": "m-2", "message": {"role": "assistant", "content": "here"}, "done": true, "done_reason": "stop", "prompt_eval_count": 3, "eval_count": 2});
    let rows = [
        ("/v1/chat/completions", openai, openai_reply),
        ("/v1/responses", responses, responses_reply),
        ("/v1/messages", anthropic, anthropic_reply),
        ("/v1beta/models/m:generateContent", gemini, gemini_reply),
        ("/api/chat", ollama, ollama_reply),
    ];
    for (path, body, reply) in rows {
        let proxied = Proxied::play([Play::json("200 OK", reply.to_string())]).await;
        assert_eq!(fetch(proxied.post(path, body.to_string())).await.text(), reply.to_string());
        let (sessions, _dir) = proxied.end().await;
        let session = &sessions[0];
        let roles: Vec<Value> = events(session, "message").iter().map(|message| message["role"].clone()).collect();
        assert_eq!(roles, ["system", "user", "assistant", "tool"], "{path}");
        let messages = events(session, "message");
        assert_eq!(messages[1]["parts"][0]["text"], "where", "{path}");
        assert_eq!(messages[2]["parts"][0]["call"]["name"], "find", "{path}");
        let args: Value = serde_json::from_str(messages[2]["parts"][0]["call"]["args"].as_str().unwrap()).unwrap();
        assert_eq!(args, json!({"city": "Rome"}), "{path}");
        let result = &messages[3]["parts"][0];
        assert_eq!(result["name"], if path == "/api/chat" { "find" } else { result["name"].as_str().unwrap() });
        assert!(result["result"].as_str().unwrap().contains("found"), "{path}: {result}");
        let request = &events(session, "request")[0];
        assert_eq!(
            (&request["tools"][0]["name"], &request["options"]["max_tokens"]),
            (&json!("find"), &json!(9)),
            "{path}"
        );
        assert_eq!(request["tools"][0]["parameters"], schema, "{path}");
        let end = &events(session, "reply.end")[0];
        assert_eq!(
            (&end["status"], &end["finish"], &end["model"]),
            (&json!("ok"), &json!("stop"), &json!("m-2")),
            "{path}: {end}"
        );
        assert_eq!((&end["usage"]["input"], &end["usage"]["output"]), (&json!(3), &json!(2)), "{path}");
        assert_eq!(events(session, "reply.part")[0]["text"], "here", "{path}");
        let verified = verify(session).await;
        assert!(verified.findings.is_empty(), "{path}: {:?}", verified.findings);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_oldest_captured_sessions_are_removed_and_marked_ones_stay() {
    let server = Server::play([answer("hi")]).await;
    let proxied = Proxied::start(server, Wish::default()).await;
    for number in 0..5 {
        assert!(proxied.chat(&[("user", &format!("question {number}"))]).await.is_whole);
    }
    let (sessions, dir) = proxied.end().await;
    let folder = dir.path().join("sessions");
    let mut ids: Vec<String> = sessions.iter().map(|session| session.header.id.to_string()).collect();
    ids.sort();
    let change = MarkChange { session: ids[0].clone(), add: vec!["keep".into()], ..MarkChange::default() };
    write_mark(&folder, &change).unwrap();
    // A session of this program, and one that is being written.
    let own = folder.join("2020-01-01T00-00-00Z-00000000.jsonl");
    std::fs::copy(&sessions[0].path, &own).unwrap();
    let text = std::fs::read_to_string(&own).unwrap().replacen("\"captured\"", "\"other\"", 1);
    std::fs::write(&own, text).unwrap();
    let busy = std::fs::File::options().append(true).open(folder.join(format!("{}.jsonl", ids[1]))).unwrap();
    busy.lock().unwrap();
    assert_eq!(Retention { sessions: 1, bytes: u64::MAX }.apply(&folder), 2);
    let mut left: Vec<String> = sessions_in(&folder)
        .iter()
        .map(|session| session.path.file_stem().unwrap().to_string_lossy().into_owned())
        .collect();
    left.sort();
    assert_eq!(left, ["2020-01-01T00-00-00Z-00000000", ids[0].as_str(), ids[1].as_str(), ids[4].as_str()]);
    busy.unlock().unwrap();
    // By size: of two that are left without marks, none fits.
    assert_eq!(Retention { sessions: usize::MAX, bytes: 0 }.apply(&folder), 2);
    assert_eq!(sessions_in(&folder).len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_captured_request_makes_an_agent_whose_tools_answer_as_they_did() {
    let schema = json!({"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}, "required": ["city"]});
    let tools = json!([{"type": "function", "function": {"name": "forecast", "description": "Tells the weather", "parameters": schema}}]);
    let call =
        json!({"id": "c1", "type": "function", "function": {"name": "forecast", "arguments": "{\"city\":\"Rome\"}"}});
    let system = json!({"role": "system", "content": "Use {{tools}}."});
    let first = json!({"model": "gpt-4.1", "temperature": 0.5, "tools": tools, "messages": [system, {"role": "user", "content": "Rain in Rome?"}]});
    let second = json!({"model": "gpt-4.1", "temperature": 0.5, "tools": tools, "messages": [system, {"role": "user", "content": "Rain in Rome?"},
        {"role": "assistant", "content": null, "tool_calls": [call]}, {"role": "tool", "tool_call_id": "c1", "content": "{\"rain\": true}"}]});
    let called = json!({"choices": [{"index": 0, "message": {"role": "assistant", "content": null, "tool_calls": [call]}, "finish_reason": "tool_calls"}]});
    let done =
        json!({"choices": [{"index": 0, "message": {"role": "assistant", "content": "Yes"}, "finish_reason": "stop"}]});
    let proxied =
        Proxied::play([Play::json("200 OK", called.to_string()), Play::json("200 OK", done.to_string())]).await;
    for body in [first, second] {
        assert!(fetch(proxied.post("/v1/chat/completions", body.to_string())).await.is_whole);
    }
    let (sessions, dir) = proxied.end().await;
    let [session] = sessions.as_slice() else { panic!("{} sessions", sessions.len()) };
    let text = agent_of_request(session, &Address::from("r0/t1"), "weather").unwrap();
    let agent = Agent::from_toml(&text, "weather.toml").unwrap_or_else(|error| panic!("{error}: {text}"));
    assert_eq!((agent.prompt.as_str(), agent.model.as_deref()), ("Rain in Rome?", Some("openai:gpt-4.1")));
    let parameters = agent.tools[0].definition.get("parameters").and_then(|schema| schema.as_str()).unwrap();
    assert_eq!(serde_json::from_str::<Value>(parameters).unwrap(), schema);
    assert!(text.contains("Use {{tools}}."), "{text}");
    assert!(text.contains("rain") && text.contains("temperature = 0.5"), "{text}");
    let file = dir.path().join("weather.toml");
    let captured = captured_agent(session, &Address::from("r0/t1"), "weather", FileNaming::Name).unwrap();
    assert_eq!((&captured.text, captured.files.len()), (&text, 0));
    write_new_agent(&file, &captured).unwrap();
    assert!(write_new_agent(&file, &captured).unwrap_err().message.contains("exists"));
    // A later request has the conversation so far.
    let later = agent_of_request(session, &Address::from("r0/t2"), "weather").unwrap();
    let later = Agent::from_toml(&later, "later.toml").unwrap_or_else(|error| panic!("{error}: {later}"));
    assert_eq!(later.prompt, "Rain in Rome?");
    assert!(agent_of_request(session, &Address::from("r0/t9"), "weather").is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn no_part_of_a_request_is_recorded_with_a_key() {
    let key = "sk-proxy-0123456789";
    let (start, end) = key.split_at(10);
    let body = json!({"model": format!("m {key}"), "stop": [start, end, "x", key], "reasoning_effort": key, key: 1,
        "response_format": {"type": "json_schema", "json_schema": {"schema": {"description": key}}},
        "tools": [{"type": "function", "function": {"name": key, "description": key, "parameters": {"description": key}}}],
        "messages": [{"role": "user", "content": [{"type": key, "data": key}, {"type": "text", "text": key}]},
            {"role": "assistant", "content": null, "tool_calls": [{"id": key, "type": "function", "function": {"name": key, "arguments": format!("{{\"a\":\"{key}\"}}")}}]},
            {"role": "tool", "tool_call_id": key, "content": key}]});
    let proxied = Proxied::play([answer("fine")]).await;
    let request = proxied.post("/v1/chat/completions", body.to_string()).header("x-api-key", key).header("x-note", key);
    assert!(fetch(request).await.is_whole);
    assert_eq!(proxied.server.received()[0].json(), body, "the service gets all of it");
    let (sessions, _dir) = proxied.end().await;
    let text = std::fs::read_to_string(&sessions[0].path).unwrap();
    assert!(!text.contains(key) && !text.contains(end), "{text}");
    let recorded = sent_body(&sessions[0], "r0/t1").unwrap();
    assert!(!recorded.contains(start) && !recorded.contains(end), "{recorded}");
    assert!(verify(&sessions[0]).await.findings.is_empty());
}
