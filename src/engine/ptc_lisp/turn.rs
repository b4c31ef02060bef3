//! The reply of a turn: the program in it, by either transport, and the way back.

use ptc_core::reasons::Reason;
use ptc_core::reply::Finish as Ending;
use ptc_core::reply::program::{self as extract, NoProgram, Program};
use ptc_core::value::json::Node;
use ptc_core::value::{Json, json};

use super::{is_native, work::Work};
use crate::agent::{Completion, Plan};
use crate::engine::Halt;
use crate::engine::cycle::Cycle;
use crate::event::{Address, ErrorRecord, Extract, Kept, MessagePart, NativeCall, Role, Source, hex_sha};
use crate::model::{Finish, Reply};
use crate::prompt::ptc_lisp::LISP_EVAL;

/// What a reply holds.
pub(super) enum Found {
    /// A program; `said`: the assistant message that the history keeps.
    Program {
        /// Its text.
        text: String,
        /// The message.
        said: Vec<MessagePart>,
    },
    /// An answer in words.
    Answer(String),
    /// Neither.
    Nothing {
        /// Why.
        record: ErrorRecord,
        /// The message that the history keeps.
        said: Vec<MessagePart>,
    },
}

/// Finds the program and tells how.
pub(super) async fn find(cycle: &mut Cycle<'_>, at: &Address, reply: &Reply) -> Result<Found, Halt> {
    if is_native(cycle.plan) && !reply.calls.is_empty() {
        return called(cycle, at, reply).await;
    }
    let cut = reply.finish == Some(Finish::Length);
    let found = program_in(cycle.plan, &reply.text, if cut { Ending::Truncated } else { Ending::Complete });
    let is_words = found == Err(NoProgram::Absent) && !reply.text.trim().is_empty();
    if is_words && is_native(cycle.plan) {
        return Ok(Found::Answer(reply.text.clone()));
    }
    if is_words && ends_by_words(cycle.plan) {
        return Ok(Found::Answer(reply.text.trim().to_owned()));
    }
    cycle.emit(at, told(cycle.plan, &found, &reply.text)).await?;
    let whole = || vec![MessagePart::Reply { reply: at.clone() }];
    Ok(match found {
        Ok(_) if is_native(cycle.plan) => Found::Nothing { record: written_out(), said: whole() },
        Ok(program) => Found::Program { said: history(&program, at, &reply.text), text: program.text },
        Err(why) => Found::Nothing { record: refusal(cycle.plan, why), said: whole() },
    })
}

/// The program of a reply in words.
pub(in crate::engine) fn program_in(plan: &Plan, text: &str, ending: Ending) -> Result<Program, NoProgram> {
    let find = if takes_first(plan) { extract::first_program } else { extract::program };
    find(text, plan.recovery, ending)
}

/// Why a reply gives no program, and what to do where programs are written or travel as calls.
pub(in crate::engine) fn refusal(plan: &Plan, why: NoProgram) -> ErrorRecord {
    let reason = if why == NoProgram::Absent { Reason::NoCodeFound } else { why.reason() };
    match why {
        NoProgram::Absent if is_native(plan) => {
            let message =
                format!("the reply is empty; call the tool {LISP_EVAL} with a program, or reply with the answer");
            ErrorRecord::new(reason, message)
        }
        NoProgram::Several(_) if is_native(plan) => written_out(),
        NoProgram::Truncated | NoProgram::Several(_) | NoProgram::Absent => ErrorRecord::new(reason, why.message()),
    }
}

/// Programs stood in a reply, though they travel as calls.
pub(in crate::engine) fn written_out() -> ErrorRecord {
    let message = format!("call the tool {LISP_EVAL} with the program instead of writing it in the reply");
    ErrorRecord::new(Reason::NoCodeFound, message)
}

/// Why a reply gave no program, as the end of a run tells it: until then the words are those for the model.
pub(super) fn at_the_end(record: ErrorRecord) -> ErrorRecord {
    let said = match Reason::from_name(&record.reason) {
        Some(Reason::NoCodeFound) => "the reply held no program to run",
        Some(Reason::MultipleCodeBlocks) => "the reply held several programs, so none was run",
        Some(Reason::ReplyTruncated) => "the output limit cut the reply, so its program was not run",
        _ => return record,
    };
    ErrorRecord { message: said.to_owned(), ..record }
}

