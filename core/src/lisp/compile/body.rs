//! Bodies of functions and loops.

use crate::lisp::R;
use crate::lisp::machine::{Closed, Code, Machine};
use crate::value::Value;

/// A compiled body.
pub(crate) struct Body(pub(crate) Code);

impl Body {
    /// Runs it on a frame.
    #[inline]
    pub(crate) fn run(&self, machine: &mut Machine<'_>, slots: &mut [Value], closed: Closed<'_>) -> R {
        (self.0)(machine, slots, closed)
    }
}
