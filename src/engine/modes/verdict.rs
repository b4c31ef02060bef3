//! The result of a reply where an answer is expected: the events that record it, its failure, and the feedback.
//!
//! In: a plan, a reply. Out: values. Shared by the modes.

use ptc_core::reasons::Reason;
use ptc_core::reply::{Candidate, CandidateVerdict, ExtractOutcome, Extraction, Finish as Ending, Reject};
use ptc_core::signature::{Issue, Path, Severity};

use super::answer::{self, Answer};
use super::decision::Effects;
use crate::agent::Plan;
use crate::event::{
    Check, CheckLayer, ErrorRecord, Extract, ExtractKind, IssueRecord, IssueSeverity, MessagePart, TextRecord, hex_sha,
};
use crate::model::{Finish, Reply};
use crate::prompt::json::{self as prompt, Problem};

/// Returns whether the output limit cut the reply.
pub(super) fn is_cut(reply: &Reply) -> bool {
    reply.finish == Some(Finish::Length)
}

/// Returns the ending of the text of a reply.
pub(super) fn ending(reply: &Reply) -> Ending {
    if is_cut(reply) { Ending::Truncated } else { Ending::Complete }
}

/// The failure of a run whose reply the provider or the model withheld.
pub(super) fn withheld(reply: &Reply) -> Option<ErrorRecord> {
    match reply.finish {
        Some(Finish::ContentFilter) => {
            Some(ErrorRecord::new(Reason::ContentFiltered, "the provider's filter withheld the reply"))
        }
        Some(Finish::Refusal) => {
            let text = reply.text.trim();
            let text = if text.is_empty() { String::new() } else { format!(": {text}") };
            Some(ErrorRecord::new(Reason::Refused, format!("the model refused{text}")))
        }
        _ => None,
    }
}

/// The failure of a reply that the output limit cut.
pub(super) fn truncated(reply: &str) -> ErrorRecord {
    let message = format!("the output limit cut the reply after {} characters", reply.chars().count());
    ErrorRecord::new(Reason::ReplyTruncated, message)
}

/// Reads and checks a JSON answer and records what was found; the failure when it cannot be used.
pub(super) fn read_answer(plan: &Plan, reply: &Reply, effects: &mut Effects) -> (Answer, Option<ErrorRecord>) {
    let cut = is_cut(reply);
    let answer = answer::read(plan, &reply.text, ending(reply));
    let failure = failure_of(&answer, cut, &reply.text);
    let is_parse_error = |record: &&ErrorRecord| record.reason != Reason::ValidationError.name();
    let error = failure.as_ref().filter(is_parse_error).cloned();
    effects.emit(Extract { error, ..extract_event(ExtractKind::Json, &answer.extraction, &reply.text) });
    warn_of_ties(&answer.extraction, effects);
    if let Some(issues) = answer.issues.as_ref().filter(|_| !cut) {
        effects.emit(answer_check(plan, answer.value.is_some(), issues));
    }
    (answer, failure)
}

/// Reports that the reply holds several values that fit: the first was used.
pub(super) fn warn_of_ties(extraction: &Extraction, effects: &mut Effects) {
    let is_tied = |candidate: &&Candidate| candidate.verdict == CandidateVerdict::Tied;
    let ties = extraction.candidates.iter().filter(is_tied).count();
    if ties > 0 {
        effects.warn(format!("the reply contains {} answers that fit; the first one was used", ties + 1));
    }
}

/// Returns the reason why an answer cannot be used; `None` when it can. A cut reply never can.
pub(super) fn failure_of(answer: &Answer, cut: bool, reply: &str) -> Option<ErrorRecord> {
    if cut {
        return Some(truncated(reply));
    }
    match &answer.extraction.outcome {
        ExtractOutcome::Found { .. } => None,
        ExtractOutcome::Rejected { reject: Reject::Invalid(_), .. } => {
            let issues = answer.issues.as_deref().unwrap_or_default();
            Some(ErrorRecord::new(Reason::ValidationError, answer::joined(issues)))
        }
        ExtractOutcome::Rejected { reject: Reject::Shape(what), .. } => {
            Some(ErrorRecord::new(Reason::JsonParseError, format!("the JSON has the wrong outer shape: {what}")))
        }
        ExtractOutcome::Malformed { error } => {
            let place = error.line_col(reply);
            Some(ErrorRecord::new(Reason::JsonParseError, format!("the JSON is invalid: {place}: {}", error.message)))
        }
        ExtractOutcome::NotFound if reply.trim().is_empty() => {
            Some(ErrorRecord::new(Reason::JsonParseError, "the reply is empty, expected JSON"))
        }
        ExtractOutcome::NotFound => Some(ErrorRecord::new(Reason::JsonParseError, "the reply contains no JSON")),
    }
}

/// The message that follows an answer that cannot be used.
pub(super) fn feedback(plan: &Plan, answer: &Answer, record: &ErrorRecord, reply: &Reply) -> Vec<MessagePart> {
    let problem = match &answer.issues {
        _ if is_cut(reply) => Problem::Truncated,
        Some(issues) => Problem::Issues(issues),
        None => Problem::NotJson(&record.message),
    };
    prompt::feedback(plan, &problem, &reply.text)
}

/// The event of what was found in a reply, without its failure.
pub(super) fn extract_event(kind: ExtractKind, extraction: &Extraction, reply: &str) -> Extract {
    let candidate = extraction.candidate();
    let fixes: Vec<_> = candidate
        .into_iter()
        .flat_map(|candidate| &candidate.fixes)
        .map(|fix| (fix.kind.row().name.to_owned(), fix.at.start, fix.at.end))
        .collect();
    let json = match &extraction.outcome {
        ExtractOutcome::Found { json, .. } | ExtractOutcome::Rejected { json, .. } => Some(json),
        ExtractOutcome::Malformed { .. } | ExtractOutcome::NotFound => None,
    };
    let repaired = json.filter(|_| !fixes.is_empty()).map(|json| TextRecord::of(json.to_text()));
    let error_at = match &extraction.outcome {
        ExtractOutcome::Malformed { error } => Some(error.offset),
        _ => None,
    };
    Extract {
        kind,
        rule: candidate.map(|candidate| candidate.rule.name().to_owned()),
        candidates: u32::try_from(extraction.candidates.len() + extraction.unlisted).unwrap_or(u32::MAX),
        fixes,
        span: candidate.map(|candidate| (candidate.span.start, candidate.span.end)),
        sha: hex_sha(reply.as_bytes()),
        repaired,
        error: None,
        error_at,
    }
}

/// The event of an answer that was checked against the agent's signature or schema.
pub(super) fn answer_check(plan: &Plan, ok: bool, issues: &[Issue]) -> Check {
    check_event(if plan.raw_schema.is_some() { CheckLayer::Schema } else { CheckLayer::Return }, ok, issues)
}

/// The event of a check of this layer.
pub(super) fn check_event(layer: CheckLayer, ok: bool, issues: &[Issue]) -> Check {
    Check { layer, ok, issues: issues.iter().map(issue_record).collect() }
}

fn issue_record(issue: &Issue) -> IssueRecord {
    IssueRecord {
        path: if issue.path == Path::default() { String::new() } else { issue.path.to_string() },
        severity: if issue.severity == Severity::Error { IssueSeverity::Error } else { IssueSeverity::Warning },
        expected: issue.expected.clone(),
        got: issue.got.clone(),
        message: issue.message.clone(),
    }
}
