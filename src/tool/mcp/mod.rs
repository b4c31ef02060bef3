//! Tools of MCP (Model Context Protocol) servers, over the pipes of a process or over HTTP.
//!
//! In: a tool of a server, and a call. Out: a value, or an error. Everything from a server is untrusted data: names,
//! schemas, descriptions, results, logs. A server that crashes, hangs or violates the protocol fails a call, never the
//! run.

mod access;
mod client;
mod connect;
mod elicitation;
mod features;
mod http_error;
mod lines;
mod listing;
mod log;
mod log_file;
mod notifications;
mod oauth;
mod reduce;
mod result;
mod sampling;
mod servers;
mod session;
mod start_error;

use super::{Grant, Program};

pub use access::ServerAccess;
pub use features::Feature;
pub use listing::Listing;
pub use log_file::log_file;
pub use oauth::{Login, LoginError, LoginReport, LogoutReport, Tokens, log_out};
pub use result::{read_listing, read_result};
pub use servers::{ServerState, Servers};

/// A tool of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mcp {
    /// The server's name in the configuration.
    pub server: String,
    /// The tool's name on the server; `None` if it is the same.
    pub tool: Option<String>,
    /// The connection; `None` until the configuration is applied.
    pub connection: Option<Connection>,
}

/// A way to reach a server.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Connection {
    /// A process, over stdin and stdout.
    Process(Program),
    /// A URL, by the streamable HTTP transport.
    Http {
        /// The URL.
        url: String,
        /// Headers; `${NAME}` is replaced by an environment variable.
        headers: Vec<(String, String)>,
    },
}

impl Connection {
    /// Describes the connection for the user.
    pub fn describe(&self) -> String {
        match self {
            Self::Process(program) => program.describe(),
            Self::Http { url, headers } => {
                headers.iter().fold(url.clone(), |text, (name, value)| format!("{text}\n  {name}: {value}"))
            }
        }
    }

    /// Describes the listing of its tools; the user consents to this text.
    pub fn definition(&self, server: &str) -> String {
        let verb = if matches!(self, Self::Process(_)) { "started" } else { "asked" };
        format!("mcp the server {server}, which is {verb} for its list of tools\n  {}", self.describe())
    }

    /// Describes reading a resource before a run; the user consents to this text.
    pub fn resource_definition(&self, server: &str, uri: &str) -> String {
        format!("mcp the resource {uri} of the server {server}, which is read before the run\n  {}", self.describe())
    }

    /// Returns the grant of this definition: the content to which a stored permission is bound.
    pub fn grant(&self, definition: String) -> Grant {
        match self {
            Self::Process(program) => Grant::of_program(definition, program),
            Self::Http { .. } => Grant::new(definition),
        }
    }
}

impl Mcp {
    /// Describes a call. `own` is the name of the tool in the agent.
    pub(super) fn describe(&self, own: &str) -> String {
        let place =
            self.connection.as_ref().map(|connection| format!("\n  {}", connection.describe())).unwrap_or_default();
        format!("the tool {} of the server {}{place}", self.tool.as_deref().unwrap_or(own), self.server)
    }
}
