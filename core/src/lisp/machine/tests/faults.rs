//! A panic of the host ends its program only: finished work is kept, memory is unchanged, and the next program runs on
//! the same stack.

use std::panic::resume_unwind;

use crate::heap;
use crate::lisp::case::Case;
use crate::lisp::{CallAddress, Error, Failure, Host, Outcome, Stack, run_on};
use crate::reasons::Reason;
use crate::value::{Json, Value, json};

/// A host that panics in its tool `breaks`, and when its clock is read.
struct PanickingHost;

impl Host for PanickingHost {
    fn call(&self, _: &CallAddress, tool: &str, args: &Value) -> Result<Value, Failure> {
        if tool == "breaks" { broken() } else { Ok(args.clone()) }
    }

    fn interrupt(&self) -> Option<Error> {
        None
    }

    fn now_ms(&self) -> i64 {
        broken()
    }
}

/// Panics without printing a report.
fn broken() -> ! {
    resume_unwind(Box::new("as planned"))
}

fn run(program: &str, workers: u64, stack: &Stack) -> Outcome {
    let members = [
        ("program", Json::str(program)),
        ("memory", json::parse(r#"{"kept": 1}"#).expect("JSON")),
        ("tools", json::parse(r#"{"echo": "echo", "breaks": "echo"}"#).expect("JSON")),
        ("opts", json::parse(&format!(r#"{{"max_parallel_workers": {workers}}}"#)).expect("JSON")),
    ];
    let case = Case::read(&Json::object(members)).expect("a case");
    let outcome = run_on(&case.input(), &PanickingHost, stack);
    assert_eq!(outcome.memory, *case.input().memory, "{program}");
    outcome
}

/// The error of a program that first prints and calls a tool; also checks that the next program succeeds.
fn ended(program: &str, workers: u64) -> (Reason, String) {
    let program = format!("(def kept 2) (println \"seen\") (tool/echo {{:a 1}}) {program}");
    let ended = Stack::with(|stack| {
        let before = heap::live();
        let outcome = run(&program, workers, stack);
        assert_eq!(outcome.prints, ["seen"]);
        assert_eq!(outcome.calls[0].args.to_string(), "{\"a\" 1}");
        let error = outcome.result.clone().expect_err("it breaks off");
        drop(outcome);
        let healthy = run("(reduce + (pmap inc (range 100)))", workers, stack).result.map(|(_, value)| value);
        assert_eq!(healthy, Ok(Value::Int(5050)));
        assert!(heap::live() - before < 100_000, "{} bytes stay behind", heap::live() - before);
        (error.reason, error.message())
    });
    ended.expect("the stack holds")
}

#[test]
fn a_tool_that_breaks_off_has_failed() {
    let expected = |at: &str| format!("{at}tool/breaks: the tool failed: it panicked");
    assert_eq!(ended("(tool/breaks {})", 8), (Reason::ToolError, expected("")));
    for workers in [1, 8] {
        let branches = "(pmap (fn [x] (if (= x 3) (tool/breaks {}) (range 10000))) (range 8))";
        assert_eq!(ended(branches, workers), (Reason::PmapError, expected("pmap: branch 4: ")));
        let branches = "(pcalls (fn [] (tool/breaks {})) (fn [] (tool/breaks {})))";
        assert_eq!(ended(branches, workers), (Reason::PcallsError, expected("pcalls: branch 1: ")));
    }
}

#[test]
fn a_fault_ends_the_program_and_nothing_else() {
    let expected = (Reason::InternalError, "the interpreter panicked".to_owned());
    assert_eq!(ended("(map (fn [x] (java.util.Date.)) [1 2 3])", 8).0, expected.0);
    for workers in [1, 8] {
        for program in [
            "(pmap (fn [x] (if (= x 3) (java.util.Date.) (range 10000))) (range 8))",
            "(pmap (fn [x] (pmap (fn [y] (java.util.Date.)) (range 8))) (range 8))",
            "(pcalls (fn [] (java.util.Date.)))",
        ] {
            assert_eq!(ended(program, workers).0, expected.0, "{program}");
        }
    }
}
