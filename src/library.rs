//! Running agents from Rust code: a prompt or a built agent, a model, data, and what came out.
//!
//! In: an agent ([`Agent::builder`](crate::agent::Agent::builder), or only its prompt), a model (a closure, a script, an adapter),
//! a context. Out: a [`Step`](crate::agent::Step), its events while it runs, its view in the words of the core specification. Nothing
//! here decides about a run: it is the engine's.
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
mod given;
mod run;
mod stream;
mod told;
mod wait;

pub use chat::Chat;
pub use client::{Object, Question, complete, generate_object, model, model_of};
pub use given::Given;
pub use run::Run;
pub use stream::Events;
pub use wait::{Held, Waiting};

use ptc_core::value::Json;
use ptc_core::value::json::Node;

use crate::agent::{Builder, Mode};

/// A run of an agent, or of a prompt alone: mode `text` then, so that a signature decides between text and JSON.
///
/// The Step that it is awaited for always comes: a failure is in it, also one that kept the run from starting.
pub fn run(agent: impl Into<Builder>) -> Run {
    Run::of(agent.into())
}

/// An agent for a task in the form of the core specification: it writes programs until a reply without one answers. The text is no
/// template. As a tool it stands before the tasks that it gets ([`Builder::delegated`]).
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
