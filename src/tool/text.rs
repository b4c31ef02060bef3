//! Converts the output of a tool to a value: JSON, or the text itself if the signature allows it.
//!
//! In: the text and the tool. Out: a value, or the reason why the text is invalid. Removes known secrets from values.

use ptc_core::signature::Type;
use ptc_core::value::json::Node;
use ptc_core::value::{Json, Value, json};

use super::Tool;
use crate::model::Scrub;

/// Maximum bytes of an invalid text in a message.
const SHOWN_BYTES: usize = 200;

/// Parses a text as the result of a tool.
pub(super) fn parse_result(text: &str, tool: &Tool) -> Result<Value, String> {
    let output = tool.signature.as_ref().and_then(|signature| signature.output.as_ref()).map(Type::base);
    let read = json::parse(text);
    match (output, read) {
        (Some(Type::String), Ok(Json { node: Node::Str(text_value), .. })) => Ok(Value::str(text_value)),
        (Some(Type::String), _) | (None | Some(Type::Any), Err(_)) => Ok(Value::str(text)),
        (_, Ok(json)) => Ok(json.to_value()),
        (Some(_), Err(error)) => {
            let start: String = text.chars().take(SHOWN_BYTES).collect();
            Err(format!("is not JSON ({}): {start:?}", error.message))
        }
    }
}

/// Removes known secrets from the keys and texts of a value.
pub(super) fn scrub_value(value: Value, scrub: &Scrub) -> Value {
    scrub.json(&Json::from(&value)).map_or(value, |clean| clean.to_value())
}
