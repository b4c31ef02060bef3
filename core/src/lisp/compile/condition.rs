//! Conditions: tests that never become a value.

#![expect(clippy::inline_always, reason = "measured: a leaf must not cost a call")]

use std::cmp::Ordering;

use super::Compiler;
use super::expression::Ex;
use crate::lisp::R;
use crate::lisp::builtins::Builtin;
use crate::lisp::ir::{Expr, Node};
use crate::lisp::machine::{Closed, Code, Machine};
use crate::text::Span;
use crate::value::Value;

/// A test: 1 when it holds. A number comes back in registers together with the error, a `bool` would not.
pub(super) type Test = Box<dyn for<'h, 'f> Fn(&mut Machine<'h>, &mut [Value], Closed<'f>) -> R<usize> + Send + Sync>;

/// A compiled condition.
pub(super) enum Cd {
    /// Is the expression's value neither nil nor false?
    Truth(Ex),
    /// A local integer against a constant; anything else is `slow`'s.
    Const { when: When, local: u32, with: i64, slow: Box<Code> },
    /// Two local integers.
    Locals { when: When, locals: [u32; 2], slow: Box<Code> },
    /// The opposite.
    Not(Box<Cd>),
    /// Are all true?
    All(Box<[Cd]>),
    /// Is one true?
    Any(Box<[Cd]>),
    /// Everything else.
    Test(Test),
}

/// The orderings for which a comparison holds: bit 0 less, bit 1 equal, bit 2 greater.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct When(u8);

impl When {
    const LESS: Self = Self(0b001);
    const LESS_OR_EQUAL: Self = Self(0b011);
    const EQUAL: Self = Self(0b010);
    const DIFFERENT: Self = Self(0b101);
    const GREATER: Self = Self(0b100);
    const GREATER_OR_EQUAL: Self = Self(0b110);

    /// The comparison of this name.
    pub(super) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "<" => Self::LESS,
            "<=" => Self::LESS_OR_EQUAL,
            ">" => Self::GREATER,
            ">=" => Self::GREATER_OR_EQUAL,
            "=" | "==" => Self::EQUAL,
            "not=" => Self::DIFFERENT,
            _ => return None,
        })
    }

    #[inline(always)]
    fn holds(self, ordering: Ordering) -> bool {
        let bit = match ordering {
            Ordering::Less => 1,
            Ordering::Equal => 2,
            Ordering::Greater => 4,
        };
        self.0 & bit != 0
    }

    /// The same with the sides exchanged.
    fn flipped(self) -> Self {
        Self(self.0 & 0b010 | (self.0 & 0b001) << 2 | (self.0 & 0b100) >> 2)
    }

    /// Answers what needs no knowledge of the builtin: integers, floats, and whether names are equal.
    #[inline(always)]
    pub(super) fn quick(self, a: &Value, b: &Value) -> Option<bool> {
        match (a, b) {
            (Value::Int(a), Value::Int(b)) => Some(self.holds(a.cmp(b))),
            (Value::Float(a), Value::Float(b)) => match a.partial_cmp(b) {
                Some(ordering) => Some(self.holds(ordering)),
                // Nothing holds for NaN but that it differs.
                None => Some(self == Self::DIFFERENT),
            },
            (Value::Keyword(a), Value::Keyword(b)) if self.is_equality() => Some((a == b) == (self == Self::EQUAL)),
            (Value::Str(a), Value::Str(b)) if self.is_equality() => Some((a == b) == (self == Self::EQUAL)),
            (Value::Bool(a), Value::Bool(b)) if self.is_equality() => Some((a == b) == (self == Self::EQUAL)),
            (Value::Str(_), Value::Keyword(_)) | (Value::Keyword(_), Value::Str(_)) if self.is_equality() => {
                Some(self == Self::DIFFERENT)
            }
            (Value::Nil, other) | (other, Value::Nil) if self.is_equality() => {
                Some(other.is_nil() == (self == Self::EQUAL))
            }
            (Value::Int(_), Value::Float(_)) | (Value::Float(_), Value::Int(_)) => match a.compare(b) {
                Some(ordering) => Some(self.holds(ordering)),
                None => Some(self == Self::DIFFERENT),
            },
            _ => None,
        }
    }

    fn is_equality(self) -> bool {
        self == Self::EQUAL || self == Self::DIFFERENT
    }
}

impl Cd {
    #[inline(always)]
    pub(super) fn test(&self, machine: &mut Machine<'_>, slots: &mut [Value], closed: Closed<'_>) -> R<bool> {
        match self {
            Self::Const { when, local, with, slow } => {
                if let Value::Int(int) = slots[*local as usize] {
                    return Ok(when.holds(int.cmp(with)));
                }
                Ok(truth(slow, machine, slots, closed)? != 0)
            }
            Self::Truth(ex) => match ex.peek(slots, closed) {
                Some(value) => Ok(value.is_truthy()),
                None => Ok(computed(ex, machine, slots, closed)? != 0),
            },
            Self::Locals { when, locals: [a, b], slow } => {
                if let (Value::Int(a), Value::Int(b)) = (&slots[*a as usize], &slots[*b as usize]) {
                    return Ok(when.holds(a.cmp(b)));
                }
                Ok(truth(slow, machine, slots, closed)? != 0)
            }
            Self::Test(test) => Ok(test(machine, slots, closed)? != 0),
            Self::Not(_) | Self::All(_) | Self::Any(_) => Ok(self.test_parts(machine, slots, closed)? != 0),
        }
    }

