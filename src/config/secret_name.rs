//! Names of secrets.
//!
//! In: names of headers, parameters and variables, and their values. Out: whether the value is a secret. It must never call a common word one.

use std::borrow::Cow;

/// Members of bodies whose names only sound like those of secrets.
pub(crate) const NOT_SECRET: [&str; 2] = ["prompt_cache_key", "safety_identifier"];

/// Returns whether the name of a header, parameter or variable indicates a secret: `X-Api-Key`, `access_token`, `Helicone-Auth`, `sig`.
pub fn is_secret_name(name: &str) -> bool {
    has_secret_word(name) || has_last_word(name)
}

/// Returns whether a value under this name is a secret: under a name that only ends with a word such as `auth` it is one only if it may be
/// a key, not a word such as `required`.
pub(crate) fn is_secret_value(name: &str, value: &str) -> bool {
    let may_be_key = || value.len() >= KEY_MIN_BYTES && value.bytes().any(|byte| byte.is_ascii_digit());
    has_secret_word(name) || has_last_word(name) && may_be_key()
}

/// Shortest key under a name whose last word names a secret, in bytes: as short as passwords are (`DB_PASS=hunter22`), and as short as secrets
/// are masked. The proxy requires more of values under vaguer names in the traffic of other programs (`RANDOM_MIN_BYTES` in
/// `src/proxy/headers.rs`).
const KEY_MIN_BYTES: usize = 8;

fn has_secret_word(name: &str) -> bool {
    const WORDS: [&str; 9] =
        ["authorization", "key", "token", "secret", "cookie", "password", "passwd", "credential", "signature"];
    let name = lowercase(name);
    WORDS.iter().any(|word| name.contains(word))
}

/// Short words are also parts of others (`author`, `design`), and before another word they rarely name the secret (`SSH_AUTH_SOCK`).
fn has_last_word(name: &str) -> bool {
    const LAST_WORDS: [&str; 7] = ["auth", "sig", "pass", "passphrase", "jwt", "bearer", "assertion"];
    let name = lowercase(name);
    let last = name.rsplit(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
    LAST_WORDS.contains(&last)
}

/// Returns the name in lower case. Names of headers, which a proxy checks in each request, are in lower case already and are not copied.
fn lowercase(name: &str) -> Cow<'_, str> {
    if name.bytes().any(|byte| byte.is_ascii_uppercase()) {
        Cow::Owned(name.to_ascii_lowercase())
    } else {
        Cow::Borrowed(name)
    }
}

/// Returns whether a header contains a literal secret instead of `${NAME}`, an environment variable.
pub(crate) fn is_plain_secret(name: &str, value: &str) -> bool {
    is_secret_value(name, value) && !value.contains("${")
}
