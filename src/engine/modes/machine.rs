//! The interface of a mode: the inputs that its machine takes, each answered with a [`Decision`].
//!
//! The driver of a run, the preview, the judge of typed replies and tests call nothing else.

use crate::event::TurnKind;
use ptc_core::lisp::{Memory, Outcome};
use ptc_core::value::{Map, Value};

use super::decision::{Decision, RequestPlan, RunAnswer, ToolResult, ToolUse, View};
use super::judgement::ReplyJudgement;
use crate::agent::{LintInputs, Plan};
use crate::model::{ManualReply, Reply};
use crate::prompt::ptc_lisp::CarriedState;

/// The start of a run, without its inputs.
#[derive(Debug, Clone, Default)]
pub struct Start {
    /// Descriptions of the context's fields that came with a Step.
    pub descriptions: Vec<(String, String)>,
    /// The definitions of the run that this one continues.
    pub memory: Memory,
    /// Results of finished tasks, when a journal is kept.
    pub journal: Option<Map>,
}

/// The inputs of a run, from its start or from an edited turn.
#[derive(Debug, Clone, Default)]
pub struct RunInputs {
    /// The checked context.
    pub context: Value,
    /// Definitions to evaluate: name and PTC-Lisp expression.
    pub memory: Vec<(String, String)>,
}

/// The state machine of a mode.
pub trait Machine: Send {
    /// Opens the run, before its first turn and again when its inputs were edited. Without inputs they are those of before.
    fn open(&mut self, view: &View<'_>, inputs: Option<RunInputs>) -> Decision;

    /// The kind of the turn that begins, as it is recorded.
    fn turn_kind(&self, _view: &View<'_>) -> Option<TurnKind> {
        None
    }

    /// The request of a turn.
    fn request(&mut self, view: &View<'_>) -> RequestPlan;

    /// Reads the reply of a turn.
    fn on_reply(&mut self, view: &View<'_>, reply: &Reply) -> Decision;

    /// Takes the result of a call ([`super::Next::Call`]).
    fn on_result(&mut self, _view: &View<'_>, _call: &ToolUse, _result: ToolResult) -> Decision {
        Decision::unexpected()
    }

    /// Takes how a program ended ([`super::Next::Run`]).
    fn on_outcome(&mut self, _view: &View<'_>, _outcome: Outcome) -> Decision {
        Decision::unexpected()
    }

    /// Takes how the expressions ended, in their order ([`super::Next::Evaluate`]).
    fn on_evaluated(&mut self, _view: &View<'_>, _outcomes: Vec<Outcome>) -> Decision {
        Decision::unexpected()
    }

    /// Takes the user's answer ([`super::Next::Ask`]).
    fn on_answer(&mut self, _view: &View<'_>, _answer: String) -> Decision {
        Decision::unexpected()
    }

    /// The answer of a run that has spent its budget; `None`: it fails.
    fn partial(&self, _view: &View<'_>) -> Option<RunAnswer> {
        None
    }

    /// Returns the state for a run that continues this one.
    fn carried_state(&self) -> CarriedState {
        CarriedState::default()
    }

    /// Judges a reply that is typed or still arrives, by the stages that read it in a run. `given`: what its program may use.
    fn judge(&self, plan: &Plan, given: &LintInputs, reply: &ManualReply) -> ReplyJudgement;
}
