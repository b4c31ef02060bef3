//! JSON for programs. Invalid input gives nil, never an error.

use std::fmt::Write as _;

use super::strings::pass;
use super::text_writer::TextWriter;
use super::{Arity, Builtin, Clojure, Cost};
use crate::limits::JSON_DEPTH;
use crate::lisp::EvalResult;
use crate::lisp::machine::{Callable, Callee, Machine};
use crate::value::json::{parse_value, write_string};
use crate::value::number::compact;
use crate::value::{Map, Value};

/// The rows of this file.
pub(super) const ROWS: &[Builtin] = &[
    Builtin::new("json/parse-string", Arity::between(1, 3), parse_string)
        .takes_in_reference(Arity::exactly(1))
        .doc(
            &["(json/parse-string text)", "(json/parse-string text true)", "(json/parse-string text key-fn)"],
            "The value of a JSON text, maps with string keys; with true, keyword keys, with a function, its results as keys; nil for invalid JSON.",
        )
        .examples(&[
            ("(json/parse-string \"{\\\"a\\\":[1,2.5,null]}\")", "{\"a\" [1 2.5 nil]}"),
            ("(json/parse-string \"bad\")", "nil"),
        ])
        .clojure(Clojure::Extension),
    Builtin::new("json/parse-lines", Arity::exactly(1), parse_lines)
        .doc(
            &["(json/parse-lines text)"],
            "The values of the JSON texts on each line; blank lines are skipped, an invalid line is nil.",
        )
        .examples(&[
            ("(json/parse-lines \"{\\\"a\\\":1}\\n\\n[2]\\nbad\")", "[{\"a\" 1} [2] nil]"),
            ("(json/parse-lines nil)", "nil"),
        ])
        .clojure(Clojure::Extension),
    Builtin::new("json/read-str", Arity::from(1), read_str)
        .doc(&["(json/read-str text :key-fn keyword)"], "The same as json/parse-string, with the function of keys as an option.")
        .examples(&[("(json/read-str \"{\\\"a\\\":1}\" :key-fn keyword)", "{:a 1}")])
        .clojure(Clojure::Named("clojure.data.json/read-str"))
        .current(),
    Builtin::new("json/generate-string", Arity::from(1), generate_string)
        .takes_in_reference(Arity::exactly(1))
        .doc(
            &["(json/generate-string value)"],
            "The value as compact JSON text, keywords as strings, sets as arrays; nil for values that JSON lacks: dates, functions, infinities.",
        )
        .examples(&[
            ("(json/generate-string {:a [1 nil true]})", "\"{\\\"a\\\":[1,null,true]}\""),
            ("(json/generate-string {1 \"x\"})", "\"{\\\"1\\\":\\\"x\\\"}\""),
            ("(json/generate-string inc)", "nil"),
        ])
        .cost(Cost::Output)
        .clojure(Clojure::Extension),
];

fn parse(machine: &mut Machine<'_>, text: &str) -> EvalResult {
    pass(machine, text)?;
    Ok(parse_value(text, |work| machine.ticks(work))?.unwrap_or_default())
}

fn parse_string(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let Some(text) = args[0].as_str() else { return Ok(Value::Nil) };
    let value = parse(machine, text)?;
    match args.get(1) {
        None | Some(Value::Nil | Value::Bool(false)) => Ok(value),
        Some(Value::Bool(true)) => {
            let keyword = Callable::named(super::texts::ROWS, "keyword");
            with_keys(machine, &keyword, value)
        }
        Some(function) => with_keys(machine, function, value),
    }
}

/// `(json/read-str text :key-fn f)`
fn read_str(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let mut options = args[1..].chunks_exact(2);
    let function = options.find_map(|pair| match &pair[0] {
        Value::Keyword(word) if matches!(word.name(), "key-fn" | "keywordize-keys") => Some(pair[1].clone()),
        _ => None,
    });
    parse_string(machine, &mut [std::mem::take(&mut args[0]), function.unwrap_or_default()])
}

