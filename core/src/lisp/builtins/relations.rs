//! Relations and walking functions of `clojure.set`, `clojure.walk` and `clojure.string` that are used with their
//! namespace only: their names alone are frequent names of data.

use super::argument::taken;
use super::sort::members_of;
use super::strings::{pass, text};
use super::text_writer::TextWriter;
use super::view::items;
use super::{Arity, Builtin, Clojure, Cost};
use crate::lisp::machine::{Callable, Callee, Machine};
use crate::lisp::{EvalResult, graphemes, wrong};
use crate::value::{Map, Set, Value};

const fn row(
    name: &'static str,
    arity: Arity,
    run: fn(&mut Machine<'_>, &mut [Value]) -> EvalResult,
    signatures: &'static [&'static str],
    about: &'static str,
    examples: &'static [(&'static str, &'static str)],
) -> Builtin {
    Builtin::new(name, arity, run)
        .doc(signatures, about)
        .examples(examples)
        .clojure(Clojure::Named(name))
        .cost(Cost::Sorting)
        .current()
}

/// The rows of this file.
pub(super) const ROWS: &[Builtin] = &[
    row(
        "clojure.set/join",
        Arity::between(2, 3),
        join,
        &["(clojure.set/join rows1 rows2)", "(clojure.set/join rows1 rows2 {key1 key2})"],
        "The set of maps that merge a map of each collection, where the values of their common keys are equal.",
        &[("(clojure.set/join [{:id 1 :a 2}] [{:id 1 :b 3} {:id 2 :b 4}])", "#{{:a 2 :b 3 :id 1}}")],
    ),
    row(
        "clojure.set/project",
        Arity::exactly(2),
        project,
        &["(clojure.set/project rows keys)"],
        "The set of the maps with only these keys.",
        &[("(clojure.set/project [{:a 1 :b 2}] [:a])", "#{{:a 1}}")],
    ),
    row(
        "clojure.set/index",
        Arity::exactly(2),
        index,
        &["(clojure.set/index rows keys)"],
        "A map from the values of these keys to the set of the maps that have them.",
        &[("(clojure.set/index [{:k 1 :v 2}] [:k])", "{{:k 1} #{{:k 1 :v 2}}}")],
    ),
    row(
        "clojure.set/select",
        Arity::exactly(2),
        select,
        &["(clojure.set/select pred s)"],
        "The set of the members for which pred is true.",
        &[("(clojure.set/select even? #{1 2 3})", "#{2}")],
    ),
    row(
        "clojure.set/rename-keys",
        Arity::exactly(2),
        rename_keys,
        &["(clojure.set/rename-keys m {old new})"],
        "The map with keys renamed.",
        &[("(clojure.set/rename-keys {:a 1 :b 2} {:a :x})", "{:b 2 :x 1}")],
    ),
    row(
        "clojure.set/rename",
        Arity::exactly(2),
        rename,
        &["(clojure.set/rename rows {old new})"],
        "The set of the maps with keys renamed.",
        &[("(clojure.set/rename [{:a 1}] {:a :x})", "#{{:x 1}}")],
    ),
    row(
        "clojure.set/map-invert",
        Arity::exactly(1),
        map_invert,
        &["(clojure.set/map-invert m)"],
        "The map from values to keys; of equal values the last key wins.",
        &[("(clojure.set/map-invert {:a 1})", "{1 :a}")],
    ),
    row(
        "clojure.walk/keywordize-keys",
        Arity::exactly(1),
        keywordize_keys,
        &["(clojure.walk/keywordize-keys x)"],
        "The value with all string keys of maps as keywords, at every depth.",
        &[("(clojure.walk/keywordize-keys {\"a\" [{\"b\" 1}]})", "{:a [{:b 1}]}")],
    ),
    row(
        "clojure.walk/stringify-keys",
        Arity::exactly(1),
        stringify_keys,
        &["(clojure.walk/stringify-keys x)"],
        "The value with all keyword keys of maps as strings, at every depth.",
        &[("(clojure.walk/stringify-keys {:a [{:b 1}]})", "{\"a\" [{\"b\" 1}]}")],
    ),
    row(
        "clojure.walk/prewalk-replace",
        Arity::exactly(2),
        |machine, args| walk_replace(machine, args, "prewalk"),
        &["(clojure.walk/prewalk-replace replacements x)"],
        "The value with every part that is a key of the map replaced, from the outside in.",
        &[("(clojure.walk/prewalk-replace {:a :b} [:a [:a]])", "[:b [:b]]")],
    ),
    row(
        "clojure.walk/postwalk-replace",
        Arity::exactly(2),
        |machine, args| walk_replace(machine, args, "postwalk"),
        &["(clojure.walk/postwalk-replace replacements x)"],
        "The value with every part that is a key of the map replaced, from the inside out.",
        &[("(clojure.walk/postwalk-replace {1 :one} {:x 1})", "{:x :one}")],
    ),
    row(
        "clojure.string/reverse",
        Arity::exactly(1),
        reverse_text,
        &["(clojure.string/reverse s)"],
        "The characters of a string in reverse order, as a string.",
        &[("(clojure.string/reverse \"abc\")", "\"cba\"")],
    ),
    row(
        "clojure.string/escape",
        Arity::exactly(2),
        escape,
        &["(clojure.string/escape s replacements)"],
        "The string with every character that is a key of the map replaced.",
        &[("(clojure.string/escape \"a<b\" {\\< \"&lt;\"})", "\"a&lt;b\"")],
    ),
];

