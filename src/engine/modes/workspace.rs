//! The state of programs from turn to turn: data, definitions, results, the journal, the notes of the plan.
//!
//! In: the inputs of a run, programs and their outcomes. Out: the next program with everything it gets, and the events of what changed.

use std::fmt::Write as _;

use ptc_core::limits::COMPILE_TIMEOUT;
use ptc_core::lisp::Limits;
use ptc_core::lisp::ReturnScope;
use ptc_core::lisp::legacy::LAST_RESULT;
use ptc_core::lisp::{self, Error, Memory, Outcome, Signal};
use ptc_core::reasons::Reason;
use ptc_core::value::{Bounds, Keyword, Kind, Map, Value};

use super::decision::{Effects, Messages, ProgramRun, View};
use super::digest::Digest;
use super::machine::RunInputs;
use crate::agent::{Completion, MemoryStrategy, Plan, definition_error};
use crate::event::{ErrorRecord, MemoryChange, MessagePart, TasksKept, TextRecord};
use crate::program::Job;
use crate::prompt::ptc_lisp::CarriedState;
use crate::prompt::ptc_lisp::feedback::{Shown, coalesced};
use crate::prompt::ptc_lisp::feedback::{TurnBudget, TurnKind, VisibleResults};
use crate::tool::Tool;

/// Results that programs can name: `*1`, `*2`, `*3`.
const HISTORY: usize = 3;

/// The state between programs.
#[derive(Debug)]
pub(super) struct Workspace {
    pub(super) context: Value,
    pub(super) memory: Memory,
    pub(super) journal: Option<Map>,
    history: Vec<Value>,
    /// The whole last value, which `*1` may hold the start of.
    last_value: Option<Value>,
    /// Notes of finished items: id and text.
    pub(super) summaries: Vec<(String, String)>,
    /// The failure of the turn before.
    pub(super) last_fail: Option<ErrorRecord>,
    /// The latest value of a program that ended well, and its turn.
    pub(super) latest: Option<(u32, Value)>,
    pub(super) digest: Digest,
    /// The part of the last program's results that the model sees.
    pub(super) seen: Option<VisibleResults>,
    /// The state for a run that continues this one.
    pub(super) carried: CarriedState,
    /// The definitions that are evaluated now.
    pending: Option<Definitions>,
    /// The initial definitions were made.
    is_ready: bool,
}

impl Workspace {
    /// Before the first turn. `memory`: the definitions of the run that this one continues.
    pub(super) fn new(memory: Memory, journal: Option<Map>) -> Self {
        Self {
            context: Value::Nil,
            memory,
            journal,
            history: Vec::new(),
            last_value: None,
            summaries: Vec::new(),
            last_fail: None,
            latest: None,
            digest: Digest::default(),
            seen: None,
            carried: CarriedState::default(),
            pending: None,
            is_ready: false,
        }
    }

    /// Takes the data of the run and returns the program that evaluates its definitions, when there are any.
    ///
    /// Errors: the definitions are too large.
    pub(super) fn take(
        &mut self,
        plan: &Plan,
        inputs: RunInputs,
        effects: &mut Effects,
    ) -> Result<Option<Job>, ErrorRecord> {
        self.context = inputs.context;
        // They become one program: a text that is not one expression could define more than its name.
        let unreadable = inputs.memory.iter().find_map(|(name, text)| Some((name, definition_error(name, text)?)));
        if let Some((name, problem)) = unreadable {
            return Err(self.unusable(name, &problem));
        }
        let (definitions, job) = Definitions::of(plan, self.memory.clone(), inputs.memory);
        if job.is_none() {
            self.define(plan, self.memory.clone(), effects)?;
        } else {
            self.pending = Some(definitions);
        }
        Ok(job)
    }

    /// Takes the outcome of the definitions, when they are what was evaluated.
    ///
    /// Errors: one of them has no value, or they are too large.
    pub(super) fn on_evaluated(
        &mut self,
        plan: &Plan,
        outcome: Outcome,
        effects: &mut Effects,
    ) -> Result<(), ErrorRecord> {
        match outcome.result {
            Ok((Signal::Value, _)) => self.define(plan, outcome.memory, effects),
            Ok((Signal::Return | Signal::Fail, _)) => {
                let is_unknown = |found: &&Definition| outcome.memory.keys().all(|name| name.name() != found.name);
                let pending = self.pending.iter().flat_map(|pending| &pending.0);
                let name = pending.into_iter().find(is_unknown).map(|found| found.name.clone()).unwrap_or_default();
                Err(self.unusable(&name, "`return` and `fail` end programs of the model, and have no meaning here"))
            }
            Err(error) => Err(ErrorRecord::new(Reason::InvalidAgent, self.wrong_definition(error))),
        }
    }

