//! Options of extraction: the recovery level, how the reply ended, and the expected shape of the answer.
//!
//! A truncated reply is never repaired at its end. The shape only guides the search; the caller checks the value.

use crate::signature::Type;

/// The allowed repairs of a reply. Each level allows everything that the previous one allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Recovery {
    /// The whole trimmed reply, or one fence around it; no repairs.
    Strict,
    /// Searches fences and brackets, repairs syntax.
    #[default]
    Standard,
    /// Also repairs ambiguous text; the candidate with the fewest repairs wins.
    Lenient,
}

impl Recovery {
    /// All levels, from the strictest.
    pub const ALL: [Self; 3] = [Self::Strict, Self::Standard, Self::Lenient];

    /// The name in agent files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Strict => "strict",
            Self::Standard => "standard",
            Self::Lenient => "lenient",
        }
    }

    /// The level with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.name() == name)
    }
}

impl std::fmt::Display for Recovery {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// The end of the model's reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Finish {
    /// The model finished its reply.
    Complete,
    /// The reply was cut at the output limit: nothing is added at its end.
    Truncated,
}

/// The expected outer shape of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AnswerShape {
    /// An object.
    Object,
    /// An array, also as an object with `items`.
    List,
    /// A single value, also as an object with one member.
    Scalar(Scalar),
    /// Any shape.
    Any,
}

/// The expected type of a single value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scalar {
    /// A string.
    String,
    /// A number.
    Number,
    /// true or false.
    Bool,
    /// One of these words; a reply that is only the word counts as the string.
    Words(Vec<String>),
}

impl AnswerShape {
    /// The outer shape of a signature's output type.
    pub fn of(output: &Type) -> Self {
        match output.base() {
            // `null` is a valid answer too.
            Type::Record { .. } | Type::Map | Type::List(_) if output.is_optional() => Self::Any,
            Type::Record { .. } | Type::Map => Self::Object,
            Type::List(_) => Self::List,
            Type::Int | Type::Float | Type::Number => Self::Scalar(Scalar::Number),
            Type::Bool => Self::Scalar(Scalar::Bool),
            Type::Enum(words) => Self::Scalar(Scalar::Words(words.clone())),
            Type::String | Type::Keyword | Type::Datetime => Self::Scalar(Scalar::String),
            Type::Any | Type::File | Type::Optional(_) | Type::Narrowed { .. } => Self::Any,
        }
    }

    /// True if the answer may be a single value without brackets.
    pub(super) fn admits_scalar(&self) -> bool {
        matches!(self, Self::Scalar(_) | Self::Any)
    }
}
