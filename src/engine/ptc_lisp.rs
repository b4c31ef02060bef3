//! Mode `ptc_lisp`: the model writes programs; they are run, and what they gave goes back, until one returns.
//!
//! In: replies with a program. Out: the returned value, checked. Source: agent contract §4–6, 9, 11, 21, 25 and the settled decisions.

mod turn;
mod work;

use ptc_core::lisp::{Outcome, Signal, boundary};
use ptc_core::reasons::Reason;
use ptc_core::signature::{self, Issue, Type};
use ptc_core::value::{Json, Kind, Value};

use super::cycle::{Cycle, used_up};
use super::json::{issue_record, judge, withheld};
use super::program::{failed, record};
use super::progress::Progress;
use super::{Answered, Halt, Input, inputs, refs};
use crate::agent::{Completion, MemoryStrategy, Plan, Transport};
use crate::event::{Address, Check, ErrorRecord, MessagePart, Notice, PlanState, Role, Source};
use crate::model::Reply;
use crate::prompt::json::Opening;
use crate::prompt::ptc_lisp::feedback::{self, Standing, TurnKind};
use crate::prompt::ptc_lisp::{self as prompt, Kept};
use turn::Found;
pub(super) use turn::{
    argument, call_result, ends_by_words, program_in, program_of, refusal, told_call, written, written_out,
};
pub(super) use work::Work;

/// The whole run.
pub(super) async fn run(cycle: &mut Cycle<'_>, input: &Input) -> Result<Answered, Halt> {
    let context = inputs(cycle, input).await?;
    let mut work = Work::begin(cycle, context, input)?;
    let mut said = opening(cycle, &mut work, input)?;
    let mut at = begin(cycle).await?;
    let is_short = cycle.tree_turns() < cycle.plan.settings.turn_budget;
    if work.take_edits(cycle, &at).await? || is_short {
        said = opening(cycle, &mut work, input)?;
    }
    cycle.open(&at, input, said).await?;
    loop {
        match one_turn(cycle, &mut work, &at).await? {
            Some(answer) => return Ok(answer),
            None => at = begin(cycle).await?,
        }
        if work.take_edits(cycle, &at).await? {
            let said = opening(cycle, &mut work, input)?;
            cycle.open_anew(&at, said).await?;
        }
    }
}

/// What the run opens with as things stand.
fn opening(cycle: &Cycle<'_>, work: &mut Work, input: &Input) -> Result<Opening, Halt> {
    let mut warning = None;
    if cycle.totals.turns == 0 {
        (work.progress, warning) = Progress::begin(cycle.plan);
    }
    let progress = work.progress.text.clone();
    let tree_turns = cycle.first_tree_turns();
    let kept = Kept { memory: work.memory.clone(), journal: work.journal.clone(), progress, tree_turns };
    let opened = prompt::open(cycle.plan, &work.context, &input.descriptions, &kept);
    let mut opening = opened.map_err(|error| Halt::fail(Reason::TemplateError, error.to_string()))?;
    opening.warnings.extend(warning);
    Ok(opening)
}

/// The next turn. Used-up turns were dealt with when the last one ended.
async fn begin(cycle: &mut Cycle<'_>) -> Result<Address, Halt> {
    let kind = standing(cycle).next().unwrap_or(TurnKind::Retry);
    cycle.begin_turn_as(kind.name()).await
}

/// Where the run stands when a turn begins.
pub(super) fn standing(cycle: &Cycle<'_>) -> Standing {
    Standing { used: cycle.totals.turns, tree: cycle.tree_turns(), ..first(cycle.plan) }
}

/// The same before the first turn.
fn first(plan: &Plan) -> Standing {
    Standing { used: 0, work: plan.agent.max_turns, retry: plan.settings.retry_turns, tree: plan.settings.turn_budget }
}

