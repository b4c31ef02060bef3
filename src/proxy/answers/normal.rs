//! Bodies of requests without what changes from run to run.
//!
//! In: bodies without secrets, patterns of the user. Out: texts that are equal where requests count as the same. It must never make
//! words or names of tools equal.

use std::sync::LazyLock;

use ptc_core::text::without_mark;
use ptc_core::value::json;
use regex::{Captures, Regex};

use super::canonical::canonical;
use crate::proxy::digest::digest_of;

/// A kind of text that changes from run to run.
struct Volatile {
    /// Pattern of the text; the matches of its groups `before` and `after` are kept.
    pattern: Regex,
    /// The word that replaces it.
    word: &'static str,
    /// Confirms a match of the pattern: `false` for a text that only looks like one.
    is_match: IsMatch,
}

/// Decides whether what a pattern found is meant.
type IsMatch = fn(&str) -> bool;

/// Texts that change from run to run.
static VOLATILE: LazyLock<Vec<Volatile>> = LazyLock::new(|| {
    let date = date_in_words();
    let rows: [(&str, &'static str, IsMatch); 9] = [
        (r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?)?(Z|[+-]\d{2}:?\d{2})?", "DATE", |_| true),
        (&date, "DATE", |_| true),
        (r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}", "ID", |_| true),
        (r"\b(call|toolu|msg|resp|chatcmpl|run|req|fc|rs)[_-][A-Za-z0-9_-]{6,}", "ID", is_made_id),
        (r"/(home|Users|tmp|var|private|root|work|runner)/[A-Za-z0-9_./-]+", "PATH", |_| true),
        (r"[A-Z]:((\\\\)+[A-Za-z0-9_./-]+)+", "PATH", |_| true),
        // Folders of containers and CI services. Parts of addresses have these names, too: only the beginning of a path counts.
        (
            r"(?P<before>^|[^A-Za-z0-9_./~-]|\\[nrt]|file://)/(app|builds|workspaces?|__w|github|mnt|opt|srv|Volumes|root|work|tmp)\b(/[A-Za-z0-9_./-]*)?",
            "PATH",
            |_| true,
        ),
        // Times in seconds may have a fraction.
        (r"(?P<before>\b|_)\d{10,}(\.\d+)?(?P<after>\b|_)", "NUMBER", |_| true),
        // Secrets as recordings have them: another key may have another length.
        (r"\*{8,}|\[secret\]", "SECRET", |_| true),
    ];
    let volatile = rows.into_iter().filter_map(|(pattern, word, is_match)| {
        let pattern = Regex::new(pattern).ok()?;
        Some(Volatile { pattern, word, is_match })
    });
    volatile.collect()
});

/// The pattern of dates that are not in ISO form: `Mon Nov 30 2026`, `30 November 2026, 12:45`, `Nov 30 12:45`, `November 2026`,
/// `11/30/2026`. Words are English.
fn date_in_words() -> String {
    let weekday = "(Mon|Tues?|Wed(nes)?|Thu(rs?)?|Fri|Sat(ur)?|Sun)(day)?";
    let month = "(Jan(uary)?|Feb(ruary)?|Mar(ch)?|Apr(il)?|May|June?|July?|Aug(ust)?|Sept?(ember)?|Oct(ober)?|Nov(ember)?|Dec(ember)?)";
    let day = r"\d{1,2}(st|nd|rd|th|\.)?";
    let year = r"(19|20)\d{2}";
    let time = r"\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?( ?[AaPp][Mm])?";
    let zone = r" (GMT|UTC)([+-]\d{2}:?\d{2})?( \([A-Za-z ]+\))?| [+-]\d{2}:?\d{2}";
    let words = format!(r"({day},? +)?{month}\.?,? +({day},? +)?(({time} +([A-Z]{{3,4}} +)?)?{year}|{time})");
    let digits = format!(r"\d{{1,2}}/\d{{1,2}}/{year}|\d{{1,2}}\.\d{{1,2}}\.{year}");
    format!("({weekday},? +)?({words}|{digits})((,| at)? +{time})?({zone})?")
}

/// Members that hold ids of calls and replies, however these look: no name of a tool is in them.
static ID_MEMBERS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let member =
        r#"("(?:id|[a-z_]+_id|[a-z]+Id)": *")(?:call|toolu|msg|resp|chatcmpl|run|req|fc|rs)[_-][A-Za-z0-9_-]{6,}""#;
    Regex::new(member).ok()
});

/// Shortest part of an id that is made at random, in bytes.
const PART_MIN_BYTES: usize = 6;
/// Changes between digits and letters that a word does not have, such as `x1y2`; `sha256sum` has two.
const CHANGES_MIN: usize = 3;
/// A part of this length with a digit and letters of both cases is not a word, in bytes.
const LONG_PART_BYTES: usize = 16;

