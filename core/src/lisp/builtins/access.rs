//! Access to single items of a collection, `type`, `count` and similar.

use std::sync::Arc;

use super::argument::{CollectionKinds, hinted, integer, is_record, length, swapped, taken};
use super::endless;
use super::view::{self, collect, count, item, slice};
use super::{Arity, Builtin, Clojure, Cost};
use crate::lisp::machine::{Callable, Machine};
use crate::lisp::{EvalResult, wrong};
use crate::value::{Map, Set, Value};

/// Access to single items.
pub(super) const ROWS: &[Builtin] = &[
    Builtin::new("first", Arity::exactly(1), first)
        .calls_nothing()
        .doc(&["(first coll)"], "The first item of a list or string, nil if it is empty.")
        .examples(&[("(first [1 2])", "1"), ("(first \"ab\")", "\"a\""), ("(first nil)", "nil")])
        .clojure(ORDERED)
        .cost(Cost::Constant),
    Builtin::new("second", Arity::exactly(1), second)
        .calls_nothing()
        .doc(&["(second coll)"], "The second item of a list or string, nil if there is none.")
        .examples(&[("(second [1 2])", "2"), ("(second [1])", "nil")])
        .clojure(ORDERED)
        .cost(Cost::Constant),
    Builtin::new("last", Arity::exactly(1), last)
        .calls_nothing()
        .doc(&["(last coll)"], "The last item of a list or string, nil if it is empty.")
        .examples(&[("(last [1 2])", "2"), ("(last \"ab\")", "\"b\""), ("(last [])", "nil")])
        .clojure(ORDERED)
        .cost(Cost::Constant),
    Builtin::new("nth", Arity::between(2, 3), nth)
        .calls_nothing()
        .doc(
            &["(nth coll index)", "(nth coll index default)"],
            "The item at an index from 0; the default, or nil, if there is none.",
        )
        .examples(&[("(nth [1 2] 1)", "2"), ("(nth [1 2] 5)", "nil"), ("(nth [1 2] 5 :none)", ":none")])
        .clojure(Clojure::Differs("an index out of range gives nil instead of an error"))
        .cost(Cost::Constant),
    Builtin::new("ffirst", Arity::exactly(1), ffirst)
        .doc(&["(ffirst coll)"], "The first item of the first item of a list.")
        .examples(&[("(ffirst [[1 2] [3]])", "1"), ("(ffirst nil)", "nil")])
        .clojure(ORDERED)
        .cost(Cost::Constant),
    Builtin::new("fnext", Arity::exactly(1), fnext)
        .doc(&["(fnext coll)"], "The second item of a list.")
        .examples(&[("(fnext [1 2 3])", "2"), ("(fnext nil)", "nil")])
        .clojure(ORDERED)
        .cost(Cost::Constant),
    Builtin::new("nfirst", Arity::exactly(1), nfirst)
        .doc(&["(nfirst coll)"], "The first item of a list without its own first item, nil if nothing remains.")
        .examples(&[("(nfirst [[1 2 3] [4]])", "[2 3]"), ("(nfirst [[1]])", "nil")])
        .clojure(ORDERED),
    Builtin::new("nnext", Arity::exactly(1), nnext)
        .doc(&["(nnext coll)"], "A list without its first two items, nil if nothing remains.")
        .examples(&[("(nnext [1 2 3])", "[3]"), ("(nnext [1 2])", "nil")])
        .clojure(ORDERED),
    Builtin::new("peek", Arity::exactly(1), peek)
        .calls_nothing()
        .doc(&["(peek list)"], "The last item of a list, nil if it is empty.")
        .examples(&[("(peek [1 2])", "2"), ("(peek [])", "nil")])
        .cost(Cost::Constant),
    Builtin::new("count", Arity::exactly(1), count_of)
        .calls_nothing()
        .doc(&["(count coll)"], "The number of items; of a string, the number of visible characters (graphemes).")
        .examples(&[("(count [1 2])", "2"), ("(count \"héllo\")", "5"), ("(count nil)", "0")])
        .clojure(Clojure::Differs("strings are counted in graphemes"))
        .cost(Cost::Constant),
    Builtin::new("len", Arity::exactly(1), count_of)
        .doc(&["(len coll)"], "The same as count.")
        .examples(&[("(len [1 2])", "2")])
        .clojure(Clojure::Differs("Clojure has count only."))
        .cost(Cost::Constant)
        .current(),
    Builtin::new("empty?", Arity::exactly(1), is_empty)
        .calls_nothing()
        .doc(&["(empty? coll)"], "True for an empty collection or string, and for nil.")
        .examples(&[("(empty? [])", "true"), ("(empty? nil)", "true"), ("(empty? \"a\")", "false")])
        .cost(Cost::Constant),
    Builtin::new("not-empty", Arity::exactly(1), not_empty)
        .calls_nothing()
        .doc(&["(not-empty coll)"], "The collection itself, nil if it is empty.")
        .examples(&[("(not-empty [1])", "[1]"), ("(not-empty \"\")", "nil")])
        .cost(Cost::Constant),
    Builtin::new("empty", Arity::exactly(1), empty)
        .calls_nothing()
        .doc(&["(empty coll)"], "An empty collection of the same type; nil for nil.")
        .examples(&[("(empty [1 2])", "[]"), ("(empty {:a 1})", "{}"), ("(empty \"ab\")", "\"\"")])
        .clojure(Clojure::Differs("a string gives the empty string, a keyword or a date gives {}"))
        .cost(Cost::Constant),
    Builtin::new("seq", Arity::exactly(1), seq)
        .calls_nothing()
        .doc(
            &["(seq coll)"],
            "The items as a list, nil if there are none; those of a map as [key value], sorted by key.",
        )
        .examples(&[("(seq {:b 1 :a 2})", "[[:a 2] [:b 1]]"), ("(seq \"ab\")", "[\"a\" \"b\"]"), ("(seq [])", "nil")]),
    Builtin::new("vec", Arity::exactly(1), vec_of)
        .calls_nothing()
        .doc(&["(vec coll)"], "The items as a list; nil for nil.")
        .examples(&[("(vec #{2 1})", "[1 2]"), ("(vec {:a 1})", "[[:a 1]]"), ("(vec nil)", "nil")])
        .clojure(Clojure::Differs("nil gives nil")),
];

