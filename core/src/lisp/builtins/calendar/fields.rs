//! Making dates and times, and reading their fields.

use super::zones::{same_instant, zone};
use super::{Arity, Builtin, DAYS, MONTHS, Moment, row};
use crate::lisp::builtins::argument::{hinted, integer};
use crate::lisp::machine::Machine;
use crate::lisp::{Error, EvalResult, Halt, wrong};
use crate::reasons::Reason;
use crate::value::{Date, Duration, Instant, Value, Zone};

/// A field of a date or time.
macro_rules! field {
    ($name:literal, $about:literal, $example:literal, $read:expr) => {
        row(
            $name,
            Arity::exactly(1),
            |_, args| {
                let read: fn(Moment) -> Value = $read;
                Ok(read(Moment::of(1, &args[0])?))
            },
            &[concat!("(", $name, " date)")],
            $about,
            &[(concat!("(", $name, " (Instant/parse \"2026-03-09T14:05:06Z\"))"), $example)],
        )
    };
}

/// The rows of this file.
pub(super) const ROWS: &[Builtin] = &[
    row(
        "LocalDate/of",
        Arity::exactly(3),
        date_of,
        &["(LocalDate/of year month day)"],
        "The date of a year, month (number or name) and day.",
        &[("(LocalDate/of 2026 3 9)", "\"2026-03-09\"")],
    ),
    row(
        "LocalDate/now",
        Arity::between(0, 1),
        |machine, _| now(machine).map(|at| Value::Date(at.day)),
        &["(LocalDate/now)"],
        "Today, in UTC.",
        &[("(= (LocalDate/now) (.toLocalDate (Instant/now)))", "true")],
    ),
    row(
        "LocalDate/ofEpochDay",
        Arity::exactly(1),
        of_epoch_day,
        &["(LocalDate/ofEpochDay days)"],
        "The date this many days after 1970-01-01.",
        &[("(LocalDate/ofEpochDay 1)", "\"1970-01-02\"")],
    ),
    row(
        "LocalDateTime/of",
        Arity::between(5, 7),
        time_of,
        &["(LocalDateTime/of year month day hour minute)", "(LocalDateTime/of year month day hour minute second)"],
        "The datetime of these fields, in UTC.",
        &[("(LocalDateTime/of 2026 3 9 14 5)", "\"2026-03-09T14:05:00Z\"")],
    ),
    row(
        "LocalDateTime/parse",
        Arity::between(1, 2),
        parse_time,
        &["(LocalDateTime/parse s)", "(LocalDateTime/parse s formatter)"],
        "The datetime in a text; without an offset it is UTC.",
        &[("(LocalDateTime/parse \"2026-03-09T14:05\")", "\"2026-03-09T14:05:00Z\"")],
    ),
    row(
        "Instant/now",
        Arity::between(0, 1),
        |machine, _| now(machine).and_then(Moment::value),
        &["(Instant/now)"],
        "The current time, in UTC.",
        &[("(= (.toEpochMilli (Instant/now)) (System/currentTimeMillis))", "true")],
    ),
    row(
        "Instant/ofEpochMilli",
        Arity::exactly(1),
        |_, args| of_epoch(args, 1_000_000),
        &["(Instant/ofEpochMilli ms)"],
        "The instant this many milliseconds after the start of 1970.",
        &[("(Instant/ofEpochMilli 1000)", "\"1970-01-01T00:00:01Z\"")],
    ),
    row(
        "Instant/ofEpochSecond",
        Arity::exactly(1),
        |_, args| of_epoch(args, 1_000_000_000),
        &["(Instant/ofEpochSecond s)"],
        "The instant this many seconds after the start of 1970.",
        &[("(Instant/ofEpochSecond 1)", "\"1970-01-01T00:00:01Z\"")],
    ),
    field!(".getYear", "The year.", "2026", |at| Value::Int(i64::from(at.civil().year()))),
    field!(".getMonthValue", "The number of the month, from 1.", "3", |at| Value::Int(i64::from(at.civil().month()))),
    field!(".getMonth", "The name of the month.", "\"MARCH\"", |at| named(&MONTHS, i64::from(at.civil().month()) - 1)),
    field!(".getDayOfMonth", "The day of the month, from 1.", "9", |at| Value::Int(i64::from(at.civil().day()))),
    field!(".getDayOfYear", "The day of the year, from 1.", "68", |at| Value::Int(i64::from(at.civil().day_of_year()))),
    field!(".getDayOfWeek", "The name of the day of the week.", "\"MONDAY\"", |at| {
        named(&DAYS, i64::from(at.civil().weekday().to_monday_zero_offset()))
    }),
    field!(".getHour", "The hour, 0 to 23.", "14", |at| Value::Int(at.of_day() / 3_600_000_000_000)),
    field!(".getMinute", "The minute.", "5", |at| Value::Int(at.of_day() / 60_000_000_000 % 60)),
    field!(".getSecond", "The second.", "6", |at| Value::Int(at.of_day() / 1_000_000_000 % 60)),
    field!(".getNano", "The nanoseconds of the second.", "0", |at| Value::Int(at.of_day() % 1_000_000_000)),
    field!(".lengthOfMonth", "The number of days of the month.", "31", |at| Value::Int(i64::from(
        at.civil().days_in_month()
    ))),
    field!(".lengthOfYear", "The number of days of the year.", "365", |at| Value::Int(i64::from(
        at.civil().days_in_year()
    ))),
    field!(".isLeapYear", "True for a date in a leap year.", "false", |at| Value::Bool(at.civil().in_leap_year())),
    field!(".toLocalDate", "The date of a datetime.", "\"2026-03-09\"", |at| Value::Date(at.day)),
    row(
        ".toLocalDateTime",
        Arity::exactly(1),
        |_, args| Moment::of(1, &args[0]).and_then(|at| Moment::local(at.day, at.of_day()).value()),
        &["(.toLocalDateTime datetime)"],
        "The datetime without its time zone; it counts as UTC.",
        &[("(.toLocalDateTime (Instant/parse \"2026-03-09T14:05:06Z\"))", "\"2026-03-09T14:05:06Z\"")],
    ),
    row(
        ".toInstant",
        Arity::between(1, 2),
        |_, args| match args {
            [local, offset] => Moment { zone: zone(2, offset)?, ..Moment::of(1, local)? }
                .value()
                .and_then(|at| same_instant(&at, Zone::UTC)),
            args => same_instant(&args[0], Zone::UTC),
        },
        &["(.toInstant datetime)", "(.toInstant local-datetime zone)"],
        "The datetime in UTC.",
        &[("(.toInstant (Instant/parse \"2026-03-09T14:05:06Z\"))", "\"2026-03-09T14:05:06Z\"")],
    ),
    field!(".toEpochMilli", "Milliseconds since the start of 1970.", "1773065106000", |at| at.epoch(1_000_000)),
    field!(".getEpochSecond", "Seconds since the start of 1970.", "1773065106", |at| at.epoch(1_000_000_000)),
    row(
        ".toEpochSecond",
        Arity::between(1, 2),
        |_, args| {
            let at = Moment::of(1, &args[0])?;
            let zone = args.get(1).map_or(Ok(at.zone), |offset| zone(2, offset))?;
            Ok(Moment { zone, ..at }.epoch(1_000_000_000))
        },
        &["(.toEpochSecond datetime)", "(.toEpochSecond local-datetime zone)"],
        "Seconds since the start of 1970.",
        &[("(.toEpochSecond (Instant/parse \"1970-01-01T00:00:05Z\"))", "5")],
    ),
    row(
        ".atStartOfDay",
        Arity::between(1, 2),
        |_, args| {
            let zone = args.get(1).map_or(Ok(Zone::LOCAL), |value| zone(2, value))?;
            Moment { nanos: Some(0), zone, ..Moment::of(1, &args[0])? }.value()
        },
        &["(.atStartOfDay date)", "(.atStartOfDay date zone)"],
        "The first moment of a date, in UTC or the time zone.",
        &[("(.atStartOfDay (LocalDate/parse \"2026-03-09\"))", "\"2026-03-09T00:00:00Z\"")],
    ),
    row(
        ".atTime",
        Arity::between(2, 4),
        at_time,
        &["(.atTime date hour minute)", "(.atTime date hour minute second)"],
        "The datetime at this time of a date.",
        &[("(.atTime (LocalDate/parse \"2026-03-09\") 14 5)", "\"2026-03-09T14:05:00Z\"")],
    ),
    row(
        ".getValue",
        Arity::exactly(1),
        get_value,
        &["(.getValue day-or-month)"],
        "The number of a day of the week (Monday is 1) or of a month; the value of an entry of a map.",
        &[("(.getValue DayOfWeek/MONDAY)", "1"), ("(.getValue (first (seq {:a 5})))", "5")],
    ),
];

