//! One scenario for each reason of the agent contract that a run can end or a turn can fail with.

use ptc_workbench::agent::{Agent, Step};
use ptc_workbench::event::{ModelRecord, Price, Tokens};
use ptc_workbench::library::run;
use ptc_workbench::model::{Call, ClosureModel, ErrorClass, Finish, Model, ModelError, Reply, Request, script};
use ptc_workbench::port::Stop;

use super::{outcome, p};

const SIGNED: &str = "mode = 'ptc_lisp'\nsignature = '{r :int}'\n";
const TOOL: &str = "[tools.t]\nkind = 'table'\ndefault = 1\nsignature = '() -> :int'\ndescription = 'Gives one'\n";
const CHILD: &str = "[tools.below]\nkind = 'agent'\ndescription = 'Below'\n\
                     [tools.below.agent]\nmode = 'text'\nprompt = 'Go'\n";

fn agent(toml: &str) -> Agent {
    Agent::from_toml(&format!("prompt = 'Go'\n{toml}"), "test.toml").unwrap_or_else(|error| panic!("{toml}: {error}"))
}

async fn ran<R: Into<Reply> + Clone>(toml: &str, replies: &[R]) -> Step {
    let replies: Vec<Reply> = replies.iter().cloned().map(Into::into).collect();
    run(agent(toml)).model(script(replies)).await
}

/// Programs: how runs in `ptc_lisp` end.
#[tokio::test]
async fn programs_end_for_their_reasons() {
    let two = Reply::from(format!("{}\n{}", p("1").text, p("2").text));
    let rows: [(&str, String, Reply); 11] = [
        ("failed", format!("{SIGNED}max_turns = 3"), p("(fail \"no\")")),
        ("no_code_found", format!("{SIGNED}max_turns = 1"), "prose".into()),
        ("multiple_code_blocks", format!("{SIGNED}max_turns = 1"), two),
        ("return_validation_failed", format!("{SIGNED}max_turns = 1"), p("{:r \"z\"}")),
        ("max_turns_exceeded", format!("{SIGNED}max_turns = 2"), p("nil")),
        ("budget_exhausted", format!("{SIGNED}max_turns = 1\nretry_turns = 1"), p("(return {:r \"z\"})")),
        ("must_return_missing", format!("{SIGNED}max_turns = 2\ncompletion = 'explicit'"), p("{:r 7}")),
        ("turn_budget_exhausted", format!("{SIGNED}max_turns = 3\nturn_budget = 1"), p("{:r 7}")),
        (
            "memory_limit_exceeded",
            format!("{SIGNED}max_turns = 3\nmemory_bytes = 100"),
            p("(def big (vec (range 1000))) 1"),
        ),
        ("missing_refs", "mode = 'ptc_lisp'\nmax_turns = 5\n[refs]\nid = 'id'\n".to_owned(), p("(return {:x 1})")),
        ("unknown_tool", format!("{SIGNED}max_turns = 1"), p("(tool/nothing {})")),
    ];
    for (reason, toml, reply) in &rows {
        let step = ran(toml, std::slice::from_ref(reply)).await;
        assert_eq!(outcome(&step), *reason, "{toml}: {:?}", step.fail);
    }
}

/// Data modes.
#[tokio::test]
async fn answers_fail_for_their_reasons() {
    let json = "mode = 'json'\nmax_turns = 1\nsignature = '{n :int}'";
    let looping = "mode = 'json_loop'\nmax_turns = 9\nmax_protocol_failures = 2\n";
    let call = r#"{"thought":"t","tool_call":{"name":"t","arguments":{}}}"#;
    let with_tool = format!("{looping}{TOOL}");
    let empty = format!("mode = 'text'\nmax_turns = 1\n{TOOL}");
    let ask = r#"{"thought":"t","awaiting_user_input":{"kind":"text","prompt":"Which?"}}"#;
    let rows: [(&str, &str, &str); 6] = [
        ("validation_error", json, r#"{"n":"x"}"#),
        ("json_parse_error", json, "nope"),
        ("empty_response", &empty, ""),
        ("protocol_error", looping, "nope"),
        ("loop_detected", &with_tool, call),
        ("suspended", looping, ask),
    ];
    for (reason, toml, reply) in rows {
        let step = ran(toml, &[reply]).await;
        assert_eq!(outcome(&step), reason, "{toml}: {:?}", step.fail);
    }
}

/// Replies that are no answers whatever they hold.
#[tokio::test]
async fn replies_that_were_cut_or_withheld() {
    let rows = [
        ("reply_truncated", Finish::Length),
        ("content_filtered", Finish::ContentFilter),
        ("refused", Finish::Refusal),
    ];
    for (reason, finish) in rows {
        let reply = Reply { finish: Some(finish), ..Reply::from("text") };
        assert_eq!(outcome(&ran("mode = 'text'", &[reply]).await), reason);
    }
}

/// Native transport: what is wrong with a turn.
#[tokio::test]
async fn native_calls_that_cannot_be_made_fail_their_turn() {
    let toml = "mode = 'ptc_lisp'\ntransport = 'tool_call'\nmax_turns = 2";
    let program = r#"{"program":"(return 1)"}"#;
    let rows = [
        ("multiple_tool_calls", Reply::calling([("lisp_eval", program), ("lisp_eval", program)])),
        ("unknown_tool", Reply::calling([("search", "{}")])),
        ("args_error", Reply::calling([("lisp_eval", "no JSON")])),
    ];
    for (reason, reply) in rows {
        let step = ran(toml, &[reply, Reply::calling([("lisp_eval", program)])]).await;
        assert_eq!((step.turns[0].reason.as_deref(), outcome(&step).as_str()), (Some(reason), "1"));
    }
}

/// Depth is told to the caller of the agent that would be too deep.
#[tokio::test]
async fn an_agent_too_deep_fails_its_call() {
    let step = ran(&format!("mode = 'ptc_lisp'\nmax_turns = 1\nmax_depth = 1\n{CHILD}"), &[p("(tool/below {})")]).await;
    let record = step.calls[0].error.clone().unwrap();
    assert_eq!(record.reason, "max_depth_exceeded");
    assert_eq!(step.turns[0].reason.as_deref(), Some("tool_error"));
}

/// A model with a price.
struct Priced(ClosureModel);

impl Model for Priced {
    fn info(&self) -> ModelRecord {
        ModelRecord { price: Some(Price { input: 1.0, output: 1.0, ..Price::default() }), ..self.0.info() }
    }

    fn answer<'a>(
        &'a self,
        request: &'a Request,
        call: &'a Call,
    ) -> futures::future::BoxFuture<'a, Result<Reply, ModelError>> {
        self.0.answer(request, call)
    }
}

