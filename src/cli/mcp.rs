//! `mcp`: the workbench as an MCP server on stdin and stdout.
//!
//! In: agents that are tools. Out: messages of the protocol on stdout, and nothing else there.

use super::arguments::McpFlags;
use super::output::{UsageError, exit};
use crate::serve::ServedAgent;
use crate::serve::mcp::{McpOptions, serve};
use crate::tool::ConsentPolicy;
use crate::workbench::Workbench;

pub(super) async fn mcp(flags: &McpFlags, allow_tools: bool, workbench: &Workbench) -> Result<u8, UsageError> {
    let agents = ServedAgent::find_all(&flags.agent, workbench)?;
    // Stdin is the client's: nobody can be asked there.
    let policy = if allow_tools { ConsentPolicy::Allow } else { ConsentPolicy::Refuse };
    let workbench = workbench.clone().with_policy(policy);
    let options = McpOptions { allow_runs: flags.allow_runs };
    serve(workbench, agents, options, tokio::io::stdin(), tokio::io::stdout()).await?;
    Ok(exit::OK)
}
