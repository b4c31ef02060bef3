//! Comparisons of two values that do not call a builtin.

#![expect(clippy::inline_always, reason = "measured: comparing two integers must not cost a call")]

use std::cmp::Ordering;

use crate::value::Value;

/// The orderings for which a comparison is true: bit 0 less, bit 1 equal, bit 2 greater.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Comparison(u8);

impl Comparison {
    pub(crate) const LESS: Self = Self(0b001);
    pub(crate) const LESS_OR_EQUAL: Self = Self(0b011);
    pub(crate) const EQUAL: Self = Self(0b010);
    pub(crate) const DIFFERENT: Self = Self(0b101);
    pub(crate) const GREATER: Self = Self(0b100);
    pub(crate) const GREATER_OR_EQUAL: Self = Self(0b110);

    /// The comparison of this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "<" => Self::LESS,
            "<=" => Self::LESS_OR_EQUAL,
            ">" => Self::GREATER,
            ">=" => Self::GREATER_OR_EQUAL,
            "=" | "==" => Self::EQUAL,
            "not=" => Self::DIFFERENT,
            _ => return None,
        })
    }

    #[inline(always)]
    pub(crate) fn holds(self, ordering: Ordering) -> bool {
        let bit = match ordering {
            Ordering::Less => 1,
            Ordering::Equal => 2,
            Ordering::Greater => 4,
        };
        self.0 & bit != 0
    }

    /// The comparison with the sides swapped.
    pub(crate) fn flipped(self) -> Self {
        Self(self.0 & 0b010 | (self.0 & 0b001) << 2 | (self.0 & 0b100) >> 2)
    }

    /// Compares values for which all builtins agree: integers, floats, and the equality of names. `None` for others.
    #[inline(always)]
    pub(crate) fn quick(self, a: &Value, b: &Value) -> Option<bool> {
        match (a, b) {
            (Value::Int(a), Value::Int(b)) => Some(self.holds(a.cmp(b))),
            (Value::Float(a), Value::Float(b)) => match a.partial_cmp(b) {
                Some(ordering) => Some(self.holds(ordering)),
                // Every comparison with NaN is false, except `not=`.
                None => Some(self == Self::DIFFERENT),
            },
            (Value::Keyword(a), Value::Keyword(b)) if self.is_equality() => Some((a == b) == (self == Self::EQUAL)),
            (Value::Str(a), Value::Str(b)) if self.is_equality() => Some((a == b) == (self == Self::EQUAL)),
            (Value::Nil, other) | (other, Value::Nil) if self.is_equality() => {
                Some(other.is_nil() == (self == Self::EQUAL))
            }
            _ => None,
        }
    }

    pub(crate) fn is_equality(self) -> bool {
        self == Self::EQUAL || self == Self::DIFFERENT
    }
}
