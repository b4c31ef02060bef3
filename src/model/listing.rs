//! The models that a server lists, requested only when the user wants to know; and whether a server listens on a loopback port, for
//! which nothing is sent.
//!
//! In: an endpoint; its model's id does not matter. Out: the names as the server lists them, or why it cannot be reached.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use reqwest::Url;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::adapter::key_name;
use super::endpoint::{Endpoint, shown};
use super::http::{Response, Target, get, is_loopback as is_loopback_url};
use super::language::{Listing, UnsignedRequest};
use super::outlet::Failure;
use super::protocols::{self, list_url};
use super::scrub::Scrub;
use super::secret::Secret;
use super::tape::Tape;
use super::{ErrorClass, ModelError, fault};
use crate::config::{KeySource, Timeouts};

/// Maximum time for a server to list its models, in ms.
pub const LIST_MS: u64 = 10_000;

/// None of them longer than this.
fn within(timeouts: Timeouts, most_ms: u64) -> Timeouts {
    let Timeouts { connect_ms, first_byte_ms, silence_ms, keep_alive_ms } = timeouts;
    Timeouts {
        connect_ms: connect_ms.min(most_ms),
        first_byte_ms: first_byte_ms.min(most_ms),
        silence_ms: silence_ms.min(most_ms),
        keep_alive_ms: keep_alive_ms.min(most_ms),
    }
}

/// The models that the server lists, in its order, without secrets.
pub async fn listed(endpoint: &Endpoint) -> Result<Vec<String>, ModelError> {
    with_key(endpoint, |key| listed_with(endpoint, key).boxed()).await
}

/// Asks with the key of an endpoint, and once more where the key of a command was too old.
pub(super) async fn with_key<'e, T, E: KeyRefusal + From<ModelError>>(
    endpoint: &'e Endpoint,
    ask: impl Fn(Option<Secret>) -> BoxFuture<'e, Result<T, E>> + Send,
) -> Result<T, E> {
    let Some(source) = &endpoint.key else { return ask(None).await };
    let key = source.fetch().await?;
    let answer = ask(Some(key.clone())).await;
    match (source, &answer) {
        (KeySource::Command(command), Err(error)) if error.refuses_key() => {
            command.discard(&key);
            ask(Some(source.fetch().await?)).await
        }
        _ => answer,
    }
}

/// An error that may be about the key.
pub(super) trait KeyRefusal {
    /// Returns whether the server refused the key.
    fn refuses_key(&self) -> bool;
}

impl KeyRefusal for ModelError {
    fn refuses_key(&self) -> bool {
        matches!(self.status, Some(401 | 403))
    }
}

impl KeyRefusal for Failure {
    fn refuses_key(&self) -> bool {
        self.error.refuses_key()
    }
}

