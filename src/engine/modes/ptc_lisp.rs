//! Mode `ptc_lisp`: the model writes programs; they are run, and what they gave goes back, until one returns.
//!
//! In: replies with a program, outcomes. Out: decisions; the answer is the returned value, checked.

use ptc_core::lisp::{Outcome, Signal};
use ptc_core::reasons::Reason;
use ptc_core::reply::Finish as Ending;
use ptc_core::reply::program::NoProgram;
use ptc_core::signature::Type;
use ptc_core::value::{Json, Value};

use super::answer;
use super::decision::{Decision, Effects, Messages, Next, RequestPlan, RunAnswer, View, turns_used};
use super::judgement::{ReplyJudgement, ReplyValidity, answer_judged, program_judged};
use super::machine::{Machine, RunInputs, Start};
use super::programs::{
    Found, at_the_end, call_result, ends_by_words, failed, find, is_native, no_program, program_error, program_in,
    program_of, text_of, written_out,
};
use super::progress::{Done, Progress};
use super::refs::Refs;
use super::returned::{checked, is_pinned, losses, of_pinned, plan_state};
use super::verdict::{check_event, feedback as json_feedback, read_answer, withheld};
use super::workspace::{Workspace, too_large};

use crate::agent::{Compaction, Completion, LintInputs, MemoryStrategy, Plan};
use crate::event::{self, CheckLayer, ErrorRecord, MessagePart, NativeCall, Notice, NoticeLevel, Role, Source};
use crate::model::{ManualReply, Reply};
use crate::prompt::ptc_lisp::feedback::{self, TurnBudget, TurnKind};
use crate::prompt::ptc_lisp::{self as prompt, CarriedState, LISP_EVAL};

/// The machine of the mode.
#[derive(Debug)]
pub(super) struct PtcMachine {
    work: Workspace,
    descriptions: Vec<(String, String)>,
    progress: Progress,
    refs: Refs,
    /// Parts of the first user message.
    opening: Vec<MessagePart>,
    turn: Turn,
    pending: PendingEvaluation,
}

/// The turn so far.
#[derive(Debug, Default)]
struct Turn {
    /// The part of the reply that the history keeps.
    message: Vec<MessagePart>,
    /// The native calls of the reply.
    calls: Vec<NativeCall>,
    /// The program that runs.
    program: String,
}

/// The expressions that are evaluated now.
#[derive(Debug, Default)]
enum PendingEvaluation {
    /// Definitions of the workspace, or nothing.
    #[default]
    Definitions,
    /// The account of progress in the opening.
    Opening,
    /// The refs of this answer.
    Refs(RunAnswer),
    /// The account of progress in what goes back after a turn: its failure, and the message so far.
    Feedback(Option<ErrorRecord>, Vec<MessagePart>),
}

/// The result of a turn.
enum Verdict {
    /// This is the answer, once its refs are there.
    Answer(RunAnswer),
    /// The run has its answer.
    Done(RunAnswer),
    /// The run has failed.
    Over(ErrorRecord),
    /// Another turn follows: the failure of this one, if any, and the feedback.
    Next(Option<ErrorRecord>, Vec<MessagePart>),
}

impl PtcMachine {
    pub(super) fn new(plan: &Plan, start: Start) -> Self {
        Self {
            work: Workspace::new(start.memory, start.journal),
            descriptions: start.descriptions,
            progress: Progress::default(),
            refs: Refs::new(plan),
            opening: Vec::new(),
            turn: Turn::default(),
            pending: PendingEvaluation::default(),
        }
    }

    /// The opening, once the definitions are there. Before the first turn ends, the account of progress is made for it.
    fn on_defined(&mut self, view: &View<'_>, defined: Result<(), ErrorRecord>, effects: Effects) -> Decision {
        if let Err(record) = defined {
            return effects.then(Next::Fail(record));
        }
        if view.used > 0 {
            return self.opened(view, None, effects);
        }
        self.progress = Progress::default();
        match self.progress.job(view.plan, &Done { turn: 1, summaries: &[], calls: &[] }) {
            Some(job) => {
                self.pending = PendingEvaluation::Opening;
                effects.then(Next::Evaluate(vec![job]))
            }
            None => self.opened(view, None, effects),
        }
    }

