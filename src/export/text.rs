//! Text from outside on its way into an export: nothing that a terminal could act on, nothing that hides or reorders.
//!
//! In: any text. Out: the same with each such character as a visible picture; JSON text with each one escaped.

use ptc_core::text::SafeText;
use ptc_core::value::Json;
use ptc_core::value::json::{Member, Node, to_json};
use serde::Serialize;

use crate::event::escape_json;

/// The text with control characters and characters that hide or reorder others as pictures. Line feeds and tabs stay; CRLF is a
/// line feed.
pub(super) fn visible(text: &str) -> String {
    let text = text.replace("\r\n", "\n");
    let parts: Vec<String> = text.split('\t').map(|part| SafeText::escape_controls(part).into_string()).collect();
    parts.join("\t")
}

/// Like `visible`, on one line: line feeds and tabs are spaces.
pub(super) fn one_line(text: &str) -> String {
    visible(text).replace(['\n', '\t'], " ")
}

/// Like `visible`, for every text of a tree, names of members included.
pub(super) fn visible_json(json: &Json) -> Json {
    let span = json.span;
    let node = match &json.node {
        Node::Str(text) => Node::Str(visible(text)),
        Node::List(items) => Node::List(items.iter().map(visible_json).collect()),
        Node::Object(members) => Node::Object(
            members
                .iter()
                .map(|member| Member {
                    key: visible(&member.key),
                    value: visible_json(&member.value),
                    ..member.clone()
                })
                .collect(),
        ),
        plain => plain.clone(),
    };
    Json { node, span }
}

/// Data as JSON text on several lines in which every character that a terminal could act on is escaped.
pub fn printable(data: &impl Serialize) -> String {
    escaped(&to_json(data).to_pretty())
}

/// JSON text in which every character that a terminal could act on is escaped.
pub(super) fn escaped(json: &str) -> String {
    escape_json(json).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_acts_is_shown_and_what_is_text_stays() {
        assert_eq!(visible("a\tb\r\nc\u{1b}[31m\u{202e}d\u{9b}"), "a\tb\nc␛[31m·U+202E·d·U+009B·");
        assert_eq!(one_line("a\n\tb"), "a  b");
        let json = ptc_core::value::json::parse("{\"k\\u001b\":[\"\\u001b]0;x\\u0007\"]}").unwrap_or_default();
        assert_eq!(visible_json(&json).to_text(), r#"{"k␛":["␛]0;x␇"]}"#);
        assert_eq!(
            printable(&Json::str("\u{202e}\u{9b}\u{1b}❤\u{fe0f}")),
            format!("\"{}❤\u{fe0f}\"", r"\u202e\u009b\u001b")
        );
        let smuggled = printable(&Json::str("a\u{e0041}\u{e0100}"));
        assert_eq!(smuggled, r#""a\udb40\udc41\udb40\udd00""#);
        assert_eq!(ptc_core::value::json::parse(&smuggled).ok(), Some(Json::str("a\u{e0041}\u{e0100}")));
    }
}
