//! `sessions search`: sessions that hold words and are what filters say, with the places of the words.

use ptc_core::value::Json;
use ptc_core::value::json::Node;

use super::{line, members};
use crate::cli::arguments::SearchFlags;
use crate::cli::{UsageError, exit, json, out, safe_line, tell};
use crate::session::index::{FILTERS, Found, Match, QueryError, Reading};
use crate::workbench::Workbench;

pub(super) fn search(flags: &SearchFlags, plain: bool, workbench: &Workbench) -> Result<u8, UsageError> {
    let text = flags.text.join(" ");
    let reading = if flags.regex { Reading::Patterns } else { Reading::Plain };
    let query = workbench.query(&text, reading).map_err(|error| UsageError(with_place(&text, &error)))?;
    let report = workbench.search(&query)?;
    report.notices.iter().for_each(|notice| tell(&format!("notice: {}", safe_line(notice))));
    let limit = if flags.limit == 0 { usize::MAX } else { flags.limit };
    let marks = workbench.marks()?;
    let shown = report.found.iter().take(limit);
    if flags.json {
        let sessions = shown.map(|found| {
            let mut members = members(&found.summary, &marks);
            members.push(("count", found.count.into()));
            members.push(("matches", Json::list(found.matches.iter().map(of_match))));
            Json::object(members)
        });
        out(&json::printable(&Json::object([
            ("searched", report.searched.into()),
            ("found", report.found.len().into()),
            ("sessions", Json::list(sessions)),
        ])));
        return Ok(exit::OK);
    }
    for found in shown {
        out(&line(&found.summary, &marks));
        found.matches.iter().for_each(|found| out(&of_line(found, plain)));
        if let left @ 1.. = found.count - found.matches.len().min(found.count) {
            out(&format!("    … {left} more in this session"));
        }
    }
    tell(&told(&report.found, report.searched, limit));
    if let Some(word) = taken_for_text(&text).filter(|_| report.found.is_empty()) {
        let filters = FILTERS.iter().map(|known| known.name).collect::<Vec<_>>().join(", ");
        tell(&format!("notice: `{}` was looked for as text; filters are {filters}", safe_line(word)));
    }
    Ok(exit::OK)
}

/// A word that may have been meant as a filter, and is none.
fn taken_for_text(text: &str) -> Option<&str> {
    text.split_whitespace().find(|word| {
        let (key, value) = word.trim_start_matches('-').split_once(':').unwrap_or_default();
        let is_key = !key.is_empty() && key.chars().all(|c| c.is_ascii_lowercase());
        is_key && !value.starts_with([':', '/']) && FILTERS.iter().all(|known| known.name != key)
    })
}

fn told(found: &[Found], searched: usize, limit: usize) -> String {
    let left = found.len().saturating_sub(limit);
    let more = if left > 0 { format!("; {left} of them are not shown (--limit)") } else { String::new() };
    format!("{} of {searched} sessions{more}", found.len())
}

fn of_match(found: &Match) -> Json {
    let (start, end) = found.highlight;
    let chars = |end: usize| Json::from(found.excerpt.get(..end).map_or(0, |text| text.chars().count()));
    Json::object([
        ("address", if found.at.as_str().is_empty() { Node::Null.into() } else { Json::str(found.at.as_str()) }),
        ("field", Json::str(found.field.name())),
        ("excerpt", Json::str(found.excerpt.as_str())),
        ("highlight", Json::list([chars(start), chars(end)])),
    ])
}

fn of_line(found: &Match, plain: bool) -> String {
    let (start, end) = found.highlight;
    let part = |from: usize, to: usize| safe_line(found.excerpt.get(from..to).unwrap_or_default());
    let (open, close) = if plain { ("", "") } else { ("»", "«") };
    format!(
        "    {:<10} {:<8} {}{open}{}{close}{}",
        safe_line(found.at.as_str()),
        found.field.name(),
        part(0, start),
        part(start, end),
        part(end, found.excerpt.len()),
    )
}

/// The error under its place in the query.
pub(super) fn with_place(text: &str, error: &QueryError) -> String {
    let (start, end) = error.span;
    let column = text.get(..start).map_or(0, |before| before.chars().count());
    let length = text.get(start..end).map_or(1, |part| part.chars().count().max(1));
    format!("{error}\n  {}\n  {}{}", safe_line(text), " ".repeat(column), "^".repeat(length))
}
