//! Calls of functions: arguments are evaluated into the frame of the callee, which is on the native stack.

#![expect(clippy::inline_always, reason = "measured: a leaf must not cost a call")]

use std::sync::Arc;

use super::Compiler;
use super::expression::{Expression, code, copy, field_of, flow};
use crate::lisp::EvalResult;
use crate::lisp::ir::{Capture, Expr, Lambda, Local, Node, Unbound};
use crate::lisp::machine::{Callable, Closure};
use crate::lisp::machine::{CodePosition, CurrentClosure, Flow, Frame, Machine, not_callable, unbound};
use crate::text::Span;
use crate::value::{Field, Keyword, Value};

/// The origin of the called value.
enum CalleeSource {
    /// A name in memory.
    Global { at: usize, name: Keyword, unit: u64 },
    /// A local that is read again later, or is not worth moving.
    Local(u32),
    /// A captured value.
    Capture(u32),
    /// The running function.
    Myself,
    /// A computed value.
    Computed(Expression),
}

impl Compiler<'_> {
    pub(super) fn call(&self, callee: &Node, args: &[Node], span: Span) -> Expression {
        if let (Expr::Const(Value::Keyword(word)), [of]) = (&callee.expr, args) {
            return self.field(*word, of);
        }
        let args: Vec<Expression> = args.iter().map(|arg| self.ex(arg)).collect();
        let (who, frame) = match &callee.expr {
            Expr::Global { global, unbound: Unbound::Fails } => {
                let who = CalleeSource::Global { at: *global as usize, name: self.global(*global), unit: self.unit };
                (who, self.frames.get(global).copied())
            }
            Expr::Local(Local { slot, last }) if *last || args.iter().all(|arg| arg.never_moves(*slot)) => {
                (CalleeSource::Local(*slot), None)
            }
            Expr::Capture(at) => (CalleeSource::Capture(*at), None),
            Expr::Myself => (CalleeSource::Myself, None),
            _ => (CalleeSource::Computed(self.ex(callee)), None),
        };
        let position = self.position(span);
        let frame = frame.unwrap_or(4);
        let args = match <[Expression; 0]>::try_from(args) {
            Ok(args) => return sized(who, args, frame, position),
            Err(args) => args,
        };
        let args = match <[Expression; 1]>::try_from(args) {
            Ok(args) => return sized(who, args, frame, position),
            Err(args) => args,
        };
        let args = match <[Expression; 2]>::try_from(args) {
            Ok(args) => return sized(who, args, frame, position),
            Err(args) => args,
        };
        let args = match <[Expression; 3]>::try_from(args) {
            Ok(args) => return sized(who, args, frame, position),
            Err(args) => args,
        };
        code(move |machine, slots, closed| {
            let callee = who.value(machine, slots, closed)?;
            let mut values = Vec::with_capacity(args.len());
            for arg in &args {
                values.push(arg.eval(machine, slots, closed)?);
            }
            machine.apply(&callee, &mut values).map_err(|halt| machine.with_span(halt, &position))
        })
    }

    /// `(:word of)`
    fn field(&self, word: Keyword, of: &Node) -> Expression {
        let field = Field::new(word);
        match self.ex(of) {
            Expression::Local(local) => Expression::Field { field: Box::new(field), local, last: false },
            Expression::Take(local) => Expression::Field { field: Box::new(field), local, last: true },
            of => code(move |machine, slots, closed| match of.peek(slots, closed) {
                Some(of) => Ok(copy(field_of(&field, of))),
                None => Ok(copy(field_of(&field, &of.eval(machine, slots, closed)?))),
            }),
        }
    }

    /// `fn`
    pub(super) fn closure(&self, lambda: &Lambda, captures: &[Capture]) -> Expression {
        let lambda = self.shared(lambda);
        let captures: Box<[Capture]> = captures.into();
        code(move |machine, slots, closed| {
            let outer = |at: u32| closed.and_then(|closure| closure.captures.get(at as usize)).cloned();
            let mut held = Vec::with_capacity(captures.len());
            for capture in &captures {
                held.push(match capture {
                    Capture::Local(local) if local.last => std::mem::take(&mut slots[local.slot as usize]),
                    Capture::Local(local) => slots[local.slot as usize].clone(),
                    Capture::Outer(at) => outer(*at).unwrap_or_default(),
                    Capture::Myself => closed.map(Closure::to_value).unwrap_or_default(),
                });
            }
            let serial = machine.next_serial();
            let closure = Closure { lambda: Arc::clone(&lambda), captures: held, serial };
            Ok(Callable::Closure(closure).into_value())
        })
    }
}

/// A call with a fixed number of arguments, and a frame that fits the likely callee.
fn sized<const A: usize>(who: CalleeSource, args: [Expression; A], frame: u32, position: CodePosition) -> Expression {
    match frame {
        0..=2 if A <= 2 => site::<A, 2>(who, args, position),
        0..=4 => site::<A, 4>(who, args, position),
        5..=8 => site::<A, 8>(who, args, position),
        _ => site::<A, 16>(who, args, position),
    }
}

