//! Numbers, times and lists for people, and the marks before lines of output.

/// Marks in front of lines and inside them: signs, or words for screen readers.
#[derive(Debug, PartialEq, Eq)]
pub struct Marks {
    /// It went well.
    pub good: &'static str,
    /// It did not fit, or was aborted.
    pub bad: &'static str,
    /// It was judged and did not pass.
    pub failed: &'static str,
    /// It could not be judged.
    pub untried: &'static str,
    /// Worth knowing.
    pub warning: &'static str,
    /// Neither good nor bad.
    pub none: &'static str,
    /// Not the same.
    pub differs: &'static str,
    /// After a mark that begins a line.
    pub colon: &'static str,
    /// Between parts of one line.
    pub dot: &'static str,
    /// From the old to the new value.
    pub to: &'static str,
    /// From a call to its result.
    pub gives: &'static str,
    /// Before a name that is new.
    pub new: &'static str,
    /// Before a name whose value changed.
    pub changed: &'static str,
    /// Before a name that is gone.
    pub gone: &'static str,
    /// Before an item that is done.
    pub done: &'static str,
    /// Before an item that is not.
    pub open: &'static str,
    /// It is bookmarked.
    pub bookmark: &'static str,
    /// After a count of equal things.
    pub times: &'static str,
    /// Before what is left out.
    pub more: &'static str,
    /// Between the ends of a range.
    pub through: &'static str,
    /// In the place of an unknown value.
    pub unknown: &'static str,
}

/// Marks as signs.
pub const SIGNS: Marks = Marks {
    good: "✓",
    bad: "✗",
    failed: "✗",
    untried: "!",
    warning: "!",
    none: "–",
    differs: "≠",
    colon: "",
    dot: " · ",
    to: "→",
    gives: "→",
    new: "+",
    changed: "~",
    gone: "-",
    done: "[x]",
    open: "[ ]",
    bookmark: "★",
    times: "×",
    more: "… ",
    through: "–",
    unknown: "–",
};

/// Marks as words, for screen readers.
pub const WORDS: Marks = Marks {
    good: "ok",
    bad: "error",
    failed: "failed",
    untried: "error",
    warning: "warning",
    none: "note",
    differs: "!=",
    colon: ":",
    dot: ", ",
    to: "to",
    gives: "gives",
    new: "new",
    changed: "changed",
    gone: "gone",
    done: "done:",
    open: "open:",
    bookmark: "bookmarked",
    times: " times",
    more: "",
    through: " to ",
    unknown: "unknown",
};

impl Marks {
    /// Words when output is linear (`--plain`), else signs.
    pub fn of(plain: bool) -> &'static Self {
        if plain { &WORDS } else { &SIGNS }
    }

    /// A line that begins with one of the marks.
    pub fn line(&self, mark: &str, text: &str) -> String {
        format!("{mark}{} {text}", self.colon)
    }
}

use crate::agent::JudgesUsage;
use crate::event::{FromCache, Tokens};

/// A duration: `412 ms`, `3.1 s`, `2 min 05 s`.
pub fn duration(ms: u64) -> String {
    if ms < 1_000 { format!("{ms} ms") } else { running(ms) }
}

/// A duration that grows on screen, and one next to others: tenths of seconds from the start, so that nothing jumps. All durations for people
/// are rounded here, to the nearest tenth, from 100 s on to the nearest second.
pub fn running(ms: u64) -> String {
    let tenths = rounded(ms, 100);
    if tenths < 1_000 {
        return format!("{}.{} s", tenths / 10, tenths % 10);
    }
    let seconds = rounded(ms, 1_000);
    format!("{} min {:02} s", seconds / 60, seconds % 60)
}

/// A number in units of this size, the nearest one.
fn rounded(number: u64, unit: u64) -> u64 {
    number / unit + u64::from(number % unit >= unit / 2)
}

