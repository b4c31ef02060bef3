//! Sorting, and functions that sort: stable, interruptible, and safe with inconsistent comparators.
//!
//! In: items and an order, which may be a function of the program. Out: the items in order. Each comparison counts as a
//! step, and one of large values as many.

use std::cmp::Ordering;

use super::argument::{CollectionKinds, hinted, swapped};
use super::key::Key;
use super::view::collect;
use super::{Arity, Builtin, Clojure, Cost};
use crate::lisp::machine::Callable;
use crate::lisp::machine::{Callee, Machine};
use crate::lisp::{Error, EvalResult, Halt, described, wrong};
use crate::reasons::Reason;
use crate::value::{Set, Value};

/// The rows of this file.
pub(super) const ROWS: &[Builtin] = &[
    Builtin::new("sort", Arity::between(1, 2), sort)
        .doc(
            &["(sort coll)", "(sort comparator coll)"],
            "The items in ascending order, or in that of a comparator: a function that returns a boolean or a number, :asc or :desc.",
        )
        .examples(&[
            ("(sort [3 1 2])", "[1 2 3]"),
            ("(sort > [1 3 2])", "[3 2 1]"),
            ("(sort :desc [1 3 2])", "[3 2 1]"),
            ("(sort (fn [a b] (- b a)) [1 3 2])", "[3 2 1]"),
        ])
        .clojure(Clojure::Differs("values of all types have an order; :asc and :desc are accepted; sets are rejected"))
        .cost(Cost::Sorting),
    Builtin::new("sort-by", Arity::between(2, 3), sort_by).calls_argument(0)
        .doc(
            &["(sort-by key coll)", "(sort-by key comparator coll)"],
            "The items in the order of their keys; a key is a keyword, string, key path or function.",
        )
        .examples(&[
            ("(sort-by :n [{:n 3} {:n 1}])", "[{:n 1} {:n 3}]"),
            ("(sort-by :n > [{:n 3} {:n 5}])", "[{:n 5} {:n 3}]"),
            ("(sort-by [:a :b] [{:a {:b 2}} {:a {:b 1}}])", "[{:a {:b 1}} {:a {:b 2}}]"),
            ("(sort-by count [\"bb\" \"a\"])", "[\"a\" \"bb\"]"),
        ])
        .clojure(Clojure::Differs("the key may be a string or a key path; :asc and :desc are accepted"))
        .cost(Cost::Sorting),
    Builtin::new("reverse", Arity::exactly(1), reverse).calls_nothing()
        .doc(&["(reverse coll)"], "The items of a list or string in reverse order.")
        .examples(&[("(reverse [1 2])", "[2 1]"), ("(reverse \"abc\")", "[\"c\" \"b\" \"a\"]"), ("(reverse nil)", "[]")])
        .clojure(super::access::ORDERED),
    Builtin::new("rseq", Arity::exactly(1), |machine, args| {
        let reversed = reverse(machine, args)?;
        Ok(if reversed.as_list().is_some_and(<[Value]>::is_empty) { Value::Nil } else { reversed })
    })
        .doc(&["(rseq coll)"], "The items of a list or string in reverse order; nil if there are none.")
        .examples(&[("(rseq [1 2])", "[2 1]"), ("(rseq [])", "nil")])
        .clojure(super::access::ORDERED)
        .current(),
];

/// The order of the items.
enum Comparator<'v> {
    Ascending,
    Descending,
    /// A comparator function of two items.
    Function(Callee<'v>),
}

impl<'v> Comparator<'v> {
    fn of(machine: &Machine<'_>, position: usize, comparator: &'v Value) -> EvalResult<Self> {
        match comparator {
            Value::Keyword(word) => match word.name() {
                "asc" => Ok(Self::Ascending),
                "desc" => Ok(Self::Descending),
                _ => Err(wrong(position, "a comparator function, :asc or :desc", comparator)),
            },
            Value::Function(function) => match Callable::of(function) {
                Some(Callable::Builtin(row)) if matches!(row.name, "<" | "<=" | "compare") => Ok(Self::Ascending),
                Some(Callable::Builtin(builtin)) if matches!(builtin.name, ">" | ">=") => Ok(Self::Descending),
                _ => Callee::of(machine, position, comparator).map(Self::Function),
            },
            Value::Var(_) => Callee::of(machine, position, comparator).map(Self::Function),
            other => Err(wrong(position, "a comparator function, :asc or :desc", other)),
        }
    }

