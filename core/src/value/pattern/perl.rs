//! Perl and Java notations that the parser of regular expressions interprets differently.
//!
//! In: a program's source. Out: the same pattern in the parser's notation, or an error. It must never change notations
//! that the parser already interprets as Perl does.

use std::borrow::Cow;
use std::iter::Peekable;
use std::str::Chars;

use super::RegexRules;
use super::program::RegexError;

/// Blank characters of a line: the contents of a set equal to `\h`.
const BLANK: &str = r" \t\u{a0}\u{1680}\u{180e}\u{2000}-\u{200a}\u{202f}\u{205f}\u{3000}";
/// Ends of lines: the contents of a set equal to `\v`.
const LINE_ENDS: &str = r"\n\x0b\x0c\r\u{85}\u{2028}\u{2029}";

/// Translates the source to the parser's notation.
pub(super) fn translated(source: &str, rules: RegexRules) -> Result<Cow<'_, str>, RegexError> {
    let special = ["\\h", "\\H", "\\v", "\\V", "\\Q", "\\E", "{,", "(?", "["];
    if !special.iter().any(|part| source.contains(part)) {
        return Ok(source.into());
    }
    let mut speller = Translator { rest: source.chars().peekable(), rules, out: String::with_capacity(source.len()) };
    speller.pattern()?;
    Ok(if speller.out == source { source.into() } else { speller.out.into() })
}

struct Translator<'s> {
    rest: Peekable<Chars<'s>>,
    rules: RegexRules,
    out: String,
}

impl Translator<'_> {
    fn pattern(&mut self) -> Result<(), RegexError> {
        while let Some(c) = self.rest.next() {
            match c {
                '\\' => self.escape("[", "]"),
                '[' => self.set(),
                '{' if self.rest.peek() == Some(&',') => self.out.push_str("\\{"),
                '(' if self.rest.peek() == Some(&'?') => self.group()?,
                _ => self.out.push(c),
            }
        }
        Ok(())
    }

    /// Translates an escape; `open` and `close` enclose a set of characters at this position.
    fn escape(&mut self, open: &str, close: &str) {
        match self.rest.next() {
            Some('h') => self.out.extend([open, BLANK, close]),
            Some('v') => self.out.extend([open, LINE_ENDS, close]),
            Some('H') => self.out.extend(["[^", BLANK, "]"]),
            Some('V') => self.out.extend(["[^", LINE_ENDS, "]"]),
            Some('Q') => self.quoted(),
            Some('E') => {}
            Some(c) => self.out.extend(['\\', c]),
            None => self.out.push('\\'),
        }
    }

    /// Literal text, up to `\E`.
    fn quoted(&mut self) {
        while let Some(c) = self.rest.next() {
            if c == '\\' && self.rest.next_if_eq(&'E').is_some() {
                return;
            }
            if c.is_ascii_punctuation() {
                self.out.push('\\');
            }
            self.out.push(c);
        }
    }

    /// A set of characters after its bracket. Only named classes are nested, and what Java intersects: `[a-z&&[^e]]`.
    fn set(&mut self) {
        self.out.push('[');
        self.out.extend(self.rest.next_if_eq(&'^'));
        if self.rest.next_if_eq(&']').is_some() {
            self.out.push_str("\\]");
        }
        while let Some(c) = self.rest.next() {
            match c {
                ']' => return self.out.push(c),
                '\\' => self.escape("", ""),
                '[' if self.rest.peek() == Some(&':') => {
                    self.out.push(c);
                    for c in self.rest.by_ref() {
                        self.out.push(c);
                        if c == ']' {
                            break;
                        }
                    }
                }
                '&' if self.rules == RegexRules::Java && self.takes_intersection() => {
                    self.out.push_str("&&");
                    self.set();
                }
                '[' | '&' | '~' => self.out.extend(['\\', c]),
                _ => self.out.push(c),
            }
        }
    }

    /// Skips `&[` after a first `&`.
    fn takes_intersection(&mut self) -> bool {
        let mut ahead = self.rest.clone();
        let is_intersection = ahead.next() == Some('&') && ahead.next() == Some('[');
        if is_intersection {
            self.rest = ahead;
        }
        is_intersection
    }

    /// A group with a special meaning. Recursive patterns are not supported.
    fn group(&mut self) -> Result<(), RegexError> {
        let mut ahead = self.rest.clone();
        ahead.next();
        let (mark, next) = (ahead.next(), ahead.next());
        let recursive = match mark {
            Some('R' | '&' | '0'..='9') => true,
            Some('+' | '-') => next.is_some_and(|next| next.is_ascii_digit()),
            Some('P') => next == Some('>'),
            _ => false,
        };
        if recursive {
            return Err(RegexError::new("it contains itself, which is not supported"));
        }
        self.out.push('(');
        Ok(())
    }
}
