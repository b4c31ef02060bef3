//! The table of limits: name, unit, default, range and the reason an agent gets when one is exceeded.
//!
//! Every limit of the program stands here once; agent files, help and documentation read this table.

use crate::reasons::Reason;

/// One row of the limit table. Ranges are inclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    /// The key in an agent file, or the name used in messages.
    pub name: &'static str,
    /// The unit of the numbers.
    pub unit: &'static str,
    /// Value when nothing is said; `None` = off.
    pub default: Option<u64>,
    /// Smallest legal value.
    pub min: u64,
    /// Largest legal value.
    pub max: u64,
    /// Reason of the error when the limit is hit.
    pub reason: Reason,
    /// What it bounds and what it does not promise.
    pub meaning: &'static str,
}

impl Limit {
    /// The default as a count; for a limit that is off by default, its largest value.
    pub fn usual(&self) -> u32 {
        u32::try_from(self.default.unwrap_or(self.max)).unwrap_or(u32::MAX)
    }
}

macro_rules! limits {
    ($($konst:ident $name:literal $unit:literal $default:expr, $min:expr, $max:expr, $reason:ident $meaning:literal;)*) => {
        $(#[doc = $meaning] pub const $konst: Limit = Limit {
            name: $name, unit: $unit, default: $default, min: $min, max: $max, reason: Reason::$reason, meaning: $meaning,
        };)*
        /// All limits in the order of the documentation.
        pub const LIMITS: &[Limit] = &[$($konst,)*];
    };
}

limits! {
    MAX_TURNS "max_turns" "turns" Some(5), 1, 10_000, MaxTurnsExceeded "Turns of a run; in json mode the number of attempts, of which the last one gives the reason of the failure.";
    MISSION_TIMEOUT "mission_timeout_ms" "ms" None, 1, 86_400_000, MissionTimeout "Time for the whole run, read once per turn. A running model call is ended when it is over.";
    TOKEN_LIMIT "token_limit" "tokens" None, 1, 1_000_000_000, TokenLimitExceeded "Input and output tokens of a run, checked after each reply; the reply that crosses the limit is paid for.";
    MODEL_ATTEMPTS "max_attempts" "attempts" Some(3), 1, 20, LlmError "Attempts to get one reply from a provider, the first included; only failures that may pass are tried again.";
    JSON_DEPTH "json_depth" "levels" Some(512), 1, 512, JsonParseError "Nesting of JSON from replies, contexts and tools.";
    JSON_DIGITS "json_digits" "digits" Some(10_000), 1, 10_000, JsonParseError "Digits of a whole number in JSON from replies, contexts and tools.";
    TEMPLATE_DEPTH "template_depth" "levels" Some(20), 1, 20, TemplateError "Nesting of template sections.";
    TEMPLATE_OUTPUT "template_output_bytes" "bytes" Some(16_777_216), 1, 16_777_216, TemplateError "Size of a filled template; each pass through a section counts as one byte more, so that nested sections end.";
    SIGNATURE_DEPTH "signature_depth" "levels" Some(64), 1, 64, SignatureError "Nesting of types in a signature.";
    FEEDBACK_REPLY_CHARS "feedback_reply_chars" "characters" Some(500), 0, 100_000, ValidationError "Characters of the model's reply quoted back to it after an invalid answer.";
    FEEDBACK_ISSUES "feedback_issues" "issues" Some(10), 1, 1_000, ValidationError "Validation errors named in one feedback message; the rest is counted.";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_lie_within_their_range() {
        for limit in LIMITS {
            if let Some(default) = limit.default {
                assert!((limit.min..=limit.max).contains(&default), "{}", limit.name);
            }
        }
    }
}
