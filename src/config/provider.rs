//! Providers: base URL, protocol and key of a model service.
//!
//! In: a section `[providers.NAME]`, which may change a built-in one. Out: a [`Provider`]. A key in the file itself is
//! refused.

use std::path::PathBuf;

use ptc_core::limits::{
    CONCURRENT_REQUESTS, CONNECT_TIME, FIRST_BYTE_TIME, KEEP_ALIVE_TIME, KEY_TTL, Limit, SILENCE_TIME,
};
use serde::{Deserialize, Serialize};

use super::document::{Entry, Key, KeyDoc, KeyTable, Names, Problem, Problems, key_table, read_table, set};
use super::options::{EXTRA_BODY, extra_body};
use super::secret_name::is_plain_secret;
use super::tls::{CA_FILE, CLIENT_CERTIFICATE_FILE, TlsFiles};
use super::variable::variable;
use crate::event::JsonText;

/// A wire protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Protocol {
    /// Chat completions as defined by `OpenAI` and implemented by many servers.
    OpenAi,
    /// `OpenAI`'s Responses API: `kind = "openai"` with `api = "responses"`.
    Responses,
    /// Anthropic's Messages API.
    Anthropic,
    /// Google's generateContent API.
    Gemini,
    /// Ollama's native API.
    Ollama,
    /// The Converse API of Amazon Bedrock.
    Bedrock,
}

impl Protocol {
    pub(crate) const ALL: [Self; 6] =
        [Self::OpenAi, Self::Responses, Self::Anthropic, Self::Gemini, Self::Ollama, Self::Bedrock];
    /// Values of `kind`.
    const KINDS: [Self; 5] = [Self::OpenAi, Self::Anthropic, Self::Gemini, Self::Ollama, Self::Bedrock];

    /// Returns the name in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::Responses => "responses",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
            Self::Ollama => "ollama",
            Self::Bedrock => "bedrock",
        }
    }

    /// Returns whether it has strict tools.
    pub fn has_strict_tools(self) -> bool {
        matches!(self, Self::OpenAi | Self::Responses | Self::Anthropic)
    }
}

/// One of the two APIs of services of `kind = "openai"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Api {
    /// Chat completions.
    Chat,
    /// The Responses API.
    Responses,
}

impl Api {
    /// Returns the protocol that it makes of a provider's.
    pub(super) fn of(self, kind: Protocol) -> Protocol {
        match (self, kind) {
            (Self::Responses, Protocol::OpenAi) => Protocol::Responses,
            _ => kind,
        }
    }
}

/// A provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Provider {
    /// Its name.
    pub name: String,
    /// Its protocol.
    pub kind: Protocol,
    /// The API, if it is configured.
    pub api: Option<Api>,
    /// Version of the protocol, for protocols with several.
    pub version: Option<String>,
    /// Region of the service, for `bedrock`.
    pub region: Option<String>,
    /// Base URL of the API, without a trailing slash.
    pub base_url: String,
    /// Source of its key; `None` for servers without keys.
    pub key: Option<KeySource>,
    /// Headers of every request.
    pub headers: Vec<(String, String)>,
    /// Further members of every request's body, an object.
    pub extra_body: Option<JsonText>,
    /// Limit `concurrent_requests`.
    pub concurrent_requests: u32,
    /// Its timeouts.
    pub timeouts: Timeouts,
    /// Certificates in addition to those of the system.
    pub tls: TlsFiles,
}

/// Timeouts in ms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Timeouts {
    /// Limit `connect_ms`.
    pub connect_ms: u64,
    /// Limit `first_byte_ms`.
    pub first_byte_ms: u64,
    /// Limit `silence_ms`.
    pub silence_ms: u64,
    /// Limit `keep_alive_ms`.
    pub keep_alive_ms: u64,
}

impl Default for Timeouts {
    fn default() -> Self {
        let usual = |limit: Limit| u64::from(limit.usual());
        Self {
            connect_ms: usual(CONNECT_TIME),
            first_byte_ms: usual(FIRST_BYTE_TIME),
            silence_ms: usual(SILENCE_TIME),
            keep_alive_ms: usual(KEEP_ALIVE_TIME),
        }
    }
}

