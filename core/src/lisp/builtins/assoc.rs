//! Updating maps and vectors: a value with one owner is changed in place.

use std::sync::Arc;

use super::argument::{is_record, swapped};
use super::collection::{own_list, own_map};
use super::{Arity, Builtin, Clojure, Cost};
use crate::lisp::machine::{Callee, Machine};
use crate::lisp::{Error, EvalResult, Halt, described, wrong};
use crate::reasons::Reason;
use crate::value::{List, Map, Value};

/// The keys that a write finds; into and merge-with write in the same way.
pub(super) const WRITES: Clojure = Clojure::Differs(
    "A key that get finds is the one that is written: :a finds \"a\", and a name with - finds one with _, of strings too.",
);

/// The rows of this file.
pub(super) const ROWS: &[Builtin] = &[
    Builtin::new("assoc", Arity::from(0), assoc)
        .calls_nothing()
        .doc(
            &["(assoc m key value …)"],
            "The map with each value under its key, or the vector with each value at its index; the index after the \
             last appends.",
        )
        .examples(&[
            ("(assoc {:a 1} :b 2 :c 3)", "{:a 1 :b 2 :c 3}"),
            ("(assoc nil :a 1)", "{:a 1}"),
            ("(assoc [1 2] 2 3)", "[1 2 3]"),
            ("(assoc {\"a\" 1} :a 2)", "{\"a\" 2}"),
            ("(assoc {\"a_b\" 1} \"a-b\" 2)", "{\"a_b\" 2}"),
        ])
        .cost(Cost::Logarithmic)
        .clojure(WRITES),
    Builtin::new("assoc-in", Arity::exactly(3), assoc_in)
        .calls_nothing()
        .doc(&["(assoc-in m path value)"], "The map with the value at the end of a path; missing maps are created.")
        .examples(&[("(assoc-in {} [:x :y] 1)", "{:x {:y 1}}"), ("(assoc-in [[1 2] [3]] [0 1] 9)", "[[1 9] [3]]")])
        .cost(Cost::Logarithmic),
    Builtin::new("update", Arity::from(0), update)
        .calls_argument(2)
        .doc(
            &["(update m key f)", "(update m key f a …)"],
            "The map with the value under this key replaced by `(f value a …)`; a missing value is nil.",
        )
        .examples(&[
            ("(update {:a 1} :a inc)", "{:a 2}"),
            ("(update {:a 1} :a + 2 3)", "{:a 6}"),
            ("(update {} :n (fnil inc 0))", "{:n 1}"),
            ("(update [1 2] 0 inc)", "[2 2]"),
        ])
        .cost(Cost::Logarithmic)
        .clojure(WRITES),
    Builtin::new("update-in", Arity::from(0), update_in)
        .calls_argument(2)
        .doc(
            &["(update-in m path f)", "(update-in m path f a …)"],
            "The map with the value at the end of a path replaced by `(f value a …)`; missing maps are created.",
        )
        .examples(&[
            ("(update-in {:a {:b 1}} [:a :b] + 10)", "{:a {:b 11}}"),
            ("(update-in {} [:a :b] (fnil inc 0))", "{:a {:b 1}}"),
        ])
        .cost(Cost::Logarithmic),
    Builtin::new("dissoc", Arity::from(0), dissoc)
        .calls_nothing()
        .doc(&["(dissoc m key …)"], "The map without these keys.")
        .examples(&[("(dissoc {:a 1 :b 2} :a)", "{:b 2}"), ("(dissoc {\"a\" 1} :a)", "{}"), ("(dissoc nil :a)", "nil")])
        .cost(Cost::Logarithmic),
    Builtin::new("merge", Arity::from(0), merge)
        .calls_nothing()
        .doc(&["(merge m …)"], "One map of all entries; the last of equal keys wins. nil counts as an empty map.")
        .examples(&[
            ("(merge {:a 1 :b 1} {:a 2} nil)", "{:a 2 :b 1}"),
            ("(merge {\"a\" 1} {:a 2})", "{\"a\" 2}"),
            ("(merge nil nil)", "{}"),
        ])
        .clojure(Clojure::Differs("All nil gives {}; keys are written as by assoc.")),
    Builtin::new("merge-with", Arity::from(1), merge_with)
        .calls_argument(0)
        .doc(&["(merge-with f m …)"], "One map of all entries; the values of equal keys become `(f old new)`.")
        .examples(&[
            ("(merge-with + {:a 1} {:a 2 :b 3})", "{:a 3 :b 3}"),
            ("(merge-with concat {:a [1]} {:a [2]})", "{:a [1 2]}"),
        ])
        .clojure(Clojure::Differs("All nil gives {}; keys are written as by assoc.")),
    Builtin::new("update-vals", Arity::exactly(2), update_vals)
        .calls_argument(1)
        .doc(&["(update-vals m f)"], "The map with every value replaced by `(f value)`; nil for nil.")
        .examples(&[("(update-vals {:a 1 :b 2} inc)", "{:a 2 :b 3}"), ("(update-vals nil inc)", "nil")])
        .clojure(NIL),
    Builtin::new("update-keys", Arity::exactly(2), update_keys)
        .calls_argument(1)
        .doc(&["(update-keys m f)"], "The map with every key replaced by `(f key)`; nil for nil.")
        .examples(&[("(update-keys {:a 1} name)", "{\"a\" 1}"), ("(update-keys nil name)", "nil")])
        .clojure(NIL),
];

