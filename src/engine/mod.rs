//! The engine: runs a checked plan on a context through its ports and speaks only in events.
//!
//! In: a [`Plan`], an [`Input`], [`Ports`]. Out: events in order, and the [`Step`] that is their fold.
//! Straight async code. It must never read a clock, a file or a socket by itself, nor choose by anything that is not an
//! event: with the same inputs it makes the same derived events.

mod answer;
mod ask;
mod breakpoints;
mod budget;
mod call;
mod carry;
mod child;
mod combined;
mod compaction;
mod consent;
mod conversation;
mod cycle;
mod edit;
mod gate;
mod history;
mod json;
mod json_loop;
mod ports;
mod preview;
mod program;
mod progress;
mod ptc_lisp;
mod reader;
mod refs;
mod repeats;
mod text;
mod tree;

use std::collections::HashMap;
use std::sync::Arc;

use futures::future::BoxFuture;
use ptc_core::lisp::Memory;
use ptc_core::reasons::Reason;
use ptc_core::template::TemplateError;
use ptc_core::value::{Json, Map, Value};

use crate::agent::{Diagnostic, Mode, Plan, Step, Variant};
use crate::event::{Address, Check, ConsentRecord, ErrorRecord, IssueRecord, PipelineRecord};
use crate::model::Message;
use crate::port::SinkError;
use crate::prompt::json::Opening;
use budget::Spent;

pub use ask::{PART_BYTES, PART_MS};
pub use edit::{Edited, check_definitions};
pub use history::{History, InterruptedProgram, NoHistory, RecordedCall, RecordedTurn, Settled, WorkDone};
pub use ports::{ModelList, Models, Ports};
pub use preview::{Preview, preview};
pub use reader::{Judged, Reader, Remark, Standing, Turn};
pub use tree::Tree;

/// What a run works on.
#[derive(Debug, Clone)]
pub struct Input {
    /// The run's address.
    pub address: Address,
    /// The context: a JSON object.
    pub context: Json,
    /// Descriptions of the context's fields that came with a Step.
    pub descriptions: Vec<(String, String)>,
    /// Seed of the run's randomness.
    pub seed: u64,
    /// Levels above: 0 for a root run.
    pub depth: u32,
    /// Unix time in ms at which the whole tree must be done.
    pub deadline_ms: Option<i64>,
    /// What the whole tree of agents shares.
    pub tree: Tree,
    /// An agent above has a limit on tokens or costs: what nobody counts is estimated.
    pub estimates: bool,
    /// Results of finished tasks to start with.
    pub journal: Option<Map>,
    /// The run that this one continues, and what it left.
    pub continues: Option<(Address, Carry)>,
    /// The pipeline whose first step this run is: only recorded.
    pub pipeline: Option<PipelineRecord>,
    /// What was decided before the run: only recorded.
    pub consents: Vec<ConsentRecord>,
    /// Warnings that the run begins with: only told.
    pub notices: Vec<String>,
}

impl Input {
    /// The first run of a session on this context.
    pub fn new(context: Json) -> Self {
        Self::at(Address::run(0), context)
    }

    /// A root run at this address.
    pub fn at(address: Address, context: Json) -> Self {
        Self {
            address,
            context,
            descriptions: Vec::new(),
            seed: 0,
            depth: 0,
            deadline_ms: None,
            tree: Tree::default(),
            estimates: false,
            journal: None,
            continues: None,
            consents: Vec::new(),
            notices: Vec::new(),
            pipeline: None,
        }
    }
}

/// Why a run ends early.
enum Halt {
    /// It failed.
    Fail(ErrorRecord),
    /// It waits for the answer to a question.
    Wait(Address),
    /// Its events are not taken any more.
    Sink(SinkError),
}

impl From<SinkError> for Halt {
    fn from(error: SinkError) -> Self {
        Self::Sink(error)
    }
}

impl Halt {
    fn fail(reason: Reason, message: impl Into<String>) -> Self {
        Self::Fail(ErrorRecord::new(reason, message))
    }
}

/// What a run gives when it does not fail.
#[derive(Debug, Clone, Default)]
struct Answered {
    /// The answer.
    value: Json,
    /// The text beside it.
    summary: Option<String>,
    /// The values of `refs`.
    refs: Option<Json>,
    /// The turn it came from, when it is not the last one.
    from_turn: Option<u32>,
}

impl From<Json> for Answered {
    fn from(value: Json) -> Self {
        Self { value, ..Self::default() }
    }
}

