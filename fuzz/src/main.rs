//! The driver for stable Rust: `cargo run --release --bin drive -- [SECONDS] [SEED] [TARGET]` throws generated and damaged
//! texts at the targets until the time is over, and writes each that breaks one to `artifacts/`. The targets are `programs`
//! (reader, formatter, runs, terminal text) and those of `outside`; without one each gets a part of the time.

mod seeds;

#[path = "../../tests/lisp/generate.rs"]
mod generate;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use generate::{Random, mutated, program};
use ptc_core::value::{Json, json};

/// Pieces of terminal sequences: begun, ended, unterminated, in eight bits, and characters that hide or reorder.
const SEQUENCES: [&str; 24] = [
    "\u{1b}",
    "\u{1b}[",
    "\u{1b}[31m",
    "\u{1b}[?1049h",
    "\u{1b}]0;title",
    "\u{1b}]52;c;",
    "\u{1b}]8;;http://x",
    "\u{7}",
    "\u{1b}\\",
    "\u{1b}P1$q",
    "\u{1b}_G",
    "\u{1b}^pm",
    "\u{1b}Xsos",
    "\u{9b}",
    "\u{9d}",
    "\u{90}",
    "\u{9c}",
    "\u{85}",
    "\r",
    "\u{8}",
    "\u{202e}",
    "\u{2066}",
    "\u{200b}",
    "\u{e0041}",
];

/// The text with such pieces in it.
fn hostile(text: &str, random: &mut Random) -> String {
    let mut out = String::new();
    for c in text.chars().take(400) {
        if random.below(6) == 0 {
            out.push_str(SEQUENCES[random.below(SEQUENCES.len())]);
        }
        out.push(c);
    }
    out
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let mut numbers = words.iter().filter_map(|word| word.parse::<u64>().ok());
    let (seconds, seed) = (numbers.next().unwrap_or(60), numbers.next().unwrap_or(1));
    let named: Vec<&str> = words.iter().filter(|word| word.parse::<u64>().is_err()).map(String::as_str).collect();
    let all: Vec<&str> = std::iter::once(PROGRAMS).chain(ptc_fuzz::TARGETS.iter().map(|(name, _)| *name)).collect();
    if let Some(unknown) = named.iter().find(|name| !all.contains(name)) {
        eprintln!("unknown target `{unknown}`; the targets are {}", all.join(", "));
        std::process::exit(2);
    }
    let wanted: Vec<&str> = all.into_iter().filter(|name| named.is_empty() || named.contains(name)).collect();
    let each = Duration::from_secs(seconds / wanted.len().max(1) as u64);
    let mut found = 0;
    for name in wanted {
        found += match ptc_fuzz::TARGETS.iter().find(|(known, _)| *known == name) {
            Some((name, target)) => outside(name, *target, each, seed),
            None => programs(each, seed),
        };
    }
    std::process::exit(i32::from(found > 0));
}

/// The target of programs.
const PROGRAMS: &str = "programs";

/// Throws damaged seeds at one target; returns how many broke it.
fn outside(name: &str, target: fn(&str), time: Duration, seed: u64) -> u64 {
    let corpus = seeds::of(name);
    let mut random = Random(seed);
    let (mut count, mut found) = (0_u64, 0_u64);
    let mut longest = (Duration::ZERO, String::new());
    let started = Instant::now();
    while started.elapsed() < time {
        let (text, other) = (random.below(corpus.len()), random.below(corpus.len()));
        let mut text = mutated(&corpus[text], &corpus[other], &mut random);
        if random.below(4) == 0 {
            text = hostile(&text, &mut random);
        }
        count += 1;
        let began = Instant::now();
        let broke = catch_unwind(AssertUnwindSafe(|| target(&text)));
        if began.elapsed() > longest.0 {
            longest = (began.elapsed(), text.clone());
        }
        if broke.is_err() {
            found += 1;
            keep(&format!("artifacts/{name}-{seed}-{count}.txt"), &text);
        }
    }
    println!("{name}: {count} texts in {} s, {found} broke, the longest took {:?}", time.as_secs(), longest.0);
    found
}

fn keep(file: &str, text: &str) {
    std::fs::create_dir_all("artifacts").and_then(|()| std::fs::write(file, text)).expect("the find is written");
    eprintln!("{file}: {text}");
}

/// Throws generated and damaged programs at the language; returns how many broke it.
fn programs(time: Duration, seed: u64) -> u64 {
    let corpus: Vec<String> = include_str!("../../tests/lisp/cases.jsonl")
        .lines()
        .filter_map(|line| json::parse(line).ok()?.get("program").and_then(Json::as_str).map(str::to_owned))
        .collect();
    let mut random = Random(seed);
    let (mut count, mut found) = (0_u64, 0_u64);
    let started = Instant::now();
    while started.elapsed() < time {
        let text = match random.below(3) {
            0 => program(&mut random),
            _ => {
                let (text, other) = (random.below(corpus.len()), random.below(corpus.len()));
                mutated(&corpus[text], &corpus[other], &mut random)
            }
        };
        count += 1;
        let broke = catch_unwind(AssertUnwindSafe(|| {
            ptc_fuzz::read(&text);
            ptc_fuzz::format(&text);
            ptc_fuzz::run(&text);
            ptc_fuzz::safe(&hostile(&text, &mut random));
        }));
        if broke.is_err() {
            found += 1;
            keep(&format!("artifacts/{seed}-{count}.clj"), &text);
        }
    }
    println!("{PROGRAMS}: {count} texts in {} s, {found} broke", time.as_secs());
    found
}
