//! The waiting time that a service asks for, in any form.
//!
//! In: the headers and the body of a refusal, and the time. Out: ms to wait, if one is given.
//! It must never take a limit that still has room for a reason to wait.

use jiff::Timestamp;
use jiff::fmt::{rfc2822, strtime};
use serde_json::Value;

use super::assembly::rounded_up;

/// Headers with a wait in seconds or a date; the second one is that of an upstream service, passed on by a gateway.
const RETRY_AFTER: [&str; 2] = ["retry-after", "llm_provider-retry-after"];

/// Headers about when a limit is full again: the one with the remaining amount, and the one with the time. The names are those of
/// `OpenAI` and its imitators, of Anthropic, of routers.
const RESETS: [(&str, &str); 8] = [
    ("x-ratelimit-remaining-requests", "x-ratelimit-reset-requests"),
    ("x-ratelimit-remaining-tokens", "x-ratelimit-reset-tokens"),
    ("anthropic-ratelimit-requests-remaining", "anthropic-ratelimit-requests-reset"),
    ("anthropic-ratelimit-tokens-remaining", "anthropic-ratelimit-tokens-reset"),
    ("anthropic-ratelimit-input-tokens-remaining", "anthropic-ratelimit-input-tokens-reset"),
    ("anthropic-ratelimit-output-tokens-remaining", "anthropic-ratelimit-output-tokens-reset"),
    ("x-ratelimit-remaining", "x-ratelimit-reset"),
    ("ratelimit-remaining", "ratelimit-reset"),
];

/// Numbers above this are points in time in ms, above [`SECONDS_SINCE_1970`] points in time in seconds, and spans in seconds below.
const MS_SINCE_1970: f64 = 1e11;
const SECONDS_SINCE_1970: f64 = 1e8;

/// Returns the wait that an answer asks for, in ms: `retry-after-ms`, else `retry-after` in seconds or as an HTTP date, else the reset of a
/// limit of which nothing remains, else the time in the body. `now_ms` is Unix time in ms. A time that has passed means 0.
pub(super) fn retry_after_ms<'a>(header: impl Fn(&str) -> Option<&'a str>, body: &str, now_ms: i64) -> Option<u64> {
    if let Some(ms) = header("retry-after-ms").and_then(|text| text.trim().parse::<f64>().ok()) {
        return rounded_up(ms);
    }
    if let Some(text) = RETRY_AFTER.into_iter().find_map(&header) {
        let text = text.trim();
        return match text.parse::<f64>() {
            Ok(seconds) => rounded_up(seconds * 1_000.0),
            Err(_) => Some(until(http_date(text)?, now_ms)),
        };
    }
    let is_empty =
        |name: &str| header(name).and_then(|text| text.trim().parse::<f64>().ok()).is_some_and(|left| left <= 0.0);
    let full = RESETS.iter().filter(|(left, _)| is_empty(left)).filter_map(|(_, reset)| moment(header(reset)?, now_ms));
    full.max().or_else(|| wait_in_body(body))
}

/// The three forms of a date in HTTP.
fn http_date(text: &str) -> Option<Timestamp> {
    let old = |form: &str| {
        let parsed = strtime::parse(form, text).ok()?.to_datetime().ok()?;
        parsed.to_zoned(jiff::tz::TimeZone::UTC).ok().map(|zoned| zoned.timestamp())
    };
    rfc2822::parse(text)
        .map(|zoned| zoned.timestamp())
        .ok()
        .or_else(|| old("%A, %d-%b-%y %H:%M:%S GMT"))
        .or_else(|| old("%a %b %e %H:%M:%S %Y"))
}

/// A reset: a span such as `6m0s`, an ISO time, or a number.
fn moment(text: &str, now_ms: i64) -> Option<u64> {
    let text = text.trim();
    if let Ok(number) = text.parse::<f64>() {
        return if number > MS_SINCE_1970 {
            rounded_up((number - to_float(now_ms)).max(0.0))
        } else if number > SECONDS_SINCE_1970 {
            rounded_up((number * 1_000.0 - to_float(now_ms)).max(0.0))
        } else {
            rounded_up(number * 1_000.0)
        };
    }
    span(text).or_else(|| text.parse::<Timestamp>().ok().map(|time| until(time, now_ms)))
}

