//! Mode `json`: ask, read the JSON, check it, and ask again with feedback until it fits or the turns are used up.

use ptc_core::reasons::Reason;
use ptc_core::reply::{ExtractOutcome, Extracted, Finish as Ending, Reject};
use ptc_core::signature::{Issue, Path, Severity};
use ptc_core::value::Json;

use super::answer::{self, Answer};
use super::cycle::Cycle;
use super::edit::next_turn;
use super::{Answered, Halt, Input, begin, refs};
use crate::event::{Address, Check, ErrorRecord, Extract, IssueRecord, Kept, MessagePart, Role, Source, hex_sha};
use crate::model::{Finish, Reply};
use crate::prompt::json::{self as prompt, Problem};

/// The whole run.
pub(super) async fn run(cycle: &mut Cycle<'_>, input: &Input) -> Result<Answered, Halt> {
    let mut at = begin(cycle, input, prompt::open).await?;
    let mut ref_retries = cycle.plan.settings.ref_retries;
    loop {
        match turn(cycle, &at, &mut ref_retries).await? {
            Some(answer) => return Ok(answer),
            None => at = next_turn(cycle, input, prompt::open).await?,
        }
    }
}

/// One turn: the answer when it fits, nothing when another turn follows.
async fn turn(cycle: &mut Cycle<'_>, at: &Address, ref_retries: &mut u32) -> Result<Option<Answered>, Halt> {
    let reply = cycle.ask(at, &prompt::asked(cycle.plan)).await?;
    if let Some(record) = withheld(&reply) {
        cycle.end_turn(at, reply.usage, Some(&record.reason)).await?;
        return Err(Halt::Fail(record));
    }
    let verdict = json_verdict(cycle, at, &reply, ref_retries).await?;
    settle(cycle, at, &reply, verdict).await
}

/// A JSON answer: complete, or what to do about it.
pub(super) async fn json_verdict(
    cycle: &Cycle<'_>,
    at: &Address,
    reply: &Reply,
    ref_retries: &mut u32,
) -> Result<Result<Answered, Miss>, Halt> {
    let (answer, found) = judge(cycle, at, reply).await?;
    Ok(match found {
        None => complete(cycle, answer.value.unwrap_or_default(), ref_retries).await?,
        Some(record) => {
            let parts = feedback(cycle, &answer, &record, reply);
            Err((record, Some(parts)))
        }
    })
}

/// A failure of a turn, and what goes back when another turn may follow.
pub(super) type Miss = (ErrorRecord, Option<Vec<MessagePart>>);

/// An answer that fits, with its refs; or what is missing of them.
pub(super) async fn complete(
    cycle: &Cycle<'_>,
    value: Json,
    ref_retries: &mut u32,
) -> Result<Result<Answered, Miss>, Halt> {
    Ok(match refs::extract(cycle, &value, ref_retries).await? {
        refs::Found::All(refs) => Ok(Answered { value, refs, ..Answered::default() }),
        refs::Found::Missing { record, parts } => Err((record, parts)),
    })
}

/// Ends the turn: with the answer, with feedback and another turn, or with the run.
pub(super) async fn settle(
    cycle: &mut Cycle<'_>,
    at: &Address,
    reply: &Reply,
    verdict: Result<Answered, Miss>,
) -> Result<Option<Answered>, Halt> {
    let (record, parts) = match verdict {
        Ok(answered) => {
            cycle.end_turn(at, reply.usage, None).await?;
            return Ok(Some(answered));
        }
        Err(miss) => miss,
    };
    let goes_on = cycle.totals.turns + 1 < cycle.plan.agent.max_turns;
    let parts = parts.filter(|_| goes_on);
    let is_over = parts.is_none();
    if let Some(parts) = parts {
        // An empty message is refused by providers, and so is a call without its result.
        if reply.calls.is_empty() && !reply.text.trim().is_empty() {
            cycle.say(at, Role::Assistant, Source::Reply, vec![MessagePart::Reply { reply: at.clone() }]).await?;
        }
        cycle.say(at, Role::User, Source::Feedback, parts).await?;
    }
    cycle.end_turn(at, reply.usage, Some(&record.reason)).await?;
    cycle.check_budget(None)?;
    if is_over { Err(Halt::Fail(record)) } else { Ok(None) }
}

/// What goes back after an answer that cannot be used.
pub(super) fn feedback(cycle: &Cycle<'_>, answer: &Answer, record: &ErrorRecord, reply: &Reply) -> Vec<MessagePart> {
    let cut = reply.finish == Some(Finish::Length);
    let problem = match &answer.issues {
        _ if cut => Problem::Truncated,
        Some(issues) => Problem::Issues(issues),
        None => Problem::NotJson(&record.message),
    };
    prompt::feedback(cycle.plan, &problem, &reply.text)
}

