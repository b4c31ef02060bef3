//! Tools: their declarations, and the port through which they are called.
//!
//! In: a table of an agent file, and calls with checked arguments. Out: a [`Tool`] or its errors; values or failures.
//! Tools that need the engine (agents, models, users) are declared here and run there. Only this folder starts
//! processes for a run.

mod answer_shaper;
mod arguments;
mod browser;
mod builtin;
mod command;
mod consent;
mod consent_text;
mod declare;
mod declare_external;
mod external;
mod file_access;
mod grant;
mod http;
mod mcp;
mod process;
mod revision;
mod search;
mod snippet;
mod table;
mod text;

use std::sync::Arc;

use futures::future::BoxFuture;
use ptc_core::limits::TOOL_TIMEOUT;
use ptc_core::lisp::ToolInfo;
use ptc_core::reasons::Reason;
use ptc_core::signature::{Signature, json_schema};
use ptc_core::value::{Json, Value};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

pub use answer_shaper::{AnswerShaper, SHAPING_KEYS, answer_signature};
pub use arguments::{canonical, plain_text};
pub use browser::{BrowserError, open_browser};
pub use builtin::LiveTools;
pub use builtin::{Builtin, LLM_QUERY};
pub use command::Command;
pub use consent::{ALLOW_FLAG, ConsentDecision, ConsentPolicy};
pub use consent_text::ARGUMENTS;
pub use declare::{SELF, Wrong, reference};
pub use external::ExternalTools;
pub use file_access::{
    ALLOW_FILES_FLAG, FILE_DECISIONS, FileAccess, FileQuestion, FileRefusal, NamedFile, ReplacedInputs, file_meaning,
};
pub use grant::{Grant, Grants};
pub use http::Http;
pub use mcp::{Connection, Listing, Mcp, ServerAccess, ServerState, Servers, log_file, read_listing, read_result};
pub use mcp::{Feature, Login, LoginError, LoginReport, LogoutReport, Tokens, log_out};
pub use process::{DEFAULT_VARIABLES, Program};
pub use revision::FileRevision;
pub use table::{Table, TableRow};

use crate::event::{Address, Answerer, Decision, ErrorRecord, JsonText, ToolSchema};

/// A tool of an agent.
#[derive(Clone)]
pub struct Tool {
    /// Its name.
    pub name: String,
    /// Its signature as written.
    pub signature_text: Option<String>,
    /// Its parsed signature.
    pub signature: Option<Signature>,
    /// JSON Schema of its arguments that models get instead of that of the signature.
    pub parameters: Option<Json>,
    /// Further members of its definition as a custom tool, whose argument is a text; `None` for a function.
    pub custom: Option<Json>,
    /// Its description for models and users.
    pub description: Option<String>,
    /// True if equal calls in the same run are answered from a cache.
    pub cache: bool,
    /// Its permitted callers.
    pub expose: Option<Expose>,
    /// Time limit per call as declared; of a tool that is an agent or a question to a model it limits the child run.
    pub timeout_ms: Option<u64>,
    /// Result form of an agent tool.
    pub returns: Returns,
    /// Its kind with its settings.
    pub kind: Kind,
}

/// Callers of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Expose {
    /// The model.
    Native,
    /// Programs.
    PtcLisp,
    /// Both.
    Both,
}

/// Input and result of an agent tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Returns {
    /// The agent's parameters and its answer.
    #[default]
    Answer,
    /// A task as text, and `{result, summary, refs, trace}`.
    Delegate,
}

/// Names that tools cannot have: the engine's own.
pub(crate) const RESERVED_NAMES: [&str; 2] = ["lisp_eval", "lisp-eval"];

/// Signature of a tool that takes a task.
pub const DELEGATE: &str = "(task :string) -> {result :any, summary :string?, refs :map, trace [:map]}";

/// The kinds of tools.
#[derive(Clone)]
pub enum Kind {
    /// Fixed answers.
    Table(Table),
    /// A PTC-Lisp program over `data/`.
    Snippet(String),
    /// Another agent: its definition in the form of an agent file.
    Agent(Json),
    /// The agent itself, called recursively.
    SelfAgent,
    /// A prompt for a model: an agent of one turn.
    Llm(Json),
    /// A builtin tool.
    Builtin(Builtin),
    /// A function of the program that uses the library.
    Closure(Option<Closure>),
    /// A process.
    Command(Command),
    /// An HTTP request.
    Http(Http),
    /// A tool of an MCP server.
    Mcp(Mcp),
}

