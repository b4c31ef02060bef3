//! Slicing: contiguous parts of a collection.

use super::access::{ORDERED, after};
use super::argument::{CollectionKinds, clamped, integer, length, swapped, taken};
use super::collection::{Each, nothing_found};
use super::endless::{self, transformed};
use super::view::{count, slice, split, view};
use super::{Arity, Builtin, Clojure};
use crate::lisp::machine::{Callable, Machine};
use crate::lisp::{Error, EvalResult, Halt, described, wrong};
use crate::reasons::Reason;
use crate::value::Value;

/// The rows of this file.
pub(super) const ROWS: &[Builtin] = &[
    Builtin::new("rest", Arity::exactly(1), rest)
        .calls_nothing()
        .doc(&["(rest coll)"], "All items except the first; [] if there are none.")
        .examples(&[("(rest [1 2 3])", "[2 3]"), ("(rest [])", "[]"), ("(rest \"ab\")", "[\"b\"]")])
        .clojure(ORDERED),
    Builtin::new("next", Arity::exactly(1), next)
        .calls_nothing()
        .doc(&["(next coll)"], "All items except the first; nil if there are none.")
        .examples(&[("(next [1 2 3])", "[2 3]"), ("(next [1])", "nil")])
        .clojure(ORDERED),
    Builtin::new("butlast", Arity::exactly(1), butlast)
        .calls_nothing()
        .doc(&["(butlast coll)"], "All items except the last; nil if there are none.")
        .examples(&[("(butlast [1 2 3])", "[1 2]"), ("(butlast [1])", "nil")])
        .clojure(ORDERED),
    Builtin::new("pop", Arity::exactly(1), pop)
        .calls_nothing()
        .doc(&["(pop list)"], "A list without its last item; nil if it is empty.")
        .examples(&[("(pop [1 2])", "[1]"), ("(pop [])", "nil")])
        .clojure(Clojure::Differs("an empty list gives nil instead of an error")),
    Builtin::new("take", Arity::between(1, 2), take)
        .takes_in_reference(Arity::exactly(2))
        .doc(&["(take n coll)"], "The first n items; for a negative n, the last -n.")
        .examples(&[("(take 2 [1 2 3])", "[1 2]"), ("(take -1 [1 2])", "[2]"), ("(take 1 {:b 2 :a 1})", "[[:a 1]]")])
        .clojure(Clojure::Differs(
            "a negative n counts from the end; sets are in key order, the dialect reference rejects them",
        )),
    Builtin::new("drop", Arity::between(1, 2), drop)
        .takes_in_reference(Arity::exactly(2))
        .doc(&["(drop n coll)"], "All items except the first n; for a negative n, except the last -n.")
        .examples(&[("(drop 1 [1 2])", "[2]"), ("(drop -1 [1 2])", "[1]"), ("(drop 1 \"abc\")", "[\"b\" \"c\"]")])
        .clojure(Clojure::Differs(
            "a negative n counts from the end; sets are in key order, the dialect reference rejects them",
        )),
    Builtin::new("take-last", Arity::exactly(2), take_last)
        .calls_nothing()
        .doc(&["(take-last n coll)"], "The last n items; nil if there are no items, [] if n is 0 or less.")
        .examples(&[("(take-last 2 [1 2 3])", "[2 3]"), ("(take-last 0 [1])", "[]"), ("(take-last 2 [])", "nil")])
        .clojure(Clojure::Differs(
            "a count of 0 gives [] and not nil; sets are in key order, the dialect reference rejects them",
        )),
    Builtin::new("drop-last", Arity::between(1, 2), drop_last)
        .calls_nothing()
        .doc(&["(drop-last coll)", "(drop-last n coll)"], "All items except the last n (default 1).")
        .examples(&[("(drop-last [1 2 3])", "[1 2]"), ("(drop-last 2 [1 2 3])", "[1]"), ("(drop-last -1 [1])", "[1]")])
        .clojure(Clojure::Differs("sets are in key order, the dialect reference rejects them")),
    Builtin::new("nthrest", Arity::exactly(2), nthrest)
        .doc(&["(nthrest coll n)"], "All items except the first n; [] if nothing remains.")
        .examples(&[("(nthrest [1 2 3] 1)", "[2 3]"), ("(nthrest [1] 5)", "[]"), ("(nthrest [1 2] -1)", "[1 2]")]),
    Builtin::new("nthnext", Arity::exactly(2), nthnext)
        .doc(&["(nthnext coll n)"], "All items except the first n; nil if nothing remains.")
        .examples(&[("(nthnext [1 2 3] 1)", "[2 3]"), ("(nthnext [1 2 3] 3)", "nil")]),
    Builtin::new("take-while", Arity::between(1, 2), take_while)
        .calls_argument(0)
        .takes_in_reference(Arity::exactly(2))
        .doc(&["(take-while pred coll)"], "The items before the first one for which pred is false.")
        .examples(&[("(take-while odd? [1 3 4 5])", "[1 3]"), ("(take-while odd? nil)", "[]")]),
    Builtin::new("drop-while", Arity::between(1, 2), drop_while)
        .calls_argument(0)
        .takes_in_reference(Arity::exactly(2))
        .doc(&["(drop-while pred coll)"], "The items from the first one for which pred is false.")
        .examples(&[("(drop-while odd? [1 3 4 5])", "[4 5]"), ("(drop-while #{1} [1 2])", "[2]")]),
    Builtin::new("split-at", Arity::exactly(2), split_at)
        .doc(&["(split-at n coll)"], "Two lists: the first n items and the rest.")
        .examples(&[("(split-at 1 [1 2 3])", "[[1] [2 3]]"), ("(split-at 1 nil)", "[[] []]")]),
    Builtin::new("split-with", Arity::exactly(2), split_with)
        .doc(
            &["(split-with pred coll)"],
            "Two lists: the items before the first one for which pred is false, and the rest.",
        )
        .examples(&[("(split-with odd? [1 3 4 5])", "[[1 3] [4 5]]"), ("(split-with even? [1 2])", "[[] [1 2]]")]),
    Builtin::new("subvec", Arity::between(2, 3), subvec)
        .calls_nothing()
        .doc(
            &["(subvec list start)", "(subvec list start end)"],
            "The items of a list from an index up to another, exclusive; out-of-range indexes are clamped.",
        )
        .examples(&[
            ("(subvec [1 2 3] 1)", "[2 3]"),
            ("(subvec [1 2 3] 1 2)", "[2]"),
            ("(subvec [1 2] -1 10)", "[1 2]"),
        ])
        .clojure(Clojure::Differs("out-of-range indexes are not an error")),
];

