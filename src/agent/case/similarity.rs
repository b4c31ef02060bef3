//! Similarity of two texts by edit distance.
//!
//! In: two texts. Out: a number from 0 (nothing in common) to 1 (equal): one minus the Levenshtein distance over the longer length, in
//! characters. Texts above [`MOST_CHARS`] are refused, because the time grows with the product of the lengths.

/// Maximum characters of a text after its common beginning and end are removed.
pub(super) const MOST_CHARS: usize = 4_000;

/// The similarity; `None` when the texts are too long and differ too much.
pub(super) fn similarity(one: &str, other: &str) -> Option<f64> {
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    let longest = one.len().max(other.len());
    if longest == 0 {
        return Some(1.0);
    }
    let start = one.iter().zip(&other).take_while(|(a, b)| a == b).count();
    let (one, other) = (&one[start..], &other[start..]);
    let end = one.iter().rev().zip(other.iter().rev()).take_while(|(a, b)| a == b).count();
    let (one, other) = (&one[..one.len() - end], &other[..other.len() - end]);
    if one.len().max(other.len()) > MOST_CHARS {
        return None;
    }
    let distance = distance(one, other);
    #[expect(clippy::cast_precision_loss, reason = "lengths of texts")]
    Some(1.0 - distance as f64 / longest as f64)
}

/// The Levenshtein distance: insertions, deletions and replacements of one character.
fn distance(one: &[char], other: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (i, a) in one.iter().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, b) in other.iter().enumerate() {
            let replaced = diagonal + usize::from(a != b);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_distance_is_that_of_known_pairs() {
        let of =
            |one: &str, other: &str| distance(&one.chars().collect::<Vec<_>>(), &other.chars().collect::<Vec<_>>());
        let known = [("", "", 0), ("", "abc", 3), ("kitten", "sitting", 3), ("flaw", "lawn", 2), ("same", "same", 0)];
        for (one, other, expected) in known {
            assert_eq!((of(one, other), of(other, one)), (expected, expected), "{one} {other}");
        }
    }

    #[test]
    fn equal_texts_are_1_and_texts_without_a_common_character_are_0() {
        assert_eq!(similarity("grün", "grün"), Some(1.0));
        assert_eq!(similarity("", ""), Some(1.0));
        assert_eq!(similarity("abc", "xyz"), Some(0.0));
        assert_eq!(similarity("kitten", "sitting"), Some(1.0 - 3.0 / 7.0));
    }

    #[test]
    fn long_texts_are_compared_only_as_far_as_they_differ_little() {
        let long = "a".repeat(MOST_CHARS * 4);
        assert_eq!(similarity(&long, &long), Some(1.0));
        assert!(similarity(&format!("{long}x"), &format!("{long}y")).is_some());
        assert_eq!(similarity(&long, &"b".repeat(MOST_CHARS * 4)), None);
    }
}
