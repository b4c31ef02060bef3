//! `DateTimeFormatter`: writing and reading dates and times by a pattern such as `dd.MM.yyyy HH:mm`.
//!
//! Letters: y u (year), M L (month, also by name), d (day), D (day of the year), E (day of the week), H h K k (hour),
//! m, s, S (fraction), a (AM or PM), Q (quarter), X x Z O V z (offset). Text in single quotes is literal.

use super::fields::day;
use super::{Arity, Builtin, DAYS, MONTHS, Moment, row};
use crate::lisp::builtins::argument::hinted;
use crate::lisp::machine::Machine;
use crate::lisp::{Error, EvalResult, Halt, wrong};
use crate::reasons::Reason;
use crate::value::{Value, Zone};

/// The rows of this file.
pub(super) const ROWS: &[Builtin] = &[
    row(
        "DateTimeFormatter/ofPattern",
        Arity::between(1, 2),
        of_pattern,
        &["(DateTimeFormatter/ofPattern pattern)"],
        "A formatter for dates and times: yyyy, MM, dd, HH, mm, ss, SSS, MMM, EEE, a and text in single quotes.",
        &[
            (
                "(.format (LocalDate/parse \"2026-03-09\") (DateTimeFormatter/ofPattern \"d MMM yyyy\"))",
                "\"9 Mar 2026\"",
            ),
            ("(LocalDate/parse \"09.03.2026\" (DateTimeFormatter/ofPattern \"dd.MM.yyyy\"))", "\"2026-03-09\""),
        ],
    ),
    row(
        ".format",
        Arity::exactly(2),
        format,
        &["(.format date formatter)", "(.format formatter date)"],
        "The date or datetime as text in the format.",
        &[("(.format (Instant/parse \"2026-03-09T14:05:06Z\") (DateTimeFormatter/ofPattern \"HH:mm\"))", "\"14:05\"")],
    ),
    row(
        ".parse",
        Arity::exactly(2),
        |machine, args| {
            args.swap(0, 1);
            parse_with(machine, args)
        },
        &["(.parse formatter text)"],
        "The date or datetime in a text with the format.",
        &[("(.parse (DateTimeFormatter/ofPattern \"yyyy/MM/dd\") \"2026/03/09\")", "\"2026-03-09\"")],
    ),
];

/// A part of a pattern.
enum Part<'p> {
    /// A letter, and how often it is repeated.
    Field(char, usize),
    Text(&'p str),
}

/// Longest pattern that is read.
const LONGEST: usize = 200;

/// The parts of a pattern.
fn parts(pattern: &str) -> EvalResult<Vec<Part<'_>>> {
    if pattern.len() > LONGEST {
        return Error::new(Reason::TypeError, format!("a pattern has at most {LONGEST} bytes")).halt();
    }
    let mut found = Vec::new();
    let mut rest = pattern;
    while let Some(first) = rest.chars().next() {
        let end;
        if first == '\'' {
            let inner = &rest[1..];
            let close = inner.find('\'').ok_or_else(|| unknown(pattern, "a quote is not closed"))?;
            found.push(Part::Text(if close == 0 { "'" } else { &inner[..close] }));
            end = close + 2;
        } else if first.is_ascii_alphabetic() {
            end = rest.find(|other| other != first).unwrap_or(rest.len());
            if !"yuMLdDEHhKkmsSaQXZxOVz".contains(first) {
                return Err(unknown(pattern, &format!("the letter {first} is not supported")));
            }
            found.push(Part::Field(first, end));
        } else if "[]{}#".contains(first) {
            return Err(unknown(pattern, &format!("{first} is not supported, as optional parts are not")));
        } else {
            let is_text = |other: char| !other.is_ascii_alphabetic() && !"'[]{}#".contains(other);
            end = rest.find(|other| !is_text(other)).unwrap_or(rest.len());
            found.push(Part::Text(&rest[..end]));
        }
        rest = &rest[end..];
    }
    Ok(found)
}

#[cold]
fn unknown(pattern: &str, problem: &str) -> Box<Halt> {
    Error::new(Reason::TypeError, format!("the pattern {pattern:?} cannot be used: {problem}"))
        .hint("Supported: yyyy yy MM M MMM MMMM dd d EEE EEEE HH H hh h mm ss SSS a Q X XXX, and text in single quotes")
        .into()
}

fn of_pattern(_: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let Value::Str(pattern) = &args[0] else { return Err(wrong(1, "a string", &args[0])) };
    parts(pattern)?;
    Ok(args[0].clone())
}

fn format(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    if matches!(args[0], Value::Str(_)) && !matches!(args[1], Value::Str(_)) {
        args.swap(0, 1);
    }
    let at = Moment::of(1, &args[0])?;
    let Value::Str(pattern) = &args[1] else {
        return Err(hinted(wrong(2, "a formatter", &args[1]), "Use (DateTimeFormatter/ofPattern \"yyyy-MM-dd\")"));
    };
    machine.ticks(pattern.len())?;
    let mut text = String::new();
    for part in parts(pattern)? {
        match part {
            Part::Text(literal) => text.push_str(literal),
            Part::Field(letter, count) => text.push_str(&shown(at, letter, count)?),
        }
    }
    Ok(text.into())
}

