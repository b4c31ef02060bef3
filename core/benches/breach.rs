//! Measures how fast programs end once they must:
//! `cargo bench -p ptc-core --bench breach -- hostile|long [MILLISECONDS] [TEXT|PROGRAM…]`. `hostile` runs each program of
//! the hostile set with this deadline and no limit on steps; `long` stops each long builtin in the middle of its call, at
//! several points of its running time. TEXT selects programs that contain it; a word that begins with `(` is a program.
//!
//! Out: the longest time between two checks of the limits by the machine; the time from the check that ends the program
//! until it has ended and everything is dropped (both as processor time of the thread); the elapsed time; and the bytes
//! that are still allocated afterwards. A cancellation between two checks takes effect after the sum of the first two.

#![expect(clippy::print_stdout, reason = "it prints its figures")]

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use ptc_core::heap;
use ptc_core::lisp::case::Case;
use ptc_core::lisp::{self, CallAddress, Error, Failure, Host, Stack};
use ptc_core::reasons::Reason;
use ptc_core::value::{Bounds, Json, Value, json};

#[global_allocator]
static ALLOCATOR: ptc_core::CountingAllocator = ptc_core::CountingAllocator;

const HOSTILE: &str = include_str!("../src/lisp/machine/tests/hostile.clj");
const LONG: &str = include_str!("../src/lisp/machine/tests/long.clj");
/// The bound that the language promises.
const MOST: Duration = Duration::from_millis(50);
/// Memory limit of a long builtin: high enough that time ends it, not memory.
const LONG_OPTIONS: &str = r#"{"max_memory_bytes": 500000000}"#;
/// Points at which a long builtin is stopped, in percent of its running time.
const PARTS: &[u32] = &[20, 50, 80, 95];

/// The processor time of this thread, which excludes other processes; the elapsed time where the kernel does not report
/// it.
fn computed(started: Instant) -> Duration {
    let known = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let known = known.and_then(|text| text.split(' ').next()?.parse().ok());
    known.map_or_else(|| started.elapsed(), Duration::from_nanos)
}

/// The last check of each thread, and the longest time between two checks.
#[derive(Default)]
struct Looks {
    last: HashMap<ThreadId, Duration>,
    longest: Duration,
    /// Processor time of the program's own thread when it had to end.
    over: Option<Duration>,
}

struct Surroundings<'c> {
    case: &'c Case,
    own: ThreadId,
    started: Instant,
    deadline: Instant,
    looks: Mutex<Looks>,
}

impl Host for Surroundings<'_> {
    fn call(&self, _: &CallAddress, tool: &str, args: &Value) -> Result<Value, Failure> {
        self.case.answer(tool, args)
    }

    fn interrupt(&self) -> Option<Error> {
        let (now, computed, thread) = (Instant::now(), computed(self.started), thread::current().id());
        let mut looks = self.looks.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(last) = looks.last.insert(thread, computed) {
            looks.longest = looks.longest.max(computed.saturating_sub(last));
        }
        (now > self.deadline).then(|| {
            if thread == self.own {
                looks.over.get_or_insert(computed);
            }
            Error::new(Reason::Timeout, "out of time")
        })
    }

    fn now_ms(&self) -> i64 {
        0
    }
}

/// The measurements of a run.
struct Measured {
    shown: String,
    gap: Duration,
    end: Duration,
    all: Duration,
    left: i64,
}

fn measure(case: &Case, limit: Duration, stack: &Stack) -> Measured {
    let before = heap::live();
    let started = Instant::now();
    let own = thread::current().id();
    let host = Surroundings { case, own, started, deadline: started + limit, looks: Mutex::default() };
    let outcome = lisp::run_on(&case.input(), &host, stack);
    let (all, ended) = (started.elapsed(), computed(started));
    let shown = match &outcome.result {
        Ok((_, value)) => value.print(Bounds { items: Some(3), chars: Some(40) }).text,
        Err(error) => error.reason.name().to_owned(),
    };
    let shown_at = computed(started);
    drop(outcome);
    let dropped = ended + computed(started).saturating_sub(shown_at);
    let looks = host.looks.into_inner().unwrap_or_else(PoisonError::into_inner);
    let last_gap = looks.last.get(&own).map_or(Duration::ZERO, |last| ended.saturating_sub(*last));
    let end = looks.over.map_or(Duration::ZERO, |over| dropped.saturating_sub(over));
    let gap = looks.longest.max(if looks.over.is_some() { Duration::ZERO } else { last_gap });
    drop(looks.last);
    Measured { shown, gap, end, all, left: heap::live() - before }
}

