//! Examples of the JSON output mode.

use ptc_workbench::agent::{Agent, AgentBuilder, Diagnostic, Mode};
use ptc_workbench::model::{Reply, Request, Want, script};
use ptc_workbench::run;
use serde_json::json;

use super::{last, outcome, p, scripted, value};

fn json_agent(prompt: &str, signature: &str) -> AgentBuilder {
    Agent::builder().mode(Mode::Json).prompt(prompt).signature(signature)
}

/// The first error of a definition.
fn refusal(agent: AgentBuilder) -> String {
    let errors: Vec<String> =
        agent.plan().unwrap_err().into_iter().filter(Diagnostic::is_error).map(|found| found.message).collect();
    errors.join("; ")
}

/// Motivation: the same task as a program and as a JSON answer.
#[tokio::test]
async fn a_classification_as_a_program_and_as_json() {
    let prompt = "Classify sentiment of: {{text}}";
    let signature = "(text :string) -> {sentiment :string}";
    let context = json!({"text": "I love this product!"});
    let program = Agent::builder().mode(Mode::PtcLisp).prompt(prompt).signature(signature).max_turns(1);
    let (model, requests) = scripted([p("(return {:sentiment \"positive\"})")]);
    let by_program = run(program).context(context.clone()).model(model).await;
    let (model, json_requests) = scripted([r#"{"sentiment": "positive"}"#]);
    let by_json = run(json_agent(prompt, signature)).context(context).model(model).await;
    assert_eq!(outcome(&by_program), outcome(&by_json));
    let size = |requests: &[Request]| requests[0].system.as_ref().map_or(0, String::len);
    assert!(size(&json_requests.lock().unwrap()) < size(&requests.lock().unwrap()), "the JSON card is smaller");
}

/// API and signature format: the output is the schema, the inputs are not in it; `{…}` alone is an output.
#[tokio::test]
async fn the_schema_is_the_output_of_the_signature() {
    let (model, requests) = scripted([r#"{"sentiment": "positive", "score": 0.95}"#]);
    let step = run(json_agent("Classify: {{text}}", "(text :string) -> {sentiment :string, score :float}"))
        .context(json!({"text": "fine"}))
        .model(model)
        .await;
    assert_eq!(outcome(&step), r#"{"sentiment":"positive","score":0.95}"#);
    assert!(step.memory.is_empty());
    let request = requests.lock().unwrap()[0].clone();
    assert_eq!((request.mode.as_str(), request.want, request.cache), ("json", Want::Json, false));
    assert_eq!(
        request.schema.unwrap().to_value(),
        value(
            r#"{"type":"object","properties":{"sentiment":{"type":"string"},"score":{"type":"number"}},
                "required":["sentiment","score"],"additionalProperties":false}"#
        )
    );
    let short = run(json_agent("Say it", "{sentiment :string}")).model(script([r#"{"sentiment":"good"}"#])).await;
    assert_eq!(outcome(&short), r#"{"sentiment":"good"}"#);
}

/// Nested records become nested objects of the schema.
#[test]
fn nested_outputs_become_nested_schemas() {
    let agent = json_agent("Go", "() -> {analysis {sentiment :string, entities [:string]}}");
    let schema = agent.plan().unwrap().schema.unwrap().json.to_value();
    let inner = schema.lookup("properties").unwrap().lookup("analysis").unwrap();
    assert_eq!(inner.lookup("required").unwrap().to_string(), r#"["sentiment" "entities"]"#);
    assert_eq!(
        inner.lookup("properties").unwrap().lookup("entities").unwrap(),
        &value(r#"{"type":"array","items":{"type":"string"}}"#)
    );
}

/// A callback may use the schema or ignore it: one closure serves both modes.
#[tokio::test]
async fn one_model_answers_both_modes() {
    let model = || {
        ptc_workbench::model::ClosureModel::new(|request: &Request| match (request.want, &request.schema) {
            (Want::Json, Some(_)) => Reply::from(r#"{"sentiment":"positive"}"#),
            _ => p("(return (tool/add {:a data/x :b data/y}))"),
        })
    };
    let classified = run(json_agent("Classify: {{text}}", "(text :string) -> {sentiment :string}"))
        .context(json!({"text": "Great product!"}))
        .model(model())
        .await;
    assert_eq!(outcome(&classified), r#"{"sentiment":"positive"}"#);
    let added = run("Calculate {{x}} + {{y}}")
        .mode(Mode::PtcLisp)
        .tool_fn("add", "(a :int, b :int) -> :int", "Adds", |args| {
            Ok(ptc_core::value::Value::Int(super::int(args, "a") + super::int(args, "b")))
        })
        .context(json!({"x": 1, "y": 2}))
        .model(model())
        .await;
    assert_eq!(outcome(&added), "3");
}

/// Prompt generation: task, field lines, example; lists by sections.
#[tokio::test]
async fn the_prompt_holds_task_fields_and_example() {
    let agent = json_agent("Categorize: {{#items}}{{name}}, {{/items}}", "(items [{name :string}]) -> {label :string}")
        .describe("label", "The best category");
    let (model, requests) = scripted([r#"{"label":"goods"}"#]);
    let step = run(agent).context(json!({"items": [{"name": "Widget"}, {"name": "Gadget"}]})).model(model).await;
    assert_eq!(outcome(&step), r#"{"label":"goods"}"#);
    let text = last(&requests.lock().unwrap()[0]);
    assert!(text.contains("Categorize: Widget, Gadget, "), "{text}");
    assert!(text.contains("label (string)") && text.contains("The best category"), "{text}");
    assert!(text.contains(r#"{"label":"..."}"#) || text.contains(r#"{"label": "..."}"#), "{text}");
}

/// Error feedback: the problem, the reply as data, the format again.
#[tokio::test]
async fn a_wrong_field_is_reported_and_corrected() {
    let (model, requests) = scripted([r#"{"feeling": "positive"}"#, r#"{"sentiment": "positive"}"#]);
    let step = run(json_agent("Classify", "{sentiment :string}").max_turns(3)).model(model).await;
    assert_eq!((outcome(&step).as_str(), step.turns.len()), (r#"{"sentiment":"positive"}"#, 2));
    let feedback = last(&requests.lock().unwrap()[1]);
    assert!(feedback.contains("sentiment") && feedback.contains(r#"{"feeling": "positive"}"#), "{feedback}");
}

/// Quirks of models: text after, fences around, words before.
#[tokio::test]
async fn common_quirks_are_understood() {
    let replies = [
        "{\"a\": 1} Let me know if that helps",
        "```json\n{\"a\": 1}\n```",
        "```\n{\"a\": 1}\n```",
        "Here's the result:\n{\"a\": 1}",
    ];
    for reply in replies {
        let step = run(json_agent("Go", "{a :int}").max_turns(1)).model(script([reply])).await;
        assert_eq!(outcome(&step), r#"{"a":1}"#, "{reply}");
    }
}

/// Agents that the mode refuses when they are built.
#[test]
fn json_mode_refuses_tools_missing_signatures_hidden_fields_and_short_histories() {
    let agent = || json_agent("Go", "{a :int}");
    let tools = agent().tool_fn("t", "() -> :int", "Does", |_| Ok(value("1")));
    assert!(refusal(tools).contains("tools"));
    assert!(refusal(Agent::builder().mode(Mode::Json).prompt("Go")).contains("signature"));
    assert!(refusal(json_agent("Go", "{_id :int}")).contains("_id"));
    let compressed = agent().set("compression", ptc_core::value::json::Node::Bool(true).into());
    assert!(refusal(compressed).contains("compression"));
}

/// Piping: JSON to a program with tools, to JSON, and back from a program.
#[tokio::test]
async fn steps_travel_between_json_and_programs() {
    let classify =
        json_agent("Classify the sentiment of: {{text}}", "(text :string) -> {sentiment :string, score :float}");
    let act = Agent::builder()
        .mode(Mode::PtcLisp)
        .prompt("Take action based on sentiment analysis")
        .signature("(sentiment :string, score :float) -> {action :string, reason :string}")
        .tool_fn("send_alert", "() -> :string", "Alerts", |_| Ok("alerted".into()))
        .tool_fn("log_feedback", "() -> :string", "Logs", |_| Ok("logged".into()));
    let first = run(classify)
        .context(json!({"text": "I love this product!"}))
        .model(script([r#"{"sentiment": "positive", "score": 0.95}"#]))
        .await;
    let second = run(act)
        .context(&first)
        .model(script([p("(return {:action (tool/log_feedback) :reason data/sentiment})")]))
        .await;
    assert_eq!(outcome(&second), r#"{"action":"logged","reason":"positive"}"#);

    let extract = json_agent(
        "Extract product mentions from: {{review}}",
        "(review :string) -> {products [:string], main_topic :string}",
    );
    let judge = json_agent(
        "Classify sentiment for {{main_topic}}",
        "(products [:string], main_topic :string) -> {sentiment :string}",
    );
    let first = run(extract)
        .context(json!({"review": "The lamp and the chair are fine."}))
        .model(script([r#"{"products":["lamp","chair"],"main_topic":"furniture"}"#]))
        .await;
    let (model, requests) = scripted([r#"{"sentiment":"positive"}"#]);
    let second = first.then(judge).model(model).await;
    assert_eq!(outcome(&second), r#"{"sentiment":"positive"}"#);
    let text = last(&requests.lock().unwrap()[0]);
    assert!(
        text.contains("furniture") && text.contains(r#"["lamp","chair"]"#),
        "what the prompt leaves out is shown: {text}"
    );

    let gather = Agent::builder()
        .mode(Mode::PtcLisp)
        .prompt("Gather data about {{topic}}")
        .signature("(topic :string) -> {data [:map], sources [:string]}")
        .tool_fn("search", "(query :string) -> [:map]", "Searches", |_| Ok(value(r#"[{"title":"Result"}]"#)));
    let sum_up = json_agent(
        "Summarize the gathered data",
        "(data [:map], sources [:string]) -> {summary :string, key_points [:string]}",
    );
    let first = run(gather)
        .context(json!({"topic": "climate"}))
        .model(script([p("(return {:data (tool/search {:query data/topic}) :sources [\"a\"]})")]))
        .await;
    let second = first.then(sum_up).model(script([r#"{"summary":"One.","key_points":["x"]}"#])).await;
    assert_eq!(outcome(&second), r#"{"summary":"One.","key_points":["x"]}"#);
}

/// Descriptions of output fields reach the next agent's prompt, in every mode.
#[tokio::test]
async fn descriptions_of_fields_travel() {
    let analyse = json_agent("Analyze: {{text}}", "(text :string) -> {sentiment :string, confidence :float}")
        .describe("sentiment", "One of: positive, negative, neutral")
        .describe("confidence", "Confidence between 0 and 1");
    let first = run(analyse)
        .context(json!({"text": "Great!"}))
        .model(script([r#"{"sentiment":"positive","confidence":0.9}"#]))
        .await;
    for (mode, reply) in [
        (Mode::PtcLisp, p("(return {:action \"keep\"})")),
        (Mode::Json, r#"{"action":"keep"}"#.into()),
        (Mode::JsonLoop, r#"{"thought":"t","final_answer":{"action":"keep"}}"#.into()),
    ] {
        let decide = Agent::builder()
            .mode(mode)
            .prompt("Decide on an action")
            .signature("(sentiment :string, confidence :float) -> {action :string}");
        let (model, requests) = scripted([reply]);
        let second = first.then(decide).model(model).await;
        assert_eq!(outcome(&second), r#"{"action":"keep"}"#, "{mode}");
        let request = requests.lock().unwrap()[0].clone();
        let all = format!("{}{}", request.system.clone().unwrap_or_default(), last(&request));
        assert!(all.contains("One of: positive, negative, neutral"), "{mode}: {all}");
    }
}
