//! What extraction is given beside the text: how much may be repaired, how the reply ended, and the expected outer shape.
//!
//! Sources: settled decisions 9 (levels) and 11 (a cut reply is never repaired). The shape only steers the search; whether
//! a value fits is the caller's check.

use crate::signature::Type;

/// How much may be mended in a reply. Ordered: each level allows all that the one before it allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Recovery {
    /// The whole trimmed reply, or one fence around it; nothing is mended.
    Strict,
    /// Fences and brackets are searched, syntax is mended.
    #[default]
    Standard,
    /// Also mends what could have been meant otherwise, and the candidate with the fewest mends wins.
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

/// How the model's reply ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Finish {
    /// The model said it was done.
    Complete,
    /// The reply was cut at the output limit: nothing that is missing at its end is made up.
    Truncated,
}

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
