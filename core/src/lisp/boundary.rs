//! Values that leave a program: results without keywords, floats with few decimals, and arguments of tools.
//!
//! In: values of any depth, with shared parts. Out: values that share unchanged parts and process each shared part
//! once. It must never recurse, and never intern a name.

use std::collections::HashMap;

use super::machine::{Callable, Machine};
use super::{Error, EvalResult, described};
use crate::reasons::Reason;
use crate::value::number::decimals;
use crate::value::{Map, Parts, Value, address, holders};

/// The external form of a value: keywords, also as keys, become strings; everything else is unchanged. Returns a
/// warning for each two keys of a map that became equal; the entry with the string key wins.
pub fn externalize(value: &Value) -> (Value, Vec<String>) {
    let mut conversion = Names { warnings: Vec::new() };
    let value = convert(value, &mut conversion).unwrap_or_default();
    (value, conversion.warnings)
}

/// Rounds floats to this many decimals, halves away from zero, in lists and as values of maps. Keys and sets are
/// unchanged: rounding could make two of them equal.
pub fn rounded(value: &Value, places: u32) -> Value {
    convert(value, &mut Decimals(places)).unwrap_or_default()
}

/// Converts the arguments of a tool call to a map with string keys in which `-` is `_`, at every depth: keywords become
/// strings, sets sorted lists, dates and datetimes ISO 8601 text, durations milliseconds. Returns a warning for each
/// two keys that became equal; the entry with the string key wins.
///
/// `invalid_tool_args` for anything but a map, and for functions, regexes, vars and symbols inside. Infinities and NaN
/// pass: a tool that needs JSON must reject them itself.
pub fn tool_args(machine: &mut Machine<'_>, value: &Value) -> EvalResult<(Value, Vec<String>)> {
    if !matches!(value, Value::Map(_)) {
        let problem = format!("a tool takes one map of named arguments, got {}", described(value));
        return Error::new(Reason::InvalidToolArgs, problem).halt();
    }
    let mut conversion = Arguments { machine, warnings: Vec::new() };
    let value = convert(value, &mut conversion)?;
    Ok((value, conversion.warnings))
}

/// The value with the contents of cells in their place. Fails with `runtime_error` for a cell that contains itself.
pub(crate) fn without_cells(value: &Value) -> EvalResult {
    convert(value, &mut Contents { known: HashMap::new(), depth: 0 })
}

/// Cells inside of cells up to this depth are replaced.
const CELL_NESTING: u32 = 64;

/// Replaces cells by their contents.
struct Contents {
    /// The contents of cells that have been replaced; `None` while one is being replaced.
    known: HashMap<u64, Option<Value>>,
    /// Number of cells around the current value.
    depth: u32,
}

impl Conversion for Contents {
    fn enters(&self, _: &Value) -> bool {
        true
    }

    fn scalar(&mut self, value: &Value) -> EvalResult<Option<Value>> {
        let Some(Callable::Cell(cell)) = Callable::of_value(value) else { return Ok(None) };
        match self.known.get(&cell.number) {
            Some(Some(known)) => return Ok(Some(known.clone())),
            Some(None) => return circular(),
            None if self.depth >= CELL_NESTING => return circular(),
            None => {}
        }
        self.known.insert(cell.number, None);
        self.depth += 1;
        let content = convert(&cell.content().unwrap_or_default(), self)?;
        self.depth -= 1;
        self.known.insert(cell.number, Some(content.clone()));
        Ok(Some(content))
    }

    fn container(&mut self, _: &Value, _: &mut Vec<Value>) -> EvalResult<Option<Value>> {
        Ok(None)
    }
}

#[cold]
fn circular<T>() -> EvalResult<T> {
    Error::new(Reason::RuntimeError, "an atom that contains itself cannot leave the program")
        .hint("Return a part of it: (:key @a)")
        .halt()
}

/// A conversion of values, applied from the innermost parts outwards.
trait Conversion {
    /// True if the parts of this container are converted. Any other container is converted like a scalar.
    fn enters(&self, container: &Value) -> bool;

    /// Converts a value without parts; `None` = unchanged.
    fn scalar(&mut self, value: &Value) -> EvalResult<Option<Value>>;

    /// Converts a container, given its converted parts: items, or alternating keys and values. `None` = unchanged
    /// unless its parts changed.
    fn container(&mut self, source: &Value, parts: &mut Vec<Value>) -> EvalResult<Option<Value>>;
}

/// A container under conversion.
struct Frame<'v> {
    source: &'v Value,
    parts: Parts<'v>,
    done: Vec<Value>,
    changed: bool,
}

fn convert(root: &Value, conversion: &mut impl Conversion) -> EvalResult {
    let mut frames: Vec<Frame<'_>> = Vec::new();
    let mut shared: HashMap<usize, (Value, bool)> = HashMap::new();
    let mut next = Some(root);
    loop {
        let done = match next.take() {
            Some(value) if value.is_container() && conversion.enters(value) => {
                let known = shared.get(&address(value)).cloned();
                if known.is_none() {
                    let frame = Frame { source: value, parts: Parts::of(value), done: Vec::new(), changed: false };
                    frames.push(frame);
                }
                known
            }
            Some(value) => Some(match conversion.scalar(value)? {
                Some(new) => (new, true),
                None => (value.clone(), false),
            }),
            None => None,
        };
        let Some(frame) = frames.last_mut() else { return Ok(done.map(|(value, _)| value).unwrap_or_default()) };
        if let Some((value, changed)) = done {
            frame.done.push(value);
            frame.changed |= changed;
        }
        next = frame.parts.next();
        if next.is_some() {
            continue;
        }
        let Some(mut frame) = frames.pop() else { continue };
        let built = match conversion.container(frame.source, &mut frame.done)? {
            Some(new) => (new, true),
            None if frame.changed => (rebuilt(frame.source, frame.done), true),
            None => (frame.source.clone(), false),
        };
        if holders(frame.source) > 1 {
            shared.insert(address(frame.source), built.clone());
        }
        match frames.last_mut() {
            Some(outer) => {
                outer.done.push(built.0);
                outer.changed |= built.1;
            }
            None => return Ok(built.0),
        }
    }
}

