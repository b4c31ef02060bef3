//! Moving dates and times, and the differences between them.

use super::fields::{day, duration, outside};
use super::{Arity, Builtin, DAY_NANOS, Moment, row};
use crate::lisp::builtins::argument::{hinted, integer, taken};
use crate::lisp::machine::Machine;
use crate::lisp::{Error, EvalResult, Halt, wrong};
use crate::reasons::Reason;
use crate::value::{Date, Duration, Keyword, Value, Zone};

/// A move by a number of units.
macro_rules! moving {
    ($name:literal, $unit:literal, $sign:literal, $about:literal, $example:literal) => {
        row(
            $name,
            Arity::exactly(2),
            |_, args| moved(&args[0], integer(2, &args[1])?.saturating_mul($sign), $unit),
            &[concat!("(", $name, " date n)")],
            $about,
            &[(concat!("(", $name, " (Instant/parse \"2026-01-31T10:00:00Z\") 1)"), $example)],
        )
    };
}

/// The units of time by name, with their nanoseconds, or months if they have no fixed length.
const UNITS: &[(&str, Unit)] = &[
    ("MILLIS", Unit::Nanos(1_000_000)),
    ("SECONDS", Unit::Nanos(1_000_000_000)),
    ("MINUTES", Unit::Nanos(60_000_000_000)),
    ("HOURS", Unit::Nanos(3_600_000_000_000)),
    ("DAYS", Unit::Nanos(DAY_NANOS)),
    ("WEEKS", Unit::Nanos(7 * DAY_NANOS)),
    ("MONTHS", Unit::Months(1)),
    ("YEARS", Unit::Months(12)),
    ("MICROS", Unit::Nanos(1_000)),
    ("NANOS", Unit::Nanos(1)),
];

#[derive(Clone, Copy)]
enum Unit {
    Nanos(i64),
    Months(i64),
}

