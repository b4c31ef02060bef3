//! Whether a turn that was edited gets as far as its request.
//!
//! In: a recording that ends in edits, and the turn that meets them. Out: what the run would fail with before anybody is asked. Nothing is
//! written, and no model, tool or person is reached.

use std::sync::{Arc, Mutex, PoisonError};

use futures::future::BoxFuture;

use super::workplace::{Unheard, replay_until};
use super::{Recording, ReplayError};
use crate::event::{Address, Envelope, ErrorRecord, Event};
use crate::port::{Sink, SinkError};

/// What a run fails with at this turn before its request is made; `None` when it is made.
pub async fn fails_before_request(
    recording: &Arc<Recording>,
    turn: &Address,
) -> Result<Option<ErrorRecord>, ReplayError> {
    let events = Opening { turn: turn.clone(), run: turn.run_part(), fail: Mutex::default(), told: Unheard::default() };
    replay_until(recording, turn, None, &events).await?;
    Ok(events.fail.into_inner().unwrap_or_else(PoisonError::into_inner))
}

/// Ends the replay at the request of the turn, or at the end of its run.
struct Opening {
    turn: Address,
    run: Address,
    fail: Mutex<Option<ErrorRecord>>,
    told: Unheard,
}

impl Sink for Opening {
    fn emit(&self, address: Address, event: Event) -> BoxFuture<'_, Result<Envelope, SinkError>> {
        let over = match &event {
            Event::RequestMade(_) => address == self.turn,
            Event::RunEnd(end) if address == self.run => {
                self.fail.lock().unwrap_or_else(PoisonError::into_inner).clone_from(&end.fail);
                true
            }
            _ => false,
        };
        if over {
            return Box::pin(futures::future::ready(Err(SinkError::Diverged)));
        }
        self.told.emit(address, event)
    }
}
