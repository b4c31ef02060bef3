//! A function that a builtin is about to call many times, looked at once.

use super::Machine;
use crate::lisp::{R, wrong};
use crate::value::Value;

/// A function value as an argument of a higher-order builtin.
#[derive(Clone, Copy)]
pub struct Callee<'v>(&'v Value);

impl<'v> Callee<'v> {
    /// A closure, builtin, keyword, set or tool as argument `position` (language contract §7.3); maps, lists, strings
    /// and the rest are a `type_error`.
    pub fn of(position: usize, function: &'v Value) -> R<Self> {
        match function {
            Value::Function(_) | Value::Keyword(_) | Value::Set(_) | Value::Var(_) => Ok(Self(function)),
            other => Err(wrong(position, "a function", other)),
        }
    }

    /// Calls it with one argument.
    pub fn call1(&self, machine: &mut Machine<'_>, arg: Value) -> R {
        machine.call(self.0, &mut [arg])
    }

    /// Calls it with two arguments.
    pub fn call2(&self, machine: &mut Machine<'_>, one: Value, two: Value) -> R {
        machine.call(self.0, &mut [one, two])
    }

    /// Calls it with any number of arguments, which may be moved out.
    pub fn call(&self, machine: &mut Machine<'_>, args: &mut [Value]) -> R {
        machine.call(self.0, args)
    }

    /// Calls it with one argument and asks for the truth of the result.
    pub fn test(&self, machine: &mut Machine<'_>, arg: Value) -> R<bool> {
        Ok(self.call1(machine, arg)?.is_truthy())
    }
}
