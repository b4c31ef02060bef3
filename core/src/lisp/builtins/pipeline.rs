//! Pipelines: items pulled one by one from a source through stages, each made of a transducer.
//!
//! In: a collection or an endless sequence, and transducers. Out: the items, one for each call of [`Pipeline::next`].
//! It must never pull more items than the result needs, so that `take` also ends endless sources.

use std::collections::HashSet;

use super::argument::{integer, length};
use super::collection::{Each, several};
use super::custom_stage::CustomStage;
use super::source::Source;
use crate::lisp::machine::{Callable, Callee, Machine, Recipe};
use crate::lisp::{Error, EvalResult, Halt, Items, described, wrong};
use crate::reasons::Reason;
use crate::value::{Map, Value};

/// Items of a source that pass through stages.
pub(crate) struct Pipeline<'v> {
    source: Source<'v>,
    stages: Vec<Stage<'v>>,
}

/// A transducer with its state.
enum Stage<'v> {
    Map(Each<'v>),
    Filter(Each<'v>),
    Remove(Each<'v>),
    Keep(Each<'v>),
    MapIndexed(Callee<'v>, i64),
    KeepIndexed(Callee<'v>, i64),
    /// The function, if any, and the items of its last result.
    Concatenated(Option<Each<'v>>, Option<Items>),
    /// Items still to take.
    Take(usize),
    /// The predicate; `None` after the first item for which it is false.
    TakeWhile(Option<Each<'v>>),
    /// Items still to drop.
    Drop(usize),
    /// The predicate; `None` after the first item for which it is false.
    DropWhile(Option<Each<'v>>),
    /// The distance between two items, and the items to drop before the next.
    TakeNth(usize, usize),
    Distinct(HashSet<Value>),
    Dedupe(Option<Value>),
    PartitionAll(usize),
    /// The function, and the first item of the next group with its result.
    PartitionBy(Each<'v>, Option<(Value, Value)>),
    /// The separator, and the item after it.
    Interpose(&'v Value, InterposeState),
    Replace(&'v Map),
    /// The function, the init that is still to be returned, and the last result.
    Reductions(Callee<'v>, Option<Value>, Option<Value>),
    Custom(CustomStage),
}

/// The state of `interpose`.
enum InterposeState {
    Start,
    Separator,
    Item(Value),
}

/// Steps of a lookup by hash.
const HASH_STEPS: usize = 6;

impl<'v> Pipeline<'v> {
    /// The items of a collection or endless sequence that is argument `position`.
    pub(crate) fn of(machine: &mut Machine<'_>, position: usize, value: &'v Value) -> EvalResult<Self> {
        let mut transducers = Vec::new();
        let mut at = value;
        // The stages of nested sequences, the last one first.
        while let Some(Callable::Endless(Recipe { name: THROUGH, parts })) = Callable::of_value(at) {
            machine.tick()?;
            let [inner, transducer] = parts.as_slice() else { break };
            transducers.push(transducer);
            at = inner;
        }
        let source = Source::of(machine, position, at)?;
        let mut pipeline = Self { source, stages: Vec::new() };
        for transducer in transducers.into_iter().rev() {
            pipeline.add(machine, transducer)?;
        }
        Ok(pipeline)
    }

    /// Items of a source without stages.
    pub(super) fn from_source(source: Source<'v>) -> Self {
        Self { source, stages: Vec::new() }
    }

    /// Adds the stages of a transducer, or of several that `comp` combined.
    pub(super) fn add(&mut self, machine: &mut Machine<'_>, transducer: &'v Value) -> EvalResult<()> {
        let mut pending = vec![transducer];
        while let Some(value) = pending.pop() {
            machine.tick()?;
            match Callable::of_value(value) {
                Some(Callable::Transducer(made)) => self.stages.push(stage(made)?),
                Some(Callable::Bound(bound)) if bound.name == "comp" => pending.extend(bound.parts.iter().rev()),
                Some(Callable::Builtin(row)) if row.name == "cat" => self.stages.push(Stage::Concatenated(None, None)),
                Some(Callable::Builtin(row)) if row.name == "identity" => {}
                Some(Callable::Closure(_) | Callable::Bound(_)) => match CustomStage::of(machine, value)? {
                    Some(stage) => self.stages.push(Stage::Custom(stage)),
                    None => return Err(no_transducer(value)),
                },
                _ => return Err(no_transducer(value)),
            }
        }
        Ok(())
    }

    /// The next item; `None` at the end.
    pub(crate) fn next(&mut self, machine: &mut Machine<'_>) -> EvalResult<Option<Value>> {
        pull(&mut self.source, &mut self.stages, machine)
    }

    /// All items. An endless pipeline ends at a limit of the program.
    pub(super) fn collect(&mut self, machine: &mut Machine<'_>) -> EvalResult<Vec<Value>> {
        let mut items = Vec::new();
        while let Some(item) = self.next(machine)? {
            items.push(item);
        }
        Ok(items)
    }
}

/// The name of an endless sequence whose items pass through a transducer.
pub(super) const THROUGH: &str = "sequence";

#[cold]
fn no_transducer(value: &Value) -> Box<Halt> {
    let problem = format!("a transducer is needed, got {}", described(value));
    Error::new(Reason::TypeError, problem)
        .hint("A transducer is (map f), (filter pred), (take n) … without a collection, or (comp …) of such; a function of items is used as (map f)")
        .into()
}

/// The stage of a transducer.
fn stage(made: &Recipe) -> EvalResult<Stage<'_>> {
    let first = made.parts.first();
    let function = || Each::of(first.unwrap_or(&Value::Nil), &Value::Nil, "");
    let of_two = || several(first.unwrap_or(&Value::Nil), &Value::Nil, "");
    let count = || integer(1, first.unwrap_or(&Value::Nil)).map(length);
    let positive = || match count()? {
        0 => Err(wrong_count(first.unwrap_or(&Value::Nil))),
        count => Ok(count),
    };
    Ok(match made.name {
        "map" => Stage::Map(function()?),
        "filter" => Stage::Filter(function()?),
        "remove" => Stage::Remove(function()?),
        "keep" => Stage::Keep(function()?),
        "map-indexed" => Stage::MapIndexed(of_two()?, 0),
        "keep-indexed" => Stage::KeepIndexed(of_two()?, 0),
        "mapcat" => Stage::Concatenated(Some(function()?), None),
        "take" => Stage::Take(count()?),
        "take-while" => Stage::TakeWhile(Some(function()?)),
        "drop" => Stage::Drop(count()?),
        "drop-while" => Stage::DropWhile(Some(function()?)),
        "take-nth" => Stage::TakeNth(positive()?, 0),
        "distinct" => Stage::Distinct(HashSet::new()),
        "dedupe" => Stage::Dedupe(None),
        "partition-all" => Stage::PartitionAll(positive()?),
        "partition-by" => Stage::PartitionBy(function()?, None),
        "reductions" => Stage::Reductions(of_two()?, made.parts.get(1).cloned(), None),
        "interpose" => Stage::Interpose(first.unwrap_or(&Value::Nil), InterposeState::Start),
        _ => match first {
            Some(Value::Map(map)) => Stage::Replace(map),
            other => return Err(wrong(1, "a map", other.unwrap_or(&Value::Nil))),
        },
    })
}

#[cold]
fn wrong_count(got: &Value) -> Box<Halt> {
    Error::new(Reason::TypeError, format!("argument 1 must be an integer above 0, got {}", got.brief(20))).into()
}

/// The next item after all stages.
fn pull(source: &mut Source<'_>, stages: &mut [Stage<'_>], machine: &mut Machine<'_>) -> EvalResult<Option<Value>> {
    let Some((stage, before)) = stages.split_last_mut() else {
        machine.tick()?;
        return source.next(machine);
    };
    // Stages may be nested as deeply as a program makes them.
    machine.enter()?;
    let item = advance(stage, machine, &mut |machine| pull(source, before, machine))?;
    machine.exit();
    Ok(item)
}

/// A function that returns the next item before a stage.
type Previous<'p> = dyn FnMut(&mut Machine<'_>) -> EvalResult<Option<Value>> + 'p;

/// The next item after a stage.
fn advance(stage: &mut Stage<'_>, machine: &mut Machine<'_>, previous: &mut Previous<'_>) -> EvalResult<Option<Value>> {
    match stage {
        Stage::Map(each) => match previous(machine)? {
            Some(item) => each.of_owned(machine, item).map(Some),
            None => Ok(None),
        },
        Stage::Filter(each) => selected(machine, previous, |machine, item| each.test(machine, item)),
        Stage::Remove(each) => selected(machine, previous, |machine, item| Ok(!each.test(machine, item)?)),
        Stage::Replace(map) => Ok(previous(machine)?.map(|item| map.lookup_key(&item).cloned().unwrap_or(item))),
        Stage::Distinct(seen) => selected(machine, previous, |machine, item| {
            machine.ticks(HASH_STEPS)?;
            Ok(seen.insert(item.clone()))
        }),
        Stage::Keep(each) => {
            while let Some(item) = previous(machine)? {
                let value = each.of_owned(machine, item)?;
                if !value.is_nil() {
                    return Ok(Some(value));
                }
            }
            Ok(None)
        }
        Stage::MapIndexed(function, at) => match previous(machine)? {
            Some(item) => indexed(machine, function, at, item).map(Some),
            None => Ok(None),
        },
        Stage::KeepIndexed(function, at) => {
            while let Some(item) = previous(machine)? {
                let value = indexed(machine, function, at, item)?;
                if !value.is_nil() {
                    return Ok(Some(value));
                }
            }
            Ok(None)
        }
        Stage::Concatenated(each, items) => concatenated(each.as_ref(), items, machine, previous),
        Stage::Take(rest) => {
            let Some(left) = rest.checked_sub(1) else { return Ok(None) };
            *rest = left;
            previous(machine)
        }
        Stage::TakeWhile(pred) => {
            let Some(each) = pred else { return Ok(None) };
            match previous(machine)? {
                Some(item) if each.test(machine, &item)? => Ok(Some(item)),
                _ => {
                    *pred = None;
                    Ok(None)
                }
            }
        }
        Stage::Drop(count) => match drop_items(machine, previous, std::mem::take(count))? {
            Some(()) => previous(machine),
            None => Ok(None),
        },
        Stage::DropWhile(pred) => match pred.take() {
            Some(each) => selected(machine, previous, |machine, item| Ok(!each.test(machine, item)?)),
            None => previous(machine),
        },
        Stage::TakeNth(distance, dropped) => {
            match drop_items(machine, previous, std::mem::replace(dropped, *distance - 1))? {
                Some(()) => previous(machine),
                None => Ok(None),
            }
        }
        Stage::Dedupe(last) => selected(machine, previous, |machine, item| is_new(machine, last, item)),
        Stage::PartitionAll(size) => {
            let mut group = Vec::new();
            while group.len() < *size {
                match previous(machine)? {
                    Some(item) => group.push(item),
                    None => break,
                }
            }
            Ok((!group.is_empty()).then(|| group.into()))
        }
        Stage::Reductions(function, init, last) => reduction(function, init, last, machine, previous),
        Stage::PartitionBy(each, ahead) => partition_by(each, ahead, machine, previous),
        Stage::Custom(custom) => custom.next(machine, previous),
        Stage::Interpose(separator, state) => interposed(separator, state, machine, previous),
    }
}

/// Drops items; `None` if there are fewer.
fn drop_items(machine: &mut Machine<'_>, previous: &mut Previous<'_>, count: usize) -> EvalResult<Option<()>> {
    for _ in 0..count {
        if previous(machine)?.is_none() {
            return Ok(None);
        }
    }
    Ok(Some(()))
}

/// True for an item that differs from the last one, which it replaces.
fn is_new(machine: &mut Machine<'_>, last: &mut Option<Value>, item: &Value) -> EvalResult<bool> {
    let (ordering, steps) = match last {
        Some(last) => item.cmp_counted(last),
        None => (std::cmp::Ordering::Less, 0),
    };
    machine.ticks(steps)?;
    if ordering.is_ne() {
        *last = Some(item.clone());
    }
    Ok(ordering.is_ne())
}

/// The next intermediate result of a reduction.
fn reduction(
    function: &Callee<'_>,
    init: &mut Option<Value>,
    last: &mut Option<Value>,
    machine: &mut Machine<'_>,
    previous: &mut Previous<'_>,
) -> EvalResult<Option<Value>> {
    let result = match (init.take(), last.take()) {
        (Some(init), _) => init,
        (None, last) => {
            let Some(item) = previous(machine)? else { return Ok(None) };
            match last {
                Some(last) => function.call2(machine, last, item)?,
                None => item,
            }
        }
    };
    *last = Some(result.clone());
    Ok(Some(result))
}

/// The next item, or the separator before it.
fn interposed(
    separator: &Value,
    state: &mut InterposeState,
    machine: &mut Machine<'_>,
    previous: &mut Previous<'_>,
) -> EvalResult<Option<Value>> {
    match std::mem::replace(state, InterposeState::Separator) {
        InterposeState::Start => previous(machine),
        InterposeState::Item(item) => Ok(Some(item)),
        InterposeState::Separator => match previous(machine)? {
            Some(item) => {
                *state = InterposeState::Item(item);
                Ok(Some(separator.clone()))
            }
            None => Ok(None),
        },
    }
}

/// The next item that a condition selects.
fn selected(
    machine: &mut Machine<'_>,
    previous: &mut Previous<'_>,
    mut is_wanted: impl FnMut(&mut Machine<'_>, &Value) -> EvalResult<bool>,
) -> EvalResult<Option<Value>> {
    while let Some(item) = previous(machine)? {
        if is_wanted(machine, &item)? {
            return Ok(Some(item));
        }
    }
    Ok(None)
}

/// Calls a function with the index of the item.
fn indexed(machine: &mut Machine<'_>, function: &Callee<'_>, at: &mut i64, item: Value) -> EvalResult {
    let index = *at;
    *at += 1;
    function.call2(machine, Value::Int(index), item)
}

/// The next item of the collections that a function returns, or that are the items themselves.
fn concatenated(
    each: Option<&Each<'_>>,
    items: &mut Option<Items>,
    machine: &mut Machine<'_>,
    previous: &mut Previous<'_>,
) -> EvalResult<Option<Value>> {
    loop {
        if let Some(item) = items.as_mut().and_then(Iterator::next) {
            return Ok(Some(item));
        }
        let Some(item) = previous(machine)? else { return Ok(None) };
        let collection = match each {
            Some(each) => each.of_owned(machine, item)?,
            None => item,
        };
        let found = Items::of(collection);
        *items = Some(found.map_err(|other| wrong(1, "a function that returns a collection for each item", &other))?);
    }
}

/// The next group of consecutive items with the same result of a function.
fn partition_by(
    each: &Each<'_>,
    ahead: &mut Option<(Value, Value)>,
    machine: &mut Machine<'_>,
    previous: &mut Previous<'_>,
) -> EvalResult<Option<Value>> {
    let (first, key) = match ahead.take() {
        Some(ahead) => ahead,
        None => match previous(machine)? {
            Some(item) => {
                let key = each.of_item(machine, &item)?;
                (item, key)
            }
            None => return Ok(None),
        },
    };
    let mut group = vec![first];
    while let Some(item) = previous(machine)? {
        let next = each.of_item(machine, &item)?;
        let (ordering, steps) = next.cmp_counted(&key);
        machine.ticks(steps)?;
        if ordering.is_ne() {
            *ahead = Some((item, next));
            break;
        }
        group.push(item);
    }
    Ok(Some(group.into()))
}
