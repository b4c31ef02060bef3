//! Selecting items by a predicate, and predicates over whole collections.

use std::sync::Arc;

use super::argument::CollectionKinds;
use super::collection::{Each, each_item, nothing_found, several};
use super::endless::{self, transformed};
use super::view::collect;
use super::{Arity, Builtin, Clojure};
use crate::lisp::EvalResult;
use crate::lisp::machine::{Callable, Machine};
use crate::value::Value;

/// The rows of this file.
pub(super) const ROWS: &[Builtin] = &[
    FILTER,
    Builtin::new("filterv", Arity::exactly(2), filter)
        .calls_argument(0)
        .doc(&["(filterv pred coll)"], FILTER.about)
        .examples(FILTER.examples)
        .clojure(VECTOR),
    Builtin::new("remove", Arity::between(1, 2), remove)
        .calls_argument(0)
        .doc(&["(remove pred coll)"], "The items for which pred is nil or false, as a vector.")
        .examples(&[
            ("(remove odd? [1 2 3])", "[2]"),
            ("(remove nil? [nil 1])", "[1]"),
            ("(remove (fn [[k v]] (> v 1)) {:a 1 :b 2})", "[[:a 1]]"),
        ])
        .clojure(VECTOR)
        .takes_in_reference(Arity::exactly(2)),
    Builtin::new("keep", Arity::between(1, 2), keep)
        .calls_argument(0)
        .doc(&["(keep f coll)"], "The results of f for the items, without nil.")
        .examples(&[
            ("(keep :a [{:a 1} {} {:a false}])", "[1 false]"),
            ("(keep #(when (odd? %) (* % %)) [1 2 3])", "[1 9]"),
        ])
        .clojure(VECTOR)
        .takes_in_reference(Arity::exactly(2)),
    Builtin::new("keep-indexed", Arity::between(1, 2), keep_indexed)
        .doc(&["(keep-indexed f coll)"], "The results of `(f index item)`, without nil.")
        .examples(&[
            ("(keep-indexed (fn [i x] (when (odd? i) x)) [:a :b :c :d])", "[:b :d]"),
            ("(keep-indexed vector nil)", "[]"),
        ])
        .clojure(VECTOR)
        .takes_in_reference(Arity::exactly(2)),
    Builtin::new("some", Arity::exactly(2), some)
        .calls_argument(0)
        .doc(&["(some pred coll)"], "The first truthy result of pred; nil if there is none.")
        .examples(&[
            ("(some odd? [2 3])", "true"),
            ("(some :a [{:a nil} {:a 5}])", "5"),
            ("(some #{2 3} [1 2])", "2"),
            ("(some odd? nil)", "nil"),
        ]),
    Builtin::new("every?", Arity::exactly(2), every)
        .calls_argument(0)
        .doc(&["(every? pred coll)"], "True if pred is truthy for all items, or there are none.")
        .examples(&[("(every? odd? [1 3])", "true"), ("(every? odd? [1 2])", "false"), ("(every? odd? [])", "true")]),
    Builtin::new("not-any?", Arity::exactly(2), not_any)
        .doc(&["(not-any? pred coll)"], "True if pred is truthy for no item.")
        .examples(&[("(not-any? odd? [2 4])", "true"), ("(not-any? odd? [1 2])", "false")]),
    Builtin::new("not-every?", Arity::exactly(2), not_every)
        .doc(&["(not-every? pred coll)"], "True if pred is nil or false for some item.")
        .examples(&[("(not-every? odd? [1 2])", "true"), ("(not-every? odd? nil)", "false")]),
];

const VECTOR: Clojure = Clojure::Differs("Always a vector, never lazy.");

const FILTER: Builtin = Builtin::new("filter", Arity::between(1, 2), filter)
    .calls_argument(0)
    .takes_in_reference(Arity::exactly(2))
    .doc(&["(filter pred coll)"], "The items for which pred is truthy, as a vector.")
    .examples(&[
        ("(filter odd? [1 2 3])", "[1 3]"),
        ("(filter :active [{:id 1 :active true} {:id 2}])", "[{:active true :id 1}]"),
        ("(filter (fn [[k v]] (> v 1)) {:a 1 :b 2})", "[[:b 2]]"),
        ("(filter #{\"l\"} \"hello\")", "[\"l\" \"l\"]"),
    ])
    .clojure(VECTOR);

