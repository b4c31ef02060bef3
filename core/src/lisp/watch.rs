//! May the program still be read and analysed? Asked while that is being done, not at every step.

use std::cell::Cell;

use super::Error;

/// Steps between two questions.
const STEPS: u32 = 1_024;

/// Who says when to stop, and the steps until the next question.
pub(super) struct Watch<'a> {
    ask: &'a dyn Fn() -> Result<(), Error>,
    left: Cell<u32>,
}

impl<'a> Watch<'a> {
    /// Asks `ask` every thousand steps.
    pub(super) fn new(ask: &'a dyn Fn() -> Result<(), Error>) -> Self {
        Self { ask, left: Cell::new(STEPS) }
    }

    /// Nobody stops it.
    pub(super) fn none() -> Self {
        Self::new(&|| Ok(()))
    }

    /// One token or form more. Fails with what stops the program.
    #[inline]
    pub(super) fn step(&self) -> Result<(), Error> {
        match self.left.get() {
            0 => {
                self.left.set(STEPS);
                (self.ask)()
            }
            left => {
                self.left.set(left - 1);
                Ok(())
            }
        }
    }
}
