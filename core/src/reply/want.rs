//! What the outer shape of an answer should be, as far as it helps to find it. In: a signature's type. Out: [`Want`].
//!
//! This only steers the search; whether a value fits is the caller's check.

use crate::signature::Type;

/// The outer shape that is expected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Want {
    /// An object.
    Object,
    /// An array; it may also come as an object with `items`.
    List,
    /// A single value; it may also come as an object with one member.
    Scalar(Scalar),
    /// Anything.
    Any,
}

/// The kind of a single value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scalar {
    /// A string.
    String,
    /// A number.
    Number,
    /// true or false.
    Bool,
    /// One of these words; a reply that is nothing but the word counts as the string.
    Words(Vec<String>),
}

impl Want {
    /// The outer shape of a signature's output type.
    pub fn of(output: &Type) -> Self {
        match output.base() {
            // `null` is an answer too.
            Type::Record { .. } | Type::Map | Type::List(_) if output.is_optional() => Self::Any,
            Type::Record { .. } | Type::Map => Self::Object,
            Type::List(_) => Self::List,
            Type::Int | Type::Float | Type::Number => Self::Scalar(Scalar::Number),
            Type::Bool => Self::Scalar(Scalar::Bool),
            Type::Enum(words) => Self::Scalar(Scalar::Words(words.clone())),
            Type::String | Type::Keyword | Type::Datetime => Self::Scalar(Scalar::String),
            Type::Any | Type::Optional(_) | Type::Narrowed { .. } => Self::Any,
        }
    }

    /// May the answer be a single value without brackets?
    pub(super) fn admits_scalar(&self) -> bool {
        matches!(self, Self::Scalar(_) | Self::Any)
    }
}
