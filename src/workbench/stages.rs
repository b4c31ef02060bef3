//! The steps of a pipeline in a row: from definitions, or from the remaining steps in a session, to runs one after the other.
//!
//! In: agents, models, the Step before. Out: the Step of the last agent that ran. It must never start an agent on the Step of one
//! that did not return.

use std::sync::Arc;

use super::tools::Looks;
use super::{StartError, Workbench};
use crate::agent::{Agent, Context, Plan, Step};
use crate::engine::{self, Input, Ports};
use crate::event::{Address, ErrorRecord, Event, LaterStep, Notice, NoticeLevel, PipelineRecord, RunStart};
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
    let runs = recording.runs();
    let Some(place) = runs.iter().position(|known| known == run) else { return &[] };
    let start = |at: usize| -> Option<&'a RunStart> { recording.run_start(&runs[at]) };
    // A run that continues a conversation is not a step, and what went before it is over.
    if start(place).is_none_or(|start| start.continues.is_some()) {
        return &[];
    }
    let begun: Option<(usize, &PipelineRecord)> =
        (0..=place).rev().find_map(|at| Some((at, start(at)?.pipeline.as_ref()?)));
    begun.and_then(|(first, pipeline)| pipeline.then.get(place - first..)).unwrap_or_default()
}

/// Runs steps on what the step before them returned. `first` is the place of the first of them among the session's root runs; their
/// models are their own, the other ports are these.
pub(super) async fn follow(before: Step, stages: &[Stage], first: usize, ports: &Ports<'_>) -> Step {
    let mut last = before;
    for (at, stage) in stages.iter().enumerate() {
        if last.fail.is_some() {
            return last;
        }
        let context = match Context::chained_onto(&stage.plan, &last) {
            Ok(context) => context,
            Err(record) => {
                record_end(&record, first + at, ports).await;
                return Step { fail: Some(record), answer: None, ..last };
            }
        };
        let ports = Ports { model: &*stage.model, ..ports.clone() };
        let input = Input { descriptions: context.descriptions, ..Input::at(Address::run(first + at), context.json) };
        last = engine::run(&stage.plan, input, &ports).await;
    }
    last
}

/// Records in the session why a pipeline ended between two steps.
async fn record_end(record: &ErrorRecord, next: usize, ports: &Ports<'_>) {
    let text = format!("the pipeline ends here: {}", record.message);
    let notice: Event = Notice { level: NoticeLevel::Warning, text }.into();
    if let Err(error) = ports.events.emit(Address::run(next.saturating_sub(1)), notice).await {
        tracing::debug!(?error, "the end of a pipeline was not reported");
    }
}
