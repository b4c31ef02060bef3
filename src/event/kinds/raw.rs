//! Data of the events about exchanges of other programs that passed through the proxy, byte for byte.
//! Field names are the stored names; absent means unknown or not applicable.

use serde::{Deserialize, Serialize};

use crate::event::Address;

/// `raw.request`
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RawRequest {
    /// Attempt within the turn, from 1.
    pub attempt: u32,
    /// HTTP method.
    pub method: String,
    /// Path and query as the client sent them, without keys.
    pub path: String,
    /// Headers in order, without keys and cookies.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<(String, String)>,
    /// The body as it was sent to the service.
    pub body: RawBody,
    /// The body that the client sent, where a rule or the user replaced it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub came: Option<RawBody>,
}

/// The bytes of a body: those that differ from an earlier body of the run.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RawBody {
    /// Size of the whole body in bytes.
    pub bytes: u64,
    /// SHA-256 of the whole body, hexadecimal.
    pub sha: String,
    /// The turn whose body has the same beginning and end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<Address>,
    /// Bytes that the beginning of that body gives.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub head: u64,
    /// Bytes that its end gives.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub tail: u64,
    /// Base64 of the deflated bytes between them.
    pub data: String,
    /// Number of known secrets that were overwritten with `*` in the recorded bytes.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub masked: u64,
}

/// `raw.reply`
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RawReply {
    /// Attempt within the turn, from 1.
    pub attempt: u32,
    /// HTTP status.
    pub status: u16,
    /// Headers in order, without cookies.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<(String, String)>,
    /// The proxy answered in the service's place: by which rule or recording.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The body that the service sent, where the user replaced it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub came: Option<RawBody>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the shape serde asks for")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}