/// Google's `RetryInfo` in the details of an error.
fn wait_in_body(body: &str) -> Option<u64> {
    let body: Value = serde_json::from_str(body).ok()?;
    let body = body.get(0).unwrap_or(&body);
    let details = body.pointer("/error/details")?.as_array()?;
    span(details.iter().find_map(|detail| detail.get("retryDelay"))?.as_str()?)
}

/// Numbers with units, as in `1h2m3.5s` or `20ms`.
fn span(text: &str) -> Option<u64> {
    let mut rest = text;
    let mut sum = 0.0;
    while !rest.is_empty() {
        let (number, tail) = rest.split_at(rest.find(|c: char| !c.is_ascii_digit() && c != '.')?);
        let (unit, tail) = tail.split_at(tail.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(tail.len()));
        let ms = match unit {
            "ms" => 1.0,
            "s" => 1_000.0,
            "m" => 60_000.0,
            "h" => 3_600_000.0,
            "d" => 86_400_000.0,
            _ => return None,
        };
        sum += number.parse::<f64>().ok()? * ms;
        rest = tail;
    }
    if text.is_empty() { None } else { rounded_up(sum) }
}

fn until(time: Timestamp, now_ms: i64) -> u64 {
    u64::try_from(time.as_millisecond().saturating_sub(now_ms)).unwrap_or(0)
}

#[expect(clippy::cast_precision_loss, reason = "Unix time in ms is far below 2^53")]
fn to_float(ms: i64) -> f64 {
    ms as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2015-10-21 07:28:00 UTC
    const NOW: i64 = 1_445_412_480_000;

    fn asked(headers: &[(&str, &'static str)], body: &str) -> Option<u64> {
        let header = |name: &str| headers.iter().find(|(known, _)| *known == name).map(|(_, text)| *text);
        retry_after_ms(header, body, NOW)
    }

    #[test]
    fn every_form_of_retry_after_is_read() {
        let cases = [
            ("retry-after-ms", "250", Some(250)),
            ("retry-after", "2", Some(2_000)),
            ("retry-after", "0.5", Some(500)),
            ("retry-after", "Wed, 21 Oct 2015 07:28:07 GMT", Some(7_000)),
            ("retry-after", "Wednesday, 21-Oct-15 07:28:07 GMT", Some(7_000)),
            ("retry-after", "Wed Oct 21 07:28:07 2015", Some(7_000)),
            ("retry-after", "Wed, 21 Oct 2015 07:27:00 GMT", Some(0)),
            ("llm_provider-retry-after", "7", Some(7_000)),
            ("retry-after", "soon", None),
            ("retry-after", "-1", None),
        ];
        for (name, text, expected) in cases {
            assert_eq!(asked(&[(name, text)], ""), expected, "{name}: {text}");
        }
    }

    #[test]
    fn a_reset_counts_only_when_nothing_remains() {
        let requests = ("x-ratelimit-reset-requests", "1m30s");
        assert_eq!(asked(&[("x-ratelimit-remaining-requests", "3"), requests], ""), None);
        assert_eq!(asked(&[("x-ratelimit-remaining-requests", "0"), requests], ""), Some(90_000));
        let both = [
            ("x-ratelimit-remaining-tokens", "0"),
            ("x-ratelimit-reset-tokens", "20ms"),
            ("x-ratelimit-remaining-requests", "0"),
            requests,
        ];
        assert_eq!(asked(&both, ""), Some(90_000));
        let anthropic = [
            ("anthropic-ratelimit-tokens-remaining", "0"),
            ("anthropic-ratelimit-tokens-reset", "2015-10-21T07:28:05Z"),
        ];
        assert_eq!(asked(&anthropic, ""), Some(5_000));
        for (text, expected) in [("1445412481000", 1_000), ("1445412482", 2_000), ("3", 3_000)] {
            assert_eq!(
                asked(&[("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", text)], ""),
                Some(expected),
                "{text}"
            );
        }
    }

    #[test]
    fn a_delay_in_the_body_counts_when_no_header_speaks() {
        let body = r#"{"error":{"details":[{"@type":"x"},{"retryDelay":"13.5s"}]}}"#;
        assert_eq!(asked(&[], body), Some(13_500));
        assert_eq!(asked(&[("retry-after", "1")], body), Some(1_000));
        assert_eq!(asked(&[], "busy"), None);
    }
}
