//! The tools that are part of the program: search in text, a question to a person, a question to a model.

use super::search::{self, Show};
use super::{Failure, Invocation};
use ptc_core::value::Value;

/// The name of the tool that asks a model.
pub const LLM_QUERY: &str = "llm-query";

/// One of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Builtin {
    /// Lines of a text that a pattern fits.
    Grep,
    /// The same with line numbers and neighbours.
    GrepLines,
    /// Asks a person; the engine answers it.
    AskUser,
    /// Asks a model; the engine answers it.
    LlmQuery,
}

impl Builtin {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Grep, Self::GrepLines, Self::AskUser, Self::LlmQuery];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Grep => "grep",
            Self::GrepLines => "grep-n",
            Self::AskUser => "ask_user",
            Self::LlmQuery => LLM_QUERY,
        }
    }

    /// The tool of a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tool| tool.name() == name)
    }

    /// How it is called, and what it does.
    pub fn card(self) -> (&'static str, &'static str) {
        match self {
            Self::Grep => ("(pattern :string, text :string) -> [:string]", "Lines of a text that fit a pattern"),
            Self::GrepLines => (
                "(pattern :string, text :string, context :int?) -> [{line :int, text :string, match :bool}]",
                "Lines of a text that fit a pattern, with their numbers and neighbours",
            ),
            Self::AskUser => {
                ("(question :string, options [:string]?) -> :string", "Asks the person who started the run")
            }
            Self::LlmQuery => ("(prompt :string, signature :string?) -> :any", "Asks a model one question"),
        }
    }

    /// Answers a call that needs no engine.
    pub(super) async fn answer(self, call: &Invocation<'_>) -> Result<Value, Failure> {
        match self {
            Self::Grep => search::lines(call, Show::Matches).await,
            Self::GrepLines => search::lines(call, Show::Places).await,
            Self::AskUser | Self::LlmQuery => Err(Failure::said("this tool is answered by the engine")),
        }
    }
}
