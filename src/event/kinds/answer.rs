//! Data of the events about answers: the content found in a reply, and its checks.
//! Field names are the stored names; absent means unknown or not applicable.

use serde::{Deserialize, Serialize};

use crate::event::{ErrorRecord, words};

words! {
    /// The kind of content that is searched for in a reply.
    ExtractKind {
        Json "json" "An answer as JSON.";
        Program "program" "A program.";
        Control "control" "A control object of the mode `json_loop`.";
        Text "text" "An answer as text.";
    }

    /// The value that a check compares with a type.
    CheckLayer {
        Args "args" "The inputs of a run.";
        Return "return" "The answer, against the output of the signature.";
        Schema "schema" "The answer, against the developer's JSON Schema.";
        Memory "memory" "The definitions that a program stores.";
    }

    /// The severity of a finding about a value.
    IssueSeverity {
        Error "error" "The value is refused.";
        Warning "warning" "The value is accepted.";
    }
}

/// `extract`
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Extract {
    /// The kind of content that was searched for.
    pub kind: ExtractKind,
    /// The rule that found the candidate: whole, `json_fence`, fence, start, bracket, scalar, prose, native, …
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// Number of candidates that were read.
    pub candidates: u32,
    /// Repairs: stable name, first and one-past-last byte in the reply.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fixes: Vec<(String, usize, usize)>,
    /// Bytes of the reply that were read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub span: Option<(usize, usize)>,
    /// SHA-256 of the reply text, hexadecimal.
    pub sha: String,
    /// The JSON after repairs, when there were any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repaired: Option<TextRecord>,
    /// The error when nothing was found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorRecord>,
    /// Byte of the reply where the error is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_at: Option<usize>,
}

impl Extract {
    /// The program that was found in this reply, as it was run.
    pub fn program_in<'a>(&'a self, reply: &'a str) -> Option<&'a str> {
        if self.kind == ExtractKind::Program { self.found_in(reply) } else { None }
    }

    /// The text that was found in this reply, as it was read: after repairs, and only its head where that is too long.
    pub fn found_in<'a>(&'a self, reply: &'a str) -> Option<&'a str> {
        match (&self.repaired, self.span) {
            (Some(repaired), _) => Some(repaired.text()),
            (None, Some((start, end))) => reply.get(start..end),
            (None, None) => None,
        }
    }
}

/// A derived text, cut over 64 KB to its head, length and hash.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum TextRecord {
    /// All of it.
    Whole(String),
    /// Too long to keep.
    Head {
        /// Its first bytes.
        head: String,
        /// Its length.
        bytes: u64,
        /// SHA-256 of all of it, hexadecimal.
        sha: String,
    },
}

impl TextRecord {
    /// Bytes of a derived text that are kept whole.
    pub const WHOLE_BYTES: usize = 64 * 1024;

    /// The text, or the kept part of it.
    pub fn text(&self) -> &str {
        match self {
            Self::Whole(text) | Self::Head { head: text, .. } => text,
        }
    }

    /// The length of all of it, also where only its head was kept.
    pub fn bytes(&self) -> u64 {
        match self {
            Self::Whole(text) => text.len() as u64,
            Self::Head { bytes, .. } => *bytes,
        }
    }

    /// The text, or its head when it is too long.
    pub fn of(text: String) -> Self {
        if text.len() <= Self::WHOLE_BYTES {
            return Self::Whole(text);
        }
        let sha = hex_sha(text.as_bytes());
        let mut end = 1024;
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        Self::Head { head: text[..end].to_owned(), bytes: text.len() as u64, sha }
    }
}

/// SHA-256 in hexadecimal.
pub fn hex_sha(bytes: &[u8]) -> String {
    use sha2::Digest as _;
    use std::fmt::Write as _;
    sha2::Sha256::digest(bytes).iter().fold(String::with_capacity(64), |mut text, byte| {
        _ = write!(text, "{byte:02x}");
        text
    })
}

/// `check`
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Check {
    /// The value that was checked.
    pub layer: CheckLayer,
    /// True if it fits.
    pub ok: bool,
    /// Errors and warnings, in the order of the declaration.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub issues: Vec<IssueRecord>,
}

/// One validation error or warning.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct IssueRecord {
    /// Path such as `items.2.price`; empty = the root.
    pub path: String,
    /// Its severity.
    pub severity: IssueSeverity,
    /// The expected type or value.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub expected: String,
    /// The type or value that was found.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub got: String,
    /// A description in words.
    pub message: String,
}