fn rest(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    if Callable::is_endless(&args[0]) {
        return endless::rest(machine, std::mem::take(&mut args[0]), 1);
    }
    CollectionKinds::Ordered.accept(machine, 1, &args[0])?;
    let coll = std::mem::take(&mut args[0]);
    let total = count(machine, &coll)?;
    slice(machine, coll, 1.min(total)..total)
}

fn next(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    if Callable::is_endless(&args[0]) {
        return endless::rest(machine, std::mem::take(&mut args[0]), 1);
    }
    CollectionKinds::Ordered.accept(machine, 1, &args[0])?;
    after(machine, std::mem::take(&mut args[0]), 1)
}

fn butlast(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    CollectionKinds::Ordered.accept(machine, 1, &args[0])?;
    let coll = std::mem::take(&mut args[0]);
    match count(machine, &coll)? {
        0 | 1 => Ok(Value::Nil),
        total => slice(machine, coll, 0..total - 1),
    }
}

fn pop(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    CollectionKinds::Lists.check(1, &args[0])?;
    let list = std::mem::take(&mut args[0]);
    match count(machine, &list)? {
        0 => Ok(Value::Nil),
        total => slice(machine, list, 0..total - 1),
    }
}

/// The count and the collection of `(f n coll)`; the count is not checked yet.
fn counted(machine: &Machine<'_>, args: &mut [Value], sources: CollectionKinds, call: &str) -> EvalResult<[Value; 2]> {
    let [n, coll] = taken(args);
    sources.accept(machine, 2, &coll).map_err(|halt| match (&coll, CollectionKinds::All.check(1, &n)) {
        (Value::Int(_), Ok(())) => swapped(halt, call),
        _ => halt,
    })?;
    Ok([n, coll])
}

pub(super) fn take(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    if let Some(result) = transformed(machine, "take", 1, args) {
        return result;
    }
    let [n, coll] = counted(machine, args, CollectionKinds::NotSets, "(take n coll)")?;
    let n = integer(1, &n)?;
    let total = count(machine, &coll)?;
    let range = if n < 0 { total.saturating_sub(distance(n))..total } else { 0..length(n).min(total) };
    slice(machine, coll, range)
}

fn drop(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    if let Some(result) = transformed(machine, "drop", 1, args) {
        return result;
    }
    let [n, coll] = counted(machine, args, CollectionKinds::NotSets, "(drop n coll)")?;
    let n = integer(1, &n)?;
    let total = count(machine, &coll)?;
    let range = if n < 0 { 0..total.saturating_sub(distance(n)) } else { length(n).min(total)..total };
    slice(machine, coll, range)
}

/// The absolute value of a number.
fn distance(n: i64) -> usize {
    usize::try_from(n.unsigned_abs()).unwrap_or(usize::MAX)
}

