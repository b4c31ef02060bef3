//! Sums, averages and extremes, of numbers and by a key of items.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use super::argument::{is_record, swapped};
use super::collection::{keyed_records, looks_swapped};
use super::key::Key;
use super::{Arity, Builtin, Clojure};
use crate::lisp::arithmetic::too_large;
use crate::lisp::machine::{Callee, Machine};
use crate::lisp::{Error, EvalResult, Items, described, wrong};
use crate::reasons::Reason;
use crate::value::Value;
use crate::value::number::{self, NumberError};

/// The rows of this file.
pub(super) const ROWS: &[Builtin] = &[
    Builtin::new("sum", Arity::exactly(1), sum)
        .doc(&["(sum numbers)"], "The sum of the numbers in a vector; nil is skipped; 0 for an empty vector.")
        .examples(&[("(sum [1 2.5])", "3.5"), ("(sum [1 nil 2])", "3"), ("(sum nil)", "0")])
        .clojure(Clojure::Extension),
    Builtin::new("avg", Arity::exactly(1), avg)
        .doc(&["(avg numbers)"], "The average of the numbers in a vector, a float; nil is skipped; nil for an empty vector.")
        .examples(&[("(avg [1 2])", "1.5"), ("(avg [1 nil 3])", "2.0"), ("(avg [])", "nil")])
        .clojure(Clojure::Extension),
    Builtin::new("sum-by", Arity::exactly(2), sum_by)
        .doc(
            &["(sum-by key coll)"],
            "The sum of the items' values under key (a field, key path or function); nil and missing values are skipped.",
        )
        .examples(&[
            ("(sum-by :n [{:n 1} {:n 3} {}])", "4"),
            ("(sum-by [:a :b] [{:a {:b 2}}])", "2"),
            ("(sum-by #(* 2 %) [1 2])", "6"),
        ])
        .clojure(Clojure::Extension),
    Builtin::new("avg-by", Arity::exactly(2), avg_by)
        .doc(
            &["(avg-by key coll)"],
            "The average of the items' values under key, a float; nil and missing values are skipped; nil without values.",
        )
        .examples(&[("(avg-by :n [{:n 1} {:n 3} {}])", "2.0"), ("(avg-by :n [])", "nil")])
        .clojure(Clojure::Extension),
    Builtin::new("min-by", Arity::from(0), min_by)
        .doc(
            &["(min-by key coll)", "(min-by key a b …)"],
            "The item with the smallest value under key, the first of several; items without a value are skipped.",
        )
        .examples(&[
            ("(min-by :n [{:n 2} {:n 1} {}])", "{:n 1}"),
            ("(min-by count [\"abc\" \"a\"])", "\"a\""),
            ("(min-by :n [])", "nil"),
        ])
        .clojure(Clojure::Extension),
    Builtin::new("max-by", Arity::from(0), max_by)
        .doc(
            &["(max-by key coll)", "(max-by key a b …)"],
            "The item with the largest value under key, the first of several; items without a value are skipped.",
        )
        .examples(&[
            ("(max-by :n [{:n 2} {:n 5} {}])", "{:n 5}"),
            ("(max-by :n {:n 1} {:n 3})", "{:n 3}"),
            ("(max-by val {:a 1 :b 2})", "[:b 2]"),
        ])
        .clojure(Clojure::Extension),
    Builtin::new("distinct-by", Arity::exactly(2), distinct_by)
        .doc(&["(distinct-by key coll)"], "The items, only the first for each value under key.")
        .examples(&[
            ("(distinct-by :a [{:a 1 :b 1} {:a 1 :b 2} {:a 2}])", "[{:a 1 :b 1} {:a 2}]"),
            ("(distinct-by count [\"a\" \"b\" \"cc\"])", "[\"a\" \"cc\"]"),
        ])
        .clojure(Clojure::Extension),
    Builtin::new("min-key", Arity::from(0), min_key)
        .doc(&["(min-key f a b …)"], "The argument for which f gives the smallest value, the first of several.")
        .examples(&[("(min-key count \"abc\" \"a\" \"b\")", "\"a\""), ("(min-key :a {:a 1} {:a 0})", "{:a 0}")])
        .clojure(FIRST),
    Builtin::new("max-key", Arity::from(0), max_key)
        .doc(&["(max-key f a b …)"], "The argument for which f gives the largest value, the first of several.")
        .examples(&[("(max-key count \"a\" \"abc\")", "\"abc\""), ("(apply max-key val {:a 1 :b 2})", "[:b 2]")])
        .clojure(FIRST),
];

const FIRST: Clojure = Clojure::Differs("The first of several, not the last; any values can be compared.");

/// A running sum and its number of terms.
struct Sum {
    total: Value,
    count: u32,
}

impl Sum {
    /// Adds a number; nil is skipped.
    fn add(&mut self, number: &Value) -> EvalResult<()> {
        if number.is_nil() {
            return Ok(());
        }
        self.total = number::add(&self.total, number).map_err(|error| match error {
            NumberError::TooLarge => too_large(),
            _ => Error::new(Reason::ArithmeticError, format!("{} cannot be added", described(number)))
                .hint("Only numbers can be added; nil is skipped"),
        })?;
        self.count = self.count.saturating_add(1);
        Ok(())
    }

