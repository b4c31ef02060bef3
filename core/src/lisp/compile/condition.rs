//! Conditions: tests whose result never becomes a value.

#![expect(clippy::inline_always, reason = "measured: a leaf must not cost a call")]

use super::Compiler;
use super::expression::{Expression, flow};
use crate::lisp::EvalResult;
use crate::lisp::builtins::Builtin;
use crate::lisp::ir::{Expr, Node};
use crate::lisp::machine::{Code, Comparison, CurrentClosure, Flow, Frame, Machine};
use crate::text::Span;
use crate::value::Value;

/// A test: 1 if it is true. A number is returned in registers together with the error, a `bool` would not be.
pub(super) type Test =
    Box<dyn for<'h, 'f> Fn(&mut Machine<'h>, &mut [Value], CurrentClosure<'f>) -> EvalResult<usize> + Send + Sync>;

/// A compiled condition.
pub(super) enum Condition {
    /// The expression's value is neither nil nor false.
    Truth(Expression),
    /// Compares a local integer with a constant; `slow` handles other values.
    Const { when: Comparison, local: u32, with: i64, slow: Box<Code> },
    /// Compares two local integers.
    Locals { when: Comparison, locals: [u32; 2], slow: Box<Code> },
    /// Negation.
    Not(Box<Condition>),
    /// All are true.
    All(Box<[Condition]>),
    /// One is true.
    Any(Box<[Condition]>),
    /// Any other test.
    Test(Test),
}

impl Condition {
    #[inline(always)]
    pub(super) fn test(
        &self,
        machine: &mut Machine<'_>,
        slots: &mut [Value],
        closed: CurrentClosure<'_>,
    ) -> EvalResult<bool> {
        match self {
            Self::Const { when, local, with, slow } => {
                if let Value::Int(int) = slots[*local as usize] {
                    return Ok(when.holds(int.cmp(with)));
                }
                Ok(slowly(slow, machine, slots, closed)? != 0)
            }
            Self::Truth(ex) => match ex.peek(slots, closed) {
                Some(value) => Ok(value.is_truthy()),
                None => truth(ex, machine, slots, closed),
            },
            Self::Locals { when, locals: [a, b], slow } => {
                if let (Value::Int(a), Value::Int(b)) = (&slots[*a as usize], &slots[*b as usize]) {
                    return Ok(when.holds(a.cmp(b)));
                }
                Ok(slowly(slow, machine, slots, closed)? != 0)
            }
            Self::Test(test) => Ok(test(machine, slots, closed)? != 0),
            Self::Not(_) | Self::All(_) | Self::Any(_) => Ok(self.test_parts(machine, slots, closed)? != 0),
        }
    }

    fn test_parts(
        &self,
        machine: &mut Machine<'_>,
        slots: &mut [Value],
        closed: CurrentClosure<'_>,
    ) -> EvalResult<usize> {
        match self {
            Self::Not(part) => Ok(usize::from(!part.test(machine, slots, closed)?)),
            Self::All(parts) => {
                for part in parts {
                    if !part.test(machine, slots, closed)? {
                        return Ok(0);
                    }
                }
                Ok(1)
            }
            Self::Any(parts) => {
                for part in parts {
                    if part.test(machine, slots, closed)? {
                        return Ok(1);
                    }
                }
                Ok(0)
            }
            whole => whole.test(machine, slots, closed).map(usize::from),
        }
    }
}

/// The truth of an expression's value.
#[inline(always)]
fn truth(
    ex: &Expression,
    machine: &mut Machine<'_>,
    slots: &mut [Value],
    closed: CurrentClosure<'_>,
) -> EvalResult<bool> {
    let mut held = Frame::<1>::new();
    match ex.give(machine, slots, closed, &mut held[0]) {
        Flow::Out | Flow::Again(_) => Ok(held[0].is_truthy()),
        Flow::Int(_) | Flow::True => Ok(true),
        Flow::False => Ok(false),
        Flow::Halt(halt) => Err(halt),
    }
}

#[cold]
#[inline(never)]
fn slowly(
    code: &Code,
    machine: &mut Machine<'_>,
    slots: &mut [Value],
    closed: CurrentClosure<'_>,
) -> EvalResult<usize> {
    let mut value = Value::Nil;
    code(machine, slots, closed, &mut value).settle(&mut value)?;
    Ok(usize::from(value.is_truthy()))
}

/// A choice with a fast path for the likely types of its condition.
struct Choice {
    slow: Code,
    then: Code,
    other: Code,
}

impl Choice {
    #[cold]
    #[inline(never)]
    fn decide(
        &self,
        machine: &mut Machine<'_>,
        slots: &mut [Value],
        closed: CurrentClosure<'_>,
        out: &mut Value,
    ) -> Flow {
        match slowly(&self.slow, machine, slots, closed) {
            Ok(0) => (self.other)(machine, slots, closed, out),
            Ok(_) => (self.then)(machine, slots, closed, out),
            Err(halt) => Flow::Halt(halt),
        }
    }
}

