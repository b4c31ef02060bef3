//! Functions applied to every item: `map` and similar.

use std::sync::Arc;

use super::argument::{CollectionKinds, callee};
use super::collection::{Each, each_item, nothing_found, several};
use super::endless::{has_endless, map_rows as map_rows_endless, transformed};
use super::view::{collect, items};
use super::{Arity, Builtin, Clojure, Cost};
use crate::lisp::machine::{Callable, Callee, Machine};
use crate::lisp::{EvalResult, Items, wrong};
use crate::value::{List, Value};

/// The rows of this file.
pub(super) const ROWS: &[Builtin] = &[
    MAP,
    MAP.named("mapv", &["(mapv f coll)", "(mapv f coll1 coll2 …)"]).takes(Arity::from(2)),
    Builtin::new("map-indexed", Arity::between(1, 2), map_indexed)
        .calls_argument(0)
        .takes_in_reference(Arity::exactly(2))
        .doc(&["(map-indexed f coll)"], "The results of `(f index item)` for each item, the index from 0.")
        .examples(&[
            ("(map-indexed vector [:a :b])", "[[0 :a] [1 :b]]"),
            ("(map-indexed + [10 20])", "[10 21]"),
            ("(map-indexed vector nil)", "[]"),
        ])
        .clojure(VECTOR),
    Builtin::new("mapcat", Arity::from(1), mapcat)
        .calls_argument(0)
        .takes_in_reference(Arity::exactly(2))
        .doc(
            &["(mapcat f coll)", "(mapcat f coll1 coll2 …)"],
            "The collections that f returns for the items, concatenated into one vector.",
        )
        .examples(&[
            ("(mapcat (fn [x] [x x]) [1 2])", "[1 1 2 2]"),
            ("(mapcat :tags [{:tags [\"a\"]} {} {:tags [\"b\" \"c\"]}])", "[\"a\" \"b\" \"c\"]"),
            ("(mapcat range [1 2 3])", "[0 0 1 0 1 2]"),
        ])
        .clojure(Clojure::Differs("Always a vector."))
        .cost(Cost::Output),
];

const VECTOR: Clojure = Clojure::Differs("Always a vector, never lazy.");

const MAP: Builtin = Builtin::new("map", Arity::from(1), map)
    .calls_argument(0)
    .takes_in_reference(Arity::from(2))
    .doc(
        &["(map f coll)", "(map f coll1 coll2 …)"],
        "The results of f for each item; with several collections, for the first items, the second items and so on.",
    )
    .examples(&[
        ("(map inc [1 2 3])", "[2 3 4]"),
        ("(map :name [{:name \"Ann\"} {\"name\" \"Bob\"}])", "[\"Ann\" \"Bob\"]"),
        ("(map (fn [[k v]] [v k]) {:a 1})", "[[1 :a]]"),
        ("(map + [1 2 3] [10 20])", "[11 22]"),
    ])
    .clojure(VECTOR);

pub(super) fn map(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    if let Some(result) = transformed(machine, "map", 1, args) {
        return result;
    }
    match args {
        [_, colls @ ..] if colls.len() > 1 && has_endless(colls) => map_rows_endless(machine, args),
        [function, coll] if nothing_found(function, coll) => {
            let mut list = collect(machine, std::mem::take(coll))?;
            list.fill(Value::Nil);
            Ok(list.into())
        }
        [function, coll] => {
            let each = Each::of(machine, function, coll, "(map f coll)")?;
            map_one(machine, &each, std::mem::take(coll))
        }
        [function, first, rest @ ..] => {
            let callee = callee(machine, function, first, "(map f coll …)")?;
            let mut rows = vec![each_item(2, std::mem::take(first))?];
            for (position, coll) in (3..).zip(rest) {
                rows.push(each_item(position, std::mem::take(coll))?);
            }
            map_rows(machine, callee, &mut rows)
        }
        _ => Ok(Value::Nil),
    }
}

