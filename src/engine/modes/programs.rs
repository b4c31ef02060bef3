//! The program of a reply: found in its text or in a native call, how it failed, and what is sent back for it.
//!
//! In: a plan, a reply, an outcome. Out: the program or why there is none, and the event that records it; records of failures; the result
//! of a `lisp_eval` call.

use ptc_core::lisp::firewall::visible;
use ptc_core::lisp::{Error, boundary};
use ptc_core::reasons::Reason;
use ptc_core::reply::Finish as Ending;
use ptc_core::reply::program::{self as extract, NoProgram, Program};
use ptc_core::value::json::Node;
use ptc_core::value::{Json, Value, json};

use super::decision::View;
use super::verdict::ending;
use super::workspace::Workspace;
use crate::agent::{Completion, Plan, Transport};
use crate::event::{ErrorRecord, Extract, ExtractKind, JsonText, MessagePart, NativeCall, TextRecord, hex_sha};
use crate::model::Reply;
use crate::program::fail_message;
use crate::prompt::ptc_lisp::LISP_EVAL;

/// The content of a reply.
#[derive(Debug)]
pub(super) enum Found {
    /// A program; `message`: the part of the reply that the history keeps.
    Program {
        /// Its text.
        text: String,
        /// The assistant message.
        message: Vec<MessagePart>,
    },
    /// An answer in words.
    Answer(String),
    /// Neither: why.
    Nothing(ErrorRecord),
}

/// Finds the program of a reply, and the event that records how.
pub(super) fn find(view: &View<'_>, reply: &Reply) -> (Option<Extract>, Found) {
    let plan = view.plan;
    if is_native(plan) && !reply.calls.is_empty() {
        let found = program_of(&reply.calls);
        let event = call_extract(reply, found.as_ref().map(String::as_str));
        let found = match found {
            Ok(text) => Found::Program { text, message: view.reply_part() },
            Err(record) => Found::Nothing(record),
        };
        return (Some(event), found);
    }
    let found = program_in(plan, &reply.text, ending(reply));
    let is_words = found == Err(NoProgram::Absent) && !reply.text.trim().is_empty();
    if is_words && is_native(plan) {
        return (None, Found::Answer(reply.text.clone()));
    }
    if is_words && ends_by_words(plan) {
        return (None, Found::Answer(reply.text.trim().to_owned()));
    }
    let event = text_extract(plan, &found, &reply.text);
    let found = match found {
        Ok(_) if is_native(plan) => Found::Nothing(written_out()),
        Ok(program) => Found::Program { message: reduced(view, &program, &reply.text), text: program.text },
        Err(why) => Found::Nothing(no_program(plan, why)),
    };
    (Some(event), found)
}

/// Returns whether programs are sent as native calls.
pub(super) fn is_native(plan: &Plan) -> bool {
    plan.settings.transport == Transport::ToolCall
}

/// The program in the text of a reply.
pub(super) fn program_in(plan: &Plan, text: &str, ending: Ending) -> Result<Program, NoProgram> {
    // Where a reply without a program ends the run, the first of several blocks counts, tagged or not.
    let takes_first = ends_by_words(plan) && !is_native(plan);
    let find = if takes_first { extract::first_program } else { extract::program };
    find(text, plan.recovery, ending)
}

