//! Arithmetic: sums, differences, products, quotients and remainders.

use super::{Arity, Builtin, Clojure, Cost};
use crate::lisp::EvalResult;
use crate::lisp::arithmetic::{ADD, DIV, MODULO, MUL, Operation, QUOT, REM, SUB, failed, unary};
use crate::lisp::machine::Machine;
use crate::reasons::Reason;
use crate::value::Value;
use crate::value::number::{self, NumberError};

const FLOATS: Clojure = Clojure::Differs("always gives a float; there are no ratios");
const EXACT: Clojure = Clojure::Differs("integers never overflow");

/// The rows of this file.
pub(super) const ROWS: &[Builtin] = &[
    constant("+", Arity::from(0), |machine, args| sum(machine, args, Reason::TypeError))
        .doc(&["(+)", "(+ x & more)"], "The sum of numbers; a float if any of them is a float.")
        .examples(&[("(+ 1 2 3)", "6"), ("(+ 1 2.5)", "3.5"), ("(+)", "0"), ("(+ ##Inf 1)", "##Inf")])
        .clojure(EXACT),
    constant("-", Arity::from(1), |machine, args| difference(machine, args, Reason::TypeError))
        .doc(&["(- x)", "(- x & more)"], "The first number minus the others; with one number, its negative.")
        .examples(&[("(- 10 3 2)", "5"), ("(- 3)", "-3"), ("(- 1 2.5)", "-1.5")])
        .clojure(EXACT),
    constant("*", Arity::from(0), |machine, args| product(machine, args, Reason::TypeError))
        .doc(&["(*)", "(* x & more)"], "The product of numbers; a float if any of them is a float.")
        .examples(&[("(* 2 3 4)", "24"), ("(* 2 1.5)", "3.0"), ("(*)", "1"), ("(* 0 ##Inf)", "##NaN")])
        .clojure(EXACT),
    constant("/", Arity::from(1), quotient)
        .doc(
            &["(/ x)", "(/ x & more)"],
            "The quotient as a float; with one number, its reciprocal. Dividing by the integer 0 is an error.",
        )
        .examples(&[("(/ 10 4)", "2.5"), ("(/ 10 2)", "5.0"), ("(/ 4)", "0.25"), ("(/ 1 0.0)", "##Inf")])
        .clojure(FLOATS),
    constant("inc", Arity::exactly(1), |machine, args| unary(machine, number::inc, &args[0], Reason::ArithmeticError))
        .doc(&["(inc x)"], "The number plus one.")
        .examples(&[("(inc 5)", "6"), ("(inc -1.5)", "-0.5")])
        .clojure(EXACT),
    constant("dec", Arity::exactly(1), |machine, args| unary(machine, number::dec, &args[0], Reason::ArithmeticError))
        .doc(&["(dec x)"], "The number minus one.")
        .examples(&[("(dec 5)", "4"), ("(dec 0)", "-1")])
        .clojure(EXACT),
    constant("quot", Arity::exactly(2), |machine, args| divided(machine, args, QUOT))
        .doc(&["(quot n divisor)"], "The quotient without its fraction, as an integer.")
        .examples(&[("(quot 7 2)", "3"), ("(quot 7 -2)", "-3"), ("(quot 7.5 2.5)", "3")])
        .clojure(Clojure::Differs("an integer also for floats")),
    constant("rem", Arity::exactly(2), |machine, args| divided(machine, args, REM))
        .doc(&["(rem n divisor)"], "The remainder of quot, with the sign of n.")
        .examples(&[("(rem 7 3)", "1"), ("(rem -7 3)", "-1"), ("(rem 5.5 2)", "1.5")]),
    constant("mod", Arity::exactly(2), |machine, args| divided(machine, args, MODULO))
        .doc(&["(mod n divisor)"], "The remainder of division rounding down, with the sign of the divisor.")
        .examples(&[("(mod 7 3)", "1"), ("(mod -7 3)", "2"), ("(mod 5.5 -2)", "-0.5")]),
    constant("+'", Arity::from(0), |machine, args| sum(machine, args, Reason::RuntimeError))
        .doc(&["(+')", "(+' x & more)"], "The same as +, which never overflows either.")
        .examples(&[("(+' 1 2)", "3"), ("(+' 9223372036854775807 1)", "9223372036854775808")]),
    constant("-'", Arity::from(1), |machine, args| difference(machine, args, Reason::RuntimeError))
        .doc(&["(-' x)", "(-' x & more)"], "The same as -, which never overflows either.")
        .examples(&[("(-' 10 3 2)", "5"), ("(-' -3)", "3")]),
    constant("*'", Arity::from(0), |machine, args| product(machine, args, Reason::RuntimeError))
        .doc(&["(*')", "(*' x & more)"], "The same as *, which never overflows either.")
        .examples(&[("(*' 2 3)", "6"), ("(*' 1 2.5)", "2.5")]),
    constant("inc'", Arity::exactly(1), |machine, args| unary(machine, number::inc, &args[0], Reason::ArithmeticError))
        .doc(&["(inc' x)"], "The same as inc, which never overflows either.")
        .examples(&[("(inc' 9223372036854775807)", "9223372036854775808"), ("(inc' 1.5)", "2.5")]),
    constant("dec'", Arity::exactly(1), |machine, args| unary(machine, number::dec, &args[0], Reason::ArithmeticError))
        .doc(&["(dec' x)"], "The same as dec, which never overflows either.")
        .examples(&[("(dec' 1)", "0"), ("(dec' 2.5)", "1.5")]),
];

