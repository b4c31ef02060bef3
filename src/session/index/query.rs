//! The search language: words, "phrases", /patterns/, and filters such as `mode:json`, `turns>3`, `-tag:slow`.
//!
//! In: one line of text and the current time. Out: a query, or an error with its position and the nearest known name.
//! Pure: it reads neither the clock nor files.

use regex::{Regex, RegexBuilder};

use super::digest::Field;
use super::failure::Failure;
use super::filter::{Filter, Flag, NumberCondition, Operator, WordList};
use crate::agent::Mode;
use crate::session::RunState;
use ptc_core::reasons::{REASONS, Reason};
use ptc_core::text::nearest;

/// Maximum number of terms per query; the terms of a session are stored as bits.
const MAX_TERMS: usize = 32;

/// Maximum size of a compiled pattern in bytes.
const PATTERN_BYTES: usize = 4 << 20;

/// A parsed query.
#[derive(Debug, Clone, Default)]
pub struct Query {
    /// Texts that a session must, or must not, contain.
    pub terms: Vec<Term>,
    /// Conditions on the session.
    pub filters: Vec<Filter>,
    /// The fields to search; all when empty.
    pub fields: Vec<Field>,
}

/// A text to search for.
#[derive(Debug, Clone)]
pub struct Term {
    /// Case is ignored unless the pattern sets a flag.
    pub pattern: Regex,
    /// The text must not occur.
    pub absent: bool,
}

/// Syntax of unquoted words in a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TermSyntax {
    /// Literal text.
    Plain,
    /// Regular expressions.
    Patterns,
}

/// An error in a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueryError {
    /// Byte range in the query.
    pub span: (usize, usize),
    /// The problem and its correction.
    pub message: String,
    /// The nearest known name.
    pub near: Option<String>,
}

impl std::fmt::Display for QueryError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)?;
        self.near.as_ref().map_or(Ok(()), |near| write!(f, " (did you mean `{near}`?)"))
    }
}

impl std::error::Error for QueryError {}

/// A filter of the search language.
pub struct FilterRow {
    /// Its name.
    pub name: &'static str,
    /// Example with its operator and value.
    pub example: &'static str,
    value_type: ValueType,
}

/// The type of a filter's value.
#[derive(Clone, Copy)]
enum ValueType {
    /// Words, any of which matches.
    Words(fn(WordList) -> Filter),
    /// Names of modes.
    Modes,
    /// Failure reasons; quoted, also those that only another program uses.
    Reasons,
    /// A number with an operator.
    Number(fn(NumberCondition) -> Filter),
    /// A date: start and end of its range, in Unix ms.
    Date(fn(i64, i64) -> Filter),
    /// Session states.
    States,
    /// A property of a session.
    Flag,
    /// Fields to search.
    Fields,
}

const fn row(name: &'static str, example: &'static str, value_type: ValueType) -> FilterRow {
    FilterRow { name, example, value_type }
}

/// All filters. Help and error messages are generated from this table.
pub const FILTERS: &[FilterRow] = &[
    row("mode", "mode:json,text", ValueType::Modes),
    row("model", "model:demo, model:gpt* (* matches any text)", ValueType::Words(Filter::Model)),
    row("agent", "agent:sentiment", ValueType::Words(Filter::Agent)),
    row("status", "status:ok, status:error, status:open", ValueType::States),
    row("reason", "reason:validation_error: failure reason of a run, turn, program or tool", ValueType::Reasons),
    row("tool", "tool:search: a called tool; tool:search failed: one that failed", ValueType::Words(Filter::Tool)),
    row("tag", "tag:slow: a tag of the session, or of a run or turn in it", ValueType::Words(Filter::Tag)),
    row("label", "label:fail, label:pass: the user's label", ValueType::Words(Filter::Label)),
    row("id", "id:2026-11-21: a prefix of the id", ValueType::Words(Filter::Id)),
    row("in", "in:reply,program: fields to search", ValueType::Fields),
    row("is", "is:marked, is:damaged, is:example, is:unlabelled", ValueType::Flag),
    row("cost", "cost>0.1", ValueType::Number(Filter::Cost)),
    row("tokens", "tokens>=2000", ValueType::Number(Filter::Tokens)),
    row("turns", "turns>3", ValueType::Number(Filter::Turns)),
    row(
        "since",
        "since:2026-11-01, since:7d, since:12h, since:today",
        ValueType::Date(|from, _| Filter::Created(from, i64::MAX)),
    ),
    row("until", "until:2026-11-30", ValueType::Date(|_, before| Filter::Created(i64::MIN, before))),
    row("date", "date:2026-11-21", ValueType::Date(Filter::Created)),
];

