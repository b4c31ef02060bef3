//! A bench for a turn: evaluates its forms, and runs programs on its definitions and data, all in a copy.
//!
//! In: a session and a turn. Out: values and texts. The memory and data are restored by replaying the session; tools return recorded
//! results or fail; limits apply. It must never write to the session.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

use ptc_core::lisp::Limits;
use ptc_core::lisp::ReturnScope;
use ptc_core::lisp::{Dialect, Memory, Outcome, Signal, format};
use ptc_core::value::{Bounds, Value};
use tokio::runtime::Handle;

use super::super::fork::inputs_at;
use super::probe::{Probe, probe};
use super::{Line, Mark};
use crate::event::Address;
use crate::program::{Job, fail_message};
use crate::replay::{ProgramContext, Recording, program_context};
use crate::session::Session;

/// Time limit of a program, in ms.
const TIMEOUT_MS: u64 = 1_000;
/// Maximum number of characters that one print shows.
const PRINT_CHARS: u64 = 4_000;
/// Number of results that programs can name: `*1`, `*2`, `*3`.
const HISTORY: usize = 3;
/// Width to which results are laid out, in columns, and maximum number of items shown of a collection.
const COLUMNS: usize = 76;
const ITEMS: usize = 200;

/// A copy of a turn's program context, before and after its program.
#[derive(Debug, Clone)]
pub struct Bench {
    /// The context before the program, and the outcome of the program; `None` when the turn ran none.
    before: Option<(ProgramContext, Outcome)>,
    after: ProgramContext,
    memory: Memory,
    history: Vec<Value>,
}

/// Output of an input on a [`Bench`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BenchOutput {
    /// Printed lines, then the value or the error.
    pub lines: Vec<Line>,
}

impl Bench {
    /// Creates the bench of a turn by replaying the session up to it.
    ///
    /// Errors: the reason why the session cannot be replayed that far.
    pub async fn of(session: &Session, turn: &Address) -> Result<Self, String> {
        let recording = Arc::new(Recording::of(session)?);
        let found = program_context(&recording, turn).await.map_err(|error| error.to_string())?;
        let mut place = match found {
            Some(place) => place,
            None => data_only(&recording, turn)?,
        };
        place.job.timeout_ms = TIMEOUT_MS;
        place.job.compile_timeout_ms = TIMEOUT_MS;
        place.job.limits.print_chars = PRINT_CHARS;
        let turn = turn.clone();
        let run = move || {
            let stop = AtomicBool::new(false);
            let after = place.after(&stop);
            let own = place.turn == turn && !place.job.source.is_empty();
            let before = own.then(|| {
                let outcome = place.run_instead(place.job.source.clone(), &stop);
                (place, outcome)
            });
            let (memory, history) = (after.job.memory.clone(), after.job.history.clone());
            Self { before, after, memory, history }
        };
        tokio::task::spawn_blocking(run).await.map_err(|error| error.to_string())
    }

    /// Evaluates the form at this byte of the turn's program; `None` without such a form, or when the turn ran no program. Blocks.
    pub fn probe(&self, at: usize) -> Option<Probe> {
        let (place, outcome) = self.before.as_ref()?;
        let stop = AtomicBool::new(false);
        probe(&place.job.source, at, outcome, |source| place.run_instead(source, &stop))
    }

    /// Returns the names that an input can use: definitions, then data.
    pub fn names(&self) -> (Vec<String>, Vec<String>) {
        let defined = self.memory.keys().map(|name| name.name().to_owned()).collect();
        let data = match &self.after.job.context {
            Value::Map(map) => {
                map.iter().filter_map(|(key, _)| key.as_str().map(|key| format!("data/{key}"))).collect()
            }
            _ => Vec::new(),
        };
        (defined, data)
    }

    /// Returns the whole value of a name after the turn, as PTC-Lisp text; `None` if the name is not defined.
    pub fn value_of(&self, name: &str) -> Option<String> {
        let binding = self.after.job.memory.iter().find(|(known, _)| known.name() == name)?.1;
        Some(binding.value.print(Bounds::default()).text)
    }

