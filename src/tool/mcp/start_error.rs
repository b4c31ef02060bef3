//! Describes why a server did not begin to speak MCP.
//!
//! In: an error of the handshake, the server's process if it is one, its log. Out: one message that names the server, what happened and
//! what to do. Names of the protocol library never appear.

use std::time::Duration;

use ptc_core::text::cut;
use rmcp::service::ClientInitializeError;
use tokio::process::Child;
use tokio::time::timeout;

use super::http_error::{ServerPlace, describe_http_error};
use super::log::Log;

/// Time for a program that closed its output to exit.
const EXIT_TIMEOUT: Duration = Duration::from_millis(500);
/// Maximum characters of a server's own text.
const QUOTE_CHARS: usize = 300;

/// Describes a failed start of a server's process.
pub(super) async fn of_process(
    (server, section): (&str, &str),
    error: &ClientInitializeError,
    child: &mut Child,
    log: &Log,
) -> String {
    let (why, last) = match error {
        ClientInitializeError::ConnectionClosed(_) | ClientInitializeError::TransportError { .. } => {
            let last = log.last_of_ended().await;
            match timeout(EXIT_TIMEOUT, child.wait()).await {
                Ok(Ok(status)) => (format!("its program ended with {status}"), last),
                _ => ("it closed its input or output before it answered".to_owned(), last),
            }
        }
        other => (of_answer(other), log.last()),
    };
    format!("the server {server} did not start: {why}{last}; check command under {section}")
}

/// Describes a failed handshake over HTTP.
pub(super) fn of_url(url: &str, error: &ClientInitializeError, place: &ServerPlace<'_>) -> String {
    let server = place.server;
    let why = match error {
        ClientInitializeError::TransportError { error, .. } => match describe_http_error(error, place) {
            Some(described) => return format!("the server {server} at {url} {described}"),
            None => "the connection broke before it answered".to_owned(),
        },
        ClientInitializeError::ConnectionClosed(_) => "it ended its reply before it answered".to_owned(),
        other => of_answer(other),
    };
    format!("the server {server} at {url} did not start: {why}; check url under {}", place.section)
}

/// Describes an answer that is not a beginning of a session.
fn of_answer(error: &ClientInitializeError) -> String {
    match error {
        ClientInitializeError::JsonRpcError(refusal) => {
            let data = refusal
                .data
                .as_ref()
                .map(|data| format!(" {}", cut(&data.to_string(), QUOTE_CHARS)))
                .unwrap_or_default();
            format!("it refused: {}{data} (code {})", cut(&refusal.message, QUOTE_CHARS), refusal.code.0)
        }
        ClientInitializeError::NoCompatibleProtocolVersion { server_supported, .. } => {
            let versions: Vec<String> = server_supported.iter().map(ToString::to_string).collect();
            format!("it supports only these versions of MCP: {}", versions.join(", "))
        }
        ClientInitializeError::Cancelled => "the start was cancelled".to_owned(),
        _ => "its first message is not an answer to `initialize`".to_owned(),
    }
}
