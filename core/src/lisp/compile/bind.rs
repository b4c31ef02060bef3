//! Destructuring: binds the parts of values to slots.

#![expect(clippy::inline_always, reason = "measured: a leaf must not cost a call")]

use std::sync::Arc;

use super::Compiler;
use super::expression::{Expression, copy};
use crate::lisp::ir::{Entry, Pattern};
use crate::lisp::machine::{CodePosition, CurrentClosure, Flow, Frame, Machine};
use crate::lisp::{Error, EvalResult, Halt, described, graphemes};
use crate::reasons::Reason;
use crate::text::Span;
use crate::value::{Field, List, Map, Value};

/// A compiled pattern.
pub(super) enum Bind {
    Slot(u32),
    Ignore,
    List {
        items: Box<[Bind]>,
        rest: Option<Box<Bind>>,
        whole: Option<u32>,
        position: CodePosition,
    },
    Map {
        parts: Box<[Part]>,
        whole: Option<u32>,
        position: CodePosition,
    },
    /// A map from the remaining arguments as pairs, or a single map.
    Pairs {
        map: Box<Bind>,
        position: CodePosition,
    },
}

/// One entry of a map pattern.
pub(super) struct Part {
    key: Key,
    bind: Bind,
    default: Option<Expression>,
}

/// The key of an entry.
enum Key {
    Field(Field),
    Other(Value),
}

impl Bind {
    /// The slot, if the pattern is only a slot.
    pub(super) fn slot(&self) -> Option<u32> {
        if let Self::Slot(slot) = self { Some(*slot) } else { None }
    }

    /// Evaluates an expression and binds its value.
    #[inline(always)]
    pub(super) fn bind_to(
        &self,
        value: &Expression,
        machine: &mut Machine<'_>,
        slots: &mut [Value],
        closed: CurrentClosure<'_>,
    ) -> EvalResult<()> {
        let mut held = Frame::<1>::new();
        match (self, value.give(machine, slots, closed, &mut held[0])) {
            (_, Flow::Halt(halt)) => return Err(halt),
            (Self::Slot(slot), Flow::Int(int)) => slots[*slot as usize].put_int(int),
            (Self::Slot(slot), flow) => slots[*slot as usize].put(flow.value(&mut held[0])),
            (_, flow) => self.take_apart(machine, slots, closed, flow.value(&mut held[0]))?,
        }
        Ok(())
    }

    #[inline(always)]
    pub(super) fn bind(
        &self,
        machine: &mut Machine<'_>,
        slots: &mut [Value],
        closed: CurrentClosure<'_>,
        value: Value,
    ) -> EvalResult<()> {
        match self {
            Self::Slot(slot) => {
                slots[*slot as usize].put(value);
                Ok(())
            }
            _ => self.take_apart(machine, slots, closed, value),
        }
    }

    fn take_apart(
        &self,
        machine: &mut Machine<'_>,
        slots: &mut [Value],
        closed: CurrentClosure<'_>,
        value: Value,
    ) -> EvalResult<()> {
        match self {
            Self::Slot(slot) => slots[*slot as usize].put(value),
            Self::Ignore => {}
            Self::List { items, rest, whole, position } => {
                if let Some(slot) = whole {
                    slots[*slot as usize] = value.clone();
                }
                let list = match value {
                    Value::Nil => Arc::default(),
                    Value::List(list) => list,
                    Value::Str(text) if !machine.is_reference() => characters(machine, &text)?,
                    other => return Err(mismatch(machine, "a list", &other, position)),
                };
                bind_items(items, rest.as_deref(), list, machine, slots, closed)?;
            }
            Self::Map { parts, whole, position } => {
                if let Some(slot) = whole {
                    slots[*slot as usize] = value.clone();
                }
                let map = match value {
                    Value::Nil => Arc::default(),
                    Value::Map(map) => map,
                    other => return Err(mismatch(machine, "a map", &other, position)),
                };
                for part in parts {
                    let found = part.key.find(&map);
                    let value = match (found, &part.default) {
                        (Some(value), _) => value,
                        (None, Some(default)) => default.eval(machine, slots, closed)?,
                        (None, None) => Value::Nil,
                    };
                    part.bind.bind(machine, slots, closed, value)?;
                }
            }
            Self::Pairs { map, position } => {
                let value = pairs(value).map_err(|halt| machine.with_span(halt, position))?;
                map.bind(machine, slots, closed, value)?;
            }
        }
        Ok(())
    }
}

