//! Grouping: partitions, removal of duplicates, combinations.

use std::collections::HashSet;
use std::mem::take;

use super::access::ORDERED;
use super::argument::{CollectionKinds, clamped, hinted, length, swapped, taken};
use super::collection::Each;
use super::endless::{self, transformed};
use super::view::collect;
use super::{Arity, Builtin, Clojure, Cost};
use crate::lisp::machine::{Callable, Machine};
use crate::lisp::{Error, EvalResult, wrong};
use crate::reasons::Reason;
use crate::value::Value;

/// The rows of this file.
pub(super) const ROWS: &[Builtin] = &[
    Builtin::new("partition", Arity::between(2, 4), partition)
        .doc(
            &["(partition n coll)", "(partition n step coll)", "(partition n step pad coll)"],
            "Groups of n items, each starting step items after the previous one; an incomplete last group is dropped, or padded with the items of pad.",
        )
        .examples(&[
            ("(partition 2 [1 2 3 4 5])", "[[1 2] [3 4]]"),
            ("(partition 2 1 [1 2 3])", "[[1 2] [2 3]]"),
            ("(partition 3 3 [0] [1 2 3 4])", "[[1 2 3] [4 0]]"),
        ])
        .cost(Cost::Output),
    Builtin::new("partition-all", Arity::between(1, 3), partition_all)
        .takes_in_reference(Arity::between(2, 3))
        .doc(
            &["(partition-all n coll)", "(partition-all n step coll)"],
            "Groups of n items like partition, including incomplete ones.",
        )
        .examples(&[("(partition-all 2 [1 2 3])", "[[1 2] [3]]"), ("(partition-all 2 1 [1 2 3])", "[[1 2] [2 3] [3]]")])
        .cost(Cost::Output),
    Builtin::new("partition-by", Arity::between(1, 2), partition_by)
        .takes_in_reference(Arity::exactly(2))
        .doc(&["(partition-by f coll)"], "Groups of consecutive items for which f returns the same value.")
        .examples(&[
            ("(partition-by odd? [1 3 2 4 5])", "[[1 3] [2 4] [5]]"),
            ("(partition-by identity \"aab\")", "[[\"a\" \"a\"] [\"b\"]]"),
        ]),
    Builtin::new("dedupe", Arity::between(0, 1), dedupe)
        .takes_in_reference(Arity::exactly(1))
        .doc(&["(dedupe coll)"], "The items without consecutive duplicates; 1 and 1.0 differ.")
        .examples(&[("(dedupe [1 1 2 1])", "[1 2 1]"), ("(dedupe nil)", "[]")]),
    Builtin::new("distinct", Arity::between(0, 1), distinct).calls_nothing()
        .takes_in_reference(Arity::exactly(1))
        .doc(&["(distinct coll)"], "The distinct items of a list or string, in order of first occurrence; 1 and 1.0 differ.")
        .examples(&[("(distinct [1 2 1 3 2])", "[1 2 3]"), ("(distinct \"aab\")", "[\"a\" \"b\"]")])
        .clojure(ORDERED),
    Builtin::new("combinations", Arity::exactly(2), combinations)
        .doc(&["(combinations coll n)"], "All combinations of n items, each in the order of the collection.")
        .examples(&[
            ("(combinations [1 2 3] 2)", "[[1 2] [1 3] [2 3]]"),
            ("(combinations [1 2] 0)", "[[]]"),
            ("(combinations [1 2] 3)", "[]"),
        ])
        .clojure(Clojure::Named("clojure.math.combinatorics/combinations"))
        .cost(Cost::Output),
];

/// The handling of an incomplete group at the end of the collection.
enum Remainder {
    Dropped,
    Kept,
    /// Padded with these items, as far as they suffice; nothing follows.
    Padded(Vec<Value>),
}