fn names() -> impl Iterator<Item = &'static str> {
    FILTERS.iter().map(|known| known.name)
}

/// Returns the filters that compare numbers.
fn names_of_numbers() -> impl Iterator<Item = &'static str> {
    FILTERS.iter().filter(|known| matches!(known.value_type, ValueType::Number(_))).map(|known| known.name)
}

/// Returns the notice about a word of a query that may have been meant as a filter and was searched as text; `None` without such a word.
pub fn text_notice(text: &str) -> Option<String> {
    let is_meant = |word: &&str| {
        let (key, value) = word.trim_start_matches('-').split_once(':').unwrap_or_default();
        let is_key = !key.is_empty() && key.chars().all(|c| c.is_ascii_lowercase());
        is_key && !value.starts_with([':', '/']) && names().all(|known| known != key)
    };
    let word = text.split_whitespace().find(is_meant)?;
    Some(format!("`{word}` was searched as text; filters are {}", names().collect::<Vec<_>>().join(", ")))
}

impl Query {
    /// Parses a query. `now_ms` is the time that `7d` and `today` refer to, in Unix ms; days are in UTC.
    pub fn parse(text: &str, syntax: TermSyntax, now_ms: i64) -> Result<Self, QueryError> {
        let mut query = Self::default();
        let items = items(text)?;
        // `tool:search failed`: the tool must have failed, and the word is not searched for.
        let is_tool = |item: &&Item<'_>| item.head.is_some_and(|(known, _)| known.name == "tool") && !item.negated;
        let is_failed = |item: &Item<'_>| item.kind == ItemKind::Bare && item.head.is_none() && item.text == "failed";
        let of_failed_tool = items.iter().any(|item| is_tool(&item)) && items.iter().any(is_failed);
        for item in items.iter().filter(|item| !(of_failed_tool && is_failed(item))) {
            query.add_item(item, syntax, now_ms)?;
        }
        if of_failed_tool {
            query.filters = query.filters.into_iter().map(Filter::of_failed_tool).collect();
        }
        if let Some(fields) = items
            .iter()
            .find(|item| item.head.is_some_and(|(known, _)| matches!(known.value_type, ValueType::Fields)))
            .filter(|_| query.terms.is_empty())
        {
            let message = "`in` needs a word to search for: in:reply lamp".to_owned();
            return Err(QueryError { span: fields.span, message, near: None });
        }
        if query.terms.len() > MAX_TERMS {
            let message = format!("{} words are too many: at most {MAX_TERMS} are allowed", query.terms.len());
            return Err(QueryError { span: (0, text.len()), message, near: None });
        }
        Ok(query)
    }

