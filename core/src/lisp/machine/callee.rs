//! A function that a builtin is about to call many times, looked at once.

use super::Machine;
use crate::lisp::builtins::Builtin;
use crate::lisp::function::{Closure, Function};
use crate::lisp::{R, wrong};
use crate::value::{Keyword, Value};

/// A function value as an argument of a higher-order builtin.
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
    Other(&'v Value),
}

impl Target<'_> {
    fn of(builtin: &'static Builtin) -> Self {
        match builtin.name {
            "+" => Self::Sum(builtin),
            "*" => Self::Product(builtin),
            "inc" => Self::Step(1, builtin),
            "dec" => Self::Step(-1, builtin),
            _ => Self::Builtin(builtin),
        }
    }
}

impl<'v> Callee<'v> {
    /// A closure, builtin, keyword, set or tool as argument `position` (language contract §7.3); maps, lists, strings
    /// and the rest are a `type_error`.
    pub fn of(position: usize, function: &'v Value) -> R<Self> {
        match function {
            Value::Function(shared) => Ok(Self(match &**shared {
                Function::Closure(closure) => Target::Closure(closure),
                Function::Builtin(builtin) => Target::of(builtin),
                Function::Tool(_) | Function::Bound(_) => Target::Other(function),
            })),
            Value::Keyword(word) => Ok(Self(Target::Keyword(*word))),
            Value::Set(_) | Value::Var(_) => Ok(Self(Target::Other(function))),
            other => Err(wrong(position, "a function", other)),
        }
    }

    /// Calls it with one argument.
    #[inline]
    pub fn call1(&self, machine: &mut Machine<'_>, arg: Value) -> R {
        match self.0 {
            Target::Keyword(word) => Ok(machine.keyword_get(word, &arg)),
            Target::Closure(closure) => machine.call_fleeting1(closure, arg),
            Target::Step(step, builtin) => match arg {
                Value::Int(int) if int.checked_add(step).is_some() => Ok(Value::Int(int + step)),
                arg => machine.call_builtin(builtin, &mut [arg]),
            },
            _ => self.call(machine, &mut [arg]),
        }
    }

    /// Calls it with two arguments.
    #[inline]
    pub fn call2(&self, machine: &mut Machine<'_>, one: Value, two: Value) -> R {
        match (self.0, &one, &two) {
            (Target::Closure(closure), ..) => machine.call_fleeting2(closure, one, two),
            (Target::Sum(_), &Value::Int(a), &Value::Int(b)) if a.checked_add(b).is_some() => Ok(Value::Int(a + b)),
            (Target::Product(_), &Value::Int(a), &Value::Int(b)) if a.checked_mul(b).is_some() => Ok(Value::Int(a * b)),
            (Target::Sum(_), &Value::Float(a), &Value::Float(b)) => Ok(Value::Float(a + b)),
            _ => self.call(machine, &mut [one, two]),
        }
    }

    /// Calls it with any number of arguments, which may be moved out.
    #[inline]
    pub fn call(&self, machine: &mut Machine<'_>, args: &mut [Value]) -> R {
        match self.0 {
            Target::Closure(closure) => machine.call_fleeting(closure, args),
            Target::Builtin(builtin) | Target::Step(_, builtin) | Target::Sum(builtin) | Target::Product(builtin) => {
                machine.call_builtin(builtin, args)
            }
            Target::Keyword(word) => machine.call_keyword(word, args),
            Target::Other(function) => machine.call(function, args),
        }
    }

    /// Calls it with one argument and asks for the truth of the result.
    #[inline]
    pub fn test(&self, machine: &mut Machine<'_>, arg: Value) -> R<bool> {
        Ok(self.call1(machine, arg)?.is_truthy())
    }
}
