//! Positions in strings, counted in grapheme clusters: substrings by position, and positions of substrings.

use unicode_segmentation::{GraphemeCursor, UnicodeSegmentation};

use super::strings::{pass, text};
use super::{Arity, Builtin, Clojure};
use crate::lisp::machine::Machine;
use crate::lisp::{EvalResult, wrong};
use crate::value::Value;

/// The rows of this file.
pub(super) const ROWS: &[Builtin] = &[
    Builtin::new("subs", Arity::between(2, 3), subs)
        .calls_nothing()
        .doc(
            &["(subs s start)", "(subs s start end)"],
            "The part of a string from an index up to another; out-of-range indexes are clamped.",
        )
        .examples(&[
            ("(subs \"hello\" 1 3)", "\"el\""),
            ("(subs \"hello\" 1)", "\"ello\""),
            ("(subs \"hello\" 10)", "\"\""),
            ("(subs \"👨‍👩‍👧a\" 1)", "\"a\""),
        ])
        .clojure(Clojure::Differs("Never fails; indexes count visible characters.")),
    Builtin::new("index-of", Arity::between(2, 3), index_of)
        .doc(
            &["(index-of s part)", "(index-of s part from)"],
            "The index of the first occurrence, at or after `from`; nil if there is none.",
        )
        .examples(&[
            ("(index-of \"hello\" \"l\")", "2"),
            ("(index-of \"hello\" \"l\" 3)", "3"),
            ("(index-of \"abc\" \"z\")", "nil"),
        ])
        .clojure(Clojure::Named("clojure.string/index-of")),
    Builtin::new("last-index-of", Arity::between(2, 3), last_index_of)
        .doc(
            &["(last-index-of s part)", "(last-index-of s part from)"],
            "The index of the last occurrence, at or before `from`; nil if there is none.",
        )
        .examples(&[
            ("(last-index-of \"abca\" \"a\")", "3"),
            ("(last-index-of \"abca\" \"a\" 2)", "0"),
            ("(last-index-of \"abc\" \"z\")", "nil"),
        ])
        .clojure(Clojure::Named("clojure.string/last-index-of")),
];

/// True if every byte is a grapheme cluster. `\r\n` is one cluster of two bytes.
fn is_plain(s: &str) -> bool {
    s.is_ascii() && !s.as_bytes().contains(&b'\r')
}

/// The length in bytes of the first grapheme cluster.
pub(super) fn next(s: &str) -> usize {
    GraphemeCursor::new(0, s.len(), true).next_boundary(s, 0).ok().flatten().unwrap_or(s.len())
}

/// The number of grapheme clusters.
pub(super) fn length(s: &str) -> usize {
    if is_plain(s) { s.len() } else { s.graphemes(true).count() }
}

/// The byte offset of the cluster with this number; the end for the number of clusters, `None` after it.
pub(super) fn offset(s: &str, number: usize) -> Option<usize> {
    if is_plain(s) {
        return (number <= s.len()).then_some(number);
    }
    let ends = std::iter::once(s.len());
    s.grapheme_indices(true).map(|(at, _)| at).chain(ends).nth(number)
}

/// An integer as a position in a string.
pub(super) enum Position {
    /// Negative.
    Before,
    /// At this cluster, which may be after the end.
    At(usize),
}

/// The position in argument `position`.
pub(super) fn position(position: usize, value: &Value) -> EvalResult<Position> {
    match value {
        Value::Int(number) => Ok(usize::try_from(*number).map_or(Position::Before, Position::At)),
        Value::Big(big) if big.sign() == num_bigint::Sign::Minus => Ok(Position::Before),
        Value::Big(_) => Ok(Position::At(usize::MAX)),
        other => Err(wrong(position, "an integer", other)),
    }
}

fn subs(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let s = text(1, &args[0])?;
    let start = position(2, &args[1])?;
    let end = args.get(2).map(|end| position(3, end)).transpose()?;
    pass(machine, s)?;
    let (Position::At(start), false) = (start, matches!(end, Some(Position::Before))) else { return Ok("".into()) };
    let Some(from) = offset(s, start) else { return Ok("".into()) };
    let to = match end {
        Some(Position::At(end)) if end <= start => from,
        Some(Position::At(end)) => offset(&s[from..], end - start).map_or(s.len(), |length| from + length),
        _ => s.len(),
    };
    Ok(if to - from == s.len() { args[0].clone() } else { Value::from(&s[from..to]) })
}

/// The first cluster at or after `from` where `part` begins. The empty text begins everywhere; after the end, at the
/// end.
pub(super) fn first(s: &str, part: &str, from: usize) -> Option<usize> {
    if part.is_empty() {
        return Some(from.min(length(s)));
    }
    let start = offset(s, from)?;
    let at = s[start..].find(part)?;
    Some(from + length(&s[start..start + at]))
}

/// The last cluster at or before `from` where `part` begins.
pub(super) fn last(s: &str, part: &str, from: usize) -> Option<usize> {
    let limit = offset(s, from).map_or(s.len(), |start| s.floor_char_boundary(start.saturating_add(part.len())));
    s[..limit].rfind(part).map(|at| length(&s[..at]))
}

fn index_of(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let (s, part) = (text(1, &args[0])?, text(2, &args[1])?);
    let from = match args.get(2).map(|from| position(3, from)).transpose()? {
        Some(Position::At(from)) => from,
        _ => 0,
    };
    pass(machine, s)?;
    Ok(first(s, part, from).map_or(Value::Nil, number))
}

fn last_index_of(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let (s, part) = (text(1, &args[0])?, text(2, &args[1])?);
    let from = match args.get(2).map(|from| position(3, from)).transpose()? {
        Some(Position::Before) => return Ok(Value::Nil),
        Some(Position::At(from)) => from,
        None => usize::MAX,
    };
    pass(machine, s)?;
    Ok(last(s, part, from).map_or(Value::Nil, number))
}

/// A count as a value.
pub(super) fn number(count: usize) -> Value {
    Value::Int(i64::try_from(count).unwrap_or(i64::MAX))
}
