//! Mode `json_loop`: each reply is one control object that calls a tool, asks the user or gives the answer.
//!
//! In: replies, results, answers of the user. Out: decisions. Errors of the protocol go back to the model, a few times in a row. The
//! history holds control objects as they were sent, never prose; an object never becomes an answer.

use std::collections::VecDeque;

use ptc_core::lisp::Outcome;
use ptc_core::reasons::Reason;
use ptc_core::reply::control::{self, Action, AnswerType, Control, ControlReply};
use ptc_core::reply::{self, CHUNK_CHARS, ExtractOutcome, Extraction, Finish as Ending, REPEATS};
use ptc_core::signature::Issue;
use ptc_core::value::json::Node;
use ptc_core::value::{Json, Value, json};

use super::answer::{self, joined};
use super::calls::{Repeats, args_text, result_text, tool_use};
use super::decision::{Decision, Effects, Messages, Next, RequestPlan, ToolResult, ToolUse, View, turns_used};
use super::judgement::{Remark, ReplyJudgement, ReplyValidity, call_judged, calls_judged, remark};
use super::machine::{Machine, RunInputs};
use super::refs::Refs;
use super::verdict::{answer_check, ending, extract_event, is_cut, truncated, warn_of_ties, withheld};
use crate::agent::{LintInputs, Plan, Variant};
use crate::event::{ErrorRecord, Extract, ExtractKind, MessagePart, NativeCall, Role, Source, hex_sha};
use crate::model::{ManualReply, Reply};
use crate::prompt::json_loop as texts;

/// The part of a reply that the history keeps.
#[derive(Debug, Default)]
enum PendingReply {
    /// Nothing: it held no object.
    #[default]
    Nothing,
    /// This message: the control object.
    Object(Vec<MessagePart>),
    /// Its native calls, where the request offers tools natively.
    Native(Vec<MessagePart>, Vec<NativeCall>),
    /// Its native calls as control objects, one for each.
    Calls(Vec<Vec<MessagePart>>),
}

/// The machine of the mode.
#[derive(Debug)]
pub(super) struct JsonLoopMachine {
    context: Value,
    descriptions: Vec<(String, String)>,
    /// Replies in a row that broke the protocol.
    failures: u32,
    repeats: Repeats,
    refs: Refs,
    /// The part of the reply that the history keeps.
    kept: PendingReply,
    /// The calls that follow the one that is made.
    calls: VecDeque<ToolUse>,
    /// Results of the turn: tool and JSON text.
    results: Vec<(String, String)>,
    /// The answer whose refs are evaluated.
    answer: Json,
}

impl JsonLoopMachine {
    pub(super) fn new(plan: &Plan, descriptions: Vec<(String, String)>) -> Self {
        Self {
            context: Value::Nil,
            descriptions,
            failures: 0,
            repeats: Repeats::default(),
            refs: Refs::new(plan),
            kept: PendingReply::default(),
            calls: VecDeque::new(),
            results: Vec::new(),
            answer: Json::default(),
        }
    }

    /// A control object.
    fn on_control(&mut self, view: &View<'_>, reply: &Reply) -> Decision {
        let read = read(view.plan, reply);
        let recovered = read.is_recovered();
        let event = control_extract(&read, reply);
        self.kept = kept(view, &read, reply);
        let ControlReply { extraction, control, .. } = read;
        let mut effects = Effects::default();
        let control = match usable(view.plan, control, reply) {
            Ok(control) => control,
            Err(record) => {
                effects.emit(Extract { error: Some(record.as_ref().clone()), ..event });
                return self.on_broken(view, reply, *record, effects);
            }
        };
        effects.emit(event);
        warn_of_ties(&extraction, &mut effects);
        self.failures = 0;
        control.notes.iter().for_each(|note| effects.warn(note.clone()));
        match control.action {
            Action::Call { name, args } => {
                effects.check_budget();
                let value = answer::arguments(view.plan, &extraction, &name, &args);
                let call = ToolUse { value, ..tool_use(view.plan, 0, &name, args) };
                if recovered {
                    return effects.then(Next::Call(call));
                }
                self.calls = VecDeque::from([call]);
                self.call(view, effects)
            }
            Action::Ask { expected, prompt } => effects.then(Next::Ask(texts::question(expected, &prompt))),
            Action::Answer(json) => self.on_final(view, &extraction, &json, effects),
        }
    }

