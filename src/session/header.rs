//! The first line of a session file, and session ids: a UTC timestamp and eight random hexadecimal digits.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};

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
    /// Oldest version of a reader that can read the file.
    pub min_reader: u32,
    /// The session's id, which is also the file name.
    pub id: SessionId,
    /// Unix time in ms.
    pub created_ms: i64,
    /// Name and version of the program that wrote it.
    pub program: String,
    /// The session whose events this one starts with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<Parent>,
    /// The matrix cell that this session is a trial of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<Group>,
    /// The foreign file that this session was converted from. An imported session can be viewed, but not replayed,
    /// resumed or continued.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported: Option<ImportSource>,
    /// The traffic that this session was captured from. A captured session can be viewed and answers requests (`proxy --replay`), but it is
    /// not replayed, resumed or continued.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub captured: Option<CaptureSource>,
    /// Number of places from which content was removed, where values that are computed from it are as they were recorded. Replay counts
    /// the differences that this explains.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redacted: Option<u64>,
}

/// The matrix cell of a trial.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Group {
    /// Id of the matrix.
    pub id: String,
    /// Label of its cell.
    pub cell: String,
}

/// Origin of a captured session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CaptureSource {
    /// Name of the upstream that the requests went to.
    pub upstream: String,
    /// Wire protocol: `openai`, `responses`, `anthropic`, `gemini`, `ollama`.
    pub protocol: String,
}

impl CaptureSource {
    /// End of the notice in a turn that continues a reply which the session does not have.
    pub const LACKS_MESSAGES: &str = "earlier messages are not recorded";
}

impl std::fmt::Display for CaptureSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.upstream == self.protocol {
            f.write_str(&self.upstream)
        } else {
            write!(f, "{} ({})", self.upstream, self.protocol)
        }
    }
}

/// Origin of an imported session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ImportSource {
    /// Format of the file: `ptc_runner trace 2`.
    pub format: String,
    /// The id in the file.
    pub id: String,
    /// File name.
    pub file: String,
    /// SHA-256 of the file, hexadecimal.
    pub sha: String,
}

impl ImportSource {
    /// Format of an HTTP archive.
    pub const HAR: &str = "har";
    /// Format of JSON lines with a request and its response each.
    pub const PAIRS: &str = "request and response lines";

    /// Returns whether the file has messages, not the bytes of requests and replies.
    pub fn is_rebuilt(&self) -> bool {
        ![Self::HAR, Self::PAIRS].contains(&self.format.as_str())
    }
}

impl std::fmt::Display for ImportSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The importer writes "unknown" for files without an id.
        let id = if self.id == "unknown" { String::new() } else { format!(" {}", self.id) };
        write!(f, "{}{id} ({})", self.format, self.file)
    }
}

/// Origin of a session that was derived from another one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Parent {
    /// The other session's id.
    pub session: String,
    /// The turn or call after which the two sessions differ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// The stage of that turn or call: request, reply, call, after.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stage: Option<String>,
    /// Sequence number of the last copied event.
    pub seq: u64,
    /// SHA-256 of the copied lines with their line ends, hexadecimal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefix_sha: Option<String>,
    /// Kind of derivation.
    pub kind: ParentKind,
}

words! {
    /// Kind of derivation from the parent session.
    ParentKind {
        Continue "continue" "A new message to an ended run.";
        Fork "fork" "The same events up to a point, then a different course.";
        Rerun "rerun" "A new run with the same inputs.";
        Accept "accept" "The expected recording, updated to the program's current behaviour.";
        Recover "recover" "The readable events of a damaged session.";
        Judge "judge" "A judge's run about the answer of the session, which has ended.";
    }
}

impl ParentKind {
    /// Returns the verb that lists print before the address of the parent.
    pub fn words(&self) -> &str {
        match self {
            Self::Continue => "continuation",
            Self::Rerun => "re-run",
            Self::Accept => "accepted",
            Self::Judge => "judges",
            other => other.name(),
        }
    }
}

impl Parent {
    /// Returns the origin of a session that copies no lines of its parent.
    pub fn whole(session: impl Into<String>, kind: ParentKind) -> Self {
        Self { session: session.into(), at: None, stage: None, seq: 0, prefix_sha: None, kind }
    }
}

impl Header {
    /// Creates the header of a new session.
    pub fn new(id: SessionId, created_ms: i64) -> Self {
        Self {
            format: FORMAT.to_owned(),
            version: VERSION,
            min_reader: VERSION,
            id,
            created_ms,
            program: Self::program_name(),
            parent: None,
            group: None,
            imported: None,
            captured: None,
            redacted: None,
        }
    }

    /// Returns the origin of a captured or imported session; such a session is not replayed.
    pub fn foreign_origin(&self) -> Option<String> {
        let captured = self.captured.as_ref().map(|captured| format!("captured from requests to {captured}"));
        captured.or_else(|| self.imported.as_ref().map(|imported| format!("imported from {imported}")))
    }

    /// Returns name and version of this program.
    pub fn program_name() -> String {
        concat!("ptc-workbench ", env!("CARGO_PKG_VERSION")).to_owned()
    }

    /// Returns whether a newer program wrote it. Such a session can be read; unknown fields and events are preserved.
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
    /// Creates an id from a time (Unix ms) and a random number.
    pub fn new(now_ms: i64, random: u32) -> Self {
        let stamp = jiff::Timestamp::from_millisecond(now_ms).unwrap_or_default();
        Self(format!("{}-{random:08x}", stamp.strftime("%Y-%m-%dT%H-%M-%SZ")))
    }

    /// Creates an id from a time (Unix ms) and a number by chance.
    pub fn draw(now_ms: i64) -> Self {
        Self::new(now_ms, Self::chance())
    }

    /// A number by chance: the standard library's randomly keyed hasher.
    pub(crate) fn chance() -> u32 {
        u32::try_from(RandomState::new().build_hasher().finish() >> 32).unwrap_or_default()
    }

    /// Returns the id in a file name `<id>.jsonl`; `None` when the name has another form.
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

    /// Returns the UTC timestamp without the random part.
    pub fn stamp(&self) -> &str {
        self.0.rsplit_once('-').map_or(self.0.as_str(), |(stamp, _)| stamp)
    }

    /// Returns the id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the file name.
    pub fn file_name(&self) -> String {
        format!("{}.jsonl", self.0)
    }
}

impl AsRef<str> for SessionId {
    fn as_ref(&self) -> &str {
        &self.0
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
    fn an_id_is_a_timestamp_and_random_digits_and_names_its_file() {
        let id = SessionId::new(1_795_290_727_000, 0x3f9a_01bc);
        assert_eq!(id.as_str(), "2026-11-21T19-52-07Z-3f9a01bc");
        assert_eq!(SessionId::from_file_name(&id.file_name()), Some(id));
        assert_eq!(SessionId::from_file_name("marks.jsonl"), None);
        assert_eq!(SessionId::from_file_name("2026-11-21T20-32-07Z-3f9a01bc.json"), None);
    }
}
