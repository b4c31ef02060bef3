//! What a run of mode `ptc_lisp` carries from turn to turn: memory, history, journal, plan, the latest good value.

use std::fmt::Write as _;

use ptc_core::lisp::Limits;
use ptc_core::lisp::ReturnScope;
use ptc_core::lisp::legacy::LAST_RESULT;
use ptc_core::lisp::{Input as Program, Memory, Outcome, Signal};
use ptc_core::reasons::Reason;
use ptc_core::value::{Bounds, Keyword, Map, Value};

use super::{checked, is_worth_keeping, plan_state, too_large};
use crate::agent::{Compaction, Completion, MemoryStrategy, Plan};
use crate::engine::compaction::{self, Digest};
use crate::engine::cycle::Cycle;
use crate::engine::edit::Edited;
use crate::engine::program::World;
use crate::engine::progress::{Done, Progress};
use crate::engine::{Answered, Halt, Input, checked_context};
use crate::event::{Address, ErrorRecord, MessagePart, TasksKept};
use crate::model::Reply;
use crate::prompt::ptc_lisp::Kept;
use crate::prompt::ptc_lisp::feedback::{Seen, TurnKind};
use crate::prompt::{self, Asked};

/// Results that programs can name: `*1`, `*2`, `*3`.
const HISTORY: usize = 3;

/// The state of the loop.
pub(in crate::engine) struct Work {
    pub(super) context: Value,
    pub(in crate::engine) memory: Memory,
    pub(super) journal: Option<Map>,
    pub(super) history: Vec<Value>,
    /// The whole last value, which `*1` may hold the start of.
    last_value: Option<Value>,
    pub(in crate::engine) summaries: Vec<(String, String)>,
    pub(super) last_fail: Option<ErrorRecord>,
    /// The latest value of a program that ended well, and its turn.
    pub(super) latest: Option<(u32, Value)>,
    /// The agent's own account of its progress.
    pub(in crate::engine) progress: Progress,
    /// Messages about missing refs that may still be sent.
    pub(super) ref_retries: u32,
    /// What a coalesced history shows.
    pub(in crate::engine) digest: Digest,
    /// What the model sees of what the last program gave.
    pub(in crate::engine) seen: Option<Seen>,
}

impl Work {
    /// The start of a run: initial memory evaluated, journal taken.
    pub(in crate::engine) fn begin(cycle: &Cycle<'_>, context: Value, input: &Input) -> Result<Self, Halt> {
        let carry = input.continues.as_ref().map(|(_, carry)| carry);
        let memory = match carry {
            Some(carry) => carry.memory.clone(),
            None => initial(cycle.plan).map_err(|message| Halt::fail(Reason::InvalidAgent, message))?,
        };
        let journal = carry.and_then(|carry| carry.journal.clone());
        let journal =
            journal.or_else(|| input.journal.clone()).or_else(|| cycle.plan.settings.journaling.then(Map::default));
        Ok(Self {
            context,
            memory,
            journal,
            history: Vec::new(),
            last_value: None,
            seen: None,
            summaries: Vec::new(),
            last_fail: None,
            latest: None,
            progress: Progress::default(),
            ref_retries: cycle.plan.settings.ref_retries,
            digest: Digest::showing(cycle.plan.settings.format.feedback_chars, cycle.plan.hides()),
        })
    }

    /// Takes the edits of the turn that begins: context and definitions are the edited ones from now on. Was there one?
    pub(in crate::engine) async fn take_edits(&mut self, cycle: &mut Cycle<'_>, at: &Address) -> Result<bool, Halt> {
        let Some(edited) = cycle.take_edits(at).await? else { return Ok(false) };
        self.take(cycle, at, edited).await.map(|()| true)
    }

    /// Takes these edits.
    pub(in crate::engine) async fn take(
        &mut self,
        cycle: &mut Cycle<'_>,
        at: &Address,
        edited: &Edited,
    ) -> Result<(), Halt> {
        self.context = checked_context(cycle, at, &edited.context).await?;
        let memory = defined(cycle.plan, self.memory.clone(), &edited.memory).map_err(|wrong| {
            Halt::fail(Reason::InvalidAgent, format!("the edit of memory.{}: {}", wrong.name, wrong.message))
        })?;
        if cycle.tell_memory(at, &self.memory, &memory).await? {
            return Err(Halt::Fail(too_large(cycle.plan)));
        }
        self.memory = memory;
        cycle.kept = Kept { memory: self.memory.clone(), journal: self.journal.clone(), ..Kept::default() };
        Ok(())
    }

