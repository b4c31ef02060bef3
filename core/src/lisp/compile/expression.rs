//! Expressions with their leaves inline.

#![expect(clippy::inline_always, reason = "measured: a leaf must not cost a call")]

use super::Compiler;
use super::condition::Condition;
use crate::lisp::EvalResult;
use crate::lisp::ir::{Expr, Local, Node};
use crate::lisp::machine::{Code, CurrentClosure, Flow, Frame, Machine};
use crate::value::{Field, Value};

/// A compiled expression.
pub(super) enum Expression {
    /// A constant.
    Const(Value),
    /// A local that is read again later.
    Local(u32),
    /// A local that is not read again.
    Take(u32),
    /// A captured value.
    Capture(u32),
    /// A local plus a constant, both integers; `slow` handles other values.
    AddConst { local: u32, add: i64, slow: Box<Code> },
    /// The sum of two locals that are integers; `slow` handles other values.
    AddLocals { locals: [u32; 2], slow: Box<Code> },
    /// A field of a local; `last` if the local is not read again.
    Field { field: Box<Field>, local: u32, last: bool },
    /// Any other expression.
    Code(Code),
}

impl Expression {
    /// Evaluates to a value.
    #[inline]
    pub(super) fn eval(
        &self,
        machine: &mut Machine<'_>,
        slots: &mut [Value],
        closed: CurrentClosure<'_>,
    ) -> EvalResult {
        let mut held = Frame::<1>::new();
        match self.give(machine, slots, closed, &mut held[0]) {
            Flow::Halt(halt) => Err(halt),
            flow => Ok(flow.value(&mut held[0])),
        }
    }

    /// Evaluates into a destination.
    #[inline(always)]
    pub(super) fn eval_into(
        &self,
        machine: &mut Machine<'_>,
        slots: &mut [Value],
        closed: CurrentClosure<'_>,
        out: &mut Value,
    ) -> EvalResult<()> {
        self.give(machine, slots, closed, out).settle(out)
    }

    /// Evaluates like code: only a value that does not fit the registers is written to the destination.
    #[inline(always)]
    pub(super) fn give(
        &self,
        machine: &mut Machine<'_>,
        slots: &mut [Value],
        closed: CurrentClosure<'_>,
        out: &mut Value,
    ) -> Flow {
        match self {
            Self::Code(code) => code(machine, slots, closed, out),
            Self::AddConst { slow, .. } | Self::AddLocals { slow, .. } => match self.int(slots, closed) {
                Some(sum) => Flow::Int(sum),
                None => slow(machine, slots, closed, out),
            },
            Self::Local(at) | Self::Take(at) => match slots[*at as usize] {
                Value::Int(int) => Flow::Int(int),
                _ => self.give_in_place(slots, closed, out),
            },
            _ => self.give_in_place(slots, closed, out),
        }
    }

    #[inline(never)]
    fn give_in_place(&self, slots: &mut [Value], closed: CurrentClosure<'_>, out: &mut Value) -> Flow {
        match self {
            Self::Const(Value::Int(int)) => return Flow::Int(*int),
            Self::Const(value) => out.put(copy(value)),
            Self::Local(at) => out.put(copy(&slots[*at as usize])),
            Self::Take(at) => out.put(std::mem::take(&mut slots[*at as usize])),
            Self::Field { field, local, last } => {
                out.put(copy(field_of(field, &slots[*local as usize])));
                if *last {
                    slots[*local as usize].put(Value::Nil);
                }
            }
            Self::Capture(at) => {
                out.put(closed.and_then(|closure| closure.captures.get(*at as usize)).map_or(Value::Nil, copy));
            }
            _ => {}
        }
        Flow::Out
    }

    /// Turns it into code, for a call in tail position.
    pub(super) fn into_code(self) -> Code {
        match self {
            Self::Code(code) => code,
            Self::Const(Value::Int(int)) => Box::new(move |_, _, _, _| Flow::Int(int)),
            Self::Local(at) | Self::Take(at) => Box::new(move |_, slots, closed, out| match slots[at as usize] {
                Value::Int(int) => Flow::Int(int),
                _ => self.give_in_place(slots, closed, out),
            }),
            leaf => Box::new(move |machine, slots, closed, out| leaf.give(machine, slots, closed, out)),
        }
    }

    /// Its value if that is an integer which needs no evaluation, or at most a sum.
    #[inline(always)]
    pub(super) fn int(&self, slots: &[Value], closed: CurrentClosure<'_>) -> Option<i64> {
        match self {
            Self::AddConst { local, add, .. } => match slots[*local as usize] {
                Value::Int(int) => int.checked_add(*add),
                _ => None,
            },
            Self::AddLocals { locals: [a, b], .. } => match (&slots[*a as usize], &slots[*b as usize]) {
                (Value::Int(a), Value::Int(b)) => a.checked_add(*b),
                _ => None,
            },
            Self::Local(at) | Self::Take(at) => match slots[*at as usize] {
                Value::Int(int) => Some(int),
                _ => None,
            },
            Self::Const(Value::Int(int)) => Some(*int),
            Self::Capture(at) => match closed?.captures.get(*at as usize) {
                Some(Value::Int(int)) => Some(*int),
                _ => None,
            },
            Self::Field { .. } => match self.field_in_place(slots)? {
                Value::Int(int) => Some(*int),
                _ => None,
            },
            _ => None,
        }
    }

