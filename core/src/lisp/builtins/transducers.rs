//! Transducers in use: `transduce`, `into` with a transducer, `sequence`, `eduction`, and early ends of reductions.

use super::argument::{swapped, taken};
use super::collection::{each_item, looks_swapped};
use super::endless::has_endless;
use super::pipeline::{Pipeline, THROUGH};
use super::reduce::ended;
use super::{Arity, Builtin, Clojure, Cost};
use crate::lisp::machine::{Callable, Callee, Machine};
use crate::lisp::{EvalResult, wrong};
use crate::value::Value;

/// The rows of this file.
pub(super) const ROWS: &[Builtin] = &[
    Builtin::new("transduce", Arity::between(3, 4), transduce)
        .doc(
            &["(transduce xform f coll)", "(transduce xform f init coll)"],
            "Reduces the items after the transducer; without init, the first result is `(f)`. At the end f is called with the result, if it takes one argument.",
        )
        .examples(&[
            ("(transduce (map inc) + [1 2 3])", "9"),
            ("(transduce (comp (filter odd?) (take 2)) conj [] (range))", "[1 3]"),
        ])
        .current(),
    Builtin::new("completing", Arity::between(1, 2), completing)
        .doc(&["(completing f)", "(completing f finish)"], "A function for transduce that calls finish with the result at the end.")
        .examples(&[("(transduce (map inc) (completing + str) 0 [1 2])", "\"5\"")])
        .cost(Cost::Constant)
        .current(),
    Builtin::new("sequence", Arity::from(1), sequence)
        .doc(&["(sequence xform coll)", "(sequence coll)"], "The items after a transducer, as a vector.")
        .examples(&[("(sequence (comp (map inc) (filter even?)) [1 2 3])", "[2 4]"), ("(sequence (map +) [1 2] [10 20])", "[11 22]")])
        .clojure(Clojure::Differs("A vector, unless the collection is endless."))
        .current(),
    Builtin::new("eduction", Arity::from(1), eduction)
        .doc(&["(eduction xform … coll)"], "The items after the transducers, as a vector.")
        .examples(&[("(eduction (map inc) (filter even?) [1 2 3])", "[2 4]")])
        .clojure(Clojure::Differs("A vector, unless the collection is endless; it is computed once."))
        .current(),
    Builtin::new("cat", Arity::exactly(1), cat)
        .doc(&["cat"], "The transducer that joins collections; used as a value.")
        .examples(&[("(into [] cat [[1 2] [3]])", "[1 2 3]")])
        .current(),
    Builtin::new("reduced?", Arity::exactly(1), |_, args| Ok(Value::Bool(ended(&args[0]).is_some())))
        .doc(&["(reduced? x)"], "True for a result of `reduced`.")
        .examples(&[("(reduced? (reduced 1))", "true"), ("(reduced? 1)", "false")])
        .cost(Cost::Constant)
        .current(),
    Builtin::new("unreduced", Arity::exactly(1), |_, args| Ok(ended(&args[0]).unwrap_or_else(|| std::mem::take(&mut args[0]))))
        .doc(&["(unreduced x)"], "The value inside a result of `reduced`; any other value unchanged.")
        .examples(&[("(unreduced (reduced 5))", "5"), ("(unreduced 5)", "5")])
        .cost(Cost::Constant)
        .current(),
    Builtin::new("run!", Arity::exactly(2), run)
        .doc(&["(run! f coll)"], "Calls f for each item, for its effects; nil.")
        .examples(&[("(run! println [])", "nil")])
        .current(),
    Builtin::new("doall", Arity::between(1, 2), |_, args| Ok(args.last_mut().map(std::mem::take).unwrap_or_default()))
        .doc(&["(doall coll)"], "The collection itself: nothing is lazy.")
        .examples(&[("(doall (map inc [1]))", "[2]")])
        .cost(Cost::Constant)
        .current(),
    Builtin::new("dorun", Arity::between(1, 2), |_, _| Ok(Value::Nil))
        .doc(&["(dorun coll)"], "nil: the collection is already computed.")
        .examples(&[("(dorun (map inc [1]))", "nil")])
        .cost(Cost::Constant)
        .current(),
];

/// The function of the results of `completing`.
const COMPLETING: &str = "completing";

