//! The decision about a request that asks a model, over HTTP or as a message of a WebSocket.
//!
//! In: the request, what the rules do with it. Out: what answers it, and its record. It must never send the request.

use std::borrow::Cow;

use hyper::body::Bytes;

use super::{ProxyService, wait};
use crate::config::Protocol;
use crate::model::CapturedRequest;
use crate::proxy::answers::{Answers, AskedRequest, RecordedReply};
use crate::proxy::exchange::{Begun, BodyChange, Exchange, PROXY_ENDED};
use crate::proxy::headers;
use crate::proxy::held::{self, Asks};
use crate::proxy::hold::{HeldSide, Holds, Verdict};
use crate::proxy::rules::RuleEffects;
use crate::proxy::unrecorded::PendingRequest;

/// Longest body of a request that only loads a model, in bytes.
const LOADING_MAX_BYTES: usize = 1 << 10;

/// Source of the reply to a request.
pub(super) enum Decision {
    /// The upstream, which gets this body.
    Upstream(Bytes),
    /// A recording.
    Recorded(RecordedReply),
    /// Nothing: no recording has it, for this reason.
    NotRecorded(String),
    /// The proxy: a recording has no reply to a request that only loads a model.
    Loaded,
    /// The user, with this text.
    Written(String),
    /// Nothing: its connection is closed, for this reason.
    Dropped(&'static str),
    /// A rule, with this status and message.
    Failed(u16, String),
}

/// A decision, and what the reply needs of the request.
pub(super) struct Decided {
    pub(super) decision: Decision,
    /// The record; `None` where nothing is recorded.
    pub(super) exchange: Option<Exchange>,
    pub(super) asks: Asks,
    /// The body is not the client's.
    pub(super) is_changed: bool,
}

impl ProxyService {
    /// Decides about a request after its delays, and begins its record.
    pub(super) async fn decide(
        &self,
        mut begun: Begun,
        effects: &RuleEffects,
        pending: &mut PendingRequest,
    ) -> Decided {
        let mut verdict = Verdict::Pass;
        if let Some(holds) = self.holds_at(HeldSide::Request, effects) {
            (begun, verdict) = held::hold_request(holds, self.capture.as_ref(), begun, pending).await;
        }
        let (body, is_changed) = (begun.body.clone(), begun.came.is_some());
        let plain = match begun.sent_plain() {
            Cow::Borrowed(_) => body.clone(),
            Cow::Owned(plain) => Bytes::from(plain),
        };
        let asks = Asks { protocol: begun.protocol, path: begun.path.clone(), client: begun.client(), body: plain };
        let is_load = body.len() <= LOADING_MAX_BYTES && is_model_load(&asks);
        let is_sent =
            matches!(verdict, Verdict::Pass | Verdict::Edited(_)) && !effects.is_dropped && effects.fail.is_none();
        let mut delay = effects.delay;
        if let Some(recorded) = self.replies.recorded.as_ref().filter(|_| is_sent) {
            // A client that disconnects meanwhile consumes no recorded reply. What is answered from a recording is not recorded again.
            wait(std::mem::take(&mut delay)).await;
            let decision = if is_load {
                (!self.replies.asks_upstream).then_some(Decision::Loaded)
            } else {
                self.recorded_decision(recorded, &begun, pending)
            };
            if let Some(decision) = decision {
                return Decided { decision, exchange: None, asks, is_changed };
            }
        }
        let exchange = match &self.capture {
            Some(capture) if !is_load => {
                let exchange = capture.begin(begun).await;
                pending.set_recorded();
                Some(exchange)
            }
            Some(_) | None => None,
        };
        let decision = match verdict {
            Verdict::Answer(text) => Decision::Written(text),
            Verdict::Drop => Decision::Dropped("the user closed the connection"),
            Verdict::Ended => Decision::Dropped(PROXY_ENDED),
            Verdict::Pass | Verdict::Edited(_) => {
                wait(delay).await;
                match effects.fail.clone() {
                    _ if effects.is_dropped => Decision::Dropped("a rule of the proxy closed the connection"),
                    Some((status, message)) => Decision::Failed(status, message),
                    None => Decision::Upstream(body),
                }
            }
        };
        Decided { decision, exchange, asks, is_changed }
    }

    /// The recorded reply to a request, or why there is none; `None` when the upstream is to be asked.
    pub(super) fn recorded_decision(
        &self,
        recorded: &Answers,
        begun: &Begun,
        pending: &mut PendingRequest,
    ) -> Option<Decision> {
        let asks_upstream = self.replies.asks_upstream;
        // Recordings have no secrets: what is looked up, and shown when it is not found, must have none either.
        let mut begun = begun.clone();
        begun.add_body_secrets();
        let body = begun.clean_body();
        if body.change == Some(BodyChange::Omitted) {
            let message = "the body is compressed and too long to be looked up";
            return (!asks_upstream).then(|| Decision::NotRecorded(message.to_owned()));
        }
        let path = begun.scrub.text(&headers::recorded_path(&begun.path));
        let (upstream, method) = (&begun.upstream, &begun.method);
        // The same text may be compressed to other bytes: gzip writes its time into them.
        let plain = begun.plain(&body);
        let asked = AskedRequest { upstream, method, path: &path, body: &plain };
        match recorded.find(&asked, &self.upstreams) {
            Ok(reply) => {
                pending.set_answered_from(&reply.place);
                Some(Decision::Recorded(reply))
            }
            Err(_) if asks_upstream => None,
            Err(miss) => Some(Decision::NotRecorded(miss.to_string())),
        }
    }

    /// Returns the gates at which this request, or its reply, waits for the user; `None` when it passes.
    pub(super) fn holds_at(&self, side: HeldSide, effects: &RuleEffects) -> Option<&Holds> {
        self.holds.as_ref().filter(|holds| holds.is_closed(side) || effects.holds.contains(&side))
    }
}

/// Returns whether the request only loads the model. Ollama's clients send it without messages, or without a prompt.
fn is_model_load(asks: &Asks) -> bool {
    asks.protocol == Protocol::Ollama
        && CapturedRequest::read(asks.protocol, &asks.path, &asks.body).is_ok_and(|request| request.messages.is_empty())
}
