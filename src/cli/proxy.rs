//! `proxy`: the traffic of other programs, recorded as it passes, until the program is ended.
//!
//! In: upstreams, recordings, rules, a command. Out: a line on stderr for each request, their numbers at the end; the exit code
//! of the command. It must never end before what it has recorded is on the disk.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::FutureExt as _;

use super::arguments::ProxyFlags;
use super::output::{UsageError, exit, print_error, print_note, safe_line};
use super::run::signal_code;
use crate::port::EndSignals;
use crate::proxy::{
    Audience, ExchangeLine, Miss, ProxySpec, Report, Retention, RunningProxy, UnrecordedReport, UnrecordedRequest,
    run_program,
};
use crate::workbench::Workbench;
use crate::workbench::format::plural;

/// Runs `proxy`.
pub(super) async fn proxy(flags: &ProxyFlags, workbench: &Workbench) -> Result<u8, UsageError> {
    let tally = Arc::<Mutex<Tally>>::default();
    let lines = Audience::Lines(report(Arc::clone(&tally)), unrecorded_report(Arc::clone(&tally)));
    let mut signals = EndSignals::catch();
    let mut proxy = proxy_spec(flags).start(workbench, lines).map_err(UsageError)?;
    for upstream in proxy.upstreams() {
        print_note(&safe_line(&format!("upstream {upstream}")));
    }
    if let Some(recorded) = proxy.recorded() {
        print_note(&format!("answers {}", plural(recorded as u64, "recorded request")));
    }
    for (name, value) in proxy.variables() {
        print_note(&format!("  export {name}={value}"));
    }
    print_note(&format!("listening on http://{}", proxy.address()));
    if !flags.host.is_loopback() {
        print_note(
            "warning: other machines can reach this proxy; they send their own keys, and their requests are recorded",
        );
    }
    let code = match flags.command.split_first() {
        None => {
            signals.next().await;
            exit::OK
        }
        Some((program, arguments)) => match signals.next().now_or_never() {
            // A signal that came while the recordings were read is for this program: the command is not started.
            Some(signal) => signal_code(signal),
            None => run_program(program, arguments, proxy.variables(), &mut signals).await.unwrap_or_else(|error| {
                print_error(&safe_line(&format!("{}: {error}", program.to_string_lossy())));
                exit::USAGE
            }),
        },
    };
    tokio::select! {
        () = proxy.drain() => {}
        _ = signals.next() => {}
    }
    let has_recordings = proxy.recorded().is_some_and(|recorded| recorded > 0);
    let misses = close(proxy).await;
    let tally = tally.lock().unwrap_or_else(PoisonError::into_inner).to_string();
    if !tally.is_empty() {
        print_note(&safe_line(&tally));
    }
    if flags.record_missing {
        // Of the first recording everything is missing.
        for miss in distinct(&misses).iter().filter(|_| has_recordings) {
            print_note(&format!("sent to its upstream: {miss}"));
        }
        return Ok(code);
    }
    for miss in distinct(&misses) {
        print_error(&miss);
    }
    Ok(if code == exit::OK && !misses.is_empty() { exit::DIVERGED } else { code })
}

/// Interval at which the number of requests that remain to be recorded is printed.
const REPORT_INTERVAL: Duration = Duration::from_secs(2);

/// Ends a proxy. Prints how many requests remain to be recorded while that takes long. Returns the requests that were not recorded.
async fn close(proxy: RunningProxy) -> Vec<Miss> {
    let left = proxy.remaining_requests();
    let mut closing = pin!(proxy.close());
    loop {
        tokio::select! {
            misses = &mut closing => return misses,
            () = tokio::time::sleep(REPORT_INTERVAL) => match left() {
                0 => {}
                left => print_note(&format!("{} remaining to record", plural(left, "request"))),
            },
        }
    }
}

/// Texts of misses, each once with its number: clients send a request again when it fails.
fn distinct(misses: &[Miss]) -> Vec<String> {
    let mut counts: HashMap<&str, u64> = HashMap::new();
    for miss in misses {
        *counts.entry(&miss.why).or_default() += 1;
    }
    let texts = misses.iter().filter_map(|miss| {
        let count = counts.remove(miss.why.as_str())?;
        let text = miss.why.lines().map(safe_line).collect::<Vec<_>>().join("\n");
        Some(if count > 1 { format!("{count} × {text}") } else { text })
    });
    texts.collect()
}

/// Prints recorded requests and counts them.
fn report(tally: Arc<Mutex<Tally>>) -> Report {
    Box::new(move |line| match line {
        Ok(line) => {
            tally.lock().unwrap_or_else(PoisonError::into_inner).count(line);
            print_note(&safe_line(&line.to_string()));
        }
        Err(problem) => print_error(&safe_line(problem)),
    })
}

/// Prints the other requests and counts them.
fn unrecorded_report(tally: Arc<Mutex<Tally>>) -> UnrecordedReport {
    Arc::new(move |line| {
        tally.lock().unwrap_or_else(PoisonError::into_inner).count_unrecorded(&line);
        print_note(&safe_line(&line.to_string()));
    })
}

/// The requests of a proxy in numbers.
#[derive(Default)]
struct Tally {
    recorded: u64,
    /// Requests whose session could not be written.
    lost: u64,
    failed: u64,
    sessions: BTreeSet<String>,
    /// Requests that were answered from recordings and not recorded again.
    answered: u64,
    /// The others by method and path.
    unrecorded: BTreeMap<String, u64>,
}

/// Methods and paths that are counted apart; and those that are named at the end.
const PATHS_MOST: usize = 1_000;
const NAMED: usize = 6;
/// The name of all others.
const FURTHER: &str = "further paths";

impl Tally {
    fn count(&mut self, line: &ExchangeLine) {
        match &line.place {
            Some(_) => self.recorded += 1,
            None => self.lost += 1,
        }
        self.failed += u64::from(line.problem.is_some());
        self.sessions.extend(line.place.as_ref().map(|(session, _)| session.clone()));
    }

    fn count_unrecorded(&mut self, line: &UnrecordedRequest) {
        if line.from.is_some() {
            self.answered += 1;
            return;
        }
        let name = format!("{} {}", line.method, line.path);
        let is_room = self.unrecorded.len() < PATHS_MOST || self.unrecorded.contains_key(&name);
        *self.unrecorded.entry(if is_room { name } else { FURTHER.to_owned() }).or_default() += 1;
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        if self.recorded > 0 {
            let failed = if self.failed > 0 { format!(", {} failed", self.failed) } else { String::new() };
            let sessions = plural(self.sessions.len() as u64, "session");
            parts.push(format!("{} recorded in {sessions}{failed}", plural(self.recorded, "request")));
        }
        if self.lost > 0 {
            parts.push(format!("{} could not be recorded", plural(self.lost, "request")));
        }
        if self.answered > 0 {
            parts.push(format!("{} answered from recordings", plural(self.answered, "request")));
        }
        if !self.unrecorded.is_empty() {
            let mut paths: Vec<(&String, &u64)> = self.unrecorded.iter().collect();
            paths.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
            let named = paths.iter().take(NAMED).map(|(name, count)| format!("{count} × {name}"));
            let more = paths.len().saturating_sub(NAMED);
            let more = (more > 0).then(|| format!("{} more", plural(more as u64, "path")));
            let named = named.chain(more).collect::<Vec<_>>().join(", ");
            parts.push(format!("{} not recorded: {named}", plural(self.unrecorded.values().sum(), "request")));
        }
        f.write_str(&parts.join("; "))
    }
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
        records_all: flags.record_all,
        keeps: (!flags.no_save).then_some(keeps),
    }
}