const NIL: Clojure = Clojure::Differs("nil gives nil.");

fn assoc(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    // Every wrong count is the same error, without an arity error of its own (as the suite shows).
    let Some((root, pairs)) = args.split_first_mut().filter(|(_, pairs)| !pairs.is_empty() && pairs.len() % 2 == 0)
    else {
        if let Some(root @ (Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Str(_))) = args.first() {
            return Err(wrong(1, "a map or vector", root));
        }
        return Error::new(Reason::RuntimeError, format!("needs keys with their values, got {} arguments", args.len()))
            .hint("Write (assoc m key value …)")
            .halt();
    };
    let mut root = std::mem::take(root);
    for pair in pairs.chunks_exact_mut(2) {
        machine.tick()?;
        if !matches!(root, Value::Nil | Value::Map(_) | Value::List(_)) {
            return Err(wrong(1, "a map or vector", &root));
        }
        *slot(machine, &mut root, std::mem::take(&mut pair[0]), Change::Assoc)? = std::mem::take(&mut pair[1]);
    }
    Ok(root)
}

/// The builtin that looks up a slot; they differ for an index that a vector does not have (as the suite shows).
#[derive(Clone, Copy, PartialEq, Eq)]
enum Change {
    /// The index after the last appends; any other is a `runtime_error`.
    Assoc,
    /// As above, but a key that is not an integer is a `type_error`.
    AssocIn,
    /// As above, and no index appends.
    Update,
}

/// The slot under a key of a map or at an index of a vector, for writing: nil if it was missing. nil becomes a map.
/// Everything shared on the way is copied, so that the slot has one owner.
fn slot<'m>(machine: &mut Machine<'_>, at: &'m mut Value, key: Value, change: Change) -> EvalResult<&'m mut Value> {
    if at.is_nil() {
        *at = Map::default().into();
    }
    match at {
        Value::Map(map) => {
            let exact_keys = machine.world.exact_keys;
            let map = own_map(machine, map)?;
            Ok(if exact_keys { map.slot(key) } else { map.written_slot(key) })
        }
        Value::List(list) => item(machine, list, &key, change),
        other => {
            let problem = format!("{key} cannot be set in {}: only maps and vectors have keys", described(other));
            Error::new(Reason::TypeError, problem).halt()
        }
    }
}

/// The key under which a map is written: the one that a read finds, unless the dialect needs exact keys.
pub(super) fn written(machine: &Machine<'_>, map: &Map, key: Value) -> Value {
    if machine.world.exact_keys { key } else { map.written_key(key) }
}