/// The rows of this file.
pub(super) const ROWS: &[Builtin] = &[
    moving!(".plusWeeks", "WEEKS", 1, "The date some weeks later.", "\"2026-02-07T10:00:00Z\""),
    moving!(".minusWeeks", "WEEKS", -1, "The date some weeks earlier.", "\"2026-01-24T10:00:00Z\""),
    moving!(
        ".plusMonths",
        "MONTHS",
        1,
        "The date some months later; the day is at most the last of the month.",
        "\"2026-02-28T10:00:00Z\""
    ),
    moving!(
        ".minusMonths",
        "MONTHS",
        -1,
        "The date some months earlier; the day is at most the last of the month.",
        "\"2025-12-31T10:00:00Z\""
    ),
    moving!(".plusYears", "YEARS", 1, "The date some years later.", "\"2027-01-31T10:00:00Z\""),
    moving!(".minusYears", "YEARS", -1, "The date some years earlier.", "\"2025-01-31T10:00:00Z\""),
    moving!(".plusHours", "HOURS", 1, "The datetime some hours later.", "\"2026-01-31T11:00:00Z\""),
    moving!(".minusHours", "HOURS", -1, "The datetime some hours earlier.", "\"2026-01-31T09:00:00Z\""),
    moving!(".plusMinutes", "MINUTES", 1, "The datetime some minutes later.", "\"2026-01-31T10:01:00Z\""),
    moving!(".minusMinutes", "MINUTES", -1, "The datetime some minutes earlier.", "\"2026-01-31T09:59:00Z\""),
    moving!(".plusSeconds", "SECONDS", 1, "The datetime some seconds later.", "\"2026-01-31T10:00:01Z\""),
    moving!(".minusSeconds", "SECONDS", -1, "The datetime some seconds earlier.", "\"2026-01-31T09:59:59Z\""),
    moving!(".plusMillis", "MILLIS", 1, "The datetime some milliseconds later.", "\"2026-01-31T10:00:00.001Z\""),
    row(
        ".plus",
        Arity::between(2, 3),
        |_, args| by_amount(args, 1),
        &["(.plus date n unit)", "(.plus date duration)"],
        "The date moved by an amount of a unit, or by a duration or period.",
        &[("(.plus (LocalDate/parse \"2026-01-31\") 2 ChronoUnit/DAYS)", "\"2026-02-02\"")],
    ),
    row(
        ".minus",
        Arity::between(2, 3),
        |_, args| by_amount(args, -1),
        &["(.minus date n unit)", "(.minus date duration)"],
        "The date moved back by an amount of a unit, or by a duration or period.",
        &[("(.minus (LocalDate/parse \"2026-01-31\") 1 ChronoUnit/MONTHS)", "\"2025-12-31\"")],
    ),
    row(
        ".withDayOfMonth",
        Arity::exactly(2),
        |_, args| with(args, |civil, n| (civil.0, civil.1, n)),
        &["(.withDayOfMonth date day)"],
        "The date with another day of the month.",
        &[("(.withDayOfMonth (LocalDate/parse \"2026-01-31\") 1)", "\"2026-01-01\"")],
    ),
    row(
        ".withMonth",
        Arity::exactly(2),
        |_, args| with(args, |civil, n| (civil.0, n, civil.2)),
        &["(.withMonth date month)"],
        "The date with another month; the day is at most the last of the month.",
        &[("(.withMonth (LocalDate/parse \"2026-01-31\") 2)", "\"2026-02-28\"")],
    ),
    row(
        ".withYear",
        Arity::exactly(2),
        |_, args| with(args, |civil, n| (n, civil.1, civil.2)),
        &["(.withYear date year)"],
        "The date with another year.",
        &[("(.withYear (LocalDate/parse \"2026-01-31\") 2027)", "\"2027-01-31\"")],
    ),
    row(
        ".truncatedTo",
        Arity::exactly(2),
        truncated,
        &["(.truncatedTo datetime unit)"],
        "The datetime at the start of its unit.",
        &[("(.truncatedTo (Instant/parse \"2026-01-31T10:20:30Z\") ChronoUnit/HOURS)", "\"2026-01-31T10:00:00Z\"")],
    ),
    row(
        ".isEqual",
        Arity::exactly(2),
        is_equal,
        &["(.isEqual a b)"],
        "True if two dates or datetimes are equal.",
        &[("(.isEqual (LocalDate/of 2026 1 1) (LocalDate/parse \"2026-01-01\"))", "true")],
    ),
    row(
        ".between",
        Arity::exactly(3),
        |_, args| {
            let [unit, start, end] = taken(args);
            between(&unit, &start, &end)
        },
        &["(.between unit start end)"],
        "The number of whole units from start to end.",
        &[("(.between ChronoUnit/DAYS (LocalDate/parse \"2026-01-01\") (LocalDate/parse \"2026-03-01\"))", "59")],
    ),
    row(
        ".until",
        Arity::between(2, 3),
        until,
        &["(.until start end unit)", "(.until start end)"],
        "The number of whole units from start to end; without a unit, the period.",
        &[("(.until (LocalDate/parse \"2026-01-01\") (LocalDate/parse \"2026-03-01\") ChronoUnit/MONTHS)", "2")],
    ),
    row(
        "Period/between",
        Arity::exactly(2),
        |_, args| period(&args[0], &args[1]),
        &["(Period/between start end)"],
        "The years, months and days from one date to another, as a map.",
        &[(
            "(Period/between (LocalDate/parse \"2026-01-31\") (LocalDate/parse \"2027-03-01\"))",
            "{:days 1 :months 1 :years 1}",
        )],
    ),
    row(
        "Period/ofDays",
        Arity::exactly(1),
        |_, args| period_of(0, 0, integer(1, &args[0])?),
        &["(Period/ofDays n)"],
        "A period of n days.",
        &[("(Period/ofDays 3)", "{:days 3 :months 0 :years 0}")],
    ),
    row(
        "Period/ofMonths",
        Arity::exactly(1),
        |_, args| period_of(0, integer(1, &args[0])?, 0),
        &["(Period/ofMonths n)"],
        "A period of n months.",
        &[("(Period/ofMonths 3)", "{:days 0 :months 3 :years 0}")],
    ),
    row(
        ".getYears",
        Arity::exactly(1),
        |_, args| part(&args[0], "years"),
        &["(.getYears period)"],
        "The years of a period.",
        &[("(.getYears (Period/ofDays 3))", "0")],
    ),
    row(
        ".getMonths",
        Arity::exactly(1),
        |_, args| part(&args[0], "months"),
        &["(.getMonths period)"],
        "The months of a period, without its years.",
        &[("(.getMonths (Period/ofMonths 3))", "3")],
    ),
    row(
        ".getDays",
        Arity::exactly(1),
        |_, args| part(&args[0], "days"),
        &["(.getDays period)"],
        "The days of a period, without its months.",
        &[("(.getDays (Period/ofDays 3))", "3")],
    ),
    row(
        ".toTotalMonths",
        Arity::exactly(1),
        total_months,
        &["(.toTotalMonths period)"],
        "The years and months of a period in months.",
        &[("(.toTotalMonths (Period/ofMonths 14))", "14")],
    ),
    row(
        "Duration/ofDays",
        Arity::exactly(1),
        |_, args| duration(args, 86_400_000),
        &["(Duration/ofDays n)"],
        "A duration of n days.",
        &[("(.toHours (Duration/ofDays 2))", "48")],
    ),
    row(
        "Duration/ofHours",
        Arity::exactly(1),
        |_, args| duration(args, 3_600_000),
        &["(Duration/ofHours n)"],
        "A duration of n hours.",
        &[("(.toMinutes (Duration/ofHours 2))", "120")],
    ),
    row(
        "Duration/ofMinutes",
        Arity::exactly(1),
        |_, args| duration(args, 60_000),
        &["(Duration/ofMinutes n)"],
        "A duration of n minutes.",
        &[("(.getSeconds (Duration/ofMinutes 2))", "120")],
    ),
    row(
        "Duration/ofSeconds",
        Arity::exactly(1),
        |_, args| duration(args, 1_000),
        &["(Duration/ofSeconds n)"],
        "A duration of n seconds.",
        &[("(.toMillis (Duration/ofSeconds 2))", "2000")],
    ),
    row(
        "Duration/ofMillis",
        Arity::exactly(1),
        |_, args| duration(args, 1),
        &["(Duration/ofMillis n)"],
        "A duration of n milliseconds.",
        &[("(.toMillis (Duration/ofMillis 2))", "2")],
    ),
    row(
        ".toHours",
        Arity::exactly(1),
        |_, args| whole(&args[0], 3_600_000),
        &["(.toHours duration)"],
        "The whole hours of a duration.",
        &[("(.toHours (Duration/ofMinutes 150))", "2")],
    ),
    row(
        ".toMinutes",
        Arity::exactly(1),
        |_, args| whole(&args[0], 60_000),
        &["(.toMinutes duration)"],
        "The whole minutes of a duration.",
        &[("(.toMinutes (Duration/ofSeconds 150))", "2")],
    ),
    row(
        ".toSeconds",
        Arity::exactly(1),
        |_, args| whole(&args[0], 1_000),
        &["(.toSeconds duration)"],
        "The whole seconds of a duration.",
        &[("(.toSeconds (Duration/ofMinutes 2))", "120")],
    ),
    row(
        ".getSeconds",
        Arity::exactly(1),
        |_, args| whole(&args[0], 1_000),
        &["(.getSeconds duration)"],
        "The whole seconds of a duration.",
        &[("(.getSeconds (Duration/ofMinutes 2))", "120")],
    ),
];

