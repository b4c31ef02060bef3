//! `sessions import` of traffic: HTTP archives, and lines with a request and its response.
//!
//! In: a file. Out: captured sessions, and their ids on stdout; an exit code other than 0 when one of them could not be written. It
//! must never silently import a part of a file.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::Serialize;

use super::arguments::ImportFlags;
use super::output::{UsageError, exit, print_error, print_json, print_line, print_note, safe_line};
use crate::event::hex_sha;
use crate::model::known_secrets;
use crate::proxy::{CaptureOptions, ExchangeLine, Retention, TrafficFormat, import_traffic};
use crate::session::ImportSource;
use crate::workbench::Workbench;
use crate::workbench::format::plural;

/// Sessions, requests and problems reported so far.
#[derive(Default)]
struct ImportTotals {
    sessions: BTreeSet<String>,
    /// Requests that are in a session.
    requests: usize,
    problems: Vec<String>,
}

/// Imports a file of traffic; `None` when it is none.
pub(super) fn import(flags: &ImportFlags, workbench: &Workbench) -> Result<Option<u8>, UsageError> {
    let fail = |error: String| UsageError(format!("{}: {error}", flags.file.display()));
    let bytes = std::fs::read(&flags.file).map_err(|error| fail(format!("cannot be read: {error}")))?;
    let Ok(text) = std::str::from_utf8(&bytes) else { return Ok(None) };
    let Some(format) = TrafficFormat::of(text) else {
        let files = TrafficFormat::FILES;
        return if may_be_trace(text) {
            Ok(None)
        } else {
            Err(fail(format!("it has no known format. These files can be imported: traces of PtcRunner, {files}")))
        };
    };
    let name = flags.file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let imported =
        ImportSource { format: format.name().to_owned(), id: "unknown".to_owned(), file: name, sha: hex_sha(&bytes) };
    let (config, totals) = (workbench.config.clone(), Arc::new(Mutex::new(ImportTotals::default())));
    let kept = Arc::clone(&totals);
    let options = CaptureOptions {
        dir: workbench.folders.sessions_dir.clone(),
        retention: Retention { sessions: usize::MAX, bytes: u64::MAX },
        // A file has all of a conversation, however long its pauses are.
        idle: Duration::MAX,
        live: None,
        prices: Box::new(move |upstream, model| config.facts(upstream, model).price),
        report: Box::new(move |line: Result<&ExchangeLine, &str>| {
            let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
            match line {
                Ok(line) => {
                    let session = line.place.as_ref().map(|(session, _)| session.clone());
                    kept.requests += usize::from(session.is_some());
                    kept.sessions.extend(session);
                }
                Err(problem) => kept.problems.push(problem.to_owned()),
            }
        }),
    };
    let scrub = known_secrets(&workbench.config.providers);
    let counts = import_traffic(text, format, imported, &scrub, options);
    let ImportTotals { sessions, requests, problems } = &*totals.lock().unwrap_or_else(PoisonError::into_inner);
    if let (Ok(counts), true) = (&counts, sessions.is_empty()) {
        let known = counts.known.first().filter(|_| counts.failed == 0);
        let known = known.map(|session| format!("it was imported before, as {session}{}", and_others(&counts.known)));
        if let Some(why) = known.or_else(|| problems.first().cloned()) {
            return Err(fail(format!("nothing was imported: {why}")));
        }
    }
    for problem in problems {
        print_error(&safe_line(problem));
    }
    let counts = counts.map_err(fail)?;
    if flags.json {
        print_json(&TrafficJson { sessions, requests: *requests, skipped: counts.skipped, known: &counts.known });
    } else {
        for session in sessions {
            print_line(session);
        }
        let skipped = if counts.skipped > 0 {
            format!(", {} skipped", plural(counts.skipped as u64, "other"))
        } else {
            String::new()
        };
        print_note(&format!("{} to models{skipped}", plural(*requests as u64, "request")));
        if let Some(session) = counts.known.first() {
            print_note(&format!("imported before: {session}{}", and_others(&counts.known)));
        }
    }
    Ok(Some(if counts.failed > 0 { exit::USAGE } else { exit::OK }))
}

/// Returns whether a text may be a trace of `PtcRunner`, or is a file that its reader describes.
fn may_be_trace(text: &str) -> bool {
    let has_version = |rest: &str| rest.trim_start_matches([' ', ':']).starts_with(|c: char| c.is_ascii_digit());
    text.trim().is_empty()
        || text.contains("\"ptc-workbench-session\"")
        || text.split("\"schema_version\"").skip(1).any(has_version)
}

/// Returns ` and N others` for the sessions after the first; empty without them.
fn and_others(sessions: &[String]) -> String {
    match sessions.len() {
        0 | 1 => String::new(),
        count => format!(" and {}", plural(count as u64 - 1, "other")),
    }
}

#[derive(Serialize)]
struct TrafficJson<'a> {
    sessions: &'a BTreeSet<String>,
    requests: usize,
    skipped: usize,
    /// Sessions that were imported before.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    known: &'a [String],
}
