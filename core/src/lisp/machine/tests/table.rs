//! Rows of the table of limits for programs: a program that exceeds one gets the row's reason, and a message with the
//! row's value, its meaning, and what to do instead.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::limits::{
    FORM_NESTING, INTEGER_BITS, INTEGER_DIGITS, LOOP_JUMPS, Limit, PARALLEL_TIMEOUT, PROGRAM_BYTES, PROGRAM_DEPTH,
    PROGRAM_MEMORY, PROGRAM_NESTING, PROGRAM_STEPS, PROGRAM_SYMBOLS, REGEX_BYTES, REGEX_INPUT, REGEX_STEPS, TOOL_CALLS,
};
use crate::lisp::case::Case;
use crate::lisp::{CallAddress, Error, Failure, Host, run};
use crate::reasons::Reason;
use crate::value::{Json, Value, json};

/// A host whose clock advances by a millisecond per reading.
struct TickingHost<'c>(&'c Case, AtomicU64);

impl Host for TickingHost<'_> {
    fn call(&self, _: &CallAddress, tool: &str, args: &Value) -> Result<Value, Failure> {
        self.0.answer(tool, args)
    }

    fn interrupt(&self) -> Option<Error> {
        None
    }

    fn now_ms(&self) -> i64 {
        0
    }

    fn elapsed_ms(&self) -> u64 {
        self.1.fetch_add(1, Ordering::Relaxed)
    }
}

fn ended(program: &str, options: &str) -> Result<Value, Error> {
    let members = [
        ("program", Json::str(program)),
        ("tools", json::parse(r#"{"echo": "echo"}"#).expect("JSON")),
        ("opts", json::parse(options).expect("JSON")),
    ];
    let case = Case::read(&Json::object(members)).expect("a case");
    run(&case.input(), &TickingHost(&case, AtomicU64::new(0))).result.map(|(_, value)| value)
}

#[test]
fn the_error_of_an_exceeded_limit_names_its_value() {
    let nested = format!("{}{}", "[".repeat(70), "]".repeat(70));
    let threaded = format!("(-> 1 {})", "inc ".repeat(600));
    let long = "9".repeat(101);
    let cases: &[(Limit, &str, &str, &str, &str)] = &[
        (PROGRAM_STEPS, "(reduce + (range 100000))", r#"{"max_steps": 5000}"#, "5000", "steps"),
        (PROGRAM_MEMORY, "(vec (range 100000))", r#"{"max_memory_bytes": 100000}"#, "100000", "bytes"),
        (PROGRAM_DEPTH, "(defn f [n] (inc (f n))) (f 1)", r#"{"max_depth": 50}"#, "50", "calls"),
        (LOOP_JUMPS, "(loop [] (recur))", r#"{"loop_limit": 70}"#, "70", "jumped"),
        (PROGRAM_BYTES, "[1 2 3 4 5]", r#"{"max_program_bytes": 7}"#, "7", "bytes"),
        (PROGRAM_SYMBOLS, "[:a :b :c :d]", r#"{"max_symbols": 3}"#, "3", "symbols"),
        (TOOL_CALLS, "(tool/echo {}) (tool/echo {})", r#"{"max_tool_calls": 1}"#, "1", "tool calls"),
        (
            PARALLEL_TIMEOUT,
            "(pmap (fn [x] (reduce + (range 100000))) [1 2])",
            r#"{"pmap_timeout": 5}"#,
            "5 ms",
            "parallel",
        ),
        (PROGRAM_NESTING, &nested, "{}", "64", "brackets"),
        (FORM_NESTING, &threaded, "{}", "512", "forms"),
        (INTEGER_DIGITS, &long, "{}", "100", "digits"),
        (INTEGER_BITS, "(reduce (fn [a i] (* a a)) 3 (range 60))", "{}", "300000", "bits"),
        (REGEX_BYTES, "(re-pattern (apply str (repeat 300 \"a\")))", "{}", "256", "regex"),
        (REGEX_STEPS, "(re-find #\"(a*)*b\" (apply str (repeat 30000 \"a\")))", "{}", "100000", "regex"),
    ];
    for (limit, program, options, value, what) in cases {
        let error = ended(program, options).expect_err(limit.name);
        assert_eq!(error.reason, limit.reason, "{}: {}", limit.name, error.message());
        let problem = error.problem.replace([',', '_'], "");
        assert!(problem.contains(value) && problem.contains(what), "{}: {}", limit.name, error.message());
        assert!(error.hint.is_some(), "{}: {} and what instead?", limit.name, error.message());
    }
}

#[test]
fn a_regex_does_not_look_beyond_its_part_of_a_text() {
    let found = |before: u64| ended(&format!("(re-find #\"b\" (str (apply str (repeat {before} \"a\")) \"b\"))"), "{}");
    assert_eq!(found(REGEX_INPUT.max - 1), Ok(Value::str("b")));
    assert_eq!(found(REGEX_INPUT.max), Ok(Value::Nil));
}

#[test]
fn a_program_that_needs_too_much_memory_before_it_runs_is_refused() {
    let program = format!("[{}]", "1 ".repeat(5_000));
    let error = ended(&program, r#"{"max_memory_bytes": 1000}"#).expect_err("it is refused");
    assert_eq!(error.reason, Reason::CompileMemoryExceeded, "{}", error.message());
    assert!(error.message().contains("4000"), "{}", error.message());
}
