//! The driver for stable Rust: `cargo run --release --bin drive -- [SECONDS] [SEED]` throws generated and damaged
//! programs at the targets until the time is over, and writes each that breaks one to `artifacts/`.

#[path = "../../tests/lisp/generate.rs"]
mod generate;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use generate::{Random, mutated, program};
use ptc_core::value::{Json, json};

/// Pieces of terminal sequences: begun, ended, unterminated, in eight bits, and characters that hide or reorder.
const SEQUENCES: [&str; 24] = [
    "\u{1b}", "\u{1b}[", "\u{1b}[31m", "\u{1b}[?1049h", "\u{1b}]0;title", "\u{1b}]52;c;", "\u{1b}]8;;http://x", "\u{7}", "\u{1b}\\",
    "\u{1b}P1$q", "\u{1b}_G", "\u{1b}^pm", "\u{1b}Xsos", "\u{9b}", "\u{9d}", "\u{90}", "\u{9c}", "\u{85}", "\r", "\u{8}", "\u{202e}", "\u{2066}",
    "\u{200b}", "\u{e0041}",
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
    let mut words = std::env::args().skip(1).filter_map(|word| word.parse::<u64>().ok());
    let (seconds, seed) = (words.next().unwrap_or(60), words.next().unwrap_or(1));
    let corpus: Vec<String> = include_str!("../../tests/lisp/cases.jsonl")
        .lines()
        .filter_map(|line| json::parse(line).ok()?.get("program").and_then(Json::as_str).map(str::to_owned))
        .collect();
    let mut random = Random(seed);
    let (mut count, mut found) = (0_u64, 0_u64);
    let started = Instant::now();
    while started.elapsed() < Duration::from_secs(seconds) {
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
            let file = format!("artifacts/{seed}-{count}.clj");
            std::fs::create_dir_all("artifacts")
                .and_then(|()| std::fs::write(&file, &text))
                .expect("the find is written");
            eprintln!("{file}: {text}");
        }
    }
    println!("{count} programs in {seconds} s, {found} broke");
    std::process::exit(i32::from(found > 0));
}