/// What a run leaves for one that continues it: the conversation, definitions, finished tasks, answers of tools with `cache`.
#[derive(Debug, Clone, Default)]
pub struct Carry {
    messages: Vec<Arc<Message>>,
    memory: Memory,
    journal: Option<Map>,
    known: HashMap<String, Value>,
}

/// Runs the plan. Always ends with a Step: a failure is in it, never a panic or an error beside it.
pub fn run<'a>(plan: &'a Plan, input: Input, ports: &'a Ports<'a>) -> BoxFuture<'a, Step> {
    Box::pin(async move { run_carrying(plan, input, ports).await.0 })
}

/// The same, with what the run leaves.
pub fn run_carrying<'a>(plan: &'a Plan, input: Input, ports: &'a Ports<'a>) -> BoxFuture<'a, (Step, Carry)> {
    Box::pin(async move {
        let (step, carry, _) = run_spending(plan, input, ports).await;
        (step, carry)
    })
}

/// The same, with what a budget above counts.
fn run_spending<'a>(plan: &'a Plan, input: Input, ports: &'a Ports<'a>) -> BoxFuture<'a, (Step, Carry, Spent)> {
    Box::pin(async move {
        let mut cycle = cycle::Cycle::new(plan, &input, ports);
        let result = match cycle.start(&input).await {
            Ok(()) => by_mode(&mut cycle, &input).await,
            Err(error) => Err(error.into()),
        };
        let carry = cycle.carry(result.as_ref().ok());
        let spent = cycle.spent_here();
        (cycle.finish(result).await, carry, spent)
    })
}

async fn by_mode(cycle: &mut cycle::Cycle<'_>, input: &Input) -> Result<Answered, Halt> {
    match (cycle.plan.agent.mode, cycle.plan.variant) {
        (Mode::Json, _) | (Mode::Text, Variant::Json) => json::run(cycle, input).await,
        (Mode::Text, _) => text::run(cycle, input).await,
        (Mode::PtcLisp, _) => ptc_lisp::run(cycle, input).await,
        (Mode::JsonLoop, _) => json_loop::run(cycle, input).await,
    }
}

/// What opens a run in a mode.
type Open = fn(&Plan, &Value, &[(String, String)]) -> Result<Opening, TemplateError>;

/// Checks the context, starts the first turn and says the opening messages. A first turn that was edited opens with the edits.
async fn begin(cycle: &mut cycle::Cycle<'_>, input: &Input, open: Open) -> Result<Address, Halt> {
    let context = inputs(cycle, input).await?;
    let mut said = opening(cycle.plan, &context, input, open)?;
    let at = cycle.begin_turn().await?;
    if let Some(edited) = cycle.take_edits(&at).await? {
        let context = checked_context(cycle, &at, &edited.context).await?;
        said = opening(cycle.plan, &context, input, open)?;
    }
    cycle.open(&at, input, said).await?;
    Ok(at)
}

fn opening(plan: &Plan, context: &Value, input: &Input, open: Open) -> Result<Opening, Halt> {
    open(plan, context, &input.descriptions).map_err(|error| Halt::fail(Reason::TemplateError, error.to_string()))
}

/// Checks the context against the parameters.
async fn inputs(cycle: &cycle::Cycle<'_>, input: &Input) -> Result<Value, Halt> {
    checked_context(cycle, &cycle.run, &input.context).await
}

/// The same for any context, told at this address.
async fn checked_context(cycle: &cycle::Cycle<'_>, at: &Address, context: &Json) -> Result<Value, Halt> {
    let (context, findings) = cycle.plan.check_context(context);
    let ok = !findings.iter().any(Diagnostic::is_error);
    if !findings.is_empty() {
        let issues = findings.iter().map(finding).collect();
        cycle.emit(at, Check { layer: "args".to_owned(), ok, issues }).await?;
    }
    if ok {
        return Ok(context);
    }
    let errors: Vec<_> = findings.iter().filter(|finding| finding.is_error()).map(|f| f.message.as_str()).collect();
    Err(Halt::fail(Reason::InvalidContext, errors.join("; ")))
}

fn finding(finding: &Diagnostic) -> IssueRecord {
    // The path stands beside the message here, not in it.
    let named = finding.message.strip_prefix(&format!("`{}`", finding.key));
    let message = named.map_or(finding.message.as_str(), |rest| rest.trim_start_matches([':', ' ']));
    IssueRecord {
        path: finding.key.clone(),
        severity: if finding.is_error() { "error" } else { "warning" }.to_owned(),
        message: message.to_owned(),
        ..IssueRecord::default()
    }
}