/// The current time.
fn now(machine: &Machine<'_>) -> EvalResult<Moment> {
    let at = Instant::from_millis(machine.now_ms()).ok_or_else(outside)?;
    Moment::of(1, &Value::Instant(at))
}

#[cold]
pub(super) fn outside() -> Error {
    Error::new(Reason::TypeError, "the date is outside of the years -9999 to 9999")
}

fn named(names: &[&str], index: i64) -> Value {
    usize::try_from(index).ok().and_then(|index| names.get(index)).map_or(Value::Nil, |name| Value::from(*name))
}

/// The month in an argument: a number or a name.
fn month(position: usize, value: &Value) -> EvalResult<i64> {
    match value.as_str().and_then(|name| MONTHS.iter().position(|known| known.eq_ignore_ascii_case(name))) {
        Some(index) => Ok(i64::try_from(index).unwrap_or(0) + 1),
        None => integer(position, value),
    }
}

/// The day with these fields.
pub(super) fn day(year: i64, month: i64, day: i64) -> EvalResult<Date> {
    let civil = || {
        let (month, day) = (i8::try_from(month).ok()?, i8::try_from(day).ok()?);
        jiff::civil::Date::new(i16::try_from(year).ok()?, month, day).ok()
    };
    civil().map(Date::from).ok_or_else(|| no_day(year, month, day))
}