    /// Runs an input on the state after the turn; definitions and results are kept for the next input. Blocks.
    pub fn evaluate(&mut self, input: &str) -> BenchOutput {
        let stop = AtomicBool::new(false);
        let outcome = self.after.run_after(input.to_owned(), self.memory.clone(), self.history.clone(), &stop);
        let mut lines: Vec<Line> = outcome.prints.iter().map(|line| Line::new(Mark::Dim, line.clone())).collect();
        lines.extend(outcome.warnings.iter().map(|warning| Line::new(Mark::Warn, format!("! {warning}"))));
        match outcome.result {
            Ok((signal, value)) => {
                let bounds = Bounds { items: Some(ITEMS), chars: None };
                let text = format::value(&value, COLUMNS, bounds);
                let (mark, text) = match signal {
                    Signal::Value => (Mark::Plain, text),
                    Signal::Return => (Mark::Plain, format!("return {text}")),
                    Signal::Fail => (Mark::Bad, format!("failed: {}", fail_message(&value))),
                };
                lines.extend(text.lines().map(|line| Line::new(mark, line)));
                self.memory = outcome.memory;
                self.history.push(value);
                let old = self.history.len().saturating_sub(HISTORY);
                self.history.drain(..old);
            }
            Err(error) => {
                // The message of the error would repeat the hint.
                let op = error.op.as_ref().map(|op| format!("{op}: ")).unwrap_or_default();
                let message = format!("{op}{}", error.problem);
                lines.extend(Line::error(error.reason.name(), &message, error.hint.as_deref()));
            }
        }
        BenchOutput { lines }
    }
}

/// The bench of a turn, created at first use by replaying the session. All methods block.
#[derive(Debug)]
pub struct LazyBench {
    session: Session,
    turn: Address,
    bench: Mutex<Option<Result<Bench, String>>>,
    runtime: Handle,
}

impl LazyBench {
    /// Creates the bench of a turn of this session. Must be called inside of the runtime.
    pub fn new(session: Session, turn: Address) -> Self {
        Self { session, turn, bench: Mutex::new(None), runtime: Handle::current() }
    }

    /// Evaluates the form at this byte of the turn's program, as [`Bench::probe`] does.
    ///
    /// Errors: the reason why the session cannot be replayed.
    pub fn probe(&self, at: usize) -> Result<Option<Probe>, String> {
        self.with_bench(|bench| bench.probe(at))
    }

    /// Returns the whole value of a name, as [`Bench::value_of`] does.
    ///
    /// Errors: the reason why the session cannot be replayed; the name is not defined.
    pub fn value_of(&self, name: &str) -> Result<String, String> {
        let found = self.with_bench(|bench| bench.value_of(name))?;
        found.ok_or_else(|| format!("{name} is not defined after this turn when its session is replayed"))
    }

    /// Runs an input on the state after the turn, as [`Bench::evaluate`] does.
    ///
    /// Errors: the reason why the session cannot be replayed.
    pub fn evaluate(&self, input: &str) -> Result<BenchOutput, String> {
        self.with_bench(|bench| bench.evaluate(input))
    }

    fn with_bench<T>(&self, job: impl FnOnce(&mut Bench) -> T) -> Result<T, String> {
        let mut bench = self.bench.lock().unwrap_or_else(PoisonError::into_inner);
        let made = bench.get_or_insert_with(|| self.runtime.block_on(Bench::of(&self.session, &self.turn)));
        made.as_mut().map(job).map_err(|error| error.clone())
    }
}

/// Creates the context of a turn whose run has not run a program by then: only its data.
fn data_only(recording: &Arc<Recording>, turn: &Address) -> Result<ProgramContext, String> {
    let inputs = inputs_at(recording, turn).map_err(|error| error.to_string())?;
    let job = Job {
        source: String::new(),
        context: inputs.context.to_value(),
        memory: Memory::new(),
        history: Vec::new(),
        journal: None,
        budget: Value::Nil,
        tools: Vec::new(),
        dialect: Dialect::Auto,
        firewall: false,
        return_scope: ReturnScope::default(),
        limits: Limits::default(),
        timeout_ms: TIMEOUT_MS,
        compile_timeout_ms: TIMEOUT_MS,
        now_ms: recording.now_ms(turn).unwrap_or_default(),
    };
    Ok(ProgramContext::of_data(recording, turn, job))
}