/// Source of an API key; the value is read when a run needs it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum KeySource {
    /// An environment variable.
    Env(String),
    /// A file that contains nothing but the key.
    File(PathBuf),
    /// A command that prints the key.
    Command(KeyCommand),
}

/// A command that prints a key.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct KeyCommand {
    /// The program and its arguments; never empty.
    pub argv: Vec<String>,
    /// Limit `api_key_ttl_s`.
    pub ttl_s: Option<u64>,
}

/// A provider while its section is read.
struct Target {
    provider: Provider,
    keys: Vec<KeySource>,
    key_ttl_s: Option<u64>,
    start: BaseFolders,
}

/// Base folders of the files named in a configuration.
#[derive(Debug, Clone)]
pub(super) struct BaseFolders {
    /// Folder of the configuration, for relative paths.
    pub(super) folder: PathBuf,
    /// Home folder, for `~/`.
    pub(super) home: Option<PathBuf>,
}

impl BaseFolders {
    /// Reads the path of a file.
    pub(super) fn file(&self, entry: &Entry<'_>) -> Result<PathBuf, Problem> {
        entry.non_blank_text().map(|text| self.place(&text))
    }

    fn place(&self, text: &str) -> PathBuf {
        match (text.strip_prefix("~/"), &self.home) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => self.folder.join(text),
        }
    }
}

const KEYS: &[Key<Target>] = &[
    Key {
        name: "kind",
        about: KeyDoc::Text(
            "openai, anthropic, gemini, ollama, bedrock",
            "",
            "Required: the protocol. `openai` is chat completions, which many servers implement, or the Responses API (`api`).",
        ),
        read: |entry, target, problems| set(&mut target.provider.kind, kind(entry), problems),
    },
    Key {
        name: "base_url",
        about: KeyDoc::Text("address", "", "Required: the base URL, such as `http://127.0.0.1:8080/v1`."),
        read: |entry, target, problems| set(&mut target.provider.base_url, url(entry), problems),
    },
    Key {
        name: API.0,
        about: API.1,
        read: |entry, target, problems| set(&mut target.provider.api, api(entry), problems),
    },
    Key {
        name: "version",
        about: KeyDoc::Text("text", "", "Version of the protocol, if it has several."),
        read: |entry, target, problems| set(&mut target.provider.version, plain_word(entry).map(Some), problems),
    },
    Key {
        name: "region",
        about: KeyDoc::Text(
            "name of a region",
            "that of `base_url`, else AWS_REGION",
            "For `kind = \"bedrock\"`: the region for which requests are signed.",
        ),
        read: |entry, target, problems| set(&mut target.provider.region, plain_word(entry).map(Some), problems),
    },
    Key {
        name: "api_key_env",
        about: KeyDoc::Text(
            "name of a variable",
            "",
            "The environment variable that contains the key. Servers without keys need neither this nor `api_key_file` nor `api_key_command`.",
        ),
        read: |entry, target, problems| target.keys.extend(problems.take(variable(entry)).map(KeySource::Env)),
    },
    Key {
        name: "api_key_file",
        about: KeyDoc::Text(
            "file",
            "",
            "A file that contains nothing but the key; relative to the folder of `config.toml`, or to the home folder with `~/`.",
        ),
        read: |entry, target, problems| {
            target.keys.extend(problems.take(target.start.file(entry)).map(KeySource::File));
        },
    },
    Key {
        name: "api_key_command",
        about: KeyDoc::Text(
            "list of strings",
            "",
            "A program and its arguments, started without a shell, that prints nothing but the key: for short-lived tokens. Its key is used until the service refuses it (401, 403) or for `api_key_ttl_s`.",
        ),
        read: |entry, target, problems| {
            target.keys.extend(problems.take(key_command(entry, &target.start)).map(KeySource::Command));
        },
    },
    Key {
        name: KEY_TTL.name,
        about: KeyDoc::Limit(&KEY_TTL),
        read: |entry, target, problems| set(&mut target.key_ttl_s, entry.limit(&KEY_TTL).map(Some), problems),
    },
    Key {
        name: CA_FILE.0,
        about: CA_FILE.1,
        read: |entry, target, problems| {
            set(&mut target.provider.tls.ca_file, target.start.file(entry).map(Some), problems);
        },
    },
    Key {
        name: CLIENT_CERTIFICATE_FILE.0,
        about: CLIENT_CERTIFICATE_FILE.1,
        read: |entry, target, problems| {
            let file = target.start.file(entry).map(Some);
            set(&mut target.provider.tls.client_certificate_file, file, problems);
        },
    },
    Key {
        name: "headers",
        about: KeyDoc::Text("table of strings", "", "Headers of every request; `${NAME}` is an environment variable."),
        read: |entry, target, problems| set(&mut target.provider.headers, headers(entry), problems),
    },
    Key {
        name: EXTRA_BODY.0,
        about: EXTRA_BODY.1,
        read: |entry, target, problems| set(&mut target.provider.extra_body, extra_body(entry).map(Some), problems),
    },
    Key {
        name: CONCURRENT_REQUESTS.name,
        about: KeyDoc::Limit(&CONCURRENT_REQUESTS),
        read: |entry, target, problems| {
            let count = entry.limit(&CONCURRENT_REQUESTS).map(|count| u32::try_from(count).unwrap_or(u32::MAX));
            set(&mut target.provider.concurrent_requests, count, problems);
        },
    },
    Key {
        name: CONNECT_TIME.name,
        about: KeyDoc::Limit(&CONNECT_TIME),
        read: |entry, target, problems| {
            set(&mut target.provider.timeouts.connect_ms, entry.limit(&CONNECT_TIME), problems);
        },
    },
    Key {
        name: FIRST_BYTE_TIME.name,
        about: KeyDoc::Limit(&FIRST_BYTE_TIME),
        read: |entry, target, problems| {
            set(&mut target.provider.timeouts.first_byte_ms, entry.limit(&FIRST_BYTE_TIME), problems);
        },
    },
    Key {
        name: SILENCE_TIME.name,
        about: KeyDoc::Limit(&SILENCE_TIME),
        read: |entry, target, problems| {
            set(&mut target.provider.timeouts.silence_ms, entry.limit(&SILENCE_TIME), problems);
        },
    },
    Key {
        name: KEEP_ALIVE_TIME.name,
        about: KeyDoc::Limit(&KEEP_ALIVE_TIME),
        read: |entry, target, problems| {
            set(&mut target.provider.timeouts.keep_alive_ms, entry.limit(&KEEP_ALIVE_TIME), problems);
        },
    },
];

