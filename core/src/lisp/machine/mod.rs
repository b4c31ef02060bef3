//! The machine: the state and limits of a running program. Builtins use it through the methods here.
//!
//! One machine runs on one thread; parallel branches have machines of their own.

#![expect(clippy::unnecessary_box_returns, reason = "boxed errors keep a result as small as a value")]

mod attempt;
mod branch;
mod builtin;
mod call;
mod callee;
mod cell;
mod code;
mod comparison;
mod error_reason;
mod function;
mod globals;
mod journal;
mod projection;
#[cfg(test)]
mod tests;
mod tool;
mod world;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Arc;

pub(crate) use attempt::{is_catchable, runs_finally};
pub use builtin::{Arity, Builtin, Clojure, Cost, FunctionUse, Implementation, InReference};
pub(crate) use call::{not_callable, unbound};
pub use callee::Callee;
pub(crate) use cell::{Cell, Cells, cell_of};
pub(crate) use code::Frame;
pub use code::{Code, CurrentClosure, Flow, Lambda};
pub(crate) use comparison::Comparison;
#[cfg(test)]
pub(crate) use function::PartUse;
pub(crate) use function::{Callable, Closure, REDUCED, Recipe};
pub(crate) use globals::{Globals, Target};
pub(crate) use projection::Projection;
pub(crate) use world::{SharedCounters, World};

use self::branch::BranchFailure;
#[cfg(test)]
use super::Host;
use super::{Binding, Call, Error, EvalResult, Halt, Limits, Stack, ToolInfo};
use crate::heap;
use crate::reasons::Reason;
use crate::text::Span;
use crate::value::{FloatDigits, Keyword, Map, Regex, RegexRules, Value, has_uncharged, take_uncharged};

/// Steps between two checks of the clock, the memory and the interruption.
const STEPS_PER_CHECK: u64 = 1_024;
/// Bytes whose allocation counts as one step.
const BYTES_PER_STEP: usize = 256;

/// A running program, or one branch of it.
pub struct Machine<'h> {
    /// Steps left until the next check.
    fuel: u64,
    /// Steps counted at the last check.
    steps: u64,
    /// Calls that have not returned.
    depth: u64,
    /// The lowest address that the native stack may reach; it grows downwards.
    stack_end: usize,
    /// Live bytes of this thread that do not belong to the program, less the bytes of the parent machines of a branch.
    baseline: i64,
    /// Bytes of the parent machines of a branch; they are part of its held bytes.
    inherited: i64,
    /// Bytes of this machine in the total of all branches ([`SharedCounters::bytes`]).
    reported: i64,
    /// The address of the native stack where this machine began.
    stack_start: usize,
    /// The peak of the memory checks, in bytes.
    peak: i64,
    pub(crate) world: World<'h>,
    limits: Limits,
    pub(crate) globals: Globals<'h>,
    /// Number of the last closure.
    serial: u64,
    /// The branch position of tool calls.
    pub(crate) branches: Vec<(u32, u32)>,
    /// Tool calls of this branch.
    made: u32,
    /// Parallel forms started in this branch.
    pub(crate) forms: u32,
    /// For a branch of a parallel form with a deadline: the [`Host::elapsed_ms`] at which it ends.
    pub(crate) deadline_ms: Option<u64>,
    /// For a branch of a parallel form: the failures of the form, and the number of the branch.
    failure: Option<(Arc<BranchFailure>, usize)>,
    /// Index of the last keyword lookup in a map: the next map often has the same shape.
    hint: usize,
    keywords: BTreeSet<Keyword>,
    /// Contents of the cells made by this machine; `None` until the first.
    cells: Option<Arc<Cells>>,
    /// Active parts whose errors may be caught.
    attempts: u32,
    /// Regexes most recently compiled at run time, newest first.
    pub(crate) patterns: Vec<Arc<Regex>>,
    pub(crate) prints: Vec<String>,
    /// Texts of active forms `with-out-str`, the innermost last; printed text is added to it.
    pub(crate) captured: Vec<String>,
    pub(crate) calls: Vec<Call>,
    pub(crate) summaries: Vec<(String, String)>,
    pub(crate) journal: Option<Map>,
    pub(crate) warnings: Vec<String>,
}