/// What a run of this plan starts with.
pub(super) fn start(plan: &Plan) -> Kept {
    let (progress, _) = Progress::begin(plan);
    Kept { memory: work::initial(plan).unwrap_or_default(), progress: progress.text, ..Kept::default() }
}

/// May the program of the first turn call tools?
pub(super) fn opens_with_tools(plan: &Plan) -> bool {
    may_call(plan, first(plan).next().unwrap_or(TurnKind::Retry))
}

/// Are tools told in a turn of this kind? The last work turn and the turns for corrections are for returning.
fn may_call(plan: &Plan, kind: TurnKind) -> bool {
    kind == TurnKind::Normal || plan.agent.max_turns == 1
}

/// What a turn came to.
enum Verdict {
    /// The run has its answer.
    Done(Answered),
    /// The run has failed.
    Over(ErrorRecord),
    /// Go on: why the turn was no success, if it was none, and what goes back.
    Next(Option<ErrorRecord>, Vec<MessagePart>),
}

async fn one_turn(cycle: &mut Cycle<'_>, work: &mut Work, at: &Address) -> Result<Option<Answered>, Halt> {
    let kind = standing(cycle).next().unwrap_or(TurnKind::Retry);
    let asked = prompt::asked(cycle.plan, may_call(cycle.plan, kind));
    let reply = work.ask(cycle, at, &asked).await?;
    if let Some(record) = withheld(&reply) {
        cycle.end_turn(at, reply.usage, Some(&record.reason)).await?;
        return Err(Halt::Fail(record));
    }
    if let Err(halt) = cycle.within_budget(at, &reply).await {
        return partial(cycle, work, halt).map(Some);
    }
    let found = turn::find(cycle, at, &reply).await?;
    let (said, verdict) = match found {
        Found::Program { text, said } => {
            let verdict = execute(cycle, work, at, kind, &text).await?;
            (said, verdict)
        }
        Found::Answer(_) if is_native(cycle.plan) => {
            (vec![MessagePart::Reply { reply: at.clone() }], in_words(cycle, at, &reply).await?)
        }
        Found::Answer(text) => (vec![MessagePart::Reply { reply: at.clone() }], answered(cycle, work, text).await?),
        Found::Nothing { record, said } if cycle.plan.is_single() => (said, Verdict::Over(turn::at_the_end(record))),
        Found::Nothing { record, said } => {
            let parts = feedback::error(cycle.plan, &record.reason, &record.message, None);
            (said, Verdict::Next(Some(record), parts))
        }
    };
    let (failure, parts) = match verdict {
        Verdict::Done(answer) => {
            cycle.end_turn(at, reply.usage, None).await?;
            return Ok(Some(answer));
        }
        Verdict::Over(record) => {
            cycle.end_turn(at, reply.usage, Some(&record.reason)).await?;
            return Err(Halt::Fail(record));
        }
        Verdict::Next(failure, parts) => (failure, parts),
    };
    work.last_fail.clone_from(&failure);
    let used = cycle.totals.turns + 1;
    let after = Standing { used, tree: cycle.tree_turns_behind(), ..standing(cycle) };
    if after.next().is_none() {
        return exhausted(cycle, work, at, reply.usage, failure).await.map(Some);
    }
    cycle.say(at, Role::Assistant, Source::Reply, said).await?;
    let mut parts = parts;
    parts.push(turn::line(feedback::turn_line(cycle.plan, after)));
    parts.extend(work.tell_progress(cycle, at, used + 1).await?);
    turn::give_back(cycle, at, &reply, work, failure.as_ref(), parts).await?;
    cycle.end_turn(at, reply.usage, failure.as_ref().map(|record| record.reason.as_str())).await?;
    match cycle.check_budget(None) {
        Ok(()) => Ok(None),
        Err(halt) => partial(cycle, work, halt).map(Some),
    }
}

/// What a run gives whose budget is used up: the latest good value where the agent asks for it, else the failure.
fn partial(cycle: &Cycle<'_>, work: &Work, halt: Halt) -> Result<Answered, Halt> {
    match halt {
        Halt::Fail(_) if cycle.plan.settings.return_partial => work.fallback(cycle).ok_or(halt),
        halt => Err(halt),
    }
}

