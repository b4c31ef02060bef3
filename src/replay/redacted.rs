//! Replay of a session from which content was removed: values that are computed from removed ones cannot be as recorded.
//!
//! In: the recording of a session whose header says so. Out: a report in which differences that removed content explains are counted, and
//! the recorded Steps. A difference before the first removed content is reported as in any other session.

use std::sync::Arc;

use super::{Policy, Recording, ReplayOutcome, Report, Rules, Watch, replay_by};
use crate::agent::StepFold;
use crate::event::{Address, Class, Envelope};

/// Beginning of every mask.
const MASK: &str = "[removed: ";

/// Replays every root run. `watch` receives the recorded events: they are what counts.
pub async fn replay_redacted(rules: &Rules, recording: &Arc<Recording>, watch: Option<Watch<'_>>) -> Report {
    let mut events: Vec<Envelope> = recording.all().into_values().flatten().collect();
    events.sort_by_key(|envelope| envelope.seq);
    if let Some(watch) = watch {
        events.iter().for_each(watch);
    }
    let lenient = Rules { policy: Policy::Lenient, ignored: rules.ignored.clone() };
    let replayed = replay_by(&lenient, recording, None).await;
    let first = events.iter().find(|envelope| holds_mask(envelope)).map(|envelope| envelope.seq);
    let is_explained =
        |at: &Address| first.is_some_and(|first| recording.at(at).last().is_none_or(|last| last.seq >= first));
    let mut report = match replayed {
        Ok((report, _)) => report,
        // The agent itself cannot be read any more.
        Err(_) => Report {
            redacted: events.iter().filter(|envelope| envelope.event.class() == Class::Derived).count(),
            ..Report::default()
        },
    };
    let before = report.differences.len();
    report.differences.retain(|difference| !is_explained(&difference.address));
    report.redacted += before - report.differences.len();
    report.missing.retain(|at| !is_explained(at));
    let open = recording.runs().into_iter().find(|run| !recording.is_complete(run));
    report.outcome = match (report.differences.first(), open, events.last()) {
        (Some(first), ..) => ReplayOutcome::Diverged(Box::new(first.clone())),
        (None, Some(_), Some(last)) => ReplayOutcome::Unfinished { at: last.address.clone() },
        _ => ReplayOutcome::Identical,
    };
    report.steps = recording
        .runs()
        .iter()
        .map(|run| {
            let mut fold = StepFold::default();
            events.iter().filter(|envelope| envelope.address.root() == *run).for_each(|envelope| fold.apply(envelope));
            fold.step()
        })
        .collect();
    report
}

fn holds_mask(envelope: &Envelope) -> bool {
    envelope.event.data().is_ok_and(|data| data.get().contains(MASK))
}
