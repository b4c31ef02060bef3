//! Parallel branches give the same results as sequential ones.

use std::sync::atomic::{AtomicU64, Ordering};

use super::{EchoHost, outcome, run_with, shown};
use crate::lisp::{CallAddress, Error, Failure, Host, Limits, Memory};
use crate::reasons::Reason;
use crate::value::Value;

#[test]
fn results_and_records_are_in_the_order_of_the_branches() {
    let source = "(pmap (fn [x] (tool/echo {:x x}) (println x) (def y x) (* x x)) (range 40))";
    let outcome = outcome(source);
    let squares: Vec<String> = (0..40).map(|x| (x * x).to_string()).collect();
    assert_eq!(shown(&outcome), format!("[{}]", squares.join(" ")));
    assert!(outcome.prints.is_empty() && outcome.memory.is_empty());
    let called: Vec<String> = outcome.calls.iter().map(|call| call.args.to_string()).collect();
    assert_eq!(called, (0..40).map(|x| format!("{{\"x\" {x}}}")).collect::<Vec<_>>());
    assert!((0..40).zip(&outcome.calls).all(|(x, call)| call.at.branches == [(1, x)] && call.at.call == 0));
}

#[test]
fn the_first_error_by_branch_counts() {
    for _ in 0..20 {
        let outcome = outcome("(pmap (fn [x] (if (> x 3) (fail x) x)) (range 30))");
        let message = outcome.result.err().map(|error| error.message()).unwrap_or_default();
        assert!(message.contains("branch 5"), "{message}");
    }
}

#[test]
fn branches_may_have_branches_and_few_threads() {
    let source = "(pmap (fn [x] (reduce + (pmap (fn [y] (* x y)) (range 10)))) (range 10))";
    for workers in [1, 2, 8] {
        let limits = Limits { parallel_workers: workers, ..Limits::default() };
        let outcome = run_with(source, &Memory::new(), &limits, &EchoHost::default());
        assert_eq!(shown(&outcome), "[0 45 90 135 180 225 270 315 360 405]");
    }
}

#[test]
fn limits_hold_in_branches() {
    let limits = Limits { loop_jumps: 1_000_000, ..Limits::default() };
    let run = |source| shown(&run_with(source, &Memory::new(), &limits, &EchoHost::default()));
    assert_eq!(
        run("(pmap (fn [n] (reduce (fn [v x] (conj v (str x \"abcdefghijk\"))) [] (range 400000))) [1 2])"),
        "memory_exceeded"
    );
    assert_eq!(run("(defn f [n] (first (pmap f [n]))) (f 1)"), "memory_exceeded");
    let most = Limits { tool_calls: Some(5), ..Limits::default() };
    let outcome = run_with("(pmap (fn [x] (tool/echo {})) (range 20))", &Memory::new(), &most, &EchoHost::default());
    assert!(outcome.result.is_err());
}

/// Starts three branches per level, each far shorter than the steps between two checks.
const BUSHY: &str = "(defn f [n] (if (> n 14) 1 (do (pmap (fn [_] (f (inc n))) [1 2 3]) 1))) (f 0)";

#[test]
fn branches_that_are_shorter_than_a_check_can_be_stopped() {
    /// Stops the program at a certain poll.
    struct StoppingHost(AtomicU64);
    impl Host for StoppingHost {
        fn call(&self, _: &CallAddress, _: &str, _: &Value) -> Result<Value, Failure> {
            Ok(Value::Nil)
        }
        fn interrupt(&self) -> Option<Error> {
            let polls = self.0.fetch_add(1, Ordering::Relaxed);
            (polls >= 50).then(|| Error::new(Reason::Cancelled, "stopped"))
        }
        fn now_ms(&self) -> i64 {
            0
        }
    }
    let host = StoppingHost(AtomicU64::new(0));
    let outcome = run_with(BUSHY, &Memory::new(), &Limits::default(), &host);
    assert_eq!(shown(&outcome), "cancelled");
    assert!(outcome.usage.steps < 100_000, "{} steps after the stop", outcome.usage.steps);
}

#[test]
fn branches_together_stay_near_the_memory_limit() {
    // Each branch alone is within the limit, and nothing of it remains; eight at once are far beyond the limit.
    let source = "(pmap (fn [i] (count (mapv (fn [x] (+ x i)) (range 200000)))) (range 24))";
    let limits = Limits { loop_jumps: 1_000_000, ..Limits::default() };
    let host = EchoHost::default();
    let outcome = run_with(source, &Memory::new(), &limits, &host);
    assert_eq!(shown(&outcome), format!("[{}]", vec!["200000"; 24].join(" ")));
    // Deep nesting uses stack on each thread: the total of all branches ends it.
    let outcome = run_with("(defn f [n] (pmap f [n n])) (f 1)", &Memory::new(), &limits, &host);
    assert_eq!(shown(&outcome), "memory_exceeded");
}
