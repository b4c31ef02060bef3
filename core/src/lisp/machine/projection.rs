//! Projections: functions of one argument that only read it (its fields, comparisons, choices).
//!
//! In: the argument and the captures of a closure. Out: a reference to the result where it already exists, so that
//! builtins apply the function to items in place, without a frame and without reference counts. `None` means that the
//! function must be called. It must never have an effect that the call would not have.

use super::Comparison;
use crate::value::{Field, Value};

static NIL: Value = Value::Nil;
static TRUE: Value = Value::Bool(true);
static FALSE: Value = Value::Bool(false);

/// An expression over the argument and the captures.
pub(crate) enum Projection {
    /// The argument.
    Argument,
    Const(Value),
    Capture(u32),
    /// `(:word x)`
    Field(Field, Box<Projection>),
    /// `(:word x default)`
    FieldOr(Field, Box<[Projection; 2]>),
    /// `(get x :word)`
    Get(Field, Box<Projection>),
    Compare(Comparison, Box<[Projection; 2]>),
    Not(Box<Projection>),
    IsNil(Box<Projection>),
    If(Box<[Projection; 3]>),
    And(Box<[Projection]>),
    Or(Box<[Projection]>),
}

impl Projection {
    /// The result for this argument; `None` if the function must be called. Recurses as deep as the program's text.
    pub(crate) fn apply<'a>(&'a self, argument: &'a Value, captures: &'a [Value]) -> Option<&'a Value> {
        let bool = |holds| if holds { &TRUE } else { &FALSE };
        Some(match self {
            Self::Argument => argument,
            Self::Const(value) => value,
            Self::Capture(at) => captures.get(*at as usize)?,
            Self::Field(field, of) => match of.apply(argument, captures)? {
                Value::Map(map) => field.of(map).unwrap_or(&NIL),
                _ => &NIL,
            },
            Self::FieldOr(field, parts) => {
                let [of, default] = &**parts;
                match of.apply(argument, captures)? {
                    Value::Map(map) if let Some(found) = field.of(map) => found,
                    _ => default.apply(argument, captures)?,
                }
            }
            Self::Get(field, of) => match of.apply(argument, captures)? {
                Value::Map(map) => field.of(map).unwrap_or(&NIL),
                Value::Nil => &NIL,
                _ => return None,
            },
            Self::Compare(when, parts) => {
                let [a, b] = &**parts;
                bool(when.quick(a.apply(argument, captures)?, b.apply(argument, captures)?)?)
            }
            Self::Not(of) => bool(!of.apply(argument, captures)?.is_truthy()),
            Self::IsNil(of) => bool(of.apply(argument, captures)?.is_nil()),
            Self::If(parts) => {
                let [test, then, other] = &**parts;
                let holds = test.apply(argument, captures)?.is_truthy();
                return if holds { then } else { other }.apply(argument, captures);
            }
            Self::And(parts) => {
                let mut last = &TRUE;
                for part in parts {
                    last = part.apply(argument, captures)?;
                    if !last.is_truthy() {
                        break;
                    }
                }
                last
            }
            Self::Or(parts) => {
                let mut last = &NIL;
                for part in parts {
                    last = part.apply(argument, captures)?;
                    if last.is_truthy() {
                        break;
                    }
                }
                last
            }
        })
    }
}