/// Returns the documentation of a provider's table.
pub(super) fn table() -> KeyTable {
    key_table("[providers.NAME]", KEYS)
}

/// Reads a section; keys that it does not set keep the values of `known`.
pub(super) fn read(
    entry: &Entry<'_>,
    known: Option<Provider>,
    start: &BaseFolders,
    problems: &mut Problems,
) -> Provider {
    if known.is_none() {
        for name in ["kind", "base_url"] {
            if entry.json.members().is_some() && entry.json.get(name).is_none() {
                problems.push(entry.missing(name));
            }
        }
    }
    let provider = known.unwrap_or_else(|| Provider {
        name: entry.key.to_owned(),
        kind: Protocol::OpenAi,
        api: None,
        version: None,
        region: None,
        base_url: String::new(),
        key: None,
        headers: Vec::new(),
        extra_body: None,
        concurrent_requests: CONCURRENT_REQUESTS.usual(),
        timeouts: Timeouts::default(),
        tls: TlsFiles::default(),
    });
    let mut target = Target { provider, keys: Vec::new(), key_ttl_s: None, start: start.clone() };
    match entry.json.get("api_key") {
        Some(_) => problems.push(refuse_literal_key(entry)),
        None => read_table(entry, KEYS, &mut target, problems),
    }
    if target.keys.len() > 1 {
        let message = format!(
            "[{}] names several keys; keep one of `api_key_env`, `api_key_file` and `api_key_command`",
            entry.path
        );
        problems.push(Problem { key: entry.path.clone(), span: entry.key_span, message });
    }
    if let Some(key) = target.keys.pop() {
        target.provider.key = Some(key);
    }
    match (&mut target.provider.key, target.key_ttl_s) {
        (Some(KeySource::Command(command)), ttl_s @ Some(_)) => command.ttl_s = ttl_s,
        (_, Some(_)) => {
            let message = format!("[{}] sets `{}` without `api_key_command`", entry.path, KEY_TTL.name);
            problems.push(Problem { key: format!("{}.{}", entry.path, KEY_TTL.name), span: entry.key_span, message });
        }
        _ => {}
    }
    target.provider
}

