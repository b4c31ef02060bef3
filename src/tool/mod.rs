//! Tools: their declarations, and the port through which they are called.
//!
//! In: a table of an agent file, and calls with checked arguments. Out: a [`Tool`] or what is wrong with it; values or failures.
//! Tools that need the engine (agents, models, people) are declared here and run there. This folder is the only place that starts
//! processes for a run.

mod arguments;
mod builtin;
mod command;
mod consent;
mod declare;
mod declare_outside;
mod http;
mod live;
mod mcp;
mod outside;
mod process;
mod search;
mod shaping;
mod snippet;
mod table;
mod text;

use std::sync::Arc;

use futures::future::BoxFuture;
use ptc_core::lisp::ToolInfo;
use ptc_core::reasons::Reason;
use ptc_core::signature::{Signature, json_schema};
use ptc_core::value::{Json, Value};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

pub use arguments::{canonical, plain_text};
pub use builtin::{Builtin, LLM_QUERY};
pub use command::Command;
pub use consent::{ALLOW_FLAG, Grants, Policy, Ruling};
pub use declare::{SELF, Wrong, reference};
pub use http::Http;
pub use live::LiveTools;
pub use mcp::{Connection, Listing, Mcp, ServerState, Servers, log_file};
pub use outside::Outside;
pub use process::{Program, USUAL_VARIABLES};
pub use shaping::{SHAPING_KEYS, Shaping, answered_by};
pub use table::{Row, Table};

use crate::event::{Address, Answerer, Decision, ErrorRecord, JsonText, ToolSchema};

/// A tool that an agent may use.
#[derive(Clone)]
pub struct Tool {
    /// Its name.
    pub name: String,
    /// How it is called and what it answers, as written.
    pub signature_text: Option<String>,
    /// The same, read.
    pub signature: Option<Signature>,
    /// What it does.
    pub description: Option<String>,
    /// An equal call in the same run is answered from memory.
    pub cache: bool,
    /// Who may call it.
    pub expose: Option<Expose>,
    /// Time for one call.
    pub timeout_ms: u64,
    /// What an agent behind it answers with.
    pub returns: Returns,
    /// What stands behind it.
    pub kind: Kind,
}

/// Who may call a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Expose {
    /// The model.
    Native,
    /// Programs.
    PtcLisp,
    /// Both.
    Both,
}

/// What a call of an agent takes and gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Returns {
    /// The agent's parameters, and its answer.
    #[default]
    Answer,
    /// A task in words, and `{result, summary, refs, trace}` (core specification, agent contract §25).
    Delegate,
}

/// The signature of a tool that takes a task.
pub const DELEGATE: &str = "(task :string) -> {result :any, summary :string?, refs :map, trace [:map]}";

/// What stands behind a tool.
#[derive(Clone)]
pub enum Kind {
    /// Fixed answers.
    Table(Table),
    /// A PTC-Lisp program over `data/`.
    Snippet(String),
    /// Another agent: its definition as a table of an agent file.
    Agent(Json),
    /// The agent that has the tool.
    Itself,
    /// A prompt for a model: an agent of one turn.
    Llm(Json),
    /// One of ours.
    Builtin(Builtin),
    /// A function of the program that uses the library.
    Closure(Option<Closure>),
    /// A process.
    Command(Command),
    /// A request.
    Http(Http),
    /// A tool of a server that speaks the model context protocol.
    Mcp(Mcp),
}

/// A tool that is a function: arguments in, value or error text out.
pub type Closure = Arc<dyn Fn(&Value) -> Result<Value, String> + Send + Sync>;

/// A call with checked arguments.
#[derive(Clone)]
pub struct Invocation<'a> {
    /// Where it is made.
    pub address: &'a Address,
    /// The tool.
    pub tool: &'a Tool,
    /// The arguments: a map with string keys.
    pub args: &'a Value,
    /// The time of the turn, Unix ms.
    pub now_ms: i64,
    /// Stops it.
    pub cancel: &'a CancellationToken,
    /// Takes what is worth knowing while it lasts.
    pub notes: &'a mpsc::UnboundedSender<String>,
}

/// Why a call gave no value.
#[derive(Debug, Clone, PartialEq)]
pub enum Failure {
    /// It failed; the record says how.
    Error(ErrorRecord),
    /// It was stopped.
    Cancelled,
}

