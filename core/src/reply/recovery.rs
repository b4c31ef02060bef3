//! How far extraction may go: the recovery level and how the reply ended. In: names. Out: the two enums.
//!
//! Source of the levels: settled decision 9 (strict, standard, lenient) and 11 (a cut reply is never repaired).

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
