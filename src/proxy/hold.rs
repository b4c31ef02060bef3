//! Requests and replies that wait for the user.
//!
//! In: an exchange that stops at a gate. Out: the decision about it, or that its client has left. It must never keep an exchange whose
//! client has left, nor stop one when no screen shows it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, oneshot};

/// Part of an exchange that waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HeldSide {
    /// The request, before it is sent to the service.
    Request,
    /// The reply, before the client gets it.
    Reply,
}

/// Form of the text of a held exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeldForm {
    /// The body as it came; JSON is laid out.
    Body,
    /// The text of a streamed reply: another text becomes a reply of the same protocol.
    Text,
    /// The body cannot be shown: it can be passed on, dropped, or answered in its place.
    Hidden,
}

/// An exchange that waits for the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldExchange {
    /// Its number.
    pub id: u64,
    /// The part that waits.
    pub side: HeldSide,
    /// The program that asks, as it names itself.
    pub client: String,
    /// Name of the upstream.
    pub upstream: String,
    /// The model that is asked.
    pub model: String,
    /// Path of the request, without keys.
    pub path: String,
    /// The client expects the reply in pieces.
    pub is_streamed: bool,
    /// Status of the reply.
    pub status: Option<u16>,
    /// Since when it waits, Unix time in ms.
    pub at_ms: i64,
    /// Form of the text.
    pub form: HeldForm,
    /// Text that can be edited.
    pub text: String,
}

/// Decision about an exchange that waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It passes as it came.
    Pass,
    /// It passes with this text instead of its own.
    Edited(String),
    /// The client gets this text as the model's reply. A request that waits is not sent.
    Answer(String),
    /// The connection to the client is closed.
    Drop,
    /// The proxy ends: nobody decides any more, and the connection is closed.
    Ended,
}

#[derive(Debug, Default)]
struct WaitingExchanges {
    exchanges: Vec<(Arc<HeldExchange>, oneshot::Sender<Verdict>)>,
    has_changed: bool,
    is_over: bool,
}

#[derive(Debug, Default)]
struct HoldState {
    requests: AtomicBool,
    replies: AtomicBool,
    next: AtomicU64,
    waiting: Mutex<WaitingExchanges>,
}

/// The gates of a proxy and what waits at them. Clones are the same gates.
#[derive(Debug, Clone, Default)]
pub struct Holds {
    shared: Arc<HoldState>,
    changed: Arc<Notify>,
}

impl Holds {
    /// Open gates; `changed` is notified when something begins or ends to wait.
    pub(super) fn new(changed: Arc<Notify>) -> Self {
        Self { shared: Arc::default(), changed }
    }

    /// Stops all requests, or all replies, from now on, or lets them pass.
    pub fn set(&self, side: HeldSide, is_closed: bool) {
        self.gate(side).store(is_closed, Ordering::SeqCst);
    }

    /// Returns whether the gate of all requests, or of all replies, is closed.
    pub fn is_closed(&self, side: HeldSide) -> bool {
        self.gate(side).load(Ordering::SeqCst)
    }

    fn gate(&self, side: HeldSide) -> &AtomicBool {
        match side {
            HeldSide::Request => &self.shared.requests,
            HeldSide::Reply => &self.shared.replies,
        }
    }

    /// Decides about an exchange that waits. `false` when it no longer does.
    pub fn decide(&self, id: u64, verdict: Verdict) -> bool {
        let mut waiting = self.lock();
        let Some(at) = waiting.exchanges.iter().position(|(held, _)| held.id == id) else { return false };
        let (_, decision) = waiting.exchanges.remove(at);
        waiting.has_changed = true;
        drop(waiting);
        self.changed.notify_one();
        decision.send(verdict).is_ok()
    }

    /// Lets nothing wait any more: what waits is dropped.
    pub fn end(&self) {
        let mut waiting = self.lock();
        waiting.is_over = true;
        waiting.has_changed = true;
        // Each waiting exchange gets an error instead of a decision.
        waiting.exchanges.clear();
        drop(waiting);
        self.changed.notify_one();
    }

