//! The engine: runs a checked plan on a context through its ports and speaks only in events.
//!
//! In: a [`Plan`], an [`Input`], [`Ports`]. Out: events in order, and the [`Step`] that is their fold.
//! Straight async code. It must never read a clock, a file or a socket by itself, nor choose by anything that is not an
//! event: with the same inputs it makes the same derived events.

mod answer;
mod ask;
mod cycle;
mod json;

use ptc_core::reasons::Reason;
use ptc_core::value::Json;

use crate::agent::{Context, Diagnostic, Place, Plan, Step};
use crate::event::RunText;
use crate::event::{Address, ErrorRecord, Message, MessagePart, Role, Source};
use crate::model::{Model, Request};
use crate::port::{Clock, Sink, SinkError, Stop};
use crate::prompt::{self, Outgoing};

pub use ask::{PART_BYTES, PART_MS};

/// The doors to the world.
pub struct Ports<'a> {
    /// Answers requests.
    pub model: &'a dyn Model,
    /// Tells the time, once per turn.
    pub clock: &'a dyn Clock,
    /// Takes events.
    pub events: &'a dyn Sink,
    /// Ends the run from outside.
    pub stop: Stop,
}

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
}

impl Input {
    /// The first run of a session on this context.
    pub fn new(context: Json) -> Self {
        Self { address: Address::run(0), context, descriptions: Vec::new(), seed: 0 }
    }
}

/// Why a run ends early.
enum Halt {
    /// It failed.
    Fail(ErrorRecord),
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

/// What a run would send first.
#[derive(Debug, Clone, PartialEq)]
pub struct Preview {
    /// The request.
    pub request: Request,
    /// Its messages with their prompt sections, the system text first.
    pub messages: Vec<Message>,
    /// What is worth knowing about the context.
    pub findings: Vec<Diagnostic>,
}

/// The first request that a run of this plan would make. Errors: what is wrong with the context.
pub fn preview(plan: &Plan, context: &Context) -> Result<Preview, Vec<Diagnostic>> {
    let (value, findings) = plan.check_context(&context.json);
    if findings.iter().any(Diagnostic::is_error) {
        return Err(findings);
    }
    let template = |error: ptc_core::template::TemplateError| {
        vec![Diagnostic::error(Place::Prompt, Reason::TemplateError, error.message).at(error.span)]
    };
    let opening = prompt::json::open(plan, &value, &context.descriptions).map_err(template)?;
    let message = |role: Role, m: u32, parts: Vec<MessagePart>| Message { m, role, source: Source::Prompt, parts };
    let messages = vec![message(Role::System, 0, opening.system), message(Role::User, 1, opening.user)];
    let outgoing: Vec<_> = messages
        .iter()
        .map(|message| Outgoing { role: message.role, text: message.plain_text(&RunText::default()) })
        .collect();
    let request = prompt::request(plan, Address::run(0).turn(1), 0, &outgoing);
    Ok(Preview { request, messages, findings })
}

/// Runs the plan. Always ends with a Step: a failure is in it, never a panic or an error beside it.
pub async fn run(plan: &Plan, input: Input, ports: &Ports<'_>) -> Step {
    let mut cycle = cycle::Cycle::new(plan, &input, ports);
    let result = json::run(&mut cycle, &input).await;
    cycle.finish(result).await
}
