//! A logout: the tokens of a server are removed from this machine, and revoked where its authorisation server has an endpoint for it (RFC 7009).
//!
//! In: the URL of a server. Out: what became of its tokens. They are removed also where the authorisation server does not answer. A token goes to
//! the endpoint that the server's own metadata names, over TLS or within this machine, and to nothing else; it must never appear in a message.

use std::collections::HashMap;
use std::io;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rmcp::transport::auth::AuthorizationMetadata;
use serde_json::Value;
use tokio::time::timeout;

use super::exchange::ANSWER_MAX_BYTES;
use super::login::check_transport;
use super::tokens::{StoredLogin, TokenFile};
use super::{cut, describe, manager};
use crate::model::{OutgoingRequest, Url, exchange};
use crate::tool::mcp::access::ServerAccess;

/// Time for discovery and revocation.
const REVOCATION_TIME: Duration = Duration::from_secs(15);
/// The member of the metadata that names the endpoint.
const ENDPOINT: &str = "revocation_endpoint";

/// Outcome of a logout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LogoutReport {
    /// There was no token.
    NoToken,
    /// The tokens are revoked and removed.
    Revoked,
    /// The tokens are removed from this machine and may still be valid; the text is the reason.
    RemovedOnly(String),
}

/// Revokes the tokens of a server if possible, and removes them. Errors: the file cannot be removed.
pub async fn log_out(url: &str, access: &ServerAccess) -> io::Result<LogoutReport> {
    let file = access.tokens().and_then(|tokens| tokens.of(url)).filter(TokenFile::exists);
    let Some(file) = file else { return Ok(LogoutReport::NoToken) };
    let revoked = match timeout(REVOCATION_TIME, revoke(url, access, &file)).await {
        Ok(revoked) => revoked,
        Err(_) => Err(format!("the authorisation server did not answer within {} s", REVOCATION_TIME.as_secs())),
    };
    file.remove()?;
    Ok(revoked.map_or_else(LogoutReport::RemovedOnly, |()| LogoutReport::Revoked))
}

async fn revoke(url: &str, access: &ServerAccess, file: &TokenFile) -> Result<(), String> {
    let stored = file.read().map_err(|error| format!("the stored token could not be read: {error}"))?;
    let manager = manager(url, access, file).await.map_err(|error| describe(&error))?;
    let metadata = manager.resolve_metadata().await.map_err(|error| describe(&error))?.metadata;
    let endpoint = metadata.additional_fields.get(ENDPOINT).and_then(Value::as_str);
    let endpoint = endpoint.ok_or("the authorisation server has no endpoint that revokes tokens")?;
    check_transport(endpoint)
        .map_err(|_| format!("the authorisation server names an endpoint without TLS: {}", cut(endpoint)))?;
    let secret = access.oauth(url).client_secret()?.or_else(|| stored.client_secret.clone());
    let client = ClientProof::of(&stored, secret, &metadata);
    // The refresh token first: with it the server should end the access tokens that came from it.
    for (kind, token) in stored.tokens() {
        let fields = [("token", token.as_str()), ("token_type_hint", kind)];
        let out = OutgoingRequest {
            method: "POST".to_owned(),
            url: endpoint.to_owned(),
            headers: client.headers(),
            body: Some(form(fields.into_iter().chain(client.fields()))),
            answer_max_bytes: ANSWER_MAX_BYTES,
            tls: access.tls(endpoint).clone(),
        };
        let got = exchange(&out).await?;
        if !(200..300).contains(&got.status) {
            return Err(format!("the authorisation server answered {} to the revocation", got.status));
        }
    }
    Ok(())
}

/// Credentials of the client in a revocation.
struct ClientProof {
    id: String,
    secret: Option<String>,
    /// The secret goes into the form, not into a header.
    is_posted: bool,
}

impl ClientProof {
    fn of(stored: &StoredLogin, secret: Option<String>, metadata: &AuthorizationMetadata) -> Self {
        let is_posted = is_only_posted(&metadata.additional_fields);
        Self { id: stored.client_id().to_owned(), secret, is_posted }
    }

    fn headers(&self) -> Vec<(String, String)> {
        let kind = ("content-type".to_owned(), "application/x-www-form-urlencoded".to_owned());
        let secret = self.secret.as_deref().filter(|_| !self.is_posted);
        let basic = secret.map(|secret| {
            let pair = format!("{}:{}", form_text(&self.id), form_text(secret));
            ("authorization".to_owned(), format!("Basic {}", STANDARD.encode(pair)))
        });
        [kind].into_iter().chain(basic).collect()
    }

    fn fields(&self) -> impl Iterator<Item = (&str, &str)> {
        let posted = self.secret.as_deref().filter(|_| self.is_posted);
        let id = (self.secret.is_none() || self.is_posted).then_some(("client_id", self.id.as_str()));
        id.into_iter().chain(posted.map(|secret| ("client_secret", secret)))
    }
}

/// Returns whether the endpoint takes the secret of a client in the form only. Without a list it is the header that every server takes.
fn is_only_posted(metadata: &HashMap<String, Value>) -> bool {
    let names = ["revocation_endpoint_auth_methods_supported", "token_endpoint_auth_methods_supported"];
    let methods = names.iter().find_map(|name| metadata.get(*name)?.as_array());
    let has = |name: &str| methods.is_some_and(|methods| methods.iter().any(|method| method == name));
    has("client_secret_post") && !has("client_secret_basic")
}

/// The fields of a form as its body.
fn form<'f>(fields: impl Iterator<Item = (&'f str, &'f str)>) -> String {
    let Ok(mut url) = Url::parse("http://form/") else { return String::new() };
    url.query_pairs_mut().extend_pairs(fields);
    url.query().unwrap_or_default().to_owned()
}

/// A text as the value of a form.
fn form_text(text: &str) -> String {
    form([("", text)].into_iter()).trim_start_matches('=').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_travels_in_the_header_unless_the_server_takes_only_forms() {
        let metadata = |methods: &str| {
            let list = serde_json::from_str(methods).unwrap();
            HashMap::from([("token_endpoint_auth_methods_supported".to_owned(), list)])
        };
        assert!(is_only_posted(&metadata(r#"["client_secret_post"]"#)));
        assert!(!is_only_posted(&metadata(r#"["client_secret_post", "client_secret_basic"]"#)));
        assert!(!is_only_posted(&HashMap::new()));
        let proof = |is_posted| ClientProof { id: "a b".into(), secret: Some("s=:".into()), is_posted };
        let fields = |proof: &ClientProof| form(proof.fields());
        assert_eq!(fields(&proof(true)), "client_id=a+b&client_secret=s%3D%3A");
        assert_eq!((fields(&proof(false)).as_str(), proof(true).headers().len()), ("", 1));
        let header = &proof(false).headers()[1].1;
        assert_eq!(*header, format!("Basic {}", STANDARD.encode("a+b:s%3D%3A")));
    }
}
