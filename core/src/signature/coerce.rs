//! Coercion: conversions towards a type, each with its warning, then the strict check.
//!
//! In: a type, a value and a policy that depends on the value's source. Out: the converted value and all issues. It
//! must never change content without a declared type: undeclared fields and the content of `:any` and `:map` are
//! unchanged.

use super::check::{check, shown};
use super::issue::{Issue, Severity, Trail};
use super::{Field, Type, names};
use crate::limits::JSON_DIGITS;
use crate::value::{BigInt, Instant, Keyword, Map, TimeError, Value};

/// The source of a value, which decides its conversions. Every policy converts the types that JSON lacks (ISO text →
/// datetime, text → keyword) and accepts a set as a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Policy {
    /// Inputs of agents: also text → number and boolean, keyword → text, enum values in another case; a float is never an int.
    Inputs,
    /// Arguments of tools: the same, and a whole float → int, as in answers.
    Arguments,
    /// JSON answers at recovery level strict: no further conversions.
    AnswerStrict,
    /// JSON answers at level standard: also a whole float → int, with a warning.
    AnswerStandard,
    /// JSON answers at level lenient: all conversions.
    AnswerLenient,
}

impl Policy {
    /// True if text becomes numbers and booleans, keywords become text, and enum values match in another case.
    fn reads_text(self) -> bool {
        matches!(self, Self::Inputs | Self::Arguments | Self::AnswerLenient)
    }

    fn reads_whole_floats(self) -> bool {
        matches!(self, Self::Arguments | Self::AnswerStandard | Self::AnswerLenient)
    }
}

/// The validation of an agent's inputs (`signature_validation`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum InputMode {
    /// Coerce and check; errors reject the run.
    #[default]
    Enabled,
    /// Coerce and check; errors become warnings.
    WarnOnly,
    /// Check without coercion.
    Strict,
    /// Neither coerce nor check.
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

/// A coerced value with its issues: first the warnings of the conversions, then the remaining errors.
#[derive(Debug, Clone, PartialEq)]
pub struct CoercedValue {
    /// The value; declared fields of maps have their declared names.
    pub value: Value,
    /// Warnings, then errors; each in declaration order.
    pub issues: Vec<Issue>,
}

/// Converts a value towards a type and checks the result.
pub fn coerce(ty: &Type, value: Value, policy: Policy) -> CoercedValue {
    let mut notes = Vec::new();
    let value = convert(ty, value, policy, &Trail::Root, &mut notes);
    let (mut issues, failed): (Vec<_>, Vec<_>) = notes.into_iter().partition(|note| note.severity == Severity::Warning);
    // The error of a failed conversion replaces that of the check at the same path; both are in the same order.
    let mut failed = failed.into_iter().peekable();
    let better = |issue: Issue| failed.next_if(|failure| failure.path == issue.path).unwrap_or(issue);
    issues.extend(check(ty, &value).into_iter().map(better));
    CoercedValue { value, issues }
}

/// Checks a context against the parameters of an agent or tool. Without error issues the value may be used.
pub fn check_inputs(params: &[Field], context: &Value, mode: InputMode) -> (Value, Vec<Issue>) {
    let ty = Type::Record { fields: params.to_vec(), closed: false };
    let coerced = match mode {
        InputMode::Disabled => CoercedValue { value: context.clone(), issues: Vec::new() },
        InputMode::Strict => CoercedValue { value: context.clone(), issues: check(&ty, context) },
        InputMode::Enabled => coerce(&ty, context.clone(), Policy::Inputs),
        InputMode::WarnOnly => {
            let mut coerced = coerce(&ty, context.clone(), Policy::Inputs);
            coerced.issues.iter_mut().for_each(|issue| issue.severity = Severity::Warning);
            coerced
        }
    };
    (coerced.value, coerced.issues)
}

/// Checks the arguments of a tool against its parameters. Without error issues the value may be used.
pub fn check_arguments(params: &[Field], args: &Value) -> (Value, Vec<Issue>) {
    let ty = Type::Record { fields: params.to_vec(), closed: false };
    let CoercedValue { value, issues } = coerce(&ty, args.clone(), Policy::Arguments);
    (value, issues)
}

/// The form of a returned value: declared fields under string keys with `_` for `-`, sets as lists where the type is a
/// list. Keys of data are unchanged.
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

/// The map with its declared fields changed and under new string keys; other entries are unchanged.
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

/// The conversion of one scalar.
enum Conversion {
    /// No conversion; the check decides.
    Kept,
    Silent(Value),
    Noted(Value),
    /// Text that is not a datetime, with the reason.
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
            if matches!(policy, Policy::Inputs | Policy::Arguments) {
                Conversion::Noted(word)
            } else {
                Conversion::Silent(word)
            }
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
    let decimal = decimal && digits.len() as u64 <= JSON_DIGITS.max;
    decimal.then(|| BigInt::parse_bytes(text.as_bytes(), 10)).flatten().map(Value::integer)
}

/// The integer of a float without a fraction. From 2^53 on several integers share a float: it must have few enough digits to be the one
/// that was written.
fn whole(float: f64) -> Option<Value> {
    if !float.is_finite() || float.fract() != 0.0 {
        return None;
    }
    let text = float.to_string();
    let significant = text.trim_start_matches('-').trim_end_matches('0').len();
    let is_exact = float.abs() < 9_007_199_254_740_992.0 || significant <= f64::DIGITS as usize;
    is_exact.then(|| BigInt::parse_bytes(text.as_bytes(), 10)).flatten().map(Value::integer)
}

fn float(text: &str) -> Option<Value> {
    let numeric = text.starts_with(|c: char| c.is_ascii_digit() || c == '-')
        && text.ends_with(|c: char| c.is_ascii_digit())
        && text.chars().all(|c| c.is_ascii_digit() || "+-.eE".contains(c));
    numeric.then(|| text.parse::<f64>().ok()).flatten().filter(|float| float.is_finite()).map(Value::Float)
}

/// The only choice that differs from the text in case alone; an exact match needs no conversion.
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

/// ISO text with an offset becomes UTC; a warning names an offset other than zero.
fn datetime(text: &str) -> Conversion {
    match Instant::parse(text) {
        Ok(read) if read.in_utc => Conversion::Silent(Value::Instant(read.at)),
        Ok(read) => Conversion::Noted(Value::Instant(read.at)),
        Err(error) => Conversion::Failed(error),
    }
}

/// A scalar in a message: type and value.
fn described(value: &Value) -> String {
    match value {
        Value::Instant(at) => format!("{} {at}", value.kind()),
        _ => format!("{} {}", value.kind(), shown(value)),
    }
}