/// The count of `take-last` and `drop-last`. The reference counts from the end by negating it, so a wrong type has a
/// different `reason` there.
fn from_end(n: &Value, reason: Reason) -> EvalResult<usize> {
    match n {
        Value::Float(_) => Err(wrong(1, "an integer", n)),
        _ => clamped(n).map(length).ok_or_else(|| not_a_number(n, reason)),
    }
}

#[cold]
fn not_a_number(n: &Value, reason: Reason) -> Box<Halt> {
    Error::new(reason, format!("argument 1 must be an integer, got {}", described(n))).into()
}

fn take_last(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    // Taking nothing gives nothing, whatever the collection.
    if matches!(&*args, [Value::Int(..=0), coll] if !coll.is_nil()) {
        return Ok(Vec::new().into());
    }
    let [n, coll] = counted(machine, args, CollectionKinds::NotSets, "(take-last n coll)")?;
    if coll.is_nil() {
        return Ok(Value::Nil);
    }
    let n = from_end(&n, Reason::ArithmeticError)?;
    let total = count(machine, &coll)?;
    if n > 0 && total == 0 {
        return Ok(Value::Nil);
    }
    slice(machine, coll, total.saturating_sub(n)..total)
}

fn drop_last(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let (n, coll) = if let [coll] = args {
        CollectionKinds::NotSets.accept(machine, 1, coll)?;
        (Value::Int(1), std::mem::take(coll))
    } else {
        let [n, coll] = counted(machine, args, CollectionKinds::NotSets, "(drop-last n coll)")?;
        (n, coll)
    };
    let n = from_end(&n, Reason::RuntimeError)?;
    let total = count(machine, &coll)?;
    slice(machine, coll, 0..total.saturating_sub(n))
}

/// The collection of `(f coll n)`, and the range of the part.
fn tail(machine: &mut Machine<'_>, args: &mut [Value], call: &str) -> EvalResult<(Value, usize, usize)> {
    let [coll, n] = taken(args);
    CollectionKinds::All.check(1, &coll).map_err(|halt| match (&coll, CollectionKinds::All.check(2, &n)) {
        (Value::Int(_), Ok(())) => swapped(halt, call),
        _ => halt,
    })?;
    let n = length(integer(2, &n)?);
    let total = count(machine, &coll)?;
    Ok((coll, n.min(total), total))
}

fn nthrest(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let (coll, start, end) = tail(machine, args, "(nthrest coll n)")?;
    slice(machine, coll, start..end)
}

fn nthnext(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let (coll, start, end) = tail(machine, args, "(nthnext coll n)")?;
    if start == end { Ok(Value::Nil) } else { slice(machine, coll, start..end) }
}

/// The collection of `(f pred coll)`, and the number of items before the first one for which the predicate is false.
fn led(machine: &mut Machine<'_>, args: &mut [Value], call: &str) -> EvalResult<(Value, usize)> {
    let [pred, coll] = taken(args);
    let pred = Each::of(machine, &pred, &coll, call)?;
    CollectionKinds::All.check(2, &coll)?;
    let mut leading = 0;
    for item in view(&coll) {
        machine.tick()?;
        if !pred.of_owned(machine, item)?.is_truthy() {
            break;
        }
        leading += 1;
    }
    Ok((coll, leading))
}

fn take_while(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    if let Some(result) = transformed(machine, "take-while", 1, args) {
        return result;
    }
    let (coll, leading) = led(machine, args, "(take-while pred coll)")?;
    slice(machine, coll, 0..leading)
}

fn drop_while(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    if let Some(result) = transformed(machine, "drop-while", 1, args) {
        return result;
    }
    let (coll, leading) = led(machine, args, "(drop-while pred coll)")?;
    let total = count(machine, &coll)?;
    slice(machine, coll, leading..total)
}

fn split_with(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    if nothing_found(&args[0], &args[1]) {
        return split(machine, std::mem::take(&mut args[1]), 0);
    }
    let (coll, leading) = led(machine, args, "(split-with pred coll)")?;
    split(machine, coll, leading)
}

fn split_at(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    if Callable::is_endless(&args[1]) {
        return endless::split_at(machine, args);
    }
    let [n, coll] = counted(machine, args, CollectionKinds::All, "(split-at n coll)")?;
    let at = length(integer(1, &n)?);
    split(machine, coll, at)
}

fn subvec(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let to_end = args.len() == 2;
    let [list, start, end] = taken(args);
    let Value::List(items) = &list else { return Err(wrong(1, "a list", &list)) };
    let total = items.len();
    let start = length(integer(2, &start)?).min(total);
    let end = if to_end { total } else { length(integer(3, &end)?).min(total) };
    slice(machine, list, start..end.max(start))
}
