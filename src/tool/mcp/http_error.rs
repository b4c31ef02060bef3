//! Describes why a server over HTTP gave no answer: its status and what to do about it.
//!
//! In: an error of the transport. Out: the rest of a sentence that begins with the server's name; `None` for another
//! transport. It must never contain a header's value.

use std::error::Error;

use ptc_core::text::cut;
use rmcp::transport::DynamicTransportError;
use rmcp::transport::streamable_http_client::StreamableHttpError;
use rmcp::transport::worker::WorkerQuitReason;

use super::oauth::describe as describe_oauth;
use crate::model::{HttpClientError, status_title, tls_advice};

type HttpError = StreamableHttpError<HttpClientError>;

/// Maximum characters of a server's own text.
const QUOTE_CHARS: usize = 300;

/// Names of a server in messages.
pub(super) struct ServerPlace<'a> {
    /// Its name in the configuration or the agent file.
    pub(super) server: &'a str,
    /// The table that defines it.
    pub(super) section: &'a str,
    /// The argument of `tools login` for it.
    pub(super) login: &'a str,
}

/// Describes an error of the HTTP transport.
pub(super) fn describe_http_error(error: &DynamicTransportError, place: &ServerPlace<'_>) -> Option<String> {
    let section = place.section;
    Some(match http_error(error)? {
        HttpError::AuthRequired(_) => with_advice(401, "", place),
        HttpError::InsufficientScope(error) => {
            let scope = error.get_required_scope().map(|scope| format!(": it requires the scope {scope}"));
            with_advice(403, &scope.unwrap_or_default(), place)
        }
        HttpError::Auth(error) => {
            format!("needs a new token, and {}; run `ptc-workbench tools login {}`", describe_oauth(error), place.login)
        }
        HttpError::HttpStatus(failure) => {
            let later = failure.retry_after.as_deref().map(|wait| format!("; Retry-After: {wait}"));
            with_advice(failure.status, &later.unwrap_or_default(), place)
        }
        HttpError::UnexpectedServerResponse(text) => match status_and_body(text) {
            Some((status, body)) => with_advice(status, &quoted(body), place),
            None => format!("answered with {}; check url under {section}", unreadable(text)),
        },
        HttpError::UnexpectedContentType(Some(kind)) if kind.contains("html") => {
            format!("answered with a web page, not with MCP; check url under {section}")
        }
        HttpError::UnexpectedContentType(kind) => {
            let kind = kind.as_deref().unwrap_or("no content type");
            format!("answered with {kind}, not with MCP; check url under {section}")
        }
        HttpError::SessionExpired => "no longer knows the session (404); run again".to_owned(),
        HttpError::ResponseBodyTooLarge { max_size } => format!("answered with more than {max_size} bytes"),
        HttpError::Client(error) => match error.status() {
            Some(status) => with_advice(status.as_u16(), "", place),
            None => format!("cannot be reached: {}{}", cause(error), tls_advice(error)),
        },
        other => format!("did not answer: {other}"),
    })
}

/// Returns the error of the HTTP transport inside of a transport's error.
fn http_error(error: &DynamicTransportError) -> Option<&HttpError> {
    let inner = error.error.as_ref();
    if let Some(found) = inner.downcast_ref::<HttpError>() {
        return Some(found);
    }
    match inner.downcast_ref::<WorkerQuitReason<HttpError>>()? {
        WorkerQuitReason::Fatal { error, .. } => Some(error),
        _ => None,
    }
}

/// Describes an answer that is not a message of MCP: the library's words, without those about its own types.
fn unreadable(text: &str) -> String {
    let text = text.strip_prefix("could not parse JSON response as ServerJsonRpcMessage: ").unwrap_or(text);
    let body = text.strip_prefix("unrecognized JSON-RPC message: ").unwrap_or(text);
    if body.ends_with("<empty>") {
        return "an empty body, not with MCP".to_owned();
    }
    format!("something other than MCP{}", quoted(body))
}

/// Splits `HTTP 307 Temporary Redirect: body`.
fn status_and_body(text: &str) -> Option<(u16, &str)> {
    let rest = text.strip_prefix("HTTP ")?;
    let (status, body) = rest.split_once(':').unwrap_or((rest, ""));
    Some((status.split(' ').next()?.parse().ok()?, body.trim()))
}

fn with_advice(status: u16, detail: &str, place: &ServerPlace<'_>) -> String {
    let ServerPlace { section, login, .. } = place;
    let answered = format!("answered {status} {}", status_title(status));
    let advice = match status {
        300..=399 => {
            format!(
                "; redirects are not followed, because they would forward headers with keys: correct url under {section}"
            )
        }
        401 => {
            format!(
                "; it requires a token: run `ptc-workbench tools login {login}`, or set headers = {{ Authorization = \"Bearer \
                 ${{NAME}}\" }} under {section}"
            )
        }
        403 => format!(
            "; its token does not allow this: run `ptc-workbench tools login {login}` with an account that may, or change headers under \
             {section}"
        ),
        404 | 405 => format!("; check url under {section}"),
        429 => "; try again later".to_owned(),
        500.. => "; the server has a problem, try again later".to_owned(),
        _ => String::new(),
    };
    format!("{}{detail}{advice}", answered.trim_end())
}

/// A server's own text after a colon, cut; a web page is only named.
fn quoted(text: &str) -> String {
    let lower = text.to_ascii_lowercase();
    if text.trim().is_empty() {
        String::new()
    } else if lower.contains("<html") || lower.contains("<!doctype") {
        ": a web page".to_owned()
    } else {
        format!(": {}", cut(text, QUOTE_CHARS))
    }
}

/// Returns the innermost cause.
fn cause(error: &HttpClientError) -> String {
    let mut inner: &dyn Error = error;
    while let Some(next) = inner.source() {
        inner = next;
    }
    inner.to_string()
}
