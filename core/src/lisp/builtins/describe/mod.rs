//! `describe`: what a value looks like, in a map of bounded size (language contract §14.12).
//!
//! In: any value and the options `:paths`, `:depth` and `:sample`. Out: types, counts, ranges and examples. It must never
//! look at more than the caps below say, and tells when it did not look at everything.

mod column;

use std::collections::{BTreeMap, BTreeSet};

use column::Column;

use super::place::number;
use super::{Arity, Builtin, Clojure};
use crate::lisp::machine::Machine;
use crate::lisp::{R, wrong};
use crate::value::{Kind, Map, Value};

/// Items that are looked at.
const MOST_ITEMS: usize = 1_000;
/// Keys that are described.
const MOST_KEYS: usize = 100;
/// Paths that are described.
const MOST_PATHS: usize = 300;
/// Values that are looked at under paths.
const MOST_PATH_VALUES: usize = 10_000;

/// The rows of this file.
pub(super) const ROWS: &[Builtin] = &[Builtin::new("describe", Arity::between(1, 2), describe)
    .doc(
        &["(describe value)", "(describe value options)"],
        "What a value looks like: types, counts, keys, ranges and examples in a small map; options {:paths true :depth 3 \
         :sample 2} add nested paths and bound the examples.",
    )
    .examples(&[
        (
            "(describe 5)",
            "{:distinct_count 1 :examples [5] :range {:max 5 :min 5} :sample 5 :type \"integer\" :types {\"integer\" 1}}",
        ),
        ("(describe [1 \"a\"])", "{:count 2 :item_types {\"integer\" 1 \"string\" 1} :scanned 2 :type \"vector\"}"),
        ("(:keys (describe [{:a 1}]))", "{\":a\" {:distinct_count 1 :examples [1] :pct 100.0 :present 1 :range {:max 1 :min 1} :types {\"integer\" 1}}}"),
    ])
    .clojure(Clojure::Extension)];

/// What is asked for.
#[derive(Clone, Copy)]
struct Options {
    /// Levels of paths that are described; 0 = none.
    depth: usize,
    /// Examples of each key and path.
    sample: usize,
}

impl Options {
    fn read(value: Option<&Value>) -> R<Self> {
        let Some(value) = value.filter(|value| !value.is_nil()) else { return Ok(Self { depth: 0, sample: 3 }) };
        let Value::Map(map) = value else { return Err(wrong(2, "a map of options", value)) };
        let within = |name: &str, most: i64, usual: usize| match map.lookup(name) {
            None | Some(Value::Nil) => Ok(usual),
            Some(Value::Int(number)) => Ok(usize::try_from((*number).clamp(1, most)).unwrap_or(usual)),
            Some(other) => Err(wrong(2, &format!("a map with an integer from 1 to {most} under :{name}"), other)),
        };
        let (depth, sample) = (within("depth", 5, 3)?, within("sample", 3, 3)?);
        let paths = map.lookup("paths").is_some_and(Value::is_truthy);
        Ok(Self { depth: if paths { depth } else { 0 }, sample })
    }
}

fn describe(machine: &mut Machine<'_>, args: &mut [Value]) -> R {
    let options = Options::read(args.get(1))?;
    let value = &args[0];
    let items: Vec<&Value> = match value {
        Value::List(items) => items.iter().collect(),
        Value::Set(members) => members.iter().collect(),
        Value::Map(_) => vec![value],
        scalar => return alone(machine, scalar, options),
    };
    let mut survey = Survey { options, ..Survey::default() };
    let scanned = items.len().min(MOST_ITEMS);
    if items.len() > MOST_ITEMS {
        survey.caps.insert("items");
    }
    for item in &items[..scanned] {
        machine.tick()?;
        *survey.item_types.entry(type_name(item)).or_default() += 1;
        if let Value::Map(map) = item {
            survey.maps += 1;
            survey.keys(machine, map)?;
            survey.paths(machine, map, &mut String::new(), 1)?;
        }
    }
    Ok(survey.finish(value, items.len(), scanned))
}

/// A value that holds no others.
fn alone(machine: &mut Machine<'_>, value: &Value, options: Options) -> R {
    let mut column = Column::default();
    column.add(machine, value, options.sample)?;
    let mut entries = column.entries();
    entries.push(("type", type_name(value).into()));
    entries.push(("sample", column::example(machine, value)?));
    Ok(record(entries))
}

