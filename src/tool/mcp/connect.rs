//! Connects to a server: starts its process or uses its URL, and performs the handshake. Requests of the server
//! (sampling, roots, elicitation) are refused as the protocol prescribes.

use std::sync::Arc;

use rmcp::model::{ClientCapabilities, ClientConfig, Implementation};
use rmcp::service::{ClientInitializeError, RoleClient, RunningService, ServiceExt as _};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use tokio::process::Child;

use super::Connection;
use super::access::ServerAccess;
use super::http_error::describe_http_error;
use super::lines::copy_lines;
use super::log::Log;
use super::notifications::RecordedTransport;
use crate::model::{ProcessGroup, speaker, variables};

/// Bytes of the server's output that are waiting to be parsed.
const PIPE_BYTES: usize = 64 * 1024;

/// Returns how this program introduces itself. It offers nothing to servers: no sampling, roots or elicitation.
fn client_config() -> ClientConfig {
    let own = Implementation::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"));
    ClientConfig::new(ClientCapabilities::default(), own)
}

/// An open connection.
pub(super) struct Open {
    /// The MCP session.
    pub(super) service: RunningService<RoleClient, ClientConfig>,
    /// The server's process, if it is one.
    pub(super) process: Option<(Child, ProcessGroup)>,
}

/// Connects. Errors contain the last log lines of the server.
pub(super) async fn open(
    server: &str,
    connection: &Connection,
    access: &ServerAccess,
    log: &Arc<Log>,
) -> Result<Open, String> {
    match connection {
        Connection::Process(program) => {
            let (mut child, group) = program.start()?;
            let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
                return Err(format!("the server {server} has no stdin or stdout"));
            };
            if let Some(errors) = child.stderr.take() {
                log.follow_in_background(errors);
            }
            let (reader, writer) = tokio::io::duplex(PIPE_BYTES);
            let lines = Arc::clone(log);
            tokio::spawn(async move { copy_lines(output, writer, &lines).await });
            // From here on dropping this call kills the process group.
            let transport = AsyncRwTransport::new_client(reader, input);
            match client_config()
                .serve(RecordedTransport { transport, server: server.to_owned(), log: Arc::clone(log) })
                .await
            {
                Ok(service) => Ok(Open { service, process: Some((child, group)) }),
                Err(error) => Err(format!("the server {server} did not start: {error}{}", log.last_of_ended().await)),
            }
        }
        Connection::Http { url, headers } => {
            let (headers, _) = variables::headers(headers)?;
            let (client, headers) = speaker(url, &headers, access.tls(url))?;
            let config = StreamableHttpClientTransportConfig::with_uri(url.as_str()).custom_headers(headers);
            let transport = StreamableHttpClientTransport::with_client(client, config);
            match client_config()
                .serve(RecordedTransport { transport, server: server.to_owned(), log: Arc::clone(log) })
                .await
            {
                Ok(service) => Ok(Open { service, process: None }),
                Err(error) => Err(match &error {
                    ClientInitializeError::TransportError { error: inner, .. } => describe_http_error(inner, server)
                        .map_or_else(
                            || format!("the server {server} at {url} did not start: {error}"),
                            |described| format!("the server {server} at {url} {described}"),
                        ),
                    _ => format!("the server {server} at {url} did not start: {error}"),
                }),
            }
        }
    }
}