    /// Asks the model, with a shortened history where the agent says so.
    pub(super) async fn ask(&mut self, cycle: &mut Cycle<'_>, at: &Address, asked: &Asked) -> Result<Reply, Halt> {
        match &cycle.plan.settings.compaction {
            Some(Compaction::Trim { .. }) => compaction::trimmed(cycle, at, asked).await,
            Some(Compaction::Coalesce { .. }) => compaction::coalesced(cycle, at, asked, self).await,
            None => cycle.ask(at, asked).await,
        }
    }

    /// What the program of this turn works on.
    pub(in crate::engine) fn world(&self, cycle: &Cycle<'_>, kind: TurnKind) -> World {
        let closed = kind != TurnKind::Normal && cycle.plan.settings.completion == Completion::Explicit;
        let why = || "no tools can be called in this turn: return the answer with what you have".to_owned();
        let tools = cycle.plan.program_tools();
        World {
            context: self.data(),
            memory: self.memory.clone(),
            history: self.history.clone(),
            journal: self.journal.clone(),
            budget: Self::budget(cycle),
            tools: tools.map(crate::tool::Tool::info).collect(),
            closed: closed.then(why),
            firewall: cycle.plan.hides(),
            return_scope: if cycle.plan.is_combined() { ReturnScope::Call } else { ReturnScope::Run },
        }
    }

    /// The context, with the failure of the turn before as `data/fail` and the whole value behind `*1` for older programs.
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

    /// `(budget/remaining)` of this turn (language contract §12.5).
    fn budget(cycle: &Cycle<'_>) -> Value {
        let int = |number: u64| Value::Int(i64::try_from(number).unwrap_or(i64::MAX));
        let entry = |name: &str, value: Value| (Value::Keyword(Keyword::intern(name)), value);
        let settings = &cycle.plan.settings;
        let used = cycle.totals.turns;
        let work = cycle.plan.agent.max_turns.saturating_sub(used);
        let retry = (cycle.plan.agent.max_turns + settings.retry_turns).saturating_sub(used).min(settings.retry_turns);
        let depth =
            Value::map(vec![entry("current", int(cycle.depth.into())), entry("max", int(cycle.max_depth().into()))]);
        let tokens = cycle.totals.tokens.unwrap_or_default();
        let spent = Value::map(vec![
            entry("input", int(tokens.input)),
            entry("output", int(tokens.output)),
            entry("total", int(tokens.total())),
            entry("cache-creation", int(tokens.cache_creation.unwrap_or_default())),
            entry("cache-read", int(tokens.cache_read.unwrap_or_default())),
        ]);
        Value::map(vec![
            entry("turns", int(cycle.tree_turns().into())),
            entry("work-turns", int(work.into())),
            entry("retry-turns", int(retry.into())),
            entry("depth", depth),
            entry("tokens", spent),
            entry("llm-requests", int(cycle.totals.requests.into())),
        ])
    }

    /// What a program did goes into the digest of the run, also when it broke.
    pub(in crate::engine) fn note(&mut self, program: &str, outcome: &Outcome) {
        self.digest.note(program, outcome);
        self.seen = None;
    }

    /// Takes what a program that ended well has kept. `Some` when it is too large: what happens then.
    pub(in crate::engine) async fn accept(
        &mut self,
        cycle: &mut Cycle<'_>,
        at: &Address,
        outcome: &Outcome,
    ) -> Result<Option<MemoryStrategy>, Halt> {
        if cycle.tell_memory(at, &self.memory, &outcome.memory).await? {
            return Ok(Some(cycle.plan.settings.memory_strategy));
        }
        self.memory.clone_from(&outcome.memory);
        self.tell_tasks(cycle, at, outcome.journal.as_ref()).await?;
        self.journal.clone_from(&outcome.journal);
        cycle.kept = Kept { memory: self.memory.clone(), journal: self.journal.clone(), ..Kept::default() };
        for (id, text) in &outcome.summaries {
            self.summaries.retain(|(known, _)| known != id);
            self.summaries.push((id.clone(), text.clone()));
        }
        if let Ok((Signal::Value, value)) = &outcome.result
            && is_worth_keeping(value)
        {
            self.latest = Some((cycle.totals.turns + 1, value.clone()));
        }
        Ok(None)
    }

