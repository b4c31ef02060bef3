//! Address and settings of a model: the configuration of one model of one provider.
//!
//! In: the settings as written. Out: checked addresses and headers for an adapter.
//! It must never hold a key: only where to find one.

use std::fmt;

use reqwest::Url;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

use super::retry::RetryPolicy;
use super::scrub::Scrub;
use super::secret::Secret;
use super::variables::{self, filled};
use super::{ErrorClass, ModelError, proxy};
use crate::config::{HttpModel, KeySource, Protocol, Restriction, Timeouts, TlsFiles, is_secret_name};
use crate::event::{ModelRecord, Price, StructuredBy};

/// A model at a provider.
#[derive(Clone)]
pub struct Endpoint {
    /// The provider's name, for messages and records.
    pub provider: String,
    /// The model as the user wrote it.
    pub alias: String,
    /// The model's id at the provider.
    pub id: String,
    /// Base URL of the API, such as `http://127.0.0.1:8080/v1`; a query is kept.
    pub base_url: String,
    /// Source of the key; `None` = no key is sent.
    pub key: Option<KeySource>,
    /// Further headers; `${NAME}` in a value is a variable of the environment. That, and values whose name contains key, token, secret,
    /// cookie or authorization, are treated as secrets.
    pub headers: Vec<(String, String)>,
    /// The protocol spoken there.
    pub protocol: Protocol,
    /// The protocol's version, for protocols that have several; `None` = the newest known.
    pub version: Option<String>,
    /// The region of the service, for protocols whose requests are signed for one.
    pub region: Option<String>,
    /// The setting `structured_output`: the way in which a schema is sent.
    pub structured_output: StructuredOutput,
    /// Properties of the model that are known before the first request.
    pub known: Known,
    /// Features that it is known to refuse.
    pub refused: Vec<Restriction>,
    /// Tokens that fit into the model's context, as configured; servers that load models are asked for so much.
    pub context_tokens: Option<u64>,
    /// Its price, where it is known.
    pub price: Option<Price>,
    /// Ask for the reply in pieces.
    pub stream: bool,
    /// Policy after a failure.
    pub retry: RetryPolicy,
    /// Time limits.
    pub timeouts: Timeouts,
    /// Certificates in addition to those of the system.
    pub tls: TlsFiles,
}

/// Properties of a model that are known before the first request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Known {
    /// The strongest way in which it takes a schema.
    pub way: Option<StructuredBy>,
    /// It takes only schemas in which every property is required and no others are allowed.
    pub strict: bool,
    /// It keeps arguments of tools to their schemas.
    pub strict_tools: bool,
    /// The most tokens it may answer with.
    pub max_output: Option<u64>,
}

/// The setting `structured_output`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum StructuredOutput {
    /// The strongest way the server accepts.
    #[default]
    Auto,
    /// Only this way; a refusal is an error.
    Fixed(StructuredBy),
}

impl StructuredOutput {
    /// The setting of a name: auto, `json_schema`, tool, `json_object`, prompt.
    pub fn from_name(name: &str) -> Option<Self> {
        if name == "auto" {
            return Some(Self::Auto);
        }
        [StructuredBy::JsonSchema, StructuredBy::Tool, StructuredBy::JsonObject, StructuredBy::Prompt]
            .into_iter()
            .find(|way| way.name() == name)
            .map(Self::Fixed)
    }
}

impl Endpoint {
    /// An endpoint with the usual settings: streamed, three attempts, no key.
    pub fn new(provider: impl Into<String>, id: impl Into<String>, base_url: impl Into<String>) -> Self {
        let (provider, id) = (provider.into(), id.into());
        Self {
            alias: format!("{provider}:{id}"),
            provider,
            id,
            base_url: base_url.into(),
            key: None,
            headers: Vec::new(),
            protocol: Protocol::OpenAi,
            version: None,
            region: None,
            known: Known::default(),
            refused: Vec::new(),
            context_tokens: None,
            structured_output: StructuredOutput::Auto,
            price: None,
            stream: true,
            retry: RetryPolicy::default(),
            timeouts: Timeouts::default(),
            tls: TlsFiles::default(),
        }
    }

    /// For the record.
    pub fn record(&self) -> ModelRecord {
        ModelRecord {
            alias: self.alias.clone(),
            provider: self.provider.clone(),
            id: self.id.clone(),
            price: self.price,
        }
    }

