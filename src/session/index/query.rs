//! The language of searches: words, "words together", /patterns/, and filters such as `mode:json`, `turns>3`, `-tag:slow`.
//!
//! In: one line of text and the time. Out: a query, or what is wrong with its place and the nearest name. Pure: it reads no clock
//! and no file.

use regex::{Regex, RegexBuilder};

use super::digest::Field;
use super::filter::{Filter, Flag, Number, Sign, Words};
use crate::agent::Mode;
use crate::session::RunState;
use ptc_core::reasons::{REASONS, Reason};
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

/// A filter of the language.
pub struct FilterRow {
    /// Its name.
    pub name: &'static str,
    /// What stands behind it.
    pub example: &'static str,
    takes: Takes,
}

/// What a filter is made of.
#[derive(Clone, Copy)]
enum Takes {
    /// Words, any of which fits.
    Words(fn(Words) -> Filter),
    /// Names of modes, likewise.
    Modes,
    /// Reasons, likewise; in quotes also those that only another program has.
    Reasons,
    /// A comparison with a number.
    Number(fn(Number) -> Filter),
    /// A date: when it begins, and what comes behind it, in Unix ms.
    Date(fn(i64, i64) -> Filter),
    /// How far a session is.
    States,
    /// What a session is.
    Flag,
    /// Where words are looked for.
    Places,
}

const fn row(name: &'static str, example: &'static str, takes: Takes) -> FilterRow {
    FilterRow { name, example, takes }
}

/// Every filter. Help and error messages are made from this table.
pub const FILTERS: &[FilterRow] = &[
    row("mode", "mode:json,text", Takes::Modes),
    row("model", "model:demo, model:gpt* (a * stands for anything)", Takes::Words(Filter::Model)),
    row("agent", "agent:sentiment", Takes::Words(Filter::Agent)),
    row("status", "status:ok, status:error, status:open", Takes::States),
    row("reason", "reason:validation_error: a reason that a run, turn, program or tool failed with", Takes::Reasons),
    row("tool", "tool:search: a tool that was called", Takes::Words(Filter::Tool)),
    row("tag", "tag:slow: a tag of the session, or of a run or turn in it", Takes::Words(Filter::Tag)),
    row("id", "id:2026-11-21: a beginning of the id", Takes::Words(Filter::Id)),
    row("in", "in:reply,program: where words are looked for", Takes::Places),
    row("is", "is:marked, is:damaged, is:example", Takes::Flag),
    row("cost", "cost>0.1", Takes::Number(Filter::Cost)),
    row("tokens", "tokens>=2000", Takes::Number(Filter::Tokens)),
    row("turns", "turns>3", Takes::Number(Filter::Turns)),
    row(
        "since",
        "since:2026-11-01, since:7d, since:12h, since:today",
        Takes::Date(|from, _| Filter::Made(from, i64::MAX)),
    ),
    row("until", "until:2026-11-30", Takes::Date(|_, behind| Filter::Made(i64::MIN, behind))),
    row("date", "date:2026-11-21", Takes::Date(Filter::Made)),
];

fn names() -> impl Iterator<Item = &'static str> {
    FILTERS.iter().map(|known| known.name)
}

/// The filters that compare a number.
fn names_of_numbers() -> impl Iterator<Item = &'static str> {
    FILTERS.iter().filter(|known| matches!(known.takes, Takes::Number(_))).map(|known| known.name)
}

