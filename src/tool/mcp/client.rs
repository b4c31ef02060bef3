//! The client's side of a session: how this program introduces itself, and its answers to requests of a server.
//!
//! In: requests of a server. Out: the answer of the user, or a refusal with its reason. A server must never get a model's reply that the user has
//! not seen, and no list of folders.

#![expect(deprecated, reason = "the protocol will drop sampling; servers of today still ask for it")]

use std::sync::Arc;

use rmcp::model::{
    ClientCapabilities, ClientConfig, CreateMessageRequestParams, CreateMessageResult, ElicitRequestParams,
    ElicitResult, ElicitationAction, ElicitationCapability, ErrorCode, FormElicitationCapability, Implementation,
    SamplingCapability, UrlElicitationCapability,
};
use rmcp::service::{RequestContext, RoleClient};
use rmcp::{ClientHandler, ErrorData};

use super::elicitation::elicit;
use super::log::Log;
use super::sampling::sample;
use crate::config::Sampling;

/// Refusal of a request for a model's reply.
const SAMPLING_REFUSED: &str = "ptc-workbench gives this server no replies of its models (sampling/createMessage); configure a model in the \
                                server, use its tools that need none, or set sampling = \"ask\" under [mcp.NAME]";

/// Answers the requests of one server.
pub(super) struct Client {
    pub(super) server: String,
    pub(super) log: Arc<Log>,
    pub(super) sampling: Sampling,
}

impl ClientHandler for Client {
    fn get_info(&self) -> ClientConfig {
        let own = Implementation::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"));
        let mut elicitation = ElicitationCapability::default();
        elicitation.form = Some(FormElicitationCapability::default());
        elicitation.url = Some(UrlElicitationCapability::default());
        let mut capabilities = ClientCapabilities::default();
        capabilities.elicitation = Some(elicitation);
        capabilities.sampling = (self.sampling == Sampling::Ask).then(SamplingCapability::default);
        ClientConfig::new(capabilities, own)
    }

    async fn create_message(
        &self,
        params: CreateMessageRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        let server = &self.server;
        if self.sampling == Sampling::Ask {
            return tokio::select! {
                biased;
                // The server no longer waits.
                () = context.ct.cancelled() => Err(ErrorData::internal_error("the request was cancelled", None)),
                result = sample(server, &params, &self.log) => result,
            };
        }
        self.log.broadcast(&format!("the server {server} asked for a reply of a model (sampling), which was refused"));
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, SAMPLING_REFUSED, None))
    }

    async fn create_elicitation(
        &self,
        params: ElicitRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        tokio::select! {
            biased;
            // The server no longer waits.
            () = context.ct.cancelled() => Ok(ElicitResult::new(ElicitationAction::Cancel)),
            result = elicit(&self.server, &params, &self.log) => Ok(result),
        }
    }
}