/// The value with the keys of all maps replaced by the results of a function.
fn with_keys(machine: &mut Machine<'_>, function: &Value, value: Value) -> EvalResult {
    Callee::of(machine, 2, function)?;
    let change = Callable::bound("key-fn", vec![function.clone()], |machine, parts, args| {
        let Value::Map(map) = &args[0] else { return Ok(std::mem::take(&mut args[0])) };
        let callee = Callee::of(machine, 2, &parts[0])?;
        let mut changed = Map::default();
        for (key, value) in &**map {
            machine.ticks(2)?;
            let key = callee.call1(machine, key.clone())?;
            changed.insert(key, value.clone());
        }
        Ok(changed.into())
    });
    let walk = Callable::named(super::walk::ROWS, "postwalk");
    machine.call(&walk, &mut [change, value])
}

fn parse_lines(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let Some(text) = args[0].as_str() else { return Ok(Value::Nil) };
    let mut values = Vec::new();
    for line in text.split(['\n', '\r']) {
        pass(machine, line)?;
        if !line.trim().is_empty() {
            values.push(parse(machine, line)?);
        }
    }
    Ok(values.into())
}

fn generate_string(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let mut generator = Generator { machine, out: TextWriter::default(), leaf: String::new() };
    Ok(if generator.value(&args[0], 0)? { generator.out.finish() } else { Value::Nil })
}

struct Generator<'m, 'h> {
    machine: &'m mut Machine<'h>,
    out: TextWriter,
    /// Buffer for the scalar being written.
    leaf: String,
}

impl Generator<'_, '_> {
    /// Writes a value; false if JSON cannot represent it or it is nested too deeply.
    fn value(&mut self, value: &Value, depth: u64) -> EvalResult<bool> {
        self.leaf.clear();
        match value {
            Value::Nil => self.leaf.push_str("null"),
            Value::Bool(_) | Value::Int(_) | Value::Big(_) => _ = write!(self.leaf, "{value}"),
            Value::Float(number) if number.is_finite() => self.leaf.push_str(&compact(*number)),
            Value::Str(text) => write_string(&mut self.leaf, text),
            Value::Keyword(word) => write_string(&mut self.leaf, word.name()),
            Value::List(items) => return self.items(items.iter(), depth + 1),
            Value::Set(members) => return self.items(members.iter(), depth + 1),
            Value::Map(map) => return self.object(map, depth + 1),
            _ => return Ok(false),
        }
        self.flush()?;
        Ok(true)
    }

    fn flush(&mut self) -> EvalResult<()> {
        self.out.push(self.machine, &self.leaf)
    }

    fn push(&mut self, text: &str) -> EvalResult<()> {
        self.out.push(self.machine, text)
    }

    fn items<'v>(&mut self, items: impl Iterator<Item = &'v Value>, depth: u64) -> EvalResult<bool> {
        if depth > JSON_DEPTH.max {
            return Ok(false);
        }
        self.push("[")?;
        for (place, item) in items.enumerate() {
            if place > 0 {
                self.push(",")?;
            }
            if !self.value(item, depth)? {
                return Ok(false);
            }
        }
        self.push("]")?;
        Ok(true)
    }

    fn object(&mut self, map: &Map, depth: u64) -> EvalResult<bool> {
        if depth > JSON_DEPTH.max {
            return Ok(false);
        }
        self.push("{")?;
        let mut first = true;
        for (key, value) in map {
            self.leaf.clear();
            match key {
                Value::Str(text) => write_string(&mut self.leaf, text),
                // A string key of the same name wins, as at the boundary.
                Value::Keyword(word) if map.get_str(word.name()).is_some() => continue,
                Value::Keyword(word) => write_string(&mut self.leaf, word.name()),
                Value::Int(_) | Value::Big(_) => _ = write!(self.leaf, "\"{key}\""),
                _ => return Ok(false),
            }
            self.out.push(self.machine, if first { "" } else { "," })?;
            first = false;
            self.flush()?;
            self.push(":")?;
            if !self.value(value, depth)? {
                return Ok(false);
            }
        }
        self.push("}")?;
        Ok(true)
    }
}
