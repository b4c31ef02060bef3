//! The steps of a pipeline in a row: from definitions, or from the remaining steps in a session, to runs one after the other.
//!
//! In: agents, models, the Step before. Out: the Step of the last agent that ran. It must never start an agent on the Step of one
//! that did not return.

use std::sync::Arc;

use super::tools::Looks;
use super::{StartError, Workbench};
use crate::agent::{Agent, Context, Plan, Step, Usage};
use crate::engine::{self, Input, Ports};
use crate::event::{Address, LaterStep, PipelineRecord, RunStart, TotalUsage};
use crate::model::Model;
use crate::port::Human;
use crate::replay::Recording;

/// One step, ready to run.
pub(super) struct Stage {
    pub(super) plan: Plan,
    pub(super) model: Arc<dyn Model>,
    /// The model's name as the developer wrote it.
    name: String,
}

impl Stage {
    /// Returns the record of a later step for the session.
    pub(super) fn record(&self) -> LaterStep {
        LaterStep { agent: self.plan.agent.record(), model: self.name.clone() }
    }

    /// Reads the tool lists of its servers, where they are not known yet and allowed.
    pub(super) async fn look(&mut self, workbench: &Workbench, looks: &mut Looks<'_>) {
        let agent = workbench.listed(self.plan.agent.clone(), looks).await;
        let own = agent.context.clone();
        let agent = workbench.with_resources(agent, &own, looks).await;
        // As for a single run: what would break the agent does not count.
        if let Ok(plan) = Plan::new(&agent) {
            self.plan = Plan { warnings: std::mem::take(&mut self.plan.warnings), ..plan };
        }
    }
}

impl Workbench {
    /// A step of a pipeline. `chosen`: the model that the user named for all steps.
    pub(super) fn stage(&self, plan: Plan, chosen: Option<&str>, human: &Arc<dyn Human>) -> Result<Stage, StartError> {
        let name = self.model_name(chosen, &plan.agent);
        let source = self.reply_source(&plan.agent, chosen, None)?;
        let ready = self.ready(&plan.agent, &source)?;
        let warnings = plan.warnings.into_iter().chain(ready.below).collect();
        let model = self.model_of(source, Arc::clone(human))?;
        Ok(Stage { plan: Plan { warnings, ..ready.plan }, model, name })
    }

    /// The remaining steps of a run, as its session names them.
    pub(super) fn later_stages(
        &self,
        later: &[LaterStep],
        chosen: Option<&str>,
        human: &Arc<dyn Human>,
    ) -> Result<Vec<Stage>, StartError> {
        let stage = |step: &LaterStep| {
            let agent = Agent::recorded(&step.agent.toml).map_err(super::resume::unusable)?;
            let plan = Plan::new(&agent).map_err(StartError::Agent)?;
            // A pinned program replaces the model.
            let named = chosen.or_else(|| agent.program().is_none().then_some(step.model.as_str()));
            self.stage(plan, named, human)
        };
        later.iter().map(stage).collect()
    }
}

/// The remaining steps of a root run, as its session names them; none for a run outside a pipeline.
pub(super) fn later_steps<'a>(recording: &'a Recording, run: &Address) -> &'a [LaterStep] {
    let found = pipeline_at(recording, run);
    found.and_then(|(first, at, pipeline)| pipeline.then.get(at - first..)).unwrap_or_default()
}

/// The places of the first step of a pipeline and of this run among the session's root runs, and the pipeline; `None` for a run outside one.
fn pipeline_at<'a>(recording: &'a Recording, run: &Address) -> Option<(usize, usize, &'a PipelineRecord)> {
    let runs = recording.runs();
    let at = runs.iter().position(|known| known == run)?;
    let start = |at: usize| -> Option<&'a RunStart> { recording.run_start(&runs[at]) };
    // A run that continues a conversation is not a step, and what went before it is over.
    start(at).filter(|start| start.continues.is_none())?;
    (0..=at).rev().find_map(|first| Some((first, at, start(first)?.pipeline.as_ref()?)))
}

/// The root runs of the steps of a pipeline before this one; none for a run outside a pipeline.
pub(super) fn earlier_steps(recording: &Recording, run: &Address) -> Vec<Address> {
    pipeline_at(recording, run).map(|(first, at, _)| recording.runs()[first..at].to_vec()).unwrap_or_default()
}

/// Runs steps on what the step before them returned. `first` is the place of the first of them among the session's root runs; their
/// models are their own, the other ports are these.
pub(super) async fn follow(before: Step, stages: &[Stage], first: usize, ports: &Ports<'_>) -> Step {
    let mut last = before;
    for (at, stage) in stages.iter().enumerate() {
        let Ok(context) = Context::chained_onto(&stage.plan, &last) else { return last };
        let ports = Ports { model: &*stage.model, ..ports.clone() };
        let input = Input { descriptions: context.descriptions, ..Input::at(Address::run(first + at), context.json) };
        let before = last.usage.total;
        last = counted_after(&before, engine::run(&stage.plan, input, &ports).await);
    }
    last
}

/// The Step of a step of a pipeline with the usage of the steps before it.
pub(super) fn counted_after(before: &TotalUsage, step: Step) -> Step {
    let total = TotalUsage::of_trees([before, &step.usage.total]);
    Step { usage: Usage { total, ..step.usage }, ..step }
}