/// The item of a vector at an index, for writing.
fn item<'m>(
    machine: &mut Machine<'_>,
    list: &'m mut Arc<List>,
    key: &Value,
    change: Change,
) -> EvalResult<&'m mut Value> {
    let len = list.len();
    let list = own_list(machine, list)?;
    let index = match key {
        Value::Int(index) => usize::try_from(*index).ok(),
        _ => None,
    };
    match index {
        Some(index) if index < len => Ok(&mut list[index]),
        Some(index) if index == len && change != Change::Update => {
            list.push(Value::Nil);
            Ok(&mut list[len])
        }
        None if change != Change::Assoc => {
            let got = if let Value::Int(_) = key { key.to_string() } else { described(key).to_owned() };
            let problem = format!("the index of a vector must be an integer from 0, got {got}");
            Error::new(Reason::TypeError, problem).halt()
        }
        _ => {
            let hint = match change {
                Change::Update => "Indexes go from 0 to the number of items minus 1",
                Change::Assoc | Change::AssocIn => "Indexes go from 0 to the number of items, which appends",
            };
            let problem = format!("index {key} is out of range for a vector of {len} items");
            Error::new(Reason::RuntimeError, problem).hint(hint).halt()
        }
    }
}

/// The slot at the end of a path. In the dialect `reference` a step is looked up as keyword or string but written under its exact key, so a
/// map under a string key moves to the requested keyword (as the suite shows), and so does the old value of an update. `None` if
/// the path leads into a value that has no entries.
fn slot_in<'m>(
    machine: &mut Machine<'_>,
    root: &'m mut Value,
    path: &Value,
    change: Change,
) -> EvalResult<Option<&'m mut Value>> {
    if holds_nothing(root) {
        return Ok(None);
    }
    if !matches!(root, Value::Nil | Value::Map(_) | Value::List(_)) {
        return Err(wrong(1, "a map or vector", root));
    }
    // An empty path is the path of the key nil (as the suite shows).
    let no_path = [Value::Nil];
    let path = match path {
        Value::Nil => &no_path,
        Value::List(path) if path.is_empty() => &no_path,
        Value::List(path) => &path[..],
        other => return Err(wrong(2, "a vector of keys", other)),
    };
    let Some((last, before)) = path.split_last() else { return Ok(Some(root)) };
    let mut at = root;
    for key in before {
        machine.tick()?;
        let in_map = matches!(at, Value::Map(_));
        let exact_keys = machine.world.exact_keys;
        if let Value::Map(map) = &mut *at
            && exact_keys
            && map.get(key).is_none()
        {
            let inner = map.lookup_key(key).cloned().unwrap_or_else(|| Map::default().into());
            *own_map(machine, map)?.slot(key.clone()) = inner;
        }
        at = slot(machine, at, key.clone(), change)?;
        if in_map && !exact_keys && at.is_nil() {
            *at = Map::default().into();
        }
        if in_map && holds_nothing(at) {
            return Ok(None);
        }
        if in_map && !matches!(at, Value::Map(_) | Value::List(_)) {
            let problem = format!("under {key} is {}: only maps and vectors have keys", described(at));
            return Error::new(Reason::RuntimeError, problem).halt();
        }
    }
    if let (Value::Map(map), Change::Update) = (&mut *at, change)
        && machine.world.exact_keys
        && map.get(last).is_none()
        && let Some(value) = map.lookup_key(last).cloned()
    {
        *own_map(machine, map)?.slot(last.clone()) = value;
    }
    slot(machine, at, last.clone(), change).map(Some)
}

/// True for a value without entries where writing is silently ignored (as the suite shows).
fn holds_nothing(value: &Value) -> bool {
    matches!(value, Value::Set(_)) || is_record(value)
}

fn assoc_in(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let [root, path, value] = args else { return Ok(Value::Nil) };
    let mut root = std::mem::take(root);
    if let Some(slot) = slot_in(machine, &mut root, path, Change::AssocIn)? {
        *slot = std::mem::take(value);
    }
    Ok(root)
}

/// The arguments of `(update m key f a …)`: the map, the key, the function, and its further arguments.
fn change(args: &mut [Value]) -> EvalResult<(Value, &mut Value, &Value, &mut [Value])> {
    let count = args.len();
    let [root, key, function, rest @ ..] = args else {
        let problem = format!("needs at least 3 arguments (collection, key, function), got {count}");
        return Error::new(Reason::TypeError, problem).halt();
    };
    Ok((std::mem::take(root), key, function, rest))
}

