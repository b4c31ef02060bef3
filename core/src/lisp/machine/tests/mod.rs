//! Programs on the machine, as tables: their results, and the limits that end them.

mod faults;
mod flow;
mod hostile;
mod limits;
mod order;
mod parallel;
mod projection;
mod table;

use std::sync::atomic::{AtomicU64, Ordering};

use crate::lisp::Limits;
use crate::lisp::{CallAddress, Error, Failure, Host, Input, Memory, Outcome, ToolInfo, run};
use crate::reasons::Reason;
use crate::value::{Map, Value};

/// A host with a tool `echo` that returns its arguments and a tool `bad` that fails.
#[derive(Default)]
struct EchoHost {
    /// Number of interruption checks so far, and the check that interrupts; 0 = never.
    asked: AtomicU64,
    stops_after: u64,
}

impl Host for EchoHost {
    fn call(&self, _: &CallAddress, tool: &str, args: &Value) -> Result<Value, Failure> {
        if tool == "bad" { Err(Failure::Tool("no luck".to_owned())) } else { Ok(args.clone()) }
    }

    fn interrupt(&self) -> Option<Error> {
        let asked = self.asked.fetch_add(1, Ordering::Relaxed) + 1;
        (self.stops_after > 0 && asked > self.stops_after).then(|| Error::new(Reason::Cancelled, "stopped"))
    }

    fn now_ms(&self) -> i64 {
        0
    }
}

fn run_with(source: &str, memory: &Memory, limits: &Limits, host: &dyn Host) -> Outcome {
    let tools = ["echo", "bad"].map(|name| ToolInfo { name: name.to_owned(), ..ToolInfo::default() });
    let journal = Map::default();
    let context = Value::record([("n", Value::Int(7))]);
    let input = Input {
        context: &context,
        memory,
        tools: &tools,
        history: &[Value::Int(1), Value::Int(2)],
        journal: Some(&journal),
        ..Input::new(source, limits)
    };
    run(&input, host)
}

fn outcome(source: &str) -> Outcome {
    run_with(source, &Memory::new(), &Limits::default(), &EchoHost::default())
}

/// The readable form of a program's value, or the name of its error's reason.
fn shown(outcome: &Outcome) -> String {
    match &outcome.result {
        Ok((_, value)) => value.to_string(),
        Err(error) => error.reason.name().to_owned(),
    }
}

#[test]
fn programs_give_values() {
    let cases = [
        ("", "nil"),
        ("1 2", "2"),
        ("(let [[a & r] [1 2 3] {:keys [k] :or {k 9}} {}] [a r k])", "[1 [2 3] 9]"),
        ("(loop [i 0 acc []] (if (< i 3) (recur (inc i) (conj acc i)) acc))", "[0 1 2]"),
        ("(loop [[a b] [0 1] n 5] (if (= n 0) a (recur [b (+ a b)] (dec n))))", "5"),
        ("((fn f [n] (if (= n 0) :done (f (dec n)))) 100)", ":done"),
        ("((fn [n acc] (if (= n 0) acc (recur (dec n) (* acc n)))) 5 1)", "120"),
        ("(defn f [& {:keys [a]}] a) [(f :a 1) (f {:a 2}) (f)]", "[1 2 nil]"),
        (
            "(defn even [n] (if (= n 0) true (odd (dec n)))) (defn odd [n] (if (= n 0) false (even (dec n)))) (even 10)",
            "true",
        ),
        ("(let [f (fn [x] (* x x)) g (fn [h y] (h (h y)))] (g f 3))", "81"),
        ("(+ 9223372036854775807 1)", "9223372036854775808"),
        ("(let [x 9223372036854775807] (inc x))", "9223372036854775808"),
        ("(let [x 1.5] (if (< x 2) (+ x 1) 0))", "2.5"),
        (
            "(for [x [1 2 3] :when (odd? x) y [x (* 2 x)] :let [z (+ x y)] :while (< z 9)] [x y z])",
            "[[1 1 2] [1 2 3] [3 3 6]]",
        ),
        ("(case 1.0 1 :one (2 3) :more :other)", ":one"),
        ("[(:a {\"a\" 1}) ({:a 2} :a) (#{3} 3) (:b {} 4)]", "[1 2 3 4]"),
        ("(let [m {:a-b 1}] (:a-b m))", "1"),
        ("(map :a-b [{\"a_b\" 1} {:a-b 2} {\"a-b\" 3} {}])", "[1 2 3 nil]"),
        ("[data/n data/none *1 *2 *3]", "[7 nil 2 1 nil]"),
        ("(def x 1) (doseq [i [1 2 3]] (def x (+ x i))) x", "7"),
        ("(def s 0) (map (fn [x] (def s (+ s x)) s) [1 2 3])", "[1 2 3]"),
        ("(def s 0) (map (fn [x] (def s (+ s x))) [1 2 3]) s", "0"),
        ("(defn f [x] (def last-one x)) (f 5) last-one", "5"),
        ("(defn f [] 1) (defn g [] (f)) (def a (g)) (defn f [] 2) [a (g)]", "[1 2]"),
        ("(apply + 1 [2 3])", "6"),
        ("(pmap (fn [x] (tool/echo {:x x})) [1 2])", "[{\"x\" 1} {\"x\" 2}]"),
        ("(map (fn [f] (f 2)) [inc (fn [x] (* x 10)) {2 :two} #{2}])", "[3 20 :two 2]"),
        ("(return (map (fn [x] (if (= x 2) (return :early) x)) [1 2]))", ":early"),
        ("(task \"a\" 1) (task \"a\" 2)", "1"),
        ("(pmap inc 5)", "runtime_error"),
        ("(pmap (fn [x] (return x)) [1])", "pmap_error"),
        ("(pcalls (fn [x] 1))", "pcalls_error"),
        ("(tool/bad {})", "tool_error"),
        ("((fn [x] x))", "arity_mismatch"),
        ("(5 1)", "not_callable"),
        ("(let [[a] 5] a)", "destructure_error"),
    ];
    for (source, expected) in cases {
        let outcome = outcome(source);
        assert_eq!(shown(&outcome), expected, "{source}: {:?}", outcome.result);
    }
}

