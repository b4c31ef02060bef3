//! Sorted maps and sets. All maps and sets are in key order here, so that these are ordinary ones; another order is
//! refused with the way to a sorted list.

use super::argument::taken;
use super::build::{hash_map, hash_set};
use super::collection::several;
use super::view::view;
use super::{Arity, Builtin, Clojure, Cost};
use crate::lisp::machine::{Callable, Callee, Machine};
use crate::lisp::{Error, EvalResult, Halt, described, wrong};
use crate::reasons::Reason;
use crate::value::Value;

/// The rows of this file.
pub(super) const ROWS: &[Builtin] = &[
    Builtin::new("sorted-map", Arity::from(0), hash_map)
        .doc(&["(sorted-map & keyvals)"], "The same as hash-map: every map is in key order.")
        .examples(&[("(sorted-map :b 2 :a 1)", "{:a 1 :b 2}"), ("(first (sorted-map 2 :b 1 :a))", "[1 :a]")])
        .cost(Cost::Sorting)
        .current(),
    Builtin::new("sorted-map-by", Arity::from(1), sorted_map_by)
        .doc(&["(sorted-map-by compare & keyvals)"], "The same as sorted-map; only `compare` and `<` are accepted.")
        .examples(&[("(sorted-map-by < 2 :b 1 :a)", "{1 :a 2 :b}")])
        .clojure(Clojure::Differs("There is one order of keys; use sort-by for another."))
        .cost(Cost::Sorting)
        .current(),
    Builtin::new("sorted-set", Arity::from(0), hash_set)
        .doc(&["(sorted-set & items)"], "The same as hash-set: every set is in order.")
        .examples(&[("(sorted-set 3 1 2)", "#{1 2 3}"), ("(first (sorted-set 3 1 2))", "1")])
        .cost(Cost::Sorting)
        .current(),
    Builtin::new("sorted-set-by", Arity::from(1), sorted_set_by)
        .doc(&["(sorted-set-by compare & items)"], "The same as sorted-set; only `compare` and `<` are accepted.")
        .examples(&[("(sorted-set-by < 2 1)", "#{1 2}")])
        .clojure(Clojure::Differs("There is one order of members; use sort for another."))
        .cost(Cost::Sorting)
        .current(),
    Builtin::new("subseq", Arity::between(3, 5), |machine, args| part(machine, args, Direction::Forward))
        .doc(
            &["(subseq coll test key)", "(subseq coll test1 key1 test2 key2)"],
            "The entries of a map or members of a set whose keys pass the tests, in order; nil if none does.",
        )
        .examples(&[
            ("(subseq (sorted-map 1 :a 2 :b 3 :c) > 1)", "[[2 :b] [3 :c]]"),
            ("(subseq #{1 2 3 4} >= 2 < 4)", "[2 3]"),
        ])
        .current(),
    Builtin::new("rsubseq", Arity::between(3, 5), |machine, args| part(machine, args, Direction::Backward))
        .doc(
            &["(rsubseq coll test key)", "(rsubseq coll test1 key1 test2 key2)"],
            "The same as subseq in reverse order.",
        )
        .examples(&[("(rsubseq #{1 2 3 4} <= 3)", "[3 2 1]")])
        .current(),
];

/// Checks that a comparison is the order of all maps and sets.
fn check_order(comparison: &Value, instead: &str) -> EvalResult<()> {
    match Callable::of_value(comparison) {
        Some(Callable::Builtin(row)) if matches!(row.name, "compare" | "<") => Ok(()),
        _ => Err(other_order(instead)),
    }
}

#[cold]
fn other_order(instead: &str) -> Box<Halt> {
    Error::new(Reason::TypeError, "maps and sets are in key order; no other order is possible")
        .hint(format!("For a list in another order use {instead}"))
        .into()
}

fn sorted_map_by(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    check_order(&args[0], "(sort-by key > m), which gives [key value] entries")?;
    hash_map(machine, &mut args[1..])
}

fn sorted_set_by(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    check_order(&args[0], "(sort > coll)")?;
    hash_set(machine, &mut args[1..])
}

/// The order of the result.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Forward,
    Backward,
}