/// The position of a form: its span in the text of the program with this number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CodePosition {
    pub(crate) span: Span,
    pub(crate) unit: u64,
}

/// An address in the native stack of this thread.
#[inline(never)]
fn stack_address() -> usize {
    let here = 0_u8;
    std::ptr::from_ref(&here).addr()
}

impl<'h> Machine<'h> {
    /// A machine without tools, data or memory.
    #[cfg(test)]
    pub(crate) fn new(host: &'h dyn Host, shared: &'h SharedCounters, limits: Limits) -> Self {
        Self::of(World::bare(host, shared), limits, &[])
    }

    /// A machine for a program, with one target for each of its globals.
    pub(crate) fn of(world: World<'h>, limits: Limits, targets: &'h [Target]) -> Self {
        Self {
            fuel: STEPS_PER_CHECK,
            steps: 0,
            depth: 0,
            stack_end: 0,
            baseline: heap::live(),
            inherited: 0,
            reported: 0,
            stack_start: stack_address(),
            peak: 0,
            globals: Globals::new(&world, targets),
            world,
            limits,
            serial: 0,
            branches: Vec::new(),
            made: 0,
            forms: 0,
            deadline_ms: None,
            failure: None,
            hint: 0,
            keywords: BTreeSet::new(),
            cells: None,
            attempts: 0,
            patterns: Vec::new(),
            prints: Vec::new(),
            captured: Vec::new(),
            calls: Vec::new(),
            summaries: Vec::new(),
            journal: None,
            warnings: Vec::new(),
        }
    }

    /// Starts running on this stack.
    pub(crate) fn begin(&mut self, stack: &Stack, serial: u64, journal: Option<Map>) {
        // Comparisons before the run are not charged to this program.
        take_uncharged();
        self.stack_end = stack.end;
        self.serial = serial;
        self.journal = journal;
    }

    /// Counts one step: a call, a jump, or an item processed by a builtin.
    #[inline]
    pub fn tick(&mut self) -> EvalResult<()> {
        self.ticks(1)
    }

    /// Counts `steps` at once, for work known in advance or just done: a sort, a copy, a search. One step is about 10
    /// ns of work or 16 bytes copied.
    #[inline]
    pub fn ticks(&mut self, steps: usize) -> EvalResult<()> {
        let steps = steps as u64;
        if self.fuel > steps && !has_uncharged() {
            self.fuel -= steps;
            return Ok(());
        }
        self.settle(steps)
    }

    /// Counts steps, including the cost of comparing and hashing large values.
    #[cold]
    fn settle(&mut self, steps: u64) -> EvalResult<()> {
        let steps = steps.saturating_add(take_uncharged() as u64);
        if self.fuel > steps {
            self.fuel -= steps;
            return Ok(());
        }
        self.check(steps)
    }

    /// Checks the clock, the memory and the interruption.
    #[cold]
    fn check(&mut self, steps: u64) -> EvalResult<()> {
        self.steps = self.steps.saturating_add(STEPS_PER_CHECK - self.fuel).saturating_add(steps);
        self.fuel = STEPS_PER_CHECK;
        self.check_stop()?;
        self.check_steps()?;
        self.check_memory(0)
    }