    /// True if `second` must move before `first`. Items that tie keep their order.
    fn swaps(&self, machine: &mut Machine<'_>, first: &Value, second: &Value) -> EvalResult<bool> {
        match self {
            Self::Ascending => Ok(order(machine, first, second)? == Ordering::Greater),
            Self::Descending => Ok(order(machine, first, second)? == Ordering::Less),
            Self::Function(function) => {
                machine.tick()?;
                match function.call2(machine, first.clone(), second.clone()).map_err(compared)? {
                    Value::Bool(true) => Ok(false),
                    // Only the reversed comparison detects a tie.
                    Value::Bool(false) => Ok(function.call2(machine, second.clone(), first.clone())?.is_truthy()),
                    Value::Int(sign) => Ok(sign > 0),
                    Value::Float(sign) => Ok(sign > 0.0),
                    Value::Big(sign) => Ok(sign.sign() == num_bigint::Sign::Plus),
                    other => Err(no_answer(&other)),
                }
            }
        }
    }
}

#[cold]
fn no_answer(answer: &Value) -> Box<Halt> {
    let problem = format!("the comparator must return a boolean or a number, got {}", described(answer));
    Error::new(Reason::RuntimeError, problem).hint("Sort by a key with (sort-by key coll)").into()
}

/// The error of a comparator: one that does not take two items has the wrong type.
#[cold]
fn compared(mut halt: Box<Halt>) -> Box<Halt> {
    if let Halt::Error(error) = &mut *halt
        && error.reason == Reason::ArityMismatch
        && error.span.is_none()
    {
        error.reason = Reason::TypeError;
    }
    halt
}

/// The language's order; counts its steps.
fn order(machine: &mut Machine<'_>, a: &Value, b: &Value) -> EvalResult<Ordering> {
    let (ordering, steps) = a.order_counted(b);
    machine.ticks(1 + steps)?;
    Ok(ordering)
}

fn sort(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let comparator = if args.len() == 2 { std::mem::take(&mut args[0]) } else { Value::keyword("asc") };
    let position = args.len();
    let coll = std::mem::take(&mut args[position - 1]);
    let comparator = Comparator::of(machine, 1, &comparator).map_err(|halt| match Callee::strict(2, &coll) {
        Ok(_) if matches!(comparator, Value::List(_)) => swapped(halt, "(sort comparator coll)"),
        _ => halt,
    })?;
    CollectionKinds::NotSets.accept(machine, position, &coll).map_err(|halt| match &coll {
        Value::Set(_) => hinted(halt, "Use (sort (vec s)) or (sort-by identity s)"),
        _ => halt,
    })?;
    if let (2, Value::Map(_)) = (position, &coll) {
        return Err(hinted(
            wrong(2, "a list or string", &coll),
            "Use (sort comparator (seq m)) or (sort-by key comparator m)",
        ));
    }
    let mut items = collect(machine, coll)?;
    if sort_integers(machine, &mut items, &comparator)? {
        return Ok(items.into());
    }
    Ok(sorted(machine, items, &comparator, |item| item)?.into())
}

