//! Running a program: all stages from its text to its outcome.
//!
//! All stages run on a thread with a large stack ([`Stack`]).

use std::hash::{DefaultHasher, Hasher};
use std::sync::Arc;

use super::analyse::{self, analyse_watched};
use super::compile::{Unit, compile};
use super::error::ENDLESS;
use super::host::Watch;
use super::input::{Binding, Memory};
use super::input::{Dialect, Input};
use super::legacy::{self, LegacyNames};
use super::machine::Callable;
use super::machine::{Machine, SharedCounters, Target, World};
use super::read::read_watched;
use super::stack::{Stack, catch_panic};
use super::{Budget, Call, Error, EvalResult, Form, Halt, Host, Names, builtins, infix, ir};
use crate::heap;
use crate::reasons::Reason;
use crate::value::{Keyword, Map, Value};

/// Bytes that reading and compiling may hold, as a multiple of the program's memory limit.
const COMPILE_SHARE: u64 = 4;

/// The way a program ended without an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Signal {
    /// The last form has a value.
    Value,
    /// `return`
    Return,
    /// `fail`
    Fail,
}

/// The outcome of a program.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// Its value and signal, or its error.
    pub result: Result<(Signal, Value), Error>,
    /// The memory afterwards: with the new definitions, or unchanged after an error.
    pub memory: Memory,
    /// Printed entries, also after an error.
    pub prints: Vec<String>,
    /// Finished tool calls, also after an error.
    pub calls: Vec<Call>,
    /// Notes of `step-done`, by id in order of the first note; also after an error. The progress of an agent excludes
    /// notes of failed programs, which its engine decides.
    pub summaries: Vec<(String, String)>,
    /// The journal afterwards; unchanged after an error.
    pub journal: Option<Map>,
    /// Warnings for users and models: a legacy form and its modern one, keys of tool arguments that became equal.
    pub warnings: Vec<String>,
    /// The resources it used.
    pub usage: Usage,
}

/// Resources used by a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// Evaluation steps; the same on every machine.
    pub steps: u64,
    /// Peak of the bytes held in addition to the input, checked every thousand steps.
    pub bytes: u64,
}

/// A program that has been read, analysed and compiled. It may run many times: on any input with the same names in
/// memory and the same tools as the one it was prepared for.
#[derive(Clone)]
pub struct PreparedProgram {
    unit: Arc<Unit>,
    /// Seed of the numbers of its closures.
    seed: u64,
    warnings: Vec<String>,
}

/// Reads, analyses and compiles a program. Errors are those of reading, of forms and of the static name checks,
/// `compile_memory_exceeded`, the interruptions of the host, and `invalid_config` for a memory limit that cannot be
/// checked ([`Limits::memory_bytes`](super::Limits::memory_bytes)).
pub fn prepare(input: &Input<'_>, host: &dyn Host, _: &Stack) -> Result<PreparedProgram, Error> {
    input.limits.check_countable()?;
    let before = heap::live();
    let most = input.limits.memory_bytes.saturating_mul(COMPILE_SHARE);
    let check = || {
        let held = u64::try_from(heap::live() - before).unwrap_or(0);
        if held > most {
            let problem = format!("reading and compiling the program needs {held} bytes; at most {most} are allowed");
            return Err(Error::new(Reason::CompileMemoryExceeded, problem).hint("Pass data as input"));
        }
        host.compiling().map_or(Ok(()), Err)
    };
    let watch = Watch::new(&check);
    let forms = read_watched(input.source, Budget::of(input.limits), input.dialect, &watch)?;
    check()?;
    let (program, warnings) = understand(&forms, input, &watch)?;
    check()?;
    let unit = Arc::new(compile(&program, input.source));
    check()?;
    let mut seed = DefaultHasher::new();
    seed.write(input.source.as_bytes());
    Ok(PreparedProgram { unit, seed: seed.finish() >> 1, warnings })
}

