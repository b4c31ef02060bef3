//! Messages of servers read from text alone.
//!
//! In: the JSON of a listed tool or of a result. Out: what the program makes of it. For fuzzing: the same conversions as
//! for a live server, without one.

use rmcp::model::{CallToolResult, Tool};

use super::Listing;
use super::result::value;

/// Converts a listed tool; `None` if the text is not one.
#[must_use]
pub fn read_listing(json: &str) -> Option<Listing> {
    serde_json::from_str::<Tool>(json).ok().map(|tool| Listing::of(&tool))
}

/// Converts the result of a call; `None` if the text is not one.
#[must_use]
pub fn read_result(json: &str) -> Option<Result<ptc_core::value::Value, String>> {
    serde_json::from_str::<CallToolResult>(json).ok().map(|result| value(&result, true))
}
