//! The language of searches: words, "words together", /patterns/, and filters such as `mode:json`, `turns>3`, `-tag:slow`.
//!
//! In: one line of text and the time. Out: a query, or what is wrong with its place and the nearest name. Pure: it reads no clock
//! and no file.

use regex::{Regex, RegexBuilder};

use super::digest::Field;
use super::filter::{Filter, Flag, Number, Words};
use crate::agent::Mode;
use crate::session::RunState;
use ptc_core::text::nearest;

/// Terms of one query; what each session holds of them is counted in bits.
const MOST_TERMS: usize = 32;

/// Bytes that a pattern may take when it is compiled.
const PATTERN_BYTES: usize = 4 << 20;

/// What is looked for.
#[derive(Debug, Clone, Default)]
pub struct Query {
    /// Texts: each must occur in a session, or must not.
    pub terms: Vec<Term>,
    /// What a session must be.
    pub filters: Vec<Filter>,
    /// Where the terms are looked for; everywhere when empty.
    pub fields: Vec<Field>,
}

/// A text that is looked for.
#[derive(Debug, Clone)]
pub struct Term {
    /// Upper and lower case count as equal unless the pattern says otherwise.
    pub pattern: Regex,
    /// It must not occur.
    pub absent: bool,
}

/// How the bare words of a query are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reading {
    /// As they are.
    Plain,
    /// As regular expressions.
    Patterns,
}

/// What is wrong with a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueryError {
    /// First and one-past-last byte of the query.
    pub span: (usize, usize),
    /// What is wrong and what would be right.
    pub message: String,
    /// The known name that may have been meant.
    pub near: Option<String>,
}

impl std::fmt::Display for QueryError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)?;
        self.near.as_ref().map_or(Ok(()), |near| write!(f, " (did you mean `{near}`?)"))
    }
}

impl std::error::Error for QueryError {}

/// Every filter: its name and what stands behind it. Help and error messages are made from this table.
pub const FILTERS: &[(&str, &str)] = &[
    ("mode", "mode:json,text"),
    ("model", "model:demo, model:gpt* (a * stands for anything)"),
    ("agent", "agent:sentiment"),
    ("status", "status:ok, status:error, status:open"),
    ("reason", "reason:schema_validation: a reason that a run, turn, program or tool failed with"),
    ("tool", "tool:search: a tool that was called"),
    ("tag", "tag:slow: a tag of the session, or of a run or turn in it"),
    ("id", "id:2026-11-21*"),
    ("in", "in:reply,program: where words are looked for"),
    ("is", "is:marked, is:damaged, is:example"),
    ("cost", "cost>0.1"),
    ("tokens", "tokens>=2000"),
    ("turns", "turns>3"),
    ("since", "since:2026-11-01, since:7d, since:12h, since:today"),
    ("until", "until:2026-11-30"),
    ("date", "date:2026-11-21"),
];

/// The filters that compare a number.
const NUMBERS: &[&str] = &["cost", "tokens", "turns"];

impl Query {
    /// Reads a query. `now_ms` is the time that `7d` and `today` count from, in Unix ms; days are those of UTC.
    pub fn parse(text: &str, reading: Reading, now_ms: i64) -> Result<Self, QueryError> {
        let mut query = Self::default();
        let items = items(text)?;
        for item in &items {
            query.take(item, reading, now_ms)?;
        }
        if let Some(places) = items.iter().find(|item| item.head.0 == "in").filter(|_| query.terms.is_empty()) {
            let message = "`in` says where words are looked for, and there is no word: in:reply lamp".to_owned();
            return Err(QueryError { span: places.span, message, near: None });
        }
        if query.terms.len() > MOST_TERMS {
            let message = format!("{} words are too many: {MOST_TERMS} can be looked for at once", query.terms.len());
            return Err(QueryError { span: (0, text.len()), message, near: None });
        }
        Ok(query)
    }