/// Analyses the forms in the dialect of the input. Returns the hints about legacy forms too.
pub(super) fn understand(
    forms: &[Form],
    input: &Input<'_>,
    watch: &Watch<'_>,
) -> Result<(ir::Program, Vec<String>), Error> {
    let names = Names { memory: input.memory, tools: input.tools, context: input.context, dialect: input.dialect };
    let strict = || analyse_watched(forms, &names, watch).map(|program| (program, Vec::new()));
    let refused = match input.dialect {
        Dialect::Reference | Dialect::Current => return strict(),
        Dialect::Auto => match strict() {
            Err(error) => Some(error),
            understood => return understood,
        },
        Dialect::Legacy => None,
    };
    let outside = LegacyNames {
        tools: input.tools,
        input: &|name| input.context.lookup(name).is_some(),
        memory: &|name| Keyword::known(name).is_some_and(|name| input.memory.contains_key(&name)),
        language: &|name| analyse::is_form(name) || builtins::find(name).is_some(),
    };
    // A program without legacy forms keeps the error of the modern analysis.
    let translated = legacy::translate(forms, outside).and_then(|translation| {
        let program = analyse_watched(&translation.forms, &names, watch)?;
        Ok((program, translation.hints.into_iter().map(|hint| hint.text).collect::<Vec<_>>()))
    });
    match (translated, refused) {
        (Ok((_, hints)), Some(error)) if hints.is_empty() => Err(error),
        (Err(_), Some(error)) if !legacy::uses(forms) => Err(error),
        (translated, _) => translated,
    }
}

/// Runs a program from its text to its outcome, on its own thread.
///
/// ```
/// use ptc_core::Reason;
/// use ptc_core::lisp::{self, CallAddress, Error, Failure, Host, Input, Limits};
/// use ptc_core::value::Value;
///
/// struct NoTools;
///
/// impl Host for NoTools {
///     fn call(&self, _: &CallAddress, tool: &str, _: &Value) -> Result<Value, Failure> {
///         Err(Failure::Tool(format!("unknown tool `{tool}`")))
///     }
///     fn interrupt(&self) -> Option<Error> {
///         None
///     }
///     fn now_ms(&self) -> i64 {
///         0
///     }
/// }
///
/// let (_, value) = lisp::run(&Input::new("(+ 1 2)", &Limits::default()), &NoTools).result.unwrap();
/// assert_eq!(value, Value::Int(3));
///
/// // This process does not install `CountingAllocator`, so it cannot check a memory limit.
/// let limits = Limits { memory_bytes: 5_000_000, ..Limits::default() };
/// let error = lisp::run(&Input::new("(+ 1 2)", &limits), &NoTools).result.unwrap_err();
/// assert_eq!(error.reason, Reason::InvalidConfig);
/// assert!(error.hint.unwrap().contains("#[global_allocator]"));
/// ```
pub fn run(input: &Input<'_>, host: &dyn Host) -> Outcome {
    Stack::with(|stack| run_on(input, host, stack)).unwrap_or_else(|error| Outcome::refused(input, error))
}

/// Like [`run`], on this thread, for many runs in a row.
pub fn run_on(input: &Input<'_>, host: &dyn Host, stack: &Stack) -> Outcome {
    match prepare(input, host, stack) {
        Ok(prepared) => prepared.run(input, host, stack),
        Err(error) => Outcome::refused(input, error),
    }
}