/// The difference to Clojure of functions that take an item by position.
pub(super) const ORDERED: Clojure =
    Clojure::Differs("maps and sets are in key order; the dialect reference rejects them");

fn first(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    at(machine, &args[0], 0)
}

fn second(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    at(machine, &args[0], 1)
}

fn at(machine: &mut Machine<'_>, coll: &Value, index: usize) -> EvalResult {
    if Callable::is_endless(coll) {
        return endless::item(machine, coll, index);
    }
    CollectionKinds::Ordered.accept(machine, 1, coll)?;
    Ok(item(machine, coll, index)?.unwrap_or_default())
}

fn last(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    CollectionKinds::Ordered.accept(machine, 1, &args[0])?;
    Ok(view::last(&args[0]).unwrap_or_default())
}

fn nth(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let [coll, index, default] = taken(args);
    if Callable::is_endless(&coll) {
        return endless::item(machine, &coll, length(integer(2, &index)?));
    }
    CollectionKinds::Ordered.accept(machine, 1, &coll).map_err(|halt| match (&coll, &index) {
        (Value::Int(_), Value::List(_) | Value::Str(_)) => swapped(halt, "(nth coll index)"),
        _ => halt,
    })?;
    let index = usize::try_from(integer(2, &index)?);
    let found = index.map_or(Ok(None), |index| item(machine, &coll, index))?;
    Ok(found.unwrap_or(default))
}

fn ffirst(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    CollectionKinds::Lists.accept(machine, 1, &args[0])?;
    let first = item(machine, &args[0], 0)?.unwrap_or_default();
    inner(&first)?;
    Ok(item(machine, &first, 0)?.unwrap_or_default())
}

fn nfirst(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    CollectionKinds::Lists.check(1, &args[0])?;
    let first = item(machine, &args[0], 0)?.unwrap_or_default();
    inner(&first)?;
    after(machine, first, 1)
}

/// Checks the first item for `ffirst` and `nfirst`.
fn inner(first: &Value) -> EvalResult<()> {
    CollectionKinds::Ordered
        .check(1, first)
        .map_err(|halt| hinted(halt, "Every item of the list must be a list or string; use first or next"))
}

fn fnext(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    CollectionKinds::Lists.check(1, &args[0])?;
    at(machine, &args[0], 1)
}

fn nnext(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    CollectionKinds::Lists.check(1, &args[0])?;
    after(machine, std::mem::take(&mut args[0]), 2)
}

/// The rest after some items; nil if nothing remains.
pub(super) fn after(machine: &mut Machine<'_>, coll: Value, items: usize) -> EvalResult {
    let total = count(machine, &coll)?;
    if items >= total { Ok(Value::Nil) } else { slice(machine, coll, items..total) }
}

fn peek(_: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    CollectionKinds::Lists.check(1, &args[0])?;
    Ok(view::last(&args[0]).unwrap_or_default())
}

fn count_of(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    CollectionKinds::All.check(1, &args[0])?;
    Ok(Value::Int(i64::try_from(count(machine, &args[0])?).unwrap_or(i64::MAX)))
}

pub(super) fn has_none(coll: &Value) -> bool {
    match coll {
        Value::Nil => true,
        Value::Str(text) => text.is_empty(),
        Value::List(list) => list.is_empty(),
        Value::Map(map) => map.is_empty(),
        Value::Set(set) => set.is_empty(),
        _ => false,
    }
}

fn is_empty(_: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    if Callable::is_endless(&args[0]) {
        return Ok(Value::Bool(false));
    }
    CollectionKinds::All.check(1, &args[0])?;
    Ok(has_none(&args[0]).into())
}

fn not_empty(_: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    CollectionKinds::All.check(1, &args[0])?;
    Ok(if has_none(&args[0]) { Value::Nil } else { std::mem::take(&mut args[0]) })
}

fn empty(_: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    Ok(match &args[0] {
        Value::Nil => Value::Nil,
        Value::Str(_) => Value::str(""),
        Value::List(_) => Vec::new().into(),
        Value::Set(_) => Value::Set(Arc::new(Set::default())),
        // Nested, these are records in the reference, and an empty record is an empty map.
        Value::Map(_) => Map::default().into(),
        record if is_record(record) => Map::default().into(),
        other => return Err(wrong(1, "a list, string, map or set", other)),
    })
}

fn seq(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    if Callable::is_endless(&args[0]) {
        return Ok(std::mem::take(&mut args[0]));
    }
    CollectionKinds::All.check(1, &args[0])?;
    if has_none(&args[0]) { Ok(Value::Nil) } else { listed(machine, std::mem::take(&mut args[0])) }
}

fn vec_of(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    CollectionKinds::All.check(1, &args[0])?;
    match std::mem::take(&mut args[0]) {
        Value::Nil => Ok(Value::Nil),
        coll => listed(machine, coll),
    }
}

/// The items as a list; a list stays as it is.
fn listed(machine: &mut Machine<'_>, coll: Value) -> EvalResult {
    match coll {
        Value::List(_) => Ok(coll),
        other => collect(machine, other).map(Value::from),
    }
}