    /// Returns the exchanges that wait, when they have changed since the last call.
    pub(super) fn take_changed(&self) -> Option<Vec<Arc<HeldExchange>>> {
        let mut waiting = self.lock();
        let has_changed = std::mem::take(&mut waiting.has_changed);
        has_changed.then(|| waiting.exchanges.iter().map(|(held, _)| Arc::clone(held)).collect())
    }

    /// Waits for the decision about an exchange, whose number is set here. When the caller stops waiting, the exchange leaves the list.
    pub(super) async fn wait(&self, held: HeldExchange) -> Verdict {
        let id = self.shared.next.fetch_add(1, Ordering::Relaxed) + 1;
        let (sender, decision) = oneshot::channel();
        {
            let mut waiting = self.lock();
            if waiting.is_over {
                return Verdict::Ended;
            }
            waiting.exchanges.push((Arc::new(HeldExchange { id, ..held }), sender));
            waiting.has_changed = true;
        }
        self.changed.notify_one();
        let _leaves = Leaves { holds: self, id };
        decision.await.unwrap_or(Verdict::Ended)
    }

    fn lock(&self) -> MutexGuard<'_, WaitingExchanges> {
        self.shared.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Takes an exchange off the list, however its wait ends.
struct Leaves<'h> {
    holds: &'h Holds,
    id: u64,
}

impl Drop for Leaves<'_> {
    fn drop(&mut self) {
        let mut waiting = self.holds.lock();
        let before = waiting.exchanges.len();
        waiting.exchanges.retain(|(held, _)| held.id != self.id);
        if waiting.exchanges.len() < before {
            waiting.has_changed = true;
            drop(waiting);
            self.holds.changed.notify_one();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(side: HeldSide) -> HeldExchange {
        HeldExchange {
            id: 0,
            side,
            client: "curl/8".to_owned(),
            upstream: "openai".to_owned(),
            model: "m".to_owned(),
            path: "/v1/chat/completions".to_owned(),
            is_streamed: false,
            status: None,
            at_ms: 0,
            form: HeldForm::Body,
            text: "{}".to_owned(),
        }
    }

    async fn waiting(holds: &Holds) -> Vec<u64> {
        loop {
            if let Some(waiting) = holds.take_changed() {
                return waiting.iter().map(|held| held.id).collect();
            }
            holds.changed.notified().await;
        }
    }

    #[tokio::test]
    async fn a_decision_ends_the_wait_once() {
        let holds = Holds::default();
        let waits = {
            let holds = holds.clone();
            tokio::spawn(async move { holds.wait(held(HeldSide::Request)).await })
        };
        assert_eq!(waiting(&holds).await, [1]);
        assert!(holds.decide(1, Verdict::Edited("{}".to_owned())));
        assert!(!holds.decide(1, Verdict::Pass));
        assert_eq!(waits.await.unwrap(), Verdict::Edited("{}".to_owned()));
        assert_eq!(waiting(&holds).await, Vec::<u64>::new());
    }

    #[tokio::test]
    async fn what_leaves_no_longer_waits_and_the_end_drops_the_rest() {
        let holds = Holds::default();
        let task = |side| {
            let holds = holds.clone();
            tokio::spawn(async move { holds.wait(held(side)).await })
        };
        let leaver = task(HeldSide::Request);
        assert_eq!(waiting(&holds).await, [1]);
        leaver.abort();
        assert_eq!(waiting(&holds).await, Vec::<u64>::new());
        let other = task(HeldSide::Reply);
        assert_eq!(waiting(&holds).await, [2]);
        holds.end();
        assert_eq!(other.await.unwrap(), Verdict::Ended);
        assert_eq!(holds.wait(held(HeldSide::Reply)).await, Verdict::Ended);
    }
}
