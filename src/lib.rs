//! A terminal workbench for LLM agents, as a library.

pub mod agent;
pub mod cli;
pub mod config;
pub mod engine;
pub mod event;
pub mod model;
pub mod port;
pub mod prompt;
pub mod replay;
pub mod session;
pub mod tui;
pub mod workbench;
