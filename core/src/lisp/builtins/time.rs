//! Dates, instants and durations. All times are UTC; the current time comes from the machine.

use num_traits::ToPrimitive;

use super::calendar::{self, parse_with};
use super::{Arity, Builtin, Clojure, Cost};
use crate::lisp::machine::Machine;
use crate::lisp::{Error, EvalResult, wrong};
use crate::reasons::Reason;
use crate::value::{Date, Duration, Instant, Value};

/// Integers below this count seconds since 1970, others milliseconds.
const FIRST_MILLIS: i64 = 1_000_000_000_000;

/// The rows of this file.
pub(super) const ROWS: &[Builtin] = &[
    Builtin::new("java.util.Date.", Arity::between(0, 1), new_date)
        .doc(
            &["(java.util.Date.)", "(java.util.Date. x)"],
            "The current time, or the instant of a text (ISO 8601 or RFC 2822), or of seconds or milliseconds since 1970.",
        )
        .examples(&[
            ("(java.util.Date. 0)", "\"1970-01-01T00:00:00Z\""),
            ("(java.util.Date. \"2024-01-08T14:30:00+02:00\")", "\"2024-01-08T12:30:00Z\""),
            ("(java.util.Date. \"2024-01-08\")", "\"2024-01-08T00:00:00Z\""),
        ])
        .cost(Cost::Constant)
        .clojure(Clojure::Differs("Accepts texts; small integers are seconds.")),
    Builtin::new("LocalDate/parse", Arity::between(1, 2), parse)
        .takes_in_reference(Arity::exactly(1))
        .doc(&["(LocalDate/parse s)", "(LocalDate/parse s formatter)"], "The date in an ISO 8601 text, or the instant if it contains a T.")
        .examples(&[
            ("(LocalDate/parse \"2024-02-28\")", "\"2024-02-28\""),
            ("(LocalDate/parse \"2024-02-28T10:00:00\")", "\"2024-02-28T10:00:00Z\""),
        ])
        .cost(Cost::Constant)
        .clojure(Clojure::Named("java.time.LocalDate/parse")),
    Builtin::new("Instant/parse", Arity::exactly(1), parse)
        .doc(&["(Instant/parse s)"], "The instant in an ISO 8601 text, or the date if it contains no T.")
        .examples(&[
            ("(Instant/parse \"2024-01-01T00:00:00Z\")", "\"2024-01-01T00:00:00Z\""),
            ("(Instant/parse \"2024-01-01T00:00:00.500+01:00\")", "\"2023-12-31T23:00:00.500Z\""),
        ])
        .cost(Cost::Constant)
        .clojure(Clojure::Named("java.time.Instant/parse")),
    Builtin::new("Duration/between", Arity::exactly(2), between)
        .doc(&["(Duration/between start end)"], "The duration from one instant to another.")
        .examples(&[
            ("(.toMillis (Duration/between (java.util.Date. 0) (java.util.Date. 60)))", "60000"),
            ("(str (Duration/between (java.util.Date. 0) (java.util.Date. 60)))", "\"#duration[60000ms]\""),
        ])
        .cost(Cost::Constant)
        .clojure(Clojure::Named("java.time.Duration/between")),
    Builtin::new("System/currentTimeMillis", Arity::exactly(0), now)
        .doc(&["(System/currentTimeMillis)"], "Milliseconds since 1970.")
        .examples(&[("(integer? (System/currentTimeMillis))", "true"), ("(nat-int? (System/currentTimeMillis))", "true")])
        .cost(Cost::Constant),
    Builtin::new(".getTime", Arity::exactly(1), get_time)
        .doc(&["(.getTime datetime)"], "Milliseconds since 1970 of an instant.")
        .examples(&[
            ("(.getTime (java.util.Date. \"1970-01-01T00:00:01Z\"))", "1000"),
            ("(.getTime (java.util.Date. 0))", "0"),
        ])
        .cost(Cost::Constant),
    Builtin::new(".plusDays", Arity::exactly(2), plus_days)
        .doc(&["(.plusDays date days)"], "The date some days later.")
        .examples(&[
            ("(.plusDays (LocalDate/parse \"2024-02-28\") 2)", "\"2024-03-01\""),
            ("(.plusDays (LocalDate/parse \"2024-01-01\") -1)", "\"2023-12-31\""),
        ])
        .cost(Cost::Constant),
    Builtin::new(".minusDays", Arity::exactly(2), minus_days)
        .doc(&["(.minusDays date days)"], "The date some days earlier.")
        .examples(&[
            ("(.minusDays (LocalDate/parse \"2024-03-01\") 1)", "\"2024-02-29\""),
            ("(.minusDays (LocalDate/parse \"2024-01-01\") -1)", "\"2024-01-02\""),
        ])
        .cost(Cost::Constant),
    Builtin::new(".toEpochDay", Arity::exactly(1), to_epoch_day)
        .doc(&["(.toEpochDay date)"], "Days since 1970-01-01.")
        .examples(&[
            ("(.toEpochDay (LocalDate/parse \"1970-01-02\"))", "1"),
            ("(.toEpochDay (LocalDate/parse \"1969-12-31\"))", "-1"),
        ])
        .cost(Cost::Constant),
    Builtin::new(".toMillis", Arity::exactly(1), to_millis)
        .doc(&["(.toMillis duration)"], "The milliseconds of a duration.")
        .examples(&[
            ("(.toMillis (Duration/between (java.util.Date. 0) (java.util.Date. 1)))", "1000"),
            ("(.toMillis (Duration/between (java.util.Date. 10) (java.util.Date. 0)))", "-10000"),
        ])
        .cost(Cost::Constant),
    Builtin::new(".toDays", Arity::exactly(1), to_days)
        .doc(&["(.toDays duration)"], "The whole days of a duration, rounded toward zero.")
        .examples(&[
            ("(.toDays (Duration/between (java.util.Date. 0) (java.util.Date. 200000)))", "2"),
            ("(.toDays (Duration/between (java.util.Date. 100) (java.util.Date. 0)))", "0"),
        ])
        .cost(Cost::Constant),
    Builtin::new(".isBefore", Arity::exactly(2), is_before)
        .doc(&["(.isBefore a b)"], "True if a date or instant is before another.")
        .examples(&[
            ("(.isBefore (LocalDate/parse \"2024-01-01\") (LocalDate/parse \"2024-01-02\"))", "true"),
            ("(.isBefore (java.util.Date. 1) (java.util.Date. 1))", "false"),
        ])
        .cost(Cost::Constant),
    Builtin::new(".isAfter", Arity::exactly(2), is_after)
        .doc(&["(.isAfter a b)"], "True if a date or instant is after another.")
        .examples(&[
            ("(.isAfter (LocalDate/parse \"2024-01-02\") (LocalDate/parse \"2024-01-01\"))", "true"),
            ("(.isAfter (java.util.Date. 1) (java.util.Date. 1))", "false"),
        ])
        .cost(Cost::Constant),
];

