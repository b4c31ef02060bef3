//! Connects to a server: starts its process or uses its URL, and performs the handshake.

use std::error::Error;
use std::sync::Arc;

use rmcp::service::{ClientInitializeError, RoleClient, RunningService, ServiceExt as _};
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::auth::AuthClient;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::transport::{StreamableHttpClientTransport, Transport};
use tokio::process::Child;

use super::Connection;
use super::access::ServerAccess;
use super::client::Client;
use super::http_error::ServerPlace;
use super::lines::copy_lines;
use super::log::Log;
use super::notifications::RecordedTransport;
use super::oauth::authorized;
use super::start_error;
use crate::config::Sampling;
use crate::model::{ProcessGroup, speaker, variables};

/// Bytes of the server's output that are waiting to be parsed.
const PIPE_BYTES: usize = 64 * 1024;

/// An open connection.
pub(super) struct Open {
    /// The MCP session.
    pub(super) service: RunningService<RoleClient, Client>,
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
    let sampling = if access.asks_about_sampling(connection) { Sampling::Ask } else { Sampling::Refuse };
    let own = Client { server: server.to_owned(), log: Arc::clone(log), sampling };
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
            log.read_in_background(async move { copy_lines(output, writer, &lines).await });
            // From here on dropping this call kills the process group.
            let transport = AsyncRwTransport::new_client(reader, input);
            match own.serve_over(transport).await {
                Ok(service) => Ok(Open { service, process: Some((child, group)) }),
                Err(error) => {
                    let section = access.section(server);
                    Err(start_error::of_process((server, &section), &error, &mut child, log).await)
                }
            }
        }
        Connection::Http { url, headers } => {
            let (headers, _) = variables::headers(headers)?;
            let (client, headers) = speaker(url, &headers, access.tls(url))?;
            // A token of the configuration replaces that of a login.
            let has_own = headers.keys().any(|name| name.as_str() == "authorization");
            let login = if has_own {
                None
            } else {
                authorized(url, access).await.map_err(|problem| {
                    let name = access.login_name(url);
                    format!("the server {server} at {url} {problem}; run `ptc-workbench tools login {name}`")
                })?
            };
            let config = StreamableHttpClientTransportConfig::with_uri(url.as_str()).custom_headers(headers);
            let served = match login {
                Some(manager) => {
                    let client = AuthClient::new(client, manager);
                    own.serve_over(StreamableHttpClientTransport::with_client(client, config)).await
                }
                None => own.serve_over(StreamableHttpClientTransport::with_client(client, config)).await,
            };
            match served {
                Ok(service) => Ok(Open { service, process: None }),
                Err(error) => {
                    let section = &access.section(server);
                    let place = ServerPlace { server, section, login: access.login_name(url) };
                    Err(start_error::of_url(url, &error, &place))
                }
            }
        }
    }
}

impl Client {
    /// Performs the handshake.
    async fn serve_over<T>(self, transport: T) -> Result<RunningService<RoleClient, Self>, ClientInitializeError>
    where
        T: Transport<RoleClient> + Send + 'static,
        T::Error: Error + Send + Sync + 'static,
    {
        let (server, log) = (self.server.clone(), Arc::clone(&self.log));
        self.serve(RecordedTransport { transport, server, log }).await
    }
}
