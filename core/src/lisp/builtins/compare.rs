//! Comparison: equality, order, the largest and the smallest.

use std::cmp::Ordering;

use super::{Arity, Builtin, Clojure};
use crate::lisp::machine::{Callable, Callee, Machine};
use crate::lisp::{Error, EvalResult};
use crate::reasons::Reason;
use crate::value::Value;

const LOOSE: Clojure = Clojure::Differs("an integer and a float of the same value are equal, also inside collections");
const ALL_KINDS: Clojure = Clojure::Differs(
    "compares all values: numbers, false, nil, true, functions, keywords, sets, maps, dates, lists, strings",
);

/// The rows of this file.
pub(super) const ROWS: &[Builtin] = &[
    Builtin::new("=", Arity::from(1), |machine, args| every_pair(machine, args, Ordering::is_eq))
        .calls_nothing()
        .doc(&["(= x & more)"], "True if all values are equal. Numbers are compared by value; NaN equals nothing.")
        .examples(&[("(= 1 1.0)", "true"), ("(= [1 2] [1 2] [1 3])", "false"), ("(= :a \"a\")", "false")])
        .clojure(LOOSE),
    Builtin::new("==", Arity::from(1), |machine, args| every_pair(machine, args, Ordering::is_eq))
        .calls_nothing()
        .doc(&["(== x & more)"], "The same as =.")
        .examples(&[("(== 2 2.0)", "true"), ("(== \"a\" 1)", "false")])
        .clojure(Clojure::Differs("takes any values")),
    Builtin::new("identical?", Arity::exactly(2), |_, args| Ok(Value::Bool(args[0] == args[1])))
        .calls_nothing()
        .doc(&["(identical? x y)"], "True if both values are equal, including the type of numbers.")
        .examples(&[("(identical? :a :a)", "true"), ("(identical? 1 1.0)", "false")])
        .clojure(Clojure::Differs("values are compared, since equal values cannot be told apart"))
        .current(),
    Builtin::new("not=", Arity::from(1), |machine, args| {
        every_pair(machine, args, Ordering::is_eq).map(|all| Value::Bool(!all.is_truthy()))
    })
    .calls_nothing()
    .doc(&["(not= x & more)"], "True if not all values are equal.")
    .examples(&[("(not= 1 2)", "true"), ("(not= 1 1.0)", "false"), ("(not= 1)", "false")])
    .clojure(LOOSE),
    Builtin::new("<", Arity::from(1), |machine, args| every_pair(machine, args, Ordering::is_lt))
        .calls_nothing()
        .doc(&["(< x & more)"], "True if each value is less than the next one.")
        .examples(&[("(< 1 2 3)", "true"), ("(< 1 1)", "false"), ("(< \"a\" \"b\")", "true")])
        .clojure(ALL_KINDS),
    Builtin::new(">", Arity::from(1), |machine, args| every_pair(machine, args, Ordering::is_gt))
        .calls_nothing()
        .doc(&["(> x & more)"], "True if each value is greater than the next one.")
        .examples(&[("(> 3 2 1)", "true"), ("(> 1 1.0)", "false"), ("(> nil 1)", "true")])
        .clojure(ALL_KINDS),
    Builtin::new("<=", Arity::from(1), |machine, args| every_pair(machine, args, Ordering::is_le))
        .calls_nothing()
        .doc(&["(<= x & more)"], "True if each value is less than or equal to the next one.")
        .examples(&[("(<= 1 1 2)", "true"), ("(<= 2 1)", "false")])
        .clojure(ALL_KINDS),
    Builtin::new(">=", Arity::from(1), |machine, args| every_pair(machine, args, Ordering::is_ge))
        .calls_nothing()
        .doc(&["(>= x & more)"], "True if each value is greater than or equal to the next one.")
        .examples(&[("(>= 3 2 2)", "true"), ("(>= 1 2)", "false")])
        .clojure(ALL_KINDS),
    Builtin::new("compare", Arity::exactly(2), compare)
        .calls_nothing()
        .doc(&["(compare x y)"], "-1, 0 or 1 if x sorts before, equal to or after y.")
        .examples(&[("(compare 1 2)", "-1"), ("(compare \"b\" \"a\")", "1"), ("(compare 1 1.0)", "0")])
        .clojure(ALL_KINDS),
    Builtin::new("comparator", Arity::exactly(1), comparator)
        .doc(
            &["(comparator less?)"],
            "A function like compare from a function that tells if its first argument is less.",
        )
        .examples(&[("(sort (comparator >) [1 3 2])", "[3 2 1]"), ("((comparator <) 1 2)", "-1")])
        .current(),
    Builtin::new("max", Arity::from(1), |machine, args| extreme(machine, args, Ordering::Greater))
        .calls_nothing()
        .doc(&["(max x & more)"], "The largest argument, the first of equal ones; NaN if any of them is NaN.")
        .examples(&[("(max 1 3 2)", "3"), ("(max \"a\" \"b\")", "\"b\""), ("(apply max [4 7])", "7")])
        .clojure(ALL_KINDS),
    Builtin::new("min", Arity::from(1), |machine, args| extreme(machine, args, Ordering::Less))
        .calls_nothing()
        .doc(&["(min x & more)"], "The smallest argument, the first of equal ones; NaN if any of them is NaN.")
        .examples(&[("(min 3 1 2)", "1"), ("(min 1 1.0)", "1"), ("(apply min [4 7])", "4")])
        .clojure(ALL_KINDS),
];

