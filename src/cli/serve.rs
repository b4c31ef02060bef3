//! `serve`: agents over HTTP until the program is ended.
//!
//! In: agents, an address, limits. Out: one line on stderr per answered request. It must never listen beyond this machine without
//! a key.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::arguments::ServeFlags;
use super::output::{UsageError, exit, print_note, safe_line};
use crate::config::is_variable_name;
use crate::port::EndSignals;
use crate::serve::http::AgentService;
use crate::serve::{RunOptions, Runs, ServedAgent};
use crate::server::{Listener, ListenerEnd, ListenerLimits};
use crate::workbench::Workbench;

pub(super) async fn serve(flags: &ServeFlags, allow_tools: bool, workbench: &Workbench) -> Result<u8, UsageError> {
    let agents = ServedAgent::find_all(&flags.agents, workbench)?;
    let key = flags.key_env.as_deref().map(key_of).transpose()?;
    if key.is_none() && !flags.host.is_loopback() {
        return Err(UsageError(format!(
            "--host {}: other machines can reach this address, so requests need a key: set a variable and name it with --key-env",
            flags.host
        )));
    }
    let options = RunOptions {
        model: flags.model.clone(),
        save: !flags.no_save,
        max_runs: flags.max_runs.into(),
        timeout: flags.timeout.map(Duration::from_secs),
        allow_tools,
    };
    let mut signals = EndSignals::catch();
    let address = SocketAddr::new(flags.host, flags.port);
    let listener = Listener::bind(address, ListenerLimits::default()).await;
    let listener = listener
        .map_err(|error| UsageError(format!("cannot listen on {address}: {error}; choose another port with --port")))?;
    for agent in &agents {
        let outside = if allow_tools { Vec::new() } else { agent.outside_tools() };
        if !outside.is_empty() {
            let (name, tools) = (&agent.name, outside.join(", "));
            print_note(&safe_line(&format!(
                "warning: runs of {name} are refused without --allow-tools: it has the tools {tools}"
            )));
        }
        print_note(&safe_line(&format!("agent {} ({})", agent.name, agent.label)));
    }
    print_note(&format!("listening on http://{}", listener.address()));
    let end = CancellationToken::new();
    let runs = Arc::new(Runs::new(agents, workbench, options, end.clone()));
    let log = Box::new(|line: &str| print_note(&safe_line(line)));
    let service = Arc::new(AgentService::new(runs, key.as_deref(), log));
    let closing = ListenerEnd::default();
    let served = tokio::spawn(listener.serve(service, closing.clone()));
    signals.next().await;
    print_note("shutting down: runs are stopped; a second signal exits immediately");
    end.cancel();
    closing.close();
    tokio::select! {
        _ = served => Ok(exit::OK),
        _ = signals.next() => Ok(exit::CANCELLED),
    }
}

/// The key in this variable.
fn key_of(name: &str) -> Result<String, UsageError> {
    if !is_variable_name(name) {
        // It may be the key itself, which must not be printed.
        return Err(UsageError("--key-env takes the name of an environment variable, not the key itself".to_owned()));
    }
    match std::env::var(name) {
        Ok(key) if key.trim().len() >= 16 => Ok(key.trim().to_owned()),
        Ok(_) => Err(UsageError(format!("--key-env {name}: a key has at least 16 characters"))),
        Err(_) => Err(UsageError(format!("--key-env {name}: this environment variable is not set"))),
    }
}
