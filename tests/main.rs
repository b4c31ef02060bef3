//! Integration tests: one file per concern.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "functions that tests share fail like the tests themselves"
)]

mod agent;
mod cli;
mod config;
mod engine;
mod export;
mod hostile;
mod library;
mod lisp;
mod matrix;
mod model;
mod openai;
mod pages;
mod presses;
mod proxy;
mod pty;
mod replay;
mod serve;
mod session;
mod tidy;
mod tools;
mod tour;
mod truth;
mod tui;

/// Returns whether tests run in their long form (`PTC_LONG_TESTS=1`): all combinations where the short form takes a sample of them.
pub(crate) fn is_long() -> bool {
    std::env::var_os("PTC_LONG_TESTS").is_some()
}

/// Number of cases of each property (`PROPTEST_CASES`) in CI; with as many, tests take the samples of CI.
const CI_CASES: u32 = 256;

/// Returns whether tests run as in CI, or in their long form.
pub(crate) fn is_complete() -> bool {
    is_long() || proptest::test_runner::Config::default().cases >= CI_CASES
}

/// Returns whether the combination at this place of many similar ones is tried: each in the long form, every third in CI, every ninth in the
/// short form.
pub(crate) fn is_in_sample(place: usize) -> bool {
    place.is_multiple_of(by_form(1, 3, 9))
}

/// Returns the first value in the long form of the tests, the second in CI, the third in the short form.
pub(crate) fn by_form<T>(long: T, in_ci: T, short: T) -> T {
    if is_long() {
        long
    } else if is_complete() {
        in_ci
    } else {
        short
    }
}

/// Interval of tests that poll. Polling without a pause takes processor time from the process that is waited for.
pub(crate) const POLL: std::time::Duration = std::time::Duration::from_millis(1);

/// Tests check memory limits, as the binary does.
#[global_allocator]
static ALLOCATOR: ptc_core::CountingAllocator = ptc_core::CountingAllocator;
