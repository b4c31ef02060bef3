//! `prompt`: exactly what would be sent first, as JSON.

use super::arguments::PromptFlags;
use super::source::{described, in_file, place};
use super::{UsageError, exit, json, out, safe, tell};
use crate::workbench::{StartError, Workbench};

pub(super) fn prompt(flags: &PromptFlags, workbench: &Workbench) -> Result<u8, UsageError> {
    let (agent, context) = described(&flags.agent)?;
    let preview = workbench.preview(&agent, flags.agent.model.as_deref(), context).map_err(|error| match error {
        StartError::Agent(findings) => in_file(&flags.agent, &agent, &findings),
        other => UsageError(other.to_string()),
    })?;
    for warning in &preview.warnings {
        tell(&safe(&format!("warning: {}{}", place(&agent, warning), warning.message)));
    }
    out(&json::printable(&preview.to_json()));
    Ok(exit::OK)
}
