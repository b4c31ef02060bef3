//! Secrets in the bodies of requests: keys of tool servers, headers that a service is to send, passwords in addresses.
//!
//! In: a body as JSON. Out: its secrets. It must never take a word of the conversation for one: messages are not searched.

use std::collections::VecDeque;
use std::sync::LazyLock;

use ptc_core::value::Json;
use regex::bytes::Regex;

use super::headers::{address_keys, has_secret_scheme, is_random, last_word};
use crate::config::{NOT_SECRET, is_secret_name};
use crate::model::{Scrub, Secret, Url, body_json, password_forms};

/// Members that contain the conversation.
const CONVERSATION: [&str; 7] =
    ["messages", "contents", "input", "system", "instructions", "systemInstruction", "prompt"];

/// Shortest secret, in bytes: shorter texts are words.
const MIN_BYTES: usize = 8;

/// A member that may contain a secret; attributes of spans have names with dots. Most bodies have none, and need not be parsed once more.
static CANDIDATE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r#"(?i)"[a-z_.-]*(?:authorization|key|token|secret|passw[a-z]*|credentials?|auth|headers|url|uri|url\.full)"\s*:\s*["{\[]"#)
        .ok()
});

/// Maximum number of secrets that are remembered.
const RECENT_MAX: usize = 64;

/// The secrets of the last bodies that had any.
#[derive(Default)]
pub(super) struct RecentSecrets(VecDeque<Secret>);

impl RecentSecrets {
    /// Adds the secrets of a body.
    pub(super) fn add(&mut self, secrets: Vec<Secret>) {
        for secret in secrets {
            self.0.retain(|known| *known != secret);
            self.0.push_back(secret);
        }
        while self.0.len() > RECENT_MAX {
            self.0.pop_front();
        }
    }

    /// Returns a scrub that knows them too.
    pub(super) fn added_to(&self, scrub: Scrub) -> Scrub {
        scrub.knowing(self.0.iter().cloned())
    }
}

/// Returns the secrets in a body.
pub(super) fn body_secrets(body: &[u8]) -> Vec<Secret> {
    if !CANDIDATE.as_ref().is_some_and(|candidate| candidate.is_match(body)) {
        return Vec::new();
    }
    let Ok(json) = body_json(body) else { return Vec::new() };
    let mut found = Vec::new();
    for member in json.members().unwrap_or_default() {
        if !CONVERSATION.contains(&member.key.as_str()) {
            collect(&member.key, &member.value, &mut found);
        }
    }
    found
}

fn collect(name: &str, value: &Json, found: &mut Vec<Secret>) {
    if let Some(text) = value.as_str() {
        collect_text(name, text, found);
        return;
    }
    for item in value.items().unwrap_or_default() {
        collect(name, item, found);
    }
    for member in value.members().unwrap_or_default() {
        collect(&member.key, &member.value, found);
    }
}

fn collect_text(name: &str, text: &str, found: &mut Vec<Secret>) {
    let is_named = is_secret_name(name) && !NOT_SECRET.contains(&name);
    if is_named && is_secret(name, text) || has_secret_scheme(name, text) {
        found.extend([text, last_word(text)].map(Secret::new));
    }
    if text.contains("://") {
        let url = Url::parse(text).ok();
        found.extend(url.iter().flat_map(password_forms));
        // A token instead of the user: `https://TOKEN@host`.
        let user = url.as_ref().filter(|url| url.password().is_none()).map(Url::username);
        found.extend(user.filter(|user| is_random(user)).map(Secret::new));
        found.extend(address_keys(text).map(Secret::new));
    }
}

/// Returns whether the value of a member that is named like a secret is a secret, not a word or a sentence.
fn is_secret(name: &str, text: &str) -> bool {
    let is_authorization = name.to_ascii_lowercase().contains("authorization");
    // After the name of a scheme: `Bearer`, `token`, ….
    let key = if is_authorization { last_word(text) } else { text };
    let has_mark = || key.bytes().any(|byte| byte.is_ascii_digit() || byte == b'_');
    // `key` is also the name of an attribute, whose value is a word.
    let is_vague = name == "key" && !is_random(key);
    key.len() >= MIN_BYTES && !key.contains(' ') && !is_vague && (is_authorization || has_mark())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Scrub;

    fn scrubbed(body: &str) -> String {
        Scrub::new(body_secrets(body.as_bytes())).text(body)
    }

    #[test]
    fn keys_of_tool_servers_and_passwords_of_addresses_are_secrets() {
        let body = r#"{"model":"m","tools":[{"type":"mcp","server_url":"https://u:pass-word-1@x/sse?api_key=sk-one-123456",
            "authorization":"gho_twotwotwo","headers":{"Authorization":"Bearer sk-three-1","X-Tenant":"sk-tenant-1"}}],
            "mcp_servers":[{"url":"https://token1234user@y","authorization":"token ghp_AAAA1111bbbb","Authorization":"abcdefghijklmnop","authorization_token":"sk-four-123"}],"client_secret":"ek_five_five"}"#;
        let clean = scrubbed(body);
        for key in ["pass-word-1", "sk-one-123456", "gho_twotwotwo", "sk-three-1", "sk-four-123", "ek_five_five"]
            .into_iter()
            .chain(["token1234user", "ghp_AAAA1111bbbb", "abcdefghijklmnop"])
        {
            assert!(!clean.contains(key), "{key}: {clean}");
        }
        assert!(clean.contains("sk-tenant-1") && clean.contains("https://"), "{clean}");
    }

    #[test]
    fn words_settings_and_the_conversation_are_not_secrets() {
        for body in [
            r#"{"messages":[{"role":"user","content":"x","token":"tok_12345678"}],"input":{"password":"hunter2hunter2"}}"#,
            r#"{"prompt_cache_key":"session-12345678","max_tokens":12345678,"tool_choice":"required"}"#,
            r#"{"tools":[{"parameters":{"properties":{"token":{"type":"string"},"api_key":{"description":"the key of 2024"}}}}]}"#,
            r#"{"metadata":{"key":"colour"},"tools":[{"filters":{"key":"document_type","type":"eq"}}]}"#,
        ] {
            assert_eq!(scrubbed(body), body);
        }
    }
}