#[cold]
fn no_day(year: i64, month: i64, day: i64) -> Box<Halt> {
    Error::new(Reason::TypeError, format!("{year}-{month:02}-{day:02} is not a date"))
        .hint("Months are 1 to 12; (.lengthOfMonth date) is the last day of a month")
        .into()
}

fn date_of(_: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    day(integer(1, &args[0])?, month(2, &args[1])?, integer(3, &args[2])?).map(Value::Date)
}

fn of_epoch_day(_: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    Date::of_day(integer(1, &args[0])?).map(Value::Date).ok_or_else(|| outside().into())
}

/// The nanoseconds of a day at this time.
fn clock(hour: i64, minute: i64, second: i64) -> EvalResult<i64> {
    if (0..24).contains(&hour) && (0..60).contains(&minute) && (0..60).contains(&second) {
        return Ok(((hour * 60 + minute) * 60 + second) * 1_000_000_000);
    }
    Error::new(Reason::TypeError, format!("{hour:02}:{minute:02}:{second:02} is not a time of day")).halt()
}

/// The optional integer in an argument.
fn optional(args: &[Value], index: usize) -> EvalResult<i64> {
    args.get(index).map_or(Ok(0), |value| integer(index + 1, value))
}

fn time_of(_: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let day = day(integer(1, &args[0])?, month(2, &args[1])?, integer(3, &args[2])?)?;
    let nanos = clock(integer(4, &args[3])?, integer(5, &args[4])?, optional(args, 5)?)?;
    Moment::local(day, nanos + optional(args, 6)?.clamp(0, 999_999_999)).value()
}

fn at_time(_: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let nanos = clock(integer(2, &args[1])?, optional(args, 2)?, optional(args, 3)?)?;
    Moment { nanos: Some(nanos), ..Moment::of(1, &args[0])? }.value()
}

/// Reads a datetime; a text without seconds or offset is accepted.
fn parse_time(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    if args.len() > 1 {
        let at = Moment::of(1, &super::pattern::parse_with(machine, args)?)?;
        return Moment::local(at.day, at.of_day()).value();
    }
    let Value::Str(text) = &args[0] else { return Err(wrong(1, "a string", &args[0])) };
    let local = || Instant::parse(&format!("{text}Z")).map(|read| read.at.in_zone(Zone::LOCAL));
    let read = Instant::parse(text).map(|read| read.at).or_else(|_| local());
    read.map(Value::Instant).map_err(|_| {
        let problem = format!("{} is not a date and time", args[0].brief(60));
        Error::new(Reason::TypeError, problem)
            .hint("Write it like 2026-03-09T14:05:06; (LocalDate/parse s) reads a date")
            .into()
    })
}

fn of_epoch(args: &[Value], unit_nanos: i64) -> EvalResult {
    let at = Instant::from_nanos(i128::from(integer(1, &args[0])?) * i128::from(unit_nanos));
    at.map(Value::Instant).ok_or_else(|| outside().into())
}

fn get_value(_: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    match &args[0] {
        Value::List(entry) if entry.len() == 2 => Ok(entry.last().cloned().unwrap_or_default()),
        Value::Str(name) => {
            let found = |names: &[&str]| names.iter().position(|known| *known == &***name);
            let index = found(&DAYS).or_else(|| found(&MONTHS));
            index.and_then(|index| i64::try_from(index + 1).ok()).map(Value::Int).ok_or_else(|| {
                hinted(
                    wrong(1, "a day of the week, a month or an entry", &args[0]),
                    "Use (.getDayOfWeek date) or (.getMonth date)",
                )
            })
        }
        other => Err(wrong(1, "a day of the week, a month or an entry", other)),
    }
}

/// A duration of this many units.
pub(super) fn duration(args: &[Value], unit_ms: i64) -> EvalResult {
    let ms = integer(1, &args[0])?.checked_mul(unit_ms);
    ms.map(|ms| Value::Duration(Duration(ms))).ok_or_else(|| outside().into())
}
