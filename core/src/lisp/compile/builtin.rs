//! Calls of builtins by name: arguments on the native stack, fast paths for small integers inline.

#![expect(clippy::inline_always, reason = "measured: a builtin must not cost two calls")]

use std::sync::OnceLock;

use super::Compiler;
use super::expression::{Expression, code, copy, flow};
use crate::lisp::builtins::{Builtin, Implementation, joined};
use crate::lisp::ir::{Expr, Node};
use crate::lisp::machine::{Code, CodePosition, CurrentClosure, Flow, Frame, Machine};
use crate::lisp::{EvalResult, Halt};
use crate::text::Span;
use crate::value::Value;

/// A call of a builtin.
#[derive(Clone, Copy)]
pub(super) struct CallSite {
    builtin: &'static Builtin,
    position: CodePosition,
}

impl CallSite {
    /// Calls the builtin; its arity has been checked.
    #[inline(always)]
    pub(super) fn run(&self, machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
        let result = match self.builtin.run {
            Implementation::Function(run) => run(machine, args),
            Implementation::Form => machine.call_row(self.builtin, args),
        };
        match result {
            Ok(value) => Ok(value),
            Err(halt) => Err(self.builtin_error(halt, machine)),
        }
    }

    #[cold]
    pub(super) fn builtin_error(&self, halt: Box<Halt>, machine: &Machine<'_>) -> Box<Halt> {
        machine.builtin_error(halt, self.builtin, &self.position)
    }

    /// Like `run`, but writes the value to `out`.
    #[inline(always)]
    fn give(&self, machine: &mut Machine<'_>, args: &mut [Value], out: &mut Value) -> Flow {
        match self.run(machine, args) {
            Ok(value) => Flow::give(value, out),
            Err(halt) => Flow::Halt(halt),
        }
    }
}