/// What was seen in a collection.
#[derive(Default)]
struct Survey {
    options: Options,
    item_types: BTreeMap<&'static str, usize>,
    key_types: BTreeMap<&'static str, usize>,
    maps: usize,
    keys: BTreeMap<String, Column>,
    paths: BTreeMap<String, Column>,
    path_values: usize,
    caps: BTreeSet<&'static str>,
}

impl Default for Options {
    fn default() -> Self {
        Self { depth: 0, sample: 3 }
    }
}

impl Survey {
    fn keys(&mut self, machine: &mut Machine<'_>, map: &Map) -> R<()> {
        for (key, value) in map {
            machine.tick()?;
            *self.key_types.entry(type_name(key)).or_default() += 1;
            let name = column::label(key);
            if !self.keys.contains_key(&name) && self.keys.len() >= MOST_KEYS {
                self.caps.insert("keys");
                continue;
            }
            self.keys.entry(name).or_default().add(machine, value, self.options.sample)?;
        }
        Ok(())
    }

    /// Describes what lies under each path of keys, `depth` levels down.
    fn paths(&mut self, machine: &mut Machine<'_>, map: &Map, path: &mut String, depth: usize) -> R<()> {
        if depth > self.options.depth {
            return Ok(());
        }
        for (key, value) in map {
            machine.tick()?;
            if self.path_values >= MOST_PATH_VALUES {
                self.caps.insert("path_values");
                return Ok(());
            }
            let length = path.len();
            path.push_str(if depth > 1 { "." } else { "" });
            path.push_str(&column::label(key));
            if self.paths.contains_key(path.as_str()) || self.paths.len() < MOST_PATHS {
                self.path_values += 1;
                self.paths.entry(path.clone()).or_default().add(machine, value, self.options.sample)?;
                if let Value::Map(inner) = value {
                    self.paths(machine, inner, path, depth + 1)?;
                }
            } else {
                self.caps.insert("paths");
            }
            path.truncate(length);
        }
        Ok(())
    }

    fn finish(self, value: &Value, count: usize, scanned: usize) -> Value {
        let maps = self.maps;
        let whole = matches!(value, Value::Map(_));
        let of_rows = |column: Column| {
            let mut entries = column.entries();
            entries.push(("present", number(column.present())));
            entries.push(("pct", percent(column.present(), maps)));
            record(entries)
        };
        let mut entries = vec![("type", type_name(value).into())];
        if let Value::Map(map) = value {
            entries.push(("count", number(map.len())));
        } else {
            entries.push(("count", number(count)));
            entries.push(("scanned", number(scanned)));
            entries.push(("item_types", counts(self.item_types)));
        }
        if maps > 0 {
            entries.push(("key_types", counts(self.key_types)));
            let keys = self.keys.into_iter();
            entries.push((
                "keys",
                named(keys.map(|(key, column)| (key, if whole { record(column.entries()) } else { of_rows(column) }))),
            ));
        }
        if self.options.depth > 0 && maps > 0 {
            entries.push(("paths", named(self.paths.into_iter().map(|(path, column)| (path, of_rows(column))))));
        }
        if !self.caps.is_empty() {
            entries.push(("truncated", Value::Bool(true)));
            entries.push(("caps_hit", Value::list(self.caps.into_iter().map(Value::from))));
        }
        record(entries)
    }
}

/// Of a hundred, with one decimal.
fn percent(part: usize, whole: usize) -> Value {
    #[expect(clippy::cast_precision_loss, reason = "counts are small")]
    let share = part as f64 * 1_000.0 / whole.max(1) as f64;
    Value::Float(share.round() / 10.0)
}

fn record(entries: Vec<(&'static str, Value)>) -> Value {
    Value::map(entries.into_iter().map(|(key, value)| (Value::keyword(key), value)))
}

fn named(entries: impl Iterator<Item = (String, Value)>) -> Value {
    Value::map(entries.map(|(key, value)| (Value::from(key), value)))
}

fn counts(counts: BTreeMap<&'static str, usize>) -> Value {
    Value::map(counts.into_iter().map(|(name, count)| (Value::from(name), number(count))))
}

fn type_name(value: &Value) -> &'static str {
    match value.kind() {
        Kind::Nil => "nil",
        Kind::Bool => "boolean",
        Kind::Int => "integer",
        Kind::Float => "float",
        Kind::Keyword => "keyword",
        Kind::String => "string",
        Kind::List => "vector",
        Kind::Map => "map",
        Kind::Set => "set",
        Kind::Function => "function",
        Kind::Regex => "regex",
        Kind::Datetime | Kind::Date | Kind::Duration | Kind::Var | Kind::Symbol => "unknown",
    }
}
