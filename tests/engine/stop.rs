//! Stopping: a cancelled run ends with its reason, its turn recorded, whatever the model does.

use super::*;
use futures::future::pending;
use ptc_workbench::event::{InterruptSource, ModelRecord, RunEnd};
use ptc_workbench::model::{Call, ModelError, Reply};
use ptc_workbench::session::Skeleton;
use ptc_workbench::session::diff::{Side, compare};

/// Sends a little text and then never ends, not even when it is asked to.
struct Deaf;

impl Model for Deaf {
    fn info(&self) -> ModelRecord {
        ModelRecord::default()
    }

    fn answer<'a>(&'a self, _: &'a Request, call: &'a Call) -> BoxFuture<'a, Result<Reply, ModelError>> {
        Box::pin(async move {
            call.text(1, "{\"a\":").await;
            pending().await
        })
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_ends_soon_after_a_stop_even_when_the_model_does_not_listen() {
    let stop = Stop::default();
    let stopper = stop.clone();
    let task = tokio::spawn(async move {
        tokio::time::sleep(std::time::Duration::from_millis(500)).await;
        stopper.by_user();
    });
    let ran = run_with(&agent("go", "{a :int}"), "{}", &Deaf, &Ticks(1), stop).await;
    task.await.unwrap();
    assert_eq!(ran.outcome(), "cancelled");
    assert_eq!(ran.turns(), ["cancelled"]);
    assert_eq!(ran.step.turns[0].raw_response, "{\"a\":");
    assert!(
        ran.events
            .iter()
            .any(|envelope| matches!(&envelope.event, Event::Interrupt(by) if by.by == InterruptSource::User))
    );
}

/// Answers at once, whatever was stopped; stops the run itself where it is asked to.
struct Quick {
    asked: Mutex<u32>,
    stops: Option<Stop>,
}

impl Quick {
    fn new(stops: Option<Stop>) -> Self {
        Self { asked: Mutex::default(), stops }
    }
}

impl Model for Quick {
    fn info(&self) -> ModelRecord {
        ModelRecord::default()
    }

    fn answer<'a>(&'a self, _: &'a Request, _: &'a Call) -> BoxFuture<'a, Result<Reply, ModelError>> {
        Box::pin(async move {
            *self.asked.lock().unwrap() += 1;
            if let Some(stop) = &self.stops {
                stop.by_user();
            }
            Ok(Reply::from("{\"a\":1}"))
        })
    }
}

#[tokio::test]
async fn a_run_that_is_stopped_before_it_starts_asks_nobody() {
    let (model, stop) = (Quick::new(None), Stop::default());
    stop.by_user();
    let ran = run_with(&agent("go", "{a :int}"), "{}", &model, &Ticks(1), stop).await;
    replays(&ran.events).await;
    assert_eq!((ran.outcome(), ran.turns()), ("cancelled".to_owned(), vec!["cancelled".to_owned()]));
    assert_eq!(*model.asked.lock().unwrap(), 0);
}

#[tokio::test]
async fn a_reply_that_comes_in_spite_of_a_stop_is_not_applied() {
    let stop = Stop::default();
    let model = Quick::new(Some(stop.clone()));
    let ran = run_with(&agent("go", "{a :int}"), "{}", &model, &Ticks(1), stop).await;
    replays(&ran.events).await;
    assert_eq!((ran.outcome(), ran.turns()), ("cancelled".to_owned(), vec!["cancelled".to_owned()]));
    assert_eq!(*model.asked.lock().unwrap(), 1);
    let shown = ran.events.iter().filter(|envelope| matches!(envelope.event, Event::Interrupt(_))).count();
    assert_eq!(shown, 1);
}

#[tokio::test(start_paused = true)]
async fn a_model_that_takes_longer_than_the_mission_is_ended() {
    let mut limited = agent("go", "{a :int}");
    limited.mission_timeout_ms = Some(200);
    let ran = run_with(&limited, "{}", &Deaf, &Ticks(0), Stop::default()).await;
    assert_eq!(ran.outcome(), "mission_timeout");
}

/// The time of the paused clock.
struct Paused(tokio::time::Instant);

impl Clock for Paused {
    fn now_ms(&self, _: &Address) -> i64 {
        1_000 + i64::try_from(self.0.elapsed().as_millis()).unwrap()
    }
}

const SLOW: &str = "[tools.slow]\nkind = 'table'\ndefault = 1\ndelay_ms = 600000\ntimeout_ms = 900000\n";

#[tokio::test(start_paused = true)]
async fn a_mission_that_is_over_while_a_tool_runs_ends_the_tool_and_the_run() {
    let object = r#"{"thought":"t","tool_call":{"name":"slow","arguments":{}}}"#;
    for (mode, reply) in [("text", Reply::calling([("slow", "{}")])), ("json_loop", object.into())] {
        let toml = format!("mode = '{mode}'\nprompt = 'go'\nmission_timeout_ms = 200\n{SLOW}");
        let agent = Agent::from_toml(&toml, "test.toml").unwrap();
        let (model, requests) = recorded_replies(vec![reply]);
        let ran = run_with(&agent, "{}", &model, &Ticks(0), Stop::default()).await;
        replays(&ran.events).await;
        assert_eq!(ran.outcome(), "mission_timeout", "{mode}: {:?}", ran.step.fail);
        assert_eq!(ran.step.calls[0].status, Some(ptc_workbench::event::CallStatus::Cancelled), "{mode}");
        assert_eq!(requests.lock().unwrap().len(), 1);
        assert!(ran.step.fail.unwrap().message.contains("mission_timeout_ms = 200"));
    }
}

