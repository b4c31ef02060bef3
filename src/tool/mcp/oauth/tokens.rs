//! Stored tokens: one private file for each URL of a server.
//!
//! In: a folder, the URL of a server. Out: its credentials, read, written and removed. Every token that passes through becomes a known
//! secret of this process, so that no session, log, export or screen shows it.

use std::fs::TryLockError;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use futures::future::BoxFuture;
use rmcp::transport::auth::{AuthError, CredentialRefreshGuard, CredentialStore, StoredCredentials};
use serde::{Deserialize, Serialize};

use crate::config::{create_private_dir, private_options, read_regular_file, write_private_file};
use crate::event::hex_sha;
use crate::model::{Secret, Url, register_secret};

/// Seconds before its expiry at which a token counts as expired.
const EXPIRY_MARGIN_S: u64 = 30;

/// The folder of tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tokens(PathBuf);

/// The tokens of one server.
#[derive(Debug, Clone)]
pub(super) struct TokenFile {
    path: PathBuf,
    url: String,
    client_secret: Option<String>,
}

/// The content of a file.
#[derive(Serialize, Deserialize)]
pub(super) struct StoredLogin {
    /// The server's URL.
    pub(super) url: String,
    /// The secret of this client, if the authorisation server gave one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) client_secret: Option<String>,
    /// Client and tokens.
    credentials: StoredCredentials,
}

impl StoredLogin {
    pub(super) fn client_id(&self) -> &str {
        &self.credentials.client_id
    }

    /// Seconds until the access token expires; `None` if it is unknown.
    fn remaining_s(&self) -> Option<u64> {
        let token = serde_json::to_value(self.credentials.token_response.as_ref()?).ok()?;
        let lifetime = token.get("expires_in")?.as_u64()?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        Some(self.credentials.token_received_at?.saturating_add(lifetime).saturating_sub(now))
    }

    /// The tokens by their kinds, the one that renews the other first.
    pub(super) fn tokens(&self) -> Vec<(&'static str, String)> {
        let token = self.credentials.token_response.as_ref().and_then(|token| serde_json::to_value(token).ok());
        let text = |name: &'static str| Some((name, token.as_ref()?.get(name)?.as_str()?.to_owned()));
        ["refresh_token", "access_token"].into_iter().filter_map(text).collect()
    }

    /// Adds its tokens to the secrets of this process.
    fn register_secrets(&self) {
        let token = self.credentials.token_response.as_ref().and_then(|token| serde_json::to_value(token).ok());
        let names = ["access_token", "refresh_token", "id_token"];
        let tokens = names.iter().filter_map(|name| token.as_ref()?.get(name)?.as_str());
        for text in tokens.chain(self.client_secret.as_deref()) {
            register_secret(&Secret::new(text));
        }
    }
}

impl Tokens {
    /// The tokens in this folder, which may be missing.
    pub fn at(folder: PathBuf) -> Self {
        Self(folder)
    }

    /// The file for a URL; `None` if the text is none.
    pub(super) fn of(&self, url: &str) -> Option<TokenFile> {
        let url = Url::parse(url).ok()?.to_string();
        let path = self.0.join(format!("{}.json", hex_sha(url.as_bytes())));
        Some(TokenFile { path, url, client_secret: None })
    }

    /// Adds all stored tokens to the secrets of this process.
    pub fn register_secrets(&self) {
        let Ok(files) = std::fs::read_dir(&self.0) else { return };
        for path in files.filter_map(|file| Some(file.ok()?.path())).filter(|path| is_token_file(path)) {
            if let Err(error) = read(&path) {
                tracing::warn!(file = %path.display(), %error, "could not read a token");
            }
        }
    }
}

fn is_token_file(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "json")
}

/// Reads a file, whose tokens become known secrets.
fn read(path: &Path) -> io::Result<StoredLogin> {
    let login: StoredLogin = serde_json::from_str(&read_regular_file(path)?)?;
    login.register_secrets();
    Ok(login)
}