/// The maps of a collection that is argument `position`.
fn maps(machine: &mut Machine<'_>, position: usize, coll: Value) -> EvalResult<Vec<Value>> {
    let rows = items(machine, coll)?.map_err(|other| wrong(position, "a set or list of maps", &other))?;
    machine.ticks(rows.len())?;
    match rows.iter().find(|row| !matches!(row, Value::Map(_))) {
        Some(other) => Err(wrong(position, "a set or list of maps", other)),
        None => Ok(rows),
    }
}

fn set_of(machine: &mut Machine<'_>, members: Vec<Value>) -> EvalResult {
    Ok(Value::Set(members_of(machine, members)?.into()))
}

/// The values of a map under these keys, those that it has.
fn picked(machine: &mut Machine<'_>, row: &Value, keys: &[Value]) -> EvalResult {
    machine.ticks(keys.len())?;
    let found = |key: &Value| Some((key.clone(), row.as_map()?.lookup_key(key)?.clone()));
    Ok(Value::map(keys.iter().filter_map(found)))
}

fn join(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let [left, right, pairs] = taken(args);
    let (left, right) = (maps(machine, 1, left)?, maps(machine, 2, right)?);
    let (Some(first), Some(other)) = (left.first().and_then(Value::as_map), right.first().and_then(Value::as_map))
    else {
        return Ok(Value::Set(Set::default().into()));
    };
    // The keys of the left and of the right maps that must be equal.
    let keys: (Vec<Value>, Vec<Value>) = match &pairs {
        Value::Map(pairs) => (pairs.keys().cloned().collect(), pairs.values().cloned().collect()),
        Value::Nil => {
            let common: Vec<Value> = first.keys().filter(|key| other.get(key).is_some()).cloned().collect();
            (common.clone(), common)
        }
        other => return Err(wrong(3, "a map from keys to keys", other)),
    };
    let mut by_values: std::collections::HashMap<Vec<Value>, Vec<&Value>> = std::collections::HashMap::new();
    let values = |row: &Value, keys: &[Value]| -> Vec<Value> {
        keys.iter().map(|key| row.as_map().and_then(|map| map.lookup_key(key)).cloned().unwrap_or_default()).collect()
    };
    for row in &right {
        machine.ticks(8 + keys.1.len())?;
        by_values.entry(values(row, &keys.1)).or_default().push(row);
    }
    let mut joined = Vec::new();
    for row in &left {
        machine.ticks(8 + keys.0.len())?;
        for other in by_values.get(&values(row, &keys.0)).into_iter().flatten() {
            let (Some(row), Some(other)) = (row.as_map(), other.as_map()) else { continue };
            machine.ticks(row.len() + other.len())?;
            let mut both = row.clone();
            for (key, value) in other {
                both.insert(key.clone(), value.clone());
            }
            joined.push(both.into());
        }
    }
    set_of(machine, joined)
}

fn keys_of(machine: &mut Machine<'_>, keys: Value) -> EvalResult<Vec<Value>> {
    items(machine, keys)?.map_err(|other| wrong(2, "a list of keys", &other))
}

fn project(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let [rows, keys] = taken(args);
    let (rows, keys) = (maps(machine, 1, rows)?, keys_of(machine, keys)?);
    let mut projected = Vec::with_capacity(rows.len());
    for row in &rows {
        projected.push(picked(machine, row, &keys)?);
    }
    set_of(machine, projected)
}

fn index(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let [rows, keys] = taken(args);
    let (rows, keys) = (maps(machine, 1, rows)?, keys_of(machine, keys)?);
    let mut groups: std::collections::BTreeMap<Value, Vec<Value>> = std::collections::BTreeMap::new();
    for row in rows {
        machine.ticks(8)?;
        groups.entry(picked(machine, &row, &keys)?).or_default().push(row);
    }
    let mut indexed = Map::default();
    for (key, rows) in groups {
        let rows = set_of(machine, rows)?;
        indexed.insert(key, rows);
    }
    Ok(indexed.into())
}

