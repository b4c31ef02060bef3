//! Schemas in each protocol, and how `auto` steps down when a server refuses one.

use ptc_core::value::json as core_json;
use ptc_workbench::config::Protocol;
use ptc_workbench::event::StructuredBy;
use ptc_workbench::generate_object;
use ptc_workbench::model::{Adapter, Endpoint, Finish, Known, Request, StructuredOutput, Want};
use serde_json::{Value, json};

use super::ask;
use super::kit::{ALL, Kit};
use crate::openai::server::{Play, Server};
use crate::openai::{request, request_json};

/// The way in which a body asks for an answer that fits.
pub(super) fn way(kit: Kit, body: &Value) -> StructuredBy {
    let config = &body["generationConfig"];
    let (schema, object) = match kit.0 {
        Protocol::OpenAi => {
            (body["response_format"]["type"] == "json_schema", body["response_format"]["type"] == "json_object")
        }
        Protocol::Responses => {
            let kind = &body["text"]["format"]["type"];
            (kind == "json_schema", kind == "json_object")
        }
        Protocol::Anthropic => (body["output_config"]["format"]["type"] == "json_schema", false),
        Protocol::Gemini => {
            let schema = config.get("responseSchema").or(config.get("responseJsonSchema")).is_some();
            (schema, !schema && config["responseMimeType"] == "application/json")
        }
        Protocol::Ollama => (body["format"].is_object(), body["format"] == "json"),
        Protocol::Bedrock => (false, false),
    };
    match (schema, object, body.get("tools").or(body.get("toolConfig")).is_some()) {
        (true, _, _) => StructuredBy::JsonSchema,
        (_, true, _) => StructuredBy::JsonObject,
        (_, _, true) => StructuredBy::Tool,
        _ => StructuredBy::Prompt,
    }
}

pub(super) fn refusal(kit: Kit, way: StructuredBy) -> Play {
    let what = match (kit.0, way) {
        (_, StructuredBy::Tool) => "tools",
        (Protocol::OpenAi, _) => "response_format",
        (Protocol::Responses, _) => "text.format of type json_schema or json_object",
        (Protocol::Anthropic, _) => "output_config.format: Extra inputs are not permitted;",
        (Protocol::Gemini, _) => "JSON mode is not enabled: responseMimeType",
        (Protocol::Ollama, _) => "invalid format: structured output",
        (Protocol::Bedrock, _) => "no schema of its own",
    };
    Play::json("400 Bad Request", kit.error("invalid_request_error", &format!("{what} is not supported")).to_string())
}

#[tokio::test]
async fn each_protocol_steps_down_its_own_ways_and_remembers() {
    use StructuredBy::{JsonObject, JsonSchema, Prompt, Tool};
    let ways: [&[StructuredBy]; 6] = [
        &[JsonSchema, Tool, JsonObject, Prompt],
        &[JsonSchema, Tool, Prompt],
        &[JsonSchema, Tool, JsonObject, Prompt],
        &[JsonSchema, JsonObject, Prompt],
        &[JsonSchema, Tool, JsonObject, Prompt],
        &[Tool, Prompt],
    ];
    for (kit, ways) in ALL.into_iter().zip(ways) {
        let server = Server::script(move |_, received| match way(kit, &received.json()) {
            Prompt => kit.answer("{\"score\":1}"),
            other => refusal(kit, other),
        })
        .await;
        let model = kit.model(&server);
        let asked = ask(kit, &server, &model, &request_json("hi")).await;
        let tried: Vec<_> = server.received().iter().map(|received| way(kit, &received.json())).collect();
        let mut expected = ways.to_vec();
        if kit.0 == Protocol::Gemini {
            // The same schema in its newer form comes between.
            expected.insert(0, JsonSchema);
        }
        let mut tried_once = tried.clone();
        tried_once.dedup();
        expected.dedup();
        assert_eq!(tried_once, expected, "{kit:?}");
        assert_eq!(asked.reply().structured_by, Some(Prompt), "{kit:?}");
        assert_eq!(asked.notices().len(), tried.len() - 1, "{kit:?}");
        let again = ask(kit, &server, &model, &request_json("hi")).await;
        assert_eq!((again.reply().attempt, again.notices().len()), (1, 0), "{kit:?}");
    }
}