impl Query {
    /// Reads a query. `now_ms` is the time that `7d` and `today` count from, in Unix ms; days are those of UTC.
    pub fn parse(text: &str, reading: Reading, now_ms: i64) -> Result<Self, QueryError> {
        let mut query = Self::default();
        let items = items(text)?;
        for item in &items {
            query.take(item, reading, now_ms)?;
        }
        if let Some(places) = items
            .iter()
            .find(|item| item.head.is_some_and(|(known, _)| matches!(known.takes, Takes::Places)))
            .filter(|_| query.terms.is_empty())
        {
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
        let Some((known, sign)) = item.head else {
            let pattern = match (item.kind, reading) {
                (Kind::Pattern, _) | (Kind::Bare, Reading::Patterns) => item.text.to_owned(),
                _ => regex::escape(item.text),
            };
            self.terms.push(Term { pattern: compile(&pattern, item)?, absent: item.negated });
            return Ok(());
        };
        if sign != Sign::Colon && !matches!(known.takes, Takes::Number(_)) {
            return Err(item.wrong(format!("`{}` takes a colon: {}", known.name, known.example)));
        }
        let value = item.text;
        let filter = match known.takes {
            Takes::Words(make) => make(Words::of(value)),
            Takes::Modes => modes(item)?,
            Takes::Reasons => reasons(item)?,
            Takes::Number(make) => {
                let number = value.parse().map_err(|_| item.wrong(format!("`{value}` is no number")))?;
                make(Number { sign, value: number })
            }
            Takes::Date(make) => {
                let (from, behind) = super::filter::day(value, now_ms).ok_or_else(|| {
                    item.wrong(format!("`{value}` is no date: write 2026-11-21, 2026-11-21T18:00, 7d, 12h or today"))
                })?;
                make(from, behind)
            }
            Takes::States => Filter::Status(value.split(',').map(|word| state(word, item)).collect::<Result<_, _>>()?),
            Takes::Flag => {
                let named = Flag::ALL.into_iter().find(|(name, _)| *name == value);
                let names = Flag::ALL.map(|(name, _)| name);
                let unknown = || item.unknown(value, "nothing a session is", &names);
                Filter::Is(named.ok_or_else(unknown)?.1)
            }
            Takes::Places => {
                self.fields.extend(places(item)?);
                return Ok(());
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

fn modes(item: &Item<'_>) -> Result<Filter, QueryError> {
    let known = |name: &&str| name.contains('*') || Mode::from_name(&name.to_lowercase()).is_some();
    match item.text.split(',').find(|name| !known(name)) {
        Some(name) => Err(item.unknown(name, "no mode", &Mode::ALL.map(Mode::name))),
        None => Ok(Filter::Mode(Words::of(item.text))),
    }
}

fn reasons(item: &Item<'_>) -> Result<Filter, QueryError> {
    let known = |name: &&str| name.contains('*') || Reason::from_name(&name.to_lowercase()).is_some();
    match item.text.split(',').find(|name| !known(name)).filter(|_| item.kind != Kind::Quoted) {
        Some(name) => {
            let near = nearest(name, REASONS.iter().map(|row| row.name)).map(ToOwned::to_owned);
            let message =
                format!("`{name}` is no reason of this program; those of others stand in quotes: reason:\"{name}\"");
            Err(QueryError { near, ..item.wrong(message) })
        }
        None => Ok(Filter::Reason(Words::of(item.text))),
    }
}

fn state(word: &str, item: &Item<'_>) -> Result<RunState, QueryError> {
    match word {
        "ok" | "returned" => Ok(RunState::Returned),
        "error" | "failed" => Ok(RunState::Failed),
        "open" => Ok(RunState::Open),
        other => {
            let near = nearest(other, ["ok", "error", "open", "returned", "failed"]).map(ToOwned::to_owned);
            Err(QueryError { near, ..item.wrong(format!("`{other}` is no status: ok, error, open")) })
        }
    }
}

fn places(item: &Item<'_>) -> Result<Vec<Field>, QueryError> {
    if item.negated {
        return Err(item.wrong("`in` names the places to look at and cannot be turned around".to_owned()));
    }
    let names: Vec<&str> = Field::ALL.iter().map(|field| field.name()).collect();
    let place = |name: &str| {
        let field = Field::ALL.iter().find(|field| field.name() == name).copied();
        field.ok_or_else(|| item.unknown(name, "no place", &names))
    };
    item.text.split(',').map(place).collect()
}

/// How a piece of a query is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Bare,
    Quoted,
    Pattern,
}

/// A filter and what stands between it and its value.
type Head = (&'static FilterRow, Sign);

/// A piece of a query.
struct Item<'q> {
    kind: Kind,
    negated: bool,
    /// Without sign, quotes and slashes; of a filter only the value.
    text: &'q str,
    /// The beginning of a filter.
    head: Option<Head>,
    span: (usize, usize),
}

impl Item<'_> {
    fn wrong(&self, message: String) -> QueryError {
        QueryError { span: self.span, message, near: None }
    }

    /// The name is `what`: none of these.
    fn unknown(&self, name: &str, what: &str, known: &[&str]) -> QueryError {
        let near = nearest(name, known.iter().copied()).map(ToOwned::to_owned);
        QueryError { near, ..self.wrong(format!("`{name}` is {what}: {}", known.join(", "))) }
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
        let value_at = from + head.map_or(0, |(_, columns)| columns);
        let (kind, inner, end) = value_of(text, value_at, head.is_some())?;
        let head = head.map(|(head, _)| head);
        if let Some((known, _)) = head.filter(|_| inner.is_empty()) {
            let message = format!("`{}` has no value", known.name);
            return Err(QueryError { span: (start, end), message, near: None });
        }
        items.push(Item { kind, negated, text: inner, head, span: (start, end) });
        at = end;
    }
    Ok(items)
}

/// The beginning of a filter at the beginning of a text, and its bytes.
fn head(text: &str, start: usize) -> Result<Option<(Head, usize)>, QueryError> {
    let key_end = text.find(|c: char| !(c.is_ascii_alphabetic() || c == '_')).unwrap_or(text.len());
    let (key, rest) = text.split_at(key_end);
    let sign = Sign::ALL.into_iter().find(|(written, _)| rest.starts_with(written)).filter(|_| !key.is_empty());
    let Some((written, sign)) = sign else { return Ok(None) };
    let end = key.len() + written.len();
    if let Some(known) = FILTERS.iter().find(|known| known.name == key) {
        return Ok(Some(((known, sign), end)));
    }
    // Links and code hold colons and signs too: only what looks like a filter is taken for a mistyped one.
    let value = text[end..].split(char::is_whitespace).next().unwrap_or_default();
    let known: Vec<&str> = match sign {
        Sign::Colon if !value.is_empty() && !value.starts_with([':', '/']) => names().collect(),
        Sign::Above | Sign::AtLeast | Sign::Below | Sign::AtMost if value.parse::<f64>().is_ok() => {
            names_of_numbers().collect()
        }
        _ => return Ok(None),
    };
    let Some(near) = nearest(key, known.iter().copied()) else { return Ok(None) };
    let message =
        format!("`{key}{written}` is no filter ({}); to look for the text, put it in quotes", known.join(", "));
    Err(QueryError { span: (start, start + end), message, near: Some(near.to_owned()) })
}

/// Where the pattern at the beginning of a text ends: its second slash. One behind a backslash belongs to the pattern, and an empty one is none.
fn pattern_end(text: &str) -> Option<usize> {
    let pattern = text.strip_prefix('/')?;
    let mut is_escaped = false;
    let end = pattern.find(|c| {
        let closes = c == '/' && !is_escaped;
        is_escaped = c == '\\' && !is_escaped;
        closes
    })?;
    (end > 0).then_some(end + 1)
}

/// Is this a pattern with flags behind it, as other programs write it (`/lamp/i`)?
fn has_pattern_flags(word: &str) -> bool {
    let flags = pattern_end(word).map(|end| &word[end + 1..]).unwrap_or_default();
    !flags.is_empty() && flags.len() < 4 && flags.chars().all(|flag| "gimsux".contains(flag))
}

/// The value or text at this place: what it is, without its marks, and where it ends.
fn value_of(text: &str, at: usize, of_filter: bool) -> Result<(Kind, &str, usize), QueryError> {
    let rest = &text[at..];
    if let Some(quoted) = rest.strip_prefix('"') {
        let end = quoted.find('"').ok_or_else(|| QueryError {
            span: (at, text.len()),
            message: "the closing \" is missing".to_owned(),
            near: None,
        })?;
        return Ok((Kind::Quoted, &quoted[..end], at + end + 2));
    }
    let pattern = pattern_end(rest).filter(|_| !of_filter);
    if let Some(end) = pattern.filter(|end| rest[end + 1..].chars().next().is_none_or(char::is_whitespace)) {
        return Ok((Kind::Pattern, &rest[1..end], at + end + 1));
    }
    let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
    if !of_filter && has_pattern_flags(&rest[..end]) {
        let message = "a pattern ends with its second slash: upper and lower case count as equal, and there are no flags; \
                       to look for the text, put it in quotes";
        return Err(QueryError { span: (at, at + end), message: message.to_owned(), near: None });
    }
    Ok((Kind::Bare, &rest[..end], at + end))
}
