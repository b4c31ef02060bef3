//! What becomes of a program's value when it leaves the program: keywords turn into strings, floats are rounded.
//!
//! In: native values. Out: values of the same shape. Levels below [`JSON_DEPTH`] stay as they are.

use std::sync::Arc;

use crate::limits::JSON_DEPTH;
use crate::value::{Map, Value};

/// The public view of a value (language contract §18): keywords become their names, also as keys; where two keys
/// become one, the string key wins.
pub fn public(value: &Value) -> Value {
    public_at(value, 0)
}

fn public_at(value: &Value, depth: u64) -> Value {
    if depth >= JSON_DEPTH.max {
        return value.clone();
    }
    match value {
        Value::Keyword(name) => Value::str(name.name()),
        Value::List(items) => Value::list(items.iter().map(|item| public_at(item, depth + 1))),
        Value::Set(members) => Value::set(members.iter().map(|member| public_at(member, depth + 1))),
        Value::Map(map) => public_map(map, depth + 1),
        other => other.clone(),
    }
}

fn public_map(map: &Map, depth: u64) -> Value {
    // Of equal keys the first wins, so those that are strings already come first.
    let (strings, others): (Vec<_>, Vec<_>) = map.iter().partition(|(key, _)| matches!(key, Value::Str(_)));
    let entries = strings.into_iter().chain(others);
    Value::map(entries.map(|(key, value)| (public_at(key, depth), public_at(value, depth))))
}

/// The value with all floats in its lists and maps rounded to `digits` decimals, half away from zero
/// (`float_precision`, language contract §17). Members of sets and keys stay: rounding could make two of them one.
pub fn rounded(value: &Value, digits: usize) -> Value {
    rounded_at(value, digits, 0)
}

fn rounded_at(value: &Value, digits: usize, depth: u64) -> Value {
    if depth >= JSON_DEPTH.max {
        return value.clone();
    }
    match value {
        Value::Float(number) => Value::Float(rounded_float(*number, digits)),
        Value::List(items) => Value::list(items.iter().map(|item| rounded_at(item, digits, depth + 1))),
        Value::Map(map) => {
            let entries = map.iter().map(|(key, value)| (key.clone(), rounded_at(value, digits, depth + 1)));
            Value::Map(Arc::new(entries.collect()))
        }
        other => other.clone(),
    }
}

/// More decimals than any double needs to show that it lies exactly between two shorter numbers.
const EXACT: usize = 60;

fn rounded_float(number: f64, digits: usize) -> f64 {
    if !number.is_finite() || digits >= EXACT {
        return number;
    }
    let exact = format!("{:.EXACT$}", number.abs());
    let decimals = exact.split_once('.').map_or("", |(_, decimals)| decimals);
    let is_tie = decimals.get(digits..).is_some_and(|rest| rest.trim_end_matches('0') == "5");
    // Formatting rounds ties to even; the next number away from zero is no tie any more.
    let size = if is_tie { number.abs().next_up() } else { number.abs() };
    let rounded: f64 = format!("{size:.digits$}").parse().unwrap_or(size);
    rounded.copysign(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_are_rounded_half_away_from_zero_by_their_exact_value() {
        let cases = [(0.125, 0.13), (-0.125, -0.13), (2.345_67, 2.35), (5.0, 5.0), (1e300, 1e300), (0.004, 0.0)];
        for (number, expected) in cases {
            assert_eq!(rounded(&Value::Float(number), 2), Value::Float(expected), "{number}");
        }
        assert_eq!(rounded(&Value::Float(5.5675), 3), Value::Float(5.567), "5.5675 lies below the middle");
        assert_eq!(rounded(&Value::Float(2.5), 0), Value::Float(3.0));
    }

    #[test]
    fn rounding_reaches_lists_and_maps_and_leaves_sets() {
        let value = |number: f64| {
            Value::map([(Value::keyword("a"), Value::list([Value::Float(number), Value::set([Value::Float(1.234)])]))])
        };
        assert_eq!(rounded(&value(1.236), 2), value(1.24));
    }

    #[test]
    fn keywords_become_strings_and_string_keys_win() {
        let value = Value::map([
            (Value::keyword("a"), Value::keyword("b")),
            (Value::str("a"), Value::Int(1)),
            (Value::Int(2), Value::set([Value::keyword("c")])),
        ]);
        assert_eq!(public(&value).to_string(), r#"{2 #{"c"} "a" 1}"#);
    }
}
