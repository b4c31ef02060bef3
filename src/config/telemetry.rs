//! Reporting of runs while they happen: the section `[telemetry]`.
//!
//! In: the section. Out: an address, headers with names of variables, and what is sent. It must never contain a key.

use super::document::{Key, KeyDoc, KeyTable, key_table, set};

/// Settings of telemetry.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TelemetryConfig {
    /// Address of a collector that takes OTLP over HTTP; `None`: nothing is sent.
    pub otlp_endpoint: Option<String>,
    /// Headers of its requests; `${NAME}` is an environment variable.
    pub headers: Vec<(String, String)>,
    /// True if messages, arguments and results are sent, too.
    pub content: bool,
}

pub(super) const KEYS: &[Key<TelemetryConfig>] = &[
    Key {
        name: "otlp_endpoint",
        about: KeyDoc::Text(
            "address",
            "",
            "A collector that takes OTLP over HTTP: every run is posted there as spans, turn by turn. An address without a path is completed with `/v1/traces`.",
        ),
        read: |entry, telemetry, problems| {
            let address = entry.non_blank_text().and_then(|address| {
                let is_http = address.starts_with("http://") || address.starts_with("https://");
                let problem = || entry.problem(format!("`{}` must begin with http:// or https://", entry.path));
                if is_http { Ok(Some(address)) } else { Err(problem()) }
            });
            set(&mut telemetry.otlp_endpoint, address, problems);
        },
    },
    Key {
        name: "headers",
        about: KeyDoc::Text("table of strings", "", "Headers of its requests; `${NAME}` is an environment variable."),
        read: |entry, telemetry, problems| set(&mut telemetry.headers, entry.text_table(), problems),
    },
    Key {
        name: "content",
        about: KeyDoc::Text(
            "true or false",
            "false",
            "Whether messages, programs, arguments, results and error texts are sent too; without it, only names, counts and times.",
        ),
        read: |entry, telemetry, problems| set(&mut telemetry.content, entry.flag(), problems),
    },
];

pub(super) fn table() -> KeyTable {
    key_table("[telemetry]", KEYS)
}
