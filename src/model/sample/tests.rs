//! The shapes and faults of `sample`, request by request.

use ptc_core::value::json;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::event::{Address, Options, Role, ToolSchema};
use crate::model::{Content, Message, Want};

#[test]
fn settings_are_read_and_written_the_same_way() {
    let sample = Sample::parse("missing_field,seed=7,every").unwrap();
    assert_eq!(sample, Sample { fault: Some(Fault::MissingField), seed: Some(7), every: true });
    assert_eq!(sample.alias(), "sample:missing_field,seed=7,every");
    assert_eq!(Sample::parse("").unwrap().alias(), "sample");
}

#[test]
fn an_unknown_fault_names_the_nearest() {
    let error = Sample::parse("mising_field").unwrap_err();
    assert!(error.starts_with("unknown fault \"mising_field\"; did you mean `missing_field`?"), "{error}");
    assert_eq!(Sample::parse("prose,two_blocks").unwrap_err(), "two_blocks: only one fault is allowed");
    assert_eq!(Sample::parse("seed=x").unwrap_err(), "seed=x is not a whole number");
}

fn request(want: Want, signature: &str) -> Request {
    Request {
        address: Address::run(0).turn(1),
        agent: "a".into(),
        mode: "m".into(),
        want,
        system: None,
        messages: vec![Message::text(Role::User, "Use the tool search.").into()],
        files: crate::model::FileBytes::default(),
        schema: None,
        tools: Vec::new(),
        tool_choice: None,
        tool_names: Vec::new(),
        tool_signatures: Vec::new(),
        retry: crate::model::Retry::default(),
        signature: Some(signature.into()),
        options: Options::default(),
        cache: false,
        seed: 0,
    }
}

fn schema(name: &str, parameters: &str) -> ToolSchema {
    let parameters = json::parse(parameters).unwrap();
    ToolSchema {
        name: name.into(),
        description: None,
        parameters: crate::event::JsonText::of(&parameters),
        custom: None,
    }
}

/// The reply to a request, and everything that was streamed.
async fn answer(model: &str, request: &Request) -> (Reply, String) {
    let (events, mut inbox) = mpsc::channel(10_000);
    let call = Call { events, cancel: CancellationToken::new() };
    let reply = Sample::parse(model).unwrap().answer(request, &call).await.unwrap();
    drop(call);
    let mut streamed = String::new();
    while let Some(event) = inbox.recv().await {
        if let ModelEvent::Delta { text, .. } = event {
            streamed.push_str(&text);
        }
    }
    (reply, streamed)
}

async fn text(model: &str, request: &Request) -> String {
    answer(model, request).await.0.text
}

