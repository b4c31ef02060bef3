//! Functions made of other functions.

use super::{Arity, Builtin, Clojure, Cost};
use crate::lisp::machine::Callable;
use crate::lisp::machine::{Callee, Machine};
use crate::lisp::{Error, EvalResult, wrong};
use crate::reasons::Reason;
use crate::value::Value;

/// The rows of this file.
pub(super) const ROWS: &[Builtin] = &[
    IDENTITY,
    Builtin::new("comp", Arity::from(0), comp)
        .makes_function()
        .doc(
            &["(comp f g …)"],
            "A function that calls the last function with its arguments, the previous one with the result, and so on.",
        )
        .examples(&[("((comp str inc) 1)", "\"2\""), ("((comp :a :b) {:b {:a 7}})", "7"), ("((comp) 1)", "1")]),
    Builtin::new("partial", Arity::from(0), partial)
        .makes_function()
        .doc(&["(partial f a …)"], "A function that calls f with these arguments in front of its own.")
        .examples(&[("((partial + 1) 2)", "3"), ("(map (partial str \"no. \") [1 2])", "[\"no. 1\" \"no. 2\"]")]),
    Builtin::new("complement", Arity::exactly(1), complement)
        .makes_function()
        .doc(&["(complement f)"], "A function that returns true where f returns nil or false, else false.")
        .examples(&[("((complement nil?) 1)", "true"), ("(filter (complement #{2}) [1 2 3])", "[1 3]")])
        .cost(Cost::Constant),
    Builtin::new("constantly", Arity::exactly(1), constantly)
        .makes_function()
        .doc(&["(constantly x)"], "A function that returns x for any arguments.")
        .examples(&[("((constantly 5) 1 2)", "5"), ("(map (constantly :x) [1 2])", "[:x :x]")])
        .cost(Cost::Constant),
    Builtin::new("juxt", Arity::from(1), juxt)
        .makes_function()
        .doc(
            &["(juxt f g …)"],
            "A function that returns a vector of the results of each function for its one argument.",
        )
        .examples(&[
            ("((juxt inc dec) 5)", "[6 4]"),
            ("(sort-by (juxt :a :b) [{:a 1 :b 2} {:a 1 :b 1}])", "[{:a 1 :b 1} {:a 1 :b 2}]"),
        ])
        .clojure(Clojure::Differs("The resulting function takes one argument.")),
    Builtin::new("every-pred", Arity::from(0), every_pred)
        .makes_function()
        .doc(&["(every-pred p …)"], "A function that returns true if all predicates are true for all its arguments.")
        .examples(&[
            ("((every-pred odd? pos?) 3)", "true"),
            ("((every-pred odd? pos?) 3 -5)", "false"),
            ("(filter (every-pred number? even?) [1 2 \"a\" 4])", "[2 4]"),
        ]),
    Builtin::new("some-fn", Arity::from(0), some_fn)
        .makes_function()
        .doc(
            &["(some-fn p …)"],
            "A function that returns the first truthy value of a predicate for one of its arguments.",
        )
        .examples(&[("((some-fn :a :b) {:b 2})", "2"), ("((some-fn even?) 1 3 4)", "true")]),
    Builtin::new("fnil", Arity::between(2, 4), fnil)
        .makes_function()
        .doc(
            &["(fnil f default)", "(fnil f default1 default2)", "(fnil f default1 default2 default3)"],
            "A function that calls f with the defaults instead of nil arguments.",
        )
        .examples(&[
            ("((fnil inc 0) nil)", "1"),
            ("(update {} :tags (fnil conj []) \"new\")", "{:tags [\"new\"]}"),
            ("((fnil + 0 10) nil nil)", "10"),
        ])
        .cost(Cost::Constant),
];

const IDENTITY: Builtin = Builtin::new("identity", Arity::exactly(1), identity)
    .calls_nothing()
    .doc(&["(identity x)"], "x itself.")
    .examples(&[("(identity 5)", "5"), ("(filter identity [1 nil false 2])", "[1 2]")])
    .cost(Cost::Constant);

fn identity(_: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    Ok(std::mem::take(&mut args[0]))
}

/// The function arguments, moved out.
fn parts(args: &mut [Value]) -> Vec<Value> {
    args.iter_mut().map(std::mem::take).collect()
}

/// The error of a builtin that needs at least one function.
fn none() -> EvalResult {
    Error::new(Reason::RuntimeError, "needs at least one function").halt()
}

