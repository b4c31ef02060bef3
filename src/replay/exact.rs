//! The model `recorded`: replies from one session, and only to exactly the recorded requests.

use std::sync::Arc;

use futures::future::BoxFuture;

use super::Recording;
use super::difference::first_message_difference;
use super::ports::{ReplyPace, play_reply};
use crate::event::SentMessage;
use crate::event::{Address, ModelRecord};
use crate::model::{Call, ErrorClass, Model, ModelError, Reply, Request};

/// Replies from one session. For an unknown request the error shows the nearest recorded one.
pub struct ExactModel {
    recording: Arc<Recording>,
}

impl ExactModel {
    /// Creates a model that replies from this recording.
    pub fn new(recording: Arc<Recording>) -> Self {
        Self { recording }
    }

    fn miss_error(&self, request: &Request) -> ModelError {
        let now = request_texts(request);
        let turns = self
            .recording
            .all_runs()
            .iter()
            .flat_map(|run| (1..=self.recording.turns(run)).map(move |number| run.turn(number)));
        let distance = |at: &Address| {
            let recorded = self.recording.request(at).map(|messages| sent_texts(&messages)).unwrap_or_default();
            recorded.iter().zip(&now).take_while(|(a, b)| a == b).count()
        };
        let same_place = request.address.clone();
        let nearest = turns.max_by_key(|at| (distance(at), *at == same_place));
        let base = format!("the recording {} has no answer to this request", self.recording.id);
        let Some(at) = nearest else {
            return ModelError::new(ErrorClass::Miss, format!("{base}: it has no turns"));
        };
        let recorded = self.recording.request(&at).map(|messages| sent_texts(&messages)).unwrap_or_default();
        let difference = first_message_difference(&recorded, &now)
            .unwrap_or_else(|| format!("the same messages were sent at {at}, not at {}", request.address));
        ModelError::new(ErrorClass::Miss, format!("{base}; nearest is {at}: {difference}"))
            .hint("use model demo to answer an edited prompt from recordings, or a live model to record a new session")
    }
}

/// Returns role and text of each message, for comparison.
pub(super) fn sent_texts(messages: &[SentMessage]) -> Vec<(String, String)> {
    messages.iter().map(|message| (message.role.name().to_owned(), message.joined())).collect()
}

/// Returns role and text of each message of a request.
pub(super) fn request_texts(request: &Request) -> Vec<(String, String)> {
    let system = request.system.iter().map(|text| ("system".to_owned(), text.clone()));
    let others = request.messages.iter().map(|message| (message.role.name().to_owned(), message.joined()));
    system.chain(others).collect()
}

impl Model for ExactModel {
    fn info(&self) -> ModelRecord {
        let id = self.recording.id.clone();
        ModelRecord { alias: format!("recorded:{id}"), provider: "recorded".into(), id, price: None }
    }

    fn answer<'a>(&'a self, request: &'a Request, call: &'a Call) -> BoxFuture<'a, Result<Reply, ModelError>> {
        Box::pin(async move {
            let recorded = self.recording.request(&request.address).map(|messages| sent_texts(&messages));
            if recorded.as_ref() != Some(&request_texts(request)) {
                return Err(self.miss_error(request));
            }
            let reply = play_reply(&self.recording, &request.address, call, ReplyPace::Immediate).await?;
            Ok(Reply { structured_by: None, requests: 0, cached: false, ..reply })
        })
    }
}
