//! Text: spans and positions in sources, sanitized text for terminals, display width, syntax highlighting, similar
//! names, wildcards.
//!
//! Everything here accepts any `&str` and never fails.

pub mod lex;
pub mod nearest;
pub mod safe;
pub mod span;
pub mod width;

pub use lex::{Token, TokenKind};
pub use nearest::{did_you_mean, matches_wildcard, nearest};
pub use safe::SafeText;
pub use span::{LineCol, Span};

/// The first characters of a text, and a mark when more follow.
pub fn cut(text: &str, chars: usize) -> String {
    match text.char_indices().nth(chars) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// The words of a text with one space between them: no line breaks, nothing before or after.
pub fn in_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The text without the byte order mark before it.
pub fn without_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

/// An estimate of a text's tokens: a quarter of its characters, rounded up.
pub fn estimate_tokens(text: &str) -> u64 {
    (text.chars().count() as u64).div_ceil(4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_after_characters_and_marked_only_where_more_follow() {
        for (text, chars, shown) in [("", 0, ""), ("é", 0, "…"), ("éé", 2, "éé"), ("ééé", 2, "éé…")] {
            assert_eq!(cut(text, chars), shown, "{text:?}");
        }
    }

    #[test]
    fn the_words_of_a_text_fit_in_one_line() {
        for (text, line) in [("", ""), (" \n", ""), ("one", "one"), ("\ta  b\r\n\u{a0}c ", "a b c")] {
            assert_eq!(in_one_line(text), line, "{text:?}");
        }
    }

    #[test]
    fn four_characters_are_a_token_and_a_rest_counts_as_one() {
        for (text, tokens) in [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("ééééé", 2)] {
            assert_eq!(estimate_tokens(text), tokens, "{text:?}");
        }
    }
}