    /// The failure of a run with a definition that cannot be used.
    fn unusable(&self, name: &str, problem: &str) -> ErrorRecord {
        let message = if self.is_ready {
            format!("the edit of memory.{name}: {problem}")
        } else {
            format!("[memory] `{name}` cannot be evaluated: {problem}")
        };
        ErrorRecord::new(Reason::InvalidAgent, message)
    }

    /// The message for a definition that has no value: its name, and the error with positions in its own text.
    fn wrong_definition(&self, error: Error) -> String {
        let pending = self.pending.as_ref();
        let found = error.span.and_then(|span| pending?.at(span.start));
        let alone = found.and_then(|found| lisp::read(&found.expression, lisp::Budget::default()).err());
        let message = alone.unwrap_or(error).message();
        match found {
            Some(Definition { name, .. }) if !self.is_ready => {
                format!("[memory] `{name}` cannot be evaluated: {message}")
            }
            None if !self.is_ready => format!("[memory] cannot be evaluated: {message}"),
            found => {
                let found = found.or_else(|| pending?.at(0));
                let name = found.map_or("", |found| found.name.as_str());
                format!("the edit of memory.{name}: {message}")
            }
        }
    }

    /// Returns whether definitions are evaluated now.
    pub(super) fn is_pending(&self) -> bool {
        self.pending.is_some()
    }

    /// These are the definitions from now on. The initial ones are not a change.
    fn define(&mut self, plan: &Plan, memory: Memory, effects: &mut Effects) -> Result<(), ErrorRecord> {
        self.pending = None;
        if !std::mem::replace(&mut self.is_ready, true) {
            self.memory = memory;
            return Ok(());
        }
        if record_change(plan, &self.memory, &memory, effects) {
            return Err(too_large(plan));
        }
        self.memory = memory;
        self.keep();
        Ok(())
    }

    fn keep(&mut self) {
        self.carried =
            CarriedState { memory: self.memory.clone(), journal: self.journal.clone(), ..CarriedState::default() };
    }

    /// A program with everything it gets in a turn of this kind.
    pub(super) fn program(&self, view: &View<'_>, source: &str, kind: TurnKind) -> ProgramRun {
        let settings = &view.plan.settings;
        let is_closed = kind != TurnKind::Normal && settings.completion == Completion::Explicit;
        let closed =
            is_closed.then(|| "no tools can be called in this turn: return the answer with what you have".to_owned());
        let limits = Limits {
            memory_bytes: settings.program_memory_bytes,
            loop_jumps: settings.loop_limit,
            print_chars: settings.format.print_chars,
            parallel_workers: settings.pmap_workers,
            parallel_timeout_ms: settings.pmap_timeout_ms,
            tool_calls: settings.program_tool_calls,
            ..Limits::default()
        };
        let job = Job {
            source: source.to_owned(),
            context: self.data(),
            memory: self.memory.clone(),
            history: self.history.clone(),
            journal: self.journal.clone(),
            budget: budget(view),
            tools: view.plan.program_tools().map(Tool::info).collect(),
            dialect: settings.dialect,
            firewall: view.plan.hides(),
            return_scope: if view.plan.is_combined() { ReturnScope::Call } else { ReturnScope::Run },
            limits,
            timeout_ms: settings.program_timeout_ms,
            compile_timeout_ms: COMPILE_TIMEOUT.default.unwrap_or(COMPILE_TIMEOUT.max),
            now_ms: view.now_ms,
        };
        ProgramRun { job, closed }
    }

    /// The context, with the failure of the turn before as `data/fail`, and for older programs the whole value of `*1`.
    fn data(&self) -> Value {
        let Value::Map(map) = &self.context else { return self.context.clone() };
        let last = self.last_value.clone().filter(|_| self.context.lookup(LAST_RESULT).is_none());
        if self.last_fail.is_none() && last.is_none() {
            return self.context.clone();
        }
        let mut entries: Vec<(Value, Value)> = map.iter().map(|(key, value)| (key.clone(), value.clone())).collect();
        entries.extend(last.map(|value| (Value::str(LAST_RESULT), value)));
        if let Some(record) = &self.last_fail {
            let mut fail = vec![
                (Value::str("reason"), Value::str(record.reason.as_str())),
                (Value::str("message"), Value::str(record.message.as_str())),
            ];
            fail.extend(record.details.as_ref().map(|details| (Value::str("details"), details.value())));
            entries.push((Value::str("fail"), Value::map(fail)));
        }
        Value::map(entries)
    }

