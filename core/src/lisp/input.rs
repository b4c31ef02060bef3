//! The input of a program: its text, data, memory, limits and options.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::limits::{
    LOOP_JUMPS, Limit, PARALLEL_TIMEOUT, PARALLEL_WORKERS, PRINT_CHARS, PROGRAM_BYTES, PROGRAM_DEPTH, PROGRAM_MEMORY,
    PROGRAM_STEPS, PROGRAM_SYMBOLS, TOOL_CALLS,
};

use super::{Error, ToolInfo};
use crate::heap;
use crate::reasons::Reason;
use crate::value::{FloatDigits, Keyword, Map, RegexRules, Value};

/// The complete input of a program. Equal inputs with a host that returns equal results have equal outcomes.
#[derive(Debug, Clone)]
pub struct Input<'a> {
    /// The program's text.
    pub source: &'a str,
    /// The data read as `data/key`; a map.
    pub context: &'a Value,
    /// Definitions of earlier programs.
    pub memory: &'a Memory,
    /// The tools that may be called.
    pub tools: &'a [ToolInfo],
    /// Results of earlier programs, oldest first: the last is `*1`.
    pub history: &'a [Value],
    /// Results of `task` by id; `None` = the journal is off.
    pub journal: Option<&'a Map>,
    /// The value of `(budget/remaining)`; nil outside of an agent.
    pub budget: &'a Value,
    /// The limits of the program.
    pub limits: &'a Limits,
    /// The accepted dialect.
    pub dialect: Dialect,
    /// The value of `data/key` if the key is missing.
    pub absent_data: AbsentData,
    /// Printed values omit entries that the [`firewall`](super::firewall) hides.
    pub firewall: bool,
    /// The extent of `return` and `fail`.
    pub return_scope: ReturnScope,
}

static NOTHING: Value = Value::Nil;
static EMPTY_MEMORY: Memory = Memory::new();

impl<'a> Input<'a> {
    /// A program alone: no data, memory, tools or history, in the current dialect.
    pub fn new(source: &'a str, limits: &'a Limits) -> Self {
        Self {
            source,
            context: &NOTHING,
            memory: &EMPTY_MEMORY,
            tools: &[],
            history: &[],
            journal: None,
            budget: &NOTHING,
            limits,
            dialect: Dialect::default(),
            absent_data: AbsentData::default(),
            firewall: false,
            return_scope: ReturnScope::default(),
        }
    }
}

/// The definitions made by `def` and similar forms, by name.
pub type Memory = BTreeMap<Keyword, Binding>;

/// A name's value in memory.
#[derive(Debug, Clone, PartialEq)]
pub struct Binding {
    /// The value; keywords and functions are not converted.
    pub value: Value,
    /// The text given to `def` or `defn`.
    pub doc: Option<Arc<str>>,
}

/// The dialect of a program: the forms that it may use, and the keys that its writes to maps find.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Dialect {
    /// Exactly the language of the reference implementation: writes need the exact key, and there are no exceptions, atoms,
    /// arities, multimethods, headers, and none of Clojure's tokens that the reference does not read.
    Reference,
    /// No forms of older versions. More of Clojure, where the reference only has an error. Writes to maps find the key that reads find; two
    /// keys of a map that are one name in JSON are an error.
    #[default]
    Current,
    /// As `Current`, with all forms of older versions, translated to modern ones.
    Legacy,
    /// As `Current`; as `Legacy` if that fails in analysis and the program uses such a form.
    Auto,
}

impl Dialect {
    /// The rules of regular expressions.
    pub(crate) fn regex_rules(self) -> RegexRules {
        if self == Self::Reference { RegexRules::Perl } else { RegexRules::Java }
    }

    /// The digits of floats in readable text.
    pub fn float_digits(self) -> FloatDigits {
        if self == Self::Reference { FloatDigits::Binary } else { FloatDigits::Shortest }
    }
}

/// The value of `data/key` if the key is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AbsentData {
    /// nil
    #[default]
    Nil,
    /// `runtime_error`: the option `strict_data`.
    Fails,
}

/// The extent of `return` and `fail`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ReturnScope {
    /// The whole run.
    #[default]
    Run,
    /// The program only; the run continues with its result.
    Call,
}

/// The limits of a program. The host limits time: see [`crate::lisp::Host::interrupt`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Total steps.
    pub steps: u64,
    /// Bytes allocated in addition to the input, and the printed size of a value that leaves the program; `u64::MAX` =
    /// any number. Allocated bytes are counted only in a process that installs [`crate::CountingAllocator`]. Without it,
    /// the default does not limit them, and any other number is refused.
    pub memory_bytes: u64,
    /// Depth of nested calls.
    pub depth: u64,
    /// Jumps of one loop, or of one call that recurs.
    pub loop_jumps: u64,
    /// Bytes of the program's text.
    pub program_bytes: u64,
    /// Distinct symbols and keywords, including keywords made at run time.
    pub symbols: u64,
    /// Characters kept of one printed entry.
    pub print_chars: u64,
    /// Threads for branches at a time.
    pub parallel_workers: u64,
    /// Time for one `pmap` or `pcalls`, in ms.
    pub parallel_timeout_ms: u64,
    /// Tool calls; `None` = any number.
    pub tool_calls: Option<u64>,
}

impl Limits {
    /// Refuses a memory limit that was set in a process that does not count its allocations.
    pub(super) fn check_countable(&self) -> Result<(), Error> {
        let is_set = self.memory_bytes != u64::MAX && Some(self.memory_bytes) != PROGRAM_MEMORY.default;
        if !is_set || heap::is_counting() {
            return Ok(());
        }
        let problem = format!(
            "the memory limit of {} bytes cannot be checked: this process does not count its allocations",
            self.memory_bytes
        );
        Err(Error::new(Reason::InvalidConfig, problem).hint(format!("Add `{}` to the binary", heap::INSTALLATION)))
    }
}

impl Default for Limits {
    fn default() -> Self {
        let usual = |limit: &Limit| limit.default.unwrap_or(limit.max);
        Self {
            steps: usual(&PROGRAM_STEPS),
            memory_bytes: usual(&PROGRAM_MEMORY),
            depth: usual(&PROGRAM_DEPTH),
            loop_jumps: usual(&LOOP_JUMPS),
            program_bytes: usual(&PROGRAM_BYTES),
            symbols: usual(&PROGRAM_SYMBOLS),
            print_chars: usual(&PRINT_CHARS),
            parallel_workers: usual(&PARALLEL_WORKERS),
            parallel_timeout_ms: usual(&PARALLEL_TIMEOUT),
            tool_calls: TOOL_CALLS.default,
        }
    }
}
