//! `sessions failures`: what fails, grouped by reason and place, with where to look at it.

use ptc_core::reasons::Reason;
use ptc_core::text::width;
use ptc_core::value::Json;
use ptc_core::value::json::Node;

use super::search::with_place;
use crate::cli::arguments::FailuresFlags;
use crate::cli::{UsageError, exit, json, out, safe_line, tell};
use crate::session::index::{Query, Reading};
use crate::workbench::format::plural;
use crate::workbench::{FailureGroup, FailureReport, Workbench};

pub(super) fn failures(flags: &FailuresFlags, plain: bool, workbench: &Workbench) -> Result<u8, UsageError> {
    let text = flags.text.join(" ");
    let query = match text.trim() {
        "" => Query::default(),
        _ => workbench.query(&text, Reading::Plain).map_err(|error| UsageError(with_place(&text, &error)))?,
    };
    let report = workbench.failures(&query)?;
    report.notices.iter().for_each(|notice| tell(&format!("notice: {}", safe_line(notice))));
    let limit = if flags.limit == 0 { usize::MAX } else { flags.limit };
    let shown = report.groups.iter().take(limit);
    if flags.json {
        out(&json::printable(&Json::object([
            ("sessions", report.sessions.into()),
            ("failures", total(&report).into()),
            ("groups", Json::list(shown.map(members))),
        ])));
        return Ok(exit::OK);
    }
    shown.for_each(|group| out(&if plain { spoken(group) } else { line(group) }));
    let left = report.groups.len().saturating_sub(limit);
    let more = if left > 0 { format!("; {left} kinds are not shown (--limit)") } else { String::new() };
    let sessions = plural(report.sessions as u64, "session");
    tell(&format!("{} in {sessions}{more}", plural(total(&report) as u64, "failure")));
    Ok(exit::OK)
}

fn total(report: &FailureReport) -> usize {
    report.groups.iter().map(|group| group.count).sum()
}

fn members(group: &FailureGroup) -> Json {
    let meaning = Reason::from_name(&group.reason).map(|reason| Json::str(reason.row().meaning));
    Json::object([
        ("reason", Json::str(group.reason.as_str())),
        ("path", if group.path.is_empty() { Node::Null.into() } else { Json::str(group.path.as_str()) }),
        ("meaning", meaning.unwrap_or_default()),
        ("count", group.count.into()),
        ("sessions", group.sessions.into()),
        (
            "example",
            Json::object([
                ("session", Json::str(group.newest.id.as_str())),
                ("agent", Json::str(group.newest.agent.as_str())),
                ("address", Json::str(group.at.as_str())),
            ]),
        ),
    ])
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

/// The same as a sentence, for a listener.
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