/// Runs the program and says what follows.
async fn execute(
    cycle: &mut Cycle<'_>,
    work: &mut Work,
    at: &Address,
    kind: TurnKind,
    program: &str,
) -> Result<Verdict, Halt> {
    let world = work.world(cycle, kind);
    let outcome = cycle.run_program(at, program, &world).await?;
    work.note(program, &outcome);
    let (signal, value) = match &outcome.result {
        Ok((signal, value)) => (*signal, value.clone()),
        Err(error) => {
            let parts =
                feedback::error(cycle.plan, error.reason.name(), &error.message(), error.span.map(|s| (program, s)));
            let failure = record(error);
            if cycle.plan.is_single() {
                return Ok(Verdict::Over(of_pinned(cycle.plan, failure)));
            }
            return Ok(Verdict::Next(Some(failure), parts));
        }
    };
    match signal {
        Signal::Fail => {
            work.accept(cycle, at, &outcome).await?;
            Ok(Verdict::Over(failed(cycle.plan, &value)))
        }
        Signal::Return => returned(cycle, work, at, &outcome, value).await,
        Signal::Value if cycle.plan.is_single() => returned(cycle, work, at, &outcome, value).await,
        Signal::Value => continued(cycle, work, at, &outcome, value).await,
    }
}

/// A value that is to be the answer.
async fn returned(
    cycle: &mut Cycle<'_>,
    work: &mut Work,
    at: &Address,
    outcome: &Outcome,
    value: Value,
) -> Result<Verdict, Halt> {
    let (answer, issues) = checked(cycle.plan, &value);
    let ok = answer.is_some();
    if cycle.plan.signature.output.is_some() || !issues.is_empty() {
        let issues = issues.iter().map(issue_record).collect();
        cycle.emit(at, Check { layer: "return".to_owned(), ok, issues }).await?;
    }
    let Some(answer) = answer else {
        let message = super::answer::joined(&issues);
        let record = ErrorRecord::new(Reason::ReturnValidationFailed, message);
        if cycle.plan.is_single() {
            return Ok(Verdict::Over(of_pinned(cycle.plan, record)));
        }
        return Ok(Verdict::Next(Some(record), feedback::invalid(cycle.plan, &value, &issues)));
    };
    if work.accept(cycle, at, outcome).await?.is_some_and(|over| over == MemoryStrategy::Strict) {
        return Ok(Verdict::Over(too_large(cycle.plan)));
    }
    for text in losses(cycle.plan, &value) {
        cycle.emit(at, Notice { level: "info".to_owned(), text }).await?;
    }
    work.tell_plan(cycle, at).await?;
    with_refs(cycle, work, answer, None).await
}

/// Decimals behind which a number differs by the noise of its computation only: 36.900000000000006 is no news.
const NOISE_PLACES: u32 = 9;

/// What an answer loses on its way out: entries whose keys become one (language contract §13), decimals (decisions C7).
fn losses(plan: &Plan, value: &Value) -> Vec<String> {
    let (value, mut losses) = boundary::externalize(value);
    let places = plan.settings.float_precision;
    if boundary::rounded(&value, places) != boundary::rounded(&value, places.max(NOISE_PLACES)) {
        losses.push(format!("numbers of the answer were rounded to {places} decimals (float_precision)"));
    }
    losses
}

/// An answer that fits, once its refs are there. `summary`: the text beside it.
async fn with_refs(cycle: &Cycle<'_>, work: &mut Work, value: Json, summary: Option<String>) -> Result<Verdict, Halt> {
    Ok(match refs::extract(cycle, &value, &mut work.ref_retries).await? {
        refs::Found::All(refs) => Verdict::Done(Answered { value, summary, refs, from_turn: None }),
        refs::Found::Missing { record, parts: Some(parts) } => Verdict::Next(Some(record), parts),
        refs::Found::Missing { record, parts: None } => Verdict::Over(record),
    })
}

