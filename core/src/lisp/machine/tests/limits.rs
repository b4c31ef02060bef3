//! Each limit ends a program with its own reason, names itself and leaves the process healthy.

use super::{EchoHost, outcome, run_with, shown};
use crate::lisp::Limits;
use crate::lisp::Memory;

fn limited(source: &str, limits: &Limits) -> (String, String) {
    let outcome = run_with(source, &Memory::new(), limits, &EchoHost::default());
    (shown(&outcome), outcome.result.err().map(|error| error.message()).unwrap_or_default())
}

#[test]
fn a_breach_names_the_limit() {
    let usual = Limits::default;
    let cases = [
        ("(loop [i 0] (recur (inc i)))", usual(), "loop_limit_exceeded", "1000 times"),
        ("((fn [n] (recur n)) 1)", Limits { loop_jumps: 7, ..usual() }, "loop_limit_exceeded", "7 times"),
        ("(defn f [n] (+ 1 (f n))) (f 1)", usual(), "memory_exceeded", "10000"),
        ("(defn f [n] (reduce (fn [a x] (f x)) 0 [1 2])) (f 1)", usual(), "memory_exceeded", "10000"),
        ("(defn f [n] (first (map f [n]))) (f 1)", Limits { depth: 50, ..usual() }, "memory_exceeded", "50"),
        ("(for [a (range 900) b (range 900) c (range 900)] a)", usual(), "memory_exceeded", "10000000"),
        ("(doseq [a (range 9000) b (range 9000)] a)", Limits { steps: 100_000, ..usual() }, "timeout", "100000 steps"),
        (
            "(reduce (fn [v x] (conj v (str x \"0123456789\"))) [] (range 400000))",
            usual(),
            "memory_exceeded",
            "10000000",
        ),
        (
            "(def v (vec (range 100000))) (loop [i 0 v v] (recur (inc i) [v (map inc (range 100000))]))",
            usual(),
            "memory_exceeded",
            "10000000",
        ),
        (
            "(tool/echo {}) (tool/echo {}) (tool/echo {})",
            Limits { tool_calls: Some(2), ..usual() },
            "tool_call_limit_exceeded",
            "at most 2 tool calls",
        ),
        (
            "(map (fn [i] (tool/echo {})) [1 2 3])",
            Limits { tool_calls: Some(2), ..usual() },
            "tool_call_limit_exceeded",
            "at most 2 tool calls",
        ),
        ("(+ 1 2)", Limits { program_bytes: 5, ..usual() }, "program_too_large", "5"),
        ("[:a :b :c]", Limits { symbols: 2, ..usual() }, "symbol_limit_exceeded", "2"),
    ];
    for (source, limits, reason, words) in cases {
        let (got, message) = limited(source, &limits);
        assert_eq!(got, reason, "{source}: {message}");
        assert!(message.contains(words), "{source}: {message}");
    }
}

#[test]
fn every_loop_has_its_own_jumps() {
    assert_eq!(
        shown(&outcome(
            "(defn f [] (loop [i 0] (if (< i 999) (recur (inc i)) i))) [(f) (f) (loop [i 0] (if (< i 1000) (recur (inc i)) (f)))]"
        )),
        "[999 999 999]"
    );
    assert_eq!(shown(&outcome("(count (for [i (range 5000)] i))")), "5000");
}

#[test]
fn nine_thousand_nine_hundred_calls_within_calls_are_fine() {
    assert_eq!(shown(&outcome("(defn f [n] (if (= n 0) 0 (+ 1 (f (dec n))))) (f 9900)")), "9900");
    let wide = (0..40).map(|n| format!("v{n} (+ n {n})")).collect::<Vec<_>>().join(" ");
    let source = format!("(defn f [n] (let [{wide}] (if (= n 0) 0 (+ 1 (apply f [(dec n)]))))) (f 9900)");
    assert_eq!(shown(&outcome(&source)), "9900");
}

#[test]
fn data_nested_as_deep_as_memory_allows_is_compared_printed_and_dropped() {
    let limits = Limits { loop_jumps: 10_000_000, memory_bytes: 200_000_000, ..Limits::default() };
    let deep = "(defn deep [n] (loop [i 0 v nil] (if (< i n) (recur (inc i) [v]) v)))";
    let cases = [
        ("(= (deep 1000000) (deep 1000000))", "true"),
        ("(count (deep 1000000))", "1"),
        ("(loop [i 0 v {}] (if (< i 300000) (recur (inc i) {:a v}) (count v)))", "1"),
        ("(loop [i 0 f inc] (if (< i 300000) (recur (inc i) (let [g f] (fn [] g))) (fn? f)))", "true"),
    ];
    for (source, expected) in cases {
        assert_eq!(limited(&format!("{deep} {source}"), &limits).0, expected, "{source}");
    }
    let outcome =
        run_with(&format!("{deep} (def kept (deep 1000000)) kept"), &Memory::new(), &limits, &EchoHost::default());
    assert!(outcome.result.is_ok());
    drop(outcome);
}

#[test]
fn functions_made_of_functions_end_in_a_clean_error() {
    let source = "(def f (reduce (fn [f i] (fn [x] (inc (f x)))) inc (range 50000))) (f 1)";
    assert_eq!(shown(&outcome(source)), "memory_exceeded");
    let source = "(def f (reduce (fn [f i] (comp inc f)) inc (range 50000))) (f 1)";
    assert_eq!(shown(&outcome(source)), "memory_exceeded");
}

#[test]
fn a_stop_ends_loops_and_long_builtins() {
    let limits = Limits { loop_jumps: 1_000_000_000, ..Limits::default() };
    for source in [
        "(loop [i 0] (recur (inc i)))",
        "(defn f [] (recur)) (f)",
        "(doseq [a (range 10000) b (range 10000) c (range 10000)] a)",
        "(reduce + (map (fn [x] (reduce + (range x))) (range 100000)))",
    ] {
        let host = EchoHost { stops_after: 20, ..EchoHost::default() };
        assert_eq!(shown(&run_with(source, &Memory::new(), &limits, &host)), "cancelled", "{source}");
    }
}

#[test]
fn what_is_dropped_does_not_count() {
    assert_eq!(shown(&outcome("(doseq [i (range 500)] (count (range 100000))) :fine")), ":fine");
}
