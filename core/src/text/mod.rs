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

/// An estimate of a text's tokens: a quarter of its characters, rounded up (agent contract §11.2).
pub fn estimate_tokens(text: &str) -> u64 {
    (text.chars().count() as u64).div_ceil(4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_characters_are_a_token_and_a_rest_counts_as_one() {
        for (text, tokens) in [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("ééééé", 2)] {
            assert_eq!(estimate_tokens(text), tokens, "{text:?}");
        }
    }
}