/// Does a reply without a program end the run?
pub(in crate::engine) fn ends_by_words(plan: &Plan) -> bool {
    plan.settings.completion == Completion::AnswerWithoutCode
}

/// Does the first of several blocks count, tagged or not (settled decision 6)?
fn takes_first(plan: &Plan) -> bool {
    ends_by_words(plan) && !is_native(plan)
}

/// The reply reduced to its program; the reply itself when it is nothing else.
fn history(program: &Program, at: &Address, reply: &str) -> Vec<MessagePart> {
    let reduced = program.history();
    if reduced.trim() == reply.trim() {
        return vec![MessagePart::Reply { reply: at.clone() }];
    }
    vec![MessagePart::Text { section: "program".to_owned(), text: reduced, untrusted: true }]
}

fn told(plan: &Plan, found: &Result<Program, NoProgram>, reply: &str) -> Extract {
    let sha = hex_sha(reply.as_bytes());
    let kind = "program".to_owned();
    match found {
        Ok(program) => Extract {
            kind,
            rule: Some(program.rule.name().to_owned()),
            candidates: 1,
            fixes: program.fixes.iter().map(|mend| (mend.kind.name().to_owned(), mend.at.start, mend.at.end)).collect(),
            span: Some((program.span.start, program.span.end)),
            sha,
            repaired: (program.span.text(reply) != program.text).then(|| Kept::of(program.text.clone())),
            error: None,
            error_at: None,
        },
        Err(why) => {
            let candidates = match why {
                NoProgram::Several(count) => u32::try_from(*count).unwrap_or(u32::MAX),
                NoProgram::Truncated | NoProgram::Absent => 0,
            };
            Extract { kind, sha, candidates, error: Some(refusal(plan, *why)), ..Extract::default() }
        }
    }
}

/// A reply with native calls: exactly one program may be in it.
async fn called(cycle: &mut Cycle<'_>, at: &Address, reply: &Reply) -> Result<Found, Halt> {
    let said = vec![MessagePart::Reply { reply: at.clone() }];
    let found = program_of(&reply.calls);
    cycle.emit(at, told_call(reply, found.as_ref().map(String::as_str))).await?;
    Ok(match found {
        Ok(text) => Found::Program { text, said },
        Err(record) => Found::Nothing { record, said },
    })
}

/// The program among native calls, which must be the only one.
pub(in crate::engine) fn program_of(calls: &[NativeCall]) -> Result<String, ErrorRecord> {
    match calls {
        [only] if only.name == LISP_EVAL => argument(only),
        [only] => Err(ErrorRecord::new(
            Reason::UnknownTool,
            format!("`{}` is no tool here; call {LISP_EVAL} with a program that uses (tool/…)", only.name),
        )),
        several => Err(ErrorRecord::new(
            Reason::MultipleToolCalls,
            format!("the reply holds {} calls and none was made; send one {LISP_EVAL} call", several.len()),
        )),
    }
}

/// What was found among the native calls of a reply.
pub(in crate::engine) fn told_call(reply: &Reply, program: Result<&str, &ErrorRecord>) -> Extract {
    Extract {
        kind: "program".to_owned(),
        rule: program.is_ok().then(|| LISP_EVAL.to_owned()),
        candidates: u32::try_from(reply.calls.len()).unwrap_or(u32::MAX),
        sha: hex_sha(reply.text.as_bytes()),
        repaired: program.ok().map(|program| Kept::of(program.to_owned())),
        error: program.err().cloned(),
        ..Extract::default()
    }
}

/// The program of a `lisp_eval` call.
pub(in crate::engine) fn argument(call: &NativeCall) -> Result<String, ErrorRecord> {
    let wrong = |what: String| ErrorRecord::new(Reason::ArgsError, format!("{LISP_EVAL}: {what}"));
    let args =
        json::parse(&call.args).map_err(|error| wrong(format!("the arguments are not JSON: {}", error.message)))?;
    let members = args.members().unwrap_or_default();
    if let Some(other) = members.iter().find(|member| member.key != "program") {
        return Err(wrong(format!("unknown argument `{}`; the only one is `program`", other.key)));
    }
    match args.get("program").and_then(Json::as_str) {
        Some(program) if !program.trim().is_empty() => Ok(program.to_owned()),
        _ => Err(wrong("`program` must be a text that is not empty".to_owned())),
    }
}

