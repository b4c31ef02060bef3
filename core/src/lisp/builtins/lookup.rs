//! Reading maps: single values, paths, and all keys or values.

use std::sync::Arc;

use super::argument::{is_record, no_entries, swapped};
use super::view::{item, items};
use super::{Arity, Builtin, Clojure, Cost};
use crate::lisp::machine::Machine;
use crate::lisp::{EvalResult, entries as entries_of, wrong};
use crate::value::{Map, Value};

/// The rows of this file.
pub(super) const ROWS: &[Builtin] = &[
    Builtin::new("get", Arity::between(2, 3), get).calls_nothing()
        .doc(
            &["(get m key)", "(get m key default)"],
            "The value under key in a map (a keyword also finds the string key of its name), the item at an index of a vector, or the value at the end of a key path; the default, or nil, if there is none.",
        )
        .examples(&[
            ("(get {\"a\" 1} :a)", "1"),
            ("(get [10 20] 1)", "20"),
            ("(get {:a {:b 1}} [:a :b])", "1"),
            ("(get {:a nil} :b 0)", "0"),
        ])
        .clojure(Clojure::Differs("Keys match as keyword or string, and a vector as key is a path unless the map has that key."))
        .cost(Cost::Logarithmic),
    Builtin::new("get-in", Arity::between(2, 3), get_in).calls_nothing()
        .doc(
            &["(get-in m path)", "(get-in m path default)"],
            "The value at the end of a path of keys and indexes; the default, or nil, if there is none.",
        )
        .examples(&[
            ("(get-in {:a {\"b\" [1 2]}} [:a :b 1])", "2"),
            ("(get-in {:a 1} [:b :c] 9)", "9"),
            ("(get-in nil [:a])", "nil"),
        ])
        .clojure(Clojure::Differs("Keys match as keyword or string.")),
    Builtin::new("contains?", Arity::exactly(2), contains).calls_nothing()
        .doc(&["(contains? coll x)"], "True if the map has this key, or the set or vector this member.")
        .examples(&[
            ("(contains? {\"a\" 1} :a)", "true"),
            ("(contains? #{1 2} 1)", "true"),
            ("(contains? [5 6] 5)", "true"),
            ("(contains? nil :a)", "false"),
        ])
        .clojure(Clojure::Differs("On vectors it tests for a member, not for an index; keys of maps match as keyword or string.")),
    Builtin::new("find", Arity::exactly(2), find).calls_nothing()
        .doc(&["(find m key)"], "The entry `[key value]` of a map, or `[index item]` of a vector; nil without one.")
        .examples(&[("(find {\"a\" 1} :a)", "[:a 1]"), ("(find [5 6] 1)", "[1 6]"), ("(find {:a 1} :b)", "nil")])
        .clojure(Clojure::Differs("Keys match as keyword or string; the entry has the requested key."))
        .cost(Cost::Logarithmic),
    Builtin::new("keys", Arity::exactly(1), keys).calls_nothing()
        .doc(&["(keys m)"], "The keys of a map, sorted; nil for nil.")
        .examples(&[("(keys {:b 1 :a 2})", "[:a :b]"), ("(keys {})", "[]"), ("(keys nil)", "nil")])
        .clojure(SORTED),
    Builtin::new("vals", Arity::exactly(1), vals).calls_nothing()
        .doc(&["(vals m)"], "The values of a map in the order of their keys; nil for nil.")
        .examples(&[("(vals {:b 1 :a 2})", "[2 1]"), ("(vals nil)", "nil")])
        .clojure(SORTED),
    Builtin::new("entries", Arity::exactly(1), entries)
        .doc(&["(entries m)"], "The entries of a map as `[key value]`, sorted by key.")
        .examples(&[("(entries {:b 1 :a 2})", "[[:a 2] [:b 1]]"), ("(entries nil)", "[]")])
        .clojure(Clojure::Extension),
    Builtin::new("key", Arity::exactly(1), key).calls_nothing()
        .doc(&["(key entry)"], "The key of an entry.")
        .examples(&[("(map key {:a 1 :b 2})", "[:a :b]"), ("(key [:a 1])", ":a")])
        .clojure(PAIR)
        .cost(Cost::Constant),
    Builtin::new("val", Arity::exactly(1), val).calls_nothing()
        .doc(&["(val entry)"], "The value of an entry.")
        .examples(&[("(map val {:a 1 :b 2})", "[1 2]"), ("(val [:a 1])", "1")])
        .clojure(PAIR)
        .cost(Cost::Constant),
    Builtin::new("select-keys", Arity::exactly(2), select_keys).calls_nothing()
        .doc(&["(select-keys m keys)"], "A map of the given keys that m has.")
        .examples(&[
            ("(select-keys {:a 1 :b 2} [:a :c])", "{:a 1}"),
            ("(select-keys {\"a\" 1} [:a])", "{:a 1}"),
            ("(select-keys nil [:a])", "{}"),
        ])
        .clojure(Clojure::Differs("Keys match as keyword or string; the result has the requested keys.")),
];

const SORTED: Clojure = Clojure::Differs("Sorted by key; {} gives [].");
const PAIR: Clojure = Clojure::Differs("An entry is any vector of two items.");

/// The value under one key: of a map flexibly, of a vector by index, of a set the member; `None` for other values.
fn under<'a>(at: &'a Value, key: &Value) -> Option<&'a Value> {
    match (at, key) {
        (Value::Map(map), key) => map.lookup_key(key),
        (Value::List(list), Value::Int(index)) => list.get(usize::try_from(*index).ok()?),
        (Value::Set(set), key) => set.get(key),
        _ => None,
    }
}

