//! Mode `json_loop`: each reply is one control object that calls a tool, asks a person or gives the answer.
//!
//! In: replies. Out: the answer, checked against the signature. What breaks the protocol goes back to the model, a few times in a
//! row; an object never becomes a message or an answer. Source: agent contract §26.

use ptc_core::reasons::Reason;
use ptc_core::reply::control::{self, Action, AnswerType, Control, ControlReply};
use ptc_core::reply::{self, CHUNK_CHARS, Extracted, Finish as Ending, REPEATS};
use ptc_core::value::{Json, json};

use super::answer::{self, joined};
use super::cycle::{Cycle, used_up};
use super::edit::next_turn;
use super::json::{complete, issue_record, told, truncated, withheld};
use super::repeats::{Repeats, looped};
use super::text::made;
use super::{Answered, Halt, Input, begin, compaction};
use crate::agent::{Plan, Variant};
use crate::event::{Address, Check, ErrorRecord, Extract, MessagePart, Role, Source, hex_sha};
use crate::model::{Finish, Reply};
use crate::prompt::json_loop as texts;

/// What a run remembers beside its messages.
struct Course {
    /// Replies in a row that broke the protocol.
    failures: u32,
    repeats: Repeats,
    /// Messages that may still ask for missing refs.
    ref_retries: u32,
}

/// The whole run.
pub(super) async fn run(cycle: &mut Cycle<'_>, input: &Input) -> Result<Answered, Halt> {
    let mut at = begin(cycle, input, texts::open).await?;
    let ref_retries = cycle.plan.settings.ref_retries;
    let mut course = Course { failures: 0, repeats: Repeats::default(), ref_retries };
    loop {
        let reply = compaction::trimmed(cycle, &at, &texts::asked(cycle.plan)).await?;
        if let Some(record) = withheld(&reply) {
            cycle.end_turn(&at, reply.usage, Some(&record.reason)).await?;
            return Err(Halt::Fail(record));
        }
        match turn(cycle, &at, &reply, &mut course).await? {
            Some(answer) => return Ok(answer),
            None => at = next_turn(cycle, input, texts::open).await?,
        }
    }
}

/// What a final answer may be.
fn answers(plan: &Plan) -> AnswerType {
    match plan.variant {
        Variant::Plain | Variant::ToolsText => AnswerType::Text,
        Variant::Json | Variant::ToolsJson if plan.output.is_optional() => AnswerType::JsonOrNull,
        Variant::Json | Variant::ToolsJson => AnswerType::Json,
    }
}

/// One turn: the answer when the run is done, nothing when another turn follows.
async fn turn(
    cycle: &mut Cycle<'_>,
    at: &Address,
    reply: &Reply,
    course: &mut Course,
) -> Result<Option<Answered>, Halt> {
    if !reply.calls.is_empty() && reply.finish != Some(Finish::Length) {
        return called_natively(cycle, at, reply, course).await;
    }
    let read = read(cycle.plan, reply);
    let recovered = read.is_recovered();
    let extract = extract_event(&read, reply);
    let ControlReply { extracted, control, .. } = read;
    let control = usable(cycle.plan, control, reply);
    let extract = Extract { error: control.as_ref().err().map(|record| record.as_ref().clone()), ..extract };
    cycle.emit(at, extract).await?;
    let control = match control {
        Ok(control) => control,
        Err(record) => return broke_protocol(cycle, at, reply, *record, course).await,
    };
    course.failures = 0;
    for note in &control.notes {
        cycle.notice(at, note.clone()).await?;
    }
    let Control { thought, action, .. } = control;
    let said = texts::said(thought.as_deref(), &action);
    match action {
        Action::Call { name, args } => {
            cycle.within_budget(at, reply).await?;
            if !recovered {
                course.repeats.note(cycle, (at, reply), &name, &args).await?;
            }
            let given = answer::arguments(cycle.plan, &extracted, &name, &args);
            let result = made(cycle, &at.call(0), &name, (&args, &given)).await?;
            cycle.say(at, Role::Assistant, Source::Reply, said).await?;
            go_on(cycle, at, reply, Source::Tool, texts::results(&[(name, result)], told_left(cycle))).await
        }
        Action::Ask { expected, prompt } => {
            let answer = cycle.ask_person(at, texts::question(expected, &prompt), Vec::new()).await?;
            cycle.say(at, Role::Assistant, Source::Reply, said).await?;
            go_on(cycle, at, reply, Source::Person, texts::answered(&answer, told_left(cycle))).await
        }
        Action::Answer(json) => answered(cycle, at, reply, (&extracted, &json), said, course).await,
    }
}

/// The control object of a reply.
pub(super) fn read(plan: &Plan, reply: &Reply) -> ControlReply {
    let ending = if reply.finish == Some(Finish::Length) { Ending::Truncated } else { Ending::Complete };
    control::read(&reply.text, answers(plan), plan.recovery, ending)
}