/// A value that is not the end.
async fn continued(
    cycle: &mut Cycle<'_>,
    work: &mut Work,
    at: &Address,
    outcome: &Outcome,
    value: Value,
) -> Result<Verdict, Halt> {
    let before = work.memory.clone();
    let over = work.accept(cycle, at, outcome).await?;
    if over == Some(MemoryStrategy::Strict) {
        return Ok(Verdict::Over(too_large(cycle.plan)));
    }
    work.tell_plan(cycle, at).await?;
    work.remember(cycle, &value);
    if over == Some(MemoryStrategy::Rollback) {
        let record = too_large(cycle.plan);
        let parts = feedback::error(cycle.plan, &record.reason, &record.message, None);
        return Ok(Verdict::Next(None, parts));
    }
    let last = Standing { used: cycle.totals.turns + 1, ..standing(cycle) }.next().is_none();
    let is_explicit = cycle.plan.settings.completion == Completion::Explicit;
    let kind = standing(cycle).next();
    if is_explicit && kind != Some(TurnKind::Normal) {
        let record =
            ErrorRecord::new(Reason::MustReturnMissing, "the last turn ended without (return value) or (fail reason)");
        let parts = feedback::error(cycle.plan, &record.reason, &record.message, None);
        return Ok(if last { Verdict::Over(record) } else { Verdict::Next(Some(record), parts) });
    }
    work.seen = Some(feedback::seen(cycle.plan, &outcome.memory, &value, &before));
    Ok(Verdict::Next(None, feedback::success(cycle.plan, outcome, &value, &before)))
}

/// Where programs travel as native calls, a reply without one is the answer itself: text, JSON that fits, or a point in time.
async fn in_words(cycle: &mut Cycle<'_>, at: &Address, reply: &Reply) -> Result<Verdict, Halt> {
    if matches!(cycle.plan.output, Type::String | Type::Any) {
        return Ok(Verdict::Done(Json::str(reply.text.trim()).into()));
    }
    if cycle.plan.output.base() == &Type::Datetime
        && let (issues, Some(value)) = super::answer::fit(cycle.plan, &Json::str(reply.text.trim()))
    {
        let issues = issues.iter().map(issue_record).collect();
        cycle.emit(at, Check { layer: "return".to_owned(), ok: true, issues }).await?;
        return Ok(Verdict::Done(value.into()));
    }
    let (answer, found) = judge(cycle, at, reply).await?;
    Ok(match (answer.value.clone(), found) {
        (Some(value), None) => Verdict::Done(value.into()),
        (_, Some(record)) => {
            let parts = super::json::feedback(cycle, &answer, &record, reply);
            Verdict::Next(Some(record), parts)
        }
        (None, None) => Verdict::Next(None, Vec::new()),
    })
}

/// A reply without a program ends the run (core specification): the result is the last program's value.
async fn answered(cycle: &mut Cycle<'_>, work: &mut Work, text: String) -> Result<Verdict, Halt> {
    let at = cycle.turn();
    let result = work.latest.as_ref().map(|(_, value)| value.clone()).unwrap_or_default();
    let (answer, issues) = checked(cycle.plan, &result);
    let Some(answer) = answer else {
        let listed = issues.iter().map(issue_record).collect();
        cycle.emit(&at, Check { layer: "return".to_owned(), ok: false, issues: listed }).await?;
        let record = ErrorRecord::new(Reason::ReturnValidationFailed, super::answer::joined(&issues));
        return Ok(Verdict::Next(Some(record), feedback::invalid(cycle.plan, &result, &issues)));
    };
    with_refs(cycle, work, answer, Some(text)).await
}

