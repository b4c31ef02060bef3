//! Failures that are tried again, the waiting times, and the events meanwhile.

use std::sync::atomic::{AtomicU32, Ordering};

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::event::{Address, Options};
use crate::model::secret::Secret;
use crate::model::{ModelEvent, Want};

type Script = fn(u32) -> Result<Reply, Failure>;

/// Answers attempt n with `script(n)`; refusals are conceded `concessions` times.
struct ScriptedAttempts {
    script: Script,
    made: AtomicU32,
    concessions: AtomicU32,
}

impl Attempts for ScriptedAttempts {
    async fn attempt(&self, outlet: &Outlet<'_>, _: &mut Tape) -> Result<Reply, Failure> {
        self.made.fetch_add(1, Ordering::Relaxed);
        (self.script)(outlet.attempt)
    }

    fn concede(&self, failure: &Failure, is_last: bool) -> Option<String> {
        if failure.error.class == ErrorClass::Server && !is_last {
            return None;
        }
        failure.refusal.as_ref()?;
        let left = self.concessions.load(Ordering::Relaxed).checked_sub(1)?;
        self.concessions.store(left, Ordering::Relaxed);
        Some("asking for less".into())
    }
}

struct PlayResult {
    result: Result<Reply, ModelError>,
    events: Vec<ModelEvent>,
    made: u32,
    took: Duration,
}

fn request() -> Request {
    Request {
        address: Address::run(0).turn(1),
        agent: "a".into(),
        mode: "json".into(),
        want: Want::Json,
        system: None,
        messages: vec![],
        files: crate::model::FileBytes::default(),
        schema: None,
        tools: Vec::new(),
        tool_choice: None,
        tool_names: Vec::new(),
        tool_signatures: Vec::new(),
        retry: Retry::default(),
        signature: None,
        options: Options::default(),
        cache: false,
        seed: 7,
    }
}

async fn play(script: Script, concessions: u32, cancel: CancellationToken) -> PlayResult {
    let (events, mut inbox) = mpsc::channel(64);
    let call = Call { events, cancel };
    let scrub = Scrub::new([Secret::new("sk-12345678")]);
    let adapter = ScriptedAttempts { script, made: AtomicU32::new(0), concessions: AtomicU32::new(concessions) };
    let gate = Gate::new(1);
    let policy = RetryPolicy { base_delay_ms: 100, ..RetryPolicy::default() };
    let start = Instant::now();
    let round = Round { request: &request(), call: &call, scrub: &scrub, gate: &gate, policy };
    let result = round.run(&adapter).await;
    let took = start.elapsed();
    drop(call);
    let mut events = Vec::new();
    while let Some(event) = inbox.recv().await {
        events.push(event);
    }
    PlayResult { result, events, made: adapter.made.load(Ordering::Relaxed), took }
}

fn failure(class: ErrorClass, retry_after_ms: Option<u64>) -> Failure {
    Failure { error: ModelError::new(class, "it broke for sk-12345678"), retry_after_ms, refusal: None }
}

fn waits(events: &[ModelEvent]) -> Vec<(u64, bool)> {
    events
        .iter()
        .filter_map(|event| match event {
            ModelEvent::RetryWait(wait) => Some((wait.wait_ms, wait.retry_after)),
            _ => None,
        })
        .collect()
}

#[tokio::test(start_paused = true)]
async fn what_may_pass_is_tried_again_until_it_does() {
    let script: Script = |attempt| if attempt < 3 { Err(failure(ErrorClass::Server, None)) } else { Ok("ok".into()) };
    let seen = play(script, 0, CancellationToken::new()).await;
    let reply = seen.result.unwrap();
    assert_eq!((reply.text.as_str(), reply.attempt, reply.requests), ("ok", 3, 3));
    let waits = waits(&seen.events);
    assert!((50..=100).contains(&waits[0].0) && (100..=200).contains(&waits[1].0), "{waits:?}");
    assert_eq!(seen.took, Duration::from_millis(waits[0].0 + waits[1].0));
    let kinds: Vec<_> = seen
        .events
        .iter()
        .map(|event| match event {
            ModelEvent::Discarded(end) => format!("discarded {}", end.attempt),
            ModelEvent::RetryWait(wait) => format!("wait {}", wait.attempt),
            other => format!("{other:?}"),
        })
        .collect();
    assert_eq!(kinds, ["discarded 1", "wait 1", "discarded 2", "wait 2"]);
}