fn part(machine: &mut Machine<'_>, args: &mut [Value], direction: Direction) -> EvalResult {
    let count = args.len();
    let [coll, test, key, second, second_key] = taken(args);
    if count == 4 {
        return Error::new(Reason::ArityError, "needs a key for the second test").halt();
    }
    if !matches!(coll, Value::Map(_) | Value::Set(_)) {
        return Err(wrong(1, "a map or set", &coll));
    }
    let first: Callee<'_> = several(&test, &Value::Nil, "")?;
    let second = if count > 3 { Some(several(&second, &Value::Nil, "")?) } else { None };
    let mut found = Vec::new();
    for item in view(&coll) {
        machine.tick()?;
        let at = match (&coll, &item) {
            (Value::Map(_), Value::List(entry)) => entry.first().cloned().unwrap_or_default(),
            _ => item.clone(),
        };
        let holds = first.call2(machine, at.clone(), key.clone())?.is_truthy()
            && match second {
                Some(second) => second.call2(machine, at, second_key.clone())?.is_truthy(),
                None => true,
            };
        if holds {
            found.push(item);
        }
    }
    if direction == Direction::Backward {
        found.reverse();
    }
    Ok(if found.is_empty() { Value::Nil } else { found.into() })
}

/// `(rationalize x)`, `(bigint x)`, `(bigdec x)`: numbers that are integers exactly; others are refused.
pub(super) const EXACT: &[Builtin] = &[
    exact("bigint", &["(bigint x)"], "The integer of a number, without its fraction, or of a text.")
        .examples(&[("(bigint \"12345678901234567890\")", "12345678901234567890"), ("(bigint 5.0)", "5")]),
    exact("biginteger", &["(biginteger x)"], "The same as bigint.").examples(&[("(biginteger 5)", "5")]),
    exact("bigdec", &["(bigdec x)"], "The integer that a number or text is exactly; fractions are refused.")
        .examples(&[("(bigdec 5)", "5"), ("(bigdec \"12\")", "12")])
        .clojure(Clojure::Differs("There are no decimals: count in the smallest unit, such as cents.")),
    exact("rationalize", &["(rationalize x)"], "The integer that a number is exactly; fractions are refused.")
        .examples(&[("(rationalize 2.0)", "2")])
        .clojure(Clojure::Differs("There are no ratios: keep numerator and denominator apart.")),
];

const fn exact(name: &'static str, signatures: &'static [&'static str], about: &'static str) -> Builtin {
    let run = match name.as_bytes() {
        [b'b', b'i', b'g', b'i', ..] => to_integer,
        _ => to_exact,
    };
    Builtin::new(name, Arity::exactly(1), run).doc(signatures, about).cost(Cost::Constant).current()
}

/// Longest text that is read as an integer.
const LONGEST: usize = 10_000;

/// The whole number in a text.
fn whole_text(machine: &mut Machine<'_>, text: &str) -> EvalResult<Option<Value>> {
    let digits = text.trim().trim_end_matches(['N', 'M']);
    let digits = digits.strip_prefix('+').unwrap_or(digits);
    if digits.len() > LONGEST {
        return Ok(None);
    }
    machine.ticks(digits.len())?;
    Ok(digits.parse::<num_bigint::BigInt>().ok().map(Value::integer))
}

fn to_integer(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    match &args[0] {
        Value::Str(text) => match whole_text(machine, text)? {
            Some(value) => Ok(value),
            None => Err(refused(&args[0])),
        },
        Value::Float(float) if !float.is_finite() => Err(refused(&args[0])),
        number @ (Value::Int(_) | Value::Big(_) | Value::Float(_)) => {
            Ok(crate::value::number::whole(number, crate::value::number::Rounding::Trunc).unwrap_or_default())
        }
        other => Err(wrong(1, "a number or string", other)),
    }
}

fn to_exact(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    match &args[0] {
        Value::Str(text) => match whole_text(machine, text)? {
            Some(value) => Ok(value),
            None => Err(refused(&args[0])),
        },
        Value::Float(float) if !float.is_finite() || float.fract() != 0.0 => Err(refused(&args[0])),
        Value::Int(_) | Value::Big(_) | Value::Float(_) => to_integer(machine, args),
        other => Err(wrong(1, "a number or string", other)),
    }
}

#[cold]
fn refused(value: &Value) -> Box<Halt> {
    let shown =
        if matches!(value, Value::Str(_) | Value::Float(_)) { value.brief(40) } else { described(value).to_owned() };
    Error::new(Reason::TypeError, format!("{shown} is not a whole number; exact fractions are not supported"))
        .hint("Count in the smallest unit (cents): (round (* 100 x)); or use a float: (double x), (parse-double text)")
        .into()
}
