//! The sandbox under many programs: `cargo run --release --bin sandbox -- [PROGRAMS] [SEED]`.
//!
//! Runs generated programs with nested `pmap`, tools and deep data under small limits, one after the other, and prints maxima:
//! how much later than its time limit a program ended, and how much resident memory it added. It fails if a program ended more
//! than [`LATE`] after its limit or added more than the memory limit and [`MEMORY_SPARE`]. A signal ends it by itself. A program that
//! is late runs again, because other work on the machine delays it, too: its least delay counts, and of the elapsed time and the
//! computing time of the process the lesser one.

#[path = "../../tests/lisp/generate.rs"]
#[expect(dead_code, reason = "programs are generated here, not changed")]
mod generate;

// It installs the allocator that counts memory.
use ptc_fuzz as _;

use std::fs;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use generate::{Random, program};
use ptc_core::lisp::{CallAddress, Failure, Input, Limits};
use ptc_core::value::Value;
use ptc_workbench::program::{self as runner, ProgramSettings};

/// The time limit of a program in ms.
const TIMEOUT_MS: u64 = 200;
/// A program ends at most this long after its limit.
const LATE: Duration = Duration::from_millis(100);
/// Runs of a program that is late.
const RUNS: usize = 4;
/// The memory limit of a program in bytes.
const MEMORY: u64 = 10 << 20;
/// Resident memory above the limit.
const MEMORY_SPARE: u64 = 64 << 20;

/// The maxima of all programs.
#[derive(Default)]
struct Maxima {
    late: (Duration, String),
    memory: (u64, String),
}

fn main() {
    let mut numbers = std::env::args().skip(1).filter_map(|word| word.parse::<u64>().ok());
    let (programs, seed) = (numbers.next().unwrap_or(20_000), numbers.next().unwrap_or(1));
    let mut random = Random(seed);
    let mut maxima = Maxima::default();
    let mut reasons: std::collections::BTreeMap<String, u64> = std::collections::BTreeMap::new();
    let (mut beyond, mut repeated) = (0_u64, 0_u64);
    for number in 0..programs {
        let text = wrapped(&mut random);
        let before = reset_peak();
        let (reason, mut late) = timed(&text);
        let mut runs = 1;
        while late > LATE && runs < RUNS {
            late = late.min(timed(&text).1);
            runs += 1;
        }
        repeated += u64::from(runs > 1);
        let memory = peak().saturating_sub(before);
        *reasons.entry(reason).or_default() += 1;
        if late > LATE || memory > MEMORY + MEMORY_SPARE {
            beyond += 1;
            fs::create_dir_all("artifacts")
                .and_then(|()| fs::write(format!("artifacts/sandbox-{seed}-{number}.clj"), &text))
                .expect("the find is written");
            eprintln!("sandbox-{seed}-{number}: {late:?} late, {memory} bytes: {text}");
        }
        if late > maxima.late.0 {
            maxima.late = (late, text.clone());
        }
        if memory > maxima.memory.0 {
            maxima.memory = (memory, text);
        }
    }
    println!(
        "{programs} programs, seed {seed}: limit {TIMEOUT_MS} ms and {} MB; {beyond} beyond, {repeated} repeated",
        MEMORY >> 20
    );
    println!("latest: {:?} after its limit: {}", maxima.late.0, first(&maxima.late.1));
    println!("most memory: {} MB resident: {}", maxima.memory.0 >> 20, first(&maxima.memory.1));
    println!("ends: {reasons:?}");
    assert!(!reasons.contains_key("invalid_config"), "the limits were refused");
    std::process::exit(i32::from(beyond > 0));
}

/// Runs a program; returns how it ended, and how much later than its limit.
fn timed(text: &str) -> (String, Duration) {
    let (started, before) = (Instant::now(), computing());
    let reason = run(text);
    let elapsed = started.elapsed();
    let computed = computing().zip(before).map(|(now, before)| now.saturating_sub(before));
    let spent = computed.map_or(elapsed, |computed| computed.min(elapsed));
    (reason, spent.saturating_sub(Duration::from_millis(TIMEOUT_MS)))
}

