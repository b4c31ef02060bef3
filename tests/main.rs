//! Integration tests: one file per concern.

mod agent;
mod engine;
mod tidy;
