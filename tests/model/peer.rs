//! Every protocol against a mock of its service that others wrote. Skipped with a message, unless `tests/peers/install.sh` was run.

use ptc_workbench::agent::Agent;
use ptc_workbench::config::{KeySource, Protocol};
use ptc_workbench::event::{PartKind, Role, StructuredBy};
use ptc_workbench::model::{
    Adapter, Content, Endpoint, ErrorClass, Finish, Message, ModelEvent, Request, RetryPolicy, StructuredOutput,
    Timeouts,
};
use tokio_util::sync::CancellationToken;

use super::kit::{ALL, BEDROCK_KEY};
use super::{assert_fits, result, tool};
use crate::openai::aimock::Peer;
use crate::openai::{Asked, hear, request, request_json};

async fn peer() -> Option<Peer> {
    Peer::start_with("tests/model/fixtures").await
}

/// An endpoint at the mock.
fn endpoint(peer: &Peer, protocol: Protocol, stream: bool) -> Endpoint {
    let root = peer.base_url.trim_end_matches("/v1");
    let base = match protocol {
        Protocol::OpenAi | Protocol::Responses | Protocol::Anthropic => peer.base_url.clone(),
        Protocol::Gemini => format!("{root}/v1beta"),
        Protocol::Ollama | Protocol::Bedrock => root.to_owned(),
    };
    let mut endpoint = Endpoint::new("aimock", "m-test", base);
    endpoint.protocol = protocol;
    endpoint.stream = stream;
    if protocol == Protocol::Bedrock {
        endpoint.key = Some(KeySource::File(BEDROCK_KEY.into()));
    }
    endpoint.retry = RetryPolicy { base_delay_ms: 1, ..RetryPolicy::default() };
    endpoint.timeouts = Timeouts { first_byte_ms: 20_000, silence_ms: 20_000, ..Timeouts::default() };
    endpoint
}

fn model(peer: &Peer, protocol: Protocol, stream: bool) -> Adapter {
    Adapter::new(endpoint(peer, protocol, stream)).unwrap()
}

async fn ask(model: &Adapter, protocol: Protocol, request: &Request) -> Asked {
    let body = model.body(request).to_text();
    assert_fits(protocol, &serde_json::from_str(&body).unwrap());
    hear(model, request, CancellationToken::new()).await
}

/// Every protocol, streamed and at once.
fn ways() -> impl Iterator<Item = (Protocol, bool)> {
    ALL.into_iter().flat_map(|kit| [(kit.0, true), (kit.0, false)])
}

#[tokio::test]
async fn replies_of_every_kind_arrive_on_every_protocol() {
    let Some(peer) = peer().await else { return };
    for (protocol, stream) in ways() {
        let model = model(&peer, protocol, stream);
        let hello = ask(&model, protocol, &request("hello")).await;
        assert_eq!(hello.reply().text, "Hi there! I am a deterministic mock.", "{protocol:?} {stream}");
        let usage = hello.reply().usage.unwrap();
        // The mock counts nothing for Ollama.
        let counts = usage.input > 0 && usage.output > 0;
        assert!(counts || protocol == Protocol::Ollama, "{protocol:?} {stream} {usage:?}");
        let think = ask(&model, protocol, &request("think")).await;
        assert_eq!(think.reply().text, "42", "{protocol:?} {stream}");
        assert_eq!(think.text_of(1, PartKind::Reasoning), "Let me think step by step.", "{protocol:?} {stream}");
        // The mock gives no reason for the end of Ollama's replies.
        if protocol != Protocol::Ollama {
            let cut = ask(&model, protocol, &request("length limit")).await;
            assert_eq!(cut.reply().finish, Some(Finish::Length), "{protocol:?} {stream}");
        }
        let strange = ask(&model, protocol, &request("unicode")).await;
        assert!(
            strange.reply().text.contains('🚀') && !strange.reply().text.contains('\u{fffd}'),
            "{protocol:?} {:?}",
            strange.reply().text
        );
    }
}

#[tokio::test]
async fn tools_are_called_and_answered_on_every_protocol() {
    let Some(peer) = peer().await else { return };
    for (protocol, stream) in ways() {
        let model = model(&peer, protocol, stream);
        let mut asked = Request { tools: vec![tool("get_weather")], ..request("weather") };
        let first = ask(&model, protocol, &asked).await;
        let calls = first.reply().calls.clone();
        assert_eq!(
            (calls.len(), calls[0].args.replace(' ', "").as_str()),
            (1, "{\"city\":\"Oslo\"}"),
            "{protocol:?} {stream}"
        );
        asked.messages.push(Message { role: Role::Assistant, parts: vec![Content::Call(calls[0].clone())] }.into());
        asked.messages.push(result(&calls[0].id, "{\"degrees\":12}"));
        let second = ask(&model, protocol, &asked).await;
        assert_eq!(second.reply().text, "It is 12 degrees in Oslo.", "{protocol:?} {stream}");
        let two = ask(&model, protocol, &Request { tools: vec![tool("read_file")], ..request("two tools") }).await;
        let args: Vec<serde_json::Value> =
            two.reply().calls.iter().map(|call| serde_json::from_str(&call.args).unwrap()).collect();
        assert_eq!(
            args,
            [serde_json::json!({"path": "a.txt"}), serde_json::json!({"path": "b \"q\" é.txt"})],
            "{protocol:?} {stream}"
        );
        assert_eq!(two.reply().finish, Some(Finish::ToolCalls), "{protocol:?} {stream}");
    }
}

