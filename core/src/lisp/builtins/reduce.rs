//! Reducing a collection to one value, and grouping its items.

use super::collection::{each_item, keyed_records, several};
use super::endless;
use super::key::Key;
use super::{Arity, Builtin, Clojure, Cost};
use crate::lisp::machine::{Callable, REDUCED};
use crate::lisp::machine::{Callee, Machine};
use crate::lisp::{Error, EvalResult, Items, wrong};
use crate::reasons::Reason;
use crate::value::{List, Map, Table, Value};

/// The rows of this file.
pub(super) const ROWS: &[Builtin] = &[
    Builtin::new("reduce", Arity::between(2, 3), reduce)
        .calls_argument(0)
        .doc(
            &["(reduce f coll)", "(reduce f init coll)"],
            "Reduces the items to one value: `(f result item)` for each, starting with init or the first item.",
        )
        .examples(&[
            ("(reduce + [1 2 3])", "6"),
            ("(reduce + 10 [1 2])", "13"),
            ("(reduce (fn [m [k v]] (assoc m v k)) {} {:a 1})", "{1 :a}"),
            ("(reduce + [])", "nil"),
        ])
        .clojure(Clojure::Differs("Without init, an empty collection gives nil; f is not called.")),
    Builtin::new("reduce-kv", Arity::exactly(3), reduce_kv)
        .calls_argument(0)
        .doc(
            &["(reduce-kv f init map)"],
            "Reduces the entries of a map, sorted by key: `(f result key value)` for each.",
        )
        .examples(&[
            ("(reduce-kv (fn [sum k v] (+ sum v)) 0 {:a 1 :b 2})", "3"),
            ("(reduce-kv (fn [m k v] (assoc m v k)) {} {:a 1})", "{1 :a}"),
            ("(reduce-kv (fn [sum k v] (+ sum v)) 0 nil)", "0"),
        ])
        .clojure(Clojure::Differs("Vectors are not accepted.")),
    Builtin::new("reductions", Arity::between(2, 3), reductions)
        .doc(&["(reductions f coll)", "(reductions f init coll)"], "All intermediate results of reduce, as a vector.")
        .examples(&[("(reductions + [1 2 3])", "[1 3 6]"), ("(reductions conj [] [1 2])", "[[] [1] [1 2]]")])
        .clojure(Clojure::Differs("Always a vector; without init, an empty collection gives []."))
        .cost(Cost::Output),
    Builtin::new("reduced", Arity::exactly(1), reduced)
        .doc(&["(reduced x)"], "Ends the enclosing reduce with x if its function returns this.")
        .examples(&[("(reduce (fn [sum x] (if (> x 2) (reduced sum) (+ sum x))) 0 [1 2 3 4])", "3")])
        .cost(Cost::Constant),
    Builtin::new("group-by", Arity::exactly(2), group_by)
        .calls_argument(0)
        .doc(
            &["(group-by key coll)"],
            "A map from each value of key to the items that have it, in order; key is a field, key path or function.",
        )
        .examples(&[
            ("(group-by odd? [1 2 3])", "{false [2] true [1 3]}"),
            ("(group-by :t [{:t 1} {:t 2} {:t 1}])", "{1 [{:t 1} {:t 1}] 2 [{:t 2}]}"),
            ("(group-by [:a :b] [{:a {:b 1}}])", "{1 [{:a {:b 1}}]}"),
            ("(group-by :t nil)", "{}"),
        ])
        .clojure(Clojure::Differs(
            "The key may also be a string or a key path; a string is not accepted as collection.",
        ))
        .cost(Cost::Sorting),
    Builtin::new("frequencies", Arity::exactly(1), frequencies)
        .calls_nothing()
        .doc(&["(frequencies coll)"], "A map from each distinct item to its number of occurrences.")
        .examples(&[
            ("(frequencies [\"a\" \"b\" \"a\"])", "{\"a\" 2 \"b\" 1}"),
            ("(frequencies \"aab\")", "{\"a\" 2 \"b\" 1}"),
            ("(frequencies [1 1.0])", "{1 1 1.0 1}"),
            ("(frequencies nil)", "{}"),
        ])
        .cost(Cost::Sorting),
];

