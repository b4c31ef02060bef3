//! The MCP servers of one run: started on demand, restarted after they ended, stopped with the run.
//!
//! In: calls. Out: values and messages. The number of restarts is limited.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex as Lock, PoisonError};
use std::time::Duration;

use futures::future::BoxFuture;
use ptc_core::value::Value;
use tokio::sync::Mutex;
use tokio::time::timeout;

use super::access::ServerAccess;
use super::features::Feature;
use super::log::Log;
use super::log_file::LogFile;
use super::session::Session;
use super::{Connection, Listing, Mcp};
use crate::model::{Scrub, variables};
use crate::tool::{Failure, Invocation};

/// Maximum starts of a server per run.
const MAX_STARTS: u32 = 3;
/// Time for a server to start and list its tools, outside of calls.
const LIST_TIMEOUT: Duration = Duration::from_secs(30);

/// Time for a server to exit by itself.
const EXIT_TIMEOUT: Duration = Duration::from_millis(500);

/// The running servers.
#[derive(Default)]
pub struct Servers {
    scrub: Scrub,
    logs: Option<PathBuf>,
    access: ServerAccess,
    slots: Lock<HashMap<(String, Connection), Arc<Slot>>>,
}

/// State of one server.
struct Slot {
    /// The table that defines it, for messages.
    section: String,
    session: Mutex<(u32, Option<Arc<Session>>)>,
    log: Arc<Log>,
}

/// Tools and log of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerState {
    /// Its tools.
    pub tools: Vec<Listing>,
    /// Its last log lines.
    pub log: Vec<String>,
}

impl std::fmt::Debug for Servers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Servers")
    }
}

impl Servers {
    /// `scrub` knows the secrets of this machine; `logs` is the folder for the logs of servers.
    pub fn new(scrub: Scrub, logs: Option<PathBuf>) -> Self {
        Self { scrub, logs, access: ServerAccess::default(), slots: Lock::default() }
    }

    /// Reaches servers with these settings.
    #[must_use]
    pub fn with_access(self, access: ServerAccess) -> Self {
        Self { access, ..self }
    }

    /// Returns the settings of the access to servers.
    pub(in crate::tool) fn access(&self) -> &ServerAccess {
        &self.access
    }

    fn slot(&self, server: &str, connection: &Connection) -> Arc<Slot> {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        let slot = slots.entry((server.to_owned(), connection.clone())).or_insert_with(|| {
            let sent = match connection {
                Connection::Http { headers, .. } => variables::headers(headers).map(|(_, secrets)| secrets),
                Connection::Process(_) => Ok(Vec::new()),
            };
            let file = self.logs.as_ref().and_then(|folder| LogFile::open(folder, server));
            let log = Log::new(self.scrub.clone().knowing(sent.unwrap_or_default()), file);
            let section = self.access.section(server);
            Arc::new(Slot { section, session: Mutex::default(), log: Arc::new(log) })
        });
        Arc::clone(slot)
    }

    /// Ends the servers: closes their input or session, and kills their processes after a moment.
    pub async fn end(&self) {
        let slots: Vec<_> =
            self.slots.lock().unwrap_or_else(PoisonError::into_inner).drain().map(|(_, slot)| slot).collect();
        let ends = slots.into_iter().map(|slot| async move {
            let session = slot.session.lock().await.1.take();
            if let Some(session) = session.and_then(Arc::into_inner)
                && timeout(EXIT_TIMEOUT, session.close()).await.is_err()
            {
                tracing::debug!("a server did not end by itself");
            }
        });
        futures::future::join_all(ends).await;
    }

    /// Calls a tool of a server.
    pub(in crate::tool) async fn call(&self, mcp: &Mcp, call: &Invocation<'_>) -> Result<Value, Failure> {
        let Some(connection) = &mcp.connection else {
            let message = format!("the server `{0}` is not configured; write a section [mcp.{0}]", mcp.server);
            return Err(Failure::from_message(message));
        };
        let slot = self.slot(&mcp.server, connection);
        let name = mcp.tool.as_deref().unwrap_or(&call.tool.name);
        let work = async {
            let session = slot.session(&mcp.server, connection, &self.access, |note| _ = call.notes.send(note)).await?;
            session.call(name, call).await
        };
        tokio::select! {
            biased;
            () = call.cancel.cancelled() => Err(Failure::Cancelled),
            given = work => given.map_err(|error| Failure::from_message(slot.log.clean(&error))),
        }
    }

