//! The differences between two JSON values.
//!
//! In: two trees. Out: the smallest parts that differ, each with its path in the notation of [`Json::at`]. Numbers are
//! equal by value (`1` and `1.0`), objects in any order of keys. Items of lists are matched before they are compared,
//! so that an item inserted at the front is one difference.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

use num_bigint::BigInt;
use num_traits::FromPrimitive;

use super::{Json, Node, write_string};

/// Pairs of items that are considered to match two lists; longer lists are compared item by item.
const MOST_PAIRS: usize = 1 << 20;

/// A part that differs.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// Its path: on the right side for an added part, else on the left side. Empty for the whole.
    pub path: String,
    /// The left value; `None` if the part was added.
    pub left: Option<Json>,
    /// The right value; `None` if the part was removed.
    pub right: Option<Json>,
}

impl Difference {
    /// `added`, `removed` or `changed`.
    pub fn change(&self) -> &'static str {
        match (&self.left, &self.right) {
            (None, _) => "added",
            (_, None) => "removed",
            _ => "changed",
        }
    }
}

/// The parts in which two values differ, in the order of the left one; members only on the right come last. Trees are
/// as deep as their reader allows.
pub fn differences(left: &Json, right: &Json) -> Vec<Difference> {
    let mut found = Vec::new();
    compare(left, right, String::new(), &mut found);
    found
}

/// True if two values are equal in the sense of [`differences`].
pub fn same(left: &Json, right: &Json) -> bool {
    canonical(left) == canonical(right)
}

fn compare(left: &Json, right: &Json, path: String, found: &mut Vec<Difference>) {
    let step = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
    match (&left.node, &right.node) {
        (Node::Object(one), Node::Object(other)) => {
            let there: HashMap<&str, &Json> = other.iter().map(|member| (member.key.as_str(), &member.value)).collect();
            for member in one {
                match there.get(member.key.as_str()) {
                    Some(value) => compare(&member.value, value, step(&member.key), found),
                    None => found.push(removed(step(&member.key), &member.value)),
                }
            }
            let here: HashSet<&str> = one.iter().map(|member| member.key.as_str()).collect();
            let new = other.iter().filter(|member| !here.contains(member.key.as_str()));
            found.extend(new.map(|member| added(step(&member.key), &member.value)));
        }
        (Node::List(one), Node::List(other)) => {
            for pair in matched(one, other) {
                match pair {
                    (Some(i), Some(j)) => compare(&one[i], &other[j], step(&i.to_string()), found),
                    (Some(i), None) => found.push(removed(step(&i.to_string()), &one[i])),
                    (None, Some(j)) => found.push(added(step(&j.to_string()), &other[j])),
                    (None, None) => {}
                }
            }
        }
        _ if same(left, right) => {}
        _ => found.push(Difference { path, left: Some(left.clone()), right: Some(right.clone()) }),
    }
}

fn removed(path: String, left: &Json) -> Difference {
    Difference { path, left: Some(left.clone()), right: None }
}

fn added(path: String, right: &Json) -> Difference {
    Difference { path, left: None, right: Some(right.clone()) }
}

type Pair = (Option<usize>, Option<usize>);

/// Matches the items of two lists: equal ones as far as they are in the same order, the items between them in pairs.
fn matched(one: &[Json], other: &[Json]) -> Vec<Pair> {
    let (left, right): (Vec<String>, Vec<String>) =
        (one.iter().map(canonical).collect(), other.iter().map(canonical).collect());
    let equal = |i: usize, j: usize| left[i] == right[j];
    let start = (0..one.len().min(other.len())).take_while(|i| equal(*i, *i)).count();
    let rest = one.len().min(other.len()) - start;
    let end = (1..=rest).take_while(|back| equal(one.len() - back, other.len() - back)).count();
    let (rows, columns) = (one.len() - start - end, other.len() - start - end);
    let mut anchors: Vec<(usize, usize)> = (0..start).map(|i| (i, i)).collect();
    if rows.saturating_mul(columns) <= MOST_PAIRS {
        // The longest common subsequence: the length of what can still be matched from each pair on.
        let mut length = vec![vec![0_u32; columns + 1]; rows + 1];
        for i in (0..rows).rev() {
            for j in (0..columns).rev() {
                length[i][j] = if equal(start + i, start + j) {
                    length[i + 1][j + 1] + 1
                } else {
                    length[i + 1][j].max(length[i][j + 1])
                };
            }
        }
        let (mut i, mut j) = (0, 0);
        while i < rows && j < columns {
            if equal(start + i, start + j) {
                anchors.push((start + i, start + j));
                (i, j) = (i + 1, j + 1);
            } else if length[i + 1][j] >= length[i][j + 1] {
                i += 1;
            } else {
                j += 1;
            }
        }
    }
    anchors.extend((1..=end).rev().map(|back| (one.len() - back, other.len() - back)));
    anchors.push((one.len(), other.len()));
    let (mut i, mut j) = (0, 0);
    let mut pairs = Vec::new();
    for (to_i, to_j) in anchors {
        while i < to_i || j < to_j {
            let (from_left, from_right) = (i < to_i, j < to_j);
            pairs.push((from_left.then_some(i), from_right.then_some(j)));
            i += usize::from(from_left);
            j += usize::from(from_right);
        }
        // The anchor itself is equal.
        (i, j) = (to_i + 1, to_j + 1);
    }
    pairs
}

