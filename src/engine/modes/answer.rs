//! From reply text to a checked answer: extraction, outer shape, coercion, check. Pure.

use ptc_core::reply::{self, AnswerShape, ExtractOutcome, Extraction, Finish, FixKind, Recovery, Reject};
use ptc_core::signature::json_schema::unwrap;
use ptc_core::signature::{self, Field, Issue, Path, Policy, Segment, Severity, Type};
use ptc_core::value::json::Member;
use ptc_core::value::{Json, Value, json};

use crate::agent::Plan;

/// A reply after extraction and check.
pub(super) struct Answer {
    /// The result of extraction.
    pub(super) extraction: Extraction,
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
    let want = AnswerShape::of(&plan.output);
    let mut accept = |json: &Json| match attempt(plan, json) {
        Err(shape) => Err(Reject::Shape(shape.message)),
        Ok(trial) if trial.value.is_none() => Err(Reject::Invalid(joined(&trial.issues))),
        Ok(_) => Ok(()),
    };
    let extraction = reply::extract(text, &want, plan.recovery, finish, &mut accept);
    let tried = match &extraction.outcome {
        ExtractOutcome::Found { json, .. } | ExtractOutcome::Rejected { json, .. } => {
            attempt(plan, json).ok().map(|trial| (with_numbers(plan, &extraction, json, trial.issues), trial.value))
        }
        ExtractOutcome::Malformed { .. } | ExtractOutcome::NotFound => None,
    };
    match tried {
        Some((issues, value)) => Answer { extraction, issues: Some(issues), value },
        None => Answer { extraction, issues: None, value: None },
    }
}

/// The issues of a reply in which numbers that JSON cannot hold became texts: those at such a place name the number.
fn with_numbers(plan: &Plan, extraction: &Extraction, json: &Json, mut issues: Vec<Issue>) -> Vec<Issue> {
    let numbers = special_numbers(extraction);
    if numbers.is_empty() {
        return issues;
    }
    let inner = if plan.raw_schema.is_some() { None } else { unwrap(&plan.output, json).ok() };
    for issue in &mut issues {
        let Some(part) = part(inner.unwrap_or(json), &issue.path) else { continue };
        let was_number = numbers.iter().any(|at| (part.span.start..part.span.end).contains(at));
        if let Some(number) = part.as_str().filter(|_| was_number) {
            number.clone_into(&mut issue.got);
            issue.message = format!("expected {}, got {number}, which JSON cannot represent", issue.expected);
        }
    }
    issues
}

/// The positions of numbers that JSON cannot hold: they became texts.
fn special_numbers(extraction: &Extraction) -> Vec<usize> {
    let fixes = extraction.candidate().map(|candidate| candidate.fixes.as_slice()).unwrap_or_default();
    fixes.iter().filter(|fix| fix.kind == FixKind::SpecialNumber).map(|fix| fix.at.start).collect()
}

/// The arguments of a call in a control object as the tool gets them. Numbers that JSON cannot represent were repaired to strings; where a
/// string does not fit, the number is restored so that the error names it.
pub(super) fn arguments(plan: &Plan, extraction: &Extraction, name: &str, args: &Json) -> Value {
    let (value, numbers) = (args.to_value(), special_numbers(extraction));
    let misfits = || plan.native_tool(name).is_some_and(|tool| tool.convert_args(&value).is_err());
    if numbers.is_empty() || !misfits() { value } else { with_special(args, &numbers) }
}

/// The value with its original numbers at these positions.
fn with_special(json: &Json, numbers: &[usize]) -> Value {
    if let Some(members) = json.members() {
        let named = |member: &Member| (Value::str(member.key.as_str()), with_special(&member.value, numbers));
        return Value::map(members.iter().map(named).collect::<Vec<_>>());
    }
    if let Some(items) = json.items() {
        return Value::list(items.iter().map(|item| with_special(item, numbers)).collect::<Vec<_>>());
    }
    let was_number = numbers.iter().any(|at| (json.span.start..json.span.end).contains(at));
    let number = json.as_str().filter(|_| was_number).and_then(|text| text.parse().ok());
    number.map_or_else(|| json.to_value(), Value::Float)
}

/// The part of a reply that a path leads to.
fn part<'j>(json: &'j Json, path: &Path) -> Option<&'j Json> {
    path.0.iter().try_fold(json, |part, segment| match segment {
        Segment::Field(name) => {
            let is_here = |key: &str| key == name || key.replace('-', "_") == *name;
            part.members()?.iter().find(|member| is_here(&member.key)).map(|member| &member.value)
        }
        Segment::Index(place) => part.items()?.get(*place),
    })
}

/// Like `fit`, for the answer in a control object that was found in a reply.
pub(super) fn fit_in(plan: &Plan, extraction: &Extraction, json: &Json) -> (Vec<Issue>, Option<Json>) {
    let (issues, value) = fit(plan, json);
    (with_numbers(plan, extraction, json, issues), value)
}

/// Checks a value that was found otherwise: what was found, and the answer when it fits. A text that holds JSON counts as that JSON
/// when only that fits.
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

/// Checks one value; an error means that the outer shape is wrong.
fn attempt(plan: &Plan, json: &Json) -> Result<Trial, Issue> {
    match &plan.raw_schema {
        Some(schema) => Ok(match schema.fit(json) {
            Ok(value) => Trial { issues: Vec::new(), value: Some(value) },
            Err(issues) => Trial { issues, value: None },
        }),
        None => typed(&plan.output, json, plan.recovery),
    }
}

/// Returns the issues of one field of an answer that is not complete yet; none about content that the type does not name.
pub(in crate::engine) fn field(plan: &Plan, name: &str, value: &Json) -> Vec<Issue> {
    let Type::Record { fields, .. } = plan.output.base() else { return Vec::new() };
    let here = |field: &&Field| signature::underscored(&field.name) == signature::underscored(name);
    let Some(field) = fields.iter().find(here).filter(|_| plan.raw_schema.is_none()) else { return Vec::new() };
    let alone = Type::Record { fields: vec![field.clone()], closed: false };
    let json = Json::empty().with(name, value.clone());
    typed(&alone, &json, plan.recovery).map_or_else(|issue| vec![issue], |trial| trial.issues)
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
        // Next to a missing field, an undeclared field is often its misspelt name.
        issues.extend(signature::undeclared(output, &value));
    }
    Ok(Trial { issues, value: fits.then(|| Json::in_order_of(&value, inner)) })
}
