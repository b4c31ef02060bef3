//! Compiled code: closures specialized at compile time, run on a frame of values.

#![expect(clippy::inline_always, reason = "measured: passing results between pieces of code must not cost a call")]

use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use super::function::Closure;
use super::{Machine, Projection};
use crate::lisp::ir::Calls;
use crate::lisp::{EvalResult, Halt};
use crate::value::{Keyword, Value};

/// Compiled code. Gets the locals of the running function by slot, the running closure, and the destination of a value
/// that does not fit in registers: so it is written once, where it is needed.
pub type Code =
    Box<dyn for<'h, 'f> Fn(&mut Machine<'h>, &mut [Value], CurrentClosure<'f>, &mut Value) -> Flow + Send + Sync>;

/// The result of running code. It is returned in two registers, unlike a [`Value`]: numbers and booleans that are used
/// at once never touch memory (measured: a call of two arguments is 1.5 times as fast).
pub enum Flow {
    /// The value is in the destination.
    Out,
    /// An integer.
    Int(i64),
    /// true
    True,
    /// false
    False,
    /// The enclosing loop or function restarts; the number identifies the jump.
    Again(i64),
    /// The program ended early.
    Halt(Box<Halt>),
}

const _: () = assert!(size_of::<Flow>() == 16, "it is passed in two registers");

impl Flow {
    /// A boolean.
    #[inline(always)]
    pub(crate) fn truth(holds: bool) -> Self {
        if holds { Self::True } else { Self::False }
    }

    /// A value; one that does not fit the registers is written to the destination.
    #[inline(always)]
    pub(crate) fn give(value: Value, out: &mut Value) -> Self {
        match value {
            Value::Int(int) => Self::Int(int),
            value => {
                out.put(value);
                Self::Out
            }
        }
    }

    /// The value; one that did not fit the registers is taken from `spilled`.
    #[inline(always)]
    pub(crate) fn value(self, spilled: &mut Value) -> Value {
        match self {
            Self::Int(int) => Value::Int(int),
            Self::True => Value::Bool(true),
            Self::False => Value::Bool(false),
            Self::Out | Self::Again(_) | Self::Halt(_) => std::mem::take(spilled),
        }
    }

    /// Writes the value to the destination, unless it is already there.
    #[inline(always)]
    pub(crate) fn settle(self, out: &mut Value) -> EvalResult<()> {
        match self {
            Self::Out | Self::Again(_) => {}
            Self::Int(int) => out.put_int(int),
            Self::True => out.put(Value::Bool(true)),
            Self::False => out.put(Value::Bool(false)),
            Self::Halt(halt) => return Err(halt),
        }
        Ok(())
    }
}

/// Lets `?` propagate errors through code.
impl From<EvalResult<()>> for Flow {
    #[inline(always)]
    fn from(done: EvalResult<()>) -> Self {
        match done {
            Ok(()) => Self::Out,
            Err(halt) => Self::Halt(halt),
        }
    }
}

/// The running closure. `None` outside of functions.
pub type CurrentClosure<'f> = Option<&'f Closure>;

/// Values on the native stack: arguments, or the locals of a running function.
pub(crate) struct Frame<const N: usize>(ManuallyDrop<[Value; N]>);

impl<const N: usize> Frame<N> {
    /// All nil.
    #[inline]
    pub(crate) fn new() -> Self {
        Self(ManuallyDrop::new([const { Value::Nil }; N]))
    }
}

impl<const N: usize> Drop for Frame<N> {
    /// Most slots hold small values, or have been moved out of.
    #[inline]
    fn drop(&mut self) {
        for slot in self.0.iter_mut().filter(|slot| slot.is_shared()) {
            slot.clear();
        }
    }
}

impl<const N: usize> Deref for Frame<N> {
    type Target = [Value; N];

    #[inline]
    fn deref(&self) -> &[Value; N] {
        &self.0
    }
}

impl<const N: usize> DerefMut for Frame<N> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [Value; N] {
        &mut self.0
    }
}

/// A compiled function.
pub struct Lambda {
    pub(crate) name: Option<Keyword>,
    pub(crate) params: Box<str>,
    pub(crate) source: Arc<str>,
    /// Number of arguments without the rest.
    pub(crate) fixed: u32,
    /// Further arguments are collected in a list.
    pub(crate) rest: bool,
    /// Size of the frame.
    pub(crate) slots: u32,
    pub(crate) body: Code,
    /// The functions that it may call.
    pub(crate) calls: Calls,
    /// Its projection, if it only reads its one argument.
    pub(crate) projection: Option<Projection>,
}

impl Lambda {
    /// Its own name.
    pub fn name(&self) -> Option<Keyword> {
        self.name
    }

    /// Its parameters as displayed: `[x y]`.
    pub fn params(&self) -> &str {
        &self.params
    }

    /// Its text in the program that defined it.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// True if it can be called with this number of arguments.
    pub(crate) fn accepts(&self, count: usize) -> bool {
        self.takes(count) || (self.rest && count >= self.fixed as usize)
    }

    /// True if it takes exactly this number of arguments.
    #[inline]
    pub(crate) fn takes(&self, count: usize) -> bool {
        self.fixed as usize == count && !self.rest
    }
}
