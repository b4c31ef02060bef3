//! What the trials of a suite and of a matrix have in common.
//!
//! In: a run that has ended. Out: a session that is whole somewhere, and a verdict.

use ptc_core::reasons::Reason;

use super::saving::{Saving, Settled};
use crate::agent::{Case, Step, Verdict};

/// Waits until the session is saved. A trial whose session is nowhere whole cannot be looked at later: it was not tried.
///
/// Errors: what is lost and what to do.
pub(super) async fn settled(saving: Option<Saving>) -> Result<(), String> {
    let Some(saving) = saving else { return Ok(()) };
    match tokio::task::spawn_blocking(move || saving.settle()).await {
        Ok(Settled::Whole) => Ok(()),
        Ok(settled @ Settled::Elsewhere { .. }) => {
            tracing::warn!(%settled, "the session of a trial");
            Ok(())
        }
        Ok(settled @ Settled::Partly { .. }) => Err(settled.to_string()),
        Err(error) => Err(format!("{}: {error}", Reason::InternalError)),
    }
}

/// The verdict on a Step. A predicate is a program and may take its time: it runs on a thread for that.
pub(super) async fn judged_by(case: Case, step: Step) -> Verdict {
    let verdict = tokio::task::spawn_blocking(move || case.judge(&step)).await;
    verdict.unwrap_or_else(|error| Verdict::Error(format!("{}: {error}", Reason::InternalError)))
}
