//! Strict equality, order and hash of values: the rule for map keys, set members and canonical printing.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

use super::Value;

impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Value {}

impl PartialOrd for Value {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Place of a kind in the total order (language contract §4.3).
fn rank(value: &Value) -> u8 {
    match value {
        Value::Int(_) | Value::Big(_) | Value::Float(_) => 0,
        Value::Bool(false) => 1,
        Value::Nil => 2,
        Value::Bool(true) => 3,
        Value::Keyword(_) => 5,
        Value::Set(_) => 6,
        Value::Map(_) => 7,
        Value::Instant(_) => 8,
        Value::List(_) => 9,
        Value::Str(_) => 10,
    }
}

impl Ord for Value {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Int(a), Self::Int(b)) => a.cmp(b),
            (Self::Str(a), Self::Str(b)) => a.cmp(b),
            (Self::Keyword(a), Self::Keyword(b)) => {
                if a == b {
                    Ordering::Equal
                } else {
                    a.name().cmp(b.name())
                }
            }
            (Self::List(a), Self::List(b)) => a.cmp(b),
            (Self::Set(a), Self::Set(b)) => a.len().cmp(&b.len()).then_with(|| a.cmp(b)),
            (Self::Map(a), Self::Map(b)) => a
                .len()
                .cmp(&b.len())
                .then_with(|| a.iter().map(|(k, _)| k).cmp(b.iter().map(|(k, _)| k)))
                .then_with(|| a.iter().map(|(_, v)| v).cmp(b.iter().map(|(_, v)| v))),
            (Self::Instant(a), Self::Instant(b)) => a.cmp(b),
            _ => rank(self).cmp(&rank(other)).then_with(|| numbers(self, other)),
        }
    }
}

/// Numbers by value; on a tie integers before floats. Anything else of one rank is equal.
fn numbers(a: &Value, b: &Value) -> Ordering {
    let float = |value: &Value| match value {
        Value::Int(int) => {
            #[expect(
                clippy::cast_precision_loss,
                reason = "only decides the order of unequal magnitudes; ties are broken by kind"
            )]
            let float = *int as f64;
            float
        }
        Value::Float(float) => *float,
        Value::Big(big) => num_traits::ToPrimitive::to_f64(&**big).unwrap_or(f64::NAN),
        _ => 0.0,
    };
    match (a, b) {
        (Value::Big(a), Value::Big(b)) => a.cmp(b),
        _ => float(a).total_cmp(&float(b)).then_with(|| kind(a).cmp(&kind(b))),
    }
}

fn kind(value: &Value) -> u8 {
    match value {
        Value::Int(_) | Value::Big(_) => 0,
        _ => 1,
    }
}

impl Hash for Value {
    fn hash<H: Hasher>(&self, state: &mut H) {
        rank(self).hash(state);
        match self {
            Self::Nil | Self::Bool(_) => {}
            Self::Int(value) => value.hash(state),
            Self::Big(value) => value.hash(state),
            Self::Float(value) => value.to_bits().hash(state),
            Self::Keyword(word) => word.hash(state),
            Self::Str(text) => text.hash(state),
            Self::List(items) | Self::Set(items) => items.hash(state),
            Self::Map(map) => {
                for entry in map.iter() {
                    entry.hash(state);
                }
            }
            Self::Instant(at) => at.hash(state),
        }
    }
}