/// A count with thousands separated: `2,406`.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A size: `191 B`, `18 KB`, `1.2 MB`.
pub fn size(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..10_000 => format!("{}.{} KB", bytes / 1_000, bytes % 1_000 / 100),
        10_000..1_000_000 => format!("{} KB", bytes / 1_000),
        _ => format!("{}.{} MB", bytes / 1_000_000, bytes % 1_000_000 / 100_000),
    }
}

/// A count and its noun: `1 turn`, `2 turns`.
pub fn plural(number: u64, noun: &str) -> String {
    format!("{} {}", count(number), inflected(number, noun))
}

/// A noun, in the plural unless there is one.
pub fn inflected(number: u64, noun: &str) -> String {
    if number == 1 { noun.to_owned() } else { format!("{noun}s") }
}

/// Each of them once, in order of the first occurrence.
pub fn distinct<T: PartialEq>(items: impl IntoIterator<Item = T>) -> Vec<T> {
    items.into_iter().fold(Vec::new(), |mut found, item| {
        if !found.contains(&item) {
            found.push(item);
        }
        found
    })
}

/// Formats the number of tokens from the provider's cache; `None` if there are none or it is unknown.
pub fn cached(tokens: Option<Tokens>) -> Option<String> {
    tokens?.cache_read.filter(|read| *read > 0).map(|read| format!("{} cached", count(read)))
}

/// Formats the usage of the cache of replies, in one line; `None` if all models were asked.
pub fn cache_line(taken: FromCache) -> Option<String> {
    let replies = if taken.replies == 1 { "reply" } else { "replies" };
    let paid =
        if taken.cost > 0.0 { format!(", cost {} not paid again", cost(Some(taken.cost))) } else { String::new() };
    let line = || format!("{} {replies} came from the cache{paid}; their times are those of the cache", taken.replies);
    (!taken.is_nothing()).then(line)
}

/// Formats the usage of judges, in one line; no other figure includes it.
pub fn judges_line(judges: &JudgesUsage) -> String {
    let paid = if judges.cost > 0.0 { format!(", cost {}", cost(Some(judges.cost))) } else { String::new() };
    format!("judges: {}, {} tokens{paid}, not in other totals", plural(judges.votes, "vote"), count(judges.tokens))
}

/// A cost in the price table's unit; `–` when unknown.
pub fn cost(amount: Option<f64>) -> String {
    amount.map_or_else(
        || "–".to_owned(),
        |amount| if amount < 0.01 { format!("{amount:.4}") } else { format!("{amount:.2}") },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_human() {
        assert_eq!([duration(412), duration(3_149), duration(125_000)], ["412 ms", "3.1 s", "2 min 05 s"]);
        assert_eq!([running(412), running(12_000)], ["0.4 s", "12.0 s"]);
        // The same everywhere: a card, a comparison, the line of a run.
        for (ms, text) in [(4_882, "4.9 s"), (4_850, "4.9 s"), (4_849, "4.8 s"), (1_999, "2.0 s"), (99_949, "99.9 s")] {
            assert_eq!([duration(ms), running(ms)], [text, text], "{ms} ms");
        }
        for (ms, text) in [(99_950, "1 min 40 s"), (119_499, "1 min 59 s"), (119_500, "2 min 00 s")] {
            assert_eq!([duration(ms), running(ms)], [text, text], "{ms} ms");
        }
        assert_eq!([count(0), count(999), count(2_406), count(1_234_567)], ["0", "999", "2,406", "1,234,567"]);
        assert_eq!([size(191), size(1_900), size(18_400), size(1_250_000)], ["191 B", "1.9 KB", "18 KB", "1.2 MB"]);
        assert_eq!([plural(1, "turn"), plural(2_000, "turn")], ["1 turn", "2,000 turns"]);
        assert_eq!([cost(None), cost(Some(0.0031)), cost(Some(1.5))], ["–", "0.0031", "1.50"]);
    }
}
