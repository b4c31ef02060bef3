//! The neutral characters of a text: without terminal sequences, control and hidden characters.
//!
//! Sequences are recognized in their 7-bit (`ESC [`) and 8-bit (U+009B) forms. Of an unfinished sequence only the
//! introducer is removed: text is never hidden because a terminator is missing.

use super::chars::is_plain;

const ESC: char = '\u{1b}';
const CANCEL: char = '\u{18}';
const SUBSTITUTE: char = '\u{1a}';
const BELL: char = '\u{7}';
/// String terminator, 8-bit form.
const ST: char = '\u{9c}';

/// Iterates over the text characters, line breaks (all as `\n`) and tabs of a text.
pub(super) struct NeutralChars<'a> {
    rest: &'a str,
    /// The previous character returned, which decides about emoji joiners.
    last: Option<char>,
}

impl<'a> NeutralChars<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { rest: text, last: None }
    }

    fn take(&mut self) -> Option<char> {
        let c = self.rest.chars().next()?;
        self.rest = &self.rest[c.len_utf8()..];
        Some(c)
    }

    fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    fn skip_while(&mut self, belongs: impl Fn(char) -> bool) {
        self.rest = self.rest.trim_start_matches(belongs);
    }

    /// After an ESC: skips the rest of its sequence.
    fn escape(&mut self) {
        match self.peek() {
            Some('[') => {
                self.take();
                self.control_sequence();
            }
            Some(kind @ (']' | 'P' | 'X' | '^' | '_')) => {
                self.take();
                self.string(kind == ']');
            }
            Some(' '..='/') => {
                self.skip_while(|c| matches!(c, ' '..='/'));
                if matches!(self.peek(), Some('0'..='~')) {
                    self.take();
                }
            }
            Some('0'..='~') => _ = self.take(),
            _ => {}
        }
    }

    /// After a CSI: skips parameters, intermediates, and the final character.
    fn control_sequence(&mut self) {
        self.skip_while(|c| matches!(c, '0'..='?'));
        self.skip_while(|c| matches!(c, ' '..='/'));
        if matches!(self.peek(), Some('@'..='~')) {
            self.take();
        }
    }

    /// After the introducer of a control string (OSC, DCS, APC, PM, SOS): skips it with its terminator, or nothing if
    /// the line ends before one. Another sequence or a cancel also ends it, as in terminals.
    fn string(&mut self, bell_ends: bool) {
        let ends = |c: char| {
            matches!(c, '\n' | '\r' | ESC | CANCEL | SUBSTITUTE | '\u{80}'..='\u{9f}') || (bell_ends && c == BELL)
        };
        let Some(at) = self.rest.find(ends) else { return };
        match self.rest[at..].chars().next() {
            Some('\n' | '\r') | None => {}
            Some(c @ (BELL | ST | CANCEL | SUBSTITUTE)) => self.rest = &self.rest[at + c.len_utf8()..],
            // The ESC of a terminator, or of the sequence that interrupts this one, is read next.
            Some(_) => self.rest = &self.rest[at..],
        }
    }
}

impl Iterator for NeutralChars<'_> {
    type Item = char;

    fn next(&mut self) -> Option<char> {
        loop {
            let c = self.take()?;
            let text = match c {
                '\t' | '\n' => Some(c),
                '\r' => {
                    if self.peek() == Some('\n') {
                        self.take();
                    }
                    Some('\n')
                }
                '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}' => Some('\n'),
                ESC => {
                    self.escape();
                    None
                }
                '\u{9b}' => {
                    self.control_sequence();
                    None
                }
                '\u{9d}' => {
                    self.string(true);
                    None
                }
                '\u{90}' | '\u{98}' | '\u{9e}' | '\u{9f}' => {
                    self.string(false);
                    None
                }
                c => is_plain(c, self.last, self.peek()).then_some(c),
            };
            if text.is_some() {
                self.last = text;
                return text;
            }
        }
    }
}
