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
            Event::TurnStart(start) => Some((start.left.turns, start.left.mission_ms, start.left.tokens)),
            _ => None,
        })
        .collect();
    assert_eq!(left, [(3, Some(1_000), Some(500)), (2, Some(990), Some(500))]);
}

#[tokio::test]
async fn a_run_whose_time_is_over_asks_no_more() {
    let mut limited = agent("go", "{a :int}");
    limited.mission_timeout_ms = Some(100);
    let (model, requests) = recorded_script(&["no"]);
    let ran = run_with(&limited, "{}", &model, &Ticks(100), Stop::default()).await;
    assert_eq!(ran.outcome(), "mission_timeout");
    assert_eq!(requests.lock().unwrap().len(), 1);
    assert_eq!(ran.step.usage.turns, 1);
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
    assert_eq!(ran.step.usage.tokens, Some(Tokens { input: 60, output: 20, ..Tokens::default() }));
    assert_eq!(ran.step.usage.turns, 2);
}

#[tokio::test]
async fn unknown_tokens_are_absent_not_zero() {
    let ran = run(&agent("go", "{a :int}"), "{}", &recorded_script(&[r#"{"a":1}"#]).0).await;
    assert_eq!(ran.step.usage.tokens, None);
    assert_eq!(ran.step.usage.cost, None);
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
    assert_eq!(ran.step.usage.tokens.map(|sum| sum.total()), Some(u64::MAX));
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
        assert_eq!(ran.step.usage.turns, 2, "{mode}");
        assert_eq!(ran.step.usage.cost, Some(2.2), "{mode}");
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