/// The clock of a program is paused meanwhile; that of the mission does not.
#[tokio::test]
async fn a_mission_that_is_over_while_a_program_waits_for_a_tool_ends_both() {
    let toml = format!("mission_timeout_ms = 50\nprogram_timeout_ms = 60000\nmax_turns = 3\n{SLOW}");
    for program in ["(tool/slow)", "(pmap (fn [x] (tool/slow)) [1 2])"] {
        let (ran, _) = ptc::ran(&toml, "{}", &[&ptc::p(program)]).await;
        assert_eq!(ran.outcome(), "mission_timeout", "{program}: {:?}", ran.step.fail);
        assert!(ran.step.calls.iter().all(|call| call.status == Some(ptc_workbench::event::CallStatus::Cancelled)));
    }
}

/// The remaining time is passed on with a call: the child agent ends with the mission of the one above.
#[tokio::test(start_paused = true)]
async fn the_time_of_the_mission_holds_for_the_tools_of_agents_below() {
    let toml = format!(
        "mode = 'text'\nprompt = 'go'\nmission_timeout_ms = 200\n[tools.below]\nkind = 'agent'\ndescription = 'Below'\n\
         [tools.below.agent]\nmode = 'text'\nprompt = 'go'\n{}",
        SLOW.replace("[tools.slow]", "[tools.below.agent.tools.slow]")
    );
    let agent = Agent::from_toml(&toml, "test.toml").unwrap();
    let (model, _) = recorded_replies(vec![Reply::calling([("below", "{}")]), Reply::calling([("slow", "{}")])]);
    let ran = run_with(&agent, "{}", &model, &Paused(tokio::time::Instant::now()), Stop::default()).await;
    replays(&ran.events).await;
    assert_eq!(ran.outcome(), "mission_timeout", "{:?}", ran.step.fail);
    assert_eq!(ran.step.children[0].fail.as_ref().unwrap().reason, "mission_timeout");
}

/// Stops the run instead of answering.
struct Leaving(Stop);

impl ptc_workbench::port::Human for Leaving {
    fn ask<'a>(
        &'a self,
        _: &'a ptc_workbench::port::Question,
        _: &'a tokio_util::sync::CancellationToken,
    ) -> BoxFuture<'a, Option<String>> {
        self.0.by_user();
        Box::pin(async { None })
    }
}

/// The end of the run, given its events.
fn end_of(events: &[Envelope]) -> RunEnd {
    let mut ends = events.iter().rev().filter_map(|envelope| match &envelope.event {
        Event::RunEnd(end) => Some(end.clone()),
        _ => None,
    });
    ends.next().expect("the run has ended")
}

#[tokio::test]
async fn a_turn_in_which_a_stop_ends_the_run_counts_once_and_so_does_its_request() {
    let agent = super::ptc::agent("builtin_tools = ['ask_user']\n");
    let plan = Plan::new(&agent).unwrap_or_else(|wrong| panic!("{wrong:?}"));
    let (model, _) = recorded_script(&[&super::ptc::p("(return (tool/ask_user {:question \"Which?\"}))")]);
    let (sink, stop) = (Memory::default(), Stop::default());
    let human = Leaving(stop.clone());
    let ports = Ports { human: &human, ..Ports::new(&model, &Ticks(10), &sink, stop) };
    let step = engine::run(&plan, Input::new(parsed("{}")), &ports).await;
    let events = sink.events();
    assert_eq!(step.fail.as_ref().map(|fail| fail.reason.as_str()), Some("cancelled"));
    assert!(
        !events.iter().any(|envelope| matches!(envelope.event, Event::TurnEnd(_))),
        "the stop came inside the turn"
    );
    let totals = end_of(&events).usage.totals;
    assert_eq!((totals.turns, totals.requests), (1, 1));
    assert_eq!((step.usage.own.totals(), step.turns.len()), (totals, 1));
    assert_eq!(Skeleton::of(events.clone()).usage().totals(), totals, "lists");
    assert_eq!(step.turns[0].latency_ms, fold(&events).turns[0].latency_ms);
    assert!(step.turns[0].latency_ms > 0, "its time is known");
    let compared = compare(vec![Side::of("one", events.clone(), None), Side::of("other", events.clone(), None)]);
    let shown = &compared.columns[0].totals;
    assert_eq!((shown.all.spending.totals(), shown.duration_ms), (totals, step.usage.duration_ms));
    replays(&events).await;
    // Earlier versions did not count the turn at the end of the run: such a recording replays, and shows the same.
    let older: Vec<Envelope> = events
        .into_iter()
        .map(|mut envelope| {
            if let Event::RunEnd(end) = &mut envelope.event {
                end.usage.totals.turns = 0;
            }
            envelope
        })
        .collect();
    replays(&older).await;
    assert_eq!(fold(&older).usage, step.usage);
}