/// A date or instant moved by an amount of a unit. A date is moved by whole days only.
pub(in crate::lisp::builtins) fn moved(value: &Value, amount: i64, unit: &str) -> EvalResult {
    let at = Moment::of(1, value)?;
    match unit_of(3, &Value::from(unit))? {
        Unit::Months(months) => {
            let moved = amount.checked_mul(months).and_then(|months| add_months(at.civil(), months));
            moved.map_or_else(|| outside().halt(), |day| Moment { day, ..at }.value())
        }
        Unit::Nanos(nanos) if at.nanos.is_none() && nanos < DAY_NANOS => {
            Err(hinted(wrong(1, "a datetime", value), "A date has no time of day: (.atStartOfDay date) is a datetime"))
        }
        Unit::Nanos(nanos) => {
            let moved = Moment::at(at.epoch_nanos() + i128::from(amount) * i128::from(nanos), at.zone);
            let moved = moved.map(|moved| Moment { nanos: at.nanos.and(moved.nanos), ..moved });
            moved.map_or_else(|| outside().halt(), Moment::value)
        }
    }
}

fn add_months(civil: jiff::civil::Date, months: i64) -> Option<Date> {
    let span = jiff::Span::new().try_months(months).ok()?;
    civil.checked_add(span).ok().map(Date::from)
}