#[tokio::test]
async fn a_server_that_takes_a_schema_and_ignores_it_is_asked_in_the_next_way() {
    use StructuredBy::{JsonObject, JsonSchema, Tool};
    let next = [Tool, Tool, Tool, JsonObject, Tool];
    for (kit, next) in ALL.into_iter().zip(next) {
        let server = Server::script(move |_, received| match way(kit, &received.json()) {
            JsonSchema => kit.answer("Sure! The score is one."),
            Tool => kit.play([kit.begin(), kit.call(0, "a", "respond", &json!({"score": 1})), kit.end("calls")]),
            _ => kit.answer("{\"score\":1}"),
        })
        .await;
        let model = kit.model(&server);
        let asked = ask(kit, &server, &model, &request_json("hi")).await;
        // No answer can be read from the first reply: it costs no turn.
        assert_eq!((asked.reply().text.as_str(), asked.reply().attempt), ("{\"score\":1}", 2), "{kit:?}");
        assert!(asked.notices()[0].contains("by json_schema but does not follow it; using"), "{:?}", asked.notices());
        let asked = ask(kit, &server, &model, &request_json("hi")).await;
        assert_eq!((asked.reply().structured_by, asked.notices().len()), (Some(next), 0), "{kit:?}");
        assert_eq!(asked.reply().text, "{\"score\":1}", "{kit:?}");

        let mut fixed = kit.endpoint(&server);
        fixed.structured_output = StructuredOutput::Fixed(JsonSchema);
        let fixed = Adapter::new(fixed).unwrap();
        for _ in 0..2 {
            let asked = ask(kit, &server, &fixed, &request_json("hi")).await;
            assert_eq!((asked.reply().structured_by, asked.notices().len()), (Some(JsonSchema), 0), "{kit:?}");
        }
    }
    // Thinking aloud before the answer breaks no promise, and a reply that was cut only when it began as something else.
    let cases = [
        ("<think>a score</think>\n{\"score\":1}", "stop", JsonSchema),
        ("{\"sco", "length", JsonSchema),
        ("<think>a sco", "length", JsonSchema),
        ("<think>a score</think>\n", "length", JsonSchema),
        ("Sure! The score of this t", "length", Tool),
    ];
    for (text, finish, then) in cases {
        let kit = ALL[0];
        let server = Server::play([kit.play([kit.text(text), kit.end(finish)])]).await;
        let model = kit.model(&server);
        for way in [JsonSchema, then] {
            let asked = ask(kit, &server, &model, &request_json("hi")).await;
            assert_eq!(asked.reply().structured_by, Some(way), "{text}");
        }
    }
}

/// LM Studio refuses a `tool_choice` that names a tool, in these words; llama.cpp takes it and does not heed it.
#[tokio::test]
async fn a_server_that_does_not_heed_the_name_of_the_tool_is_required_to_call_one() {
    let words = r#"{"error":"Invalid tool_choice type: 'object'. Supported string values: none, auto, required"}"#;
    for (kit, refuses) in [(ALL[0], false), (ALL[0], true), (ALL[1], false), (ALL[1], true)] {
        let server = Server::script(move |_, received| {
            let choice = &received.json()["tool_choice"];
            if choice == "required" || choice["type"] == "any" {
                return kit.play([kit.begin(), kit.call(0, "a", "respond", &json!({"score": 1})), kit.end("calls")]);
            }
            if refuses { Play::json("400 Bad Request", words) } else { kit.answer("Sure!") }
        })
        .await;
        let mut fixed = kit.endpoint(&server);
        fixed.structured_output = StructuredOutput::Fixed(StructuredBy::Tool);
        let model = Adapter::new(fixed).unwrap();
        let first = ask(kit, &server, &model, &request_json("hi")).await;
        let wanted = if refuses { "requiring a call instead" } else { "requiring any call instead" };
        assert!(first.notices()[0].contains(wanted), "{:?}", first.notices());
        assert_eq!(
            (first.reply().text.as_str(), first.reply().structured_by),
            ("{\"score\":1}", Some(StructuredBy::Tool))
        );
        assert_eq!(server.received().len(), 2);
    }
}

#[tokio::test]
async fn the_arguments_of_a_forced_tool_are_the_reply() {
    for kit in ALL.into_iter().filter(|kit| kit.0 != Protocol::Ollama) {
        let call = kit.call(0, "a", "respond", &json!({"score": 1}));
        let server = Server::play([kit.play([kit.begin(), kit.thought("hm"), call, kit.end("calls")])]).await;
        let mut forced = kit.endpoint(&server);
        forced.structured_output = StructuredOutput::Fixed(StructuredBy::Tool);
        let asked = ask(kit, &server, &Adapter::new(forced).unwrap(), &request_json("hi")).await;
        let reply = asked.reply();
        assert_eq!((reply.text.as_str(), reply.calls.len()), ("{\"score\":1}", 0), "{kit:?}");
        assert_eq!(
            (reply.finish.clone(), reply.structured_by),
            (Some(Finish::Stop), Some(StructuredBy::Tool)),
            "{kit:?}"
        );
        let choice = server.received().remove(0).json().to_string();
        assert!(choice.contains("\"respond\""), "{kit:?} {choice}");
    }
}

#[tokio::test]
async fn what_is_known_of_a_model_decides_the_first_way_and_is_reported() {
    let kit = ALL[0];
    let server = Server::play([kit.answer("{\"score\":1}")]).await;
    let mut known = kit.endpoint(&server);
    known.known = Known { way: Some(StructuredBy::JsonObject), ..Known::default() };
    let model = Adapter::new(known).unwrap();
    let asked = ask(kit, &server, &model, &request_json("hi")).await;
    assert_eq!((asked.reply().structured_by, asked.notices().len()), (Some(StructuredBy::JsonObject), 1));
    assert!(asked.notices()[0].contains("structured output by json_object"), "{:?}", asked.notices());
}

