//! Instants: stored as nanoseconds since 1970, read and written as ISO 8601.
//!
//! Only texts with date, time and offset are instants; the error names the missing part.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use jiff::civil::DateTime;

/// An instant in nanoseconds since 1970-01-01T00:00:00Z. It also has the offset and the minimum number of decimals of its
/// seconds with which it is printed; comparisons ignore both.
#[derive(Debug, Clone)]
pub struct Instant(Arc<Parts>);

/// The parts of an instant. They are shared, so that a value stays at 16 bytes.
#[derive(Debug, Clone, Copy)]
struct Parts {
    nanos: i128,
    decimals: u8,
    zone: Zone,
}

/// The time zone of an [`Instant`]: an offset in minutes, or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Zone(i16);

impl Zone {
    /// UTC.
    pub const UTC: Self = Self(0);
    /// No zone: the fields of a local datetime, which count as UTC.
    pub const LOCAL: Self = Self(i16::MIN);
    /// The largest offset in minutes, as in `java.time`.
    const MOST_MINUTES: i64 = 18 * 60;

    /// An offset in minutes east of UTC; `None` beyond 18 hours.
    pub fn of_minutes(minutes: i64) -> Option<Self> {
        let is_allowed = (-Self::MOST_MINUTES..=Self::MOST_MINUTES).contains(&minutes);
        i16::try_from(minutes).ok().filter(|_| is_allowed).map(Self)
    }

    /// Reads `Z` or an offset `±hh[[:]mm]`.
    pub fn parse(text: &str) -> Option<Self> {
        let mut rest = Digits(text.as_bytes());
        let seconds = rest.offset().ok()?;
        Self::of_minutes(seconds / 60).filter(|_| rest.0.is_empty())
    }

    /// Minutes east of UTC.
    pub fn minutes(self) -> i64 {
        if self == Self::LOCAL { 0 } else { i64::from(self.0) }
    }
}

/// `Z` or `±hh:mm`.
impl std::fmt::Display for Zone {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let minutes = self.minutes();
        let sign = if minutes < 0 { '-' } else { '+' };
        match minutes.abs() {
            0 => f.write_str("Z"),
            minutes => write!(f, "{sign}{:02}:{:02}", minutes / 60, minutes % 60),
        }
    }
}

/// A day, counted from 1970-01-01.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Date(pub i32);

/// A duration in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Duration(pub i64);

/// ISO 8601; outside the years ±9999 the bare number of days.
impl std::fmt::Display for Date {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Some(day) = self.civil() else { return write!(f, "{}d", self.0) };
        let sign = if day.year() < 0 { "-" } else { "" };
        write!(f, "{sign}{:04}-{:02}-{:02}", day.year().unsigned_abs(), day.month(), day.day())
    }
}

/// An instant read from text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ZonedInstant {
    /// The instant.
    pub at: Instant,
    /// True if the text had `Z` or an offset of zero.
    pub in_utc: bool,
    /// The offset of the text, UTC beyond 18 hours. The instant itself is printed in UTC.
    pub zone: Zone,
}

/// The reason why a text is not an instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeError {
    /// Not a date and time in ISO 8601, or a day or hour that does not exist.
    Invalid,
    /// A date without a time.
    DateOnly,
    /// Date and time without an offset.
    NoOffset,
}

impl std::fmt::Display for TimeError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Invalid => "not an ISO 8601 date and time; write it like 2024-01-31T09:30:00Z",
            Self::DateOnly => "a date without a time; add both time and offset, like 2024-01-31T09:30:00Z",
            Self::NoOffset => "a time without an offset; add Z for UTC or an offset such as +02:00",
        })
    }
}

impl std::error::Error for TimeError {}

impl PartialEq for Instant {
    fn eq(&self, other: &Self) -> bool {
        self.nanos() == other.nanos()
    }
}

impl Eq for Instant {}

impl PartialOrd for Instant {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Instant {
    fn cmp(&self, other: &Self) -> Ordering {
        self.nanos().cmp(&other.nanos())
    }
}

impl Hash for Instant {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.nanos().hash(state);
    }
}

