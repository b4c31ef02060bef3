//! Where an API key comes from: the name of an environment variable or a file. The value is read when a run needs it, and not kept.

use std::path::PathBuf;

use ptc_core::reasons::Reason;

use super::{ConfigError, Env};

/// A reference to an API key.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum KeySource {
    /// An environment variable.
    Env(String),
    /// A file that holds nothing else; white space around the key is ignored.
    File(PathBuf),
}

impl KeySource {
    /// The key. `provider` is named in the error, which says how to give one.
    pub fn read(&self, provider: &str, env: Env<'_>) -> Result<String, ConfigError> {
        let problem = |message: String| ConfigError::Model { reason: Reason::LlmError, message };
        let key = match self {
            Self::Env(name) => env(name).unwrap_or_default(),
            Self::File(path) => std::fs::read_to_string(path).map_err(|error| {
                problem(format!("the key file {} of provider `{provider}` cannot be read: {error}", path.display()))
            })?,
        };
        let key = key.trim();
        if !key.is_empty() {
            return Ok(key.to_owned());
        }
        Err(problem(match self {
            Self::Env(name) => format!(
                "provider `{provider}` needs a key: the environment variable {name} is not set; set it, or name another with \
                 `api_key_env`, or a file with `api_key_file`, in [providers.{provider}] of config.toml"
            ),
            Self::File(path) => format!("the key file {} of provider `{provider}` is empty", path.display()),
        }))
    }
}