fn sort_by(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let position = args.len();
    let coll = std::mem::take(&mut args[position - 1]);
    let key = std::mem::take(&mut args[0]);
    let comparator = if position == 3 { std::mem::take(&mut args[1]) } else { Value::keyword("asc") };
    let call = "(sort-by key coll)";
    if !matches!(coll, Value::Set(_))
        && CollectionKinds::All.check(1, &key).is_ok()
        && Callee::strict(position, &coll).is_ok()
    {
        return Err(swapped(wrong(position, "a list, string, map or set", &coll), call));
    }
    if key.is_nil() {
        return Err(wrong(1, "a keyword, string, key path or function", &key));
    }
    let named = &key;
    let key = Key::of(machine, 1, named)?;
    let comparator = Comparator::of(machine, 2, &comparator)?;
    CollectionKinds::All.check(position, &coll)?;
    // The characters of a string have no fields, and that is not an error.
    let lenient = matches!((&coll, &key), (Value::Str(_), Key::Word(_)));
    let mut items = collect(machine, coll)?;
    machine.reserve(items.len().saturating_mul(2 * size_of::<(Value, Value)>()))?;
    let mut keys = Vec::with_capacity(items.len());
    for item in &items {
        machine.tick()?;
        let fields =
            matches!(item, Value::Map(_) | Value::List(_) | Value::Set(_) | Value::Keyword(_) | Value::Nil) || lenient;
        if !fields && matches!(key, Key::Word(_) | Key::Field(_)) {
            return Err(no_fields(named, item));
        }
        keys.push(key.of_item(machine, item)?);
    }
    if let Some(places) = integer_order(&keys, &comparator) {
        machine.ticks((QUICK_STEPS + 1) * keys.len())?;
        return Ok(Value::list(
            places.into_iter().filter_map(|(_, at)| items.get_mut(at as usize).map(std::mem::take)),
        ));
    }
    let keyed = keys.into_iter().zip(items).collect();
    let keyed = sorted(machine, keyed, &comparator, |(key, _)| key)?;
    machine.ticks(keyed.len())?;
    Ok(Value::list(keyed.into_iter().map(|(_, item)| item)))
}

#[cold]
fn no_fields(field: &Value, item: &Value) -> Box<Halt> {
    let problem = format!("every item must be a map to sort by {}, got {}", described(field), described(item));
    Error::new(Reason::TypeError, problem).hint("Use a function as the key, such as identity").into()
}

fn reverse(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    CollectionKinds::Ordered.accept(machine, 1, &args[0])?;
    let mut items = collect(machine, std::mem::take(&mut args[0]))?;
    machine.ticks(items.len() / 4)?;
    items.reverse();
    Ok(items.into())
}

/// The members of a set, sorted and without duplicates.
pub(super) fn members_of(machine: &mut Machine<'_>, members: Vec<Value>) -> EvalResult<Set> {
    let at_once = |run: &mut [Value]| run.sort();
    let at_once = members.iter().all(is_leaf).then_some(&at_once);
    let sorted = merge_sort(machine, members, at_once, &|machine, first, second| {
        let (ordering, steps) = first.cmp_counted(second);
        machine.ticks(1 + steps)?;
        Ok(ordering == Ordering::Greater)
    })?;
    machine.ticks(sorted.len())?;
    // Members already in order are only scanned.
    Ok(sorted.into_iter().collect())
}

/// Sorts a short run without the machine.
type ShortSort<'s, T> = dyn Fn(&mut [T]) + 's;

/// Sorts by `key` in the comparator's order.
fn sorted<T>(
    machine: &mut Machine<'_>,
    items: Vec<T>,
    comparator: &Comparator<'_>,
    key: impl Fn(&T) -> &Value,
) -> EvalResult<Vec<T>> {
    let ascending = |run: &mut [T]| run.sort_by(|a, b| leaf_order(key(a), key(b)));
    let descending = |run: &mut [T]| run.sort_by(|a, b| leaf_order(key(b), key(a)));
    let at_once: Option<&ShortSort<'_, T>> = match comparator {
        _ if !items.iter().all(|item| is_leaf(key(item))) => None,
        Comparator::Ascending => Some(&ascending),
        Comparator::Descending => Some(&descending),
        Comparator::Function(_) => None,
    };
    merge_sort(machine, items, at_once, &|machine, a, b| comparator.swaps(machine, key(a), key(b)))
}