fn map_one(machine: &mut Machine<'_>, each: &Each<'_>, coll: Value) -> EvalResult {
    // A shared list is only read, not copied.
    if let Value::List(list) = &coll
        && Arc::strong_count(list) > 1
    {
        let mut made = Vec::with_capacity(list.len());
        for item in &**list {
            machine.tick()?;
            made.push(each.of_item(machine, item)?);
        }
        return Ok(made.into());
    }
    let mut list = owned(machine, coll)?;
    for item in &mut list {
        machine.tick()?;
        if let Each::Call(callee) = each
            && let Some(value) = callee.quick1(item)
        {
            item.put(value);
            continue;
        }
        let value = each.of_owned(machine, std::mem::take(item))?;
        item.put(value);
    }
    Ok(list.into())
}

/// The items of the second argument, for writing in place.
fn owned(machine: &mut Machine<'_>, coll: Value) -> EvalResult<Vec<Value>> {
    CollectionKinds::All.check(2, &coll)?;
    collect(machine, coll)
}

fn map_rows(machine: &mut Machine<'_>, callee: Callee<'_>, rows: &mut [Items]) -> EvalResult {
    let count = rows.iter().map(|row| row.size_hint().0).min().unwrap_or_default();
    let mut made = Vec::with_capacity(count);
    if let [one, two] = rows {
        for (one, two) in one.zip(two) {
            machine.tick()?;
            let value = match callee.quick2(&one, &two) {
                Some(value) => value,
                None => callee.call2(machine, one, two)?,
            };
            made.push(value);
        }
        return Ok(made.into());
    }
    let mut args = Vec::with_capacity(rows.len());
    loop {
        machine.ticks(rows.len())?;
        args.clear();
        args.extend(rows.iter_mut().map_while(Iterator::next));
        if args.len() < rows.len() {
            break;
        }
        made.push(callee.call(machine, &mut args)?);
    }
    Ok(made.into())
}

fn map_indexed(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    if let Some(result) = transformed(machine, "map-indexed", 1, args) {
        return result;
    }
    let [function, coll] = args else { return Ok(Value::Nil) };
    let callee = several(function, coll, "(map-indexed f coll)")?;
    let mut list = owned(machine, std::mem::take(coll))?;
    for (at, item) in (0..).zip(&mut list) {
        machine.tick()?;
        *item = callee.call2(machine, Value::Int(at), std::mem::take(item))?;
    }
    Ok(list.into())
}

fn mapcat(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    if let Some(result) = transformed(machine, "mapcat", 1, args) {
        return result;
    }
    if args.len() > 2 {
        let rows = map(machine, args)?;
        return super::transducers::items_through(machine, &Callable::transducer("mapcat", vec![identity()]), &rows);
    }
    let [function, coll] = args else { return Ok(Value::Nil) };
    // A field that is not a list counts as a list of one (as in the reference); the result of a function must be a
    // list.
    let scalars = matches!((&*function, &*coll), (Value::Keyword(_), Value::List(_)));
    let each = Each::of(machine, function, coll, "(mapcat f coll)")?;
    let mut joined = Vec::new();
    for item in each_item(2, std::mem::take(coll))? {
        machine.tick()?;
        match each.of_owned(machine, item)? {
            Value::List(list) => {
                machine.reserve(size_of_val(&**list))?;
                machine.ticks(list.len())?;
                match Arc::try_unwrap(list) {
                    Ok(list) => joined.append(&mut List::into_vec(list)),
                    Err(list) => joined.extend_from_slice(&list),
                }
            }
            other if scalars && !other.is_nil() => joined.push(other),
            other => joined.extend(
                items(machine, other)?
                    .map_err(|other| wrong(1, "a function that returns a collection for each item", &other))?,
            ),
        }
    }
    Ok(joined.into())
}

/// `identity` as a value.
fn identity() -> Value {
    Callable::named(super::compose::ROWS, "identity")
}
