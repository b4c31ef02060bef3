//! Inputs of a run, from its start or from an edited turn, and the state that it leaves for a run that continues it.
//!
//! An edit is an input: a fork and its replay meet it at the same place.

use std::collections::HashMap;
use std::sync::Arc;

use ptc_core::lisp::Memory;
use ptc_core::lisp::hidden::HiddenTexts;
use ptc_core::value::{Json, Map, Value};

use super::tree::Tree;
use crate::agent::{Agent, Inputs, Plan, definition_error, error_messages};
use crate::event::{Address, ConsentRecord, Edit, PipelineRecord};
use crate::model::Message;

/// The inputs of a run.
#[derive(Debug, Clone)]
pub struct Input {
    /// The run's address.
    pub address: Address,
    /// The context: a JSON object.
    pub context: Json,
    /// Descriptions of the context's fields that came with a Step.
    pub descriptions: Vec<(String, String)>,
    /// Seed of the run's randomness.
    pub seed: u64,
    /// Levels of parent agents: 0 for a root run.
    pub depth: u32,
    /// Unix time in ms at which the whole tree must be done.
    pub deadline_ms: Option<i64>,
    /// The state shared by the whole tree of agents.
    pub tree: Tree,
    /// A parent agent has a limit on tokens or costs: what no provider counts is estimated.
    pub estimates: bool,
    /// The rest of those limits for this run.
    pub budget: RemainingBudget,
    /// Results of finished tasks to start with.
    pub journal: Option<Map>,
    /// The run that this one continues, and what it left.
    pub continues: Option<(Address, Carry)>,
    /// Texts that a parent agent hides from models.
    pub hidden: HiddenTexts,
    /// The pipeline whose first step this run is: only recorded.
    pub pipeline: Option<PipelineRecord>,
    /// Decisions made before the run: only recorded.
    pub consents: Vec<ConsentRecord>,
    /// Warnings that the run begins with: only recorded.
    pub notices: Vec<String>,
}

impl Input {
    /// The first run of a session on this context.
    pub fn new(context: Json) -> Self {
        Self::at(Address::run(0), context)
    }

    /// A root run at this address.
    pub fn at(address: Address, context: Json) -> Self {
        Self {
            address,
            context,
            descriptions: Vec::new(),
            seed: 0,
            depth: 0,
            deadline_ms: None,
            tree: Tree::default(),
            estimates: false,
            budget: RemainingBudget::default(),
            journal: None,
            hidden: HiddenTexts::default(),
            continues: None,
            consents: Vec::new(),
            notices: Vec::new(),
            pipeline: None,
        }
    }

    /// Returns whether the run is a step of a pipeline after the first one: the answer of an earlier step is its context.
    pub(super) fn is_later_step(&self) -> bool {
        self.depth == 0 && self.continues.is_none() && self.address != Address::run(0)
    }
}

/// The rest of the limits of parent agents for a run and its child runs; `None` where there is no limit.
#[derive(Debug, Clone, Copy, Default)]
pub struct RemainingBudget {
    /// Input and output tokens.
    pub tokens: Option<u64>,
    /// Cost in the unit of the prices.
    pub cost: Option<f64>,
}

/// The state that a run leaves for one that continues it: the conversation, definitions, finished tasks, answers of tools with `cache`.
#[derive(Debug, Clone, Default)]
pub struct Carry {
    pub(super) messages: Vec<Arc<Message>>,
    pub(super) memory: Memory,
    pub(super) journal: Option<Map>,
    pub(super) known: HashMap<String, Value>,
    /// Texts that the run hid from its model.
    pub(super) hidden: HiddenTexts,
}

/// The inputs with which a run continues from an edited turn.
#[derive(Debug, Clone)]
pub struct EditedInputs {
    /// The edited agent.
    pub plan: Plan,
    /// The whole edited context.
    pub context: Json,
    /// Edited definitions: name and PTC-Lisp expression.
    pub memory: Vec<(String, String)>,
    /// The edits that are new at this turn.
    pub edits: Vec<Edit>,
}

impl EditedInputs {
    /// This agent and context with these edits. Errors: what is wrong, with the target that it comes from.
    pub fn of(agent: &Agent, context: &Json, edits: &[Edit]) -> Result<Self, String> {
        let mut inputs = Inputs { agent: agent.clone(), context: context.clone() };
        let mut memory = Vec::new();
        for edit in edits {
            match edit.target.split_once('.').unwrap_or((&edit.target, "")) {
                ("memory", "") => return Err(format!("the edit of {}: its name is missing", edit.target)),
                ("memory", name) => memory.push((name.to_owned(), edit.text())),
                _ => inputs.edit(edit)?,
            }
        }
        let Inputs { agent, context } = inputs;
        let plan = Plan::new(&agent).map_err(|findings| format!("the edited agent: {}", error_messages(&findings)))?;
        Ok(Self { plan, context, memory, edits: edits.to_vec() })
    }
}

/// Checks that definitions can be read: one name and one expression each.
pub fn check_definitions(definitions: &[(String, String)]) -> Result<(), String> {
    for (name, expression) in definitions {
        if let Some(problem) = definition_error(name, expression) {
            return Err(format!("the edit of memory.{name}: {problem}"));
        }
    }
    Ok(())
}
