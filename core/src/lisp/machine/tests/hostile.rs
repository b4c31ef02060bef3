//! Programs that try to run forever, exhaust the memory or overflow the stack: each ends with its own reason and names
//! the limit, and the next program runs normally on the same stack.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::lisp::case::Case;
use crate::lisp::{CallAddress, Error, Failure, Host, Outcome, Stack, run_on};
use crate::reasons::Reason;
use crate::value::{Json, Value, json};

/// Blocks of a header and a program; the first block describes the format.
const PROGRAMS: &str = include_str!("hostile.clj");

/// Checks that a program may take in all: far more than any limit on steps of the set allows.
const MOST_LOOKS: u64 = 200_000;

struct HostileHost<'c> {
    case: &'c Case,
    looks: AtomicU64,
    stops_after: u64,
}

impl Host for HostileHost<'_> {
    fn call(&self, _: &CallAddress, tool: &str, args: &Value) -> Result<Value, Failure> {
        self.case.answer(tool, args)
    }

    fn interrupt(&self) -> Option<Error> {
        let looks = self.looks.fetch_add(1, Ordering::Relaxed);
        (looks > self.stops_after).then(|| Error::new(Reason::Cancelled, "stopped"))
    }

    fn now_ms(&self) -> i64 {
        0
    }
}

struct Hostile {
    expected: &'static str,
    words: &'static str,
    case: Case,
}

fn case(program: &str, options: &str) -> Case {
    let members = [
        ("program", Json::str(program)),
        ("tools", json::parse(r#"{"echo": "echo"}"#).unwrap_or_default()),
        ("journal", json::parse("{}").unwrap_or_default()),
        ("opts", json::parse(options).unwrap_or_default()),
    ];
    Case::read(&Json::object(members)).expect("a case")
}

fn all() -> impl Iterator<Item = Hostile> {
    PROGRAMS.trim_end().split("\n\n").skip(1).map(|block| {
        let (header, program) = block.split_once('\n').expect("a header and a program");
        let mut parts = header.trim_start_matches([';', ' ']).splitn(3, '|').map(str::trim);
        let (expected, words) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        Hostile { expected, words, case: case(program, parts.next().unwrap_or("{}")) }
    })
}

fn run(case: &Case, stack: &Stack, stops_after: u64) -> Outcome {
    run_on(&case.input(), &HostileHost { case, looks: AtomicU64::new(0), stops_after }, stack)
}

fn ended(outcome: &Outcome) -> (String, String) {
    match &outcome.result {
        Ok((_, value)) => (value.to_string(), String::new()),
        Err(error) => (error.reason.name().to_owned(), error.message()),
    }
}

#[test]
fn hostile_programs_end_with_the_limit_they_break() {
    let wrong = Stack::with(|stack| {
        let healthy = case("(+ 1 2)", "{}");
        let mut wrong = Vec::new();
        for hostile in all() {
            let outcome = run(&hostile.case, stack, MOST_LOOKS);
            let (got, message) = ended(&outcome);
            drop(outcome);
            let limit = hostile.case.input().limits.steps.to_string();
            let words = if hostile.expected == "timeout" { limit.as_str() } else { hostile.words };
            if got != hostile.expected || !message.contains(words) {
                wrong.push(format!("{got} ({message}), not {}\n{}", hostile.expected, hostile.case.program));
            }
            let after = ended(&run(&healthy, stack, MOST_LOOKS)).0;
            if after != "3" {
                wrong.push(format!("the next program gives {after} after {}", hostile.case.program));
            }
        }
        wrong
    });
    let wrong = wrong.expect("the stack holds");
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), all().count(), wrong.join("\n\n"));
}

#[test]
fn hostile_programs_can_be_stopped() {
    let wrong = Stack::with(|stack| {
        let endless = all().filter(|hostile| hostile.expected == "timeout");
        let stopped = |hostile: Hostile| {
            let got = ended(&run(&hostile.case, stack, 30)).0;
            (got != "cancelled").then(|| format!("{got}: {}", hostile.case.program))
        };
        endless.filter_map(stopped).collect::<Vec<_>>()
    });
    assert_eq!(wrong, Ok(Vec::new()));
}
