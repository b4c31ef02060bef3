//! Cache of replies: a folder of replies by exact request and trial, so that a repeated matrix sends no requests.
//!
//! In: requests to providers. Out: the stored reply where the same trial made the same request before, else the provider's, which is
//! stored. Each use is recorded in the session and counted. An entry that cannot be read is a miss with a warning; it must never be a
//! failure.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;

use super::Workbench;
use super::files::write_whole_private;
use crate::config::read_regular_file;
use crate::event::{FromCache, ModelRecord, NativeCall, Opaque, PartKind, Tokens, hex_sha};
use crate::model::{Adapter, Call, Finish, Model, ModelError, ModelEvent, Reply, Request};

/// The version of the entries.
const VERSION: u32 = 1;
/// Events of the provider that may wait.
const QUEUE: usize = 64;

/// The replies of one trial, counted as they are used. Clones count together.
#[derive(Debug, Clone)]
pub(super) struct TrialReplies {
    dir: Arc<Path>,
    trial: Arc<str>,
    used: Arc<Mutex<FromCache>>,
}

impl TrialReplies {
    /// Returns the usage so far.
    fn used(&self) -> FromCache {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn count(&self, price: Option<f64>) {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        *used = used.plus(FromCache { replies: 1, cost: price.unwrap_or_default() });
    }
}

impl Workbench {
    /// The same workbench, where suites and matrices store replies in this folder and take them from there.
    #[must_use]
    pub fn with_reply_cache(self, dir: PathBuf) -> Self {
        Self { reply_cache: Some(dir.into()), ..self }
    }

    /// The same workbench for one trial of a suite or matrix. `trial` distinguishes requests that are the same in several trials.
    pub(super) fn for_trial(&self, trial: impl Into<Arc<str>>) -> Self {
        let replies = self.reply_cache.as_ref().map(|dir| TrialReplies {
            dir: Arc::clone(dir),
            trial: trial.into(),
            used: Arc::default(),
        });
        Self { replies, ..self.clone() }
    }

    /// Returns the usage of the cache by the runs of this trial.
    pub(super) fn taken_from_cache(&self) -> FromCache {
        self.replies.as_ref().map(TrialReplies::used).unwrap_or_default()
    }
}

/// The name of a trial by its number: the same in a suite and in a matrix.
pub(super) fn trial_name(number: u32) -> String {
    format!("trial {number}")
}

/// A provider's model whose replies are stored.
pub(super) struct CachedModel {
    adapter: Arc<Adapter>,
    replies: TrialReplies,
}

/// A stored reply, and the request that it answers.
#[derive(Debug, Serialize, Deserialize)]
struct Entry {
    version: u32,
    key: String,
    /// SHA-256 of `reply` as text.
    sha: String,
    reply: String,
}

/// A reply as an entry holds it.
#[derive(Debug, Serialize, Deserialize)]
struct StoredReply {
    text: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    reasoning: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    calls: Vec<NativeCall>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    opaque: Option<Opaque>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    finish: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    usage: Option<Tokens>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    model: Option<String>,
}

impl CachedModel {
    pub(super) fn new(adapter: Arc<Adapter>, replies: TrialReplies) -> Self {
        Self { adapter, replies }
    }

    /// The key of a request: provider, address and model, the body, the trial and the turn. The body is that of the first attempt: what
    /// the server refuses is learned after it.
    fn key(&self, request: &Request) -> String {
        let ModelRecord { provider, id, .. } = self.adapter.info();
        let body = hex_sha(self.adapter.body(request).to_text().as_bytes());
        let parts = [
            provider.as_str(),
            &self.adapter.address(),
            id.as_str(),
            &body,
            &self.replies.trial,
            request.address.as_str(),
        ];
        let text: Vec<String> = parts.iter().map(|part| format!("{}:{part}", part.len())).collect();
        hex_sha(text.join("\n").as_bytes())
    }

    fn place(&self, key: &str) -> PathBuf {
        self.replies.dir.join(key.get(..2).unwrap_or_default()).join(format!("{key}.json"))
    }

