//! The engine: runs a checked plan on a context through its ports and speaks only in events.
//!
//! In: a [`Plan`], an [`Input`], [`Ports`]. Out: events in order, and the [`Step`] that is their fold. The modes ([`modes`]) decide, the
//! driver acts. It must never read a clock, a file or a socket by itself, nor choose by anything that is not an event: with the same inputs
//! it makes the same derived events.

mod driver;
mod history;
mod input;
pub mod modes;
mod ports;
mod preview;
mod reader;
mod tree;

use futures::future::BoxFuture;

use crate::agent::{Plan, Step};
use driver::Driver;

pub use driver::{PART_BYTES, PART_MS};
pub use history::{History, InterruptedProgram, NoHistory, RecordedCall, RecordedTurn, SettledEvent, WorkDone};
pub use input::{Carry, EditedInputs, Input, check_definitions};
pub use modes::{Remark, ReplyJudgement, ReplyValidity};
pub use ports::{ModelList, ModelSource, Models, Ports};
pub use preview::{Preview, preview};
pub use reader::{Reader, Turn};
pub use tree::Tree;

/// Runs the plan. Always ends with a Step: a failure is in it, never a panic or a separate error.
pub fn run<'a>(plan: &'a Plan, input: Input, ports: &'a Ports<'a>) -> BoxFuture<'a, Step> {
    Box::pin(async move { Driver::run(plan, input, ports).await.0 })
}

/// Like [`run`], and returns the data for a run that continues it.
pub fn run_carrying<'a>(plan: &'a Plan, input: Input, ports: &'a Ports<'a>) -> BoxFuture<'a, (Step, Carry)> {
    Box::pin(Driver::run(plan, input, ports))
}
