//! The model `recorded`: answers from one session, and only to exactly the requests that it holds.

use std::sync::Arc;

use futures::future::BoxFuture;

use super::Recording;
use super::difference::first_message_difference;
use super::ports::{Telling, tell};
use crate::event::SentMessage;
use crate::event::{Address, ModelRecord};
use crate::model::{Call, ErrorClass, Model, ModelError, Reply, Request};

/// Answers from one session. A request that the session does not hold is an error that shows the nearest recording.
pub struct Recorded {
    recording: Arc<Recording>,
}

impl Recorded {
    /// Answers from this recording.
    pub fn new(recording: Arc<Recording>) -> Self {
        Self { recording }
    }

    fn miss(&self, request: &Request) -> ModelError {
        let now = spoken(request);
        let turns = self
            .recording
            .all_runs()
            .iter()
            .flat_map(|run| (1..=self.recording.turns(run)).map(move |number| run.turn(number)));
        let distance = |at: &Address| {
            let recorded = self.recording.request(at).map(|messages| sent(&messages)).unwrap_or_default();
            recorded.iter().zip(&now).take_while(|(a, b)| a == b).count()
        };
        let same_place = request.address.clone();
        let nearest = turns.max_by_key(|at| (distance(at), *at == same_place));
        let base = format!("the recording {} has no answer to this request", self.recording.id);
        let Some(at) = nearest else {
            return ModelError::new(ErrorClass::Miss, format!("{base}: it holds no turns"));
        };
        let recorded = self.recording.request(&at).map(|messages| sent(&messages)).unwrap_or_default();
        let difference = first_message_difference(&recorded, &now)
            .unwrap_or_else(|| format!("the same messages were sent at {at}, not at {}", request.address));
        ModelError::new(ErrorClass::Miss, format!("{base}; nearest is {at}: {difference}"))
            .hint("use model demo to answer an edited prompt from recordings, or a live model to record anew")
    }
}

/// Role and text of each message, as compared.
pub(super) fn sent(messages: &[SentMessage]) -> Vec<(String, String)> {
    messages.iter().map(|message| (message.role.name().to_owned(), message.text())).collect()
}

/// The same of a request.
pub(super) fn spoken(request: &Request) -> Vec<(String, String)> {
    let system = request.system.iter().map(|text| ("system".to_owned(), text.clone()));
    let others = request.messages.iter().map(|message| (message.role.name().to_owned(), message.joined()));
    system.chain(others).collect()
}

impl Model for Recorded {
    fn info(&self) -> ModelRecord {
        let id = self.recording.id.clone();
        ModelRecord { alias: format!("recorded:{id}"), provider: "recorded".into(), id, price: None }
    }

    fn answer<'a>(&'a self, request: &'a Request, call: &'a Call) -> BoxFuture<'a, Result<Reply, ModelError>> {
        Box::pin(async move {
            let recorded = self.recording.request(&request.address).map(|messages| sent(&messages));
            if recorded.as_ref() != Some(&spoken(request)) {
                return Err(self.miss(request));
            }
            let reply = tell(&self.recording, &request.address, call, Telling::AtOnce).await?;
            Ok(Reply { structured_by: None, requests: 0, ..reply })
        })
    }
}