#[tokio::test]
async fn a_service_that_demands_strict_schemas_gets_them() {
    let schema = r#"{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer"}},"required":["a"],"additionalProperties":false}"#;
    let asked_for = Request { schema: Some(core_json::parse(schema).unwrap()), ..request("hi") };
    let strict = json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": ["integer", "null"]}},
        "required": ["a", "b"], "additionalProperties": false});
    let kit = ALL[0];
    let server = Server::play([kit.answer("{\"a\":\"x\",\"b\":null}")]).await;
    let mut endpoint = kit.endpoint(&server);
    endpoint.known = Known { strict: true, ..Known::default() };
    ask(kit, &server, &Adapter::new(endpoint).unwrap(), &asked_for).await.reply();
    let sent = server.received().remove(0).json()["response_format"]["json_schema"].clone();
    assert_eq!((&sent["schema"], &sent["strict"]), (&strict, &json!(true)));

    // A server that nothing is known of reports it itself.
    let server = Server::script(move |number, _| match number {
        0 => Play::json("400 Bad Request", r#"{"error":{"message":"Invalid schema for response_format: 'required' is required to include every key"}}"#),
        _ => kit.answer("{\"a\":\"x\",\"b\":null}"),
    })
    .await;
    let asked = ask(kit, &server, &kit.model(&server), &asked_for).await;
    assert_eq!((asked.reply().attempt, asked.reply().structured_by), (2, Some(StructuredBy::JsonSchema)));
    assert_eq!(server.received()[1].json()["response_format"]["json_schema"]["schema"], strict);
}

#[tokio::test]
async fn a_null_for_what_may_be_missing_counts_as_missing() {
    let schema =
        json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "integer"}}, "required": ["a"]});
    let kit = ALL[2];
    let server = Server::play([kit.answer("{\"a\":\"x\",\"b\":null}"), kit.answer("{\"b\":1}")]).await;
    let model = kit.model(&server);
    let made = generate_object(&model, "Give it.", &schema).await.unwrap();
    assert_eq!((made.object.to_text().as_str(), made.tokens.map(|tokens| tokens.input)), ("{\"a\":\"x\"}", Some(10)));
    let error = generate_object(&model, "Give it.", &schema).await.unwrap_err();
    assert!(error.message.contains("contains no valid value") && error.message.contains("\"a\""), "{}", error.message);
}

/// A control object has no schema that could travel; where a protocol can ask for an object without one, it is asked for.
#[tokio::test]
async fn a_control_object_is_asked_for_as_an_object_where_the_protocol_can() {
    use StructuredBy::{JsonObject, JsonSchema, Prompt, Tool};
    let control = || Request { want: Want::ControlJson, schema: None, ..request_json("Answer in JSON") };
    let ways = [JsonObject, Prompt, JsonObject, JsonObject];
    // With native tools only where the model stays free to call them.
    let beside = [JsonObject, Tool, Tool, Tool];
    for ((kit, expected), beside) in ALL.into_iter().zip(ways).zip(beside) {
        let server = Server::script(move |_, _| kit.answer("{\"thought\":\"t\"}")).await;
        for setting in [StructuredOutput::Auto, StructuredOutput::Fixed(JsonSchema), StructuredOutput::Fixed(Prompt)] {
            let model = Adapter::new(Endpoint { structured_output: setting, ..kit.endpoint(&server) }).unwrap();
            let asked = ask(kit, &server, &model, &control()).await;
            let expected = if setting == StructuredOutput::Fixed(Prompt) { Prompt } else { expected };
            assert_eq!(way(kit, &server.received().last().unwrap().json()), expected, "{kit:?} {setting:?}");
            assert_eq!(
                (asked.reply().structured_by, asked.notices().len()),
                (Some(expected), 0),
                "{kit:?} {setting:?}"
            );
        }
        let with_tools = Request { tools: vec![super::tool("get_weather")], ..control() };
        ask(kit, &server, &kit.model(&server), &with_tools).await;
        assert_eq!(way(kit, &server.received().last().unwrap().json()), beside, "{kit:?}");
    }
    // A server that knows no object without a schema is asked in words from then on, and still gets schemas.
    for (kit, words) in ALL.into_iter().zip(ways).filter(|(_, way)| *way == JsonObject) {
        let server = Server::script(move |_, received| match way(kit, &received.json()) {
            JsonObject => refusal(kit, words),
            _ => kit.answer("{\"score\":1}"),
        })
        .await;
        let model = kit.model(&server);
        let asked = ask(kit, &server, &model, &control()).await;
        assert_eq!((asked.reply().structured_by, asked.notices().len()), (Some(Prompt), 1), "{kit:?}");
        assert!(asked.notices()[0].contains("refuses structured output by json_object; using prompt"), "{kit:?}");
        let again = ask(kit, &server, &model, &control()).await;
        assert_eq!((again.reply().attempt, again.notices().len()), (1, 0), "{kit:?}");
        let schema = ask(kit, &server, &model, &request_json("hi")).await;
        assert_eq!(schema.reply().structured_by, Some(JsonSchema), "{kit:?}");
    }
}