    /// Fails if the host interrupts the program, the deadline of a parallel form has passed, or an earlier branch has
    /// failed.
    fn check_stop(&self) -> EvalResult<()> {
        if let Some(error) = self.world.host.interrupt() {
            return error.halt();
        }
        if self.deadline_ms.is_some_and(|deadline| self.world.host.elapsed_ms() > deadline) {
            let limit = self.limits.parallel_timeout_ms;
            return Error::new(Reason::Timeout, format!("the parallel form took longer than {limit} ms"))
                .hint("Do less in each branch")
                .halt();
        }
        if self.failure.as_ref().is_some_and(|(failure, branch)| failure.precedes(*branch)) {
            return Error::new(Reason::Cancelled, "an earlier branch has failed").halt();
        }
        Ok(())
    }

    /// Like `check`, after work whose steps are counted already, at the start and the end of a parallel form: its branches
    /// may be too short to reach a check of their own.
    fn check_form(&mut self) -> EvalResult<()> {
        self.check(take_uncharged() as u64)
    }

    /// Reserves memory before a large allocation: fails with `memory_exceeded` if `bytes` more would exceed the limit.
    /// Required for every allocation whose size does not follow from the size of the arguments, and for copies of large
    /// ones.
    pub fn reserve(&mut self, bytes: usize) -> EvalResult<()> {
        self.check_memory(i64::try_from(bytes).unwrap_or(i64::MAX))?;
        self.ticks(1 + bytes / BYTES_PER_STEP)
    }

    /// Fails if the steps counted so far exceed the limit.
    fn check_steps(&self) -> EvalResult<()> {
        if self.steps() <= self.limits.steps {
            return Ok(());
        }
        Error::new(Reason::Timeout, format!("the program took more than {} steps", self.limits.steps))
            .hint("Do less work")
            .halt()
    }

    /// Bytes held by this branch and its parents. Other branches do not count here: which of them run at the same time
    /// is random. `check_shared_bytes` bounds what they hold together.
    fn held_bytes(&self) -> i64 {
        heap::live() - self.baseline
    }

    /// Fails if the bytes held by the program plus `more` exceed the limit.
    fn check_memory(&mut self, more: i64) -> EvalResult<()> {
        let held_bytes = self.held_bytes();
        self.peak = self.peak.max(held_bytes);
        self.check_bytes(held_bytes, more)?;
        if self.branches.is_empty() { Ok(()) } else { self.check_shared_bytes(more) }
    }

    /// Fails if this many bytes exceed the limit. The message omits the number of bytes held, which differs slightly
    /// between runs.
    fn check_bytes(&self, held_bytes: i64, more: i64) -> EvalResult<()> {
        let limit = self.limits.memory_bytes;
        let most = i64::try_from(limit).unwrap_or(i64::MAX);
        if held_bytes.saturating_add(more) <= most {
            return Ok(());
        }
        let needed = if more > most { format!("{more} at once") } else { "more".to_owned() };
        Error::new(
            Reason::MemoryExceeded,
            format!("the program exceeds its memory limit of {limit} bytes: it needs {needed}"),
        )
        .hint("Hold less data at a time: filter, count or sum instead of collecting")
        .halt()
    }

    /// Fails if the printed size of a value that leaves the program exceeds the memory limit: its parts may be shared
    /// so often that it cannot be printed or sent. Inputs may leave the program again.
    pub(crate) fn check_size(&self, value: &Value) -> EvalResult<()> {
        let (bytes, limit) = (value.extent().bytes, self.limits.memory_bytes);
        if bytes <= limit {
            return Ok(());
        }
        let given = [self.world.context].into_iter().chain(self.world.history);
        let given = given.chain(self.world.memory.values().map(|binding| &binding.value));
        let given = given.fold(0_u64, |sum, value| sum.saturating_add(value.extent().bytes));
        if bytes <= limit.saturating_add(given) {
            return Ok(());
        }
        // A saturated count has no exact number.
        let bytes = if bytes == u64::MAX { "more than 10^19".to_owned() } else { bytes.to_string() };
        Error::new(
            Reason::MemoryExceeded,
            format!("a value would take {bytes} bytes when printed; the limit is {limit}"),
        )
        .hint("It repeats shared parts many times; define or return less")
        .halt()
    }

