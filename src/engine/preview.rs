//! What a run would send first, made by the same code that makes it in a run.

use std::sync::Arc;

use ptc_core::reasons::Reason;

use crate::agent::{Context, Diagnostic, Mode, Place, Plan, Variant};
use crate::event::{Address, Message, MessagePart, Role, RunText, Source};
use crate::model::Request;
use crate::prompt::{self, outgoing};

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
    let (opening, asked) = match (plan.agent.mode, plan.variant) {
        (Mode::Json, _) | (Mode::Text, Variant::Json) => {
            (prompt::json::open(plan, &value, &context.descriptions).map_err(template)?, prompt::json::asked(plan))
        }
        (Mode::Text, _) => {
            (prompt::text::open(plan, &value, &context.descriptions).map_err(template)?, prompt::text::asked(plan))
        }
        (Mode::PtcLisp, _) => {
            let kept = super::ptc_lisp::start(plan);
            let opened = prompt::ptc_lisp::open(plan, &value, &context.descriptions, &kept).map_err(template)?;
            (opened, prompt::ptc_lisp::asked(plan, super::ptc_lisp::opens_with_tools(plan)))
        }
        (Mode::JsonLoop, _) => {
            let opened = prompt::json_loop::open(plan, &value, &context.descriptions).map_err(template)?;
            (opened, prompt::json_loop::asked(plan))
        }
    };
    let message = |role: Role, m: u32, parts: Vec<MessagePart>| Message { m, role, source: Source::Prompt, parts };
    let messages = vec![message(Role::System, 0, opening.system), message(Role::User, 1, opening.user)];
    let sent: Vec<_> = messages.iter().map(|message| Arc::new(outgoing(message, &RunText::default()))).collect();
    let request = prompt::request(plan, Address::run(0).turn(1), 0, &sent, &asked);
    Ok(Preview { request, messages, findings })
}