fn bind_items(
    items: &[Bind],
    rest: Option<&Bind>,
    mut list: Arc<List>,
    machine: &mut Machine<'_>,
    slots: &mut [Value],
    closed: CurrentClosure<'_>,
) -> EvalResult<()> {
    for (at, bind) in items.iter().enumerate() {
        // A list with one owner is moved out of.
        let value = match Arc::get_mut(&mut list) {
            Some(list) => list.get_mut(at).map(std::mem::take),
            None => list.get(at).map(copy),
        };
        bind.bind(machine, slots, closed, value.unwrap_or_default())?;
    }
    if let Some(bind) = rest {
        let skip = items.len().min(list.len());
        machine.ticks(list.len() - skip)?;
        let left: Vec<Value> = match Arc::get_mut(&mut list) {
            Some(list) => list.grown().drain(skip..).collect(),
            None => list.iter().skip(skip).cloned().collect(),
        };
        bind.bind(machine, slots, closed, Value::from(left))?;
    }
    Ok(())
}

impl Key {
    #[inline]
    fn find(&self, map: &Map) -> Option<Value> {
        match self {
            Self::Field(field) => field.of(map),
            Self::Other(key) => map.lookup_key(key),
        }
        .map(copy)
    }
}

fn pairs(rest: Value) -> EvalResult {
    let Value::List(list) = &rest else { return Ok(rest) };
    match &***list {
        [] => Ok(Map::default().into()),
        [map @ Value::Map(_)] => Ok(map.clone()),
        items if items.len() % 2 == 0 => {
            let mut map = Map::default();
            for pair in items.chunks_exact(2) {
                map.insert(pair[0].clone(), pair[1].clone());
            }
            Ok(Value::from(map))
        }
        items => {
            let problem = format!("keys and values must come in pairs, got {} arguments", items.len());
            Error::new(Reason::DestructureError, problem).hint("Write (f :key value …) or (f {:key value})").halt()
        }
    }
}

/// The items of a string.
#[cold]
fn characters(machine: &mut Machine<'_>, text: &str) -> EvalResult<Arc<List>> {
    machine.ticks(text.len())?;
    machine.reserve(text.len().saturating_mul(size_of::<Value>()))?;
    match Value::from(graphemes(text)) {
        Value::List(list) => Ok(list),
        _ => Ok(Arc::default()),
    }
}

#[cold]
fn mismatch(machine: &Machine<'_>, expected: &str, got: &Value, position: &CodePosition) -> Box<Halt> {
    let problem = format!("the pattern needs {expected} or nil, got {}", described(got));
    machine.with_span(Error::new(Reason::DestructureError, problem).into(), position)
}

impl Compiler<'_> {
    /// The pattern of a parameter; that of the rest may be a map, for named arguments.
    pub(super) fn parameter(&self, pattern: &Pattern, rest: bool, span: Span) -> Bind {
        match pattern {
            Pattern::Map { .. } if rest => {
                Bind::Pairs { map: Box::new(self.bind(pattern)), position: self.position(span) }
            }
            _ => self.bind(pattern),
        }
    }

    pub(super) fn bind(&self, pattern: &Pattern) -> Bind {
        match pattern {
            Pattern::Slot(slot) => Bind::Slot(*slot),
            Pattern::Ignore => Bind::Ignore,
            Pattern::Vector { items, rest, whole, span } => Bind::List {
                items: items.iter().map(|item| self.bind(item)).collect(),
                rest: rest.as_ref().map(|rest| Box::new(self.bind(rest))),
                whole: *whole,
                position: self.position(*span),
            },
            Pattern::Map { entries, whole, span } => Bind::Map {
                parts: entries.iter().map(|entry| self.entry(entry)).collect(),
                whole: *whole,
                position: self.position(*span),
            },
        }
    }

    fn entry(&self, entry: &Entry) -> Part {
        Part {
            key: match &entry.key {
                Value::Keyword(word) => Key::Field(Field::new(*word)),
                other => Key::Other(other.clone()),
            },
            bind: self.bind(&entry.pattern),
            default: entry.default.as_ref().map(|default| self.ex(default)),
        }
    }
}