/// The unit in argument `position`.
fn unit_of(position: usize, value: &Value) -> EvalResult<Unit> {
    let name = value.as_str().map(str::to_uppercase);
    let found = UNITS.iter().find(|(known, _)| name.as_deref() == Some(*known));
    found.map(|(_, unit)| *unit).ok_or_else(|| {
        let names: Vec<&str> = UNITS.iter().map(|(name, _)| *name).collect();
        hinted(wrong(position, "a unit such as ChronoUnit/DAYS", value), format!("Units: {}", names.join(", ")))
    })
}

fn by_amount(args: &[Value], sign: i64) -> EvalResult {
    match args {
        [at, amount, Value::Str(unit)] => moved(at, integer(2, amount)?.saturating_mul(sign), unit),
        [_, _, other] => Err(wrong(3, "a unit such as ChronoUnit/DAYS", other)),
        [Value::Duration(span), Value::Duration(other)] => {
            let sum = other.0.checked_mul(sign).and_then(|other| span.0.checked_add(other));
            sum.map(|ms| Value::Duration(Duration(ms))).ok_or_else(|| outside().into())
        }
        [at, Value::Duration(span)] => moved(at, span.0.saturating_mul(sign), "MILLIS"),
        [at, Value::Map(_)] => {
            let read = |name: &str| part(&args[1], name).and_then(|value| integer(2, &value));
            let months = read("years")?.saturating_mul(12).saturating_add(read("months")?);
            let later = moved(at, months.saturating_mul(sign), "MONTHS")?;
            moved(&later, read("days")?.saturating_mul(sign), "DAYS")
        }
        [_, other] => Err(wrong(2, "a duration or period", other)),
        _ => Ok(Value::Nil),
    }
}

/// Year, month and day.
type Civil = (i64, i64, i64);

fn with(args: &[Value], change: fn(Civil, i64) -> Civil) -> EvalResult {
    let at = Moment::of(1, &args[0])?;
    let civil = at.civil();
    let number = integer(2, &args[1])?;
    let fields = (i64::from(civil.year()), i64::from(civil.month()), i64::from(civil.day()));
    let (year, month, wanted) = change(fields, number);
    // A day that the month lacks is an error only where it was given.
    let last = day(year, month, 1)?.civil().map_or(31, |civil| i64::from(civil.days_in_month()));
    let wanted = if wanted == fields.2 && number != wanted { wanted.min(last) } else { wanted };
    Moment { day: day(year, month, wanted)?, ..at }.value()
}