    fn add_item(&mut self, item: &Item<'_>, syntax: TermSyntax, now_ms: i64) -> Result<(), QueryError> {
        let Some((known, operator)) = item.head else {
            let pattern = match (item.kind, syntax) {
                (ItemKind::Pattern, _) | (ItemKind::Bare, TermSyntax::Patterns) => item.text.to_owned(),
                _ => regex::escape(item.text),
            };
            self.terms.push(Term { pattern: compile(&pattern, item)?, absent: item.negated });
            return Ok(());
        };
        if operator != Operator::Colon && !matches!(known.value_type, ValueType::Number(_)) {
            return Err(item.error(format!("`{}` takes a colon: {}", known.name, known.example)));
        }
        let value = item.text;
        let filter = match known.value_type {
            ValueType::Words(make) => make(WordList::of(value)),
            ValueType::Modes => modes(item)?,
            ValueType::Reasons => reasons(item)?,
            ValueType::Number(make) => {
                let number = value.parse().map_err(|_| item.error(format!("`{value}` is not a number")))?;
                make(NumberCondition { operator, value: number })
            }
            ValueType::Date(make) => {
                let (from, before) = super::filter::parse_date(value, now_ms).ok_or_else(|| {
                    item.error(format!("`{value}` is not a date: write 2026-11-21, 2026-11-21T18:00, 7d, 12h or today"))
                })?;
                make(from, before)
            }
            ValueType::States => {
                Filter::Status(value.split(',').map(|word| state(word, item)).collect::<Result<_, _>>()?)
            }
            ValueType::Flag => {
                let named = Flag::ALL.into_iter().find(|(name, _)| *name == value);
                let names = Flag::ALL.map(|(name, _)| name);
                let unknown = || item.unknown_name(value, "not a property of sessions", &names);
                Filter::Is(named.ok_or_else(unknown)?.1)
            }
            ValueType::Fields => {
                self.fields.extend(fields(item)?);
                return Ok(());
            }
        };
        self.filters.push(if item.negated { Filter::Not(Box::new(filter)) } else { filter });
        Ok(())
    }

    /// Returns whether the filters about failures, if there are any, are about this one.
    pub fn selects(&self, failure: &Failure) -> bool {
        self.filters.iter().filter(|filter| filter.is_about_failures()).all(|filter| filter.selects(failure))
    }

    /// Returns whether the query has no conditions.
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty() && self.filters.is_empty()
    }
}

fn compile(pattern: &str, item: &Item<'_>) -> Result<Regex, QueryError> {
    RegexBuilder::new(pattern).case_insensitive(true).multi_line(true).size_limit(PATTERN_BYTES).build().map_err(
        |error| {
            let text = error.to_string();
            let problem = text.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
            QueryError {
                span: item.span,
                message: format!("`{pattern}` is not a regular expression: {problem}"),
                near: None,
            }
        },
    )
}

fn modes(item: &Item<'_>) -> Result<Filter, QueryError> {
    let known = |name: &&str| name.contains('*') || Mode::from_name(&name.to_lowercase()).is_some();
    match item.text.split(',').find(|name| !known(name)) {
        Some(name) => Err(item.unknown_name(name, "not a mode", &Mode::ALL.map(Mode::name))),
        None => Ok(Filter::Mode(WordList::of(item.text))),
    }
}

fn reasons(item: &Item<'_>) -> Result<Filter, QueryError> {
    let known = |name: &&str| name.contains('*') || Reason::from_name(&name.to_lowercase()).is_some();
    match item.text.split(',').find(|name| !known(name)).filter(|_| item.kind != ItemKind::Quoted) {
        Some(name) => {
            let near = nearest(name, REASONS.iter().map(|row| row.name)).map(ToOwned::to_owned);
            let message = format!(
                "`{name}` is not a reason of this program; put reasons of other programs in quotes: reason:\"{name}\""
            );
            Err(QueryError { near, ..item.error(message) })
        }
        None => Ok(Filter::Reason(WordList::of(item.text))),
    }
}

fn state(word: &str, item: &Item<'_>) -> Result<RunState, QueryError> {
    match word {
        "ok" | "returned" => Ok(RunState::Returned),
        "error" | "failed" => Ok(RunState::Failed),
        "open" => Ok(RunState::Open),
        other => {
            let near = nearest(other, ["ok", "error", "open", "returned", "failed"]).map(ToOwned::to_owned);
            let all = "ok (or returned), error (or failed), open";
            Err(QueryError { near, ..item.error(format!("`{other}` is not a status: {all}")) })
        }
    }
}

fn fields(item: &Item<'_>) -> Result<Vec<Field>, QueryError> {
    if item.negated {
        return Err(item.error("`in` selects the fields to search and cannot be negated".to_owned()));
    }
    let names: Vec<&str> = Field::ALL.iter().map(|field| field.name()).collect();
    let field = |name: &str| {
        let field = Field::ALL.iter().find(|field| field.name() == name).copied();
        field.ok_or_else(|| item.unknown_name(name, "not a field", &names))
    };
    item.text.split(',').map(field).collect()
}

/// Syntax of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ItemKind {
    Bare,
    Quoted,
    Pattern,
}