/// Calls whose callee is read after the arguments are separate code for each kind of callee, so that each is small.
fn site<const A: usize, const N: usize>(
    who: CalleeSource,
    args: [Expression; A],
    position: CodePosition,
) -> Expression {
    match who {
        CalleeSource::Global { at, name, unit } => flow(move |machine, slots, closed, out| {
            let mut frame = Frame::<N>::new();
            if let Err(halt) = fill(&args, machine, slots, closed, &mut frame) {
                return Flow::Halt(halt);
            }
            let known = if unit == machine.world.unit { machine.globals.closure(at) } else { None };
            let flow = match known {
                Some(closure) => enter_closure::<A, N>(machine, closure, &mut frame, out),
                None => apply_global(machine, (at, name, unit), &mut frame[..A], out),
            };
            blamed(flow, machine, &position)
        }),
        CalleeSource::Local(at) => flow(move |machine, slots, closed, out| {
            let mut frame = Frame::<N>::new();
            if let Err(halt) = fill(&args, machine, slots, closed, &mut frame) {
                return Flow::Halt(halt);
            }
            let flow = enter_value::<A, N>(machine, &slots[at as usize], &mut frame, out);
            blamed(flow, machine, &position)
        }),
        CalleeSource::Capture(at) => flow(move |machine, slots, closed, out| {
            let mut frame = Frame::<N>::new();
            if let Err(halt) = fill(&args, machine, slots, closed, &mut frame) {
                return Flow::Halt(halt);
            }
            let flow = match closed.and_then(|closure| closure.captures.get(at as usize)) {
                Some(value) => enter_value::<A, N>(machine, value, &mut frame, out),
                None => Flow::Halt(not_callable(&Value::Nil)),
            };
            blamed(flow, machine, &position)
        }),
        CalleeSource::Myself => flow(move |machine, slots, closed, out| {
            let mut frame = Frame::<N>::new();
            if let Err(halt) = fill(&args, machine, slots, closed, &mut frame) {
                return Flow::Halt(halt);
            }
            let flow = match closed {
                Some(closure) => enter_closure::<A, N>(machine, closure, &mut frame, out),
                None => Flow::Halt(not_callable(&Value::Nil)),
            };
            blamed(flow, machine, &position)
        }),
        CalleeSource::Computed(callee) => flow(move |machine, slots, closed, out| {
            let callee = match callee.eval(machine, slots, closed) {
                Ok(callee) => callee,
                Err(halt) => return Flow::Halt(halt),
            };
            let mut frame = Frame::<N>::new();
            if let Err(halt) = fill(&args, machine, slots, closed, &mut frame) {
                return Flow::Halt(halt);
            }
            let flow = enter_value::<A, N>(machine, &callee, &mut frame, out);
            blamed(flow, machine, &position)
        }),
    }
}

/// Evaluates arguments into the frame of the callee. Few such calls have more than three.
#[inline(always)]
fn fill<const A: usize, const N: usize>(
    args: &[Expression; A],
    machine: &mut Machine<'_>,
    slots: &mut [Value],
    closed: CurrentClosure<'_>,
    frame: &mut [Value; N],
) -> EvalResult<()> {
    if A > 0 {
        args[0].eval_into(machine, slots, closed, &mut frame[0])?;
    }
    if A > 1 {
        args[1].eval_into(machine, slots, closed, &mut frame[1])?;
    }
    if A > 2 {
        args[2].eval_into(machine, slots, closed, &mut frame[2])?;
    }
    Ok(())
}

#[inline(always)]
fn blamed(flow: Flow, machine: &Machine<'_>, position: &CodePosition) -> Flow {
    match flow {
        Flow::Halt(halt) => Flow::Halt(machine.with_span(halt, position)),
        flow => flow,
    }
}

#[inline(always)]
fn enter_closure<const A: usize, const N: usize>(
    machine: &mut Machine<'_>,
    closure: &Closure,
    frame: &mut [Value; N],
    out: &mut Value,
) -> Flow {
    let lambda = &*closure.lambda;
    if lambda.takes(A) && lambda.slots as usize <= N {
        machine.run(closure, frame, out)
    } else {
        into_flow(machine.call_closure(closure, &mut frame[..A]), out)
    }
}

#[inline(always)]
fn enter_value<const A: usize, const N: usize>(
    machine: &mut Machine<'_>,
    value: &Value,
    frame: &mut [Value; N],
    out: &mut Value,
) -> Flow {
    if let Some(Callable::Closure(closure)) = Callable::of_value(value) {
        return enter_closure::<A, N>(machine, closure, frame, out);
    }
    apply(machine, value, &mut frame[..A], out)
}

#[inline(never)]
fn apply(machine: &mut Machine<'_>, value: &Value, args: &mut [Value], out: &mut Value) -> Flow {
    into_flow(machine.apply(value, args), out)
}

#[inline(never)]
fn apply_global(
    machine: &mut Machine<'_>,
    (at, name, unit): (usize, Keyword, u64),
    args: &mut [Value],
    out: &mut Value,
) -> Flow {
    match global(machine, at, name, unit) {
        Ok(value) => into_flow(machine.apply(&value, args), out),
        Err(halt) => Flow::Halt(halt),
    }
}

#[inline(always)]
fn into_flow(result: EvalResult, out: &mut Value) -> Flow {
    match result {
        Ok(value) => Flow::give(value, out),
        Err(halt) => Flow::Halt(halt),
    }
}

/// The value of a name in memory.
pub(super) fn global(machine: &Machine<'_>, at: usize, name: Keyword, unit: u64) -> EvalResult {
    let value =
        if unit == machine.world.unit { machine.globals.slot(at) } else { machine.globals.named(&machine.world, name) };
    value.cloned().ok_or_else(|| unbound(name))
}

impl CalleeSource {
    fn value(&self, machine: &mut Machine<'_>, slots: &mut [Value], closed: CurrentClosure<'_>) -> EvalResult {
        match self {
            Self::Global { at, name, unit } => global(machine, *at, *name, *unit),
            Self::Local(at) => Ok(slots[*at as usize].clone()),
            Self::Capture(at) => {
                Ok(closed.and_then(|closure| closure.captures.get(*at as usize)).cloned().unwrap_or_default())
            }
            Self::Myself => Ok(closed.map(Closure::to_value).unwrap_or_default()),
            Self::Computed(ex) => ex.eval(machine, slots, closed),
        }
    }
}