#[tokio::test(start_paused = true)]
async fn each_mode_gets_the_shape_it_wants() {
    let cases = [
        (Want::Json, "{n :int}", r#"{"n":3}"#),
        (Want::Json, "[:int]", r#"{"items":[3,7]}"#),
        (
            Want::Program,
            "{user-id :int, at :datetime?, tags [:keyword]}",
            "```clojure\n(return {:user-id 1 :at (Instant/parse \"2026-03-01T09:30:00Z\") :tags [:alpha :bravo]})\n```\n",
        ),
        (Want::Program, ":int", "```clojure\n(return 3)\n```\n"),
        (Want::ControlJson, "{n :int}", r#"{"thought":"Everything that is needed is known.","final_answer":{"n":3}}"#),
        (Want::Text, "() -> :string", "It works well and arrived on time."),
    ];
    for (want, signature, expected) in cases {
        assert_eq!(text("", &request(want, signature)).await, expected, "{want:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn native_tools_are_called_once_and_then_answered() {
    let parameters = r#"{"type":"object","properties":{"query":{"type":"string"}},"required":["query"]}"#;
    let mut asked = request(Want::Text, ":string");
    asked.tools = vec![schema("search", parameters), schema("now", r#"{"type":"object","properties":{}}"#)];
    let (reply, streamed) = answer("", &asked).await;
    assert_eq!(streamed, "search {\"query\":\"weather in Lisbon\"}\nnow {}");
    let calls: Vec<_> = reply.calls.iter().map(|call| format!("{} {call}", call.id)).collect();
    assert_eq!(calls, ["tc_1 search {\"query\":\"weather in Lisbon\"}", "tc_2 now {}"]);
    assert_eq!((reply.text.as_str(), reply.finish), ("", Some(Finish::ToolCalls)));
    let faults = [
        ("missing_field", "{}"),
        ("wrong_type", "{\"query\":[\"weather in Lisbon\"]}"),
        ("bad_json", "{\"broken\" ]: ,,,"),
    ];
    for (fault, expected) in faults {
        assert_eq!(answer(fault, &asked).await.0.calls[0].args, expected, "{fault}");
    }
    let (cut, _) = answer("cut_reply", &asked).await;
    assert_eq!((cut.calls[1].args.as_str(), cut.finish), ("{", Some(Finish::Length)));

    asked
        .messages
        .push(Message { role: Role::Assistant, parts: reply.calls.into_iter().map(Content::Call).collect() }.into());
    let (reply, _) = answer("", &asked).await;
    assert_eq!((reply.text.as_str(), reply.calls.len()), ("It works well and arrived on time.", 0));
}

#[tokio::test(start_paused = true)]
async fn programs_call_the_tools_that_no_program_called() {
    let mut asked = request(Want::Program, "{n :int}");
    asked.tool_names = vec!["search".into(), "search-all".into()];
    asked.tool_signatures = vec![("search".into(), "(query :string) -> :any".into())];
    let program = text("", &asked).await;
    assert_eq!(
        program,
        "```clojure\n(tool/search {:query \"weather in Lisbon\"})\n(tool/search-all {})\n(return {:n 3})\n```\n"
    );
    let faults = [
        ("bad_json", "```clojure\n(return {:broken ]\n```\n"),
        (
            "missing_field",
            "```clojure\n(tool/search {:query \"weather in Lisbon\"})\n(tool/search-all {})\n(return {})\n```\n",
        ),
    ];
    for (fault, expected) in faults {
        assert_eq!(text(fault, &asked).await, expected, "{fault}");
    }
    assert_eq!(text("two_blocks", &asked).await.matches("```clojure").count(), 2);
    assert!(text("prose", &asked).await.starts_with("Here is {what} you asked for:\n\n```clojure\n"));
    asked.messages.push(Message::text(Role::Assistant, "```clojure\n(tool/search-all {})\n```").into());
    assert!(text("", &asked).await.starts_with("```clojure\n(tool/search {:query"));
    assert!(!text("", &asked).await.contains("(tool/search-all"));
}

#[tokio::test(start_paused = true)]
async fn a_program_travels_as_a_call_when_the_tool_for_it_is_offered() {
    let mut asked = request(Want::Program, ":int");
    asked.tools = vec![schema("lisp_eval", r#"{"type":"object"}"#)];
    assert_eq!(answer("", &asked).await.0.calls[0].to_string(), r#"lisp_eval {"program":"(return 3)"}"#);
    let combined = Request { want: Want::Text, ..asked };
    assert_eq!(answer("", &combined).await.0.calls.len(), 1);
    let mut later = combined.clone();
    let call = NativeCall { id: "tc_1".into(), name: "lisp_eval".into(), args: String::new() };
    later.messages.push(Message { role: Role::Assistant, parts: vec![Content::Call(call)] }.into());
    assert_eq!(answer("", &later).await.0.calls.len(), 0);
}

#[tokio::test(start_paused = true)]
async fn control_objects_call_one_tool_after_the_other() {
    let mut asked = request(Want::ControlJson, ":string");
    asked.tool_names = vec!["search".into(), "now".into()];
    asked.tool_signatures = vec![("search".into(), "(query :string) -> :any".into())];
    let first =
        r#"{"thought":"I call search first.","tool_call":{"name":"search","arguments":{"query":"weather in Lisbon"}}}"#;
    assert_eq!(text("", &asked).await, first);
    assert!(text("missing_field", &asked).await.ends_with(r#""arguments":{}}}"#));
    asked.messages.push(Message::text(Role::Assistant, first).into());
    asked.address = Address::run(0).turn(2);
    assert!(text("", &asked).await.contains(r#""name":"now","arguments":{}"#));
    asked.messages.push(Message::text(Role::Assistant, text("", &asked).await).into());
    asked.address = Address::run(0).turn(3);
    let last =
        r#"{"thought":"Everything that is needed is known.","final_answer":"It works well and arrived on time."}"#;
    assert_eq!(text("", &asked).await, last);
    assert_eq!(text("missing_field,every", &asked).await, r#"{"thought":"Everything that is needed is known."}"#);
}

#[tokio::test(start_paused = true)]
async fn text_has_faults_of_its_own() {
    let asked = request(Want::Text, ":string");
    assert_eq!(text("missing_field", &asked).await, "");
    assert_eq!(text("wrong_type", &asked).await, r#"["It works well and arrived on time."]"#);
    let (cut, _) = answer("cut_reply", &asked).await;
    assert_eq!((cut.text.as_str(), cut.finish), ("It works well and", Some(Finish::Length)));
}
