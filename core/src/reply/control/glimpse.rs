//! What a growing control object already tells: for screens, while the reply is still arriving.
//!
//! In: the tree so far, as [`super::super::stream::JsonPush::value`] gives it, or a whole one that breaks the rules. Out: the parts
//! that can be shown. It judges nothing.

use crate::value::Json;
use crate::value::json::Node;

/// The parts of a control object as far as they are there.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Glimpse<'a> {
    /// The thought so far.
    pub thought: Option<&'a str>,
    /// The name of the tool.
    pub tool: Option<&'a str>,
    /// Its arguments so far.
    pub args: Option<&'a Json>,
    /// The answer so far.
    pub answer: Option<&'a Json>,
    /// The question so far.
    pub question: Option<&'a str>,
}

/// Looks at a control object that may still grow.
pub fn glimpse(partial: &Json) -> Glimpse<'_> {
    let inner = |key: &str, name: &str| partial.get(key).and_then(|json| json.get(name));
    Glimpse {
        thought: partial.get("thought").and_then(Json::as_str),
        tool: inner("tool_call", "name").and_then(Json::as_str),
        args: inner("tool_call", "arguments"),
        answer: partial.get("final_answer").filter(|json| json.node != Node::Null),
        question: inner("awaiting_user_input", "prompt").and_then(Json::as_str),
    }
}
