//! Strict tools: the schemas that are sent, what services do with them, and what a null in their calls means.

use ptc_core::value::json as core_json;
use ptc_workbench::config::Protocol;
use ptc_workbench::event::{JsonText, Options, ToolSchema};
use ptc_workbench::model::{Adapter, Endpoint, Known, Request};
use serde_json::{Value, json};

use super::ask;
use super::kit::{ALL, Kit};
use crate::openai::request;
use crate::openai::server::{Play, Server};

const STRICT: [Protocol; 3] = [Protocol::OpenAi, Protocol::Responses, Protocol::Anthropic];

fn tool(name: &str, schema: &Value) -> ToolSchema {
    let parameters = JsonText::of(&core_json::parse(&schema.to_string()).unwrap());
    ToolSchema { name: name.into(), description: None, parameters, custom: None }
}

/// One tool with an optional parameter, and one whose schema cannot be strict.
fn asking(strict: Option<bool>) -> Request {
    let find = json!({"type": "object", "properties": {"city": {"type": "string"}, "unit": {"type": "string"}},
        "required": ["city"]});
    let store = json!({"type": "object", "properties": {"data": {}}, "required": ["data"]});
    let options = Options { strict_tools: strict, ..Options::default() };
    Request { tools: vec![tool("find", &find), tool("store", &store)], options, ..request("Weather?") }
}

/// Name, schema and the member `strict` of each tool in a body.
fn tools(body: &Value) -> Vec<(String, Value, Value)> {
    let own = |tool: &Value| {
        let function = tool.get("function").unwrap_or(tool);
        let schema = function.get("parameters").or(function.get("input_schema")).unwrap();
        (function["name"].as_str().unwrap().to_owned(), schema.clone(), function["strict"].clone())
    };
    body["tools"].as_array().unwrap().iter().map(own).collect()
}

#[tokio::test]
async fn a_strict_tool_has_the_schema_that_its_service_enforces() {
    for kit in ALL.into_iter().filter(|kit| STRICT.contains(&kit.0)) {
        let server = Server::play([kit.answer("ok")]).await;
        let model = kit.model(&server);
        let asked = ask(kit, &server, &model, &asking(Some(true))).await;
        assert!(asked.notices().is_empty(), "{kit:?}: {:?}", asked.notices());
        let sent = tools(&server.received()[0].json());
        let schema = if kit.0 == Protocol::Anthropic {
            json!({"type": "object", "properties": {"city": {"type": "string"}, "unit": {"type": "string"}},
                "required": ["city"], "additionalProperties": false})
        } else {
            json!({"type": "object", "properties": {"city": {"type": "string"}, "unit": {"type": ["string", "null"]}},
                "required": ["city", "unit"], "additionalProperties": false})
        };
        assert_eq!((&sent[0].1, &sent[0].2), (&schema, &json!(true)), "{kit:?}");
        assert_ne!(sent[1].2, json!(true), "{kit:?}: a schema that says nothing of a value is not enforced");
    }
}

#[tokio::test]
async fn tools_are_strict_where_the_service_is_known_for_it_and_the_agent_decides() {
    let cases = [(false, None, false), (true, None, true), (true, Some(false), false), (false, Some(true), true)];
    for kit in ALL.into_iter().filter(|kit| STRICT.contains(&kit.0)) {
        for (known, option, expected) in cases {
            let server = Server::play([kit.answer("ok")]).await;
            let known = Known { strict_tools: known, ..Known::default() };
            let model = Adapter::new(Endpoint { known, ..kit.endpoint(&server) }).unwrap();
            ask(kit, &server, &model, &asking(option)).await;
            let sent = tools(&server.received()[0].json());
            assert_eq!(sent[0].2 == json!(true), expected, "{kit:?} {known:?} {option:?}");
        }
    }
}

#[tokio::test]
async fn a_service_that_refuses_strict_tools_is_asked_without_from_then_on() {
    for kit in ALL.into_iter().filter(|kit| STRICT.contains(&kit.0)) {
        let server = Server::script(move |_, received| {
            if tools(&received.json()).iter().any(|tool| tool.2 == json!(true)) {
                let words = "tools.0.strict: strict tools are not supported with this model";
                return Play::json("400 Bad Request", kit.error("invalid_request_error", words).to_string());
            }
            kit.answer("ok")
        })
        .await;
        let model = kit.model(&server);
        let asked = ask(kit, &server, &model, &asking(Some(true))).await;
        assert_eq!((asked.reply().text.as_str(), asked.notices().len()), ("ok", 1), "{kit:?}");
        assert!(asked.notices()[0].contains("refuses strict tools; sending them without `strict`"), "{kit:?}");
        let again = ask(kit, &server, &model, &asking(Some(true))).await;
        assert_eq!((again.reply().requests, again.notices().len()), (1, 0), "{kit:?}");
    }
}

