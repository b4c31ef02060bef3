//! Values that leave a program or a branch: the contents of cells take the place of the cells.

use super::Machine;
use crate::lisp::boundary::without_cells;
use crate::lisp::{EvalResult, Memory};
use crate::value::Value;

impl Machine<'_> {
    /// The memory after the run, with the contents of cells.
    pub(crate) fn leaving_memory(&self) -> EvalResult<Memory> {
        let mut memory = self.globals.memory(&self.world);
        if self.cells.is_some() {
            for binding in memory.values_mut() {
                binding.value = self.leaving(std::mem::take(&mut binding.value))?;
            }
        }
        Ok(memory)
    }

    /// The value with the contents of the cells in it, for values that leave the program or the branch.
    pub(crate) fn leaving(&self, value: Value) -> EvalResult {
        if self.cells.is_none() {
            return Ok(value);
        }
        self.check_size(&value)?;
        without_cells(&value)
    }
}
