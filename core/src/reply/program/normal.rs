//! The reply with normalized line ends and spaces, and the mapping to its original bytes.
//!
//! In: a reply. Out: text with `\n` line ends, ordinary spaces for no-break ones and no invisible characters. The
//! joiners that emoji and some scripts need are kept.

use crate::text::Span;

/// A normalized reply.
#[derive(Debug)]
pub(super) struct NormalizedReply {
    pub(super) text: String,
    steps: Vec<Step>,
}

/// A position after which the offsets in text and reply differ.
#[derive(Debug, Clone, Copy)]
struct Step {
    /// An offset in the text.
    text: usize,
    /// The offset in the reply it came from.
    reply: usize,
    /// True if a character was omitted right before it; otherwise a character was replaced.
    omits: bool,
}

impl NormalizedReply {
    pub(super) fn of(reply: &str) -> Self {
        let mut normal = Self { text: String::with_capacity(reply.len()), steps: Vec::new() };
        let mut chars = reply.char_indices().peekable();
        while let Some((at, c)) = chars.next() {
            let plain = match c {
                '\r' if chars.peek().is_some_and(|(_, next)| *next == '\n') => None,
                '\r' => Some('\n'),
                '\u{feff}' | '\u{200b}' | '\u{2060}' => None,
                '\u{a0}' | '\u{202f}' => Some(' '),
                c => Some(c),
            };
            normal.text.extend(plain);
            if plain != Some(c) {
                let (text, reply) = (normal.text.len(), at + c.len_utf8());
                normal.steps.push(Step { text, reply, omits: plain.is_none() });
            }
        }
        normal
    }

    /// The bytes of the reply that a part of the text came from, without omitted characters around it.
    pub(super) fn origin(&self, span: Span) -> Span {
        let passed = self.steps.partition_point(|step| step.text <= span.start);
        let start = self.offset(span.start, passed);
        let before = self.steps.partition_point(|step| step.text < span.end);
        let replaced = self.steps.get(before).is_some_and(|step| step.text == span.end && !step.omits);
        let end = self.offset(span.end, before + usize::from(replaced));
        Span::new(start, end.max(start))
    }

    /// The origin of an offset in the text, given the number of steps before it.
    fn offset(&self, at: usize, steps: usize) -> usize {
        let last = steps.checked_sub(1).and_then(|last| self.steps.get(last));
        last.map_or(at, |step| step.reply + (at - step.text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_lead_back_to_the_reply() {
        let reply = "\u{feff}a\r\nb\u{a0}c\u{200b}\u{200b}d\re";
        let normal = NormalizedReply::of(reply);
        assert_eq!(normal.text, "a\nb cd\ne");
        let origin = |start, end| normal.origin(Span::new(start, end)).text(reply);
        assert_eq!(origin(0, 1), "a");
        assert_eq!(origin(2, 5), "b\u{a0}c");
        assert_eq!(origin(2, 4), "b\u{a0}");
        assert_eq!(origin(4, 5), "c");
        assert_eq!(origin(5, 8), "d\re");
        assert_eq!(NormalizedReply::of("👨\u{200d}👩").text, "👨\u{200d}👩");
    }
}
