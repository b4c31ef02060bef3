//! Time zones: offsets from UTC as strings, and datetimes in them.
//!
//! In: `"Z"`, `"+02:00"` or a name of UTC. Out: an instant with the zone in which it is printed. Named zones such as
//! Europe/Berlin are rejected: their rules would have to come from the machine, and equal programs give equal values.

use super::{Arity, Builtin, Moment, row};
use crate::lisp::builtins::argument::{hinted, integer};
use crate::lisp::machine::Machine;
use crate::lisp::{Error, EvalResult, wrong};
use crate::reasons::Reason;
use crate::value::{Date, Instant, Value, Zone};

/// The rows of this file.
pub(super) const ROWS: &[Builtin] = &[
    row(
        "ZoneId/of",
        Arity::exactly(1),
        |_, args| zone(1, &args[0]).map(named),
        &["(ZoneId/of offset)"],
        "The time zone of an offset such as \"+02:00\", or UTC; named zones are rejected.",
        &[("(ZoneId/of \"UTC\")", "\"Z\""), ("(ZoneId/of \"+02:00\")", "\"+02:00\"")],
    ),
    row(
        "ZoneOffset/ofHours",
        Arity::between(1, 2),
        of_hours,
        &["(ZoneOffset/ofHours hours)", "(ZoneOffset/ofHours hours minutes)"],
        "The time zone this many hours east of UTC.",
        &[("(ZoneOffset/ofHours -5)", "\"-05:00\"")],
    ),
    AT_ZONE,
    AT_ZONE.named(".atOffset", &["(.atOffset datetime offset)"]),
    SAME_INSTANT,
    SAME_INSTANT.named(".withOffsetSameInstant", &["(.withOffsetSameInstant datetime offset)"]),
    row(
        "OffsetDateTime/parse",
        Arity::between(1, 2),
        parse,
        &["(OffsetDateTime/parse s)", "(OffsetDateTime/parse s formatter)"],
        "The datetime in a text, in the time zone of its offset.",
        &[("(OffsetDateTime/parse \"2026-03-09T14:05:06+02:00\")", "\"2026-03-09T14:05:06+02:00\"")],
    ),
    row(
        "LocalDateTime/ofInstant",
        Arity::exactly(2),
        |_, args| local_of(args).and_then(Moment::value),
        &["(LocalDateTime/ofInstant instant zone)"],
        "The local datetime of an instant in a time zone.",
        &[(
            "(.getHour (LocalDateTime/ofInstant (Instant/parse \"2026-03-09T14:05:06Z\") (ZoneId/of \"+02:00\")))",
            "16",
        )],
    ),
    row(
        "LocalDate/ofInstant",
        Arity::exactly(2),
        |_, args| local_of(args).map(|at| Value::Date(at.day)),
        &["(LocalDate/ofInstant instant zone)"],
        "The date of an instant in a time zone.",
        &[("(LocalDate/ofInstant (Instant/parse \"2026-03-09T23:05:06Z\") (ZoneId/of \"+02:00\"))", "\"2026-03-10\"")],
    ),
    row(
        ".getOffset",
        Arity::exactly(1),
        |_, args| Moment::of(1, &args[0]).map(|at| named(at.zone)),
        &["(.getOffset datetime)"],
        "The offset of a datetime.",
        &[("(.getOffset (OffsetDateTime/parse \"2026-03-09T14:05:06+02:00\"))", "\"+02:00\"")],
    ),
];

const AT_ZONE: Builtin = row(
    ".atZone",
    Arity::exactly(2),
    at_zone,
    &["(.atZone datetime zone)"],
    "An instant in another time zone; a local datetime as a time of this zone.",
    &[
        ("(.atZone (Instant/parse \"2026-03-09T14:05:06Z\") (ZoneId/of \"+02:00\"))", "\"2026-03-09T16:05:06+02:00\""),
        ("(.atZone (LocalDateTime/of 2026 3 9 14 5) (ZoneId/of \"+02:00\"))", "\"2026-03-09T14:05:00+02:00\""),
    ],
);

const SAME_INSTANT: Builtin = row(
    ".withZoneSameInstant",
    Arity::exactly(2),
    |_, args| same_instant(&args[0], zone(2, &args[1])?),
    &["(.withZoneSameInstant datetime zone)"],
    "The same instant in another time zone.",
    &[(
        "(.withZoneSameInstant (OffsetDateTime/parse \"2026-03-09T14:05:06+02:00\") (ZoneId/of \"UTC\"))",
        "\"2026-03-09T12:05:06Z\"",
    )],
);

/// A zone as a value.
fn named(zone: Zone) -> Value {
    zone.to_string().into()
}

/// The zone in argument `position`.
pub(super) fn zone(position: usize, value: &Value) -> EvalResult<Zone> {
    let Some(name) = value.as_str() else { return Err(wrong(position, "a time zone", value)) };
    let offset = ["UTC", "GMT"].iter().find_map(|base| name.strip_prefix(base)).unwrap_or(name);
    let found = if matches!(offset, "" | "Etc/UTC") { Some(Zone::UTC) } else { Zone::parse(offset) };
    found.ok_or_else(|| {
        Error::new(Reason::TypeError, format!("{} is not an offset from UTC", value.brief(60)))
            .hint("Named time zones are not supported: use an offset, (ZoneId/of \"+02:00\") or (ZoneOffset/ofHours 2)")
            .into()
    })
}

fn of_hours(_: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let minutes = args.get(1).map_or(Ok(0), |minutes| integer(2, minutes))?;
    let minutes = integer(1, &args[0])?.saturating_mul(60).saturating_add(minutes);
    Zone::of_minutes(minutes).map(named).ok_or_else(|| {
        Error::new(Reason::TypeError, format!("an offset of {minutes} minutes is out of range"))
            .hint("Offsets are from -18 to 18 hours")
            .into()
    })
}

/// The same instant in another zone.
pub(super) fn same_instant(value: &Value, zone: Zone) -> EvalResult {
    let at = Moment::at(Moment::of(1, value)?.epoch_nanos(), zone).ok_or_else(super::fields::outside)?;
    at.value()
}

fn at_zone(_: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let (at, zone) = (Moment::of(1, &args[0])?, zone(2, &args[1])?);
    if at.zone == Zone::LOCAL {
        return Moment { nanos: Some(at.of_day()), zone, ..at }.value();
    }
    same_instant(&args[0], zone)
}

/// The local fields of an instant in a zone.
fn local_of(args: &[Value]) -> EvalResult<Moment> {
    let there = same_instant(&args[0], zone(2, &args[1])?)?;
    Ok(Moment { zone: Zone::LOCAL, ..Moment::of(1, &there)? })
}

fn parse(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    if args.len() > 1 {
        return super::pattern::parse_with(machine, args);
    }
    let Value::Str(text) = &args[0] else { return Err(wrong(1, "a string", &args[0])) };
    // A name after the offset adds nothing: `2026-03-09T14:05+01:00[Europe/Paris]`.
    let written = text.split_once('[').map_or(&***text, |(written, _)| written);
    let read = Instant::parse(written);
    read.map(|read| Value::Instant(read.at.in_zone(read.zone))).map_err(|error| {
        let error = Error::new(Reason::TypeError, format!("{} is {error}", args[0].brief(60)));
        let has_date = Date::parse(text).is_some();
        if has_date { hinted(error.into(), "(LocalDate/parse s) reads a date") } else { error.into() }
    })
}