/// A name in the case of text: `MARCH` as `March`, cut to this many letters.
fn title(name: &str, letters: usize) -> String {
    let lower = name[1..letters.min(name.len())].to_lowercase();
    format!("{}{lower}", &name[..1])
}

fn name_of(names: &'static [&'static str], index: i8) -> &'static str {
    usize::try_from(index).ok().and_then(|index| names.get(index)).copied().unwrap_or("?")
}

fn shown(at: Moment, letter: char, count: usize) -> EvalResult<String> {
    let civil = at.civil();
    let padded = |number: i64| format!("{number:0count$}");
    let nanos = at.of_day();
    if at.nanos.is_none() && "HhKkmsSa".contains(letter) {
        return Error::new(Reason::TypeError, format!("a date has no time of day for `{letter}`"))
            .hint("(.atStartOfDay date) is a datetime")
            .halt();
    }
    let hour = nanos / 3_600_000_000_000;
    Ok(match letter {
        'y' | 'u' if count == 2 => format!("{:02}", i64::from(civil.year()).rem_euclid(100)),
        'y' | 'u' => padded(i64::from(civil.year())),
        'M' | 'L' if count > 3 => title(name_of(&MONTHS, civil.month() - 1), usize::MAX),
        'M' | 'L' if count == 3 => title(name_of(&MONTHS, civil.month() - 1), 3),
        'M' | 'L' => padded(i64::from(civil.month())),
        'd' => padded(i64::from(civil.day())),
        'D' => padded(i64::from(civil.day_of_year())),
        'E' => {
            let letters = if count > 3 { usize::MAX } else { 3 };
            title(name_of(&DAYS, civil.weekday().to_monday_zero_offset()), letters)
        }
        'H' => padded(hour),
        'k' => padded(if hour == 0 { 24 } else { hour }),
        'h' => padded((hour + 11) % 12 + 1),
        'K' => padded(hour % 12),
        'm' => padded(nanos / 60_000_000_000 % 60),
        's' => padded(nanos / 1_000_000_000 % 60),
        'S' => {
            let digits = format!("{:09}", nanos % 1_000_000_000);
            digits[..count.min(digits.len())].to_owned()
        }
        'a' => if hour < 12 { "AM" } else { "PM" }.to_owned(),
        'Q' if count > 2 => format!("Q{}", (civil.month() + 2) / 3),
        'Q' => padded(i64::from((civil.month() + 2) / 3)),
        _ => offset(at.zone, letter, count),
    })
}

/// The offset of a zone as these letters write it.
fn offset(zone: Zone, letter: char, count: usize) -> String {
    let minutes = zone.minutes();
    let sign = if minutes < 0 { '-' } else { '+' };
    let (hours, rest) = (minutes.abs() / 60, minutes.abs() % 60);
    let is_utc = minutes == 0;
    match (letter, count) {
        ('X', _) | ('Z', 5) if is_utc => "Z".to_owned(),
        ('z' | 'V', _) if is_utc => "UTC".to_owned(),
        ('O', _) | ('Z', 4) if is_utc => "GMT".to_owned(),
        ('X' | 'x', 1) if rest == 0 => format!("{sign}{hours:02}"),
        ('X' | 'x', 1 | 2) | ('Z', 1..=3) => format!("{sign}{hours:02}{rest:02}"),
        ('O', 1) if rest == 0 => format!("GMT{sign}{hours}"),
        ('O', _) | ('Z', 4) => format!("GMT{sign}{hours:02}:{rest:02}"),
        _ => format!("{sign}{hours:02}:{rest:02}"),
    }
}

/// Reads an offset or a name of UTC; returns the rest of the text.
fn read_offset(text: &str) -> Option<(Zone, &str)> {
    let after_name = ["UTC", "GMT"].iter().find_map(|name| text.strip_prefix(name));
    let (is_named, text) = (after_name.is_some(), after_name.unwrap_or(text));
    // The longest form first: +02:00, +0200, +02, Z.
    let found = [6, 5, 3, 1].iter().find_map(|length| Some((Zone::parse(text.get(..*length)?)?, &text[*length..])));
    found.or_else(|| is_named.then_some((Zone::UTC, text)))
}

/// The fields read from a text.
#[derive(Default)]
struct Fields {
    year: Option<i64>,
    month: Option<i64>,
    day: Option<i64>,
    hour: Option<i64>,
    minute: i64,
    second: i64,
    nanos: i64,
    zone: Option<Zone>,
    is_afternoon: Option<bool>,
    has_half_hours: bool,
}