    /// A reference to the value of a field, if its map is read again later.
    #[inline(never)]
    fn field_in_place<'a>(&self, slots: &'a [Value]) -> Option<&'a Value> {
        match self {
            Self::Field { field, local, last: false } => Some(field_of(field, slots.get(*local as usize)?)),
            _ => None,
        }
    }

    /// A reference to the value, if reading it needs no evaluation.
    #[inline(always)]
    pub(super) fn peek<'a>(&'a self, slots: &'a [Value], closed: CurrentClosure<'a>) -> Option<&'a Value> {
        match self {
            Self::Local(at) => slots.get(*at as usize),
            Self::Const(value) => Some(value),
            Self::Capture(at) => closed?.captures.get(*at as usize),
            Self::Field { .. } => self.field_in_place(slots),
            _ => None,
        }
    }

    /// Like `peek`, for all values that exist in place and whose reading changes nothing: entries of maps, and locals that
    /// are not read again. nil for other expressions.
    #[inline(always)]
    pub(super) fn read_in_place<'a>(&'a self, slots: &'a [Value], closed: CurrentClosure<'a>) -> &'a Value {
        const NIL: &Value = &Value::Nil;
        let found = match self {
            Self::Take(at) => slots.get(*at as usize),
            Self::Field { field, local, .. } => Some(field_of(field, &slots[*local as usize])),
            other => other.peek(slots, closed),
        };
        found.unwrap_or(NIL)
    }

    /// True if [`Expression::read_in_place`] finds its value.
    pub(super) fn is_in_place(&self) -> bool {
        matches!(self, Self::Const(_) | Self::Local(_) | Self::Take(_) | Self::Capture(_) | Self::Field { .. })
    }

    /// True if it may be evaluated later than its position: it reads at most locals and moves none.
    pub(super) fn is_deferrable(&self) -> bool {
        match self {
            Self::Const(_) | Self::Local(_) | Self::Capture(_) => true,
            Self::Take(_) | Self::Field { .. } | Self::AddConst { .. } | Self::AddLocals { .. } | Self::Code(_) => {
                false
            }
        }
    }

    /// True if it certainly does not move the local in this slot.
    pub(super) fn never_moves(&self, slot: u32) -> bool {
        match self {
            Self::Const(_) | Self::Local(_) | Self::Capture(_) | Self::AddConst { .. } | Self::AddLocals { .. } => true,
            Self::Take(local) => *local != slot,
            Self::Field { local, last, .. } => !last || *local != slot,
            Self::Code(_) => false,
        }
    }
}

/// Clones a value; integers without a type check.
#[inline(always)]
pub(super) fn copy(value: &Value) -> Value {
    if let Value::Int(int) = value { Value::Int(*int) } else { value.clone() }
}

/// A field of a value: nil for anything but a map.
#[inline(always)]
pub(super) fn field_of<'v>(field: &Field, of: &'v Value) -> &'v Value {
    static NIL: Value = Value::Nil;
    match of {
        Value::Map(map) => field.of(map).unwrap_or(&NIL),
        _ => &NIL,
    }
}

impl Compiler<'_> {
    /// An expression outside of tail position.
    pub(super) fn ex(&self, node: &Node) -> Expression {
        match &node.expr {
            Expr::Const(value) => Expression::Const(value.clone()),
            Expr::Local(local) => leaf(*local),
            Expr::Capture(at) => Expression::Capture(*at),
            Expr::Vector(items) => self.vector(items),
            Expr::Map(entries) => self.map(entries),
            Expr::Set(members) => self.set(members),
            Expr::Do(parts) if parts.is_empty() => Expression::Const(Value::Nil),
            Expr::Do(parts) if parts.len() == 1 => self.ex(&parts[0]),
            Expr::If(..)
            | Expr::Do(_)
            | Expr::Cond(_)
            | Expr::And(_)
            | Expr::Or(_)
            | Expr::Case { .. }
            | Expr::Let { .. }
            | Expr::Recur(_) => self.control(node),
            Expr::Loop { binds, body } => self.repeated(binds, body),
            Expr::For { levels, body, gives } => self.iteration(levels, body, *gives),
            Expr::Attempt(attempt) => self.attempt(attempt),
            Expr::Builtin { builtin, args } => self.builtin(builtin, args, node.span),
            Expr::Call { callee, args } => self.call(callee, args, node.span),
            Expr::Fn { lambda, captures } => self.closure(lambda, captures),
            Expr::Myself | Expr::Global { .. } | Expr::Data(_) | Expr::Budget | Expr::History(_) => self.reading(node),
            Expr::Tool { .. }
            | Expr::Try { .. }
            | Expr::Def { .. }
            | Expr::Return(_)
            | Expr::Fail(_)
            | Expr::Task { .. }
            | Expr::StepDone { .. }
            | Expr::TaskReset(_)
            | Expr::Raise(_) => self.effect(node),
        }
    }

    /// The value of a condition.
    pub(super) fn truth(condition: Condition) -> Expression {
        flow(move |machine, slots, closed, _| match condition.test(machine, slots, closed) {
            Ok(holds) => Flow::truth(holds),
            Err(halt) => Flow::Halt(halt),
        })
    }
}

pub(super) fn leaf(local: Local) -> Expression {
    if local.last { Expression::Take(local.slot) } else { Expression::Local(local.slot) }
}

/// An expression from code that returns a value.
pub(super) fn code(
    run: impl for<'h, 'f> Fn(&mut Machine<'h>, &mut [Value], CurrentClosure<'f>) -> EvalResult + Send + Sync + 'static,
) -> Expression {
    flow(move |machine, slots, closed, out| match run(machine, slots, closed) {
        Ok(value) => Flow::give(value, out),
        Err(halt) => Flow::Halt(halt),
    })
}

/// An expression from code.
pub(super) fn flow(
    run: impl for<'h, 'f> Fn(&mut Machine<'h>, &mut [Value], CurrentClosure<'f>, &mut Value) -> Flow + Send + Sync + 'static,
) -> Expression {
    Expression::Code(Box::new(run))
}
