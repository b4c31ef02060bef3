//! Attempts at one answer: which failures are tried again, after how long, and the events meanwhile.
//!
//! In: an adapter that can make one HTTP request. Out: its reply, or the last error.
//! It must never repeat a request that cannot succeed, nor wait after a cancel.

use std::sync::Arc;
use std::time::Duration;

use ptc_core::limits::MODEL_ATTEMPTS;
use tokio::time::{Instant, sleep};

use super::gate::Gate;
use super::outlet::{Failure, Outlet};
use super::scrub::Scrub;
use super::tape::Tape;
use super::{Call, ErrorClass, ModelError, Reply, Request};

/// First wait.
pub const BASE_DELAY_MS: u64 = 1_000;
/// Longest wait that we choose.
pub const MAX_DELAY_MS: u64 = 30_000;
/// Longest wait that a server may ask for; beyond it the error is returned at once.
pub const RETRY_AFTER_MAX_MS: u64 = 120_000;

/// Growth of the waits between attempts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Backoff {
    /// base · 2^(n−1)
    #[default]
    Exponential,
    /// base · n
    Linear,
    /// base
    Constant,
}

impl Backoff {
    /// All, with the names that they have in agent files.
    pub const ALL: [(&'static str, Self); 3] =
        [("exponential", Self::Exponential), ("linear", Self::Linear), ("constant", Self::Constant)];
}

/// An agent's policy after a failure; omitted parts are those of the model's own policy.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Retry {
    /// Attempts in all.
    pub max_attempts: Option<u32>,
    /// Growth of the waits between attempts.
    pub backoff: Option<Backoff>,
    /// First wait, in ms.
    pub base_delay_ms: Option<u64>,
    /// Failures that are tried again, among those that may pass.
    pub retryable: Option<Vec<ErrorClass>>,
}

impl Retry {
    /// This policy with the agent's settings.
    fn over(&self, policy: RetryPolicy) -> RetryPolicy {
        RetryPolicy {
            max_attempts: self.max_attempts.unwrap_or(policy.max_attempts),
            backoff: self.backoff.unwrap_or(policy.backoff),
            base_delay_ms: self.base_delay_ms.unwrap_or(policy.base_delay_ms),
        }
    }

    fn allows(&self, class: ErrorClass) -> bool {
        class.is_retryable() && self.retryable.as_ref().is_none_or(|classes| classes.contains(&class))
    }
}

/// Policy after a failure that may pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Attempts in all; 1 = no retry.
    pub max_attempts: u32,
    /// Growth of the waits between attempts.
    pub backoff: Backoff,
    /// First wait, in ms.
    pub base_delay_ms: u64,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self { max_attempts: MODEL_ATTEMPTS.usual(), backoff: Backoff::default(), base_delay_ms: BASE_DELAY_MS }
    }
}

impl RetryPolicy {
    /// The wait in ms after `failures` failures (from 1): at most [`MAX_DELAY_MS`]; up to half of it is jitter from `seed`.
    pub fn delay_ms(&self, failures: u32, seed: u64) -> u64 {
        let factor = match self.backoff {
            Backoff::Exponential => 1u64.checked_shl(failures.saturating_sub(1)).unwrap_or(u64::MAX),
            Backoff::Linear => u64::from(failures),
            Backoff::Constant => 1,
        };
        let full = self.base_delay_ms.saturating_mul(factor).min(MAX_DELAY_MS);
        let half = full / 2;
        full - half + mix(seed ^ u64::from(failures)) % (half + 1)
    }
}

/// One step of the generator `SplitMix64`.
fn mix(seed: u64) -> u64 {
    let mut bits = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ (bits >> 31)
}

/// Something that can be attempted.
pub(super) trait Attempts: Sync {
    /// Makes one HTTP request and reads its reply.
    fn attempt(&self, outlet: &Outlet<'_>, tape: &mut Tape) -> impl Future<Output = Result<Reply, Failure>> + Send;

    /// After a refused request: asks for less next time. Returns what changed, or `None` when nothing can be left out. `is_last`: the
    /// same request is not sent again. Each call asks for strictly less, so that this ends.
    fn concede(&self, failure: &Failure, is_last: bool) -> Option<String>;
}

/// Everything an answer needs except the adapter.
#[derive(Debug)]
pub(super) struct Round<'a> {
    pub(super) request: &'a Request,
    pub(super) call: &'a Call,
    pub(super) scrub: &'a Scrub,
    pub(super) gate: &'a Arc<Gate>,
    pub(super) policy: RetryPolicy,
}