/// The value as the world gets it, when it fits: names for keywords, `_` in declared names, few decimals.
fn checked(plan: &Plan, value: &Value) -> (Option<Json>, Vec<Issue>) {
    let (value, _) = boundary::externalize(value);
    let value = boundary::rounded(&value, plan.settings.float_precision);
    let Some(output) = &plan.signature.output else {
        let issues = signature::check_json(&value);
        return (issues.is_empty().then(|| Json::from(&value)), issues);
    };
    let value = signature::normalize_keys(output, value);
    let mut issues = signature::check(output, &value);
    if issues.is_empty() {
        issues = signature::check_json(&value);
    }
    (issues.iter().all(|issue| !issue.is_error()).then(|| Json::from(&value)), issues)
}

pub(super) fn too_large(plan: &Plan) -> ErrorRecord {
    let limit = plan.settings.memory_bytes;
    let message = format!("what the programs defined is larger than memory_bytes = {limit}; its changes were dropped");
    ErrorRecord::new(Reason::MemoryLimitExceeded, message)
}

/// All turns are used.
async fn exhausted(
    cycle: &mut Cycle<'_>,
    work: &mut Work,
    at: &Address,
    usage: Option<crate::event::Tokens>,
    failure: Option<ErrorRecord>,
) -> Result<Answered, Halt> {
    cycle.end_turn(at, usage, failure.as_ref().map(|record| record.reason.as_str())).await?;
    if cycle.plan.settings.completion == Completion::ReturnRequired
        && let Some(answer) = work.fallback(cycle)
    {
        return Ok(answer);
    }
    if let Some(record) = failure.as_ref().filter(|_| is_pinned(cycle.plan)) {
        return Err(Halt::Fail(of_pinned(cycle.plan, record.clone())));
    }
    let reason = if cycle.plan.settings.retry_turns == 0 { Reason::MaxTurnsExceeded } else { Reason::BudgetExhausted };
    let turns = cycle.totals.turns;
    let last = failure.map(turn::at_the_end);
    let last = last.map(|record| format!("; the last error was {}: {}", record.reason, record.message));
    Err(Halt::fail(reason, format!("{} without an answer{}", used_up(turns), last.unwrap_or_default())))
}

/// Is the one turn that of a pinned program, which no model corrects?
fn is_pinned(plan: &Plan) -> bool {
    plan.agent.program().is_some() && plan.agent.max_turns == 1 && plan.settings.retry_turns == 0
}

/// The failure of a program; of a pinned one with what to do about it.
fn of_pinned(plan: &Plan, record: ErrorRecord) -> ErrorRecord {
    let advice = || "the pinned program runs once, and no model corrects it: correct the program".to_owned();
    if !is_pinned(plan) {
        return record;
    }
    // What the table of reasons advises is about models; a hint of the error's own stays.
    let usual = Reason::from_name(&record.reason).map(|reason| reason.row().next);
    let own = record.hint.clone().filter(|hint| usual != Some(hint.as_str()));
    ErrorRecord { hint: own.or_else(|| Some(advice())), ..record }
}

/// A value that `fallback` may give: neither nil nor a var.
fn is_worth_keeping(value: &Value) -> bool {
    !matches!(value.kind(), Kind::Nil | Kind::Var)
}

/// The plan's checklist as an event.
fn plan_state(plan: &Plan, summaries: &[(String, String)]) -> PlanState {
    let summary = |id: &str| summaries.iter().find(|(known, _)| known == id).map(|(_, text)| text.clone());
    let planned = plan.settings.plan.iter().map(|(id, about)| (id.clone(), about.clone(), summary(id)));
    let extra = summaries.iter().filter(|(id, _)| !plan.settings.plan.iter().any(|(known, _)| known == id));
    let extra = extra.map(|(id, text)| (id.clone(), String::new(), Some(text.clone())));
    PlanState { items: planned.chain(extra).collect() }
}

/// Does the transport use a native tool?
pub(super) fn is_native(plan: &Plan) -> bool {
    plan.settings.transport == Transport::ToolCall
}
