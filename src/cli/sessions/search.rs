//! `sessions search`: sessions that contain words and match filters, with the positions of the words.

use serde::Serialize;

use super::{SummaryJson, line, spoken};
use crate::cli::arguments::SearchFlags;
use crate::cli::output::{UsageError, exit, print_json, print_line, print_note, safe_line};
use crate::event::Address;
use crate::session::index::{FILTERS, FoundSession, QueryError, SearchMatch, TermSyntax, text_notice};
use crate::workbench::Workbench;
use crate::workbench::format::{Marks, plural};

/// An argument as one pattern, spaces included. Filters before and after it stay filters, and so does a pattern between slashes.
fn pattern(argument: &str) -> String {
    let mut rest = argument.trim();
    let (mut before, mut after) = (Vec::new(), Vec::new());
    while let Some(word) = rest.split_whitespace().next().filter(|word| is_filter(word)) {
        before.push(word);
        rest = rest[word.len()..].trim_start();
    }
    while let Some(word) = rest.split_whitespace().next_back().filter(|word| is_filter(word)) {
        after.insert(0, word);
        rest = rest[..rest.len() - word.len()].trim_end();
    }
    let words =
        [rest.to_owned()].map(|rest| if rest.contains(char::is_whitespace) { between_slashes(&rest) } else { rest });
    let all = before.into_iter().chain(words.iter().map(String::as_str)).chain(after);
    all.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

fn is_filter(word: &str) -> bool {
    let word = word.trim_start_matches('-');
    let rest = FILTERS.iter().filter_map(|known| word.strip_prefix(known.name));
    rest.into_iter().any(|rest| rest.starts_with([':', '<', '>', '=']))
}

fn between_slashes(text: &str) -> String {
    if text.starts_with('/') {
        return text.to_owned();
    }
    let mut pattern = String::from("/");
    let mut is_escaped = false;
    for c in text.chars() {
        if c == '/' && !is_escaped {
            pattern.push('\\');
        }
        is_escaped = c == '\\' && !is_escaped;
        pattern.push(c);
    }
    pattern + "/"
}

pub(super) fn search(flags: &SearchFlags, plain: bool, workbench: &Workbench) -> Result<u8, UsageError> {
    let reading = if flags.regex { TermSyntax::Patterns } else { TermSyntax::Plain };
    let argument = |text: &String| if flags.regex { pattern(text) } else { text.clone() };
    let text = flags.text.iter().map(argument).collect::<Vec<_>>().join(" ");
    let query = workbench.query(&text, reading).map_err(|error| UsageError(with_place(&text, &error)))?;
    let report = workbench.search(&query)?;
    report.notices.iter().for_each(|notice| print_note(&format!("notice: {}", safe_line(notice))));
    let limit = if flags.limit == 0 { usize::MAX } else { flags.limit };
    let marks = workbench.marks()?;
    let shown = report.found.iter().take(limit);
    if flags.json {
        let sessions = shown.map(|found| FoundJson {
            summary: SummaryJson::new(&found.summary, &marks),
            count: found.count,
            matches: found.matches.iter().map(match_json).collect(),
        });
        print_json(&SearchJson { searched: report.searched, found: report.found.len(), sessions: sessions.collect() });
        return Ok(exit::OK);
    }
    for found in shown {
        print_line(&if plain { spoken(&found.summary, &marks) } else { line(&found.summary, &marks) });
        found.matches.iter().for_each(|found| print_line(&of_line(found, plain)));
        if let left @ 1.. = found.count - found.matches.len().min(found.count) {
            print_line(&format!("    {}{left} more in this session", Marks::of(plain).more));
        }
    }
    print_note(&summary_line(&report.found, report.searched, limit));
    if let Some(notice) = text_notice(&text).filter(|_| report.found.is_empty()) {
        print_note(&format!("notice: {}", safe_line(&notice)));
    }
    Ok(exit::OK)
}

fn summary_line(found: &[FoundSession], searched: usize, limit: usize) -> String {
    let left = found.len().saturating_sub(limit);
    let more = if left > 0 { format!("; {left} of them are not shown (--limit)") } else { String::new() };
    format!("{} of {}{more}", found.len(), plural(searched as u64, "session"))
}

/// Output of `--json`.
#[derive(Serialize)]
struct SearchJson<'a> {
    searched: usize,
    found: usize,
    sessions: Vec<FoundJson<'a>>,
}

#[derive(Serialize)]
struct FoundJson<'a> {
    #[serde(flatten)]
    summary: SummaryJson<'a>,
    count: usize,
    matches: Vec<MatchJson<'a>>,
}

/// A match; its highlight counts characters of the excerpt.
#[derive(Serialize)]
struct MatchJson<'a> {
    address: Option<&'a Address>,
    field: &'static str,
    excerpt: &'a str,
    highlight: [usize; 2],
}

fn match_json(found: &SearchMatch) -> MatchJson<'_> {
    let (start, end) = found.highlight;
    let chars = |end: usize| found.excerpt.get(..end).map_or(0, |text| text.chars().count());
    MatchJson {
        address: Some(&found.at).filter(|at| !at.as_str().is_empty()),
        field: found.field.name(),
        excerpt: &found.excerpt,
        highlight: [chars(start), chars(end)],
    }
}

fn of_line(found: &SearchMatch, plain: bool) -> String {
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

#[cfg(test)]
mod tests {
    use super::pattern;

    #[test]
    fn an_argument_is_one_pattern_and_filters_stay_filters() {
        assert_eq!(pattern("e n"), "/e n/");
        assert_eq!(pattern("a/b c\\/d"), "/a\\/b c\\/d/");
        assert_eq!(pattern("e.n"), "e.n");
        assert_eq!(pattern("agent:x e n -is:example"), "agent:x /e n/ -is:example");
        assert_eq!(pattern("-is:example"), "-is:example");
        assert_eq!(pattern("/e n/"), "/e n/");
    }
}
