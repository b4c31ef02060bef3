//! The arguments of `tools`, `models` and `doctor`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::AgentFlags;

/// Flags of `tools`.
#[derive(Debug, Args)]
#[command(mut_arg("agent", |arg| arg.required_unless_present("server")))]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct ToolsFlags {
    /// Action; without one, the tools of an agent are listed
    #[command(subcommand)]
    pub action: Option<ToolsAction>,
    /// The agent
    #[command(flatten)]
    pub agent: AgentFlags,
    /// Connect to the agent's servers, read their tool lists and store them
    #[arg(long)]
    pub connect: bool,
    /// Connect to the server `[mcp.NAME]` of the configuration and list its tools, instead of an agent
    #[arg(long, value_name = "NAME", conflicts_with_all = ["agent", "prompt", "connect", "logs"])]
    pub server: Option<String>,
    /// Print the latest log lines of the agent's servers
    #[arg(long, conflicts_with = "connect")]
    pub logs: bool,
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}

/// Actions of `tools` that need no agent.
#[derive(Debug, Subcommand)]
pub enum ToolsAction {
    /// List the resources of a server, or print one
    Resources(ResourcesFlags),
    /// List the prompts of a server, or fill one in and print its messages
    Prompts(PromptsFlags),
    /// Log in to an HTTP server (OAuth 2.1) and store its token
    Login(LoginFlags),
    /// Remove the stored token of a server
    Logout(ServerFlags),
    /// List or revoke stored permissions of tools (answer `always`)
    Grants {
        /// Revoke this grant
        #[arg(long, value_name = "ID")]
        revoke: Option<String>,
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
}

/// A server, by name or URL.
#[derive(Debug, Args)]
pub struct ServerFlags {
    /// The server: NAME of `[mcp.NAME]` or of an agent's server, or a URL
    #[arg(value_name = "NAME|URL")]
    pub server: String,
    /// Look for the name in this agent file first
    #[arg(long, value_name = "FILE")]
    pub agent: Option<String>,
}

/// Flags of `tools resources`.
#[derive(Debug, Args)]
pub struct ResourcesFlags {
    /// The server
    #[command(flatten)]
    pub server: ServerFlags,
    /// The resource to print
    pub uri: Option<String>,
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}

/// Flags of `tools prompts`.
#[derive(Debug, Args)]
pub struct PromptsFlags {
    /// The server
    #[command(flatten)]
    pub server: ServerFlags,
    /// The prompt to fill in
    pub prompt: Option<String>,
    /// An argument of the prompt, as text
    #[arg(long = "set", value_name = "NAME=TEXT", requires = "prompt")]
    pub arguments: Vec<String>,
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}

/// Flags of `tools login`.
#[derive(Debug, Args)]
pub struct LoginFlags {
    /// The server
    #[command(flatten)]
    pub server: ServerFlags,
    /// Print the address of the login page without opening a browser
    #[arg(long)]
    pub no_browser: bool,
    /// Seconds to wait for the answer of the browser
    #[arg(long, value_name = "SECONDS", default_value_t = 300, value_parser = clap::value_parser!(u64).range(1..=3_600))]
    pub timeout: u64,
}

/// Flags of `doctor`.
#[derive(Debug, Args)]
pub struct DoctorFlags {
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}

/// Flags of `models`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct ModelsFlags {
    /// Action; without one, models are listed
    #[command(subcommand)]
    pub action: Option<ModelsAction>,
    /// Provider whose server is queried for its models
    pub provider: Option<String>,
    /// Query the servers of all providers with an API key
    #[arg(long, conflicts_with = "provider")]
    pub check: bool,
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}

/// Actions of `models`.
#[derive(Debug, Subcommand)]
pub enum ModelsAction {
    /// Detect the capabilities of a model with a few small requests, and store what its server refuses; asks before sending
    Check(ModelCheckFlags),
}

/// Flags of `models check`.
#[derive(Debug, Args)]
pub struct ModelCheckFlags {
    /// The model: an alias, or PROVIDER:MODEL
    pub model: String,
    /// Do not ask before sending
    #[arg(long)]
    pub yes: bool,
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}

/// Flags of `inspect`.
#[derive(Debug, Args)]
pub struct InspectFlags {
    /// Agent, pipeline, session, bundle (a folder), theme or configuration
    pub file: PathBuf,
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}