/// A filter and its operator.
type FilterHead = (&'static FilterRow, Operator);

/// An item of a query.
struct Item<'q> {
    kind: ItemKind,
    negated: bool,
    /// Text without operator, quotes and slashes; for a filter, only its value.
    text: &'q str,
    /// Name and operator of a filter.
    head: Option<FilterHead>,
    span: (usize, usize),
}

impl Item<'_> {
    fn error(&self, message: String) -> QueryError {
        QueryError { span: self.span, message, near: None }
    }

    /// Returns the error for an unknown name, described by `what`, with all known names.
    fn unknown_name(&self, name: &str, what: &str, known: &[&str]) -> QueryError {
        let near = nearest(name, known.iter().copied()).map(ToOwned::to_owned);
        QueryError { near, ..self.error(format!("`{name}` is {what}: {}", known.join(", "))) }
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

/// Parses the name and operator of a filter at the start of a text; returns them with their length in bytes.
fn head(text: &str, start: usize) -> Result<Option<(FilterHead, usize)>, QueryError> {
    let key_end = text.find(|c: char| !(c.is_ascii_alphabetic() || c == '_')).unwrap_or(text.len());
    let (key, rest) = text.split_at(key_end);
    let operator = Operator::ALL.into_iter().find(|(written, _)| rest.starts_with(written)).filter(|_| !key.is_empty());
    let Some((written, operator)) = operator else { return Ok(None) };
    let end = key.len() + written.len();
    if let Some(known) = FILTERS.iter().find(|known| known.name == key) {
        return Ok(Some(((known, operator), end)));
    }
    // URLs and code contain colons and operators too: only what looks like a filter is reported as a misspelled one.
    let value = text[end..].split(char::is_whitespace).next().unwrap_or_default();
    let known: Vec<&str> = match operator {
        Operator::Colon if !value.is_empty() && !value.starts_with([':', '/']) => names().collect(),
        Operator::Above | Operator::AtLeast | Operator::Below | Operator::AtMost if value.parse::<f64>().is_ok() => {
            names_of_numbers().collect()
        }
        _ => return Ok(None),
    };
    let Some(near) = nearest(key, known.iter().copied()) else { return Ok(None) };
    let message =
        format!("`{key}{written}` is not a filter ({}); to search for the text, put it in quotes", known.join(", "));
    Err(QueryError { span: (start, start + end), message, near: Some(near.to_owned()) })
}

/// Returns the end of the pattern at the start of a text: its second slash. Slashes after a backslash belong to the
/// pattern; an empty pattern is not one.
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

/// Returns whether this is a pattern followed by flags, as in other programs (`/lamp/i`).
fn has_pattern_flags(word: &str) -> bool {
    let flags = pattern_end(word).map(|end| &word[end + 1..]).unwrap_or_default();
    !flags.is_empty() && flags.len() < 4 && flags.chars().all(|flag| "gimsux".contains(flag))
}

/// Parses the value or text at this offset: its syntax, its content without quotes, and its end.
fn value_of(text: &str, at: usize, of_filter: bool) -> Result<(ItemKind, &str, usize), QueryError> {
    let rest = &text[at..];
    if let Some(quoted) = rest.strip_prefix('"') {
        let end = quoted.find('"').ok_or_else(|| QueryError {
            span: (at, text.len()),
            message: "the closing \" is missing".to_owned(),
            near: None,
        })?;
        return Ok((ItemKind::Quoted, &quoted[..end], at + end + 2));
    }
    let pattern = pattern_end(rest).filter(|_| !of_filter);
    if let Some(end) = pattern.filter(|end| rest[end + 1..].chars().next().is_none_or(char::is_whitespace)) {
        return Ok((ItemKind::Pattern, &rest[1..end], at + end + 1));
    }
    let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
    if !of_filter && has_pattern_flags(&rest[..end]) {
        let message = "a pattern ends with its second slash and has no flags: case is always ignored; \
                       to search for the text, put it in quotes";
        return Err(QueryError { span: (at, at + end), message: message.to_owned(), near: None });
    }
    Ok((ItemKind::Bare, &rest[..end], at + end))
}
