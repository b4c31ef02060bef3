//! Function arguments of builtins, resolved once for many calls.

#![expect(clippy::inline_always, reason = "measured: adding two integers must not cost a call")]

use super::Machine;
use super::builtin::Builtin;
use super::function::{Bound, Callable, Closure};
use crate::lisp::{EvalResult, wrong};
use crate::value::{Keyword, Value};

/// A function argument of a higher-order builtin.
#[derive(Clone, Copy)]
pub struct Callee<'v>(Target<'v>);

#[derive(Clone, Copy)]
enum Target<'v> {
    Closure(&'v Closure),
    /// `inc` and `dec`.
    Step(i64, &'static Builtin),
    /// `+`
    Sum(&'static Builtin),
    /// `*`
    Product(&'static Builtin),
    Builtin(&'static Builtin),
    Keyword(Keyword),
    /// A function made of other functions.
    Bound(&'v Bound),
    Other(&'v Value),
}

impl Target<'_> {
    fn of(builtin: &'static Builtin) -> Self {
        match builtin.name.as_bytes() {
            [b'+'] => Self::Sum(builtin),
            [b'*'] => Self::Product(builtin),
            [b'i', b'n', b'c'] => Self::Step(1, builtin),
            [b'd', b'e', b'c'] => Self::Step(-1, builtin),
            _ => Self::Builtin(builtin),
        }
    }
}

impl<'v> Callee<'v> {
    /// A callable value as argument `position`: a closure, builtin, keyword, set or tool, and, except in the dialect
    /// `reference`, a map or list, which is called with a key or an index.
    #[inline]
    pub fn of(machine: &Machine<'_>, position: usize, function: &'v Value) -> EvalResult<Self> {
        match function {
            Value::Map(_) | Value::List(_) if !machine.is_reference() => Ok(Self(Target::Other(function))),
            _ => Self::strict(position, function),
        }
    }

    /// Like `of`, but maps and lists are a `type_error` in every dialect, like strings and other values.
    pub fn strict(position: usize, function: &'v Value) -> EvalResult<Self> {
        match function {
            Value::Function(shared) => Ok(Self(match Callable::of(shared) {
                Some(Callable::Closure(closure)) => Target::Closure(closure),
                Some(Callable::Builtin(builtin)) => Target::of(builtin),
                Some(Callable::Bound(bound)) => Target::Bound(bound),
                Some(Callable::Tool(_) | Callable::Cell(_) | Callable::Transducer(_) | Callable::Endless(_)) | None => {
                    Target::Other(function)
                }
            })),
            Value::Keyword(word) => Ok(Self(Target::Keyword(*word))),
            Value::Set(_) | Value::Var(_) => Ok(Self(Target::Other(function))),
            other => Err(wrong(position, "a function", other)),
        }
    }

    /// Calls it with one argument.
    #[inline]
    pub fn call1(&self, machine: &mut Machine<'_>, arg: Value) -> EvalResult {
        if let Some(value) = self.quick1(&arg) {
            return Ok(value);
        }
        match self.0 {
            Target::Keyword(word) => Ok(machine.keyword_get(word, &arg)),
            Target::Closure(closure) => match self.seen(machine, &arg)? {
                Some(value) => Ok(value.clone()),
                None => machine.call_scoped1(closure, arg),
            },
            _ => self.call(machine, &mut [arg]),
        }
    }

    /// Calls it with one argument that is not consumed.
    #[inline]
    pub(crate) fn call1_on(&self, machine: &mut Machine<'_>, arg: &Value) -> EvalResult {
        match self.seen(machine, arg)? {
            Some(value) => Ok(value.clone()),
            None => self.call1(machine, arg.clone()),
        }
    }

    /// Calls it with one argument that is not consumed; returns the truth of the result.
    #[inline]
    pub(crate) fn test_on(&self, machine: &mut Machine<'_>, arg: &Value) -> EvalResult<bool> {
        match self.seen(machine, arg)? {
            Some(value) => Ok(value.is_truthy()),
            None => self.test(machine, arg.clone()),
        }
    }

    /// The result of a projection: counts as a call, but needs no frame. `None` for other functions.
    #[inline]
    fn seen<'a>(&'a self, machine: &mut Machine<'_>, arg: &'a Value) -> EvalResult<Option<&'a Value>> {
        let Target::Closure(Closure { lambda, captures, .. }) = self.0 else { return Ok(None) };
        let Some(value) = lambda.projection.as_ref().and_then(|projection| projection.apply(arg, captures)) else {
            return Ok(None);
        };
        machine.enter()?;
        machine.exit();
        Ok(Some(value))
    }

    /// Calls it with two arguments.
    #[inline]
    pub fn call2(&self, machine: &mut Machine<'_>, one: Value, two: Value) -> EvalResult {
        if let Some(value) = self.quick2(&one, &two) {
            return Ok(value);
        }
        match self.0 {
            Target::Closure(closure) => machine.call_scoped2(closure, one, two),
            Target::Bound(bound) => machine.call_bound(bound, &mut [one, two]),
            _ => self.call(machine, &mut [one, two]),
        }
    }

    /// The result of an arithmetic builtin for a small number; `None` if it must be called.
    #[inline(always)]
    pub(crate) fn quick1(&self, arg: &Value) -> Option<Value> {
        match (self.0, arg) {
            (Target::Step(step, _), Value::Int(int)) => int.checked_add(step).map(Value::Int),
            _ => None,
        }
    }

    /// Like `quick1`, for two numbers.
    #[inline(always)]
    pub(crate) fn quick2(&self, one: &Value, two: &Value) -> Option<Value> {
        match (self.0, one, two) {
            (Target::Sum(_), Value::Int(a), Value::Int(b)) => a.checked_add(*b).map(Value::Int),
            (Target::Product(_), Value::Int(a), Value::Int(b)) => a.checked_mul(*b).map(Value::Int),
            (Target::Sum(_), Value::Float(a), Value::Float(b)) => Some(Value::Float(a + b)),
            _ => None,
        }
    }

    /// Calls it with any number of arguments, which may be moved out.
    #[inline]
    pub fn call(&self, machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
        match self.0 {
            Target::Closure(closure) => machine.call_scoped(closure, args),
            Target::Builtin(builtin) | Target::Step(_, builtin) | Target::Sum(builtin) | Target::Product(builtin) => {
                machine.call_builtin(builtin, args)
            }
            Target::Keyword(word) => machine.call_keyword(word, args),
            Target::Bound(bound) => machine.call_bound(bound, args),
            Target::Other(function) => machine.call(function, args),
        }
    }

    /// Calls it with one argument; returns the truth of the result.
    #[inline]
    pub fn test(&self, machine: &mut Machine<'_>, arg: Value) -> EvalResult<bool> {
        Ok(self.call1(machine, arg)?.is_truthy())
    }
}