const fn constant(name: &'static str, arity: Arity, run: fn(&mut Machine<'_>, &mut [Value]) -> EvalResult) -> Builtin {
    Builtin::new(name, arity, run).cost(Cost::Constant).calls_nothing()
}

fn sum(machine: &mut Machine<'_>, args: &[Value], wrong_kind: Reason) -> EvalResult {
    fold(machine, Value::Int(0), args, ADD, wrong_kind)
}

fn product(machine: &mut Machine<'_>, args: &[Value], wrong_kind: Reason) -> EvalResult {
    fold(machine, Value::Int(1), args, MUL, wrong_kind)
}

fn difference(machine: &mut Machine<'_>, args: &[Value], wrong_kind: Reason) -> EvalResult {
    match args {
        [one] => unary(machine, number::neg, one, wrong_kind),
        _ => fold(machine, Value::Int(0), args, SUB, wrong_kind),
    }
}

fn quotient(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    if let [one] = args {
        return number::div(&Value::Int(1), one).map_err(|error| match error {
            NumberError::NotNumber(_) => failed(NumberError::NotNumber(1), Reason::TypeError, 0, &[one]),
            other => failed(other, Reason::TypeError, 0, &[one]),
        });
    }
    // A wrong type is reported before a division by zero.
    if let Some((at, other)) = args.iter().enumerate().find(|(_, arg)| !number::is_number(arg)) {
        return Err(failed(NumberError::NotNumber(1), Reason::TypeError, at, &[other]));
    }
    fold(machine, Value::Int(1), args, DIV, Reason::TypeError)
}

fn divided(machine: &mut Machine<'_>, args: &[Value], operation: Operation) -> EvalResult {
    operation.run(machine, &args[0], &args[1], Reason::ArithmeticError)
}

/// Applies the operation from left to right; `none` for a call without arguments. A single argument is returned
/// unchanged.
fn fold(
    machine: &mut Machine<'_>,
    none: Value,
    args: &[Value],
    operation: Operation,
    wrong_kind: Reason,
) -> EvalResult {
    match args {
        [] => Ok(none),
        [one] if number::is_number(one) => Ok(one.clone()),
        [one] => Err(failed(NumberError::NotNumber(1), wrong_kind, 0, &[one])),
        [one, two] => operation.run(machine, one, two, wrong_kind),
        _ => operation.fold(machine, args, wrong_kind),
    }
}