impl PreparedProgram {
    /// Runs the program.
    pub fn run(&self, input: &Input<'_>, host: &dyn Host, stack: &Stack) -> Outcome {
        let unit = &*self.unit;
        let shared = SharedCounters::default();
        let world = World {
            host,
            tools: input.tools,
            context: input.context,
            absent_data: input.absent_data,
            exact_keys: input.dialect == Dialect::Reference,
            firewall: input.firewall,
            return_scope: input.return_scope,
            history: input.history,
            budget: input.budget,
            memory: input.memory,
            names: &unit.globals,
            unit: unit.number,
            ..World::bare(host, &shared)
        };
        let targets: Vec<Target> = unit.globals.iter().map(|_| Target::new()).collect();
        let mut machine = Machine::of(world, input.limits.clone(), &targets);
        machine.begin(stack, self.seed.wrapping_add(largest_serial(input.memory)), input.journal.cloned());
        machine.warnings.clone_from(&self.warnings);
        let mut frame = vec![Value::Nil; unit.slots as usize];
        // The parts of the outcome stay apart until its end: tuples of them would be copied in pieces, which stalls the
        // processor.
        let result = catch_panic(|| {
            let mut value = Value::Nil;
            (unit.body)(&mut machine, &mut frame, None, &mut value).settle(&mut value)?;
            machine.leaving(value)
        });
        drop(frame);
        let usage = Usage { steps: machine.steps(), bytes: machine.peak() };
        let mut signal = Signal::Value;
        let result = match result {
            Ok(value) => Ok(value),
            Err(halt) => left_early(&machine, halt, &mut signal),
        };
        let result = result.and_then(|value| {
            if Callable::is_endless(&value) {
                let error = Error::new(Reason::RuntimeError, "the result is an endless sequence");
                return Err(error.hint(ENDLESS).into());
            }
            machine.check_result_sizes(&value)?;
            Ok(value)
        });
        let memory = if result.is_ok() { machine.leaving_memory() } else { Ok(input.memory.clone()) };
        let (result, memory) = match memory {
            Ok(memory) => (result, memory),
            Err(halt) => (Err(halt), input.memory.clone()),
        };
        let whole = result.is_ok();
        Outcome {
            result: match result {
                Ok(value) => Ok((signal, value)),
                Err(halt) => Err(with_infix_hint(ended(halt), input.source)),
            },
            memory,
            prints: machine.prints,
            calls: machine.calls,
            summaries: machine.summaries,
            journal: if whole { machine.journal } else { input.journal.cloned() },
            warnings: machine.warnings,
            usage,
        }
    }
}

impl Outcome {
    /// The outcome of a program that could not start.
    fn refused(input: &Input<'_>, error: Error) -> Self {
        Self {
            result: Err(error),
            memory: input.memory.clone(),
            prints: Vec::new(),
            calls: Vec::new(),
            summaries: Vec::new(),
            journal: input.journal.cloned(),
            warnings: Vec::new(),
            usage: Usage::default(),
        }
    }
}

/// The value of a program that `return` or `fail` ended; sets the signal.
#[cold]
#[expect(clippy::boxed_local, reason = "early ends are boxed everywhere")]
fn left_early(machine: &Machine<'_>, halt: Box<Halt>, signal: &mut Signal) -> EvalResult {
    let (early, value) = match *halt {
        Halt::Return(value) => (Signal::Return, value),
        Halt::Fail(value) => (Signal::Fail, value),
        halt @ (Halt::Error(_) | Halt::Throw(_)) => return Err(halt.into()),
    };
    *signal = early;
    machine.leaving(value)
}

/// The error of a program that ended early.
#[cold]
#[expect(clippy::boxed_local, reason = "early ends are boxed everywhere")]
fn ended(halt: Box<Halt>) -> Error {
    match *halt {
        Halt::Error(error) => error,
        Halt::Throw(thrown) => builtins::uncaught(thrown),
        // They end a program with a value; these arms keep the match complete.
        Halt::Return(value) | Halt::Fail(value) => Error::new(Reason::InternalError, value.brief(80)),
    }
}

/// Adds the hint about a call such as `(a > b)`.
fn with_infix_hint(error: Error, source: &str) -> Error {
    let called = error.span.filter(|_| error.reason == Reason::NotCallable);
    let text = called.and_then(|span| source.get(span.start..span.end));
    match text.and_then(infix::hint_of_text) {
        Some(hint) => error.hint(hint),
        None => error,
    }
}

/// The largest number of a closure in memory.
fn largest_serial(memory: &Memory) -> u64 {
    let serial = |binding: &Binding| match Callable::of_value(&binding.value) {
        Some(Callable::Closure(closure)) => closure.serial,
        _ => 0,
    };
    memory.values().map(serial).max().unwrap_or(0)
}
