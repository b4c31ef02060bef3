//! One question of a check, and what happened until it was answered.
//!
//! In: an adapter and a request. Out: the reply or its error, with counts of what arrived. Texts of the server stay here.

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::event::{PartKind, Tokens};
use crate::model::{Adapter, Call, Model, ModelError, ModelEvent, Reply, Request};

/// Events that wait for their reader.
const QUEUE: usize = 64;

/// Observed course of a request.
#[derive(Debug)]
pub(super) struct RequestObservation {
    /// The reply, or why there is none.
    pub(super) result: Result<Reply, ModelError>,
    /// Pieces in which the text arrived.
    pub(super) pieces: usize,
    /// Reasoning arrived as text.
    pub(super) has_reasoning: bool,
    /// Notices about what was refused before the answer.
    pub(super) notices: Vec<String>,
    /// Requests that were sent.
    pub(super) requests: u32,
    /// Tokens that the server counted, in all attempts.
    pub(super) tokens: Tokens,
}

impl RequestObservation {
    /// Sends a request and collects its events until it is answered.
    pub(super) async fn of(adapter: &Adapter, request: &Request) -> Self {
        let (events, mut inbox) = mpsc::channel(QUEUE);
        let answer = async {
            let call = Call { events, cancel: CancellationToken::new() };
            adapter.answer(request, &call).await
        };
        let listen = async {
            let mut heard = Vec::new();
            while let Some(event) = inbox.recv().await {
                heard.push(event);
            }
            heard
        };
        let (result, heard) = futures::join!(answer, listen);
        let usage = match &result {
            Ok(reply) => reply.usage,
            Err(error) => error.usage.as_deref().copied(),
        };
        let mut seen = Self {
            result,
            pieces: 0,
            has_reasoning: false,
            notices: Vec::new(),
            requests: 0,
            tokens: usage.unwrap_or_default(),
        };
        for event in heard {
            seen.take(event);
        }
        seen
    }

    fn take(&mut self, event: ModelEvent) {
        match event {
            ModelEvent::Sent(_) => self.requests = self.requests.saturating_add(1),
            ModelEvent::Delta { kind: PartKind::Text, .. } => self.pieces += 1,
            ModelEvent::Delta { kind: PartKind::Reasoning, .. } => self.has_reasoning = true,
            ModelEvent::Notice(text) => self.notices.push(text),
            ModelEvent::Discarded(end) => {
                // An attempt that another follows begins again.
                (self.pieces, self.has_reasoning) = (0, false);
                let lost = end.usage.unwrap_or_default();
                self.tokens.input = self.tokens.input.saturating_add(lost.input);
                self.tokens.output = self.tokens.output.saturating_add(lost.output);
            }
            ModelEvent::Delta { .. } | ModelEvent::Wire(_) | ModelEvent::RetryWait(_) => {}
        }
    }

    /// Returns whether something was refused or ignored.
    pub(super) fn has_notice(&self) -> bool {
        !self.notices.is_empty()
    }
}