fn choose_const(
    choice: Choice,
    local: u32,
    with: i64,
    holds: impl Fn(i64, i64) -> bool + Send + Sync + 'static,
) -> Expression {
    flow(move |machine, slots, closed, out| match slots[local as usize] {
        Value::Int(int) if holds(int, with) => (choice.then)(machine, slots, closed, out),
        Value::Int(_) => (choice.other)(machine, slots, closed, out),
        _ => choice.decide(machine, slots, closed, out),
    })
}

fn choose_locals(
    choice: Choice,
    [a, b]: [u32; 2],
    holds: impl Fn(i64, i64) -> bool + Send + Sync + 'static,
) -> Expression {
    flow(move |machine, slots, closed, out| match (&slots[a as usize], &slots[b as usize]) {
        (Value::Int(a), Value::Int(b)) if holds(*a, *b) => (choice.then)(machine, slots, closed, out),
        (Value::Int(_), Value::Int(_)) => (choice.other)(machine, slots, closed, out),
        _ => choice.decide(machine, slots, closed, out),
    })
}

impl Condition {
    /// `if`
    pub(super) fn choice(self, then: Code, other: Code) -> Expression {
        match self {
            Self::Const { when, local, with, slow } => {
                let choice = Choice { slow: *slow, then, other };
                match when {
                    Comparison::LESS => choose_const(choice, local, with, |a, b| a < b),
                    Comparison::LESS_OR_EQUAL => choose_const(choice, local, with, |a, b| a <= b),
                    Comparison::GREATER => choose_const(choice, local, with, |a, b| a > b),
                    Comparison::GREATER_OR_EQUAL => choose_const(choice, local, with, |a, b| a >= b),
                    Comparison::EQUAL => choose_const(choice, local, with, |a, b| a == b),
                    _ => choose_const(choice, local, with, |a, b| a != b),
                }
            }
            Self::Locals { when, locals, slow } => {
                let choice = Choice { slow: *slow, then, other };
                match when {
                    Comparison::LESS => choose_locals(choice, locals, |a, b| a < b),
                    Comparison::LESS_OR_EQUAL => choose_locals(choice, locals, |a, b| a <= b),
                    Comparison::GREATER => choose_locals(choice, locals, |a, b| a > b),
                    Comparison::GREATER_OR_EQUAL => choose_locals(choice, locals, |a, b| a >= b),
                    Comparison::EQUAL => choose_locals(choice, locals, |a, b| a == b),
                    _ => choose_locals(choice, locals, |a, b| a != b),
                }
            }
            Self::Not(condition) => condition.choice(other, then),
            condition => flow(move |machine, slots, closed, out| match condition.test(machine, slots, closed) {
                Ok(true) => then(machine, slots, closed, out),
                Ok(false) => other(machine, slots, closed, out),
                Err(halt) => Flow::Halt(halt),
            }),
        }
    }
}

fn test(
    run: impl for<'h, 'f> Fn(&mut Machine<'h>, &mut [Value], CurrentClosure<'f>) -> EvalResult<bool> + Send + Sync + 'static,
) -> Condition {
    Condition::Test(Box::new(move |machine, slots, closed| run(machine, slots, closed).map(usize::from)))
}