#[tokio::test]
async fn a_null_in_the_call_of_a_strict_tool_is_an_absent_argument() {
    for kit in ALL.into_iter().filter(|kit| STRICT.contains(&kit.0)) {
        let args = json!({"city": "Oslo", "unit": null});
        let called = kit.play([kit.begin(), kit.call(0, "a", "find", &args), kit.end("calls")]);
        let server = Server::play([called]).await;
        let model = kit.model(&server);
        let strict = ask(kit, &server, &model, &asking(Some(true))).await;
        assert_eq!(strict.reply().calls[0].args, r#"{"city":"Oslo"}"#, "{kit:?}");
        // Without strict tools a null is what the model wrote.
        let loose = ask(kit, &server, &model, &asking(Some(false))).await;
        assert_eq!(loose.reply().calls[0].args, args.to_string(), "{kit:?}");
    }
}

#[tokio::test]
async fn a_protocol_without_strict_tools_reports_that_they_are_left_out() {
    for kit in ALL.into_iter().filter(|kit| !STRICT.contains(&kit.0)) {
        let server = Server::play([kit.answer("ok")]).await;
        let model = kit.model(&server);
        let asked = ask(kit, &server, &model, &asking(Some(true))).await;
        assert!(asked.notices().iter().any(|text| text.contains("strict tools: omitted")), "{kit:?}");
        assert!(!server.received()[0].body.contains("\"strict\""), "{kit:?}");
    }
}

#[tokio::test]
async fn the_query_of_the_address_goes_with_every_request_of_each_protocol() {
    for kit in ALL {
        let server = Server::play([kit.answer("ok")]).await;
        let base_url = format!("{}?api-version=2026-01-01&tenant=a%20b", server.base_url);
        let model = Adapter::new(Endpoint { base_url, ..kit.endpoint(&server) }).unwrap();
        ask(kit, &server, &model, &request("hi")).await;
        let head = server.received()[0].head.clone();
        let query = head.lines().next().unwrap().split_once('?').unwrap().1.to_owned();
        assert!(query.contains("api-version=2026-01-01") && query.contains("tenant=a%20b"), "{kit:?}: {query}");
        assert_eq!(query.contains("alt=sse"), kit == Kit(Protocol::Gemini), "{kit:?}: {query}");
    }
}

#[tokio::test]
async fn each_further_option_of_a_service_is_sent_where_its_documentation_has_it() {
    let cases = [
        (
            Protocol::OpenAi,
            json!({"parallel_tool_calls": false, "service_tier": "flex", "frequency_penalty": 0.5,
            "presence_penalty": 0.5, "prompt_cache_retention": "24h"}),
        ),
        (Protocol::Responses, json!({"parallel_tool_calls": false, "service_tier": "flex", "prompt_cache_key": "k"})),
        (Protocol::OpenAi, json!({"tool_choice": "required"})),
        (
            Protocol::Anthropic,
            json!({"tool_choice": {"type": "auto", "disable_parallel_tool_use": true},
            "service_tier": "standard_only", "cache_control": {"type": "ephemeral", "ttl": "1h"}}),
        ),
        (Protocol::Gemini, json!({"generationConfig": {"topK": 40, "frequencyPenalty": 0.5, "presencePenalty": 0.5}})),
        (
            Protocol::Ollama,
            json!({"options": {"top_k": 40, "min_p": 0.05, "repeat_penalty": 1.1}, "keep_alive": "10m"}),
        ),
        (Protocol::Bedrock, json!({"additionalModelRequestFields": {"top_k": 40}})),
    ];
    for (protocol, extra) in cases {
        let kit = Kit(protocol);
        let server = Server::play([kit.answer("ok")]).await;
        let extra_body = JsonText::of(&core_json::parse(&extra.to_string()).unwrap());
        let options = Options { extra_body: Some(extra_body), temperature: Some(0.5), ..Options::default() };
        // An option that this program sets itself is merged with those of the same object.
        let asked = ask(kit, &server, &kit.model(&server), &Request { options, ..asking(None) }).await;
        assert_eq!(asked.reply().text, "ok", "{kit:?}");
        let body = server.received()[0].json();
        for (name, value) in extra.as_object().unwrap() {
            match value.as_object() {
                Some(members) => members.iter().for_each(|(key, value)| assert_eq!(&body[name][key], value, "{kit:?}")),
                None => assert_eq!(&body[name], value, "{kit:?}"),
            }
        }
    }
}