fn case(program: &str, options: &str) -> Option<Case> {
    let options = json::parse(options).unwrap_or_default();
    let options = options.members().unwrap_or_default().iter().filter(|option| option.key != "max_steps");
    let members = [
        ("program", Json::str(program)),
        ("tools", Json::object([("echo", Json::str("echo"))])),
        ("journal", json::parse("{}").unwrap_or_default()),
        ("opts", Json::object(options.map(|option| (option.key.as_str(), option.value.clone())))),
    ];
    Case::read(&Json::object(members)).ok()
}

/// Prints a line about a run; true if it took longer than promised.
fn report(measured: &Measured, expected: Option<&str>, about: &str) -> bool {
    let Measured { shown, gap, end, all, left } = measured;
    let is_late = *gap + *end > MOST;
    let ms = |time: &Duration| time.as_secs_f64() * 1e3;
    println!(
        "{:7.1} {:7.1} {:7.1} {left:9}  {shown:.40} {}{}{}",
        ms(gap),
        ms(end),
        ms(all),
        if is_late { "LATE " } else { "" },
        if expected.is_some_and(|expected| expected != shown) { "UNEXPECTED " } else { "" },
        about.lines().next().unwrap_or_default().chars().take(110).collect::<String>()
    );
    is_late
}

/// Runs a program of the hostile set: it must end with the expected result, at the latest by the deadline.
fn hostile(header: &str, program: &str, limit: Duration, stack: &Stack) -> Option<bool> {
    let mut parts = header.splitn(3, '|').map(str::trim);
    let (expected, _, options) = (parts.next(), parts.next(), parts.next().unwrap_or("{}"));
    let case = case(program, options)?;
    Some(report(&measure(&case, limit, stack), expected, program))
}

/// Runs a long builtin: first whole, or up to the limit; then stopped at each point of that time. The worst run counts.
fn long(header: &str, program: &str, limit: Duration, stack: &Stack) -> Option<bool> {
    let case = case(program, LONG_OPTIONS)?;
    let mut worst = measure(&case, limit, stack);
    let expected = (worst.shown == "timeout").then_some("timeout");
    let all = worst.all.min(limit);
    for part in PARTS {
        let next = measure(&case, all * *part / 100, stack);
        worst.gap = worst.gap.max(next.gap);
        worst.end = worst.end.max(next.end);
        worst.left = worst.left.max(next.left);
    }
    Some(report(&worst, expected, header))
}

type Trial = fn(&str, &str, Duration, &Stack) -> Option<bool>;

fn main() {
    // `cargo bench` adds `--bench`.
    let mut args = std::env::args().skip(1).filter(|word| word != "--bench").peekable();
    let (programs, trial, usual_ms): (_, Trial, _) = match args.next().as_deref() {
        Some("hostile") => (HOSTILE, hostile, 200),
        Some("long") => (LONG, long, 2_000),
        _ => {
            println!("usage: breach hostile|long [MILLISECONDS] [TEXT...]");
            return;
        }
    };
    let limit = args.next_if(|word| word.parse::<u64>().is_ok()).and_then(|word| word.parse().ok());
    let limit = Duration::from_millis(limit.unwrap_or(usual_ms));
    let (own, wanted): (Vec<String>, Vec<String>) = args.partition(|word| word.starts_with('('));
    let blocks = programs.split("\n\n").skip(1).filter_map(|block| block.split_once('\n'));
    let blocks = blocks.filter(|(header, program)| {
        let holds = |text: &String| program.contains(text.as_str()) || header.contains(text.as_str());
        if wanted.is_empty() { own.is_empty() } else { wanted.iter().any(holds) }
    });
    let own = own.iter().map(|program| (program.as_str(), program.as_str()));
    let blocks: Vec<(&str, &str)> = blocks.chain(own).collect();
    let mut late = 0;
    let done = Stack::with(|stack| {
        println!("{:>7} {:>7} {:>7} {:>9}  reason", "gap ms", "end ms", "all ms", "left B");
        for (header, program) in blocks {
            let header = header.trim_start_matches([';', ' ']);
            late += u32::from(trial(header, program, limit, stack).unwrap_or(true));
        }
    });
    println!("{late} later than {} ms; {}", MOST.as_millis(), if done.is_ok() { "healthy" } else { "broken off" });
}
