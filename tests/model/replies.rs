//! Reading of replies: text, reasoning, calls, tokens, the end; streamed, at once, and in single bytes.

use ptc_workbench::config::Protocol;
use ptc_workbench::event::PartKind;
use ptc_workbench::model::{Adapter, ErrorClass, Finish, Request};
use serde_json::json;

use super::kit::ALL;
use super::{ask, call, tool};
use crate::openai::request;
use crate::openai::server::{Play, Server};

#[tokio::test]
async fn a_reply_is_the_same_streamed_and_at_once() {
    for kit in ALL {
        for (stream, play) in [
            (true, kit.answer("naïve 日本 🚀")),
            (false, kit.whole("naïve 日本 🚀")),
            (true, kit.whole("naïve 日本 🚀")),
        ] {
            let server = Server::play([play]).await;
            let mut endpoint = kit.endpoint(&server);
            endpoint.stream = stream;
            let asked = ask(kit, &server, &Adapter::new(endpoint).unwrap(), &request("hi")).await;
            let reply = asked.reply();
            assert_eq!((reply.text.as_str(), reply.finish.clone()), ("naïve 日本 🚀", Some(Finish::Stop)), "{kit:?}");
            let name = if kit.0 == Protocol::Bedrock { None } else { Some("m-answering") };
            assert_eq!(reply.model.as_deref(), name, "{kit:?}");
            let usage = reply.usage.unwrap();
            let cached = if kit.0 == Protocol::Ollama { None } else { Some(4) };
            assert_eq!((usage.input, usage.output, usage.cache_read), (10, 7, cached), "{kit:?}");
            assert!(asked.notices().is_empty(), "{:?}", asked.notices());
        }
    }
}

#[tokio::test]
async fn every_byte_may_come_alone_with_any_line_end() {
    // Binary frames have no lines; `bedrock.rs` cuts them.
    for kit in ALL.into_iter().filter(|kit| kit.0 != Protocol::Bedrock) {
        let stream = [
            kit.begin(),
            if kit.0 == Protocol::Ollama {
                "\n\n".to_owned()
            } else {
                ": a comment\n\nevent: ping\ndata: {\"type\":\"ping\"}\n\nid: 7\n\n".to_owned()
            },
            kit.thought("hm…"),
            kit.text("né "),
            kit.text("🚀"),
            kit.call(0, "id_0", "get_weather", &json!({"city": "Zürich"})),
            kit.end("calls"),
        ]
        .concat();
        for stream in [stream.clone(), stream.replace('\n', "\r\n")] {
            let server = Server::play([kit.play(stream.as_bytes().chunks(1))]).await;
            let asked =
                ask(kit, &server, &kit.model(&server), &Request { tools: vec![tool("get_weather")], ..request("hi") })
                    .await;
            let reply = asked.reply();
            assert_eq!(
                (reply.text.as_str(), &reply.calls[..]),
                ("né 🚀", &[call("id_0", "{\"city\":\"Zürich\"}")][..]),
                "{kit:?}"
            );
            assert_eq!(reply.finish, Some(Finish::ToolCalls), "{kit:?}");
            assert_eq!(asked.text_of(1, PartKind::Reasoning), "hm…", "{kit:?}");
            // What follows the end mark is not waited for.
            let raw = String::from_utf8(asked.raw(1)).unwrap();
            assert!(stream.starts_with(&raw) && stream.trim_end().len() <= raw.len(), "{kit:?} {raw:?}");
        }
    }
}

#[tokio::test]
async fn halves_of_a_character_meet_in_every_protocol() {
    for kit in ALL {
        let half = |half: &str| kit.text("@").replace('@', half);
        let server = Server::play([kit.play([
            kit.begin(),
            half("\\ud83d"),
            half("\\ude80!"),
            half("\\ud83d"),
            kit.end("stop"),
        ])])
        .await;
        let asked = ask(kit, &server, &kit.model(&server), &request("hi")).await;
        assert_eq!(asked.reply().text, "🚀!\u{fffd}", "{kit:?}");
    }
}