    /// Uses a feature of a server outside of a run. Arguments are texts and objects of texts.
    pub async fn feature(
        &self,
        server: &str,
        connection: &Connection,
        feature: Feature,
        arguments: serde_json::Map<String, serde_json::Value>,
    ) -> Result<Value, String> {
        let slot = self.slot(server, connection);
        let work =
            async { slot.session(server, connection, &self.access, |_| {}).await?.feature(feature, &arguments).await };
        slot.within_time(server, connection, Box::pin(work)).await
    }

    /// Reads a resource of a server outside of a call.
    pub async fn resource(&self, server: &str, connection: &Connection, uri: &str) -> Result<Vec<u8>, String> {
        let slot = self.slot(server, connection);
        let work = async { slot.session(server, connection, &self.access, |_| {}).await?.resource(uri).await };
        slot.within_time(server, connection, Box::pin(work)).await
    }

    /// Starts a server and lists its tools. Errors contain its last log lines.
    pub async fn look(&self, server: &str, connection: &Connection) -> Result<ServerState, String> {
        let slot = self.slot(server, connection);
        let work = async { slot.session(server, connection, &self.access, |_| {}).await?.listings().await };
        match timeout(LIST_TIMEOUT, work).await {
            Ok(tools) => {
                let tools = tools.map_err(|error| slot.log.clean(&error))?;
                Ok(ServerState { tools, log: slot.log.lines() })
            }
            Err(_) => Err(slot.log.clean(&slot.too_late(server, connection, "list its tools").await)),
        }
    }
}

impl Slot {
    /// Waits for an answer of the server for a limited time.
    async fn within_time<T>(
        &self,
        server: &str,
        connection: &Connection,
        work: BoxFuture<'_, Result<T, String>>,
    ) -> Result<T, String> {
        let given = match timeout(LIST_TIMEOUT, work).await {
            Ok(given) => given,
            Err(_) => Err(self.too_late(server, connection, "answer").await),
        };
        given.map_err(|error| self.log.clean(&error))
    }

    /// Describes a server that did not do something in time.
    async fn too_late(&self, server: &str, connection: &Connection, what: &str) -> String {
        let (time, last) = (LIST_TIMEOUT.as_secs(), self.log.last());
        if self.session.lock().await.1.is_some() {
            return format!("the server {server} did not {what} within {time} s{last}");
        }
        let section = &self.section;
        let advice = match connection {
            Connection::Process(_) => {
                format!("command under {section} starts a program that speaks MCP on stdin and stdout")
            }
            Connection::Http { .. } => format!("url under {section} is that of an MCP server"),
        };
        format!("the server {server} did not begin to speak MCP within {time} s{last}; check that {advice}")
    }

    /// Returns the session with a server, and starts it if necessary.
    async fn session(
        &self,
        server: &str,
        connection: &Connection,
        access: &ServerAccess,
        note: impl Fn(String),
    ) -> Result<Arc<Session>, String> {
        let mut place = self.session.lock().await;
        if let Some(session) = place.1.as_ref().filter(|session| !session.is_over()) {
            return Ok(Arc::clone(session));
        }
        let ended = place.1.take().map(|mut old| Arc::get_mut(&mut old).map(Session::end).unwrap_or_default());
        if place.0 >= MAX_STARTS {
            let last = self.log.last();
            return Err(format!(
                "the server {server} ended {MAX_STARTS} times and is not started again in this run{last}"
            ));
        }
        place.0 += 1;
        if let Some(how) = ended {
            note(format!("the server {server} had ended{how} and is started again"));
        }
        let session = Arc::new(Session::begin(server, connection, access, &self.log).await?);
        place.1 = Some(Arc::clone(&session));
        Ok(session)
    }
}
