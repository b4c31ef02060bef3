//! Keys and how they are kept out of everything that is shown or stored.
//!
//! In: where a key is found; texts from services. Out: the key for one header; texts without any known secret.
//! It must never print a key, nor let one through because it arrived in pieces.

use std::fmt;
use std::ops::Range;

use super::{ErrorClass, ModelError, disguise, proxy, variables};
use crate::config::{KeySource, Provider, is_secret_name, read_regular_file};

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
    /// The values of environment variables whose names speak of a key, token, secret or password, and the passwords of proxies.
    fn of_environment() -> Vec<Self> {
        let all = std::env::vars_os().filter(|(name, _)| is_secret_name(&name.to_string_lossy()));
        all.filter_map(|(_, value)| Some(Self::new(value.into_string().ok()?.trim()))).chain(proxy::secrets()).collect()
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
        if !key.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(self.missing("holds more than one word of plain characters"));
        }
        Ok(Secret::new(key))
    }

    /// The name of the source for users.
    pub fn name(&self) -> String {
        match self {
            Self::Env(name) => format!("environment variable {name}"),
            Self::File(path) => format!("key file {}", path.display()),
        }
    }

    /// What to do to give a key.
    pub fn advice(&self) -> String {
        match self {
            Self::Env(name) => format!("set it with: export {name}=…"),
            Self::File(path) => format!("write it into {}", path.display()),
        }
    }

    fn missing(&self, what: &str) -> ModelError {
        ModelError::new(ErrorClass::Auth, format!("no API key: {} {what}", self.name())).hint(self.advice())
    }
}

/// The keys of these providers, as far as they can be read, and the secrets of the environment.
pub fn known_secrets(providers: &[Provider]) -> Scrub {
    let keys = providers.iter().filter_map(|provider| provider.key.as_ref()?.read().ok());
    let headers = providers.iter().flat_map(|provider| &provider.headers);
    let headers = headers.flat_map(|(name, text)| variables::secrets(name, text));
    let keys: Vec<Secret> = keys.chain(headers).chain(Secret::of_environment()).collect();
    Scrub::new(keys)
}

/// Removes known secrets from texts.
#[derive(Debug, Clone, Default)]
pub struct Scrub {
    secrets: Vec<Secret>,
}

impl Scrub {
    /// Knows these secrets; those shorter than [`SECRET_MIN_BYTES`] are left out. The longest is looked for first.
    pub fn new(secrets: impl IntoIterator<Item = Secret>) -> Self {
        let mut secrets: Vec<_> = secrets.into_iter().filter(|secret| secret.0.len() >= SECRET_MIN_BYTES).collect();
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.0.len()));
        Self { secrets }
    }

    /// The same with these secrets as well.
    #[must_use]
    pub fn knowing(self, more: impl IntoIterator<Item = Secret>) -> Self {
        Self::new(self.secrets.into_iter().chain(more))
    }

    /// The text with [`MASK`] in place of each secret, however its letters are written, and how many there were.
    pub fn clean(&self, text: &str) -> (String, usize) {
        let found = self.find(text);
        let mut clean = String::with_capacity(text.len());
        let mut at = 0;
        for place in &found {
            clean.push_str(text.get(at..place.start).unwrap_or_default());
            clean.push_str(MASK);
            at = place.end;
        }
        clean.push_str(text.get(at..).unwrap_or_default());
        (clean, found.len())
    }

    /// The positions of the secrets in a text: in order, without overlaps.
    pub fn find(&self, text: &str) -> Vec<Range<usize>> {
        self.find_in(text.as_bytes())
    }

    fn find_in(&self, bytes: &[u8]) -> Vec<Range<usize>> {
        let all = self.secrets.iter().flat_map(|secret| disguise::places(bytes, secret.0.as_bytes()));
        let mut all: Vec<_> = all.collect();
        all.sort_by_key(|place| place.start);
        let mut apart: Vec<Range<usize>> = Vec::new();
        for place in all {
            match apart.last_mut() {
                Some(last) if place.start < last.end => last.end = last.end.max(place.end),
                _ => apart.push(place),
            }
        }
        apart
    }

    /// [`Scrub::clean`] without the count.
    pub fn text(&self, text: &str) -> String {
        self.clean(text).0
    }

    /// The error with every text cleaned.
    #[must_use]
    pub fn error(&self, mut error: ModelError) -> ModelError {
        error.message = self.text(&error.message);
        error.hint = error.hint.map(|hint| self.text(&hint));
        error
    }

    /// Overwrites each secret with `*`, byte for byte, so that places do not move. Returns how many there were.
    pub fn blot(&self, bytes: &mut [u8]) -> usize {
        let found = self.find_in(bytes);
        for place in &found {
            if let Some(place) = bytes.get_mut(place.clone()) {
                place.fill(b'*');
            }
        }
        found.len()
    }

    /// Bytes at the end of `text` that could be the start of a secret.
    fn withheld_part(&self, text: &str) -> usize {
        let begun = |secret: &Secret| disguise::begun(text.as_bytes(), secret.0.as_bytes());
        self.secrets.iter().map(begun).max().unwrap_or(0)
    }
}

