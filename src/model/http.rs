//! One way to send a request and read its answer, for every provider: one client, time limits, raw bytes on tape.
//!
//! In: an address, headers, a body. Out: the status and the body piece by piece, or an error that names the address.
//! It must never follow a redirect (keys would be sent along), never use a proxy for this machine, never name a query.

use std::error::Error as _;
use std::io::ErrorKind;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use reqwest::header::{ACCEPT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderValue};
use reqwest::{Client, ClientBuilder, Url};
use tokio::time::{Instant, timeout_at};

use super::connection::{self, DetectNewConnection};
use super::endpoint::shown;
use super::outlet::Failure;
use super::tape::Tape;
use super::tls::{TlsVersions, with_files};
use super::{ErrorClass, ModelError, proxy};
use crate::config::{Timeouts, TlsFiles};

/// Largest reply that is read.
pub(super) const REPLY_MAX_BYTES: usize = 64 * 1024 * 1024;
/// Maximum bytes of an error's body that are read.
pub(super) const ERROR_BODY_MAX_BYTES: usize = 64 * 1024;

/// Destination of a request, with the names that messages need.
#[derive(Debug, Clone)]
pub(super) struct Target {
    /// The provider's name.
    pub(super) provider: String,
    /// The whole address.
    pub(super) url: Url,
    /// An address that answers when the server is well, as it may be shown.
    pub(super) check_url: String,
    /// The name of the key for users and how it is set, if one is used.
    pub(super) key: Option<(String, String)>,
    /// The model's id.
    pub(super) model: String,
    /// Time limits.
    pub(super) timeouts: Timeouts,
    /// Certificates of the configuration.
    pub(super) tls: TlsFiles,
}

impl Target {
    /// The address as it may be shown.
    pub(super) fn shown(&self) -> String {
        shown(&self.url)
    }

    fn client(&self) -> Result<Client, ModelError> {
        client(&self.url, self.timeouts.connect_ms, &self.tls)
    }
}

/// An answer whose body is still to be read.
#[derive(Debug)]
pub(super) struct Response<'a> {
    target: &'a Target,
    inner: reqwest::Response,
    /// HTTP status.
    pub(super) status: u16,
    /// Number of times the request was sent again because the service closed a reused connection before it replied.
    pub(super) retries: u32,
    deadline: Instant,
    silence_ms: u64,
    /// Deadline for a part of the reply other than comments, pings and blanks.
    idle_deadline: Instant,
}

/// Sends a body by POST. The status is noted on the tape.
pub(super) async fn post<'a>(
    target: &'a Target,
    headers: HeaderMap,
    body: String,
    tape: &mut Tape,
) -> Result<Response<'a>, Failure> {
    let request = target.client()?.post(target.url.clone()).headers(headers).body(body);
    send(target, request, tape).await
}

/// Asks by GET. The status is noted on the tape.
pub(super) async fn get<'a>(target: &'a Target, headers: HeaderMap, tape: &mut Tape) -> Result<Response<'a>, Failure> {
    let request = target.client()?.get(target.url.clone()).headers(headers);
    send(target, request, tape).await
}

async fn send<'a>(
    target: &'a Target,
    request: reqwest::RequestBuilder,
    tape: &mut Tape,
) -> Result<Response<'a>, Failure> {
    let deadline = after(target.timeouts.first_byte_ms);
    let (client, request) = request.build_split();
    let request = request.map_err(|error| unreachable_server(target, &error))?;
    let Ok(sent) = timeout_at(deadline, connection::send(&client, request)).await else {
        return Err(no_first_byte(target).into());
    };
    let retries = sent.retries;
    let inner = sent.response.map_err(|error| unreachable_server(target, &error))?;
    let status = inner.status().as_u16();
    tape.status = Some(status);
    let idle_deadline = after(target.timeouts.keep_alive_ms);
    Ok(Response { target, inner, status, retries, deadline, silence_ms: target.timeouts.silence_ms, idle_deadline })
}

