//! Amazon Bedrock: binary frames, what is sent, and who signs it.

use std::collections::HashMap;

use aws_smithy_eventstream::frame::write_message_to;
use aws_smithy_types::event_stream::{Header, HeaderValue, Message};
use ptc_core::value::json as core_json;
use ptc_workbench::config::{KeySource, Protocol};
use ptc_workbench::event::{JsonText, Opaque, Options, PartKind, Role};
use ptc_workbench::model::{
    Adapter, Content, ErrorClass, Finish, Message as Turn, Request, ToolChoice, carries, listed,
};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::kit::Kit;
use super::{ask, call, result, tool};
use crate::cli::program::Program;
use crate::openai::server::{Play, Server};
use crate::openai::{request, request_json};

const KIT: Kit = Kit(Protocol::Bedrock);
/// The content type of streams.
const STREAM: &str = "application/vnd.amazon.eventstream";

/// The binary frame of a line of the kit: an event by its only member, else an exception.
fn frame(line: &str) -> Vec<u8> {
    let header = |name: &'static str, value: &str| Header::new(name, HeaderValue::String(value.to_owned().into()));
    let members: HashMap<String, &RawValue> = serde_json::from_str(line).unwrap_or_default();
    let message = match members.iter().next() {
        Some((name, payload)) if members.len() == 1 && payload.get().starts_with('{') => {
            Message::new(payload.get().as_bytes().to_vec())
                .add_header(header(":message-type", "event"))
                .add_header(header(":event-type", name))
        }
        Some(_) => {
            let kind = members.get("__type").map_or("\"internalServerException\"", |kind| kind.get());
            Message::new(line.as_bytes().to_vec())
                .add_header(header(":message-type", "exception"))
                .add_header(header(":exception-type", kind.trim_matches('"')))
        }
        None => Message::new(line.as_bytes().to_vec())
            .add_header(header(":message-type", "event"))
            .add_header(header(":event-type", "contentBlockDelta")),
    };
    let mut bytes = Vec::new();
    write_message_to(&message, &mut bytes).unwrap();
    bytes
}

/// The play with its lines as frames.
pub(crate) fn framed(play: Play) -> Play {
    let mut pending = Vec::new();
    play.converted(STREAM, move |piece| {
        pending.extend_from_slice(piece);
        let mut out = Vec::new();
        while let Some(end) = pending.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = pending.drain(..=end).collect();
            let line = String::from_utf8(line).unwrap();
            if !line.trim().is_empty() {
                out.extend(frame(line.trim_end()));
            }
        }
        out
    })
}

#[tokio::test]
async fn frames_are_read_wherever_they_are_cut() {
    let lines = [
        KIT.begin(),
        KIT.thought("hm…"),
        KIT.text("né "),
        KIT.text("🚀"),
        KIT.call(0, "id_0", "get_weather", &json!({"city": "Zürich"})),
        KIT.end("calls"),
    ]
    .concat();
    let bytes: Vec<u8> = lines.lines().flat_map(frame).collect();
    for size in [1, 2, 3, 11, 12, 13, 100, bytes.len()] {
        let play = Play::events(bytes.chunks(size)).converted(STREAM, <[u8]>::to_vec);
        let server = Server::play([play]).await;
        let question = Request { tools: vec![tool("get_weather")], ..request("hi") };
        let asked = ask(KIT, &server, &KIT.model(&server), &question).await;
        let reply = asked.reply();
        assert_eq!((reply.text.as_str(), &reply.calls[..]), ("né 🚀", &[call("id_0", "{\"city\":\"Zürich\"}")][..]));
        assert_eq!(
            (reply.finish.clone(), asked.text_of(1, PartKind::Reasoning)),
            (Some(Finish::ToolCalls), "hm…".to_owned())
        );
        assert_eq!(asked.raw(1), bytes, "{size}");
    }
}

#[tokio::test]
async fn a_damaged_frame_is_no_reply() {
    let mut bytes: Vec<u8> =
        [KIT.begin(), KIT.text("whole"), KIT.end("stop")].concat().lines().flat_map(frame).collect();
    let place = bytes.len() / 2;
    bytes[place] ^= 1;
    let server = Server::play([Play::events([bytes]).converted(STREAM, <[u8]>::to_vec)]).await;
    let asked = ask(KIT, &server, &KIT.model(&server), &request("hi")).await;
    assert_eq!(asked.error().class, ErrorClass::Stream, "{}", asked.error());
}

#[tokio::test]
async fn exceptions_inside_a_stream_have_their_class() {
    let cases = [
        ("throttlingException", ErrorClass::RateLimit, 3),
        ("serviceUnavailableException", ErrorClass::Server, 3),
        ("internalServerException", ErrorClass::Server, 3),
        ("modelStreamErrorException", ErrorClass::Server, 3),
        ("validationException", ErrorClass::Client, 1),
    ];
    for (kind, class, requests) in cases {
        let error = KIT.frame(&KIT.error(kind, "Its own words"));
        let server = Server::play([KIT.play([KIT.begin(), KIT.text("half"), error])]).await;
        let asked = ask(KIT, &server, &KIT.model(&server), &request("hi")).await;
        assert_eq!((asked.error().class, asked.error().requests), (class, requests), "{kind}");
        assert!(asked.error().message.contains(&format!("Its own words ({kind})")), "{}", asked.error());
    }
}