    /// The address of a resource below `base_url`. Errors are of class [`ErrorClass::Configuration`].
    pub(super) fn url(&self, resource: &[&str]) -> Result<Url, ModelError> {
        let wrong = |what: &str| {
            ModelError::new(ErrorClass::Configuration, format!("provider {}: base_url {what}", self.provider))
                .hint("write it like http://127.0.0.1:8080/v1")
        };
        let mut url = Url::parse(&self.base_url).map_err(|error| wrong(&format!("cannot be read: {error}")))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(wrong("does not start with http:// or https://"));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(wrong("holds a user name or password; name the key with api_key_env or api_key_file"));
        }
        url.set_fragment(None);
        url.path_segments_mut().map_err(|()| wrong("has no path"))?.pop_if_empty().extend(resource);
        Ok(url)
    }

    /// The publisher whose models `base_url` leads to on Vertex AI: its path ends in `publishers/NAME`.
    pub(super) fn vertex_publisher(&self) -> Option<String> {
        let base = Url::parse(&self.base_url).ok()?;
        let mut segments = base.path_segments()?.rev().filter(|segment| !segment.is_empty());
        let publisher = segments.next()?.to_owned();
        (segments.next() == Some("publishers")).then_some(publisher)
    }

    /// The further headers, checked. Errors name the header, never its value.
    pub(super) fn header_map(&self) -> Result<HeaderMap, ModelError> {
        self.headers
            .iter()
            .map(|(name, text)| {
                let wrong = |what: &str| {
                    let message = format!("provider {}: header {name:?} {what}", self.provider);
                    ModelError::new(ErrorClass::Configuration, message).hint("correct it under [providers]")
                };
                let (text, secrets) = filled(text).map_err(|problem| wrong(&format!("cannot be sent: {problem}")))?;
                let key = HeaderName::try_from(name).map_err(|_| wrong("is not a header name"))?;
                let mut value = HeaderValue::try_from(&text).map_err(|_| wrong("holds a value that cannot be sent"))?;
                value.set_sensitive(is_secret_name(name) || !secrets.is_empty());
                Ok((key, value))
            })
            .collect()
    }

    /// Returns the filter for the secrets of a request, which must not leave the port: the key, the secret headers, the passwords of
    /// proxies, and the secret values in the query of `url`.
    pub(super) fn scrub(&self, key: Option<&Secret>, url: &Url) -> Scrub {
        let headers = self.headers.iter().flat_map(|(name, text)| variables::secrets(name, text));
        let query = url.query_pairs().filter(|(name, _)| is_secret_name(name)).map(|(_, value)| Secret::new(value));
        let known = Scrub::new(key.cloned().into_iter().chain(headers).chain(query).chain(proxy::secrets()));
        // The key of a command may be renewed meanwhile; those of an account are read for each request.
        let has_late = match self.key {
            Some(KeySource::Command(_)) => true,
            Some(_) => false,
            None => self.protocol == Protocol::Bedrock,
        };
        if has_late { known.with_late_secrets() } else { known }
    }
}

/// A configured address as it may be shown: without query, name and password. What is not an address is shown up to where one of them
/// could begin.
pub fn shown_address(text: &str) -> String {
    let Some(mut url) = Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https")) else {
        let end = text.find(['?', '#', '@']).unwrap_or(text.len());
        return text.get(..end).unwrap_or_default().to_owned();
    };
    // An address that cannot have them has none.
    _ = url.set_username("").and_then(|()| url.set_password(None));
    let shown = shown(&url);
    if text.ends_with('/') { shown } else { shown.trim_end_matches('/').to_owned() }
}

/// An address as it may be shown: without query.
pub(super) fn shown(url: &Url) -> String {
    let mut url = url.clone();
    url.set_query(None);
    url.set_fragment(None);
    url.into()
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint")
            .field("provider", &self.provider)
            .field("id", &self.id)
            .field("key", &self.key)
            .field("headers", &self.headers.iter().map(|(name, _)| name).collect::<Vec<_>>())
            .field("structured_output", &self.structured_output)
            .field("stream", &self.stream)
            .finish_non_exhaustive()
    }
}