#[tokio::test(start_paused = true)]
async fn the_last_error_has_the_number_of_attempts_and_no_secret() {
    let seen = play(|_| Err(failure(ErrorClass::RateLimit, Some(5))), 0, CancellationToken::new()).await;
    let error = seen.result.unwrap_err();
    assert_eq!((error.class, error.attempt, error.requests), (ErrorClass::RateLimit, 3, 3));
    assert_eq!(error.message, "it broke for [secret] (tried 3 times)");
    assert_eq!(waits(&seen.events), [(5, true), (5, true)]);
    assert!(!format!("{:?}", seen.events).contains("sk-12345678"));
}

#[tokio::test(start_paused = true)]
async fn what_cannot_pass_is_tried_once() {
    for class in [
        ErrorClass::Client,
        ErrorClass::Auth,
        ErrorClass::Configuration,
        ErrorClass::NotFound,
        ErrorClass::Refusal,
        ErrorClass::ContentFilter,
        ErrorClass::Cancelled,
    ] {
        let seen = play(
            match class {
                ErrorClass::Client => |_| Err(failure(ErrorClass::Client, None)),
                ErrorClass::Auth => |_| Err(failure(ErrorClass::Auth, None)),
                ErrorClass::Configuration => |_| Err(failure(ErrorClass::Configuration, None)),
                ErrorClass::NotFound => |_| Err(failure(ErrorClass::NotFound, None)),
                ErrorClass::Refusal => |_| Err(failure(ErrorClass::Refusal, None)),
                ErrorClass::ContentFilter => |_| Err(failure(ErrorClass::ContentFilter, None)),
                _ => |_| Err(failure(ErrorClass::Cancelled, None)),
            },
            0,
            CancellationToken::new(),
        )
        .await;
        assert_eq!((seen.result.unwrap_err().class, seen.made), (class, 1));
    }
}

#[tokio::test(start_paused = true)]
async fn a_wait_beyond_the_limit_is_an_error_at_once() {
    let seen = play(|_| Err(failure(ErrorClass::RateLimit, Some(600_000))), 0, CancellationToken::new()).await;
    let error = seen.result.unwrap_err();
    assert!(error.message.ends_with("the service asks to wait 600 s"), "{}", error.message);
    assert_eq!((seen.made, seen.took), (1, Duration::ZERO));
}

#[tokio::test(start_paused = true)]
async fn a_concession_is_no_failure_and_does_not_wait() {
    let script: Script = |attempt| match attempt {
        1 | 2 => Err(Failure { refusal: Some(Box::default()), ..failure(ErrorClass::Client, None) }),
        3 | 4 => Err(failure(ErrorClass::Network, Some(0))),
        _ => Ok("ok".into()),
    };
    let seen = play(script, 2, CancellationToken::new()).await;
    assert_eq!(seen.result.unwrap().attempt, 5);
    let notices = seen.events.iter().filter(|event| matches!(event, ModelEvent::Notice(_))).count();
    assert_eq!((notices, seen.took), (2, Duration::ZERO));
}

#[tokio::test(start_paused = true)]
async fn a_concession_after_the_last_attempt_is_attempted_once() {
    let script: Script = |attempt| match attempt {
        1..=4 => Err(Failure { refusal: Some(Box::default()), ..failure(ErrorClass::Server, None) }),
        _ => Ok("ok".into()),
    };
    let seen = play(script, 2, CancellationToken::new()).await;
    assert_eq!((seen.result.unwrap().attempt, waits(&seen.events).len()), (5, 2));
    let seen = play(script, 1, CancellationToken::new()).await;
    let error = seen.result.unwrap_err();
    assert_eq!((error.requests, error.message.as_str()), (4, "it broke for [secret] (tried 3 times)"));
}