impl Instant {
    /// The instant this many microseconds after the start of 1970.
    pub fn new(micros: i64) -> Self {
        Self::of(i128::from(micros) * 1_000)
    }

    fn of(nanos: i128) -> Self {
        Self(Arc::new(Parts { nanos, decimals: 0, zone: Zone::UTC }))
    }

    /// The instant this many nanoseconds after the start of 1970; `None` outside of the calendar.
    pub fn from_nanos(nanos: i128) -> Option<Self> {
        Date::of_day(i64::try_from(nanos.div_euclid(DAY_NANOS)).ok()?).map(|_| Self::of(nanos))
    }

    /// Nanoseconds since 1970.
    pub fn nanos(&self) -> i128 {
        self.0.nanos
    }

    /// Microseconds since 1970, rounded down.
    pub fn micros(&self) -> i64 {
        i64::try_from(self.nanos().div_euclid(1_000)).unwrap_or(i64::MAX)
    }

    /// The same instant without the nanoseconds after its microseconds.
    #[must_use]
    pub fn in_micros(&self) -> Self {
        let nanos = self.nanos() - self.nanos().rem_euclid(1_000);
        Self(Arc::new(Parts { nanos, decimals: self.0.decimals.min(6), zone: self.0.zone }))
    }

    /// The zone in which it is printed.
    pub fn zone(&self) -> Zone {
        self.0.zone
    }

    /// The same instant, printed in this zone.
    #[must_use]
    pub fn in_zone(&self, zone: Zone) -> Self {
        Self(Arc::new(Parts { zone, ..*self.0 }))
    }

    /// Milliseconds since 1970, rounded down.
    pub fn millis(&self) -> i64 {
        self.micros().div_euclid(1_000)
    }

    /// The same instant, printed with at least this many decimals of the second, at most nine.
    #[must_use]
    pub fn with_decimals(&self, decimals: u8) -> Self {
        Self(Arc::new(Parts { decimals: decimals.min(9), ..*self.0 }))
    }

    /// The instant this many milliseconds after the start of 1970; `None` outside of the calendar.
    pub fn from_millis(millis: i64) -> Option<Self> {
        let micros = millis.checked_mul(1_000)?;
        Date::of_day(micros.div_euclid(DAY)).map(|_| Self::new(micros))
    }

    /// Reads `YYYY-MM-DDThh:mm[:ss[.fraction]]` with `Z` or an offset `±hh[[:]mm]`. The separator may be `T`, `t` or
    /// a space, the decimal sign a comma; digits after the nanoseconds are dropped.
    pub fn parse(text: &str) -> Result<ZonedInstant, TimeError> {
        let mut rest = Digits(text.as_bytes());
        let negative = rest.sign("-").is_some();
        let year = rest.number(4)?;
        let year = if negative { -year } else { year };
        rest.expect(b"-")?;
        let month = rest.number(2)?;
        rest.expect(b"-")?;
        let day = rest.number(2)?;
        if rest.0.is_empty() {
            return Err(civil(year, month, day, [0; 3]).map_or(TimeError::Invalid, |_| TimeError::DateOnly));
        }
        rest.expect(b"Tt ")?;
        let hour = rest.number(2)?;
        rest.expect(b":")?;
        let minute = rest.number(2)?;
        let second = if rest.sign(":").is_some() { rest.number(2)? } else { 0 };
        let (nanos, decimals) = if rest.sign(".,").is_some() { rest.fraction()? } else { (0, 0) };
        let local = civil(year, month, day, [hour, minute, second])?;
        if rest.0.is_empty() {
            return Err(TimeError::NoOffset);
        }
        let offset_s = rest.offset()?;
        if !rest.0.is_empty() {
            return Err(TimeError::Invalid);
        }
        let seconds = i64::from(local.hour()) * 3_600 + i64::from(local.minute()) * 60 + i64::from(local.second());
        let day = i64::from(Date::from(local.date()).0) * 86_400;
        let nanos = i128::from(day + seconds - offset_s) * 1_000_000_000 + i128::from(nanos);
        let at = Self::from_nanos(nanos).ok_or(TimeError::Invalid)?;
        let zone = Zone::of_minutes(offset_s / 60).unwrap_or(Zone::UTC);
        Ok(ZonedInstant { at: at.with_decimals(decimals), in_utc: offset_s == 0, zone })
    }