    fn opened(&mut self, view: &View<'_>, warning: Option<String>, effects: Effects) -> Decision {
        let state = CarriedState {
            memory: self.work.memory.clone(),
            journal: self.work.journal.clone(),
            progress: self.progress.text.clone(),
            tree_turns: view.first_tree,
        };
        let mut opening = prompt::open(view.plan, &self.work.context, &self.descriptions, &state);
        if let Ok(opening) = &mut opening {
            self.opening.clone_from(&opening.user);
            opening.warnings.extend(warning);
        }
        effects.then(Next::Open(opening))
    }

    /// Ends the turn, or builds the feedback.
    fn conclude(&mut self, view: &View<'_>, verdict: Verdict, mut effects: Effects) -> Decision {
        match verdict {
            Verdict::Answer(answer) => {
                let jobs = Refs::jobs(view.plan, &answer.value);
                if jobs.is_empty() {
                    let verdict = self.with_refs(view, answer, Vec::new(), &mut effects);
                    return self.conclude(view, verdict, effects);
                }
                self.pending = PendingEvaluation::Refs(answer);
                effects.then(Next::Evaluate(jobs))
            }
            Verdict::Done(answer) => effects.finish(answer),
            Verdict::Over(record) => effects.fail(record),
            Verdict::Next(failure, parts) => {
                self.work.last_fail.clone_from(&failure);
                if after(view).next().is_none() {
                    return self.exhausted(view, failure, effects);
                }
                let calls = &self.work.digest.calls;
                let done = Done { turn: view.used + 2, summaries: &self.work.summaries, calls };
                match self.progress.job(view.plan, &done) {
                    Some(job) => {
                        self.pending = PendingEvaluation::Feedback(failure, parts);
                        effects.then(Next::Evaluate(vec![job]))
                    }
                    None => self.give_back(view, failure.as_ref(), parts, None, effects),
                }
            }
        }
    }

    /// Sends the results of the turn to the model: a user message, or the result of each native call.
    fn give_back(
        &mut self,
        view: &View<'_>,
        failure: Option<&ErrorRecord>,
        mut parts: Vec<MessagePart>,
        warning: Option<String>,
        mut effects: Effects,
    ) -> Decision {
        // Without a turn of the tree the next request is not made.
        if view.tree_after == 0 {
            return effects.end(failure.map(|record| record.reason.as_str()), None);
        }
        effects.add_message(Role::Assistant, Source::Reply, std::mem::take(&mut self.turn.message));
        let text = feedback::turn_line(view.plan, after(view));
        parts.push(MessagePart::Text { section: "turns".to_owned(), text, untrusted: false });
        if let Some(text) = warning {
            effects.warn(text);
        }
        parts.extend(prompt::progress(view.plan, &self.work.summaries, self.progress.text.as_deref()));
        if !is_native(view.plan) || self.turn.calls.is_empty() {
            effects.add_message(Role::User, Source::Feedback, parts);
        } else {
            let result = call_result(view.plan, &self.work, failure, &text_of(&parts));
            for NativeCall { id, name, .. } in self.turn.calls.drain(..) {
                let part = MessagePart::Result { call: id, name, result: result.clone() };
                effects.add_message(Role::Tool, Source::Tool, vec![part]);
            }
        }
        effects.end(failure.map(|record| record.reason.as_str()), None)
    }

    /// Ends the run: all turns are used.
    fn exhausted(&self, view: &View<'_>, failure: Option<ErrorRecord>, mut effects: Effects) -> Decision {
        let plan = view.plan;
        effects.end_turn(failure.as_ref().map(|record| record.reason.as_str()));
        // An answer is there: what is missing of it is the reason.
        if let Some(record) = failure.as_ref().filter(|record| record.reason == Reason::MissingRefs.name()) {
            return effects.then(Next::Fail(record.clone()));
        }
        if plan.settings.completion == Completion::ReturnRequired
            && let Some(answer) = self.latest_answer(plan)
        {
            return effects.then(Next::Finish(answer));
        }
        if let Some(record) = failure.as_ref().filter(|_| is_pinned(plan)) {
            return effects.then(Next::Fail(of_pinned(plan, record.clone())));
        }
        let reason = if plan.settings.retry_turns == 0 { Reason::MaxTurnsExceeded } else { Reason::BudgetExhausted };
        let last = failure.map(at_the_end);
        let last = last.map(|record| format!("; the last error was {}: {}", record.reason, record.message));
        let used = turns_used(view.used + 1);
        let message = format!("{used} without an answer{}", last.unwrap_or_default());
        effects.then(Next::Fail(ErrorRecord::new(reason, message)))
    }