/// A tool that is a function: returns a value or an error text.
pub type Closure = Arc<dyn Fn(&Value) -> Result<Value, String> + Send + Sync>;

/// A call with checked arguments.
#[derive(Clone)]
pub struct Invocation<'a> {
    /// Address of the call.
    pub address: &'a Address,
    /// The tool.
    pub tool: &'a Tool,
    /// The arguments: a map with string keys.
    pub args: &'a Value,
    /// The time of the turn, Unix ms.
    pub now_ms: i64,
    /// Cancels the call.
    pub cancel: &'a CancellationToken,
    /// Receives progress notes during the call.
    pub notes: &'a mpsc::UnboundedSender<String>,
    /// Receives requests of the tool to the run during the call.
    pub requests: &'a mpsc::UnboundedSender<ToolRequest>,
}

/// Request of a tool to the run during its call.
#[derive(Debug)]
pub enum ToolRequest {
    /// An answer of the user.
    Question(ToolQuestion),
    /// A reply of the run's model, which the user has allowed.
    Sample(ToolSample),
    /// An image of the result, to be stored and given to a model that asked for the call.
    Image(ToolImage),
}

/// An image of a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolImage {
    /// Its name, of the tool and a number.
    pub name: String,
    /// Its bytes.
    pub bytes: Arc<[u8]>,
}

/// A request of a tool for a reply of the run's model.
#[derive(Debug)]
pub struct ToolSample {
    /// The prompt of the model.
    pub prompt: SamplePrompt,
    /// Receives the reply, or the reason why there is none.
    pub answer: oneshot::Sender<Result<SampleReply, String>>,
}

/// Prompt of the model, without known secrets. It comes from outside.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SamplePrompt {
    /// The tool and server that ask, for the record.
    pub name: String,
    /// The system prompt, if there is one.
    pub system: Option<String>,
    /// The messages as one text.
    pub text: String,
    /// The most tokens of the reply.
    pub max_tokens: u64,
    /// The temperature, if one is asked for.
    pub temperature: Option<f64>,
    /// The texts that end the reply.
    pub stop: Vec<String>,
}

/// A reply of the run's model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SampleReply {
    /// The text.
    pub text: String,
    /// The model.
    pub model: String,
}

/// A question of a tool to the user during its call.
#[derive(Debug)]
pub struct ToolQuestion {
    /// The text, without known secrets. It comes from outside.
    pub text: String,
    /// The answers to choose from; empty for any text.
    pub options: Vec<String>,
    /// Receives the answer; `None`: no user is present, or the run was stopped.
    pub answer: oneshot::Sender<Option<String>>,
}

/// Reason why a call returned no value.
#[derive(Debug, Clone, PartialEq)]
pub enum Failure {
    /// It failed.
    Error(ErrorRecord),
    /// It was cancelled.
    Cancelled,
}

impl Failure {
    /// Creates a failure with this message.
    pub fn from_message(message: impl Into<String>) -> Self {
        Self::Error(ErrorRecord::new(Reason::ToolError, message))
    }
}

/// Calls tools.
pub trait Tools: Send + Sync {
    /// Answers one call. Returns [`Failure::Cancelled`] within 100 ms of a cancel.
    fn call<'a>(&'a self, call: &'a Invocation<'a>) -> BoxFuture<'a, Result<Value, Failure>>;

    /// Decides about a call of a tool that starts a process or leaves the machine; `None`: the user is asked.
    fn consent_decision(&self, tool: &Tool) -> Option<ConsentDecision> {
        _ = tool;
        Some(ConsentDecision::new(Answerer::Default, Decision::Deny))
    }

    /// Returns the changes since the user allowed this tool for all runs; empty if there are none, or if the tool was
    /// never allowed.
    fn changes(&self, tool: &Tool) -> Vec<String> {
        _ = tool;
        Vec::new()
    }

    /// Describes for the user what a call of this tool does on this machine: resolved program and folder, variables,
    /// then all arguments. `None`: its recorded definition is all that is known.
    fn details(&self, tool: &Tool) -> Option<String> {
        _ = tool;
        None
    }

    /// Stores that this tool may always be called.
    fn keep(&self, tool: &Tool) {
        _ = tool;
    }
}

