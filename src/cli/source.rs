//! The agent and context that flags describe.

use std::path::Path;

use ptc_core::signature::underscored;
use ptc_core::text::did_you_mean;

use super::arguments::AgentFlags;
use super::context::{context, text_of};
use super::output::UsageError;
use crate::agent::{Agent, Context, Diagnostic, Mode, Severity};
use crate::tool::{FileAccess, ReplacedInputs};
use crate::workbench::{Pipeline, Source};

/// Error of flags that name no agent.
pub type SourceError = UsageError;

/// An agent by file or by the name of an example, and what to call it in messages.
pub fn agent_source(name: &str, access: &FileAccess) -> Result<Agent, SourceError> {
    match Source::find(name, Path::new(name), access)? {
        Source::Agent(agent) => Ok(*agent),
        Source::Pipeline(_) => Err(UsageError(format!(
            "{name} is a pipeline, not an agent: `run`, `prompt` and `inspect` accept it, and `ptc-workbench {name}` opens it"
        ))),
    }
}

/// The pipeline of this name: a file with `[[steps]]`, or an example; `None` for an agent.
pub fn pipeline_source(name: &str, access: &FileAccess) -> Result<Option<Pipeline>, SourceError> {
    let path = Path::new(name);
    if path.is_file() {
        return Ok(Pipeline::read(path, access)?);
    }
    if path.exists() { Ok(None) } else { Ok(Pipeline::bundled(name)?) }
}

/// The pipeline that the flags name.
pub(super) fn pipeline_of(flags: &AgentFlags, access: &FileAccess) -> Result<Option<Pipeline>, UsageError> {
    let Some(name) = flags.agent.as_deref() else { return Ok(None) };
    let pipeline = pipeline_source(name, &access.with_replaced_inputs(replaced_inputs(flags)))?;
    if pipeline.is_some() && flags.mode.is_some() {
        return Err(UsageError("--mode cannot be given for a pipeline: its steps have modes of their own".to_owned()));
    }
    Ok(pipeline)
}

/// Its first step.
pub(super) fn first_step(pipeline: &Pipeline) -> Result<&Agent, UsageError> {
    pipeline.steps.first().ok_or_else(|| UsageError("the pipeline has no steps".to_owned()))
}

/// Returns the agent of the flags in its mode, and the context if one was given.
pub(super) fn described(flags: &AgentFlags, access: &FileAccess) -> Result<(Agent, Option<Context>), UsageError> {
    described_in(flags, access, flags.mode.as_deref().map(mode).transpose()?)
}

/// Like `described`, in this mode regardless of the flags, or in the agent's own.
pub(super) fn described_in(
    flags: &AgentFlags,
    access: &FileAccess,
    wanted: Option<Mode>,
) -> Result<(Agent, Option<Context>), UsageError> {
    let base = match (&flags.prompt, &flags.agent) {
        (Some(prompt), _) => Agent::inline(prompt_of(prompt)?, flags.signature.clone()),
        (None, Some(name)) => agent_source(name, &access.with_replaced_inputs(replaced_inputs(flags)))?,
        (None, None) => return Err(UsageError("name an agent file, or write --prompt".to_owned())),
    };
    let agent = base.for_mode(wanted.unwrap_or(base.mode)).map_err(|findings| in_file(flags, &base, &findings))?;
    let agent = Agent { cache: agent.cache || flags.cache, ..agent };
    let context = context(flags, &agent, access)?;
    Ok((agent, context))
}

/// The inputs that `--context` and `--set` replace.
fn replaced_inputs(flags: &AgentFlags) -> ReplacedInputs {
    let name = |pair: &String| pair.split_once('=').map(|(name, _)| underscored(name));
    match flags.context {
        Some(_) => ReplacedInputs::All,
        None => ReplacedInputs::Named(flags.set.iter().filter_map(name).collect()),
    }
}

/// The text of `--prompt`.
fn prompt_of(text: &str) -> Result<String, UsageError> {
    text_of(text).map_err(|error| {
        UsageError(format!("{}; `@` reads a file; to pass text that begins with `@`, put a space before it", error.0))
    })
}

/// The mode of a name.
pub(super) fn mode(name: &str) -> Result<Mode, UsageError> {
    Mode::from_name(name).ok_or_else(|| {
        let names = Mode::ALL.map(Mode::name);
        let near = did_you_mean(name, names);
        UsageError(format!("unknown mode {name:?}{near} (modes: {})", names.join(", ")))
    })
}

/// Findings as lines that name the file and the place.
pub(super) fn in_file(flags: &AgentFlags, agent: &Agent, findings: &[Diagnostic]) -> UsageError {
    let file = flags.agent.as_deref().unwrap_or("--prompt");
    let lines: Vec<_> = findings
        .iter()
        .filter(|finding| finding.severity == Severity::Error)
        .map(|finding| {
            let place = agent.position_of(finding);
            format!("{file}: {place}{}", finding.message)
        })
        .collect();
    UsageError(lines.join("\nerror: "))
}