    /// Like `check_size`, for all results of a finished program: its value, its definitions and its journal.
    pub(crate) fn check_result_sizes(&self, value: &Value) -> EvalResult<()> {
        self.check_size(value)?;
        for kept in self.globals.defined(&self.world) {
            self.check_size(kept)?;
        }
        self.journal.iter().flat_map(Map::values).try_for_each(|result| self.check_size(result))
    }

    /// Adds one printed entry, cut at the limit.
    pub fn print(&mut self, mut entry: String) {
        let kept = usize::try_from(self.limits.print_chars).unwrap_or(usize::MAX);
        if entry.len() > kept {
            let total = entry.chars().count();
            if let Some((at, _)) = entry.char_indices().nth(kept) {
                entry.truncate(at);
                _ = write!(entry, "... ({kept}/{total} chars)");
            }
        }
        self.prints.push(entry);
    }

    /// The program's time in milliseconds since 1970.
    pub fn now_ms(&self) -> i64 {
        self.world.host.now_ms()
    }

    /// True in the dialect `reference`.
    pub(crate) fn is_reference(&self) -> bool {
        self.world.exact_keys
    }

    /// The rules of regular expressions in the dialect.
    pub(crate) fn regex_rules(&self) -> RegexRules {
        if self.is_reference() { RegexRules::Perl } else { RegexRules::Java }
    }

    /// The digits of printed floats in the dialect.
    pub(crate) fn float_digits(&self) -> FloatDigits {
        if self.is_reference() { FloatDigits::Binary } else { FloatDigits::Shortest }
    }

    /// The limits of the program.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The tools that the program may call.
    pub fn tools(&self) -> &'h [ToolInfo] {
        self.world.tools
    }

    /// Makes a keyword at run time; fails with `symbol_limit_exceeded` if the program has too many.
    pub fn keyword(&mut self, name: &str) -> EvalResult<Keyword> {
        let known = self.world.symbols.saturating_add(self.keywords.len() as u64);
        let word = match Keyword::known(name) {
            Some(word) if self.keywords.contains(&word) => return Ok(word),
            _ if known >= self.limits.symbols => {
                let problem = format!("the program uses more than {} different names", self.limits.symbols);
                return Error::new(Reason::SymbolLimitExceeded, problem).hint("Use string keys for data").halt();
            }
            known => known.unwrap_or_else(|| Keyword::intern(name)),
        };
        self.keywords.insert(word);
        Ok(word)
    }

    /// The current definition of a name in memory.
    pub fn binding(&self, name: Keyword) -> Option<Binding> {
        self.globals.binding(&self.world, name)
    }

    /// All names currently in memory, sorted.
    pub fn names(&self) -> Vec<Keyword> {
        self.globals.names(&self.world)
    }

    /// Steps counted so far.
    pub(crate) fn steps(&self) -> u64 {
        self.steps + (STEPS_PER_CHECK - self.fuel)
    }

    /// Maximum bytes held so far.
    pub(crate) fn peak(&self) -> u64 {
        u64::try_from(self.peak.max(self.held_bytes())).unwrap_or(0)
    }

    /// The number of a new closure.
    pub(crate) fn next_serial(&mut self) -> u64 {
        self.serial = self.serial.wrapping_add(1);
        self.serial
    }

    /// Adds a span to an error, if it is in the running program's text.
    #[cold]
    pub(crate) fn with_span(&self, mut halt: Box<Halt>, position: &CodePosition) -> Box<Halt> {
        match &mut *halt {
            Halt::Error(error) => {
                error.settle();
                if position.unit == self.world.unit {
                    error.span.get_or_insert(position.span);
                }
            }
            Halt::Throw(thrown) if position.unit == self.world.unit => {
                thrown.span.get_or_insert(position.span);
            }
            Halt::Throw(_) | Halt::Return(_) | Halt::Fail(_) => {}
        }
        halt
    }
}