    fn test_parts(&self, machine: &mut Machine<'_>, slots: &mut [Value], closed: Closed<'_>) -> R<usize> {
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

#[inline(never)]
fn computed(ex: &Ex, machine: &mut Machine<'_>, slots: &mut [Value], closed: Closed<'_>) -> R<usize> {
    Ok(usize::from(ex.eval(machine, slots, closed)?.is_truthy()))
}

#[cold]
fn truth(code: &Code, machine: &mut Machine<'_>, slots: &mut [Value], closed: Closed<'_>) -> R<usize> {
    let mut value = Value::Nil;
    code(machine, slots, closed, &mut value)?;
    Ok(usize::from(value.is_truthy()))
}

fn test(run: impl for<'h, 'f> Fn(&mut Machine<'h>, &mut [Value], Closed<'f>) -> R<bool> + Send + Sync + 'static) -> Cd {
    Cd::Test(Box::new(move |machine, slots, closed| run(machine, slots, closed).map(usize::from)))
}

impl Compiler<'_> {
    /// A node of which only the truth matters.
    pub(super) fn condition(&self, node: &Node) -> Cd {
        match &node.expr {
            Expr::And(parts) => Cd::All(parts.iter().map(|part| self.condition(part)).collect()),
            Expr::Or(parts) => Cd::Any(parts.iter().map(|part| self.condition(part)).collect()),
            Expr::Builtin { builtin, args } => {
                self.predicate(builtin, args, node.span).unwrap_or_else(|| Cd::Truth(self.ex(node)))
            }
            _ => Cd::Truth(self.ex(node)),
        }
    }

    /// A builtin that gives a boolean, when its usual cases can be answered in place.
    pub(super) fn predicate(&self, builtin: &'static Builtin, args: &[Node], span: Span) -> Option<Cd> {
        match args {
            [arg] => self.predicate_of_one(builtin, arg, span),
            [a, b] => Some(self.comparison(When::named(builtin.name)?, builtin, [a, b], span)),
            _ => None,
        }
    }

    fn comparison(&self, when: When, builtin: &'static Builtin, args: [&Node; 2], span: Span) -> Cd {
        let slow = || Box::new(self.plain_code(builtin, args, span));
        match (self.ex(args[0]), self.ex(args[1])) {
            (Ex::Local(local) | Ex::Take(local), Ex::Const(Value::Int(with))) => {
                Cd::Const { when, local, with, slow: slow() }
            }
            (Ex::Const(Value::Int(with)), Ex::Local(local) | Ex::Take(local)) => {
                Cd::Const { when: when.flipped(), local, with, slow: slow() }
            }
            (Ex::Local(a) | Ex::Take(a), Ex::Local(b) | Ex::Take(b)) => {
                Cd::Locals { when, locals: [a, b], slow: slow() }
            }
            (a, Ex::Const(with)) => {
                let call = self.site(builtin, span);
                test(move |machine, slots, closed| {
                    if let Some(holds) = a.peek(slots, closed).and_then(|a| when.quick(a, &with)) {
                        return Ok(holds);
                    }
                    let a = a.eval(machine, slots, closed)?;
                    match when.quick(&a, &with) {
                        Some(holds) => Ok(holds),
                        None => Ok(call.run(machine, &mut [a, with.clone()])?.is_truthy()),
                    }
                })
            }
            (Ex::Const(with), b) => {
                let call = self.site(builtin, span);
                test(move |machine, slots, closed| {
                    let b = b.eval(machine, slots, closed)?;
                    match when.quick(&with, &b) {
                        Some(holds) => Ok(holds),
                        None => Ok(call.run(machine, &mut [with.clone(), b])?.is_truthy()),
                    }
                })
            }
            (a, b) => {
                let call = self.site(builtin, span);
                test(move |machine, slots, closed| {
                    if let (Some(a), Some(b)) = (a.int(slots, closed), b.int(slots, closed)) {
                        return Ok(when.holds(a.cmp(&b)));
                    }
                    let a = a.eval(machine, slots, closed)?;
                    let b = b.eval(machine, slots, closed)?;
                    match when.quick(&a, &b) {
                        Some(holds) => Ok(holds),
                        None => Ok(call.run(machine, &mut [a, b])?.is_truthy()),
                    }
                })
            }
        }
    }

    fn predicate_of_one(&self, builtin: &'static Builtin, arg: &Node, span: Span) -> Option<Cd> {
        let int = |value: &Value| if let Value::Int(int) = value { Some(*int) } else { None };
        Some(match builtin.name {
            "not" => Cd::Not(Box::new(self.condition(arg))),
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
    ) -> Cd {
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
