//! Trying things on a turn: values of its forms, and programs on its definitions and data, all in a copy.
//!
//! In: a session and a turn. Out: values and texts. The session's replay gives what the turn worked on; tools answer from the recording or not
//! at all; limits are on. It must never write to the session.

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

/// Milliseconds a program may compute here.
const TIMEOUT_MS: u64 = 1_000;
/// Characters that one print shows here.
const PRINT_CHARS: u64 = 4_000;
/// Results that programs can name: `*1`, `*2`, `*3`.
const HISTORY: usize = 3;
/// Columns that results are laid out for, and items of a collection that are shown.
const COLUMNS: usize = 76;
const ITEMS: usize = 200;

/// What a turn worked on and left, in a copy.
#[derive(Debug, Clone)]
pub struct Bench {
    /// With the program; `None` when the turn ran none.
    before: Option<(ProgramContext, Outcome)>,
    after: ProgramContext,
    memory: Memory,
    history: Vec<Value>,
}

/// The output of an input on a [`Bench`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BenchOutput {
    /// Prints, then the value or what was wrong.
    pub lines: Vec<Line>,
}

impl Bench {
    /// The bench of a turn. Replays the session up to it.
    ///
    /// Errors: why the session cannot be replayed that far.
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

    /// What the form at this byte of the turn's program gives; `None` where there is no form, or the turn ran no program. Blocks.
    pub fn probe(&self, at: usize) -> Option<Probe> {
        let (place, outcome) = self.before.as_ref()?;
        let stop = AtomicBool::new(false);
        probe(&place.job.source, at, outcome, |source| place.run_instead(source, &stop))
    }

    /// Names that an input can use: definitions, then data.
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

    /// The whole value of a name after the turn, as PTC-Lisp text; `None` where the name is not defined.
    pub fn value_of(&self, name: &str) -> Option<String> {
        let binding = self.after.job.memory.iter().find(|(known, _)| known.name() == name)?.1;
        Some(binding.value.print(Bounds::default()).text)
    }

    /// Runs an input on what the turn left; definitions and results stay for the next one. Blocks.
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
                lines.extend(Line::error(error.reason.name(), &error.message(), error.hint.as_deref()));
            }
        }
        BenchOutput { lines }
    }
}

/// The bench of a turn, made by replaying its session when it is first used. All methods block.
#[derive(Debug)]
pub struct LazyBench {
    session: Session,
    turn: Address,
    bench: Mutex<Option<Result<Bench, String>>>,
    runtime: Handle,
}

impl LazyBench {
    /// The bench of a turn of this session. Must be called inside of the runtime.
    pub fn new(session: Session, turn: Address) -> Self {
        Self { session, turn, bench: Mutex::new(None), runtime: Handle::current() }
    }

    /// The value of the form at this byte of the turn's program, as [`Bench::probe`] finds it.
    ///
    /// Errors: why the session cannot be replayed.
    pub fn probe(&self, at: usize) -> Result<Option<Probe>, String> {
        self.with_bench(|bench| bench.probe(at))
    }

    /// The whole value of a name, as [`Bench::value_of`] finds it.
    ///
    /// Errors: why the session cannot be replayed; the name is not defined.
    pub fn value_of(&self, name: &str) -> Result<String, String> {
        let found = self.with_bench(|bench| bench.value_of(name))?;
        found.ok_or_else(|| format!("{name} is not defined after this turn when its session is replayed"))
    }

    /// Runs an input on what the turn left, as [`Bench::evaluate`] does.
    ///
    /// Errors: why the session cannot be replayed.
    pub fn evaluate(&self, input: &str) -> Result<BenchOutput, String> {
        self.with_bench(|bench| bench.evaluate(input))
    }

    fn with_bench<T>(&self, job: impl FnOnce(&mut Bench) -> T) -> Result<T, String> {
        let mut bench = self.bench.lock().unwrap_or_else(PoisonError::into_inner);
        let made = bench.get_or_insert_with(|| self.runtime.block_on(Bench::of(&self.session, &self.turn)));
        made.as_mut().map(job).map_err(|error| error.clone())
    }
}

/// The workplace of a turn whose run has run no program by then: its data.
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
