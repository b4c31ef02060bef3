//! A terminal workbench for LLM agents, as a library.

pub mod agent;
pub mod event;
pub mod model;
pub mod tui;
