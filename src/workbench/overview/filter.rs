//! Filter and order of the turns in an overview.
//!
//! In: a line of text such as `tool:search failed` or `time>5s`. Out: a filter, or what is wrong with the text. Pure.

use super::TurnLine;

/// Conditions on a turn; all must hold.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TurnFilter {
    terms: Vec<Term>,
}

/// A condition.
#[derive(Debug, Clone, PartialEq)]
enum Term {
    /// A tool of this name was called.
    Tool(String),
    /// A property of the turn.
    Is(Property),
    /// A number of the turn is compared.
    Number(Measure, Comparison, f64),
    /// Action, error or tools contain this text.
    Text(String),
}

/// A property of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Property {
    Failed,
    Slow,
    Retried,
    Repaired,
}

/// Words that name a property.
const PROPERTIES: [(&str, Property); 4] = [
    ("failed", Property::Failed),
    ("slow", Property::Slow),
    ("retried", Property::Retried),
    ("repaired", Property::Repaired),
];

/// A number of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Measure {
    Cost,
    Time,
    Tokens,
    Prompt,
    Turn,
}

/// Names of the numbers.
const MEASURES: [(&str, Measure); 5] = [
    ("cost", Measure::Cost),
    ("time", Measure::Time),
    ("tokens", Measure::Tokens),
    ("prompt", Measure::Prompt),
    ("turn", Measure::Turn),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Comparison {
    AtLeast,
    AtMost,
    Above,
    Below,
    Equal,
}

/// Operators; longer ones come before their prefixes.
const OPERATORS: [(&str, Comparison); 5] = [
    (">=", Comparison::AtLeast),
    ("<=", Comparison::AtMost),
    (">", Comparison::Above),
    ("<", Comparison::Below),
    ("=", Comparison::Equal),
];

/// A turn is slow when it took at least this many times as long as the median turn.
const SLOW_TIMES: u64 = 2;

impl TurnFilter {
    /// Examples of what a filter takes.
    pub const EXAMPLES: [&str; 7] = ["tool:search", "failed", "slow", "cost>0.01", "time>5s", "tokens>2000", "retried"];

    /// Reads a filter.
    ///
    /// Errors: an invalid number; the error names what is expected.
    pub fn parse(text: &str) -> Result<Self, String> {
        text.split_whitespace().map(term).collect::<Result<_, _>>().map(|terms| Self { terms })
    }

    /// Returns whether it has no conditions: every turn satisfies it.
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// The positions of the turns that satisfy it, in order.
    pub fn select(&self, lines: &[TurnLine]) -> Vec<usize> {
        let slow_ms = median(lines).saturating_mul(SLOW_TIMES).max(1);
        (0..lines.len()).filter(|at| self.terms.iter().all(|term| self.holds(term, &lines[*at], slow_ms))).collect()
    }

    /// The error of a turn that the filter is about: of the tool whose failures are wanted, else the first one.
    pub fn error<'l>(&self, line: &'l TurnLine) -> Option<&'l str> {
        let wants = |name: &str| self.terms.iter().any(|term| matches!(term, Term::Tool(tool) if is_named(name, tool)));
        let of_tool = || line.calls.iter().filter(|call| wants(&call.name)).find_map(|call| call.error.as_deref());
        let failed = self.terms.contains(&Term::Is(Property::Failed));
        failed.then(of_tool).flatten().or(line.error.as_deref())
    }

    fn holds(&self, term: &Term, line: &TurnLine, slow_ms: u64) -> bool {
        let failed = self.terms.contains(&Term::Is(Property::Failed));
        match term {
            // With `failed`, the tool itself must have failed.
            Term::Tool(name) => {
                line.calls.iter().any(|call| is_named(&call.name, name) && (!failed || call.has_failed()))
            }
            Term::Is(Property::Failed) => line.has_failed(),
            Term::Is(Property::Slow) => line.time.total >= slow_ms,
            Term::Is(Property::Retried) => line.retries > 0,
            Term::Is(Property::Repaired) => line.repairs > 0,
            Term::Number(measure, comparison, number) => {
                value(*measure, line).is_some_and(|value| comparison.holds(value, *number))
            }
            Term::Text(text) => {
                let has = |other: &str| other.to_lowercase().contains(text.as_str());
                has(&line.action)
                    || line.error.as_deref().is_some_and(has)
                    // The agent of a root run is that of most turns.
                    || line.depth() > 0 && line.agent.as_deref().is_some_and(has)
                    || line.calls.iter().any(|call| has(&call.name))
            }
        }
    }
}

