//! Compiled code: closures over what was known when compiling, run on a frame of values.

use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use super::Machine;
use crate::lisp::R;
use crate::lisp::compile::{Body, Reading};
use crate::lisp::function::Closure;
use crate::value::{Keyword, Value};

/// Compiled code. Gets the locals of the running function by slot, the closure that is running, and where to put the
/// value: so it is written once, where it is needed.
pub type Code = Box<dyn for<'h, 'f> Fn(&mut Machine<'h>, &mut [Value], Closed<'f>, &mut Value) -> R<()> + Send + Sync>;

/// The running closure: its captures and itself. `None` outside of functions.
pub type Closed<'f> = Option<&'f Closure>;

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
    /// Arguments without the rest.
    pub(crate) fixed: u32,
    /// Are further arguments collected in a list?
    pub(crate) rest: bool,
    /// Size of the frame.
    pub(crate) slots: u32,
    pub(crate) body: Body,
    /// The same, when it only reads its one argument.
    pub(crate) reading: Option<Reading>,
}

impl Lambda {
    /// Its own name.
    pub fn name(&self) -> Option<Keyword> {
        self.name
    }

    /// Its parameters as they are shown: `[x y]`.
    pub fn params(&self) -> &str {
        &self.params
    }

    /// Its text in the program that made it.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Does it take exactly this number of arguments?
    #[inline]
    pub(crate) fn takes(&self, count: usize) -> bool {
        self.fixed as usize == count && !self.rest
    }
}
