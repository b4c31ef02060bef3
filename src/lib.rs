//! A terminal workbench for LLM agents, as a library.

pub mod agent;
pub mod config;
pub mod event;
pub mod model;
