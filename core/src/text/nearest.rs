//! "Did you mean …?": the known name closest to a mistyped one.
//!
//! In: a name and the names that exist. Out: at most one of them. It never guesses between names that are far away.

/// Names longer than this many characters are not compared, so that the work stays small.
const LONGEST: usize = 64;

/// The candidate with the fewest typing errors (insert, delete, replace, swap of neighbours), if they are few enough:
/// one error in a name of up to five characters, a third of its characters in a longer one. Of equals the first wins.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let name: Vec<char> = name.chars().collect();
    let allowed = (name.len() / 3).max(1);
    candidates
        .into_iter()
        .filter_map(|candidate| Some((distance(&name, candidate)?, candidate)))
        .filter(|(errors, _)| *errors <= allowed)
        .min_by_key(|(errors, _)| *errors)
        .map(|(_, candidate)| candidate)
}

/// Typing errors between two names, ignoring case; `None` when one of them is too long or empty.
fn distance(name: &[char], candidate: &str) -> Option<usize> {
    let other: Vec<char> = candidate.chars().take(LONGEST + 1).collect();
    if name.is_empty() || other.is_empty() || name.len() > LONGEST || other.len() > LONGEST {
        return None;
    }
    let same = |a: char, b: char| a == b || a.to_lowercase().eq(b.to_lowercase());
    let mut before = vec![0; other.len() + 1];
    let mut above: Vec<usize> = (0..=other.len()).collect();
    for (row, &a) in name.iter().enumerate() {
        let mut here = vec![row + 1];
        for (column, &b) in other.iter().enumerate() {
            let replaced = above[column] + usize::from(!same(a, b));
            let mut best = replaced.min(above[column + 1] + 1).min(here[column] + 1);
            if row > 0 && column > 0 && same(a, other[column - 1]) && same(name[row - 1], b) {
                best = best.min(before[column - 1] + 1);
            }
            here.push(best);
        }
        before = std::mem::replace(&mut above, here);
    }
    above.last().copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_typing_errors_find_the_name() {
        let names = ["prompt", "signature", "max_turns", "id"];
        assert_eq!(nearest("promt", names), Some("prompt"));
        assert_eq!(nearest("singature", names), Some("signature"));
        assert_eq!(nearest("max-turn", names), Some("max_turns"));
        assert_eq!(nearest("ID", names), Some("id"));
        assert_eq!(nearest("di", names), Some("id"));
    }

    #[test]
    fn a_name_far_from_all_others_finds_nothing() {
        assert_eq!(nearest("colour", ["prompt", "signature"]), None);
        assert_eq!(nearest("", ["a"]), None);
        assert_eq!(nearest("a", [""]), None);
        assert_eq!(nearest(&"x".repeat(65), ["x"]), None);
    }
}
