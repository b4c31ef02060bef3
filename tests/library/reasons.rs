//! One scenario for each reason with which a run can end or a turn can fail.

use ptc_workbench::agent::{Agent, Step};
use ptc_workbench::event::{ModelRecord, Price, Tokens};
use ptc_workbench::model::{Call, ClosureModel, ErrorClass, Finish, Model, ModelError, Reply, Request, script};
use ptc_workbench::port::Stop;
use ptc_workbench::run;

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

/// The reasons of agents. Those of programs have their scenarios in the suite of the language. Side effects that cannot be undone,
/// preludes and models of the wrong kind, which types exclude, do not exist here and have no reason.
const CONTRACT: [&str; 42] = [
    "failed",
    "no_code_found",
    "multiple_code_blocks",
    "return_validation_failed",
    "validation_error",
    "json_parse_error",
    "empty_response",
    "max_turns_exceeded",
    "budget_exhausted",
    "must_return_missing",
    "turn_budget_exhausted",
    "max_depth_exceeded",
    "mission_timeout",
    "budget_callback_exceeded",
    "cost_exceeded",
    "memory_limit_exceeded",
    "llm_error",
    "llm_required",
    "llm_not_found",
    "llm_registry_required",
    "chain_error",
    "chained_failure",
    "template_error",
    "signature_error",
    "invalid_agent",
    "invalid_context",
    "unknown_tool",
    "multiple_tool_calls",
    "mixed_with_lisp_eval",
    "args_error",
    "invalid_tool_args",
    "tool_error",
    "tool_call_limit_exceeded",
    "missing_refs",
    "protocol_error",
    "loop_detected",
    "cancelled",
    "suspended",
    "reply_truncated",
    "content_filtered",
    "refused",
    "recorder_failed",
];

/// Each is a reason of ours, and a test of this file ends a run, a turn or a call with it.
#[test]
fn each_reason_of_the_contract_has_a_scenario() {
    let (_, tests) = include_str!("reasons.rs").split_once("/// Each is a reason of ours").unwrap();
    let missing: Vec<_> = CONTRACT
        .iter()
        .filter(|name| ptc_core::reasons::Reason::from_name(name).is_none() || !tests.contains(&format!("\"{name}\"")))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}

/// Calls of tools: what is wrong with them is in their record.
#[tokio::test]
async fn calls_fail_for_their_reasons() {
    let typed =
        "[tools.t]\nkind = 'table'\nrows = [{ args = { n = 1 }, result = 1 }]\nsignature = '(n :int) -> :int'\n";
    let rows = [
        ("invalid_tool_args", "(tool/t {:n \"x\"})"),
        ("tool_error", "(tool/t {:n 2})"),
        ("tool_call_limit_exceeded", "[(tool/t {:n 1}) (tool/t {:n 1})]"),
    ];
    for (reason, program) in rows {
        let toml = format!("mode = 'ptc_lisp'\nmax_turns = 1\nmax_tool_calls = 1\n{typed}");
        let step = ran(&toml, &[p(program)]).await;
        assert_eq!(step.turns[0].reason.as_deref(), Some(reason), "{:?}", step.fail);
        assert_eq!(step.calls.last().unwrap().error.as_ref().unwrap().reason, reason);
    }
}

/// A sink that takes so many events and no more.
struct Full(std::sync::atomic::AtomicU32, ptc_workbench::port::UnsavedSink);

impl ptc_workbench::port::Sink for Full {
    fn emit(
        &self,
        address: ptc_workbench::event::Address,
        event: ptc_workbench::event::Event,
    ) -> futures::future::BoxFuture<'_, Result<ptc_workbench::event::Envelope, ptc_workbench::port::SinkError>> {
        if self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed) < 6 {
            return self.1.emit(address, event);
        }
        Box::pin(async { Err(ptc_workbench::port::SinkError::Storage("the disk is full".to_owned())) })
    }
}

/// The record cannot be written.
#[tokio::test]
async fn a_record_that_cannot_be_written_ends_the_run() {
    let full = Full(0.into(), ptc_workbench::port::UnsavedSink::default());
    let step = run(agent("mode = 'text'")).model(script(["x"])).record(full).await;
    assert_eq!(outcome(&step), "recorder_failed");
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
    // A final answer in words that does not fit.
    let signed = format!("{toml}\nsignature = '{{n :int}}'");
    let step = ran(&signed, &[Reply::from(r#"{"n":"x"}"#), Reply::from(r#"{"n":1}"#)]).await;
    assert_eq!((step.turns[0].reason.as_deref(), outcome(&step).as_str()), (Some("validation_error"), r#"{"n":1}"#));
    // Next to native tools a program comes alone; the call that does not is answered with the reason.
    let combined = format!("mode = 'text'\ntransport = 'tool_call'\nmax_turns = 2\n{TOOL}");
    let mixed = Reply::calling([("lisp_eval", program), ("t", "{}")]);
    let step = ran(&combined, &[mixed, "done".into()]).await;
    let shown = step.messages.iter().find(|message| message.role == ptc_workbench::event::Role::Tool).unwrap().text();
    assert!(shown.contains(r#""reason":"mixed_with_lisp_eval""#), "{shown}");
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

/// Depth is reported to the caller of the agent that would be too deep.
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
    let cheap = Reply { usage: Some(Tokens { input: 1, output: 1, ..Tokens::default() }), ..p("{:r 1}") };
    assert_eq!(outcome(&ran(&partial, &[cheap, counted()]).await), r#"{"r":1}"#);
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
    stop.by_user();
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
