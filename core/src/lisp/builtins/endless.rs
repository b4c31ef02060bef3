//! Endless sequences: the functions that make them, and functions over collections that also accept them.
//!
//! In: the arguments of a call. Out: another endless sequence, which is not computed yet, or the items that the result
//! needs. A function that would need all items of an endless sequence is a `type_error`.

use super::argument::{hinted, integer, length, taken};
use super::collection::each_item;
use super::pipeline::{Pipeline, THROUGH};
use super::reduce::ended;
use super::slice;
use super::source::Source;
use super::view::collect;
use super::{Arity, Builtin, Clojure, Cost};
use crate::lisp::machine::{Callable, Callee, Machine};
use crate::lisp::{Error, EvalResult, wrong};
use crate::reasons::Reason;
use crate::value::{Map, Value, number};

/// The rows of this file.
pub(super) const ROWS: &[Builtin] = &[
    Builtin::new("iterate", Arity::exactly(2), iterate)
        .doc(&["(iterate f x)"], "The endless sequence x, (f x), (f (f x)) …; take a part of it.")
        .examples(&[
            ("(take 4 (iterate #(* 2 %) 1))", "[1 2 4 8]"),
            ("(first (filter #(> % 50) (iterate #(* 3 %) 1)))", "81"),
        ])
        .cost(Cost::Constant)
        .current(),
    Builtin::new("cycle", Arity::exactly(1), cycle)
        .doc(&["(cycle coll)"], "The items of a collection again and again; [] for none.")
        .examples(&[
            ("(take 5 (cycle [1 2]))", "[1 2 1 2 1]"),
            ("(map vector [1 2 3] (cycle [:a :b]))", "[[1 :a] [2 :b] [3 :a]]"),
        ])
        .current(),
    Builtin::new("repeatedly", Arity::between(1, 2), repeatedly)
        .doc(
            &["(repeatedly n f)", "(repeatedly f)"],
            "The results of n calls of f without arguments; without n, an endless sequence.",
        )
        .examples(&[("(repeatedly 2 (fn [] :x))", "[:x :x]"), ("(take 2 (repeatedly (constantly 0)))", "[0 0]")])
        .clojure(Clojure::Differs("With n always a vector."))
        .cost(Cost::Output)
        .current(),
    Builtin::new("take-nth", Arity::between(1, 2), take_nth)
        .doc(
            &["(take-nth n coll)", "(take-nth n)"],
            "Every n-th item, beginning with the first; without a collection, a transducer.",
        )
        .examples(&[("(take-nth 3 (range 10))", "[0 3 6 9]"), ("(into [] (take-nth 2) [1 2 3])", "[1 3]")])
        .current(),
];

fn iterate(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let [function, start] = taken(args);
    Callee::of(machine, 1, &function)?;
    Ok(Callable::endless("iterate", vec![function, start]))
}

fn cycle(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let [coll] = taken(args);
    if Callable::is_endless(&coll) {
        return Ok(coll);
    }
    each_item(1, coll.clone())?;
    let items: Value = collect(machine, coll)?.into();
    if items.as_list().is_some_and(<[Value]>::is_empty) {
        return Ok(items);
    }
    Ok(Callable::endless("cycle", vec![items]))
}

fn repeatedly(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    if let [function] = args {
        Callee::of(machine, 1, function)?;
        return Ok(Callable::endless("repeatedly", vec![std::mem::take(function)]));
    }
    let [n, function] = taken(args);
    let count = length(integer(1, &n)?);
    let function = Callee::of(machine, 2, &function)?;
    let mut items = Vec::new();
    for _ in 0..count {
        machine.tick()?;
        items.push(function.call(machine, &mut [])?);
    }
    Ok(items.into())
}

fn take_nth(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    if let Some(result) = transformed(machine, "take-nth", 1, args) {
        return result;
    }
    let [n, coll] = taken(args);
    through_all(machine, "take-nth", vec![n], &coll)
}

/// `(range)`
pub(super) fn numbers() -> Value {
    Callable::endless("range", vec![Value::Int(0), Value::Int(1)])
}

/// `(repeat x)`
pub(super) fn copies(item: Value) -> Value {
    Callable::endless("repeat", vec![item])
}