    /// Native calls: made like the call of a control object.
    fn on_native(&mut self, view: &View<'_>, reply: &Reply) -> Decision {
        let read = read(view.plan, reply);
        let calls: Result<Vec<_>, ErrorRecord> = reply.calls.iter().map(|call| native(view.plan, call)).collect();
        let calls = calls.and_then(|calls| single_action(&read, calls));
        let mut effects = Effects::default();
        effects.emit(Extract {
            kind: ExtractKind::Control,
            rule: Some("native".to_owned()),
            candidates: u32::try_from(reply.calls.len()).unwrap_or(u32::MAX),
            sha: hex_sha(reply.text.as_bytes()),
            error: calls.as_ref().err().cloned(),
            ..Extract::default()
        });
        let calls = match calls {
            Ok(calls) => calls,
            Err(record) => {
                self.kept = kept(view, &read, reply);
                return self.on_broken(view, reply, record, effects);
            }
        };
        self.failures = 0;
        if !view.plan.settings.native_tools {
            effects.warn("the model called a tool natively instead of in the control object; the call was made");
        }
        effects.check_budget();
        self.kept = if view.plan.settings.native_tools {
            PendingReply::Native(view.reply_part(), reply.calls.clone())
        } else {
            PendingReply::Calls(calls.iter().map(|(name, args)| texts::called(&reply.text, name, args)).collect())
        };
        let uses = (0_u32..).zip(calls).map(|(number, (name, args))| tool_use(view.plan, number, &name, args));
        self.calls = uses.collect();
        self.call(view, effects)
    }

    /// Makes the next call; after the last one the results go back.
    fn call(&mut self, view: &View<'_>, effects: Effects) -> Decision {
        let Some(call) = self.calls.pop_front() else {
            return self.give_results(view, effects);
        };
        match self.repeats.take(view.plan.settings.same_calls, &call.name, &call.args) {
            Some(record) => effects.fail(record),
            None => effects.then(Next::Call(call)),
        }
    }

    /// The results of the turn's calls go back: in the form of the calls.
    fn give_results(&mut self, view: &View<'_>, mut effects: Effects) -> Decision {
        let (results, left) = (std::mem::take(&mut self.results), turns_shown(view));
        match std::mem::take(&mut self.kept) {
            PendingReply::Native(message, calls) => {
                effects.add_message(Role::Assistant, Source::Reply, message);
                for (number, (call, (_, result))) in (0..).zip(calls.into_iter().zip(results)) {
                    let part = MessagePart::Result { call: call.id, name: call.name, result };
                    effects.add_message(Role::Tool, Source::Tool, view.result_parts(number, part));
                }
                match texts::next(left) {
                    Some(next) => self.proceed(view, Source::Tool, vec![next], effects),
                    None => Self::end(view, effects),
                }
            }
            PendingReply::Calls(mut objects) => {
                let last = objects.pop().unwrap_or_default();
                let made = results.len().saturating_sub(1);
                for (object, result) in objects.into_iter().zip(&results) {
                    effects.add_message(Role::Assistant, Source::Reply, object);
                    effects.add_message(Role::User, Source::Tool, texts::results(std::slice::from_ref(result), None));
                }
                self.kept = PendingReply::Object(last);
                let parts = texts::results(results.get(made..).unwrap_or_default(), texts::next(left));
                self.proceed(view, Source::Tool, parts, effects)
            }
            other => {
                self.kept = other;
                self.proceed(view, Source::Tool, texts::results(&results, texts::next(left)), effects)
            }
        }
    }

    /// The message of the reply.
    fn add_reply(&mut self, effects: &mut Effects) {
        match std::mem::take(&mut self.kept) {
            PendingReply::Object(message) => effects.add_message(Role::Assistant, Source::Reply, message),
            PendingReply::Nothing | PendingReply::Native(..) | PendingReply::Calls(_) => {}
        }
    }

    /// Ends a turn that did something: its outcome goes back, and another turn follows while there is one.
    fn proceed(&mut self, view: &View<'_>, source: Source, parts: Vec<MessagePart>, mut effects: Effects) -> Decision {
        self.add_reply(&mut effects);
        effects.add_message(Role::User, source, parts);
        Self::end(view, effects)
    }

