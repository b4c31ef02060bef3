//! Cells: the contents of atoms and volatiles, which replace the cells in values that leave a program or a branch.
//!
//! A value of a program holds only the number of a cell; the machine that made the cell holds its content until the
//! program (or the branch) ends. So no value can contain itself, and nothing outlives its program. A branch of a
//! parallel form can read the cells of its parent, which waits meanwhile, and change only its own: the outcome does not
//! depend on the order of branches.

use std::cell::Cell as Flag;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::Machine;
use super::builtin::FunctionUse;
use super::function::{Callable, PartUse};
use crate::lisp::boundary::without_cells;
use crate::lisp::ir::Calls;
use crate::lisp::{Error, EvalResult, Halt, Memory, described};
use crate::reasons::Reason;
use crate::value::{Keyword, Value};

/// The contents of all cells of a machine, in the order in which it made them.
#[derive(Default)]
pub(crate) struct Cells(Mutex<Vec<Content>>);

/// The content of a cell; `None` while a function changes it in place.
type Content = Option<Value>;

/// A cell as a value.
pub(crate) struct Cell {
    /// Unique in the program.
    pub(crate) number: u64,
    /// The index of its content.
    index: usize,
    cells: Weak<Cells>,
}

/// Functions examined at most to find out whether a function reads a cell.
const EXAMINED: u32 = 32;

impl Cells {
    fn with<T>(&self, work: impl FnOnce(&mut Vec<Content>) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Replaces the content at an index.
    fn replace(&self, index: usize, content: Content) -> Content {
        self.with(|contents| contents.get_mut(index).and_then(|place| std::mem::replace(place, content)))
    }
}

impl Cell {
    /// The content; `None` after the end of the program or branch that made the cell, and while it is changed in place.
    pub(crate) fn content(&self) -> Option<Value> {
        self.cells.upgrade()?.with(|contents| contents.get(self.index).cloned().flatten())
    }

    /// The content; an error where there is none.
    pub(crate) fn read(&self) -> EvalResult {
        self.content().map_or_else(|| Err(self.without_content()), Ok)
    }

    #[cold]
    fn without_content(&self) -> Box<Halt> {
        if self.cells.strong_count() == 0 {
            return ended().into();
        }
        Error::new(Reason::RuntimeError, "the atom is read by a function that changes it")
            .hint("Read it before: (let [old @a] (swap! a f old))")
            .into()
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
        let index = cells.with(|contents| {
            contents.push(Some(content));
            contents.len() - 1
        });
        Callable::Cell(Cell { number, index, cells: Arc::downgrade(cells) }).into_value()
    }

    /// The content of a cell for a function that computes the next one, which must be set before anything reads the cell.
    /// The content is moved out if the function certainly does not read the cell and the program does not need the old
    /// content if the function fails; otherwise it is copied.
    pub(crate) fn content_for(&self, cell: &Cell, function: &Value, args: &[Value]) -> EvalResult {
        let Some(cells) = &self.cells else { return cell.read() };
        let is_safe = self.may_catch() || self.never_reads(function, args);
        let content = cells.with(|contents| {
            let place = contents.get_mut(cell.index)?;
            let may_move = match place {
                // A content that is a function may read the cell when it is called.
                Some(content) if is_safe && !is_function(content) => {
                    !self.may_catch() || never_fails(function, content, args)
                }
                _ => false,
            };
            if may_move { place.take() } else { place.clone() }
        });
        content.map_or_else(|| Err(cell.without_content()), Ok)
    }

    /// True if a call of the function with data and these arguments certainly reads no cell.
    fn never_reads(&self, function: &Value, args: &[Value]) -> bool {
        let mut left = EXAMINED;
        let is_known = match Callable::of_value(function) {
            Some(Callable::Builtin(builtin)) => {
                matches!(builtin.calls, FunctionUse::Nothing | FunctionUse::Argument(_))
            }
            _ => self.reads_no_cell(function, &mut left),
        };
        is_known && args.iter().all(|arg| !is_function(arg) || self.reads_no_cell(arg, &mut left))
    }

    /// True if a call of the value certainly reads no cell, whatever its arguments are.
    fn reads_no_cell(&self, function: &Value, left: &mut u32) -> bool {
        if let Value::Var(name) = function {
            return self.global_reads_no_cell(*name, left);
        }
        // Collections and keywords look their argument up.
        let Value::Function(_) = function else { return true };
        let Some(rest) = left.checked_sub(1) else { return false };
        *left = rest;
        match Callable::of_value(function) {
            Some(Callable::Builtin(builtin)) => builtin.calls == FunctionUse::Nothing,
            Some(Callable::Bound(bound)) => match bound.calls {
                PartUse::Any => false,
                PartUse::Builtins => true,
                PartUse::Parts => bound.parts.iter().all(|part| self.reads_no_cell(part, left)),
            },
            Some(Callable::Closure(closure)) => match &closure.lambda.calls {
                Calls::Any => false,
                Calls::Known { globals, .. } => {
                    closure.captures.iter().all(|value| self.reads_no_cell(value, left))
                        && globals.iter().all(|name| self.global_reads_no_cell(*name, left))
                }
            },
            _ => false,
        }
    }

    fn global_reads_no_cell(&self, name: Keyword, left: &mut u32) -> bool {
        let Some(rest) = left.checked_sub(1) else { return false };
        *left = rest;
        self.globals.named(&self.world, name).is_some_and(|value| self.reads_no_cell(value, left))
    }

    /// Takes the content of a cell, which must be set again before anything reads it.
    pub(crate) fn take_cell(&self, cell: &Cell) -> EvalResult {
        let content = self.cells.as_ref().and_then(|cells| cells.replace(cell.index, None));
        content.map_or_else(|| Err(cell.without_content()), Ok)
    }

    /// Sets the content of a cell.
    pub(crate) fn write_cell(&self, cell: &Cell, content: Value) -> EvalResult<()> {
        self.check_cell(cell)?;
        let old = self.cells.as_ref().and_then(|cells| cells.replace(cell.index, Some(content)));
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

fn is_function(value: &Value) -> bool {
    matches!(value, Value::Function(_) | Value::Var(_))
}

/// True for calls that only a limit can end: adding items to a list or a set, and setting keys of a map.
fn never_fails(function: &Value, old: &Value, args: &[Value]) -> bool {
    let Some(Callable::Builtin(builtin)) = Callable::of_value(function) else { return false };
    match (builtin.name, old) {
        ("conj", Value::List(_) | Value::Set(_)) => true,
        ("assoc", Value::Map(_)) => !args.is_empty() && args.len().is_multiple_of(2),
        _ => false,
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
    #[inline]
    pub(crate) fn leaving(&self, value: Value) -> EvalResult {
        if self.cells.is_none() { Ok(value) } else { self.with_contents(&value) }
    }

    #[cold]
    fn with_contents(&self, value: &Value) -> EvalResult {
        self.check_size(value)?;
        without_cells(value)
    }
}
