//! MCP servers: sections `[mcp.NAME]`.
//!
//! In: a section. Out: how to start or reach the server. It contains names of variables, never keys.

use ptc_core::value::Json;

use super::document::{Entry, Key, KeyDoc, KeyTable, Names, Problem, Problems, key_table, read_table, set};
use super::provider::BaseFolders;
use super::tls::{CA_FILE, CLIENT_CERTIFICATE_FILE, TlsFiles};
use super::variable::variable;

/// A server whose tools agents may use.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ServerEntry {
    /// Its name.
    pub name: String,
    /// The server's program and its arguments; empty for a server with a URL.
    pub command: Vec<String>,
    /// Working folder of the program.
    pub folder: Option<String>,
    /// Names of additional environment variables for the program.
    pub env: Vec<String>,
    /// URL of an HTTP server.
    pub url: Option<String>,
    /// Headers of its requests; `${NAME}` is an environment variable.
    pub headers: Vec<(String, String)>,
    /// Minimum severity of the log messages to request from it; with `None` the server decides.
    pub log_level: Option<&'static str>,
    /// Handling of its requests for replies of a model.
    pub sampling: Sampling,
    /// Certificates in addition to those of the system, for a server with a URL.
    pub tls: TlsFiles,
    /// Login settings, for a server with a URL.
    pub oauth: OAuthSettings,
}

/// Handling of a server's requests for replies of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sampling {
    /// They are refused.
    #[default]
    Refuse,
    /// The user decides about each.
    Ask,
}

/// The values of `sampling`.
const SAMPLING: [(&str, Sampling); 2] = [("refuse", Sampling::Refuse), ("ask", Sampling::Ask)];

/// Settings of the login at the authorisation server of an MCP server.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OAuthSettings {
    /// The ID of this client; without one the program registers itself.
    pub client_id: Option<String>,
    /// The environment variable with the secret of the client.
    pub client_secret_env: Option<String>,
    /// The scopes to ask for; empty for those that the server names.
    pub scopes: Vec<String>,
    /// The port of the redirect on this machine; `None` for a free one.
    pub redirect_port: Option<u16>,
}

impl OAuthSettings {
    /// Returns the secret of the client. Errors name the variable.
    pub fn client_secret(&self) -> Result<Option<String>, String> {
        let Some(name) = &self.client_secret_env else { return Ok(None) };
        match std::env::var(name).map(|value| value.trim().to_owned()) {
            Ok(value) if !value.is_empty() => Ok(Some(value)),
            _ => Err(format!("the environment variable {name} is not set; set it with: export {name}=…")),
        }
    }
}

/// Severities of the protocol, from the least.
const LEVELS: [&str; 8] = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

/// A server while its section is read.
struct Target {
    server: ServerEntry,
    start: BaseFolders,
}

