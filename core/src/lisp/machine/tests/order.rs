//! Equal programs, contexts and memories give equal bytes, whichever branch ends first and however many threads there
//! are.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use crate::lisp::case::Case;
use crate::lisp::{CallAddress, Error, Failure, Host, run};
use crate::value::{Json, Value, json};

/// Runs of each program; `PTC_LONG_TESTS=1` runs the long form.
fn runs() -> u64 {
    if std::env::var_os("PTC_LONG_TESTS").is_some() { 100 } else { 20 }
}

/// Programs with parallel forms: values, definitions, prints, calls, closures, keywords and errors.
const PROGRAMS: &[&str] = &[
    "(defn f [x] {:k (str x) :v (map (fn [y] (* x y)) (range 5))})
     (def total (reduce + (map :salary data/rows)))
     (println (frequencies (map (fn [x] (mod x 3)) (range 20))) kept)
     (def fs (pmap (fn [x] (fn [] x)) (range 10)))
     (def by-dept (group-by :dept data/rows))
     (println (pmap f (range 3)) (pmap :dept data/rows))
     [(pmap f (range 20)) (map (fn [g] (g)) (sort fs)) (pcalls (fn [] (f 1)) (fn [] (f 2))) (set (range 40))]",
    "(println \"before\")
     (def answers (pmap (fn [x] (println x) (def inner x) (tool/echo {:x x})) (range 16)))
     (def nested (pmap (fn [x] (pmap (fn [y] (:y (tool/echo {:y [x y]}))) (range 3))) (range 4)))
     (println \"after\" (count answers))
     (return {:answers answers :nested nested})",
    "(def fs (pmap (fn [i] (fn [] (tool/echo {:i i}))) (range 6)))
     (sort-by compare (concat (pmap (fn [f] f) fs) (pcalls (fn [] (fn [] 1)) (fn [] (fn [] 2))))) (pmap (fn [f] (f)) fs)",
    "(map (fn [i] (pmap (fn [j] (keyword (str \"k\" i \"-\" j))) (range 5))) (range 5))",
    "(println 1) (pmap (fn [x] (tool/echo {:x x}) (if (> x 5) (fail {:x x}) x)) (range 20))",
    "(pmap (fn [x] (tool/echo {:x x}) (if (odd? x) (+ x nil) (tool/echo {:again x}))) (range 20))",
    "(pcalls (fn [] (tool/echo {})) (fn [] (tool/bad {})) (fn [] (return 1)))",
    "(pmap (fn [x] (tool/echo {:x x}) (reduce + (range (* x 1000)))) (range 40))",
    "(pmap (fn [x] (loop [] (recur))) (range 8))",
    "(println 1) (reduce (fn [v x] (conj v (str x \"0123456789\"))) [] (range 40000))",
    "(pmap (fn [x] (vec (range 50000))) (range 8))",
    "(pmap (fn [x] (tool/echo {:x x}) (count (range 100000 0 -1.5))) (range 40))",
    "(pmap (fn [x] (tool/echo {:x x}) (vec (map str (range 3000)))) (range 40))",
    "(pmap (fn [x] (tool/echo {:x x}) (if (= x 20) (vec (range 70000)) (vec (range 1000)))) (range 40))",
];

/// A host whose tools take a different time in each run.
struct JitteryHost<'c> {
    case: &'c Case,
    /// State of the random generator.
    state: AtomicU64,
}

impl Host for JitteryHost<'_> {
    fn call(&self, _: &CallAddress, tool: &str, args: &Value) -> Result<Value, Failure> {
        let state = self.state.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed);
        thread::sleep(Duration::from_micros((state ^ (state >> 31)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 56));
        self.case.answer(tool, args)
    }

    fn interrupt(&self) -> Option<Error> {
        None
    }

    fn now_ms(&self) -> i64 {
        0
    }
}

fn case(program: &str, workers: u64) -> Case {
    let surroundings = format!(
        r#"{{
            "context": {{"rows": [{{"dept": "a", "salary": 5}}, {{"dept": "b", "salary": 7}}, {{"dept": "a", "salary": 1}}]}},
            "memory": {{"kept": [1, {{"b": 2, "a": 1}}]}},
            "tools": {{"echo": "echo", "bad": {{"error": "no"}}}},
            "opts": {{"max_parallel_workers": {workers}, "max_steps": 100000, "max_memory_bytes": 1000000}}
        }}"#
    );
    let surroundings = json::parse(&surroundings).expect("JSON");
    let members = surroundings.members().unwrap_or_default().iter();
    let members = members.map(|member| (member.key.as_str(), member.value.clone()));
    Case::read(&Json::object(members.chain([("program", Json::str(program))]))).expect("a case")
}

/// All outputs of a run, and its steps.
fn outputs(program: &str, workers: u64, seed: u64) -> String {
    let case = case(program, workers);
    let outcome = run(&case.input(), &JitteryHost { case: &case, state: AtomicU64::new(seed) });
    format!("{} {} {:?}", case.record(&outcome).to_text(), outcome.usage.steps, outcome.memory)
}

#[test]
fn repeated_runs_leave_the_same_bytes() {
    for program in PROGRAMS {
        let first = outputs(program, 8, 0);
        for seed in 1..runs() {
            assert_eq!(outputs(program, 8, seed), first, "{program}");
        }
    }
}

#[test]
fn one_thread_leaves_what_eight_leave() {
    for program in PROGRAMS {
        let first = outputs(program, 1, 0);
        for (workers, seed) in (2..=8).zip(1..) {
            assert_eq!(outputs(program, workers, seed), first, "{workers} workers: {program}");
        }
    }
}
