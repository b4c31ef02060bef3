//! Matching of names: the known name nearest to an unknown one (the source of every "did you mean"), and `*` as a
//! wildcard.
//!
//! In: a name and the known names. Out: the nearest of them, or nothing if none is near. It must never need more than a
//! bounded time per known name: long names have no neighbours.

/// Names longer than this (in characters) are not compared.
const LONGEST: usize = 64;

/// The known name nearest to `name`, or `None` if none is near enough.
///
/// Near means an edit distance (insert, delete, replace, swap of neighbours) of at most a third of the name's
/// characters plus one, and less than the length of the longer name. For names of up to four characters it is at most
/// one, or two for one of four that begins with the other name or is its beginning. Case and `-`/`_` are ignored. Of
/// equally near names the one with the most similar length wins, then the first given.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    closest(name, known).map(|(_, near)| near)
}

/// Like [`nearest`], with the edit distance: 0 for a name that differs only in case and `-`/`_`.
pub fn closest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<(usize, &'a str)> {
    let wanted = fold(name)?;
    known
        .into_iter()
        .filter_map(|candidate| {
            let folded = fold(candidate)?;
            let distance = distance(&wanted, &folded, allowed(&wanted, &folded))?;
            (distance < wanted.len().max(folded.len())).then(|| {
                let lengths = wanted.len().abs_diff(folded.len());
                ((distance, lengths), candidate)
            })
        })
        .min_by_key(|(nearness, _)| *nearness)
        .map(|((distance, _), candidate)| (distance, candidate))
}

/// The edits between a name and a known one that still count as near: two edits of a short name leave little of it.
fn allowed(wanted: &[char], known: &[char]) -> usize {
    match wanted.len() {
        0..=3 => 1,
        4 if !wanted.starts_with(known) && !known.starts_with(wanted) => 1,
        length => length / 3 + 1,
    }
}

/// The end of a message about an unknown name: `; did you mean …?` with the nearest known one, or nothing.
pub fn did_you_mean<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest(name, known).map(|near| format!("; did you mean `{near}`?")).unwrap_or_default()
}

/// The characters of a name that are compared; `None` if it is too long.
fn fold(name: &str) -> Option<Vec<char>> {
    let folded: Vec<char> =
        name.chars().take(LONGEST + 1).map(|c| if c == '_' { '-' } else { c.to_ascii_lowercase() }).collect();
    (folded.len() <= LONGEST).then_some(folded)
}

/// Optimal string alignment distance, `None` if it exceeds `allowed`.
fn distance(a: &[char], b: &[char], allowed: usize) -> Option<usize> {
    if a.len().abs_diff(b.len()) > allowed {
        return None;
    }
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for (i, &x) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, &y) in b.iter().enumerate() {
            let replaced = above[j] + usize::from(x != y);
            let mut least = replaced.min(above[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && x == b[j - 1] && y == a[i - 1] {
                least = least.min(before[j - 1] + 1);
            }
            row.push(least);
        }
        before = std::mem::replace(&mut above, row);
    }
    above.last().copied().filter(|distance| *distance <= allowed)
}

/// True if the text matches the pattern, in which `*` matches any text; a pattern without `*` matches only itself.
pub fn matches_wildcard(pattern: &str, text: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(mut text) = text.strip_prefix(first) else { return false };
    let mut parts: Vec<&str> = rest.split('*').collect();
    let last = parts.pop().unwrap_or_default();
    for part in parts {
        match text.find(part) {
            Some(at) => text = &text[at + part.len()..],
            None => return false,
        }
    }
    text.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_name_finds_its_neighbour() {
        let known = ["mode", "model", "prompt", "max_turns", "signature"];
        let cases = [
            ("modle", Some("model")),
            ("promt", Some("prompt")),
            ("max-turns", Some("max_turns")),
            ("SIGNATURE", Some("signature")),
            ("sigature", Some("signature")),
            ("mode", Some("mode")),
            ("temperature", None),
            ("", None),
            ("x", None),
        ];
        for (name, expected) in cases {
            assert_eq!(nearest(name, known), expected, "{name}");
        }
    }

    #[test]
    fn of_equally_near_names_the_first_wins_and_unrelated_short_names_do_not_match() {
        assert_eq!(nearest("cat", ["bat", "hat"]), Some("bat"));
        assert_eq!(nearest("a", ["b"]), None);
        assert_eq!(nearest("id", ["di"]), Some("di"));
        assert_eq!(nearest("rows", ["pow"]), None);
        assert_eq!(nearest("rosw", ["rows"]), Some("rows"));
        assert_eq!(nearest("okay", ["error", "ok"]), Some("ok"));
    }

    #[test]
    fn the_closest_name_comes_with_its_distance() {
        assert_eq!(closest("Get_Price", ["get-price"]), Some((0, "get-price")));
        assert_eq!(closest("get-prices", ["put-price", "get_price"]), Some((1, "get_price")));
        assert_eq!(closest("rows", ["total"]), None);
    }

    #[test]
    fn very_long_names_have_no_neighbour() {
        let long = "a".repeat(1_000_000);
        assert_eq!(nearest(&long, ["a"]), None);
        assert_eq!(nearest("a", [long.as_str()]), None);
    }

    #[test]
    fn a_star_matches_any_text() {
        assert!(
            matches_wildcard("json", "json")
                && !matches_wildcard("json", "json_loop")
                && !matches_wildcard("json", "JSON")
        );
        assert!(
            matches_wildcard("json*", "json_loop")
                && matches_wildcard("*loop", "json_loop")
                && matches_wildcard("j*n*p", "json_loop")
        );
        assert!(matches_wildcard("*", "") && !matches_wildcard("a*a", "a") && !matches_wildcard("*x*", "json"));
    }
}
