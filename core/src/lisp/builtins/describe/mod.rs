//! `describe`: a summary of a value, in a map of bounded size.
//!
//! In: any value and the options `:paths`, `:depth` and `:sample`. Out: types, counts, ranges and examples. It must
//! never examine more than the caps below, and says so when it skips something.

mod column;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use column::{Column, LatestPosition};

use super::argument::length;
use super::position::number;
use super::{Arity, Builtin, Clojure};
use crate::lisp::EvalResult;
use crate::lisp::firewall::hides;
use crate::lisp::machine::Machine;
use crate::value::{Kind, Map, Value};

/// Items that are examined.
const MOST_ITEMS: usize = 1_000;
/// Keys that are described.
const MOST_KEYS: usize = 100;
/// Paths that are described.
const MOST_PATHS: usize = 300;
/// Values that are examined under paths.
const MOST_PATH_VALUES: usize = 10_000;

/// Levels of paths, and of nested lists under one path, that are examined.
const MOST_DEPTH: i64 = 5;

/// The rows of this file.
pub(super) const ROWS: &[Builtin] = &[Builtin::new("describe", Arity::between(1, 2), describe)
    .doc(
        &["(describe value)", "(describe value options)"],
        "A summary of a value: types, counts, keys, ranges and examples in a small map; options {:paths true :depth 3 :sample 2} add nested paths and bound the examples.",
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

/// The options of a call.
#[derive(Clone, Copy)]
struct Options {
    /// Levels of paths that are described; 0 = none.
    depth: usize,
    /// Examples per key and path.
    sample: usize,
}

impl Options {
    /// Reads the options; invalid and out-of-range values become the nearest valid ones.
    fn read(value: Option<&Value>) -> Self {
        let Some(Value::Map(map)) = value else { return Self::default() };
        let within = |name: &str, most: i64, usual: usize| match map.lookup(name) {
            Some(Value::Int(number)) => length((*number).clamp(1, most)),
            _ => usual,
        };
        let paths = map.lookup("paths").is_some_and(Value::is_truthy);
        Self { depth: if paths { within("depth", MOST_DEPTH, 1) } else { 0 }, sample: within("sample", 3, 3) }
    }
}

fn describe(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let options = Options::read(args.get(1));
    let value = &args[0];
    let (items, count): (Vec<&Value>, usize) = match value {
        Value::List(items) => (items.iter().take(MOST_ITEMS).collect(), items.len()),
        Value::Set(members) => (members.iter().take(MOST_ITEMS).collect(), members.len()),
        Value::Map(_) => (vec![value], 1),
        scalar => return alone(machine, scalar, options),
    };
    let mut survey = Profile { options, ..Profile::default() };
    if count > MOST_ITEMS {
        survey.caps.insert("max_items");
    }
    let records = !matches!(value, Value::Set(_));
    for (row, item) in items.iter().enumerate() {
        machine.tick()?;
        *survey.item_types.entry(type_name(item)).or_default() += 1;
        if let (Value::Map(map), true) = (item, records) {
            survey.maps += 1;
            survey.keys(machine, row, map)?;
            survey.paths(machine, row, map, &mut String::new(), 1)?;
        }
    }
    Ok(survey.finish(value, count, items.len()))
}

/// Describes a value without parts.
fn alone(machine: &mut Machine<'_>, value: &Value, options: Options) -> EvalResult {
    let mut column = Column::default();
    column.add(machine, 0, value, options.sample)?;
    let mut entries = column.entries(LatestPosition::First);
    if options.depth > 0 {
        entries.push(("paths", Map::default().into()));
    }
    entries.push(("type", type_name(value).into()));
    entries.push(("sample", column::example(machine, value)?));
    Ok(record(entries))
}

/// Statistics of a collection.
#[derive(Default)]
struct Profile {
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

impl Profile {
    fn keys(&mut self, machine: &mut Machine<'_>, row: usize, map: &Map) -> EvalResult<()> {
        let firewall = machine.world.firewall;
        for (key, value) in map.iter().filter(|(key, _)| !(firewall && hides(key))) {
            machine.tick()?;
            let name = column::label(key);
            if !self.keys.contains_key(&name) && self.keys.len() >= MOST_KEYS {
                self.caps.insert("max_keys");
                continue;
            }
            *self.key_types.entry(type_name(key)).or_default() += 1;
            self.keys.entry(name).or_default().add(machine, row, value, self.options.sample)?;
        }
        Ok(())
    }

    /// Describes the values under each path of keys, `depth` levels deep; items of lists belong to the list's path.
    fn paths(
        &mut self,
        machine: &mut Machine<'_>,
        row: usize,
        map: &Map,
        path: &mut String,
        depth: usize,
    ) -> EvalResult<()> {
        if depth > self.options.depth {
            return Ok(());
        }
        let firewall = machine.world.firewall;
        for (key, value) in map.iter().filter(|(key, _)| !(firewall && hides(key))) {
            machine.tick()?;
            if self.path_values >= MOST_PATH_VALUES {
                self.caps.insert("max_path_values");
                return Ok(());
            }
            let length = path.len();
            path.push_str(if depth > 1 { "." } else { "" });
            path.push_str(&column::label(key).replace('\\', "\\\\").replace('.', "\\."));
            if self.paths.contains_key(path.as_str()) || self.paths.len() < MOST_PATHS {
                self.path_values += 1;
                self.paths.entry(path.clone()).or_default().add(machine, row, value, self.options.sample)?;
                self.descend(machine, row, value, path, depth, MOST_DEPTH)?;
            } else {
                self.caps.insert("max_paths");
            }
            path.truncate(length);
        }
        Ok(())
    }

    /// Descends into the value of a path: into a map's keys, or into those of the maps in lists at most `lists` deep.
    fn descend(
        &mut self,
        machine: &mut Machine<'_>,
        row: usize,
        value: &Value,
        path: &mut String,
        depth: usize,
        lists: i64,
    ) -> EvalResult<()> {
        match value {
            Value::Map(inner) => self.paths(machine, row, inner, path, depth + 1),
            Value::List(items) if depth < self.options.depth && !items.is_empty() => {
                if lists == 0 {
                    self.caps.insert("max_depth");
                    return Ok(());
                }
                if items.len() > MOST_ITEMS {
                    self.caps.insert("max_items");
                }
                for item in items.iter().take(MOST_ITEMS) {
                    machine.tick()?;
                    self.descend(machine, row, item, path, depth, lists - 1)?;
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn finish(self, value: &Value, count: usize, scanned: usize) -> Value {
        let maps = self.maps;
        let whole = matches!(value, Value::Map(_));
        let of_rows = |column: &Column, latest: LatestPosition| {
            let mut entries = column.entries(latest);
            entries.push(("present", number(column.present())));
            entries.push(("pct", percent(column.present(), scanned)));
            record(entries)
        };
        let mut entries = vec![("type", type_name(value).into())];
        if let Value::Map(map) = value {
            entries.push(("count", number(map.len())));
        } else {
            let capped = matches!(value, Value::List(_)) && count > scanned;
            entries.push(("count", number(if capped { scanned } else { count })));
            if capped {
                entries.push(("count_capped", Value::Bool(true)));
            }
            entries.push(("scanned", number(scanned)));
            entries.push(("item_types", counts(self.item_types)));
        }
        if maps > 0 {
            entries.push(("key_types", counts(self.key_types)));
            let keys = self.keys.into_iter();
            entries.push((
                "keys",
                named(keys.map(|(key, column)| {
                    let latest = LatestPosition::First;
                    (key, if whole { record(column.entries(latest)) } else { of_rows(&column, latest) })
                })),
            ));
        }
        if self.options.depth > 0 {
            let described = self.paths.into_iter().map(|(path, column)| {
                let mut found = of_rows(&column, LatestPosition::Last);
                if let (Value::Map(found), true) = (&mut found, column.values() > column.present()) {
                    Arc::make_mut(found).insert(Value::keyword("value_count"), number(column.values()));
                }
                (path, found)
            });
            entries.push(("paths", named(described)));
        }
        if !self.caps.is_empty() {
            entries.push(("truncated", Value::Bool(true)));
            entries.push(("caps_hit", Value::list(self.caps.into_iter().map(Value::from))));
        }
        record(entries)
    }
}

/// A percentage with one decimal.
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

/// The type names of the reference: special floats have their own, and times are records.
fn type_name(value: &Value) -> &'static str {
    match value.kind() {
        Kind::Float if matches!(value, Value::Float(float) if float.is_nan()) => "nan",
        Kind::Float if matches!(value, Value::Float(float) if float.is_infinite()) => "infinity",
        Kind::Nil => "nil",
        Kind::Bool => "boolean",
        Kind::Int => "integer",
        Kind::Float => "float",
        Kind::Keyword => "keyword",
        Kind::String => "string",
        Kind::List => "vector",
        Kind::Set => "set",
        Kind::Function => "function",
        Kind::Map | Kind::Datetime | Kind::Date | Kind::Duration => "map",
        Kind::Regex | Kind::Var | Kind::Symbol => "unknown",
    }
}