/// Turns that may follow this one.
fn left(cycle: &Cycle<'_>) -> u32 {
    cycle.plan.agent.max_turns.saturating_sub(cycle.totals.turns + 1)
}

/// The same as the model is told: no more than all agents of the tree together have left.
fn told_left(cycle: &Cycle<'_>) -> u32 {
    left(cycle).min(cycle.tree_turns_behind())
}

/// The control object, or why the reply cannot be used.
pub(super) fn usable(
    plan: &Plan,
    control: Result<Control, String>,
    reply: &Reply,
) -> Result<Control, Box<ErrorRecord>> {
    if reply.finish == Some(Finish::Length) {
        return Err(truncated(&reply.text).into());
    }
    let broken = |problem: String| Box::new(ErrorRecord::new(Reason::ProtocolError, problem));
    match control.map_err(broken)? {
        Control { action: Action::Call { name, .. }, .. } if plan.native_tool(&name).is_none() => {
            Err(broken(unknown(plan, &name)))
        }
        control => Ok(control),
    }
}

fn unknown(plan: &Plan, name: &str) -> String {
    let names: Vec<_> = plan.native_tools().map(|tool| tool.name.as_str()).collect();
    let known = if names.is_empty() { "there are no tools".to_owned() } else { format!("tools: {}", names.join(", ")) };
    format!("there is no tool `{name}` ({known})")
}

fn extract_event(read: &ControlReply, reply: &Reply) -> Extract {
    let told = told("control", &read.extracted, &reply.text);
    let rule = if read.is_prose { Some("prose".to_owned()) } else { told.rule.clone() };
    Extract { rule, ..told }
}

/// A reply that did something: its outcome is told, and another turn follows while there is one.
async fn go_on(
    cycle: &mut Cycle<'_>,
    at: &Address,
    reply: &Reply,
    source: Source,
    parts: Vec<MessagePart>,
) -> Result<Option<Answered>, Halt> {
    cycle.say(at, Role::User, source, parts).await?;
    cycle.end_turn(at, reply.usage, None).await?;
    cycle.check_budget(None)?;
    let turns = cycle.totals.turns;
    if turns < cycle.plan.agent.max_turns {
        return Ok(None);
    }
    Err(Halt::fail(
        Reason::MaxTurnsExceeded,
        format!("{} without a final answer; max_turns is {turns}", used_up(turns)),
    ))
}

/// A turn that did not give what was wanted: said and told, unless it was the last.
async fn go_back(
    cycle: &mut Cycle<'_>,
    at: &Address,
    reply: &Reply,
    record: ErrorRecord,
    said: Vec<MessagePart>,
    feedback: Vec<MessagePart>,
) -> Result<Option<Answered>, Halt> {
    let is_last = left(cycle) == 0;
    if !is_last {
        cycle.say(at, Role::Assistant, Source::Reply, said).await?;
        cycle.say(at, Role::User, Source::Feedback, feedback).await?;
    }
    cycle.end_turn(at, reply.usage, Some(&record.reason)).await?;
    cycle.check_budget(None)?;
    if is_last { Err(Halt::Fail(record)) } else { Ok(None) }
}

/// A final answer, found in what was extracted: the end when it fits.
async fn answered(
    cycle: &mut Cycle<'_>,
    at: &Address,
    reply: &Reply,
    (extracted, json): (&Extracted, &Json),
    said: Vec<MessagePart>,
    course: &mut Course,
) -> Result<Option<Answered>, Halt> {
    if let Some(chunk) = json.as_str().and_then(reply::repeated) {
        let message =
            format!("the answer repeats the same {CHUNK_CHARS} characters {REPEATS} times: {:?}", chunk.trim());
        return Err(looped(cycle, at, reply, message).await?);
    }
    let (issues, value) = answer::fit_in(cycle.plan, extracted, json);
    if answers(cycle.plan) != AnswerType::Text {
        let layer = if cycle.plan.raw_schema.is_some() { "schema" } else { "return" };
        let issues = issues.iter().map(issue_record).collect();
        cycle.emit(at, Check { layer: layer.to_owned(), ok: value.is_some(), issues }).await?;
    }
    let Some(value) = value else {
        let record = ErrorRecord::new(Reason::ValidationError, joined(&issues));
        let feedback = texts::misfit(cycle.plan, &issues, told_left(cycle));
        return go_back(cycle, at, reply, record, said, feedback).await;
    };
    match complete(cycle, value, &mut course.ref_retries).await? {
        Ok(answer) => {
            cycle.say(at, Role::Assistant, Source::Reply, said).await?;
            cycle.end_turn(at, reply.usage, None).await?;
            Ok(Some(answer))
        }
        Err((record, Some(parts))) => {
            let parts = parts.into_iter().chain(texts::next(told_left(cycle))).collect();
            go_back(cycle, at, reply, record, said, parts).await
        }
        Err((record, None)) => {
            cycle.end_turn(at, reply.usage, Some(&record.reason)).await?;
            Err(Halt::Fail(record))
        }
    }
}