    /// Answers with a stored reply.
    async fn play(&self, stored: StoredReply, call: &Call) -> Reply {
        if !stored.reasoning.is_empty() {
            call.emit(ModelEvent::Delta { attempt: 1, kind: PartKind::Reasoning, text: stored.reasoning }).await;
        }
        if !stored.text.is_empty() {
            call.text(1, stored.text.clone()).await;
        }
        call.calls(1, &stored.calls).await;
        let price = self.adapter.info().price;
        self.replies.count(stored.usage.and_then(|tokens| Some(price?.cost(&tokens))));
        Reply {
            text: stored.text,
            calls: stored.calls,
            opaque: stored.opaque,
            attempt: 1,
            finish: stored.finish.as_deref().map(Finish::from_name),
            usage: stored.usage,
            model: stored.model,
            cached: true,
            ..Reply::default()
        }
    }

    /// Asks the provider, and passes on what it reports. Returns the reasoning of the reply that counts next to it.
    async fn ask(&self, request: &Request, call: &Call) -> (Result<Reply, ModelError>, String) {
        let (events, mut received) = mpsc::channel(QUEUE);
        let answer = async {
            let inner = Call { events, cancel: call.cancel.clone() };
            self.adapter.answer(request, &inner).await
        };
        let pass_on = async {
            let mut reasoning = String::new();
            while let Some(event) = received.recv().await {
                match &event {
                    ModelEvent::Delta { kind: PartKind::Reasoning, text, .. } => reasoning.push_str(text),
                    ModelEvent::Discarded(_) => reasoning.clear(),
                    _ => {}
                }
                tokio::select! {
                    biased;
                    () = call.emit(event) => {}
                    () = call.cancel.cancelled() => break,
                }
            }
            reasoning
        };
        futures::join!(answer, pass_on)
    }
}

impl Model for CachedModel {
    fn info(&self) -> ModelRecord {
        self.adapter.info()
    }

    fn answer<'a>(&'a self, request: &'a Request, call: &'a Call) -> BoxFuture<'a, Result<Reply, ModelError>> {
        Box::pin(async move {
            let key = self.key(request);
            let place = self.place(&key);
            match blocking(read(place.clone(), key.clone())).await {
                Ok(Some(stored)) => return Ok(self.play(stored, call).await),
                Ok(None) => {}
                Err(why) => {
                    let notice = format!("{}: {why}; the model is asked again", place.display());
                    call.emit(ModelEvent::Notice(notice)).await;
                }
            }
            let (answered, reasoning) = self.ask(request, call).await;
            let reply = answered?;
            let stored = StoredReply {
                text: reply.text.clone(),
                reasoning,
                calls: reply.calls.clone(),
                opaque: reply.opaque.clone(),
                finish: reply.finish.as_ref().map(|finish| finish.name().to_owned()),
                usage: reply.usage,
                model: reply.model.clone(),
            };
            if let Err(why) = blocking(write(place.clone(), key, stored)).await {
                let notice = format!("{}: the reply cannot be stored: {why}", place.display());
                call.emit(ModelEvent::Notice(notice)).await;
            }
            Ok(reply)
        })
    }
}

/// Reads an entry; nothing where there is none. Errors: it is damaged, or the entry of another request.
fn read(place: PathBuf, key: String) -> impl FnOnce() -> Result<Option<StoredReply>, String> {
    move || {
        let text = match read_regular_file(&place) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            read => read.map_err(|error| format!("cannot be read: {error}"))?,
        };
        let damaged = |_| "is damaged".to_owned();
        let entry: Entry = serde_json::from_str(&text).map_err(damaged)?;
        if entry.version != VERSION {
            return Err(format!("has the version {} of another ptc-workbench", entry.version));
        }
        if entry.key != key || entry.sha != hex_sha(entry.reply.as_bytes()) {
            return Err("is damaged".to_owned());
        }
        serde_json::from_str(&entry.reply).map(Some).map_err(damaged)
    }
}

/// Writes an entry. Errors: in words.
fn write(place: PathBuf, key: String, stored: StoredReply) -> impl FnOnce() -> Result<(), String> {
    move || {
        let in_words = |error: std::io::Error| error.to_string();
        let reply = serde_json::to_string(&stored).map_err(std::io::Error::from).map_err(in_words)?;
        let entry = Entry { version: VERSION, key, sha: hex_sha(reply.as_bytes()), reply };
        let text = serde_json::to_string(&entry).map_err(std::io::Error::from).map_err(in_words)?;
        write_whole_private(&place, text.as_bytes()).map_err(in_words)
    }
}

/// Runs a function on a blocking thread. Errors: its own, and that it panicked.
async fn blocking<T: Send + 'static>(of: impl FnOnce() -> Result<T, String> + Send + 'static) -> Result<T, String> {
    tokio::task::spawn_blocking(of).await.unwrap_or_else(|error| Err(error.to_string()))
}
