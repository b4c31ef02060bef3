//! Runs agents from Rust code: a prompt or an agent, a model, data, and the result.
//!
//! In: an agent ([`Agent::builder`](crate::agent::Agent::builder), or only its prompt), a model (a closure, a script,
//! an adapter), a context. Out: a [`Step`](crate::agent::Step), its events during the run, or its result as
//! [`Delegation`](crate::agent::Delegation). All decisions about a run are made by the engine.

mod client;
mod refs;
mod run;
mod run_data;
mod session_file;
mod stream;
mod wait;

pub use client::{CompletionRequest, GeneratedObject, complete, generate_object, resolve_model, resolve_model_in};
pub use refs::RefExtractor;
pub use run::Chat;
pub use run::Run;
pub use run_data::RunData;
pub use stream::EventStream;
pub use wait::{RunOutcome, WaitingRun};

use ptc_core::value::Json;
use ptc_core::value::json::Node;

use crate::agent::{AgentBuilder, Mode};

/// Creates a run of an agent, or of a prompt alone, which has mode `text` with text or JSON output depending on its
/// signature.
///
/// Awaiting the run always returns a `Step`: it contains the failure, also of a run that could not start.
pub fn run(agent: impl Into<AgentBuilder>) -> Run {
    Run::of(agent.into())
}

/// Creates an agent for a task: it writes programs until a reply without a program is the answer. The text is not a
/// template. As a tool, the agent gets it before each delegated task ([`AgentBuilder::delegated`]).
pub fn task(text: impl Into<String>) -> AgentBuilder {
    AgentBuilder::default()
        .name("task")
        .mode(Mode::PtcLisp)
        .prompt(text)
        .set("literal", Node::Bool(true).into())
        .set("completion", Json::str("answer_without_code"))
}

/// The examples of the page about the library, compiled and run with those of the code.
#[cfg(doctest)]
#[doc = include_str!("../../docs/library.md")]
struct Page;
