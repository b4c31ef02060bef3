//! The ports of a run: everything that is not computed comes through one of them.

use std::sync::Arc;

use ptc_core::text::did_you_mean;

use super::history::{History, NoHistory};
use crate::agent::Agent;
use crate::event::Address;
use crate::model::{ErrorClass, Model, ModelError, PinnedProgram};
use crate::port::{Attachments, Clock, Human, NoAttachments, NoUser, Sink, Stop};
use crate::tool::{LiveTools, Tools};

/// Models for child agents.
pub trait Models: Send + Sync {
    /// The model of the run at this address; `None` = the caller's model.
    fn model(&self, run: &Address, source: ModelSource<'_>) -> Result<Option<Arc<dyn Model>>, ModelError>;
}

/// The model that an agent names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelSource<'a> {
    /// Nothing: the caller's model answers.
    Caller,
    /// A model by its name.
    Named(&'a str),
    /// A pinned program, which answers instead of a model.
    Program(&'a str),
}

impl<'a> ModelSource<'a> {
    /// Returns the source for a child agent; a pinned program takes precedence over a model.
    pub fn of(agent: &'a Agent) -> Self {
        let named = agent.model.as_deref().map_or(Self::Caller, Self::Named);
        agent.program().map_or(named, Self::Program)
    }
}

/// Models by name, for child agents that name theirs.
#[derive(Clone, Default)]
pub struct ModelList(Vec<(String, Arc<dyn Model>)>);

impl ModelList {
    /// Adds a model; of two with the same name the later one counts.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, model: impl Model + 'static) -> Self {
        self.0.insert(0, (name.into(), Arc::new(model)));
        self
    }
}

impl Models for ModelList {
    /// Errors: [`ErrorClass::Registry`] for any name when the list is empty, [`ErrorClass::NotFound`] for one that is not in it.
    fn model(&self, _: &Address, source: ModelSource<'_>) -> Result<Option<Arc<dyn Model>>, ModelError> {
        let alias = match source {
            ModelSource::Caller => return Ok(None),
            ModelSource::Program(program) => return Ok(Some(Arc::new(PinnedProgram::new(program)))),
            ModelSource::Named(alias) => alias,
        };
        if let Some((_, model)) = self.0.iter().find(|(name, _)| name == alias) {
            return Ok(Some(Arc::clone(model)));
        }
        if self.0.is_empty() {
            let message = format!("the model `{alias}` is named, but no list of models was given");
            return Err(ModelError::new(ErrorClass::Registry, message));
        }
        let names = || self.0.iter().map(|(name, _)| name.as_str());
        let near = did_you_mean(alias, names());
        let all = names().collect::<Vec<_>>().join(", ");
        Err(ModelError::new(ErrorClass::NotFound, format!("unknown model `{alias}`{near} (models: {all})")))
    }
}

/// Every agent has the caller's model.
static NO_MODELS: ModelList = ModelList(Vec::new());

/// The ports of a run. Copies lead to the same places.
#[derive(Clone)]
pub struct Ports<'a> {
    /// Answers requests.
    pub model: &'a dyn Model,
    /// Gives the models of child agents.
    pub models: &'a dyn Models,
    /// Answers tool calls.
    pub tools: &'a dyn Tools,
    /// Answers questions.
    pub human: &'a dyn Human,
    /// Reads the time, once per turn.
    pub clock: &'a dyn Clock,
    /// Knows what a recording holds of the run.
    pub history: &'a dyn History,
    /// Holds the bytes of files.
    pub files: &'a dyn Attachments,
    /// Takes events.
    pub events: &'a dyn Sink,
    /// Ends the run from outside.
    pub stop: Stop,
}

impl<'a> Ports<'a> {
    /// A model, live tools, no other models, no recording, and no user.
    pub fn new(model: &'a dyn Model, clock: &'a dyn Clock, events: &'a dyn Sink, stop: Stop) -> Self {
        Self {
            model,
            models: &NO_MODELS,
            tools: &LiveTools,
            human: &NoUser,
            history: &NoHistory,
            files: &NoAttachments,
            clock,
            events,
            stop,
        }
    }
}