impl TokenFile {
    /// Stores this secret of the client with the tokens.
    pub(super) fn with_client_secret(self, client_secret: Option<String>) -> Self {
        Self { client_secret, ..self }
    }

    pub(super) fn exists(&self) -> bool {
        self.path.is_file()
    }

    /// Removes it; one that is missing is as good as removed.
    pub(super) fn remove(&self) -> io::Result<()> {
        match std::fs::remove_file(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    pub(super) fn read(&self) -> io::Result<StoredLogin> {
        read(&self.path)
    }

    /// Returns whether the access token is valid for longer than a moment.
    pub(super) fn is_fresh(&self) -> bool {
        self.read().is_ok_and(|login| login.remaining_s().is_none_or(|left| left > EXPIRY_MARGIN_S))
    }

    /// Returns the seconds until the access token expires; `None` if it is unknown.
    pub(super) fn remaining_s(&self) -> Option<u64> {
        self.read().ok()?.remaining_s()
    }

    /// Returns whether the token can be renewed without the user.
    pub(super) fn is_renewable(&self) -> bool {
        let token = self.read().ok().and_then(|login| serde_json::to_value(login.credentials.token_response?).ok());
        token.is_some_and(|token| token.get("refresh_token").is_some_and(serde_json::Value::is_string))
    }

    fn write(&self, credentials: StoredCredentials) -> io::Result<()> {
        let client_secret = match &self.client_secret {
            Some(secret) => Some(secret.clone()),
            None => self
                .read()
                .ok()
                .filter(|old| old.client_id() == credentials.client_id)
                .and_then(|old| old.client_secret),
        };
        let login = StoredLogin { url: self.url.clone(), client_secret, credentials };
        login.register_secrets();
        if let Some(folder) = self.path.parent() {
            create_private_dir(folder)?;
        }
        let draft = self.path.with_extension(format!("{}.draft", std::process::id()));
        write_private_file(&draft, &serde_json::to_vec_pretty(&login)?)?;
        std::fs::rename(&draft, &self.path)
    }

    /// Waits until no other process renews this token. The lock ends with the returned file.
    fn lock(&self) -> io::Result<std::fs::File> {
        let file = private_options().create(true).append(true).open(self.path.with_extension("lock"))?;
        match file.try_lock() {
            // File systems without locks are used without them.
            Ok(()) | Err(TryLockError::Error(_)) => Ok(file),
            Err(TryLockError::WouldBlock) => file.lock().map(|()| file),
        }
    }
}

fn failed(error: &io::Error) -> AuthError {
    AuthError::CredentialStoreError(error.to_string())
}

impl CredentialStore for TokenFile {
    fn load<'s, 'f>(&'s self) -> BoxFuture<'f, Result<Option<StoredCredentials>, AuthError>>
    where
        's: 'f,
        Self: 'f,
    {
        Box::pin(async move {
            if !self.exists() {
                return Ok(None);
            }
            self.read().map(|login| Some(login.credentials)).map_err(|error| failed(&error))
        })
    }

    fn save<'s, 'f>(&'s self, credentials: StoredCredentials) -> BoxFuture<'f, Result<(), AuthError>>
    where
        's: 'f,
        Self: 'f,
    {
        Box::pin(async move { self.write(credentials).map_err(|error| failed(&error)) })
    }

    fn clear<'s, 'f>(&'s self) -> BoxFuture<'f, Result<(), AuthError>>
    where
        's: 'f,
        Self: 'f,
    {
        Box::pin(async move { self.remove().map_err(|error| failed(&error)) })
    }

    fn acquire_refresh_guard<'s, 'f>(&'s self) -> BoxFuture<'f, Result<Option<CredentialRefreshGuard>, AuthError>>
    where
        's: 'f,
        Self: 'f,
    {
        Box::pin(async move {
            let file = self.clone();
            let locked = tokio::task::spawn_blocking(move || file.lock()).await;
            let locked = locked.map_err(|error| AuthError::CredentialStoreError(error.to_string()))?;
            Ok(Some(CredentialRefreshGuard::new(locked.map_err(|error| failed(&error))?)))
        })
    }
}
