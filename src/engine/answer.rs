//! From reply text to a checked answer: extraction, outer shape, coercion, check. Pure.

use ptc_core::reply::{self, Extracted, Finish, Outcome, Recovery, Reject, Want};
use ptc_core::signature::json_schema::unwrap;
use ptc_core::signature::{self, Issue, Policy, Severity, Type};
use ptc_core::value::{Json, Value, json};

use crate::agent::Plan;

/// What became of a reply.
pub(super) struct Answer {
    /// What extraction found.
    pub(super) extracted: Extracted,
    /// Issues of the check; `None` when nothing of the right outer shape was found, so nothing was checked.
    pub(super) issues: Option<Vec<Issue>>,
    /// The answer, keys in the order of the reply; `None` when it does not fit.
    pub(super) value: Option<Json>,
}

/// One candidate against the plan.
struct Trial {
    issues: Vec<Issue>,
    value: Option<Json>,
}

/// Reads and checks a reply.
pub(super) fn read(plan: &Plan, text: &str, finish: Finish) -> Answer {
    let want = Want::of(&plan.output);
    let mut accept = |json: &Json| match attempt(plan, json) {
        Err(shape) => Err(Reject::Shape(shape.message)),
        Ok(trial) if trial.value.is_none() => Err(Reject::Invalid(joined(&trial.issues))),
        Ok(_) => Ok(()),
    };
    let extracted = reply::extract(text, &want, plan.recovery, finish, &mut accept);
    let tried = match &extracted.outcome {
        Outcome::Found { json, .. } | Outcome::Rejected { json, .. } => Some(attempt(plan, json)),
        Outcome::Malformed { .. } | Outcome::NotFound => None,
    };
    match tried {
        Some(Ok(trial)) => Answer { extracted, issues: Some(trial.issues), value: trial.value },
        Some(Err(_)) | None => Answer { extracted, issues: None, value: None },
    }
}

/// Checks a value that was found otherwise: what was found, and the answer when it fits. A text that holds JSON counts as that JSON
/// when only that fits (decision H7).
pub(super) fn fit(plan: &Plan, json: &Json) -> (Vec<Issue>, Option<Json>) {
    let tried = |json: &Json| match attempt(plan, json) {
        Ok(trial) => (trial.issues, trial.value),
        Err(shape) => (vec![shape], None),
    };
    let inner = || json.as_str().and_then(|text| json::parse(text).ok());
    match tried(json) {
        (issues, None) => match inner().map(|inner| tried(&inner)) {
            Some((more, Some(value))) => (more, Some(value)),
            _ => (issues, None),
        },
        fitting => fitting,
    }
}

/// Errors as one line: `path: message; path: message`.
pub(super) fn joined(issues: &[Issue]) -> String {
    let errors: Vec<_> = issues.iter().filter(|issue| issue.is_error()).map(ToString::to_string).collect();
    errors.join("; ")
}

/// Checks one value; an error says that the outer shape is wrong.
fn attempt(plan: &Plan, json: &Json) -> Result<Trial, Issue> {
    match &plan.raw_schema {
        Some(schema) => Ok(match schema.fit(json) {
            Ok(value) => Trial { issues: Vec::new(), value: Some(value) },
            Err(issues) => Trial { issues, value: None },
        }),
        None => typed(&plan.output, json, plan.recovery),
    }
}

fn typed(output: &Type, json: &Json, recovery: Recovery) -> Result<Trial, Issue> {
    let inner = unwrap(output, json)?;
    let policy = match recovery {
        Recovery::Strict => Policy::AnswerStrict,
        Recovery::Standard => Policy::AnswerStandard,
        Recovery::Lenient => Policy::AnswerLenient,
    };
    let coerced = signature::coerce(output, inner.to_value(), policy);
    let mut issues = coerced.issues;
    let value: Value = signature::normalize_keys(output, coerced.value);
    if issues.iter().all(|issue| issue.severity == Severity::Warning) {
        issues.extend(signature::check_json(&value));
    }
    let fits = issues.iter().all(|issue| !issue.is_error());
    if !fits {
        // Next to a missing field, a field nobody asked for is often its misspelt name.
        issues.extend(signature::undeclared(output, &value));
    }
    Ok(Trial { issues, value: fits.then(|| Json::in_order_of(&value, inner)) })
}
