//! Reasoning tags of a reply with JSON: a tag inside of a value is a part of the value.
//!
//! In: the search. Out: the reasoning parts. Each value is read once more for this, only if a tag follows a bracket or a
//! quote on its line.

use super::super::{reasoning, scan};
use super::Search;
use crate::text::Span;

impl Search<'_> {
    /// The reasoning parts of the reply.
    pub(super) fn reasoning(&mut self) -> Vec<Span> {
        let (mut read, mut quotes) = (0, LineQuotes::default());
        reasoning::find_with(self.reply, &mut |from, tag| {
            self.is_inside_value(from, tag, &mut read) || quotes.surround(self.reply, tag)
        })
    }

    /// True if the tag at `tag` is inside of a value that starts at or after `from`, or of an object that cannot be
    /// read. `read` is the offset up to which values were read.
    fn is_inside_value(&mut self, from: usize, tag: usize, read: &mut usize) -> bool {
        let (reply, limit) = (self.reply, self.reply.len());
        let mut at = from.max(*read);
        while at <= tag {
            let start = scan::next_start(reply, Span::new(at, tag));
            let end = start.map_or(tag, |start| start + 1);
            self.visited += end - at;
            if self.is_exhausted() {
                *read = limit;
                return true;
            }
            // JSON inside of a string is one value.
            let is_quoted = |pair: &[u8]| matches!(pair, [b'"', b'{' | b'[']);
            let string = reply.as_bytes()[at..end].windows(2).position(is_quoted).map(|found| at + found);
            let Some(first) = string.or(start) else {
                *read = tag;
                return false;
            };
            at = match self.attempt(first, first, limit, self.edge(limit)) {
                Ok(read) => read.end,
                Err(_) if string.is_some() => first + 1,
                Err(stop) => stop.resume.unwrap_or(limit),
            };
        }
        *read = at;
        true
    }
}

/// Counts the double quotes of one line; tags of a line are asked in order, so that each byte is counted once.
#[derive(Default)]
struct LineQuotes {
    /// The end of the line.
    end: usize,
    /// The offset up to which quotes were counted, and their number.
    at: usize,
    before: usize,
    /// All quotes of the line.
    total: usize,
}

impl LineQuotes {
    /// True if the tag is quoted in prose: an odd number of quotes comes before it on its line, and after it.
    fn surround(&mut self, reply: &str, tag: usize) -> bool {
        let count = |from: usize, to: usize| Span::new(from, to).text(reply).matches('"').count();
        if tag >= self.end {
            let start = reply[self.end..tag].rfind('\n').map_or(self.end, |found| self.end + found);
            let end = reply[tag..].find('\n').map_or(reply.len(), |found| tag + found);
            *self = Self { end, at: start, before: 0, total: count(start, end) };
        }
        self.before += count(self.at, tag);
        self.at = tag;
        !self.before.is_multiple_of(2) && self.total.is_multiple_of(2)
    }
}