#[test]
fn a_broken_program_keeps_its_record_and_changes_no_memory() {
    let outcome = outcome("(def a 1) (println \"seen\") (tool/echo {:a-b 1}) (step-done 1 2) (+ a nil)");
    assert_eq!(shown(&outcome), "type_error");
    assert!(outcome.memory.is_empty());
    assert_eq!(outcome.prints, ["seen"]);
    assert_eq!(outcome.calls.len(), 1);
    assert_eq!(outcome.calls[0].args.to_string(), "{\"a_b\" 1}");
    assert_eq!(outcome.summaries, [("1".to_owned(), "2".to_owned())]);
}

#[test]
fn functions_keep_working_in_later_programs() {
    let first = outcome("(def k 10) (defn f [n] (if (= n 0) k (f (dec n)))) (defn g [x] (def k x))");
    let later = |source| run_with(source, &first.memory, &Limits::default(), &EchoHost::default());
    assert_eq!(shown(&later("(f 3)")), "10");
    assert_eq!(shown(&later("(def k 11) (f 3)")), "11");
    assert_eq!(shown(&later("(g 12) (f 3)")), "12");
    assert_eq!(shown(&later("(defn f [n] :new) (f 3)")), ":new");
}

#[test]
fn errors_have_spans_in_the_running_program() {
    let place = |outcome: Outcome, source: &str| {
        outcome.result.err().and_then(|error| error.span).map(|span| span.text(source).to_owned())
    };
    let source = "(defn f [x] (+ x nil)) [1 (f 2)]";
    assert_eq!(place(outcome(source), source).as_deref(), Some("(+ x nil)"));
    let first = outcome("(defn f [x] (+ x nil))");
    let source = "[1 2 (f 2)]";
    let later = run_with(source, &first.memory, &Limits::default(), &EchoHost::default());
    assert_eq!(place(later, source).as_deref(), Some("(f 2)"));
}

#[test]
fn closures_are_distinct_and_ordered_by_creation() {
    let cases = [
        ("(let [f (fn [x] x)] (= f f))", "true"),
        ("(= (fn [x] x) (fn [x] x))", "false"),
        ("(let [fs (map (fn [n] (fn [] n)) [3 1 2])] (map (fn [f] (f)) (sort fs)))", "[3 1 2]"),
    ];
    for (source, expected) in cases {
        assert_eq!(shown(&outcome(source)), expected, "{source}");
    }
}