impl Compiler<'_> {
    /// A node of which only the truth matters.
    pub(super) fn condition(&self, node: &Node) -> Condition {
        match &node.expr {
            Expr::And(parts) => Condition::All(parts.iter().map(|part| self.condition(part)).collect()),
            Expr::Or(parts) => Condition::Any(parts.iter().map(|part| self.condition(part)).collect()),
            Expr::Builtin { builtin, args } => {
                self.predicate(builtin, args, node.span).unwrap_or_else(|| Condition::Truth(self.ex(node)))
            }
            _ => Condition::Truth(self.ex(node)),
        }
    }

    /// A builtin that returns a boolean, if it has a fast path.
    pub(super) fn predicate(&self, builtin: &'static Builtin, args: &[Node], span: Span) -> Option<Condition> {
        match args {
            [arg] => self.predicate_of_one(builtin, arg, span),
            [a, b] => Some(self.comparison(Comparison::named(builtin.name)?, builtin, [a, b], span)),
            _ => None,
        }
    }

    fn comparison(&self, when: Comparison, builtin: &'static Builtin, args: [&Node; 2], span: Span) -> Condition {
        let slow = || Box::new(self.plain_code(builtin, args, span));
        match (self.ex(args[0]), self.ex(args[1])) {
            (Expression::Local(local) | Expression::Take(local), Expression::Const(Value::Int(with))) => {
                Condition::Const { when, local, with, slow: slow() }
            }
            (Expression::Const(Value::Int(with)), Expression::Local(local) | Expression::Take(local)) => {
                Condition::Const { when: when.flipped(), local, with, slow: slow() }
            }
            (Expression::Local(a) | Expression::Take(a), Expression::Local(b) | Expression::Take(b)) => {
                Condition::Locals { when, locals: [a, b], slow: slow() }
            }
            (a, Expression::Const(Value::Int(with))) => self.comparison_const(when, builtin, a, with, span),
            (Expression::Const(Value::Int(with)), b) if when.is_equality() => {
                self.comparison_const(when, builtin, b, with, span)
            }
            (a, b) => {
                let call = self.site(builtin, span);
                test(move |machine, slots, closed| {
                    let mut pair = Frame::<2>::new();
                    let one = a.give(machine, slots, closed, &mut pair[0]);
                    if let Flow::Halt(halt) = one {
                        return Err(halt);
                    }
                    let two = b.give(machine, slots, closed, &mut pair[1]);
                    if let (Flow::Int(one), Flow::Int(two)) = (&one, &two) {
                        return Ok(when.holds(one.cmp(two)));
                    }
                    one.settle(&mut pair[0])?;
                    two.settle(&mut pair[1])?;
                    match when.quick(&pair[0], &pair[1]) {
                        Some(holds) => Ok(holds),
                        None => Ok(call.run(machine, &mut *pair)?.is_truthy()),
                    }
                })
            }
        }
    }

    /// A comparison with an integer constant on the right, or on either side for equality.
    fn comparison_const(
        &self,
        when: Comparison,
        builtin: &'static Builtin,
        side: Expression,
        with: i64,
        span: Span,
    ) -> Condition {
        let call = self.site(builtin, span);
        test(move |machine, slots, closed| {
            let mut pair = Frame::<2>::new();
            match side.give(machine, slots, closed, &mut pair[0]) {
                Flow::Int(int) => return Ok(when.holds(int.cmp(&with))),
                other => other.settle(&mut pair[0])?,
            }
            pair[1].put_int(with);
            match when.quick(&pair[0], &pair[1]) {
                Some(holds) => Ok(holds),
                None => Ok(call.run(machine, &mut *pair)?.is_truthy()),
            }
        })
    }

    fn predicate_of_one(&self, builtin: &'static Builtin, arg: &Node, span: Span) -> Option<Condition> {
        let int = |value: &Value| if let Value::Int(int) = value { Some(*int) } else { None };
        Some(match builtin.name {
            "not" => Condition::Not(Box::new(self.condition(arg))),
            "nil?" => self.quickly(builtin, arg, span, |value| Some(value.is_nil())),
            "some?" => self.quickly(builtin, arg, span, |value| Some(!value.is_nil())),
            "zero?" => self.quickly(builtin, arg, span, move |value| Some(int(value)? == 0)),
            "pos?" => self.quickly(builtin, arg, span, move |value| Some(int(value)? > 0)),
            "neg?" => self.quickly(builtin, arg, span, move |value| Some(int(value)? < 0)),
            "even?" => self.quickly(builtin, arg, span, move |value| Some(int(value)? & 1 == 0)),
            "odd?" => self.quickly(builtin, arg, span, move |value| Some(int(value)? & 1 == 1)),
            "string?" => self.quickly(builtin, arg, span, |value| Some(matches!(value, Value::Str(_)))),
            "map?" => self.quickly(builtin, arg, span, |value| Some(matches!(value, Value::Map(_)))),
            "keyword?" => self.quickly(builtin, arg, span, |value| Some(matches!(value, Value::Keyword(_)))),
            "empty?" => self.quickly(builtin, arg, span, |value| match value {
                Value::Nil => Some(true),
                Value::List(list) => Some(list.is_empty()),
                Value::Map(map) => Some(map.is_empty()),
                Value::Set(set) => Some(set.is_empty()),
                Value::Str(text) => Some(text.is_empty()),
                _ => None,
            }),
            _ => return None,
        })
    }

    fn quickly(
        &self,
        builtin: &'static Builtin,
        arg: &Node,
        span: Span,
        quick: impl Fn(&Value) -> Option<bool> + Send + Sync + 'static,
    ) -> Condition {
        let call = self.site(builtin, span);
        let arg = self.ex(arg);
        test(move |machine, slots, closed| {
            if let Some(holds) = arg.peek(slots, closed).and_then(&quick) {
                return Ok(holds);
            }
            let value = arg.eval(machine, slots, closed)?;
            match quick(&value) {
                Some(holds) => Ok(holds),
                None => Ok(call.run(machine, &mut [value])?.is_truthy()),
            }
        })
    }
}
