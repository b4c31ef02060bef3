//! Behaviour of services beyond their protocols: tools of their own, other content types and codings, odd counts, names in pieces.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::{GzEncoder, ZlibEncoder};
use ptc_workbench::config::Protocol;
use ptc_workbench::event::{JsonText, PartKind, Role};
use ptc_workbench::model::{Adapter, Content, ErrorClass, Finish, Message, Request};
use serde_json::json;

use super::kit::{ALL, Kit};
use super::{ask, result, tool};
use crate::openai::request;
use crate::openai::server::{Play, Received, Server, delta, ending};

const ANTHROPIC: Kit = Kit(Protocol::Anthropic);
const OPENAI: Kit = Kit(Protocol::OpenAi);

/// A block of a messages stream with its deltas.
fn block(index: u64, start: &serde_json::Value, deltas: &[serde_json::Value]) -> String {
    let event = |value: serde_json::Value| format!("event: {}\ndata: {value}\n\n", value["type"].as_str().unwrap());
    let deltas = deltas.iter().map(|delta| json!({"type": "content_block_delta", "index": index, "delta": delta}));
    [json!({"type": "content_block_start", "index": index, "content_block": start})]
        .into_iter()
        .chain(deltas)
        .chain([json!({"type": "content_block_stop", "index": index})])
        .map(event)
        .collect()
}

#[tokio::test]
async fn a_tool_that_the_service_runs_itself_is_no_call_of_the_reply() {
    let input = |piece: &str| json!({"type": "input_json_delta", "partial_json": piece});
    for kind in ["server_tool_use", "mcp_tool_use"] {
        let use_of = json!({"type": kind, "id": "srvtoolu_1", "name": "web_search", "input": {}});
        let result = json!({"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1",
            "content": [{"type": "web_search_result", "title": "Oslo", "url": "https://example.com"}]});
        let text = json!({"type": "text_delta", "text": "It rains."});
        let pieces = [
            ANTHROPIC.begin(),
            block(0, &use_of, &[input("{\"query\":"), input("\"weather\"}")]),
            block(1, &result, &[]),
            block(2, &json!({"type": "text", "text": ""}), &[text]),
            ANTHROPIC.end("stop"),
        ];
        let server = Server::play([ANTHROPIC.play(pieces)]).await;
        let asked_for = Request { tools: vec![tool("get_weather")], ..request("hi") };
        let asked = ask(ANTHROPIC, &server, &ANTHROPIC.model(&server), &asked_for).await;
        assert_eq!((asked.reply().text.as_str(), asked.reply().calls.len()), ("It rains.", 0), "{kind}");
        assert_eq!(asked.text_of(1, PartKind::Call), "", "{kind}");
        let notices = asked.notices();
        assert!(notices.len() == 1 && notices[0].contains("its own tool web_search"), "{kind}: {notices:?}");
    }
}

#[tokio::test]
async fn a_request_on_vertex_names_the_model_in_its_address_and_the_version_in_its_body() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("key");
    std::fs::write(&file, "ya29.token").unwrap();
    for stream in [true, false] {
        let play = if stream { ANTHROPIC.answer("fine") } else { ANTHROPIC.whole("fine") };
        let server = Server::play([play]).await;
        let mut endpoint = ANTHROPIC.endpoint(&server);
        endpoint.id = "claude@1".into();
        endpoint.base_url += "/projects/p/locations/l/publishers/anthropic";
        endpoint.stream = stream;
        endpoint.key = Some(ptc_workbench::config::KeySource::File(file.clone()));
        crate::openai::hear(
            &Adapter::new(endpoint).unwrap(),
            &request("hi"),
            tokio_util::sync::CancellationToken::new(),
        )
        .await
        .reply();
        let received = server.received().remove(0);
        let verb = if stream { "streamRawPredict" } else { "rawPredict" };
        assert!(received.head.contains(&format!("/publishers/anthropic/models/claude@1:{verb} ")), "{}", received.head);
        let body = received.json();
        assert_eq!((&body["anthropic_version"], body.get("model")), (&json!("vertex-2023-10-16"), None));
        assert_eq!(received.header("anthropic-version"), "");
        assert_eq!(
            (received.header("authorization").as_str(), received.header("x-api-key").as_str()),
            ("Bearer ya29.token", "")
        );
    }
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

