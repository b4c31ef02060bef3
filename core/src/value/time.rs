//! Points in time: UTC, held as microseconds since 1970, read from and written as ISO 8601.
//!
//! Only texts with date, time and offset are points in time; what is missing is named in the error.

use jiff::civil::DateTime;
use jiff::tz::TimeZone;

/// A point in time in microseconds since 1970-01-01T00:00:00Z.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Instant(pub i64);

/// A day, counted from 1970-01-01.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Date(pub i32);

/// A span of time in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Duration(pub i64);

/// ISO 8601; outside the years ±9999 the bare number of days.
impl std::fmt::Display for Date {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let epoch = jiff::civil::date(1970, 1, 1);
        match epoch.checked_add(jiff::Span::new().try_days(i64::from(self.0)).unwrap_or_default()) {
            Ok(day) if self.0 == 0 || day != epoch => write!(f, "{day}"),
            _ => write!(f, "{}d", self.0),
        }
    }
}

/// A point in time as read from text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ZonedInstant {
    /// The point in time.
    pub at: Instant,
    /// The text gave it in UTC (`Z` or an offset of zero).
    pub in_utc: bool,
}

/// Why a text is not a point in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeError {
    /// Not a date and time in ISO 8601 at all, or no such day or hour.
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

impl Instant {
    /// Reads `YYYY-MM-DDThh:mm[:ss[.fraction]]` with `Z` or an offset `±hh[[:]mm]`. The separator may be `T`, `t` or
    /// a space, the decimal sign a comma; digits after the microseconds are dropped.
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
        let micros = if rest.sign(".,").is_some() { rest.fraction()? } else { 0 };
        let local = civil(year, month, day, [hour, minute, second])?;
        if rest.0.is_empty() {
            return Err(TimeError::NoOffset);
        }
        let offset_s = rest.offset()?;
        if !rest.0.is_empty() {
            return Err(TimeError::Invalid);
        }
        let utc = local.to_zoned(TimeZone::UTC).map_err(|_| TimeError::Invalid)?.timestamp().as_microsecond();
        let at = utc + micros - offset_s * 1_000_000;
        jiff::Timestamp::from_microsecond(at).map_err(|_| TimeError::Invalid)?;
        Ok(ZonedInstant { at: Self(at), in_utc: offset_s == 0 })
    }
}

/// ISO 8601 in UTC, always with `Z`; as many decimals as needed. Outside the years ±9999 the bare number.
impl std::fmt::Display for Instant {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match jiff::Timestamp::from_microsecond(self.0) {
            Ok(at) => write!(f, "{at}"),
            Err(_) => write!(f, "{}us", self.0),
        }
    }
}

fn civil(year: i64, month: i64, day: i64, [hour, minute, second]: [i64; 3]) -> Result<DateTime, TimeError> {
    let small = |number: i64| i8::try_from(number).map_err(|_| TimeError::Invalid);
    let year = i16::try_from(year).map_err(|_| TimeError::Invalid)?;
    DateTime::new(year, small(month)?, small(day)?, small(hour)?, small(minute)?, small(second)?, 0)
        .map_err(|_| TimeError::Invalid)
}

/// What is left of a text being read.
struct Digits<'a>(&'a [u8]);

impl Digits<'_> {
    /// Takes one of these characters if it comes next.
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

    /// Microseconds from the digits of a fraction of a second; at least one digit.
    fn fraction(&mut self) -> Result<i64, TimeError> {
        let mut micros = self.digit().ok_or(TimeError::Invalid)? * 100_000;
        let mut worth = 10_000;
        while let Some(digit) = self.digit() {
            micros += digit * worth;
            worth /= 10;
        }
        Ok(micros)
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
            ("2024-01-08T14:30:00,1234569+01", "2024-01-08T13:30:00.123456Z", false),
            ("2024-02-29T23:59:59-00:01", "2024-03-01T00:00:59Z", false),
            ("1969-12-31T23:59:59.5Z", "1969-12-31T23:59:59.5Z", true),
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
    fn points_in_time_outside_the_calendar_still_print() {
        assert_eq!(Instant(i64::MAX).to_string(), format!("{}us", i64::MAX));
        assert_eq!(Instant(1).to_string(), "1970-01-01T00:00:00.000001Z");
    }
}
