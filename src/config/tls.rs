//! Certificate files: keys `ca_file` and `client_certificate_file` of providers, MCP servers and the whole configuration.
//!
//! In: names of files. Out: their paths; a section without its own ones uses those of the whole configuration. It must never read one.

use std::path::PathBuf;

use super::document::KeyDoc;

/// Certificates in addition to those of the system.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct TlsFiles {
    /// Further authorities, in PEM.
    pub ca_file: Option<PathBuf>,
    /// The certificate of this program with its private key, in PEM.
    pub client_certificate_file: Option<PathBuf>,
}

impl TlsFiles {
    /// Returns these files, and those of `general` where there is none.
    #[must_use]
    pub fn or(self, general: &Self) -> Self {
        Self {
            ca_file: self.ca_file.or_else(|| general.ca_file.clone()),
            client_certificate_file: self.client_certificate_file.or_else(|| general.client_certificate_file.clone()),
        }
    }
}

/// Name and documentation of the key for authorities.
pub(super) const CA_FILE: (&str, KeyDoc) = (
    "ca_file",
    KeyDoc::Text(
        "file",
        "",
        "Certificates of authorities that are trusted in addition to those of the system, in PEM; sections without one use the top-level key. Relative to the folder of `config.toml`, or to the home folder with `~/`.",
    ),
);

/// Name and documentation of the key for the certificate of this program.
pub(super) const CLIENT_CERTIFICATE_FILE: (&str, KeyDoc) = (
    "client_certificate_file",
    KeyDoc::Text(
        "file",
        "",
        "The certificate that this program shows to servers that require one, followed by its private key, in PEM; path as for `ca_file`.",
    ),
);
