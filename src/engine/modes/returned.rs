//! A value that a program returns: checked as the answer, what it loses, and its record.
//!
//! In: a plan, a value. Out: the answer or the issues, notices, failures. Pure.

use ptc_core::lisp::boundary;
use ptc_core::reasons::Reason;
use ptc_core::signature::{self, Issue};
use ptc_core::value::{Json, Value};

use crate::agent::Plan;
use crate::event::{ErrorRecord, PlanState};

/// Decimals after which a number differs only by the noise of its computation: 36.900000000000006 is not reported.
const NOISE_PLACES: u32 = 9;

/// The value as it leaves the run, when it fits: names for keywords, `_` in declared names, few decimals.
pub(super) fn checked(plan: &Plan, value: &Value) -> (Option<Json>, Vec<Issue>) {
    let (value, equal) = boundary::externalize(value);
    // One of the two entries would be lost: the model decides which.
    if !equal.is_empty() {
        return (None, equal.into_iter().map(Issue::of_value).collect());
    }
    let value = boundary::rounded(&value, plan.settings.float_precision);
    let Some(output) = &plan.signature.output else {
        let issues = signature::check_json(&value);
        return (issues.is_empty().then(|| Json::from(&value)), issues);
    };
    let value = signature::normalize_keys(output, value);
    let mut issues = signature::check(output, &value);
    if issues.is_empty() {
        issues = signature::check_json(&value);
    }
    (issues.iter().all(|issue| !issue.is_error()).then(|| Json::from(&value)), issues)
}

/// Returns notices about what an answer loses when it leaves the run: decimals.
pub(super) fn losses(plan: &Plan, value: &Value) -> Vec<String> {
    let places = plan.settings.float_precision;
    let is_rounded = boundary::rounded(value, places) != boundary::rounded(value, places.max(NOISE_PLACES));
    let notice = || format!("numbers of the answer were rounded to {places} decimals (float_precision)");
    is_rounded.then(notice).into_iter().collect()
}

/// Returns whether the one turn is that of a pinned program, which no model corrects.
pub(super) fn is_pinned(plan: &Plan) -> bool {
    plan.agent.program().is_some() && plan.agent.max_turns == 1 && plan.settings.retry_turns == 0
}

/// The failure of a program; of a pinned one with what to do about it.
pub(super) fn of_pinned(plan: &Plan, record: ErrorRecord) -> ErrorRecord {
    let advice = || "the pinned program runs once, and no model corrects it: correct the program".to_owned();
    if !is_pinned(plan) {
        return record;
    }
    // The advice of the table of reasons is about models; the error's own hint stays.
    let usual = Reason::from_name(&record.reason).map(|reason| reason.row().next);
    let own = record.hint.clone().filter(|hint| usual != Some(hint.as_str()));
    ErrorRecord { hint: own.or_else(|| Some(advice())), ..record }
}

/// The plan's checklist as an event.
pub(super) fn plan_state(plan: &Plan, summaries: &[(String, String)]) -> PlanState {
    let summary = |id: &str| summaries.iter().find(|(known, _)| known == id).map(|(_, text)| text.clone());
    let planned = plan.settings.plan.iter().map(|(id, about)| (id.clone(), about.clone(), summary(id)));
    let extra = summaries.iter().filter(|(id, _)| !plan.settings.plan.iter().any(|(known, _)| known == id));
    let extra = extra.map(|(id, text)| (id.clone(), String::new(), Some(text.clone())));
    PlanState { items: planned.chain(extra).collect() }
}