/// The sorted keys, each with its index, if all are small integers and few enough to sort at once.
fn integer_order(keys: &[Value], comparator: &Comparator<'_>) -> Option<Vec<(i64, u32)>> {
    if keys.len() > MOST_INTEGERS || matches!(comparator, Comparator::Function(_)) {
        return None;
    }
    let integer = |(key, at): (&Value, u32)| if let Value::Int(int) = key { Some((*int, at)) } else { None };
    let mut order: Vec<(i64, u32)> = keys.iter().zip(0..).map(integer).collect::<Option<_>>()?;
    if let Comparator::Descending = comparator {
        order.sort_unstable_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
    } else {
        order.sort_unstable();
    }
    Some(order)
}

/// Sorts items that are all small integers; false for others.
fn sort_integers(machine: &mut Machine<'_>, items: &mut [Value], comparator: &Comparator<'_>) -> EvalResult<bool> {
    let integer = |item: &Value| if let Value::Int(int) = item { Some(*int) } else { None };
    let descending = match comparator {
        Comparator::Ascending => false,
        Comparator::Descending => true,
        Comparator::Function(_) => return Ok(false),
    };
    if items.first().and_then(integer).is_none() {
        return Ok(false);
    }
    machine.reserve(items.len().saturating_mul(size_of::<i64>()))?;
    let Some(mut sorted) = items.iter().map(integer).collect::<Option<Vec<i64>>>() else { return Ok(false) };
    for run in sorted.chunks_mut(MOST_INTEGERS) {
        machine.ticks(QUICK_STEPS * run.len())?;
        run.sort_unstable();
    }
    let mut width = MOST_INTEGERS;
    while width < sorted.len() {
        sorted = merge_integers(machine, &sorted, width)?;
        width = width.saturating_mul(2);
    }
    // Equal integers are indistinguishable, so the order of ties does not matter.
    if descending {
        sorted.reverse();
    }
    machine.ticks(items.len() / 4)?;
    for (item, int) in items.iter_mut().zip(sorted) {
        item.put(Value::Int(int));
    }
    Ok(true)
}

/// Merges neighbouring sorted runs of this width.
fn merge_integers(machine: &mut Machine<'_>, runs: &[i64], width: usize) -> EvalResult<Vec<i64>> {
    machine.reserve(size_of_val(runs))?;
    let mut merged = Vec::with_capacity(runs.len());
    for pair in runs.chunks(width.saturating_mul(2)) {
        let (mut one, mut two) = pair.split_at(width.min(pair.len()));
        while let ([first, ..], [second, ..]) = (one, two) {
            if merged.len().is_multiple_of(QUICK_RUN) {
                machine.ticks(QUICK_RUN / 2)?;
            }
            let (next, from) = if second < first { (*second, &mut two) } else { (*first, &mut one) };
            merged.push(next);
            *from = from.get(1..).unwrap_or_default();
        }
        merged.extend_from_slice(one);
        merged.extend_from_slice(two);
    }
    Ok(merged)
}

/// Texts longer than this, in bytes, are not quick to compare.
const QUICK_TEXT: usize = 256;

/// True for a value without nested values, which is quick to compare.
pub(super) fn is_leaf(value: &Value) -> bool {
    match value {
        Value::List(_) | Value::Map(_) | Value::Set(_) | Value::Big(_) => false,
        Value::Str(text) => text.len() <= QUICK_TEXT,
        _ => true,
    }
}

/// The language's order, fast for the most common types and for identical texts.
fn leaf_order(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Int(a), Value::Int(b)) => a.cmp(b),
        (Value::Str(a), Value::Str(b)) if std::sync::Arc::ptr_eq(a, b) => Ordering::Equal,
        _ => a.order(b),
    }
}

/// Items sorted at once if comparing them is quick; about half a millisecond of work.
const QUICK_RUN: usize = 8_192;
/// Integers sorted at once; about two milliseconds of work.
const MOST_INTEGERS: usize = 65_536;
/// Items sorted by insertion otherwise.
const RUN: usize = 8;
/// Steps per item of a run that is sorted at once.
const QUICK_STEPS: usize = 5;