/// Replaces a value by `(f value a …)`.
#[inline]
fn apply(machine: &mut Machine<'_>, slot: &mut Value, callee: Callee<'_>, rest: &mut [Value]) -> EvalResult<()> {
    let old = std::mem::take(slot);
    let new = match rest {
        [] => callee.call1(machine, old),
        [one] => callee.call2(machine, old, std::mem::take(one)),
        _ => {
            let mut all: Vec<Value> = [old].into_iter().chain(rest.iter_mut().map(std::mem::take)).collect();
            callee.call(machine, &mut all)
        }
    };
    *slot = new?;
    Ok(())
}

/// The function of `update` and its variants; a set is not accepted here.
fn changer<'v>(machine: &Machine<'_>, position: usize, function: &'v Value) -> EvalResult<Callee<'v>> {
    match function {
        Value::Set(_) => Err(wrong(position, "a function", function)),
        _ => Callee::of(machine, position, function),
    }
}

fn update(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let (mut root, key, function, rest) = change(args)?;
    let callee = changer(machine, 3, function)?;
    if !matches!(root, Value::Nil | Value::Map(_) | Value::List(_)) {
        let halt = wrong(1, "a map or list", &root);
        return Err(if let Value::Map(_) = key { swapped(halt, "(update m key f)") } else { halt });
    }
    // Paths, and all keys in the dialect `reference`, are read in forms in which they are not written.
    let is_read_apart = (matches!(key, Value::List(_)) || machine.is_reference())
        && root.as_map().is_some_and(|map| map.lookup_key(key).is_some());
    let (count, wanted) = (entries(&root), key.clone());
    let value = slot(machine, &mut root, std::mem::take(key), Change::Update)?;
    match apply(machine, value, callee, rest) {
        Ok(()) => Ok(root),
        Err(halt) if !is_read_apart && entries(&root) > count => Err(with_keys_hint(halt, &wanted, &root)),
        Err(halt) => Err(halt),
    }
}

/// The number of entries of a map; 0 for nil.
fn entries(root: &Value) -> usize {
    root.as_map().map_or(0, Map::len)
}

/// Number of keys that a message lists.
const LISTED_KEYS: usize = 12;

/// Adds the keys of the map to the error of a function that got nil for a missing key.
#[cold]
fn with_keys_hint(mut halt: Box<Halt>, missing: &Value, root: &Value) -> Box<Halt> {
    if let Halt::Error(error) = &mut *halt
        && matches!(error.reason, Reason::TypeError | Reason::ArithmeticError | Reason::RuntimeError)
        && error.hint.is_none()
    {
        let shown = missing.brief(40);
        let map = root.as_map();
        // The slot of the missing key is already in the map.
        let added = map.and_then(|map| map.lookup_key(missing));
        let others =
            map.into_iter().flatten().filter(|(_, value)| !added.is_some_and(|added| std::ptr::eq(*value, added)));
        let mut keys: Vec<String> = others.map(|(key, _)| key.brief(40)).take(LISTED_KEYS + 1).collect();
        if keys.len() > LISTED_KEYS {
            keys.truncate(LISTED_KEYS);
            keys.push("…".to_owned());
        }
        error.hint = Some(if keys.is_empty() {
            format!("The map is nil or empty and has no {shown}. For a default use (fnil f 0)")
        } else {
            format!("The map has no {shown}; its keys: {}. For a default use (fnil f 0)", keys.join(" "))
        });
    }
    halt
}

fn update_in(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let (mut root, path, function, rest) = change(args)?;
    let callee = changer(machine, 3, function)?;
    match slot_in(machine, &mut root, path, Change::Update)? {
        Some(value) => apply(machine, value, callee, rest)?,
        None => apply(machine, &mut Value::Nil, callee, rest)?,
    }
    Ok(root)
}

fn dissoc(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let Some((root, keys)) = args.split_first_mut() else {
        return Error::new(Reason::TypeError, "needs a map").hint("Write (dissoc m key …)").halt();
    };
    match std::mem::take(root) {
        Value::Nil => Ok(Value::Nil),
        Value::Map(mut map) => {
            for key in keys {
                machine.tick()?;
                let key = written(machine, &map, std::mem::take(key));
                if map.get(&key).is_some() {
                    own_map(machine, &mut map)?.remove(&key);
                }
            }
            Ok(Value::Map(map))
        }
        other => Err(wrong(1, "a map", &other)),
    }
}