fn deflate(text: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

#[tokio::test]
async fn compressed_replies_are_read_though_none_are_asked_for() {
    for kit in ALL.into_iter().filter(|kit| kit.0 != Protocol::Bedrock) {
        let stream = [kit.begin(), kit.text("squeezed"), kit.end("stop")].concat();
        let kind = if kit.0 == Protocol::Ollama { "application/x-ndjson" } else { "text/event-stream" };
        let kind = format!("content-type: {kind}\r\n");
        for (coding, bytes) in [("gzip", gzip(stream.as_bytes())), ("deflate", deflate(stream.as_bytes()))] {
            let server = Server::play([Play::coded(coding, &kind, &bytes)]).await;
            let asked = ask(kit, &server, &kit.model(&server), &request("hi")).await;
            assert_eq!(asked.reply().text, "squeezed", "{kit:?} {coding}");
            assert_eq!(server.received()[0].header("accept-encoding"), "identity");
        }
    }
}

#[tokio::test]
async fn a_stream_of_events_that_is_labelled_json_is_read() {
    for kit in [OPENAI, ANTHROPIC, Kit(Protocol::Gemini)] {
        let stream = [kit.begin(), kit.text("events"), kit.end("stop")].concat();
        for before in ["", ": keep-alive\n\n", "\u{feff}", "\n"] {
            let server = Server::play([Play::json("200 OK", format!("{before}{stream}"))]).await;
            let asked = ask(kit, &server, &kit.model(&server), &request("hi")).await;
            assert_eq!(asked.reply().text, "events", "{kit:?} after {before:?}");
        }
    }
}

#[tokio::test]
async fn counts_of_tokens_are_read_as_numbers_texts_and_fractions() {
    let whole = |count: &str| {
        format!(
            "{{\"choices\":[{{\"message\":{{\"content\":\"a\"}},\"finish_reason\":\"stop\"}}],\
             \"usage\":{{\"prompt_tokens\":{count},\"completion_tokens\":{count}}}}}"
        )
    };
    for (count, expected) in
        [("7", Some(7)), ("\"7\"", Some(7)), ("7.0", Some(7)), ("\"7.0\"", Some(7)), ("\"many\"", None)]
    {
        let server = Server::play([Play::json("200 OK", whole(count))]).await;
        let asked = ask(OPENAI, &server, &OPENAI.model(&server), &request("hi")).await;
        assert_eq!(asked.reply().usage.map(|usage| usage.input), expected, "{count}");
    }
}

#[tokio::test]
async fn a_name_in_pieces_is_shown_whole_before_its_arguments() {
    let piece = |call: &serde_json::Value| {
        format!("data: {}\n\n", json!({"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]}))
    };
    let pieces = [
        piece(&json!({"index": 0, "id": "a", "function": {"name": "get_", "arguments": ""}})),
        piece(&json!({"index": 0, "function": {"name": "weather"}})),
        piece(&json!({"index": 0, "function": {"arguments": "{}"}})),
        piece(&json!({"index": 1, "id": "b", "function": {"name": "get_"}})),
        piece(&json!({"index": 1, "function": {"name": "time"}})),
        piece(&json!({"index": 2, "id": "c", "function": {"name": "stop", "arguments": "{}"}})),
        ending("tool_calls"),
    ];
    let server = Server::play([Play::events(pieces)]).await;
    let asked = ask(OPENAI, &server, &OPENAI.model(&server), &request("hi")).await;
    assert_eq!(asked.text_of(1, PartKind::Call), "get_weather {}\nget_time \nstop {}");
    let names: Vec<&str> = asked.reply().calls.iter().map(|call| call.name.as_str()).collect();
    assert_eq!(names, ["get_weather", "get_time", "stop"]);
}

#[tokio::test]
async fn an_answer_that_a_refusal_breaks_off_is_not_its_reason() {
    let pieces = [ANTHROPIC.begin(), ANTHROPIC.text("Hi"), ANTHROPIC.end("refusal")];
    let server = Server::play([ANTHROPIC.play(pieces)]).await;
    let asked = ask(ANTHROPIC, &server, &ANTHROPIC.model(&server), &request("hi")).await;
    assert_eq!(asked.error().class, ErrorClass::Refusal);
    assert_eq!(asked.error().message, "the model refused after 2 characters of an answer");
}

#[tokio::test]
async fn a_reply_of_reasoning_only_is_named_and_no_reason_to_ask_in_another_way() {
    for kit in ALL {
        let server = Server::play([kit.play([kit.begin(), kit.thought("hm"), kit.end("stop")])]).await;
        let asked_for =
            Request { schema: Some(ptc_core::value::json::parse("{\"type\":\"object\"}").unwrap()), ..request("hi") };
        let asked = ask(kit, &server, &kit.model(&server), &asked_for).await;
        assert_eq!((asked.reply().text.as_str(), asked.reply().finish.clone()), ("", Some(Finish::Stop)), "{kit:?}");
        let notices: Vec<&str> = asked.notices().into_iter().filter(|text| !text.contains("omitted")).collect();
        assert!(notices.len() == 1 && notices[0].ends_with("sent reasoning and no answer"), "{kit:?}: {notices:?}");
    }
}

#[tokio::test]
async fn a_conflict_is_tried_again() {
    let conflict = Play::json("409 Conflict", "{\"error\":{\"message\":\"busy\"}}");
    let server = Server::play([conflict, Play::events([delta("a"), ending("stop")])]).await;
    let asked = ask(OPENAI, &server, &OPENAI.model(&server), &request("hi")).await;
    assert_eq!((asked.reply().text.as_str(), asked.reply().attempt), ("a", 2));
}

#[tokio::test]
async fn a_number_of_tokens_for_reasoning_is_left_out_where_only_words_are_known() {
    let mut asked_for = request("hi");
    asked_for.options.reasoning = Some("4000".into());
    let server = Server::play([OPENAI.answer("fine")]).await;
    let asked = ask(OPENAI, &server, &OPENAI.model(&server), &asked_for).await;
    assert_eq!(server.received()[0].json().get("reasoning_effort"), None);
    assert!(asked.notices()[0].contains("takes no number of tokens for reasoning"), "{:?}", asked.notices());
}

const RESPONSES: Kit = Kit(Protocol::Responses);

#[tokio::test]
async fn reasoning_of_the_responses_api_goes_back_encrypted_where_it_was() {
    let pieces = [
        RESPONSES.begin(),
        RESPONSES.thought("Which city?"),
        RESPONSES.call(0, "call_1", "get_weather", &json!({"city": "Oslo"})),
        RESPONSES.end("calls"),
    ];
    let server = Server::play([RESPONSES.play(pieces), RESPONSES.answer("It rains.")]).await;
    let model = RESPONSES.model(&server);
    let mut asked_for = Request { tools: vec![tool("get_weather")], ..request("Weather?") };
    asked_for.options.reasoning = Some("low".into());
    let asked = ask(RESPONSES, &server, &model, &asked_for).await;
    assert_eq!(asked.text_of(1, PartKind::Reasoning), "Which city?");
    let reply = asked.reply().clone();
    assert_eq!(reply.finish, Some(Finish::ToolCalls));
    let mut parts: Vec<Content> = reply.calls.iter().cloned().map(Content::Call).collect();
    parts.extend(reply.opaque.map(Content::Reasoning));
    asked_for.messages.push(Message { role: Role::Assistant, parts }.into());
    asked_for.messages.push(result("call_1", "\"rain\""));
    ask(RESPONSES, &server, &model, &asked_for).await.reply();
    let received = server.received();
    let (first, second) = (received[0].json(), received[1].json());
    assert_eq!((&first["store"], &first["include"]), (&json!(false), &json!(["reasoning.encrypted_content"])));
    assert_eq!(first["reasoning"], json!({"effort": "low", "summary": "auto"}));
    assert_eq!(first["tools"][0]["strict"], json!(true));
    let expected = json!([
        {"role": "user", "content": "Weather?"},
        {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Which city?"}],
            "encrypted_content": "sig-1"},
        {"type": "function_call", "call_id": "call_1", "name": "get_weather", "arguments": "{\"city\":\"Oslo\"}"},
        {"type": "function_call_output", "call_id": "call_1", "output": "\"rain\""},
    ]);
    assert_eq!(second["input"], expected);
}

#[tokio::test]
async fn what_a_model_of_the_responses_api_refuses_is_asked_for_no_more() {
    let refusal =
        |message: &str| Play::json("400 Bad Request", RESPONSES.error("invalid_request_error", message).to_string());
    let server = Server::play([
        refusal("Encrypted content is not supported with this model."),
        refusal("Your organization must be verified to generate reasoning summaries."),
        RESPONSES.answer("fine"),
    ])
    .await;
    let mut asked_for = request("hi");
    asked_for.options.reasoning = Some("low".into());
    let asked = ask(RESPONSES, &server, &RESPONSES.model(&server), &asked_for).await;
    assert_eq!(asked.reply().text, "fine");
    let bodies: Vec<_> = server.received().iter().map(Received::json).collect();
    let has = |body: &serde_json::Value| (body.get("include").is_some(), body.get("reasoning").is_some());
    assert_eq!(bodies.iter().map(has).collect::<Vec<_>>(), [(true, true), (false, true), (false, false)]);
}

#[tokio::test]
async fn refusals_and_failures_inside_a_response_are_errors_of_their_kind() {
    let refusal = json!({"type": "response.refusal.delta", "output_index": 0, "delta": "I will not."});
    let refused = [RESPONSES.begin(), format!("event: r\ndata: {refusal}\n\n"), RESPONSES.end("stop")];
    let failed = json!({"type": "response.failed", "response": {"status": "failed",
        "error": {"code": "rate_limit_exceeded", "message": "Slow down."}}});
    let failed = [RESPONSES.begin(), format!("event: response.failed\ndata: {failed}\n\n")];
    let error = json!({"type": "error", "code": "server_error", "message": "Sorry.", "param": null});
    let error = [RESPONSES.begin(), format!("event: error\ndata: {error}\n\n")];
    for (play, class, words) in [
        (RESPONSES.play(refused), ErrorClass::Refusal, "the model refused: I will not."),
        (RESPONSES.play(failed), ErrorClass::RateLimit, "Slow down. (rate_limit_exceeded)"),
        (RESPONSES.play(error), ErrorClass::Server, "Sorry. (server_error)"),
    ] {
        let server = Server::play([play]).await;
        let mut endpoint = RESPONSES.endpoint(&server);
        endpoint.retry.max_attempts = 1;
        let asked = ask(RESPONSES, &server, &Adapter::new(endpoint).unwrap(), &request("hi")).await;
        assert_eq!(asked.error().class, class, "{}", asked.error().message);
        assert!(asked.error().message.contains(words), "{}", asked.error().message);
    }
}

#[tokio::test]
async fn parts_of_a_summary_and_tools_of_the_service_are_shown() {
    let part = json!({"type": "response.reasoning_summary_part.added", "output_index": 0});
    let delta = |text: &str| json!({"type": "response.reasoning_summary_text.delta", "output_index": 0, "delta": text});
    let search = json!({"type": "response.output_item.added", "output_index": 1, "item": {"type": "web_search_call"}});
    let frames = [&part, &delta("One."), &part, &delta("Two."), &search];
    let frames = frames.map(|frame| format!("data: {frame}\n\n")).concat();
    let server =
        Server::play([RESPONSES.play([RESPONSES.begin(), frames, RESPONSES.text("a"), RESPONSES.end("stop")])]).await;
    let asked = ask(RESPONSES, &server, &RESPONSES.model(&server), &request("hi")).await;
    assert_eq!((asked.reply().text.as_str(), asked.text_of(1, PartKind::Reasoning).as_str()), ("a", "One.\n\nTwo."));
    assert!(asked.notices()[0].contains("its own tool web_search"), "{:?}", asked.notices());
}

#[tokio::test]
async fn items_of_tools_that_are_no_functions_break_no_reply_and_are_no_calls_of_an_agent() {
    let item = |event: &str, item: &serde_json::Value| json!({"type": format!("response.output_item.{event}"), "output_index": 2, "item": item});
    let search = json!({"type": "tool_search_call", "id": "t", "call_id": null, "execution": "server", "arguments": {"paths": ["a"]}});
    let output =
        json!({"type": "response.shell_call_output_content.delta", "output_index": 2, "delta": {"stdout": "a"}});
    let custom = json!({"type": "custom_tool_call", "id": "x", "call_id": "c", "name": "patch", "input": "+a"});
    let piece = json!({"type": "response.custom_tool_call_input.delta", "output_index": 2, "delta": "+a"});
    let frames =
        [item("added", &search), item("done", &search), output, item("added", &custom), piece, item("done", &custom)];
    let frames = frames.map(|frame| format!("data: {frame}\n\n")).concat();
    let server =
        Server::play([RESPONSES.play([RESPONSES.begin(), frames, RESPONSES.text("a"), RESPONSES.end("stop")])]).await;
    let asked = ask(RESPONSES, &server, &RESPONSES.model(&server), &request("hi")).await;
    let reply = asked.reply();
    assert_eq!((reply.text.as_str(), reply.calls.len(), &reply.finish), ("a", 0, &Some(Finish::Stop)));
}

fn extra(json: &str) -> Request {
    let mut asked = request("hi");
    asked.options.extra_body = Some(JsonText::of(&ptc_core::value::json::parse(json).unwrap()));
    asked
}

#[tokio::test]
async fn further_members_of_a_body_are_sent_at_their_place() {
    let cases = [
        (OPENAI, r#"{"top_k":5,"provider":{"order":["a"]}}"#, "/provider/order/0", json!("a")),
        (ANTHROPIC, r#"{"service_tier":"auto"}"#, "/service_tier", json!("auto")),
        (Kit(Protocol::Gemini), r#"{"generationConfig":{"topK":5}}"#, "/generationConfig/topK", json!(5)),
        (Kit(Protocol::Ollama), r#"{"options":{"min_p":0.1},"keep_alive":"5m"}"#, "/options/min_p", json!(0.1)),
        (RESPONSES, r#"{"parallel_tool_calls":false}"#, "/parallel_tool_calls", json!(false)),
    ];
    for (kit, members, path, expected) in cases {
        let server = Server::play([kit.answer("fine")]).await;
        let mut asked_for = extra(members);
        asked_for.options.temperature = Some(0.5);
        let model = kit.model(&server);
        crate::openai::hear(&model, &asked_for, tokio_util::sync::CancellationToken::new()).await.reply();
        let body = server.received()[0].json();
        assert_eq!(body.pointer(path), Some(&expected), "{kit:?}: {body}");
        // The preview shows the same.
        assert_eq!(serde_json::from_str::<serde_json::Value>(&model.body(&asked_for).to_text()).unwrap(), body);
    }
}

#[tokio::test]
async fn further_members_never_replace_what_the_program_sets() {
    for kit in ALL {
        for (members, path) in [
            (r#"{"messages":[],"contents":[],"input":[]}"#, ["messages", "contents", "input"].as_slice()),
            (r#"{"model":"other"}"#, &["model"]),
            (r#"{"stream":false}"#, &["stream"]),
            (
                r#"{"max_tokens":1,"max_output_tokens":1,"options":{"num_predict":1},"generationConfig":{"maxOutputTokens":1},"inferenceConfig":{"maxTokens":1}}"#,
                &[
                    "max_tokens",
                    "max_output_tokens",
                    "options.num_predict",
                    "generationConfig.maxOutputTokens",
                    "inferenceConfig.maxTokens",
                ],
            ),
        ] {
            let server = Server::play([kit.answer("fine")]).await;
            let mut asked_for = extra(members);
            asked_for.options.max_tokens = Some(9);
            let model = kit.model(&server);
            let asked = crate::openai::hear(&model, &asked_for, tokio_util::sync::CancellationToken::new()).await;
            let error = asked.error();
            assert_eq!((error.class, server.received().len()), (ErrorClass::Configuration, 0), "{kit:?} {members}");
            assert!(path.iter().any(|path| error.message.contains(&format!("`{path}`"))), "{kit:?}: {}", error.message);
            assert!(model.limits(&asked_for).contains(&error.message), "{kit:?}: {}", error.message);
        }
    }
}
