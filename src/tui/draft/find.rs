//! Search and replace in a draft: literal or by a regular expression, forwards and backwards.
//!
//! In: a draft, the search text. Out: byte ranges in the order of the text, and changes that one undo takes back. Searching never
//! changes anything; an invalid regular expression finds nothing and reports its error.

use std::ops::Range;

use regex::{Regex, RegexBuilder};

use super::{Draft, Reach};
use crate::tui::direction::Direction;

/// Bytes that a compiled expression may take.
const LARGEST_PATTERN: usize = 1 << 20;
/// Maximum bytes of the search text: a longer one costs seconds at each key.
pub const LONGEST_SOUGHT: usize = 8_192;
/// Maximum number of places of one search; a text with more is marked as such.
pub const MOST_PLACES: usize = 100_000;

/// Interpretation of the search text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SearchSyntax {
    /// Letter by letter; small letters find large ones too.
    #[default]
    Literal,
    /// As a regular expression; `$1` in the replacement is what its first group found.
    Regex,
}

/// A compiled search text.
#[derive(Debug, Clone)]
pub struct Sought {
    pattern: Regex,
    syntax: SearchSyntax,
}

impl Sought {
    /// Compiles the search text. Literal text without capitals ignores case; `^` and `$` match at starts and ends of lines.
    ///
    /// Errors: it is not a regular expression, or it is too long; one line.
    pub fn read(text: &str, syntax: SearchSyntax) -> Result<Self, String> {
        if text.len() > LONGEST_SOUGHT {
            return Err(format!("too long: at most {LONGEST_SOUGHT} bytes are sought"));
        }
        let source = if syntax == SearchSyntax::Regex { text.to_owned() } else { regex::escape(text) };
        let any_case = syntax == SearchSyntax::Literal && !text.chars().any(char::is_uppercase);
        let pattern = RegexBuilder::new(&source)
            .multi_line(true)
            .case_insensitive(any_case)
            .size_limit(LARGEST_PATTERN)
            .build()
            .map_err(|error| last_line(&error.to_string()))?;
        Ok(Self { pattern, syntax })
    }

    /// Every place in a text, up to [`MOST_PLACES`]; empty ones are left out.
    pub fn places(&self, text: &str) -> Vec<Range<usize>> {
        let found = self.pattern.find_iter(text).map(|found| found.range());
        found.filter(|range| !range.is_empty()).take(MOST_PLACES).collect()
    }

    /// Returns the replacement of a range that was found.
    fn replacement(&self, text: &str, range: &Range<usize>, with: &str) -> String {
        if self.syntax == SearchSyntax::Literal {
            return with.to_owned();
        }
        let found = self
            .pattern
            .captures_at(text, range.start)
            .filter(|found| found.get(0).map(|all| all.range()) == Some(range.clone()));
        let mut out = String::new();
        if let Some(found) = found {
            found.expand(with, &mut out);
        }
        out
    }

    /// Replaces one range that was found and puts the cursor after it.
    pub fn replace(&self, draft: &mut Draft, range: &Range<usize>, with: &str) {
        let text = self.replacement(draft.text(), range, with);
        draft.splice(range.clone(), &text);
    }

    /// Replaces every place as one step of undo; how many there were.
    pub fn replace_every(&self, draft: &mut Draft, with: &str) -> usize {
        let places = self.places(draft.text());
        let (Some(first), Some(last)) = (places.first(), places.last()) else { return 0 };
        let text = draft.text();
        let mut out = String::new();
        let mut from = first.start;
        for range in &places {
            out.push_str(&text[from..range.start]);
            out.push_str(&self.replacement(text, range, with));
            from = range.end;
        }
        let all = first.start..last.end;
        draft.splice(all, &out);
        places.len()
    }
}

/// The match to go to from the cursor: the next or previous one, wrapping at the end of the text.
pub fn next(places: &[Range<usize>], cursor: usize, direction: Direction) -> Option<usize> {
    let last = places.len().checked_sub(1)?;
    let before = places.partition_point(|range| range.start < cursor);
    Some(match direction {
        Direction::Forward if before > last => 0,
        Direction::Forward => before,
        Direction::Back => before.checked_sub(1).unwrap_or(last),
    })
}