fn partition(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    if args.last().is_some_and(Callable::is_endless) {
        return endless::partition(machine, args);
    }
    let incomplete = match args {
        [_, _, pad, _] => {
            if pad.is_nil() {
                let problem = "argument 3 must be a list of items for padding, got nil";
                return Error::new(Reason::RuntimeError, problem).hint("Omit it, or pass []").halt();
            }
            CollectionKinds::All.check(3, pad)?;
            Remainder::Padded(collect(machine, take(pad))?)
        }
        _ => Remainder::Dropped,
    };
    grouped(machine, args, incomplete)
}

fn partition_all(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    if let Some(result) = transformed(machine, "partition-all", 1, args) {
        return result;
    }
    grouped(machine, args, Remainder::Kept)
}

fn grouped(machine: &mut Machine<'_>, args: &mut [Value], incomplete: Remainder) -> EvalResult {
    let position = args.len();
    let coll = take(&mut args[position - 1]);
    CollectionKinds::All.check(position, &coll).map_err(|halt| match CollectionKinds::All.check(1, &args[0]) {
        Ok(()) => swapped(halt, "(partition n coll)"),
        Err(_) => halt,
    })?;
    let size = positive(1, &args[0])?;
    let step = if position > 2 { positive(2, &args[1])? } else { size };
    let items = collect(machine, coll)?;
    let groups = if step == size {
        chunked(machine, items, size, incomplete)
    } else {
        windows(machine, &items, size, step, &incomplete)
    };
    Ok(groups?.into())
}

fn positive(position: usize, value: &Value) -> EvalResult<usize> {
    clamped(value).filter(|int| *int > 0).map(length).ok_or_else(|| wrong_or_small(position, value))
}

#[cold]
fn wrong_or_small(position: usize, value: &Value) -> Box<crate::lisp::Halt> {
    match value {
        Value::Int(int) => {
            let problem = format!("argument {position} must be an integer above 0, got {int}");
            Error::new(Reason::TypeError, problem).into()
        }
        other => wrong(position, "an integer above 0", other),
    }
}

/// Groups without overlap: the items are moved.
fn chunked(machine: &mut Machine<'_>, items: Vec<Value>, size: usize, incomplete: Remainder) -> EvalResult<Vec<Value>> {
    let (whole, rest) = (items.len() / size, items.len() % size);
    machine.reserve(whole.saturating_add(1).saturating_mul(GROUP_BYTES))?;
    let mut items = items.into_iter();
    let mut groups = Vec::with_capacity(whole + 1);
    for _ in 0..whole {
        machine.ticks(4 + size)?;
        groups.push(items.by_ref().take(size).collect::<Vec<_>>().into());
    }
    if rest > 0 {
        match incomplete {
            Remainder::Dropped => {}
            Remainder::Kept => groups.push(items.collect::<Vec<_>>().into()),
            Remainder::Padded(pad) => {
                groups.push(items.chain(pad.into_iter().take(size - rest)).collect::<Vec<_>>().into());
            }
        }
    }
    Ok(groups)
}

/// Memory of a list apart from its items, in bytes.
const GROUP_BYTES: usize = 64;

/// Groups that overlap or skip items: the items are copied.
fn windows(
    machine: &mut Machine<'_>,
    items: &[Value],
    size: usize,
    step: usize,
    incomplete: &Remainder,
) -> EvalResult<Vec<Value>> {
    let mut groups = Vec::new();
    let mut start = 0;
    while start < items.len() {
        let end = start.saturating_add(size).min(items.len());
        let group = &items[start..end];
        machine.ticks(4 + group.len())?;
        machine.reserve(GROUP_BYTES + size_of_val(group))?;
        let missing = size - group.len();
        match incomplete {
            Remainder::Dropped if missing > 0 => break,
            Remainder::Padded(pad) if missing > 0 => {
                groups.push(group.iter().chain(pad.iter().take(missing)).cloned().collect::<Vec<_>>().into());
            }
            _ => groups.push(group.to_vec().into()),
        }
        if missing > 0 {
            break;
        }
        start = start.saturating_add(step);
    }
    Ok(groups)
}

