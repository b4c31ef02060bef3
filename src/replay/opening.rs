//! Checks whether an edited turn reaches its request.
//!
//! In: a recording that ends in edits, and the edited turn. Out: the error with which the run would fail before its
//! request. Nothing is written, and no model, tool or user is reached.

use std::sync::{Arc, Mutex, PoisonError};

use futures::future::BoxFuture;

use super::program_context::{DiscardSink, replay_until};
use super::{Recording, ReplayError};
use crate::event::{Address, Envelope, ErrorRecord, Event};
use crate::port::{Sink, SinkError};

/// Returns the error of the run before this turn's request; `None` when the request is made.
pub async fn fails_before_request(
    recording: &Arc<Recording>,
    turn: &Address,
) -> Result<Option<ErrorRecord>, ReplayError> {
    let events =
        RequestProbe { turn: turn.clone(), run: turn.run_part(), fail: Mutex::default(), sink: DiscardSink::default() };
    replay_until(recording, turn, None, &events).await?;
    Ok(events.fail.into_inner().unwrap_or_else(PoisonError::into_inner))
}

/// Stops the replay at the request of the turn, or at the end of its run.
struct RequestProbe {
    turn: Address,
    run: Address,
    fail: Mutex<Option<ErrorRecord>>,
    sink: DiscardSink,
}

impl Sink for RequestProbe {
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
        self.sink.emit(address, event)
    }
}
