//! The arguments of `tools`.

use clap::Args;

use super::AgentFlags;

/// Flags of `tools`.
#[derive(Debug, Args)]
pub struct ToolsFlags {
    /// The agent
    #[command(flatten)]
    pub agent: AgentFlags,
    /// Start or ask the servers that it names, read their lists of tools, and keep them
    #[arg(long)]
    pub connect: bool,
    /// Show what the servers that it names have said beside their answers: the latest lines of each
    #[arg(long, conflicts_with = "connect")]
    pub logs: bool,
    /// Print them as JSON
    #[arg(long)]
    pub json: bool,
}