#[tokio::test]
async fn objects_come_in_every_way_on_every_protocol() {
    let Some(peer) = peer().await else { return };
    for (protocol, stream) in ways() {
        for way in [StructuredBy::JsonSchema, StructuredBy::Tool, StructuredBy::JsonObject, StructuredBy::Prompt] {
            let mut fixed = endpoint(&peer, protocol, stream);
            fixed.structured_output = StructuredOutput::Fixed(way);
            let asked = ask(&Adapter::new(fixed).unwrap(), protocol, &request_json("json please")).await;
            let value: serde_json::Value = serde_json::from_str(&asked.reply().text).unwrap();
            assert_eq!(value, serde_json::json!({"verdict": "pass", "score": 3}), "{protocol:?} {stream} {way:?}");
            assert!(asked.reply().structured_by.is_some());
        }
    }
}

#[tokio::test]
async fn every_fault_of_the_mock_ends_in_success_or_the_right_error() {
    let Some(peer) = peer().await else { return };
    for (place, (protocol, stream)) in ways().enumerate() {
        let mut twice = endpoint(&peer, protocol, stream);
        twice.retry = RetryPolicy { max_attempts: 2, ..twice.retry };
        let model = Adapter::new(twice).unwrap();
        let error = |text: &'static str| {
            let model = &model;
            async move { ask(model, protocol, &request(text)).await.result.unwrap_err() }
        };
        for (text, class, requests) in [
            ("always 429", ErrorClass::RateLimit, 2),
            ("overloaded 529", ErrorClass::Server, 2),
            ("server error", ErrorClass::Server, 2),
            ("context too long", ErrorClass::Client, 1),
        ] {
            let error = error(text).await;
            assert_eq!((error.class, error.requests), (class, requests), "{protocol:?} {stream} {text}: {error:?}");
        }
        if stream {
            for text in ["truncate", "disconnect"] {
                let error = error(text).await;
                assert!(error.class.is_retryable() && error.requests == 2, "{protocol:?} {text}: {error:?}");
            }
        }
        // The mock counts questions of all protocols together: the first one of all is refused.
        let asked = ask(&model, protocol, &request("rate limited once")).await;
        assert_eq!(asked.reply().attempt, if place == 0 { 2 } else { 1 }, "{protocol:?} {stream}");
        let empty = ask(&model, protocol, &request("empty answer")).await;
        assert_eq!((empty.reply().text.as_str(), empty.reply().calls.len()), ("", 0), "{protocol:?} {stream}");
    }
}

#[tokio::test]
async fn faults_in_single_requests_are_survived_on_every_protocol() {
    let Some(peer) = peer().await else { return };
    for (protocol, stream) in ways() {
        for fault in ["drop", "malformed", "disconnect", "ratelimit"] {
            // Each refusal asks for a second of patience.
            if fault == "ratelimit" && !stream {
                continue;
            }
            let mut faulty = endpoint(&peer, protocol, stream);
            faulty.retry = RetryPolicy { max_attempts: 2, ..faulty.retry };
            faulty.headers = vec![(format!("x-aimock-chaos-{fault}"), "1".into())];
            let asked = ask(&Adapter::new(faulty).unwrap(), protocol, &request("hello")).await;
            let error = asked.error();
            assert!(error.class.is_retryable() && error.requests == 2, "{protocol:?} {stream} {fault}: {error:?}");
            assert!(!asked.events.iter().any(|event| matches!(event, ModelEvent::Delta { .. })) || stream, "{fault}");
        }
    }
}

/// An agent of this mode, with a tool or without.
fn agent(mode: &str, tool: bool) -> Agent {
    let tool = if tool {
        "[tools.get_weather]\nkind = \"table\"\nsignature = \"(city :string) -> :any\"\ndefault = { degrees = 12 }\n"
    } else {
        ""
    };
    let (prompt, signature) = match mode {
        "ptc_lisp" => ("lisp please", "() -> :int"),
        "json_loop" => ("loop please", "() -> {n :int}"),
        "json" => ("json please", "() -> {verdict :string, score :int}"),
        _ if tool.is_empty() => ("hello", "() -> :string"),
        _ => ("weather", "() -> :string"),
    };
    let text = format!("name = \"a\"\nmode = \"{mode}\"\nprompt = \"{prompt}\"\nsignature = \"{signature}\"\n{tool}");
    Agent::from_toml(&text, "a.toml").unwrap()
}

#[tokio::test]
async fn every_mode_runs_and_replays_on_every_protocol() {
    let Some(peer) = peer().await else { return };
    for (protocol, stream) in ways() {
        for (mode, tool, expected) in [
            ("ptc_lisp", false, "3"),
            ("ptc_lisp", true, "3"),
            ("json", false, r#"{"verdict":"pass","score":3}"#),
            ("text", false, "\"Hi there! I am a deterministic mock.\""),
            ("text", true, "\"It is 12 degrees in Oslo.\""),
            ("json_loop", false, r#"{"n":3}"#),
            ("json_loop", true, r#"{"n":3}"#),
        ] {
            let ran = crate::engine::run(&agent(mode, tool), "{}", &model(&peer, protocol, stream)).await;
            assert_eq!(ran.outcome(), expected, "{protocol:?} {stream} {mode} {tool}");
            crate::engine::replays(&ran.events).await;
        }
    }
}

/// A question to a provider itself: `PTC_LIVE=provider:model`, with its key in the environment.
#[tokio::test]
async fn a_live_model_answers_with_an_object() {
    let Ok(name) = std::env::var("PTC_LIVE") else {
        return crate::openai::aimock::say_skipped("PTC_LIVE names no provider:model: no live model is asked");
    };
    let model = ptc_workbench::resolve_model(&name).unwrap();
    let schema = serde_json::json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": false});
    let made =
        ptc_workbench::generate_object(&*model, "Answer with JSON: how many legs have three dogs, as n?", &schema);
    assert_eq!(made.await.unwrap().object.to_text(), r#"{"n":12}"#);
}