/// Returns whether an id is generated at random. Words after the prefix are the name of a tool or a text: `run_shell_command`,
/// `call-center`.
fn is_made_id(found: &str) -> bool {
    found.split(['_', '-']).skip(1).any(|part| {
        let bytes = part.as_bytes();
        let is_change = |pair: &&[u8]| matches!(pair, [one, next] if one.is_ascii_digit() != next.is_ascii_digit());
        let changes = bytes.windows(2).filter(is_change).count();
        let has = |is: fn(&u8) -> bool| bytes.iter().any(is);
        let is_mixed = has(u8::is_ascii_digit) && has(u8::is_ascii_lowercase) && has(u8::is_ascii_uppercase);
        bytes.len() >= PART_MIN_BYTES
            && (bytes.iter().all(u8::is_ascii_digit)
                || changes >= CHANGES_MIN
                || is_mixed && bytes.len() >= LONG_PART_BYTES)
    })
}

/// Makes bodies comparable.
pub(super) struct Normalizer {
    /// Further texts that do not count.
    patterns: Vec<Regex>,
}

impl Normalizer {
    /// Reads the user's patterns. Errors: a pattern that is none.
    pub(super) fn read(patterns: &[String]) -> Result<Self, String> {
        let read =
            |pattern: &String| Regex::new(pattern).map_err(|error| format!("{pattern:?} is not a pattern: {error}"));
        Ok(Self { patterns: patterns.iter().map(read).collect::<Result<Vec<_>, _>>()? })
    }

    /// Reads a body for comparisons.
    pub(super) fn read_body(&self, body: &[u8]) -> ComparedBody {
        let text = String::from_utf8_lossy(body);
        let text = json::parse(without_mark(&text))
            .map_or_else(|_| without_boundary(&text), |json| canonical(json).to_pretty());
        ComparedBody { canonical: digest_of(&text), normal: self.normal(text) }
    }

    /// The canonical text of a body without what changes from run to run.
    fn normal(&self, mut text: String) -> String {
        for pattern in &self.patterns {
            text = pattern.replace_all(&text, "ANY").into_owned();
        }
        text = ID_MEMBERS.as_ref().map_or_else(|| text.clone(), |ids| ids.replace_all(&text, "${1}ID\"").into_owned());
        for Volatile { pattern, word, is_match } in VOLATILE.iter() {
            let replace = |captures: &Captures<'_>| {
                let found = captures.get(0).map_or("", |found| found.as_str());
                let part = |name: &str| captures.name(name).map_or("", |part| part.as_str());
                if is_match(found) { format!("{}{word}{}", part("before"), part("after")) } else { found.to_owned() }
            };
            text = pattern.replace_all(&text, replace).into_owned();
        }
        text
    }
}

/// A body as it is compared.
pub(super) struct ComparedBody {
    /// Digest of the canonical body, in which texts are as the client sent them.
    pub(super) canonical: u64,
    /// The canonical body without what changes from run to run.
    pub(super) normal: String,
}

