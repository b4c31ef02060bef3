//! Building collections from arguments and from other collections.

use std::sync::Arc;

use super::access::ORDERED;
use super::argument::{CollectionKinds, hinted, integer, is_record, length, no_entries, swapped, taken};
use super::assoc::written;
use super::collection::{own_list, own_map};
use super::endless::{self, transformed};
use super::sort::{is_leaf, members_of};
use super::transducers::items_through;
use super::view::collect;
use super::{Arity, Builtin, Clojure, Cost};
use crate::lisp::machine::{Callable, Machine};
use crate::lisp::{Error, EvalResult, described, wrong};
use crate::reasons::Reason;
use crate::value::{Map, Set, Value};

/// The rows of this file.
pub(super) const ROWS: &[Builtin] = &[
    Builtin::new("vector", Arity::from(0), list).calls_nothing()
        .doc(&["(vector & items)"], "A list of the arguments.")
        .examples(&[("(vector 1 2)", "[1 2]"), ("(vector)", "[]")]),
    Builtin::new("list", Arity::from(0), list).calls_nothing()
        .doc(&["(list & items)"], "A list of the arguments; the same as vector.")
        .examples(&[("(list 1 2)", "[1 2]"), ("(list)", "[]")])
        .clojure(Clojure::Differs("lists and vectors are one type")),
    Builtin::new("hash-set", Arity::from(0), hash_set).calls_nothing()
        .doc(&["(hash-set & items)"], "A set of the arguments.")
        .examples(&[("(hash-set 1 2 1)", "#{1 2}"), ("(hash-set)", "#{}")])
        .cost(Cost::Sorting),
    Builtin::new("hash-map", Arity::from(0), hash_map).calls_nothing()
        .doc(&["(hash-map & keyvals)"], "A map of the arguments, alternating keys and values; the last of equal keys wins.")
        .examples(&[("(hash-map :a 1 :b 2)", "{:a 1 :b 2}"), ("(hash-map)", "{}")])
        .cost(Cost::Sorting),
    Builtin::new("array-map", Arity::from(0), hash_map).calls_nothing()
        .doc(&["(array-map & keyvals)"], "The same as hash-map.")
        .examples(&[("(array-map :b 2 :a 1)", "{:a 1 :b 2}"), ("(array-map :a 1 :a 2)", "{:a 2}")])
        .clojure(Clojure::Differs("entries are sorted by key"))
        .cost(Cost::Sorting),
    Builtin::new("cons", Arity::exactly(2), cons).calls_nothing()
        .doc(&["(cons item coll)"], "A list with the item added in front.")
        .examples(&[("(cons 0 [1 2])", "[0 1 2]"), ("(cons 0 nil)", "[0]"), ("(cons 0 \"ab\")", "[0 \"a\" \"b\"]")]),
    Builtin::new("list*", Arity::from(1), list_with)
        .doc(&["(list* item… coll)"], "A list of the items, followed by those of the collection.")
        .examples(&[("(list* 1 2 [3 4])", "[1 2 3 4]"), ("(list* 1 nil)", "[1]")])
        .clojure(Clojure::Differs("lists and vectors are one type"))
        .current(),
    Builtin::new("conj", Arity::from(0), conj).calls_nothing()
        .doc(
            &["(conj coll & items)"],
            "The collection with items added: at the end of a list, as members of a set, as [key value] entries or maps to a map.",
        )
        .examples(&[
            ("(conj [1] 2 3)", "[1 2 3]"),
            ("(conj #{1} 1 2)", "#{1 2}"),
            ("(conj {:a 1} [:b 2] {:c 3})", "{:a 1 :b 2 :c 3}"),
            ("(conj nil 1)", "[1]"),
        ]),
    Builtin::new("concat", Arity::from(0), concat).calls_nothing()
        .doc(&["(concat & colls)"], "The items of all collections in one list; nil has none, maps give [key value] entries.")
        .examples(&[("(concat [1 2] nil [3])", "[1 2 3]"), ("(concat {:a 1} [2])", "[[:a 1] 2]"), ("(concat)", "[]")])
        .clojure(Clojure::Differs("strings are rejected")),
    Builtin::new("into", Arity::between(2, 3), into)
        .takes_in_reference(Arity::exactly(2))
        .doc(&["(into target source)", "(into target xform source)"], "The target with all items of the source, as by conj; with a transducer, the items after it.")
        .examples(&[
            ("(into [1] #{2})", "[1 2]"),
            ("(into {} [[:a 1] [:b 2]])", "{:a 1 :b 2}"),
            ("(into #{} [1 1])", "#{1}"),
            ("(into {} [{:a 1} {:b 2}])", "{:a 1 :b 2}"),
        ])
        .clojure(super::assoc::WRITES),
    Builtin::new("zip", Arity::exactly(2), zip)
        .doc(&["(zip list1 list2)"], "Pairs of the items of two lists, as many as in the shorter one.")
        .examples(&[("(zip [1 2] [:a :b])", "[[1 :a] [2 :b]]"), ("(zip [1 2] [:a])", "[[1 :a]]")])
        .clojure(Clojure::Extension),
    Builtin::new("zipmap", Arity::exactly(2), zipmap).calls_nothing()
        .doc(&["(zipmap keys vals)"], "A map of keys to values at the same index, as many as in the shorter list.")
        .examples(&[("(zipmap [:a :b] [1 2])", "{:a 1 :b 2}"), ("(zipmap [:a :b] [1])", "{:a 1}"), ("(zipmap nil [1])", "{}")])
        .cost(Cost::Sorting),
    Builtin::new("interleave", Arity::from(0), interleave)
        .doc(&["(interleave & colls)"], "The first items of all collections, then the second ones, up to the end of the shortest.")
        .examples(&[("(interleave [1 2 3] [:a :b])", "[1 :a 2 :b]"), ("(interleave [1] nil)", "[]")])
        .clojure(ORDERED),
    Builtin::new("interpose", Arity::between(1, 2), interpose)
        .takes_in_reference(Arity::exactly(2))
        .doc(&["(interpose separator coll)"], "The items with the separator between them.")
        .examples(&[("(interpose 0 [1 2 3])", "[1 0 2 0 3]"), ("(interpose \",\" nil)", "[]")]),
    Builtin::new("repeat", Arity::between(1, 2), repeat)
        .takes_in_reference(Arity::exactly(2))
        .doc(&["(repeat n x)", "(repeat x)"], "A list with n copies of a value; without n, an endless sequence.")
        .examples(&[("(repeat 3 :x)", "[:x :x :x]"), ("(repeat 0 1)", "[]")])
        .clojure(Clojure::Differs("with n always a vector"))
        .cost(Cost::Output),
];

