//! What a reply is so far, in words, while it still arrives.
//!
//! In: the pieces of a reply and the schema that was sent. Out: one line. Each piece is read once.

use ptc_core::reply::Want;
use ptc_core::reply::stream::{ReplyPush, Stage};

use crate::event::JsonText;

/// Reads a reply as it grows.
#[derive(Debug, Clone)]
pub struct Reading {
    push: ReplyPush,
    /// Fields that the schema asks for.
    fields: Option<usize>,
}

impl Reading {
    /// A reading that expects what this schema describes.
    pub fn new(schema: Option<&JsonText>) -> Self {
        let schema = schema.map(JsonText::json).unwrap_or_default();
        let want = match schema.get("type").and_then(|kind| kind.as_str()) {
            Some("object") => Want::Object,
            Some("array") => Want::List,
            _ => Want::Any,
        };
        let fields = schema.get("properties").and_then(|fields| fields.members()).map(<[_]>::len);
        Self { push: ReplyPush::new(want), fields }
    }

    /// Takes the next piece.
    pub fn take(&mut self, piece: &str) {
        self.push.push(piece);
    }

    /// The reply so far, such as `object open, 1 of 2 fields, string unfinished`.
    pub fn describe(&self) -> String {
        match (self.push.stage(), self.push.json()) {
            (Stage::Reasoning, _) => "thinking".to_owned(),
            (_, Some(json)) => json.state().describe(self.fields),
            (_, None) => "no JSON yet".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use ptc_core::value::json;

    use super::*;

    #[test]
    fn a_growing_reply_is_told_in_words() {
        let schema = json::parse(r#"{"type":"object","properties":{"a":{},"b":{}}}"#).unwrap();
        let mut reading = Reading::new(Some(&JsonText::of(&schema)));
        reading.take("Here it is: ");
        assert_eq!(reading.describe(), "no JSON yet");
        reading.take("{\"a\": 1, \"b\": \"x");
        assert_eq!(reading.describe(), "object open, 1 of 2 fields, string unfinished");
    }
}
