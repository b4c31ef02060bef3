//! JSON that a user wrote: in an argument, in a file, or as a text inside a file.
//!
//! In: text. Out: JSON, or an error with its place. It must never choose between two members of one name.

use std::fmt;

use ptc_core::text::LineCol;
use ptc_core::value::Json;
use ptc_core::value::json::{self, UniqueError};

/// Reason why an object with two members of one name is refused.
const READERS_DISAGREE: &str = "readers of JSON disagree about which one counts";

/// Error of a text that is not JSON, or in which an object has two members of one name.
#[derive(Debug)]
pub struct JsonTextError {
    error: UniqueError,
    /// Its position in the text.
    pub at: LineCol,
}

impl JsonTextError {
    /// Returns the byte offset of the error.
    pub fn offset(&self) -> usize {
        self.error.error().offset
    }

    /// Returns whether the text is JSON in which an object has two members of one name.
    pub fn is_ambiguous(&self) -> bool {
        matches!(self.error, UniqueError::Duplicate(_))
    }

    /// Returns the problem without its position: the rest of a sentence that names the text.
    pub fn problem(&self) -> String {
        let (kind, text) = self.parts();
        format!("{kind}: {text}")
    }

    /// Returns the kind of the problem and its description.
    pub fn parts(&self) -> (&'static str, String) {
        match &self.error {
            UniqueError::Syntax(error) => ("not JSON", error.message.clone()),
            UniqueError::Duplicate(error) => ("ambiguous", format!("{}, and {READERS_DISAGREE}", error.message)),
        }
    }
}

impl fmt::Display for JsonTextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, text) = self.parts();
        write!(f, "{kind} at {}: {text}", self.at)
    }
}

/// Reads JSON that a user wrote.
pub fn parse_json_text(text: &str) -> Result<Json, JsonTextError> {
    json::parse_unique(text).map_err(|error| JsonTextError { at: error.error().line_col(text), error })
}

/// Like [`parse_json_text`], and a text that is not JSON is a string.
///
/// Errors: an object has two members of one name.
pub fn json_or_text(text: &str) -> Result<Json, JsonTextError> {
    match parse_json_text(text) {
        Err(error) if !error.is_ambiguous() => Ok(Json::str(text)),
        read => read,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_the_position_and_the_member() {
        let error = |text: &str| parse_json_text(text).unwrap_err();
        let twice = error("{\"a\": 1,\n \"a\": 2}");
        assert_eq!(
            (twice.to_string(), twice.offset(), twice.is_ambiguous()),
            (
                "ambiguous at line 2, column 2: an object has the member \"a\" twice, and readers of JSON disagree about which one counts".to_owned(),
                10,
                true
            )
        );
        assert_eq!(error("{\"a\": }").to_string(), "not JSON at line 1, column 7: expected a JSON value, found '}'");
        assert_eq!(json_or_text("plain").unwrap(), Json::str("plain"));
        assert!(json_or_text("{\"a\":1,\"a\":1}").is_err());
    }
}