/// A reply that the provider or the model withheld ends the run.
pub(super) fn withheld(reply: &Reply) -> Option<ErrorRecord> {
    match reply.finish {
        Some(Finish::ContentFilter) => {
            Some(ErrorRecord::new(Reason::ContentFiltered, "the provider's filter withheld the reply"))
        }
        Some(Finish::Refusal) => {
            let said = reply.text.trim();
            let said = if said.is_empty() { String::new() } else { format!(": {said}") };
            Some(ErrorRecord::new(Reason::Refused, format!("the model refused{said}")))
        }
        _ => None,
    }
}

/// A reply that the output limit cut.
pub(super) fn truncated(reply: &str) -> ErrorRecord {
    let message = format!("the output limit cut the reply after {} characters", reply.chars().count());
    ErrorRecord::new(Reason::ReplyTruncated, message)
}

/// Why the answer cannot be used; nothing when it can. A cut reply never can.
pub(super) fn failure_of(answer: &Answer, cut: bool, reply: &str) -> Option<ErrorRecord> {
    if cut {
        return Some(truncated(reply));
    }
    match &answer.extracted.outcome {
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
            Some(ErrorRecord::new(
                Reason::JsonParseError,
                format!("the JSON cannot be read: {place}: {}", error.message),
            ))
        }
        ExtractOutcome::NotFound if reply.trim().is_empty() => {
            Some(ErrorRecord::new(Reason::JsonParseError, "the reply is empty, expected JSON"))
        }
        ExtractOutcome::NotFound => Some(ErrorRecord::new(Reason::JsonParseError, "the reply holds no JSON")),
    }
}

/// Reads and checks a JSON answer and tells what was found; the failure when it cannot be used.
pub(super) async fn judge(
    cycle: &Cycle<'_>,
    at: &Address,
    reply: &Reply,
) -> Result<(Answer, Option<ErrorRecord>), Halt> {
    let cut = reply.finish == Some(Finish::Length);
    let answer = answer::read(cycle.plan, &reply.text, if cut { Ending::Truncated } else { Ending::Complete });
    let found = failure_of(&answer, cut, &reply.text);
    let is_parse_error = |record: &&ErrorRecord| record.reason != Reason::ValidationError.name();
    let error = found.as_ref().filter(is_parse_error).cloned();
    cycle.emit(at, Extract { error, ..told("json", &answer.extracted, &reply.text) }).await?;
    if let Some(issues) = answer.issues.as_ref().filter(|_| !cut) {
        let layer = if cycle.plan.raw_schema.is_some() { "schema" } else { "return" };
        let issues = issues.iter().map(issue_record).collect();
        cycle.emit(at, Check { layer: layer.to_owned(), ok: answer.value.is_some(), issues }).await?;
    }
    Ok((answer, found))
}

/// What was found in a reply, as it is told; without the failure.
pub(super) fn told(kind: &str, extracted: &Extracted, reply: &str) -> Extract {
    let candidate = extracted.candidate();
    let fixes: Vec<_> = candidate
        .into_iter()
        .flat_map(|candidate| &candidate.fixes)
        .map(|fix| (fix.kind.row().name.to_owned(), fix.at.start, fix.at.end))
        .collect();
    let json = match &extracted.outcome {
        ExtractOutcome::Found { json, .. } | ExtractOutcome::Rejected { json, .. } => Some(json),
        ExtractOutcome::Malformed { .. } | ExtractOutcome::NotFound => None,
    };
    let repaired = json.filter(|_| !fixes.is_empty()).map(|json| Kept::of(json.to_text()));
    let error_at = match &extracted.outcome {
        ExtractOutcome::Malformed { error } => Some(error.offset),
        _ => None,
    };
    Extract {
        kind: kind.to_owned(),
        rule: candidate.map(|candidate| candidate.rule.name().to_owned()),
        candidates: u32::try_from(extracted.candidates.len() + extracted.unlisted).unwrap_or(u32::MAX),
        fixes,
        span: candidate.map(|candidate| (candidate.span.start, candidate.span.end)),
        sha: hex_sha(reply.as_bytes()),
        repaired,
        error: None,
        error_at,
    }
}

pub(super) fn issue_record(issue: &Issue) -> IssueRecord {
    IssueRecord {
        path: if issue.path == Path::default() { String::new() } else { issue.path.to_string() },
        severity: if issue.severity == Severity::Error { "error" } else { "warning" }.to_owned(),
        expected: issue.expected.clone(),
        got: issue.got.clone(),
        message: issue.message.clone(),
    }
}
