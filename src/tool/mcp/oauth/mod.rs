//! OAuth 2.1 for servers over HTTP: logins, stored tokens, and their use and refresh in connections.
//!
//! In: the URL of a server, settings of the configuration, the folder of tokens. Out: an authorised client, or what the user has to do. A token
//! goes to the URL that it was issued for, and to nothing else; it must never appear in a message.

mod exchange;
mod login;
mod revoke;
mod tokens;

use std::sync::Arc;

use ptc_core::text;
use rmcp::transport::auth::{AuthError, AuthorizationManager, OAuthClientConfig};

pub use login::{Login, LoginError, LoginReport};
pub use revoke::{LogoutReport, log_out};
pub use tokens::Tokens;

use super::access::ServerAccess;
use exchange::OAuthExchange;
use tokens::TokenFile;

/// Makes the authorisation state of a server, whose tokens are in this file.
async fn manager(url: &str, access: &ServerAccess, file: &TokenFile) -> Result<AuthorizationManager, AuthError> {
    let exchange = Arc::new(OAuthExchange::new(access.clone()));
    let mut manager = AuthorizationManager::new_with_oauth_http_client(url, exchange).await?;
    manager.set_credential_store(file.clone());
    Ok(manager)
}

/// Returns the authorisation state of a server that the user has logged in to; `None`: there is no token.
///
/// Errors complete the sentence that begins with the server's name.
pub(super) async fn authorized(url: &str, access: &ServerAccess) -> Result<Option<AuthorizationManager>, String> {
    let Some(file) = access.tokens().and_then(|tokens| tokens.of(url)).filter(TokenFile::exists) else {
        return Ok(None);
    };
    let stored = file.read().map_err(|error| format!("has a token that cannot be read: {error}"))?;
    let mut manager = manager(url, access, &file).await.map_err(|error| describe(&error))?;
    let is_known = match manager.initialize_from_store().await {
        Ok(is_known) => is_known,
        // A token that is still valid needs no authorisation server.
        Err(error) if file.is_fresh() => {
            tracing::debug!(%error, "the authorisation server of a tool server did not answer");
            return Ok(Some(manager));
        }
        Err(error) => return Err(format!("needs a new token, and {}", describe(&error))),
    };
    if !is_known {
        return Ok(None);
    }
    if let Some(secret) = access.oauth(url).client_secret()?.as_ref().or(stored.client_secret.as_ref()) {
        let config = OAuthClientConfig::new(stored.client_id(), url).with_client_secret(secret);
        manager.configure_client(config).map_err(|error| describe(&error))?;
    }
    Ok(Some(manager))
}

/// Describes why a login or a refresh failed.
pub(super) fn describe(error: &AuthError) -> String {
    match error {
        AuthError::AuthorizationRequired | AuthError::TokenExpired | AuthError::TokenRefreshRejected(_) => {
            "the token has expired and was not renewed".to_owned()
        }
        AuthError::DiscoveryRequestFailed { url, source } => format!("{url} does not answer: {source}"),
        AuthError::RegistrationFailed(why) => format!(
            "the authorisation server does not register clients by itself ({}); register one there and set oauth_client_id under [mcp.NAME]",
            cut(why)
        ),
        AuthError::PkceUnsupported => "the authorisation server does not support PKCE (S256)".to_owned(),
        other => cut(&other.to_string()),
    }
}

/// Maximum characters of a server's own text.
const QUOTE_CHARS: usize = 300;

fn cut(text: &str) -> String {
    text::cut(text, QUOTE_CHARS)
}