impl From<HttpModel> for Endpoint {
    fn from(model: HttpModel) -> Self {
        Self {
            provider: model.provider,
            alias: model.alias,
            id: model.id,
            base_url: model.base_url,
            key: model.key,
            headers: model.headers,
            protocol: model.kind,
            version: model.version,
            region: model.region,
            known: Known {
                way: model.known.structured_output,
                strict: model.known.strict,
                strict_tools: model.known.strict_tools,
                max_output: model.known.max_output,
            },
            context_tokens: model.context,
            structured_output: model.structured_output.map_or(StructuredOutput::Auto, StructuredOutput::Fixed),
            price: model.price,
            stream: model.stream && !model.refused.contains(&Restriction::Streaming),
            refused: model.refused,
            retry: RetryPolicy { max_attempts: model.max_attempts, ..RetryPolicy::default() },
            timeouts: model.timeouts,
            tls: model.tls,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoint(base_url: &str) -> Endpoint {
        Endpoint::new("local", "m", base_url)
    }

    #[test]
    fn resources_are_joined_to_the_base() {
        let cases = [
            ("http://127.0.0.1:8080/v1", "http://127.0.0.1:8080/v1/chat/completions"),
            ("http://127.0.0.1:8080/v1/", "http://127.0.0.1:8080/v1/chat/completions"),
            ("https://x.test", "https://x.test/chat/completions"),
            ("https://x.test/a?v=1#f", "https://x.test/a/chat/completions?v=1"),
        ];
        for (base, expected) in cases {
            let url = endpoint(base).url(&["chat", "completions"]).unwrap();
            assert_eq!(url.as_str(), expected);
            assert_eq!(shown(&url), expected.split('?').next().unwrap());
        }
    }

    #[test]
    fn an_unusable_base_is_a_configuration_error() {
        for base in ["", "localhost:8080", "ftp://x/", "http://user:pass@x.test/v1", "/v1"] {
            let error = endpoint(base).url(&["models"]).unwrap_err();
            assert_eq!(error.class, ErrorClass::Configuration, "{base}");
            assert!(!error.message.contains("pass@"), "{}", error.message);
        }
    }

    #[test]
    fn values_of_secret_headers_are_known_secrets_and_never_printed() {
        let mut endpoint = endpoint("http://127.0.0.1/v1?api_key=query-secret&v=12345678");
        endpoint.headers =
            vec![("X-Api-Key".into(), "Bearer header-secret".into()), ("x-team".into(), "agents-team".into())];
        let url = endpoint.url(&[]).unwrap();
        let scrub = endpoint.scrub(Some(&Secret::new("the-key-itself")), &url);
        assert_eq!(
            scrub.text("header-secret, query-secret, the-key-itself, agents-team, 12345678"),
            "[secret], [secret], [secret], agents-team, 12345678"
        );
        assert!(!format!("{endpoint:?}").contains("header-secret"));
        assert_eq!(endpoint.header_map().unwrap().len(), 2);
        endpoint.headers = vec![("bad name".into(), "header-secret".into())];
        let error = endpoint.header_map().unwrap_err();
        assert!(error.message.contains("bad name") && !error.message.contains("header-secret"));
    }

    #[test]
    fn a_header_names_the_variable_that_holds_its_secret() {
        let mut endpoint = endpoint("http://127.0.0.1/v1");
        let path = std::env::var("PATH").unwrap();
        endpoint.headers = vec![("x-team".into(), "${PATH}".into()), ("cookie".into(), "id=${PATH}".into())];
        let sent = endpoint.header_map().unwrap();
        assert_eq!(sent["cookie"].to_str().unwrap(), format!("id={}", path.trim()));
        assert!(sent.values().all(HeaderValue::is_sensitive));
        let url = endpoint.url(&[]).unwrap();
        assert_eq!(endpoint.scrub(None, &url).text(&format!("it is {path}")), "it is [secret]");
        endpoint.headers = vec![("cookie".into(), "${NO_SUCH_VARIABLE_HERE}".into())];
        let error = endpoint.header_map().unwrap_err();
        assert!(error.message.contains("NO_SUCH_VARIABLE_HERE is not set; set it with"), "{}", error.message);
    }

    #[test]
    fn a_configured_address_is_shown_without_what_may_be_secret() {
        for (text, shown) in [
            ("http://127.0.0.1:8080/v1", "http://127.0.0.1:8080/v1"),
            ("http://127.0.0.1:8080", "http://127.0.0.1:8080"),
            ("https://me:pass@x.test/a?key=k#f", "https://x.test/a"),
            ("no address?key=k", "no address"),
        ] {
            assert_eq!(shown_address(text), shown);
        }
    }

    #[test]
    fn the_setting_has_five_names() {
        for name in ["auto", "json_schema", "tool", "json_object", "prompt"] {
            assert!(StructuredOutput::from_name(name).is_some(), "{name}");
        }
        assert_eq!(StructuredOutput::from_name("yes"), None);
    }
}
