//! PTC-Lisp, with all its limits on; loops may jump often enough for task c.

use std::time::{Duration, Instant};

use ptc_core::lisp::Limits;
use ptc_core::lisp::{self, CallAddress, Error, Failure, Host, Input, PreparedProgram, Stack};
use ptc_core::reasons::Reason;
use ptc_core::value::{Map, Value, json};

use crate::clock::Bench;
use crate::source;

const TASKS: &[(&str, &str)] = &[
    ("a", "(reduce + 0 (map inc (range 100000)))"),
    (
        "b",
        "(->> data/rows
              (filter (fn [r] (and (:active r) (> (:salary r) 50000))))
              (group-by :dept)
              (map (fn [[d rs]]
                     (let [s (reduce + (map :salary rs))]
                       {:dept d :n (count rs) :sum s :avg (/ s (count rs))})))
              (sort-by :sum >)
              first :sum)",
    ),
    ("c", "(loop [i 0 acc 0] (if (< i 1000000) (recur (inc i) (+ acc i)) acc))"),
    ("d", "(defn fib [n] (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2))))) (fib 25)"),
    ("g", "(transduce (comp (map inc) (filter even?) (take 40000)) + 0 (range 100000))"),
    (
        "h",
        "(let [totals (atom {})]
           (doseq [i (range 100000)] (swap! totals update (mod i 100) (fnil + 0) i))
           (get @totals 7))",
    ),
    (
        "i",
        "(defn tenth [i] (if (zero? (mod i 10)) (throw (ex-info \"tenth\" {:i i})) i))
         (reduce (fn [sum i] (+ sum (try (tenth i) (catch Exception e (* 2 (:i (ex-data e))))))) 0 (range 20000))",
    ),
];

/// No tools, and a deadline that is looked at.
struct Deadline(Instant);

impl Deadline {
    fn soon() -> Self {
        Self(Instant::now() + Duration::from_secs(60))
    }
}

impl Host for Deadline {
    fn call(&self, _: &CallAddress, tool: &str, _: &Value) -> Result<Value, Failure> {
        Err(Failure::Tool(format!("unknown tool `{tool}`")))
    }

    fn interrupt(&self) -> Option<Error> {
        (Instant::now() > self.0).then(|| Error::new(Reason::Timeout, "too long"))
    }

    fn now_ms(&self) -> i64 {
        0
    }
}

/// The rows as programs get them: read from JSON.
fn rows() -> Value {
    let depts = ["eng", "ops", "hr", "law", "art", "fin", "lab"];
    let row = |i: usize| {
        let (dept, salary, active) = (depts[i % 7], i * 7919 % 100_000, i % 3 != 0);
        format!(r#"{{"id":{i},"name":"n{i}","dept":"{dept}","salary":{salary},"active":{active}}}"#)
    };
    let rows: Vec<String> = (0..10_000).map(row).collect();
    match json::parse(&format!(r#"{{"rows":[{}]}}"#, rows.join(","))) {
        Ok(json) => json.to_value(),
        Err(error) => panic!("{error}"),
    }
}

/// A program, and what it runs on.
struct Task<'t> {
    source: &'t str,
    context: &'t Value,
    limits: Limits,
    stack: &'t Stack,
}

impl<'t> Task<'t> {
    fn new(source: &'t str, context: &'t Value, stack: &'t Stack) -> Self {
        let limits = Limits { loop_jumps: 2_000_000, memory_bytes: 100_000_000, ..Limits::default() };
        Self { source, context, limits, stack }
    }

    fn input(&self) -> Input<'_> {
        Input { context: self.context, ..Input::new(self.source, &self.limits) }
    }

    fn prepare(&self) -> PreparedProgram {
        lisp::prepare(&self.input(), &Deadline::soon(), self.stack).expect("it compiles")
    }

    fn run(&self, prepared: &PreparedProgram) -> i64 {
        match prepared.run(&self.input(), &Deadline::soon(), self.stack).result {
            Ok((_, Value::Int(answer))) => answer,
            Ok(_) => 0,
            Err(error) => panic!("{}: {}", error.reason, error.message()),
        }
    }
}

pub(crate) fn tasks(bench: &mut Bench) {
    let measured = Stack::with(|stack| {
        let (context, none) = (rows(), Value::from(Map::default()));
        for (name, program) in TASKS {
            let task = Task::new(program, &context, stack);
            let prepared = task.prepare();
            bench.task(name, || task.run(&prepared));
        }
        let text = source::ptc();
        let whole = Task::new(&text, &none, stack);
        bench.task("e", || {
            whole.prepare();
            0
        });
        let tiny = Task::new("(+ 1 2)", &none, stack);
        bench.task("f", || tiny.run(&tiny.prepare()));
    });
    measured.expect("the tasks end");
}