fn outside(what: &str) -> Error {
    Error::new(Reason::TypeError, format!("{what} is outside of the years -9999 to 9999"))
}

/// The error for a text that is not a time.
fn unreadable(text: &str, expected: &str) -> Error {
    let shown = &text[..text.floor_char_boundary(60)];
    Error::new(Reason::TypeError, format!("\"{shown}\" is not {expected}")).hint("Write it like 2024-01-31T09:30:00Z")
}

fn new_date(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let at = match args.first() {
        None => Instant::from_millis(machine.now_ms()).map(|at| at.with_decimals(3)),
        Some(Value::Int(seconds)) if seconds.unsigned_abs() < FIRST_MILLIS.unsigned_abs() => {
            Instant::from_millis(seconds * 1_000)
        }
        Some(Value::Int(millis)) => Instant::from_millis(*millis).map(|at| at.with_decimals(3)),
        Some(Value::Big(_)) => None,
        Some(Value::Str(text)) => {
            let read = Instant::parse_utc(text)
                .or_else(|| Date::parse(text).map(Date::midnight))
                .or_else(|| Instant::parse_mail(text));
            let read = read.map(|at| Value::Instant(in_dialect(machine, at)));
            return read.ok_or_else(|| unreadable(text, "a date and time").into());
        }
        Some(Value::Date(date)) => Some(date.midnight()),
        Some(value @ Value::Instant(_)) => return Ok(value.clone()),
        Some(other) => return Err(wrong(1, "an integer or string", other)),
    };
    at.map(Value::Instant).ok_or_else(|| outside("the instant").into())
}