impl Compiler<'_> {
    pub(super) fn site(&self, builtin: &'static Builtin, span: Span) -> CallSite {
        CallSite { builtin, position: self.position(span) }
    }

    pub(super) fn builtin(&self, builtin: &'static Builtin, args: &[Node], span: Span) -> Expression {
        if let Some(condition) = self.predicate(builtin, args, span) {
            return Self::truth(condition);
        }
        if builtin.is_maker() && args.iter().all(|arg| matches!(arg.expr, Expr::Const(_))) {
            return self.once(builtin, args, span);
        }
        if matches!(builtin.name, "swap!" | "vswap!")
            && let Some(change) = self.change_of_cell(builtin, args, span)
        {
            return change;
        }
        if builtin.name == "str" {
            return match args.len() {
                2 => self.text::<2>(builtin, args, span),
                3 => self.text::<3>(builtin, args, span),
                4 => self.text::<4>(builtin, args, span),
                _ => self.plain(builtin, args, span),
            };
        }
        match args {
            [arg] => self.unary(builtin, arg, span),
            [a, b] => self.binary(builtin, [a, b], span),
            _ => self.plain(builtin, args, span),
        }
    }

    /// `str`: parts that need no evaluation are read in place if no later part can move them.
    fn text<const N: usize>(&self, builtin: &'static Builtin, args: &[Node], span: Span) -> Expression {
        let site = self.site(builtin, span);
        let Ok(args) = <[Expression; N]>::try_from(self.all(args).into_vec()) else {
            return self.plain(builtin, args, span);
        };
        let computed = args.iter().rposition(|arg| !arg.is_in_place());
        let read: [bool; N] = std::array::from_fn(|at| {
            matches!(args[at], Expression::Const(_))
                || (args[at].is_in_place() && computed.is_none_or(|last| last < at))
        });
        flow(move |machine, slots, closed, out| {
            let mut values = Frame::<N>::new();
            for ((value, arg), read) in values.iter_mut().zip(&args).zip(&read) {
                if !read && let Err(halt) = arg.eval_into(machine, slots, closed, value) {
                    return Flow::Halt(halt);
                }
            }
            let parts: [&Value; N] =
                std::array::from_fn(|at| if read[at] { args[at].read_in_place(slots, closed) } else { &values[at] });
            match joined(machine, parts.into_iter()) {
                Ok(text) => Flow::give(text, out),
                Err(halt) => Flow::Halt(site.builtin_error(halt, machine)),
            }
        })
    }

    /// A call with a constant result: the first result is kept.
    fn once(&self, builtin: &'static Builtin, args: &[Node], span: Span) -> Expression {
        let made = self.plain(builtin, args, span);
        let kept = OnceLock::new();
        code(move |machine, slots, closed| {
            if let Some(value) = kept.get() {
                return Ok(Value::clone(value));
            }
            let value = made.eval(machine, slots, closed)?;
            Ok(kept.get_or_init(|| value).clone())
        })
    }

    /// A call without a fast path.
    fn plain(&self, builtin: &'static Builtin, args: &[Node], span: Span) -> Expression {
        let site = self.site(builtin, span);
        let args: Vec<Expression> = args.iter().map(|arg| self.ex(arg)).collect();
        let args = match <[Expression; 1]>::try_from(args) {
            Ok(args) => return fixed(site, args),
            Err(args) => args,
        };
        let args = match <[Expression; 2]>::try_from(args) {
            Ok(args) => return fixed(site, args),
            Err(args) => args,
        };
        let args = match <[Expression; 3]>::try_from(args) {
            Ok(args) => return fixed(site, args),
            Err(args) => args,
        };
        let args = match <[Expression; 4]>::try_from(args) {
            Ok(args) => return fixed(site, args),
            Err(args) => args,
        };
        let args = match <[Expression; 5]>::try_from(args) {
            Ok(args) => return fixed(site, args),
            Err(args) => args,
        };
        code(move |machine, slots, closed| {
            let mut values = Vec::with_capacity(args.len());
            for arg in &args {
                values.push(arg.eval(machine, slots, closed)?);
            }
            site.run(machine, &mut values)
        })
    }

    /// A call of two arguments without a fast path.
    pub(super) fn plain_code(&self, builtin: &'static Builtin, args: [&Node; 2], span: Span) -> Code {
        let site = self.site(builtin, span);
        let (a, b) = (self.ex(args[0]), self.ex(args[1]));
        fixed(site, [a, b]).into_code()
    }

    fn unary(&self, builtin: &'static Builtin, arg: &Node, span: Span) -> Expression {
        let step = match builtin.name {
            "inc" => 1,
            "dec" => -1,
            "first" => {
                return self.looking(builtin, arg, span, |value| match value {
                    Value::List(list) => Some(list.first().map_or(Value::Nil, copy)),
                    _ => None,
                });
            }
            "count" => {
                return self.looking(builtin, arg, span, |value| {
                    let count = match value {
                        Value::List(list) => list.len(),
                        Value::Map(map) => map.len(),
                        Value::Set(set) => set.len(),
                        _ => return None,
                    };
                    i64::try_from(count).ok().map(Value::Int)
                });
            }
            _ => return self.plain(builtin, std::slice::from_ref(arg), span),
        };
        let site = self.site(builtin, span);
        match self.ex(arg) {
            Expression::Local(local) | Expression::Take(local) => {
                let arg = self.ex(arg);
                let slow = fixed(site, [arg]).into_code();
                Expression::AddConst { local, add: step, slow: Box::new(slow) }
            }
            arg => flow(move |machine, slots, closed, out| match arg.give(machine, slots, closed, out) {
                Flow::Int(int) if let Some(sum) = int.checked_add(step) => Flow::Int(sum),
                Flow::Halt(halt) => Flow::Halt(halt),
                other => site.give(machine, &mut [other.value(out)], out),
            }),
        }
    }

    /// A builtin that reads its argument in place.
    fn looking(
        &self,
        builtin: &'static Builtin,
        arg: &Node,
        span: Span,
        quick: impl Fn(&Value) -> Option<Value> + Send + Sync + 'static,
    ) -> Expression {
        let site = self.site(builtin, span);
        let arg = self.ex(arg);
        code(move |machine, slots, closed| {
            if let Some(value) = arg.peek(slots, closed).and_then(&quick) {
                return Ok(value);
            }
            let value = arg.eval(machine, slots, closed)?;
            match quick(&value) {
                Some(value) => Ok(value),
                None => site.run(machine, &mut [value]),
            }
        })
    }

    fn binary(&self, builtin: &'static Builtin, args: [&Node; 2], span: Span) -> Expression {
        match builtin.name {
            "+" | "-" => {
                if let Some(sum) = self.sum(builtin, args, span) {
                    return sum;
                }
                if builtin.name == "+" {
                    self.arithmetic(builtin, args, span, i64::checked_add, |a, b| Some(a + b))
                } else {
                    self.arithmetic(builtin, args, span, i64::checked_sub, |a, b| Some(a - b))
                }
            }
            "*" => self.arithmetic(builtin, args, span, i64::checked_mul, |a, b| Some(a * b)),
            "quot" => self.integers(builtin, args, span, i64::checked_div),
            "rem" => self.integers(builtin, args, span, i64::checked_rem),
            "mod" => self.integers(builtin, args, span, |a, b| {
                let rest = a.checked_rem(b)?;
                Some(if rest != 0 && (rest < 0) != (b < 0) { rest + b } else { rest })
            }),
            "nth" => self.reaching(builtin, args, span, |of, at| match (of, at) {
                (Value::List(list), Value::Int(at)) => list.get(usize::try_from(*at).ok()?).map(copy),
                _ => None,
            }),
            "get" => self.get(builtin, args, span),
            _ => self.plain_of_two(builtin, args, span),
        }
    }

    fn plain_of_two(&self, builtin: &'static Builtin, args: [&Node; 2], span: Span) -> Expression {
        fixed(self.site(builtin, span), [self.ex(args[0]), self.ex(args[1])])
    }

    /// Sums and differences of locals and constants.
    fn sum(&self, builtin: &'static Builtin, args: [&Node; 2], span: Span) -> Option<Expression> {
        let plus = builtin.name == "+";
        let slow = || Box::new(self.plain_code(builtin, args, span));
        match (&args[0].expr, &args[1].expr) {
            (Expr::Local(local), Expr::Const(Value::Int(int))) => {
                let add = if plus { *int } else { int.checked_neg()? };
                Some(Expression::AddConst { local: local.slot, add, slow: slow() })
            }
            (Expr::Const(Value::Int(int)), Expr::Local(local)) if plus => {
                Some(Expression::AddConst { local: local.slot, add: *int, slow: slow() })
            }
            (Expr::Local(a), Expr::Local(b)) if plus => {
                Some(Expression::AddLocals { locals: [a.slot, b.slot], slow: slow() })
            }
            _ => None,
        }
    }

    fn arithmetic(
        &self,
        builtin: &'static Builtin,
        args: [&Node; 2],
        span: Span,
        int: impl Fn(i64, i64) -> Option<i64> + Send + Sync + 'static,
        float: impl Fn(f64, f64) -> Option<f64> + Send + Sync + 'static,
    ) -> Expression {
        let site = self.site(builtin, span);
        let [a, b] = args.map(|arg| self.ex(arg));
        let pair = Pair { site, a, b, int, float };
        flow(move |machine, slots, closed, out| {
            let one = match pair.a.give(machine, slots, closed, out) {
                Flow::Int(one) => one,
                other => return pair.with_first(other, machine, slots, closed, out),
            };
            match pair.b.give(machine, slots, closed, out) {
                Flow::Int(two) if let Some(int) = (pair.int)(one, two) => Flow::Int(int),
                other => pair.with_both(Value::Int(one), other, machine, out),
            }
        })
    }

    fn integers(
        &self,
        builtin: &'static Builtin,
        args: [&Node; 2],
        span: Span,
        int: impl Fn(i64, i64) -> Option<i64> + Send + Sync + 'static,
    ) -> Expression {
        self.arithmetic(builtin, args, span, int, |_, _| None)
    }

    /// A builtin that reads inside its first argument without moving it.
    pub(super) fn reaching(
        &self,
        builtin: &'static Builtin,
        args: [&Node; 2],
        span: Span,
        quick: impl Fn(&Value, &Value) -> Option<Value> + Send + Sync + 'static,
    ) -> Expression {
        let site = self.site(builtin, span);
        let [of, at] = args.map(|arg| self.ex(arg));
        let still = at.is_deferrable();
        code(move |machine, slots, closed| {
            if still
                && let (Some(of), Some(at)) = (of.peek(slots, closed), at.peek(slots, closed))
                && let Some(value) = quick(of, at)
            {
                return Ok(value);
            }
            let of = of.eval(machine, slots, closed)?;
            let at = at.eval(machine, slots, closed)?;
            match quick(&of, &at) {
                Some(value) => Ok(value),
                None => site.run(machine, &mut [of, at]),
            }
        })
    }
}

