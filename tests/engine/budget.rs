//! Budgets: turns, mission time, tokens.

use super::*;
use ptc_workbench::event::{ModelRecord, Price, Tokens};
use ptc_workbench::model::{Call, ClosureModel, ErrorClass, ModelError, Reply};

#[tokio::test]
async fn a_turn_knows_what_is_left_of_every_budget() {
    let mut limited = agent("go", "{a :int}");
    limited.mission_timeout_ms = Some(1_000);
    limited.token_limit = Some(500);
    let ran = run(&limited, "{}", &recorded_script(&["no", r#"{"a":1}"#]).0).await;
    let left: Vec<_> = ran
        .events
        .iter()
        .filter_map(|envelope| match &envelope.event {
            Event::TurnStart(start) => {
                Some((start.remaining.turns, start.remaining.mission_ms, start.remaining.tokens))
            }
            _ => None,
        })
        .collect();
    let [first, (turns, mission_ms, Some(tokens))] = left[..] else { panic!("{left:?}") };
    assert_eq!((first, turns, mission_ms), ((3, Some(1_000), Some(500)), 2, Some(990)));
    assert!((400..500).contains(&tokens), "what the model does not count is estimated: {tokens} left");
}

#[tokio::test]
async fn a_run_whose_time_is_over_asks_no_more() {
    let mut limited = agent("go", "{a :int}");
    limited.mission_timeout_ms = Some(100);
    let (model, requests) = recorded_script(&["no"]);
    let ran = run_with(&limited, "{}", &model, &Ticks(100), Stop::default()).await;
    assert_eq!(ran.outcome(), "mission_timeout");
    assert_eq!(requests.lock().unwrap().len(), 1);
    assert_eq!(ran.step.usage.own.turns, 1);
}

#[tokio::test]
async fn tokens_add_up_and_end_the_run_when_they_are_too_many() {
    let tokens = Tokens { input: 30, output: 10, ..Tokens::default() };
    let model = ClosureModel::new(move |_: &Request| Reply { usage: Some(tokens), ..Reply::from("no") });
    let mut limited = agent("go", "{a :int}");
    limited.token_limit = Some(50);
    limited.max_turns = 5;
    let ran = run(&limited, "{}", &model).await;
    assert_eq!(ran.outcome(), "budget_callback_exceeded");
    assert_eq!(ran.step.usage.own.tokens, Some(Tokens { input: 60, output: 20, ..Tokens::default() }));
    assert_eq!(ran.step.usage.own.turns, 2);
}

#[tokio::test]
async fn a_limit_of_tokens_holds_for_models_that_count_none() {
    let mut limited = agent(&"go on ".repeat(100), "{a :int}");
    (limited.token_limit, limited.max_turns) = (Some(200), 5);
    let ran = run(&limited, "{}", &recorded_script(&["no"; 5]).0).await;
    super::replays(&ran.events).await;
    assert_eq!(ran.outcome(), "budget_callback_exceeded");
    assert!(ran.step.usage.own.turns < 3, "{:?}", ran.step.usage);
    assert_eq!(ran.step.usage.own.tokens, None, "an estimate is not a count");
    let message = ran.step.fail.unwrap().message;
    assert!(
        message.contains("tokens were used (an estimate: the model reports no token counts), token_limit is 200"),
        "{message}"
    );
}

#[tokio::test]
async fn a_limit_of_costs_without_a_price_is_reported() {
    let limited =
        Agent::from_toml("mode = 'json'\nprompt = 'go'\nsignature = '{a :int}'\ncost_limit = 0.1", "t.toml").unwrap();
    let ran = run(&limited, "{}", &recorded_script(&[r#"{"a":1}"#]).0).await;
    let shown =
        |envelope: &Envelope| matches!(&envelope.event, Event::Notice(notice) if notice.text.contains("cost_limit"));
    assert_eq!(ran.events.iter().filter(|envelope| shown(envelope)).count(), 1);
}

#[tokio::test]
async fn unknown_tokens_are_absent_not_zero() {
    let ran = run(&agent("go", "{a :int}"), "{}", &recorded_script(&[r#"{"a":1}"#]).0).await;
    assert_eq!(ran.step.usage.own.tokens, None);
    assert_eq!(ran.step.usage.own.cost(), None);
}

#[tokio::test]
async fn a_model_error_ends_the_run_with_its_words() {
    let model = ClosureModel::new(|_: &Request| -> Result<String, ModelError> {
        Err(ModelError::new(ErrorClass::Server, "503 from the service").hint("try later"))
    });
    let ran = run(&agent("go", "{a :int}"), "{}", &model).await;
    let fail = ran.step.fail.clone().unwrap();
    assert_eq!(
        (fail.reason.as_str(), fail.message.as_str(), fail.hint.as_deref()),
        ("llm_error", "503 from the service", Some("try later"))
    );
    assert_eq!(ran.turns(), ["llm_error"]);
}

#[tokio::test]
async fn token_counts_of_any_size_add_up_without_a_crash() {
    let tokens = Tokens { input: u64::MAX, output: u64::MAX, cache_read: Some(u64::MAX), ..Tokens::default() };
    let model =
        ClosureModel::new(move |_: &Request| Reply { usage: Some(tokens), requests: u32::MAX, ..Reply::from("no") });
    let ran = run(&agent("go", "{a :int}"), "{}", &model).await;
    assert_eq!(ran.turns(), ["json_parse_error"; 3]);
    assert_eq!(ran.step.usage.own.tokens.map(|sum| sum.total()), Some(u64::MAX));
    let mut limited = agent("go", "{a :int}");
    limited.token_limit = Some(50);
    assert_eq!(run(&limited, "{}", &model).await.outcome(), "budget_callback_exceeded");
}

/// A model with a price.
struct Priced<M>(M);

impl<M: Model> Model for Priced<M> {
    fn info(&self) -> ModelRecord {
        ModelRecord { price: Some(Price { input: 1.0, output: 1.0, ..Price::default() }), ..self.0.info() }
    }

    fn answer<'a>(&'a self, request: &'a Request, call: &'a Call) -> BoxFuture<'a, Result<Reply, ModelError>> {
        self.0.answer(request, call)
    }
}

#[tokio::test]
async fn a_run_that_costs_more_than_it_may_ends_in_every_mode() {
    let tokens = Tokens { input: 900_000, output: 200_000, ..Tokens::default() };
    for mode in ["json", "text", "json_loop"] {
        let toml =
            format!("mode = '{mode}'\nprompt = 'go'\nsignature = '{{a :int}}'\ncost_limit = 1.5\nmax_turns = 9\n");
        let agent = Agent::from_toml(&toml, "test.toml").unwrap();
        let model = Priced(ClosureModel::new(move |_: &Request| Reply { usage: Some(tokens), ..Reply::from("no") }));
        let ran = run(&agent, "{}", &model).await;
        assert_eq!(ran.outcome(), "cost_exceeded", "{mode}");
        assert_eq!(ran.step.usage.own.turns, 2, "{mode}");
        assert_eq!(ran.step.usage.own.cost(), Some(2.2), "{mode}");
        replays(&ran.events).await;
    }
}

#[tokio::test]
async fn agents_may_call_each_other_only_so_deep() {
    let toml = "mode = 'text'\nprompt = 'go'\nmax_depth = 1\n[tools.child]\nkind = 'agent'\n[tools.child.agent]\n\
                mode = 'text'\nprompt = 'below'\nsignature = '() -> :string'\ndescription = 'Says something'\n";
    let agent = Agent::from_toml(toml, "test.toml").unwrap();
    let (model, requests) = recorded_replies(vec![Reply::calling([("child", "{}")]), "done".into()]);
    let ran = run(&agent, "{}", &model).await;
    assert_eq!(ran.outcome(), r#""done""#);
    assert_eq!(ran.step.calls[0].error.as_ref().unwrap().reason, "max_depth_exceeded");
    assert_eq!((requests.lock().unwrap().len(), ran.step.children.len()), (2, 0), "the agent below was not asked");
    replays(&ran.events).await;
}

/// A model whose replies cost so many tokens each.
fn costing(replies: &[(u64, &str)]) -> ClosureModel {
    let replies = replies.iter().map(|(cost, text)| {
        let usage = Some(Tokens { input: *cost, ..Tokens::default() });
        Reply { usage, ..Reply::from(*text) }
    });
    ptc_workbench::model::script(replies.collect::<Vec<_>>())
}

#[tokio::test]
async fn a_budget_that_a_reply_exceeds_ends_the_run_before_its_program() {
    let agent = super::ptc::agent("max_turns = 5\ntoken_limit = 50\n[tools.t]\nkind = \"table\"\ndefault = 1\n");
    let ran =
        run(&agent, "{}", &costing(&[(40, &super::ptc::p("1")), (40, &super::ptc::p("(return (tool/t))"))])).await;
    replays(&ran.events).await;
    assert_eq!(
        (ran.outcome(), ran.turns()),
        ("budget_callback_exceeded".into(), vec!["ok".into(), "budget_callback_exceeded".into()])
    );
    assert_eq!((ran.step.calls.len(), ran.step.usage.own.turns), (0, 2));
    let fail = ran.step.fail.unwrap();
    assert!(fail.message.contains("80 tokens were used, token_limit is 50"));
    assert_eq!(fail.details.unwrap().as_str(), r#"{"spent":80,"limit":50}"#, "no reader need take the message apart");
}

#[tokio::test]
async fn the_calls_of_a_reply_that_exceeds_the_budget_are_not_made() {
    let tool = "max_turns = 5\ntoken_limit = 50\n[tools.t]\nkind = 'table'\ndefault = 1\n";
    let usage = Some(Tokens { input: 80, ..Tokens::default() });
    let object = r#"{"thought":"t","tool_call":{"name":"t","arguments":{}}}"#;
    for (mode, reply) in [
        ("text", Reply::calling([("t", "{}")])),
        ("json_loop", Reply::from(object)),
        ("json_loop", Reply::calling([("t", "{}")])),
    ] {
        let agent = Agent::from_toml(&format!("mode = '{mode}'\nprompt = 'go'\n{tool}"), "test.toml").unwrap();
        let ran = run(&agent, "{}", &ptc_workbench::model::script([Reply { usage, ..reply }])).await;
        replays(&ran.events).await;
        assert_eq!((ran.outcome(), ran.step.calls.len()), ("budget_callback_exceeded".into(), 0), "{mode}");
    }
}

#[tokio::test]
async fn an_answer_that_is_already_there_is_taken() {
    let mut limited = agent("go", "{a :int}");
    limited.token_limit = Some(50);
    assert_eq!(run(&limited, "{}", &costing(&[(80, r#"{"a":1}"#)])).await.outcome(), r#"{"a":1}"#);
}

#[tokio::test]
async fn an_answer_that_exceeds_the_budget_is_reported() {
    let object = r#"{"thought":"t","final_answer":{"a":1}}"#;
    for (mode, reply) in [("json", r#"{"a":1}"#), ("text", r#"{"a":1}"#), ("json_loop", object)] {
        for (limit, count) in [(50, 1), (100, 0)] {
            let toml = format!("mode = '{mode}'\nprompt = 'go'\nsignature = '{{a :int}}'\ntoken_limit = {limit}\n");
            let ran = run(&Agent::from_toml(&toml, "t").unwrap(), "{}", &costing(&[(80, reply)])).await;
            replays(&ran.events).await;
            assert_eq!(ran.outcome(), r#"{"a":1}"#, "{mode}");
            let text = format!("80 tokens were used, token_limit is {limit}; the answer in the last reply is accepted");
            let is_notice =
                |envelope: &&Envelope| matches!(&envelope.event, Event::Notice(notice) if notice.text == text);
            assert_eq!(ran.events.iter().filter(is_notice).count(), count, "{mode} {limit}");
        }
    }
}

const PARTIAL: &str =
    "signature = \"{r :int}\"\nmax_turns = 5\ntoken_limit = 100\non_budget_exceeded = \"return_partial\"";

#[tokio::test]
async fn return_partial_gives_the_latest_value_that_fits_and_says_its_turn() {
    let replies =
        [(30, "{:r 7}"), (30, "(foo)"), (60, "(return {:r 9})")].map(|(cost, text)| (cost, super::ptc::p(text)));
    let replies: Vec<(u64, &str)> = replies.iter().map(|(cost, text)| (*cost, text.as_str())).collect();
    let ran = run(&super::ptc::agent(PARTIAL), "{}", &costing(&replies)).await;
    replays(&ran.events).await;
    assert_eq!((ran.outcome(), ran.step.from_turn), (r#"{"r":7}"#.to_owned(), Some(1)));
    assert_eq!(ran.turns(), ["ok", "unbound_var", "budget_callback_exceeded"]);
    let fails = run(&super::ptc::agent(&PARTIAL.replace("return_partial", "fail")), "{}", &costing(&replies)).await;
    assert_eq!(fails.outcome(), "budget_callback_exceeded");
}

#[tokio::test]
async fn return_partial_without_a_value_that_fits_fails_for_the_budget() {
    for first in ["(foo)", "{:r \"no number\"}", "nil"] {
        let ran = run(&super::ptc::agent(PARTIAL), "{}", &costing(&[(200, &super::ptc::p(first))])).await;
        replays(&ran.events).await;
        assert_eq!(ran.outcome(), "budget_callback_exceeded", "{first}");
    }
    let ran =
        run(&super::ptc::agent(PARTIAL), "{}", &costing(&[(60, &super::ptc::p("{:r \"x\"}")), (60, "prose")])).await;
    assert_eq!((ran.outcome(), ran.step.from_turn), ("budget_callback_exceeded".to_owned(), None));
}

#[tokio::test]
async fn return_partial_holds_for_costs_as_well() {
    let toml = PARTIAL.replace("token_limit = 100", "cost_limit = 1.5");
    let tokens = Tokens { input: 1_000_000, ..Tokens::default() };
    let model =
        Priced(ClosureModel::new(move |_: &Request| Reply { usage: Some(tokens), ..super::ptc::p("{:r 7}").into() }));
    let ran = run(&super::ptc::agent(&toml), "{}", &model).await;
    assert_eq!((ran.outcome(), ran.step.from_turn), (r#"{"r":7}"#.to_owned(), Some(1)));
    assert_eq!(ran.turns(), ["ok", "cost_exceeded"]);
}

const BELOW: &str = "[tools.below]\nkind = 'agent'\ndescription = 'Below'\nsignature = '() -> :string'\n\
    [tools.below.agent]\nmode = 'text'\nmax_turns = 1\nprompt = '";

/// Replies of the agent above are counted with ten tokens, those below not at all.
fn counted_above(replies: Vec<Reply>) -> impl Model {
    let made = Mutex::new(replies.into_iter());
    ClosureModel::new(move |request: &Request| {
        if request.address.is_call() || request.address.run_part().is_call() {
            return Reply::from("ok");
        }
        let usage = Some(Tokens { input: 5, output: 5, ..Tokens::default() });
        Reply { usage, ..made.lock().unwrap().next().unwrap_or_else(|| Reply::from("done")) }
    })
}

#[tokio::test]
async fn tokens_of_agents_below_whose_model_counts_none_are_estimated() {
    let below = format!("{BELOW}{}'\n", "word ".repeat(400));
    let text = || vec![Reply::calling([("below", "{}")])];
    let lisp = |program: &str| vec![Reply::from(ptc::p(program).as_str())];
    let cases = [
        ("text", text()),
        ("ptc_lisp", lisp("(tool/below {})")),
        // What ran in a program that is not run again on replay counts there as well.
        ("ptc_lisp", lisp("(pmap (fn [x] (tool/below {})) [1]) (/ 1 0)")),
    ];
    for (mode, replies) in cases {
        let toml = format!("mode = '{mode}'\nprompt = 'go'\nmax_turns = 4\ntoken_limit = 400\n{below}");
        let agent = Agent::from_toml(&toml, "test.toml").unwrap();
        let ran = run(&agent, "{}", &counted_above(replies)).await;
        replays(&ran.events).await;
        assert_eq!(ran.outcome(), "budget_callback_exceeded", "{mode}: {:?}", ran.step.fail);
        let message = ran.step.fail.unwrap().message;
        assert!(message.contains("(an estimate: the model of a child run reports no token counts)"), "{message}");
        assert_eq!(
            ran.step.usage.own.tokens.map(|tokens| tokens.total()),
            Some(10),
            "what was counted stays what was counted"
        );
        assert_eq!(ran.step.usage.total.tokens, ran.step.usage.own.tokens);
    }
    let wide =
        Agent::from_toml(&format!("mode = 'text'\nprompt = 'go'\nmax_turns = 4\ntoken_limit = 4000\n{below}"), "t");
    assert_eq!(run(&wide.unwrap(), "{}", &counted_above(text())).await.outcome(), "\"done\"");
}

#[tokio::test]
async fn programs_read_the_tokens_that_the_budget_counts() {
    let below = format!("{BELOW}answer'\n");
    let toml = format!("mode = 'ptc_lisp'\nprompt = 'go'\nmax_turns = 4\ntoken_limit = 4000\n{below}");
    let agent = Agent::from_toml(&toml, "test.toml").unwrap();
    let used = Tokens { input: 5, output: 2, ..Tokens::default() };
    let programs = [ptc::p("(tool/below {})"), ptc::p("(return (budget/remaining))")];
    let made = Mutex::new(programs.into_iter());
    let model = ClosureModel::new(move |request: &Request| {
        let is_child = request.address.run_part().is_call();
        let next = if is_child { None } else { made.lock().unwrap().next() };
        Reply { usage: Some(used), ..Reply::from(next.unwrap_or_else(|| "ok".to_owned()).as_str()) }
    });
    let ran = run(&agent, "{}", &model).await;
    replays(&ran.events).await;
    let answer = ran.step.answer.clone().unwrap();
    let read = |path: &str| answer.at(path).map(ptc_core::value::Json::to_text).unwrap_or_default();
    // Two replies of the run and one of its child run.
    assert_eq!(
        (read("tokens.input"), read("tokens.total"), read("llm-requests")),
        ("15".into(), "21".into(), "3".into())
    );
    let total = &ran.step.usage.total;
    assert_eq!((total.tokens.map(|tokens| tokens.total()), total.requests), (Some(21), 3));
    assert_eq!(ran.step.usage.own.tokens.map(|tokens| tokens.total()), Some(14));
}

/// A parent whose first program calls its child agent; each reply counts 7 tokens.
async fn run_with_child(limit: &str, child: &str, program: &str) -> super::Ran {
    let toml = format!("mode = 'ptc_lisp'\nprompt = 'go'\nmax_turns = 4\n{limit}\n{child}");
    let agent = Agent::from_toml(&toml, "test.toml").unwrap();
    let used = Tokens { input: 5, output: 2, ..Tokens::default() };
    let program = ptc::p(program);
    let model = ClosureModel::new(move |request: &Request| {
        let is_child = request.address.run_part().is_call();
        let text = if is_child { "ok" } else { program.as_str() };
        Reply { usage: Some(used), ..Reply::from(text) }
    });
    let ran = run(&agent, "{}", &model).await;
    replays(&ran.events).await;
    ran
}

/// Returns the outcome of a run, the number of replies of its child runs, and the first error of a program.
fn spent(ran: &super::Ran) -> (String, usize, &str) {
    let is_reply = |envelope: &&Envelope| matches!(envelope.event, Event::ReplyEnd(_));
    let replies = ran.events.iter().filter(is_reply).filter(|envelope| envelope.address.run_part().is_call()).count();
    let error = ran.step.turns.iter().find_map(|turn| turn.error.as_ref());
    (ran.outcome(), replies, error.map_or("", |error| error.message.as_str()))
}

#[tokio::test]
async fn child_runs_of_a_program_spend_what_the_parents_limit_leaves() {
    let below = format!("{BELOW}answer'\n");
    let one_by_one = "(return (mapv (fn [x] (tool/below {})) (range 5)))";
    let five = r#"["ok","ok","ok","ok","ok"]"#.to_owned();
    assert_eq!(spent(&run_with_child("", &below, one_by_one).await), (five.clone(), 5, ""));
    // The parent's reply and two of child runs exceed the limit: the third child run is not started.
    let limited = run_with_child("token_limit = 20", &below, one_by_one).await;
    let error = "tool/below: the tool failed: 21 tokens were used, token_limit is 20";
    assert_eq!(spent(&limited), ("budget_callback_exceeded".to_owned(), 2, error));
    // Branches of a parallel form may each spend what was left before it: which of them ends first is chance, and a replay must decide the
    // same.
    let at_once = "(return (pmap (fn [x] (tool/below {})) (range 5)))";
    assert_eq!(spent(&run_with_child("token_limit = 20", &below, at_once).await), (five, 5, ""));
    let one_more = "(do (pmap (fn [x] (tool/below {})) (range 5)) (return (tool/below {})))";
    let after = run_with_child("token_limit = 20", &below, one_more).await;
    let error = "tool/below: the tool failed: 42 tokens were used, token_limit is 20";
    assert_eq!(spent(&after), ("budget_callback_exceeded".to_owned(), 5, error));
}

#[tokio::test]
async fn a_child_run_of_several_turns_ends_where_the_parents_limit_does() {
    let below = "[tools.below]\nkind = 'agent'\ndescription = 'Below'\nsignature = '() -> {a :int}'\n\
        [tools.below.agent]\nmode = 'json'\nsignature = '{a :int}'\nmax_turns = 3\nprompt = 'answer'\n";
    let ran = run_with_child("token_limit = 10", below, "(return (tool/below {}))").await;
    let (outcome, replies, error) = spent(&ran);
    assert_eq!((outcome.as_str(), replies), ("budget_callback_exceeded", 1));
    assert!(error.ends_with("7 tokens were used, token_limit of the parent agent left 3"), "{error}");
}
