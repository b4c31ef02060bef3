//! The modes: state machines that interpret replies and decide on feedback.
//!
//! In: facts of a turn, replies, results. Out: [`Decision`]s, which the driver executes. A machine is plain data: no async, no ports, no
//! clock, no locks, and it emits nothing by itself. A new mode is a file with its machine, and a row in `machine`.

mod answer;
mod calls;
mod conclusion;
mod decision;
mod digest;
mod json;
mod json_loop;
mod judgement;
mod machine;
mod programs;
mod progress;
mod ptc_lisp;
mod refs;
mod returned;
mod text;
mod verdict;
mod workspace;

use crate::agent::{Mode, Plan, Variant};

pub use decision::{Decision, Effect, Messages, Next, ProgramRun, RequestPlan, RunAnswer, ToolResult, ToolUse, View};
pub use judgement::{Remark, ReplyJudgement, ReplyValidity};
pub use machine::{Machine, RunInputs, Start};

pub(super) use answer::field;
pub(super) use calls::{uncallable, unknown_tool};
pub(super) use judgement::{program_judged, remark};
pub(super) use programs::program_error;

/// The machine of a plan's mode.
pub fn machine(plan: &Plan, start: Start) -> Box<dyn Machine> {
    match (plan.agent.mode, plan.variant) {
        (Mode::Json, _) | (Mode::Text, Variant::Json) => Box::new(json::JsonMachine::new(plan, start.descriptions)),
        (Mode::Text, _) => Box::new(text::TextMachine::new(plan, start)),
        (Mode::PtcLisp, _) => Box::new(ptc_lisp::PtcMachine::new(plan, start)),
        (Mode::JsonLoop, _) => Box::new(json_loop::JsonLoopMachine::new(plan, start.descriptions)),
    }
}
