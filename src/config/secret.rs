//! Recognizes names of secrets, whose values must not be in files.

/// Returns whether the name of a header, parameter or variable indicates a secret.
pub fn is_secret_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["authorization", "key", "token", "secret", "cookie", "password", "passwd", "credential", "signature"]
        .iter()
        .any(|word| name.contains(word))
}

/// Returns whether a header contains a literal secret instead of `${NAME}`, an environment variable.
pub(crate) fn is_plain_secret(name: &str, value: &str) -> bool {
    is_secret_name(name) && !value.contains("${")
}