/// A text that arrives in pieces, cleaned: what could be the start of a secret waits for the next piece.
#[derive(Debug, Default)]
pub(super) struct Stream {
    pending: String,
}

impl Stream {
    /// Takes a piece; returns what may be shown now, and how many secrets were masked in it.
    pub(super) fn push(&mut self, scrub: &Scrub, piece: &str) -> (String, usize) {
        self.pending.push_str(piece);
        let (mut clean, found) = scrub.clean(&self.pending);
        let hold = scrub.withheld_part(&clean);
        self.pending = clean.split_off(clean.len() - hold);
        (clean, found)
    }

    /// What was held back to the end: it was no secret.
    pub(super) fn finish(&mut self) -> String {
        std::mem::take(&mut self.pending)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scrub() -> Scrub {
        Scrub::new([Secret::new("sk-12345678"), Secret::new("sk-1234567890"), Secret::new("none")])
    }

    #[test]
    fn a_secret_is_masked_wherever_the_text_was_cut() {
        let text = "key sk-12345678, twice sk-1234567890. none sk-123";
        let expected = "key [secret], twice [secret]. none sk-123";
        assert_eq!(scrub().text(text), expected);
        for first in 0..=text.len() {
            for second in first..=text.len() {
                let mut stream = Stream::default();
                let mut shown = String::new();
                for piece in [&text[..first], &text[first..second], &text[second..]] {
                    shown += &stream.push(&scrub(), piece).0;
                }
                shown += &stream.finish();
                assert!(!shown.contains("sk-12345678"), "{shown} cut at {first} and {second}");
                assert!(shown.starts_with("key [secret]") && shown.ends_with("none sk-123"), "{shown}");
            }
        }
    }

    #[test]
    fn bytes_are_blotted_in_place() {
        let mut bytes = br"a sk-12345678 b \u0073k-12345678".to_vec();
        assert_eq!(scrub().blot(&mut bytes), 2);
        assert_eq!(bytes, b"a *********** b ****************");
    }

    #[test]
    fn secrets_that_overlap_are_masked_as_one() {
        let scrub = Scrub::new([Secret::new("abcdefgh12"), Secret::new("gh12345678")]);
        assert_eq!(scrub.text("xabcdefgh12345678y"), "x[secret]y");
    }

    #[test]
    fn a_secret_that_a_json_text_spells_in_escapes_is_masked_however_it_was_cut() {
        let text = r#"{"a":"sk-1234\u00356\u00378"} \u0073k"#;
        for cut in 0..=text.len() {
            let mut stream = Stream::default();
            let mut shown = stream.push(&scrub(), &text[..cut]).0;
            shown += &stream.push(&scrub(), &text[cut..]).0;
            shown += &stream.finish();
            assert_eq!(shown, r#"{"a":"[secret]"} \u0073k"#, "cut at {cut}");
        }
    }

    #[test]
    fn a_secret_does_not_print() {
        let secret = Secret::new("sk-12345678");
        assert_eq!(format!("{secret} {secret:?}"), "[secret] [secret]");
        assert!(!format!("{:?}", scrub()).contains("sk-"));
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