impl Failure {
    /// A failure in the tool's own words.
    pub fn said(message: impl Into<String>) -> Self {
        Self::Error(ErrorRecord::new(Reason::ToolError, message))
    }
}

/// Calls tools.
pub trait Tools: Send + Sync {
    /// Answers one call. Returns [`Failure::Cancelled`] within 100 ms of a cancel.
    fn call<'a>(&'a self, call: &'a Invocation<'a>) -> BoxFuture<'a, Result<Value, Failure>>;

    /// Decides about a call that starts a process or leaves the machine, by the definition of its tool; `None`: the user is asked.
    fn ruling(&self, definition: &str) -> Option<Ruling> {
        _ = definition;
        Some(Ruling::new(Answerer::Default, Decision::Deny))
    }

    /// Stores that this definition may always be called.
    fn keep(&self, definition: &str) {
        _ = definition;
    }
}

/// The form that a tool's name has at providers.
pub fn provider_name(name: &str) -> String {
    name.replace(|c: char| !c.is_ascii_alphanumeric(), "_")
}

impl Tool {
    /// The tool as programs see it.
    pub fn info(&self) -> ToolInfo {
        ToolInfo {
            name: self.name.clone(),
            signature: self.signature_text.clone(),
            description: self.description.clone(),
        }
    }

    /// The tool as providers see it: names with `_`.
    pub fn schema(&self) -> ToolSchema {
        let params = self.signature.as_ref().and_then(|signature| signature.params.as_deref()).unwrap_or_default();
        ToolSchema {
            name: self.provider_name(),
            description: self.description.clone(),
            parameters: JsonText::of(&json_schema::tool(params)),
        }
    }

    /// Its name at providers, which know letters, digits and `_` only.
    pub fn provider_name(&self) -> String {
        provider_name(&self.name)
    }

    /// May the model call it natively?
    pub fn is_native(&self) -> bool {
        matches!(self.expose, None | Some(Expose::Native | Expose::Both))
    }

    /// May programs call it?
    pub fn is_for_programs(&self) -> bool {
        matches!(self.expose, None | Some(Expose::PtcLisp | Expose::Both))
    }

    /// Does a call change something outside of the run?
    pub fn is_effectful(&self) -> bool {
        match &self.kind {
            Kind::Closure(_) | Kind::Command(_) | Kind::Mcp(_) => true,
            Kind::Http(http) => !http.is_safe(),
            _ => false,
        }
    }

    /// What a call starts or where it goes, in words for a person; `None` for tools that stay within the program. Consent is given to
    /// this text.
    pub fn definition(&self) -> Option<String> {
        match &self.kind {
            Kind::Command(command) => Some(format!("command {}", command.program.told())),
            Kind::Http(http) => Some(format!("http {}", http.told())),
            Kind::Mcp(mcp) => Some(format!("mcp {}", mcp.told(&self.name))),
            _ => None,
        }
    }

    /// How long a call may take, in ms; `None` for persons and agents below, which the budgets of the run bound.
    pub fn most_ms(&self) -> Option<u64> {
        match self.kind {
            Kind::Agent(_) | Kind::Itself | Kind::Llm(_) | Kind::Builtin(Builtin::AskUser | Builtin::LlmQuery) => None,
            Kind::Table(_)
            | Kind::Snippet(_)
            | Kind::Closure(_)
            | Kind::Command(_)
            | Kind::Http(_)
            | Kind::Mcp(_)
            | Kind::Builtin(Builtin::Grep | Builtin::GrepLines) => Some(self.timeout_ms),
        }
    }

    /// The name of its kind.
    pub fn kind_name(&self) -> &'static str {
        match self.kind {
            Kind::Table(_) => "table",
            Kind::Snippet(_) => "snippet",
            Kind::Agent(_) | Kind::Itself => "agent",
            Kind::Llm(_) => "llm",
            Kind::Builtin(_) => "builtin",
            Kind::Closure(_) => "closure",
            Kind::Command(_) => "command",
            Kind::Http(_) => "http",
            Kind::Mcp(_) => "mcp",
        }
    }
}

impl std::fmt::Debug for Tool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tool").field("name", &self.name).field("kind", &self.kind_name()).finish_non_exhaustive()
    }
}
