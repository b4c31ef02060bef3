//! The table of repairs: stable name, meaning, the level from which it is allowed, and its penalty.
//!
//! Screens, records and documentation read this table. A repair that is not listed here does not exist.

use super::Recovery;
use crate::text::Span;

/// One row of the repair table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FixRow {
    /// The repair itself.
    pub kind: FixKind,
    /// Its stable name, as records show it.
    pub name: &'static str,
    /// The text before and after the repair, one sentence.
    pub meaning: &'static str,
    /// The lowest level that allows it.
    pub level: Recovery,
    /// Its cost when candidates are compared (lenient only); 0 = the meaning is certain.
    pub penalty: u32,
}

/// A repair and its position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fix {
    /// The repair.
    pub kind: FixKind,
    /// The bytes of the reply it concerns; empty where something was missing.
    pub at: Span,
}

macro_rules! fixes {
    ($($variant:ident $name:literal $level:ident $penalty:literal $meaning:literal;)*) => {
        /// A kind of repair.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum FixKind {
            $(#[doc = $meaning] $variant,)*
        }

        /// Every repair, in the order of the documentation.
        pub const FIXES: &[FixRow] = &[
            $(FixRow { kind: FixKind::$variant, name: $name, meaning: $meaning, level: Recovery::$level, penalty: $penalty },)*
        ];
    };
}

fixes! {
    ByteOrderMark "byte_order_mark" Standard 0 "A byte order mark was skipped.";
    OddSpace "odd_space" Standard 0 "White space that JSON does not allow (such as a no-break space) was skipped.";
    ControlCharacter "control_character" Standard 0 "A control character was removed.";
    RawNewline "raw_newline" Standard 0 "An unescaped line break or tab inside a string was accepted.";
    InvalidEscape "invalid_escape" Standard 1 "A backslash without a valid escape was kept (before a single quote it was dropped).";
    Comment "comment" Standard 0 "A comment was skipped.";
    TrailingComma "trailing_comma" Standard 0 "A comma before a closing bracket was skipped.";
    MissingComma "missing_comma" Standard 1 "A comma was missing between two members or items (or was a semicolon).";
    MissingColon "missing_colon" Standard 1 "A colon was missing after a key (or was '=' or '=>').";
    MissingCloser "missing_closer" Standard 3 "A closing bracket was missing and was added.";
    RedundantCloser "redundant_closer" Standard 2 "An unmatched closing bracket was skipped.";
    SingleQuotes "single_quotes" Standard 0 "A string had single quotes.";
    SmartQuotes "smart_quotes" Standard 0 "A string had typographic quotes.";
    TripleQuotes "triple_quotes" Standard 1 "A string had triple quotes.";
    InnerQuote "inner_quote" Standard 2 "A quote inside a string was not escaped.";
    Concatenation "concatenation" Standard 1 "Strings joined with '+' were concatenated.";
    UnquotedKey "unquoted_key" Standard 0 "A key had no quotes.";
    LiteralSpelling "literal_spelling" Standard 0 "True, False, None and similar words were read as true, false and null.";
    SpecialNumber "special_number" Standard 2 "A number that JSON cannot represent (NaN, an infinity) became the string \"NaN\", \"Infinity\" or \"-Infinity\".";
    NumberForm "number_form" Standard 1 "A number in a form that JSON does not allow (leading zeros or plus, hexadecimal, underscores, no digit before or after the point) was read.";
    Ellipsis "ellipsis" Standard 3 "An ellipsis for omitted parts was skipped.";
    EscapedJson "escaped_json" Standard 1 "The JSON was escaped like the contents of a string, and was unescaped once.";
    BareWord "bare_word" Standard 1 "The reply was one of the expected words without quotes.";
    ExtraComma "extra_comma" Lenient 3 "A comma without a value before it was skipped.";
    MissingValue "missing_value" Lenient 5 "A value was missing, or was 'undefined', and became null.";
    MissingQuote "missing_quote" Lenient 5 "A string without its closing quote was ended at the end of its line.";
    UnquotedString "unquoted_string" Lenient 3 "A string had no quotes.";
    Backticks "backticks" Lenient 1 "A string had backticks as quotes.";
    ThousandsComma "thousands_comma" Lenient 3 "Commas between the digits of a number were skipped.";
    Parentheses "parentheses" Lenient 1 "A list had parentheses as brackets.";
    Wrapper "wrapper" Lenient 2 "A function call around a value was skipped.";
    Records "records" Lenient 3 "Consecutive values were collected into a list.";
}

impl FixKind {
    /// The table row of this repair.
    pub fn row(self) -> &'static FixRow {
        &FIXES[self as usize]
    }

    /// True for a repair that is also needed where a string was ended too early, at a quote that belongs to it.
    pub(super) fn may_follow_a_wrong_end(self) -> bool {
        use FixKind as F;
        matches!(
            self,
            F::MissingComma
                | F::MissingColon
                | F::MissingCloser
                | F::RedundantCloser
                | F::UnquotedKey
                | F::Comment
                | F::Ellipsis
                | F::Concatenation
        )
    }

    /// The stable name.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// The repair with this stable name.
    pub fn from_name(name: &str) -> Option<Self> {
        FIXES.iter().find(|row| row.name == name).map(|row| row.kind)
    }
}

impl std::fmt::Display for FixKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_at_the_index_of_its_kind_and_strict_allows_none() {
        for (place, row) in FIXES.iter().enumerate() {
            assert_eq!(row.kind as usize, place);
            assert_eq!(FixKind::from_name(row.name), Some(row.kind));
            assert!(row.level > Recovery::Strict, "{}", row.name);
        }
    }
}
