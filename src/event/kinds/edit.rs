//! Data of the event about edits: changes at the point where a session was forked.
//! Field names are the stored names; absent means unknown or not applicable.

use ptc_core::value::Json;
use serde::{Deserialize, Serialize};

use crate::event::{JsonText, words};

words! {
    /// Origin of an edit where a session was forked.
    Editor {
        Command "command" "The user, by an argument of a command.";
        User "user" "The user at an interface.";
    }
}

/// `edit`: an input, at the turn or call that meets it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Edit {
    /// Target of the edit: `agent`, `prompt`, `signature`, `option.KEY`, `context`, `context.KEY`, `memory.NAME`, `reply`, `result`,
    /// `model`.
    pub target: String,
    /// The point of the fork, such as `r0/t2:request`.
    pub at: String,
    /// SHA-256 of the text before the edit, hexadecimal; absent where there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before_sha: Option<String>,
    /// The text after the edit.
    pub after: JsonText,
    /// Origin of the edit.
    pub by: Editor,
}

impl Edit {
    /// The target `reply`: the turn's reply is this text.
    pub const REPLY: &str = "reply";
    /// The target `result`: the call's result is this value.
    pub const RESULT: &str = "result";
    /// The target `model`: what follows is asked from the model of this name.
    pub const MODEL: &str = "model";

    /// Returns whether the edit changes the start of a turn: the agent, the context, definitions.
    pub fn is_of_the_turn(&self) -> bool {
        ![Self::REPLY, Self::RESULT, Self::MODEL].contains(&self.target.as_str())
    }

    /// A context with this edit; `None` for an edit of something else.
    pub fn of_context(&self, context: &Json) -> Option<Json> {
        let key = match self.target.split_once('.') {
            None if self.target == "context" => return Some(self.after.json()),
            Some(("context", key)) => key,
            _ => return None,
        };
        Some(context.clone().with(key, self.after.json()))
    }

    /// The text that it puts in place; JSON where it is none.
    pub fn text(&self) -> String {
        let after = self.after.json();
        after.as_str().map_or_else(|| after.to_text(), ToOwned::to_owned)
    }
}