impl Comparison {
    fn holds(self, value: f64, number: f64) -> bool {
        match self {
            Self::AtLeast => value >= number,
            Self::AtMost => value <= number,
            Self::Above => value > number,
            Self::Below => value < number,
            Self::Equal => (value - number).abs() < f64::EPSILON,
        }
    }
}

fn is_named(name: &str, wanted: &str) -> bool {
    ptc_core::text::matches_wildcard(wanted, &name.to_lowercase())
}

fn term(word: &str) -> Result<Term, String> {
    let lower = word.to_lowercase();
    if let Some(name) = lower.strip_prefix("tool:").filter(|name| !name.is_empty()) {
        return Ok(Term::Tool(name.to_owned()));
    }
    if let Some((_, property)) = PROPERTIES.iter().find(|(name, _)| *name == lower) {
        return Ok(Term::Is(*property));
    }
    let measured = MEASURES.iter().find_map(|(name, measure)| {
        let rest = lower.strip_prefix(name)?;
        let (written, comparison) = OPERATORS.iter().find(|(written, _)| rest.starts_with(written))?;
        Some((*measure, *comparison, &rest[written.len()..]))
    });
    match measured {
        Some((measure, comparison, text)) => {
            let number = number(measure, text).ok_or_else(|| {
                format!("`{text}` in `{word}` is not a number; write cost>0.01, time>5s or tokens>2000")
            })?;
            Ok(Term::Number(measure, comparison, number))
        }
        None => Ok(Term::Text(lower)),
    }
}

/// A number; times in ms, with `s` or `min` after them in seconds or minutes.
fn number(measure: Measure, text: &str) -> Option<f64> {
    if measure != Measure::Time {
        return text.parse().ok();
    }
    let units = [("ms", 1.0), ("min", 60_000.0), ("s", 1_000.0), ("", 1.0)];
    units.into_iter().find_map(|(unit, factor)| Some(text.strip_suffix(unit)?.parse::<f64>().ok()? * factor))
}

#[expect(clippy::cast_precision_loss, reason = "counts and times are far below 2^52")]
fn value(measure: Measure, line: &TurnLine) -> Option<f64> {
    match measure {
        Measure::Cost => line.cost,
        Measure::Time => Some(line.time.total as f64),
        Measure::Tokens => line.tokens.map(|tokens| tokens.total() as f64),
        Measure::Prompt => Some(line.prompt as f64),
        Measure::Turn => line.address.turn_number().map(f64::from),
    }
}

fn median(lines: &[TurnLine]) -> u64 {
    let mut times: Vec<u64> = lines.iter().map(|line| line.time.total).collect();
    times.sort_unstable();
    times.get(times.len().saturating_sub(1) / 2).copied().unwrap_or_default()
}

/// The order of the lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TurnOrder {
    /// As they ran.
    #[default]
    Run,
    /// The slowest first.
    Time,
    /// The largest prompt first.
    Prompt,
    /// The most failures first.
    Failures,
    /// The most expensive first.
    Cost,
}

impl TurnOrder {
    /// Every order.
    pub const ALL: [Self; 5] = [Self::Run, Self::Time, Self::Prompt, Self::Failures, Self::Cost];

    /// Returns its label, such as `slowest first`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Run => "as run",
            Self::Time => "slowest first",
            Self::Prompt => "largest prompt first",
            Self::Failures => "most failures first",
            Self::Cost => "most expensive first",
        }
    }

    /// The next order; after the last one the first.
    #[must_use]
    pub fn next(self) -> Self {
        let at = Self::ALL.iter().position(|order| *order == self).unwrap_or_default();
        Self::ALL[(at + 1) % Self::ALL.len()]
    }

    /// Sorts positions of lines; equal ones stay as they ran.
    pub fn sort(self, lines: &[TurnLine], places: &mut [usize]) {
        let number = |place: usize| {
            let line = &lines[place];
            match self {
                Self::Run => 0.0,
                Self::Time => value(Measure::Time, line).unwrap_or_default(),
                Self::Prompt => value(Measure::Prompt, line).unwrap_or_default(),
                Self::Failures => {
                    f64::from(u32::try_from(line.failures).unwrap_or(u32::MAX))
                        + f64::from(u8::from(line.has_failed())) / 2.0
                }
                Self::Cost => line.cost.unwrap_or(-1.0),
            }
        };
        places.sort_by(|one, other| number(*other).total_cmp(&number(*one)));
    }
}
