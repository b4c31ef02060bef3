//! PTC-Lisp: the small, safe Clojure that models write.
//!
//! ```text
//! text ─read─▶ Form ─analyse─▶ ir::Program ─compile─▶ Unit ─run─▶ Outcome
//! ```
//!
//! In: a program's text, its context, memory and limits, and a [`Host`] that calls tools, provides the time and may
//! interrupt it. Out: an [`Outcome`]. It must never touch files, sockets or clocks itself, and no program may make it
//! panic, hang or overflow.

mod analyse;
mod arithmetic;
pub mod boundary;
pub mod builtins;
pub mod case;
pub(crate) mod compile;
mod error;
pub mod firewall;
mod form;
pub mod format;
mod host;
mod input;
#[expect(missing_docs, reason = "the doc of a variant covers its fields")]
pub mod ir;
mod items;
pub mod legacy;
pub mod machine;
mod read;
mod run;
mod stack;
mod survey;
#[cfg(test)]
mod tests;

pub use analyse::{Names, analyse};
pub use error::{Error, EvalResult, Halt, described, wrong};
pub use form::{Form, Shape};
pub use host::{Call, CallAddress, Failure, Host, ToolInfo};
pub use input::{AbsentData, Binding, Dialect, Input, Limits, Memory, ReturnScope};
pub use items::{Items, entries, graphemes, items};
pub use read::{Budget, read};
pub use run::{Outcome, Prepared, Signal, Usage, prepare, run, run_on};
pub use stack::Stack;
pub use survey::{Fault, Survey, ToolUse, survey};
