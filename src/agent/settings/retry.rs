//! The table `[retry]` of an agent: what happens after a failure of its model that may pass.
//!
//! In: the table as written. Out: its differences from the configuration, or findings.

use ptc_core::limits::MODEL_ATTEMPTS;
use ptc_core::value::Json;

use super::members::{RETRY, check_members, whole_number};
use crate::agent::{Agent, Diagnostic};
use crate::config::document::{advice, out_of_range};
use crate::model::{Backoff, ErrorClass, MAX_DELAY_MS, Retry};

/// Reads it; invalid members are reported and left to the configuration.
pub(in crate::agent) fn read_retry(agent: &Agent, findings: &mut Vec<Diagnostic>) -> Retry {
    let Some(table) = agent.option("retry") else { return Retry::default() };
    check_members(table, "retry", RETRY, findings);
    let mut number = |key: &str, most: u64, report: &mut dyn FnMut(u64) -> Diagnostic| {
        let number = table.get(key).and_then(whole_number)?;
        let fits = number <= most && (key != "max_attempts" || number >= MODEL_ATTEMPTS.min);
        if !fits {
            findings.push(report(number));
        }
        fits.then_some(number)
    };
    let attempts = number("max_attempts", MODEL_ATTEMPTS.max, &mut |found| {
        Diagnostic::option("retry.max_attempts", out_of_range("retry.max_attempts", &MODEL_ATTEMPTS, found))
    });
    let base_delay_ms = number("base_delay_ms", MAX_DELAY_MS, &mut |found| {
        Diagnostic::option(
            "retry.base_delay_ms",
            format!("`retry.base_delay_ms` must be at most {MAX_DELAY_MS}, found {found}"),
        )
    });
    let backoff = table.get("backoff").and_then(Json::as_str);
    let backoff = Backoff::ALL.iter().find(|(name, _)| Some(*name) == backoff).map(|(_, backoff)| *backoff);
    let max_attempts = attempts.and_then(|attempts| u32::try_from(attempts).ok());
    Retry { max_attempts, backoff, base_delay_ms, retryable: classes(table, findings) }
}

/// The failures that are tried again.
fn classes(table: &Json, findings: &mut Vec<Diagnostic>) -> Option<Vec<ErrorClass>> {
    let names: Vec<&str> = ErrorClass::RETRYABLE.iter().map(|class| class.name()).collect();
    let mut classes = Vec::new();
    for item in table.get("retryable")?.items()? {
        let class = item.as_str().filter(|name| names.contains(name)).map(ErrorClass::from_name);
        if class.is_none() {
            let near = advice(item.as_str().unwrap_or_default(), &names);
            let message = format!("unknown failure {} in `retry.retryable`{near}", item.to_text());
            findings.push(Diagnostic::option("retry.retryable", message));
        }
        classes.extend(class);
    }
    Some(classes)
}
