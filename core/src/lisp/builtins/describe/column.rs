//! Statistics of the values under one key: types, range, distinct values, examples.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write};

use super::{counts, record, type_name};
use crate::lisp::EvalResult;
use crate::lisp::builtins::position::{length, number, offset};
use crate::lisp::firewall::visible;
use crate::lisp::machine::Machine;
use crate::value::number::parse_double;
use crate::value::{Bounds, Value};

/// Characters of an example.
const EXAMPLE_CHARS: usize = 120;
/// Distinct values that are counted.
const MOST_DISTINCT: usize = 50;
/// Bytes of a collection that are printed for an example.
const EXAMPLE_BYTES: usize = 2_048;

/// Bytes of a text that is parsed as a number.
const NUMBER_BYTES: usize = 64;

/// The position of the latest values among the examples.
#[derive(Clone, Copy)]
pub(super) enum LatestPosition {
    /// The examples of keys.
    First,
    /// The examples of paths.
    Last,
}

/// Statistics of one key.
#[derive(Default)]
pub(super) struct Column {
    values: usize,
    /// Number of rows with a value, and the last such row.
    present: usize,
    row: Option<usize>,
    types: BTreeMap<&'static str, usize>,
    /// The latest distinct values, the last first.
    latest: Vec<Value>,
    /// The first distinct values.
    earliest: Vec<Value>,
    distinct: BTreeSet<Value>,
    distinct_capped: bool,
    range: Option<(Value, Value)>,
    /// Number of strings and collections that are not empty; `None` if there were none of either.
    non_empty: Option<usize>,
}

impl Column {
    /// Adds a value of a `row`, keeping `sample` distinct ones as examples.
    pub(super) fn add(
        &mut self,
        machine: &mut Machine<'_>,
        row: usize,
        value: &Value,
        sample: usize,
    ) -> EvalResult<()> {
        self.values += 1;
        if self.row.replace(row) != Some(row) {
            self.present += 1;
        }
        *self.types.entry(type_name(value)).or_default() += 1;
        let shown = example(machine, value)?;
        if self.earliest.len() < sample && !self.earliest.contains(&shown) {
            self.earliest.push(shown.clone());
        }
        self.latest.retain(|example| *example != shown);
        self.latest.insert(0, shown);
        self.latest.truncate(sample);
        if is_scalar(value) && !self.distinct.contains(value) {
            if self.distinct.len() < MOST_DISTINCT {
                self.distinct.insert(value.clone());
            } else {
                self.distinct_capped = true;
            }
        }
        match value {
            Value::Float(float) if !float.is_finite() => {}
            Value::Int(_) | Value::Big(_) | Value::Float(_) => self.measure(value.clone()),
            Value::Str(text) => {
                self.holds(!text.is_empty());
                if text.len() <= NUMBER_BYTES
                    && let Some(Value::Float(float)) = parse_double(text)
                    && float.is_finite()
                {
                    self.measure(Value::Float(float));
                }
            }
            Value::List(items) => self.holds(!items.is_empty()),
            Value::Set(members) => self.holds(!members.is_empty()),
            Value::Map(map) => self.holds(!map.is_empty()),
            _ => {}
        }
        Ok(())
    }

    fn measure(&mut self, number: Value) {
        let (min, max) = self.range.get_or_insert_with(|| (number.clone(), number.clone()));
        if number < *min {
            *min = number;
        } else if number > *max {
            *max = number;
        }
    }

    fn holds(&mut self, something: bool) {
        *self.non_empty.get_or_insert(0) += usize::from(something);
    }

    /// The number of values.
    pub(super) fn values(&self) -> usize {
        self.values
    }

    /// The number of rows with a value.
    pub(super) fn present(&self) -> usize {
        self.present
    }

    /// The description, without the parts that depend on other columns.
    pub(super) fn entries(&self, latest: LatestPosition) -> Vec<(&'static str, Value)> {
        let examples = match latest {
            LatestPosition::First => &self.latest,
            LatestPosition::Last => &self.earliest,
        };
        let mut entries =
            vec![("types", counts(self.types.clone())), ("examples", Value::list(examples.iter().cloned()))];
        if !self.distinct.is_empty() {
            entries.push(("distinct_count", number(self.distinct.len())));
        }
        if self.distinct_capped {
            entries.push(("distinct_capped", Value::Bool(true)));
        }
        if let Some((min, max)) = &self.range {
            entries.push(("range", record(vec![("min", min.clone()), ("max", max.clone())])));
        }
        if let Some(count) = self.non_empty {
            entries.push(("non_empty", number(count)));
        }
        entries
    }
}

/// True for a value whose distinct occurrences are counted; special floats are not.
fn is_scalar(value: &Value) -> bool {
    if let Value::Float(float) = value {
        return float.is_finite();
    }
    matches!(value, Value::Nil | Value::Bool(_) | Value::Int(_) | Value::Big(_) | Value::Keyword(_) | Value::Str(_))
}

/// A value as an example: scalars as they are, others as text, both cut.
pub(super) fn example(machine: &mut Machine<'_>, value: &Value) -> EvalResult {
    match value {
        Value::Str(text) => {
            machine.ticks(1 + text.len() / 16)?;
            Ok(match cut(text) {
                Cow::Borrowed(_) => value.clone(),
                Cow::Owned(text) => text.into(),
            })
        }
        Value::Float(_) => Ok(value.clone()),
        scalar if is_scalar(scalar) => Ok(scalar.clone()),
        other => {
            let mut text = Prefix::default();
            let shown = if machine.world.firewall { Cow::Owned(visible(other)) } else { Cow::Borrowed(other) };
            let bounds = Bounds { items: None, chars: Some(EXAMPLE_CHARS) };
            _ = shown.write_floats(&mut text, bounds, machine.float_digits());
            machine.ticks(1 + text.0.len() / 16)?;
            Ok(Value::from(&*cut(&text.0)))
        }
    }
}

/// A text, or its start and its length.
fn cut(text: &str) -> Cow<'_, str> {
    match offset(text, EXAMPLE_CHARS) {
        Some(end) if end < text.len() => format!("{}...({} chars)", &text[..end], length(text)).into(),
        _ => text.into(),
    }
}

/// A key as displayed: strings as they are, everything else in readable form.
pub(super) fn label(key: &Value) -> String {
    let mut text = Prefix::default();
    match key {
        Value::Str(name) => _ = text.write_str(name),
        other => _ = other.write(&mut text, Bounds::default()),
    }
    cut(&text.0).into_owned()
}

/// The start of a text; writing past it fails.
#[derive(Default)]
struct Prefix(String);

impl Write for Prefix {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = EXAMPLE_BYTES.saturating_sub(self.0.len());
        self.0.push_str(&text[..text.floor_char_boundary(room)]);
        if text.len() > room { Err(fmt::Error) } else { Ok(()) }
    }
}
