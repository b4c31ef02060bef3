//! Preparation of a run: the checks and additions common to all ways of starting one, so that a preview shows what a run would send.
//!
//! In: an agent and the user's options. Out: its plan as a run has it and its model, or why no run starts. Nothing is opened
//! or sent here.

use std::sync::Arc;

use ptc_core::reasons::Reason;

use super::{StartError, Workbench};
use crate::agent::{Agent, Diagnostic, Place, Plan};
use crate::config::{ModelChoice, options_over};
use crate::model::{Model, PinnedProgram};
use crate::port::Human;
use crate::tool::Kind;

/// Source of an agent's replies.
pub(super) enum ReplySource {
    /// Its pinned program.
    Program(String),
    /// A model.
    Model(ModelChoice),
}

/// An agent that a run can start with.
pub(super) struct Ready {
    pub(super) plan: Plan,
    /// Warnings about models: the fallback, and those of child agents.
    pub(super) below: Vec<Diagnostic>,
}

impl Workbench {
    /// Returns the source of an agent's replies: the model that the user named, else the agent's pinned program, unless a session recorded
    /// a model in its place, else the model that a session recorded, else the agent's own or the configured one.
    pub(super) fn reply_source(
        &self,
        agent: &Agent,
        named: Option<&str>,
        recorded: Option<&str>,
    ) -> Result<ReplySource, StartError> {
        let agent = &in_own_mode(agent);
        let stood_in = named.is_some() || recorded.is_some_and(|name| name != PinnedProgram::NAME);
        let choice = match (agent.program(), recorded) {
            (Some(program), _) if !stood_in => return Ok(ReplySource::Program(program.to_owned())),
            (_, Some(recorded)) => self.chosen(named, recorded)?,
            (_, None) => self.choose(&self.model_name(named, agent))?,
        };
        Ok(ReplySource::Model(choice))
    }

    /// Builds the model of a source of replies.
    pub(super) fn model_of(&self, source: ReplySource, human: Arc<dyn Human>) -> Result<Arc<dyn Model>, StartError> {
        match source {
            ReplySource::Program(program) => Ok(Arc::new(PinnedProgram::new(program))),
            ReplySource::Model(choice) => self.build_model(choice, human),
        }
    }

    /// Returns the plan of an agent in its mode: for its pinned program (one attempt), or for a model, whose options are defaults. Includes
    /// what is known of its tools' servers.
    pub(super) fn ready(&self, agent: &Agent, source: &ReplySource) -> Result<Ready, StartError> {
        let agent = agent.for_mode(agent.mode).map_err(StartError::Agent)?;
        let agent = match source {
            ReplySource::Program(_) => agent.once(),
            ReplySource::Model(ModelChoice::Http(model)) => {
                let model_options = options_over(&agent.model_options, &model.options);
                Agent { model_options, ..agent.without_program() }
            }
            ReplySource::Model(_) => agent.without_program(),
        };
        let plan = Plan::new(&self.connected(agent)?).map_err(StartError::Agent)?;
        refuse_closures(&plan)?;
        let mut below = self.check_child_models(&plan);
        if let ReplySource::Model(choice) = source {
            below.extend(self.check_fallback(choice));
        }
        Ok(Ready { plan, below })
    }
}

/// The agent with the overrides of its mode. Overrides that cannot be read change nothing here: [`Workbench::ready`] refuses them.
pub(super) fn in_own_mode(agent: &Agent) -> Agent {
    agent.for_mode(agent.mode).unwrap_or_else(|_| agent.clone())
}

/// Refuses tools whose function only the program that uses the library has, in the agent and below.
pub(super) fn refuse_closures(plan: &Plan) -> Result<(), StartError> {
    let mut open = vec![plan];
    while let Some(plan) = open.pop() {
        if let Some(tool) = plan.tools.iter().find(|tool| matches!(tool.kind, Kind::Closure(None))) {
            let message = format!(
                "the tool `{}` is of kind `closure`: its function exists only in the program that defines it; use a table or a snippet here",
                tool.name
            );
            let found = Diagnostic::error(Place::Options, Reason::InvalidAgent, message);
            return Err(StartError::Agent(vec![found.key(format!("tools.{}", tool.name))]));
        }
        open.extend(plan.children.iter().map(|(_, child)| &**child));
    }
    Ok(())
}
