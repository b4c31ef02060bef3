//! One conversation with one server: its list of tools, and calls.
//!
//! In: a tool's name and arguments. Out: a value or a message. Dropping a call tells the server that nobody waits any more.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::FutureExt as _;
use ptc_core::text::did_you_mean;
use ptc_core::value::Value;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CancelledNotificationParam, ClientRequest, PaginatedRequestParams,
    RequestId, ServerResult, Tool,
};
use rmcp::service::{ClientCacheConfig, Peer, PeerRequestOptions, RoleClient, ServiceError};
use tokio::sync::mpsc;

use super::connect::{Open, open};
use super::listing::{self, is_same_name};
use super::log::Log;
use super::{Connection, Listing, result};
use crate::tool::text::scrubbed;

/// Pages of a list that are read: a server may list for ever.
const PAGES: usize = 50;
/// How long it takes at the most to write that a call is cancelled, on a busy machine too: the end of the conversation would outrun it.
const LAST_WORDS: Duration = Duration::from_millis(50);
/// Tools of a server that are read.
const TOOLS: usize = 2_000;

/// A conversation.
pub(super) struct Session {
    server: String,
    open: Open,
    log: Arc<Log>,
    tools: Mutex<Option<Arc<Vec<Tool>>>>,
    /// A call was left before its answer came.
    was_left: AtomicBool,
}

impl Session {
    pub(super) async fn begin(server: &str, connection: &Connection, log: &Arc<Log>) -> Result<Self, String> {
        let open = open(server, connection, log).await?;
        // The list of tools is cached here, and read again as soon as a notification says that it changed.
        open.service.peer().set_response_cache_config(ClientCacheConfig::disabled()).await;
        let (log, tools) = (Arc::clone(log), Mutex::default());
        Ok(Self { server: server.to_owned(), open, log, tools, was_left: AtomicBool::new(false) })
    }

    /// Has the server gone away?
    pub(super) fn is_over(&self) -> bool {
        self.open.service.is_closed() || self.open.service.peer().is_transport_closed()
    }

    /// How its process ended, if it did.
    pub(super) fn end(&mut self) -> String {
        let status = self.open.process.as_mut().and_then(|(child, _)| child.try_wait().ok().flatten());
        status.map(|status| format!(" ({status})")).unwrap_or_default()
    }

    /// Its tools as listed; read again after the server said that they changed.
    async fn tools(&self) -> Result<Arc<Vec<Tool>>, String> {
        let changed = self.log.take_change();
        let known = self.tools.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let (Some(known), false) = (&known, changed) {
            return Ok(Arc::clone(known));
        }
        let mut tools = Vec::new();
        let mut cursor = None;
        for _ in 0..PAGES {
            let page = PaginatedRequestParams::default().with_cursor(cursor);
            let listed = self.open.service.peer().list_tools(Some(page)).await.map_err(|error| self.said(&error))?;
            tools.extend(listed.tools);
            cursor = listed.next_cursor;
            if cursor.is_none() || tools.len() >= TOOLS {
                break;
            }
        }
        tools.truncate(TOOLS);
        let tools = Arc::new(tools);
        if known.is_some_and(|known| names(&known) != names(&tools)) {
            self.log.tell(&format!("the server {} has changed its tools: {}", self.server, names(&tools).join(", ")));
        }
        *self.tools.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&tools));
        Ok(tools)
    }

    /// Its tools in our words.
    pub(super) async fn listings(&self) -> Result<Vec<Listing>, String> {
        Ok(self.tools().await?.iter().map(|tool| Listing::of(tool).scrubbed(self.log.scrub())).collect())
    }

    /// Says that it is over, and waits for the end of its process.
    pub(super) async fn close(self) {
        let Open { service, process } = self.open;
        if self.was_left.into_inner() {
            tokio::time::sleep(LAST_WORDS).await;
        }
        if let Err(error) = service.cancel().await {
            tracing::debug!(%error, "a server's conversation did not end well");
        }
        if let Some((mut child, _group)) = process
            && let Err(error) = child.wait().await
        {
            tracing::debug!(%error, "a server's end cannot be awaited");
        }
    }

    /// Calls a tool. What the server says meanwhile goes to `notes`.
    pub(super) async fn call(
        &self,
        name: &str,
        args: &Value,
        notes: &mpsc::UnboundedSender<String>,
    ) -> Result<Value, String> {
        let listening = self.log.listen(notes);
        let tools = self.tools().await?;
        let exact = tools.iter().find(|tool| tool.name == name);
        let Some(tool) = exact.or_else(|| tools.iter().find(|tool| is_same_name(&tool.name, name))) else {
            let known = names(&tools);
            let near = did_you_mean(name, known.iter().map(String::as_str));
            return Err(format!("the server {} has no tool `{name}`{near} (tools: {})", self.server, known.join(", ")));
        };
        let params = CallToolRequestParams::new(tool.name.clone()).with_arguments(listing::arguments(tool, args));
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let peer = self.open.service.peer();
        let sent = peer.send_cancellable_request(request, PeerRequestOptions::no_options()).await;
        let sent = sent.map_err(|error| self.said(&error))?;
        listening.expects(&sent.progress_token);
        let mut waiting = Waiting { peer, id: Some(sent.id.clone()), was_left: &self.was_left };
        let answer = sent.await_response().await;
        waiting.id = None;
        match answer.map_err(|error| self.said(&error))? {
            ServerResult::CallToolResult(complete) => {
                result::value(&complete, tool.output_schema.is_some()).map(|value| scrubbed(value, self.log.scrub()))
            }
            ServerResult::InputRequiredResult(_) | ServerResult::CreateTaskResult(_) => {
                Err(format!("the tool `{name}` of the server {} asks for more than arguments", self.server))
            }
            _ => Err(self.said(&ServiceError::UnexpectedResponse)),
        }
    }

    /// Why a request failed, in words.
    fn said(&self, error: &ServiceError) -> String {
        let server = &self.server;
        match error {
            ServiceError::McpError(error) => format!("the server {server} refused: {}", error.message),
            ServiceError::TransportClosed | ServiceError::TransportSend(_) => {
                let what = "ended before it answered; it is unknown whether the call took effect";
                format!("the server {server} {what}{}", self.log.last())
            }
            ServiceError::UnexpectedResponse => {
                format!("the server {server} answered with something else than a result")
            }
            other => format!("the server {server}: {other}"),
        }
    }
}

/// A call whose answer is awaited. When it is dropped before, the server is told that nobody waits any more.
struct Waiting<'a> {
    peer: &'a Peer<RoleClient>,
    id: Option<RequestId>,
    was_left: &'a AtomicBool,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let Some(id) = self.id.take() else { return };
        self.was_left.store(true, Ordering::Relaxed);
        let reason = Some("the caller no longer waits for the answer".to_owned());
        let param = CancelledNotificationParam::new(Some(id), reason);
        // Asked once, it is on its way: whether it arrived does not matter here.
        if self.peer.notify_cancelled(param).now_or_never().is_some_and(|told| told.is_err()) {
            tracing::debug!("a server could not be told that a call is cancelled");
        }
    }
}

fn names(tools: &[Tool]) -> Vec<String> {
    tools.iter().map(|tool| tool.name.to_string()).collect()
}