const KEYS: &[Key<Target>] = &[
    Key {
        name: "command",
        about: KeyDoc::Text("list of strings", "", "The server's program and its arguments; either this or `url`."),
        read: |entry, target, problems| set(&mut target.server.command, entry.texts(), problems),
    },
    Key {
        name: "folder",
        about: KeyDoc::Text("folder", "", "Working folder of the program; by default that of the workbench."),
        read: |entry, target, problems| set(&mut target.server.folder, entry.non_blank_text().map(Some), problems),
    },
    Key {
        name: "env",
        about: KeyDoc::Text("list of names", "", "Additional environment variables that the program gets."),
        read: |entry, target, problems| set(&mut target.server.env, entry.texts(), problems),
    },
    Key {
        name: "url",
        about: KeyDoc::Text("address", "", "URL of an HTTP server."),
        read: |entry, target, problems| set(&mut target.server.url, entry.non_blank_text().map(Some), problems),
    },
    Key {
        name: "headers",
        about: KeyDoc::Text("table of strings", "", "Headers of its requests; `${NAME}` is an environment variable."),
        read: |entry, target, problems| set(&mut target.server.headers, entry.text_table(), problems),
    },
    Key {
        name: "log_level",
        about: KeyDoc::Text(
            "debug, info, notice, warning, error, critical, alert, emergency",
            "the server decides",
            "Minimum severity of the log messages requested from the server.",
        ),
        read: |entry, target, problems| {
            let rows = LEVELS.map(|level| (level, Some(level)));
            let level = entry.named(&Names { what: "log level", rows: &rows });
            set(&mut target.server.log_level, level, problems);
        },
    },
    Key {
        name: "sampling",
        about: KeyDoc::Text(
            "refuse, ask",
            "refuse",
            "Requests of the server for model replies: refused, or answered by the run's model after you consent to each.",
        ),
        read: |entry, target, problems| {
            let sampling = entry.named(&Names { what: "sampling policy", rows: &SAMPLING });
            set(&mut target.server.sampling, sampling, problems);
        },
    },
    Key {
        name: "oauth_client_id",
        about: KeyDoc::Text(
            "text",
            "the program registers itself",
            "The ID of this client at the authorisation server, for `tools login`.",
        ),
        read: |entry, target, problems| {
            set(&mut target.server.oauth.client_id, entry.non_blank_text().map(Some), problems);
        },
    },
    Key {
        name: "oauth_client_secret_env",
        about: KeyDoc::Text("name", "", "The environment variable with the secret of that client, if it has one."),
        read: |entry, target, problems| {
            set(&mut target.server.oauth.client_secret_env, variable(entry).map(Some), problems);
        },
    },
    Key {
        name: "oauth_scopes",
        about: KeyDoc::Text(
            "list of strings",
            "those that the server names",
            "The scopes that `tools login` asks for.",
        ),
        read: |entry, target, problems| set(&mut target.server.oauth.scopes, entry.texts(), problems),
    },
    Key {
        name: "oauth_redirect_port",
        about: KeyDoc::Text(
            "port",
            "a free one",
            "The port on 127.0.0.1 to which the authorisation server redirects the browser, with the path `/callback`.",
        ),
        read: |entry, target, problems| {
            set(&mut target.server.oauth.redirect_port, entry.port().map(Some), problems);
        },
    },
    Key {
        name: CA_FILE.0,
        about: CA_FILE.1,
        read: |entry, target, problems| {
            set(&mut target.server.tls.ca_file, target.start.file(entry).map(Some), problems);
        },
    },
    Key {
        name: CLIENT_CERTIFICATE_FILE.0,
        about: CLIENT_CERTIFICATE_FILE.1,
        read: |entry, target, problems| {
            let file = target.start.file(entry).map(Some);
            set(&mut target.server.tls.client_certificate_file, file, problems);
        },
    },
];

/// Returns the documentation of a server's table.
pub(super) fn table() -> KeyTable {
    key_table("[mcp.NAME]", KEYS)
}

pub(super) fn read(entry: &Entry<'_>, start: &BaseFolders, problems: &mut Problems) -> ServerEntry {
    let server = ServerEntry { name: entry.key.to_owned(), ..ServerEntry::default() };
    let mut target = Target { server, start: start.clone() };
    read_table(entry, KEYS, &mut target, problems);
    let server = target.server;
    if server.command.is_empty() == server.url.is_none() {
        let message = format!("[mcp.{}] needs either `command` (the server's program) or `url`", server.name);
        problems.push(Problem { message, ..entry.problem("") });
    }
    if server.url.is_none() && server.oauth != OAuthSettings::default() {
        let message = format!("[mcp.{}] has `oauth_` keys, which only a server with `url` uses", server.name);
        problems.push(Problem { message, ..entry.problem("") });
    }
    server
}

impl ServerEntry {
    /// Returns how to start or reach it, as keys of a tool.
    pub fn keys(&self) -> Vec<(&'static str, Json)> {
        let texts = |texts: &[String]| Json::list(texts.iter().map(Json::str));
        let mut keys = Vec::new();
        if !self.command.is_empty() {
            keys.push(("command", texts(&self.command)));
        }
        keys.extend(self.folder.iter().map(|folder| ("folder", Json::str(folder))));
        if !self.env.is_empty() {
            keys.push(("env", texts(&self.env)));
        }
        keys.extend(self.url.iter().map(|url| ("url", Json::str(url))));
        if !self.headers.is_empty() {
            let headers = self.headers.iter().map(|(name, value)| (name.as_str(), Json::str(value)));
            keys.push(("headers", Json::object(headers)));
        }
        keys
    }
}
