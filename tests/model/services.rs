//! What services do beyond their protocols: tools of their own, other content types and codings, odd counts, names in pieces.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::{GzEncoder, ZlibEncoder};
use ptc_workbench::config::Protocol;
use ptc_workbench::event::PartKind;
use ptc_workbench::model::{Adapter, ErrorClass, Finish, Request};
use serde_json::json;

use super::kit::{ALL, Kit};
use super::{ask, tool};
use crate::openai::request;
use crate::openai::server::{Play, Server, delta, ending};

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
        assert_eq!(asked.said(1, PartKind::Call), "", "{kind}");
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
    for kit in ALL {
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
    assert_eq!(asked.said(1, PartKind::Call), "get_weather {}\nget_time \nstop {}");
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
        let notices: Vec<&str> = asked.notices().into_iter().filter(|text| !text.contains("left out")).collect();
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
