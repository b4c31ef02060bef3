//! Steps as contexts: pipelines across modes.

use ptc_core::signature;
use ptc_workbench::agent::{Agent, Context, Step};
use ptc_workbench::model::Reply;
use ptc_workbench::port::Stop;

use super::{Address, Input, Memory, Plan, Ports, Ran, Request, Ticks, engine, json, parsed, recorded_replies, run};

/// An agent in json mode, unless the text names another.
fn agent(toml: &str) -> Agent {
    let mode = if toml.starts_with("mode =") { "" } else { "mode = 'json'\n" };
    Agent::from_toml(&format!("{mode}{toml}"), "test.toml").unwrap_or_else(|error| panic!("{error}"))
}

async fn ran<R: Into<Reply>>(
    agent: &Agent,
    context: &str,
    replies: impl IntoIterator<Item = R>,
) -> (Ran, Vec<Request>) {
    let (model, requests) = recorded_replies(replies.into_iter().map(Into::into).collect());
    let ran = run(agent, context, &model).await;
    super::replays(&ran.events).await;
    let requests = requests.lock().unwrap().clone();
    (ran, requests)
}

/// The context that a Step is for an agent.
fn carried(step: &Step, agent: &Agent) -> String {
    let signature = signature::parse(agent.signature.as_deref().unwrap()).unwrap();
    Context::chained(step, &signature).expect("the Step fits").json.to_text()
}

#[tokio::test]
async fn json_feeds_ptc_lisp_with_aligned_types() {
    let classify =
        agent("prompt = 'Classify: {{text}}'\nsignature = '(text :string) -> {sentiment :string, score :float}'");
    let act = agent(
        "mode = 'ptc_lisp'\n\nprompt = 'Act on sentiment'\nsignature = '(sentiment :string, score :float) -> {action :string}'\n\
         [tools.alert]\nkind = 'table'\ndefault = 'alerted'\n",
    );
    let (first, _) = ran(&classify, r#"{"text":"Great!"}"#, [r#"{"sentiment": "positive", "score": 0.9}"#]).await;
    assert_eq!(first.outcome(), r#"{"sentiment":"positive","score":0.9}"#);
    let (second, _) = ran(&act, &carried(&first.step, &act), ["(return {:action (alert)})"]).await;
    assert_eq!(second.outcome(), r#"{"action":"alerted"}"#);
}

#[tokio::test]
async fn ptc_lisp_feeds_json() {
    let fetch = agent(
        "mode = 'ptc_lisp'\n\nprompt = 'Fetch data'\nsignature = '(query :string) -> {results [:map]}'\n\
         [tools.search]\nkind = 'table'\nsignature = '(query :string) -> [:map]'\ndefault = [{ title = 'Result' }]\n",
    );
    let sum_up = agent("prompt = 'Summarize results'\nsignature = '(results [:map]) -> {summary :string}'");
    let program = "(return {:results (search query)})";
    let (first, _) = ran(&fetch, r#"{"query":"test"}"#, [program]).await;
    assert_eq!(first.outcome(), r#"{"results":[{"title":"Result"}]}"#);
    let (second, requests) = ran(&sum_up, &carried(&first.step, &sum_up), [r#"{"summary": "Found one result"}"#]).await;
    assert_eq!(second.outcome(), r#"{"summary":"Found one result"}"#);
    assert!(requests[0].messages[0].joined().contains(r#"[{"title":"Result"}]"#), "the unused input is shown");
}

#[tokio::test]
async fn text_with_tools_feeds_text_without() {
    let gather = agent(
        "mode = 'text'\nprompt = 'Look up the population of {{city}}'\n\
         signature = '(city :string) -> {population :int, country :string}'\n\
         [tools.lookup]\nkind = 'table'\nsignature = '(city :string) -> {population :int, country :string}'\n\
         description = 'Look up city data'\ndefault = { population = 14000000, country = 'Japan' }\n",
    );
    let sum_up = agent(
        "mode = 'text'\nprompt = 'Write about {{country}} (pop: {{population}})'\n\
         signature = '(population :int, country :string) -> {summary :string}'",
    );
    let replies =
        [Reply::calling([("lookup", r#"{"city":"Tokyo"}"#)]), r#"{"population":14000000,"country":"Japan"}"#.into()];
    let (first, _) = ran(&gather, r#"{"city":"Tokyo"}"#, replies).await;
    let (second, requests) = ran(&sum_up, &carried(&first.step, &sum_up), [r#"{"summary":"Large."}"#]).await;
    assert_eq!(second.outcome(), r#"{"summary":"Large."}"#);
    assert!(requests[0].messages[0].joined().contains("Write about Japan (pop: 14000000)"));
}

#[tokio::test]
async fn plain_text_reaches_a_single_parameter_and_json_loop_takes_part() {
    let write = agent("mode = 'text'\nprompt = 'Write'");
    let judge = agent("mode = 'json_loop'\nprompt = 'Judge {{text}}'\nsignature = '(text :string) -> {good :bool}'");
    let (first, _) = ran(&write, "{}", ["A fine text.\n"]).await;
    let (second, requests) =
        ran(&judge, &carried(&first.step, &judge), [r#"{"thought":"t","final_answer":{"good":true}}"#]).await;
    assert_eq!(second.outcome(), r#"{"good":true}"#);
    assert!(requests[0].messages[0].joined().contains("Judge A fine text."));
    let text = agent("mode = 'text'\nprompt = 'Is it {{good}}?'\nsignature = '(good :bool) -> :string'");
    let (third, _) = ran(&text, &carried(&second.step, &text), ["Yes."]).await;
    assert_eq!(third.outcome(), r#""Yes.""#);
    assert_eq!(json::parse(&carried(&second.step, &text)).unwrap().to_text(), r#"{"good":true}"#);
}

#[tokio::test]
async fn a_run_that_continues_another_sends_its_answer_once() {
    let object = r#"{"thought":"easy","final_answer":"Paris"}"#;
    for (mode, reply, text) in
        [("text", "Paris", "Paris"), ("json_loop", object, object), ("json", "\"Paris\"", "Paris")]
    {
        let agent = agent(&format!("mode = '{mode}'\nprompt = 'Which city?'\nsignature = ':string'"));
        let plan = Plan::new(&agent).unwrap();
        let (model, requests) = recorded_replies(vec![reply.into()]);
        let sink = Memory::default();
        let ports = Ports::new(&model, &Ticks(10), &sink, Stop::default());
        let (step, carry) = engine::run_carrying(&plan, Input::new(parsed("{}")), &ports).await;
        assert!(step.is_ok(), "{mode}: {:?}", step.fail);
        let next = Input { continues: Some((Address::run(0), carry)), ..Input::at(Address::run(1), parsed("{}")) };
        engine::run(&plan, next, &ports).await;
        let requests = requests.lock().unwrap();
        let sent: Vec<_> = requests[1].messages.iter().map(|m| (m.role.name(), m.joined())).collect();
        assert_eq!(sent.iter().map(|(role, _)| *role).collect::<Vec<_>>(), ["user", "assistant", "user"], "{mode}");
        assert_eq!(sent[1].1, text, "{mode}");
    }
}