impl Response<'_> {
    /// The headers.
    pub(super) fn headers(&self) -> &HeaderMap {
        self.inner.headers()
    }

    /// Returns whether the content type contains this word.
    pub(super) fn is_type(&self, word: &str) -> bool {
        let found = self.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        found.to_ascii_lowercase().contains(word)
    }

    /// Starts the keep-alive time again: a part of the reply arrived.
    pub(super) fn extend(&mut self) {
        self.idle_deadline = after(self.target.timeouts.keep_alive_ms);
    }

    /// Ends the response after this time at the latest.
    pub(super) fn end_within(&mut self, ms: u64) {
        self.idle_deadline = self.idle_deadline.min(after(ms));
    }

    /// The next piece of the body; `None` at its end.
    pub(super) async fn next(&mut self, tape: &mut Tape) -> Result<Option<Vec<u8>>, Failure> {
        // A read that is ready is returned after its deadline, too.
        if tape.len() > 0 && self.idle_deadline <= Instant::now() {
            return Err(self.idle(tape.len()).into());
        }
        let read = timeout_at(self.deadline.min(self.idle_deadline), self.inner.chunk()).await;
        let piece = match read {
            Err(_) if tape.len() == 0 => return Err(no_first_byte(self.target).into()),
            Err(_) if self.idle_deadline < self.deadline => return Err(self.idle(tape.len()).into()),
            Err(_) => return Err(self.silent(tape.len()).into()),
            Ok(Err(error)) => return Err(self.broken(&error, tape.len()).into()),
            Ok(Ok(None)) => return Ok(None),
            Ok(Ok(Some(piece))) => piece,
        };
        tape.note(&piece);
        self.deadline = after(self.silence_ms);
        if tape.len() > REPLY_MAX_BYTES {
            let message = format!("{} sent more than {REPLY_MAX_BYTES} bytes for one reply", self.target.provider);
            return Err(ModelError::new(ErrorClass::Client, message).hint("set max_tokens in model_options").into());
        }
        Ok(Some(piece.to_vec()))
    }

    /// The rest of the body, at most [`ERROR_BODY_MAX_BYTES`] of it; what cannot be read is left out.
    pub(super) async fn error_body(&mut self, tape: &mut Tape) -> Vec<u8> {
        let mut body = Vec::new();
        while body.len() < ERROR_BODY_MAX_BYTES {
            match self.next(tape).await {
                Ok(Some(piece)) => body.extend(piece),
                Ok(None) | Err(_) => break,
            }
        }
        body.truncate(ERROR_BODY_MAX_BYTES);
        body
    }

    fn silent(&self, bytes: usize) -> ModelError {
        let Target { provider, .. } = self.target;
        let message = format!("{provider} sent nothing for {} ms after {bytes} bytes of its reply", self.silence_ms);
        let hint = format!(
            "run again; the server or the network stalled. A server that thinks longer needs a larger silence_ms under [providers.{provider}]"
        );
        ModelError::new(ErrorClass::Timeout, message).hint(hint)
    }

    fn idle(&self, bytes: usize) -> ModelError {
        let Target { provider, timeouts, .. } = self.target;
        let message = format!(
            "{provider} kept the connection open for {} ms without sending more of its reply, after {bytes} bytes",
            timeouts.keep_alive_ms
        );
        let hint = format!(
            "run again; a server that thinks longer and sends keep-alive comments meanwhile needs a larger keep_alive_ms under \
             [providers.{provider}]"
        );
        ModelError::new(ErrorClass::Timeout, message).hint(hint)
    }

    fn broken(&self, error: &reqwest::Error, bytes: usize) -> ModelError {
        let message = format!(
            "the connection to {} broke after {bytes} bytes of its reply: {}",
            self.target.provider,
            root(error)
        );
        ModelError::new(ErrorClass::Network, message).hint("run again; look at the server's log if it happens often")
    }
}

fn after(ms: u64) -> Instant {
    Instant::now() + Duration::from_millis(ms)
}

/// A client with the kind of addresses it is for.
struct KnownClient {
    loopback: bool,
    connect_ms: u64,
    tls: TlsFiles,
    versions: TlsVersions,
    client: Client,
}

/// The client for this address: for this machine without proxy, for everything else with the environment's proxies. Clients are made
/// once for each wait for a connection and set of certificates, and shared; a changed certificate file makes a new one.
pub(super) fn client(url: &Url, connect_ms: u64, tls: &TlsFiles) -> Result<Client, ModelError> {
    static CLIENTS: Mutex<Vec<KnownClient>> = Mutex::new(Vec::new());
    let (loopback, versions) = (is_loopback(url), TlsVersions::of(tls));
    let mut clients = CLIENTS.lock().unwrap_or_else(PoisonError::into_inner);
    let is_same =
        |known: &KnownClient| (known.loopback, known.connect_ms) == (loopback, connect_ms) && known.tls == *tls;
    if let Some(known) = clients.iter().find(|known| is_same(known) && known.versions == versions) {
        return Ok(known.client.clone());
    }
    let unusable = |error: &reqwest::Error| {
        ModelError::new(ErrorClass::Configuration, format!("no HTTP client: {}", root(error))).hint(
            "check the proxy variables of your environment and the certificates of the system and of the configuration",
        )
    };
    let builder = with_files(builder(loopback, connect_ms), tls).map_err(|problem| {
        ModelError::new(ErrorClass::Configuration, problem).hint("correct the file, or its name in the configuration")
    })?;
    let client = builder.build().map_err(|error| unusable(&error))?;
    clients.retain(|known| !is_same(known));
    clients.push(KnownClient { loopback, connect_ms, tls: tls.clone(), versions, client: client.clone() });
    Ok(client)
}

/// Chooses the cryptography of all connections, once.
pub(super) fn install_tls_provider() {
    if rustls::crypto::ring::default_provider().install_default().is_err() {
        tracing::debug!("a TLS provider was installed before");
    }
}

