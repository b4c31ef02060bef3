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
    Builtin(&'static Builtin),
    Keyword(Keyword),
    Other(&'v Value),
}

impl<'v> Callee<'v> {
    /// A closure, builtin, keyword, set or tool as argument `position` (language contract §7.3); maps, lists, strings
    /// and the rest are a `type_error`.
    pub fn of(position: usize, function: &'v Value) -> R<Self> {
        match function {
            Value::Function(shared) => Ok(Self(match &**shared {
                Function::Closure(closure) => Target::Closure(closure),
                Function::Builtin(builtin) => Target::Builtin(builtin),
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
            _ => self.call(machine, &mut [arg]),
        }
    }

    /// Calls it with two arguments.
    #[inline]
    pub fn call2(&self, machine: &mut Machine<'_>, one: Value, two: Value) -> R {
        self.call(machine, &mut [one, two])
    }

    /// Calls it with any number of arguments, which may be moved out.
    #[inline]
    pub fn call(&self, machine: &mut Machine<'_>, args: &mut [Value]) -> R {
        match self.0 {
            Target::Closure(closure) => machine.call_fleeting(closure, args),
            Target::Builtin(builtin) => machine.call_builtin(builtin, args),
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
