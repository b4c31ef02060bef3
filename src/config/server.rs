//! Servers of tools: sections `[mcp.NAME]`.
//!
//! In: a section. Out: how the server is started or reached. Only names of variables stand here, never a key.

use ptc_core::value::Json;

use super::document::{About, Entry, Key, KeyTable, Problem, Problems, key_table, read_table, set};

/// A server whose tools agents may name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ServerEntry {
    /// Its name.
    pub name: String,
    /// The program that is the server, and its arguments; empty for one that is reached by an address.
    pub command: Vec<String>,
    /// The folder of the program.
    pub folder: Option<String>,
    /// Names of variables of the environment that the program gets beside the usual ones.
    pub env: Vec<String>,
    /// The address of a server over HTTP.
    pub url: Option<String>,
    /// Headers that are sent there; `${NAME}` stands for a variable of the environment.
    pub headers: Vec<(String, String)>,
}

const KEYS: &[Key<ServerEntry>] = &[
    Key {
        name: "command",
        about: About::Said(
            "list of texts",
            "",
            "The program that is the server, and its arguments; either this or `url`.",
        ),
        read: |entry, server, problems| set(&mut server.command, entry.texts(), problems),
    },
    Key {
        name: "folder",
        about: About::Said("folder", "", "Where the program runs; the workbench's own folder without it."),
        read: |entry, server, problems| set(&mut server.folder, entry.words().map(Some), problems),
    },
    Key {
        name: "env",
        about: About::Said(
            "list of names",
            "",
            "Variables of the environment that the program gets beside the usual ones.",
        ),
        read: |entry, server, problems| set(&mut server.env, entry.texts(), problems),
    },
    Key {
        name: "url",
        about: About::Said("address", "", "Where a server over HTTP is."),
        read: |entry, server, problems| set(&mut server.url, entry.words().map(Some), problems),
    },
    Key {
        name: "headers",
        about: About::Said(
            "table of texts",
            "",
            "Headers that are sent there; `${NAME}` is a variable of the environment.",
        ),
        read: |entry, server, problems| set(&mut server.headers, entry.text_table(), problems),
    },
];

/// The table of a server for the reference.
pub(super) fn table() -> KeyTable {
    key_table("[mcp.NAME]", KEYS)
}

pub(super) fn read(entry: &Entry<'_>, problems: &mut Problems) -> ServerEntry {
    let mut server = ServerEntry { name: entry.key.to_owned(), ..ServerEntry::default() };
    read_table(entry, KEYS, &mut server, problems);
    if server.command.is_empty() == server.url.is_none() {
        let message = format!("[mcp.{}] needs either `command` (the program that is the server) or `url`", server.name);
        problems.push(Problem { message, ..entry.problem("") });
    }
    server
}

impl ServerEntry {
    /// How it is started or reached, as the keys of a tool.
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
