//! Which names say that their value is a secret. Such values do not stand in files.

/// Does the name of a header, a parameter or a variable say that its value is a secret?
pub fn speaks_of_a_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["authorization", "key", "token", "secret", "cookie", "password", "passwd", "credential", "signature"]
        .iter()
        .any(|word| name.contains(word))
}

/// Does a header hold a secret in plain letters, not as `${NAME}`, the variable of the environment that holds it?
pub(crate) fn is_plain_secret(name: &str, value: &str) -> bool {
    speaks_of_a_secret(name) && !value.contains("${")
}
