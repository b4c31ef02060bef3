//! `lisp bench`: how long a full run of a program takes, warm, in this process. The data is loaded before; limits are
//! raised so far that they do not end it.

use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use ptc_core::lisp::Limits;
use ptc_core::lisp::{Error, Input, Stack};
use ptc_core::value::Value;
use serde::Serialize;

use super::input::{compile_timeout_ms, data, program};
use super::snippet;
use crate::cli::arguments::lisp::LispBenchFlags;
use crate::cli::output::{UsageError, exit, print_json, print_line, print_note};
use crate::port::SystemClock;
use crate::program::{NoTools, ProgramSettings, run_on};

/// Durations of the runs before measuring, and of those that are measured.
const WARM_UP: Duration = Duration::from_millis(200);
const MEASURED: Duration = Duration::from_millis(800);
/// Runs that are measured at least and at most.
const RUNS: std::ops::RangeInclusive<usize> = 5..=20_000;

/// Output of `--json`.
#[derive(Serialize)]
struct BenchJson {
    min_ms: f64,
    median_ms: f64,
    runs: usize,
}

pub(super) fn bench(flags: &LispBenchFlags) -> Result<u8, UsageError> {
    let (name, source) = program(&flags.file)?;
    let context = data(flags.context.as_deref())?.to_value();
    let times = Stack::with(|stack| measure(&source, &context, stack)).and_then(|times| times);
    let mut times = match times {
        Ok(times) => times,
        Err(error) => {
            print_note(&snippet::render(&error, &source, &name));
            return Ok(exit::FAILED);
        }
    };
    times.sort_unstable();
    let (min, median) =
        (times.first().copied().unwrap_or_default(), times.get(times.len() / 2).copied().unwrap_or_default());
    if flags.json {
        print_json(&BenchJson { min_ms: milliseconds(min), median_ms: milliseconds(median), runs: times.len() });
    } else {
        print_line(&format!(
            "min_ms    {:.4}\nmedian_ms {:.4}\nruns      {}",
            milliseconds(min),
            milliseconds(median),
            times.len()
        ));
    }
    Ok(exit::OK)
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1_000.0
}

fn measure(source: &str, context: &Value, stack: &Stack) -> Result<Vec<Duration>, Error> {
    let limits = Limits {
        steps: u64::MAX,
        memory_bytes: u64::MAX,
        loop_jumps: u64::MAX,
        program_bytes: u64::MAX,
        symbols: u64::MAX,
        ..Limits::default()
    };
    let input = Input { context, ..Input::new(source, &limits) };
    let stop = AtomicBool::new(false);
    let settings = ProgramSettings {
        tools: &NoTools,
        timeout_ms: u64::MAX,
        compile_timeout_ms: compile_timeout_ms(),
        now_ms: SystemClock.now(),
        stop: &stop,
    };
    let once = || {
        let started = Instant::now();
        let outcome = run_on(&input, &settings, stack);
        let time = started.elapsed();
        outcome.result.map(|_| time)
    };
    let started = Instant::now();
    while started.elapsed() < WARM_UP {
        once()?;
    }
    let mut times = Vec::new();
    let started = Instant::now();
    while times.len() < *RUNS.start() || (started.elapsed() < MEASURED && times.len() < *RUNS.end()) {
        times.push(once()?);
    }
    Ok(times)
}
