//! `mcp`: the workbench as an MCP server on stdin and stdout.
//!
//! In: agents that are tools. Out: messages of the protocol on stdout, and nothing else there. A signal stops the runs, whose requests are
//! still answered.

use std::io::IsTerminal as _;

use tokio_util::sync::CancellationToken;

use super::arguments::McpFlags;
use super::output::{UsageError, exit, print_note, safe_line};
use super::run::signal_code;
use crate::port::EndSignals;
use crate::serve::ServedAgent;
use crate::serve::mcp::{AgentTools, McpOptions, serve};
use crate::tool::ConsentPolicy;
use crate::workbench::Workbench;

pub(super) async fn mcp(flags: &McpFlags, allow_tools: bool, workbench: &Workbench) -> Result<u8, UsageError> {
    let mut signals = EndSignals::catch();
    let tools = AgentTools::new(ServedAgent::find_all(&flags.agent, workbench)?)?;
    tools.notes().iter().for_each(|note| print_note(&safe_line(note)));
    // Stdin belongs to the client, so that no question can be asked there.
    let policy = if allow_tools { ConsentPolicy::Allow } else { ConsentPolicy::Refuse };
    let workbench = workbench.clone().with_policy(policy);
    if std::io::stdin().is_terminal() {
        print_note(
            "An MCP client starts this command and writes requests to its stdin; docs/mcp-server.md has an example. Ctrl-D ends it.",
        );
    }
    let options = McpOptions { allow_runs: flags.allow_runs };
    let end = CancellationToken::new();
    let served = serve(workbench, tools, options, tokio::io::stdin(), tokio::io::stdout(), end.clone());
    tokio::pin!(served);
    let signal = tokio::select! {
        served = &mut served => return served.map(|()| exit::OK).map_err(UsageError),
        signal = signals.next() => signal,
    };
    end.cancel();
    // A client that does not read its replies would keep them here; a second signal ends at once.
    tokio::select! {
        served = served => served?,
        _ = signals.next() => {}
    }
    Ok(signal_code(signal))
}
