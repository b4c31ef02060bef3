//! Telemetry: runs are posted to a collector as spans while they happen.
//!
//! In: the events of feeds. Out: requests of one task that takes documents from a bounded queue, and at the end how many did not arrive. It
//! must never delay a run: a document that finds the queue full is lost, and counted.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};

use super::Workbench;
use super::feed::Feed;
use crate::config::Config;
use crate::event::Envelope;
use crate::export::{LiveSpans, SpanDetail};
use crate::model::Collector;
use crate::port::SystemClock;
use crate::session::{Header, SessionId};

/// Documents that wait: one for each turn.
const QUEUE_MOST: usize = 256;
/// Pauses before a document is posted again, while the collector works otherwise.
const PAUSES: [Duration; 2] = [Duration::from_millis(250), Duration::from_secs(1)];
/// Time limit for posting the queue at the end of the program.
const END_TIME: Duration = Duration::from_secs(2);

enum Item {
    Document(String),
    End(oneshot::Sender<()>),
}

/// Counts of the documents that were taken and that arrived.
#[derive(Debug, Default)]
struct Counts {
    taken: AtomicU64,
    arrived: AtomicU64,
    /// Error of the last document that did not arrive.
    problem: Mutex<Option<String>>,
}

impl Counts {
    fn fail(&self, problem: String) {
        *self.problem.lock().unwrap_or_else(PoisonError::into_inner) = Some(problem);
    }
}

/// The queue to the task that posts.
#[derive(Debug, Clone)]
struct Telemetry {
    /// `None`: the collector cannot be used.
    queue: Option<mpsc::Sender<Item>>,
    counts: Arc<Counts>,
    place: String,
}

impl std::fmt::Debug for Item {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if matches!(self, Self::End(_)) { "End" } else { "Document" })
    }
}

/// The telemetry of a workbench and its clones; started by the first run.
#[derive(Debug, Clone, Default)]
pub(super) struct SharedTelemetry(Arc<OnceLock<Telemetry>>);

/// The spans of the runs of one session.
#[derive(Debug)]
pub(super) struct SessionSpans {
    spans: Mutex<LiveSpans>,
    telemetry: Telemetry,
}

impl SessionSpans {
    /// Takes the next event.
    pub(super) fn apply(&self, envelope: &Envelope) {
        let document = self.spans.lock().unwrap_or_else(PoisonError::into_inner).apply(envelope);
        if let Some(document) = document {
            self.telemetry.take(document);
        }
    }
}

impl Telemetry {
    fn start(config: &Config, endpoint: &str) -> Self {
        let counts = Arc::new(Counts::default());
        let collector = match Collector::new(endpoint, &config.telemetry, &config.tls) {
            Ok(collector) => collector,
            Err(problem) => {
                counts.fail(problem);
                return Self { queue: None, counts, place: "telemetry.otlp_endpoint".to_owned() };
            }
        };
        let place = collector.shown();
        let (queue, documents) = mpsc::channel(QUEUE_MOST);
        tokio::spawn(post_all(documents, collector, Arc::clone(&counts)));
        Self { queue: Some(queue), counts, place }
    }

    fn take(&self, document: String) {
        self.counts.taken.fetch_add(1, Ordering::Relaxed);
        let Some(queue) = &self.queue else { return };
        if queue.try_send(Item::Document(document)).is_err() {
            self.counts.fail(format!("more than {QUEUE_MOST} documents were queued"));
        }
    }

    /// Waits for the queue to drain; describes the documents that did not arrive.
    async fn end(&self) -> Option<String> {
        let drained = async {
            let (sender, done) = oneshot::channel();
            if let Some(queue) = &self.queue
                && queue.send(Item::End(sender)).await.is_ok()
            {
                _ = done.await;
            }
        };
        // Late documents count as lost.
        _ = tokio::time::timeout(END_TIME, drained).await;
        let (taken, arrived) = (self.counts.taken.load(Ordering::Relaxed), self.counts.arrived.load(Ordering::Relaxed));
        let problem = self.counts.problem.lock().unwrap_or_else(PoisonError::into_inner).take();
        let why = problem.map(|problem| format!(": {problem}")).unwrap_or_default();
        let lost = taken.saturating_sub(arrived);
        (lost > 0).then(|| format!("telemetry: {lost} of {taken} documents did not reach {}{why}", self.place))
    }
}

/// Posts documents in order until the end.
async fn post_all(mut queue: mpsc::Receiver<Item>, collector: Collector, counts: Arc<Counts>) {
    // While the collector is away no document waits for it.
    let mut is_away = false;
    while let Some(item) = queue.recv().await {
        let document = match item {
            Item::Document(document) => document,
            Item::End(done) => {
                _ = done.send(());
                return;
            }
        };
        let mut pauses = PAUSES.iter().filter(|_| !is_away);
        loop {
            match collector.post(document.clone()).await {
                Ok(()) => {
                    counts.arrived.fetch_add(1, Ordering::Relaxed);
                    is_away = false;
                    break;
                }
                Err(failure) => {
                    tracing::warn!(problem = failure.message, "spans were not delivered");
                    let pause = pauses.next().filter(|_| failure.is_temporary);
                    counts.fail(failure.message);
                    let Some(pause) = pause else {
                        is_away = failure.is_temporary;
                        break;
                    };
                    tokio::time::sleep(*pause).await;
                }
            }
        }
    }
}

impl Workbench {
    /// A feed for the runs of a session, whose spans are posted if a collector is configured.
    pub(super) fn feed(&self, session: Option<&str>) -> Feed {
        let Some(endpoint) = &self.config.telemetry.otlp_endpoint else { return Feed::default() };
        let telemetry = self.telemetry.0.get_or_init(|| Telemetry::start(&self.config, endpoint)).clone();
        let now = SystemClock.now();
        let session = session.map_or_else(|| SessionId::draw(now).to_string(), ToOwned::to_owned);
        let detail = if self.config.telemetry.content { SpanDetail::Content } else { SpanDetail::Facts };
        let spans = Mutex::new(LiveSpans::new(session, Header::program_name(), detail, now));
        Feed::with_spans(SessionSpans { spans, telemetry })
    }

    /// Ends telemetry: posts the documents in the queue, for a limited time. Describes the documents that did not arrive.
    pub async fn end_telemetry(&self) -> Option<String> {
        self.telemetry.0.get()?.end().await
    }
}
