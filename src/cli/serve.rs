//! `serve`: agents over HTTP until the program is ended.
//!
//! In: agents, an address, limits. Out: one line on stderr per answered request. It must never listen beyond this machine without
//! a key.

use std::env::VarError;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::arguments::ServeFlags;
use super::output::{UsageError, exit, print_note, safe_line};
use super::run::signal_code;
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
    let listener = Listener::bind(address, ListenerLimits::default());
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
        signal = signals.next() => Ok(signal_code(signal)),
    }
}

/// The key in this variable.
fn key_of(name: &str) -> Result<String, UsageError> {
    if !is_variable_name(name) {
        // It may be the key itself, which must not be printed.
        return Err(UsageError("--key-env takes the name of an environment variable, not the key itself".to_owned()));
    }
    sendable_key(std::env::var(name)).map_err(|why| UsageError(format!("--key-env {name}: {why}")))
}

/// The key that a variable holds. Errors: requests cannot send it, or it is easy to guess.
fn sendable_key(variable: Result<String, VarError>) -> Result<String, &'static str> {
    const UNSENDABLE: &str =
        "the key has characters that no request can send in its header; use letters, digits and punctuation of ASCII";
    let key = variable.map_err(|error| match error {
        VarError::NotPresent => "this environment variable is not set",
        VarError::NotUnicode(_) => UNSENDABLE,
    })?;
    let key = key.trim();
    if !key.chars().all(|c| c.is_ascii_graphic() || c == ' ') {
        return Err(UNSENDABLE);
    }
    if key.len() < 16 { Err("a key has at least 16 characters") } else { Ok(key.to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_no_request_can_send_is_refused() {
        let of = |key: &str| sendable_key(Ok(key.to_owned()));
        assert_eq!(of(" 0123456789abcdef\n").as_deref(), Ok("0123456789abcdef"));
        assert_eq!(of("0123456789 +/=~-_").as_deref(), Ok("0123456789 +/=~-_"));
        for key in
            ["0123456789abcdef\u{fc}", "schl\u{fc}ssel-schl\u{fc}ssel", "01234567\n89abcdef", "01234567\u{7f}89abcdef"]
        {
            assert!(of(key).unwrap_err().contains("no request can send"), "{key:?}");
        }
        assert_eq!(of("short"), Err("a key has at least 16 characters"));
        assert!(sendable_key(Err(VarError::NotPresent)).unwrap_err().contains("not set"));
    }
}
