//! The proxies of the environment: which variable counts for an address, and what in these variables and in other addresses is a secret.
//!
//! In: `HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY`, in capitals or not; the HTTP client reads them itself, and `NO_PROXY` with them.
//! Out: names of variables and secrets, never a value that may be shown.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reqwest::Url;

use super::secret::Secret;

const HTTP: [&str; 2] = ["HTTP_PROXY", "http_proxy"];
const HTTPS: [&str; 2] = ["HTTPS_PROXY", "https_proxy"];
const ALL: [&str; 2] = ["ALL_PROXY", "all_proxy"];

/// The variable by which requests to this address may go through a proxy, if one is set.
pub(super) fn variable(url: &Url) -> Option<&'static str> {
    let own = if url.scheme() == "https" { HTTPS } else { HTTP };
    own.into_iter().chain(ALL).find(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()))
}

/// The passwords in these variables: as written, percent-decoded, and as sent (in base64 with the user name).
pub(super) fn secrets() -> Vec<Secret> {
    let values = HTTP.into_iter().chain(HTTPS).chain(ALL).filter_map(|name| std::env::var(name).ok());
    values.flat_map(|value| secrets_of(&value)).collect()
}

fn secrets_of(value: &str) -> Vec<Secret> {
    let whole = if value.contains("://") { value.to_owned() } else { format!("http://{value}") };
    let Ok(url) = Url::parse(whole.trim()) else { return Vec::new() };
    let mut forms = password_forms(&url);
    if !forms.is_empty() {
        // The address as it was read may escape more characters.
        let written = whole.split_once('@').and_then(|(before, _)| before.rsplit_once(':'));
        forms.extend(written.map(|(_, text)| Secret::new(text)));
    }
    forms
}

/// The password of an address: as it is written, as it is meant, and in base64 with the user name, as `Authorization: Basic` has it. Empty
/// when it has none.
pub fn password_forms(url: &Url) -> Vec<Secret> {
    let Some(password) = url.password() else { return Vec::new() };
    let (name, meant) = (unescaped(url.username()), unescaped(password));
    let sent = STANDARD.encode(format!("{name}:{meant}"));
    [password.to_owned(), meant, sent].into_iter().map(Secret::new).collect()
}

/// The text without `%XX`.
fn unescaped(text: &str) -> String {
    let (mut out, mut rest) = (Vec::new(), text.as_bytes());
    while let [first, tail @ ..] = rest {
        let digits = tail.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        let byte = digits.filter(|_| *first == b'%').and_then(|digits| u8::from_str_radix(digits, 16).ok());
        out.push(byte.unwrap_or(*first));
        rest = tail.get(if byte.is_some() { 2 } else { 0 }..).unwrap_or_default();
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::scrub::Scrub;

    #[test]
    fn a_password_is_known_in_every_form() {
        for value in ["http://me:long%20pass%40word@proxy.example:3128", "me:long%20pass%40word@proxy.example:3128"] {
            let scrub = Scrub::new(secrets_of(value));
            let sent = STANDARD.encode("me:long pass@word");
            let text = format!("{value}, long pass@word, {sent}");
            let clean = scrub.text(&text);
            assert!(!clean.contains("pass") && !clean.contains(&sent), "{clean}");
            assert!(clean.contains("proxy.example"), "{clean}");
        }
        for value in ["", "http://proxy.example", "http://me@proxy.example", "::", "socks5://127.0.0.1:1080"] {
            assert!(secrets_of(value).is_empty(), "{value}");
        }
    }
}