/// Returns the error for a key in the file; it must not contain the key.
fn refuse_literal_key(entry: &Entry<'_>) -> Problem {
    let members = entry.json.members().unwrap_or_default();
    let span = members.iter().find(|member| member.key == "api_key").map_or(entry.key_span, |member| member.key_span);
    let variable = format!("{}_API_KEY", entry.key.to_uppercase().replace(|c: char| !c.is_ascii_alphanumeric(), "_"));
    let message = format!(
        "keys must not be in this file: set an environment variable and write `api_key_env = \"{variable}\"`, \
         or keep the key in a file of its own and write `api_key_file = \"PATH\"`"
    );
    Problem { key: format!("{}.api_key", entry.path), span, message }
}

/// Reads a command. A text is refused: no shell would divide it.
fn key_command(entry: &Entry<'_>, start: &BaseFolders) -> Result<KeyCommand, Problem> {
    if entry.json.as_str().is_some() {
        return Err(entry.expected(
            "a list of the program and its arguments, such as [\"gcloud\", \"auth\", \"print-access-token\"]",
        ));
    }
    let mut argv = entry.texts()?;
    match argv.first_mut() {
        Some(program) if !program.trim().is_empty() => {
            if program.starts_with("~/") {
                *program = start.place(program).to_string_lossy().into_owned();
            }
        }
        _ => return Err(entry.problem(format!("`{}` must name a program", entry.path))),
    }
    Ok(KeyCommand { argv, ttl_s: None })
}

fn kind(entry: &Entry<'_>) -> Result<Protocol, Problem> {
    let rows = Protocol::KINDS.map(|kind| (kind.name(), kind));
    entry.named(&Names { what: "protocol", rows: &rows })
}

/// Name and documentation of the key `api`, of providers and of models.
pub(super) const API: (&str, KeyDoc) = (
    "api",
    KeyDoc::Text(
        "chat, responses",
        "",
        "For `kind = \"openai\"`: chat completions or the Responses API. The default is that of the shipped table for known models of the service, else `chat`.",
    ),
);

/// Reads the key `api`.
pub(super) fn api(entry: &Entry<'_>) -> Result<Option<Api>, Problem> {
    let rows = [("chat", Some(Api::Chat)), ("responses", Some(Api::Responses))];
    entry.named(&Names { what: "API", rows: &rows })
}

/// Ends of addresses that this program appends itself.
const RESOURCES: [&str; 5] = ["/chat/completions", "/v1/responses", "/v1/messages", "/api/chat", "/api/generate"];

fn url(entry: &Entry<'_>) -> Result<String, Problem> {
    let text = entry.non_blank_text()?;
    let path = text.split(['?', '#']).next().unwrap_or_default().trim_end_matches('/');
    if let Some(resource) = RESOURCES.iter().find(|resource| path.ends_with(**resource)) {
        return Err(entry.problem(format!("`{}` must not contain `{resource}`, which is appended to it", entry.path)));
    }
    let rest = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://"));
    match rest {
        Some(rest) if !rest.is_empty() && !rest.contains(char::is_whitespace) => {
            Ok(text.trim_end_matches('/').to_owned())
        }
        _ => Err(entry.problem(format!("`{}` must start with http:// or https://, found {text:?}", entry.path))),
    }
}

/// Reads what becomes part of a header, URL or signature, so that only plain characters are valid.
fn plain_word(entry: &Entry<'_>) -> Result<String, Problem> {
    let text = entry.non_blank_text()?;
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_');
    if text.chars().all(plain) {
        Ok(text)
    } else {
        Err(entry.expected("a string of letters, digits and -._, such as \"2023-06-01\""))
    }
}

fn headers(entry: &Entry<'_>) -> Result<Vec<(String, String)>, Problem> {
    let secret = |entry: &&Entry<'_>| is_plain_secret(entry.key, entry.json.as_str().unwrap_or_default());
    if let Some(entry) = entry.entries()?.iter().find(secret) {
        let message = format!(
            "`{}` contains a key, and keys must not be in this file; use `api_key_env` or `api_key_file`, or write `${{NAME}}` for \
             a variable of the environment",
            entry.path
        );
        return Err(Problem { key: entry.path.clone(), span: entry.key_span, message });
    }
    entry.text_table()
}