    /// Reads a date and time as in [`Instant::parse`], but seconds are required; without an offset it is UTC.
    pub fn parse_utc(text: &str) -> Option<Self> {
        let (_, time) = text.split_once(['T', 't', ' '])?;
        if time.as_bytes().get(5) != Some(&b':') {
            return None;
        }
        match Self::parse(text) {
            Err(TimeError::NoOffset) => Self::parse(&format!("{text}Z")).ok(),
            read => read.ok(),
        }
        .map(|read| read.at)
    }

    /// Reads a time in the format of mail headers: `Thu, 8 Jan 2026 14:30:00 +0200`. A wrong day of the week is
    /// ignored.
    pub fn parse_mail(text: &str) -> Option<Self> {
        let parser = jiff::fmt::rfc2822::DateTimeParser::new().relaxed_weekday(true);
        parser.parse_timestamp(text.trim()).ok().map(|at| Self::new(at.as_microsecond()))
    }
}

/// Microseconds of a day.
const DAY: i64 = 86_400_000_000;
/// Nanoseconds of a day.
const DAY_NANOS: i128 = 86_400_000_000_000;

/// The first day.
const EPOCH: jiff::civil::Date = jiff::civil::date(1970, 1, 1);

impl From<jiff::civil::Date> for Date {
    fn from(day: jiff::civil::Date) -> Self {
        Self((day - EPOCH).get_days())
    }
}

impl Date {
    /// Reads `YYYY-MM-DD`.
    pub fn parse(text: &str) -> Option<Self> {
        if Instant::parse(text) != Err(TimeError::DateOnly) {
            return None;
        }
        let midnight = Instant::parse(&format!("{text}T00:00:00Z")).ok()?;
        Self::of_day(midnight.at.micros().div_euclid(DAY))
    }

    /// The calendar date; `None` outside of the years ±9999.
    pub(crate) fn civil(self) -> Option<jiff::civil::Date> {
        let span = jiff::Span::new().try_days(i64::from(self.0)).ok()?;
        EPOCH.checked_add(span).ok()
    }

    /// The day this many days after 1970-01-01; `None` outside of the years ±9999.
    pub fn of_day(days: i64) -> Option<Self> {
        let day = i32::try_from(days).ok().map(Self)?;
        day.civil().map(|_| day)
    }

    /// Its first moment in UTC.
    pub fn midnight(self) -> Instant {
        Instant::new(i64::from(self.0) * DAY)
    }
}

/// ISO 8601 with `Z` or the offset; as many decimals as needed, or as many as given. Outside of the years ±9999 the bare
/// number.
impl std::fmt::Display for Instant {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let local = self.nanos() + i128::from(self.zone().minutes()) * 60_000_000_000;
        let Some(day) = i64::try_from(local.div_euclid(DAY_NANOS)).ok().and_then(Date::of_day) else {
            return write!(f, "{}us", self.micros());
        };
        let (seconds, nanos) = (local.rem_euclid(DAY_NANOS) / 1_000_000_000, local.rem_euclid(1_000_000_000));
        write!(f, "{day}T{:02}:{:02}:{:02}", seconds / 3_600, seconds / 60 % 60, seconds % 60)?;
        let digits = format!("{nanos:09}");
        let shown = usize::from(self.0.decimals).max(digits.trim_end_matches('0').len());
        if let Some(digits) = digits.get(..shown).filter(|digits| !digits.is_empty()) {
            write!(f, ".{digits}")?;
        }
        write!(f, "{}", self.zone())
    }
}

