//! Functions of Java's `Math` that have no name of their own here.

use super::argument::taken;
use super::{Arity, Builtin, Clojure, Cost};
use crate::lisp::machine::Machine;
use crate::lisp::{Error, EvalResult, wrong};
use crate::reasons::Reason;
use crate::value::{Value, number};
use num_bigint::BigInt;

/// A row of one float.
macro_rules! of_one {
    ($name:literal, $about:literal, $example:literal, $compute:expr) => {
        Builtin::new(concat!("Math/", $name), Arity::exactly(1), |_, args| {
            let compute: fn(f64) -> f64 = $compute;
            Ok(Value::Float(compute(float(1, &args[0])?)))
        })
        .doc(&[concat!("(Math/", $name, " x)")], $about)
        .examples(&[(concat!("(Math/", $name, " 0)"), $example)])
        .clojure(Clojure::Same)
        .cost(Cost::Constant)
        .current()
    };
}

/// The rows of this file.
pub(super) const ROWS: &[Builtin] = &[
    of_one!("log", "The natural logarithm.", "##-Inf", f64::ln),
    of_one!("log10", "The logarithm to base 10.", "##-Inf", f64::log10),
    of_one!("log1p", "The natural logarithm of x + 1.", "0.0", f64::ln_1p),
    of_one!("exp", "e to the power of x.", "1.0", f64::exp),
    of_one!("sin", "The sine of an angle in radians.", "0.0", f64::sin),
    of_one!("cos", "The cosine of an angle in radians.", "1.0", f64::cos),
    of_one!("tan", "The tangent of an angle in radians.", "0.0", f64::tan),
    of_one!("asin", "The arc sine, in radians.", "0.0", f64::asin),
    of_one!("acos", "The arc cosine, in radians.", "1.5707963268", f64::acos),
    of_one!("atan", "The arc tangent, in radians.", "0.0", f64::atan),
    of_one!("sinh", "The hyperbolic sine.", "0.0", f64::sinh),
    of_one!("cosh", "The hyperbolic cosine.", "1.0", f64::cosh),
    of_one!("tanh", "The hyperbolic tangent.", "0.0", f64::tanh),
    of_one!("cbrt", "The cube root.", "0.0", f64::cbrt),
    of_one!("rint", "The nearest whole number as a float, halves to the even one.", "0.0", f64::round_ties_even),
    of_one!("toRadians", "An angle in radians.", "0.0", f64::to_radians),
    of_one!("toDegrees", "An angle in degrees.", "0.0", f64::to_degrees),
    of_one!("signum", "-1.0, 0.0 or 1.0: the sign of x.", "0.0", |x| if x == 0.0 || x.is_nan() {
        x
    } else {
        x.signum()
    }),
    of_two("Math/hypot", |_, args| Ok(Value::Float(float(1, &args[0])?.hypot(float(2, &args[1])?))))
        .doc(&["(Math/hypot a b)"], "The square root of a² + b².")
        .examples(&[("(Math/hypot 3 4)", "5.0")]),
    of_two("Math/atan2", |_, args| Ok(Value::Float(float(1, &args[0])?.atan2(float(2, &args[1])?))))
        .doc(&["(Math/atan2 y x)"], "The angle of a point, in radians.")
        .examples(&[("(Math/atan2 0 1)", "0.0")]),
    of_two("Math/floorDiv", |machine, args| divided(machine, args, Part::Quotient))
        .doc(&["(Math/floorDiv a b)"], "The quotient of integers, rounded down.")
        .examples(&[("(Math/floorDiv -7 2)", "-4")]),
    of_two("Math/floorMod", |machine, args| divided(machine, args, Part::Remainder))
        .doc(&["(Math/floorMod a b)"], "The remainder of integers, with the sign of b; like mod.")
        .examples(&[("(Math/floorMod -7 2)", "1")]),
];

const fn of_two(name: &'static str, run: fn(&mut Machine<'_>, &mut [Value]) -> EvalResult) -> Builtin {
    Builtin::new(name, Arity::exactly(2), run).cost(Cost::Constant).current()
}

fn float(position: usize, value: &Value) -> EvalResult<f64> {
    number::as_float(value).ok_or_else(|| wrong(position, "a number", value))
}

/// The part of a division that is the result.
#[derive(Clone, Copy)]
enum Part {
    Quotient,
    Remainder,
}

fn divided(machine: &mut Machine<'_>, args: &mut [Value], part: Part) -> EvalResult {
    let [a, b] = taken(args);
    machine.ticks(number::words(&a) + number::words(&b))?;
    let (left, right) = (big(1, &a)?, big(2, &b)?);
    if right == BigInt::ZERO {
        return Error::new(Reason::ArithmeticError, "division by zero").hint("Check the divisor first").halt();
    }
    let (quotient, remainder) = (&left / &right, &left % &right);
    let rounds = remainder != BigInt::ZERO && (remainder.sign() != right.sign());
    Ok(Value::integer(match part {
        Part::Quotient => {
            if rounds {
                quotient - 1
            } else {
                quotient
            }
        }
        Part::Remainder => {
            if rounds {
                remainder + right
            } else {
                remainder
            }
        }
    }))
}

fn big(position: usize, value: &Value) -> EvalResult<BigInt> {
    match value {
        Value::Int(int) => Ok(BigInt::from(*int)),
        Value::Big(big) => Ok((**big).clone()),
        other => Err(wrong(position, "an integer", other)),
    }
}
