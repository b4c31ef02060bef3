//! The builtin tools (text search, a question to the user, a query to a model), and the tools of a live run without external effects.

use std::time::Duration;

use futures::future::BoxFuture;
use ptc_core::value::Value;

use super::search::{self, ResultForm};
use super::{Failure, Invocation, Kind, Tools, snippet};

/// Name of the tool that queries a model.
pub const LLM_QUERY: &str = "llm-query";

/// A builtin tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Builtin {
    /// Matching lines of a text.
    Grep,
    /// Matching lines with numbers and context.
    GrepLines,
    /// A question to the user, answered by the engine.
    AskUser,
    /// A query to a model, answered by the engine.
    LlmQuery,
}

impl Builtin {
    /// All builtin tools.
    pub const ALL: [Self; 4] = [Self::Grep, Self::GrepLines, Self::AskUser, Self::LlmQuery];

    /// Returns the name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Grep => "grep",
            Self::GrepLines => "grep-n",
            Self::AskUser => "ask_user",
            Self::LlmQuery => LLM_QUERY,
        }
    }

    /// Returns the tool of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tool| tool.name() == name)
    }

    /// Returns signature and description.
    pub fn card(self) -> (&'static str, &'static str) {
        match self {
            Self::Grep => ("(pattern :string, text :string) -> [:string]", "Lines of a text that match a pattern"),
            Self::GrepLines => (
                "(pattern :string, text :string, context :int?) -> [{line :int, text :string, match :bool}]",
                "Lines of a text that match a pattern, with their numbers and neighbours",
            ),
            Self::AskUser => ("(question :string, options [:string]?) -> :string", "Asks the user"),
            Self::LlmQuery => ("(prompt :string, signature :string?) -> :any", "Asks a model one question"),
        }
    }

    /// Answers a call that needs no engine.
    pub(super) async fn answer(self, call: &Invocation<'_>) -> Result<Value, Failure> {
        match self {
            Self::Grep => search::lines(call, ResultForm::Matches).await,
            Self::GrepLines => search::lines(call, ResultForm::WithContext).await,
            Self::AskUser | Self::LlmQuery => Err(Failure::from_message("this tool is answered by the engine")),
        }
    }
}

/// Calls tools without external effects.
#[derive(Debug, Clone, Copy, Default)]
pub struct LiveTools;

impl Tools for LiveTools {
    fn call<'a>(&'a self, call: &'a Invocation<'a>) -> BoxFuture<'a, Result<Value, Failure>> {
        Box::pin(async move {
            match &call.tool.kind {
                Kind::Table(table) => {
                    if table.delay_ms > 0 {
                        tokio::select! {
                            () = tokio::time::sleep(Duration::from_millis(table.delay_ms)) => {}
                            () = call.cancel.cancelled() => return Err(Failure::Cancelled),
                        }
                    }
                    table.answer(call.args)
                }
                Kind::Snippet(code) => snippet::run(code, call.args.clone(), call).await,
                Kind::Builtin(builtin) => builtin.answer(call).await,
                Kind::Closure(Some(closure)) => {
                    let (closure, args) = (closure.clone(), call.args.clone());
                    let task = tokio::task::spawn_blocking(move || closure(&args));
                    tokio::select! {
                        answer = task => match answer {
                            Ok(answer) => answer.map_err(Failure::from_message),
                            Err(_) => Err(Failure::from_message("the tool panicked")),
                        },
                        () = call.cancel.cancelled() => Err(Failure::Cancelled),
                    }
                }
                Kind::Command(_) | Kind::Http(_) | Kind::Mcp(_) => {
                    let name = &call.tool.name;
                    Err(Failure::from_message(format!(
                        "the tool {name} starts a process or uses the network, which this run does not allow"
                    )))
                }
                Kind::Closure(None) | Kind::Agent(_) | Kind::SelfAgent | Kind::Llm(_) => {
                    Err(Failure::from_message(format!("the tool {} cannot be called here", call.tool.name)))
                }
            }
        })
    }
}
