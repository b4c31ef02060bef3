//! Mode `text`: the scripted scenarios 16–27 of `tests/library/strategies.rs`, and the rules of its four variants.

use ptc_core::value::Json;
use ptc_workbench::agent::{Agent, Plan};
use ptc_workbench::event::{CallStatus, Event, NativeCall};
use ptc_workbench::model::{Content, Finish, Reply};

use super::{Ran, Request, parsed, recorded_replies, run};

const TOOLS: &str = "
[tools.add]
kind = \"table\"
signature = \"(a :int, b :int?) -> :int\"
description = \"Add two numbers\"
rows = [{ args = { a = 17, b = 25 }, result = 42 }, { args = { a = 6 }, result = 36 }]
[tools.risky]
kind = \"table\"
signature = \"() -> :string\"
rows = [{ error = \"service unavailable\" }]
[tools.look-up]
kind = \"table\"
default = { found = true, names = [\"x\"] }
";

/// An agent from the rest of an agent file.
fn agent(toml: &str) -> Agent {
    let prompt = if toml.lines().any(|line| line.starts_with("prompt =")) { "" } else { "prompt = \"go\"\n" };
    Agent::from_toml(&format!("mode = \"text\"\n{prompt}{toml}"), "test.toml").unwrap_or_else(|error| panic!("{error}"))
}

/// Runs it and replays what was recorded.
async fn ran(toml: &str, context: &str, replies: Vec<Reply>) -> (Ran, Vec<Request>) {
    let (model, requests) = recorded_replies(replies);
    let ran = run(&agent(toml), context, &model).await;
    super::replays(&ran.events).await;
    let requests = requests.lock().unwrap().clone();
    (ran, requests)
}

/// Replies that are texts.
fn text_replies(texts: &[&str]) -> Vec<Reply> {
    texts.iter().map(|text| Reply::from(*text)).collect()
}

/// The results in a request, in order.
fn results(request: &Request) -> Vec<String> {
    let parts = request.messages.iter().flat_map(|message| &message.parts);
    parts
        .filter_map(|part| match part {
            Content::Result { call, name, result } => Some(format!("{call} {name} {result}")),
            _ => None,
        })
        .collect()
}

/// Name, agent, replies, outcome, turns.
type Scenario<'a> = (&'a str, &'a str, &'a [&'a str], &'a str, &'a [&'a str]);

#[tokio::test]
async fn scenarios_without_tools() {
    const LABEL: &str = "prompt = \"{{text}}\"\nsignature = \"(text :string) -> {label :string, score :float}\"";
    const ITEMS: &str = "signature = \"() -> [{id :int}]\"\nmax_turns = 1";
    const NUMBER: &str = "signature = \"() -> :int\"\nmax_turns = 1";
    let once = format!("{LABEL}\nmax_turns = 1");
    let fenced = "Here it is:\n```json\n{\"label\":\"pos\",\"score\":1,\"why\":\"x\"}\n```\nBye.";
    let valid = r#"{"label":"pos","score":1}"#;
    let rows: &[Scenario<'_>] = &[
        ("16", LABEL, &[valid], valid, &["ok"]),
        ("17", LABEL, &[fenced], r#"{"label":"pos","score":1,"why":"x"}"#, &["ok"]),
        ("18", LABEL, &["nope", r#"{"label":5}"#, valid], valid, &["json_parse_error", "validation_error", "ok"]),
        ("19a", &once, &["nope"], "json_parse_error", &["json_parse_error"]),
        ("19b", &once, &[r#"{"label":5}"#], "validation_error", &["validation_error"]),
        ("19c", &once, &["[1]"], "json_parse_error", &["json_parse_error"]),
        ("20a", ITEMS, &[r#"{"items":[{"id":1}]}"#], r#"[{"id":1}]"#, &["ok"]),
        ("20b", ITEMS, &[r#"[{"id":1}]"#], r#"[{"id":1}]"#, &["ok"]),
        ("20c", ITEMS, &[r#"{"x":1}"#], "json_parse_error", &["json_parse_error"]),
        ("21", NUMBER, &["42"], "42", &["ok"]),
        ("22a", "", &["Hello\n"], r#""Hello\n""#, &["ok"]),
        // An empty reply is a failure in every mode.
        ("22b", "", &[""], "empty_response", &["empty_response"]),
    ];
    for (name, toml, replies, outcome, turns) in rows {
        let (ran, _) = ran(toml, r#"{"text":"t"}"#, text_replies(replies)).await;
        assert_eq!(ran.outcome(), *outcome, "scenario {name}: {:?}", ran.step.fail);
        assert_eq!(ran.turns(), *turns, "scenario {name}");
        assert_eq!(ran.step.usage.own.turns as usize, turns.len(), "scenario {name}");
    }
}

#[tokio::test]
async fn scenario_18_all_problems_of_an_answer_are_joined() {
    let toml = "prompt = \"{{text}}\"\nsignature = \"(text :string) -> {label :string, score :float}\"\nmax_turns = 1";
    let (ran, _) = ran(toml, r#"{"text":"t"}"#, text_replies(&[r#"{"label":5}"#])).await;
    let message = ran.step.fail.unwrap().message;
    assert_eq!(message, "label: expected string, got int; score: expected field, got nil");
}

#[tokio::test]
async fn scenario_23_several_calls_are_answered_in_order_failures_included() {
    let calls = Reply::calling([("add", r#"{"a":17,"b":25}"#), ("risky", "{}"), ("nothing", "{}")]);
    let (ran, requests) = ran(TOOLS, "{}", vec![calls, "done".into()]).await;
    assert_eq!(ran.outcome(), r#""done""#);
    assert_eq!(ran.turns(), ["ok", "ok"]);
    let shown = results(&requests[1]);
    assert_eq!(shown[0], "tc_1 add 42");
    assert!(
        shown[1].starts_with(r#"tc_2 risky {"error":"service unavailable","tool":"risky","args_received":{},"hint":"#),
        "{}",
        shown[1]
    );
    assert_eq!(shown[2], r#"tc_3 nothing {"error":"unknown tool `nothing` (tools: add, risky, look-up)"}"#);
    let status: Vec<_> = ran.step.calls.iter().map(|call| call.status.unwrap()).collect();
    assert_eq!(status, [CallStatus::Ok, CallStatus::Error, CallStatus::Refused]);
    let roles: Vec<_> = requests[1].messages.iter().map(|message| message.role.name()).collect();
    assert_eq!(roles, ["user", "assistant", "tool", "tool", "tool"]);
}

#[tokio::test]
async fn scenario_24_calls_beyond_the_limit_are_refused_and_reported() {
    let two = Reply::calling([("add", r#"{"a":17,"b":25}"#), ("add", r#"{"a":6}"#)]);
    let (ran, requests) = ran(&format!("max_tool_calls = 1\n{TOOLS}"), "{}", vec![two, "done".into()]).await;
    assert_eq!(ran.outcome(), r#""done""#);
    let shown = results(&requests[1]);
    assert_eq!(shown[0], "tc_1 add 42");
    assert!(shown[1].contains("the limit of 1 tool calls (max_tool_calls) is reached"), "{}", shown[1]);
    assert_eq!(ran.step.calls[1].error.as_ref().unwrap().reason, "tool_call_limit_exceeded");
}

#[tokio::test]
async fn the_limit_of_calls_is_that_of_the_whole_run_and_refused_calls_count() {
    let one = || Reply::calling([("add", r#"{"a":6}"#)]);
    let bad = Reply::calling([("add", "{{"), ("nothing", "{}")]);
    let (ran, requests) = ran(&format!("max_tool_calls = 3\n{TOOLS}"), "{}", vec![one(), bad, one(), "x".into()]).await;
    assert_eq!(ran.outcome(), r#""x""#);
    assert!(results(&requests[3]).last().unwrap().contains("limit of 3 tool calls"));
}

#[tokio::test]
async fn scenario_25_tools_then_a_typed_answer_with_correction() {
    let toml = format!("signature = \"() -> {{n :int}}\"\n{TOOLS}");
    let replies = vec![Reply::calling([("add", r#"{"a":6}"#)]), "not json".into(), r#"{"n":3}"#.into()];
    let (ran, requests) = ran(&toml, "{}", replies).await;
    assert_eq!(ran.outcome(), r#"{"n":3}"#);
    assert_eq!(ran.turns(), ["ok", "json_parse_error", "ok"]);
    let feedback = requests[2].messages.last().unwrap().joined();
    assert!(feedback.contains("the reply contains no JSON") && feedback.contains("not json"), "{feedback}");
    assert!(!ran.step.usage.schema_used);
    assert_eq!(requests[0].schema, None, "with tools no schema is sent");
}

#[tokio::test]
async fn scenario_26_calls_without_end_use_up_the_turns() {
    let toml = format!("max_turns = 2\n{TOOLS}");
    let (ran, requests) = ran(&toml, "{}", vec![Reply::calling([("add", r#"{"a":6}"#)])]).await;
    assert_eq!(ran.outcome(), "max_turns_exceeded");
    assert_eq!((requests.len(), ran.step.calls.len()), (2, 2));
}

#[tokio::test]
async fn scenario_27_empty_replies_get_feedback_and_end_as_such() {
    let (ran, requests) = ran(&format!("max_turns = 3\n{TOOLS}"), "{}", text_replies(&[""])).await;
    assert_eq!(ran.outcome(), "empty_response");
    assert_eq!(ran.turns(), ["empty_response"; 3]);
    assert!(requests[2].messages.last().unwrap().joined().contains("Your reply was empty"));
    assert!(requests[2].messages.iter().all(|message| !message.joined().is_empty()), "no message without text is sent");
}

#[tokio::test]
async fn ids_are_made_up_where_the_provider_gives_none() {
    let call = |id: &str| NativeCall { id: id.to_owned(), name: "add".to_owned(), args: r#"{"a":6}"#.to_owned() };
    let reply = |calls: Vec<NativeCall>| Reply { calls, ..Reply::from("") };
    let replies = vec![reply(vec![call(""), call("mine"), call("")]), reply(vec![call("")]), "done".into()];
    let (_, requests) = ran(TOOLS, "{}", replies).await;
    let shown = results(&requests[2]);
    assert_eq!(shown, ["tc_1 add 36", "mine add 36", "tc_3 add 36", "tc_4 add 36"]);
    let asked = requests[2].messages.iter().flat_map(|message| &message.parts).filter_map(|part| match part {
        Content::Call(call) => Some(call.id.clone()),
        _ => None,
    });
    assert_eq!(asked.collect::<Vec<_>>(), ["tc_1", "mine", "tc_3", "tc_4"], "calls and results name each other");
}

#[tokio::test]
async fn arguments_that_cannot_be_used_go_back_and_the_tool_is_not_called() {
    let calls = Reply::calling([("add", "{\"a\":"), ("add", "[1]"), ("add", r#"{"b":1}"#), ("add", r#"{"a":"6"}"#)]);
    let (ran, requests) = ran(TOOLS, "{}", vec![calls, "done".into()]).await;
    let shown = results(&requests[1]);
    assert!(shown[0].contains(r#"{"error":"add: the arguments are not JSON:"#), "{}", shown[0]);
    assert_eq!(shown[1], r#"tc_2 add {"error":"add: the arguments are not a JSON object"}"#);
    assert_eq!(shown[2], r#"tc_3 add {"error":"the arguments of add do not fit: a: missing"}"#);
    assert_eq!(shown[3], "tc_4 add 36", "arguments are converted to the types of the parameters");
    let reasons: Vec<_> = ran.step.calls.iter().map(|call| call.error.as_ref().map(|e| e.reason.clone())).collect();
    assert_eq!(
        reasons,
        [Some("args_error".to_owned()), Some("args_error".to_owned()), Some("invalid_tool_args".to_owned()), None]
    );
}

#[tokio::test]
async fn a_call_without_arguments_and_one_by_its_provider_name_are_made() {
    let (ran, requests) = ran(TOOLS, "{}", vec![Reply::calling([("look_up", "")]), "done".into()]).await;
    assert_eq!(results(&requests[1]), [r#"tc_1 look_up {"found":true,"names":["x"]}"#]);
    assert_eq!(ran.step.calls[0].name, "look-up");
}

#[tokio::test]
async fn a_tool_for_programs_is_neither_offered_nor_called() {
    let toml = format!("transport = \"tool_call\"\n{TOOLS}expose = \"ptc_lisp\"\n");
    let (ran, requests) = ran(&toml, "{}", vec![Reply::calling([("look_up", "{}")]), "done".into()]).await;
    assert_eq!(requests[0].tool_names, ["add", "risky"]);
    assert!(results(&requests[1])[0].contains("is for programs only"));
    assert_eq!(ran.step.calls[0].status, Some(CallStatus::Refused));
}

#[tokio::test]
async fn tool_signatures_become_native_schemas() {
    let (_, requests) = ran(TOOLS, "{}", text_replies(&["done"])).await;
    let tools = &requests[0].tools;
    assert_eq!(tools.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>(), ["add", "risky", "look_up"]);
    assert_eq!(tools[0].description.as_deref(), Some("Add two numbers"));
    let schema = tools[0].parameters.json();
    assert_eq!(schema.get("required").unwrap().to_text(), r#"["a"]"#, "optional parameters are not required");
    assert_eq!(schema.at("properties.b.type").and_then(Json::as_str), Some("integer"));
    assert_eq!(
        tools[2].parameters.json().get("type").and_then(Json::as_str),
        Some("object"),
        "no signature: an empty object"
    );
    assert_eq!(requests[0].want.name(), "text");
}

#[test]
fn a_tool_without_signature_is_allowed_with_a_warning() {
    let warnings = Plan::new(&agent(TOOLS)).unwrap().warnings;
    let text: Vec<_> = warnings.iter().map(|finding| format!("{}: {}", finding.key, finding.message)).collect();
    assert_eq!(text, ["tools.look-up: the tool `look-up` has no `signature`: the model does not see its arguments"]);
}

#[tokio::test]
async fn the_system_card_follows_the_variant() {
    let card = async |toml: &str| ran(toml, "{}", text_replies(&["1"])).await.1[0].system.clone().unwrap();
    let typed = format!("signature = \":int\"\n{TOOLS}");
    assert!(card("").await.contains("helpful assistant"));
    assert!(card("signature = \":int\"").await.contains("exactly one JSON value"));
    let text = card(TOOLS).await;
    assert!(text.contains("plain text") && !text.contains("JSON"), "{text}");
    assert!(card(&typed).await.contains("only with JSON"));
    assert_eq!(card("system_prompt = \"Only this.\"").await, "Only this.");
}

#[test]
fn the_variant_follows_tools_and_return_type() {
    let variant = |toml: &str| Plan::new(&agent(toml)).unwrap().variant.name();
    for (signature, plain) in [
        ("", true),
        ("signature = \":string\"", true),
        ("signature = \"{a :int}\"", false),
        ("signature = \"[:string]\"", false),
        ("signature = \":float\"", false),
        ("signature = \":bool\"", false),
        ("signature = \":any\"", false),
        ("signature = \":datetime\"", false),
        ("signature = \":string?\"", false),
    ] {
        assert_eq!(variant(signature), if plain { "plain" } else { "json" }, "{signature}");
        let with_tools = format!("{signature}\n{TOOLS}");
        assert_eq!(variant(&with_tools), if plain { "tools + text" } else { "tools + json" }, "{signature}");
    }
}

#[tokio::test]
async fn plain_text_is_one_call_whatever_max_turns_says_and_sends_the_mission_as_it_is() {
    let toml = "prompt = \"Summarize: {{text}}\"\nmax_turns = 5";
    let (ran, requests) = ran(toml, r#"{"text":"Long article"}"#, text_replies(&["  so ```json\n{}\n``` "])).await;
    assert_eq!(ran.step.answer.unwrap().as_str(), Some("  so ```json\n{}\n``` "));
    assert_eq!(requests.len(), 1);
    assert_eq!(requests[0].messages[0].joined(), "Summarize: Long article");
    assert_eq!((requests[0].mode.as_str(), requests[0].tools.len()), ("text", 0));
}

#[tokio::test]
async fn a_cut_reply_is_no_answer_in_any_variant() {
    let cut = || Reply { finish: Some(Finish::Length), ..Reply::from("4") };
    let typed = format!("signature = \":int\"\n{TOOLS}");
    assert_eq!(ran("", "{}", vec![cut()]).await.0.outcome(), "reply_truncated");
    for toml in [TOOLS, &typed] {
        let (ran, requests) = ran(toml, "{}", vec![cut(), "42".into()]).await;
        assert_eq!(ran.turns(), ["reply_truncated", "ok"], "{toml}");
        assert!(requests[1].messages.last().unwrap().joined().contains("output limit"), "{toml}");
    }
}

#[tokio::test]
async fn calls_of_a_cut_reply_are_not_made() {
    let cut = Reply { finish: Some(Finish::Length), ..Reply::calling([("add", r#"{"a":6}"#), ("add", "")]) };
    let (ran, requests) = ran(TOOLS, "{}", vec![cut, "36".into()]).await;
    assert_eq!(ran.turns(), ["reply_truncated", "ok"]);
    assert!(ran.step.calls.is_empty());
    let roles: Vec<_> = requests[1].messages.iter().map(|message| message.role.name()).collect();
    assert_eq!(roles, ["user", "user"], "no call is sent without its result");
}

#[tokio::test]
async fn scalars_are_answers_with_and_without_tools() {
    for (ty, reply, answer) in [
        (":int", "42", "42"),
        (":float", "4.5", "4.5"),
        (":bool", "true", "true"),
        (":int", "{\"value\": 42}", "42"),
        (":enum[red green]", "green", "\"green\""),
        (":datetime", "2026-11-22T05:00:00Z", "\"2026-11-22T05:00:00Z\""),
        (":any", "[1]", "[1]"),
    ] {
        let plain = format!("signature = '() -> {ty}'\nmax_turns = 1\n");
        for toml in [format!("{plain}{TOOLS}"), plain] {
            let reply = if ty == ":datetime" { format!("\"{reply}\"") } else { reply.to_owned() };
            let (ran, _) = ran(&toml, "{}", vec![reply.into()]).await;
            assert_eq!(ran.outcome(), answer, "{ty}: {:?}", ran.step.fail);
        }
    }
}

#[tokio::test]
async fn calls_with_text_are_made_and_the_text_stays_in_the_history() {
    let both = Reply { text: "I add.".to_owned(), ..Reply::calling([("add", r#"{"a":6}"#)]) };
    let (ran, requests) = ran(TOOLS, "{}", vec![both, "36".into()]).await;
    assert_eq!(ran.outcome(), r#""36""#);
    assert_eq!(requests[1].messages[1].joined(), r#"I add.add {"a":6}"#);
}

#[tokio::test]
async fn memory_is_empty_and_programs_are_text() {
    let (ran, _) = ran(TOOLS, "{}", text_replies(&["```clojure\n(def x 1)\n```"])).await;
    assert!(ran.step.memory.is_empty());
    assert_eq!(ran.step.answer.unwrap().as_str(), Some("```clojure\n(def x 1)\n```"));
}

#[test]
fn construction_rules_of_templates() {
    let wrong = |prompt: &str, signature: &str| {
        let toml = format!("prompt = '{prompt}'\nsignature = '{signature}'");
        match Plan::new(&agent(&toml)) {
            Ok(_) => String::new(),
            Err(findings) => findings.iter().map(|finding| finding.message.clone()).collect::<Vec<_>>().join("; "),
        }
    };
    let fine = [
        ("Analyze {{text}} for {{user}}", "(text :string, user :string) -> {result :string}"),
        ("{{user.name}}", "(user {name :string}) -> {r :string}"),
        ("{{#products}}- {{name}}: {{price}}{{/products}}", "(products [{name :string, price :float}]) -> [:string]"),
        ("Tags: {{#tags}}{{.}}, {{/tags}}", "(tags [:string]) -> {primary_tag :string}"),
        ("{{#items}}x{{/items}}{{^items}}No items.{{/items}}", "(items [:string]) -> {status :string}"),
    ];
    for (prompt, signature) in fine {
        assert_eq!(wrong(prompt, signature), "", "{prompt}");
    }
    assert!(wrong("Analyze {{text}}", "(text :string, user :string) -> {r :string}").contains("`user`"));
    assert!(wrong("{{#items}}{{unknown}}{{/items}}", "(items [{name :string}]) -> {n :int}").contains("unknown"));
    assert!(!wrong("{{#items}}{{.}}{{/items}}", "(items [{name :string}]) -> {n :int}").is_empty());
    assert!(!wrong("{{text}}", "(text :string) -> {_hidden :int}").is_empty());
    for option in ["compression = true", "compaction = true"] {
        assert!(Plan::new(&agent(option)).is_err(), "{option}");
    }
}

#[tokio::test]
async fn sections_fill_with_the_items_of_lists() {
    let toml = "prompt = \"\"\"\nCategorize these products:\n{{#products}}\n- {{name}}: ${{price}}\n{{/products}}\n\"\"\"\n\
                signature = \"(products [{name :string, price :float}]) -> {n :int}\"";
    let context = r#"{"products":[{"name":"Widget","price":9.99},{"name":"Gadget","price":19.99}]}"#;
    let (_, requests) = ran(toml, context, text_replies(&[r#"{"n":2}"#])).await;
    let user = requests[0].messages[0].joined();
    assert!(user.contains("Categorize these products:\n- Widget: $9.99\n- Gadget: $19.99\n"), "{user}");
}

#[tokio::test]
async fn refs_of_an_answer_are_asked_for_again_when_they_are_missing() {
    let toml = format!("signature = \":map\"\n{TOOLS}[refs]\nid = \"items[0].id\"\n");
    let replies = text_replies(&[r#"{"items":[]}"#, r#"{"items":[{"id":7}]}"#]);
    let (good, requests) = ran(&toml, "{}", replies.clone()).await;
    assert_eq!(good.step.refs.unwrap().to_text(), r#"{"id":7}"#);
    assert!(requests[1].messages.last().unwrap().joined().contains("id"));
    let (bad, _) = ran(&toml.replacen("signature", "max_ref_retries = 0\nsignature", 1), "{}", replies).await;
    assert_eq!(bad.outcome(), "missing_refs");
}

#[tokio::test]
async fn missing_refs_are_asked_for_in_json_with_the_format_where_the_answer_is_json() {
    let refs = "max_turns = 2\n[refs]\nb = \"a.b\"\nsum = { expr = \"(+ 1 (get-in result [:a :c]))\" }\n";
    let long = "x".repeat(600);
    for mode in ["json", "text"] {
        let toml = format!("mode = \"{mode}\"\nprompt = \"go\"\nsignature = \"{{a :map}}\"\n{refs}");
        let agent = Agent::from_toml(&toml, "test.toml").unwrap();
        let (model, requests) = recorded_replies(text_replies(&[&format!(r#"{{"a":{{"z":1,"c":"{long}"}}}}"#)]));
        let ran = run(&agent, "{}", &model).await;
        super::replays(&ran.events).await;
        let feedback = requests.lock().unwrap()[1].messages.last().unwrap().joined();
        assert!(feedback.contains(r#"{"a":{"z":1,"c":"xxx"#), "JSON in the order of the reply: {feedback}");
        assert!(feedback.contains("cut after 500 characters"), "{feedback}");
        let (_, closing) = feedback.split_once("Reply again, only with JSON in this format:\n").unwrap();
        assert!(closing.starts_with("{\"a\":{"), "{feedback}");
        let message = ran.step.fail.unwrap().message;
        assert!(message.starts_with("the answer is missing: b, sum (its expression failed: "), "{message}");
    }
}

#[tokio::test]
async fn a_reply_that_only_calls_tools_is_no_answer_where_there_are_none() {
    let (only, _) = ran("max_turns = 3", "{}", vec![Reply::calling([("foo", "{}")])]).await;
    assert_eq!((only.outcome().as_str(), only.turns().len()), ("empty_response", 1));
    let both = Reply { text: "Hello".into(), ..Reply::calling([("foo", "{}")]) };
    assert_eq!(ran("", "{}", vec![both]).await.0.outcome(), r#""Hello""#);
}

#[tokio::test]
async fn one_turn_is_reported_as_one() {
    let (ran, _) = ran(&format!("max_turns = 1\n{TOOLS}"), "{}", vec![Reply::calling([("add", r#"{"a":6}"#)])]).await;
    let message = ran.step.fail.unwrap().message;
    assert_eq!(message, "1 turn was used and the model still called tools; max_turns is 1");
}

#[tokio::test]
async fn a_tool_may_answer_nothing() {
    let toml = "[tools.find]\nkind = \"snippet\"\ncode = \"nil\"\n";
    let (ran, requests) = ran(toml, "{}", vec![Reply::calling([("find", "{}")]), "done".into()]).await;
    assert_eq!(results(&requests[1]), ["tc_1 find null"]);
    assert_eq!(ran.step.calls[0].result.as_ref().unwrap().as_str(), "null");
}

#[tokio::test]
async fn the_preview_is_the_first_request() {
    for toml in [
        "prompt = \"Say {{a}}\"".to_owned(),
        format!("prompt = \"Say {{{{a}}}}\"\n{TOOLS}"),
        format!(
            "prompt = \"Say {{{{a}}}}\"\nsignature = \"(a :string) -> {{n :int}}\"\n{TOOLS}[context_descriptions]\na = \"what\"\n"
        ),
    ] {
        let (_, requests) = ran(&toml, r#"{"a":"x"}"#, text_replies(&[r#"{"n":1}"#])).await;
        let plan = Plan::new(&agent(&toml)).unwrap();
        let preview = ptc_workbench::engine::preview(&plan, &parsed(r#"{"a":"x"}"#).into()).unwrap();
        assert_eq!(preview.request, requests[0], "{toml}");
        let user = requests[0].messages[0].joined();
        assert!(user.ends_with("Say x") && !user.starts_with('\n'), "{user}");
    }
}

#[tokio::test]
async fn an_expression_that_fails_is_reported_where_its_ref_may_be_nil() {
    let toml = "signature = \"{a :int}\"\n[refs]\nrest = { expr = \"(mod 7 (- (:a result) 2))\", optional = true }\n\
                none = { path = \"b\", optional = true }\n";
    let (ran, _) = ran(toml, "{}", text_replies(&[r#"{"a":2}"#])).await;
    assert_eq!(ran.step.refs.clone().unwrap().to_text(), r#"{"rest":null,"none":null}"#);
    let shown = ran.events.iter().filter_map(|envelope| match &envelope.event {
        Event::Notice(notice) => Some(notice.text.as_str()),
        _ => None,
    });
    let shown: Vec<_> = shown.collect();
    assert!(shown.len() == 1 && shown[0].starts_with("the ref rest is nil: its expression failed: "), "{shown:?}");
}
