//! Measures of a trial, computed from its events: the same for a live run and for a file.
//!
//! In: the events of one session, in order. Out: [`Measures`], which include child runs.

use std::collections::{BTreeMap, HashMap};

use ptc_core::reasons::Reason;
use serde::{Deserialize, Serialize};

use crate::agent::{Step, StepFold};
use crate::event::{
    Address, Check, Envelope, Event, FromCache, Gaps, IssueSeverity, ProgramStatus, ReplyEnd, ReplyStatus, RetryWait,
    Tokens, Want, elapsed_ms,
};
use crate::model::ErrorClass;
use crate::session::Ledger;
use crate::workbench::wording::describe_issue;

/// Measures of a trial. All of them sum the run and its child runs.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Measures {
    /// Turns.
    pub turns: u32,
    /// Requests to models (HTTP attempts for models over HTTP).
    pub requests: u32,
    /// Attempts that failed and were retried.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub retries: u32,
    /// Tokens; absent when no provider counted them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<Tokens>,
    /// Cost in the price table's unit; absent when the tokens or the price of one of the runs are unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// Time from sending the first request with a reply to the first delta of that reply, in ms; absent for a reply that was not streamed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_ms: Option<u64>,
    /// Time from the run's start to its end, in ms, without `waited_ms` and without the gaps in which the session did not run.
    pub time_ms: u64,
    /// Time in which a request waited in its provider's gate or for the pause after a 429, in ms. It depends on the provider's limits and
    /// on other runs at the same time. Overlapping waits count once.
    pub waited_ms: u64,
    /// Number of errors by kind: a reason, or for a failed check the path and the expectation.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub errors: BTreeMap<String, u32>,
    /// Number of tool calls that were not allowed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub denied: u32,
    /// Bytes of the run's data: its context and the results of its tools ([`Ledger`]).
    pub data_bytes: u64,
    /// Bytes of these data that no request contained.
    pub kept_out_bytes: u64,
    /// Part of the trial served from the cache; tokens and cost include it.
    #[serde(default, skip_serializing_if = "FromCache::is_nothing")]
    pub from_cache: FromCache,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the shape serde asks for")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// Folds the events of one session with one root run.
#[derive(Debug, Clone, Default)]
pub struct Meter {
    fold: StepFold,
    gaps: Gaps,
    started_ms: Option<i64>,
    ended_ms: i64,
    waits: Stretches,
    /// Time at which the current attempt of a turn entered the gate, in Unix ms.
    asked_ms: HashMap<Address, i64>,
    /// Kind of reply that each turn requested.
    wants: HashMap<Address, Want>,
    /// The first reply has arrived.
    replied: bool,
    first_ms: Option<u64>,
    retries: u32,
    errors: BTreeMap<String, u32>,
    denied: u32,
    ledger: Ledger,
}

impl Meter {
    /// Applies the next event.
    pub fn apply(&mut self, envelope: &Envelope) {
        self.fold.apply(envelope);
        self.ledger.apply(envelope);
        self.gaps.before(envelope);
        self.ended_ms = envelope.at_ms;
        let (at, now) = (&envelope.address, envelope.at_ms);
        match &envelope.event {
            Event::RunStart(_) if self.started_ms.is_none() => self.started_ms = Some(now),
            Event::RequestMade(made) => {
                self.asked_ms.insert(at.clone(), now);
                self.wants.insert(at.clone(), made.want);
            }
            Event::ToolEnd(end) => {
                let reason = end.error.as_ref().map(|error| error.reason.clone());
                self.denied += u32::from(reason.as_deref() == Some(Reason::ToolDenied.name()));
                // A failed call inside a program is counted once: as the error of the program.
                if end.status.is_failure() && self.wants.get(&at.turn_part()) != Some(&Want::Program) {
                    self.error(reason);
                }
            }
            Event::RetryWait(wait) => self.wait(at, wait, now),
            Event::ReplyEnd(end) => self.reply(at, end, now),
            Event::Extract(extract) => self.error(extract.error.as_ref().map(|error| error.reason.clone())),
            Event::ProgramEnd(end) if end.status == ProgramStatus::Error => {
                self.error(end.error.as_ref().map(|error| error.reason.clone()));
            }
            Event::Check(check) => self.check(check),
            _ => {}
        }
    }

