//! One conversation with one server: its list of tools, and calls.
//!
//! In: a tool's name and arguments. Out: a value or a message. Dropping a call tells the server that nobody waits any more.

use std::sync::{Arc, Mutex, PoisonError};

use ptc_core::text::nearest;
use ptc_core::value::Value;
use rmcp::model::{CallToolRequestParams, CallToolResponse, PaginatedRequestParams, Tool};
use rmcp::service::ServiceError;
use tokio::sync::mpsc;

use super::connect::{Open, open};
use super::log::Log;
use super::{Connection, Listing, is_same_name, listing, result};
use crate::tool::text::scrubbed;

/// Pages of a list that are read: a server may list for ever.
const PAGES: usize = 50;
/// How often a call lets others go first before it stops listening.
const YIELDS: u32 = 8;
/// Tools of a server that are read.
const TOOLS: usize = 2_000;

/// A conversation.
pub(super) struct Session {
    server: String,
    open: Open,
    log: Arc<Log>,
    tools: Mutex<Option<Arc<Vec<Tool>>>>,
}

impl Session {
    pub(super) async fn begin(server: &str, connection: &Connection, log: &Arc<Log>) -> Result<Self, String> {
        let open = open(server, connection, log).await?;
        Ok(Self { server: server.to_owned(), open, log: Arc::clone(log), tools: Mutex::default() })
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
        Ok(self.tools().await?.iter().map(Listing::of).collect())
    }

    /// Calls a tool. What the server says meanwhile goes to `notes`.
    pub(super) async fn call(
        &self,
        name: &str,
        args: &Value,
        notes: &mpsc::UnboundedSender<String>,
    ) -> Result<Value, String> {
        let _listening = self.log.listen(notes);
        let tools = self.tools().await?;
        let exact = tools.iter().find(|tool| tool.name == name);
        let Some(tool) = exact.or_else(|| tools.iter().find(|tool| is_same_name(&tool.name, name))) else {
            let known = names(&tools);
            let near = nearest(name, known.iter().map(String::as_str));
            let near = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
            return Err(format!("the server {} has no tool `{name}`{near} (tools: {})", self.server, known.join(", ")));
        };
        let params = CallToolRequestParams::new(tool.name.clone()).with_arguments(listing::arguments(tool, args));
        let answer = self.open.service.peer().call_tool_once(params).await;
        // What the server said before its answer is on its way here by tasks of its own.
        for _ in 0..YIELDS {
            tokio::task::yield_now().await;
        }
        let answer = answer.map_err(|error| self.said(&error))?;
        match answer {
            CallToolResponse::Complete(complete) => result::value(&complete, tool.output_schema.is_some())
                .map(|value| scrubbed(value, &self.open.scrub))
                .map_err(|message| self.open.scrub.text(&message)),
            _ => Err(format!("the tool `{name}` of the server {} asks for more than arguments", self.server)),
        }
    }

    /// Why a request failed, in words.
    fn said(&self, error: &ServiceError) -> String {
        let server = &self.server;
        let text = match error {
            ServiceError::McpError(error) => format!("the server {server} refused: {}", error.message),
            ServiceError::TransportClosed | ServiceError::TransportSend(_) => {
                let what = "ended before it answered; nobody knows whether the call took effect";
                format!("the server {server} {what}{}", self.log.last())
            }
            ServiceError::UnexpectedResponse => {
                format!("the server {server} answered with something else than a result")
            }
            other => format!("the server {server}: {other}"),
        };
        self.open.scrub.text(&text)
    }
}

fn names(tools: &[Tool]) -> Vec<String> {
    tools.iter().map(|tool| tool.name.to_string()).collect()
}
