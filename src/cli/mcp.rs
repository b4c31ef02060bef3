//! `mcp`: the workbench as an MCP server on stdin and stdout.
//!
//! In: agents that are tools. Out: messages of the protocol on stdout, and nothing else there.

use std::io::IsTerminal as _;

use super::arguments::McpFlags;
use super::output::{UsageError, exit, print_note};
use crate::serve::ServedAgent;
use crate::serve::mcp::{McpOptions, serve};
use crate::tool::ConsentPolicy;
use crate::workbench::Workbench;

pub(super) async fn mcp(flags: &McpFlags, allow_tools: bool, workbench: &Workbench) -> Result<u8, UsageError> {
    let agents = ServedAgent::find_all(&flags.agent, workbench)?;
    // Stdin belongs to the client, so that no question can be asked there.
    let policy = if allow_tools { ConsentPolicy::Allow } else { ConsentPolicy::Refuse };
    let workbench = workbench.clone().with_policy(policy);
    if std::io::stdin().is_terminal() {
        print_note(
            "An MCP client starts this command and writes requests to its stdin; docs/mcp-server.md has an example. Ctrl-D ends it.",
        );
    }
    let options = McpOptions { allow_runs: flags.allow_runs };
    serve(workbench, agents, options, tokio::io::stdin(), tokio::io::stdout()).await?;
    Ok(exit::OK)
}