fn builder(loopback: bool, connect_ms: u64) -> ClientBuilder {
    install_tls_provider();
    let builder = Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .connector_layer(DetectNewConnection)
        .connect_timeout(Duration::from_millis(connect_ms))
        .user_agent(concat!("ptc-workbench/", env!("CARGO_PKG_VERSION")))
        // A compressed stream comes late. One that is compressed nevertheless is read.
        .default_headers(HeaderMap::from_iter([(ACCEPT_ENCODING, HeaderValue::from_static("identity"))]));
    if loopback { builder.no_proxy() } else { builder }
}

/// Returns whether the host of an address is this machine: `localhost` or a loopback address.
pub(super) fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost" || host.ends_with(".localhost") || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

fn no_first_byte(target: &Target) -> ModelError {
    let message =
        format!("{} gave no answer within {} ms at {}", target.provider, target.timeouts.first_byte_ms, target.shown());
    let hint = format!(
        "the server may be busy or loading the model; run again, or raise first_byte_ms under [providers.{}]",
        target.provider
    );
    ModelError::new(ErrorClass::Timeout, message).hint(hint)
}

/// Returns the error of a request that got no answer at all.
fn unreachable_server(target: &Target, error: &reqwest::Error) -> ModelError {
    let place = target.shown();
    let provider = &target.provider;
    let host = target.url.host_str().unwrap_or_default();
    let detail = root(error);
    let running = format!("is the server running? check with: curl {}", target.check_url);
    let (class, what, hint) = match cause(error) {
        Cause::Refused => {
            (ErrorClass::Network, format!("cannot connect to {provider} at {place}: connection refused"), running)
        }
        Cause::ConnectTimeout => {
            let waited = target.timeouts.connect_ms;
            let hint = format!("{running}; a slow network needs a larger connect_ms under [providers.{provider}]");
            (ErrorClass::Timeout, format!("no connection to {provider} at {place} within {waited} ms"), hint)
        }
        Cause::Dns => (
            ErrorClass::Network,
            format!("cannot find the host {host} of {provider} ({place}): {detail}"),
            "check base_url and the network connection".to_owned(),
        ),
        Cause::Tls => (
            ErrorClass::Configuration,
            format!("no secure connection to {provider} at {place}: {detail}"),
            "check that base_url has the right scheme (http or https) and that the system trusts the certificate; ca_file names a \
             further authority, client_certificate_file the certificate of this program"
                .to_owned(),
        ),
        Cause::Other => (ErrorClass::Network, format!("cannot reach {provider} at {place}: {detail}"), running),
    };
    let proxy = (!is_loopback(&target.url)).then(|| proxy::variable(&target.url)).flatten();
    let proxy = proxy.map(|name| format!(" (a proxy is set in {name}: check it as well)"));
    ModelError::new(class, what).hint(hint + &proxy.unwrap_or_default())
}

enum Cause {
    Refused,
    ConnectTimeout,
    Dns,
    Tls,
    Other,
}

fn cause(error: &reqwest::Error) -> Cause {
    let mut texts = String::new();
    let mut next = error.source();
    while let Some(inner) = next {
        if let Some(io) = inner.downcast_ref::<std::io::Error>() {
            match io.kind() {
                ErrorKind::ConnectionRefused => return Cause::Refused,
                ErrorKind::TimedOut => return Cause::ConnectTimeout,
                _ => {}
            }
        }
        if is_tls(inner) {
            return Cause::Tls;
        }
        texts.push_str(&inner.to_string());
        next = inner.source();
    }
    if error.is_timeout() {
        Cause::ConnectTimeout
    } else if texts.contains("dns error") {
        Cause::Dns
    } else {
        Cause::Other
    }
}

/// Returns advice for a failed TLS connection; empty for every other error.
pub(crate) fn tls_advice(error: &reqwest::Error) -> &'static str {
    match cause(error) {
        Cause::Tls => {
            "; check that the address has the right scheme (http or https) and that the system trusts the certificate \
             (ca_file names a further authority)"
        }
        _ => "",
    }
}

/// TLS errors come wrapped in one or two I/O errors.
fn is_tls(error: &(dyn std::error::Error + 'static)) -> bool {
    let wrapped = |error: &std::io::Error| error.get_ref().is_some_and(|inner| is_tls(inner));
    error.is::<rustls::Error>() || error.downcast_ref().is_some_and(wrapped)
}

/// The innermost words of an error: the outer ones repeat the address.
pub(super) fn root(error: &reqwest::Error) -> String {
    let mut words = None;
    let mut next = error.source();
    while let Some(inner) = next {
        words = Some(inner.to_string());
        next = inner.source();
    }
    words.unwrap_or_else(|| "the HTTP client gave up".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_is_reached_without_proxy() {
        for url in
            ["http://127.0.0.1:1/", "http://127.9.9.9/", "http://localhost/", "http://[::1]:8/", "http://a.localhost/"]
        {
            assert!(is_loopback(&Url::parse(url).unwrap()), "{url}");
        }
        for url in ["http://10.0.0.1/", "https://api.example/", "http://localhost.example/", "http://[::2]/"] {
            assert!(!is_loopback(&Url::parse(url).unwrap()), "{url}");
        }
    }
}