fn list(_: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    Ok(Value::list(args.iter_mut().map(std::mem::take)))
}

pub(super) fn hash_set(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let mut set = Set::default();
    add(machine, &mut set, args.iter_mut().map(std::mem::take).collect())?;
    Ok(Value::Set(Arc::new(set)))
}

pub(super) fn hash_map(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let mut map = Map::default();
    for pair in args.chunks_mut(2) {
        machine.tick()?;
        let [key, value] = pair else {
            let problem = format!("expected alternating keys and values, got {} arguments", args.len());
            return Error::new(Reason::ArityError, problem).hint("Add the value for the last key").halt();
        };
        map.insert(std::mem::take(key), std::mem::take(value));
    }
    Ok(map.into())
}

fn cons(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let [item, coll] = taken(args);
    if Callable::is_endless(&coll) {
        return endless::concat(machine, vec![Value::list([item]), coll]);
    }
    if is_record(&coll) {
        return Err(no_entries(2, "a list, string, map or set", &coll));
    }
    CollectionKinds::All.check(2, &coll).map_err(|halt| match item {
        Value::List(_) | Value::Map(_) | Value::Set(_) => swapped(halt, "(cons x coll)"),
        _ => halt,
    })?;
    let mut items = collect(machine, coll)?;
    machine.ticks(items.len() / 4)?;
    items.insert(0, item);
    Ok(items.into())
}

fn list_with(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let position = args.len();
    let Some((coll, firsts)) = args.split_last_mut() else { return Ok(Vec::new().into()) };
    CollectionKinds::All.check(position, coll)?;
    machine.ticks(firsts.len())?;
    let mut items: Vec<Value> = firsts.iter_mut().map(std::mem::take).collect();
    items.extend(collect(machine, std::mem::take(coll))?);
    Ok(items.into())
}

fn conj(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let Some((coll, items)) = args.split_first_mut() else { return Ok(Vec::new().into()) };
    machine.ticks(items.len())?;
    let mut coll = std::mem::take(coll);
    if items.is_empty() {
        return Ok(coll);
    }
    if coll.is_nil() {
        coll = Vec::new().into();
    }
    match &mut coll {
        Value::List(list) => {
            let list = own_list(machine, list)?;
            for item in items {
                list.push(std::mem::take(item));
            }
        }
        Value::Set(set) => {
            let items = items.iter_mut().map(std::mem::take).collect();
            let set = own_set(machine, set)?;
            add(machine, set, items)?;
        }
        Value::Map(map) => {
            let map = own_map(machine, map)?;
            for (index, item) in items.iter_mut().enumerate() {
                let entry = match std::mem::take(item) {
                    Value::Nil => continue,
                    Value::Map(more) => {
                        put(machine, map, Arc::unwrap_or_clone(more))?;
                        continue;
                    }
                    other => pair(other),
                };
                let (key, value) = entry.map_err(|item| {
                    let got = described(&item);
                    let problem = format!("argument {} must be [key value], a map or nil, got {got}", index + 2);
                    Error::new(Reason::RuntimeError, problem)
                })?;
                let key = written(machine, map, key);
                map.insert(key, value);
            }
        }
        Value::Str(_) => return Err(hinted(wrong(1, "a list, map or set", &coll), "Join strings with str")),
        other => {
            let problem = format!("argument 1 must be a list, map or set, got {}", described(other));
            let halt = Error::new(Reason::RuntimeError, problem).into();
            let is_swapped = matches!(items, [Value::List(_) | Value::Map(_) | Value::Set(_)]);
            return Err(if is_swapped { swapped(halt, "(conj coll x)") } else { halt });
        }
    }
    Ok(coll)
}