/// A builtin of two numbers with a fast path.
struct Pair<I, F> {
    site: CallSite,
    a: Expression,
    b: Expression,
    int: I,
    float: F,
}

impl<I: Fn(i64, i64) -> Option<i64>, F: Fn(f64, f64) -> Option<f64>> Pair<I, F> {
    /// Continues after a first argument that is not an integer.
    #[inline(never)]
    fn with_first(
        &self,
        first: Flow,
        machine: &mut Machine<'_>,
        slots: &mut [Value],
        closed: CurrentClosure<'_>,
        out: &mut Value,
    ) -> Flow {
        if let Flow::Halt(halt) = first {
            return Flow::Halt(halt);
        }
        let a = first.value(out);
        let b = self.b.give(machine, slots, closed, out);
        self.with_both(a, b, machine, out)
    }

    /// Finishes if one argument is not an integer, or the result does not fit.
    #[inline(never)]
    fn with_both(&self, a: Value, second: Flow, machine: &mut Machine<'_>, out: &mut Value) -> Flow {
        if let Flow::Halt(halt) = second {
            return Flow::Halt(halt);
        }
        let b = second.value(out);
        if let (Value::Float(a), Value::Float(b)) = (&a, &b)
            && let Some(float) = (self.float)(*a, *b)
        {
            out.put(Value::Float(float));
            return Flow::Out;
        }
        self.site.give(machine, &mut [a, b], out)
    }
}

/// A call with its arguments in an array.
fn fixed<const N: usize>(site: CallSite, args: [Expression; N]) -> Expression {
    flow(move |machine, slots, closed, out| {
        let mut values = Frame::<N>::new();
        for (value, arg) in values.iter_mut().zip(&args) {
            if let Err(halt) = arg.eval_into(machine, slots, closed, value) {
                return Flow::Halt(halt);
            }
        }
        site.give(machine, &mut *values, out)
    })
}
