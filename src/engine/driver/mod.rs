//! The driver: executes the decisions of the modes. It makes turns, requests and calls through the ports, emits the events, and counts
//! budgets.
//!
//! In: a plan, an input, ports. Out: events, and the Step that is their fold. It must not know any mode.

mod breakpoints;
mod call;
mod child;
mod clock;
mod consent;
mod conversation;
mod gate;
mod hidden;
mod parts;
mod perform;
mod program;
mod questions;
mod request;
mod run;
mod sample;
mod state;
mod turn;
mod usage;

pub use parts::{PART_BYTES, PART_MS};
pub(super) use state::Driver;