#[tokio::test]
async fn reasoning_with_its_signature_goes_back_between_text_and_calls() {
    let parts = r#"[{"place":0,"block":{"reasoningText":{"text":"hm","signature":"sig"}}},{"place":2,"block":{"redactedContent":"ZW5j"}}]"#;
    let opaque = Opaque { provider: "local".into(), parts: JsonText::of(&core_json::parse(parts).unwrap()) };
    let mut late = Request { tools: vec![tool("get_weather")], cache: true, ..request("Weather?") };
    let parts = vec![
        Content::Text("Let me see.".into()),
        Content::Call(call("a.1", "{\"city\":\"Oslo\"}")),
        Content::Call(call("tc_2", "no JSON")),
        Content::Reasoning(opaque),
    ];
    late.messages.push(Turn { role: Role::Assistant, parts }.into());
    late.messages.extend([result("a.1", "{\"degrees\":7}"), result("tc_2", "12")]);
    late.messages.push(Turn::text(Role::User, "And now?").into());
    let server = Server::play([KIT.answer("fine")]).await;
    ask(KIT, &server, &KIT.model(&server), &late).await.reply();
    let received = server.received().remove(0);
    assert!(received.head.starts_with("POST /v1/model/m-asked/converse-stream HTTP/1.1"), "{}", received.head);
    assert_eq!(received.header("accept"), STREAM);
    assert_eq!(received.header("authorization"), "Bearer bedrock-api-key-of-the-tests");
    let cache = json!({"cachePoint": {"type": "default"}});
    let use_of = |id: &str, input: Value| json!({"toolUse": {"toolUseId": id, "name": "get_weather", "input": input}});
    let result_of = |id: &str, text: &str| json!({"toolResult": {"toolUseId": id, "content": [{"text": text}]}});
    let expected = json!({
        "system": [{"text": "Answer with JSON."}, cache],
        "messages": [
            {"role": "user", "content": [{"text": "Weather?"}]},
            {"role": "assistant", "content": [
                {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "sig"}}},
                {"text": "Let me see."},
                use_of("a_1", json!({"city": "Oslo"})),
                {"reasoningContent": {"redactedContent": "ZW5j"}},
                use_of("tc_2", json!({})),
            ]},
            {"role": "user", "content": [
                result_of("a_1", "{\"degrees\":7}"), result_of("tc_2", "12"), {"text": "And now?"}, cache]},
        ],
        "toolConfig": {"tools": [{"toolSpec": {"name": "get_weather", "description": "Tells the weather.",
            "inputSchema": {"json": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"],
            "additionalProperties": false}}}}]},
    });
    assert_eq!(received.json(), expected);
}

#[tokio::test]
async fn the_reasoning_of_a_reply_is_kept_with_its_signature() {
    let whole = json!({"output": {"message": {"role": "assistant", "content": [
        {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "sig-1"}}}, {"text": "fine"}]}},
        "stopReason": "end_turn", "usage": {"inputTokens": 3, "outputTokens": 4, "cacheWriteInputTokens": 2}});
    let plays = [
        KIT.play([KIT.begin(), KIT.thought("hm"), KIT.text("fine"), KIT.end("stop")]),
        Play::json("200 OK", whole.to_string()),
    ];
    for (play, stream) in plays.into_iter().zip([true, false]) {
        let server = Server::play([play]).await;
        let mut endpoint = KIT.endpoint(&server);
        endpoint.stream = stream;
        let asked = ask(KIT, &server, &Adapter::new(endpoint).unwrap(), &request("hi")).await;
        let opaque = asked.reply().opaque.as_ref().unwrap().parts.json().to_text();
        assert_eq!(opaque, r#"[{"place":0,"block":{"reasoningText":{"text":"hm","signature":"sig-1"}}}]"#);
        assert_eq!(asked.text_of(1, PartKind::Reasoning), "hm");
        let verb = if stream { "converse-stream" } else { "converse" };
        assert!(server.received()[0].head.contains(&format!("/model/m-asked/{verb} HTTP/1.1")));
        if !stream {
            let usage = asked.reply().usage.unwrap();
            assert_eq!((usage.input, usage.output, usage.cache_creation), (5, 4, Some(2)));
        }
    }
}

