//! Beginning to speak with a server: its process or its address, the handshake, and what it says by itself.

#![expect(deprecated, reason = "the protocol will drop log messages; servers of today still send them")]

use std::sync::Arc;
use std::sync::atomic::Ordering;

use rmcp::handler::client::ClientHandler;
use rmcp::model::{LoggingLevel, LoggingMessageNotificationParam, ProgressNotificationParam};
use rmcp::service::{NotificationContext, RoleClient, RunningService, ServiceExt as _};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use tokio::process::Child;

use super::Connection;
use super::log::Log;
use crate::model::speaker;
use crate::model::variables;
use crate::tool::process::Group;

/// A server that listens.
pub(super) struct Open {
    /// The conversation with it.
    pub(super) service: RunningService<RoleClient, Ears>,
    /// Its process, when it is one.
    pub(super) process: Option<(Child, Group)>,
}

/// Hears what a server says by itself. What it asks for (samples, roots, input) is refused by the protocol's own answers.
pub(super) struct Ears {
    server: String,
    log: Arc<Log>,
}

/// Connects. Errors: what went wrong, with the last words of the server.
pub(super) async fn open(server: &str, connection: &Connection, log: &Arc<Log>) -> Result<Open, String> {
    let ears = Ears { server: server.to_owned(), log: Arc::clone(log) };
    match connection {
        Connection::Process(program) => {
            let (mut child, group) = program.start()?;
            let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
                return Err(format!("the server {server} has no streams"));
            };
            if let Some(errors) = child.stderr.take() {
                let log = Arc::clone(log);
                tokio::spawn(async move { log.follow(errors).await });
            }
            // From here on the group ends with this call when it is dropped.
            match ears.serve((output, input)).await {
                Ok(service) => Ok(Open { service, process: Some((child, group)) }),
                Err(error) => Err(format!("the server {server} did not begin: {error}{}", log.last())),
            }
        }
        Connection::Http { url, headers } => {
            let (headers, _) = variables::headers(headers)?;
            let (client, headers) = speaker(url, &headers)?;
            let config = StreamableHttpClientTransportConfig::with_uri(url.as_str()).custom_headers(headers);
            let transport = StreamableHttpClientTransport::with_client(client, config);
            match ears.serve(transport).await {
                Ok(service) => Ok(Open { service, process: None }),
                Err(error) => Err(format!("the server {server} at {url} did not begin: {error}")),
            }
        }
    }
}

impl ClientHandler for Ears {
    async fn on_progress(&self, said: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        let total = said.total.map(|total| format!(" of {total}")).unwrap_or_default();
        let message = said.message.map(|message| format!(": {message}")).unwrap_or_default();
        let text = format!("the server {}: {}{total}{message}", self.server, said.progress);
        self.log.progress(&said.progress_token, &text);
    }

    async fn on_logging_message(&self, said: LoggingMessageNotificationParam, _: NotificationContext<RoleClient>) {
        let text = said.data.as_str().map_or_else(|| said.data.to_string(), ToOwned::to_owned);
        let line = format!("{}: {text}", format!("{:?}", said.level).to_lowercase());
        self.log.keep(&line);
        if !matches!(said.level, LoggingLevel::Debug | LoggingLevel::Info | LoggingLevel::Notice) {
            self.log.tell(&format!("the server {} says: {line}", self.server));
        }
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.log.changed.store(true, Ordering::SeqCst);
    }
}
