//! Edits at the point of a fork: what a turn goes on with instead of what was there.
//!
//! In: the edits that a port holds for a turn or call. Out: another plan, context and definitions, a reply, a result. An edit is an input: a
//! fork and its replay meet it at the same place.

use futures::future::BoxFuture;
use ptc_core::lisp;
use ptc_core::value::Json;

use super::cycle::Cycle;
use super::{Halt, Input, Open, checked_context};
use crate::agent::{Agent, Inputs, Plan, said};
use crate::event::{Address, Edit, JsonText, ReplyEnd};
use crate::model::{Call, ModelError, Reply, Written};
use crate::port::SinkError;

/// What a run goes on with from an edited turn.
#[derive(Debug, Clone)]
pub struct Edited {
    /// The agent as it is now.
    pub plan: Plan,
    /// The whole context as it is now.
    pub context: Json,
    /// Definitions that are made anew: name and PTC-Lisp expression.
    pub memory: Vec<(String, String)>,
    /// The edits that are new at this turn.
    pub edits: Vec<Edit>,
}

impl Edited {
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
        let plan = Plan::new(&agent).map_err(|findings| format!("the edited agent: {}", said(&findings)))?;
        Ok(Self { plan, context, memory, edits: edits.to_vec() })
    }
}

/// Are these definitions that can be read: one name and one expression each?
pub fn check_definitions(definitions: &[(String, String)]) -> Result<(), String> {
    for (name, expression) in definitions {
        let read = |text: &str| lisp::read(text, lisp::Budget::default()).map(|forms| forms.len());
        let wrong = |what: String| format!("the edit of memory.{name}: {what}");
        if read(expression).map_err(|error| wrong(error.message()))? != 1 {
            return Err(wrong("write one expression".to_owned()));
        }
        if name.contains(|c: char| c.is_whitespace() || "()[]{}\"';:,".contains(c)) || read(name) != Ok(1) {
            return Err(wrong("this is no name".to_owned()));
        }
    }
    Ok(())
}

impl<'a> Cycle<'a> {
    /// Takes the edits of the turn that begins: the plan is the edited one from now on.
    pub(super) async fn take_edits(&mut self, at: &Address) -> Result<Option<&'a Edited>, SinkError> {
        let Some(edited) = self.ports.history.edited_turn(at) else { return Ok(None) };
        for edit in &edited.edits {
            self.emit(at, edit.clone()).await?;
        }
        self.plan = &edited.plan;
        Ok(Some(edited))
    }

    /// The result of a call, if it was edited.
    pub(super) async fn edited_result(&self, call: &Address) -> Result<Option<JsonText>, SinkError> {
        let Some(edit) = self.ports.history.replacement(call) else { return Ok(None) };
        self.emit(call, edit.clone()).await?;
        Ok(Some(edit.after.clone()))
    }

    /// The reply of a turn, if it was edited.
    pub(super) async fn edited_reply(&self, turn: &Address) -> Result<Option<Reply>, SinkError> {
        let Some(edit) = self.ports.history.replacement(turn) else { return Ok(None) };
        self.emit(turn, edit.clone()).await?;
        let written = Written::of_json(&edit.after.json()).unwrap_or_else(|_| Written::text(edit.text()));
        Ok(Some(Reply { model: Some(ReplyEnd::EDITOR.to_owned()), ..Reply::from(written) }))
    }
}

/// Answers with an edited reply.
pub(super) fn answer(reply: Reply, call: &Call) -> BoxFuture<'_, Result<Reply, ModelError>> {
    Box::pin(async move {
        call.text(1, reply.text.clone()).await;
        call.calls(1, &reply.calls).await;
        Ok(reply)
    })
}

/// Starts the next turn. When it was edited, the opening is said anew.
pub(super) async fn next_turn(cycle: &mut Cycle<'_>, input: &Input, open: Open) -> Result<Address, Halt> {
    let at = cycle.begin_turn().await?;
    if let Some(edited) = cycle.take_edits(&at).await? {
        let context = checked_context(cycle, &at, &edited.context).await?;
        let opening = super::opening(cycle.plan, &context, input, open)?;
        cycle.open_anew(&at, opening).await?;
    }
    Ok(at)
}
