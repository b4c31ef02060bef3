//! Sets and their operations.

use std::sync::Arc;

use super::sort::members_of;
use super::view::{collect, items};
use super::{Arity, Builtin, Clojure, Cost};
use crate::lisp::machine::Machine;
use crate::lisp::{Error, EvalResult, described, wrong};
use crate::reasons::Reason;
use crate::value::{Set, Value};

/// The rows of this file.
pub(super) const ROWS: &[Builtin] = &[
    Builtin::new("set", Arity::exactly(1), set)
        .calls_nothing()
        .doc(&["(set coll)"], "The set of the items.")
        .examples(&[("(set [1 1 2])", "#{1 2}"), ("(set \"aab\")", "#{\"a\" \"b\"}"), ("(set nil)", "#{}")])
        .cost(Cost::Sorting),
    Builtin::new("union", Arity::from(0), union)
        .calls_nothing()
        .doc(&["(union s …)"], "The set of the members of any of the sets.")
        .examples(&[("(union #{1} #{2} #{1})", "#{1 2}"), ("(union nil [1])", "#{1}"), ("(union)", "#{}")])
        .clojure(Clojure::Named("clojure.set/union")),
    Builtin::new("intersection", Arity::from(1), intersection)
        .calls_nothing()
        .doc(&["(intersection s …)"], "The set of the members of all of the sets.")
        .examples(&[("(intersection #{1 2} #{2 3})", "#{2}"), ("(intersection #{1} nil)", "#{}")])
        .clojure(Clojure::Named("clojure.set/intersection")),
    Builtin::new("difference", Arity::from(1), difference)
        .calls_nothing()
        .doc(&["(difference s …)"], "The set of the members of the first set that are in none of the others.")
        .examples(&[("(difference #{1 2 3} #{1} #{3})", "#{2}"), ("(difference #{1} nil)", "#{1}")])
        .clojure(Clojure::Named("clojure.set/difference")),
    Builtin::new("subset?", Arity::exactly(2), subset)
        .doc(&["(subset? a b)"], "True if every member of a is in b.")
        .examples(&[("(subset? #{1} #{1 2})", "true"), ("(subset? #{1 3} #{1 2})", "false")])
        .clojure(Clojure::Named("clojure.set/subset?")),
    Builtin::new("superset?", Arity::exactly(2), superset)
        .doc(&["(superset? a b)"], "True if every member of b is in a.")
        .examples(&[("(superset? #{1 2} #{1})", "true"), ("(superset? #{1} #{2})", "false")])
        .clojure(Clojure::Named("clojure.set/superset?")),
    Builtin::new("disj", Arity::from(1), disj)
        .calls_nothing()
        .doc(&["(disj s x …)"], "The set without these members; nil for nil.")
        .examples(&[("(disj #{1 2 3} 1 3)", "#{2}"), ("(disj #{1} 5)", "#{1}"), ("(disj nil 1)", "nil")])
        .cost(Cost::Logarithmic),
];

fn set(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    match std::mem::take(&mut args[0]) {
        set @ Value::Set(_) => Ok(set),
        coll => {
            let members = items(machine, coll)?.map_err(|other| wrong(1, "a list, map, set or string", &other))?;
            Ok(Value::Set(sorted(machine, members)?))
        }
    }
}

/// A set of values in any order.
fn sorted(machine: &mut Machine<'_>, members: Vec<Value>) -> EvalResult<Arc<Set>> {
    members_of(machine, members).map(Arc::new)
}

/// The steps of a sort.
fn sorting(count: usize) -> usize {
    count.saturating_mul(1 + count.checked_ilog2().unwrap_or_default() as usize)
}

/// Argument `position` as a set: nil is the empty set, and a vector counts as the set of its items.
fn take_set(machine: &mut Machine<'_>, position: usize, arg: &mut Value) -> EvalResult<Arc<Set>> {
    match std::mem::take(arg) {
        Value::Set(set) => Ok(set),
        Value::Nil => Ok(Arc::default()),
        list @ Value::List(_) => {
            let members = collect(machine, list)?;
            sorted(machine, members)
        }
        other => no_set(position, &other),
    }
}

/// Unlike elsewhere this is a `runtime_error` (as the suite shows).
fn no_set<T>(position: usize, got: &Value) -> EvalResult<T> {
    let problem = format!("argument {position} must be a set, got {}", described(got));
    Error::new(Reason::RuntimeError, problem).halt()
}

/// All arguments as sets.
fn take_sets(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult<Vec<Arc<Set>>> {
    (1..).zip(args).map(|(position, arg)| take_set(machine, position, arg)).collect()
}

/// The members, for writing in place.
fn members(set: Arc<Set>) -> Vec<Value> {
    Arc::try_unwrap(set).map_or_else(|set| set.to_vec(), Set::into_vec)
}

fn union(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    if let [one] = args {
        return Ok(std::mem::take(one));
    }
    let mut sets = take_sets(machine, args)?.into_iter();
    let Some(mut whole) = sets.next() else { return Ok(Value::Set(Arc::default())) };
    for set in sets {
        // A few members are inserted one by one; many are merged.
        if sorting(set.len()) < whole.len() && Arc::strong_count(&whole) == 1 {
            let whole = Arc::make_mut(&mut whole);
            for member in members(set) {
                machine.tick()?;
                whole.insert(member);
            }
        } else {
            machine.ticks(whole.len() + set.len())?;
            machine.reserve((whole.len() + set.len()) * size_of::<Value>())?;
            // Sorting two sorted runs is merging them.
            let mut all = members(whole);
            all.extend(members(set));
            whole = sorted(machine, all)?;
        }
    }
    Ok(Value::Set(whole))
}

fn intersection(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    restrict(machine, args, |member, others| others.iter().all(|set| set.contains(member)))
}

fn difference(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    restrict(machine, args, |member, others| !others.iter().any(|set| set.contains(member)))
}

/// The members of the first set that pass the test, given the other sets.
fn restrict(machine: &mut Machine<'_>, args: &mut [Value], wanted: fn(&Value, &[Arc<Set>]) -> bool) -> EvalResult {
    if let [one] = args {
        return Ok(std::mem::take(one));
    }
    let mut sets = take_sets(machine, args)?;
    let first = sets.remove(0);
    let mut kept = Vec::new();
    for member in members(first) {
        machine.ticks(1 + sets.len())?;
        if wanted(&member, &sets) {
            kept.push(member);
        }
    }
    Ok(Value::set(kept))
}

fn subset(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let [small, large] = args else { return Ok(Value::Nil) };
    let (small, large) = (take_set(machine, 1, small)?, take_set(machine, 2, large)?);
    machine.ticks(small.len())?;
    Ok(Value::Bool(small.len() <= large.len() && small.iter().all(|member| large.contains(member))))
}

fn superset(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    args.reverse();
    subset(machine, args)
}

fn disj(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let Some((set, gone)) = args.split_first_mut() else { return Ok(Value::Nil) };
    match std::mem::take(set) {
        Value::Nil => Ok(Value::Nil),
        Value::Set(mut set) => {
            for member in gone {
                machine.tick()?;
                if set.contains(member) {
                    if Arc::strong_count(&set) > 1 {
                        machine.ticks(set.len())?;
                    }
                    Arc::make_mut(&mut set).remove(member);
                }
            }
            Ok(Value::Set(set))
        }
        other => no_set(1, &other),
    }
}
