//! `tools login` and `tools logout`: the tokens of servers over HTTP.
//!
//! In: a server. Out: the address of the login page on stderr, and whether a token was stored. It must never print a token, nor wait for a
//! browser that does not exist.

use std::io::{BufRead as _, IsTerminal as _};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::arguments::{LoginFlags, ServerFlags};
use super::output::{UsageError, exit, print_error, print_line, print_note, safe_line};
use super::run::signal_code;
use super::source::agent_source;
use crate::port::EndSignals;
use crate::tool::{LoginError, LoginReport, LogoutReport, open_browser};
use crate::workbench::Workbench;

/// The URL of the server that the flags name.
fn url_of(flags: &ServerFlags, workbench: &Workbench) -> Result<String, UsageError> {
    let agent = flags.agent.as_deref().map(|name| agent_source(name, workbench.file_access())).transpose()?;
    Ok(workbench.server_url(&flags.server, agent.as_ref())?)
}

pub(super) async fn login(flags: &LoginFlags, workbench: &Workbench) -> Result<u8, UsageError> {
    let url = url_of(&flags.server, workbench)?;
    let login = match workbench.begin_login(&url).await {
        Ok(login) => login,
        Err(error) => {
            print_error(&error.to_string());
            return Ok(exit::FAILED);
        }
    };
    let mut signals = EndSignals::catch();
    let address = safe_line(login.address());
    let is_terminal = std::io::stdin().is_terminal();
    let opened = if flags.no_browser { Ok(false) } else { open_browser(login.address()).map(|()| true) };
    match &opened {
        Ok(true) => {
            print_note(&format!("your browser shows the login page; if it does not, open this address:\n{address}"));
        }
        Ok(false) => print_note(&format!("open this address in a browser:\n{address}")),
        Err(problem) => {
            let problem = safe_line(&problem.to_string());
            print_note(&format!("{problem}; open this address in a browser:\n{address}"));
        }
    }
    if opened.is_err() && !is_terminal {
        print_error(
            "the login needs a browser: run it in a terminal, or add --no-browser and open the address in any browser",
        );
        return Ok(exit::FAILED);
    }
    let (pasted, receiver) = mpsc::unbounded_channel();
    if is_terminal {
        print_note("if the browser runs on another machine, paste the address of its last page here");
        read_lines(pasted);
    } else {
        drop(pasted);
    }
    let cancel = CancellationToken::new();
    let waiting = login.finish(receiver, Duration::from_secs(flags.timeout), &cancel);
    tokio::pin!(waiting);
    let mut stopped = exit::CANCELLED;
    let done = tokio::select! {
        done = &mut waiting => done,
        signal = signals.next() => {
            stopped = signal_code(signal);
            cancel.cancel();
            waiting.await
        }
    };
    match done {
        Ok(report) => {
            print_line(&safe_line(&format!("logged in to {url}{}", validity(&report))));
            Ok(exit::OK)
        }
        Err(error) => {
            print_error(&error.to_string());
            Ok(if error == LoginError::Cancelled { stopped } else { exit::FAILED })
        }
    }
}

/// Returns the remaining validity of the token, for the end of a sentence; empty if it is unknown.
fn validity(report: &LoginReport) -> String {
    let renewed = if report.is_renewable { " and is renewed without a login" } else { "; then log in again" };
    match report.remaining_s {
        None => String::new(),
        Some(seconds) => format!("; the token expires in {} min{renewed}", seconds.div_ceil(60)),
    }
}

/// Sends the lines of stdin. The thread ends with the process, as no read of a terminal can be cancelled.
fn read_lines(lines: mpsc::UnboundedSender<String>) {
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines() {
            let Ok(line) = line else { return };
            if !line.trim().is_empty() && lines.send(line).is_err() {
                return;
            }
        }
    });
}

pub(super) async fn logout(flags: &ServerFlags, workbench: &Workbench) -> Result<u8, UsageError> {
    let url = url_of(flags, workbench)?;
    let report = workbench.log_out(&url).await;
    match report.map_err(|error| format!("could not remove the token of {url}: {error}"))? {
        LogoutReport::Revoked => print_line(&safe_line(&format!("logged out of {url}; the token is revoked"))),
        LogoutReport::RemovedOnly(why) => {
            print_line(&safe_line(&format!("logged out of {url}; the token is removed from this machine")));
            print_note(&safe_line(&format!("the token was not revoked and may still be valid: {why}")));
        }
        LogoutReport::NoToken => print_note(&safe_line(&format!("no token for {url}"))),
    }
    Ok(exit::OK)
}