/// Rounds on one gate that begin one after the other; what each waited in the gate, and when it was done.
async fn together(rounds: u32, max_attempts: u32, scripts: [Script; 2]) -> Vec<(Option<u64>, u64)> {
    // One place: the others already wait for it when a pause begins, and must not slip through.
    let gate = Gate::new(1);
    let start = Instant::now();
    let tasks = (0..rounds).map(|number| {
        let gate = Arc::clone(&gate);
        let script = if number == 0 { scripts[0] } else { scripts[1] };
        async move {
            let (events, mut inbox) = mpsc::channel(64);
            let call = Call { events, cancel: CancellationToken::new() };
            let adapter = ScriptedAttempts { script, made: AtomicU32::new(0), concessions: AtomicU32::new(0) };
            let (scrub, policy) = (Scrub::new([]), RetryPolicy { max_attempts, ..RetryPolicy::default() });
            let round = Round { request: &request(), call: &call, scrub: &scrub, gate: &gate, policy };
            let reply = round.run(&adapter).await;
            drop(call);
            while inbox.recv().await.is_some() {}
            (reply.ok().and_then(|reply| reply.queued_ms), u64::try_from(start.elapsed().as_millis()).unwrap())
        }
    });
    futures::future::join_all(tasks).await
}

#[tokio::test(start_paused = true)]
async fn after_a_429_nobody_gets_through_the_gate_until_the_pause_is_over() {
    let busy_once: Script =
        |attempt| if attempt == 1 { Err(failure(ErrorClass::RateLimit, Some(5_000))) } else { Ok("ok".into()) };
    let done = together(3, 3, [busy_once, |_| Ok("ok".into())]).await;
    assert_eq!(done, [(Some(0), 5_000), (Some(5_000), 5_000), (Some(5_000), 5_000)]);
}

#[tokio::test(start_paused = true)]
async fn a_run_that_gives_up_still_leaves_the_pause_to_the_others() {
    let busy: Script = |_| Err(failure(ErrorClass::RateLimit, Some(60_000)));
    let done = together(2, 1, [busy, |_| Ok("ok".into())]).await;
    assert_eq!(done, [(None, 0), (Some(60_000), 60_000)]);
}

#[tokio::test(start_paused = true)]
async fn other_failures_hold_only_their_own_run() {
    let broken_once: Script =
        |attempt| if attempt == 1 { Err(failure(ErrorClass::Server, Some(5_000))) } else { Ok("ok".into()) };
    let done = together(2, 3, [broken_once, |_| Ok("ok".into())]).await;
    assert_eq!(done, [(Some(0), 5_000), (Some(0), 0)]);
}

#[tokio::test(start_paused = true)]
async fn a_cancel_ends_the_wait() {
    let cancel = CancellationToken::new();
    let (seen, ()) =
        futures::join!(play(|_| Err(failure(ErrorClass::RateLimit, Some(60_000))), 0, cancel.clone()), async {
            tokio::time::sleep(Duration::from_millis(10)).await;
            cancel.cancel();
        });
    let error = seen.result.unwrap_err();
    assert_eq!((error.class, error.requests), (ErrorClass::Cancelled, 1));
    assert_eq!(seen.took, Duration::from_millis(10));
}

#[tokio::test(start_paused = true)]
async fn a_cancel_before_the_start_sends_nothing() {
    let cancel = CancellationToken::new();
    cancel.cancel();
    let seen = play(|_| Ok("never".into()), 0, cancel).await;
    let error = seen.result.unwrap_err();
    assert_eq!((error.class, error.requests, seen.made), (ErrorClass::Cancelled, 0, 0));
}

#[test]
fn delays_grow_with_the_policy_and_depend_on_the_seed() {
    let policy = |backoff| RetryPolicy { max_attempts: 3, backoff, base_delay_ms: 1_000 };
    let cases = [
        (Backoff::Exponential, 1, 500..=1_000),
        (Backoff::Exponential, 3, 2_000..=4_000),
        (Backoff::Exponential, 200, 15_000..=30_000),
        (Backoff::Linear, 3, 1_500..=3_000),
        (Backoff::Constant, 9, 500..=1_000),
    ];
    for (backoff, failures, range) in cases {
        for seed in 0..50 {
            let delay = policy(backoff).delay_ms(failures, seed);
            assert!(range.contains(&delay), "{backoff:?} {failures} {seed}: {delay}");
            assert_eq!(delay, policy(backoff).delay_ms(failures, seed));
        }
    }
    let spread: std::collections::BTreeSet<_> =
        (0..50).map(|seed| policy(Backoff::Constant).delay_ms(1, seed)).collect();
    assert!(spread.len() > 25, "{spread:?}");
    let none = RetryPolicy { base_delay_ms: 0, ..RetryPolicy::default() };
    assert_eq!(none.delay_ms(1, 1), 0);
}