/// A container of the same kind as `source` with other parts.
fn rebuilt(source: &Value, parts: Vec<Value>) -> Value {
    match source {
        Value::Set(_) => Value::set(parts),
        Value::Map(_) => Value::map(pairs(parts)),
        _ => Value::from(parts),
    }
}

/// Alternating keys and values as entries.
fn pairs(parts: Vec<Value>) -> impl Iterator<Item = (Value, Value)> {
    let mut parts = parts.into_iter();
    std::iter::from_fn(move || Some((parts.next()?, parts.next()?)))
}

struct Names {
    warnings: Vec<String>,
}

impl Conversion for Names {
    fn enters(&self, _: &Value) -> bool {
        true
    }

    fn scalar(&mut self, value: &Value) -> EvalResult<Option<Value>> {
        Ok(match value {
            Value::Keyword(word) => Some(Value::str(word.name())),
            _ => None,
        })
    }

    fn container(&mut self, source: &Value, parts: &mut Vec<Value>) -> EvalResult<Option<Value>> {
        let Value::Map(map) = source else { return Ok(None) };
        let clashes = map.keys().any(|key| matches!(key, Value::Keyword(word) if map.get_str(word.name()).is_some()));
        Ok(clashes.then(|| merged(map, std::mem::take(parts), &mut self.warnings)))
    }
}

struct Decimals(u32);

impl Conversion for Decimals {
    fn enters(&self, container: &Value) -> bool {
        !matches!(container, Value::Set(_))
    }

    fn scalar(&mut self, value: &Value) -> EvalResult<Option<Value>> {
        let Value::Float(float) = value else { return Ok(None) };
        let rounded = decimals(*float, self.0);
        Ok((rounded.to_bits() != float.to_bits()).then_some(Value::Float(rounded)))
    }

    fn container(&mut self, source: &Value, parts: &mut Vec<Value>) -> EvalResult<Option<Value>> {
        // Keys were rounded too; restores them.
        if let Value::Map(map) = source {
            for (place, key) in map.keys().enumerate() {
                parts[2 * place] = key.clone();
            }
        }
        Ok(None)
    }
}

struct Arguments<'m, 'h> {
    machine: &'m mut Machine<'h>,
    warnings: Vec<String>,
}

impl Conversion for Arguments<'_, '_> {
    fn enters(&self, _: &Value) -> bool {
        true
    }

    fn scalar(&mut self, value: &Value) -> EvalResult<Option<Value>> {
        self.machine.tick()?;
        Ok(match value {
            Value::Keyword(word) => Some(Value::str(word.name())),
            Value::Instant(at) => Some(Value::str(at.to_string())),
            Value::Date(day) => Some(Value::str(day.to_string())),
            Value::Duration(span) => Some(Value::Int(span.0)),
            Value::Function(_) | Value::Regex(_) | Value::Var(_) | Value::Symbol(_) => {
                let problem = format!("{} cannot be passed to a tool", described(value));
                return Error::new(Reason::InvalidToolArgs, problem).hint("Pass data: call the function first").halt();
            }
            _ => None,
        })
    }

    fn container(&mut self, source: &Value, parts: &mut Vec<Value>) -> EvalResult<Option<Value>> {
        Ok(match source {
            Value::Set(_) => Some(Value::from(std::mem::take(parts))),
            Value::Map(map) => {
                for key in parts.iter_mut().step_by(2) {
                    *key = argument_name(key);
                }
                Some(merged(map, std::mem::take(parts), &mut self.warnings))
            }
            _ => None,
        })
    }
}

/// The argument name for a key in which keywords have become strings.
fn argument_name(key: &Value) -> Value {
    match key {
        Value::Str(name) if !name.contains('-') => key.clone(),
        Value::Str(name) => Value::str(name.replace('-', "_")),
        other => Value::str(other.to_string()),
    }
}

/// The map of converted keys and values. Of keys that became equal, the one whose name was a string wins, then any
/// other string, then the first.
fn merged(source: &Map, parts: Vec<Value>, warnings: &mut Vec<String>) -> Value {
    let mut ranks: HashMap<Value, u8> = HashMap::new();
    let mut map = Map::default();
    for (old, (key, value)) in source.keys().zip(pairs(parts)) {
        let rank = match old {
            _ if *old == key => 2,
            Value::Str(_) => 1,
            _ => 0,
        };
        match ranks.get(&key) {
            None => {
                ranks.insert(key.clone(), rank);
                map.insert(key, value);
            }
            Some(best) => {
                warnings.push(format!(
                    "two keys of a map have the same JSON name: {key}. Only the entry with the string key would be kept"
                ));
                if rank > *best {
                    ranks.insert(key.clone(), rank);
                    map.insert(key, value);
                }
            }
        }
    }
    Value::from(map)
}

#[cfg(test)]
mod tests;
