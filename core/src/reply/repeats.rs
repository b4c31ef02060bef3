//! Detects text that repeats itself: a model in a loop.
//!
//! In: an answer. Out: the repeated part. Code blocks, tables and lists repeat by nature and are ignored. Linear in the
//! text.

use std::collections::HashMap;

use super::fence;
use crate::text::Span;

/// Length of the compared part, in characters.
pub const CHUNK_CHARS: usize = 50;
/// This many equal parts are a loop.
pub const REPEATS: usize = 10;
/// The next equal part begins at most this many characters after the last one.
const REACH_CHARS: usize = 5 * CHUNK_CHARS;
/// Factor of the rolling sum.
const FACTOR: u64 = 0x0100_0000_01b3;

/// The last offset of an equal part, and the number of parts in a row.
struct LastChunk {
    at: usize,
    times: usize,
}

/// The repeated part of [`CHUNK_CHARS`] characters, if the text contains it [`REPEATS`] times close together.
pub fn repeated(text: &str) -> Option<String> {
    let chars: Vec<char> = running(text).chars().collect();
    // The weight of the character that leaves the window.
    let leaving = (1..CHUNK_CHARS).fold(1_u64, |weight, _| weight.wrapping_mul(FACTOR));
    let mut seen: HashMap<u64, LastChunk> = HashMap::new();
    let mut sum = 0_u64;
    for (end, c) in chars.iter().enumerate() {
        if let Some(gone) = end.checked_sub(CHUNK_CHARS) {
            sum = sum.wrapping_sub(u64::from(chars[gone]).wrapping_mul(leaving));
        }
        sum = sum.wrapping_mul(FACTOR).wrapping_add(u64::from(*c));
        let Some(at) = (end + 1).checked_sub(CHUNK_CHARS) else { continue };
        let chunk = &chars[at..=end];
        let last = seen.entry(sum).or_insert(LastChunk { at, times: 1 });
        if at < last.at + CHUNK_CHARS {
            continue;
        }
        let again = at <= last.at + REACH_CHARS && chars[last.at..last.at + CHUNK_CHARS] == *chunk;
        *last = LastChunk { at, times: if again { last.times + 1 } else { 1 } };
        if last.times >= REPEATS {
            return Some(chunk.iter().collect());
        }
    }
    None
}

/// The text without fenced blocks and without lines of tables, lists and rules.
fn running(text: &str) -> String {
    let mut out = String::new();
    let mut from = 0;
    let fences = fence::find(text, Span::new(0, text.len()));
    for span in fences.iter().map(|fence| fence.span).chain([Span::new(text.len(), text.len())]) {
        let between = text.get(from..span.start).unwrap_or_default();
        for line in between.split_inclusive('\n').filter(|line| !is_laid_out(line.trim())) {
            out.push_str(line);
        }
        from = span.end.max(from);
    }
    out
}

/// True for a line of a table or list, and for a rule.
fn is_laid_out(line: &str) -> bool {
    let number = line.trim_start_matches(|c: char| c.is_ascii_digit());
    line.starts_with('|')
        || line.starts_with(['-', '*', '+', '•'])
        || (number.len() < line.len() && number.starts_with(['.', ')']))
        || (!line.is_empty() && !line.contains(char::is_alphanumeric))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SENTENCE: &str = "I will now look at the file again and then decide what to do. ";

    #[test]
    fn a_sentence_ten_times_is_a_loop_and_nine_times_is_not() {
        assert!(repeated(&SENTENCE.repeat(10)).is_some());
        assert_eq!(repeated(&SENTENCE.repeat(9)[..9 * SENTENCE.len() - 20]), None);
        assert!(repeated(&format!("So:\n{}\nDone.", "I repeat myself. ".repeat(60))).is_some());
        assert!(repeated(&"もう一度考えます。".repeat(80)).is_some());
    }

    #[test]
    fn repeats_that_lie_apart_are_none() {
        let words = |n: usize| (0..60).map(|m| format!("w{n}x{m} ")).collect::<Vec<_>>().concat();
        let apart = (0..12).map(|n| format!("{SENTENCE}{}", words(n))).collect::<Vec<_>>().concat();
        assert_eq!(repeated(&apart), None);
    }

    #[test]
    fn code_tables_and_lists_may_repeat() {
        let line = SENTENCE.trim_end();
        for text in [
            format!("```\n{}```\n", format!("{line}\n").repeat(20)),
            format!("| {line} |\n").repeat(20),
            format!("- {line}\n").repeat(20),
            format!("7. {line}\n").repeat(20),
            format!("{}\n", "-".repeat(900)),
        ] {
            assert_eq!(repeated(&text), None, "{text}");
        }
        assert!(repeated(&format!("{line}\n").repeat(20)).is_some());
    }

    #[test]
    fn ordinary_text_is_no_loop() {
        assert_eq!(repeated(""), None);
        assert_eq!(repeated("short"), None);
        let numbered = (0..200).map(|n| format!("Paragraph {n} says that {} follows {n}.\n", n + 1));
        assert_eq!(repeated(&numbered.collect::<Vec<_>>().concat()), None);
    }
}