fn filter(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    if let Some(result) = transformed(machine, "filter", 1, args) {
        return result;
    }
    let [pred, coll] = args else { return Ok(Value::Nil) };
    if nothing_found(pred, coll) {
        return Ok(Vec::new().into());
    }
    let pred = Each::of(machine, pred, coll, "(filter pred coll)")?;
    choose(machine, std::mem::take(coll), |machine, item| pred.test(machine, item))
}

fn remove(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    if let Some(result) = transformed(machine, "remove", 1, args) {
        return result;
    }
    let [pred, coll] = args else { return Ok(Value::Nil) };
    if nothing_found(pred, coll) {
        return Ok(collect(machine, std::mem::take(coll))?.into());
    }
    let pred = Each::of(machine, pred, coll, "(remove pred coll)")?;
    choose(machine, std::mem::take(coll), |machine, item| Ok(!pred.test(machine, item)?))
}

/// The selected items; a list with one owner is filtered in place.
fn choose<'h>(
    machine: &mut Machine<'h>,
    coll: Value,
    wanted: impl Fn(&mut Machine<'h>, &Value) -> EvalResult<bool>,
) -> EvalResult {
    if let Value::List(list) = &coll
        && Arc::strong_count(list) > 1
    {
        let mut chosen = Vec::new();
        for item in &**list {
            machine.tick()?;
            if wanted(machine, item)? {
                chosen.push(item.clone());
            }
        }
        return Ok(chosen.into());
    }
    CollectionKinds::All.check(2, &coll)?;
    let mut list = collect(machine, coll)?;
    let mut chosen = 0;
    for at in 0..list.len() {
        machine.tick()?;
        if wanted(machine, &list[at])? {
            list.swap(chosen, at);
            chosen += 1;
        }
    }
    list.truncate(chosen);
    Ok(list.into())
}

fn keep(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    if let Some(result) = transformed(machine, "keep", 1, args) {
        return result;
    }
    let [function, coll] = args else { return Ok(Value::Nil) };
    if nothing_found(function, coll) {
        return Ok(Vec::new().into());
    }
    let each = Each::of(machine, function, coll, "(keep f coll)")?;
    let mut kept = Vec::new();
    for item in each_item(2, std::mem::take(coll))? {
        machine.tick()?;
        let value = each.of_owned(machine, item)?;
        if !value.is_nil() {
            kept.push(value);
        }
    }
    Ok(kept.into())
}

fn keep_indexed(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    if let Some(result) = transformed(machine, "keep-indexed", 1, args) {
        return result;
    }
    let [function, coll] = args else { return Ok(Value::Nil) };
    let callee = several(function, coll, "(keep-indexed f coll)")?;
    let mut kept = Vec::new();
    for (at, item) in (0..).zip(each_item(2, std::mem::take(coll))?) {
        machine.tick()?;
        let value = callee.call2(machine, Value::Int(at), item)?;
        if !value.is_nil() {
            kept.push(value);
        }
    }
    Ok(kept.into())
}

fn some(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    Ok(first_as(machine, args, true, "(some pred coll)")?.unwrap_or_default())
}

fn every(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    Ok((first_as(machine, args, false, "(every? pred coll)")?.is_none()).into())
}

fn not_any(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    Ok((first_as(machine, args, true, "(not-any? pred coll)")?.is_none()).into())
}

fn not_every(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    Ok((first_as(machine, args, false, "(not-every? pred coll)")?.is_some()).into())
}

/// The predicate's first result with this truth value.
fn first_as(machine: &mut Machine<'_>, args: &mut [Value], truth: bool, call: &str) -> EvalResult<Option<Value>> {
    let [pred, coll] = args else { return Ok(None) };
    if Callable::is_endless(coll) {
        return endless::first_as(machine, pred, coll, |value| value.is_truthy() == truth);
    }
    let pred = Each::of(machine, pred, coll, call)?;
    for item in each_item(2, std::mem::take(coll))? {
        machine.tick()?;
        let value = pred.of_owned(machine, item)?;
        if value.is_truthy() == truth {
            return Ok(Some(value));
        }
    }
    Ok(None)
}
