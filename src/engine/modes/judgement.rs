//! Judgements of a reply while it is typed or while it arrives.
//!
//! In: the parts of a reply. Out: its validity, and remarks about it. Pure; nothing is run or called.

use ptc_core::reply::Finish as Ending;
use ptc_core::signature::{Issue, Path};
use ptc_core::text::Span;
use ptc_core::text::lex::lisp::Balance;
use ptc_core::value::Value;

use super::answer;
use super::calls::uncallable;
use super::verdict::failure_of;
use crate::agent::{Diagnostic, LintInputs, Plan, lint};
use crate::event::ErrorRecord;

/// The validity of a reply that is not sent yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ReplyValidity {
    /// More text may decide it.
    #[default]
    Open,
    /// It can be read; its result is known after its run only.
    Reads,
    /// It would be accepted.
    Fits,
    /// It would be an error.
    Wrong,
}

/// Something about a reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remark {
    /// The path in the answer, the position in the program, or the name of the call; empty for the whole.
    pub place: String,
    /// The text.
    pub message: String,
    /// It is an error, not only worth knowing.
    pub is_error: bool,
}

/// The judgement of a reply.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReplyJudgement {
    /// The validity of the reply.
    pub validity: ReplyValidity,
    /// The action of a reply that does more than answer: `calls lookup`.
    pub does: String,
    /// Problems of the reply, and notes about it.
    pub remarks: Vec<Remark>,
}

impl ReplyJudgement {
    /// A judgement without remarks.
    pub fn fine(validity: ReplyValidity) -> Self {
        Self { validity, ..Self::default() }
    }

    /// A reply with these remarks; without an error among them it has this validity.
    pub fn of(otherwise: ReplyValidity, remarks: Vec<Remark>) -> Self {
        let is_wrong = remarks.iter().any(|remark| remark.is_error);
        Self { validity: if is_wrong { ReplyValidity::Wrong } else { otherwise }, does: String::new(), remarks }
    }

    pub(super) fn wrong(place: &str, record: &ErrorRecord) -> Self {
        let message = format!("{}: {}", record.reason, record.message);
        Self::of(ReplyValidity::Wrong, vec![Remark { place: place.to_owned(), message, is_error: true }])
    }

    pub(super) fn doing(self, does: impl Into<String>) -> Self {
        Self { does: does.into(), ..self }
    }
}

/// Judges a text that is to be the answer.
pub(super) fn answer_judged(plan: &Plan, text: &str) -> ReplyJudgement {
    let answer = answer::read(plan, text, Ending::Complete);
    match (&answer.issues, failure_of(&answer, false, text)) {
        (Some(issues), _) => ReplyJudgement::of(ReplyValidity::Fits, issues.iter().map(remark).collect()),
        (None, Some(record)) => ReplyJudgement::wrong("", &record),
        (None, None) => ReplyJudgement::fine(ReplyValidity::Fits),
    }
}

/// Judges calls, each with its arguments or the reason why it has none.
pub(super) fn calls_judged(plan: &Plan, calls: Vec<(&str, Result<Value, ErrorRecord>)>) -> ReplyJudgement {
    let names: Vec<&str> = calls.iter().map(|(name, _)| *name).collect();
    let does = format!("calls {}", names.join(", "));
    let judged = calls.into_iter().map(|(name, args)| match args {
        Ok(args) => call_judged(plan, name, &args),
        Err(record) => ReplyJudgement::wrong(name, &record),
    });
    ReplyJudgement::of(ReplyValidity::Fits, judged.flat_map(|judged| judged.remarks).collect()).doing(does)
}

/// Judges a call that the model makes.
pub(super) fn call_judged(plan: &Plan, name: &str, args: &Value) -> ReplyJudgement {
    let refused = uncallable(plan, name);
    let misfit = || plan.native_tool(name)?.convert_args(args).err();
    refused
        .or_else(misfit)
        .map_or(ReplyJudgement::fine(ReplyValidity::Fits), |record| ReplyJudgement::wrong(name, &record))
}

/// Judges a program that is found at byte `at` of a text.
pub(in crate::engine) fn program_judged(program: &str, whole: &str, at: usize, given: &LintInputs) -> ReplyJudgement {
    let balance = Balance::of(program);
    if program.trim().is_empty() || (balance.fault.is_none() && (!balance.open.is_empty() || balance.text.is_some())) {
        return ReplyJudgement::default();
    }
    let remark = |found: &Diagnostic| {
        let span = found.span.map(|span| Span::new(span.start + at, span.end + at));
        let place = span.map_or_else(String::new, |span| {
            let place = span.line_col(whole);
            format!("{}:{}", place.line, place.column)
        });
        let message = format!("{}: {}", found.reason.name(), found.message);
        Remark { place, message, is_error: found.is_error() }
    };
    ReplyJudgement::of(ReplyValidity::Reads, lint(program, given).iter().map(remark).collect())
}

/// The remark about an issue. Its words are for a user; the feedback to the model has those of the issue.
pub(in crate::engine) fn remark(issue: &Issue) -> Remark {
    let place = if issue.path == Path::default() { String::new() } else { issue.path.to_string() };
    let is_missing = issue.expected == "field" && issue.got == "nil";
    let message = if is_missing { "missing field".to_owned() } else { issue.message.clone() };
    Remark { place, message, is_error: issue.is_error() }
}
