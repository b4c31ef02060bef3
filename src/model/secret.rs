//! Keys, where they are found, and those that this process learned after its start (from key commands and authorisation servers).
//!
//! In: the source of a key; commands are run in `key_command.rs`. Out: the key for one header, and all secrets that this machine knows. It
//! must never print a key.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use super::scrub::Scrub;
use super::{ErrorClass, ModelError, proxy, variables};
use crate::config::{KeySource, Provider, is_secret_value, read_regular_file};

/// The text in place of a secret.
pub const MASK: &str = "[secret]";

/// Shorter keys (`none`, `ollama`, …) are placeholders of local servers and ordinary words of a reply: they are not masked.
pub const SECRET_MIN_BYTES: usize = 8;

/// A text that is never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Hides this text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text itself, for the header that carries it.
    pub(super) fn expose(&self) -> &str {
        &self.0
    }
}

impl Secret {
    /// The values of environment variables whose names contain key, token, secret or password, and the passwords of proxies.
    fn of_environment() -> Vec<Self> {
        let all = std::env::vars_os().filter_map(|(name, value)| {
            let value = value.into_string().ok()?;
            is_secret_value(&name.to_string_lossy(), value.trim()).then(|| Self::new(value.trim()))
        });
        all.chain(proxy::secrets()).collect()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASK)
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASK)
    }
}

impl KeySource {
    /// The key. Errors are of class [`ErrorClass::Auth`] and name the variable or the file.
    pub fn read(&self) -> Result<Secret, ModelError> {
        let found = match self {
            Self::Command(command) => return command.cached().ok_or_else(|| self.missing("was not run yet")),
            Self::Env(name) => std::env::var(name).map_err(|error| match error {
                std::env::VarError::NotPresent => self.missing("is not set"),
                std::env::VarError::NotUnicode(_) => self.missing("is not text"),
            })?,
            Self::File(path) => {
                read_regular_file(path).map_err(|error| self.missing(&format!("cannot be read: {error}")))?
            }
        };
        let key = found.trim();
        if key.is_empty() {
            return Err(self.missing("is empty"));
        }
        if !is_word(key) {
            return Err(self.missing("contains more than one word, or characters other than printable ASCII"));
        }
        Ok(Secret::new(key))
    }

    /// Checks what can be known of the key without running a command.
    pub fn check(&self) -> Result<(), ModelError> {
        match self {
            Self::Command(_) => Ok(()),
            Self::Env(_) | Self::File(_) => self.read().map(drop),
        }
    }

    /// The key for a request; a command is run unless its last key counts. Errors as of [`KeySource::read`].
    pub(super) async fn fetch(&self) -> Result<Secret, ModelError> {
        match self {
            Self::Command(command) => command.fetch().await.map_err(|problem| self.missing(&problem)),
            Self::Env(_) | Self::File(_) => self.read(),
        }
    }

    /// The name of the source for users.
    pub fn name(&self) -> String {
        match self {
            Self::Env(name) => format!("environment variable {name}"),
            Self::File(path) => format!("key file {}", path.display()),
            Self::Command(command) => format!("api_key_command {}", command.program()),
        }
    }

    /// Returns advice on how to provide the key.
    pub fn advice(&self) -> String {
        match self {
            Self::Env(name) => format!("set it with: export {name}=…"),
            Self::File(path) => format!("write it into {}", path.display()),
            Self::Command(command) => {
                format!("run {} in a terminal, with the arguments of api_key_command", command.program())
            }
        }
    }

    fn missing(&self, what: &str) -> ModelError {
        ModelError::new(ErrorClass::Auth, format!("no API key: {} {what}", self.name())).hint(self.advice())
    }
}

/// Returns whether a key is one word that a header can carry.
pub(super) fn is_word(key: &str) -> bool {
    key.bytes().all(|byte| byte.is_ascii_graphic())
}

/// The keys of these providers, as far as they can be read, and the secrets of the environment.
pub fn known_secrets(providers: &[Provider]) -> Scrub {
    let keys = providers.iter().filter_map(|provider| provider.key.as_ref()?.read().ok());
    let headers = providers.iter().flat_map(|provider| &provider.headers);
    let headers = headers.flat_map(|(name, text)| variables::secrets(name, text));
    let keys: Vec<Secret> = keys.chain(headers).chain(Secret::of_environment()).collect();
    Scrub::new(keys).with_late_secrets()
}

static SECRETS: Mutex<Vec<Secret>> = Mutex::new(Vec::new());
static GENERATION: AtomicU64 = AtomicU64::new(0);

/// Adds a secret; one shorter than [`SECRET_MIN_BYTES`] is omitted.
pub(crate) fn register_secret(secret: &Secret) {
    let mut secrets = SECRETS.lock().unwrap_or_else(PoisonError::into_inner);
    if secret.expose().len() >= SECRET_MIN_BYTES && !secrets.contains(secret) {
        secrets.push(secret.clone());
        GENERATION.fetch_add(1, Ordering::Release);
    }
}

/// Returns a number that differs after each added secret.
pub(super) fn generation() -> u64 {
    GENERATION.load(Ordering::Acquire)
}

/// Returns the number and the secrets that belong to it.
pub(super) fn late_secrets() -> (u64, Vec<Secret>) {
    let secrets = SECRETS.lock().unwrap_or_else(PoisonError::into_inner);
    (generation(), secrets.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_does_not_print() {
        let secret = Secret::new("sk-12345678");
        assert_eq!(format!("{secret} {secret:?}"), "[secret] [secret]");
        assert!(!format!("{:?}", Scrub::new([secret])).contains("sk-"));
    }

    #[test]
    fn a_missing_key_names_the_variable_to_set() {
        let error = KeySource::Env("PTC_TEST_NO_SUCH_KEY".into()).read().unwrap_err();
        assert_eq!(error.class, ErrorClass::Auth);
        assert!(error.message.contains("PTC_TEST_NO_SUCH_KEY is not set"), "{}", error.message);
        assert_eq!(error.hint.as_deref(), Some("set it with: export PTC_TEST_NO_SUCH_KEY=…"));
    }

    #[test]
    fn a_key_file_may_end_with_a_line_end_but_not_hold_two_words() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("key");
        let source = KeySource::File(path.clone());
        assert!(source.read().unwrap_err().message.contains("cannot be read"));
        std::fs::write(&path, " abc-1234567\n").unwrap();
        assert_eq!(source.read().unwrap(), Secret::new("abc-1234567"));
        for bad in ["", "\n", "two words", "é-1234567"] {
            std::fs::write(&path, bad).unwrap();
            assert_eq!(source.read().unwrap_err().class, ErrorClass::Auth, "{bad:?}");
        }
    }
}