/// Returns a multipart form without its boundary, which clients generate at random; any other text unchanged.
fn without_boundary(text: &str) -> String {
    let first = text.split("\r\n").next().unwrap_or_default();
    let is_form = first.len() > 2 && first.starts_with("--") && text.trim_end().ends_with(&format!("{first}--"));
    if is_form { text.replace(first, "--BOUNDARY") } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use ptc_core::value::Json;

    use super::*;

    fn normal(text: &str) -> String {
        Normalizer::read(&[]).unwrap().read_body(text.as_bytes()).normal
    }

    #[test]
    fn in_members_of_ids_every_id_counts_as_the_same() {
        let of =
            |id: &str| normal(&format!(r#"{{"messages":[{{"tool_call_id":"{id}","id":"{id}","name":"run_it"}}]}}"#));
        for id in ["call_qwertyu1", "call_abcdefghijklmnopqrstuvwx", "fc_12345xyz"] {
            assert_eq!(of(id), of("call_abc123"), "{id}");
        }
        assert_ne!(normal(r#"{"name":"run_python_code"}"#), normal(r#"{"name":"run_shell_command"}"#));
    }

    #[test]
    fn a_byte_order_mark_before_a_body_does_not_count() {
        assert_eq!(normal("\u{feff}{\"b\":1,\"a\":2}"), normal(r#"{"a":2,"b":1}"#));
    }

    #[test]
    fn forms_that_differ_only_in_their_boundary_are_equal() {
        let form = |boundary: &str, text: &str| {
            normal(&format!(
                "--{boundary}\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\n{text}\r\n--{boundary}--\r\n"
            ))
        };
        assert_eq!(form("----a1b2", "whisper"), form("cafe-7", "whisper"));
        assert_ne!(form("----a1b2", "whisper"), form("----a1b2", "other"));
        assert_eq!(normal("--x\r\n--y"), "--x\r\n--y");
    }

    #[test]
    fn ids_that_services_make_do_not_count() {
        for id in [
            "call_7c87c7fc451e49f4b7b93d4a",
            "call_x1y2z3w4",
            "chatcmpl-IcCg0Nqj1937faCpPv5tWF2rebnKeBT0",
            "chatcmpl-gbhTQmWBOmXNgpqWs5",
            "chatcmpl-19ad0b3c5f1",
            "toolu_01A09q90qw90lq917835lq9",
            "resp-8F94DzZdTOjcoQbZ",
            "msg_ad165dcb-79a4-4119-81a4-3cd61ac3371a",
            "msg_tL9FCkCmHzdZkB7I",
            "req_123456",
        ] {
            let text = normal(&format!("{{\"id\": \"{id}\"}}"));
            assert!(!text.contains(id) && text.contains("ID"), "{text}");
        }
    }

    #[test]
    fn the_order_of_members_does_not_count_and_that_of_items_does() {
        assert_eq!(
            normal(r#"{"a":{"y":1,"x":[{"c":1,"b":2}]},"b":2}"#),
            normal(r#"{"b":2,"a":{"x":[{"b":2,"c":1}],"y":1}}"#)
        );
        assert_ne!(normal("[1,2]"), normal("[2,1]"));
    }

    #[test]
    fn times_do_not_count_whether_they_have_a_fraction_or_not() {
        let of = |time: &str| normal(&format!("{{\"create_time\": {time}}}"));
        for time in ["1795974413.081041", "1795974413021", "1795974370.9"] {
            assert_eq!(of(time), of("1795974370"), "{time}");
        }
        assert_ne!(of("1.5"), of("1.25"));
    }

    #[test]
    fn dates_do_not_count_however_they_are_written() {
        let of = |date: &str| normal(&format!("{{\"text\": \"first\\n{date} is today\"}}"));
        for date in [
            "Mon Nov 30 2026",
            "Monday, November 30, 2026",
            "Wednesday, December 9, 2026",
            "Dec  9 2026",
            "November 2026",
            "30 November 2026",
            "30. November 2026",
            "November 30th, 2026 at 2:05 PM",
            "Mon, 30 Nov 2026 12:45:46 GMT",
            "Mon Nov 30 2026 12:45:46 GMT+0100 (Central European Standard Time)",
            "Mon Nov 30 12:45:46 UTC 2026",
            "Mon Nov 30 12:45:46 2026 +0100",
            "Nov 30 12:45",
            "11/30/2026, 12:45:46 PM",
            "30.11.2026",
            "2026-11-30T12:45:46Z",
        ] {
            assert_eq!(of(date), of("2026-11-30"), "{date}");
        }
        for other in ["Monday", "November", "may 2026 be good", "3/4", "1.2.3", "12:45"] {
            assert!(of(other).contains(other), "{other}: {}", of(other));
        }
    }

    #[test]
    fn paths_of_other_machines_do_not_count_and_what_follows_them_does() {
        let of = |text: &str| normal(&Json::str(text).to_text());
        for path in [
            "/builds/g/proj",
            "/__w/repo/repo",
            "/workspaces/proj",
            "/workspace",
            "/app",
            "/github/workspace",
            "/opt/proj",
            "/tmp",
            "C:\\Users\\me\\proj",
        ] {
            assert_eq!(of(&format!("in\n{path}\nnow")), of("in\n/home/me/proj\nnow"), "{path}");
        }
        assert_eq!(of("file:///app/a"), of("file:///home/me/a"));
        assert_ne!(of("/home/me\nred"), of("/home/me\nblue"));
        assert_ne!(of("C:\\me\nred"), of("C:\\me\nblue"));
        for other in ["https://example.com/app/orders", "/apple", "/api/users", "and/opt/or"] {
            assert!(of(other).contains(other), "{other}: {}", of(other));
        }
    }

    #[test]
    fn long_numbers_do_not_count_next_to_underscores() {
        let of = |text: &str| normal(&format!("\"{text}\""));
        assert_eq!(of("shell_1796042470559_0"), of("shell_1796042735102_0"));
        assert_ne!(of("shell_1796042470559_0"), of("shell_1796042470559_1"));
        assert_ne!(of("shell_123"), of("shell_124"));
    }

    #[test]
    fn words_and_names_of_tools_count() {
        for name in [
            "run_shell_command",
            "run_python_code",
            "run_python3",
            "run_sha256sum",
            "run_s3upload",
            "call-center",
            "call_v2_weather",
            "fc-liverpool",
            "msg_toTheCustomer2",
            "req_2024_report",
        ] {
            let text = normal(&format!("{{\"name\": \"{name}\"}}"));
            assert!(text.contains(name), "{text}");
        }
    }

    #[test]
    fn masked_keys_of_any_length_are_the_same() {
        assert_eq!(normal("key ********************."), normal("key **********."));
        assert_ne!(normal("**bold**"), normal("***bold***"));
    }
}