#[tokio::test]
async fn options_go_where_the_service_has_them() {
    let options = Options {
        temperature: Some(0.5),
        max_tokens: Some(500),
        top_p: Some(0.9),
        stop: vec!["END".into()],
        seed: Some(42),
        reasoning: Some("high".into()),
        ..Options::default()
    };
    let server = Server::play([KIT.answer("fine")]).await;
    let cases = [
        ("eu.anthropic.claude-x-v1:0", json!({"thinking": {"type": "enabled", "budget_tokens": 16_384}})),
        ("us.amazon.nova-2-lite-v1:0", json!({"reasoningConfig": {"type": "enabled", "maxReasoningEffort": "high"}})),
        ("openai.gpt-oss-120b-1:0", json!({"reasoning_effort": "high"})),
    ];
    for (place, (id, fields)) in cases.into_iter().enumerate() {
        let mut endpoint = KIT.endpoint(&server);
        endpoint.id = id.into();
        let model = Adapter::new(endpoint).unwrap();
        let question = Request {
            options: options.clone(),
            tools: vec![tool("get_weather")],
            tool_choice: Some(ToolChoice::Tool("get_weather".into())),
            ..request("hi")
        };
        let asked = ask(KIT, &server, &model, &question).await;
        asked.reply();
        assert!(asked.notices()[0].contains("takes no seed: omitted"), "{:?}", asked.notices());
        let received = server.received().remove(place);
        assert!(received.head.contains(&format!("/model/{id}/converse-stream ")), "{}", received.head);
        let body = received.json();
        let inference = json!({"maxTokens": 500, "temperature": 0.5, "topP": 0.9, "stopSequences": ["END"]});
        assert_eq!((&body["inferenceConfig"], &body["additionalModelRequestFields"]), (&inference, &fields));
        assert_eq!(body["toolConfig"]["toolChoice"], json!({"tool": {"name": "get_weather"}}));
        let body = core_json::parse(&received.body).unwrap();
        for option in ["temperature", "max_tokens", "top_p", "stop"] {
            assert!(carries(&body, option), "{option}");
        }
    }
    let schema = ask(KIT, &server, &KIT.model(&server), &request_json("hi")).await;
    assert!(schema.result.is_ok());
    let body = server.received().remove(3).json();
    assert_eq!(body["toolConfig"]["toolChoice"], json!({"tool": {"name": "respond"}}));
}

#[tokio::test]
async fn models_are_listed_by_their_ids() {
    let list = json!({"modelSummaries": [{"modelId": "a.b-v1:0", "modelName": "B"}, {"modelId": "c"}]});
    let server = Server::play([Play::json("200 OK", list.to_string())]).await;
    assert_eq!(listed(&KIT.endpoint(&server)).await.unwrap(), ["a.b-v1:0", "c"]);
    assert!(server.received()[0].head.starts_with("GET /v1/foundation-models HTTP/1.1"));
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_without_a_key_are_signed_by_the_account_of_the_environment_or_of_a_profile() {
    const SECRET: &str = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";
    let environment = [("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE"), ("AWS_SECRET_ACCESS_KEY", SECRET)];
    let profile = [("AWS_PROFILE", "work")];
    for variables in [&environment[..], &profile[..], &[]] {
        let server = Server::script(|_, received| {
            KIT.answer(&format!("signed {} by {SECRET}", received.header("authorization").len()))
        })
        .await;
        let mut program = Program::new();
        for (name, value) in variables {
            program = program.with_env(name, value);
        }
        std::fs::create_dir_all(program.dir().join("home/.aws")).unwrap();
        program.file(
            "home/.aws/credentials",
            format!("[work]\naws_access_key_id = AKIDEXAMPLE\naws_secret_access_key = {SECRET}\n"),
        );
        let base = server.base_url.trim_end_matches("/v1");
        program.file(
            "config.toml",
            format!("[providers.aws]\nkind = \"bedrock\"\nbase_url = \"{base}\"\nregion = \"eu-west-1\"\n"),
        );
        program.file("a.toml", "name = \"a\"\nmode = \"text\"\nmodel = \"aws:some.model-v1:0\"\nprompt = \"Hi\"\n");
        let done = tokio::task::block_in_place(|| program.run(["--config", "config.toml", "run", "a.toml"]));
        if variables.is_empty() {
            done.exits(1).reports("no AWS credentials: ").reports("has no keys for the profile default");
            assert_eq!(server.received().len(), 0);
            continue;
        }
        done.exits(0).reports("by [secret]");
        let received = server.received().remove(0);
        let authorization = received.header("authorization");
        assert!(authorization.starts_with("AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/"), "{authorization}");
        assert!(
            authorization.contains("/eu-west-1/bedrock/aws4_request, SignedHeaders=content-type;host;x-amz-date, ")
        );
        let session = std::fs::read_to_string(program.session_file()).unwrap();
        for text in [session, done.stdout, done.stderr] {
            assert!(!text.contains(SECRET) && !text.contains(&authorization), "{text}");
        }
        program.run(["replay", "last", "--check"]).exits(0);
    }
}

#[test]
fn a_key_of_the_configuration_is_used_instead_of_an_account() {
    let mut endpoint =
        ptc_workbench::model::Endpoint::new("aws", "m", "https://bedrock-runtime.eu-west-1.amazonaws.com");
    endpoint.protocol = Protocol::Bedrock;
    endpoint.key = Some(KeySource::Env("PTC_TEST_NO_SUCH_KEY".into()));
    let error = Adapter::new(endpoint).unwrap().check_key().unwrap_err();
    assert!(error.message.contains("PTC_TEST_NO_SUCH_KEY is not set"), "{}", error.message);
}