/// The two items of a `[key value]` list; `Err` returns any other value.
pub(super) fn pair(item: Value) -> Result<(Value, Value), Value> {
    match item {
        Value::List(list) if list.len() == 2 => {
            let mut items = Arc::unwrap_or_clone(list).into_iter();
            Ok((items.next().unwrap_or_default(), items.next().unwrap_or_default()))
        }
        other => Err(other),
    }
}

fn put(machine: &mut Machine<'_>, map: &mut Map, entries: Map) -> EvalResult<()> {
    for (key, value) in entries {
        machine.ticks(2)?;
        let key = written(machine, map, key);
        map.insert(key, value);
    }
    Ok(())
}

fn own_set<'s>(machine: &mut Machine<'_>, set: &'s mut Arc<Set>) -> EvalResult<&'s mut Set> {
    if Arc::get_mut(set).is_none() {
        make_room(machine, set.len())?;
    }
    Ok(Arc::make_mut(set))
}

/// Reserves memory for values about to be copied, if there are enough to matter.
fn make_room(machine: &mut Machine<'_>, values: usize) -> EvalResult<()> {
    if values > FEW {
        machine.reserve(values.saturating_mul(size_of::<Value>()))?;
    }
    machine.ticks(values)
}

/// Up to this many values are added one by one without reserving memory.
const FEW: usize = 16;

/// Adds members to a set.
fn add(machine: &mut Machine<'_>, set: &mut Set, members: Vec<Value>) -> EvalResult<()> {
    // Comparing members with nested values may take long; sorting them counts the steps.
    if members.len() > FEW && !members.iter().all(is_leaf) {
        let mut all = std::mem::take(set).into_vec();
        all.extend(members);
        *set = members_of(machine, all)?;
        return Ok(());
    }
    for member in members {
        machine.ticks(2)?;
        set.insert(member);
    }
    Ok(())
}

fn concat(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    if let [one] = args {
        return Ok(std::mem::take(one));
    }
    if endless::has_endless(args) {
        return endless::concat(machine, args.iter_mut().map(std::mem::take).collect());
    }
    for (index, coll) in args.iter().enumerate() {
        if matches!(coll, Value::Str(_)) {
            return Err(hinted(wrong(index + 1, "a list, map or set", coll), "Join strings with str, or use (seq s)"));
        }
        CollectionKinds::All.check(index + 1, coll)?;
    }
    let mut all: Option<Vec<Value>> = None;
    for coll in args.iter_mut().map(std::mem::take) {
        match &mut all {
            None if coll.is_nil() => {}
            None => all = Some(collect(machine, coll)?),
            Some(all) => append(machine, all, coll)?,
        }
    }
    Ok(all.unwrap_or_default().into())
}

/// Appends the items of a collection.
fn append(machine: &mut Machine<'_>, items: &mut Vec<Value>, coll: Value) -> EvalResult<()> {
    let more = match &coll {
        Value::List(list) => list.len(),
        Value::Set(set) => set.len(),
        _ => 0,
    };
    make_room(machine, more)?;
    match coll {
        Value::List(mut list) => match Arc::get_mut(&mut list) {
            Some(own) => items.append(own.grown()),
            None => items.extend_from_slice(&list),
        },
        Value::Set(set) => items.extend(set.iter().cloned()),
        other => items.extend(collect(machine, other)?),
    }
    Ok(())
}