/// A text that is the same for all equal values.
fn canonical(json: &Json) -> String {
    let mut out = String::new();
    write(json, &mut out);
    out
}

fn write(json: &Json, out: &mut String) {
    match &json.node {
        Node::Null => out.push_str("null"),
        Node::Bool(truth) => _ = write!(out, "{truth}"),
        Node::Int(int) => _ = write!(out, "{int}"),
        Node::Big(big) => _ = write!(out, "{big}"),
        Node::Float(float) => match BigInt::from_f64(*float).filter(|_| float.fract() == 0.0) {
            Some(whole) => _ = write!(out, "{whole}"),
            None => _ = write!(out, "{float}"),
        },
        Node::Str(text) => write_string(out, text),
        Node::List(items) => {
            out.push('[');
            for item in items {
                write(item, out);
                out.push(',');
            }
            out.push(']');
        }
        Node::Object(members) => {
            let mut sorted: Vec<_> = members.iter().collect();
            sorted.sort_by(|one, other| one.key.cmp(&other.key));
            out.push('{');
            for member in sorted {
                write_string(out, &member.key);
                out.push(':');
                write(&member.value, out);
                out.push(',');
            }
            out.push('}');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::*;

    /// `path: left → right`, with `–` for a missing value.
    fn shown(left: &str, right: &str) -> Vec<String> {
        let side = |json: &Option<Json>| json.as_ref().map_or_else(|| "–".to_owned(), Json::to_text);
        let found = differences(&parse(left).unwrap_or_default(), &parse(right).unwrap_or_default());
        found.iter().map(|one| format!("{}: {} → {}", one.path, side(&one.left), side(&one.right))).collect()
    }

    #[test]
    fn parts_of_objects_are_named_by_their_path() {
        let found =
            shown(r#"{"a":1,"b":{"c":[1,2],"d":"x"},"e":null}"#, r#"{"b":{"d":"y","c":[1,3]},"a":1.0,"f":true}"#);
        assert_eq!(found, ["b.c.1: 2 → 3", r#"b.d: "x" → "y""#, "e: null → –", "f: – → true"]);
        assert_eq!(shown("1", "2"), [": 1 → 2"]);
        assert_eq!(shown("[]", "{}"), [": [] → {}"]);
    }

    #[test]
    fn one_more_item_is_one_difference() {
        assert_eq!(shown("[1,2,3]", "[0,1,2,3]"), ["0: – → 0"]);
        assert_eq!(shown("[1,2,3]", "[1,3]"), ["1: 2 → –"]);
        assert_eq!(shown("[1,2,3]", "[2,3,4]"), ["0: 1 → –", "2: – → 4"]);
        let found = shown(r#"[{"a":1,"b":1},{"a":2,"b":2}]"#, r#"[{"b":1.0,"a":1},{"a":2,"b":3},7]"#);
        assert_eq!(found, ["1.b: 2 → 3", "2: – → 7"]);
    }

    #[test]
    fn numbers_are_equal_by_value_and_keys_have_no_order() {
        let cases = [("1", "1.0", true), ("10000000000000000000000", "1e22", true), ("0.1", "0.1000001", false)];
        let more = [("\"1\"", "1", false), ("null", "false", false), (r#"{"a":1,"b":2}"#, r#"{"b":2,"a":1}"#, true)];
        for (left, right, equal) in cases.into_iter().chain(more) {
            let (one, other) = (parse(left).unwrap_or_default(), parse(right).unwrap_or_default());
            assert_eq!(same(&one, &other), equal, "{left} {right}");
            assert_eq!(differences(&one, &other).is_empty(), equal, "{left} {right}");
        }
    }

    #[test]
    fn long_lists_are_compared_item_by_item() {
        let list = |from: usize| Json::list((from..from + 2_000).map(|n| Json::str(n.to_string())));
        let found = differences(&list(0), &list(1));
        assert_eq!(found.len(), 2_000);
        assert_eq!(found[0].path, "0");
    }
}