    fn end(view: &View<'_>, effects: Effects) -> Decision {
        let fail = (view.turns_after() == 0).then(|| ErrorRecord::new(Reason::MaxTurnsExceeded, without_answer(view)));
        effects.end(None, fail)
    }

    /// A final answer that was extracted from a reply.
    fn on_final(&mut self, view: &View<'_>, extraction: &Extraction, json: &Json, mut effects: Effects) -> Decision {
        if let Some(chunk) = json.as_str().and_then(reply::repeated) {
            let message =
                format!("the answer repeats the same {CHUNK_CHARS} characters {REPEATS} times: {:?}", chunk.trim());
            return effects.fail(ErrorRecord::new(Reason::LoopDetected, message));
        }
        let (issues, value) = answer::fit_in(view.plan, extraction, json);
        if answers(view.plan) != AnswerType::Text {
            effects.emit(answer_check(view.plan, value.is_some(), &issues));
        }
        let Some(value) = value else {
            let record = ErrorRecord::new(Reason::ValidationError, joined(&issues));
            let feedback = texts::misfit(view.plan, &issues, turns_shown(view));
            return self.go_back(view, record, feedback, effects);
        };
        let jobs = Refs::jobs(view.plan, &value);
        self.answer = value;
        if jobs.is_empty() { self.complete(view, Vec::new(), effects) } else { effects.then(Next::Evaluate(jobs)) }
    }

    /// Ends the run with the answer, once its refs are there.
    fn complete(&mut self, view: &View<'_>, outcomes: Vec<Outcome>, mut effects: Effects) -> Decision {
        let value = std::mem::take(&mut self.answer);
        match self.refs.take(view.plan, value.into(), outcomes, &mut effects) {
            Ok(answer) => {
                self.add_reply(&mut effects);
                effects.finish(answer)
            }
            Err(missing) => match *missing {
                (record, Some(parts)) => {
                    let parts = parts.into_iter().chain(texts::next(turns_shown(view))).collect();
                    self.go_back(view, record, parts, effects)
                }
                (record, None) => effects.fail(record),
            },
        }
    }

    /// Ends a turn that did not give what was wanted: with feedback, unless it was the last.
    fn go_back(
        &mut self,
        view: &View<'_>,
        record: ErrorRecord,
        feedback: Vec<MessagePart>,
        mut effects: Effects,
    ) -> Decision {
        let reason = record.reason.clone();
        if view.turns_after() == 0 {
            return effects.end(Some(&reason), Some(record));
        }
        // Without a turn of the tree the next request is not made.
        if view.tree_after > 0 {
            self.add_reply(&mut effects);
            effects.add_message(Role::User, Source::Feedback, feedback);
        }
        effects.end(Some(&reason), None)
    }

    /// A reply that is not a control object: feedback, or the end after too many in a row.
    fn on_broken(&mut self, view: &View<'_>, reply: &Reply, record: ErrorRecord, mut effects: Effects) -> Decision {
        self.failures += 1;
        let (failures, settings) = (self.failures, &view.plan.settings);
        if failures < settings.protocol_failures {
            if record.reason == Reason::ProtocolError.name() && view.turns_after() == 0 {
                let message = format!("{}; the last reply: {}", without_answer(view), record.message);
                return effects.end(Some(&record.reason), Some(ErrorRecord::new(Reason::MaxTurnsExceeded, message)));
            }
            let feedback = texts::broken(view.plan, &record.message, &reply.text, turns_shown(view));
            return self.go_back(view, record, feedback, effects);
        }
        if let Some(value) = raw(view.plan, reply).filter(|_| settings.accept_raw) {
            effects.warn(format!(
                "{failures} consecutive replies contained no control object: the last one became the answer"
            ));
            effects.add_message(Role::Assistant, Source::Reply, texts::answered_with(&value));
            return effects.finish(value.into());
        }
        effects.end_turn(Some(&record.reason));
        let message = format!("{failures} consecutive replies were invalid; the last error: {}", record.message);
        effects.then(Next::Fail(ErrorRecord::new(Reason::ProtocolError, message)))
    }
}

impl Machine for JsonLoopMachine {
    fn open(&mut self, view: &View<'_>, inputs: Option<RunInputs>) -> Decision {
        if let Some(inputs) = inputs {
            self.context = inputs.context;
        }
        Effects::default().then(Next::Open(texts::open(view.plan, &self.context, &self.descriptions)))
    }

