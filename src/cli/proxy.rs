//! `proxy`: the traffic of other programs, recorded as it passes, until the program is ended.
//!
//! In: upstreams, recordings, rules, a command. Out: a line on stderr for each request; the exit code of the command. It must never end
//! before what it has recorded is on the disk.

use super::arguments::ProxyFlags;
use super::output::{UsageError, exit, print_error, print_note, safe_line};
use crate::port::EndSignals;
use crate::proxy::{Audience, ExchangeLine, ProxySpec, Retention, run_program};
use crate::workbench::Workbench;

/// Runs `proxy`.
pub(super) async fn proxy(flags: &ProxyFlags, workbench: &Workbench) -> Result<u8, UsageError> {
    let lines = Audience::Lines(Box::new(|line: Result<&ExchangeLine, &str>| match line {
        Ok(line) => print_note(&safe_line(&line.to_string())),
        Err(problem) => print_error(&safe_line(problem)),
    }));
    let mut signals = EndSignals::catch();
    let mut proxy = proxy_spec(flags).start(workbench, lines).await.map_err(UsageError)?;
    for upstream in proxy.upstreams() {
        print_note(&safe_line(&format!("upstream {upstream}")));
    }
    if let Some(recorded) = proxy.recorded() {
        print_note(&format!("answers {recorded} recorded requests"));
    }
    for (name, value) in proxy.variables() {
        print_note(&format!("  export {name}={value}"));
    }
    print_note(&format!("listening on http://{}", proxy.address()));
    if !flags.host.is_loopback() {
        print_note(
            "warning: other machines can reach this proxy; they send their own keys, and it records what they ask",
        );
    }
    let code = match flags.command.split_first() {
        None => {
            signals.next().await;
            exit::OK
        }
        Some((program, arguments)) => match run_program(program, arguments, proxy.variables(), &mut signals).await {
            Ok(code) => code,
            Err(error) => {
                print_error(&safe_line(&format!("{}: {error}", program.to_string_lossy())));
                exit::USAGE
            }
        },
    };
    tokio::select! {
        () = proxy.drain() => {}
        _ = signals.next() => {}
    }
    let misses = proxy.close().await;
    if misses.is_empty() || flags.record_missing {
        return Ok(code);
    }
    for miss in &misses {
        print_error(&miss.to_string().lines().map(safe_line).collect::<Vec<_>>().join("\n"));
    }
    Ok(if code == exit::OK { exit::DIVERGED } else { code })
}

/// The proxy that flags describe.
pub fn proxy_spec(flags: &ProxyFlags) -> ProxySpec {
    let keeps = Retention { sessions: flags.keep as usize, bytes: flags.keep_mb << 20 };
    ProxySpec {
        upstreams: flags.upstream.clone(),
        host: flags.host,
        port: flags.port,
        rules: flags.rules.clone(),
        replay: flags.replay.clone(),
        ignore: flags.ignore.clone(),
        records_missing: flags.record_missing,
        keeps: (!flags.no_save).then_some(keeps),
    }
}