/// The instant as the dialect reads it: in the dialect `reference` without the digits after the microseconds.
fn in_dialect(machine: &Machine<'_>, at: Instant) -> Instant {
    if machine.is_reference() { at.in_micros() } else { at }
}

fn parse(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    if args.len() > 1 {
        return parse_with(machine, args).and_then(|read| calendar::date_of(&read));
    }
    let Value::Str(text) = &args[0] else { return Err(wrong(1, "a string", &args[0])) };
    let read = if text.contains('T') {
        Instant::parse_utc(text).map(|at| Value::Instant(in_dialect(machine, at)))
    } else {
        Date::parse(text).map(Value::Date)
    };
    read.ok_or_else(|| unreadable(text, "a date like 2024-01-31, or a date and time").into())
}

fn now(machine: &mut Machine<'_>, _: &mut [Value]) -> EvalResult {
    Ok(Value::Int(machine.now_ms()))
}

fn instant(position: usize, value: &Value) -> EvalResult<Instant> {
    match value {
        Value::Instant(at) => Ok(at.clone()),
        other => Err(wrong(position, "a datetime", other)),
    }
}

fn date(value: &Value) -> EvalResult<Date> {
    match value {
        Value::Date(day) => Ok(*day),
        other => Err(wrong(1, "a date", other)),
    }
}

fn span(value: &Value) -> EvalResult<Duration> {
    match value {
        Value::Duration(span) => Ok(*span),
        other => Err(wrong(1, "a duration", other)),
    }
}

fn between(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    if let ([Value::Date(start), Value::Date(end)], false) = (&*args, machine.is_reference()) {
        return Ok(Value::Duration(Duration((i64::from(end.0) - i64::from(start.0)) * 86_400_000)));
    }
    let (start, end) = (instant(1, &args[0])?, instant(2, &args[1])?);
    let millis = (end.nanos() - start.nanos()) / 1_000_000;
    Ok(Value::Duration(Duration(i64::try_from(millis).map_err(|_| outside("the duration"))?)))
}

fn get_time(_: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    Ok(Value::Int(instant(1, &args[0])?.millis()))
}

fn plus_days(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    moved(machine, args, 1)
}

fn minus_days(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    moved(machine, args, -1)
}

/// The date in argument 1, moved by the days in argument 2 in this direction.
fn moved(machine: &Machine<'_>, args: &[Value], direction: i128) -> EvalResult {
    if let (Value::Instant(_), Value::Int(days), false) = (&args[0], &args[1], machine.is_reference()) {
        let days = if direction < 0 { days.saturating_neg() } else { *days };
        return calendar::moved(&args[0], days, "DAYS");
    }
    let day = date(&args[0])?;
    let days = match &args[1] {
        Value::Int(days) => Some(i128::from(*days)),
        Value::Big(days) => days.to_i128(),
        other => return Err(wrong(2, "an integer", other)),
    };
    let moved = days.and_then(|days| i128::from(day.0).checked_add(days.checked_mul(direction)?));
    let moved = moved.and_then(|moved| i64::try_from(moved).ok()).and_then(Date::of_day);
    moved.map(Value::Date).ok_or_else(|| outside("the date").into())
}

fn to_epoch_day(_: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    Ok(Value::Int(i64::from(date(&args[0])?.0)))
}

fn to_millis(_: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    Ok(Value::Int(span(&args[0])?.0))
}

fn to_days(_: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    Ok(Value::Int(span(&args[0])?.0 / 86_400_000))
}

/// Compares two instants or two dates.
fn order(args: &[Value]) -> EvalResult<std::cmp::Ordering> {
    match (&args[0], &args[1]) {
        (Value::Date(a), Value::Date(b)) => Ok(a.cmp(b)),
        (Value::Instant(a), Value::Instant(b)) => Ok(a.cmp(b)),
        (Value::Date(_), other) => Err(wrong(2, "a date", other)),
        (Value::Instant(_), other) => Err(wrong(2, "a datetime", other)),
        (other, _) => Err(wrong(1, "a date or datetime", other)),
    }
}

fn is_before(_: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    Ok(Value::Bool(order(args)?.is_lt()))
}

fn is_after(_: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    Ok(Value::Bool(order(args)?.is_gt()))
}