    fn take(&mut self, item: &Item<'_>, reading: Reading, now_ms: i64) -> Result<(), QueryError> {
        let Some((key, op, value)) = item.filter() else {
            let pattern = match (item.kind, reading) {
                (Kind::Pattern, _) | (Kind::Bare, Reading::Patterns) => item.text.to_owned(),
                _ => regex::escape(item.text),
            };
            self.terms.push(Term { pattern: compile(&pattern, item)?, absent: item.negated });
            return Ok(());
        };
        let wrong = |message: String, near: Option<&str>| QueryError {
            span: item.span,
            message,
            near: near.map(ToOwned::to_owned),
        };
        let filter = match key {
            "mode" | "model" | "agent" | "reason" | "tool" | "tag" | "id" => {
                need_colon(op, key, item)?;
                if key == "mode" {
                    let known = |name: &&str| name.contains('*') || Mode::from_name(&name.to_lowercase()).is_some();
                    if let Some(name) = value.split(',').find(|name| !known(name)) {
                        let names: Vec<&str> = Mode::ALL.iter().map(|mode| mode.name()).collect();
                        let message = format!("`{name}` is no mode: {}", names.join(", "));
                        return Err(wrong(message, nearest(name, names)));
                    }
                }
                let words = Words::of(value);
                match key {
                    "mode" => Filter::Mode(words),
                    "model" => Filter::Model(words),
                    "agent" => Filter::Agent(words),
                    "reason" => Filter::Reason(words),
                    "tool" => Filter::Tool(words),
                    "tag" => Filter::Tag(words),
                    _ => Filter::Id(words),
                }
            }
            "status" => {
                need_colon(op, key, item)?;
                let state = |word: &str| match word {
                    "ok" | "returned" => Ok(RunState::Returned),
                    "error" | "failed" => Ok(RunState::Failed),
                    "open" => Ok(RunState::Open),
                    other => {
                        let near = nearest(other, ["ok", "error", "open", "returned", "failed"]);
                        Err(wrong(format!("`{other}` is no status: ok, error, open"), near))
                    }
                };
                Filter::Status(value.split(',').map(state).collect::<Result<_, _>>()?)
            }
            "is" => {
                need_colon(op, key, item)?;
                Filter::Is(Flag::of(value).ok_or_else(|| {
                    wrong(
                        format!("`{value}` is nothing a session is: {}", Flag::NAMES.join(", ")),
                        nearest(value, Flag::NAMES.iter().copied()),
                    )
                })?)
            }
            "in" => {
                need_colon(op, key, item)?;
                if item.negated {
                    return Err(wrong("`in` names the places to look at and cannot be turned around".to_owned(), None));
                }
                for name in value.split(',') {
                    let field = Field::ALL.iter().find(|field| field.name() == name).copied();
                    self.fields.push(field.ok_or_else(|| {
                        let names: Vec<&str> = Field::ALL.iter().map(|field| field.name()).collect();
                        wrong(
                            format!("`{name}` is no place: {}", names.join(", ")),
                            nearest(name, names.iter().copied()),
                        )
                    })?);
                }
                return Ok(());
            }
            key if NUMBERS.contains(&key) => {
                let number: f64 = value.parse().map_err(|_| wrong(format!("`{value}` is no number"), None))?;
                let number = Number::new(op, number);
                match key {
                    "cost" => Filter::Cost(number),
                    "tokens" => Filter::Tokens(number),
                    _ => Filter::Turns(number),
                }
            }
            _ => {
                need_colon(op, key, item)?;
                let (from, to) = super::filter::day(value, now_ms).ok_or_else(|| {
                    wrong(format!("`{value}` is no date: write 2026-11-21, 2026-11-21T18:00, 7d, 12h or today"), None)
                })?;
                match key {
                    "since" => Filter::Made(from, i64::MAX),
                    "until" => Filter::Made(i64::MIN, to),
                    _ => Filter::Made(from, to),
                }
            }
        };
        self.filters.push(if item.negated { Filter::Not(Box::new(filter)) } else { filter });
        Ok(())
    }

    /// Is nothing asked for?
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty() && self.filters.is_empty()
    }
}

fn compile(pattern: &str, item: &Item<'_>) -> Result<Regex, QueryError> {
    RegexBuilder::new(pattern).case_insensitive(true).multi_line(true).size_limit(PATTERN_BYTES).build().map_err(
        |error| {
            let said = error.to_string();
            let what = said.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
            QueryError { span: item.span, message: format!("`{pattern}` is no regular expression: {what}"), near: None }
        },
    )
}

fn need_colon(op: &str, key: &str, item: &Item<'_>) -> Result<(), QueryError> {
    let example = FILTERS.iter().find(|(name, _)| *name == key).map_or("", |(_, example)| *example);
    match op {
        ":" => Ok(()),
        _ => Err(QueryError { span: item.span, message: format!("`{key}` takes a colon: {example}"), near: None }),
    }
}

/// How a piece of a query is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Bare,
    Quoted,
    Pattern,
    Filter,
}

/// A piece of a query.
#[derive(Debug)]
struct Item<'q> {
    kind: Kind,
    negated: bool,
    /// Without sign, quotes and slashes; of a filter only the value.
    text: &'q str,
    /// Key and comparison of a filter.
    head: (&'q str, &'q str),
    span: (usize, usize),
}