    fn average(&self) -> Value {
        match number::as_float(&self.total) {
            Some(total) if self.count > 0 => Value::Float(total / f64::from(self.count)),
            _ => Value::Nil,
        }
    }
}

impl Default for Sum {
    fn default() -> Self {
        Self { total: Value::Int(0), count: 0 }
    }
}

/// The sum of a vector's numbers.
fn summed(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult<Sum> {
    let mut sum = Sum::default();
    match &args[0] {
        Value::Nil => {}
        Value::List(list) => {
            for number in &**list {
                machine.tick()?;
                sum.add(number)?;
            }
        }
        other => return Err(wrong(1, "a vector of numbers", other)),
    }
    Ok(sum)
}

fn sum(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    Ok(summed(machine, args)?.total)
}

fn avg(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    Ok(summed(machine, args)?.average())
}

/// The sum of the items' values under a key. `call` shows the order of the arguments.
fn summed_by(machine: &mut Machine<'_>, args: &mut [Value], call: &str) -> EvalResult<Sum> {
    let [named, coll] = args else { return Ok(Sum::default()) };
    let key = Key::of(machine, 1, named)?;
    let mut sum = Sum::default();
    for item in keyed_records(named, std::mem::take(coll), call)? {
        machine.tick()?;
        sum.add(&key.of_item(machine, &item)?)?;
    }
    Ok(sum)
}

fn sum_by(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    Ok(summed_by(machine, args, "(sum-by key coll)")?.total)
}

fn avg_by(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    Ok(summed_by(machine, args, "(avg-by key coll)")?.average())
}

fn min_by(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    best_by(machine, args, Ordering::Less)
}

fn max_by(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    best_by(machine, args, Ordering::Greater)
}

/// The first item whose value under the key is `better` than those of all others.
fn best_by(machine: &mut Machine<'_>, args: &mut [Value], better: Ordering) -> EvalResult {
    let (key, items) = match args {
        [key, coll] => {
            if is_record(coll) {
                let halt = wrong(2, "a list, map or set", coll);
                let call = if better == Ordering::Less { "(min-by key coll)" } else { "(max-by key coll)" };
                return Err(if looks_swapped(key, coll) { swapped(halt, call) } else { halt });
            }
            // A value that is not a collection is the only item; so is a string.
            let items = match std::mem::take(coll) {
                text @ Value::Str(_) => Err(text),
                coll => Items::of(coll),
            };
            (key, items.unwrap_or_else(|item| Items::Owned(vec![item].into_iter())))
        }
        [key, items @ ..] if !items.is_empty() => {
            let items: Vec<Value> = items.iter_mut().map(std::mem::take).collect();
            (key, Items::Owned(items.into_iter()))
        }
        _ => return too_few("a key and a collection", args.len()),
    };
    let key = Key::of(machine, 1, key)?;
    let mut best: Option<(Value, Value)> = None;
    for item in items {
        machine.tick()?;
        let value = key.of_item(machine, &item)?;
        if !value.is_nil() && best.as_ref().is_none_or(|(_, have)| value.compare(have) == Some(better)) {
            best = Some((item, value));
        }
    }
    Ok(best.map(|(item, _)| item).unwrap_or_default())
}

fn too_few(needed: &str, got: usize) -> EvalResult {
    Error::new(Reason::RuntimeError, format!("needs {needed}, got {got} argument{}", if got == 1 { "" } else { "s" }))
        .halt()
}

fn min_key(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    best_key(machine, args, Ordering::Less)
}

fn max_key(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    best_key(machine, args, Ordering::Greater)
}

/// The first argument for which the function's value is `better` than for all others.
fn best_key(machine: &mut Machine<'_>, args: &mut [Value], better: Ordering) -> EvalResult {
    let Some((function, items)) = args.split_first_mut() else {
        return Error::new(Reason::TypeError, "needs a function and at least one item, got no arguments").halt();
    };
    if let [only] = items {
        return Ok(std::mem::take(only));
    }
    if let Value::Set(_) = function {
        return Err(wrong(1, "a function", function));
    }
    let callee = Callee::of(machine, 1, function)?;
    let mut best: Option<(usize, Value)> = None;
    for (at, item) in items.iter().enumerate() {
        machine.tick()?;
        let value = callee.call1(machine, item.clone())?;
        if best.as_ref().is_none_or(|(_, have)| value.compare(have) == Some(better)) {
            best = Some((at, value));
        }
    }
    match best {
        Some((at, _)) => Ok(std::mem::take(&mut items[at])),
        None => too_few("a function and at least one item", 1),
    }
}

fn distinct_by(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let [named, coll] = args else { return Ok(Value::Nil) };
    let key = Key::of(machine, 1, named)?;
    let mut seen = BTreeSet::new();
    let mut firsts = Vec::new();
    for item in keyed_records(named, std::mem::take(coll), "(distinct-by key coll)")? {
        machine.tick()?;
        if seen.insert(key.of_item(machine, &item)?) {
            firsts.push(item);
        }
    }
    Ok(firsts.into())
}
