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

/// Tests check memory limits, as the binary does.
#[global_allocator]
static ALLOCATOR: ptc_core::CountingAllocator = ptc_core::CountingAllocator;