    /// Adds the outcome of a program, also of a failed one.
    pub(super) fn add(&mut self, plan: &Plan, program: &str, outcome: &Outcome) {
        self.digest.add(plan, program, outcome);
        self.seen = None;
    }

    /// Stores the definitions of a successful program. `Some`: they are too large, with the consequence.
    pub(super) fn accept(
        &mut self,
        view: &View<'_>,
        outcome: &Outcome,
        effects: &mut Effects,
    ) -> Option<MemoryStrategy> {
        if record_change(view.plan, &self.memory, &outcome.memory, effects) {
            return Some(view.plan.settings.memory_strategy);
        }
        self.memory.clone_from(&outcome.memory);
        let tasks = tasks_change(self.journal.as_ref(), outcome.journal.as_ref());
        if tasks != TasksKept::default() {
            effects.emit(tasks);
        }
        self.journal.clone_from(&outcome.journal);
        self.keep();
        for (id, text) in &outcome.summaries {
            self.summaries.retain(|(known, _)| known != id);
            self.summaries.push((id.clone(), text.clone()));
        }
        if let Ok((Signal::Value, value)) = &outcome.result
            && !matches!(value.kind(), Kind::Nil | Kind::Var)
        {
            self.latest = Some((view.used + 1, value.clone()));
        }
        None
    }

    /// The value becomes `*1`.
    pub(super) fn remember(&mut self, plan: &Plan, value: &Value) {
        self.last_value = Some(value.clone());
        self.history.push(shortened(value, plan.settings.format.history_bytes));
        if self.history.len() > HISTORY {
            self.history.remove(0);
        }
    }
}

impl Workspace {
    /// The one message in place of the history: the parts of the opening, and the last `prints` and `calls` of what was done.
    pub(super) fn summary(
        &self,
        plan: &Plan,
        opening: &[MessagePart],
        progress: Option<&str>,
        budget: TurnBudget,
        (prints, calls): (usize, usize),
    ) -> Messages {
        let digest = &self.digest;
        let shown = Shown {
            calls: &digest.calls[digest.calls.len().saturating_sub(calls)..],
            prints: &digest.prints[digest.prints.len().saturating_sub(prints)..],
            failed: digest.last.as_ref().and_then(|(program, wrong)| Some((program.as_str(), wrong.as_deref()?))),
            memory: &self.memory,
            summaries: &self.summaries,
            progress,
        };
        let (all_calls, all_prints) = (digest.calls.len() as u64, digest.prints.len() as u64);
        let (shown_calls, shown_prints) = (shown.calls.len() as u64, shown.prints.len() as u64);
        let counts = [
            ("turns_compressed", u64::from(budget.used)),
            ("tool_calls_total", all_calls),
            ("tool_calls_shown", shown_calls),
            ("tool_calls_dropped", all_calls - shown_calls),
            ("printlns_total", all_prints),
            ("printlns_shown", shown_prints),
            ("printlns_dropped", all_prints - shown_prints),
            ("error_turns_collapsed", u64::from(digest.failed)),
        ];
        let counts = counts.map(|(name, count)| (name.to_owned(), count)).to_vec();
        Messages::Summary { parts: coalesced(plan, opening, &shown, budget), counts }
    }
}

/// Definitions that are evaluated in order: each sees those before it.
#[derive(Debug)]
struct Definitions(Vec<Definition>);

/// A definition that is evaluated.
#[derive(Debug)]
struct Definition {
    name: String,
    /// Its expression as it is written.
    expression: String,
    /// The end of its form in the program.
    end: usize,
}

impl Definitions {
    /// The program that defines them over what is known; none without definitions.
    fn of(plan: &Plan, memory: Memory, definitions: Vec<(String, String)>) -> (Self, Option<Job>) {
        let mut source = String::new();
        let mut list = Vec::new();
        for (name, expression) in definitions {
            _ = writeln!(source, "(def {name} {expression})");
            list.push(Definition { name, expression, end: source.len() });
        }
        let timeout_ms = plan.settings.program_timeout_ms;
        let job = || Job { memory, timeout_ms, compile_timeout_ms: timeout_ms, ..Job::alone(source.as_str()) };
        let job = (!list.is_empty()).then(job);
        (Self(list), job)
    }

    /// The definition whose form holds this byte.
    fn at(&self, start: usize) -> Option<&Definition> {
        self.0.iter().find(|definition| start < definition.end)
    }
}

