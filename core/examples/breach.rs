//! How soon hostile programs are noticed: `breach [MILLISECONDS] [TEXT…]` runs each program of the hostile set with this
//! deadline and no limit on steps, and prints the longest time between two looks of the machine at its limits, the time
//! from the first look that ends the program to its outcome, and the bytes that stay behind when all is dropped.

#![expect(clippy::print_stdout, reason = "it reports to whoever called it")]

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use ptc_core::heap;
use ptc_core::lisp::case::Case;
use ptc_core::lisp::{self, CallAddress, Error, Failure, Host, Stack};
use ptc_core::reasons::Reason;
use ptc_core::value::{Bounds, Json, Value, json};

const PROGRAMS: &str = include_str!("../src/lisp/machine/tests/hostile.clj");
/// What the language promises.
const MOST: Duration = Duration::from_millis(50);

/// What this thread has computed. The kernel knows, other processes do not count; elsewhere it is the time that passed.
fn computed(started: Instant) -> Duration {
    let known = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let known = known.and_then(|text| text.split(' ').next()?.parse().ok());
    known.map_or_else(|| started.elapsed(), Duration::from_nanos)
}

/// When each thread last looked, and the longest time between two looks.
#[derive(Default)]
struct Looks {
    last: HashMap<ThreadId, Duration>,
    longest: Duration,
    /// What this thread had computed when it was told to end.
    over: Option<Duration>,
}

struct Surroundings<'c> {
    case: &'c Case,
    started: Instant,
    deadline: Instant,
    looks: Mutex<Looks>,
}

impl Host for Surroundings<'_> {
    fn call(&self, _: &CallAddress, tool: &str, args: &Value) -> Result<Value, Failure> {
        self.case.answer(tool, args)
    }

    fn interrupt(&self) -> Option<Error> {
        let (now, computed) = (Instant::now(), computed(self.started));
        let mut looks = self.looks.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(last) = looks.last.insert(thread::current().id(), computed) {
            looks.longest = looks.longest.max(computed.saturating_sub(last));
        }
        (now > self.deadline).then(|| {
            looks.over.get_or_insert(computed);
            Error::new(Reason::Timeout, "out of time")
        })
    }

    fn now_ms(&self) -> i64 {
        0
    }
}

fn main() {
    let mut args = std::env::args().skip(1).peekable();
    let limit = args.next_if(|word| word.parse::<u64>().is_ok()).and_then(|word| word.parse().ok()).unwrap_or(200);
    let wanted: Vec<String> = args.collect();
    let mut late = 0;
    let done = Stack::with(|stack| {
        println!("{:>7} {:>7} {:>7} {:>9}  reason", "gap ms", "end ms", "all ms", "left B");
        for block in PROGRAMS.split("\n\n").skip(1) {
            let Some((header, program)) = block.split_once('\n') else { continue };
            if !wanted.is_empty() && !wanted.iter().any(|text| program.contains(text.as_str())) {
                continue;
            }
            let mut parts = header.trim_start_matches([';', ' ']).splitn(3, '|').map(str::trim);
            let (expected, _, options) = (parts.next(), parts.next(), parts.next().unwrap_or("{}"));
            let options = json::parse(options).unwrap_or_default();
            let options = options.members().unwrap_or_default().iter().filter(|option| option.key != "max_steps");
            let members = [
                ("program", Json::str(program)),
                ("tools", Json::object([("echo", Json::str("echo"))])),
                ("journal", json::parse("{}").unwrap_or_default()),
                ("opts", Json::object(options.map(|option| (option.key.as_str(), option.value.clone())))),
            ];
            let Ok(case) = Case::read(&Json::object(members)) else { continue };
            let before = heap::live();
            let started = Instant::now();
            let deadline = started + Duration::from_millis(limit);
            let host = Surroundings { case: &case, started, deadline, looks: Mutex::default() };
            let outcome = lisp::run_on(&case.input(), &host, stack);
            let (all, ended) = (started.elapsed(), computed(started));
            let shown = match &outcome.result {
                Ok((_, value)) => value.print(Bounds { items: Some(3), chars: Some(40) }).text,
                Err(error) => error.reason.name().to_owned(),
            };
            drop(outcome);
            let looks = host.looks.into_inner().unwrap_or_else(PoisonError::into_inner);
            let gap = looks
                .last
                .get(&thread::current().id())
                .map_or(Duration::ZERO, |last| ended.saturating_sub(*last))
                .max(looks.longest);
            let end = looks.over.map(|over| ended.saturating_sub(over)).unwrap_or_default();
            drop(looks.last);
            let left = heap::live() - before;
            let unexpected = expected != Some(shown.as_str());
            let is_late = gap > MOST || end > MOST;
            late += u32::from(is_late);
            let ms = |time: Duration| time.as_secs_f64() * 1e3;
            println!(
                "{:7.1} {:7.1} {:7.1} {left:9}  {shown:.40} {}{}{}",
                ms(gap),
                ms(end),
                ms(all),
                if is_late { "LATE " } else { "" },
                if unexpected { "UNEXPECTED " } else { "" },
                program.lines().next().unwrap_or_default().chars().take(110).collect::<String>()
            );
        }
    });
    println!("{late} later than {} ms; {}", MOST.as_millis(), if done.is_ok() { "healthy" } else { "broken off" });
}
