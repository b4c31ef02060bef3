//! What a run is asked for: its agent and its context, with the edits of a fork.
//!
//! In: the start of a run, edits in their order. Out: the agent and the context after them. It must never change a mode, and
//! nothing that has its own edit.

use ptc_core::value::Json;

use super::{Agent, Diagnostic};
use crate::event::{Edit, JsonText, RunStart};

/// The agent and the context of a run.
#[derive(Debug, Clone)]
pub struct Inputs {
    /// The agent.
    pub agent: Agent,
    /// The whole context.
    pub context: Json,
}

impl Inputs {
    /// What a run began with. Errors: its agent cannot be read.
    pub fn of(start: &RunStart) -> Result<Self, String> {
        let agent = Agent::recorded(&start.agent.toml).map_err(|error| error.to_string())?;
        Ok(Self { agent, context: start.context.json() })
    }

    /// The start of a run that is asked for this.
    pub fn start(&self, start: &RunStart) -> RunStart {
        let (agent, limits) = (self.agent.record(), self.agent.limits());
        RunStart { agent, limits, context: JsonText::of(&self.context), ..start.clone() }
    }

    /// Takes an edit of a turn other than of a definition. Errors: what is wrong with it, with the target that it comes from.
    pub fn edit(&mut self, edit: &Edit) -> Result<(), String> {
        let wrong = |what: String| format!("the edit of {}: {what}", edit.target);
        let (kind, name) = edit.target.split_once('.').unwrap_or((&edit.target, ""));
        match (kind, name) {
            ("agent", "") => {
                let other = Agent::from_complete(&edit.text(), "the edited agent").map_err(|e| wrong(e.to_string()))?;
                self.agent = other.for_mode(self.agent.mode).map_err(|findings| wrong(said(&findings)))?;
            }
            // These keys describe the start of a run: each has an edit of its own.
            ("option", "mode") => {
                return Err(wrong("a run keeps its mode; `rerun --mode` runs it in another one".to_owned()));
            }
            ("option", "model") => return Err(wrong("--model names another model".to_owned())),
            ("option", "context") => return Err(wrong("--set and --context change the context".to_owned())),
            ("option", "memory") => return Err(wrong("--memory changes definitions".to_owned())),
            ("option", "") => return Err(wrong("its name is missing".to_owned())),
            ("prompt" | "signature", "") | ("option", _) => {
                let key = if kind == "option" { name } else { kind };
                let edited = self.agent.clone().with_key(key, edit.after.json());
                self.agent = edited.map_err(|findings| wrong(said(&findings)))?;
            }
            _ => match edit.of_context(&self.context) {
                Some(context) => self.context = context,
                None => return Err(wrong("this program does not know this target".to_owned())),
            },
        }
        Ok(())
    }
}

/// The start of a run after an edit; `None` where the edit changes nothing of it.
pub fn edited_start(start: &RunStart, edit: &Edit) -> Option<RunStart> {
    let mut inputs = Inputs::of(start).ok().filter(|_| edit.is_of_the_turn())?;
    inputs.edit(edit).ok()?;
    Some(inputs.start(start))
}

/// The errors among findings, in one text.
pub fn said(findings: &[Diagnostic]) -> String {
    let errors: Vec<_> = findings.iter().filter(|f| f.is_error()).map(|f| f.message.as_str()).collect();
    errors.join("; ")
}
