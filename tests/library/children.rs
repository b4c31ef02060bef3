//! Child agents: panics, levels, delegated tasks, refs outside of runs, and the trace of a task.

use ptc_workbench::agent::{Agent, Plan, Step};
use ptc_workbench::model::{ClosureModel, Reply, Request, script};
use ptc_workbench::{RefExtractor, run};

use super::{last, outcome, p, scripted, value};

fn agent(toml: &str) -> Agent {
    Agent::from_toml(toml, "test.toml").unwrap_or_else(|error| panic!("{error}"))
}

async fn ran(toml: &str, replies: impl IntoIterator<Item = Reply>) -> Step {
    let (model, _) = scripted(replies);
    run(agent(toml)).model(model).await
}

/// A model or a tool that panics has failed: the run ends with its Step.
#[tokio::test]
async fn a_panic_of_a_model_or_a_tool_is_a_failure() {
    let model = ClosureModel::new(|_: &Request| -> Reply { panic!("no weights") });
    let step = run(agent("mode = 'text'\nprompt = 'Go'\n")).model(model).await;
    assert_eq!(outcome(&step), "llm_error");
    assert!(step.fail.unwrap().message.contains("the model panicked: no weights"));
    let tool = ptc_workbench::Agent::builder().mode(ptc_workbench::Mode::PtcLisp).prompt("Go").tool_fn(
        "break",
        "() -> :int",
        "Breaks",
        |_| panic!("a bug"),
    );
    let step = run(tool).model(script([p("(tool/break)"), p("(return 1)")])).await;
    assert_eq!(outcome(&step), "1");
    assert!(step.calls[0].error.as_ref().unwrap().message.contains("the tool panicked"));
}

/// The root decides how deep agents nest; a child may only allow less.
#[tokio::test]
async fn the_levels_of_the_root_reach_its_children() {
    let agent = "mode = 'ptc_lisp'\nprompt = 'Go'\nmax_turns = 2\n";
    let nested = |limit: &str| {
        let table = |path: &str| format!("[{path}]\nkind = 'agent'\ndescription = 'd'\n[{path}.agent]\n{agent}");
        let (a, b) = ("tools.a", "tools.a.agent.tools.b");
        let c = format!("{b}.agent.tools.c");
        format!("{agent}max_depth = 5\n{}{limit}{}{}", table(a), table(b), table(&c))
    };
    let replies = || ["(return (tool/a))", "(return (tool/b))", "(return (tool/c))", "(return 7)"].map(p);
    let step = ran(&nested(""), replies()).await;
    assert_eq!(outcome(&step), "7", "{:?}", step.fail);
    let step = ran(&nested("max_depth = 2\n"), replies()).await;
    let refused = step.calls[0].error.as_ref();
    assert!(refused.is_some(), "a child that allows less has less: {:?}", step.calls[0]);
}

const DELEGATE: &str = "mode = 'ptc_lisp'\nprompt = 'Go'\n[tools.find]\nkind = 'agent'\nreturns = 'delegate'\ndescription = 'Finds'\n\
                        [tools.find.agent]\nmode = 'text'\nprompt = 'Find {{task}}'\n";

/// A delegated task fills the only open parameter of the agent; what it cannot fill is refused when the agent is built.
#[tokio::test]
async fn a_delegated_task_fits_the_parameters_or_is_refused() {
    let toml = format!("{DELEGATE}signature = '(task :string) -> :string'\n");
    let (model, requests) = scripted([p("(return (:result (tool/find {:task \"tea\"})))"), "green".into()]);
    let step = run(agent(&toml)).model(model).await;
    assert_eq!(outcome(&step), r#""green""#, "{:?}", step.fail);
    assert!(last(&requests.lock().unwrap()[1]).contains("Find tea"));
    for signature in ["(task :string, day :int) -> :string", "(task :int) -> :string"] {
        let prompt = DELEGATE.replace("{{task}}", "{{task}} {{day}}");
        let toml = if signature.contains("day") { prompt } else { DELEGATE.to_owned() };
        let findings = Plan::new(&agent(&format!("{toml}signature = '{signature}'\n"))).unwrap_err();
        assert!(findings[0].message.contains("passes one text, the task"), "{signature}: {}", findings[0].message);
    }
}

#[test]
fn refs_are_taken_and_checked_without_a_run() {
    let refs = RefExtractor::new().path("id", "items[0].id").unwrap();
    let refs =
        refs.expression("count", "(count (get result \"items\"))").unwrap().path("note", "note").unwrap().optional();
    let result = ptc_workbench::Json::from(&value(r#"{"items":[{"id":7}]}"#));
    let found = refs.extract(&result);
    assert_eq!(found.to_text(), r#"{"id":7,"count":1,"note":null}"#);
    assert_eq!(refs.validate(&found), Ok(()));
    let found = refs.extract(&ptc_workbench::Json::from(&value(r#"{"items":[]}"#)));
    assert_eq!(refs.validate(&found), Err(vec!["id".to_owned()]));
    assert!(RefExtractor::new().path("x", "a[").is_err() && RefExtractor::new().expression("x", "(tool/a)").is_err());
}

/// The trace holds values as data, and the answer also where its refs were missing.
#[tokio::test]
async fn the_trace_is_structured_and_whole() {
    let toml =
        "mode = 'ptc_lisp'\nprompt = 'Go'\ncompletion = 'answer_without_code'\nmax_turns = 3\nmax_ref_retries = 0\n";
    let step = ran(toml, [p("(mapv (fn [n] {:n n}) (range 1200))"), "Counted.".into()]).await;
    let trace = step.delegated().unwrap().trace;
    let rows = trace[0].result.as_ref().and_then(|result| result.items()).expect("a list");
    assert_eq!((rows.len(), rows[1199].to_text().as_str()), (1200, r#"{"n":1199}"#));
    assert_eq!(trace[1].answer.as_deref(), Some("Counted."));
    let step = ran(&format!("{toml}[refs]\nid = 'id'\n"), [p("{:a 1}"), "Done.".into()]).await;
    assert_eq!(outcome(&step), "missing_refs");
    let failed = step.delegated().unwrap_err();
    assert_eq!((failed.reason.as_str(), failed.trace[1].answer.as_deref()), ("missing_refs", Some("Done.")));
    let step = ran(
        "mode = 'ptc_lisp'\nprompt = 'Go'\nmax_turns = 1\nretry_turns = 1\nmax_ref_retries = 3\n[refs]\nid = 'id'\n",
        [p("(return {:a 1})")],
    )
    .await;
    assert_eq!(outcome(&step), "missing_refs", "{:?}", step.fail);
}

#[tokio::test]
async fn a_step_names_mode_model_and_initial_definitions() {
    let step = ran(
        "mode = 'ptc_lisp'\nprompt = 'Go'\nmax_turns = 2\n[memory]\nlimit = '10'\n",
        [p("(def a 1) (return limit)")],
    )
    .await;
    assert_eq!((step.mode.as_str(), step.models.is_empty()), ("ptc_lisp", false));
    let memory: Vec<_> = step.memory.iter().map(|(name, value)| format!("{name}={value}")).collect();
    assert_eq!(memory, ["a=1", "limit=10"]);
}