impl Round<'_> {
    /// Attempts until a reply, a final error or a cancel.
    pub(super) async fn run(&self, adapter: &impl Attempts) -> Result<Reply, ModelError> {
        let retry = &self.request.retry;
        let policy = retry.over(self.policy);
        let (mut attempt, mut failures) = (0, 0);
        loop {
            attempt += 1;
            let outlet = Outlet::new(self.call, self.scrub, attempt);
            let leave = outlet.unless_cancelled(self.gate.enter()).await.map_err(|error| ModelError {
                attempt,
                requests: attempt - 1,
                ..error
            })?;
            let queued_ms = leave.queued_ms;
            let mut tape = Tape::start();
            let outcome = match outlet.unless_cancelled(adapter.attempt(&outlet, &mut tape)).await {
                Ok(outcome) => outcome,
                Err(cancelled) => Err(cancelled.into()),
            };
            // The pause of all requests begins before this place is free, so that none is sent in between.
            if let Err(failure) = &outcome {
                self.pause_all(failure, failures + 1);
            }
            drop(leave);
            outlet.wire(tape).await;
            let failure = match outcome {
                Ok(reply) => return Ok(Reply { attempt, requests: attempt, queued_ms: Some(queued_ms), ..reply }),
                Err(failure) => failure,
            };
            let is_last = !retry.allows(failure.error.class) || failures + 1 >= policy.max_attempts;
            let conceded = adapter.concede(&failure, is_last);
            let wait_ms = self.wait_ms(&failure, failures + 1);
            let Failure { error, retry_after_ms, .. } = failure;
            // A stream that broke or was stopped is paid for as far as the provider has counted it.
            let usage = error.usage.clone().or_else(|| outlet.counted().map(Box::new));
            let error = ModelError { attempt, requests: attempt, usage, ..self.scrub.error(error) };
            if let Some(change) = conceded {
                outlet.discarded(&error, queued_ms).await;
                outlet.notice(&change).await;
                continue;
            }
            failures += 1;
            if !retry.allows(error.class) {
                return Err(error);
            }
            if failures >= policy.max_attempts {
                return Err(exhausted(error, failures));
            }
            if let Some(asked) = retry_after_ms.filter(|asked| *asked > RETRY_AFTER_MAX_MS) {
                return Err(too_long(error, asked));
            }
            let wait = Duration::from_millis(wait_ms);
            outlet.discarded(&error, queued_ms).await;
            // Requests that only asked for less do not count among the attempts that are allowed.
            let most = policy.max_attempts.saturating_add(attempt - failures);
            outlet.waiting(&error, wait_ms, retry_after_ms, most).await;
            outlet.unless_cancelled(sleep(wait)).await.map_err(|cancelled| ModelError {
                attempt,
                requests: attempt,
                ..cancelled
            })?;
        }
    }

    /// The wait in ms after this failure, which is the n-th: the server's request, else the policy's.
    fn wait_ms(&self, failure: &Failure, failures: u32) -> u64 {
        // The address keeps parallel branches of one run from coming back at the same time.
        let address = self.request.address.as_str().bytes();
        let seed = address.fold(self.request.seed, |seed, byte| mix(seed ^ u64::from(byte)));
        let policy = self.request.retry.over(self.policy);
        failure.retry_after_ms.unwrap_or_else(|| policy.delay_ms(failures, seed))
    }

    /// After a 429 no request is sent to this provider for as long as this run would wait, also when this run gives up. A wait that is
    /// refused as too long holds no request.
    fn pause_all(&self, failure: &Failure, failures: u32) {
        let wait_ms = self.wait_ms(failure, failures);
        if failure.error.class == ErrorClass::RateLimit && wait_ms <= RETRY_AFTER_MAX_MS {
            self.gate.pause_until(Instant::now() + Duration::from_millis(wait_ms));
        }
    }
}

fn exhausted(error: ModelError, failures: u32) -> ModelError {
    let times = if failures == 1 { String::new() } else { format!(" (tried {failures} times)") };
    ModelError { message: format!("{}{times}", error.message), ..error }
}

fn too_long(error: ModelError, asked_ms: u64) -> ModelError {
    let message = format!("{}; the service asks to wait {} s", error.message, asked_ms / 1_000);
    ModelError { message, ..error }.hint("run again later, or use another model")
}

#[cfg(test)]
mod tests;
