//! Examples of delegated tasks: delegate, refs, agents as tools, the loop.

use std::sync::{Arc, Mutex};

use ptc_core::value::Value;
use ptc_workbench::agent::{Agent, AgentBuilder};
use ptc_workbench::event::{JsonText, ToolSchema};
use ptc_workbench::model::{ClosureModel, ErrorClass, ModelError, Reply, Request, ToolChoice, script};
use ptc_workbench::{CompletionRequest, complete, run, task};
use serde_json::json;

use super::{kept, last, p, scripted, value};
use crate::engine::replays;

const CUSTOMERS: &str = r#"[{"id":123,"name":"Acme"},{"id":124,"name":"Bolt"}]"#;

fn with_customers(agent: AgentBuilder) -> AgentBuilder {
    agent.tool_fn("get_customers", "() -> [:map]", "All customers", |_| Ok(value(CUSTOMERS)))
}

/// The opening example: a program, then words; the words are the summary, the program's value is the result.
#[tokio::test]
async fn a_task_is_delegated() {
    let agent = with_customers(task("Find the top customer"));
    let model = script([p("(first (call \"get_customers\" {}))"), "Top customer is Acme".into()]);
    let done = run(agent).model(model).delegate().await.unwrap();
    assert_eq!(done.result.to_text(), r#"{"id":123,"name":"Acme"}"#);
    assert_eq!(done.summary.as_deref(), Some("Top customer is Acme"));
    assert_eq!(done.refs.to_text(), "{}");
    assert_eq!((done.trace.len(), done.usage.requests, done.usage.total_tokens), (2, 2, 0));
    assert_eq!(done.trace[0].program.as_deref(), Some("(first (call \"get_customers\" {}))"));
    assert_eq!(done.trace[0].tool_calls[0].name, "get_customers");
    assert_eq!(done.trace[1].answer.as_deref(), Some("Top customer is Acme"));
    let view = done.to_json();
    let keys: Vec<&str> = view.members().unwrap().iter().map(|member| member.key.as_str()).collect();
    assert_eq!(keys, ["result", "summary", "refs", "trace", "usage"]);
}

/// Refs by path and by expression, passed on to the next task.
#[tokio::test]
async fn refs_are_passed_to_the_next_task() {
    let agent = task("Find urgent emails")
        .tool_fn("list_emails", "() -> [:map]", "All emails", |_| Ok(value(r#"[{"id":1},{"id":2}]"#)))
        .ref_path("email_ids", "[*].id")
        .ref_expr("count", "(count result)");
    let model = script([p("(call \"list_emails\" {})"), "Two emails.".into()]);
    let first = run(agent).model(model).delegate().await.unwrap();
    assert_eq!(first.refs.to_text(), r#"{"email_ids":[1,2],"count":2}"#);
    let context = json!({"email_ids": [1, 2]});
    assert_eq!(first.refs.get("email_ids").unwrap().to_text(), context["email_ids"].to_string());
    let model = script([p("(count ctx/email_ids)"), "Drafted.".into()]);
    let second = run(task("Draft replies")).context(context).model(model).delegate().await.unwrap();
    assert_eq!(second.result.to_text(), "2");
}

/// Required refs that are missing are asked for once more; then the task fails.
#[tokio::test]
async fn missing_refs_are_asked_for_again() {
    let agent = || task("Find a customer").ref_path("customer_id", "id");
    let (model, requests) = scripted([p("{:x 1}"), "Done.".into(), p("{:id 4}"), "Done.".into()]);
    let done = run(agent()).model(model).delegate().await.unwrap();
    assert_eq!(done.refs.to_text(), r#"{"customer_id":4}"#);
    assert!(last(&requests.lock().unwrap()[2]).contains("customer_id"));
    let failed = run(agent()).model(script([p("{:x 1}"), "Done.".into()])).delegate().await.unwrap_err();
    assert_eq!(failed.reason, "missing_refs");
}

/// Exhausted turns fail a delegated task with `max_turns_reached`, a failing model with `llm_error`.
#[tokio::test]
async fn failures_keep_the_names_of_the_document() {
    let failed = run(task("Go on").max_turns(2)).model(script([p("1")])).delegate().await.unwrap_err();
    assert_eq!((failed.reason.as_str(), failed.trace.len(), failed.usage.requests), ("max_turns_reached", 2, 2));
    let broken = ClosureModel::new(|_: &Request| Err::<Reply, _>(ModelError::new(ErrorClass::Server, "overloaded")));
    let failed = run(task("Go on")).model(broken).delegate().await.unwrap_err();
    assert_eq!(failed.reason, "llm_error");
    assert!(failed.to_json().get("message").unwrap().as_str().unwrap().contains("overloaded"));
}

/// A broken program goes back to the model.
#[tokio::test]
async fn an_error_goes_back_and_the_next_program_recovers() {
    let (model, requests) = scripted([p("(call \"nothing\" {})"), p("(+ 1 2)"), "Three.".into()]);
    let done = run(task("Add")).model(model).delegate().await.unwrap();
    assert_eq!(done.result.to_text(), "3");
    assert!(done.trace[0].error.as_ref().unwrap().contains("nothing"), "{:?}", done.trace[0]);
    assert!(last(&requests.lock().unwrap()[1]).contains("unknown_tool"));
}

/// Programs of a delegated task read the last result as `ctx/last-result`, and memory as `memory/NAME` or by `memory/get`.
#[tokio::test]
async fn context_last_result_and_memory_by_their_old_names() {
    let model = script([
        p("(memory/put :seen ctx/items)"),
        p("(count ctx/last-result)"),
        p("[(memory/get :seen) memory/seen ctx/last-result]"),
        "Kept.".into(),
    ]);
    let done = run(task("Keep")).context(json!({"items": [1, 2]})).model(model).delegate().await.unwrap();
    assert_eq!(done.result.to_text(), "[[1,2],[1,2],2]");
}

/// The old name gives the whole of a large result, its modern one the start.
#[tokio::test]
async fn the_last_result_is_whole_under_its_old_name() {
    let model = script([p("(vec (range 5000))"), p("[(count ctx/last-result) (< (count *1) 1000)]"), "Done.".into()]);
    let (whole, events) = kept(run(task("Keep")).model(model));
    assert_eq!(whole.delegate().await.unwrap().result.to_text(), "[5000,true]");
    let events = events.lock().unwrap().clone();
    replays(&events).await;
    // An input of that name is the input's.
    let model = script([p("1"), p("(return ctx/last-result)")]);
    let own = run(task("Keep")).context(json!({"last-result": "mine"})).model(model).await;
    assert_eq!(super::outcome(&own), r#""mine""#);
}

/// A worker as a tool: called with a task, it answers result, summary, refs and trace.
#[tokio::test]
async fn an_agent_is_a_tool_of_another() {
    let finder =
        with_customers(task("You find customers.").description("Finds customers")).ref_path("customer_id", "[0].id");
    let orders = task("You find orders.").description("Finds orders");
    let parent = task("Find top customer and their orders")
        .tool_agent("customer-finder", finder)
        .delegated()
        .tool_agent("order-lookup", orders)
        .delegated();
    let (model, requests) = scripted([
        p("(def found (call \"customer-finder\" {:task \"Find top customer by revenue\"}))
           [(get-in found [\"refs\" \"customer_id\"]) (get found \"summary\") (count (get found \"trace\"))]"),
        p("(call \"get_customers\" {})"),
        "Acme leads.".into(),
        "It is Acme.".into(),
    ]);
    let (run, events) = kept(run(parent).model(model));
    let step = run.await;
    let events = events.lock().unwrap().clone();
    replays(&events).await;
    assert_eq!(step.children.len(), 1, "{:?}", step.calls);
    let done = step.delegated().unwrap();
    assert_eq!(done.result.to_text(), r#"[123,"Acme leads.",2]"#);
    let child = requests.lock().unwrap()[1].clone();
    let mission = last(&child);
    assert!(mission.contains("You find customers.") && mission.contains("Find top customer by revenue"), "{mission}");
    assert_eq!(step.children[0].calls[0].name, "get_customers");
}

/// The same form in an agent file.
#[tokio::test]
async fn an_agent_file_may_declare_such_a_tool() {
    let toml = "mode = 'ptc_lisp'\nprompt = 'Go'\n[tools.finder]\nkind = 'agent'\nreturns = 'delegate'\n\
                description = 'Finds'\n[tools.finder.agent]\nmode = 'text'\nprompt = 'Answer in one word.'\n";
    let agent = Agent::from_toml(toml, "test.toml").unwrap();
    let (model, requests) =
        scripted([p("(return (dissoc (tool/finder {:task \"Which {{colour}}?\"}) \"trace\"))"), "Blue".into()]);
    let (run, events) = kept(run(agent.clone()).model(model));
    assert_eq!(run.await.answer.unwrap().to_text(), r#"{"refs":{},"result":"Blue","summary":null}"#);
    let events = events.lock().unwrap().clone();
    replays(&events).await;
    let requests = requests.lock().unwrap();
    assert!(last(&requests[1]).contains("Answer in one word.\n\nWhich {{colour}}?"), "a task is not a template");
    assert!(
        last(&requests[0]).contains("task") && last(&requests[0]).contains("result"),
        "the tool is listed with its signature"
    );
    let wrong = Agent::from_toml(&toml.replace("delegate", "delegat"), "test.toml").unwrap();
    let findings = AgentBuilder::from(wrong).plan().unwrap_err();
    assert!(findings[0].message.contains("did you mean `delegate`"), "{}", findings[0].message);
}

/// With `returns = "delegate"` a failed tool has the reason name of a delegated task.
#[tokio::test]
async fn a_tool_of_this_form_fails_with_the_names_of_its_source() {
    let child = "mode = 'ptc_lisp'\nprompt = 'Find it.'\nmax_turns = 2\n";
    let toml = format!(
        "mode = 'ptc_lisp'\nprompt = 'Go'\n[tools.finder]\nkind = 'agent'\ndescription = 'Finds'\n\
         FORM\n[tools.finder.agent]\n{child}"
    );
    for (form, reason) in [("returns = 'delegate'", "max_turns_reached"), ("", "max_turns_exceeded")] {
        let agent = Agent::from_toml(&toml.replace("FORM", form), "test.toml").unwrap();
        let asks = p("(tool/finder {:task \"x\"})");
        let (model, requests) = scripted([asks, p("(broken"), p("nil"), p("(return 1)")]);
        assert_eq!(run(agent).model(model).await.answer.unwrap().to_text(), "1");
        let seen = last(&requests.lock().unwrap()[3]);
        assert!(seen.contains(&format!("failed with {reason}")), "{seen}");
    }
}

/// The same agents with typed parameters: the reference's form.
#[tokio::test]
async fn an_agent_is_a_tool_with_its_own_parameters() {
    let shout =
        AgentBuilder::from("Shout {{word}}").signature("(word :string) -> {loud :string}").description("Shouts");
    let parent = task("Shout it").tool_agent("shout", shout);
    let model = script([p("(tool/shout {:word \"hi\"})"), r#"{"loud":"HI"}"#.into(), "Done.".into()]);
    assert_eq!(run(parent).model(model).delegate().await.unwrap().result.to_text(), r#"{"loud":"HI"}"#);
}

/// A plan made by a tool, then worked off.
#[tokio::test]
async fn a_plan_is_made_by_a_create_plan_tool() {
    let plan: Arc<Mutex<Vec<String>>> = Arc::default();
    let kept = Arc::clone(&plan);
    let planner = task("Plan how to find the top customer").tool_fn(
        "create_plan",
        "(steps [:string]) -> :int",
        "Keeps the steps of a plan",
        move |args| {
            let steps = args.lookup("steps").and_then(Value::as_list).into_iter().flatten();
            kept.lock().unwrap().extend(steps.filter_map(|step| step.as_str().map(str::to_owned)));
            Ok(Value::Int(i64::try_from(kept.lock().unwrap().len()).unwrap_or_default()))
        },
    );
    let model =
        script([p("(call \"create_plan\" {:steps [\"list customers\" \"take the first\"]})"), "Planned.".into()]);
    assert_eq!(run(planner).model(model).delegate().await.unwrap().result.to_text(), "2");
    let steps = plan.lock().unwrap().clone();
    assert_eq!(steps, ["list customers", "take the first"]);
    let mut found = value("null");
    for (step, program) in steps.iter().zip(["(call \"get_customers\" {})", "(first ctx/found)"]) {
        let context = json!({"found": serde_json::from_str::<serde_json::Value>(&ptc_core::value::Json::from(&found).to_text()).unwrap()});
        let model = script([p(program), "Done.".into()]);
        let done = run(with_customers(task(step.as_str()))).context(context).model(model).delegate().await.unwrap();
        found = done.result.to_value();
    }
    assert_eq!(found.lookup("name").unwrap().as_str(), Some("Acme"));
}

/// The smallest model: a closure that answers by the turn.
#[tokio::test]
async fn the_smallest_callback() {
    let model = ClosureModel::new(|request: &Request| if request.turn() == 1 { p("(+ 1 2)") } else { "Three.".into() });
    let done = run(task("Echo")).model(model).delegate().await.unwrap();
    assert_eq!((done.result.to_text().as_str(), done.summary.as_deref()), ("3", Some("Three.")));
}

/// A request without an agent can require a tool; only one that it has.
#[tokio::test]
async fn a_completion_can_require_a_tool_that_it_has() {
    let request = |name: &str| CompletionRequest {
        tools: vec![ToolSchema {
            name: "respond".into(),
            description: None,
            parameters: JsonText::of(&ptc_core::value::json::parse("{}").unwrap()),
            custom: None,
        }],
        tool_choice: Some(ToolChoice::Tool(name.into())),
        ..CompletionRequest::from("Answer")
    };
    let model = ClosureModel::new(|request: &Request| {
        assert_eq!(request.tool_choice, Some(ToolChoice::Tool("respond".into())));
        Reply::calling([("respond", "{}")])
    });
    assert_eq!(complete(&model, request("respond")).await.unwrap().calls.len(), 1);
    let error = complete(&model, request("other")).await.unwrap_err();
    assert_eq!(error.class, ErrorClass::Client);
    assert!(error.message.contains("tool_choice names `other`"), "{}", error.message);
}
