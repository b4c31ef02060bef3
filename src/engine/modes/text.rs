//! Mode `text`: one reply in the plain variant, else native tool calls until a text, or a JSON value that fits. In combined mode the
//! native tool `lisp_eval` runs programs next to the app's tools.
//!
//! In: replies, results of calls, outcomes of programs. Out: decisions. A program's `return` and `fail` only give a result: the run ends
//! with the model's final text.

use ptc_core::lisp::{Outcome, Signal};
use ptc_core::reasons::Reason;
use ptc_core::value::{Json, Value, json};

use super::calls::{Repeats, args_text, arguments, native_use, result_text};
use super::conclusion::{Conclusion, is_message, miss};
use super::decision::{Decision, Effects, Next, RequestPlan, ToolResult, ToolUse, View, turns_used};
use super::judgement::{ReplyJudgement, ReplyValidity, answer_judged, calls_judged, program_judged};
use super::machine::{Machine, RunInputs, Start};
use super::programs::{call_extract, call_result, failed, program_among, program_error, text_of};
use super::verdict::{is_cut, truncated, withheld};
use super::workspace::{Workspace, too_large};
use crate::agent::{LintInputs, Plan, Variant};
use crate::event::{ErrorRecord, MessagePart, NativeCall, Role, Source};
use crate::model::{ManualReply, Reply};
use crate::prompt::ptc_lisp::feedback::{self, TurnKind};
use crate::prompt::ptc_lisp::{CarriedState, LISP_EVAL};
use crate::prompt::text as texts;

/// The machine of the mode.
#[derive(Debug)]
pub(super) struct TextMachine {
    context: Value,
    descriptions: Vec<(String, String)>,
    conclusion: Conclusion,
    repeats: Repeats,
    /// In combined mode.
    work: Option<Workspace>,
    /// The calls of the reply.
    calls: Vec<NativeCall>,
    /// The program that runs.
    program: String,
}

impl TextMachine {
    pub(super) fn new(plan: &Plan, start: Start) -> Self {
        let journal = start.journal;
        Self {
            context: Value::Nil,
            descriptions: start.descriptions,
            conclusion: Conclusion::new(plan),
            repeats: Repeats::default(),
            work: plan.is_combined().then(|| Workspace::new(start.memory, journal)),
            calls: Vec::new(),
            program: String::new(),
        }
    }

    fn opening(&self, view: &View<'_>, effects: Effects) -> Decision {
        effects.then(Next::Open(texts::open(view.plan, &self.context, &self.descriptions)))
    }

    /// A reply that is the answer, or should be.
    fn on_answer_text(&mut self, view: &View<'_>, reply: &Reply) -> Decision {
        let effects = Effects::default();
        let (plan, variant, cut) = (view.plan, view.plan.variant, is_cut(reply));
        let is_empty = reply.text.trim().is_empty();
        let is_plain = variant == Variant::Plain;
        let misfit =
            |record, parts: Option<Vec<MessagePart>>| miss(view, is_message(reply), record, parts, Effects::default());
        match variant {
            // Where the reply was cut, a call may have lost arguments: none is made. The plain variant makes one request.
            Variant::Plain | Variant::ToolsText if cut => {
                misfit(truncated(&reply.text), (!is_plain).then(texts::cut_short))
            }
            Variant::ToolsJson if cut && !reply.calls.is_empty() => {
                misfit(truncated(&reply.text), Some(texts::cut_short()))
            }
            Variant::Plain if is_empty => {
                let message = if reply.calls.is_empty() {
                    "the reply is empty"
                } else {
                    "the reply contains only tool calls, and this agent has no tools"
                };
                misfit(ErrorRecord::new(Reason::EmptyResponse, message), None)
            }
            Variant::ToolsText | Variant::ToolsJson if is_empty && !cut => {
                let message = "the reply contains neither text nor tool calls";
                misfit(ErrorRecord::new(Reason::EmptyResponse, message), Some(texts::is_empty_message(plan)))
            }
            Variant::Plain | Variant::ToolsText => {
                self.conclusion.complete(view, reply, Json::str(reply.text.as_str()), effects)
            }
            Variant::ToolsJson | Variant::Json => self.conclusion.read(view, reply, effects),
        }
    }

    /// A reply with calls: each is answered in order by one message.
    fn on_calls(&mut self, view: &View<'_>, reply: &Reply) -> Decision {
        let mut effects = Effects::default();
        effects.check_budget();
        for call in &reply.calls {
            let args = json::parse(args_text(call)).unwrap_or_else(|_| Json::str(args_text(call)));
            if let Some(record) = self.repeats.take(view.plan.settings.same_calls, &call.name, &args) {
                return effects.fail(record);
            }
        }
        effects.add_message(Role::Assistant, Source::Reply, view.reply_part());
        self.calls.clone_from(&reply.calls);
        let Some(work) = &self.work else { return self.call(view, 0, effects) };
        match program_among(&reply.calls) {
            Ok(None) => self.call(view, 0, effects),
            Ok(Some(program)) => {
                effects.emit(call_extract(reply, Ok(&program)));
                let run = work.program(view, &program, TurnKind::Normal);
                self.program = program;
                effects.then(Next::Run(Box::new(run)))
            }
            Err(record) => {
                effects.emit(call_extract(reply, Err(&record)));
                let result = call_result(view.plan, work, Some(&record), &record.message);
                for number in 0..self.calls.len() {
                    self.add_result(view, number, result.clone(), &mut effects);
                }
                end(view, effects)
            }
        }
    }