/// Tokens, costs, time.
#[tokio::test]
async fn budgets_end_runs() {
    let counted =
        || Reply { usage: Some(Tokens { input: 1_000_000, output: 1_000_000, ..Tokens::default() }), ..p("{:r 1}") };
    let tokens = ran(&format!("{SIGNED}max_turns = 3\ntoken_limit = 5"), &[counted()]).await;
    assert_eq!(outcome(&tokens), "budget_callback_exceeded");
    let dear = agent(&format!("{SIGNED}max_turns = 3\ncost_limit = 0.5"));
    assert_eq!(outcome(&run(dear).model(Priced(script([counted()]))).await), "cost_exceeded");
    let partial = format!("{SIGNED}max_turns = 3\ntoken_limit = 5\non_budget_exceeded = 'return_partial'");
    assert_eq!(outcome(&ran(&partial, &[p("{:r 1}"), counted()]).await), r#"{"r":1}"#);
    let slow = ClosureModel::new(|_: &Request| {
        std::thread::sleep(std::time::Duration::from_millis(30));
        p("{:r 1}")
    });
    let timed = agent(&format!("{SIGNED}max_turns = 3\nmission_timeout_ms = 10"));
    assert_eq!(outcome(&run(timed).model(slow).await), "mission_timeout");
}

/// Models: failing, missing, unknown, without a list.
#[tokio::test]
async fn models_that_cannot_answer() {
    let failing = ClosureModel::new(|_: &Request| Err::<Reply, _>(ModelError::new(ErrorClass::Server, "503")));
    assert_eq!(outcome(&run("Go").model(failing).await), "llm_error");
    assert_eq!(outcome(&run("Go").await), "llm_required");
    assert_eq!(outcome(&run("Go").model_named("x").await), "llm_registry_required");
    let list = ptc_workbench::engine::ModelList::default().with("y", script(["a"]));
    assert_eq!(outcome(&run("Go").model_named("x").models(list).await), "llm_not_found");
    let stop = Stop::default();
    stop.by_person();
    assert_eq!(outcome(&run("Go").stop(stop).model(script(["a"])).await), "cancelled");
}

/// Definitions and data that cannot be run.
#[tokio::test]
async fn definitions_and_data_that_cannot_be_run() {
    for (reason, toml) in [
        ("invalid_agent", "mode = 'json'"),
        ("signature_error", "mode = 'text'\nsignature = '(a'"),
        ("template_error", "mode = 'text'\nsignature = '(a :int) -> :string'"),
        ("invalid_context", "mode = 'ptc_lisp'\nsignature = '(a :int) -> :int'"),
    ] {
        assert_eq!(outcome(&ran(toml, &["x"]).await), reason, "{toml}");
    }
    let unfilled = Agent { prompt: "Go {{x}}".to_owned(), ..agent("mode = 'ptc_lisp'") };
    assert_eq!(outcome(&run(unfilled).model(script([p("1")])).await), "template_error");
}

/// Chains.
#[tokio::test]
async fn chains_that_break() {
    let good = ran("mode = 'text'", &["x"]).await;
    let needs = || agent("mode = 'json'\nsignature = '(a :int, b :int) -> {n :int}'");
    assert_eq!(outcome(&good.then(needs()).model(script(["x"])).await), "chain_error");
    let bad = ran("mode = 'text'\nsignature = ':int'\nmax_turns = 1", &["x"]).await;
    assert_eq!(outcome(&bad.then(needs()).model(script(["x"])).await), "chained_failure");
}