/// A call that the ordinary implementation does not handle: without the collection after `fixed` arguments a
/// transducer, with an endless sequence another one. `None` for other calls.
#[inline]
pub(super) fn transformed(
    machine: &mut Machine<'_>,
    name: &'static str,
    fixed: usize,
    args: &mut [Value],
) -> Option<EvalResult> {
    match args.get(fixed) {
        Some(coll) if !Callable::is_endless(coll) => None,
        _ if args.len() > fixed + 1 => None,
        _ => Some(transform(machine, name, fixed, args)),
    }
}

#[cold]
fn transform(machine: &mut Machine<'_>, name: &'static str, fixed: usize, args: &mut [Value]) -> EvalResult {
    let mut parts: Vec<Value> = args.iter_mut().map(std::mem::take).collect();
    if parts.len() <= fixed {
        let made = Callable::transducer(name, parts);
        // Reports wrong arguments where the transducer is made.
        Pipeline::from_source(Source::Repeat(&Value::Nil)).add(machine, &made)?;
        return Ok(made);
    }
    let coll = parts.pop().unwrap_or_default();
    match name {
        "take" | "take-while" => through_all(machine, name, parts, &coll),
        _ => {
            let made = through(coll, name, parts);
            Pipeline::of(machine, fixed + 1, &made)?;
            Ok(made)
        }
    }
}

/// The items of a collection after a transducer.
fn through_all(machine: &mut Machine<'_>, name: &'static str, parts: Vec<Value>, coll: &Value) -> EvalResult {
    let transducer = Callable::transducer(name, parts);
    let mut pipeline = Pipeline::of(machine, 2, coll)?;
    pipeline.add(machine, &transducer)?;
    Ok(pipeline.collect(machine)?.into())
}

/// An endless sequence whose items pass through a transducer.
fn through(coll: Value, name: &'static str, parts: Vec<Value>) -> Value {
    Callable::endless(THROUGH, vec![coll, Callable::transducer(name, parts)])
}

/// True if one of the arguments is an endless sequence.
#[inline]
pub(super) fn has_endless(args: &[Value]) -> bool {
    args.iter().any(Callable::is_endless)
}

/// `(map f coll1 coll2 …)` with an endless sequence among several collections.
#[cold]
pub(super) fn map_rows(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let is_endless = args[1..].iter().all(Callable::is_endless);
    rows(machine, "map", args, is_endless)
}

/// `(interleave coll1 coll2 …)` with an endless sequence.
#[cold]
pub(super) fn interleave(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let is_endless = args.iter().all(Callable::is_endless);
    rows(machine, "interleave", args, is_endless)
}

fn rows(machine: &mut Machine<'_>, name: &'static str, args: &mut [Value], is_endless: bool) -> EvalResult {
    let made = Callable::endless(name, args.iter_mut().map(std::mem::take).collect());
    let mut pipeline = Pipeline::of(machine, 1, &made)?;
    if is_endless {
        return Ok(made);
    }
    Ok(pipeline.collect(machine)?.into())
}

/// `(concat coll1 coll2 …)` and `(cons x coll)` with an endless sequence.
#[cold]
pub(super) fn concat(machine: &mut Machine<'_>, colls: Vec<Value>) -> EvalResult {
    let made = Callable::endless("concat", colls);
    Pipeline::of(machine, 1, &made)?;
    Ok(made)
}

/// `(partition n step coll)` of an endless sequence.
#[cold]
pub(super) fn partition(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let (size, step) = match args {
        [size, _] => (integer(1, size)?, integer(1, size)?),
        [size, step, _] => (integer(1, size)?, integer(2, step)?),
        _ => return Err(hinted(wrong(4, "a list", &args[args.len() - 1]), "An endless sequence needs no padding")),
    };
    if size < 1 || step < 1 {
        return Error::new(Reason::TypeError, "size and step must be integers above 0").halt();
    }
    let coll = args.last_mut().map(std::mem::take).unwrap_or_default();
    let made = Callable::endless("partition", vec![Value::Int(size), Value::Int(step), coll]);
    Pipeline::of(machine, args.len(), &made)?;
    Ok(made)
}

