//! The scan for secrets: the one table of scan rules.
//!
//! In: a text. Out: the positions in it that look like a key, each with its rule. It must never store or print what it found.

use std::cell::OnceCell;
use std::ops::Range;
use std::sync::OnceLock;

use regex::Regex;

use crate::model::{entropy, search_decoded};

/// A shape that secrets have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScanRule {
    /// Stable name.
    pub name: &'static str,
    /// The secrets that it finds.
    pub meaning: &'static str,
    /// The regular expression; where it has a group, only the group is the secret.
    pattern: &'static str,
    /// Words can have this shape too: what is found must also look random.
    random: bool,
    /// Texts in lower case: whatever the pattern finds contains one of them, without regard to case.
    parts: &'static [&'static str],
}

const fn rule(
    name: &'static str,
    meaning: &'static str,
    parts: &'static [&'static str],
    pattern: &'static str,
) -> ScanRule {
    ScanRule { name, meaning, pattern, random: false, parts }
}

impl ScanRule {
    /// The rule of a name.
    pub(crate) fn named(name: &str) -> Option<&'static Self> {
        SCAN_RULES.iter().find(|rule| rule.name == name)
    }
}

/// Every rule. Where several fit at one place, the first names it.
pub const SCAN_RULES: &[ScanRule] = &[
    rule(
        "private_key",
        "a private key in PEM form",
        &["-----begin "],
        r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----[\s\S]*?(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|\z)",
    ),
    rule("anthropic_key", "a key of Anthropic", &["sk-ant-"], r"\bsk-ant-[A-Za-z0-9_-]{16,}"),
    rule("openrouter_key", "a key of OpenRouter", &["sk-or-"], r"\bsk-or-[A-Za-z0-9_-]{16,}"),
    ScanRule {
        random: true,
        ..rule(
            "openai_key",
            "a key of OpenAI, or of a service with the same key format",
            &["sk-"],
            r"\bsk-[A-Za-z0-9_-]{20,}",
        )
    },
    rule("google_key", "a key of Google", &["aiza"], r"\bAIza[A-Za-z0-9_-]{35}"),
    rule("groq_key", "a key of Groq", &["gsk_"], r"\bgsk_[A-Za-z0-9]{20,}"),
    rule("xai_key", "a key of xAI", &["xai-"], r"\bxai-[A-Za-z0-9]{20,}"),
    rule("huggingface_token", "a token of Hugging Face", &["hf_"], r"\bhf_[A-Za-z0-9]{30,}"),
    rule(
        "aws_access_key",
        "an access key id of AWS",
        &["akia", "asia", "abia", "acca"],
        r"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b",
    ),
    rule(
        "github_token",
        "a token of GitHub",
        &["ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"],
        r"\b(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{22,})",
    ),
    rule("gitlab_token", "a token of GitLab", &["glpat-"], r"\bglpat-[A-Za-z0-9_-]{20,}"),
    rule("slack_token", "a token of Slack", &["xox"], r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}"),
    rule("stripe_key", "a key of Stripe", &["k_live_", "k_test_"], r"\b[rs]k_(?:live|test)_[A-Za-z0-9]{16,}"),
    rule("npm_token", "a token of npm", &["npm_"], r"\bnpm_[A-Za-z0-9]{36}"),
    rule("jwt", "a JSON Web Token", &["eyj"], r"\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*"),
    ScanRule {
        random: true,
        ..rule(
            "bearer",
            "the credentials of an HTTP header",
            &["bearer", "basic"],
            r"(?i)\b(?:bearer|basic)\s+([A-Za-z0-9._~+/-]{20,}=*)",
        )
    },
    rule("url_password", "a password inside an address", &["://"], r"\b[a-z][a-z0-9+.-]*://[^\s/:@]+:([^\s/@]{3,})@"),
    ScanRule {
        name: "assignment",
        meaning: "a random text under a name such as key, token, secret or password",
        parts: &SECRET_NAMES,
        pattern: r#"(?i)[a-z0-9_.-]*(?:key|token|secret|passwd|password|credential)[a-z0-9_.-]*\\?["']?\s*(?::=|=>|[:=]|\s)\s*\\?["']?([A-Za-z0-9+/_.~-]{16,}=*)"#,
        random: true,
    },
];

/// Parts of the names of assigned secrets, in lower case.
const SECRET_NAMES: [&str; 6] = ["key", "token", "secret", "passwd", "password", "credential"];

/// The patterns of the rules. Compiling all of them takes longer than most commands, so each is compiled for the first text that may match.
static COMPILED: [OnceLock<Option<Regex>>; SCAN_RULES.len()] = [const { OnceLock::new() }; SCAN_RULES.len()];

/// Returns the text in lower case, so that it can be searched without regard to case.
fn lower_case(text: &str) -> String {
    // Without regard to case, patterns take this letter for an `s`; its lower case is itself.
    text.to_lowercase().replace('ſ', "s")
}

/// The positions in a text that look like a secret, and by which rule; also what its readers see when they decode it. `name` is the name
/// of the text, if any.
pub(crate) fn scan(text: &str, name: Option<&str>) -> Vec<(Range<usize>, &'static str)> {
    search_decoded(text, |text| scan_spelled(text, name))
}

