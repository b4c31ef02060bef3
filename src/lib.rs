//! A terminal workbench for LLM agents, as a library.
//!
//! ```text
//! Agent + context ──prompt──▶ Request ──model──▶ Reply (stream of parts)
//!                                                  │ reply::extract
//!                                                  ▼
//!    Step ◀──fold── events ◀── checked answer ◀── signature::coerce ◀── JSON
//!                     │              ▲ feedback ───────┘ (next turn)
//!                     ├──▶ recorder (file, lossless)
//!                     └──▶ screens and command line
//! ```
//!
//! A run from Rust code, with a function as the model. The first answer misses the field, the second one fits:
//!
//! ```
//! use ptc_workbench::agent::{Agent, Mode};
//! use ptc_workbench::engine::{self, Input, Ports};
//! use ptc_workbench::model::script;
//! use ptc_workbench::port::{Stop, SystemClock, Unsaved};
//!
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! let plan = Agent::builder()
//!     .mode(Mode::Json)
//!     .prompt("Greet {{name}}")
//!     .signature("(name :string) -> {message :string}")
//!     .plan()
//!     .expect("a valid agent");
//! let model = script([r#"{"wrong": "field"}"#, r#"{"message": "hello Ann"}"#]);
//! let context = ptc_core::value::json::parse(r#"{"name": "Ann"}"#).expect("JSON");
//! let events = Unsaved::default();
//! let ports = Ports::new(&model, &SystemClock, &events, Stop::default());
//!
//! let step = engine::run(&plan, Input::new(context), &ports).await;
//! assert_eq!(step.answer.unwrap().to_text(), r#"{"message":"hello Ann"}"#);
//! assert_eq!(step.turns[0].reason.as_deref(), Some("validation_error"));
//! assert_eq!(step.turns.len(), 2);
//! # });
//! ```

pub mod agent;
#[doc(hidden)]
pub mod app;
pub mod cli;
pub mod config;
pub mod engine;
pub mod event;
pub mod export;
pub mod library;
pub mod model;
pub mod port;
pub mod program;
pub mod prompt;
#[doc(hidden)]
pub mod record;
pub mod replay;
pub mod session;
pub mod tool;
pub mod tui;
pub mod workbench;

pub use ptc_core::CountingAllocator;

/// Unit tests check memory limits, as the binary does.
#[cfg(test)]
#[global_allocator]
static ALLOCATOR: ptc_core::CountingAllocator = ptc_core::CountingAllocator;