/// A reply that is no control object: feedback, or the end after too many in a row.
async fn broke_protocol(
    cycle: &mut Cycle<'_>,
    at: &Address,
    reply: &Reply,
    record: ErrorRecord,
    course: &mut Course,
) -> Result<Option<Answered>, Halt> {
    course.failures += 1;
    if course.failures < cycle.plan.settings.protocol_failures {
        let is_protocol = record.reason == Reason::ProtocolError.name();
        if is_protocol && left(cycle) == 0 {
            cycle.end_turn(at, reply.usage, Some(&record.reason)).await?;
            cycle.check_budget(None)?;
            let turns = cycle.totals.turns;
            let used = format!("{} without a final answer; max_turns is {turns}", used_up(turns));
            let message = format!("{used}; the last reply: {}", record.message);
            return Err(Halt::fail(Reason::MaxTurnsExceeded, message));
        }
        let said = texts::said_wrongly(at, &reply.text);
        let feedback = texts::broken(cycle.plan, &record.message, &reply.text, told_left(cycle));
        return go_back(cycle, at, reply, record, said, feedback).await;
    }
    let failures = course.failures;
    let raw = if cycle.plan.settings.accept_raw { raw(cycle.plan, reply) } else { None };
    if let Some(value) = raw {
        let text = format!("{failures} replies in a row were no control object: the last one was taken as the answer");
        cycle.notice(at, text).await?;
        let said = texts::said(None, &Action::Answer(value.clone()));
        cycle.say(at, Role::Assistant, Source::Reply, said).await?;
        cycle.end_turn(at, reply.usage, None).await?;
        return Ok(Some(value.into()));
    }
    cycle.end_turn(at, reply.usage, Some(&record.reason)).await?;
    let message = format!("{failures} replies in a row were no control object; the last: {}", record.message);
    Err(Halt::fail(Reason::ProtocolError, message))
}

/// The answer in a reply that broke the protocol: what the object says, never the object itself; else the text, when it fits.
fn raw(plan: &Plan, reply: &Reply) -> Option<Json> {
    if reply.finish == Some(Finish::Length) || reply.text.trim().is_empty() {
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

/// Native calls: made like the call of a control object.
async fn called_natively(
    cycle: &mut Cycle<'_>,
    at: &Address,
    reply: &Reply,
    course: &mut Course,
) -> Result<Option<Answered>, Halt> {
    let calls: Result<Vec<_>, String> =
        reply.calls.iter().map(|call| native(cycle.plan, &call.name, &call.args)).collect();
    let calls = calls.map_err(|problem| ErrorRecord::new(Reason::ProtocolError, problem));
    let candidates = u32::try_from(reply.calls.len()).unwrap_or(u32::MAX);
    let extract = Extract {
        kind: "control".to_owned(),
        rule: Some("native".to_owned()),
        candidates,
        sha: hex_sha(reply.text.as_bytes()),
        error: calls.as_ref().err().cloned(),
        ..Extract::default()
    };
    cycle.emit(at, extract).await?;
    let calls = match calls {
        Ok(calls) => calls,
        Err(record) => return broke_protocol(cycle, at, reply, record, course).await,
    };
    course.failures = 0;
    if !cycle.plan.settings.native_tools {
        let text = "the model called a tool natively instead of in the control object; the call was made";
        cycle.notice(at, text).await?;
    }
    cycle.within_budget(at, reply).await?;
    let mut results = Vec::new();
    for (place, (name, args)) in (0_u32..).zip(&calls) {
        course.repeats.note(cycle, (at, reply), name, args).await?;
        results.push((name.clone(), made(cycle, &at.call(place), name, (args, &args.to_value())).await?));
    }
    cycle.say(at, Role::Assistant, Source::Reply, texts::said_natively(&calls)).await?;
    go_on(cycle, at, reply, Source::Tool, texts::results(&results, told_left(cycle))).await
}

/// The tool and the arguments of a native call.
pub(super) fn native(plan: &Plan, name: &str, args: &str) -> Result<(String, Json), String> {
    let tool = plan.native_tool(name).ok_or_else(|| unknown(plan, name))?;
    let written = if args.trim().is_empty() { "{}" } else { args };
    match json::parse(written) {
        Ok(args) if args.members().is_some() => Ok((tool.name.clone(), args)),
        _ => Err(format!("the arguments of {name} must be a JSON object")),
    }
}