    fn request(&mut self, view: &View<'_>) -> RequestPlan {
        RequestPlan { options: texts::request_options(view.plan), messages: Messages::Trimmed }
    }

    fn on_reply(&mut self, view: &View<'_>, reply: &Reply) -> Decision {
        match withheld(reply) {
            Some(record) => Effects::default().fail(record),
            None if reply.calls.is_empty() || is_cut(reply) => self.on_control(view, reply),
            None => self.on_native(view, reply),
        }
    }

    fn on_result(&mut self, view: &View<'_>, call: &ToolUse, result: ToolResult) -> Decision {
        self.results.push((call.name.clone(), result_text(view.plan, call, result)));
        self.call(view, Effects::default())
    }

    fn on_answer(&mut self, view: &View<'_>, answer: String) -> Decision {
        let parts = texts::answered(&answer, turns_shown(view));
        self.proceed(view, Source::User, parts, Effects::default())
    }

    fn on_evaluated(&mut self, view: &View<'_>, outcomes: Vec<Outcome>) -> Decision {
        self.complete(view, outcomes, Effects::default())
    }

    fn judge(&self, plan: &Plan, _: &LintInputs, typed: &ManualReply) -> ReplyJudgement {
        if !typed.calls.is_empty() {
            let calls: Result<Vec<_>, ErrorRecord> = typed.calls.iter().map(|call| native(plan, call)).collect();
            let read = read(plan, &Reply::from(typed.text.clone()));
            if let Err(record) = calls.and_then(|calls| single_action(&read, calls))
                && read.control.is_ok()
            {
                return ReplyJudgement::wrong("", &record);
            }
            let args = |call: &NativeCall| native(plan, call).map(|(_, args)| args.to_value());
            return calls_judged(plan, typed.calls.iter().map(|call| (call.name.as_str(), args(call))).collect());
        }
        let reply = Reply::from(typed.text.clone());
        let read = read(plan, &reply);
        let control = match usable(plan, read.control, &reply) {
            Ok(control) => control,
            Err(record) => return ReplyJudgement::wrong("", &record),
        };
        match control.action {
            Action::Call { name, args } => {
                let value = answer::arguments(plan, &read.extraction, &name, &args);
                call_judged(plan, &name, &value).doing(format!("calls {name}"))
            }
            Action::Ask { .. } => ReplyJudgement::fine(ReplyValidity::Fits).doing("asks the user"),
            Action::Answer(json) => {
                let (issues, _) = answer::fit(plan, &json);
                ReplyJudgement::of(ReplyValidity::Fits, issues.iter().map(within_answer).collect()).doing("answers")
            }
        }
    }
}

/// The remark about an issue of the final answer.
fn within_answer(issue: &Issue) -> Remark {
    let remark = remark(issue);
    let place = if remark.place.is_empty() { String::new() } else { format!(".{}", remark.place) };
    Remark { place: format!("final_answer{place}"), ..remark }
}

/// Turns that may follow, as the model sees them: no more than all agents of the tree together have left.
fn turns_shown(view: &View<'_>) -> u32 {
    view.turns_after().min(view.tree_after)
}

fn without_answer(view: &View<'_>) -> String {
    let turns = view.used + 1;
    format!("{} without a final answer; max_turns is {turns}", turns_used(turns))
}

/// Returns the allowed values of a final answer.
fn answers(plan: &Plan) -> AnswerType {
    match plan.variant {
        Variant::Plain | Variant::ToolsText => AnswerType::Text,
        Variant::Json | Variant::ToolsJson if plan.output.is_optional() => AnswerType::JsonOrNull,
        Variant::Json | Variant::ToolsJson => AnswerType::Json,
    }
}

/// The control object of a reply.
fn read(plan: &Plan, reply: &Reply) -> ControlReply {
    control::read(&reply.text, answers(plan), plan.recovery, ending(reply))
}

/// The control object, or why the reply cannot be used.
fn usable(plan: &Plan, control: Result<Control, String>, reply: &Reply) -> Result<Control, Box<ErrorRecord>> {
    if is_cut(reply) {
        return Err(truncated(&reply.text).into());
    }
    let broken = |problem: String| Box::new(ErrorRecord::new(Reason::ProtocolError, problem));
    match control.map_err(broken)? {
        Control { action: Action::Call { name, .. }, .. } if plan.native_tool(&name).is_none() => {
            Err(broken(no_tool(plan, &name)))
        }
        control => Ok(control),
    }
}