/// A stable merge sort. Runs are sorted by `at_once`, or by insertion without it, and then merged; sorted input takes
/// linear time. `swaps` returns whether the second of two items must move before the first, and may be inconsistent:
/// then the order is unspecified, but no item is lost.
fn merge_sort<T, F: Fn(&mut [T]) + ?Sized>(
    machine: &mut Machine<'_>,
    mut items: Vec<T>,
    at_once: Option<&F>,
    swaps: &impl Fn(&mut Machine<'_>, &T, &T) -> EvalResult<bool>,
) -> EvalResult<Vec<T>> {
    let length = if at_once.is_some() { QUICK_RUN } else { RUN };
    let sort_run = |machine: &mut Machine<'_>, run: &mut [T]| match at_once {
        Some(at_once) => machine.ticks(QUICK_STEPS * run.len()).map(|()| at_once(run)),
        None => insert_sorted(machine, run, swaps),
    };
    if items.len() <= length {
        sort_run(machine, &mut items)?;
        return Ok(items);
    }
    machine.reserve(size_of_val(&*items))?;
    let mut items = items.into_iter();
    let mut runs: Vec<Vec<T>> = Vec::new();
    loop {
        let mut run: Vec<T> = items.by_ref().take(length).collect();
        if run.is_empty() {
            break;
        }
        sort_run(machine, &mut run)?;
        match runs.last_mut() {
            Some(earlier) if follows(machine, earlier, &run, swaps)? => earlier.append(&mut run),
            _ => runs.push(run),
        }
        // Each run stays more than twice as long as the next, so that each item is merged O(log n) times.
        while let Some(run) = runs.pop() {
            if let Some(earlier) = runs.pop_if(|earlier| earlier.len() <= 2 * run.len()) {
                runs.push(merge(machine, earlier, run, swaps)?);
            } else {
                runs.push(run);
                break;
            }
        }
    }
    let mut sorted = runs.pop().unwrap_or_default();
    while let Some(earlier) = runs.pop() {
        sorted = merge(machine, earlier, sorted, swaps)?;
    }
    Ok(sorted)
}

/// True if all of `later` may stay after all of `earlier`.
fn follows<T>(
    machine: &mut Machine<'_>,
    earlier: &[T],
    later: &[T],
    swaps: &impl Fn(&mut Machine<'_>, &T, &T) -> EvalResult<bool>,
) -> EvalResult<bool> {
    match (earlier.last(), later.first()) {
        (Some(last), Some(first)) => Ok(!swaps(machine, last, first)?),
        _ => Ok(true),
    }
}

/// Merges two sorted runs; of tied items, those of the earlier run come first.
fn merge<T>(
    machine: &mut Machine<'_>,
    mut earlier: Vec<T>,
    mut later: Vec<T>,
    swaps: &impl Fn(&mut Machine<'_>, &T, &T) -> EvalResult<bool>,
) -> EvalResult<Vec<T>> {
    machine.tick()?;
    if follows(machine, &earlier, &later, swaps)? {
        earlier.append(&mut later);
        return Ok(earlier);
    }
    let mut merged = Vec::with_capacity(earlier.len() + later.len());
    let (mut earlier, mut later) = (earlier.into_iter(), later.into_iter());
    while let ([first, ..], [second, ..]) = (earlier.as_slice(), later.as_slice()) {
        let next = if swaps(machine, first, second)? { later.next() } else { earlier.next() };
        merged.extend(next);
    }
    merged.extend(earlier);
    merged.extend(later);
    Ok(merged)
}

/// Sorts a short run by binary insertion, which needs few comparisons.
fn insert_sorted<T>(
    machine: &mut Machine<'_>,
    run: &mut [T],
    swaps: &impl Fn(&mut Machine<'_>, &T, &T) -> EvalResult<bool>,
) -> EvalResult<()> {
    for at in 1..run.len() {
        if !swaps(machine, &run[at - 1], &run[at])? {
            continue;
        }
        let (mut low, mut high) = (0, at - 1);
        while low < high {
            let middle = usize::midpoint(low, high);
            if swaps(machine, &run[middle], &run[at])? {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        run[low..=at].rotate_right(1);
    }
    Ok(())
}