/// As [`under`], and the grapheme of a string at an index.
fn value_under(machine: &mut Machine<'_>, at: &Value, key: &Value) -> EvalResult<Option<Value>> {
    match (at, key) {
        (Value::Str(_), Value::Int(index)) => match usize::try_from(*index) {
            Ok(index) => item(machine, at, index),
            Err(_) => Ok(None),
        },
        _ => Ok(under(at, key).cloned()),
    }
}

/// The value at the end of a path.
fn along(machine: &mut Machine<'_>, root: &Value, path: &[Value]) -> EvalResult<Option<Value>> {
    machine.ticks(path.len())?;
    let Some((last, steps)) = path.split_last() else { return Ok(Some(root.clone())) };
    match steps.iter().try_fold(root, |at, step| under(at, step)) {
        Some(at) => value_under(machine, at, last),
        None => Ok(None),
    }
}

/// The default of `(get m key default)`.
fn default(args: &mut [Value]) -> Value {
    args.get_mut(2).map(std::mem::take).unwrap_or_default()
}

fn get(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let (of, key) = (&args[0], &args[1]);
    let found = match (of, key) {
        (Value::Map(map), Value::List(_))
            if !machine.is_reference()
                && let Some(value) = map.get(key) =>
        {
            Some(value.clone())
        }
        (Value::Nil | Value::Map(_), Value::List(path)) => along(machine, of, path)?,
        (Value::Nil | Value::List(_) | Value::Map(_) | Value::Set(_), _) => under(of, key).cloned(),
        (_, Value::Map(_)) => return Err(swapped(wrong(1, READ, of), "(get m key)")),
        (Value::Str(_) | Value::Int(_) | Value::Big(_) | Value::Float(_), _) => value_under(machine, of, key)?,
        _ => return Err(wrong(1, READ, of)),
    };
    Ok(found.unwrap_or_else(|| default(args)))
}

const READ: &str = "a map, list, set or string";

fn get_in(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let (root, path) = (&args[0], &args[1]);
    if !matches!(root, Value::Nil | Value::Map(_) | Value::List(_) | Value::Set(_)) {
        return Err(wrong(1, READ, root));
    }
    let found = match path {
        Value::Nil => Some(root.clone()),
        Value::List(path) => along(machine, root, path)?,
        // Seqable, but not a path (as in the reference): finds nothing.
        Value::Str(_) | Value::Set(_) => None,
        Value::Map(_) if matches!(root, Value::List(_)) => {
            return Err(swapped(wrong(2, "a list of keys", path), "(get-in m [key …])"));
        }
        Value::Map(path) if path.is_empty() => None,
        Value::Map(path) => along(machine, root, &entries_of(path))?,
        other => return Err(wrong(2, "a list of keys", other)),
    };
    Ok(found.unwrap_or_else(|| default(args)))
}

fn contains(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let sought = &args[1];
    Ok(Value::Bool(match &args[0] {
        Value::Nil => false,
        Value::Map(map) => machine.lookup(map, sought).is_some(),
        Value::Set(set) => set.contains(sought),
        Value::List(list) => {
            machine.ticks(list.len())?;
            list.contains(sought)
        }
        other => return Err(wrong(1, "a map, set or vector", other)),
    }))
}

fn find(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let found = match &args[0] {
        Value::Nil => return Ok(Value::Nil),
        Value::Map(map) => machine.lookup(map, &args[1]),
        list @ Value::List(_) => under(list, &args[1]),
        other if matches!(args[1], Value::Map(_)) => {
            return Err(swapped(wrong(1, "a map or list", other), "(find m key)"));
        }
        other => return Err(wrong(1, "a map or list", other)),
    };
    let value = found.cloned();
    Ok(value.map(|value| Value::pair(std::mem::take(&mut args[1]), value)).unwrap_or_default())
}

/// The only argument, a map.
fn map_of(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult<Option<Arc<Map>>> {
    match std::mem::take(&mut args[0]) {
        Value::Nil => Ok(None),
        Value::Map(map) => {
            machine.ticks(map.len())?;
            Ok(Some(map))
        }
        other => Err(wrong(1, "a map", &other)),
    }
}

fn keys(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let map = map_of(machine, args)?;
    Ok(map.map(|map| Value::list(map.keys().cloned())).unwrap_or_default())
}

fn vals(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let map = map_of(machine, args)?;
    Ok(map
        .map(|map| match Arc::try_unwrap(map) {
            Ok(map) => Value::list(map.into_iter().map(|(_, value)| value)),
            Err(map) => Value::list(map.values().cloned()),
        })
        .unwrap_or_default())
}

fn entries(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    match &args[0] {
        // The suite distinguishes these kinds from the others.
        other if is_record(other) => return Err(no_entries(1, "a map", other)),
        Value::Set(set) if set.is_empty() => return Ok(Vec::new().into()),
        _ => {}
    }
    let map = map_of(machine, args)?;
    Ok(map.map(|map| entries_of(&map)).unwrap_or_default().into())
}

fn key(_: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    pair(&args[0], 0)
}

fn val(_: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    pair(&args[0], 1)
}

/// One part of an entry.
fn pair(entry: &Value, part: usize) -> EvalResult {
    match entry.as_list() {
        Some(items @ [_, _]) => Ok(items[part].clone()),
        _ => Err(wrong(1, "an entry, a vector of a key and a value", entry)),
    }
}

fn select_keys(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let keys = items(machine, std::mem::take(&mut args[1]))?.map_err(|other| wrong(2, "a vector of keys", &other))?;
    match &args[0] {
        Value::Nil => Ok(Map::default().into()),
        Value::Map(map) => {
            machine.ticks(keys.len())?;
            Ok(Value::map(keys.into_iter().filter_map(|key| {
                let value = machine.lookup(map, &key)?.clone();
                Some((key, value))
            })))
        }
        other => Err(wrong(1, "a map", other)),
    }
}