    /// The latest good value as the answer, when it fits.
    fn latest_answer(&self, plan: &Plan) -> Option<RunAnswer> {
        let (turn, value) = self.work.latest.as_ref()?;
        let (answer, _) = checked(plan, value);
        answer.map(|value| RunAnswer { value, from_turn: Some(*turn), ..RunAnswer::default() })
    }

    /// A value that is to be the answer.
    fn returned(&mut self, view: &View<'_>, outcome: &Outcome, value: &Value, effects: &mut Effects) -> Verdict {
        let plan = view.plan;
        let (answer, issues) = checked(plan, value);
        if plan.signature.output.is_some() || !issues.is_empty() {
            effects.emit(check_event(CheckLayer::Return, answer.is_some(), &issues));
        }
        let Some(value_out) = answer else {
            let record = ErrorRecord::new(Reason::ReturnValidationFailed, answer::joined(&issues));
            if plan.is_single() {
                return Verdict::Over(of_pinned(plan, record));
            }
            return Verdict::Next(Some(record), feedback::invalid(plan, value, &issues));
        };
        if self.work.accept(view, outcome, effects) == Some(MemoryStrategy::Strict) {
            return Verdict::Over(too_large(plan));
        }
        for text in losses(plan, value) {
            effects.emit(Notice { level: NoticeLevel::Info, text });
        }
        self.record_plan(plan, effects);
        Verdict::Answer(value_out.into())
    }

    /// A value that is not the end.
    fn continued(&mut self, view: &View<'_>, outcome: &Outcome, value: &Value, effects: &mut Effects) -> Verdict {
        let plan = view.plan;
        let before = self.work.memory.clone();
        let over = self.work.accept(view, outcome, effects);
        if over == Some(MemoryStrategy::Strict) {
            return Verdict::Over(too_large(plan));
        }
        self.record_plan(plan, effects);
        self.work.remember(plan, value);
        if over == Some(MemoryStrategy::Rollback) {
            return Verdict::Next(None, failure_feedback(plan, &too_large(plan)));
        }
        let is_explicit = plan.settings.completion == Completion::Explicit;
        if is_explicit && now(view).next() != Some(TurnKind::Normal) {
            let message = "the last turn ended without (return value) or (fail reason)";
            let record = ErrorRecord::new(Reason::MustReturnMissing, message);
            let is_last = TurnBudget { used: view.used + 1, ..now(view) }.next().is_none();
            let parts = failure_feedback(plan, &record);
            return if is_last { Verdict::Over(record) } else { Verdict::Next(Some(record), parts) };
        }
        self.work.seen = Some(feedback::seen(plan, &outcome.memory, value, &before));
        Verdict::Next(None, feedback::success(plan, outcome, value, &before))
    }

    /// A reply without a program where programs are sent as native calls: the answer itself, as text, JSON that fits, or a point in time.
    fn in_words(view: &View<'_>, reply: &Reply, effects: &mut Effects) -> Verdict {
        let plan = view.plan;
        let text = || Json::str(reply.text.trim());
        if matches!(plan.output, Type::String | Type::Any) {
            return Verdict::Done(text().into());
        }
        if plan.output.base() == &Type::Datetime
            && let (issues, Some(value)) = answer::fit(plan, &text())
        {
            effects.emit(check_event(CheckLayer::Return, true, &issues));
            return Verdict::Done(value.into());
        }
        let (answer, found) = read_answer(plan, reply, effects);
        match (answer.value.clone(), found) {
            (Some(value), None) => Verdict::Done(value.into()),
            (_, Some(record)) => {
                let parts = json_feedback(plan, &answer, &record, reply);
                Verdict::Next(Some(record), parts)
            }
            (None, None) => Verdict::Next(None, Vec::new()),
        }
    }

