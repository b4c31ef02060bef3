//! Tools of servers that speak the model context protocol, over the pipes of a process or over HTTP.
//!
//! In: which tool of which server, and a call. Out: a value, or why there is none. What a server says is data: its names, schemas,
//! descriptions, results, logs. A server that dies, hangs or talks nonsense costs a call, never the run.

mod connect;
mod kept;
mod listing;
mod log;
mod notifications;
mod reduce;
mod result;
mod servers;
mod session;

use super::Program;

pub use kept::log_file;
pub use listing::Listing;
pub use servers::{ServerState, Servers};

/// A tool of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mcp {
    /// The server's name in the configuration.
    pub server: String,
    /// The tool's name at the server; `None` = the tool's own name.
    pub tool: Option<String>,
    /// How the server is reached; `None` until the configuration has said it.
    pub connection: Option<Connection>,
}

/// How a server is reached.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Connection {
    /// A process, over its standard streams.
    Process(Program),
    /// An address, by the streamable HTTP transport.
    Http {
        /// The address.
        url: String,
        /// Headers; `${NAME}` stands for a variable of the environment.
        headers: Vec<(String, String)>,
    },
}

impl Connection {
    /// What it is, in words for a person.
    pub fn told(&self) -> String {
        match self {
            Self::Process(program) => program.told(),
            Self::Http { url, headers } => {
                headers.iter().fold(url.clone(), |told, (name, value)| format!("{told}\n  {name}: {value}"))
            }
        }
    }

    /// What looking at its tools does, in words for a person: consent is given to this text.
    pub fn definition(&self, server: &str) -> String {
        let verb = if matches!(self, Self::Process(_)) { "started" } else { "asked" };
        format!("mcp the server {server}, which is {verb} for its list of tools\n  {}", self.told())
    }
}

impl Mcp {
    /// What a call does, in words for a person. `own` is the name of the tool in the agent.
    pub(super) fn told(&self, own: &str) -> String {
        let place = self.connection.as_ref().map(|connection| format!("\n  {}", connection.told())).unwrap_or_default();
        format!("the tool {} of the server {}{place}", self.tool.as_deref().unwrap_or(own), self.server)
    }
}
