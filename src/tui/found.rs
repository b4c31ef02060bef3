//! Matches of a search in one place: kind of the text, number of matches, the text around the first one.
//!
//! In: texts and a pattern. Out: counts and an excerpt on one line. It must never keep whole texts.

use regex::Regex;

/// Characters shown before the first match.
const BEFORE: usize = 16;
/// Characters of an excerpt.
const EXCERPT: usize = 120;

/// Place of a match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HitPlace {
    /// In this card of the transcript.
    Card(usize),
    /// In the turn that is taken apart: number of the tab, and of the part in it.
    Part(usize, usize),
}

/// Matches in the texts of one kind, in one place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundText {
    /// The turn, run or tab, in words.
    pub at: String,
    /// Kind of the text.
    pub kind: String,
    /// The place.
    pub place: HitPlace,
    /// Number of matches.
    pub count: usize,
    /// The text around the first one.
    pub excerpt: String,
}

impl FoundText {
    /// The matches in a text; `None` when there are none.
    pub fn of(pattern: &Regex, text: &str, at: &str, kind: &str, place: HitPlace) -> Option<Self> {
        let count = pattern.find_iter(text).count();
        let first = pattern.find(text)?;
        let (at, kind) = (at.to_owned(), kind.to_owned());
        Some(Self { at, kind, place, count, excerpt: excerpt(text, first.start()) })
    }

    /// Adds the matches of another text of the same place and kind.
    pub fn add(into: &mut Vec<Self>, found: Self) {
        let is_same =
            |known: &&mut Self| (&known.at, &known.kind, known.place) == (&found.at, &found.kind, found.place);
        match into.iter_mut().rev().find(is_same) {
            Some(known) => known.count += found.count,
            None => into.push(found),
        }
    }
}

/// The text around a byte on one line: what precedes it is cut where it is long.
fn excerpt(text: &str, at: usize) -> String {
    let line = text[..at].rfind('\n').map_or(0, |end| end + 1);
    let before = text[line..at].char_indices().rev().nth(BEFORE - 1).map(|(place, _)| line + place);
    let start = before.unwrap_or(line);
    let cut = if start > line { "…" } else { "" };
    let words: Vec<&str> = text[start..].split_whitespace().take(EXCERPT).collect();
    format!("{cut}{}", words.join(" ").chars().take(EXCERPT).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_excerpt_begins_a_few_characters_before_the_match_on_its_line() {
        let cases = [
            ("needle", "needle"),
            ("first line\n  a needle\nand more", "a needle and more"),
            // Sixteen characters, a blank among them.
            ("a long way to go before the needle", "…o go before the needle"),
            ("日本語日本語日本語日本語日本語 needle", "日本語日本語日本語日本語日本語 needle"),
            ("一日本語日本語日本語日本語日本語 needle", "…日本語日本語日本語日本語日本語 needle"),
        ];
        let pattern = Regex::new("needle").unwrap();
        for (text, wanted) in cases {
            let found = FoundText::of(&pattern, text, "turn 1", "reply", HitPlace::Card(0)).unwrap();
            assert_eq!((found.excerpt.as_str(), found.count), (wanted, 1), "{text}");
        }
    }

    #[test]
    fn texts_of_one_kind_in_one_place_are_one_line() {
        let pattern = Regex::new("a").unwrap();
        let mut all = Vec::new();
        for (text, kind) in [("a", "reply"), ("b", "reply"), ("aa", "call"), ("aaa", "reply")] {
            let found = FoundText::of(&pattern, text, "turn 1", kind, HitPlace::Card(3));
            if let Some(found) = found {
                FoundText::add(&mut all, found);
            }
        }
        let lines: Vec<(&str, usize)> = all.iter().map(|found| (found.kind.as_str(), found.count)).collect();
        assert_eq!(lines, [("reply", 4), ("call", 2)]);
    }
}
