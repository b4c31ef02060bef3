//! Filters of the search language: conditions on the summary, marks and facts of a session.

use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;

use ptc_core::text::matches_wildcard;

use super::digest::Facts;
use super::failure::Failure;
use crate::session::{Marks, RunState, Summary};

/// One condition on a session.
#[derive(Debug, Clone, PartialEq)]
pub enum Filter {
    /// The mode of its last run.
    Mode(WordList),
    /// A model that answered its last run.
    Model(WordList),
    /// One of its agents, or its pipeline.
    Agent(WordList),
    /// State of its last run.
    Status(Vec<RunState>),
    /// A failure reason that occurred in it.
    Reason(WordList),
    /// A tool that was called in it.
    Tool(WordList),
    /// A tool of which a call failed in it.
    FailedTool(WordList),
    /// A tag of the session, or of a run or turn in it.
    Tag(WordList),
    /// A label of the session, or of a run or turn in it: pass, fail or a score.
    Label(WordList),
    /// A prefix of its id.
    Id(WordList),
    /// A property of the session.
    Is(Flag),
    /// Its cost, child runs included, where known.
    Cost(NumberCondition),
    /// Its tokens, child runs included, where counted.
    Tokens(NumberCondition),
    /// Its turns, child runs included.
    Turns(NumberCondition),
    /// Creation time: from (inclusive), until (exclusive), in Unix ms.
    Created(i64, i64),
    /// Negation.
    Not(Box<Filter>),
}

/// A property of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flag {
    /// The session, or a run or turn in it, is bookmarked.
    Marked,
    /// Part of it could not be read.
    Damaged,
    /// It is a built-in example.
    Example,
    /// A run has ended, and no label is on the session or a run or turn in it. Examples and runs of judges need none.
    Unlabelled,
}

impl Flag {
    pub(super) const ALL: [(&str, Self); 4] = [
        ("marked", Self::Marked),
        ("damaged", Self::Damaged),
        ("example", Self::Example),
        ("unlabelled", Self::Unlabelled),
    ];
}

/// A comparison with a number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NumberCondition {
    /// The operator.
    pub operator: Operator,
    /// The number.
    pub value: f64,
}

/// The operator between the name of a filter and its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operator {
    /// `:`, for words and numbers.
    Colon,
    /// `=`; for numbers the same as a colon.
    Equal,
    /// `>`
    Above,
    /// `>=`
    AtLeast,
    /// `<`
    Below,
    /// `<=`
    AtMost,
}

impl Operator {
    /// All operators; longer ones come before their prefixes.
    pub(super) const ALL: [(&str, Self); 6] = [
        (">=", Self::AtLeast),
        ("<=", Self::AtMost),
        (":", Self::Colon),
        (">", Self::Above),
        ("<", Self::Below),
        ("=", Self::Equal),
    ];
}

impl NumberCondition {
    fn holds(self, number: f64) -> bool {
        match self.operator {
            Operator::Above => number > self.value,
            Operator::AtLeast => number >= self.value,
            Operator::Below => number < self.value,
            Operator::AtMost => number <= self.value,
            Operator::Colon | Operator::Equal => (number - self.value).abs() < f64::EPSILON,
        }
    }
}

/// Alternatives, compared without case; `*` matches any text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WordList(Vec<String>);

impl WordList {
    /// Splits a text at commas.
    pub(super) fn of(text: &str) -> Self {
        Self(text.split(',').map(str::to_lowercase).collect())
    }

    /// Returns whether the text starts with one of the words.
    fn matches_start(&self, text: &str) -> bool {
        let text = text.to_lowercase();
        self.0.iter().any(|word| text.starts_with(word.as_str()) || matches_wildcard(word, &text))
    }

    /// Returns whether the text matches one of the words.
    pub fn matches(&self, text: &str) -> bool {
        let text = text.to_lowercase();
        self.0.iter().any(|word| matches_wildcard(word, &text))
    }
}

impl Filter {
    /// The filter restricted to failed calls, if it is about calls.
    #[must_use]
    pub(super) fn of_failed_tool(self) -> Self {
        match self {
            Self::Tool(words) => Self::FailedTool(words),
            other => other,
        }
    }

    /// Returns whether the filter is about failures.
    pub fn is_about_failures(&self) -> bool {
        matches!(self, Self::Reason(_) | Self::FailedTool(_))
    }

    /// Returns whether the filter is about this failure.
    pub fn selects(&self, failure: &Failure) -> bool {
        match self {
            Self::Reason(words) => words.matches(&failure.reason),
            Self::FailedTool(words) => failure.at.is_call() && words.matches(&failure.path),
            _ => false,
        }
    }