#[tokio::test]
async fn several_calls_keep_their_ids_and_those_without_get_one() {
    for kit in ALL {
        let calls = [
            kit.call(0, "a.1", "get_weather", &json!({"city": "Oslo"})),
            kit.call(1, "b", "get_weather", &json!({"city": "Rome"})),
        ];
        let nameless = [kit.call(0, "", "get_weather", &json!({})), kit.call(1, "", "get_weather", &json!({}))];
        let stream = |calls: [String; 2]| kit.play([kit.begin()].into_iter().chain(calls).chain([kit.end("calls")]));
        let server = Server::play([stream(calls), stream(nameless)]).await;
        let asked = Request { tools: vec![tool("get_weather")], ..request("hi") };
        let first = ask(kit, &server, &kit.model(&server), &asked).await;
        assert_eq!(
            first.reply().calls,
            [call("a.1", "{\"city\":\"Oslo\"}"), call("b", "{\"city\":\"Rome\"}")],
            "{kit:?}"
        );
        let second = ask(kit, &server, &kit.model(&server), &asked).await;
        assert_eq!(second.reply().calls, [call("tc_1", "{}"), call("tc_2", "{}")], "{kit:?}");
    }
}

#[tokio::test]
async fn length_is_a_cut_reply_and_a_filter_an_error_of_its_own() {
    for kit in ALL {
        let server = Server::play([kit.play([kit.begin(), kit.text("{\"a\":"), kit.end("length")])]).await;
        let asked = ask(kit, &server, &kit.model(&server), &request("hi")).await;
        assert_eq!(asked.reply().finish, Some(Finish::Length), "{kit:?}");
        if kit.0 == Protocol::Ollama {
            continue;
        }
        let server = Server::play([kit.play([kit.begin(), kit.end("filter")])]).await;
        let asked = ask(kit, &server, &kit.model(&server), &request("hi")).await;
        let class = if kit.0 == Protocol::Anthropic { ErrorClass::Refusal } else { ErrorClass::ContentFilter };
        assert_eq!((asked.error().class, asked.error().requests), (class, 1), "{kit:?}");
        assert_eq!(asked.error().usage.as_ref().map(|usage| usage.output), Some(7), "{kit:?}");
    }
}

#[tokio::test]
async fn a_prompt_that_gemini_blocks_is_filtered() {
    let kit = ALL[2];
    let blocked = json!({"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {"promptTokenCount": 3}});
    let server = Server::play([kit.play([kit.frame(&blocked)])]).await;
    let asked = ask(kit, &server, &kit.model(&server), &request("hi")).await;
    assert_eq!(asked.error().class, ErrorClass::ContentFilter);
}

#[tokio::test]
async fn calls_whose_start_says_no_input_are_read() {
    let kit = ALL[1];
    let start = json!({"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use", "id": "a", "name": "get_weather"}});
    let delta = json!({"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": "{\"city\":\"Oslo\"}"}});
    let whole = json!({"type": "content_block_start", "index": 1,
        "content_block": {"type": "tool_use", "id": "b", "name": "get_weather", "input": {"city": "Rome"}}});
    let none = json!({"type": "content_block_start", "index": 2, "content_block": {"type": "tool_use", "id": "c", "name": "get_weather", "input": {}}});
    let stop = |index: u64| kit.frame(&json!({"type": "content_block_stop", "index": index}));
    let frames = [
        kit.begin(),
        kit.frame(&start),
        kit.frame(&delta),
        stop(0),
        kit.frame(&whole),
        stop(1),
        kit.frame(&none),
        stop(2),
        kit.end("calls"),
    ];
    let server = Server::play([kit.play(frames)]).await;
    let asked = ask(kit, &server, &kit.model(&server), &request("hi")).await;
    assert_eq!(
        asked.reply().calls,
        [call("a", "{\"city\":\"Oslo\"}"), call("b", "{\"city\":\"Rome\"}"), call("c", "{}")]
    );
}

#[tokio::test]
async fn a_list_instead_of_events_is_read() {
    let kit = ALL[2];
    let parts = ["Hel", "lo"].map(|text| json!({"candidates": [{"content": {"parts": [{"text": text}]}}]}).to_string());
    let list = format!("[{},\n{},\n{{\"candidates\":[{{\"finishReason\":\"STOP\"}}]}}]", parts[0], parts[1]);
    let server = Server::play([Play::json("200 OK", list)]).await;
    let asked = ask(kit, &server, &kit.model(&server), &request("hi")).await;
    assert_eq!(asked.reply().text, "Hello");
}
