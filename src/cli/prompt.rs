//! `prompt`: exactly what would be sent first, as JSON.

use super::arguments::PromptFlags;
use super::source::{described, first_step, in_file, pipeline_of, place};
use super::{UsageError, exit, json, out, safe, safe_line, tell};
use crate::agent::{Agent, Context};
use crate::workbench::{Pipeline, StartError, Workbench};

pub(super) fn prompt(flags: &PromptFlags, workbench: &Workbench) -> Result<u8, UsageError> {
    if let Some(pipeline) = pipeline_of(&flags.agent)? {
        return of_pipeline(&pipeline, flags, workbench);
    }
    let (agent, context) = described(&flags.agent)?;
    shown(&agent, context, flags, workbench)
}

/// What the first step would send; what follows it is told, and that each can take what the one before returns is checked.
fn of_pipeline(pipeline: &Pipeline, flags: &PromptFlags, workbench: &Workbench) -> Result<u8, UsageError> {
    let first = first_step(pipeline)?;
    let plans = pipeline.plans().map_err(|findings| in_file(&flags.agent, first, &findings))?;
    let context = super::context::context(&flags.agent, first)?;
    for plan in &plans[1..] {
        let agent = &plan.agent;
        tell(&safe_line(&format!(
            "then: {} · {} · {}",
            agent.name,
            agent.mode,
            agent.signature.as_deref().unwrap_or("text")
        )));
        for warning in &plan.warnings {
            tell(&safe(&format!("warning: {}: {}", agent.name, warning.message)));
        }
    }
    shown(first, context, flags, workbench)
}

fn shown(
    agent: &Agent,
    context: Option<Context>,
    flags: &PromptFlags,
    workbench: &Workbench,
) -> Result<u8, UsageError> {
    let preview = workbench.preview(agent, flags.agent.model.as_deref(), context).map_err(|error| match error {
        StartError::Agent(findings) => in_file(&flags.agent, agent, &findings),
        other => UsageError(other.to_string()),
    })?;
    for warning in &preview.warnings {
        tell(&safe(&format!("warning: {}{}", place(agent, warning), warning.message)));
    }
    out(&json::printable(&preview.to_json()));
    Ok(exit::OK)
}