/// Returns the part of a reply that the history keeps: its object as it was sent, after repairs as it was read.
fn kept(view: &View<'_>, read: &ControlReply, reply: &Reply) -> PendingReply {
    if let (true, Ok(Control { action: Action::Answer(answer), .. })) = (read.is_prose, &read.control) {
        return PendingReply::Object(texts::answered_with(answer));
    }
    let (ExtractOutcome::Found { json, .. } | ExtractOutcome::Rejected { json, .. }) = &read.extraction.outcome else {
        return PendingReply::Nothing;
    };
    if json.members().is_none() || is_cut(reply) {
        return PendingReply::Nothing;
    }
    let candidate = read.extraction.candidate();
    let is_whole = candidate.is_some_and(|found| {
        found.fixes.is_empty() && found.span.text(&reply.text).trim() == reply.text.trim() && reply.calls.is_empty()
    });
    PendingReply::Object(if is_whole { view.reply_part() } else { texts::object(json) })
}

/// The tool and the arguments of a native call.
fn native(plan: &Plan, call: &NativeCall) -> Result<(String, Json), ErrorRecord> {
    let broken = |problem: String| ErrorRecord::new(Reason::ProtocolError, problem);
    let tool = plan.native_tool(&call.name).ok_or_else(|| broken(no_tool(plan, &call.name)))?;
    match json::parse(args_text(call)) {
        Ok(args) if args.members().is_some() => Ok((tool.name.clone(), args)),
        _ => Err(broken(format!("the arguments of {} must be a JSON object", call.name))),
    }
}

/// The native calls, unless the text of the reply holds a control object with an action of its own. A `tool_call` that repeats the only
/// native call, prose and an empty answer are no other action.
fn single_action(read: &ControlReply, calls: Vec<(String, Json)>) -> Result<Vec<(String, Json)>, ErrorRecord> {
    let action = match &read.control {
        Ok(control) if !read.is_prose => &control.action,
        _ => return Ok(calls),
    };
    let key = match action {
        Action::Answer(answer)
            if answer.node == Node::Null || answer.as_str().is_some_and(|text| text.trim().is_empty()) =>
        {
            return Ok(calls);
        }
        Action::Call { name, args } if matches!(&*calls, [(only, given)] if only == name && given == args) => {
            return Ok(calls);
        }
        Action::Call { .. } => "tool_call",
        Action::Answer(_) => "final_answer",
        Action::Ask { .. } => "awaiting_user_input",
    };
    let problem = format!(
        "the reply calls a tool natively and sets {key}; use exactly one of a native call, tool_call, final_answer and awaiting_user_input"
    );
    Err(ErrorRecord::new(Reason::ProtocolError, problem))
}

fn no_tool(plan: &Plan, name: &str) -> String {
    let names: Vec<_> = plan.native_tools().map(|tool| tool.name.as_str()).collect();
    let known = if names.is_empty() { "there are no tools".to_owned() } else { format!("tools: {}", names.join(", ")) };
    format!("unknown tool `{name}` ({known})")
}

fn control_extract(read: &ControlReply, reply: &Reply) -> Extract {
    let event = extract_event(ExtractKind::Control, &read.extraction, &reply.text);
    let rule = if read.is_prose { Some("prose".to_owned()) } else { event.rule.clone() };
    Extract { rule, ..event }
}

/// The answer in a reply that broke the protocol: what the object holds, never the object itself; else the text, when it fits.
fn raw(plan: &Plan, reply: &Reply) -> Option<Json> {
    if is_cut(reply) || reply.text.trim().is_empty() {
        return None;
    }
    let partial = texts::seen(&reply.text);
    let seen = control::partial_control(&partial);
    if let Some(answer) = seen.answer {
        return answer::fit(plan, answer).1;
    }
    if seen != control::PartialControl::default() {
        return None;
    }
    match answers(plan) {
        AnswerType::Text => answer::fit(plan, &Json::str(reply.text.trim())).1,
        AnswerType::Json | AnswerType::JsonOrNull => answer::read(plan, &reply.text, Ending::Complete).value,
    }
}
