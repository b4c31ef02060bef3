//! The first line of a session file, and session ids: a UTC stamp plus eight random hexadecimal digits.

use serde::{Deserialize, Serialize};

use crate::event::words;

/// Name of the file format.
pub(super) const FORMAT: &str = "ptc-workbench-session";
/// Version that this program writes.
pub(super) const VERSION: u32 = 2;
/// Oldest version that this program reads; version 1 was never released.
pub(super) const OLDEST_VERSION: u32 = 2;

/// The first line of a session file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Header {
    /// Always `ptc-workbench-session`.
    pub format: String,
    /// Version of the format.
    pub version: u32,
    /// Oldest reader that understands the file.
    pub min_reader: u32,
    /// The session's id; also the file's name.
    pub id: SessionId,
    /// Unix time in ms.
    pub created_ms: i64,
    /// Name and version of the program that wrote it.
    pub program: String,
    /// The session whose events this one starts with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<Parent>,
    /// The comparison that the session is a trial of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<Group>,
    /// The file of another program that this was made from. It is to be looked at: it cannot be replayed, resumed or continued.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported: Option<Imported>,
}

/// Which trial a session is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Group {
    /// Id of the matrix.
    pub id: String,
    /// Its cell, in words.
    pub cell: String,
}

/// Where an imported session comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Imported {
    /// The other program's format: `ptc_runner trace 2`.
    pub format: String,
    /// The id that the other program gave.
    pub id: String,
    /// The file's name.
    pub file: String,
    /// SHA-256 of the file, hexadecimal.
    pub sha: String,
}

impl std::fmt::Display for Imported {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // What the importer writes for a file that names no id.
        let id = if self.id == "unknown" { String::new() } else { format!(" {}", self.id) };
        write!(f, "{}{id} ({})", self.format, self.file)
    }
}

/// Where a session comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Parent {
    /// The other session's id.
    pub session: String,
    /// The turn or call where the two part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// Where in it: request, reply, call, after.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stage: Option<String>,
    /// Number of its last event that was copied.
    pub seq: u64,
    /// SHA-256 of the lines that were copied byte for byte, with their line ends, hexadecimal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefix_sha: Option<String>,
    /// What this session is to it.
    pub kind: ParentKind,
}

words! {
    /// What a session is to the one it comes from.
    ParentKind {
        Continue "continue" "A new message to a run that had ended.";
        Fork "fork" "The same up to a point, and another way from there.";
        Rerun "rerun" "A new run with the same inputs.";
        Accept "accept" "The expected recording, updated to what the program does now.";
        Recover "recover" "The readable part of a damaged session.";
    }
}

impl ParentKind {
    /// In words, before the place where the two part.
    pub fn words(&self) -> &str {
        match self {
            Self::Continue => "goes on",
            Self::Rerun => "re-run",
            Self::Accept => "accepted",
            other => other.name(),
        }
    }
}

impl Parent {
    /// A session that nothing was copied from as it stands.
    pub fn whole(session: impl Into<String>, kind: ParentKind) -> Self {
        Self { session: session.into(), at: None, stage: None, seq: 0, prefix_sha: None, kind }
    }
}

impl Header {
    /// The header of a new session.
    pub fn new(id: SessionId, created_ms: i64) -> Self {
        Self {
            format: FORMAT.to_owned(),
            version: VERSION,
            min_reader: VERSION,
            id,
            created_ms,
            program: concat!("ptc-workbench ", env!("CARGO_PKG_VERSION")).to_owned(),
            parent: None,
            group: None,
            imported: None,
        }
    }

    /// A newer program wrote it: it can be read, and what this program does not know in it is kept.
    pub fn is_of_later_version(&self) -> bool {
        self.version > VERSION
    }
}

/// An id such as `2026-11-21T20-52-07Z-3f9a01bc`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct SessionId(String);

impl SessionId {
    /// An id for this time (Unix ms) and this chance.
    pub fn new(now_ms: i64, chance: u32) -> Self {
        let stamp = jiff::Timestamp::from_millisecond(now_ms).unwrap_or_default();
        Self(format!("{}-{chance:08x}", stamp.strftime("%Y-%m-%dT%H-%M-%SZ")))
    }

    /// The id in a file name `<id>.jsonl`; `None` when the name has another shape.
    pub fn from_file_name(name: &str) -> Option<Self> {
        let id = name.strip_suffix(".jsonl")?;
        let shape = "dddd-dd-ddTdd-dd-ddZ-xxxxxxxx";
        let fits = id.len() == shape.len()
            && id.bytes().zip(shape.bytes()).all(|(have, want)| match want {
                b'd' => have.is_ascii_digit(),
                b'x' => have.is_ascii_hexdigit(),
                other => have == other,
            });
        fits.then(|| Self(id.to_owned()))
    }

    /// The UTC stamp, without the chance at the end.
    pub fn stamp(&self) -> &str {
        self.0.rsplit_once('-').map_or(self.0.as_str(), |(stamp, _)| stamp)
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The file's name.
    pub fn file_name(&self) -> String {
        format!("{}.jsonl", self.0)
    }
}

impl std::fmt::Display for SessionId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_a_stamp_and_chance_and_names_its_file() {
        let id = SessionId::new(1_795_290_727_000, 0x3f9a_01bc);
        assert_eq!(id.as_str(), "2026-11-21T19-52-07Z-3f9a01bc");
        assert_eq!(SessionId::from_file_name(&id.file_name()), Some(id));
        assert_eq!(SessionId::from_file_name("marks.jsonl"), None);
        assert_eq!(SessionId::from_file_name("2026-11-21T20-32-07Z-3f9a01bc.json"), None);
    }
}
