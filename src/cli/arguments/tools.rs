//! The arguments of `tools`.

use clap::Args;

use super::AgentFlags;

/// Flags of `tools`.
#[derive(Debug, Args)]
#[command(mut_arg("agent", |arg| arg.required_unless_present("server")))]
pub struct ToolsFlags {
    /// The agent
    #[command(flatten)]
    pub agent: AgentFlags,
    /// Start or ask the servers that it names, read their lists of tools, and keep them
    #[arg(long)]
    pub connect: bool,
    /// Instead of an agent: start or ask the server of the section `[mcp.NAME]` in the configuration, and show what it offers
    #[arg(long, value_name = "NAME", conflicts_with_all = ["agent", "prompt", "connect", "logs"])]
    pub server: Option<String>,
    /// Show what the servers that it names have said beside their answers: the latest lines of each
    #[arg(long, conflicts_with = "connect")]
    pub logs: bool,
    /// Print them as JSON
    #[arg(long)]
    pub json: bool,
}