fn select(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let [pred, set] = taken(args);
    let pred = Callee::of(machine, 1, &pred)?;
    let mut chosen = Vec::new();
    for member in items(machine, set)?.map_err(|other| wrong(2, "a set", &other))? {
        if pred.test_on(machine, &member)? {
            chosen.push(member);
        }
    }
    set_of(machine, chosen)
}

/// The map with keys renamed.
fn renamed(machine: &mut Machine<'_>, map: &Map, names: &Map) -> EvalResult {
    machine.ticks(map.len() + names.len())?;
    let mut made = map.clone();
    let mut moved = Vec::new();
    for (old, new) in names {
        let key = if machine.is_reference() { old.clone() } else { map.written_key(old.clone()) };
        if let Some(value) = made.remove(&key) {
            moved.push((new.clone(), value));
        }
    }
    for (key, value) in moved {
        made.insert(key, value);
    }
    Ok(made.into())
}

fn rename_keys(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let [map, names] = taken(args);
    match (&map, &names) {
        (Value::Nil, _) => Ok(Value::Nil),
        (Value::Map(map), Value::Map(names)) => renamed(machine, map, names),
        (Value::Map(_), other) => Err(wrong(2, "a map from old to new keys", other)),
        (other, _) => Err(wrong(1, "a map", other)),
    }
}

fn rename(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let [rows, names] = taken(args);
    let Value::Map(names) = &names else { return Err(wrong(2, "a map from old to new keys", &names)) };
    let mut made = Vec::new();
    for row in maps(machine, 1, rows)? {
        if let Value::Map(row) = &row {
            made.push(renamed(machine, row, names)?);
        }
    }
    set_of(machine, made)
}

fn map_invert(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let Value::Map(map) = &args[0] else { return Err(wrong(1, "a map", &args[0])) };
    let mut inverted = Map::default();
    for (key, value) in &**map {
        machine.ticks(2)?;
        inverted.insert(value.clone(), key.clone());
    }
    Ok(inverted.into())
}

/// Walks a value with a function that a builtin made.
fn walked(machine: &mut Machine<'_>, walk: &str, function: Value, form: Value) -> EvalResult {
    let walk = Callable::named(super::walk::ROWS, walk);
    machine.call(&walk, &mut [function, form])
}

/// `keywordize-keys` and `stringify-keys`: changes the keys of one map.
fn with_keys(
    machine: &mut Machine<'_>,
    value: &mut Value,
    change: fn(&mut Machine<'_>, &Value) -> EvalResult,
) -> EvalResult {
    let Value::Map(map) = &*value else { return Ok(std::mem::take(value)) };
    let mut made = Map::default();
    for (key, value) in &**map {
        machine.ticks(2)?;
        let key = change(machine, key)?;
        made.insert(key, value.clone());
    }
    Ok(made.into())
}

fn keywordize_keys(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let function = Callable::bound("keywordize-keys", Vec::new(), |machine, _, args| {
        with_keys(machine, &mut args[0], |machine, key| match key {
            Value::Str(name) => machine.keyword(name).map(Value::Keyword),
            other => Ok(other.clone()),
        })
    });
    walked(machine, "postwalk", function, std::mem::take(&mut args[0]))
}

fn stringify_keys(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let function = Callable::bound("stringify-keys", Vec::new(), |machine, _, args| {
        with_keys(machine, &mut args[0], |_, key| {
            Ok(match key {
                Value::Keyword(word) => Value::str(word.name()),
                other => other.clone(),
            })
        })
    });
    walked(machine, "postwalk", function, std::mem::take(&mut args[0]))
}

fn walk_replace(machine: &mut Machine<'_>, args: &mut [Value], walk: &str) -> EvalResult {
    let [replacements, form] = taken(args);
    if !matches!(replacements, Value::Map(_)) {
        return Err(wrong(1, "a map", &replacements));
    }
    let function = Callable::bound("replace", vec![replacements], |_, parts, args| {
        let found = parts[0].as_map().and_then(|map| map.get(&args[0])).cloned();
        Ok(found.unwrap_or_else(|| std::mem::take(&mut args[0])))
    });
    walked(machine, walk, function, form)
}

fn reverse_text(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let s = text(1, &args[0])?;
    pass(machine, s)?;
    let mut out = TextWriter::default();
    for part in graphemes(s).iter().rev() {
        out.plain(machine, part)?;
    }
    Ok(out.finish())
}

fn escape(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let s = text(1, &args[0])?;
    let Value::Map(replacements) = &args[1] else { return Err(wrong(2, "a map", &args[1])) };
    pass(machine, s)?;
    let mut out = TextWriter::default();
    for part in graphemes(s) {
        out.plain(machine, replacements.get(&part).unwrap_or(&part))?;
    }
    Ok(out.finish())
}