/// The only argument of a merge: returned unchanged unless it is nil or false; false counts as no map.
fn single(maps: &mut [Value]) -> Option<Value> {
    match maps {
        [one] if one.is_truthy() => Some(std::mem::take(one)),
        [Value::Bool(false)] => Some(Map::default().into()),
        _ => None,
    }
}

fn merge(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    if let Some(one) = single(args) {
        return Ok(one);
    }
    join(machine, args, 1, |_, old, new| {
        *old = new;
        Ok(())
    })
}

fn merge_with(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let Some((function, maps)) = args.split_first_mut() else { return Ok(Value::Nil) };
    let callee = Callee::of(machine, 1, function)?;
    if let Some(one) = single(maps) {
        return Ok(one);
    }
    let field = matches!(function, Value::Keyword(_));
    join(machine, maps, 2, |machine, old, new| {
        if field && !matches!(old, Value::Map(_) | Value::Nil) {
            return Err(wrong(1, "a function of two values", function));
        }
        *old = callee.call2(machine, std::mem::take(old), new)?;
        Ok(())
    })
}

/// Merges the entries of all maps; `clash` combines the values of equal keys. `position` is that of the first map among
/// the builtin's arguments.
fn join<'h>(
    machine: &mut Machine<'h>,
    maps: &mut [Value],
    position: usize,
    clash: impl Fn(&mut Machine<'h>, &mut Value, Value) -> EvalResult<()>,
) -> EvalResult {
    let mut joined = Arc::<Map>::default();
    for (position, map) in (position..).zip(maps) {
        let map = match std::mem::take(map) {
            Value::Nil => continue,
            Value::Map(map) => map,
            other => return Err(wrong(position, "a map or nil", &other)),
        };
        if joined.is_empty() {
            joined = map;
            continue;
        }
        let exact_keys = machine.world.exact_keys;
        let joined = own_map(machine, &mut joined)?;
        let mut add = |key: Value, value: Value| -> EvalResult<()> {
            machine.tick()?;
            let key = if exact_keys { key } else { joined.written_key(key) };
            match joined.get_mut(&key) {
                Some(old) => clash(machine, old, value)?,
                None => drop(joined.insert(key, value)),
            }
            Ok(())
        };
        match Arc::try_unwrap(map) {
            Ok(map) => map.into_iter().try_for_each(|(key, value)| add(key, value)),
            Err(map) => map.iter().try_for_each(|(key, value)| add(key.clone(), value.clone())),
        }?;
    }
    Ok(Value::Map(joined))
}

/// The map and the function of `(name m f)`.
fn map_and_function<'v>(
    machine: &Machine<'_>,
    args: &'v mut [Value],
    call: &str,
) -> EvalResult<(Option<Arc<Map>>, Callee<'v>)> {
    let [map, function] = args else { return Err(wrong(1, "a map", &Value::Nil)) };
    let map = match std::mem::take(map) {
        Value::Nil => None,
        Value::Map(map) => Some(map),
        other if matches!(function, Value::Map(_)) => return Err(swapped(wrong(1, "a map", &other), call)),
        other => return Err(wrong(1, "a map", &other)),
    };
    Ok((map, changer(machine, 2, function)?))
}

fn update_vals(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let (Some(mut map), callee) = map_and_function(machine, args, "(update-vals m f)")? else { return Ok(Value::Nil) };
    for value in own_map(machine, &mut map)?.values_mut() {
        machine.tick()?;
        *value = callee.call1(machine, std::mem::take(value))?;
    }
    Ok(Value::Map(map))
}

fn update_keys(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let (Some(map), callee) = map_and_function(machine, args, "(update-keys m f)")? else { return Ok(Value::Nil) };
    let mut renamed = Vec::with_capacity(map.len());
    for (key, value) in &*map {
        machine.tick()?;
        renamed.push((callee.call1(machine, key.clone())?, value.clone()));
    }
    // Of keys that became equal the last wins.
    renamed.reverse();
    Ok(Value::map(renamed))
}
