//! Dates and times as `java.time` writes them: constructors, fields, moves, comparisons and differences.
//!
//! All times are UTC: a local date-time, a zoned one and an instant are the same type here. Days of the week, months and
//! units of time are strings ("MONDAY", "JANUARY", "DAYS"); a period is a map of :years, :months and :days; a formatter
//! is the string of its pattern.

mod fields;
mod moves;
mod pattern;

use super::{Arity, Builtin, Clojure, Cost};
use crate::lisp::machine::Machine;
use crate::lisp::{EvalResult, wrong};
use crate::value::{Date, Instant, Value};

pub(super) use moves::moved;
pub(super) use pattern::parse_with;

/// The rows of this folder, by file.
pub(super) const FIELDS: &[Builtin] = fields::ROWS;
/// Moves and differences.
pub(super) const MOVES: &[Builtin] = moves::ROWS;
/// Formatters.
pub(super) const PATTERNS: &[Builtin] = pattern::ROWS;

/// The names of the days of the week, the first of each week first.
pub(crate) const DAYS: [&str; 7] = ["MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY", "SATURDAY", "SUNDAY"];

/// The names of the months.
pub(crate) const MONTHS: [&str; 12] = [
    "JANUARY",
    "FEBRUARY",
    "MARCH",
    "APRIL",
    "MAY",
    "JUNE",
    "JULY",
    "AUGUST",
    "SEPTEMBER",
    "OCTOBER",
    "NOVEMBER",
    "DECEMBER",
];

/// Microseconds of a day.
const DAY_MICROS: i64 = 86_400_000_000;

/// A row that the dialect `reference` does not have.
const fn row(
    name: &'static str,
    arity: Arity,
    run: fn(&mut Machine<'_>, &mut [Value]) -> EvalResult,
    signatures: &'static [&'static str],
    about: &'static str,
    examples: &'static [(&'static str, &'static str)],
) -> Builtin {
    Builtin::new(name, arity, run)
        .doc(signatures, about)
        .examples(examples)
        .cost(Cost::Constant)
        .clojure(Clojure::Same)
        .current()
}

/// A date or a time: the day, and the microseconds of the day of an instant.
#[derive(Clone, Copy)]
struct Moment {
    day: Date,
    micros: Option<i64>,
}

impl Moment {
    /// The date or instant in argument `position`.
    fn of(position: usize, value: &Value) -> EvalResult<Self> {
        match value {
            Value::Date(day) => Ok(Self { day: *day, micros: None }),
            Value::Instant(at) => {
                let day = Date::of_day(at.micros().div_euclid(DAY_MICROS)).unwrap_or(Date(0));
                Ok(Self { day, micros: Some(at.micros().rem_euclid(DAY_MICROS)) })
            }
            Value::Str(_) => Err(super::argument::hinted(
                wrong(position, "a date or datetime", value),
                "Read it first: (LocalDate/parse text) or (Instant/parse text)",
            )),
            other => Err(wrong(position, "a date or datetime", other)),
        }
    }

    /// The value: a date without a time, else an instant.
    fn value(self) -> Value {
        match self.micros {
            None => Value::Date(self.day),
            Some(micros) => Value::Instant(Instant::new(i64::from(self.day.0) * DAY_MICROS + micros)),
        }
    }

    /// The calendar date.
    fn civil(self) -> jiff::civil::Date {
        self.day.civil().unwrap_or(jiff::civil::date(1970, 1, 1))
    }

    /// Microseconds since 1970.
    fn micros(self) -> i64 {
        i64::from(self.day.0) * DAY_MICROS + self.micros.unwrap_or(0)
    }

    /// The microseconds of the day, 0 for a date.
    fn of_day(self) -> i64 {
        self.micros.unwrap_or(0)
    }
}
