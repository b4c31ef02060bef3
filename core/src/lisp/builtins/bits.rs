//! Bits of integers of any size.

use super::{Arity, Builtin, Clojure};
use crate::lisp::EvalResult;
use crate::lisp::arithmetic::{AND, AND_NOT, OR, XOR, charge, failed, unary};
use crate::lisp::machine::Machine;
use crate::reasons::Reason;
use crate::value::Value;
use crate::value::number::{self, Bit, Computed};

const ANY_SIZE: Clojure = Clojure::Differs("integers have any number of bits");

/// The rows of this file.
pub(super) const ROWS: &[Builtin] = &[
    several("bit-and", |machine, args| AND.fold(machine, args, Reason::TypeError))
        .doc(&["(bit-and x y & more)"], "The bits set in all integers.")
        .examples(&[("(bit-and 12 10)", "8"), ("(bit-and 12 10 6)", "0"), ("(bit-and -1 255)", "255")]),
    several("bit-or", |machine, args| OR.fold(machine, args, Reason::TypeError))
        .doc(&["(bit-or x y & more)"], "The bits set in any of the integers.")
        .examples(&[("(bit-or 12 10)", "14"), ("(bit-or 1 2 4)", "7")]),
    several("bit-xor", |machine, args| XOR.fold(machine, args, Reason::TypeError))
        .doc(&["(bit-xor x y & more)"], "The bits set in an odd number of the integers.")
        .examples(&[("(bit-xor 12 10)", "6"), ("(bit-xor 5 1)", "4")]),
    several("bit-and-not", |machine, args| AND_NOT.fold(machine, args, Reason::TypeError))
        .doc(&["(bit-and-not x y & more)"], "The bits set in the first integer and in no other.")
        .examples(&[("(bit-and-not 12 10)", "4"), ("(bit-and-not 15 9)", "6")]),
    Builtin::new("bit-not", Arity::exactly(1), |machine, args| {
        unary(machine, number::not, &args[0], Reason::TypeError)
    })
    .doc(&["(bit-not x)"], "All bits inverted.")
    .examples(&[("(bit-not 0)", "-1"), ("(bit-not 5)", "-6")])
    .clojure(ANY_SIZE),
    placed("bit-shift-left", |machine, args| at(machine, args, number::shift_left))
        .doc(&["(bit-shift-left x n)"], "The bits shifted left by n, filled with zeros.")
        .examples(&[("(bit-shift-left 1 4)", "16"), ("(bit-shift-left -8 1)", "-16")]),
    placed("bit-shift-right", |machine, args| at(machine, args, number::shift_right))
        .doc(&["(bit-shift-right x n)"], "The bits shifted right by n, keeping the sign.")
        .examples(&[("(bit-shift-right 16 2)", "4"), ("(bit-shift-right -8 1)", "-4")]),
    placed("bit-set", |machine, args| at(machine, args, |x, n| number::set_bit(x, n, Bit::Set)))
        .doc(&["(bit-set x n)"], "The integer with bit n set; the lowest is bit 0.")
        .examples(&[("(bit-set 0 3)", "8"), ("(bit-set 10 1)", "10")]),
    placed("bit-clear", |machine, args| at(machine, args, |x, n| number::set_bit(x, n, Bit::Clear)))
        .doc(&["(bit-clear x n)"], "The integer with bit n cleared; the lowest is bit 0.")
        .examples(&[("(bit-clear 10 1)", "8"), ("(bit-clear 8 0)", "8")]),
    placed("bit-flip", |machine, args| at(machine, args, |x, n| number::set_bit(x, n, Bit::Flip)))
        .doc(&["(bit-flip x n)"], "The integer with bit n inverted; the lowest is bit 0.")
        .examples(&[("(bit-flip 10 1)", "8"), ("(bit-flip 5 1)", "7")]),
    placed("bit-test", |machine, args| at(machine, args, number::test_bit))
        .doc(&["(bit-test x n)"], "True if bit n is set; the lowest is bit 0.")
        .examples(&[("(bit-test 5 2)", "true"), ("(bit-test 5 1)", "false")]),
];

const fn several(name: &'static str, run: fn(&mut Machine<'_>, &mut [Value]) -> EvalResult) -> Builtin {
    Builtin::new(name, Arity::from(2), run).clojure(ANY_SIZE)
}

const fn placed(name: &'static str, run: fn(&mut Machine<'_>, &mut [Value]) -> EvalResult) -> Builtin {
    Builtin::new(name, Arity::exactly(2), run).clojure(ANY_SIZE)
}

fn at(machine: &mut Machine<'_>, args: &[Value], compute: fn(&Value, &Value) -> Computed) -> EvalResult {
    charge(machine, &args[0])?;
    compute(&args[0], &args[1]).map_err(|error| failed(error, Reason::TypeError, 0, &[&args[0], &args[1]]))
}
