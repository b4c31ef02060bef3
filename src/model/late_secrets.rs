//! Secrets that this process learned after its start: keys of commands, tokens of authorisation servers.
//!
//! In: a secret. Out: all of them, with a number that changes when one is added, so that each growing [`Scrub`](super::Scrub) knows them
//! without being created again. It must never print or store one.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use super::secret::{SECRET_MIN_BYTES, Secret};

static SECRETS: Mutex<Vec<Secret>> = Mutex::new(Vec::new());
static GENERATION: AtomicU64 = AtomicU64::new(0);

/// Adds a secret; one shorter than [`SECRET_MIN_BYTES`] is omitted.
pub(crate) fn register_secret(secret: &Secret) {
    let mut secrets = SECRETS.lock().unwrap_or_else(PoisonError::into_inner);
    if secret.expose().len() >= SECRET_MIN_BYTES && !secrets.contains(secret) {
        secrets.push(secret.clone());
        GENERATION.fetch_add(1, Ordering::Release);
    }
}

/// Returns a number that differs after each added secret.
pub(super) fn generation() -> u64 {
    GENERATION.load(Ordering::Acquire)
}

/// Returns the number and the secrets that belong to it.
pub(super) fn late_secrets() -> (u64, Vec<Secret>) {
    let secrets = SECRETS.lock().unwrap_or_else(PoisonError::into_inner);
    (generation(), secrets.clone())
}
