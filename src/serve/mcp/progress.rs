//! Progress of a run for a client that asked for it with its request.
//!
//! In: the events of a run. Out: a notification when one of its own turns starts; turns of child runs are not counted. It must never send
//! anything after the end of the run.

use rmcp::RoleServer;
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::{Peer, RequestContext};
use tokio::task::{JoinError, JoinHandle};

use crate::agent::Step;
use crate::event::{Envelope, Event};
use crate::workbench::Feed;

/// Reports the turns of a run.
struct TurnReporter {
    peer: Peer<RoleServer>,
    token: ProgressToken,
}

/// Waits for the end of a run, and reports its turns if the request has a progress token.
pub(super) async fn await_run(
    context: &RequestContext<RoleServer>,
    feed: Feed,
    mut run: JoinHandle<Step>,
) -> Result<Step, JoinError> {
    let Some(token) = context.meta.get_progress_token() else { return run.await };
    let reporter = TurnReporter { peer: context.peer.clone(), token };
    loop {
        tokio::select! {
            biased;
            ended = &mut run => return ended,
            () = feed.changed() => {
                for envelope in feed.drain() {
                    reporter.report(&envelope).await;
                }
            }
        }
    }
}

impl TurnReporter {
    async fn report(&self, envelope: &Envelope) {
        let Some((turn, last)) = turn_of(envelope) else { return };
        let progress = ProgressNotificationParam::new(self.token.clone(), turn.into()).with_total(last.into());
        // A client that left gets no notification.
        _ = self.peer.notify_progress(progress.with_message(format!("turn {turn} of {last}"))).await;
    }
}

/// The number of the turn that starts, and that of the last one that the run may have. `None` for other events, and in child runs.
fn turn_of(envelope: &Envelope) -> Option<(u32, u32)> {
    let Event::TurnStart(start) = &envelope.event else { return None };
    if envelope.address.run_part() != envelope.address.root() || !start.is_allowed() {
        return None;
    }
    let turn = envelope.address.turn_number()?;
    Some((turn, turn.saturating_add(start.remaining.turns.saturating_sub(1))))
}