    /// The call of this number, or the end of the turn after the last one.
    fn call(&self, view: &View<'_>, number: usize, effects: Effects) -> Decision {
        match self.calls.get(number) {
            Some(call) => {
                let number = u32::try_from(number).unwrap_or(u32::MAX);
                effects.then(Next::Call(native_use(view.plan, number, call)))
            }
            None => end(view, effects),
        }
    }

    fn add_result(&self, view: &View<'_>, number: usize, result: String, effects: &mut Effects) {
        if let Some(call) = self.calls.get(number) {
            let part = MessagePart::Result { call: call.id.clone(), name: call.name.clone(), result };
            let parts = view.result_parts(u32::try_from(number).unwrap_or(u32::MAX), part);
            effects.add_message(Role::Tool, Source::Tool, parts);
        }
    }
}

impl Machine for TextMachine {
    fn open(&mut self, view: &View<'_>, inputs: Option<RunInputs>) -> Decision {
        let mut effects = Effects::default();
        if let Some(inputs) = inputs {
            self.context = inputs.context.clone();
            let job = self.work.as_mut().map(|work| work.take(view.plan, inputs, &mut effects)).transpose();
            match job.map(Option::flatten) {
                Ok(None) => {}
                Ok(Some(job)) => return effects.then(Next::Evaluate(vec![job])),
                Err(record) => return effects.then(Next::Fail(record)),
            }
        }
        self.opening(view, effects)
    }

    fn request(&mut self, view: &View<'_>) -> RequestPlan {
        RequestPlan::whole(texts::request_options(view.plan))
    }

    fn on_reply(&mut self, view: &View<'_>, reply: &Reply) -> Decision {
        if let Some(record) = withheld(reply) {
            return Effects::default().fail(record);
        }
        if reply.calls.is_empty() || is_cut(reply) || view.plan.variant == Variant::Plain {
            self.on_answer_text(view, reply)
        } else {
            self.on_calls(view, reply)
        }
    }

    fn on_result(&mut self, view: &View<'_>, call: &ToolUse, result: ToolResult) -> Decision {
        let mut effects = Effects::default();
        let number = call.number as usize;
        self.add_result(view, number, result_text(view.plan, call, result), &mut effects);
        self.call(view, number + 1, effects)
    }

    fn on_outcome(&mut self, view: &View<'_>, outcome: Outcome) -> Decision {
        let mut effects = Effects::default();
        let Some(work) = &mut self.work else { return Decision::unexpected() };
        let before = work.memory.clone();
        work.add(view.plan, &self.program, &outcome);
        let (failure, parts) = match &outcome.result {
            Err(error) => {
                let place = error.span.map(|span| (self.program.as_str(), span));
                let parts = feedback::error(view.plan, error.reason.name(), &error.message(), place);
                (Some(program_error(error)), parts)
            }
            Ok((signal, value)) => {
                let seen = feedback::seen(view.plan, &outcome.memory, value, &before);
                let dropped = work.accept(view, &outcome, &mut effects).map(|_| too_large(view.plan));
                work.remember(view.plan, value);
                work.seen = Some(seen);
                let is_fail = *signal == Signal::Fail;
                let failure = dropped.or_else(|| is_fail.then(|| failed(view.plan, value)));
                let shown = if is_fail { &Value::Nil } else { value };
                (failure, feedback::success(view.plan, &outcome, shown, &before))
            }
        };
        let result = call_result(view.plan, work, failure.as_ref(), &text_of(&parts));
        self.add_result(view, 0, result, &mut effects);
        end(view, effects)
    }

    fn on_evaluated(&mut self, view: &View<'_>, mut outcomes: Vec<Outcome>) -> Decision {
        let Some(work) = self.work.as_mut().filter(|work| work.is_pending()) else {
            return self.conclusion.on_evaluated(view, outcomes);
        };
        let mut effects = Effects::default();
        match outcomes.pop().map_or(Ok(()), |outcome| work.on_evaluated(view.plan, outcome, &mut effects)) {
            Ok(()) => self.opening(view, effects),
            Err(record) => effects.then(Next::Fail(record)),
        }
    }

    fn carried_state(&self) -> CarriedState {
        self.work.as_ref().map(|work| work.carried.clone()).unwrap_or_default()
    }

    fn judge(&self, plan: &Plan, given: &LintInputs, reply: &ManualReply) -> ReplyJudgement {
        if reply.calls.is_empty() {
            let is_json = plan.variant.is_json();
            return if is_json { answer_judged(plan, &reply.text) } else { ReplyJudgement::fine(ReplyValidity::Fits) };
        }
        let program = if plan.is_combined() { program_among(&reply.calls) } else { Ok(None) };
        match program {
            Err(record) => ReplyJudgement::wrong("", &record),
            Ok(Some(program)) => program_judged(&program, &program, 0, given).doing(format!("calls {LISP_EVAL}")),
            Ok(None) => {
                let args = |call: &NativeCall| arguments(call).map(|args| args.to_value());
                calls_judged(plan, reply.calls.iter().map(|call| (call.name.as_str(), args(call))).collect())
            }
        }
    }
}

/// Ends a turn with calls.
fn end(view: &View<'_>, effects: Effects) -> Decision {
    let fail = (view.turns_after() == 0).then(|| {
        let turns = view.used + 1;
        let message = format!("{} and the model still called tools; max_turns is {turns}", turns_used(turns));
        ErrorRecord::new(Reason::MaxTurnsExceeded, message)
    });
    effects.end(None, fail)
}
