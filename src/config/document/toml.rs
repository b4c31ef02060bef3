//! Parses TOML text to a JSON tree with spans, and formats values as inline TOML.
//!
//! The `toml` crate parses and limits the nesting; its tree is converted to the one used for contexts and schemas.

use ptc_core::limits::{LIMITS, Limit};
use ptc_core::text::Span;
use ptc_core::value::Json;
use ptc_core::value::json::{Member, Node};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::Problem;
use super::entry::out_of_range;

/// Maximum depth of formatted values: the parser limits nesting to 80 levels, including sections and keys.
const MAX_DEPTH: usize = 40;

/// Parses TOML text. Dates and times become ISO text; numbers that JSON cannot represent are problems.
pub fn parse(text: &str) -> Result<Json, Problem> {
    let (document, errors) = DeTable::parse_recoverable(text);
    let range = |error: &toml::de::Error| error.span().unwrap_or(text.len()..text.len());
    // One syntax error often causes others after it: report the first.
    if let Some(error) = errors.iter().min_by_key(|error| range(error).start) {
        if let Some(problem) = unclosed_text(text, range(error).start, error.message()) {
            return Err(problem);
        }
        let (span, message) = (range(error), format!("not TOML: {}", error.message().trim()));
        return Err(Problem { key: String::new(), span: Span::new(span.start, span.end), message });
    }
    let span = Span::new(0, text.len());
    table(document.get_ref()).map(|node| Json { node, span })
}

/// The problem of a text of several lines that is not closed, where it begins: the parser reports the end of the file.
fn unclosed_text(text: &str, start: usize, message: &str) -> Option<Problem> {
    let is_at_end = start >= text.trim_end().len();
    let kinds = [("multi-line basic string", "\"\"\""), ("multi-line literal string", "'''")];
    let (_, quotes) = kinds.into_iter().find(|(kind, _)| is_at_end && message.contains(kind))?;
    let opened = text.rfind(quotes)?;
    let message = format!("not TOML: the text that begins here is not closed: {quotes} is missing");
    Some(Problem { key: String::new(), span: Span::new(opened, opened + quotes.len()), message })
}

/// The parser limits the recursion.
fn table(table: &DeTable<'_>) -> Result<Node, Problem> {
    let member = |(key, value): (&Spanned<std::borrow::Cow<'_, str>>, &Spanned<DeValue<'_>>)| {
        let (key_span, key) = (span_of(key), key.get_ref().to_string());
        let value = json(&key, value)?;
        Ok(Member { key, key_span, value })
    };
    table.iter().map(member).collect::<Result<_, Problem>>().map(Node::Object)
}

fn json(key: &str, value: &Spanned<DeValue<'_>>) -> Result<Json, Problem> {
    let span = span_of(value);
    let problem = |what: &str| Problem { key: key.to_owned(), span, message: format!("`{key}` {what}") };
    let node = match value.get_ref() {
        DeValue::String(text) => Node::Str(text.to_string()),
        DeValue::Integer(int) => i64::from_str_radix(int.as_str(), int.radix())
            .map(Node::Int)
            .map_err(|_| Problem { key: key.to_owned(), span, message: beyond_range(key, int) })?,
        DeValue::Float(float) => match float.as_str().parse::<f64>() {
            Ok(number) if number.is_finite() => Node::Float(number),
            _ => return Err(problem("is not a finite number; JSON cannot hold it")),
        },
        DeValue::Boolean(truth) => Node::Bool(*truth),
        DeValue::Datetime(at) => Node::Str(at.to_string()),
        DeValue::Array(items) => Node::List(items.iter().map(|item| json(key, item)).collect::<Result<_, _>>()?),
        DeValue::Table(inner) => table(inner)?,
    };
    Ok(Json { node, span })
}

/// The message for an integer that TOML cannot hold: it names the range of the key, where that is known.
fn beyond_range(key: &str, found: impl std::fmt::Display) -> String {
    let is_of = |limit: &&Limit| limit.name == key || limit.set.ends_with(&format!("`{key}`"));
    match LIMITS.iter().find(is_of) {
        Some(limit) => out_of_range(key, limit, found),
        None => {
            format!("`{key}` must be between {} and {}, as every integer of TOML, found {found}", i64::MIN, i64::MAX)
        }
    }
}

fn span_of<T>(spanned: &Spanned<T>) -> Span {
    let range = spanned.span();
    Span::new(range.start, range.end)
}

/// Formats a value as inline TOML; `None` for values that TOML cannot represent: null, integers beyond 64 bits, very
/// deep nesting.
pub fn to_inline(json: &Json) -> Option<String> {
    value(json, 0).map(|value| value.to_string())
}

fn value(json: &Json, depth: usize) -> Option<toml::Value> {
    if depth > MAX_DEPTH {
        return None;
    }
    Some(match &json.node {
        Node::Null | Node::Big(_) => return None,
        Node::Bool(truth) => toml::Value::Boolean(*truth),
        Node::Int(int) => toml::Value::Integer(*int),
        Node::Float(float) => toml::Value::Float(*float),
        Node::Str(text) => toml::Value::String(text.clone()),
        Node::List(items) => {
            toml::Value::Array(items.iter().map(|item| value(item, depth + 1)).collect::<Option<_>>()?)
        }
        Node::Object(members) => toml::Value::Table(
            members
                .iter()
                .map(|member| Some((member.key.clone(), value(&member.value, depth + 1)?)))
                .collect::<Option<_>>()?,
        ),
    })
}

/// Formats a key: bare if possible, else in double quotes.
pub fn write_key(key: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !key.is_empty() && key.chars().all(bare) { key.to_owned() } else { Json::str(key).to_text() }
}