/// Computing time of all threads of this process; `None` where the system does not report it.
fn computing() -> Option<Duration> {
    let text = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name in brackets may contain blanks. A tick is 10 ms.
    let (_, rest) = text.rsplit_once(')')?;
    let ticks: u64 = rest.split_whitespace().skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum();
    Some(Duration::from_millis(ticks * 10))
}

fn first(text: &str) -> String {
    text.chars().take(300).collect::<String>().replace('\n', " ")
}

fn run(text: &str) -> String {
    let limits = Limits { memory_bytes: MEMORY, ..Limits::default() };
    let stop = AtomicBool::new(false);
    let echo = |_: &CallAddress, _: &str, args: &Value| -> Result<Value, Failure> { Ok(args.clone()) };
    let context = Value::default();
    let input = Input { context: &context, ..Input::new(text, &limits) };
    let settings = ProgramSettings {
        tools: &echo,
        timeout_ms: TIMEOUT_MS,
        compile_timeout_ms: TIMEOUT_MS,
        now_ms: 0,
        stop: &stop,
    };
    match runner::run(&input, &settings).result {
        Ok((signal, value)) => {
            // A host looks at the value: printing and dropping must not recurse on data.
            drop(value.to_string());
            format!("{signal:?}")
        }
        Err(error) => error.reason.to_string(),
    }
}

/// A generated program within parallel forms, tools and deep data.
fn wrapped(random: &mut Random) -> String {
    let inner = program(random);
    let inner = inner.trim();
    let (a, b, depth) = (1 + random.below(6), 1 + random.below(200), 1 + random.below(200_000));
    match random.below(12) {
        0 => inner.to_owned(),
        1 => format!("(pmap (fn [i] (do {inner})) (range {b}))"),
        2 => format!("(pmap (fn [i] (pmap (fn [j] (do {inner})) (range {a}))) (range {b}))"),
        3 => format!(
            "(defn f [n] (if (> n {}) (do {inner}) (pmap (fn [_] (f (inc n))) (range {a})))) (f 0)",
            2 + random.below(20)
        ),
        4 => format!(
            "(def d (reduce (fn [acc _] [acc]) [] (range {depth}))) (do {inner}) (= d d) (str d) (pmap (fn [_] (hash-map :a d)) (range {b})) d"
        ),
        5 => format!(
            "(def d (reduce (fn [acc i] {{:k acc :i i}}) {{}} (range {depth}))) (pmap (fn [_] (compare (str d) (str d))) (range {a})) (do {inner}) d"
        ),
        6 => format!("(pmap (fn [i] (tool/echo {{:i i :v (range {depth})}})) (range {b}))"),
        7 => format!(
            "(pcalls (fn [] (do {inner})) (fn [] (reduce + (range {}))) (fn [] (tool/echo {{:x 1}})))",
            depth * 10
        ),
        8 => format!("(pmap (fn [i] (loop [xs []] (recur (conj xs (range {depth}))))) (range {b}))"),
        9 => format!("(pmap (fn [i] (reduce str \"\" (repeat {depth} \"xxxxxxxxxxxxxxxx\"))) (range {b}))"),
        10 => format!("(defn f [n] (pmap f [n n])) (f 0)"),
        _ => format!(
            "(pmap (fn [i] (sort (map (fn [x] (mod (* x 7919) 104729)) (range {depth})))) (range {b})) (do {inner})"
        ),
    }
}

/// Sets the peak of resident memory back; returns what is resident now.
fn reset_peak() -> u64 {
    // Without the right to reset it, the peak of all programs so far is an upper bound.
    _ = fs::write("/proc/self/clear_refs", "5");
    status("VmRSS:")
}

fn peak() -> u64 {
    status("VmHWM:")
}

fn status(name: &str) -> u64 {
    let text = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or_default() << 10
}
