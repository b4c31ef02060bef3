//! Schemas in requests, and the steps after a server refuses one.

use ptc_workbench::event::{Options, StructuredBy};
use ptc_workbench::model::{Adapter, ErrorClass, Finish, ModelEvent, Request, StructuredOutput};

use super::server::{Play, Server, answer};
use super::{ask_server, endpoint, model, request, request_json};

fn refused(way: &str) -> String {
    let what = if way == "tool" { "tools" } else { "response_format" };
    format!(r#"{{"error":{{"message":"{what} is not supported by this server","type":"invalid_request_error"}}}}"#)
}

/// The way in which a body asks for an answer that fits.
fn way(body: &serde_json::Value) -> String {
    let otherwise = if body.get("tools").is_some() { "tool" } else { "none" };
    body["response_format"]["type"].as_str().unwrap_or(otherwise).to_owned()
}

/// A server that answers only requests in one of these ways (`none` = only in words).
async fn picky(formats: &'static [&'static str]) -> Server {
    Server::script(move |_, received| {
        let way = way(&received.json());
        if formats.contains(&&*way) { answer(r#"{"score":1}"#) } else { Play::json("400 Bad Request", refused(&way)) }
    })
    .await
}

fn formats(server: &Server) -> Vec<String> {
    server.received().iter().map(|received| way(&received.json())).collect()
}

#[tokio::test]
async fn a_server_without_schemas_is_asked_for_a_json_object_from_then_on() {
    let server = picky(&["json_object"]).await;
    let model = model(&server);
    let asked = ask_server(&server, &model, &request_json("hi")).await;
    assert_eq!(formats(&server), ["json_schema", "tool", "json_object"]);
    let reply = asked.reply();
    assert_eq!((reply.structured_by, reply.attempt, reply.requests), (Some(StructuredBy::JsonObject), 3, 3));
    assert_eq!(asked.discarded(), [(1, "client_error".to_owned()), (2, "client_error".to_owned())]);
    assert_eq!(asked.notices().len(), 2);
    let notice = asked.notices()[0];
    assert!(notice.contains("refuses structured output by json_schema; using tool"), "{notice}");
    assert!(notice.contains("response_format is not supported by this server"), "{notice}");
    assert!(!asked.events.iter().any(|event| matches!(event, ModelEvent::RetryWait(_))));

    let again = ask_server(&server, &model, &request_json("hi")).await;
    assert_eq!(formats(&server), ["json_schema", "tool", "json_object", "json_object"]);
    assert_eq!((again.reply().attempt, again.notices().len()), (1, 0));
}

#[tokio::test]
async fn a_server_without_any_format_gets_the_prompt_only() {
    let server = picky(&["none"]).await;
    let asked = ask_server(&server, &model(&server), &request_json("hi")).await;
    assert_eq!(formats(&server), ["json_schema", "tool", "json_object", "none"]);
    assert_eq!(asked.reply().structured_by, Some(StructuredBy::Prompt));
    let ways: Vec<_> = asked
        .events
        .iter()
        .filter_map(|event| if let ModelEvent::Sent(sent) = event { sent.structured_by } else { None })
        .collect();
    assert_eq!(ways, [StructuredBy::JsonSchema, StructuredBy::Tool, StructuredBy::JsonObject, StructuredBy::Prompt]);
}

#[tokio::test]
async fn other_refusals_leave_the_schema_alone() {
    let body = r#"{"error":{"message":"This model's maximum context length is 8192 tokens","code":"context_length_exceeded"}}"#;
    let server = Server::play([Play::json("400 Bad Request", body)]).await;
    let asked = ask_server(&server, &model(&server), &request_json("hi")).await;
    let error = asked.error();
    assert_eq!((error.class, error.status, error.requests), (ErrorClass::Client, Some(400), 1));
    assert!(error.message.contains("maximum context length is 8192 tokens"), "{}", error.message);
    assert!(error.hint.as_ref().unwrap().contains("shorten the context"), "{:?}", error.hint);
}

/// llama-cpp-python validates the body inside the handler: it names the option, with status 500.
#[tokio::test]
async fn a_server_that_fails_at_the_schema_is_asked_in_the_next_way() {
    let named = r#"{"error":{"message":"[{'type': 'literal_error', 'loc': ('body', 'response_format', 'type')}]","code":null}}"#;
    let nameless = r#"{"error":{"message":"Internal Server Error"}}"#;
    for (body, before) in [(named, vec!["json_schema"]), (nameless, vec!["json_schema"; 3])] {
        let server = Server::script(move |_, received| match &*way(&received.json()) {
            "json_schema" => Play::json("500 Internal Server Error", body),
            _ => answer(r#"{"score":1}"#),
        })
        .await;
        let model = model(&server);
        let asked = ask_server(&server, &model, &request_json("hi")).await;
        let (tried, requests) = ([before.as_slice(), &["tool"]].concat(), before.len() + 1);
        assert_eq!(formats(&server), tried, "{body}");
        let reply = asked.reply();
        assert_eq!((reply.structured_by, reply.requests as usize), (Some(StructuredBy::Tool), requests), "{body}");
        let [notice] = asked.notices()[..] else { panic!("{:?}", asked.notices()) };
        let words = "local refuses structured output by json_schema; using tool, from now on if that succeeds (local answered 500 ";
        assert!(notice.starts_with(words), "{notice}");

        let again = ask_server(&server, &model, &request_json("hi")).await;
        assert_eq!(formats(&server), [tried.as_slice(), &["tool"]].concat(), "{body}");
        assert_eq!((again.reply().attempt, again.notices().len()), (1, 0), "{body}");
    }
}

#[tokio::test]
async fn a_server_that_fails_in_every_way_is_asked_for_the_schema_again() {
    let server = Server::script(|number, _| match number {
        0..6 => Play::json("500 Internal Server Error", r#"{"error":{"message":"out of memory"}}"#),
        _ => answer(r#"{"score":1}"#),
    })
    .await;
    let model = model(&server);
    let asked = ask_server(&server, &model, &request_json("hi")).await;
    let ways = ["json_schema", "json_schema", "json_schema", "tool", "json_object", "none"];
    assert_eq!(formats(&server), ways);
    assert_eq!((asked.error().class, asked.error().requests), (ErrorClass::Server, 6));
    assert_eq!(asked.notices().len(), 3);
    let again = ask_server(&server, &model, &request_json("hi")).await;
    assert_eq!((again.reply().structured_by, again.reply().attempt), (Some(StructuredBy::JsonSchema), 1));
    // Other statuses, and a service that names a time, have other reasons.
    for (status, header) in [
        ("503 Service Unavailable", ""),
        ("502 Bad Gateway", ""),
        ("500 Internal Server Error", "retry-after-ms: 1\r\n"),
    ] {
        let server = Server::play([Play::page(status, header, r#"{"error":{"message":"busy"}}"#)]).await;
        let asked = ask_server(&server, &super::model(&server), &request_json("hi")).await;
        assert_eq!((formats(&server), asked.error().requests), (vec!["json_schema".to_owned(); 3], 3), "{status}");
    }
}

#[tokio::test]
async fn a_fixed_way_is_kept_even_when_it_is_refused() {
    let ways = [
        (StructuredBy::JsonSchema, "json_schema"),
        (StructuredBy::JsonObject, "json_object"),
        (StructuredBy::Prompt, "none"),
    ];
    for (way, format) in ways {
        let server = Server::play([Play::json("400 Bad Request", refused(format))]).await;
        let mut fixed = endpoint(&server);
        fixed.structured_output = StructuredOutput::Fixed(way);
        let asked = ask_server(&server, &Adapter::new(fixed).unwrap(), &request_json("hi")).await;
        assert_eq!((asked.error().class, formats(&server)), (ErrorClass::Client, vec![format.to_owned()]));
    }
}

#[tokio::test]
async fn the_arguments_of_a_forced_tool_are_the_reply() {
    let call = |arguments: &str| {
        let arguments = serde_json::json!({"choices": [{"delta": {"tool_calls": [{"index": 0,
            "function": {"name": "respond", "arguments": arguments}}]}}]});
        format!("data: {arguments}\n\n")
    };
    let end = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\ndata: [DONE]\n\n".to_owned();
    let server = Server::play([Play::events([call("{\"sco"), call("re\":1}"), end])]).await;
    let mut forced = endpoint(&server);
    forced.structured_output = StructuredOutput::Fixed(StructuredBy::Tool);
    let asked = ask_server(&server, &Adapter::new(forced).unwrap(), &request_json("hi")).await;
    let reply = asked.reply();
    assert_eq!((reply.text.as_str(), reply.finish.clone()), (r#"{"score":1}"#, Some(Finish::Stop)));
    assert_eq!(reply.structured_by, Some(StructuredBy::Tool));
    let body = server.received().remove(0).json();
    assert_eq!(body["tools"][0]["function"]["parameters"]["required"], serde_json::json!(["score"]));
    assert_eq!(body["tool_choice"]["function"]["name"], "respond");
}

#[tokio::test]
async fn without_a_schema_no_format_is_sent() {
    let server = picky(&["none"]).await;
    let asked = ask_server(&server, &model(&server), &request("hi")).await;
    assert_eq!((asked.reply().structured_by, formats(&server)), (None, vec!["none".to_owned()]));
}

#[tokio::test]
async fn other_parameters_that_a_server_refuses_are_renamed_or_left_out() {
    let server = Server::script(|_, received| {
        let body = received.json();
        if body.get("stream_options").is_some() {
            let detail = r#"{"detail":[{"loc":["body","stream_options"],"msg":"Extra inputs are not permitted"}]}"#;
            Play::json("422 Unprocessable Entity", detail)
        } else if body.get("max_tokens").is_some() {
            let error = r#"{"error":{"message":"Use 'max_completion_tokens' instead.","param":"max_tokens"}}"#;
            Play::json("400 Bad Request", error)
        } else {
            answer("{}")
        }
    })
    .await;
    let limited = Request { options: Options { max_tokens: Some(9), ..Options::default() }, ..request_json("hi") };
    let asked = ask_server(&server, &model(&server), &limited).await;
    assert_eq!((asked.reply().attempt, asked.notices().len()), (3, 2));
    let last = server.received().pop().unwrap().json();
    assert_eq!(last["max_completion_tokens"], 9);
    assert_eq!(last["response_format"]["type"], "json_schema");
}
