//! A session with one server: its tool list, and calls.
//!
//! In: a tool's name and arguments. Out: a value or a message. Dropping a call cancels it on the server.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::FutureExt as _;
use ptc_core::text::did_you_mean;
use ptc_core::value::Value;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CancelledNotificationParam, ClientRequest, InputRequest, InputRequests,
    InputResponses, JsonObject, PaginatedRequestParams, RequestId, ServerCapabilities, ServerResult,
};
use rmcp::service::{ClientCacheConfig, Peer, PeerRequestOptions, RoleClient, ServiceError};

use super::access::ServerAccess;
use super::connect::{Open, open};
use super::elicitation::elicit;
use super::features::{Feature, FeatureError, Offer, offers, resource_bytes};
use super::http_error::{ServerPlace, describe_http_error};
use super::listing::{self, is_same_name};
use super::log::{Log, Subscription};
use super::notifications::request_log_level;
use super::{Connection, Listing, result};
use crate::tool::text::scrub_value;
use crate::tool::{Invocation, ToolRequest};

/// Maximum pages of a list.
pub(super) const MAX_PAGES: usize = 50;
/// Maximum time for writing a cancellation before the session is closed.
const CANCEL_TIMEOUT: Duration = Duration::from_millis(50);
/// Maximum times that one call asks for input.
const MAX_ROUNDS: usize = 10;
/// Maximum number of tools per server.
const MAX_TOOLS: usize = 2_000;

/// A session.
pub(super) struct Session {
    server: String,
    /// The table that defines it, for messages.
    section: String,
    /// The argument of `tools login` for this server.
    login: String,
    open: Open,
    log: Arc<Log>,
    tools: Mutex<Option<Arc<Vec<Offer>>>>,
    /// A call was cancelled before its result arrived.
    has_cancelled_call: AtomicBool,
}

impl Session {
    pub(super) async fn begin(
        server: &str,
        connection: &Connection,
        access: &ServerAccess,
        log: &Arc<Log>,
    ) -> Result<Self, String> {
        let open = open(server, connection, access, log).await?;
        // The tool list is cached here, and read again after a change notification.
        open.service.peer().set_response_cache_config(ClientCacheConfig::disabled()).await;
        let (log, tools) = (Arc::clone(log), Mutex::default());
        let login = match connection {
            Connection::Http { url, .. } => access.login_name(url).to_owned(),
            Connection::Process(_) => String::new(),
        };
        let (server_name, section) = (server.to_owned(), access.section(server));
        let has_cancelled_call = AtomicBool::new(false);
        let session = Self { server: server_name, section, login, open, log, tools, has_cancelled_call };
        if let Some(level) = access.log_level(server) {
            session.set_log_level(level).await;
        }
        Ok(session)
    }

    /// Asks for log messages of this severity at least; a refusal is logged.
    async fn set_log_level(&self, level: &str) {
        if self.capabilities().logging.is_some()
            && let Err(error) = request_log_level(self.open.service.peer(), level).await
        {
            self.log.push_line(&format!("the server refused the log level: {error}"));
        }
    }

    /// Returns whether the connection is closed.
    pub(super) fn is_over(&self) -> bool {
        self.open.service.is_closed() || self.open.service.peer().is_transport_closed()
    }

    /// Returns how its process ended.
    pub(super) fn end(&mut self) -> String {
        let status = self.open.process.as_mut().and_then(|(child, _)| child.try_wait().ok().flatten());
        status.map(|status| format!(" ({status})")).unwrap_or_default()
    }