/// Splits a call of `reduce`, with or without an initial value: the function, the first result and the remaining items.
fn fold<'v>(args: &'v mut [Value], call: &str) -> EvalResult<(Callee<'v>, Option<Value>, Items)> {
    let position = args.len();
    let Some((function, rest)) = args.split_first_mut() else { return Err(wrong(1, "a function", &Value::Nil)) };
    let coll = rest.last_mut().map(std::mem::take).unwrap_or_default();
    // `(reduce init f coll)` and `(reduce coll f)` are the common mistakes.
    let other = rest.first().filter(|_| rest.len() > 1).unwrap_or(&coll);
    let callee = several(function, other, call)?;
    let mut items = each_item(position, coll)?;
    let first = if rest.len() > 1 { Some(std::mem::take(&mut rest[0])) } else { items.next() };
    Ok((callee, first, items))
}

fn reduce(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    if args.last().is_some_and(Callable::is_endless) {
        let coll = args.last_mut().map(std::mem::take).unwrap_or_default();
        let init = if args.len() > 2 { Some(std::mem::take(&mut args[1])) } else { None };
        return endless::reduce(machine, &several(&args[0], &Value::Nil, "")?, init, &coll);
    }
    let (callee, first, items) = fold(args, "(reduce f init coll)")?;
    let Some(mut result) = first else { return Ok(Value::Nil) };
    for item in items {
        machine.tick()?;
        if let Some(next) = callee.quick2(&result, &item) {
            result.put(next);
            continue;
        }
        let next = callee.call2(machine, std::mem::take(&mut result), item)?;
        result.put(next);
        if let Some(last) = ended(&result) {
            return Ok(last);
        }
    }
    Ok(result)
}

fn reductions(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    if let Some(result) = endless::transformed(machine, "reductions", args.len() - 1, args) {
        return result;
    }
    let (callee, first, items) = fold(args, "(reductions f init coll)")?;
    let mut results = Vec::with_capacity(items.size_hint().0 + 1);
    results.extend(first);
    for item in items {
        machine.tick()?;
        let result = results.last().cloned().unwrap_or_default();
        let result = callee.call2(machine, result, item)?;
        if let Some(last) = ended(&result) {
            results.push(last);
            break;
        }
        results.push(result);
    }
    Ok(results.into())
}

fn reduce_kv(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let [function, init, map] = args else { return Ok(Value::Nil) };
    let callee = several(function, map, "(reduce-kv f init map)")?;
    let mut result = std::mem::take(init);
    match map {
        Value::Nil => {}
        Value::Map(map) => {
            for (key, value) in &**map {
                machine.tick()?;
                result = callee.call(machine, &mut [result, key.clone(), value.clone()])?;
                if let Some(last) = ended(&result) {
                    return Ok(last);
                }
            }
        }
        other => return Err(wrong(3, "a map", other)),
    }
    Ok(result)
}

/// Marks a result as final: wraps it in a function value that is never called.
fn reduced(_: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    Ok(Callable::bound(REDUCED, vec![std::mem::take(&mut args[0])], |_, _, _| {
        Error::new(Reason::NotCallable, "the result of `reduced` is not a function")
            .hint("Return it from the function of reduce")
            .halt()
    }))
}

/// The wrapped value if `result` is marked as final.
#[inline]
pub(super) fn ended(result: &Value) -> Option<Value> {
    match Callable::of_value(result) {
        Some(Callable::Bound(bound)) if bound.name == REDUCED => bound.parts.first().cloned(),
        _ => None,
    }
}

fn group_by(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let [named, coll] = args else { return Ok(Value::Nil) };
    if named.is_nil() {
        return Err(wrong(1, "a keyword, string, key path or function", named));
    }
    let key = Key::of(machine, 1, named)?;
    let mut groups = Table::<List>::default();
    for item in keyed_records(named, std::mem::take(coll), "(group-by key coll)")? {
        machine.tick()?;
        let group = key.of_item(machine, &item)?;
        groups.group(group).push(item);
    }
    Ok(Map::from(groups.map(|group| Value::List(group.into()))).into())
}

fn frequencies(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    if let Value::Set(_) = &args[0] {
        return Err(wrong(1, "a list, map or string", &args[0]));
    }
    let mut groups = Table::<i64>::default();
    for item in each_item(1, std::mem::take(&mut args[0]))? {
        machine.tick()?;
        *groups.group(item) += 1;
    }
    Ok(Map::from(groups.map(Value::Int)).into())
}