fn comp(_: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    static IDENTITY_ROW: Builtin = IDENTITY;
    Ok(match args {
        [] => Callable::Builtin(&IDENTITY_ROW).into_value(),
        // A closure inside is called as by a builtin, so the result is not the closure itself.
        [one] if !is_closure(one) => std::mem::take(one),
        _ => Callable::made_of("comp", parts(args), |machine, parts, args| {
            let Some((inner, outer)) = parts.split_last() else { return Ok(Value::Nil) };
            let mut value = Callee::of(machine, parts.len(), inner)?.call(machine, args)?;
            for (at, function) in outer.iter().enumerate().rev() {
                value = Callee::of(machine, at + 1, function)?.call1(machine, value)?;
            }
            Ok(value)
        }),
    })
}

fn is_closure(function: &Value) -> bool {
    matches!(Callable::of_value(function), Some(Callable::Closure(_)))
}

fn partial(_: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    if args.is_empty() {
        return none();
    }
    Ok(Callable::made_of("partial", parts(args), |machine, parts, args| {
        let Some((function, given)) = parts.split_first() else { return Ok(Value::Nil) };
        machine.ticks(given.len())?;
        let mut all: Vec<Value> = given.iter().cloned().chain(args.iter_mut().map(std::mem::take)).collect();
        Callee::of(machine, 1, function)?.call(machine, &mut all)
    }))
}

fn complement(_: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    Ok(Callable::made_of("complement", parts(args), |machine, parts, args| {
        Ok(Value::Bool(!Callee::of(machine, 1, &parts[0])?.call(machine, args)?.is_truthy()))
    }))
}

fn constantly(_: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    Ok(Callable::made_of("constantly", parts(args), |_, parts, _| Ok(parts[0].clone())))
}

fn juxt(_: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    Ok(Callable::made_of("juxt", parts(args), |machine, parts, args| {
        if args.len() != 1 && !machine.is_reference() {
            return juxt_of_several(machine, parts, args);
        }
        let [arg] = args else {
            let problem = format!("a function from juxt takes 1 argument, got {}", args.len());
            return Error::new(Reason::RuntimeError, problem).hint("Write (fn [a b] [(f a b) (g a b)])").halt();
        };
        let mut values = Vec::with_capacity(parts.len());
        for (position, function) in (1..).zip(parts) {
            machine.tick()?;
            values.push(Callee::of(machine, position, function)?.call1(machine, arg.clone())?);
        }
        Ok(values.into())
    }))
}

/// The results of each function for several arguments.
fn juxt_of_several(machine: &mut Machine<'_>, parts: &[Value], args: &[Value]) -> EvalResult {
    let mut values = Vec::with_capacity(parts.len());
    for (position, function) in (1..).zip(parts) {
        machine.ticks(1 + args.len())?;
        values.push(Callee::of(machine, position, function)?.call(machine, &mut args.to_vec())?);
    }
    Ok(values.into())
}

fn every_pred(_: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    if args.is_empty() {
        return none();
    }
    Ok(Callable::made_of("every-pred", parts(args), |machine, parts, args| {
        for (position, pred) in (1..).zip(parts) {
            let pred = Callee::of(machine, position, pred)?;
            for arg in &*args {
                machine.tick()?;
                if !pred.test(machine, arg.clone())? {
                    return Ok(Value::Bool(false));
                }
            }
        }
        Ok(Value::Bool(true))
    }))
}

fn some_fn(_: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    if args.is_empty() {
        return none();
    }
    Ok(Callable::made_of("some-fn", parts(args), |machine, parts, args| {
        let mut value = Value::Nil;
        for (position, pred) in (1..).zip(parts) {
            let pred = Callee::of(machine, position, pred)?;
            for arg in &*args {
                machine.tick()?;
                value = pred.call1(machine, arg.clone())?;
                if value.is_truthy() {
                    return Ok(value);
                }
            }
        }
        Ok(value)
    }))
}

fn fnil(_: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    if !matches!(args[0], Value::Function(_) | Value::Var(_)) {
        return Err(wrong(1, "a function", &args[0]));
    }
    Ok(Callable::made_of("fnil", parts(args), |machine, parts, args| {
        let Some((function, defaults)) = parts.split_first() else { return Ok(Value::Nil) };
        for (arg, default) in args.iter_mut().zip(defaults) {
            if arg.is_nil() {
                *arg = default.clone();
            }
        }
        let callee = Callee::of(machine, 1, function)?;
        match args {
            [one] => callee.call1(machine, std::mem::take(one)),
            [one, two] => callee.call2(machine, std::mem::take(one), std::mem::take(two)),
            _ => callee.call(machine, args),
        }
    }))
}