    /// Returns its tools and features; read again after a change notification.
    async fn tools(&self) -> Result<Arc<Vec<Offer>>, String> {
        let changed = self.log.take_change();
        let known = self.tools.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let (Some(known), false) = (&known, changed) {
            return Ok(Arc::clone(known));
        }
        let capabilities = self.capabilities();
        let mut tools = Vec::new();
        let mut cursor = None;
        // A server without tools refuses the request.
        let has_other = capabilities.resources.is_some() || capabilities.prompts.is_some();
        let pages = if capabilities.tools.is_none() && has_other { 0 } else { MAX_PAGES };
        for _ in 0..pages {
            let page = PaginatedRequestParams::default().with_cursor(cursor);
            let listed = match self.open.service.peer().list_tools(Some(page)).await {
                Ok(listed) => listed,
                Err(error) => return Err(self.describe_error(&error).await),
            };
            tools.extend(listed.tools);
            cursor = listed.next_cursor;
            if cursor.is_none() || tools.len() >= MAX_TOOLS {
                break;
            }
        }
        tools.truncate(MAX_TOOLS);
        let tools = Arc::new(offers(tools, &capabilities));
        if known.is_some_and(|known| names(&known) != names(&tools)) {
            self.log.broadcast(&format!(
                "the server {} has changed its tools: {}",
                self.server,
                names(&tools).join(", ")
            ));
        }
        *self.tools.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&tools));
        Ok(tools)
    }

    fn capabilities(&self) -> ServerCapabilities {
        self.open.service.peer().peer_info().map(|info| info.capabilities.clone()).unwrap_or_default()
    }

    /// Returns its tools with signatures.
    pub(super) async fn listings(&self) -> Result<Vec<Listing>, String> {
        Ok(self.tools().await?.iter().map(|offer| Listing::of(&offer.tool).without_secrets(self.log.scrub())).collect())
    }

    /// Closes the session and waits for the end of the process.
    pub(super) async fn close(self) {
        let Open { service, process } = self.open;
        if self.has_cancelled_call.into_inner() {
            tokio::time::sleep(CANCEL_TIMEOUT).await;
        }
        if let Err(error) = service.cancel().await {
            tracing::debug!(%error, "could not close the session with a server");
        }
        if let Some((mut child, _group)) = process
            && let Err(error) = child.wait().await
        {
            tracing::debug!(%error, "could not wait for the end of a server");
        }
    }

    /// Uses a feature that is not a tool of the server. Errors: a server without it, or why it gave nothing.
    pub(super) async fn feature(&self, feature: Feature, arguments: &JsonObject) -> Result<Value, String> {
        if !feature.is_in(&self.capabilities()) {
            let what =
                if matches!(feature, Feature::ListPrompts | Feature::GetPrompt) { "prompts" } else { "resources" };
            return Err(format!("the server {} has no {what}", self.server));
        }
        match feature.call(self.open.service.peer(), arguments).await {
            Ok(value) => Ok(scrub_value(value, self.log.scrub())),
            Err(FeatureError::Unusable(why)) => Err(format!("the server {} answered {why}", self.server)),
            Err(FeatureError::Failed(error)) => Err(self.describe_error(&error).await),
        }
    }

    /// Reads a resource; known secrets are removed from texts.
    pub(super) async fn resource(&self, uri: &str) -> Result<Vec<u8>, String> {
        if !Feature::ReadResource.is_in(&self.capabilities()) {
            return Err(format!("the server {} has no resources", self.server));
        }
        match resource_bytes(self.open.service.peer(), uri, self.log.scrub()).await {
            Ok(bytes) => Ok(bytes),
            Err(FeatureError::Unusable(why)) => Err(format!("the server {} gave {why}", self.server)),
            Err(FeatureError::Failed(error)) => Err(self.describe_error(&error).await),
        }
    }

    /// Calls a tool. Messages of the server during the call go to `notes`.
    pub(super) async fn call(&self, name: &str, call: &Invocation<'_>) -> Result<Value, String> {
        let args = call.args;
        let listening = self.log.subscribe(call.notes, call.requests);
        let tools = self.tools().await?;
        let exact = tools.iter().find(|offer| offer.tool.name == name);
        let near = || tools.iter().find(|offer| is_same_name(&offer.tool.name, name));
        let Some(Offer { tool, feature }) = exact.or_else(near) else {
            let known = names(&tools);
            let near = did_you_mean(name, known.iter().map(String::as_str));
            return Err(format!("the server {} has no tool `{name}`{near} (tools: {})", self.server, known.join(", ")));
        };
        let arguments = listing::arguments(tool, args);
        if let Some(feature) = feature {
            return self.feature(*feature, &arguments).await;
        }
        let mut params = CallToolRequestParams::new(tool.name.clone()).with_arguments(arguments);
        for _ in 0..MAX_ROUNDS {
            match self.send_call(params.clone(), &listening).await? {
                ServerResult::CallToolResult(complete) => {
                    if let Some(problem) = result::schema_problem(&complete, tool) {
                        // The call may have ended meanwhile.
                        _ = call.notes.send(self.log.clean(&problem));
                    }
                    for image in result::images(&complete, &call.tool.name) {
                        _ = call.requests.send(ToolRequest::Image(image));
                    }
                    let value = result::value(&complete, tool.output_schema.is_some());
                    return value.map(|value| scrub_value(value, self.log.scrub()));
                }
                ServerResult::InputRequiredResult(required) => {
                    params.input_responses = Some(self.answers(required.input_requests.unwrap_or_default()).await?);
                    params.request_state = required.request_state;
                }
                ServerResult::CreateTaskResult(_) => {
                    return Err(format!(
                        "the server {} began a task for the tool `{name}`, which is not supported",
                        self.server
                    ));
                }
                _ => return Err(self.describe_error(&ServiceError::UnexpectedResponse).await),
            }
        }
        Err(format!("the tool `{name}` of the server {} asked for input {MAX_ROUNDS} times", self.server))
    }

    /// Sends a call and waits for its result.
    async fn send_call(
        &self,
        params: CallToolRequestParams,
        listening: &Subscription<'_>,
    ) -> Result<ServerResult, String> {
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let peer = self.open.service.peer();
        let sent = match peer.send_cancellable_request(request, PeerRequestOptions::no_options()).await {
            Ok(sent) => sent,
            Err(error) => return Err(self.describe_error(&error).await),
        };
        listening.expects(&sent.progress_token);
        let mut waiting = PendingCall { peer, id: Some(sent.id.clone()), has_cancelled_call: &self.has_cancelled_call };
        let answer = sent.await_response().await;
        waiting.id = None;
        match answer {
            Ok(answer) => Ok(answer),
            Err(error) => Err(self.describe_error(&error).await),
        }
    }

    /// The user's answers to the questions in place of a result, by their keys.
    async fn answers(&self, requests: InputRequests) -> Result<InputResponses, String> {
        let mut answers = InputResponses::new();
        for (key, request) in requests {
            let InputRequest::Elicitation(question) = request else {
                return Err(format!("the server {} requests more than user input, which is refused", self.server));
            };
            let answer = elicit(&self.server, &question.params, &self.log).await;
            answers.insert(key, serde_json::to_value(answer).unwrap_or_default());
        }
        Ok(answers)
    }

    /// Describes why a request failed.
    async fn describe_error(&self, error: &ServiceError) -> String {
        let server = &self.server;
        let place = ServerPlace { server, section: &self.section, login: &self.login };
        match error {
            ServiceError::McpError(error) => format!("the server {server} refused: {}", error.message),
            ServiceError::TransportSend(error) if let Some(described) = describe_http_error(error, &place) => {
                format!("the server {server} {described}")
            }
            ServiceError::TransportClosed | ServiceError::TransportSend(_) => {
                let what = "ended before it answered; it is unknown whether the call took effect";
                format!("the server {server} {what}{}", self.log.last_of_ended().await)
            }
            ServiceError::UnexpectedResponse => {
                format!("the server {server} answered with something other than a result")
            }
            other => format!("the server {server}: {other}"),
        }
    }
}

/// A pending call. Dropping it cancels the call on the server.
struct PendingCall<'a> {
    peer: &'a Peer<RoleClient>,
    id: Option<RequestId>,
    has_cancelled_call: &'a AtomicBool,
}

impl Drop for PendingCall<'_> {
    fn drop(&mut self) {
        let Some(id) = self.id.take() else { return };
        self.has_cancelled_call.store(true, Ordering::Relaxed);
        let reason = Some("the caller no longer waits for the answer".to_owned());
        let param = CancelledNotificationParam::new(Some(id), reason);
        // The notification is queued at the first poll; its delivery does not matter here.
        if self.peer.notify_cancelled(param).now_or_never().is_some_and(|sent| sent.is_err()) {
            tracing::debug!("could not send the cancellation of a call to a server");
        }
    }
}

fn names(tools: &[Offer]) -> Vec<String> {
    tools.iter().map(|offer| offer.tool.name.to_string()).collect()
}
