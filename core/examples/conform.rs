//! The quick runner of the conformance suite: prints the cases whose results differ from the reference without a listed
//! divergence.
//!
//! `cargo run -q -p ptc-core --example conform -- [CATEGORY|ID|=TEXT]… [--all] [--count]`: all cases by default,
//! otherwise those of a category, with an id, or whose program contains the text after `=`. `--all` includes listed
//! divergences; `--count` prints only the number of differences per category.
#![expect(clippy::print_stdout, clippy::expect_used, reason = "a tool for developers")]

#[path = "../../tests/lisp/suite/mod.rs"]
mod suite;

use std::collections::BTreeMap;

use suite::{Check, Finding};

/// Cases have memory limits.
#[global_allocator]
static ALLOCATOR: ptc_core::CountingAllocator = ptc_core::CountingAllocator;

const DIVERGENCES: &str = include_str!("../../tests/lisp/divergences.toml");

fn main() {
    let (flags, words): (Vec<String>, Vec<String>) = std::env::args().skip(1).partition(|word| word.starts_with("--"));
    let has = |flag: &str| flags.iter().any(|given| given == flag);
    let mut checks = suite::checks();
    checks.retain(|check| words.is_empty() || words.iter().any(|word| wanted(check, word)));
    let mut found = suite::differing(&checks, 2);
    let listed = |finding: &Finding| DIVERGENCES.contains(&format!("\"{}\"", finding.id));
    if !has("--all") {
        found.retain(|finding| !listed(finding));
    }
    if has("--count") {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for finding in &found {
            *counts.entry(&finding.category).or_default() += 1;
        }
        for (category, count) in &counts {
            println!("{count:5} {category}");
        }
    } else {
        for finding in &found {
            println!("{} [{}] {}", finding.id, finding.category, finding.program.replace('\n', "\\n"));
            println!("    expected {}\n    got      {}", finding.expected, finding.got.replace('\n', "\\n"));
        }
    }
    println!("{} of {} differ", found.len(), checks.len());
}

fn wanted(check: &Check, word: &str) -> bool {
    let inside = word.strip_prefix('=').is_some_and(|text| check.program().contains(text));
    check.category == word || check.id == word || inside
}
