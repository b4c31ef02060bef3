//! Word diff of two texts: the ranges that only one of them has.
//!
//! In: two texts, such as programs or JSON. Out: byte ranges in each, whitespace between them ignored. Pure and bounded.

use std::ops::Range;

use similar::{DiffOp, TextDiff};

/// For texts with more words between their common start and end, that part is one difference: the smallest diff may take long.
const MAX_WORDS: usize = 4_000;
/// Texts that share less than one word in this many count as entirely different.
const LEAST_COMMON: usize = 4;

/// The ranges that only the left text has, and those that only the right one has.
pub type WordRanges = [Vec<Range<usize>>; 2];

/// Returns the ranges in which two texts differ, word by word; `None` when they have little in common.
pub fn diff_words(left: &str, right: &str) -> Option<WordRanges> {
    let (one, other) = (words(left), words(right));
    let same = |(a, b): &(&Range<usize>, &Range<usize>)| left[(*a).clone()] == right[(*b).clone()];
    let start = one.iter().zip(&other).take_while(same).count();
    let (one_rest, other_rest) = (&one[start..], &other[start..]);
    let end = one_rest.iter().rev().zip(other_rest.iter().rev()).take_while(same).count();
    let (one_rest, other_rest) = (&one_rest[..one_rest.len() - end], &other_rest[..other_rest.len() - end]);
    let (common, changed) = if one_rest.len() + other_rest.len() > MAX_WORDS {
        (start + end, [one_rest.to_vec(), other_rest.to_vec()])
    } else {
        let (inside, changed) = fine((left, one_rest), (right, other_rest));
        (start + end + inside, changed)
    };
    let longer = one.len().max(other.len());
    let is_alike = longer > 0 && common * LEAST_COMMON >= longer;
    let [one, other] = changed;
    is_alike.then(|| [joined(left, one), joined(right, other)])
}

/// Returns the number of common words, and the ranges of the others.
fn fine((left, one): (&str, &[Range<usize>]), (right, other): (&str, &[Range<usize>])) -> (usize, WordRanges) {
    let one_words: Vec<&str> = one.iter().map(|range| &left[range.clone()]).collect();
    let other_words: Vec<&str> = other.iter().map(|range| &right[range.clone()]).collect();
    let diff = TextDiff::from_slices(&one_words, &other_words);
    let mut changed = WordRanges::default();
    let mut common = 0;
    for op in diff.ops() {
        if let DiffOp::Equal { len, .. } = op {
            common += len;
        } else {
            changed[0].extend_from_slice(&one[op.old_range()]);
            changed[1].extend_from_slice(&other[op.new_range()]);
        }
    }
    (common, changed)
}

/// The words of a text: names and numbers as a whole, every other sign by itself.
fn words(text: &str) -> Vec<Range<usize>> {
    let is_in_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '?');
    let mut words: Vec<Range<usize>> = Vec::new();
    let mut in_name = false;
    for (at, sign) in text.char_indices() {
        let end = at + sign.len_utf8();
        let continues = in_name && is_in_name(sign);
        in_name = is_in_name(sign);
        match words.last_mut().filter(|_| continues) {
            Some(word) => word.end = end,
            None if !sign.is_whitespace() => words.push(at..end),
            None => {}
        }
    }
    words
}

/// Ranges with only blanks between them, on one line, become one.
fn joined(text: &str, ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    let mut out: Vec<Range<usize>> = Vec::new();
    for range in ranges {
        match out.last_mut() {
            Some(last) if text[last.end..range.start].chars().all(|c| c == ' ') => last.end = range.end,
            _ => out.push(range),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The differences of both texts in brackets.
    fn marked(left: &str, right: &str) -> Option<[String; 2]> {
        let [one, other] = diff_words(left, right)?;
        let mark = |text: &str, ranges: Vec<Range<usize>>| {
            let mut out = text.to_owned();
            for range in ranges.into_iter().rev() {
                out.replace_range(range.clone(), &format!("[{}]", &text[range]));
            }
            out
        };
        Some([mark(left, one), mark(right, other)])
    }

    #[test]
    fn only_the_words_that_differ_are_marked() {
        let cases = [
            ("(return {:n 7})", "(return {:n 70})", Some(["(return {:n [7]})", "(return {:n [70]})"])),
            (
                "{\"a\": 0.97, \"b\": 1}",
                "{\"a\": 0.93, \"b\": 1}",
                Some(["{\"a\": [0.97], \"b\": 1}", "{\"a\": [0.93], \"b\": 1}"]),
            ),
            ("(f a)", "(f a b c)", Some(["(f a)", "(f a [b c])"])),
            ("(f a\n   b)", "(f a b)", Some(["(f a\n   b)", "(f a b)"])),
            ("日本 (a)", "日本 (é)", Some(["日本 ([a])", "日本 ([é])"])),
            ("same", "same", Some(["same", "same"])),
            ("", "", None),
            ("(return {:n 7})", "I cannot do this.", None),
        ];
        for (left, right, wanted) in cases {
            assert_eq!(marked(left, right), wanted.map(|texts| texts.map(str::to_owned)), "{left:?} {right:?}");
        }
    }

    #[test]
    fn a_very_long_difference_is_one_block_between_what_is_common() {
        let text = |sign: &str| format!("start {}end", format!("{sign} w ").repeat(MAX_WORDS));
        let common = "c ".repeat(MAX_WORDS * 3);
        let (left, right) = (common.clone() + &text("x"), common + &text("y"));
        let [one, other] = diff_words(&left, &right).unwrap();
        assert_eq!((one.len(), other.len()), (1, 1));
        assert!(
            left[..one[0].start].ends_with("start ") && &left[one[0].end..] == " w end",
            "{:?}",
            &left[one[0].end..]
        );
    }
}