/// Returns a tool's name in the form that providers accept.
pub fn provider_name(name: &str) -> String {
    name.replace(|c: char| !c.is_ascii_alphanumeric(), "_")
}

impl Tool {
    /// Returns the tool as programs see it.
    pub fn info(&self) -> ToolInfo {
        ToolInfo {
            name: self.name.clone(),
            signature: self.signature_text.clone(),
            description: self.description.clone(),
        }
    }

    /// Returns the tool as providers see it: names with `_`. With a schema of its own it keeps its name, if providers accept it.
    pub fn schema(&self) -> ToolSchema {
        let derived = || {
            let params = self.signature.as_ref().and_then(|signature| signature.params.as_deref());
            json_schema::tool(params.unwrap_or_default())
        };
        let is_accepted = self.name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
        ToolSchema {
            name: if self.parameters.is_some() && is_accepted { self.name.clone() } else { self.provider_name() },
            description: self.description.clone(),
            parameters: JsonText::of(&self.parameters.clone().unwrap_or_else(derived)),
            custom: self.custom.as_ref().map(JsonText::of),
        }
    }

    /// Returns its name in the form that providers accept: letters, digits and `_` only.
    pub fn provider_name(&self) -> String {
        provider_name(&self.name)
    }

    /// Returns whether the model may call it natively.
    pub fn is_native(&self) -> bool {
        matches!(self.expose, None | Some(Expose::Native | Expose::Both))
    }

    /// Returns whether programs may call it.
    pub fn is_for_programs(&self) -> bool {
        matches!(self.expose, None | Some(Expose::PtcLisp | Expose::Both))
    }

    /// Returns whether a call may have external effects.
    pub fn is_effectful(&self) -> bool {
        match &self.kind {
            Kind::Closure(_) | Kind::Command(_) | Kind::Mcp(_) => true,
            Kind::Http(http) => !http.is_safe(),
            _ => false,
        }
    }

    /// Describes what a call starts or where it goes; `None` for tools without external effects. The user consents to
    /// this text.
    pub fn definition(&self) -> Option<String> {
        match &self.kind {
            Kind::Command(command) => Some(format!("command {}", command.program.describe())),
            Kind::Http(http) => Some(format!("http {}", http.describe())),
            Kind::Mcp(mcp) => Some(format!("mcp {}", mcp.describe(&self.name))),
            _ => None,
        }
    }

    /// Returns the grant of this tool: the content to which a stored permission is bound; reads the files it depends on.
    pub fn grant(&self) -> Option<Grant> {
        let definition = self.definition()?;
        Some(match &self.kind {
            Kind::Command(command) => Grant::of_program(definition, &command.program),
            Kind::Mcp(Mcp { connection: Some(connection), .. }) => connection.grant(definition),
            _ => Grant::new(definition),
        })
    }

    /// True if it is granted. Files are read only if the same definition was granted once.
    pub fn is_granted(&self, grants: &Grants) -> bool {
        self.definition().is_some_and(|definition| grants.knows(&definition))
            && self.grant().is_some_and(|grant| grants.is_granted(&grant))
    }

    /// Returns the time limit of a call in ms; `None` for questions to users and child agents, which the budgets of the
    /// run limit.
    pub fn max_ms(&self) -> Option<u64> {
        match self.kind {
            Kind::Agent(_) | Kind::SelfAgent | Kind::Llm(_) | Kind::Builtin(Builtin::AskUser | Builtin::LlmQuery) => {
                None
            }
            Kind::Table(_)
            | Kind::Snippet(_)
            | Kind::Closure(_)
            | Kind::Command(_)
            | Kind::Http(_)
            | Kind::Mcp(_)
            | Kind::Builtin(Builtin::Grep | Builtin::GrepLines) => Some(self.call_limit_ms()),
        }
    }

    /// The time limit of a call that is not a separate run, in ms: as declared, or the default.
    pub(crate) fn call_limit_ms(&self) -> u64 {
        self.timeout_ms.or(TOOL_TIMEOUT.default).unwrap_or(TOOL_TIMEOUT.max)
    }

    /// Returns the name of its kind.
    pub fn kind_name(&self) -> &'static str {
        match self.kind {
            Kind::Table(_) => "table",
            Kind::Snippet(_) => "snippet",
            Kind::Agent(_) | Kind::SelfAgent => "agent",
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