/// Records the definitions; true if they exceed `memory_bytes` and are dropped.
fn record_change(plan: &Plan, before: &Memory, after: &Memory, effects: &mut Effects) -> bool {
    let mut change = MemoryChange::default();
    for (name, binding) in after {
        let shown = binding.value.print(Bounds::default()).text;
        change.bytes += (name.name().len() + shown.len()) as u64;
        if before.get(name) != Some(binding) {
            change.set.push((name.name().to_owned(), TextRecord::of(shown)));
        }
    }
    change.del = before.keys().filter(|name| !after.contains_key(*name)).map(|name| name.name().to_owned()).collect();
    change.set.sort_by(|one, other| one.0.cmp(&other.0));
    change.del.sort();
    let rolled_back = change.bytes > plan.settings.memory_bytes;
    change.rolled_back = rolled_back;
    if !change.set.is_empty() || !change.del.is_empty() {
        effects.emit(change);
    }
    rolled_back
}

/// Returns the changes of a program to the journal.
fn tasks_change(before: Option<&Map>, after: Option<&Map>) -> TasksKept {
    let after: Vec<(&Value, &Value)> = after.into_iter().flat_map(Map::iter).collect();
    let shown = |value: &Value| TextRecord::of(value.print(Bounds::default()).text);
    let id = |value: &Value| value.as_str().map_or_else(|| value.print(Bounds::default()).text, str::to_owned);
    let new = after.iter().filter(|(key, value)| before.and_then(|before| before.get(key)) != Some(*value));
    let set = new.map(|(key, value)| (id(key), shown(value))).collect();
    let old = before.into_iter().flat_map(Map::iter);
    let del = old.filter(|(key, _)| !after.iter().any(|(known, _)| known == key)).map(|(key, _)| id(key)).collect();
    TasksKept { set, del }
}

/// The failure of a program that defined too much.
pub(super) fn too_large(plan: &Plan) -> ErrorRecord {
    let limit = plan.settings.memory_bytes;
    let message =
        format!("the definitions are larger than memory_bytes = {limit}; the changes of this program were dropped");
    ErrorRecord::new(Reason::MemoryLimitExceeded, message)
}

/// `(budget/remaining)` of this turn.
fn budget(view: &View<'_>) -> Value {
    let int = |number: u64| Value::Int(i64::try_from(number).unwrap_or(i64::MAX));
    let entry = |name: &str, value: Value| (Value::Keyword(Keyword::intern(name)), value);
    let (work, retry) = (view.plan.agent.max_turns, view.plan.settings.retry_turns);
    let work_left = work.saturating_sub(view.used);
    let retry_left = (work + retry).saturating_sub(view.used).min(retry);
    let depth = Value::map(vec![entry("current", int(view.depth.into())), entry("max", int(view.max_depth.into()))]);
    let tokens = view.tokens;
    let spent = Value::map(vec![
        entry("input", int(tokens.input)),
        entry("output", int(tokens.output)),
        entry("total", int(tokens.total())),
        entry("cache-creation", int(tokens.cache_creation.unwrap_or_default())),
        entry("cache-read", int(tokens.cache_read.unwrap_or_default())),
    ]);
    Value::map(vec![
        entry("turns", int(view.tree.into())),
        entry("work-turns", int(work_left.into())),
        entry("retry-turns", int(retry_left.into())),
        entry("depth", depth),
        entry("tokens", spent),
        entry("llm-requests", int(view.requests.into())),
    ])
}

/// A copy whose text has at most `bytes` bytes: the first items of a list, the first entries of a map, the start of a string.
fn shortened(value: &Value, bytes: usize) -> Value {
    let length = |value: &Value| value.print(Bounds::default()).text.len();
    if length(value) <= bytes {
        return value.clone();
    }
    let mut left = bytes;
    let mut fits = |item: &Value| {
        let size = length(item) + 1;
        let ok = size <= left;
        left = left.saturating_sub(size);
        ok
    };
    match value {
        Value::Map(map) => {
            let kept = map.iter().take_while(|(key, item)| fits(key) && fits(item));
            Value::map(kept.map(|(key, item)| (key.clone(), item.clone())).collect::<Vec<_>>())
        }
        _ => match (value.as_list(), value.as_str()) {
            (Some(items), _) => Value::list(items.iter().take_while(|item| fits(item)).cloned().collect::<Vec<_>>()),
            (_, Some(text)) => {
                let mut end = bytes.min(text.len());
                while !text.is_char_boundary(end) {
                    end -= 1;
                }
                Value::str(&text[..end])
            }
            _ => value.clone(),
        },
    }
}