    /// Returns whether the session satisfies the condition.
    pub fn holds(&self, summary: &Summary, facts: &Facts, marks: &Marks) -> bool {
        let marked = || marks.of_session(&summary.id);
        let labels = || marked().filter_map(|(_, mark)| mark.label.as_ref());
        match self {
            Self::Mode(words) => words.matches(&summary.mode),
            Self::Model(words) => summary.models.iter().any(|model| words.matches(model)),
            Self::Agent(words) => {
                words.matches(&summary.agent) || facts.agents.iter().any(|agent| words.matches(agent))
            }
            Self::Status(states) => states.contains(&summary.state),
            Self::Reason(words) => facts.reasons.iter().any(|reason| words.matches(reason)),
            Self::FailedTool(_) => facts.failures.iter().any(|failure| self.selects(failure)),
            Self::Tool(words) => facts.tools.iter().any(|tool| words.matches(tool)),
            Self::Tag(words) => marked().any(|(_, mark)| mark.tags.iter().any(|tag| words.matches(tag))),
            Self::Label(words) => labels().any(|label| words.matches(&label.grade.to_string())),
            Self::Id(words) => words.matches_start(&summary.id),
            Self::Is(Flag::Marked) => marked().any(|(_, mark)| mark.marked),
            Self::Is(Flag::Damaged) => summary.damage.is_some(),
            Self::Is(Flag::Example) => summary.example,
            Self::Is(Flag::Unlabelled) => summary.can_be_labelled() && labels().next().is_none(),
            Self::Cost(number) => summary.usage.cost().is_some_and(|cost| number.holds(cost)),
            #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
            Self::Tokens(number) => summary.usage.tokens.is_some_and(|tokens| number.holds(tokens.total() as f64)),
            Self::Turns(number) => number.holds(summary.usage.turns.into()),
            Self::Created(from, before) => (*from..*before).contains(&summary.created_ms),
            Self::Not(filter) => !filter.holds(summary, facts, marks),
        }
    }
}

/// Parses a date as a time range in Unix ms: a day, a minute, or the time since `7d` or `12h` ago.
pub(super) fn parse_date(text: &str, now_ms: i64) -> Option<(i64, i64)> {
    const HOUR_MS: i64 = 3_600_000;
    let of_day = |date: Date| {
        let start = |date: Date| Some(date.to_zoned(TimeZone::UTC).ok()?.timestamp().as_millisecond());
        Some((start(date)?, start(date.tomorrow().ok()?)?))
    };
    let today = || Some(jiff::Timestamp::from_millisecond(now_ms).ok()?.to_zoned(TimeZone::UTC).date());
    let ago = |letter: char, unit_ms: i64| -> Option<(i64, i64)> {
        let count: i64 = text.strip_suffix(letter)?.parse().ok().filter(|count| (0..100_000).contains(count))?;
        Some((now_ms - count * unit_ms, now_ms))
    };
    match text {
        "today" => of_day(today()?),
        "yesterday" => of_day(today()?.yesterday().ok()?),
        _ => ago('d', 24 * HOUR_MS).or_else(|| ago('h', HOUR_MS)).or_else(|| {
            if !text.contains('T') {
                return of_day(text.parse().ok()?);
            }
            let at: DateTime = text.parse().ok()?;
            let from = at.to_zoned(TimeZone::UTC).ok()?.timestamp().as_millisecond();
            Some((from, from + 60_000))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_matching_word_is_enough_and_case_is_ignored() {
        let matches = |words: &str, text: &str| WordList::of(words).matches(text);
        assert!(matches("JSON,text", "text") && matches("json*", "Json_loop") && !matches("json,text", "json_loop"));
    }

    #[test]
    fn dates_are_parsed_as_time_ranges() {
        let now = 1_795_290_727_000; // 2026-11-21T19:52:07Z
        let (from, before) = parse_date("2026-11-21", now).unwrap();
        assert_eq!((from, before), (1_795_219_200_000, 1_795_305_600_000));
        assert_eq!(parse_date("today", now), Some((from, before)));
        assert_eq!(parse_date("yesterday", now).unwrap().1, from);
        assert_eq!(parse_date("2d", now), Some((now - 2 * 86_400_000, now)));
        assert_eq!(parse_date("2026-11-21T19:52", now).unwrap().0, 1_795_290_720_000);
        for wrong in ["", "2026-13-01", "d", "-1d", "9999999999d", "morning"] {
            assert_eq!(parse_date(wrong, now), None, "{wrong}");
        }
    }
}