/// `(LocalDate/parse text formatter)`: the date or datetime in a text with the format.
pub(in crate::lisp::builtins) fn parse_with(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let Value::Str(text) = &args[0] else { return Err(wrong(1, "a string", &args[0])) };
    let Value::Str(pattern) = &args[1] else {
        return Err(hinted(wrong(2, "a formatter", &args[1]), "Use (DateTimeFormatter/ofPattern \"yyyy-MM-dd\")"));
    };
    machine.ticks(text.len() + pattern.len())?;
    let mut fields = Fields::default();
    let mut rest: &str = text;
    let parts = parts(pattern)?;
    for (index, part) in parts.iter().enumerate() {
        // Digits of a field that touches the next field have exactly its width.
        let is_fixed = matches!(parts.get(index + 1), Some(Part::Field(..)));
        rest = read(&mut fields, part, is_fixed, rest).ok_or_else(|| mismatch(text, pattern))?;
    }
    if !rest.is_empty() {
        return Err(mismatch(text, pattern));
    }
    let (Some(year), Some(month)) = (fields.year, fields.month) else { return Err(mismatch(text, pattern)) };
    let date = day(year, month, fields.day.unwrap_or(1)).map_err(|_| mismatch(text, pattern))?;
    let Some(mut hour) = fields.hour else { return Ok(Value::Date(date)) };
    if fields.has_half_hours {
        hour = hour % 12 + if fields.is_afternoon == Some(true) { 12 } else { 0 };
    }
    if hour > 23 || fields.minute > 59 || fields.second > 59 {
        return Err(mismatch(text, pattern));
    }
    let seconds = (hour * 60 + fields.minute) * 60 + fields.second;
    let zone = fields.zone.unwrap_or(Zone::LOCAL);
    Moment { day: date, nanos: Some(seconds * 1_000_000_000 + fields.nanos), zone }.value()
}

#[cold]
fn mismatch(text: &str, pattern: &str) -> Box<Halt> {
    let shown = &text[..text.floor_char_boundary(60)];
    Error::new(Reason::TypeError, format!("{shown:?} does not match the pattern {pattern:?}"))
        .hint("Check the text first, or choose a pattern that fits it")
        .into()
}

/// Reads a part of a pattern from a text; returns the rest.
fn read<'t>(fields: &mut Fields, part: &Part<'_>, is_fixed: bool, text: &'t str) -> Option<&'t str> {
    let (letter, count) = match part {
        Part::Text(literal) => return text.strip_prefix(literal),
        Part::Field(letter, count) => (*letter, *count),
    };
    match letter {
        'M' | 'L' if count > 2 => {
            let (index, rest) = read_name(&MONTHS, if count == 3 { 3 } else { usize::MAX }, text)?;
            fields.month = Some(index + 1);
            return Some(rest);
        }
        'E' => return read_name(&DAYS, if count > 3 { usize::MAX } else { 3 }, text).map(|(_, rest)| rest),
        'a' => {
            let head = text.get(..2)?;
            fields.is_afternoon = Some(head.eq_ignore_ascii_case("PM"));
            return (head.eq_ignore_ascii_case("PM") || head.eq_ignore_ascii_case("AM")).then(|| &text[2..]);
        }
        'X' | 'Z' | 'x' | 'z' | 'V' | 'O' => {
            let (zone, rest) = read_offset(text)?;
            fields.zone = Some(zone);
            return Some(rest);
        }
        _ => {}
    }
    let available = text.bytes().take_while(u8::is_ascii_digit).count();
    let most = match letter {
        _ if is_fixed => count,
        'S' => count,
        'y' | 'u' => {
            if count == 2 {
                2
            } else {
                4
            }
        }
        'D' => 3,
        _ => 2,
    };
    let used = available.min(most);
    if used == 0 || used < count.min(most) {
        return None;
    }
    let (digits, rest) = text.split_at(used);
    let number: i64 = digits.parse().ok()?;
    match letter {
        'y' | 'u' => fields.year = Some(if count == 2 { 2000 + number } else { number }),
        'M' | 'L' => fields.month = Some(number),
        'd' => fields.day = Some(number),
        'H' | 'k' => fields.hour = Some(number % 24 + if number > 24 { 24 } else { 0 }),
        'h' | 'K' => {
            fields.hour = Some(number);
            fields.has_half_hours = true;
        }
        'm' => fields.minute = number,
        's' => fields.second = number,
        'S' => fields.nanos = format!("{digits:0<9}")[..9].parse().ok()?,
        _ => {}
    }
    Some(rest)
}

/// Reads a name; returns its index and the rest of the text.
fn read_name<'t>(names: &[&str], letters: usize, text: &'t str) -> Option<(i64, &'t str)> {
    names.iter().enumerate().find_map(|(index, name)| {
        let name = &name[..letters.min(name.len())];
        let head = text.get(..name.len())?;
        head.eq_ignore_ascii_case(name).then_some((i64::try_from(index).ok()?, &text[name.len()..]))
    })
}
