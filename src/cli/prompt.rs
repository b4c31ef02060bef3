//! `prompt`: exactly what would be sent first, as JSON; or how that differs from what another mode would send.

use super::arguments::PromptFlags;
use super::output::{UsageError, exit, print_json, print_line, print_note, safe, safe_line};
use super::source::{described, described_in, first_step, in_file, mode, pipeline_of};
use crate::agent::{Agent, Context, Mode};
use crate::workbench::format::Marks;
use crate::workbench::{Pipeline, Preview, StartError, Workbench, compared_with};

pub(super) fn prompt(flags: &PromptFlags, plain: bool, workbench: &Workbench) -> Result<u8, UsageError> {
    if let Some(pipeline) = pipeline_of(&flags.agent, workbench.file_access())? {
        return of_pipeline(&pipeline, flags, Marks::of(plain), workbench);
    }
    let (agent, context) = described(&flags.agent, workbench.file_access())?;
    match &flags.against {
        Some(name) => against(mode(name)?, (&agent, context), flags, workbench),
        None => shown(&agent, context, flags, workbench),
    }
}

/// The parts of both, line by line.
fn against(
    other: Mode,
    (agent, context): (&Agent, Option<Context>),
    flags: &PromptFlags,
    workbench: &Workbench,
) -> Result<u8, UsageError> {
    let one = preview(agent, context, flags, workbench)?.parts();
    let (agent, context) = described_in(&flags.agent, workbench.file_access(), Some(other))?;
    let other = preview(&agent, context, flags, workbench)?.parts();
    for (title, lines) in compared_with(&one, &other) {
        print_line(&safe_line(&title));
        for line in lines {
            print_line(&format!("  {}", safe_line(&line.text)));
        }
    }
    Ok(exit::OK)
}

/// Prints the first request of the first step, and lists the later steps; checks the types between them.
fn of_pipeline(
    pipeline: &Pipeline,
    flags: &PromptFlags,
    marks: &Marks,
    workbench: &Workbench,
) -> Result<u8, UsageError> {
    if flags.against.is_some() {
        return Err(UsageError(
            "--against cannot be given for a pipeline: its steps have modes of their own".to_owned(),
        ));
    }
    let first = first_step(pipeline)?;
    let plans = pipeline.plans().map_err(|findings| in_file(&flags.agent, first, &findings))?;
    let context = super::context::context(&flags.agent, first, workbench.file_access())?;
    for plan in &plans[1..] {
        let agent = &plan.agent;
        let parts = [&agent.name, agent.mode.name(), agent.signature.as_deref().unwrap_or("text")];
        print_note(&safe_line(&format!("then: {}", parts.join(marks.dot))));
        for warning in &plan.warnings {
            print_note(&safe(&format!("warning: {}: {}", agent.name, warning.message)));
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
    print_json(&preview(agent, context, flags, workbench)?.to_json());
    Ok(exit::OK)
}

/// Prints the request, and notices about it.
fn preview(
    agent: &Agent,
    context: Option<Context>,
    flags: &PromptFlags,
    workbench: &Workbench,
) -> Result<Preview, UsageError> {
    let preview = workbench.preview(agent, flags.agent.model.as_deref(), context).map_err(|error| match error {
        StartError::Agent(findings) => in_file(&flags.agent, agent, &findings),
        other => UsageError(other.to_string()),
    })?;
    for warning in &preview.warnings {
        print_note(&safe(&format!("warning: {}{}", agent.position_of(warning), warning.message)));
    }
    for limit in &preview.limits {
        print_note(&safe_line(&format!("warning: {limit}")));
    }
    Ok(preview)
}