    /// Returns the Step so far.
    pub fn step(&self) -> Step {
        self.fold.step()
    }

    /// Returns the measures so far, with an empty `from_cache`.
    pub fn measures(&self) -> Measures {
        let step = self.fold.step();
        let started_ms = self.started_ms.unwrap_or(self.ended_ms);
        let waited_ms = self.waits.within(started_ms, self.ended_ms);
        let total = &step.usage.total;
        Measures {
            turns: total.turns,
            requests: total.requests,
            retries: self.retries,
            tokens: total.tokens,
            cost: total.cost(),
            first_ms: self.first_ms,
            time_ms: elapsed_ms(started_ms.saturating_add(self.gaps.sum_ms()), self.ended_ms).saturating_sub(waited_ms),
            waited_ms,
            errors: self.errors.clone(),
            denied: self.denied,
            data_bytes: self.ledger.data_bytes(),
            kept_out_bytes: self.ledger.kept_out_bytes(),
            from_cache: FromCache::default(),
        }
    }

    fn wait(&mut self, at: &Address, wait: &RetryWait, now: i64) {
        self.retries += 1;
        let over = now.saturating_add(i64::try_from(wait.wait_ms).unwrap_or(i64::MAX));
        if wait.class == ErrorClass::RateLimit.name() {
            self.waits.add(now, over);
        }
        self.asked_ms.insert(at.clone(), over);
    }

    fn reply(&mut self, at: &Address, end: &ReplyEnd, now: i64) {
        if let (Some(asked), Some(queued)) = (self.asked_ms.get(at), end.queued_ms) {
            self.waits.add(*asked, asked.saturating_add(i64::try_from(queued).unwrap_or(i64::MAX)));
        }
        if end.status == ReplyStatus::Discarded {
            self.asked_ms.insert(at.clone(), now);
        } else if !self.replied {
            self.replied = true;
            self.first_ms = end.first_ms;
        }
    }

    fn check(&mut self, check: &Check) {
        for issue in check.issues.iter().filter(|issue| issue.severity == IssueSeverity::Error) {
            let wanted = describe_issue(issue);
            let path = any_index(&issue.path);
            let layer = Some(check.layer.name()).filter(|layer| !["return", "schema"].contains(layer));
            let path = if path.is_empty() { "(answer)" } else { path.as_str() };
            let kind = layer.into_iter().chain([path]);
            self.error(Some(format!("{}: {wanted}", kind.collect::<Vec<_>>().join(" "))));
        }
    }

    fn error(&mut self, kind: Option<String>) {
        if let Some(kind) = kind {
            *self.errors.entry(kind).or_default() += 1;
        }
    }
}

/// Replaces numbers in a path by `*`, so that equal errors in a list are one kind.
fn any_index(path: &str) -> String {
    let is_index = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    path.split('.').map(|part| if is_index(part) { "*" } else { part }).collect::<Vec<_>>().join(".")
}

/// Time intervals: start (inclusive) and end (exclusive), in Unix ms.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Stretches(Vec<(i64, i64)>);

impl Stretches {
    /// Adds an interval; an empty one is ignored.
    pub(super) fn add(&mut self, from_ms: i64, to_ms: i64) {
        if from_ms < to_ms {
            self.0.push((from_ms, to_ms));
        }
    }

    /// Returns the milliseconds between two times that at least one interval covers.
    pub(super) fn within(&self, from_ms: i64, to_ms: i64) -> u64 {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        let mut counted_to = from_ms;
        let mut total = 0;
        for (start, end) in sorted {
            let (start, end) = (start.max(counted_to), end.min(to_ms));
            total += elapsed_ms(start, end);
            counted_to = counted_to.max(end);
        }
        total
    }
}

#[cfg(test)]
mod tests;