impl<'q> Item<'q> {
    fn filter(&self) -> Option<(&'q str, &'q str, &'q str)> {
        (self.kind == Kind::Filter).then_some((self.head.0, self.head.1, self.text))
    }
}

fn items(text: &str) -> Result<Vec<Item<'_>>, QueryError> {
    let mut items = Vec::new();
    let mut at = 0;
    while let Some(start) = text[at..].find(|c: char| !c.is_whitespace()).map(|skip| at + skip) {
        let rest = &text[start..];
        let negated = rest.len() > 1 && rest.starts_with('-') && !rest[1..].starts_with(char::is_whitespace);
        let from = start + usize::from(negated);
        let head = head(&text[from..], from)?;
        let value_at = from + head.map_or(0, |(key, op)| key.len() + op.len());
        let (kind, inner, end) = value_of(text, value_at, head.is_some())?;
        if head.is_some() && inner.is_empty() {
            let key = head.map_or("", |(key, _)| key);
            return Err(QueryError { span: (start, end), message: format!("`{key}` has no value"), near: None });
        }
        let kind = if head.is_some() { Kind::Filter } else { kind };
        items.push(Item { kind, negated, text: inner, head: head.unwrap_or_default(), span: (start, end) });
        at = end;
    }
    Ok(items)
}

/// Key and comparison of a filter at the beginning of a text.
fn head(text: &str, start: usize) -> Result<Option<(&str, &str)>, QueryError> {
    let key_end = text.find(|c: char| !(c.is_ascii_alphabetic() || c == '_')).unwrap_or(text.len());
    let (key, rest) = text.split_at(key_end);
    let op = [">=", "<=", ":", ">", "<", "="].into_iter().find(|op| rest.starts_with(op));
    let Some(op) = op.filter(|_| !key.is_empty()) else { return Ok(None) };
    if FILTERS.iter().any(|(name, _)| *name == key) {
        return Ok(Some((key, &rest[..op.len()])));
    }
    // Links and code hold colons and signs too: only what looks like a filter is taken for a mistyped one.
    let value = rest[op.len()..].split(char::is_whitespace).next().unwrap_or_default();
    let names = || FILTERS.iter().map(|(name, _)| *name);
    let near = match op {
        ":" if !value.is_empty() && !value.starts_with([':', '/']) => nearest(key, names()),
        ">" | "<" | ">=" | "<=" if value.parse::<f64>().is_ok() => nearest(key, NUMBERS.iter().copied()),
        _ => None,
    };
    if let Some(near) = near {
        let known = if op == ":" { names().collect() } else { NUMBERS.to_vec() };
        let span = (start, start + key.len() + op.len());
        let message =
            format!("`{key}{op}` is no filter ({}); to look for the text, put it in quotes", known.join(", "));
        return Err(QueryError { span, message, near: Some(near.to_owned()) });
    }
    Ok(None)
}

/// Is this a pattern with flags behind it, as other programs write it (`/lamp/i`)?
fn has_pattern_flags(word: &str) -> bool {
    let parts: Vec<&str> = word.split('/').collect();
    matches!(parts.as_slice(), ["", pattern, flags] if !pattern.is_empty() && !flags.is_empty() && flags.len() < 4
        && flags.chars().all(|flag| "gimsux".contains(flag)))
}

/// The value or text at this place: what it is, without its marks, and where it ends.
fn value_of(text: &str, at: usize, of_filter: bool) -> Result<(Kind, &str, usize), QueryError> {
    let rest = &text[at..];
    let closed = |mark: char, kind: Kind| {
        let end = rest[1..].find(mark).ok_or_else(|| QueryError {
            span: (at, text.len()),
            message: format!("the closing {mark} is missing"),
            near: None,
        })?;
        Ok((kind, &rest[1..=end], at + end + 2))
    };
    if rest.starts_with('"') {
        return closed('"', Kind::Quoted);
    }
    let is_pattern = !of_filter && rest.starts_with('/') && rest[1..].contains('/') && {
        let end = 1 + rest[1..].find('/').unwrap_or_default();
        end > 1 && rest[end + 1..].chars().next().is_none_or(char::is_whitespace)
    };
    if is_pattern {
        return closed('/', Kind::Pattern);
    }
    let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
    if !of_filter && has_pattern_flags(&rest[..end]) {
        let message = "a pattern ends with its second slash: upper and lower case count as equal, and there are no flags; \
                       to look for the text, put it in quotes";
        return Err(QueryError { span: (at, at + end), message: message.to_owned(), near: None });
    }
    Ok((Kind::Bare, &rest[..end], at + end))
}