fn into(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let (mut target, source) = match args {
        [target, transducer, source] => {
            let source = std::mem::take(source);
            (std::mem::take(target), items_through(machine, transducer, &source)?)
        }
        _ => taken::<2>(args).into(),
    };
    if target.is_nil() {
        target = Vec::new().into();
    }
    CollectionKinds::All.check(2, &source)?;
    match &mut target {
        Value::List(list) if list.is_empty() => {
            let items = collect(machine, source)?;
            return Ok(items.into());
        }
        Value::List(list) => {
            let list = own_list(machine, list)?;
            append(machine, list.grown(), source)?;
        }
        Value::Set(set) => {
            let members = collect(machine, source)?;
            let set = own_set(machine, set)?;
            add(machine, set, members)?;
        }
        Value::Map(map) => {
            let map = own_map(machine, map)?;
            if let Value::Map(source) = source {
                put(machine, map, Arc::unwrap_or_clone(source))?;
            } else {
                let takes_maps = !machine.is_reference();
                for item in collect(machine, source)? {
                    let item = match item {
                        Value::Map(more) if takes_maps => {
                            put(machine, map, Arc::unwrap_or_clone(more))?;
                            continue;
                        }
                        Value::Nil if takes_maps => continue,
                        item => item,
                    };
                    let (key, value) = pair(item).map_err(|item| no_pair(&item))?;
                    machine.ticks(2)?;
                    let key = written(machine, map, key);
                    map.insert(key, value);
                }
            }
        }
        other => return Err(wrong(1, "a list, map, set or nil", other)),
    }
    Ok(target)
}

#[cold]
fn no_pair(item: &Value) -> Box<crate::lisp::Halt> {
    let problem = format!("every item of argument 2 must be [key value], got {}", described(item));
    let hint = match item {
        Value::Map(_) => "Merge maps with merge",
        Value::List(_) => "A key with several values is written [key [value value]]",
        _ => "Make entries first: (into {} (map (fn [x] [key value]) coll))",
    };
    Error::new(Reason::TypeError, problem).hint(hint).into()
}

fn zip(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let [left, right] = taken(args);
    for (position, list) in [(1, &left), (2, &right)] {
        match list {
            Value::Nil => return Err(wrong(position, "a list", list)),
            _ => CollectionKinds::Lists.check(position, list)?,
        }
    }
    let (left, right) = (collect(machine, left)?, collect(machine, right)?);
    machine.reserve(left.len().min(right.len()).saturating_mul(96))?;
    let mut pairs = Vec::with_capacity(left.len().min(right.len()));
    for (one, two) in left.into_iter().zip(right) {
        machine.ticks(4)?;
        pairs.push(vec![one, two].into());
    }
    Ok(pairs.into())
}

fn zipmap(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let [keys, values] = taken(args);
    if Callable::is_endless(&keys) || Callable::is_endless(&values) {
        return endless::zipmap(machine, &keys, &values);
    }
    CollectionKinds::All.check(1, &keys)?;
    CollectionKinds::All.check(2, &values)?;
    let (keys, values) = (collect(machine, keys)?, collect(machine, values)?);
    let mut map = Map::default();
    for (key, value) in keys.into_iter().zip(values) {
        machine.ticks(2)?;
        map.insert(key, value);
    }
    Ok(map.into())
}

fn interleave(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    if endless::has_endless(args) {
        return endless::interleave(machine, args);
    }
    for (index, coll) in args.iter().enumerate() {
        CollectionKinds::Ordered.accept(machine, index + 1, coll)?;
    }
    let mut rows = Vec::with_capacity(args.len());
    for coll in args.iter_mut().map(std::mem::take) {
        rows.push(collect(machine, coll)?.into_iter());
    }
    let shortest = rows.iter().map(ExactSizeIterator::len).min().unwrap_or(0);
    let total = shortest.saturating_mul(rows.len());
    machine.reserve(total.saturating_mul(size_of::<Value>()))?;
    let mut items = Vec::with_capacity(total);
    for _ in 0..shortest {
        machine.ticks(rows.len())?;
        items.extend(rows.iter_mut().filter_map(Iterator::next));
    }
    Ok(items.into())
}

fn interpose(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    if let Some(result) = transformed(machine, "interpose", 1, args) {
        return result;
    }
    let [separator, coll] = taken(args);
    CollectionKinds::Ordered.accept(machine, 2, &coll)?;
    let items = collect(machine, coll)?;
    let total = (2 * items.len()).saturating_sub(1);
    machine.reserve(total.saturating_mul(size_of::<Value>()))?;
    let mut spaced = Vec::with_capacity(total);
    for item in items {
        machine.ticks(2)?;
        if !spaced.is_empty() {
            spaced.push(separator.clone());
        }
        spaced.push(item);
    }
    Ok(spaced.into())
}

fn repeat(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    if let [item] = args {
        return Ok(endless::copies(std::mem::take(item)));
    }
    let [n, item] = taken(args);
    repeated(machine, length(integer(1, &n)?), &item)
}

/// A list with `n` copies of a value.
pub(super) fn repeated(machine: &mut Machine<'_>, n: usize, item: &Value) -> EvalResult {
    machine.reserve(n.saturating_mul(size_of::<Value>()))?;
    machine.ticks(n)?;
    Ok(vec![item.clone(); n].into())
}
