//! Cells: the contents of atoms and volatiles, which take the place of the cells in values that leave a program or a branch.
//!
//! A value of a program holds only the number of a cell; the machine that made the cell holds its content until the
//! program (or the branch) ends. So no value can contain itself, and nothing outlives its program. A branch of a
//! parallel form can read the cells of its parent, which waits meanwhile, and change only its own: the outcome does not
//! depend on the order of branches.

use std::cell::Cell as Flag;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use hashbrown::HashMap;

use super::Machine;
use super::function::Callable;
use crate::lisp::boundary::without_cells;
use crate::lisp::{Error, EvalResult, Memory, described};
use crate::reasons::Reason;
use crate::value::Value;

/// The contents of all cells of a machine.
#[derive(Default)]
pub(crate) struct Cells(Mutex<HashMap<u64, Value>>);

/// A cell as a value.
pub(crate) struct Cell {
    /// Unique in the program.
    pub(crate) number: u64,
    cells: Weak<Cells>,
}

impl Cells {
    fn with<T>(&self, work: impl FnOnce(&mut HashMap<u64, Value>) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Cell {
    /// The content; `None` after the end of the program or branch that made the cell.
    pub(crate) fn content(&self) -> Option<Value> {
        self.cells.upgrade()?.with(|values| values.get(&self.number).cloned())
    }

    /// The content; an error after the end of the program or branch that made the cell.
    pub(crate) fn read(&self) -> EvalResult {
        self.content().map_or_else(|| Err(ended().into()), Ok)
    }
}

thread_local! {
    /// True while the content of a cell is printed: a cell inside is printed without its content, because it may be the
    /// same one.
    static PRINTS_CONTENT: Flag<bool> = const { Flag::new(false) };
}

/// `#<atom 5>`
impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if PRINTS_CONTENT.replace(true) {
            return f.write_str("#<atom>");
        }
        let printed = match self.content() {
            Some(content) => write!(f, "#<atom {content}>"),
            None => f.write_str("#<atom>"),
        };
        PRINTS_CONTENT.set(false);
        printed
    }
}

impl Machine<'_> {
    /// Makes a cell.
    pub(crate) fn new_cell(&mut self, content: Value) -> Value {
        let number = self.next_serial();
        let cells = self.cells.get_or_insert_default();
        cells.with(|values| values.insert(number, content));
        Callable::Cell(Cell { number, cells: Arc::downgrade(cells) }).into_value()
    }

    /// Takes the content of a cell, which must be set again before anything else runs.
    pub(crate) fn take_cell(&self, cell: &Cell) -> EvalResult {
        self.check_cell(cell)?;
        let content =
            self.cells.as_ref().and_then(|cells| cells.with(|values| values.get_mut(&cell.number).map(std::mem::take)));
        content.map_or_else(|| Err(ended().into()), Ok)
    }

    /// Sets the content of a cell.
    pub(crate) fn write_cell(&self, cell: &Cell, content: Value) -> EvalResult<()> {
        self.check_cell(cell)?;
        let old = self.cells.as_ref().and_then(|cells| cells.with(|values| values.insert(cell.number, content)));
        drop(old);
        Ok(())
    }

    /// Fails if another machine made the cell.
    pub(crate) fn check_cell(&self, cell: &Cell) -> EvalResult<()> {
        let is_own = self.cells.as_ref().is_some_and(|cells| cell.cells.as_ptr() == Arc::as_ptr(cells));
        if is_own {
            return Ok(());
        }
        if cell.cells.strong_count() == 0 {
            return Err(ended().into());
        }
        let problem = "an atom of the program cannot be changed in a parallel branch";
        Error::new(Reason::RuntimeError, problem)
            .hint("Return the value from the branch and combine the results: (reduce f init (pmap g coll))")
            .halt()
    }
}

#[cold]
fn ended() -> Error {
    Error::new(Reason::RuntimeError, "this atom belongs to an earlier program or to a finished parallel branch")
        .hint("An atom lives as long as its program; (def name @a) keeps its value")
}

/// The cell that is argument `position`.
pub(crate) fn cell_of(position: usize, value: &Value) -> EvalResult<&Cell> {
    if let Some(Callable::Cell(cell)) = Callable::of_value(value) {
        return Ok(cell);
    }
    let problem = format!("argument {position} must be an atom, got {}", described(value));
    Error::new(Reason::TypeError, problem)
        .hint("(atom x) makes one; a definition of an earlier program holds only the value: (def total (inc total))")
        .halt()
}

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
