//! Coercion: the conversions of the signature contract §5, each with its warning, then the strict check.
//!
//! In: a type, a value and a policy that says where the value came from. Out: the converted value and all issues.
//! It must never change what no declared type covers: undeclared fields and the content of `:any` and `:map` stay.

use num_traits::FromPrimitive as _;

use super::check::{check, shown};
use super::issue::{Issue, Severity, Trail};
use super::{Field, Type, names};
use crate::value::{BigInt, Instant, Keyword, Map, TimeError, Value};

/// Where a value came from, and so which conversions it gets. Every policy reads what JSON cannot hold
/// (ISO text → datetime, text → keyword) and takes a set for a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Policy {
    /// Inputs of agents and arguments of tools: the contract's table; a float is never an int, even a whole one.
    Inputs,
    /// JSON answers at recovery level strict: nothing more.
    AnswerStrict,
    /// JSON answers at level standard: also a whole float → int, with a warning.
    AnswerStandard,
    /// JSON answers at level lenient: everything.
    AnswerLenient,
}

impl Policy {
    /// Numbers and booleans from text, text from keywords, enum values in another case.
    fn reads_text(self) -> bool {
        matches!(self, Self::Inputs | Self::AnswerLenient)
    }

    fn reads_whole_floats(self) -> bool {
        matches!(self, Self::AnswerStandard | Self::AnswerLenient)
    }
}

/// How the inputs of an agent are treated (`signature_validation`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum InputMode {
    /// Coerce and check; errors refuse the run.
    #[default]
    Enabled,
    /// Coerce and check; errors become warnings.
    WarnOnly,
    /// Check without coercion.
    Strict,
    /// Take everything as it is.
    Disabled,
}

impl InputMode {
    /// The modes and their names in agent files.
    pub const NAMES: &[(&str, Self)] = &[
        ("enabled", Self::Enabled),
        ("warn_only", Self::WarnOnly),
        ("strict", Self::Strict),
        ("disabled", Self::Disabled),
    ];
}

/// A coerced value and what was found: first the warnings of the conversions made, then the errors that remain.
#[derive(Debug, Clone, PartialEq)]
pub struct Coerced {
    /// The value; declared fields of maps stand under their declared names.
    pub value: Value,
    /// Warnings, then errors; each in declaration order.
    pub issues: Vec<Issue>,
}

/// Converts a value towards a type and checks the result.
pub fn coerce(ty: &Type, value: Value, policy: Policy) -> Coerced {
    let mut notes = Vec::new();
    let value = convert(ty, value, policy, &Trail::Root, &mut notes);
    let (mut issues, failed): (Vec<_>, Vec<_>) = notes.into_iter().partition(|note| note.severity == Severity::Warning);
    // A failed conversion knows more than the check about the same place; both come in the same order.
    let mut failed = failed.into_iter().peekable();
    let better = |issue: Issue| failed.next_if(|failure| failure.path == issue.path).unwrap_or(issue);
    issues.extend(check(ty, &value).into_iter().map(better));
    Coerced { value, issues }
}

/// Checks a context against the parameters of an agent or tool. Without error issues the value may be used.
pub fn check_inputs(params: &[Field], context: &Value, mode: InputMode) -> (Value, Vec<Issue>) {
    let ty = Type::Record { fields: params.to_vec(), closed: false };
    let coerced = match mode {
        InputMode::Disabled => Coerced { value: context.clone(), issues: Vec::new() },
        InputMode::Strict => Coerced { value: context.clone(), issues: check(&ty, context) },
        InputMode::Enabled => coerce(&ty, context.clone(), Policy::Inputs),
        InputMode::WarnOnly => {
            let mut coerced = coerce(&ty, context.clone(), Policy::Inputs);
            coerced.issues.iter_mut().for_each(|issue| issue.severity = Severity::Warning);
            coerced
        }
    };
    (coerced.value, coerced.issues)
}

/// The form of a returned value: declared fields under string keys with `_` for `-`, sets as lists where the type
/// says list. Data keys stay as they are.
pub fn normalize_keys(ty: &Type, value: Value) -> Value {
    match (ty.base(), &value) {
        (Type::Record { fields, .. }, Value::Map(map)) => {
            rekey(fields, map, names::underscored, |field, value| normalize_keys(&field.ty, value))
        }
        (Type::List(item), _) => match value.elements() {
            Some(items) => Value::list(items.map(|value| normalize_keys(item, value.clone()))),
            None => value,
        },
        _ => value,
    }
}

/// The map with its declared fields changed and under new string keys; the other entries stay.
fn rekey(
    fields: &[Field],
    map: &Map,
    name: impl Fn(&str) -> String,
    mut change: impl FnMut(&Field, Value) -> Value,
) -> Value {
    let mut declared = Vec::new();
    let mut entries = Vec::new();
    for field in fields {
        if let Some(key) = names::key(map, &field.name)
            && let Some(value) = map.get(&key)
        {
            entries.push((Value::str(name(&field.name)), change(field, value.clone())));
            declared.push(key);
        }
    }
    let others = map.iter().filter(|(key, _)| !declared.contains(key));
    entries.extend(others.map(|(key, value)| (key.clone(), value.clone())));
    Value::map(entries)
}

