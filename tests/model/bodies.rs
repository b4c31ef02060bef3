//! Requests: the whole body of a question with history, tools and options in each protocol.

use ptc_core::value::json as core_json;
use ptc_workbench::event::{JsonText, Opaque, Options, Role};
use ptc_workbench::model::{Adapter, Content, Message, Request, ToolChoice, carries};
use serde_json::{Value, json};

use super::kit::{ALL, Kit};
use super::{ask, call, result, tool};
use crate::openai::request;
use crate::openai::server::{Received, Server};

/// A question late in a conversation: two calls answered at once, with reasoning of this provider and of another.
fn late(opaque: &str) -> Request {
    let given = |provider: &str, parts: &str| {
        Content::Reasoning(Opaque { provider: provider.into(), parts: JsonText::of(&core_json::parse(parts).unwrap()) })
    };
    let mut asked = Request { tools: vec![tool("get_weather")], ..request("Weather?") };
    asked.messages.push(
        Message {
            role: Role::Assistant,
            parts: vec![
                Content::Text("Let me see.".into()),
                Content::Call(call("a.1", "{\"city\":\"Oslo\"}")),
                Content::Call(call("tc_2", "no JSON")),
                given("another", r#"[{"place":0,"block":{"type":"thinking","thinking":"x","signature":"y"}}]"#),
                given("local", opaque),
            ],
        }
        .into(),
    );
    asked.messages.extend([result("a.1", "{\"degrees\":7}"), result("tc_2", "12")]);
    asked.messages.push(Message::text(Role::User, "And now?").into());
    asked
}

async fn sent(kit: Kit, request: &Request) -> Received {
    let server = Server::play([kit.answer("fine")]).await;
    ask(kit, &server, &kit.model(&server), request).await.reply();
    server.received().remove(0)
}

#[tokio::test]
async fn anthropic_gets_blocks_in_turns() {
    let opaque = r#"[{"place":0,"block":{"type":"thinking","thinking":"hm","signature":"sig"}},{"place":2,"block":{"type":"redacted_thinking","data":"enc"}}]"#;
    let received = sent(ALL[1], &late(opaque)).await;
    assert!(received.head.starts_with("POST /v1/messages HTTP/1.1"), "{}", received.head);
    assert_eq!(received.header("anthropic-version"), "2026-10-21");
    let use_of = |id: &str, input: Value| json!({"type": "tool_use", "id": id, "name": "get_weather", "input": input});
    let result_of = |id: &str, content: &str| json!({"type": "tool_result", "tool_use_id": id, "content": content});
    let expected = json!({
        "model": "m-asked",
        "max_tokens": 8192,
        "system": "Answer with JSON.",
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "Weather?"}]},
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "hm", "signature": "sig"},
                {"type": "text", "text": "Let me see."},
                use_of("a_1", json!({"city": "Oslo"})),
                {"type": "redacted_thinking", "data": "enc"},
                use_of("tc_2", json!({})),
            ]},
            {"role": "user", "content": [
                result_of("a_1", "{\"degrees\":7}"), result_of("tc_2", "12"), {"type": "text", "text": "And now?"}]},
        ],
        "stream": true,
        "tools": [{"name": "get_weather", "description": "Tells the weather.", "input_schema": {"type": "object",
            "properties": {"city": {"type": "string"}}, "required": ["city"], "additionalProperties": false}}],
    });
    assert_eq!(received.json(), expected);
}

