//! Runs agents from Rust code: a prompt or an agent, a model, data, and the result.
//!
//! In: an agent ([`Agent::builder`](crate::agent::Agent::builder), or only its prompt), a model (a closure, a script,
//! an adapter), a context. Out: a [`Step`](crate::agent::Step), its events during the run, or its result as
//! [`Delegated`](crate::agent::Delegated). All decisions about a run are made by the engine.
//!
//! ```
//! use ptc_workbench::agent::{Agent, Mode};
//! use ptc_workbench::library::run;
//! use ptc_workbench::model::script;
//! use serde_json::json;
//!
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! let extract = Agent::builder().mode(Mode::Json).prompt("List the things in {{text}}").signature("(text :string) -> {things [:string]}");
//! let count = Agent::builder().mode(Mode::Json).prompt("How many are these: {{#things}}{{.}}, {{/things}}").signature("(things [:string]) -> {n :int}");
//!
//! let first = run(extract).context(json!({"text": "a cat, a hat"})).model(script([r#"{"things":["cat","hat"]}"#])).await;
//! let second = first.then(count).model(script([r#"{"n":2}"#])).await;
//! assert_eq!(second.answer.unwrap().to_text(), r#"{"n":2}"#);
//! # });
//! ```

mod chat;
mod client;
mod fanout;
mod run;
mod run_data;
mod stream;
mod wait;

pub use chat::Chat;
pub use client::{Object, Question, complete, generate_object, model, model_of};
pub use run::Run;
pub use run_data::RunData;
pub use stream::Events;
pub use wait::{RunOutcome, WaitingRun};

use ptc_core::value::Json;
use ptc_core::value::json::Node;

use crate::agent::{Builder, Mode};

/// Creates a run of an agent, or of a prompt alone, which has mode `text` with text or JSON output depending on its
/// signature.
///
/// Awaiting the run always returns a `Step`: it contains the failure, also of a run that could not start.
pub fn run(agent: impl Into<Builder>) -> Run {
    Run::of(agent.into())
}

/// Creates an agent for a task: it writes programs until a reply without a program is the answer. The text is not a
/// template. As a tool, the agent gets it before each delegated task ([`Builder::delegated`]).
pub fn task(text: impl Into<String>) -> Builder {
    Builder::default()
        .name("task")
        .mode(Mode::PtcLisp)
        .prompt(text)
        .set("literal", Node::Bool(true).into())
        .set("completion", Json::str("answer_without_code"))
}

/// The examples of the page about the library, compiled and run with those of the code.
#[cfg(doctest)]
#[doc = include_str!("../docs/library.md")]
struct Page;