/// True if the predicate holds for each argument and the next one. A comparison with NaN is false.
fn every_pair(machine: &mut Machine<'_>, args: &[Value], holds: fn(Ordering) -> bool) -> EvalResult {
    for (a, b) in args.iter().zip(args.iter().skip(1)) {
        if !ordering(machine, a, b)?.is_some_and(holds) {
            return Ok(Value::Bool(false));
        }
    }
    Ok(Value::Bool(true))
}

fn comparator(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let function = std::mem::take(&mut args[0]);
    Callee::of(machine, 1, &function)?;
    Ok(Callable::bound("comparator", vec![function], |machine, parts, args| {
        let count = args.len();
        let ([function], [one, other]) = (parts, args) else {
            let problem = format!("needs 2 arguments, got {count}");
            return Error::new(Reason::ArityError, problem).halt();
        };
        let less = Callee::of(machine, 1, function)?;
        let order = if less.call(machine, &mut [one.clone(), other.clone()])?.is_truthy() {
            -1
        } else {
            i64::from(less.call(machine, &mut [other.clone(), one.clone()])?.is_truthy())
        };
        Ok(Value::Int(order))
    }))
}

fn compare(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    match ordering(machine, &args[0], &args[1])? {
        Some(ordering) => Ok(Value::Int(ordering as i64)),
        None => Error::new(Reason::TypeError, "NaN has no order").hint("Test with NaN? first").halt(),
    }
}

fn extreme(machine: &mut Machine<'_>, args: &mut [Value], wanted: Ordering) -> EvalResult {
    let mut best = std::mem::take(&mut args[0]);
    for next in args.iter_mut().skip(1) {
        if is_nan(&best) {
            break;
        }
        if is_nan(next) || ordering(machine, next, &best)? == Some(wanted) {
            best = std::mem::take(next);
        }
    }
    Ok(best)
}

/// Compares two values; counts the steps of comparing nested values.
fn ordering(machine: &mut Machine<'_>, a: &Value, b: &Value) -> EvalResult<Option<Ordering>> {
    let (ordering, pairs) = a.compare_counted(b);
    machine.ticks(1 + pairs)?;
    Ok(ordering)
}

fn is_nan(value: &Value) -> bool {
    matches!(value, Value::Float(float) if float.is_nan())
}