#[tokio::test]
async fn gemini_gets_parts_with_their_signatures() {
    let received = sent(ALL[2], &late(r#"[{"place":1,"thoughtSignature":"sig"}]"#)).await;
    assert!(
        received.head.starts_with("POST /v1/models/m-asked:streamGenerateContent?alt=sse HTTP/1.1"),
        "{}",
        received.head
    );
    let expected = json!({
        "systemInstruction": {"parts": [{"text": "Answer with JSON."}]},
        "contents": [
            {"role": "user", "parts": [{"text": "Weather?"}]},
            {"role": "model", "parts": [
                {"text": "Let me see."},
                {"functionCall": {"id": "a.1", "name": "get_weather", "args": {"city": "Oslo"}}, "thoughtSignature": "sig"},
                {"functionCall": {"name": "get_weather", "args": {}}},
            ]},
            {"role": "user", "parts": [
                {"functionResponse": {"id": "a.1", "name": "get_weather", "response": {"degrees": 7}}},
                {"functionResponse": {"name": "get_weather", "response": {"result": 12}}},
            ]},
            {"role": "user", "parts": [{"text": "And now?"}]},
        ],
        "tools": [{"functionDeclarations": [{"name": "get_weather", "description": "Tells the weather.",
            "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}]}],
    });
    assert_eq!(received.json(), expected);
}

#[tokio::test]
async fn ollama_gets_messages_with_the_tools_name() {
    let received = sent(ALL[3], &late(r#"[{"thinking":"hm"}]"#)).await;
    assert!(received.head.starts_with("POST /api/chat HTTP/1.1"), "{}", received.head);
    let function = |id: &str, args: Value| json!({"id": id, "function": {"name": "get_weather", "arguments": args}});
    let answer = |id: &str, content: &str| json!({"role": "tool", "content": content, "tool_name": "get_weather", "tool_call_id": id});
    let body = received.json();
    let expected = json!([
        {"role": "system", "content": "Answer with JSON."},
        {"role": "user", "content": "Weather?"},
        {"role": "assistant", "content": "Let me see.", "thinking": "hm",
         "tool_calls": [function("a.1", json!({"city": "Oslo"})), function("tc_2", json!({}))]},
        answer("a.1", "{\"degrees\":7}"),
        answer("tc_2", "12"),
        {"role": "user", "content": "And now?"},
    ]);
    assert_eq!((&body["messages"], &body["stream"]), (&expected, &json!(true)));
    assert_eq!(body["tools"][0]["function"]["name"], "get_weather");
}

#[tokio::test]
async fn chat_completions_get_reasoning_back_only_from_their_own_server() {
    let received = sent(Kit(ptc_workbench::config::Protocol::OpenAi), &late("[]")).await.json();
    assert_eq!(received["messages"][2].get("reasoning_content"), None);
    let kit = ALL[0];
    let server = Server::play([kit.answer("fine")]).await;
    // Servers that reason between calls demand a member that the official schema does not know.
    let model = kit.model(&server);
    let body: Value = serde_json::from_str(&model.body(&late(r#"[{"reasoning_content":"hm"}]"#)).to_text()).unwrap();
    assert_eq!(body["messages"][2]["reasoning_content"], "hm");
}

#[tokio::test]
async fn options_go_where_each_protocol_has_them() {
    let options = Options {
        temperature: Some(0.5),
        max_tokens: Some(500),
        top_p: Some(0.9),
        stop: vec!["END".into()],
        seed: Some(42),
        reasoning: Some("high".into()),
        ..Options::default()
    };
    let asked = Request { options, ..request("hi") };
    let gemini = sent(ALL[2], &asked).await.json()["generationConfig"].clone();
    let expected = json!({"temperature": 0.5, "topP": 0.9, "maxOutputTokens": 500, "stopSequences": ["END"], "seed": 42,
        "thinkingConfig": {"thinkingLevel": "high", "includeThoughts": true}});
    assert_eq!(gemini, expected);
    let ollama = sent(ALL[3], &asked).await.json();
    let expected = json!({"temperature": 0.5, "top_p": 0.9, "num_predict": 500, "stop": ["END"], "seed": 42});
    assert_eq!((&ollama["options"], &ollama["think"]), (&expected, &json!("high")));
    let anthropic = sent(ALL[1], &asked).await.json();
    assert_eq!((anthropic.get("temperature"), anthropic.get("top_p")), (None, None));
    assert_eq!((&anthropic["max_tokens"], &anthropic["stop_sequences"]), (&json!(500), &json!(["END"])));
    assert_eq!(
        (&anthropic["thinking"]["type"], &anthropic["output_config"]["effort"]),
        (&json!("adaptive"), &json!("high"))
    );
}

#[tokio::test]
async fn a_choice_of_tools_goes_where_each_protocol_has_it() {
    let named = || ToolChoice::Tool("get_weather".into());
    let open_ai = [
        (ToolChoice::Auto, json!("auto")),
        (ToolChoice::Required, json!("required")),
        (ToolChoice::None, json!("none")),
        (named(), json!({"type": "function", "function": {"name": "get_weather"}})),
    ];
    let anthropic = [
        (ToolChoice::Auto, json!({"type": "auto"})),
        (ToolChoice::Required, json!({"type": "any"})),
        (ToolChoice::None, json!({"type": "none"})),
        (named(), json!({"type": "tool", "name": "get_weather"})),
    ];
    let gemini = [
        (ToolChoice::Auto, json!({"mode": "AUTO"})),
        (ToolChoice::Required, json!({"mode": "ANY"})),
        (ToolChoice::None, json!({"mode": "NONE"})),
        (named(), json!({"mode": "ANY", "allowedFunctionNames": ["get_weather"]})),
    ];
    let places = [
        (0, "/tool_choice", open_ai),
        (1, "/tool_choice", anthropic),
        (2, "/toolConfig/functionCallingConfig", gemini),
    ];
    for (kit, place, choices) in places {
        for (choice, expected) in choices {
            let asked = Request { tools: vec![tool("get_weather")], tool_choice: Some(choice), ..request("Weather?") };
            assert_eq!(sent(ALL[kit], &asked).await.json().pointer(place), Some(&expected));
            let without_tools = Request { tools: Vec::new(), ..asked };
            assert_eq!(sent(ALL[kit], &without_tools).await.json().pointer(place), None);
        }
    }
}

#[tokio::test]
async fn a_protocol_without_a_choice_of_tools_omits_them_or_reports_it() {
    let kit = ALL[3];
    let server = Server::play([kit.answer("fine")]).await;
    let choices = [
        (ToolChoice::Auto, true, ""),
        (ToolChoice::None, false, ""),
        (ToolChoice::Required, true, "takes no tool_choice"),
        (ToolChoice::Tool("get_weather".into()), true, "takes no tool_choice"),
    ];
    for (choice, has_tools, notice) in choices {
        let asked = Request { tools: vec![tool("get_weather")], tool_choice: Some(choice), ..request("Weather?") };
        let model = kit.model(&server);
        let body: Value = serde_json::from_str(&model.body(&asked).to_text()).unwrap();
        assert_eq!(body.get("tools").is_some(), has_tools, "{asked:?}");
        let limits = model.limits(&asked).join(" ");
        assert!(limits.contains(notice) && limits.is_empty() == notice.is_empty(), "{limits}");
    }
}

#[tokio::test]
async fn every_option_is_found_in_the_body_or_reported_to_be_left_out() {
    let options = Options {
        temperature: Some(0.5),
        max_tokens: Some(500),
        top_p: Some(0.9),
        stop: vec!["END".into()],
        seed: Some(42),
        reasoning: Some("high".into()),
        ..Options::default()
    };
    let names = ["temperature", "max_tokens", "top_p", "stop", "seed", "reasoning"];
    let asked = Request { options, ..request("hi") };
    let server = Server::play([ALL[0].answer("fine")]).await;
    for kit in ALL {
        let model = kit.model(&server);
        let (body, shown) = (model.body(&asked), model.limits(&asked).join(" "));
        for name in names {
            assert_ne!(carries(&body, name), shown.contains(name), "{kit:?} {name}: {shown}");
        }
        let bare = model.body(&request("hi"));
        let kept = names.iter().filter(|name| carries(&bare, name)).count();
        // One service demands a limit of tokens.
        assert!(kept <= 1, "{kit:?}");
    }
}

#[tokio::test]
async fn what_anthropic_does_not_take_is_left_out_and_reported() {
    let kit = ALL[1];
    let options = Options { temperature: Some(0.5), seed: Some(1), ..Options::default() };
    let asked_for = Request { options, ..request("hi") };
    let server = Server::play([kit.answer("fine")]).await;
    let asked = ask(kit, &server, &kit.model(&server), &asked_for).await;
    assert_eq!(asked.notices().len(), 1);
    assert!(asked.notices()[0].contains("temperature") && asked.notices()[0].contains("seed"), "{:?}", asked.notices());
    // The older version takes sampling parameters.
    let mut older = kit.endpoint(&server);
    older.version = Some("2023-06-01".into());
    let model = Adapter::new(older).unwrap();
    crate::openai::hear(&model, &asked_for, tokio_util::sync::CancellationToken::new()).await.reply();
    let received = server.received().pop().unwrap();
    assert_eq!(
        (received.header("anthropic-version").as_str(), &received.json()["temperature"]),
        ("2023-06-01", &json!(0.5))
    );
}

#[tokio::test]
async fn the_hint_to_cache_marks_system_text_and_the_last_message() {
    let body = sent(ALL[1], &Request { cache: true, ..late("[]") }).await.json();
    let mark = json!({"type": "ephemeral"});
    assert_eq!(body["system"][0]["cache_control"], mark);
    let last =
        body["messages"].as_array().unwrap().last().unwrap()["content"].as_array().unwrap().last().unwrap().clone();
    assert_eq!(last["cache_control"], mark);
    assert_eq!(body.to_string().matches("cache_control").count(), 2);
}

#[tokio::test]
async fn keys_travel_in_the_header_of_their_protocol_and_roots_are_found() {
    let cases = [
        (0, "/v1", "POST /v1/chat/completions", "authorization", "Bearer sk-12345678"),
        (1, "", "POST /v1/messages", "x-api-key", "sk-12345678"),
        (1, "/proxy/v1", "POST /proxy/v1/messages", "x-api-key", "sk-12345678"),
        (2, "", "POST /v1beta/models/m:streamGenerateContent?alt=sse", "x-goog-api-key", "sk-12345678"),
        (
            2,
            "/v1/projects/p/locations/l/publishers/google",
            "POST /v1/projects/p/locations/l/publishers/google/models/m:streamGenerateContent?alt=sse",
            "authorization",
            "Bearer sk-12345678",
        ),
        (3, "/v1", "POST /api/chat", "authorization", "Bearer sk-12345678"),
        (3, "", "POST /api/chat", "authorization", "Bearer sk-12345678"),
    ];
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("key");
    std::fs::write(&file, "sk-12345678").unwrap();
    for (place, root, line, header, value) in cases {
        let kit = ALL[place];
        let server = Server::play([kit.answer("fine")]).await;
        let mut endpoint = kit.endpoint(&server);
        endpoint.id = "m".into();
        endpoint.base_url = server.base_url.trim_end_matches("/v1").to_owned() + root;
        endpoint.key = Some(ptc_workbench::config::KeySource::File(file.clone()));
        ask(kit, &server, &Adapter::new(endpoint).unwrap(), &request("hi")).await.reply();
        let received = server.received().remove(0);
        assert!(received.head.starts_with(&format!("{line} HTTP/1.1")), "{}", received.head);
        assert_eq!(received.header(header), value);
    }
}

/// A conversation of several services: each numbered its calls on its own. And a reply that was empty left two messages of the user.
fn repeated() -> Request {
    let mut asked = Request { tools: vec![tool("get_weather")], ..request("Weather?") };
    for answer in ["7", "8", "9"] {
        let calls = vec![Content::Call(call("tc_1", "{\"city\":\"Oslo\"}"))];
        asked.messages.push(Message { role: Role::Assistant, parts: calls }.into());
        asked.messages.push(result("tc_1", answer));
    }
    asked.messages.push(Message::text(Role::User, "And now?").into());
    asked.messages.push(Message::text(Role::User, "Your reply was empty.").into());
    asked
}

#[tokio::test]
async fn no_call_id_is_sent_twice_and_the_roles_alternate() {
    for kit in ALL {
        let received = sent(kit, &repeated()).await;
        let body: Value = received.json();
        let text = body.to_string();
        for id in ["tc_1", "tc_2", "tc_3"] {
            // Gemini pairs calls without an id of its own by their order.
            let uses = text.matches(&format!("\"{id}\"")).count();
            assert!(uses == 2 || uses == 0, "{kit:?}: {id} {uses} times in {text}");
        }
        let messages = ["messages", "contents", "input"].into_iter().find_map(|key| body.get(key)?.as_array()).unwrap();
        // Results of Gemini's calls are messages of the user.
        let is_result = |message: &&Value| message.to_string().contains("functionResponse");
        // Calls and results of the Responses API have no role.
        let is_repeated = messages
            .windows(2)
            .any(|pair| pair[0]["role"].is_string() && pair[0]["role"] == pair[1]["role"] && !is_result(&&pair[0]));
        assert!(!is_repeated, "{kit:?}: {text}");
        assert!(text.contains("And now?\\n\\nYour reply was empty."), "{kit:?}: {text}");
    }
}
