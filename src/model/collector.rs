//! Posts documents to a collector of spans.
//!
//! In: an address, headers, JSON texts. Out: whether each arrived. No redirect is followed; a reply is not read. It must never log a header.

use std::time::Duration;

use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Url};

use super::endpoint::shown;
use super::http::{client, root};
use super::secret::register_secret;
use super::variables;
use crate::config::{TelemetryConfig, TlsFiles};

/// Time limits of the connection and of a whole request.
const CONNECT_MS: u64 = 3_000;
const REQUEST_TIME: Duration = Duration::from_secs(5);

/// A collector that takes OTLP over HTTP.
#[derive(Debug, Clone)]
pub struct Collector {
    client: Client,
    url: Url,
    headers: HeaderMap,
}

/// Error of a document that did not arrive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveryError {
    /// In words.
    pub message: String,
    /// The same may arrive later.
    pub is_temporary: bool,
}

impl Collector {
    /// The collector of this configuration. Errors: the address or a header cannot be used, or a variable is not set.
    pub fn new(endpoint: &str, config: &TelemetryConfig, tls: &TlsFiles) -> Result<Self, String> {
        let mut url = Url::parse(endpoint).map_err(|error| format!("`{endpoint}` is not an address: {error}"))?;
        if url.path() == "/" {
            url.set_path("/v1/traces");
        }
        let (written, secrets) = variables::headers(&config.headers)?;
        secrets.iter().for_each(register_secret);
        let mut headers = HeaderMap::new();
        for (name, value) in written {
            let problem = || format!("header {name} cannot be sent");
            let key = HeaderName::try_from(&name).map_err(|_| problem())?;
            let mut value = HeaderValue::try_from(value).map_err(|_| problem())?;
            value.set_sensitive(true);
            headers.insert(key, value);
        }
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let client = client(&url, CONNECT_MS, tls).map_err(|error| error.to_string())?;
        Ok(Self { client, url, headers })
    }

    /// The address as it may be shown.
    pub fn shown(&self) -> String {
        shown(&self.url)
    }

    /// Posts a document.
    pub async fn post(&self, document: String) -> Result<(), DeliveryError> {
        let request = self.client.post(self.url.clone()).headers(self.headers.clone()).timeout(REQUEST_TIME);
        match request.body(document).send().await {
            Ok(reply) if reply.status().is_success() => Ok(()),
            Ok(reply) => Err(DeliveryError {
                message: format!("status {}", reply.status().as_u16()),
                is_temporary: matches!(reply.status().as_u16(), 429 | 502 | 503 | 504),
            }),
            Err(error) => Err(DeliveryError { message: root(&error), is_temporary: true }),
        }
    }
}
