//! A login at a server: discovery, registration, the page of the authorisation server, and the redirect to this machine.
//!
//! In: the URL of a server. Out: an address for the user's browser; then a stored token, or why there is none. Redirects are accepted on
//! the loopback interface only, and only with the state of this login. It must never open a browser or print by itself.

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::future::BoxFuture;
use hyper::StatusCode;
use rmcp::transport::auth::{AuthorizationManager, AuthorizationMetadata, OAuthClientConfig};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::{TokenFile, cut, describe, manager};
use crate::model::{Secret, Url, is_loopback, register_secret};
use crate::server::{Handler, Listener, ListenerEnd, ListenerLimits, Reply, Request, typed_reply};
use crate::tool::mcp::access::ServerAccess;

/// Path of the redirect.
const CALLBACK: &str = "/callback";
/// Time for the browser's connection to end after the redirect.
const GRACE: Duration = Duration::from_millis(500);

/// The page that the browser shows after the redirect.
const DONE_PAGE: &str = "<!doctype html><meta charset=utf-8><title>ptc-workbench</title><p>ptc-workbench received the answer. \
                         Close this page and return to the terminal.";
/// The page for requests that do not belong to the login.
const FOREIGN_PAGE: &str = "<!doctype html><meta charset=utf-8><title>ptc-workbench</title><p>This request does not belong to the \
                            login that is in progress.";

/// Reason why a login failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoginError {
    /// The server does not use OAuth, or cannot be used with it; the text completes "the server …".
    Unsupported(String),
    /// The authorisation server refused; the text is its own.
    Denied(String),
    /// The user cancelled it.
    Cancelled,
    /// No answer came within this time.
    TimedOut(Duration),
    /// A request or a file failed.
    Failed(String),
}

impl fmt::Display for LoginError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unsupported(why) => write!(f, "could not log in: the server {why}"),
            Self::Denied(why) => write!(f, "could not log in: the authorisation server refused: {why}"),
            Self::Cancelled => f.write_str("the login was cancelled"),
            Self::TimedOut(time) => {
                write!(f, "no answer of the authorisation server within {} s; run the login again", time.as_secs())
            }
            Self::Failed(why) => write!(f, "could not log in: {why}"),
        }
    }
}

/// A redirect that belongs to the login.
#[derive(Debug, PartialEq, Eq)]
enum Redirect {
    Code { code: String, issuer: Option<String> },
    Denied(String),
}

/// A login that waits for the user.
pub struct Login {
    manager: AuthorizationManager,
    file: TokenFile,
    listener: Listener,
    address: String,
    state: String,
}

/// A login that has succeeded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoginReport {
    /// Seconds until the token expires, if the server named a time.
    pub remaining_s: Option<u64>,
    /// The token can be renewed without the user.
    pub is_renewable: bool,
}

impl Login {
    /// Discovers the authorisation server, registers this program there unless a client is configured, and listens for the redirect.
    pub async fn begin(url: &str, access: &ServerAccess) -> Result<Self, LoginError> {
        let failed = |error| LoginError::Failed(describe(&error));
        check_transport(url).map_err(LoginError::Unsupported)?;
        let file = access.tokens().and_then(|tokens| tokens.of(url));
        let mut file = file.ok_or_else(|| LoginError::Failed("the folder for tokens is unknown".to_owned()))?;
        let mut manager = manager(url, access, &file).await.map_err(failed)?;
        let found = manager.resolve_metadata().await.map_err(failed)?;
        if !found.source.is_discovered() {
            let why = "names no authorisation server: it needs no token, or one in `headers` under [mcp.NAME]";
            return Err(LoginError::Unsupported(why.to_owned()));
        }
        check_endpoints(&found.metadata).map_err(LoginError::Unsupported)?;
        manager.set_metadata(found.metadata);

        let settings = access.oauth(url);
        let at = SocketAddr::from((Ipv4Addr::LOCALHOST, settings.redirect_port.unwrap_or(0)));
        let limits = ListenerLimits { connections: 8, grace: GRACE, ..ListenerLimits::default() };
        let listener = Listener::bind(at, limits);
        let listener = listener.map_err(|error| LoginError::Failed(format!("could not listen at {at}: {error}")))?;
        let redirect = format!("http://{}{CALLBACK}", listener.address());
        let scopes = match settings.scopes.as_slice() {
            [] => manager.select_initial_scopes(&[]).await,
            scopes => scopes.to_vec(),
        };
        let scopes: Vec<&str> = scopes.iter().map(String::as_str).collect();
        let client = if let Some(id) = &settings.client_id {
            let client = OAuthClientConfig::new(id, redirect);
            match settings.client_secret().map_err(LoginError::Failed)? {
                Some(secret) => client.with_client_secret(secret),
                None => client,
            }
        } else {
            let client = manager.register_client(env!("CARGO_PKG_NAME"), &redirect, &scopes).await.map_err(failed)?;
            file = file.with_client_secret(client.client_secret.clone());
            manager.set_credential_store(file.clone());
            client
        };
        manager.configure_client(client).map_err(failed)?;
        let address = manager.get_authorization_url(&scopes).await.map_err(failed)?;
        let state = Url::parse(&address).ok().and_then(|address| query(&address, "state"));
        let state = state.filter(|state| !state.is_empty());
        let state = state.ok_or_else(|| LoginError::Failed("the address of the login page has no state".to_owned()))?;
        Ok(Self { manager, file, listener, address, state })
    }