fn scan_spelled(text: &str, name: Option<&str>) -> Vec<(Range<usize>, &'static str)> {
    let mut found = Vec::new();
    let lower = OnceCell::new();
    for (rule, compiled) in SCAN_RULES.iter().zip(&COMPILED) {
        let has_part = || holds_any(lower.get_or_init(|| lower_case(text)), rule.parts);
        if compiled.get().is_none() && !has_part() {
            continue;
        }
        let Some(pattern) = compiled.get_or_init(|| Regex::new(rule.pattern).ok()) else { continue };
        for captures in pattern.captures_iter(text) {
            let Some(place) = captures.get(1).or_else(|| captures.get(0)) else { continue };
            if !rule.random || looks_random(place.as_str()) {
                found.push((place.range(), rule.name));
            }
        }
    }
    let has_secret_name = |name: &str| holds_any(name, &SECRET_NAMES) || name.contains("authorization");
    let named = name.is_some_and(|name| has_secret_name(&lower_case(name)));
    if named && text.len() >= RANDOM_MIN_BYTES && !text.contains(char::is_whitespace) && looks_random(text) {
        found.push((0..text.len(), "assignment"));
    }
    found
}

fn holds_any(text: &str, parts: &[&str]) -> bool {
    parts.iter().any(|part| text.contains(part))
}

/// The shortest text that counts as random.
const RANDOM_MIN_BYTES: usize = 16;
/// Minimum bits per character of a random text; words have about 2 to 3.
const RANDOM_BITS: f64 = 3.2;

/// Letters and digits without much repetition: what a generator makes, and no word.
fn looks_random(text: &str) -> bool {
    let digits = text.bytes().filter(u8::is_ascii_digit).count();
    let letters = text.bytes().filter(u8::is_ascii_alphabetic).count();
    text.len() >= RANDOM_MIN_BYTES && digits >= 2 && letters >= 2 && entropy(text.as_bytes()) >= RANDOM_BITS
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<&'static str> {
        let mut names: Vec<_> = scan(text, None).into_iter().map(|(_, name)| name).collect();
        names.dedup();
        names
    }

    /// One example of each rule, put together here so that no file of the project holds the shape of a key.
    fn example(rule: &str) -> String {
        let body = "Zx9Kq2Lm7Vb4Nt8Rw3Yp6Sd1Fg5Hj0AcEuIo";
        match rule {
            "private_key" => format!("-----BEGIN {0}-----\nMIIB\n-----END {0}-----", "RSA PRIVATE KEY"),
            "anthropic_key" => format!("sk-ant-{body}"),
            "openrouter_key" => format!("sk-or-{body}"),
            "openai_key" => format!("sk-{body}"),
            "google_key" => format!("AIza{}", &body[..35]),
            "groq_key" => format!("gsk_{body}"),
            "xai_key" => format!("xai-{body}"),
            "huggingface_token" => format!("hf_{body}"),
            "aws_access_key" => format!("AKIA{}", "QWERTYUIOPASDFGH"),
            "github_token" => format!("ghp_{body}"),
            "gitlab_token" => format!("glpat-{body}"),
            "slack_token" => format!("xoxb-{body}"),
            "stripe_key" => format!("sk_live_{body}"),
            "npm_token" => format!("npm_{body}"),
            "jwt" => format!("eyJ{body}.eyJ{body}.{body}"),
            "bearer" => format!("Bearer {body}"),
            "url_password" => "postgres://me:hunter22@db.test/x".to_owned(),
            "assignment" => format!("DB_PASSWORD = \"{body}\""),
            other => unreachable!("no example for {other}"),
        }
    }

    #[test]
    fn every_rule_finds_its_example_and_compiles() {
        for rule in SCAN_RULES {
            let pattern = Regex::new(rule.pattern).expect(rule.name);
            let text = format!("before {} after", example(rule.name));
            // What a pattern finds contains one of the parts of its rule.
            for text in [
                text.clone(),
                text.to_lowercase(),
                text.to_uppercase(),
                text.replace('s', "ſ"),
                text.replace('k', "\u{212a}"),
            ] {
                let is_found = pattern.is_match(&text);
                assert!(!is_found || holds_any(&lower_case(&text), rule.parts), "{}: {text}", rule.name);
            }
            assert!(names(&text).contains(&rule.name), "{}: {:?}", rule.name, names(&text));
            assert!(!rule.meaning.is_empty());
        }
    }

    #[test]
    fn words_numbers_and_hashes_without_a_name_are_no_secrets() {
        for text in [
            "The key question is whether tokens are counted.",
            "token: understanding-the-problem-well",
            "password: correct horse battery staple",
            "sha 0f3c1e9a2b4d5c6f7a8b9c0d1e2f3a4b",
            "max_tokens = 1000000000000000",
            "{\"keyboard\": \"mechanical-keyboard-x\"}",
            "https://example.test:8080/a@b",
            "basic internationalization-of-everything",
            "an sk-learn-based-classification-pipeline",
        ] {
            assert_eq!(names(text), Vec::<&str>::new(), "{text}");
        }
    }

    #[test]
    fn the_name_of_a_member_counts_as_an_assignment() {
        let value = "Zx9Kq2Lm7Vb4Nt8Rw3Yp";
        assert_eq!(scan(value, Some("api_key")), [(0..20, "assignment")]);
        assert_eq!(scan(value, Some("product")), []);
    }
}