fn civil(year: i64, month: i64, day: i64, [hour, minute, second]: [i64; 3]) -> Result<DateTime, TimeError> {
    let small = |number: i64| i8::try_from(number).map_err(|_| TimeError::Invalid);
    let year = i16::try_from(year).map_err(|_| TimeError::Invalid)?;
    DateTime::new(year, small(month)?, small(day)?, small(hour)?, small(minute)?, small(second)?, 0)
        .map_err(|_| TimeError::Invalid)
}

/// The rest of a text being read.
struct Digits<'a>(&'a [u8]);

impl Digits<'_> {
    /// Takes one of these characters if it is next.
    fn sign(&mut self, allowed: &str) -> Option<u8> {
        let (&first, rest) = self.0.split_first()?;
        allowed.as_bytes().contains(&first).then(|| {
            self.0 = rest;
            first
        })
    }

    fn expect(&mut self, allowed: &[u8]) -> Result<(), TimeError> {
        match self.0.split_first() {
            Some((first, rest)) if allowed.contains(first) => {
                self.0 = rest;
                Ok(())
            }
            _ => Err(TimeError::Invalid),
        }
    }

    fn digit(&mut self) -> Option<i64> {
        let (&first, rest) = self.0.split_first()?;
        first.is_ascii_digit().then(|| {
            self.0 = rest;
            i64::from(first - b'0')
        })
    }

    fn number(&mut self, digits: usize) -> Result<i64, TimeError> {
        (0..digits).try_fold(0, |number, _| Some(number * 10 + self.digit()?)).ok_or(TimeError::Invalid)
    }

    /// Nanoseconds from the digits of a fraction of a second, and the number of digits; at least one.
    fn fraction(&mut self) -> Result<(i64, u8), TimeError> {
        let mut nanos = self.digit().ok_or(TimeError::Invalid)? * 100_000_000;
        let mut worth = 10_000_000;
        let mut digits = 1_u8;
        while let Some(digit) = self.digit() {
            nanos += digit * worth;
            worth /= 10;
            digits = digits.saturating_add(1);
        }
        Ok((nanos, digits))
    }

    /// Seconds east of UTC.
    fn offset(&mut self) -> Result<i64, TimeError> {
        if self.sign("Zz").is_some() {
            return Ok(0);
        }
        let sign = if self.sign("+-").ok_or(TimeError::Invalid)? == b'-' { -1 } else { 1 };
        let hours = self.number(2)?;
        let minutes = if self.sign(":").is_some() || !self.0.is_empty() { self.number(2)? } else { 0 };
        if hours > 23 || minutes > 59 {
            return Err(TimeError::Invalid);
        }
        Ok(sign * (hours * 3_600 + minutes * 60))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_with_an_offset_are_read_as_utc() {
        let cases = [
            ("2024-01-08T14:30:00Z", "2024-01-08T14:30:00Z", true),
            ("2024-01-08T14:30:00+00:00", "2024-01-08T14:30:00Z", true),
            ("2024-01-08T14:30:00+02:00", "2024-01-08T12:30:00Z", false),
            ("2024-01-08 14:30:00-0530", "2024-01-08T20:00:00Z", false),
            ("2024-01-08t14:30z", "2024-01-08T14:30:00Z", true),
            ("2024-01-08T14:30:00.123Z", "2024-01-08T14:30:00.123Z", true),
            ("2024-01-08T14:30:00.500Z", "2024-01-08T14:30:00.500Z", true),
            ("2024-01-08T14:30:00,1234569+01", "2024-01-08T13:30:00.1234569Z", false),
            ("2024-01-08T14:30:00.1234567891Z", "2024-01-08T14:30:00.123456789Z", true),
            ("2024-01-08T14:30:00.100000000Z", "2024-01-08T14:30:00.100000000Z", true),
            ("2024-02-29T23:59:59-00:01", "2024-03-01T00:00:59Z", false),
            ("1969-12-31T23:59:59.5Z", "1969-12-31T23:59:59.5Z", true),
            ("9999-12-31T23:59:59Z", "9999-12-31T23:59:59Z", true),
            ("-0001-01-01T00:00:00Z", "-0001-01-01T00:00:00Z", true),
        ];
        for (text, expected, in_utc) in cases {
            let read = Instant::parse(text);
            assert_eq!(
                read.map(|read| (read.at.to_string(), read.in_utc)),
                Ok((expected.to_owned(), in_utc)),
                "{text}"
            );
        }
    }

    #[test]
    fn what_is_missing_is_named() {
        let cases = [
            ("2024-01-08", TimeError::DateOnly),
            ("2024-01-08T14:30:00", TimeError::NoOffset),
            ("2024-01-08T14:30:00.5", TimeError::NoOffset),
            ("2024-02-30", TimeError::Invalid),
            ("2024-02-30T00:00:00Z", TimeError::Invalid),
            ("2024-01-08T24:00:00Z", TimeError::Invalid),
            ("2024-01-08T14:30:60Z", TimeError::Invalid),
            ("2024-01-08T14:30:00+24:00", TimeError::Invalid),
            ("2024-01-08T14:30:00+2", TimeError::Invalid),
            ("2024-01-08T14:30:00.Z", TimeError::Invalid),
            ("2024-01-08T14:30:00Z ", TimeError::Invalid),
            ("2024-1-8T14:30:00Z", TimeError::Invalid),
            ("20240108T143000Z", TimeError::Invalid),
            ("9999-12-31T23:59:59-23:59", TimeError::Invalid),
            ("tomorrow", TimeError::Invalid),
            ("", TimeError::Invalid),
            ("٢٠٢٤-01-08T14:30:00Z", TimeError::Invalid),
        ];
        for (text, expected) in cases {
            assert_eq!(Instant::parse(text), Err(expected), "{text}");
        }
    }

    #[test]
    fn dates_are_read_and_written_to_the_ends_of_the_calendar() {
        for text in ["1970-01-01", "2024-02-29", "9999-12-31", "-9999-01-01", "0000-03-01"] {
            assert_eq!(Date::parse(text).map(|day| day.to_string()).as_deref(), Some(text));
        }
        for text in ["2023-02-29", "2024-1-1", "", "2024-01-01T00:00:00Z", "10000-01-01"] {
            assert_eq!(Date::parse(text), None, "{text}");
        }
        assert_eq!(Date::of_day(i64::MAX), None);
        assert_eq!(Date(i32::MAX).to_string(), format!("{}d", i32::MAX));
    }

    #[test]
    fn points_in_time_outside_the_calendar_still_print() {
        assert_eq!(Instant::new(i64::MAX).to_string(), format!("{}us", i64::MAX));
        assert_eq!(Instant::new(1).to_string(), "1970-01-01T00:00:00.000001Z");
        assert_eq!(Instant::new(500_000).with_decimals(3).to_string(), "1970-01-01T00:00:00.500Z");
        assert_eq!(Instant::new(0).with_decimals(3), Instant::new(0));
    }

    #[test]
    fn nanoseconds_count_in_comparisons_and_offsets_do_not() {
        let read = |text: &str| Instant::parse(text).unwrap().at;
        let (one, next) = (read("1969-12-31T23:59:59.000000001Z"), read("1969-12-31T23:59:59.000000002Z"));
        assert!(one < next && one != next && one.in_micros() == next.in_micros());
        assert_eq!(next.nanos(), -999_999_998);
        assert_eq!(next.in_micros().to_string(), "1969-12-31T23:59:59.000000Z");
        let east = Zone::parse("+05:30").unwrap();
        assert_eq!(next.in_zone(east), next);
        assert_eq!(next.in_zone(east).to_string(), "1970-01-01T05:29:59.000000002+05:30");
        for (text, minutes) in [("Z", Some(0)), ("-0130", Some(-90)), ("+18", Some(1_080)), ("+19", None), ("+2", None)]
        {
            assert_eq!(Zone::parse(text).map(Zone::minutes), minutes, "{text}");
        }
    }
}
