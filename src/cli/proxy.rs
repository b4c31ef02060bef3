//! `proxy`: the traffic of other programs, recorded as it passes, until the program is ended.
//!
//! In: upstreams, recordings, rules, a command. Out: a line on stderr for each request; the exit code of the command. It must never end
//! before what it has recorded is on the disk.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::arguments::ProxyFlags;
use super::output::{UsageError, exit, print_error, print_note, safe_line};
use super::run::ended_by_signal;
use crate::config::read_regular_file;
use crate::model::{UpstreamClient, known_secrets};
use crate::proxy::{
    Answers, Capture, CaptureOptions, ExchangeLine, ProxyService, Replies, Retention, Rules, Upstreams,
    allow_many_files, run_program,
};
use crate::server::{Listener, ListenerLimits};
use crate::session::SessionId;
use crate::workbench::{SessionKey, Workbench};

/// Runs `proxy`.
pub(super) async fn proxy(flags: &ProxyFlags, workbench: &Workbench) -> Result<u8, UsageError> {
    let usage = |error: String| UsageError(error);
    let upstreams = Upstreams::read(&flags.upstream, &workbench.config).map_err(|error| usage(error.to_string()))?;
    let rules = flags.rules.as_deref().map(read_rules).transpose()?.unwrap_or_default();
    let recorded = if flags.replay.is_empty() { None } else { Some(recordings(flags, workbench)?) };
    let limits = ListenerLimits { connections: 16_384, ..ListenerLimits::default() };
    allow_many_files();
    let listener = Listener::bind(SocketAddr::new(flags.host, flags.port), limits).await;
    let listener = listener.map_err(|error| {
        usage(format!("--host {} --port {}: {error}; take another port with --port", flags.host, flags.port))
    })?;
    let saves = !flags.no_save && (recorded.is_none() || flags.record_missing);
    let capture = saves.then(|| capture(flags, workbench)).transpose()?;
    let proxy = format!("http://{}", listener.address());
    for upstream in upstreams.all() {
        print_note(&safe_line(&format!("upstream {} ({})", upstream.name, upstream.root)));
    }
    if let Some(recorded) = &recorded {
        print_note(&format!("answers {} recorded requests", recorded.len()));
    }
    for (name, value) in upstreams.variables(&proxy) {
        print_note(&format!("  export {name}={value}"));
    }
    print_note(&format!("listening on {proxy}"));
    if !flags.host.is_loopback() {
        print_note(
            "warning: other machines can reach this proxy; they send their own keys, and it records what they ask",
        );
    }
    let variables = upstreams.variables(&proxy);
    let client = UpstreamClient::new().map_err(usage)?;
    let service = ProxyService::new(upstreams, client, capture, known_secrets(&workbench.config.providers))
        .with_replies(Replies { recorded, asks_upstream: flags.record_missing })
        .with_rules(rules);
    let (service, closing) = (Arc::new(service), CancellationToken::new());
    let served = tokio::spawn(listener.serve(Arc::<ProxyService>::clone(&service), closing.clone()));
    let code = match flags.command.split_first() {
        None => {
            ended_by_signal().await;
            exit::OK
        }
        Some((program, arguments)) => match run_program(program, arguments, &variables).await {
            Ok(code) => code,
            Err(error) => {
                print_error(&safe_line(&format!("{}: {error}", program.to_string_lossy())));
                exit::USAGE
            }
        },
    };
    closing.cancel();
    tokio::select! {
        _ = served => {}
        () = ended_by_signal() => {}
    }
    let misses = service.recorded().map(Answers::misses).unwrap_or_default();
    if let Some(service) = Arc::into_inner(service) {
        // Files are written on a thread of their own.
        _ = tokio::task::spawn_blocking(move || service.close()).await;
    }
    if misses.is_empty() || flags.record_missing {
        return Ok(code);
    }
    for miss in &misses {
        print_error(&miss.to_string().lines().map(safe_line).collect::<Vec<_>>().join("\n"));
    }
    Ok(if code == exit::OK { exit::DIVERGED } else { code })
}

fn read_rules(file: &std::path::Path) -> Result<Rules, UsageError> {
    let text = read_regular_file(file).map_err(|error| UsageError(format!("--rules {}: {error}", file.display())))?;
    Rules::read(&text).map_err(|error| UsageError(format!("--rules {}, {error}", file.display())))
}

/// The recordings of `--replay`: sessions, and folders of them in the order of their ids.
fn recordings(flags: &ProxyFlags, workbench: &Workbench) -> Result<Answers, UsageError> {
    let mut files: Vec<PathBuf> = Vec::new();
    for name in &flags.replay {
        let fail = |error: String| UsageError(format!("--replay {name}: {error}"));
        let path = PathBuf::from(name);
        if path.is_dir() {
            let entries = std::fs::read_dir(&path).map_err(|error| fail(error.to_string()))?;
            let is_session = |path: &PathBuf| {
                path.file_name()
                    .and_then(|name| name.to_str())
                    .is_some_and(|name| SessionId::from_file_name(name).is_some())
            };
            let mut found: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).filter(is_session).collect();
            found.sort();
            files.extend(found);
            continue;
        }
        match workbench.find_session(name).map_err(|error| fail(error.to_string()))? {
            SessionKey::File(path) => files.push(path),
            SessionKey::Example(id) => return Err(fail(format!("{id} is an example; `replay` replays it"))),
        }
    }
    let answers = Answers::read(&files, &flags.ignore).map_err(|error| UsageError(format!("--replay: {error}")))?;
    if answers.is_empty() && !flags.record_missing {
        return Err(UsageError("--replay: there is no recorded request; record some with `proxy`".to_owned()));
    }
    Ok(answers)
}

fn capture(flags: &ProxyFlags, workbench: &Workbench) -> Result<Capture, UsageError> {
    let config = workbench.config.clone();
    let options = CaptureOptions {
        // Missing replies are added to the folder that the others are read from.
        dir: cassette_dir(flags).unwrap_or_else(|| workbench.folders.sessions_dir.clone()),
        retention: if flags.record_missing {
            Retention { sessions: usize::MAX, bytes: u64::MAX }
        } else {
            Retention { sessions: flags.keep as usize, bytes: flags.keep_mb << 20 }
        },
        prices: Box::new(move |upstream, model| config.facts(upstream, model).price),
        report: Box::new(|line: Result<&ExchangeLine, &str>| match line {
            Ok(line) => print_note(&safe_line(&line.to_string())),
            Err(problem) => print_error(&safe_line(problem)),
        }),
    };
    Capture::start(options).map_err(|error| UsageError(format!("the recorder cannot start: {error}")))
}

/// The folder of recordings that takes the missing ones.
fn cassette_dir(flags: &ProxyFlags) -> Option<PathBuf> {
    flags.replay.iter().map(PathBuf::from).find(|path| path.is_dir()).filter(|_| flags.record_missing)
}