/// Returns target and headers of a non-chat request, and the filter for the secrets in its answer. Errors are of class
/// `Configuration`.
pub(super) fn aside(
    endpoint: &Endpoint,
    key: Option<&Secret>,
    (method, url, body): (&'static str, Url, &str),
    timeouts: Timeouts,
) -> Result<(Target, HeaderMap, Scrub), ModelError> {
    let scrub = endpoint.scrub(key, &url);
    let mut headers = endpoint.header_map()?;
    let language = protocols::language(endpoint.protocol);
    language.headers(endpoint, &mut headers);
    if let Some(key) = key {
        let (name, scheme) = language.key_header(endpoint);
        let value = HeaderValue::try_from(format!("{scheme}{}", key.expose()));
        headers.extend(value.ok().map(|value| (HeaderName::from_static(name), value)));
    }
    if key.is_none() {
        language.sign(endpoint, &UnsignedRequest { method, url: &url, body }, &mut headers)?;
    }
    let target = Target {
        provider: endpoint.provider.clone(),
        check_url: shown(&url),
        url,
        key: key_name(endpoint, language),
        model: endpoint.id.clone(),
        timeouts,
        tls: endpoint.tls.clone(),
    };
    Ok((target, headers, scrub))
}

async fn listed_with(endpoint: &Endpoint, key: Option<Secret>) -> Result<Vec<String>, ModelError> {
    let timeouts = within(endpoint.timeouts, LIST_MS);
    let (target, headers, scrub) = aside(endpoint, key.as_ref(), ("GET", list_url(endpoint)?, ""), timeouts)?;
    let listing = protocols::language(endpoint.protocol).list();
    let names = ask(&target, headers, &scrub, listing).await.map_err(|mut failure| {
        if failure.error.class == ErrorClass::NotFound {
            failure.error.hint = Some(format!("it has no model list at {}; its models may still work", target.shown()));
        }
        failure
    });
    names.map_err(|failure| scrub.error(failure.error)).map(|names| names.iter().map(|name| scrub.text(name)).collect())
}

async fn ask(target: &Target, headers: HeaderMap, scrub: &Scrub, listing: Listing) -> Result<Vec<String>, Failure> {
    let mut tape = Tape::start();
    let mut response: Response<'_> = get(target, headers, &mut tape).await?;
    if !(200..300).contains(&response.status) {
        let body = response.error_body(&mut tape).await;
        return Err(fault::of_status(target, response.status, response.headers(), &body, scrub, 0));
    }
    let mut body = Vec::new();
    while let Some(piece) = response.next(&mut tape).await? {
        body.extend(piece);
    }
    let answer: Option<Value> = serde_json::from_slice(&body).ok();
    names(answer.as_ref(), listing).ok_or_else(|| {
        let message = format!("{} answered, but not with a list of models", target.provider);
        ModelError::new(ErrorClass::Configuration, message).hint("check base_url").into()
    })
}

/// The list is where the protocol has it, or the answer is the list.
fn names(answer: Option<&Value>, listing: Listing) -> Option<Vec<String>> {
    let answer = answer?;
    let items = answer.get(listing.list).unwrap_or(answer).as_array()?;
    let name = |item: &Value| item.get(listing.name).or_else(|| item.get("id"))?.as_str().map(ToOwned::to_owned);
    let bare = |name: String| name.strip_prefix(listing.prefix).map(ToOwned::to_owned).unwrap_or(name);
    Some(items.iter().filter_map(name).map(bare).collect())
}

/// Returns the IP address and port of a URL on this machine's loopback. Names are not looked up.
fn loopback(base_url: &str) -> Option<(IpAddr, u16)> {
    let url = Url::parse(base_url).ok().filter(is_loopback_url)?;
    let host = url.host_str()?.trim_matches(['[', ']']);
    Some((host.parse().unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST)), url.port_or_known_default()?))
}

/// Returns whether a URL is on this machine's loopback.
pub fn is_loopback(base_url: &str) -> bool {
    loopback(base_url).is_some()
}

/// Returns whether a server listens at this loopback URL, after at most `wait`. `false` for every other URL, which is not connected to.
pub async fn listens(base_url: &str, wait: Duration) -> bool {
    let Some((host, port)) = loopback(base_url) else { return false };
    matches!(timeout(wait, TcpStream::connect((host, port))).await, Ok(Ok(_)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_loopback_addresses_are_asked() {
        for here in ["http://127.0.0.1:8080/v1", "http://localhost:11434", "http://[::1]:1/v1"] {
            assert!(is_loopback(here), "{here}");
        }
        for elsewhere in ["https://api.example.com/v1", "http://10.0.0.1/v1", "http://127.0.0.1.example.com", "no url"]
        {
            assert!(!is_loopback(elsewhere), "{elsewhere}");
        }
    }

    #[tokio::test]
    async fn a_listening_port_is_found_and_a_closed_one_is_not() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        assert!(listens(&url, Duration::from_secs(5)).await);
        drop(listener);
        assert!(!listens(&url, Duration::from_secs(5)).await);
    }
}
