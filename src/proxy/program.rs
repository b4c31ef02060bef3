//! The program that `proxy -- COMMAND` starts.
//!
//! In: a command and variables. Out: its exit code. It has the terminal of the proxy, and signals of the terminal reach both; SIGTERM
//! reaches the proxy alone, which passes it on, and kills a program that has not ended when a second one comes.

use std::ffi::OsString;

use tokio::process::{Child, Command};

use crate::port::{EndSignal, EndSignals};

/// Runs a program to its end with these variables in addition. Returns its exit code; 128 and the signal for one that a signal ended.
///
/// Errors: it cannot be started.
pub async fn run_program(
    program: &OsString,
    arguments: &[OsString],
    variables: &[(&'static str, String)],
    signals: &mut EndSignals,
) -> std::io::Result<u8> {
    let mut child = Command::new(program)
        .args(arguments)
        .envs(variables.iter().map(|(name, value)| (*name, value.as_str())))
        .kill_on_drop(true)
        .spawn()?;
    let mut is_terminated = false;
    let status = loop {
        tokio::select! {
            status = child.wait() => break status?,
            signal = signals.next() => match signal {
                // The terminal sends it to the program, too, which decides about its end.
                EndSignal::Interrupt => {}
                EndSignal::Terminate if is_terminated => child.start_kill()?,
                EndSignal::Terminate => {
                    is_terminated = true;
                    terminate(&child);
                }
            },
        }
    };
    let code = status.code().or_else(|| signal_code(status));
    Ok(u8::try_from(code.unwrap_or(1)).unwrap_or(1))
}

/// Passes SIGTERM on to the program.
#[cfg(unix)]
fn terminate(child: &Child) {
    use rustix::process::{Pid, Signal, kill_process};
    let pid = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
    if let Some(Err(error)) = pid.map(|pid| kill_process(pid, Signal::TERM)) {
        tracing::debug!(%error, "SIGTERM was not passed on");
    }
}

/// There is no such signal here.
#[cfg(not(unix))]
fn terminate(_: &Child) {}

#[cfg(unix)]
fn signal_code(status: std::process::ExitStatus) -> Option<i32> {
    std::os::unix::process::ExitStatusExt::signal(&status).map(|signal| 128 + signal)
}

#[cfg(not(unix))]
fn signal_code(_: std::process::ExitStatus) -> Option<i32> {
    None
}

/// Raises the number of files that this process may have open as far as the system lets it: each request has two connections and a
/// session.
pub fn allow_many_files() {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
        let now = getrlimit(Resource::Nofile);
        if now.current < now.maximum
            && let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: now.maximum, maximum: now.maximum })
        {
            tracing::debug!(%error, "the number of open files stays as it was");
        }
        reserve_files();
    }
}

/// File descriptors whose table exists from the start: connections and sessions of more than 5,000 requests at once.
#[cfg(unix)]
const RESERVED_FILES: i32 = 16_384;

/// Makes the table of file descriptors as large as many requests need it. Linux doubles it when it is full, and lets the threads of the
/// process wait 10 to 30 ms for that: requests that come at that moment would wait too.
#[cfg(unix)]
fn reserve_files() {
    use std::os::fd::AsFd as _;
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    let most =
        limit.and_then(|limit| i32::try_from(limit).ok()).map_or(RESERVED_FILES, |limit| limit.min(RESERVED_FILES));
    if let Err(error) = rustix::io::fcntl_dupfd_cloexec(std::io::stderr().as_fd(), most - 1) {
        tracing::debug!(%error, "the table of file descriptors grows with its use");
    }
}