fn run(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let [function, coll] = taken(args);
    let is_swapped = looks_swapped(&function, &coll);
    let function = Callee::of(machine, 1, &function)?;
    let items = each_item(2, coll).map_err(|halt| if is_swapped { swapped(halt, "(run! f coll)") } else { halt })?;
    for item in items {
        machine.tick()?;
        function.call1(machine, item)?;
    }
    Ok(Value::Nil)
}

fn completing(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    for (position, function) in (1..).zip(&*args) {
        Callee::of(machine, position, function)?;
    }
    Ok(Callable::bound(COMPLETING, args.iter_mut().map(std::mem::take).collect(), |machine, parts, args| {
        match (args, parts) {
            ([result], [_, finish]) => Callee::of(machine, 2, finish)?.call1(machine, std::mem::take(result)),
            ([result], _) => Ok(std::mem::take(result)),
            (args, [function, ..]) => Callee::of(machine, 1, function)?.call(machine, args),
            _ => Ok(Value::Nil),
        }
    }))
}

/// True if the function can be called with the result alone.
fn takes_one(function: &Value) -> bool {
    match Callable::of_value(function) {
        Some(Callable::Builtin(row)) => row.arity.allows(1),
        Some(Callable::Closure(closure)) => closure.lambda.accepts(1),
        _ => true,
    }
}

fn transduce(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let has_init = args.len() == 4;
    let coll = args.last_mut().map(std::mem::take).unwrap_or_default();
    let [transducer, function, init] = taken(&mut args[..3]);
    let callee = Callee::of(machine, 2, &function)?;
    let mut result = if has_init { init } else { callee.call(machine, &mut [])? };
    let mut pipeline = Pipeline::of(machine, if has_init { 4 } else { 3 }, &coll)?;
    pipeline.add(machine, &transducer)?;
    while let Some(item) = pipeline.next(machine)? {
        if let Some(next) = callee.quick2(&result, &item) {
            result = next;
            continue;
        }
        result = callee.call2(machine, result, item)?;
        if let Some(last) = ended(&result) {
            result = last;
            break;
        }
    }
    if takes_one(&function) { callee.call1(machine, result) } else { Ok(result) }
}

/// The items of a collection after a transducer, as a list.
pub(super) fn items_through(machine: &mut Machine<'_>, transducer: &Value, coll: &Value) -> EvalResult {
    let mut pipeline = Pipeline::of(machine, 3, coll)?;
    pipeline.add(machine, transducer)?;
    Ok(pipeline.collect(machine)?.into())
}

/// The items after a transducer: computed, or an endless sequence.
fn made(machine: &mut Machine<'_>, transducer: Value, coll: Value) -> EvalResult {
    if !Callable::is_endless(&coll) {
        return items_through(machine, &transducer, &coll);
    }
    let made = Callable::endless(THROUGH, vec![coll, transducer]);
    Pipeline::of(machine, 2, &made)?;
    Ok(made)
}

fn sequence(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    match args {
        [coll] => {
            let coll = std::mem::take(coll);
            if Callable::is_endless(&coll) {
                Ok(coll)
            } else {
                Ok(Pipeline::of(machine, 1, &coll)?.collect(machine)?.into())
            }
        }
        [transducer, coll] => made(machine, std::mem::take(transducer), std::mem::take(coll)),
        [transducer, colls @ ..] => rows(machine, transducer, colls),
        [] => Ok(Vec::new().into()),
    }
}

/// `(sequence (map f) coll1 coll2 …)`
fn rows(machine: &mut Machine<'_>, transducer: &Value, colls: &mut [Value]) -> EvalResult {
    let function = match Callable::of_value(transducer) {
        Some(Callable::Transducer(made)) if made.name == "map" => made.parts.first().cloned().unwrap_or_default(),
        _ => return Err(wrong(1, "(map f), as there are several collections", transducer)),
    };
    let mut args = vec![function];
    args.extend(colls.iter_mut().map(std::mem::take));
    if has_endless(&args[1..]) {
        super::endless::map_rows(machine, &mut args)
    } else {
        super::map::map(machine, &mut args)
    }
}

fn eduction(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let Some((coll, transducers)) = args.split_last_mut() else { return Ok(Value::Nil) };
    let transducer = match transducers {
        [one] => std::mem::take(one),
        several => Callable::bound("comp", several.iter_mut().map(std::mem::take).collect(), |_, _, _| Ok(Value::Nil)),
    };
    made(machine, transducer, std::mem::take(coll))
}

fn cat(_: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    Err(wrong(1, "omitted: cat is passed to into, sequence or transduce", &args[0]))
}
