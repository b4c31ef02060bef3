//! Compiled code: closures over what was known when compiling, run on a frame of values.

use std::sync::Arc;

use super::Machine;
use crate::lisp::R;
use crate::lisp::compile::Body;
use crate::lisp::function::Closure;
use crate::value::{Keyword, Value};

/// Compiled code. Gets the locals of the running function by slot, and the closure that is running.
pub type Code = Box<dyn for<'h, 'f> Fn(&mut Machine<'h>, &mut [Value], Closed<'f>) -> R + Send + Sync>;

/// The running closure: its captures and itself. `None` outside of functions.
pub type Closed<'f> = Option<&'f Closure>;

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