fn truncated(_: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let at = Moment::of(1, &args[0])?;
    match unit_of(2, &args[1])? {
        Unit::Nanos(nanos) if nanos <= DAY_NANOS => {
            let of_day = at.of_day();
            Moment { nanos: at.nanos.map(|_| of_day - of_day % nanos), ..at }.value()
        }
        _ => Err(hinted(wrong(2, "a unit up to DAYS", &args[1]), "For a month use (.withDayOfMonth date 1)")),
    }
}

fn is_equal(_: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let (one, other) = (Moment::of(1, &args[0])?, Moment::of(2, &args[1])?);
    Ok(Value::Bool(one.epoch_nanos() == other.epoch_nanos()))
}

/// The number of whole units from one moment to another.
pub(in crate::lisp::builtins) fn between(unit: &Value, start: &Value, end: &Value) -> EvalResult {
    let unit = unit_of(1, unit)?;
    let (from, to) = (Moment::of(2, start)?, Moment::of(3, end)?);
    if from.nanos.is_some() != to.nanos.is_some() {
        return Err(hinted(
            wrong(3, if from.nanos.is_some() { "a datetime" } else { "a date" }, end),
            "Compare two dates or two datetimes: (.toLocalDate t), (.atStartOfDay d)",
        ));
    }
    Ok(Value::Int(match unit {
        Unit::Nanos(nanos) => {
            let units = (to.epoch_nanos() - from.epoch_nanos()) / i128::from(nanos);
            i64::try_from(units).map_err(|_| outside())?
        }
        // Both in the zone of the first one.
        Unit::Months(size) => months_between(from, Moment::at(to.epoch_nanos(), from.zone).unwrap_or(to)) / size,
    }))
}

/// The whole months from one moment to another.
fn months_between(from: Moment, to: Moment) -> i64 {
    let index = |at: Moment| i64::from(at.civil().year()) * 12 + i64::from(at.civil().month());
    let within = |at: Moment| (at.civil().day(), at.of_day());
    let months = index(to) - index(from);
    match within(to).cmp(&within(from)) {
        std::cmp::Ordering::Less if months > 0 => months - 1,
        std::cmp::Ordering::Greater if months < 0 => months + 1,
        _ => months,
    }
}

fn until(_: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let count = args.len();
    let [start, end, unit] = taken(args);
    if count == 2 { period(&start, &end) } else { between(&unit, &start, &end) }
}

/// A period as a map.
fn period_of(years: i64, months: i64, days: i64) -> EvalResult {
    let entry = |name: &str, count: i64| (Value::Keyword(Keyword::intern(name)), Value::Int(count));
    Ok(Value::map([entry("years", years), entry("months", months), entry("days", days)]))
}

fn period(start: &Value, end: &Value) -> EvalResult {
    let (from, to) = (Moment::of(1, start)?, Moment::of(2, end)?);
    let date = |at: Moment| Moment { nanos: None, zone: Zone::LOCAL, ..at };
    let (from, to) = (date(from), date(to));
    let months = months_between(from, to);
    let reached = add_months(from.civil(), months).ok_or_else(|| Box::<Halt>::from(outside()))?;
    period_of(months / 12, months % 12, i64::from(to.day.0) - i64::from(reached.0))
}

/// A part of a period.
fn part(value: &Value, name: &str) -> EvalResult {
    value
        .as_map()
        .and_then(|map| map.lookup(name))
        .cloned()
        .ok_or_else(|| hinted(wrong(1, "a period", value), "Use (Period/between start end)"))
}

fn total_months(_: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let (years, months) = (integer(1, &part(&args[0], "years")?)?, integer(1, &part(&args[0], "months")?)?);
    let total = years.checked_mul(12).and_then(|years| years.checked_add(months));
    total.map(Value::Int).ok_or_else(|| Error::new(Reason::ArithmeticError, "the period is too long").into())
}

fn whole(value: &Value, unit_ms: i64) -> EvalResult {
    match value {
        Value::Duration(span) => Ok(Value::Int(span.0 / unit_ms)),
        other => Err(hinted(wrong(1, "a duration", other), "Use (Duration/between start end)")),
    }
}
