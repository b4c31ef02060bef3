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
#[doc(hidden)]
pub mod boundary;
#[doc(hidden)]
pub mod builtins;
#[doc(hidden)]
pub mod case;
pub(crate) mod compile;
mod error;
#[doc(hidden)]
pub mod firewall;
mod form;
#[doc(hidden)]
pub mod format;
#[doc(hidden)]
pub mod hidden;
mod host;
mod infix;
mod input;
#[doc(hidden)]
pub mod ir;
mod items;
#[doc(hidden)]
pub mod legacy;
#[doc(hidden)]
pub mod machine;
mod read;
mod run;
mod stack;
mod survey;
#[cfg(test)]
mod tests;

pub use error::Error;
pub use host::{Call, CallAddress, Failure, Host, ToolInfo};
pub use input::{AbsentData, Binding, Dialect, Input, Limits, Memory, ReturnScope};
pub use run::{Outcome, PreparedProgram, Signal, Usage, prepare, run, run_on};
pub use stack::Stack;

#[doc(hidden)]
pub use {
    analyse::{Names, analyse},
    error::{EvalResult, Halt, Thrown, described, wrong},
    form::{Form, Shape},
    items::{Items, entries, graphemes, items},
    read::{Budget, read},
    survey::{Fault, Survey, ToolUse, survey},
};
