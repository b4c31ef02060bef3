//! What a session must be to be found: one kind of filter per fact of its summary, marks and texts.

use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;

use ptc_core::text::matches_wildcard;

use super::digest::Facts;
use crate::session::{Marks, RunState, Summary};

/// One condition on a session.
#[derive(Debug, Clone, PartialEq)]
pub enum Filter {
    /// The mode of its last run.
    Mode(Words),
    /// A model that answered its last run.
    Model(Words),
    /// One of its agents, or its pipeline.
    Agent(Words),
    /// How far it is.
    Status(Vec<RunState>),
    /// A reason that something in it failed with.
    Reason(Words),
    /// A tool that was called in it.
    Tool(Words),
    /// A tag of it, or of a run or turn in it.
    Tag(Words),
    /// Its id.
    Id(Words),
    /// Something it is.
    Is(Flag),
    /// Its cost, where known.
    Cost(Number),
    /// Its tokens, where counted.
    Tokens(Number),
    /// Its turns.
    Turns(Number),
    /// When it was made: from, and before; Unix ms.
    Made(i64, i64),
    /// The opposite.
    Not(Box<Filter>),
}

/// Something a session is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flag {
    /// A person marked it, or a run or turn in it.
    Marked,
    /// Not all of it could be read.
    Damaged,
    /// It is part of the program.
    Example,
}

impl Flag {
    pub(super) const ALL: [(&str, Self); 3] =
        [("marked", Self::Marked), ("damaged", Self::Damaged), ("example", Self::Example)];
}

/// A comparison with a number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Number {
    /// How.
    pub sign: Sign,
    /// The number.
    pub value: f64,
}

/// What stands between a filter and its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sign {
    /// `:`, for words and numbers.
    Colon,
    /// `=`, for numbers the same as a colon.
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

impl Sign {
    /// How they are written; the longer ones come before what they begin with.
    pub(super) const ALL: [(&str, Self); 6] = [
        (">=", Self::AtLeast),
        ("<=", Self::AtMost),
        (":", Self::Colon),
        (">", Self::Above),
        ("<", Self::Below),
        ("=", Self::Equal),
    ];
}

impl Number {
    fn holds(self, number: f64) -> bool {
        match self.sign {
            Sign::Above => number > self.value,
            Sign::AtLeast => number >= self.value,
            Sign::Below => number < self.value,
            Sign::AtMost => number <= self.value,
            Sign::Colon | Sign::Equal => (number - self.value).abs() < f64::EPSILON,
        }
    }
}

/// Words of which one must be a text, in any case; `*` in them stands for anything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Words(Vec<String>);

impl Words {
    /// Words with commas between them.
    pub(super) fn of(text: &str) -> Self {
        Self(text.split(',').map(str::to_lowercase).collect())
    }

    /// Does the text begin with one of the words?
    fn begin(&self, text: &str) -> bool {
        let text = text.to_lowercase();
        self.0.iter().any(|word| text.starts_with(word.as_str()) || matches_wildcard(word, &text))
    }

    /// Is the text one of the words?
    pub fn fit(&self, text: &str) -> bool {
        let text = text.to_lowercase();
        self.0.iter().any(|word| matches_wildcard(word, &text))
    }
}

impl Filter {
    /// The reasons that it asks for.
    pub fn reason(&self) -> Option<&Words> {
        match self {
            Self::Reason(words) => Some(words),
            _ => None,
        }
    }

    /// Is the session so?
    pub fn holds(&self, summary: &Summary, facts: &Facts, marks: &Marks) -> bool {
        let marked = || marks.of_session(&summary.id);
        match self {
            Self::Mode(words) => words.fit(&summary.mode),
            Self::Model(words) => summary.models.iter().any(|model| words.fit(model)),
            Self::Agent(words) => words.fit(&summary.agent) || facts.agents.iter().any(|agent| words.fit(agent)),
            Self::Status(states) => states.contains(&summary.state),
            Self::Reason(words) => facts.reasons.iter().any(|reason| words.fit(reason)),
            Self::Tool(words) => facts.tools.iter().any(|tool| words.fit(tool)),
            Self::Tag(words) => marked().any(|(_, mark)| mark.tags.iter().any(|tag| words.fit(tag))),
            Self::Id(words) => words.begin(&summary.id),
            Self::Is(Flag::Marked) => marked().any(|(_, mark)| mark.marked),
            Self::Is(Flag::Damaged) => summary.damage.is_some(),
            Self::Is(Flag::Example) => summary.example,
            Self::Cost(number) => summary.cost.is_some_and(|cost| number.holds(cost)),
            #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
            Self::Tokens(number) => summary.tokens.is_some_and(|tokens| number.holds(tokens.total() as f64)),
            #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
            Self::Turns(number) => number.holds(summary.turns as f64),
            Self::Made(from, before) => (*from..*before).contains(&summary.created_ms),
            Self::Not(filter) => !filter.holds(summary, facts, marks),
        }
    }
}

/// The time that a date means, from and before, in Unix ms: a day, a minute, or the time since `7d` and `12h` ago.
pub(super) fn day(text: &str, now_ms: i64) -> Option<(i64, i64)> {
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
    fn one_of_the_words_is_enough_in_any_case() {
        let fit = |words: &str, text: &str| Words::of(words).fit(text);
        assert!(fit("JSON,text", "text") && fit("json*", "Json_loop") && !fit("json,text", "json_loop"));
    }

    #[test]
    fn a_day_has_a_beginning_and_an_end() {
        let now = 1_795_290_727_000; // 2026-11-21T19:52:07Z
        let (from, before) = day("2026-11-21", now).unwrap();
        assert_eq!((from, before), (1_795_219_200_000, 1_795_305_600_000));
        assert_eq!(day("today", now), Some((from, before)));
        assert_eq!(day("yesterday", now).unwrap().1, from);
        assert_eq!(day("2d", now), Some((now - 2 * 86_400_000, now)));
        assert_eq!(day("2026-11-21T19:52", now).unwrap().0, 1_795_290_720_000);
        for wrong in ["", "2026-13-01", "d", "-1d", "9999999999d", "morning"] {
            assert_eq!(day(wrong, now), None, "{wrong}");
        }
    }
}
