//! `sessions failures`: what fails, grouped by reason and place, with where to look at it.

use ptc_core::reasons::Reason;
use ptc_core::text::width;
use serde::Serialize;

use super::search::with_place;
use crate::cli::arguments::FailuresFlags;
use crate::cli::output::{UsageError, exit, print_json, print_line, print_note, safe_line};
use crate::event::Address;
use crate::session::index::{Query, TermSyntax};
use crate::workbench::format::plural;
use crate::workbench::{FailureGroup, FailureReport, Workbench};

pub(super) fn failures(flags: &FailuresFlags, plain: bool, workbench: &Workbench) -> Result<u8, UsageError> {
    let text = flags.text.join(" ");
    let query = match text.trim() {
        "" => Query::default(),
        _ => workbench.query(&text, TermSyntax::Plain).map_err(|error| UsageError(with_place(&text, &error)))?,
    };
    let report = workbench.failures(&query)?;
    report.notices.iter().for_each(|notice| print_note(&format!("notice: {}", safe_line(notice))));
    let limit = if flags.limit == 0 { usize::MAX } else { flags.limit };
    let shown = report.groups.iter().take(limit);
    if flags.json {
        print_json(&FailuresJson {
            sessions: report.sessions,
            failures: total(&report),
            groups: shown.map(group_json).collect(),
        });
        return Ok(exit::OK);
    }
    shown.for_each(|group| print_line(&if plain { spoken(group) } else { line(group) }));
    let left = report.groups.len().saturating_sub(limit);
    let more = if left > 0 { format!("; {} not shown (--limit)", plural(left as u64, "kind")) } else { String::new() };
    let sessions = plural(report.sessions as u64, "session");
    print_note(&format!("{} in {sessions}{more}", plural(total(&report) as u64, "failure")));
    Ok(exit::OK)
}

fn total(report: &FailureReport) -> usize {
    report.groups.iter().map(|group| group.count).sum()
}

/// Output of `--json`.
#[derive(Serialize)]
struct FailuresJson<'a> {
    sessions: usize,
    failures: usize,
    groups: Vec<GroupJson<'a>>,
}

#[derive(Serialize)]
struct GroupJson<'a> {
    reason: &'a str,
    path: Option<&'a str>,
    meaning: Option<&'static str>,
    count: usize,
    sessions: usize,
    example: ExampleJson<'a>,
}

#[derive(Serialize)]
struct ExampleJson<'a> {
    session: &'a str,
    agent: &'a str,
    address: &'a Address,
}

fn group_json(group: &FailureGroup) -> GroupJson<'_> {
    GroupJson {
        reason: &group.reason,
        path: Some(group.path.as_str()).filter(|path| !path.is_empty()),
        meaning: Reason::from_name(&group.reason).map(|reason| reason.row().meaning),
        count: group.count,
        sessions: group.sessions,
        example: ExampleJson { session: &group.newest.id, agent: &group.newest.agent, address: &group.at },
    }
}

fn line(group: &FailureGroup) -> String {
    let what = if group.path.is_empty() { String::new() } else { format!(" {}", group.path) };
    format!(
        "{:>5}×  in {:>4}  {}  {} {}  {}",
        group.count,
        group.sessions,
        width::pad(&safe_line(&format!("{}{what}", group.reason)), 40),
        safe_line(&group.newest.id),
        width::pad(&safe_line(group.at.as_str()), 10),
        safe_line(&group.newest.agent),
    )
}

/// Like `line`, as a sentence for screen readers.
fn spoken(group: &FailureGroup) -> String {
    let of = if group.path.is_empty() { String::new() } else { format!(" of {}", group.path) };
    safe_line(&format!(
        "{}{of}, {}, in {}, the newest in {} at {}, agent {}",
        group.reason,
        plural(group.count as u64, "time"),
        plural(group.sessions as u64, "session"),
        group.newest.id,
        group.at,
        group.newest.agent,
    ))
}
