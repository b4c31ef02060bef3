//! Integration tests: one file per concern.

mod agent;
mod config;
mod engine;
mod tidy;
