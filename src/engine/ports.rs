//! The doors to the world.

use std::sync::Arc;

use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use crate::event::Address;
use crate::model::{Model, ModelError};
use crate::port::{Clock, Human, Question, Sink, Stop};
use crate::tool::{LiveTools, Tools};

/// Models for agents below the root.
pub trait Models: Send + Sync {
    /// The model of the run at this address. `alias`: what its agent names; `None` = the caller's model, which is the
    /// answer `None`.
    fn model(&self, run: &Address, alias: Option<&str>) -> Result<Option<Arc<dyn Model>>, ModelError>;
}

/// Every agent has the caller's model.
struct OneModel;

impl Models for OneModel {
    fn model(&self, _: &Address, _: Option<&str>) -> Result<Option<Arc<dyn Model>>, ModelError> {
        Ok(None)
    }
}

/// Nobody is there to be asked.
struct Nobody;

impl Human for Nobody {
    fn ask<'a>(&'a self, _: &'a Question, _: &'a CancellationToken) -> BoxFuture<'a, Option<String>> {
        Box::pin(async { None })
    }
}

/// The doors to the world. Copies lead to the same places.
#[derive(Clone)]
pub struct Ports<'a> {
    /// Answers requests.
    pub model: &'a dyn Model,
    /// Gives the models of agents below.
    pub models: &'a dyn Models,
    /// Answers tool calls.
    pub tools: &'a dyn Tools,
    /// Answers questions.
    pub person: &'a dyn Human,
    /// Tells the time, once per turn.
    pub clock: &'a dyn Clock,
    /// Takes events.
    pub events: &'a dyn Sink,
    /// Ends the run from outside.
    pub stop: Stop,
}

impl<'a> Ports<'a> {
    /// A model, live tools, and nobody to be asked.
    pub fn new(model: &'a dyn Model, clock: &'a dyn Clock, events: &'a dyn Sink, stop: Stop) -> Self {
        Self { model, models: &OneModel, tools: &LiveTools, person: &Nobody, clock, events, stop }
    }
}
