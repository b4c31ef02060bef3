//! The request to a provider compared with its response: model, options, schema, end, cache, attempts.
//!
//! In: a turn whose request was sent to a provider. Out: one part, in lines; a line with `!` is one in which both differ. It must never
//! claim a difference that is not recorded.

use ptc_core::text::cut;
use ptc_core::value::Json;
use ptc_core::value::json::to_json;

use super::{Body, Line, Mark, Part, Turn};
use crate::event::{Event, ReplyEnd, ReplyStatus, RequestMade, Sent, StructuredBy};
use crate::model::{OtherModel, asked, carries, strict_tools};
use crate::workbench::format::{count, plural};

/// Maximum length of a requested value, in characters.
const MOST: usize = 28;
/// The text for an unknown value.
const UNSAID: &str = "–";

/// A property with its requested and its received value.
struct Row {
    name: String,
    asked: String,
    got: String,
    differs: bool,
}

/// Returns the part; `None` for a turn without a sent request, such as one of a model that runs in this process.
pub(super) fn part(turn: &Turn<'_>) -> Option<Part> {
    let made = turn.find(|event| match event {
        Event::RequestMade(made) => Some(made),
        _ => None,
    })?;
    let attempts: Vec<&Sent> = turn.all(|event| match event {
        Event::Sent(sent) => Some(sent),
        _ => None,
    });
    let ends: Vec<&ReplyEnd> = turn.all(|event| match event {
        Event::ReplyEnd(end) => Some(end),
        _ => None,
    });
    let sent = attempts.last()?;
    // A reply that the user substituted is not the provider's.
    let end = ends.iter().rev().find(|end| end.attempt <= sent.attempt).copied();
    let mut rows = vec![of_model(sent, end)];
    rows.extend(of_options(made, sent));
    rows.extend(of_schema(made, sent));
    rows.extend(of_strict_tools(made, sent));
    rows.extend(end.into_iter().flat_map(|end| [of_finish(end), of_cache(made, end)]).flatten());
    rows.push(of_attempts(&attempts, &ends));
    let differing = rows.iter().filter(|row| row.differs).count() as u64;
    let (note, mark) = match differing {
        0 => ("as asked for".to_owned(), Mark::Plain),
        some => (plural(some, "difference"), Mark::Warn),
    };
    Some(Part::new("asked / got", Body::Lines(lines(&rows))).noted(note).marked(mark))
}

fn lines(rows: &[Row]) -> Vec<Line> {
    let wide = |pick: fn(&Row) -> &str, least: usize| {
        rows.iter().map(|row| pick(row).chars().count()).max().unwrap_or_default().max(least)
    };
    let (names, asked) = (wide(|row| &row.name, 0), wide(|row| &row.asked, "asked".len()));
    let head = Line::new(Mark::Title, format!("  {:names$}  {:asked$}  got", "", "asked"));
    let row = |row: &Row| {
        let (sign, mark) = if row.differs { ('!', Mark::Warn) } else { (' ', Mark::Plain) };
        Line::new(mark, format!("{sign} {:names$}  {:asked$}  {}", row.name, row.asked, row.got))
    };
    std::iter::once(head).chain(rows.iter().map(row)).collect()
}

fn of_model(sent: &Sent, end: Option<&ReplyEnd>) -> Row {
    Row {
        name: "model".to_owned(),
        asked: asked(sent).unwrap_or_else(|| UNSAID.to_owned()),
        got: end.and_then(|end| end.model.clone()).unwrap_or_else(|| UNSAID.to_owned()),
        differs: end.is_some_and(|end| OtherModel::of(sent, end).is_some()),
    }
}

/// Returns a row per requested option. Options that the sent body lacks were omitted.
fn of_options(made: &RequestMade, sent: &Sent) -> Vec<Row> {
    let (asked, body) = (to_json(&made.options), sent.frame.json());
    let row = |key: &str, value: &Json| {
        let is_sent = carries(&body, key);
        let got = if is_sent { "sent" } else { "omitted" }.to_owned();
        Row { name: key.to_owned(), asked: cut(&value.to_text(), MOST), got, differs: !is_sent }
    };
    // They are properties of the tools and of the schema, which have rows of their own.
    let others = ["strict_tools", "strict_schema"];
    let members = asked.members().unwrap_or_default().iter().filter(|member| !others.contains(&&*member.key));
    members.map(|member| row(&member.key, &member.value)).collect()
}

/// Returns the row of the answer's schema. It differs if the schema was requested and the provider does not enforce it, or if JSON was
/// requested and only the prompt asks for it.
fn of_schema(made: &RequestMade, sent: &Sent) -> Option<Row> {
    let by = sent.structured_by?;
    let (asked, differs) = match made.schema {
        Some(_) => ("enforced", matches!(by, StructuredBy::JsonObject | StructuredBy::Prompt)),
        None => ("a JSON object", by == StructuredBy::Prompt),
    };
    Some(Row { name: "schema".to_owned(), asked: asked.to_owned(), got: format!("sent as {}", by.name()), differs })
}

/// Returns the row of strict tools, if they were requested or are the provider's default.
fn of_strict_tools(made: &RequestMade, sent: &Sent) -> Option<Row> {
    let (tools, strict) = strict_tools(&sent.frame.json());
    let wanted = made.options.strict_tools;
    if tools == 0 || (wanted.is_none() && strict == 0) {
        return None;
    }
    let asked = wanted.map_or_else(|| UNSAID.to_owned(), |wanted| wanted.to_string());
    let got = format!("{} of {}", count(strict as u64), plural(tools as u64, "tool"));
    Some(Row { name: "strict_tools".to_owned(), asked, got, differs: wanted == Some(true) && strict == 0 })
}

fn of_finish(end: &ReplyEnd) -> Option<Row> {
    let finish = end.finish.clone()?;
    let differs = !matches!(finish.as_str(), "stop" | "tool_calls");
    Some(Row { name: "finish".to_owned(), asked: "stop".to_owned(), got: finish, differs })
}

fn of_cache(made: &RequestMade, end: &ReplyEnd) -> Option<Row> {
    let tokens = end.usage?;
    let read = tokens.cache_read.map(|read| format!("{} of {} tokens read", count(read), count(tokens.input)));
    let written = tokens.cache_creation.map(|written| format!("{} written", count(written)));
    let cache_parts: Vec<String> = read.into_iter().chain(written).collect();
    if cache_parts.is_empty() && !made.cache {
        return None;
    }
    let got = if cache_parts.is_empty() { UNSAID.to_owned() } else { cache_parts.join(", ") };
    let asked = if made.cache { "yes" } else { UNSAID }.to_owned();
    // Never a difference: a first request has no cache to read, and some providers do not count cache writes.
    Some(Row { name: "cache".to_owned(), asked, got, differs: false })
}

fn of_attempts(attempts: &[&Sent], ends: &[&ReplyEnd]) -> Row {
    let failed = ends.iter().filter(|end| end.status == ReplyStatus::Discarded);
    let classes: Vec<&str> = failed.filter_map(|end| end.error.as_ref()?.class.as_deref()).collect();
    let why = if classes.is_empty() { String::new() } else { format!(": {}", classes.join(", ")) };
    let got = format!("{}{why}", attempts.len());
    Row { name: "attempts".to_owned(), asked: "1".to_owned(), got, differs: attempts.len() > 1 }
}
