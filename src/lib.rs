//! Runs LLM agents: a prompt and a signature in, a checked answer out, every turn recorded and replayable.
//!
//! The binary `ptc-workbench` is the terminal workbench; this crate runs the same agents from Rust code.
//! Five lines with a live provider, whose key is in the environment (`OPENAI_API_KEY`):
//!
//! ```no_run
#![doc = include_str!("../examples/run.rs")]
//! ```
//!
//! [`run`] takes a prompt or an [`Agent`] and returns a [`Run`]: set model, data and tools, then await it. The result is a
//! [`Step`], which contains the answer or the reason why there is none. A signature gives the answer a type, and tools
//! are Rust functions:
//!
//! ```
#![doc = include_str!("../examples/tools.rs")]
//! ```
//!
//! | to | use |
//! |---|---|
//! | define an agent | [`Agent::builder`], [`Agent::from_toml`], [`task`] |
//! | get a model | [`resolve_model`] by name; [`model::ClosureModel`] and [`model::script`] for tests; the trait [`model::Model`] |
//! | send one request without an agent | [`complete`], [`generate_object`] |
//! | receive events during a run | [`Run::stream`], [`Run::on_event`]; the events are in [`event`] |
//! | answer questions to the user | [`Run::on_question`], or [`Run::hold`] to let the run wait |
//! | converse | [`Chat`] |
//! | take named parts from a result | [`RefExtractor`] |
//! | record a run, and replay it in a test | [`Run::record_to`], [`Run::replay`]; files are in [`session`], comparisons in [`replay`](mod@replay) |
//!
//! `docs/library.md` explains each of them with a program.
//!
//! Runs need a tokio runtime with time and I/O. Programs of models have a memory limit only if the binary installs
//! [`CountingAllocator`]; without it an agent that sets one is refused when it is built.

#[doc(hidden)]
pub mod agent;
#[doc(hidden)]
pub mod app;
#[doc(hidden)]
pub mod cli;
#[doc(hidden)]
pub mod config;
#[doc(hidden)]
pub mod engine;
pub mod event;
#[doc(hidden)]
pub mod export;
#[doc(hidden)]
pub mod library;
pub mod model;
#[doc(hidden)]
pub mod port;
#[doc(hidden)]
pub mod program;
#[doc(hidden)]
pub mod prompt;
#[doc(hidden)]
pub mod proxy;
#[doc(hidden)]
pub mod record;
pub mod replay;
#[doc(hidden)]
pub mod serve;
#[doc(hidden)]
pub mod server;
pub mod session;
#[doc(hidden)]
pub mod tool;
#[doc(hidden)]
pub mod tui;
#[doc(hidden)]
pub mod workbench;

pub use agent::{
    Agent, AgentBuilder, CallEntry, Context, DelegatedTurn, DelegatedUsage, Delegation, DelegationError, Diagnostic,
    Mode, QuestionEntry, Severity, Step, SystemPrompt, Turn, Usage,
};
pub use engine::ModelList;
pub use library::{
    Chat, CompletionRequest, EventStream, GeneratedObject, RefExtractor, Run, RunData, RunOutcome, WaitingRun,
    complete, generate_object, resolve_model, run, task,
};
pub use port::{Question, Sink, SinkError, Stop};
pub use ptc_core::CountingAllocator;
pub use ptc_core::value::{Json, Value};
pub use tool::Expose;

/// Unit tests check memory limits, as the binary does.
#[cfg(test)]
#[global_allocator]
static ALLOCATOR: ptc_core::CountingAllocator = ptc_core::CountingAllocator;
