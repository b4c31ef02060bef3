//! Whatever the program: it ends in time, within its limits, the same way each time, and in the language's own words.

use std::time::{Duration, Instant};

use ptc_core::lisp::case::Case;
use ptc_core::lisp::{self, CallAddress, Error, Failure, Host, Outcome};
use ptc_core::reasons::Reason;
use ptc_core::value::{Json, Value, json};

use super::generate::{Random, mutated, program};
use super::suite::{Check, checks};

/// Programs of each kind; with `PTC_LONG_TESTS=1` fifty times as many.
const PROGRAMS: u64 = 1_500;
const LONG: u64 = 50;

/// Everything but the program.
const SURROUNDINGS: &str = r#"{
    "context": {"n": null, "xs": [1, 2, 3], "m": {"a": 1, "b-c": {"d": 2}}, "s": "héllo", "rows": [{"a": 1, "b": "x"}, {"a": null}]},
    "memory": {"kept": [1]},
    "turn_history": [7],
    "tools": {"echo": "echo", "bad": {"error": "no"}},
    "opts": {
        "max_steps": 300000, "max_memory_bytes": 4000000, "max_depth": 500, "max_print_length": 500, "max_symbols": 2000,
        "max_tool_calls": 20, "max_parallel_workers": 2
    }
}"#;
const STEPS: u64 = 300_000;
const MEMORY_BYTES: u64 = 4_000_000;
/// Bytes that may be made between two looks at the memory.
const UNSEEN_BYTES: u64 = 2_000_000;
/// A program may compute this long, and has this long to notice that it must end.
const TIME: Duration = Duration::from_secs(2);
const NOTICE: Duration = Duration::from_secs(2);

/// Words that belong to our own machinery.
const INTERNAL: &[&str] =
    &["panicked", "unwrap", "invariant", "RefCell", "Option::", "Arc<", "core/src", "None value", "ptc_core"];

struct Surroundings<'c> {
    case: &'c Case,
    deadline: Instant,
}

impl Host for Surroundings<'_> {
    fn call(&self, _: &CallAddress, tool: &str, args: &Value) -> Result<Value, Failure> {
        self.case.answer(tool, args)
    }

    fn interrupt(&self) -> Option<Error> {
        (Instant::now() > self.deadline).then(|| Error::new(Reason::Timeout, "out of time"))
    }

    fn now_ms(&self) -> i64 {
        1_700_000_000_000
    }
}

fn case(program: &str) -> Case {
    let surroundings = json::parse(SURROUNDINGS).expect("JSON");
    let members = surroundings.members().unwrap_or_default().iter();
    let members = members.map(|member| (member.key.as_str(), member.value.clone()));
    Case::read(&Json::object(members.chain([("program", Json::str(program))]))).expect("a case")
}

fn run(case: &Case) -> Outcome {
    lisp::run(&case.input(), &Surroundings { case, deadline: Instant::now() + TIME })
}

/// Runs a program twice and reports what it must not do.
fn offence(program: &str) -> Option<String> {
    let case = case(program);
    let started = Instant::now();
    let outcome = run(&case);
    let time = started.elapsed();
    let reason = outcome.result.as_ref().err().map(|error| error.reason);
    if reason == Some(Reason::InternalError) {
        return Some("it panics".to_owned());
    }
    if time > TIME + NOTICE {
        return Some(format!("it took {time:?}"));
    }
    let usage = outcome.usage;
    if usage.bytes > MEMORY_BYTES + UNSEEN_BYTES && reason != Some(Reason::MemoryExceeded) {
        return Some(format!("it held {} bytes", usage.bytes));
    }
    if usage.steps > STEPS && reason != Some(Reason::Timeout) {
        return Some(format!("it took {} steps", usage.steps));
    }
    if let Err(error) = &outcome.result {
        let message = error.message();
        if let Some(word) = INTERNAL.iter().find(|word| message.contains(**word)) {
            return Some(format!("its error says {word:?}: {message}"));
        }
        if error.span.is_some_and(|span| span.start > program.len() || span.end < span.start) {
            return Some("its error lies outside of the text".to_owned());
        }
    }
    let record = case.record(&outcome).to_text();
    let again = case.record(&run(&case)).to_text();
    (time < TIME / 2 && record != again).then(|| format!("it gives {record} and then {again}"))
}

/// Fails with all programs that offend, the seed first.
fn none_offends(programs: impl Fn(&mut Random) -> String + Sync) {
    let count = if crate::is_long() { PROGRAMS * LONG } else { PROGRAMS };
    let offences = |seeds: std::ops::Range<u64>| {
        let one = |seed| {
            let program = programs(&mut Random(seed));
            offence(&program).map(|offence| format!("seed {seed}: {offence}\n{program}\n"))
        };
        seeds.filter_map(one).take(5).collect::<Vec<_>>()
    };
    let found = std::thread::scope(|scope| {
        let half = scope.spawn(|| offences(0..count / 2));
        let mut found = offences(count / 2..count);
        found.extend(half.join().expect("the thread ends"));
        found
    });
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn generated_programs_keep_to_the_rules() {
    none_offends(program);
}

#[test]
fn damaged_programs_keep_to_the_rules() {
    let checks = checks();
    let texts: Vec<&str> = checks.iter().map(Check::program).collect();
    none_offends(|random| {
        let (text, other) = (random.pick(&texts), random.pick(&texts));
        mutated(text, other, random)
    });
}
