//! Examples of the text mode.

use ptc_core::value::Value;
use ptc_workbench::agent::{Agent, AgentBuilder, Diagnostic, Mode, Variant};
use ptc_workbench::model::{Reply, script};
use ptc_workbench::run;
use serde_json::json;

use super::{int, last, outcome, p, scripted, value};

fn text_agent(prompt: &str, signature: &str) -> AgentBuilder {
    Agent::builder().mode(Mode::Text).prompt(prompt).signature(signature)
}

fn search(agent: AgentBuilder) -> AgentBuilder {
    let found = r#"[{"title":"Elixir","snippet":"A language"}]"#;
    let signature = "(query :string) -> [{title :string, snippet :string}]";
    agent.tool_fn("search", signature, "Search the web", move |_| Ok(value(found)))
}

#[tokio::test]
async fn plain_text() {
    let step = run("Summarize this article: {{text}}")
        .context(json!({"text": "Long article..."}))
        .model(script(["The article discusses tea."]))
        .await;
    assert_eq!(step.answer.unwrap().as_str(), Some("The article discusses tea."));
    assert!(step.prompt.unwrap().contains("Long article..."));
}

#[tokio::test]
async fn a_complex_return_type_makes_it_json() {
    let step = run("Classify the sentiment of: {{text}}")
        .context(json!({"text": "I love this product!"}))
        .signature("(text :string) -> {sentiment :string, score :float}")
        .model(script([r#"{"sentiment":"positive","score":0.95}"#]))
        .await;
    assert_eq!(outcome(&step), r#"{"sentiment":"positive","score":0.95}"#);
}

#[tokio::test]
async fn tools_and_a_free_answer() {
    let replies = [Reply::calling([("search", r#"{"query":"Elixir"}"#)]), "Elixir is a language.".into()];
    let (model, requests) = scripted(replies);
    let step = run("Use the search tool to find info about Elixir, then summarize.").with(search).model(model).await;
    assert_eq!(outcome(&step), r#""Elixir is a language.""#);
    let requests = requests.lock().unwrap();
    assert_eq!(requests[0].tools[0].name, "search");
    assert_eq!(last(&requests[1]), r#"[{"snippet":"A language","title":"Elixir"}]"#);
}

#[tokio::test]
async fn tools_and_a_typed_answer() {
    let step = run("What is 17 + 25? Use the add tool.")
        .signature("() -> {result :int}")
        .tool_fn("add", "(a :int, b :int) -> :int", "Add two numbers", |args| {
            Ok(Value::Int(int(args, "a") + int(args, "b")))
        })
        .model(script([Reply::calling([("add", r#"{"a":17,"b":25}"#)]), r#"{"result": 42}"#.into()]))
        .await;
    assert_eq!(step.answer.as_ref().unwrap().get("result").unwrap().to_text(), "42");
    assert_eq!(step.calls[0].result.as_ref().unwrap().as_str(), "42");
    assert!(step.memory.is_empty());
}

/// The table of variants: tools or none, text or JSON.
#[test]
fn variants_follow_tools_and_return_type() {
    let variant = |agent: AgentBuilder| agent.plan().unwrap().variant;
    let plain = || Agent::builder().mode(Mode::Text).prompt("Go");
    assert_eq!(variant(plain()), Variant::Plain);
    assert_eq!(variant(plain().signature(":string")), Variant::Plain);
    assert_eq!(variant(plain().signature(":int")), Variant::Json);
    assert_eq!(variant(search(plain())), Variant::ToolsText);
    assert_eq!(variant(search(plain().signature("[:int]"))), Variant::ToolsJson);
}

/// Templates: nested names, sections, scalars, inverted sections.
#[tokio::test]
async fn templates_are_filled_from_the_context() {
    let rows = [
        ("Hello {{user.name}}", "(user {name :string}) -> :string", json!({"user": {"name": "Ann"}}), "Hello Ann"),
        (
            "Categorize:\n{{#products}}\n- {{name}}: ${{price}}\n{{/products}}\n",
            "(products [{name :string, price :float}]) -> :string",
            json!({"products": [{"name": "Widget", "price": 9.99}, {"name": "Gadget", "price": 19.99}]}),
            "Categorize:\n- Widget: $9.99\n- Gadget: $19.99\n",
        ),
        ("Tags: {{#tags}}{{.}}, {{/tags}}", "(tags [:string]) -> :string", json!({"tags": ["a", "b"]}), "Tags: a, b, "),
        (
            "{{#items}}Process.{{/items}}{{^items}}No items.{{/items}}",
            "(items [:string]) -> :string",
            json!({"items": []}),
            "No items.",
        ),
    ];
    for (prompt, signature, context, filled) in rows {
        let (model, requests) = scripted(["ok"]);
        let step = run(text_agent(prompt, signature)).context(context).model(model).await;
        assert_eq!(outcome(&step), r#""ok""#, "{prompt}");
        let sent = last(&requests.lock().unwrap()[0]);
        assert!(sent.contains(filled), "{prompt}: {sent}");
    }
}

/// Templates that are refused when the agent is built, and others that are not.
#[test]
fn templates_are_checked_against_the_signature() {
    let rows = [
        ("Analyze {{text}} for {{user}}", "(text :string, user :string) -> {result :string}", None),
        ("Analyze {{text}}", "(text :string, user :string) -> {result :string}", Some("user")),
        ("{{#items}}{{name}}{{/items}}", "(items [{name :string, price :float}]) -> {count :int}", None),
        ("{{#items}}{{unknown}}{{/items}}", "(items [{name :string}]) -> {count :int}", Some("unknown")),
        ("{{#tags}}{{.}}{{/tags}}", "(tags [:string]) -> {count :int}", None),
        ("{{#items}}{{.}}{{/items}}", "(items [{name :string}]) -> {count :int}", Some("is a map")),
    ];
    for (prompt, signature, refused) in rows {
        let findings = text_agent(prompt, signature).plan().err().unwrap_or_default();
        let text: Vec<String> = findings.into_iter().filter(Diagnostic::is_error).map(|found| found.message).collect();
        match refused {
            None => assert!(text.is_empty(), "{prompt}: {text:?}"),
            Some(word) => assert!(text.join(" ").contains(word), "{prompt}: {text:?}"),
        }
    }
}

#[tokio::test]
async fn several_tools_over_several_turns() {
    let step = run("Calculate (6 * 7) - 10")
        .signature("() -> {result :int}")
        .tool_fn("multiply", "(a :int, b :int) -> :int", "Multiply", |args| {
            Ok(Value::Int(int(args, "a") * int(args, "b")))
        })
        .tool_fn("subtract", "(a :int, b :int) -> :int", "Subtract b from a", |args| {
            Ok(Value::Int(int(args, "a") - int(args, "b")))
        })
        .max_turns(5)
        .model(script([
            Reply::calling([("multiply", r#"{"a":6,"b":7}"#)]),
            Reply::calling([("subtract", r#"{"a":42,"b":10}"#)]),
            r#"{"result": 32}"#.into(),
        ]))
        .await;
    assert_eq!((outcome(&step).as_str(), step.turns.len()), (r#"{"result":32}"#, 3));
}

/// Optional parameters are not required; a function without a signature has an empty schema.
#[test]
fn tool_signatures_become_schemas() {
    let plan = Agent::builder()
        .mode(Mode::Text)
        .prompt("Go")
        .tool_fn("search", "(query :string, limit :int?) -> [{id :int, title :string}]", "Search", |_| Ok(Value::Nil))
        .tool_fn("ping", "", "", |_| Ok("pong".into()))
        .plan()
        .unwrap();
    let schema = |name: &str| plan.tool(name).unwrap().schema().parameters.value();
    assert_eq!(schema("search").lookup("required").unwrap().to_string(), r#"["query"]"#);
    assert_eq!(schema("ping").lookup("properties").unwrap(), &value("{}"));
}

#[tokio::test]
async fn turns_calls_and_failing_tools_are_limits_and_news_for_the_model() {
    let asks = || Reply::calling([("search", r#"{"query":"x"}"#), ("search", r#"{"query":"y"}"#)]);
    let endless =
        run(search(text_agent("Find", "() -> {analysis :string}"))).max_turns(2).model(script([asks()])).await;
    assert_eq!(outcome(&endless), "max_turns_exceeded");
    let limit = ptc_core::value::json::Node::Int(1).into();
    let (model, requests) = scripted([asks(), "done".into()]);
    let step = run("Find").with(search).with(|agent| agent.set("max_tool_calls", limit)).model(model).await;
    assert_eq!(outcome(&step), r#""done""#);
    assert!(last(&requests.lock().unwrap()[1]).contains("limit of 1"));
    let (model, requests) = scripted([Reply::calling([("risky", "{}")]), "It is down.".into()]);
    let step = run("Try")
        .tool_fn("risky", "() -> :string", "Call external service", |_| Err("service unavailable".to_owned()))
        .model(model)
        .await;
    assert_eq!(outcome(&step), r#""It is down.""#);
    let shown = value(&last(&requests.lock().unwrap()[1]));
    assert!(shown.lookup("error").unwrap().as_str().unwrap().contains("service unavailable"));
}

/// Piping: text with tools or without feeds programs and text.
#[tokio::test]
async fn text_feeds_other_modes() {
    let first =
        run(text_agent("Extract entities from: {{text}}", "(text :string) -> {entities [:string], topic :string}"))
            .context(json!({"text": "..."}))
            .model(script([r#"{"entities":["a","b"],"topic":"letters"}"#]))
            .await;
    let look_up = Agent::builder()
        .mode(Mode::PtcLisp)
        .prompt("Look up details for {{topic}}")
        .signature("(entities [:string], topic :string) -> {details [:map]}")
        .tool_fn("lookup", "(name :string) -> :map", "Looks up", |args| {
            Ok(Value::map([("name".into(), args.lookup("name").cloned().unwrap_or_default())]))
        });
    let program = "(return {:details (mapv (fn [e] (tool/lookup {:name e})) data/entities)})";
    let second = first.then(look_up).model(script([p(program)])).await;
    assert_eq!(outcome(&second), r#"{"details":[{"name":"a"},{"name":"b"}]}"#);

    let city = r#"{"population":14000000,"country":"Japan"}"#;
    let gather =
        text_agent("Look up the population of {{city}}", "(city :string) -> {population :int, country :string}")
            .tool_fn(
                "lookup",
                "(city :string) -> {population :int, country :string}",
                "Look up city data",
                move |_| Ok(value(city)),
            );
    let sum_up = text_agent(
        "Write a one-sentence summary about {{city}} (pop: {{population}}, in {{country}})",
        "(city :string, population :int, country :string) -> {summary :string}",
    );
    let first = run(gather)
        .context(json!({"city": "Tokyo"}))
        .model(script([Reply::calling([("lookup", r#"{"city":"Tokyo"}"#)]), city.into()]))
        .await;
    let (model, requests) = super::scripted([r#"{"summary":"Large."}"#]);
    let second = run(sum_up).context(&first).model(model).await;
    assert!(last(&requests.lock().unwrap()[0]).contains("about Tokyo (pop: 14000000, in Japan)"));
    assert_eq!(outcome(&second), r#"{"summary":"Large."}"#);
}
