//! Requests of tools over the one client: here as for models no redirect is followed and this machine is reached without a proxy.
//!
//! In: method, address, headers, body. Out: status, type and body within a size. What is a secret is the caller's to know: errors name
//! the host, never a query or a header.

use std::collections::HashMap;

use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION};
use reqwest::{Client, Method, Url};

use super::http::{client, root, tls_advice};
use crate::config::{Timeouts, TlsFiles};

/// A request of a tool.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OutgoingRequest {
    /// GET, POST, …
    pub method: String,
    /// The whole address.
    pub url: String,
    /// Headers; a JSON body's type is added.
    pub headers: Vec<(String, String)>,
    /// The body as JSON text.
    pub body: Option<String>,
    /// Largest answer that is taken.
    pub answer_max_bytes: u64,
    /// Certificates in addition to those of the system.
    pub tls: TlsFiles,
}

/// Answer to a request of a tool.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct IncomingResponse {
    /// HTTP status.
    pub status: u16,
    /// The content type, empty when there is none.
    pub content_type: String,
    /// The host that a redirect names; it was not followed.
    pub redirect: Option<String>,
    /// The headers whose values are text.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

/// Sends a request and reads the whole answer. Errors: what went wrong and at which host. Dropping it closes the connection.
pub async fn exchange(out: &OutgoingRequest) -> Result<IncomingResponse, String> {
    let url = Url::parse(&out.url).map_err(|error| format!("invalid URL: {error}"))?;
    let host = url.host_str().unwrap_or_default().to_owned();
    let method = Method::from_bytes(out.method.as_bytes()).map_err(|_| format!("{:?} is not a method", out.method))?;
    let mut headers = header_map(&out.headers)?;
    if out.body.is_some() {
        headers.entry(CONTENT_TYPE).or_insert(HeaderValue::from_static("application/json"));
    }
    let client = client(&url, connect_ms(), &out.tls).map_err(|error| error.message)?;
    let mut request = client.request(method, url).headers(headers);
    if let Some(body) = &out.body {
        request = request.body(body.clone());
    }
    let failed = |error: &reqwest::Error| format!("{host} cannot be reached: {}{}", root(error), tls_advice(error));
    let mut answer = request.send().await.map_err(|error| failed(&error))?;
    let header =
        |name: HeaderName| answer.headers().get(name).and_then(|value| value.to_str().ok()).map(ToOwned::to_owned);
    let status = answer.status();
    let redirect = header(LOCATION).filter(|_| status.is_redirection()).map(|to| host_of(&to, answer.url()));
    let mut got = IncomingResponse {
        status: status.as_u16(),
        content_type: header(CONTENT_TYPE).unwrap_or_default().to_ascii_lowercase(),
        redirect,
        headers: answer.headers().iter().filter_map(text_header).collect(),
        body: Vec::new(),
    };
    let broken = |error: &reqwest::Error| format!("the connection to {host} broke: {}", root(error));
    while let Some(piece) = answer.chunk().await.map_err(|error| broken(&error))? {
        got.body.extend_from_slice(&piece);
        if got.body.len() as u64 > out.answer_max_bytes {
            return Err(format!("{host} sent more than output_max_bytes = {}", out.answer_max_bytes));
        }
    }
    Ok(got)
}

/// An error of the one client, for protocols whose library uses it.
pub(crate) type HttpClientError = reqwest::Error;

/// Returns the client for a protocol over HTTP at this address, and the headers of each request.
pub fn speaker(
    url: &str,
    headers: &[(String, String)],
    tls: &TlsFiles,
) -> Result<(Client, HashMap<HeaderName, HeaderValue>), String> {
    let url = Url::parse(url).map_err(|error| format!("{url:?} is not an address: {error}"))?;
    let client = client(&url, connect_ms(), tls).map_err(|error| error.message)?;
    let headers = header_map(headers)?;
    Ok((client, headers.into_iter().filter_map(|(name, value)| Some((name?, value))).collect()))
}

/// Tools wait for a connection as long as models usually do; the time for the whole call is theirs.
fn connect_ms() -> u64 {
    Timeouts::default().connect_ms
}

fn text_header((name, value): (&HeaderName, &HeaderValue)) -> Option<(String, String)> {
    Some((name.to_string(), value.to_str().ok()?.to_owned()))
}

fn host_of(location: &str, from: &Url) -> String {
    from.join(location).ok().and_then(|url| url.host_str().map(ToOwned::to_owned)).unwrap_or_default()
}

fn header_map(headers: &[(String, String)]) -> Result<HeaderMap, String> {
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        let key =
            HeaderName::from_bytes(name.as_bytes()).map_err(|_| format!("{name:?} is not the name of a header"))?;
        let mut value =
            HeaderValue::from_str(value).map_err(|_| format!("the value of the header {name} cannot be sent"))?;
        value.set_sensitive(true);
        map.insert(key, value);
    }
    Ok(map)
}