/// The item at an index of an endless sequence.
#[cold]
pub(super) fn item(machine: &mut Machine<'_>, coll: &Value, index: usize) -> EvalResult {
    let mut pipeline = Pipeline::of(machine, 1, coll)?;
    for _ in 0..index {
        if pipeline.next(machine)?.is_none() {
            return Ok(Value::Nil);
        }
    }
    Ok(pipeline.next(machine)?.unwrap_or_default())
}

/// The sequence without its first items.
#[cold]
pub(super) fn rest(machine: &mut Machine<'_>, coll: Value, count: usize) -> EvalResult {
    if let (1, Some(Callable::Endless(made))) = (count, Callable::of_value(&coll)) {
        match (made.name, made.parts.as_slice()) {
            ("repeat", _) => return Ok(coll),
            ("iterate", [function, start]) => {
                let next = Callee::of(machine, 1, function)?.call1(machine, start.clone())?;
                return Ok(Callable::endless("iterate", vec![function.clone(), next]));
            }
            ("range", [start, step]) => {
                if let Ok(next) = number::add(start, step) {
                    return Ok(Callable::endless("range", vec![next, step.clone()]));
                }
            }
            // One stage drops the items of all calls.
            (THROUGH, [inner, transducer]) => {
                if let Some(Callable::Transducer(before)) = Callable::of_value(transducer)
                    && let ("drop", [Value::Int(dropped)]) = (before.name, before.parts.as_slice())
                {
                    return Ok(through(inner.clone(), "drop", vec![Value::Int(dropped.saturating_add(1))]));
                }
            }
            _ => {}
        }
    }
    let count = i64::try_from(count).unwrap_or(i64::MAX);
    Ok(through(coll, "drop", vec![Value::Int(count)]))
}

/// Reduces an endless sequence, which ends if the function returns `reduced`.
#[cold]
pub(super) fn reduce(
    machine: &mut Machine<'_>,
    function: &Callee<'_>,
    init: Option<Value>,
    coll: &Value,
) -> EvalResult {
    let mut pipeline = Pipeline::of(machine, 2, coll)?;
    let first = match init {
        Some(init) => Some(init),
        None => pipeline.next(machine)?,
    };
    let Some(mut result) = first else { return Ok(Value::Nil) };
    while let Some(item) = pipeline.next(machine)? {
        result = function.call2(machine, result, item)?;
        if let Some(last) = ended(&result) {
            return Ok(last);
        }
    }
    Ok(result)
}

/// The first items of `(zipmap keys vals)` with an endless sequence.
#[cold]
pub(super) fn zipmap(machine: &mut Machine<'_>, keys: &Value, values: &Value) -> EvalResult {
    if Callable::is_endless(keys) && Callable::is_endless(values) {
        return Err(wrong(1, "a list, string, map or set", keys));
    }
    let (mut keys, mut values) = (Pipeline::of(machine, 1, keys)?, Pipeline::of(machine, 2, values)?);
    let mut map = Map::default();
    while let (Some(key), Some(value)) = (keys.next(machine)?, values.next(machine)?) {
        machine.ticks(2)?;
        map.insert(key, value);
    }
    Ok(map.into())
}

/// `(split-at n coll)` of an endless sequence.
#[cold]
pub(super) fn split_at(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let [n, coll] = taken(args);
    let first = slice::take(machine, &mut [n.clone(), coll.clone()])?;
    Ok(vec![first, rest(machine, coll, length(integer(1, &n)?))?].into())
}

/// The first result of a function, for the items of an endless sequence, with this truth value.
#[cold]
pub(super) fn first_as(
    machine: &mut Machine<'_>,
    pred: &Value,
    coll: &Value,
    is_wanted: impl Fn(&Value) -> bool,
) -> EvalResult<Option<Value>> {
    let pred = Callee::of(machine, 1, pred)?;
    let mut pipeline = Pipeline::of(machine, 2, coll)?;
    while let Some(item) = pipeline.next(machine)? {
        let value = pred.call1(machine, item)?;
        if is_wanted(&value) {
            return Ok(Some(value));
        }
    }
    Ok(None)
}
