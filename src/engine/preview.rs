//! The first request of a run, made by the machine that makes it in a run.

use std::sync::Arc;

use ptc_core::lisp::hidden::HiddenTexts;
use ptc_core::reasons::Reason;

use super::modes::{Next, RunInputs, Start, View, machine};
use crate::agent::{Context, Diagnostic, Place, Plan};
use crate::event::{MessageAdded, MessagePart, Role, RunText, Source};
use crate::model::{self, Request};
use crate::program::Job;
use crate::prompt::json::OpeningMessages;
use crate::prompt::{self, TrustedTextPolicy, outgoing};

/// The first request of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Preview {
    /// The request.
    pub request: Request,
    /// Its messages with their prompt sections, the system text first.
    pub messages: Vec<MessageAdded>,
    /// Findings about the context.
    pub findings: Vec<Diagnostic>,
}

/// The first request that a run of this plan would make. Errors: what is wrong with the context, the prompt or the definitions. It blocks
/// while expressions of the agent are evaluated.
pub fn preview(plan: &Plan, context: &Context) -> Result<Preview, Vec<Diagnostic>> {
    let (value, findings) = plan.check_context(&context.json);
    if findings.iter().any(Diagnostic::is_error) {
        return Err(findings);
    }
    let mut hidden = HiddenTexts::default();
    if plan.hides() {
        hidden.collect(&value);
    }
    let view = View::first(plan);
    let mut machine = machine(plan, Start { descriptions: context.descriptions.clone(), ..Start::default() });
    let inputs = RunInputs { context: value, memory: plan.settings.memory.clone() };
    let mut decision = machine.open(&view, Some(inputs));
    let OpeningMessages { mut system, mut user, .. } = loop {
        decision = match decision.next {
            Next::Evaluate(jobs) => machine.on_evaluated(&view, jobs.iter().map(Job::evaluate).collect()),
            Next::Open(Ok(opening)) => break opening,
            Next::Open(Err(error)) => {
                let found = Diagnostic::error(Place::Prompt, Reason::TemplateError, error.message).at(error.span);
                return Err(vec![found]);
            }
            Next::Fail(record) => {
                let reason = Reason::from_name(&record.reason).unwrap_or(Reason::InvalidAgent);
                return Err(vec![Diagnostic::error(Place::Options, reason, record.message)]);
            }
            _ => return Err(vec![Diagnostic::error(Place::Options, Reason::InternalError, "the mode does not open")]),
        };
    };
    prompt::mask(&mut system, &hidden, TrustedTextPolicy::Shown);
    prompt::mask(&mut user, &hidden, TrustedTextPolicy::Shown);
    let options = machine.request(&view).options;
    let earlier = |message: &Arc<model::Message>| {
        let mut parts = prompt::carried(message);
        prompt::mask(&mut parts, &hidden, TrustedTextPolicy::Masked);
        (message.role, parts)
    };
    let before = plan.settings.messages.iter().map(earlier);
    let after = plan.settings.messages_after.iter().map(earlier);
    let system = (!system.is_empty()).then_some((Role::System, system));
    let all = system.into_iter().chain(before).chain([(Role::User, user)]).chain(after);
    let message = |(m, (role, parts)): (u32, (Role, Vec<MessagePart>))| {
        let source = if role == Role::Assistant { Source::Reply } else { Source::Prompt };
        MessageAdded { m, role, source, parts }
    };
    let messages: Vec<MessageAdded> = (0..).zip(all).map(message).collect();
    let sent: Vec<_> = messages.iter().map(|message| Arc::new(outgoing(message, &RunText::default()))).collect();
    let request = prompt::request(plan, view.turn.clone(), 0, &sent, &options);
    Ok(Preview { request, messages, findings })
}