    /// Returns the address that the user opens in a browser. It contains no secret that would be of use without this process.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Waits for the redirect, or for its address as the user pastes it, and stores the token.
    pub async fn finish(
        self,
        mut pasted: tokio::sync::mpsc::UnboundedReceiver<String>,
        time: Duration,
        cancel: &CancellationToken,
    ) -> Result<LoginReport, LoginError> {
        let (sender, mut redirected) = oneshot::channel();
        let end = ListenerEnd::default();
        let handler = Arc::new(RedirectHandler { state: self.state.clone(), sender: Mutex::new(Some(sender)) });
        let serving = tokio::spawn(self.listener.serve(handler, end.clone()));
        let redirect = tokio::select! {
            biased;
            () = cancel.cancelled() => Err(LoginError::Cancelled),
            Ok(redirect) = &mut redirected => Ok(redirect),
            Some(text) = pasted.recv() => {
                let redirect = Url::parse(text.trim()).ok().and_then(|url| read_redirect(&url, &self.state));
                let wrong = "the pasted text is not the address of the last page of this login";
                redirect.ok_or_else(|| LoginError::Failed(wrong.to_owned()))
            }
            () = tokio::time::sleep(time) => Err(LoginError::TimedOut(time)),
        };
        end.close();
        if let Err(error) = serving.await {
            tracing::debug!(%error, "the listener of a login ended");
        }
        let (code, issuer) = match redirect? {
            Redirect::Code { code, issuer } => (code, issuer),
            Redirect::Denied(why) => return Err(LoginError::Denied(why)),
        };
        register_secret(&Secret::new(code.as_str()));
        let token = self.manager.exchange_code_for_token_with_issuer(&code, &self.state, issuer.as_deref()).await;
        token.map_err(|error| LoginError::Failed(describe(&error)))?;
        Ok(LoginReport { remaining_s: self.file.remaining_s(), is_renewable: self.file.is_renewable() })
    }
}

/// Answers the browser.
struct RedirectHandler {
    state: String,
    sender: Mutex<Option<oneshot::Sender<Redirect>>>,
}

impl Handler for RedirectHandler {
    fn answer(self: Arc<Self>, request: Request) -> BoxFuture<'static, Reply> {
        Box::pin(async move {
            let html = "text/html; charset=utf-8";
            let url = Url::parse(&format!("http://localhost{}", request.uri())).ok();
            let url = url.filter(|url| request.method() == hyper::Method::GET && url.path() == CALLBACK);
            let Some(redirect) = url.and_then(|url| read_redirect(&url, &self.state)) else {
                return typed_reply(StatusCode::BAD_REQUEST, html, FOREIGN_PAGE);
            };
            if let Some(sender) = self.sender.lock().unwrap_or_else(PoisonError::into_inner).take() {
                // Without a receiver the login has ended.
                _ = sender.send(redirect);
            }
            typed_reply(StatusCode::OK, html, DONE_PAGE)
        })
    }
}

/// Reads a redirect; `None` if it does not belong to the login with this state.
fn read_redirect(url: &Url, state: &str) -> Option<Redirect> {
    if query(url, "state").as_deref() != Some(state) {
        return None;
    }
    if let Some(error) = query(url, "error") {
        let about = query(url, "error_description").map(|about| format!(": {about}")).unwrap_or_default();
        return Some(Redirect::Denied(cut(&format!("{error}{about}"))));
    }
    Some(Redirect::Code { code: query(url, "code")?, issuer: query(url, "iss") })
}

fn query(url: &Url, name: &str) -> Option<String> {
    url.query_pairs().find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
}

/// Checks that tokens are not sent in plain text.
pub(super) fn check_transport(url: &str) -> Result<(), String> {
    match Url::parse(url) {
        Ok(url) if url.scheme() == "https" || is_local(&url) => Ok(()),
        Ok(_) => Err("has an address without TLS, over which no token is sent; use https".to_owned()),
        Err(error) => Err(format!("has an invalid address: {error}")),
    }
}

fn is_local(url: &Url) -> bool {
    url.scheme() == "http" && is_loopback(url.as_str())
}

/// Checks that the browser and the token go to web addresses.
fn check_endpoints(metadata: &AuthorizationMetadata) -> Result<(), String> {
    for endpoint in [&metadata.authorization_endpoint, &metadata.token_endpoint] {
        check_transport(endpoint)
            .map_err(|_| format!("names an authorisation server without TLS: {}", cut(endpoint)))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn redirect(query: &str) -> Option<Redirect> {
        read_redirect(&Url::parse(&format!("http://127.0.0.1:1/callback?{query}")).unwrap(), "s1")
    }

    #[test]
    fn a_redirect_belongs_to_the_login_by_its_state() {
        let code = |issuer: Option<&str>| Redirect::Code { code: "c".into(), issuer: issuer.map(Into::into) };
        assert_eq!(redirect("code=c&state=s1"), Some(code(None)));
        assert_eq!(redirect("code=c&state=s1&iss=https%3A%2F%2Fa.test"), Some(code(Some("https://a.test"))));
        assert_eq!(redirect("code=c&state=s2"), None);
        assert_eq!(redirect("code=c"), None);
        assert_eq!(redirect("state=s1"), None);
        let denied = Redirect::Denied("access_denied: not you".into());
        assert_eq!(redirect("error=access_denied&error_description=not+you&state=s1"), Some(denied));
        assert_eq!(redirect("error=access_denied"), None);
    }

    #[test]
    fn tokens_travel_over_tls_or_within_this_machine() {
        for url in ["https://a.test/mcp", "http://127.0.0.1:1/mcp", "http://localhost/mcp"] {
            assert_eq!(check_transport(url), Ok(()), "{url}");
        }
        for url in ["http://a.test/mcp", "file:///etc/passwd", "javascript:alert(1)", "x"] {
            assert!(check_transport(url).is_err(), "{url}");
        }
    }
}