    /// Tells what a program changed in the journal.
    async fn tell_tasks(&self, cycle: &Cycle<'_>, at: &Address, after: Option<&Map>) -> Result<(), Halt> {
        let before = self.journal.as_ref();
        let after: Vec<(&Value, &Value)> = after.into_iter().flat_map(Map::iter).collect();
        let shown = |value: &Value| crate::event::Kept::of(value.print(Bounds::default()).text);
        let id = |value: &Value| value.as_str().map_or_else(|| value.print(Bounds::default()).text, str::to_owned);
        let new = after.iter().filter(|(key, value)| before.and_then(|before| before.get(key)) != Some(*value));
        let set = new.map(|(key, value)| (id(key), shown(value))).collect();
        let old = before.into_iter().flat_map(Map::iter);
        let del = old.filter(|(key, _)| !after.iter().any(|(known, _)| known == key)).map(|(key, _)| id(key)).collect();
        let change = TasksKept { set, del };
        if change != TasksKept::default() {
            cycle.emit(at, change).await?;
        }
        Ok(())
    }

    /// Tells the checklist.
    pub(super) async fn tell_plan(&self, cycle: &Cycle<'_>, at: &Address) -> Result<(), Halt> {
        if !cycle.plan.settings.plan.is_empty() || !self.summaries.is_empty() {
            cycle.emit(at, plan_state(cycle.plan, &self.summaries)).await?;
        }
        Ok(())
    }

    /// The part of a message that says how far the run is, when `turn` is the next one.
    pub(super) async fn tell_progress(
        &mut self,
        cycle: &mut Cycle<'_>,
        at: &Address,
        turn: u32,
    ) -> Result<Option<MessagePart>, Halt> {
        let done = Done { turn, summaries: &self.summaries, calls: &self.digest.calls };
        if let Some(warning) = self.progress.tell(cycle.plan, &done) {
            cycle.notice(at, warning).await?;
        }
        Ok(prompt::ptc_lisp::progress(cycle.plan, &self.summaries, self.progress.text.as_deref()))
    }

    /// The value becomes `*1`.
    pub(in crate::engine) fn remember(&mut self, cycle: &Cycle<'_>, value: &Value) {
        self.last_value = Some(value.clone());
        self.history.push(shortened(value, cycle.plan.settings.format.history_bytes));
        if self.history.len() > HISTORY {
            self.history.remove(0);
        }
    }

    /// The latest good value as the answer, when it fits.
    pub(super) fn fallback(&self, cycle: &Cycle<'_>) -> Option<Answered> {
        let (turn, value) = self.latest.as_ref()?;
        let (answer, _) = checked(cycle.plan, value);
        answer.map(|value| Answered { value, from_turn: Some(*turn), ..Answered::default() })
    }
}

/// `[memory]` of the agent file: expressions that are evaluated in order, each sees those before it.
pub(super) fn initial(plan: &Plan) -> Result<Memory, String> {
    defined(plan, Memory::new(), &plan.settings.memory)
        .map_err(|wrong| format!("[memory] cannot be evaluated: {}", wrong.message))
}

/// A definition that has no value.
struct Undefined {
    name: String,
    message: String,
}

/// These definitions over what is known.
fn defined(plan: &Plan, memory: Memory, definitions: &[(String, String)]) -> Result<Memory, Undefined> {
    let mut source = String::new();
    let mut ends = Vec::new();
    for (name, expression) in definitions {
        _ = writeln!(source, "(def {name} {expression})");
        ends.push(source.len());
    }
    if source.is_empty() {
        return Ok(memory);
    }
    let limits = Limits::default();
    let stop = std::sync::atomic::AtomicBool::new(false);
    let setting = crate::program::Setting {
        tools: &crate::program::NoTools,
        timeout_ms: plan.settings.program_timeout_ms,
        compile_timeout_ms: plan.settings.program_timeout_ms,
        now_ms: 0,
        stop: &stop,
    };
    let outcome = crate::program::run(&Program { memory: &memory, ..Program::new(&source, &limits) }, &setting);
    outcome.result.map(|_| outcome.memory).map_err(|error| {
        let start = error.span.map_or(0, |span| span.start);
        let place = ends.iter().position(|end| start < *end).unwrap_or_default();
        let name = definitions.get(place).map(|(name, _)| name.clone()).unwrap_or_default();
        Undefined { name, message: error.message() }
    })
}

/// A copy whose text has at most so many bytes: the first items of a list, the first entries of a map, the start of a string.
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
