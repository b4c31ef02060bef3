//! Sources of pipelines: collections, and the endless sequences that `iterate`, `range`, `cycle` and similar make.
//!
//! In: a value. Out: its items, one for each call of [`Source::next`].

use super::collection::several;
use super::pipeline::Pipeline;
use crate::lisp::arithmetic::failed;
use crate::lisp::machine::{Callable, Callee, Machine, Recipe};
use crate::lisp::{EvalResult, Items, wrong};
use crate::reasons::Reason;
use crate::value::{Value, number};

/// The items before the first stage.
pub(super) enum Source<'v> {
    /// A collection.
    Items(Items),
    /// `(range)` from a number: the next one, and the step.
    Range(Value, &'v Value),
    /// `(iterate f x)`: the function, and its last result.
    Iterate(Callee<'v>, IterateState),
    /// `(repeat x)`
    Repeat(&'v Value),
    /// `(cycle coll)`: the items, and the index of the next.
    Cycle(&'v [Value], usize),
    /// `(repeatedly f)`
    Repeatedly(Callee<'v>),
    /// `(map f coll1 coll2 …)`
    Rows(Callee<'v>, Vec<Pipeline<'v>>),
    /// `(interleave coll1 coll2 …)`: the collections, and the items of the current row, the last one first.
    Interleave(Vec<Pipeline<'v>>, Vec<Value>),
    /// `(concat coll1 coll2 …)`: the collections, the last one first.
    Concat(Vec<Pipeline<'v>>),
    /// `(partition n step coll)`: the collection, the size, the step, and the items of the last group.
    Windows(Box<Pipeline<'v>>, usize, usize, Vec<Value>),
}

/// The state of `iterate`.
pub(super) enum IterateState {
    /// Before the first item.
    Start(Value),
    /// After an item.
    After(Value),
}

impl<'v> Source<'v> {
    /// The source of a collection or endless sequence that is argument `position`.
    pub(super) fn of(machine: &mut Machine<'_>, position: usize, value: &'v Value) -> EvalResult<Self> {
        let Some(Callable::Endless(Recipe { name, parts })) = Callable::of_value(value) else {
            return Items::of(value.clone())
                .map(Self::Items)
                .map_err(|other| wrong(position, "a list, string, map or set", &other));
        };
        match (*name, parts.as_slice()) {
            ("range", [start, step]) => Ok(Self::Range(start.clone(), step)),
            ("iterate", [function, start]) => {
                Ok(Self::Iterate(Callee::of(machine, 1, function)?, IterateState::Start(start.clone())))
            }
            ("repeat", [item]) => Ok(Self::Repeat(item)),
            ("cycle", [Value::List(items)]) => Ok(Self::Cycle(items, 0)),
            ("repeatedly", [function]) => Ok(Self::Repeatedly(Callee::of(machine, 1, function)?)),
            ("map", [function, colls @ ..]) => {
                Ok(Self::Rows(several(function, &Value::Nil, "")?, nested(machine, colls)?))
            }
            ("interleave", colls) => Ok(Self::Interleave(nested(machine, colls)?, Vec::new())),
            ("concat", colls) => {
                let mut colls = nested(machine, colls)?;
                colls.reverse();
                Ok(Self::Concat(colls))
            }
            ("partition", [Value::Int(size), Value::Int(step), coll]) => {
                let count = |int: i64| usize::try_from(int).unwrap_or(usize::MAX);
                let coll = nested(machine, std::slice::from_ref(coll))?.pop();
                let coll = coll.map_or_else(|| Err(wrong(position, "a collection", value)), Ok)?;
                Ok(Self::Windows(Box::new(coll), count(*size), count(*step), Vec::new()))
            }
            _ => Err(wrong(position, "a list, string, map or set", value)),
        }
    }

    /// The next item; `None` at the end.
    pub(super) fn next(&mut self, machine: &mut Machine<'_>) -> EvalResult<Option<Value>> {
        match self {
            Self::Items(items) => Ok(items.next()),
            Self::Range(next, step) => {
                let following =
                    number::add(next, step).map_err(|error| failed(error, Reason::RuntimeError, 0, &[next, step]))?;
                Ok(Some(std::mem::replace(next, following)))
            }
            Self::Iterate(function, state) => {
                let item = match std::mem::replace(state, IterateState::Start(Value::Nil)) {
                    IterateState::Start(item) => item,
                    IterateState::After(item) => function.call1(machine, item)?,
                };
                *state = IterateState::After(item.clone());
                Ok(Some(item))
            }
            Self::Repeat(item) => Ok(Some((*item).clone())),
            Self::Cycle(items, at) => {
                let item = items.get(*at).cloned();
                *at = if *at + 1 >= items.len() { 0 } else { *at + 1 };
                Ok(item)
            }
            Self::Repeatedly(function) => function.call(machine, &mut []).map(Some),
            Self::Rows(function, rows) => {
                let Some(mut args) = row(machine, rows)? else { return Ok(None) };
                function.call(machine, &mut args).map(Some)
            }
            Self::Interleave(rows, items) => {
                if items.is_empty() {
                    let Some(next) = row(machine, rows)? else { return Ok(None) };
                    *items = next;
                    items.reverse();
                }
                Ok(items.pop())
            }
            Self::Concat(rest) => {
                while let Some(first) = rest.last_mut() {
                    machine.enter()?;
                    let item = first.next(machine)?;
                    machine.exit();
                    if item.is_some() {
                        return Ok(item);
                    }
                    rest.pop();
                }
                Ok(None)
            }
            Self::Windows(coll, size, step, last) => {
                machine.enter()?;
                let group = window(machine, coll, (*size, *step), last)?;
                machine.exit();
                Ok(group)
            }
        }
    }
}

/// The next group of `size` items, which starts `step` items after the last one.
fn window(
    machine: &mut Machine<'_>,
    coll: &mut Pipeline<'_>,
    (size, step): (usize, usize),
    last: &mut Vec<Value>,
) -> EvalResult<Option<Value>> {
    if !last.is_empty() {
        for _ in last.len()..step {
            coll.next(machine)?;
        }
        last.drain(..step.min(last.len()));
    }
    while last.len() < size {
        match coll.next(machine)? {
            Some(item) => last.push(item),
            None => return Ok(None),
        }
    }
    machine.ticks(last.len())?;
    Ok(Some(last.clone().into()))
}

/// Pipelines of the collections that a sequence is made of.
fn nested<'v>(machine: &mut Machine<'_>, colls: &'v [Value]) -> EvalResult<Vec<Pipeline<'v>>> {
    // Sequences may be nested as deeply as a program makes them.
    machine.enter()?;
    let mut pipelines = Vec::with_capacity(colls.len());
    for (position, coll) in (1..).zip(colls) {
        pipelines.push(Pipeline::of(machine, position, coll)?);
    }
    machine.exit();
    Ok(pipelines)
}

/// The next item of every collection; `None` if one has ended.
fn row(machine: &mut Machine<'_>, rows: &mut [Pipeline<'_>]) -> EvalResult<Option<Vec<Value>>> {
    machine.enter()?;
    let mut items = Vec::with_capacity(rows.len());
    for row in rows {
        let Some(item) = row.next(machine)? else {
            machine.exit();
            return Ok(None);
        };
        items.push(item);
    }
    machine.exit();
    Ok(Some(items))
}