/// The line about turns.
pub(super) fn line(text: String) -> MessagePart {
    MessagePart::Text { section: "turns".to_owned(), text, untrusted: false }
}

/// Sends back what the turn gave: a user message, or the result of each native call.
pub(super) async fn give_back(
    cycle: &mut Cycle<'_>,
    at: &Address,
    reply: &Reply,
    work: &Work,
    failure: Option<&ErrorRecord>,
    parts: Vec<MessagePart>,
) -> Result<(), Halt> {
    if !is_native(cycle.plan) || reply.calls.is_empty() {
        return Ok(cycle.say(at, Role::User, Source::Feedback, parts).await?);
    }
    let result = call_result(work, failure, &written(&parts));
    for call in &reply.calls {
        let part = MessagePart::Result { call: call.id.clone(), name: call.name.clone(), result: result.clone() };
        cycle.say(at, Role::Tool, Source::Tool, vec![part]).await?;
    }
    Ok(())
}

/// The text of parts that we wrote.
pub(in crate::engine) fn written(parts: &[MessagePart]) -> String {
    let text = |part: &MessagePart| match part {
        MessagePart::Text { text, .. } => text.clone(),
        MessagePart::Reply { .. } | MessagePart::Call { .. } | MessagePart::Result { .. } => String::new(),
    };
    parts.iter().map(text).collect()
}

/// The result of a `lisp_eval` call as JSON text (agent contract §6).
pub(in crate::engine) fn call_result(work: &Work, failure: Option<&ErrorRecord>, feedback: &str) -> String {
    let status = if failure.is_some() { "error" } else { "ok" };
    let mut members = vec![("status".to_owned(), Json::str(status))];
    if let Some(record) = failure {
        members.push(("reason".to_owned(), Json::str(named(&record.reason))));
        members.push(("message".to_owned(), Json::str(record.message.as_str())));
    }
    let ran = !failure.is_some_and(|record| is_refusal(&record.reason));
    let seen = work.seen.as_ref().filter(|_| failure.is_none_or(|record| record.reason == Reason::Failed.name()));
    members.extend(seen.and_then(|seen| Some(("result".to_owned(), Json::str(seen.result.as_deref()?)))));
    let (prints, cut) = work.digest.last_prints();
    if ran && (failure.is_none() || prints.items().is_some_and(|lines| !lines.is_empty())) {
        members.push(("prints".to_owned(), prints));
    }
    members.push(("feedback".to_owned(), Json::str(feedback)));
    members.push(("truncated".to_owned(), Node::Bool(ran && cut).into()));
    if let (None, Some(seen)) = (failure, seen) {
        let changed = seen.changed.iter().map(|(name, text)| (name.as_str(), Json::str(text.as_str())));
        let memory = Json::object([
            ("changed", Json::object(changed)),
            ("stored_keys", Json::list(seen.stored.iter().map(|name| Json::str(name.as_str())))),
            ("truncated", Node::Bool(seen.cut).into()),
        ]);
        members.push(("memory".to_owned(), memory));
    }
    Json::object(members).to_text()
}

/// Was the call not made?
fn is_refusal(reason: &str) -> bool {
    matches!(reason, "args_error" | "unknown_tool" | "multiple_tool_calls" | "mixed_with_lisp_eval")
}

/// The reasons that the transport knows.
fn named(reason: &str) -> &str {
    match reason {
        "failed" => "fail",
        "timeout" | "compile_timeout" => "timeout",
        "memory_exceeded" | "memory_limit_exceeded" | "compile_memory_exceeded" => "memory_limit",
        "return_validation_failed" => "validation_error",
        _ if is_refusal(reason) => reason,
        "parse_error" | "invalid_form" | "unbound_var" | "program_too_large" => "parse_error",
        _ => "runtime_error",
    }
}
