//! A pipeline as the interface shows it: its steps, and what goes from one to the next.

use ptc_core::signature::{Signature, Type};

use crate::agent::{Agent, Diagnostic, Plan};
use crate::tui::backend::{OpenPipeline, PipelineStep};
use crate::workbench::{Pipeline, Workbench};

/// The outline of a pipeline.
pub(super) fn outline(workbench: &Workbench, pipeline: Pipeline) -> OpenPipeline {
    let errors = match pipeline.plans() {
        Ok(_) => Vec::new(),
        Err(findings) => findings.into_iter().filter(Diagnostic::is_error).map(|finding| finding.message).collect(),
    };
    let signatures: Vec<Option<Signature>> =
        pipeline.steps.iter().map(|agent| Plan::new(agent).ok().map(|plan| plan.signature)).collect();
    let before = [None].into_iter().chain(signatures.iter().map(Option::as_ref));
    let steps = pipeline.steps.iter().zip(&signatures).zip(before);
    let steps = steps.map(|((agent, signature), before)| step(workbench, agent, signature.as_ref(), before));
    OpenPipeline { steps: steps.collect(), errors, definition: pipeline }
}

fn step(
    workbench: &Workbench,
    agent: &Agent,
    signature: Option<&Signature>,
    before: Option<&Signature>,
) -> PipelineStep {
    let params = signature.and_then(|signature| signature.params.as_deref()).unwrap_or_default();
    let takes: Vec<String> = params.iter().map(|field| field.name.clone()).collect();
    let output = match before.and_then(|before| before.output.as_ref()) {
        Some(Type::Record { fields, .. }) => fields.as_slice(),
        _ => &[],
    };
    let same = |one: &str, other: &str| one.replace('-', "_") == other.replace('-', "_");
    let names = output.iter().map(|field| field.name.clone());
    let leaves = names.filter(|name| !takes.iter().any(|taken| same(taken, name))).collect();
    PipelineStep {
        name: agent.name.clone(),
        mode: agent.mode.name().to_owned(),
        model: if agent.program().is_some() { "pinned".to_owned() } else { workbench.model_name(None, agent) },
        signature: agent.signature.clone().unwrap_or_default(),
        prompt: agent.prompt.clone(),
        tools: agent.tools.iter().map(|tool| tool.name.clone()).collect(),
        takes: if before.is_some() { takes } else { Vec::new() },
        leaves,
    }
}
