//! The client's user, who is asked by elicitation.
//!
//! In: questions of a run. Out: answers, or none: the client cannot ask, its user declined, or its input has ended. Then the run waits
//! in its session. A question whose answer is no longer awaited is withdrawn, so that the client closes its dialog.

use std::collections::BTreeMap;
use std::future::Future;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use rmcp::RoleServer;
use rmcp::model::{
    CancelledNotificationParam, ClientResult, ElicitRequest, ElicitRequestParams, ElicitResult, ElicitationAction,
    ElicitationSchema, RequestId, ServerRequest,
};
use rmcp::service::{ElicitationMode, Peer, PeerRequestOptions};
use serde_json::{Value, json};
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

use crate::port::{Human, Question};

/// The name of the only field of the form.
const FIELD: &str = "answer";

/// Asks the user of a client.
#[derive(Debug, Clone)]
pub(super) struct ElicitingHuman {
    pub(super) peer: Peer<RoleServer>,
    pub(super) input_end: CancellationToken,
}

impl ElicitingHuman {
    async fn answered(&self, question: &Question) -> Option<String> {
        if !self.peer.supported_elicitation_modes().contains(&ElicitationMode::Form) {
            return None;
        }
        let field = if question.options.is_empty() {
            json!({ "type": "string" })
        } else {
            json!({ "type": "string", "enum": question.options })
        };
        let form = json!({ "type": "object", "properties": { FIELD: field }, "required": [FIELD] });
        let requested_schema: ElicitationSchema = serde_json::from_value(form).ok()?;
        let message = question.text.clone();
        let asked = ElicitRequestParams::FormElicitationParams { meta: None, message, requested_schema };
        let result = self.elicit(asked).await?;
        if result.action != ElicitationAction::Accept {
            return None;
        }
        let fields: BTreeMap<String, Value> = serde_json::from_value(result.content?).ok()?;
        fields.get(FIELD)?.as_str().map(ToOwned::to_owned)
    }

    /// Sends a form and waits for its result. `None`: the client reports an error, or it has left.
    async fn elicit(&self, asked: ElicitRequestParams) -> Option<ElicitResult> {
        let request = ServerRequest::ElicitRequest(ElicitRequest::new(asked));
        let sent = self.peer.send_cancellable_request(request, PeerRequestOptions::no_options()).await.ok()?;
        let mut pending = PendingElicitation { peer: self.peer.clone(), id: Some(sent.id.clone()) };
        let response = sent.await_response().await;
        pending.id = None;
        match response.ok()? {
            ClientResult::ElicitResult(result) => Some(result),
            _ => None,
        }
    }
}

/// An elicitation whose result is awaited. Dropping it before cancels the request at the client.
struct PendingElicitation {
    peer: Peer<RoleServer>,
    /// `None` when the client has responded.
    id: Option<RequestId>,
}

impl Drop for PendingElicitation {
    fn drop(&mut self) {
        let (Some(id), Ok(runtime)) = (self.id.take(), Handle::try_current()) else { return };
        let peer = self.peer.clone();
        runtime.spawn(async move {
            let withdrawn =
                CancelledNotificationParam::new(Some(id), Some("the run no longer waits for the answer".to_owned()));
            // A client that left needs no notification.
            _ = peer.notify_cancelled(withdrawn).await;
        });
    }
}

impl Human for ElicitingHuman {
    fn ask<'a>(&'a self, question: &'a Question, cancel: &'a CancellationToken) -> BoxFuture<'a, Option<String>> {
        first(self.answered(question), cancel, &self.input_end).boxed()
    }
}

/// The answer, unless one of these is cancelled before.
async fn first(
    answer: impl Future<Output = Option<String>>,
    cancel: &CancellationToken,
    input_end: &CancellationToken,
) -> Option<String> {
    tokio::select! {
        answer = answer => answer,
        () = cancel.cancelled() => None,
        () = input_end.cancelled() => None,
    }
}
