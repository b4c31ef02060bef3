//! Finds possible starts of JSON in text. In: text and a range. Out: the offset of a bracket.
//!
//! It examines a bracket and the text directly after it, so that braces in prose, templates, links and check boxes are
//! skipped. Reading decides whether it is JSON.

use super::repair::{is_literal, word_of};
use crate::text::Span;

/// Number of consecutive brackets (or escaped line breaks) that are examined.
const LOOK: usize = 8;

/// The first offset in `range` where an object or a list could start.
pub(super) fn next_start(text: &str, range: Span) -> Option<usize> {
    let mut at = range.start;
    while let Some(found) = text.as_bytes().get(at..range.end)?.iter().position(|b| matches!(b, b'{' | b'[')) {
        at += found;
        if looks_like_json(text, Span::new(at, range.end)) {
            return Some(at);
        }
        at += 1;
    }
    None
}

/// True if the bracket at the start of `range` could begin JSON, judging by the text after it.
pub(super) fn looks_like_json(text: &str, range: Span) -> bool {
    let mut inside = range.text(text);
    for _ in 0..LOOK {
        let object = inside.starts_with('{');
        let mut chars = inside.chars();
        if !matches!(chars.next(), Some('{' | '[')) {
            return false;
        }
        let behind = chars.as_str().trim_start();
        let behind = behind.trim_start_matches("\\n");
        let Some(first) = behind.chars().next() else { return true };
        match first {
            '[' | '{' if !object => inside = behind,
            '"' | '\'' | '“' | '”' | '‘' | '’' | '„' | '«' | '\\' | '#' | '\u{feff}' => return true,
            '/' => return behind.starts_with("//") || behind.starts_with("/*"),
            '}' => return object,
            ']' => return !object && !is_check_box(text, range.start),
            _ if object => {
                let word = behind.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '$' | '-'))).unwrap_or(0);
                return word > 0 && behind[word..].trim_start().starts_with(':');
            }
            '-' | '+' | '.' => {
                return behind[1..].starts_with(|c: char| c.is_ascii_digit() || matches!(c, '.' | 'I' | 'i'));
            }
            '0'..='9' => return true,
            _ => return is_literal(word_of(behind)),
        }
    }
    true
}

/// True if the empty bracket at `at` is the box of a list item, as in `- [ ] buy milk`.
fn is_check_box(text: &str, at: usize) -> bool {
    let before = text.get(..at).unwrap_or_default();
    ["- ", "* ", "+ ", ". "].iter().any(|marker| before.ends_with(marker))
}

/// True if the bracket at `start` is followed by an escaped quote, as in JSON with one level of escapes too many.
pub(super) fn is_escaped(text: &str, start: usize) -> bool {
    let mut behind = text.get(start + 1..).unwrap_or_default().trim_start();
    for _ in 0..LOOK {
        let Some(rest) = behind.strip_prefix("\\n").or_else(|| behind.strip_prefix(['{', '['])) else { break };
        behind = rest.trim_start();
    }
    behind.starts_with("\\\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn starts(text: &str) -> Option<&str> {
        next_start(text, Span::new(0, text.len())).map(|at| &text[at..])
    }

    #[test]
    fn brackets_that_begin_json_are_found() {
        for json in
            ["{\"a\":1}", "{ 'a': 1}", "{a: 1}", "{}", "[]", "[ ]", "[1]", "[[true]]", "[{}]", "[-1]", "{\\\"a\\\":1}"]
        {
            assert_eq!(starts(&format!("so: {json}")), Some(json));
        }
    }

    #[test]
    fn brackets_in_prose_are_passed_over() {
        for prose in
            ["{name}", "{{name}} and {", "[see below]", "[[wiki]]", "- [ ] task", "a[i] {x, y}", "[x] done", "{1, 2}"]
        {
            let found = starts(prose);
            assert!(found.is_none() || found == Some("{"), "{prose}: {found:?}");
        }
    }
}
