//! Names of environment variables in the configuration and in flags.
//!
//! In: a text. Out: the name. A text that may be the secret itself is refused and never repeated.

use super::document::{Entry, Problem};

/// Beginnings of keys that consist of letters, digits and `_`, as names of variables do.
const KEY_BEGINNINGS: [&str; 4] = ["AIza", "gsk_", "hf_", "sk_"];

/// Minimum length of such keys.
const KEY_MIN_BYTES: usize = 20;

/// Returns whether a text can be the name of an environment variable, and is not a key of a known service.
pub fn is_variable_name(text: &str) -> bool {
    let is_plain = text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let has_digit = text.bytes().any(|byte| byte.is_ascii_digit());
    let is_key =
        KEY_BEGINNINGS.iter().any(|beginning| text.starts_with(beginning)) && text.len() >= KEY_MIN_BYTES && has_digit;
    is_plain && !is_key && text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
}

/// Reads the name of a variable that contains a key or a secret. The error does not contain the value.
pub(super) fn variable(entry: &Entry<'_>) -> Result<String, Problem> {
    let name = entry.non_blank_text()?;
    if is_variable_name(&name) {
        return Ok(name);
    }
    Err(entry.problem(format!(
        "`{}` must be the name of an environment variable (letters, digits and `_`), not the secret itself",
        entry.path
    )))
}