fn partition_by(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    if let Some(result) = transformed(machine, "partition-by", 1, args) {
        return result;
    }
    let [function, coll] = taken(args);
    let function = Each::of(machine, &function, &coll, "(partition-by f coll)")?;
    CollectionKinds::All.check(2, &coll)?;
    let mut groups: Vec<Value> = Vec::new();
    let mut group: Vec<Value> = Vec::new();
    let mut current = Value::Nil;
    for item in collect(machine, coll)? {
        machine.tick()?;
        let value = function.of_item(machine, &item)?;
        let (differs, steps) = value.cmp_counted(&current);
        machine.ticks(steps)?;
        if differs.is_ne() && !group.is_empty() {
            groups.push(take(&mut group).into());
        }
        current = value;
        group.push(item);
    }
    if !group.is_empty() {
        groups.push(group.into());
    }
    Ok(groups.into())
}

fn dedupe(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    if let Some(result) = transformed(machine, "dedupe", 0, args) {
        return result;
    }
    CollectionKinds::All.check(1, &args[0])?;
    let mut items = collect(machine, take(&mut args[0]))?;
    let mut kept = 0;
    for at in 0..items.len() {
        let (differs, steps) = if kept == 0 {
            (true, 0)
        } else {
            let (ordering, steps) = items[at].cmp_counted(&items[kept - 1]);
            (ordering.is_ne(), steps)
        };
        machine.ticks(1 + steps)?;
        if differs {
            items.swap(kept, at);
            kept += 1;
        }
    }
    items.truncate(kept);
    Ok(items.into())
}

fn distinct(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    if let Some(result) = transformed(machine, "distinct", 0, args) {
        return result;
    }
    CollectionKinds::Ordered.accept(machine, 1, &args[0]).map_err(|halt| match &args[0] {
        Value::Set(_) => hinted(halt, "The members of a set are distinct; use (seq s)"),
        _ => halt,
    })?;
    let mut items = collect(machine, take(&mut args[0]))?;
    let mut first = Vec::with_capacity(items.len());
    let mut seen = HashSet::new();
    for item in &items {
        machine.ticks(HASH_STEPS)?;
        first.push(seen.insert(item));
    }
    drop(seen);
    let mut first = first.into_iter();
    items.retain(|_| first.next().unwrap_or(true));
    Ok(items.into())
}

/// Steps of a lookup by hash.
const HASH_STEPS: usize = 6;

fn combinations(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let [coll, n] = taken(args);
    if let (Value::Int(_), Value::List(_) | Value::Str(_) | Value::Set(_)) = (&coll, &n) {
        return Err(swapped(wrong(1, "a list, string, map or set", &coll), "(combinations coll n)"));
    }
    // A count that is not a number has no combinations, whatever the items.
    let Some(n) = clamped(&n).and_then(|n| usize::try_from(n).ok()) else { return Ok(Vec::new().into()) };
    CollectionKinds::All.check(1, &coll)?;
    let items = collect(machine, coll)?;
    if n > items.len() {
        return Ok(Vec::new().into());
    }
    machine.reserve(ways(items.len(), n).saturating_mul(GROUP_BYTES + n.saturating_mul(size_of::<Value>())))?;
    let mut chosen: Vec<usize> = (0..n).collect();
    let mut all = Vec::new();
    loop {
        machine.ticks(4 + n)?;
        all.push(chosen.iter().filter_map(|place| items.get(*place)).cloned().collect::<Vec<_>>().into());
        // Advances the last index that can still advance; the indexes after it follow it.
        let Some(last) = (0..n).rev().find(|at| chosen[*at] < items.len() - n + at) else { break };
        let from = chosen[last] + 1;
        for (place, at) in chosen[last..].iter_mut().zip(from..) {
            *place = at;
        }
    }
    Ok(all.into())
}

/// The number of ways to choose `n` of `size`; saturates.
fn ways(size: usize, n: usize) -> usize {
    let n = n.min(size - n);
    let count = (1..=n).try_fold(1u128, |ways, k| Some(ways.checked_mul((size - n + k) as u128)? / k as u128));
    count.and_then(|count| usize::try_from(count).ok()).unwrap_or(usize::MAX)
}
