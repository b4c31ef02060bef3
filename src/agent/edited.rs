//! Inputs of a run, its agent and its context, with the edits of a fork; and edits of one key of a definition.
//!
//! In: the start of a run, edits in order. Out: the agent and the context after them. Must not change a mode, or anything that
//! has its own edit.

use ptc_core::reasons::Reason;
use ptc_core::value::Json;

use super::{Agent, Diagnostic, Place, file};
use crate::config::document;
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
    /// The inputs that a run began with. Errors: its agent cannot be read.
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
                self.agent = other.for_mode(self.agent.mode).map_err(|findings| wrong(error_messages(&findings)))?;
            }
            // These keys describe the start of a run: each has an edit of its own.
            ("option", "mode") => {
                return Err(wrong("the mode of a run cannot change; use `rerun --mode`".to_owned()));
            }
            ("option", "model") => return Err(wrong("--model names another model".to_owned())),
            ("option", "context") => return Err(wrong("--set and --context change the context".to_owned())),
            ("option", "memory") => return Err(wrong("--memory changes definitions".to_owned())),
            ("option", "") => return Err(wrong("its name is missing".to_owned())),
            ("prompt" | "signature", "") | ("option", _) => {
                let key = if kind == "option" { name } else { kind };
                let edited = self.agent.clone().with_key(key, edit.after.json());
                self.agent = edited.map_err(|findings| wrong(error_messages(&findings)))?;
            }
            _ => match edit.of_context(&self.context) {
                Some(context) => self.context = context,
                None => return Err(wrong("unknown target".to_owned())),
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
pub fn error_messages(findings: &[Diagnostic]) -> String {
    let errors: Vec<_> = findings.iter().filter(|f| f.is_error()).map(|f| f.message.as_str()).collect();
    errors.join("; ")
}

impl Agent {
    /// The agent with this key of its file set. A key inside a table is written with dots: `model_options.temperature`.
    ///
    /// Errors: the key does not exist, or the value does not fit it.
    pub fn with_key(&self, path: &str, value: Json) -> Result<Self, Vec<Diagnostic>> {
        let (key, rest) = path.split_once('.').unwrap_or((path, ""));
        let value = if rest.is_empty() {
            value
        } else {
            let written = document::parse(&self.to_toml()).map_err(|problem| {
                vec![Diagnostic::error(Place::Options, Reason::InvalidAgent, problem.message).key(key)]
            })?;
            put(written.get(key).unwrap_or(&Json::default()), rest, value)
        };
        let mut agent = self.clone();
        match file::set(&mut agent, key, value) {
            found if found.is_empty() => Ok(agent),
            found => Err(found),
        }
    }
}

/// The tree with a value at this path; what is not a table on the way becomes one. Paths are typed by hand: they are short.
fn put(tree: &Json, path: &str, value: Json) -> Json {
    let (key, rest) = path.split_once('.').unwrap_or((path, ""));
    let old = tree.get(key).cloned();
    let new = if rest.is_empty() { value } else { put(&old.unwrap_or_default(), rest, value) };
    tree.clone().without(key).with(key, new)
}

#[cfg(test)]
mod tests {
    use ptc_core::value::json;

    use super::*;

    #[test]
    fn keys_of_tables_are_set_and_others_stay() {
        let text = "prompt = \"Say\"\nmax_turns = 2\n[model_options]\nmax_tokens = 10\nseed = 1\n";
        let agent = Agent::from_toml(text, "a.toml").unwrap();
        let value = |text: &str| json::parse(text).unwrap();
        let changed = agent.with_key("model_options.max_tokens", value("20")).unwrap();
        assert_eq!((changed.model_options.max_tokens, changed.model_options.seed), (Some(20), Some(1)));
        let changed = agent.with_key("field_descriptions.y", value("\"why\"")).unwrap();
        assert_eq!(changed.field_descriptions, [("y".to_owned(), "why".to_owned())]);
        assert_eq!(agent.with_key("max_turns", value("5")).unwrap().max_turns, 5);
        assert!(agent.with_key("max_tuns", value("5")).unwrap_err()[0].message.contains("max_turns"));
        assert!(!agent.with_key("max_turns", value("\"many\"")).unwrap_err().is_empty());
    }
}
