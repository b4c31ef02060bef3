//! The record of a file that is given to a run: its name, type, size and hash. The bytes are stored next to the session.

use std::fmt;

use ptc_core::value::Json;
use ptc_core::value::json::Node;
use serde::{Deserialize, Serialize};

/// A file that is given to a run.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FileRecord {
    /// Its name, without folders; of a resource its URI.
    pub name: String,
    /// Its media type, found by its content.
    #[serde(rename = "type")]
    pub media_type: String,
    /// Its size in bytes.
    pub size: u64,
    /// SHA-256 of its bytes, which are stored under this name.
    pub sha256: String,
}

impl FileRecord {
    /// Reads the record as a context holds it; `None` for any other value.
    pub fn of_json(json: &Json) -> Option<Self> {
        let text = |name: &str| json.get(name).and_then(Json::as_str).map(ToOwned::to_owned);
        let Node::Int(size) = json.get("size")?.node else { return None };
        let record = Self {
            name: text("name")?,
            media_type: text("type")?,
            size: u64::try_from(size).ok()?,
            sha256: text("sha256")?,
        };
        (json.members()?.len() == 4 && is_sha256(&record.sha256)).then_some(record)
    }

    /// The record as a context holds it.
    pub fn json(&self) -> Json {
        Json::empty()
            .with("name", Json::str(self.name.as_str()))
            .with("type", Json::str(self.media_type.as_str()))
            .with("size", Node::Int(i64::try_from(self.size).unwrap_or(i64::MAX)).into())
            .with("sha256", Json::str(self.sha256.as_str()))
    }

    /// The records among the values of a context, in its order.
    pub fn all_in(context: &Json) -> Vec<Self> {
        let members = context.members().unwrap_or_default().iter();
        members.filter_map(|member| Self::of_json(&member.value)).collect()
    }
}

/// Returns whether the text is a SHA-256 hash, lowercase hexadecimal. It becomes the name of a file.
pub fn is_sha256(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

impl fmt::Display for FileRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}, {} bytes)", self.name, self.media_type, self.size)
    }
}

#[cfg(test)]
mod tests {
    use ptc_core::value::json;

    use super::*;

    #[test]
    fn a_record_is_read_from_a_context_as_it_was_written_and_nothing_else_is_one() {
        let sha256 = "0a".repeat(32);
        let record = FileRecord { name: "a.png".into(), media_type: "image/png".into(), size: 7, sha256 };
        assert_eq!(FileRecord::of_json(&record.json()), Some(record.clone()));
        let context = Json::empty().with("a", record.json()).with("b", 1.into());
        assert_eq!(FileRecord::all_in(&context), std::slice::from_ref(&record));
        for other in [
            record.json().with("more", 1.into()),
            record.json().without("size"),
            record.json().without("sha256").with("sha256", Json::str("../../etc/passwd")),
            record.json().without("size").with("size", Json::from(-1)),
            json::parse("[1]").unwrap(),
        ] {
            assert_eq!(FileRecord::of_json(&other), None, "{}", other.to_text());
        }
    }
}