/// Selects a place, the cursor at its end.
pub fn select(draft: &mut Draft, range: &Range<usize>) {
    draft.place(range.start, Reach::Move);
    draft.place(range.end, Reach::Extend);
}

fn last_line(error: &str) -> String {
    error.lines().last().unwrap_or_default().trim().trim_start_matches("error: ").to_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn found(text: &str, sought: &str, syntax: SearchSyntax) -> Vec<Range<usize>> {
        Sought::read(sought, syntax).unwrap().places(text)
    }

    #[test]
    fn literal_text_is_found_letter_by_letter_and_large_letters_count_when_they_are_written() {
        assert_eq!(found("a.b A.B axb", "a.b", SearchSyntax::Literal), [0..3, 4..7]);
        assert_eq!(found("a.b A.B axb", "A.b", SearchSyntax::Literal), [] as [Range<usize>; 0]);
        assert_eq!(found("a.b axb", "a.b", SearchSyntax::Regex), [0..3, 4..7]);
        assert_eq!(found("x\ny", "^.", SearchSyntax::Regex), [0..1, 2..3]);
        assert_eq!(found("abc", "", SearchSyntax::Literal), [] as [Range<usize>; 0]);
    }

    #[test]
    fn a_broken_expression_is_an_error() {
        let error = Sought::read("(a", SearchSyntax::Regex).unwrap_err();
        assert_eq!(error, "unclosed group");
        assert!(Sought::read("(a", SearchSyntax::Literal).is_ok());
    }

    #[test]
    fn the_next_place_is_after_the_cursor_and_goes_round() {
        let places = [2..3, 5..6];
        assert_eq!(
            [0, 2, 3, 6].map(|cursor| next(&places, cursor, Direction::Forward)),
            [Some(0), Some(0), Some(1), Some(0)]
        );
        assert_eq!(
            [0, 2, 3, 6].map(|cursor| next(&places, cursor, Direction::Back)),
            [Some(1), Some(1), Some(0), Some(1)]
        );
        assert_eq!(next(&[], 0, Direction::Forward), None);
    }

    #[test]
    fn groups_are_filled_into_the_replacement_and_all_of_it_is_one_undo() {
        let mut draft = Draft::new("a=1, b=2");
        let sought = Sought::read(r"(\w)=(\d)", SearchSyntax::Regex).unwrap();
        assert_eq!(sought.replace_every(&mut draft, "$2:$1"), 2);
        assert_eq!(draft.text(), "1:a, 2:b");
        assert!(draft.undo() && !draft.undo());
        assert_eq!(draft.text(), "a=1, b=2");
        sought.replace(&mut draft, &(5..8), "$1");
        assert_eq!(draft.text(), "a=1, b");
        assert_eq!(draft.cursor(), 6);
    }

    proptest! {
        #[test]
        fn replacing_everything_is_the_same_as_the_language_does_it_and_undo_takes_it_back(
            text in "[ab→🎈 \n]{0,40}", sought in "[ab→🎈]{1,2}", with in "[ab→$1\n]{0,3}", cursor in 0_usize..40,
        ) {
            let mut draft = Draft::new(text.clone());
            draft.place(cursor, Reach::Move);
            let count = Sought::read(&sought, SearchSyntax::Literal).unwrap().replace_every(&mut draft, &with);
            prop_assert_eq!(draft.text(), text.replace(&sought, &with));
            prop_assert_eq!(count, text.matches(&sought).count());
            while draft.undo() {}
            prop_assert_eq!(draft.text(), &text);
            while draft.redo() {}
            prop_assert_eq!(draft.text(), text.replace(&sought, &with));
        }

        #[test]
        fn replacing_one_after_the_other_is_the_same_as_replacing_everything(
            text in "[abx]{0,30}", sought in "a|b|ab|a(x)", with in "[cd]{0,2}",
        ) {
            let sought = Sought::read(&sought, SearchSyntax::Regex).unwrap();
            let mut all = Draft::new(text.clone());
            sought.replace_every(&mut all, &with);
            let mut single = Draft::new(text.clone());
            let mut from = 0;
            while let Some(range) = sought.places(single.text()).into_iter().find(|range| range.start >= from) {
                sought.replace(&mut single, &range, &with);
                from = range.start + with.len();
            }
            prop_assert_eq!(single.text(), all.text());
            while single.undo() {}
            prop_assert_eq!(single.text(), &text);
        }
    }
}
