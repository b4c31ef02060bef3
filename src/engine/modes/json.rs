//! Mode `json`, and the variant of mode `text` that answers with JSON without tools: a reply is an answer, corrected until it fits or the
//! no turns remain.
//!
//! In: replies. Out: decisions.

use ptc_core::lisp::Outcome;
use ptc_core::value::Value;

use super::conclusion::Conclusion;
use super::decision::{Decision, Effects, Next, RequestPlan, View};
use super::judgement::{ReplyJudgement, answer_judged};
use super::machine::{Machine, RunInputs};
use super::verdict::withheld;
use crate::agent::{LintInputs, Plan};
use crate::model::{ManualReply, Reply};
use crate::prompt::json as texts;

/// The machine of the mode.
#[derive(Debug)]
pub(super) struct JsonMachine {
    context: Value,
    descriptions: Vec<(String, String)>,
    conclusion: Conclusion,
}

impl JsonMachine {
    pub(super) fn new(plan: &Plan, descriptions: Vec<(String, String)>) -> Self {
        Self { context: Value::Nil, descriptions, conclusion: Conclusion::new(plan) }
    }
}

impl Machine for JsonMachine {
    fn open(&mut self, view: &View<'_>, inputs: Option<RunInputs>) -> Decision {
        if let Some(inputs) = inputs {
            self.context = inputs.context;
        }
        Effects::default().then(Next::Open(texts::open(view.plan, &self.context, &self.descriptions)))
    }

    fn request(&mut self, view: &View<'_>) -> RequestPlan {
        RequestPlan::whole(texts::request_options(view.plan))
    }

    fn on_reply(&mut self, view: &View<'_>, reply: &Reply) -> Decision {
        match withheld(reply) {
            Some(record) => Effects::default().fail(record),
            None => self.conclusion.read(view, reply, Effects::default()),
        }
    }

    fn on_evaluated(&mut self, view: &View<'_>, outcomes: Vec<Outcome>) -> Decision {
        self.conclusion.on_evaluated(view, outcomes)
    }

    fn judge(&self, plan: &Plan, _: &LintInputs, reply: &ManualReply) -> ReplyJudgement {
        answer_judged(plan, &reply.text)
    }
}