/// Returns the failure of a reply without a program, and the advice for programs in replies or in calls.
pub(super) fn no_program(plan: &Plan, why: NoProgram) -> ErrorRecord {
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

/// The failure of a reply that holds a program in its text, though programs are sent as calls.
pub(super) fn written_out() -> ErrorRecord {
    let message = format!("call the tool {LISP_EVAL} with the program instead of writing it in the reply");
    ErrorRecord::new(Reason::NoCodeFound, message)
}

/// The same failure in the words of a run's end: until then they are those for the model.
pub(super) fn at_the_end(record: ErrorRecord) -> ErrorRecord {
    let message = match Reason::from_name(&record.reason) {
        Some(Reason::NoCodeFound) => "the reply contained no program to run",
        Some(Reason::MultipleCodeBlocks) => "the reply contained several programs, so none was run",
        Some(Reason::ReplyTruncated) => "the output limit cut the reply, so its program was not run",
        _ => return record,
    };
    ErrorRecord { message: message.to_owned(), ..record }
}

/// Returns whether a reply without a program ends the run.
pub(super) fn ends_by_words(plan: &Plan) -> bool {
    plan.settings.completion == Completion::AnswerWithoutCode
}

/// The reply reduced to its program; the reply itself when it is nothing else.
fn reduced(view: &View<'_>, program: &Program, reply: &str) -> Vec<MessagePart> {
    let reduced = program.history();
    if reduced.trim() == reply.trim() {
        return view.reply_part();
    }
    vec![MessagePart::Text { section: "program".to_owned(), text: reduced, untrusted: true }]
}

/// The event of a program in the text of a reply.
fn text_extract(plan: &Plan, found: &Result<Program, NoProgram>, reply: &str) -> Extract {
    let sha = hex_sha(reply.as_bytes());
    let kind = ExtractKind::Program;
    match found {
        Ok(program) => Extract {
            kind,
            rule: Some(program.rule.name().to_owned()),
            candidates: 1,
            fixes: program.fixes.iter().map(|mend| (mend.kind.name().to_owned(), mend.at.start, mend.at.end)).collect(),
            span: Some((program.span.start, program.span.end)),
            sha,
            repaired: (program.span.text(reply) != program.text).then(|| TextRecord::of(program.text.clone())),
            error: None,
            error_at: None,
        },
        Err(why) => {
            let candidates = match why {
                NoProgram::Several(count) => u32::try_from(*count).unwrap_or(u32::MAX),
                NoProgram::Truncated | NoProgram::Absent => 0,
            };
            Extract { kind, sha, candidates, error: Some(no_program(plan, *why)), ..Extract::default() }
        }
    }
}

/// The event of a program among the native calls of a reply.
pub(super) fn call_extract(reply: &Reply, program: Result<&str, &ErrorRecord>) -> Extract {
    Extract {
        kind: ExtractKind::Program,
        rule: program.is_ok().then(|| LISP_EVAL.to_owned()),
        candidates: u32::try_from(reply.calls.len()).unwrap_or(u32::MAX),
        sha: hex_sha(reply.text.as_bytes()),
        repaired: program.ok().map(|program| TextRecord::of(program.to_owned())),
        error: program.err().cloned(),
        ..Extract::default()
    }
}

/// The program among native calls, which must be the only one.
pub(super) fn program_of(calls: &[NativeCall]) -> Result<String, ErrorRecord> {
    match calls {
        [only] if only.name == LISP_EVAL => argument(only),
        [only] => Err(ErrorRecord::new(
            Reason::UnknownTool,
            format!("`{}` is not a tool here; call {LISP_EVAL} with a program that uses (tool/…)", only.name),
        )),
        several => Err(ErrorRecord::new(
            Reason::MultipleToolCalls,
            format!("the reply contains {} calls and none was made; send one {LISP_EVAL} call", several.len()),
        )),
    }
}

/// The program among the native calls of a reply in combined mode; `None` when there is none. It must be the only call.
pub(super) fn program_among(calls: &[NativeCall]) -> Result<Option<String>, ErrorRecord> {
    let is_program = |call: &&NativeCall| call.name == LISP_EVAL;
    match (calls.iter().filter(is_program).count(), calls) {
        (0, _) => Ok(None),
        (1, [only]) => argument(only).map(Some),
        (1, _) => Err(ErrorRecord::new(
            Reason::MixedWithLispEval,
            format!("{LISP_EVAL} was sent with other calls and none was made; send it alone"),
        )),
        (several, _) => Err(ErrorRecord::new(
            Reason::MultipleToolCalls,
            format!("the reply contains {several} {LISP_EVAL} calls and none was made; send one"),
        )),
    }
}

/// The program of a `lisp_eval` call.
fn argument(call: &NativeCall) -> Result<String, ErrorRecord> {
    let wrong = |what: String| ErrorRecord::new(Reason::ArgsError, format!("{LISP_EVAL}: {what}"));
    let args =
        json::parse(&call.args).map_err(|error| wrong(format!("the arguments are not JSON: {}", error.message)))?;
    let members = args.members().unwrap_or_default();
    if let Some(other) = members.iter().find(|member| member.key != "program") {
        return Err(wrong(format!("unknown argument `{}`; the only one is `program`", other.key)));
    }
    match args.get("program").and_then(Json::as_str) {
        Some(program) if !program.trim().is_empty() => Ok(program.to_owned()),
        _ => Err(wrong("`program` must be a non-empty string".to_owned())),
    }
}

/// An error of a program as a record.
pub(in crate::engine) fn program_error(error: &Error) -> ErrorRecord {
    let op = error.op.as_ref().map(|op| format!("{op}: ")).unwrap_or_default();
    ErrorRecord {
        reason: error.reason.name().to_owned(),
        message: format!("{op}{}", error.problem),
        hint: error.hint.clone(),
        ..ErrorRecord::default()
    }
}

/// The record of `(fail value)`. Models may read the message: what
/// the firewall hides is only in the details.
pub(super) fn failed(plan: &Plan, value: &Value) -> ErrorRecord {
    let shown = if plan.hides() { visible(value) } else { value.clone() };
    let mut record = ErrorRecord::new(Reason::Failed, fail_message(&shown));
    if matches!(value, Value::Map(_)) || shown != *value {
        record.details = Some(JsonText::of(&Json::from(&boundary::externalize(value).0)));
    }
    record
}

/// The text of parts that the engine wrote.
pub(super) fn text_of(parts: &[MessagePart]) -> String {
    let text = |part: &MessagePart| match part {
        MessagePart::Text { text, .. } => text.clone(),
        MessagePart::Reply { .. }
        | MessagePart::File { .. }
        | MessagePart::Call { .. }
        | MessagePart::Result { .. } => String::new(),
    };
    parts.iter().map(text).collect()
}

/// The result of a `lisp_eval` call as JSON text.
pub(super) fn call_result(plan: &Plan, work: &Workspace, failure: Option<&ErrorRecord>, feedback: &str) -> String {
    let status = if failure.is_some() { "error" } else { "ok" };
    let mut members = vec![("status".to_owned(), Json::str(status))];
    if let Some(record) = failure {
        members.push(("reason".to_owned(), Json::str(call_reason(&record.reason))));
        members.push(("message".to_owned(), Json::str(record.message.as_str())));
    }
    let ran = !failure.is_some_and(|record| is_refusal(&record.reason));
    let seen = work.seen.as_ref().filter(|_| failure.is_none_or(|record| record.reason == Reason::Failed.name()));
    members.extend(seen.and_then(|seen| Some(("result".to_owned(), Json::str(seen.result.as_deref()?)))));
    let (prints, cut) = work.digest.last_prints(plan.settings.format.feedback_chars);
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

/// Returns whether the call was not made.
fn is_refusal(reason: &str) -> bool {
    matches!(reason, "args_error" | "unknown_tool" | "multiple_tool_calls" | "mixed_with_lisp_eval")
}

/// The reasons that the transport knows.
fn call_reason(reason: &str) -> &str {
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