fn convert(ty: &Type, value: Value, policy: Policy, at: &Trail, notes: &mut Vec<Issue>) -> Value {
    match (ty, &value) {
        (Type::Optional(_), Value::Nil) => value,
        (Type::Optional(inner) | Type::Narrowed { base: inner, .. }, _) => convert(inner, value, policy, at, notes),
        (Type::Record { fields, .. }, Value::Map(map)) => rekey(fields, map, str::to_owned, |field, value| {
            convert(&field.ty, value, policy, &Trail::Field(at, &field.name), notes)
        }),
        (Type::List(item), _) => match value.elements() {
            Some(items) => Value::list(
                items
                    .enumerate()
                    .map(|(place, value)| convert(item, value.clone(), policy, &Trail::Index(at, place), notes)),
            ),
            None => value,
        },
        _ => match scalar(ty, &value, policy) {
            Conversion::Kept => value,
            Conversion::Silent(new) => new,
            Conversion::Noted(new) => {
                let message = format!("converted {} to {}", described(&value), described(&new));
                notes.push(Issue::warning(at, &ty.word(), value.kind().name(), message));
                new
            }
            Conversion::Failed(error) => {
                let issue = Issue::mismatch(at, ty.word(), value.kind().name());
                notes.push(Issue { message: format!("{}: {error}", issue.message), ..issue });
                value
            }
        },
    }
}

/// What became of one scalar.
enum Conversion {
    /// Nothing to convert; the check decides.
    Kept,
    Silent(Value),
    Noted(Value),
    /// Text that is no point in time, and why.
    Failed(TimeError),
}

fn scalar(ty: &Type, value: &Value, policy: Policy) -> Conversion {
    let noted = |new: Option<Value>| new.map_or(Conversion::Kept, Conversion::Noted);
    match (ty, value) {
        (Type::Int, Value::Str(text)) if policy.reads_text() => noted(integer(text)),
        (Type::Int, Value::Float(float)) if policy.reads_whole_floats() => noted(whole(*float)),
        (Type::Float, Value::Str(text)) if policy.reads_text() => noted(float(text)),
        (Type::Number, Value::Str(text)) if policy.reads_text() => noted(integer(text).or_else(|| float(text))),
        (Type::Bool, Value::Str(text)) if policy.reads_text() => noted(text.parse().ok().map(Value::Bool)),
        (Type::String, Value::Keyword(word)) if policy.reads_text() => Conversion::Noted(Value::str(word.name())),
        (Type::String, Value::Instant(at)) => Conversion::Silent(Value::str(at.to_string())),
        (Type::Keyword, Value::Str(text)) if names::is_keyword_name(text) => {
            let word = Value::keyword(text);
            if policy == Policy::Inputs { Conversion::Noted(word) } else { Conversion::Silent(word) }
        }
        (Type::Datetime, Value::Str(text)) => datetime(text),
        (Type::Enum(choices), Value::Str(text)) if policy.reads_text() => noted(choice(choices, text)),
        (Type::Enum(choices), Value::Keyword(word)) if policy.reads_text() => noted(named(choices, *word)),
        _ => Conversion::Kept,
    }
}

fn integer(text: &str) -> Option<Value> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let decimal = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    decimal.then(|| BigInt::parse_bytes(text.as_bytes(), 10)).flatten().map(Value::integer)
}

/// The integer of a float without a fraction.
fn whole(float: f64) -> Option<Value> {
    (float.is_finite() && float.fract() == 0.0).then(|| BigInt::from_f64(float)).flatten().map(Value::integer)
}

fn float(text: &str) -> Option<Value> {
    let numeric = text.starts_with(|c: char| c.is_ascii_digit() || c == '-')
        && text.ends_with(|c: char| c.is_ascii_digit())
        && text.chars().all(|c| c.is_ascii_digit() || "+-.eE".contains(c));
    numeric.then(|| text.parse::<f64>().ok()).flatten().filter(|float| float.is_finite()).map(Value::Float)
}

/// The only choice that differs from the text in case alone; an exact one needs no conversion.
fn choice(choices: &[String], text: &str) -> Option<Value> {
    if choices.iter().any(|choice| choice == text) {
        return None;
    }
    let lower = text.to_lowercase();
    let mut alike = choices.iter().filter(|choice| choice.to_lowercase() == lower);
    alike.next().filter(|_| alike.next().is_none()).map(|choice| Value::str(choice.as_str()))
}

/// The choice that a keyword names.
fn named(choices: &[String], word: Keyword) -> Option<Value> {
    let exact = choices.iter().find(|choice| *choice == word.name()).map(|choice| Value::str(choice.as_str()));
    exact.or_else(|| choice(choices, word.name()))
}

/// ISO text with an offset becomes UTC; the warning tells when the offset was another.
fn datetime(text: &str) -> Conversion {
    match Instant::parse(text) {
        Ok(read) if read.in_utc => Conversion::Silent(Value::Instant(read.at)),
        Ok(read) => Conversion::Noted(Value::Instant(read.at)),
        Err(error) => Conversion::Failed(error),
    }
}

/// A scalar as messages show it: kind and value.
fn described(value: &Value) -> String {
    match value {
        Value::Instant(at) => format!("{} {at}", value.kind()),
        _ => format!("{} {}", value.kind(), shown(value)),
    }
}
