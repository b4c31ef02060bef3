//! The conformance suite: cases and probes with what the reference gave, run and compared.
//!
//! In: `cases.jsonl`, `probes.txt` and `neighbours.txt`. Out: [`Finding`]s, one for each result that is not the expected one. Shared by the
//! integration tests and by the quick runner `core/examples/conform.rs`, so it knows nothing but the core.

mod compare;
mod probes;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use ptc_core::lisp::case::Case;
use ptc_core::lisp::{self, CallAddress, Error, Failure, Host};
use ptc_core::reasons::Reason;
use ptc_core::value::{Json, Value, json};

use compare::{same_json, same_text};

/// A program with everything it runs on, and what should come of it.
pub(crate) struct Check {
    /// The case's id; `p` and the line for a probe, `n` and the line for a neighbour.
    pub(crate) id: String,
    /// The function or area.
    pub(crate) category: String,
    /// The program with its input.
    pub(crate) case: Json,
    expected: Expected,
}

enum Expected {
    /// A record with `ok: true`.
    Record(Json),
    /// An error of this name.
    Reason(String),
}

/// A result that is not the expected one.
#[derive(Debug)]
pub(crate) struct Finding {
    pub(crate) id: String,
    pub(crate) category: String,
    pub(crate) program: String,
    pub(crate) expected: String,
    pub(crate) got: String,
}

/// Fields whose values are text in readable form; the rest is compared as JSON.
const READABLE: &[&str] = &["prn", "memory_out"];
/// Everything that is compared when a program succeeds. What a record leaves out is empty.
const COMPARED: &[&str] = &["value", "prn", "signal", "prints", "memory_out", "journal_out", "summaries", "tool_calls"];

/// All cases, probes and neighbours.
pub(crate) fn checks() -> Vec<Check> {
    let cases = include_str!("../cases.jsonl").lines().map(|line| {
        let case = json::parse(line).expect("a case is one line of JSON");
        let text = |key: &str| case.get(key).and_then(Json::as_str).map(str::to_owned);
        let expected = match text("reason") {
            Some(reason) => Expected::Reason(reason),
            None => Expected::Record(case.clone()),
        };
        Check { id: text("id").unwrap_or_default(), category: text("category").unwrap_or_default(), case, expected }
    });
    let probes = probes::probes(include_str!("../probes.txt"), "p");
    cases.chain(probes).chain(probes::probes(include_str!("../neighbours.txt"), "n")).collect()
}

/// Runs all checks on `threads` threads and returns what differs, in their order.
pub(crate) fn differing(checks: &[Check], threads: usize) -> Vec<Finding> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut found = Vec::new();
        while let Some((at, check)) =
            Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|at| Some((at, checks.get(at)?)))
        {
            found.extend(check.differs().map(|finding| (at, finding)));
        }
        found
    };
    let mut found: Vec<(usize, Finding)> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads.max(1)).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().expect("no run panics")).collect()
    });
    found.sort_by_key(|(at, _)| *at);
    found.into_iter().map(|(_, finding)| finding).collect()
}

impl Check {
    /// The program's text.
    pub(crate) fn program(&self) -> &str {
        self.case.get("program").and_then(Json::as_str).unwrap_or_default()
    }

    /// Returns whether our run of it ends without an error.
    #[cfg(test)]
    pub(crate) fn ends_well(&self) -> bool {
        record(&self.case).get("reason").is_none()
    }

    /// The findings about its text before it is run.
    #[cfg(test)]
    pub(crate) fn surveyed(&self) -> lisp::Survey {
        Case::read(&in_reference(&self.case)).map(|case| lisp::survey(&case.input())).unwrap_or_default()
    }

    /// Runs it and reports what is not as expected.
    fn differs(&self) -> Option<Finding> {
        let got = record(&self.case);
        let reason = got.get("reason").and_then(Json::as_str);
        let (expected, got) = match (&self.expected, reason) {
            (Expected::Reason(expected), Some(reason)) if expected == reason => return None,
            (Expected::Reason(expected), _) => (format!("!{expected}"), shown(&got)),
            (Expected::Record(expected), Some(_)) => (shown(expected), shown(&got)),
            (Expected::Record(expected), None) => {
                let part = COMPARED.iter().find(|part| !same_part(part, expected, &got))?;
                let text = |record: &Json| match *part {
                    "prn" => shown(record),
                    part => format!("{part}={}", record.get(part).map_or("-".to_owned(), Json::to_text)),
                };
                (text(expected), text(&got))
            }
        };
        let (id, category) = (self.id.clone(), self.category.clone());
        Some(Finding { id, category, program: self.program().to_owned(), expected, got })
    }
}

/// A part that was not recorded for the expected result is not compared (values of probes); an absent one is empty.
fn same_part(part: &str, expected: &Json, got: &Json) -> bool {
    let readable = READABLE.contains(&part);
    let same = |expected: &Json, got: &Json| match (expected.as_str(), got.as_str()) {
        (Some(expected), Some(got)) if readable => same_text(expected, got),
        _ => same_json(expected, got),
    };
    match (expected.get(part), got.get(part)) {
        (Some(expected), Some(got)) => match (expected.members(), got.members()) {
            (Some(one), Some(other)) if readable => {
                let found = |key: &str, value: &Json| got.get(key).is_some_and(|got| same(value, got));
                one.len() == other.len() && one.iter().all(|member| found(&member.key, &member.value))
            }
            _ => same(expected, got),
        },
        (None, None) => true,
        (None, Some(_)) => part == "value",
        (Some(expected), None) => expected.members().is_some_and(<[_]>::is_empty),
    }
}

fn shown(record: &Json) -> String {
    let text = |key: &str| record.get(key).and_then(Json::as_str);
    match (text("reason"), text("prn")) {
        (Some(reason), _) => format!("!{reason} {}", text("message").unwrap_or_default()).trim_end().to_owned(),
        (None, Some(prn)) => prn.to_owned(),
        (None, None) => record.to_text(),
    }
}

/// The case in the dialect `reference`, unless it names one.
fn in_reference(case: &Json) -> Json {
    let options = case.get("opts").cloned().unwrap_or_else(Json::empty);
    if options.get("dialect").is_some() {
        return case.clone();
    }
    case.clone().with("opts", options.with("dialect", Json::str("reference")))
}

/// Runs a case as the suite does and returns its record.
pub(crate) fn record(case: &Json) -> Json {
    record_in_default(&in_reference(case))
}

/// Runs a case in the dialect it names, or in the default one.
pub(crate) fn record_in_default(case: &Json) -> Json {
    match Case::read(case) {
        Err(error) => Case::refusal(Json::default(), &error),
        Ok(case) => {
            let host = Tools { case: &case, deadline: Instant::now() + USUAL_TIME };
            case.record(&lisp::run(&case.input(), &host))
        }
    }
}

/// Time limit of a program of the suite.
const USUAL_TIME: Duration = Duration::from_secs(5);

/// The tools of a case, and a deadline.
struct Tools<'c> {
    case: &'c Case,
    deadline: Instant,
}

impl Host for Tools<'_> {
    fn call(&self, _: &CallAddress, tool: &str, args: &Value) -> Result<Value, Failure> {
        self.case.answer(tool, args)
    }

    fn interrupt(&self) -> Option<Error> {
        (Instant::now() > self.deadline).then(|| Error::new(Reason::Timeout, "the program computed too long"))
    }

    fn now_ms(&self) -> i64 {
        1_700_000_000_000
    }
}