    /// A reply without a program that ends the run: the result is the last program's value.
    fn ended_in_words(&self, plan: &Plan, text: String, effects: &mut Effects) -> Verdict {
        let result = self.work.latest.as_ref().map(|(_, value)| value.clone()).unwrap_or_default();
        let (answer, issues) = checked(plan, &result);
        if let Some(value) = answer {
            return Verdict::Answer(RunAnswer { value, summary: Some(text), ..RunAnswer::default() });
        }
        effects.emit(check_event(CheckLayer::Return, false, &issues));
        let record = ErrorRecord::new(Reason::ReturnValidationFailed, answer::joined(&issues));
        Verdict::Next(Some(record), feedback::invalid(plan, &result, &issues))
    }

    fn with_refs(
        &mut self,
        view: &View<'_>,
        answer: RunAnswer,
        outcomes: Vec<Outcome>,
        effects: &mut Effects,
    ) -> Verdict {
        match self.refs.take(view.plan, answer, outcomes, effects) {
            Ok(answer) => Verdict::Done(answer),
            Err(missing) => match *missing {
                (record, Some(parts)) => Verdict::Next(Some(record), parts),
                (record, None) => Verdict::Over(record),
            },
        }
    }

    /// Records the checklist.
    fn record_plan(&self, plan: &Plan, effects: &mut Effects) {
        if !plan.settings.plan.is_empty() || !self.work.summaries.is_empty() {
            effects.emit(plan_state(plan, &self.work.summaries));
        }
    }
}

impl Machine for PtcMachine {
    fn open(&mut self, view: &View<'_>, inputs: Option<RunInputs>) -> Decision {
        let mut effects = Effects::default();
        self.pending = PendingEvaluation::Definitions;
        let job = inputs.map(|inputs| self.work.take(view.plan, inputs, &mut effects)).transpose();
        match job.map(Option::flatten) {
            Ok(Some(job)) => effects.then(Next::Evaluate(vec![job])),
            Ok(None) => self.on_defined(view, Ok(()), effects),
            Err(record) => effects.then(Next::Fail(record)),
        }
    }

    fn turn_kind(&self, view: &View<'_>) -> Option<event::TurnKind> {
        Some(event::TurnKind::from(kind(view).name()))
    }

    fn request(&mut self, view: &View<'_>) -> RequestPlan {
        let plan = view.plan;
        let messages = match plan.settings.compaction {
            Some(Compaction::Trim { .. }) => Messages::Trimmed,
            Some(Compaction::Coalesce { prints, calls }) if view.used > 0 => {
                let progress = self.progress.text.as_deref();
                self.work.summary(plan, &self.opening, progress, now(view), (prints, calls))
            }
            Some(Compaction::Coalesce { .. }) | None => Messages::All,
        };
        // Tools are offered in work turns: the last one and those for corrections are for returning.
        let offers_tools = kind(view) == TurnKind::Normal || plan.agent.max_turns == 1;
        RequestPlan { options: prompt::request_options(plan, offers_tools), messages }
    }

    fn on_reply(&mut self, view: &View<'_>, reply: &Reply) -> Decision {
        let mut effects = Effects::default();
        if let Some(record) = withheld(reply) {
            return effects.fail(record);
        }
        effects.check_budget();
        let (event, found) = find(view, reply);
        if let Some(event) = event {
            effects.emit(event);
        }
        self.turn = Turn { message: view.reply_part(), calls: reply.calls.clone(), program: String::new() };
        let verdict = match found {
            Found::Program { text, message } => {
                let run = self.work.program(view, &text, kind(view));
                (self.turn.message, self.turn.program) = (message, text);
                return effects.then(Next::Run(Box::new(run)));
            }
            Found::Answer(_) if is_native(view.plan) => Self::in_words(view, reply, &mut effects),
            Found::Answer(text) => self.ended_in_words(view.plan, text, &mut effects),
            Found::Nothing(record) if view.plan.is_single() => Verdict::Over(at_the_end(record)),
            Found::Nothing(record) => {
                let parts = failure_feedback(view.plan, &record);
                Verdict::Next(Some(record), parts)
            }
        };
        self.conclude(view, verdict, effects)
    }

