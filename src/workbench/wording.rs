//! Wording shared by both interfaces: data in short, places in programs, native calls.
//!
//! In: event data. Out: short plain texts. They are not safe for a terminal yet: the interfaces escape them.

use ptc_core::reasons::Reason;
use ptc_core::text::{LineCol, cut};
use ptc_core::value::json::Node;

use super::format::{plural, size};
use crate::event::{ErrorRecord, IssueRecord, JsonText, ToolEnd};

/// Members and items that are named before the rest is counted.
const NAMED: usize = 3;

/// Data of a call in short: all of it up to `bytes` bytes, else its shape and size: `120 items, 18 KB`.
pub fn in_short(data: &JsonText, bytes: usize) -> String {
    let text = data.as_str();
    if text.len() <= bytes {
        return text.to_owned();
    }
    let large = size(text.len() as u64);
    match data.json().node {
        Node::List(items) => format!("{}, {large}", plural(items.len() as u64, "item")),
        Node::Object(members) => {
            let named: Vec<&str> = members.iter().take(NAMED).map(|member| member.key.as_str()).collect();
            let more = members.len().saturating_sub(NAMED);
            let more = if more > 0 { format!(", {more} more") } else { String::new() };
            format!("{{{}{more}}}, {large}", named.join(", "))
        }
        _ => format!("{}…, {large}", start(text, bytes)),
    }
}

/// The longest start of at most `bytes` bytes.
fn start(text: &str, bytes: usize) -> &str {
    let mut end = bytes.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// Returns the result of a call in short, or its error.
pub fn outcome(end: &ToolEnd, bytes: usize) -> String {
    match (&end.result, &end.error) {
        (_, Some(error)) => format!("{}: {}", error.reason, error.message),
        (Some(result), None) => in_short(result, bytes),
        (None, None) => String::new(),
    }
}

/// The next step of an error, beyond the advice that its reason always gives.
pub fn own_hint(error: &ErrorRecord) -> Option<&str> {
    let usual = Reason::from_name(&error.reason).map(|reason| reason.row().next);
    error.hint.as_deref().filter(|hint| Some(*hint) != usual)
}

/// The line of a program that contains a position, cut around it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Excerpt {
    /// Position of the marked part.
    pub place: LineCol,
    /// The line before it.
    pub before: String,
    /// The part on this line.
    pub marked: String,
    /// The line after it.
    pub after: String,
}

impl Excerpt {
    /// Characters of a line that are shown on each side.
    const SIDE: usize = 40;

    /// The line around the bytes `span` of a program; `None` when the program has no such place.
    pub fn of(program: &str, span: (usize, usize)) -> Option<Self> {
        let (start, end) = (span.0, span.1.max(span.0));
        let line_start = program.get(..start)?.rfind('\n').map_or(0, |at| at + 1);
        let line_end = program[start..].find('\n').map_or(program.len(), |at| start + at);
        let end = end.min(line_end);
        let (before, marked, after) =
            (&program[line_start..start], program.get(start..end)?, program.get(end..line_end)?);
        let hidden = before.chars().count().saturating_sub(Self::SIDE);
        let before = match before.char_indices().nth(hidden) {
            Some((at, _)) if hidden > 0 => format!("…{}", &before[at..]),
            _ => before.to_owned(),
        };
        Some(Self {
            place: LineCol::of(program, start),
            before,
            marked: cut(marked, Self::SIDE),
            after: cut(after.trim_end(), Self::SIDE),
        })
    }
}

/// One line about an issue, without its path: `missing field`, else its message. The recorded message stays as it is: it is what the model
/// got.
pub fn describe_issue(issue: &IssueRecord) -> String {
    match (issue.expected.as_str(), issue.got.as_str()) {
        ("field", "nil") => "missing field".to_owned(),
        _ => issue.message.clone(),
    }
}

/// A reason with its meaning: `refused: The model refused to answer.`; a name that is not a reason as it is.
pub fn describe_reason(name: &str) -> String {
    match Reason::from_name(name) {
        Some(reason) => format!("{name}: {}", reason.row().meaning),
        None => name.to_owned(),
    }
}

/// A message of an error as screens show it: missing fields are called missing.
pub fn in_plain_words(message: &str) -> String {
    message.replace("expected field, got nil", "missing field")
}

#[cfg(test)]
mod tests {
    use ptc_core::value::json;

    use super::*;

    fn text(source: &str) -> JsonText {
        JsonText::of(&json::parse(source).unwrap())
    }

    #[test]
    fn small_data_is_shown_whole_and_large_data_by_shape_and_size() {
        assert_eq!(in_short(&text(r#"{"a":1}"#), 10), r#"{"a":1}"#);
        let rows = format!("[{}]", vec![r#"{"id":1}"#; 120].join(","));
        assert_eq!(in_short(&text(&rows), 60), "120 items, 1.0 KB");
        assert_eq!(in_short(&text(r#"{"a":1,"b":2,"c":3,"d":4,"e":5}"#), 10), "{a, b, c, 2 more}, 31 B");
        assert_eq!(in_short(&text(r#""ééééé""#), 4), "\"é…, 12 B");
    }

    #[test]
    fn an_excerpt_shows_the_line_around_its_place() {
        let program = "(def rows 1)\n(reduce + (map :totl rows))\n";
        let found = Excerpt::of(program, (29, 34)).unwrap();
        assert_eq!((found.place.line, found.place.column), (2, 17));
        assert_eq!([found.before, found.marked, found.after], ["(reduce + (map :", "totl ", "rows))"]);
        let long = format!("{}x{}", "a".repeat(100), "b".repeat(100));
        let found = Excerpt::of(&long, (100, 101)).unwrap();
        assert_eq!(found.before.chars().count(), 41);
        assert_eq!(found.marked, "x");
        assert!(found.before.starts_with('…') && found.after.ends_with('…'));
        assert_eq!(Excerpt::of("ab", (5, 6)), None);
        assert_eq!(Excerpt::of("é", (1, 2)), None);
        assert_eq!(Excerpt::of("a\nb", (0, 3)).unwrap().marked, "a");
        assert_eq!(Excerpt::of("a", (1, 1)).unwrap().marked, "");
    }

    fn described(expected: &str, got: &str, message: &str) -> String {
        describe_issue(&IssueRecord {
            path: "score".to_owned(),
            severity: crate::event::IssueSeverity::Error,
            expected: expected.to_owned(),
            got: got.to_owned(),
            message: message.to_owned(),
        })
    }

    #[test]
    fn a_missing_field_is_called_missing_and_other_issues_keep_their_words() {
        assert_eq!(described("field", "nil", "expected field, got nil"), "missing field");
        assert_eq!(described("no such field", "string", "unexpected field"), "unexpected field");
        assert_eq!(described("int", "string", "expected int, got string"), "expected int, got string");
        assert_eq!(described("", "", "no answer"), "no answer");
        // Of a raw schema `expected` is the keyword, of a warning the type.
        let message = "\"n\" is a required property";
        assert_eq!(described("required", r#"{"id":"A1"}"#, message), message);
        assert_eq!(described("int", "float", "converted float 3.0 to int 3"), "converted float 3.0 to int 3");
    }
}
