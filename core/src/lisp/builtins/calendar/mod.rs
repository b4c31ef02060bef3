//! Dates and times as `java.time` writes them: constructors, fields, moves, comparisons and differences.
//!
//! A local datetime, one with an offset and an instant are the same type here: an instant with the zone in which it is
//! printed. Zones are offsets, as strings ("Z", "+02:00"). Days of the week, months and units of time are strings ("MONDAY", "JANUARY",
//! "DAYS"); a period is a map of :years, :months and :days; a formatter is the string of its pattern.

mod fields;
mod moves;
mod pattern;
mod zones;

use super::{Arity, Builtin, Clojure, Cost};
use crate::lisp::machine::Machine;
use crate::lisp::{EvalResult, wrong};
use crate::value::{Date, Instant, Value, Zone};

pub(super) use moves::moved;
pub(super) use pattern::parse_with;

/// The rows of this folder, by file.
pub(super) const FIELDS: &[Builtin] = fields::ROWS;
/// Moves and differences.
pub(super) const MOVES: &[Builtin] = moves::ROWS;
/// Time zones.
pub(super) const ZONES: &[Builtin] = zones::ROWS;
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

/// Nanoseconds of a day.
const DAY_NANOS: i64 = 86_400_000_000_000;
/// Nanoseconds of a minute.
const MINUTE_NANOS: i64 = 60_000_000_000;

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

/// The day of a date or datetime, as its zone has it.
pub(super) fn date_of(value: &Value) -> EvalResult {
    Moment::of(1, value).map(|at| Value::Date(at.day))
}

/// A date or a time: the day, the nanoseconds of the day of an instant, and the zone in which these are counted.
#[derive(Clone, Copy)]
struct Moment {
    day: Date,
    nanos: Option<i64>,
    zone: Zone,
}

impl Moment {
    /// The date or instant in argument `position`.
    fn of(position: usize, value: &Value) -> EvalResult<Self> {
        match value {
            Value::Date(day) => Ok(Self { day: *day, nanos: None, zone: Zone::LOCAL }),
            Value::Instant(at) => {
                Ok(Self::at(at.nanos(), at.zone()).unwrap_or(Self { day: Date(0), nanos: Some(0), zone: at.zone() }))
            }
            Value::Str(_) => Err(super::argument::hinted(
                wrong(position, "a date or datetime", value),
                "Read it first: (LocalDate/parse text) or (Instant/parse text)",
            )),
            other => Err(wrong(position, "a date or datetime", other)),
        }
    }

    /// A datetime of this day without a zone.
    fn local(day: Date, nanos: i64) -> Self {
        Self { day, nanos: Some(nanos), zone: Zone::LOCAL }
    }

    /// The datetime this many nanoseconds after the start of 1970, in a zone; `None` outside of the calendar.
    fn at(nanos: i128, zone: Zone) -> Option<Self> {
        let local = nanos + i128::from(zone.minutes()) * i128::from(MINUTE_NANOS);
        let day = Date::of_day(i64::try_from(local.div_euclid(i128::from(DAY_NANOS))).ok()?)?;
        Some(Self { day, nanos: i64::try_from(local.rem_euclid(i128::from(DAY_NANOS))).ok(), zone })
    }

    /// The value: a date without a time, else an instant.
    fn value(self) -> EvalResult {
        if self.nanos.is_none() {
            return Ok(Value::Date(self.day));
        }
        let at = Instant::from_nanos(self.epoch_nanos()).ok_or_else(fields::outside)?;
        Ok(Value::Instant(at.in_zone(self.zone)))
    }

    /// The calendar date.
    fn civil(self) -> jiff::civil::Date {
        self.day.civil().unwrap_or(jiff::civil::date(1970, 1, 1))
    }

    /// Nanoseconds since the start of 1970 in UTC.
    fn epoch_nanos(self) -> i128 {
        let minutes = i128::from(self.zone.minutes()) * i128::from(MINUTE_NANOS);
        i128::from(self.day.0) * i128::from(DAY_NANOS) + i128::from(self.of_day()) - minutes
    }

    /// Whole units of this many nanoseconds since the start of 1970.
    fn epoch(self, unit_nanos: i64) -> Value {
        let units = self.epoch_nanos().div_euclid(i128::from(unit_nanos));
        Value::Int(i64::try_from(units).unwrap_or(i64::MAX))
    }

    /// The nanoseconds of the day, 0 for a date.
    fn of_day(self) -> i64 {
        self.nanos.unwrap_or(0)
    }
}