    fn on_outcome(&mut self, view: &View<'_>, outcome: Outcome) -> Decision {
        let (plan, mut effects) = (view.plan, Effects::default());
        self.work.add(plan, &self.turn.program, &outcome);
        let verdict = match &outcome.result {
            Err(error) if plan.is_single() => Verdict::Over(of_pinned(plan, program_error(error))),
            Err(error) => {
                let place = error.span.map(|span| (self.turn.program.as_str(), span));
                let parts = feedback::error(plan, error.reason.name(), &error.message(), place);
                Verdict::Next(Some(program_error(error)), parts)
            }
            Ok((Signal::Fail, value)) => {
                self.work.accept(view, &outcome, &mut effects);
                Verdict::Over(failed(plan, value))
            }
            Ok((Signal::Return, value)) => self.returned(view, &outcome, value, &mut effects),
            Ok((Signal::Value, value)) if plan.is_single() => self.returned(view, &outcome, value, &mut effects),
            Ok((Signal::Value, value)) => self.continued(view, &outcome, value, &mut effects),
        };
        self.conclude(view, verdict, effects)
    }

    fn on_evaluated(&mut self, view: &View<'_>, mut outcomes: Vec<Outcome>) -> Decision {
        let mut effects = Effects::default();
        match std::mem::take(&mut self.pending) {
            PendingEvaluation::Definitions => {
                let define = |outcome| self.work.on_evaluated(view.plan, outcome, &mut effects);
                let defined = outcomes.pop().map_or(Ok(()), define);
                self.on_defined(view, defined, effects)
            }
            PendingEvaluation::Opening => {
                let warning = outcomes.pop().and_then(|outcome| self.progress.take(outcome));
                self.opened(view, warning, effects)
            }
            PendingEvaluation::Refs(answer) => {
                let verdict = self.with_refs(view, answer, outcomes, &mut effects);
                self.conclude(view, verdict, effects)
            }
            PendingEvaluation::Feedback(failure, parts) => {
                let warning = outcomes.pop().and_then(|outcome| self.progress.take(outcome));
                self.give_back(view, failure.as_ref(), parts, warning, effects)
            }
        }
    }

    fn partial(&self, view: &View<'_>) -> Option<RunAnswer> {
        self.latest_answer(view.plan).filter(|_| view.plan.settings.return_partial)
    }

    fn carried_state(&self) -> CarriedState {
        self.work.carried.clone()
    }

    fn judge(&self, plan: &Plan, given: &LintInputs, reply: &ManualReply) -> ReplyJudgement {
        if !reply.calls.is_empty() {
            return match program_of(&reply.calls) {
                Ok(program) => program_judged(&program, &program, 0, given).doing(format!("calls {LISP_EVAL}")),
                Err(record) => ReplyJudgement::wrong("", &record),
            };
        }
        let text = reply.text.as_str();
        match program_in(plan, text, Ending::Complete) {
            Ok(_) | Err(NoProgram::Several(_)) if is_native(plan) => ReplyJudgement::wrong("", &written_out()),
            Err(_) if is_native(plan) && matches!(plan.output, Type::String | Type::Any) => {
                ReplyJudgement::fine(ReplyValidity::Fits).doing("answers as text")
            }
            Err(_) if is_native(plan) => answer_judged(plan, text),
            Ok(found) => {
                let at = if found.span.text(text) == found.text { found.span.start } else { 0 };
                let whole = if at == 0 { &found.text } else { text };
                program_judged(&found.text, whole, at, given)
            }
            Err(NoProgram::Absent) if ends_by_words(plan) => {
                ReplyJudgement::fine(ReplyValidity::Fits).doing("ends the run with text")
            }
            Err(NoProgram::Absent) => ReplyJudgement::default(),
            Err(why) => ReplyJudgement::wrong("", &no_program(plan, why)),
        }
    }
}

/// The turn budget when this turn begins.
fn now(view: &View<'_>) -> TurnBudget {
    let (work, retry) = (view.plan.agent.max_turns, view.plan.settings.retry_turns);
    TurnBudget { used: view.used, work, retry, tree: view.tree }
}

/// The budget after this turn.
fn after(view: &View<'_>) -> TurnBudget {
    TurnBudget { used: view.used + 1, tree: view.tree_after, ..now(view) }
}

/// The kind of this turn.
fn kind(view: &View<'_>) -> TurnKind {
    now(view).next().unwrap_or(TurnKind::Retry)
}

fn failure_feedback(plan: &Plan, record: &ErrorRecord) -> Vec<MessagePart> {
    feedback::error(plan, &record.reason, &record.message, None)
}
