//! Strings of the tolerant reader: all kinds of quotes, escapes, raw line breaks, unescaped quotes.
//!
//! A quote ends a string if the following text fits the position (a colon after a key, a comma and a key after a
//! member, …); otherwise it belongs to the string. If no quote fits, the first one counts and the caller reports the
//! text after it.

use super::{Edge, Fault, FixKind, JsonError, Reader, Result, ValueContext};
use crate::text::Span;
use crate::value::json::escaped;

/// The delimiters of a string.
#[derive(Debug, Clone, Copy)]
struct Quotes {
    /// Bytes of the opening mark.
    length: usize,
    /// The marks that can end it.
    closers: &'static [&'static str],
    /// The repair it needs.
    fix: Option<FixKind>,
}

const QUOTES: &[(&str, Quotes)] = &[
    ("\"\"\"", Quotes { length: 3, closers: &["\"\"\""], fix: Some(FixKind::TripleQuotes) }),
    ("'''", Quotes { length: 3, closers: &["'''"], fix: Some(FixKind::TripleQuotes) }),
    ("\"", Quotes { length: 1, closers: &["\""], fix: None }),
    ("'", Quotes { length: 1, closers: &["'"], fix: Some(FixKind::SingleQuotes) }),
    ("`", Quotes { length: 1, closers: &["`"], fix: Some(FixKind::Backticks) }),
    ("“", Quotes { length: 3, closers: &["”", "“", "\""], fix: Some(FixKind::SmartQuotes) }),
    ("”", Quotes { length: 3, closers: &["”", "“", "\""], fix: Some(FixKind::SmartQuotes) }),
    ("„", Quotes { length: 3, closers: &["“", "”", "\""], fix: Some(FixKind::SmartQuotes) }),
    ("‘", Quotes { length: 3, closers: &["’", "‘", "'"], fix: Some(FixKind::SmartQuotes) }),
    ("’", Quotes { length: 3, closers: &["’", "‘", "'"], fix: Some(FixKind::SmartQuotes) }),
    ("‚", Quotes { length: 3, closers: &["‘", "’", "'"], fix: Some(FixKind::SmartQuotes) }),
    ("«", Quotes { length: 2, closers: &["»"], fix: Some(FixKind::SmartQuotes) }),
    ("»", Quotes { length: 2, closers: &["«"], fix: Some(FixKind::SmartQuotes) }),
];

/// Brackets that are open in the text of a string.
#[derive(Default)]
struct Brackets {
    open: usize,
    counted: usize,
}

impl Brackets {
    /// Counts those of the text that was added.
    fn count(&mut self, text: &str) {
        for byte in text.as_bytes().get(self.counted..).unwrap_or_default() {
            match byte {
                b'{' | b'[' => self.open += 1,
                b'}' | b']' => self.open = self.open.saturating_sub(1),
                _ => {}
            }
        }
        self.counted = text.len();
    }
}

/// A point in a string to which reading can return.
#[derive(Clone, Copy)]
struct Mark {
    at: usize,
    length: usize,
    fixes: usize,
}

impl Reader<'_> {
    /// True if a string starts here, in quotes that the level allows.
    pub(super) fn quote_here(&self) -> bool {
        self.quotes_at(self.at).is_some()
    }

    fn quotes_at(&self, at: usize) -> Option<Quotes> {
        if !matches!(self.bytes.get(at), Some(b'"' | b'\'' | b'`' | 0xc2 | 0xe2)) {
            return None;
        }
        QUOTES
            .iter()
            .filter(|(_, quotes)| quotes.fix.is_none_or(|kind| self.allows(kind)))
            .find(|(open, _)| self.starts_with(at, open))
            .map(|(_, quotes)| *quotes)
    }

    /// Reads a string and the strings joined to it with `+`.
    pub(super) fn text_value(&mut self, context: ValueContext) -> Result<String> {
        let mut text = self.string(context)?;
        while context != ValueContext::Key && self.allows(FixKind::Concatenation) {
            let (back, fixes) = (self.at, self.fixes.len());
            self.space()?;
            let plus = self.at;
            if self.peek() == Some(b'+') {
                self.at += 1;
                self.space()?;
                if self.quote_here() {
                    self.fix(FixKind::Concatenation, Span::new(plus, plus + 1))?;
                    text.push_str(&self.string(context)?);
                    continue;
                }
            }
            self.at = back;
            self.fixes.truncate(fixes);
            break;
        }
        Ok(text)
    }

    fn string(&mut self, context: ValueContext) -> Result<String> {
        let start = self.at;
        let Some(quotes) = self.quotes_at(start) else { return Err(self.error("expected a string")) };
        if let Some(kind) = quotes.fix {
            self.fix(kind, Span::new(start, start + quotes.length))?;
        }
        self.at += quotes.length;
        if quotes.fix == Some(FixKind::TripleQuotes) && self.is_quoted_quote(context) {
            let message = "three quotes may be a quote between quotes; write \\\" inside of strings".to_owned();
            return Err(Fault { error: JsonError { message, offset: start, incomplete: false }, resume: None });
        }
        let mut text = String::new();
        let mut first_quote: Option<Mark> = None;
        let mut first_line: Option<Mark> = None;
        let mut inner_quote: Option<Mark> = None;
        let mut brackets = Brackets::default();
        let mut passed_over = false;
        loop {
            self.plain(quotes, &mut text);
            let at = self.at;
            let here = Mark { at, length: text.len(), fixes: self.fixes.len() };
            if let Some(closer) = quotes.closers.iter().find(|closer| self.starts_with(at, closer)) {
                brackets.count(&text);
                // A quote inside of JSON or code that the string quotes does not end the string.
                let is_within = inner_quote.is_some() && brackets.open > 0;
                passed_over |= is_within;
                if !is_within && self.ends_string(quotes, closer, context) && !self.is_put_off(context) {
                    self.check_escapes(start, at)?;
                    self.at += closer.len();
                    return Ok(text);
                }
                if !is_within
                    && let Some(key) = inner_quote
                    && context == ValueContext::Member
                    && self.bytes.get(self.past_space(at + closer.len())) == Some(&b':')
                    && let Some(end) = self.end_before_key(start, key.at)
                {
                    return self.unquoted_end(end, key, text);
                }
                inner_quote = Some(here);
                first_quote.get_or_insert(here);
                self.fix(FixKind::InnerQuote, Span::new(at, at + closer.len()))?;
                text.push_str(closer);
                self.at += closer.len();
                continue;
            }
            match self.peek() {
                Some(b'\\') => self.escape(&mut text)?,
                Some(byte @ (b'\n' | b'\r' | b'\t')) => {
                    if byte == b'\n' {
                        first_line.get_or_insert(here);
                    }
                    self.raw_control(FixKind::RawNewline)?;
                    text.push(char::from(byte));
                }
                Some(0..=0x1f) => self.raw_control(FixKind::ControlCharacter)?,
                Some(_) => {
                    if let Some(c) = self.char_at(at) {
                        text.push(c);
                        self.at += c.len_utf8();
                    }
                }
                None if passed_over => {
                    let message = "a string with a bracket and unescaped quotes has no clear end".to_owned();
                    self.furthest = self.furthest.max(self.at);
                    let error = JsonError { message, offset: start, incomplete: false };
                    return Err(Fault { error, resume: None });
                }
                None if self.put_off.is_some_and(|other| other.string == self.strings) => {
                    return Err(self.error("the string has no other end"));
                }
                None => return self.unended(start, text, first_quote, first_line),
            }
        }
    }

    /// Reads a run of literal characters.
    fn plain(&mut self, quotes: Quotes, text: &mut String) {
        let first = quotes.closers.first().and_then(|closer| closer.bytes().next());
        let many = quotes.closers.len() > 1;
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let stops = |b: &u8| *b < 0x20 || *b == b'\\' || Some(*b) == first || (many && matches!(*b, b'"' | b'\''));
        let length = rest.iter().position(stops).unwrap_or(rest.len());
        text.push_str(Span::new(self.at, self.at + length).text(self.text));
        self.at += length;
    }

    fn raw_control(&mut self, kind: FixKind) -> Result<()> {
        if !self.allows(kind) {
            return Err(self.error("a control character in a string must be escaped"));
        }
        self.fix(kind, Span::new(self.at, self.at + 1))?;
        self.at += 1;
        Ok(())
    }

    /// The text ends inside a string: returns to where the string may have ended, else fails.
    fn unended(&mut self, start: usize, mut text: String, quote: Option<Mark>, line: Option<Mark>) -> Result<String> {
        self.furthest = self.furthest.max(self.at);
        if let Some(mark) = line
            && self.allows(FixKind::MissingQuote)
            && self.edge != Edge::Cut
            && self.fits_after_line(mark.at)
        {
            let kept = Span::new(start, mark.at).text(self.text).trim_end();
            return self.unquoted_end(start + kept.trim_end_matches(',').len(), mark, text);
        }
        if let Some(mark) = quote {
            self.visited += self.at - mark.at;
            text.truncate(mark.length);
            self.fixes.truncate(mark.fixes);
            self.at = mark.at + self.char_at(mark.at).map_or(1, char::len_utf8);
            return Ok(text);
        }
        let error = JsonError {
            message: "the text ends inside a string".to_owned(),
            offset: self.bytes.len(),
            incomplete: true,
        };
        Err(Fault { error, resume: None })
    }

    /// There seems to be a key at `key` inside the string that began at `start`: the offset where the string should
    /// have ended, if a comma or a line break precedes the key.
    fn end_before_key(&self, start: usize, key: usize) -> Option<usize> {
        let before = Span::new(start, key).text(self.text);
        let kept = before.trim_end();
        let new_line = before.get(kept.len()..).is_some_and(|space| space.contains('\n'));
        (new_line || kept.ends_with(',')).then(|| start + kept.trim_end_matches(',').len())
    }

    /// Ends a string at `end`, where its closing quote seems to be missing; discards the text read since `mark`.
    fn unquoted_end(&mut self, end: usize, mark: Mark, mut text: String) -> Result<String> {
        if !self.allows(FixKind::MissingQuote) {
            let error =
                JsonError { message: "a closing quote seems to be missing".to_owned(), offset: end, incomplete: false };
            return Err(Fault { error, resume: Some(mark.at) });
        }
        self.visited += self.at.saturating_sub(end);
        text.truncate(mark.length);
        text.truncate(text.trim_end().trim_end_matches(',').len());
        while self.fixes.last().is_some_and(|fix| fix.at.start >= end) {
            self.fixes.pop();
        }
        self.at = end;
        self.fix(FixKind::MissingQuote, Span::new(end, end))?;
        Ok(text)
    }

    /// True if the next line looks as if the string had ended on the previous one.
    fn fits_after_line(&self, line_end: usize) -> bool {
        let rest = self.text.get(line_end..).unwrap_or_default().trim_start();
        rest.starts_with(['"', '}', ']'])
    }

    fn escape(&mut self, text: &mut String) -> Result<()> {
        let start = self.at;
        let byte = self.bytes.get(start + 1).copied();
        if byte == Some(b'u')
            && let Some((c, length)) = unicode_escape(self.bytes.get(start..).unwrap_or_default())
        {
            text.push(c);
            self.at += length;
            return Ok(());
        }
        let Some(plain) = byte.and_then(escaped) else { return self.invalid_escape(text) };
        self.at += 2;
        text.push(plain);
        Ok(())
    }

    /// Refuses a string that was written without escapes and holds one by chance: of `C:\dir\file` the last part is not a form feed.
    fn check_escapes(&self, start: usize, end: usize) -> Result<()> {
        let kept = self.fixes.iter().rev().take_while(|fix| fix.at.start >= start);
        let mut kept = kept.filter(|fix| fix.kind == FixKind::InvalidEscape).map(|fix| fix.at.start);
        if !kept.any(|at| self.bytes.get(at + 1) != Some(&b'\'')) {
            return Ok(());
        }
        let mut at = start;
        while at < end {
            match (self.bytes.get(at), self.bytes.get(at + 1)) {
                (Some(b'\\'), Some(b'b' | b'f' | b'n' | b'r' | b't')) => {
                    let message =
                        "a string with unescaped backslashes has several readings; write each as \\\\".to_owned();
                    return Err(Fault { error: JsonError { message, offset: at, incomplete: false }, resume: None });
                }
                (Some(b'\\'), Some(_)) => at += 2,
                _ => at += 1,
            }
        }
        Ok(())
    }

    fn invalid_escape(&mut self, text: &mut String) -> Result<()> {
        let start = self.at;
        self.at += 1;
        if self.peek().is_none() || !self.allows(FixKind::InvalidEscape) {
            return Err(self.error("expected an escape character after '\\'"));
        }
        self.fix(FixKind::InvalidEscape, Span::new(start, start + 1))?;
        if self.peek() == Some(b'\'') {
            text.push('\'');
            self.at += 1;
        } else {
            text.push('\\');
        }
        Ok(())
    }

    /// The string could end here: true if this reading continues it nevertheless.
    fn is_put_off(&mut self, context: ValueContext) -> bool {
        if context == ValueContext::Key {
            return false;
        }
        if let Some(other) = &mut self.put_off
            && other.string == self.strings
            && other.ends > 0
        {
            other.ends -= 1;
            return true;
        }
        self.strings += 1;
        false
    }

    /// True if the closer at the current offset ends the string.
    fn ends_string(&mut self, quotes: Quotes, closer: &str, context: ValueContext) -> bool {
        if !self.allows(FixKind::InnerQuote)
            || context == ValueContext::Key
            || quotes.fix == Some(FixKind::TripleQuotes)
        {
            return true;
        }
        let from = self.at + closer.len();
        let (ends, seen) = self.fits_after_quote(from, context);
        self.visited += seen.saturating_sub(from);
        ends
    }

    /// After three quotes: true if they could also be a whole string, as in `{"inch": """}`.
    fn is_quoted_quote(&mut self, context: ValueContext) -> bool {
        let next = self.past_space(self.at);
        let is_end = matches!(self.bytes.get(next), Some(b',' | b'}' | b']'));
        if !is_end || !matches!(context, ValueContext::Member | ValueContext::Item) {
            return false;
        }
        let (fits, seen) = self.fits_after_quote(self.at, context);
        self.visited += seen.saturating_sub(self.at);
        fits
    }

    /// True if the text after a quote fits; with the offset where the look-ahead ended.
    fn fits_after_quote(&self, from: usize, context: ValueContext) -> (bool, usize) {
        let at = self.past_space(from);
        let next = self.bytes.get(at).copied();
        match next {
            None | Some(b';') => (true, at),
            Some(b',') if context == ValueContext::Member => self.fits_key(at + 1),
            Some(b',') if context == ValueContext::Item => self.fits_item(at + 1),
            Some(b'}' | b']' | b')') => self.fits_closers(at),
            Some(b'+') => (self.quotes_at(self.past_space(at + 1)).is_some(), at + 1),
            Some(b'/') => (matches!(self.bytes.get(at + 1), Some(b'/' | b'*')), at + 1),
            Some(b'#') => (at > from, at),
            Some(b'.') => (at > from && self.starts_with(at, "..."), at),
            _ if context == ValueContext::Root => (true, at),
            _ if at == from => (false, at),
            _ if context == ValueContext::Member => self.fits_key(at),
            Some(b'{' | b'[') => (true, at),
            _ if Span::new(from, at).text(self.text).contains('\n') => self.fits_item(at),
            _ => (self.quotes_at(at).is_some(), at),
        }
    }

    /// True for a key with its colon, or the end of the object.
    pub(super) fn fits_key(&self, from: usize) -> (bool, usize) {
        let at = self.past_space(from);
        let Some(first) = self.char_at(at) else { return (true, at) };
        if matches!(first, '}' | ']' | '/' | '#' | '.' | '…' | ',') {
            return (true, at);
        }
        let end = if let Some(quotes) = self.quotes_at(at) {
            let rest = self.text.get(at + quotes.length..).unwrap_or_default();
            let mut escaped = false;
            let length = rest.find(|c: char| {
                let ends = !escaped && (c == '\n' || quotes.closers.iter().any(|closer| closer.starts_with(c)));
                escaped = !escaped && c == '\\';
                ends
            });
            // A key cut by the end of the text fits: the reply was truncated there.
            let Some(length) = length else { return (true, self.bytes.len()) };
            let end = at + quotes.length + length;
            end + self.char_at(end).map_or(0, char::len_utf8)
        } else {
            let rest = self.text.get(at..).unwrap_or_default();
            let word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$' | '-' | '.');
            at + rest.find(|c| !word(c)).unwrap_or(rest.len())
        };
        let colon = self.past_space(end);
        (end > at && matches!(self.bytes.get(colon), None | Some(b':' | b'=')), colon)
    }

    /// True for an item of a list, or the end of the list.
    fn fits_item(&self, from: usize) -> (bool, usize) {
        let at = self.past_space(from);
        let fits = match self.bytes.get(at) {
            None | Some(b'{' | b'[' | b']' | b'}' | b'-' | b'.' | b'0'..=b'9' | b'/' | b'#') => true,
            Some(b',') => self.lenient(),
            _ => self.quotes_at(at).is_some() || self.literal_at(at) || self.starts_with(at, "…"),
        };
        (fits, at)
    }

    /// Closing brackets after a quote: each must close an open bracket, and the following text must fit.
    fn fits_closers(&self, from: usize) -> (bool, usize) {
        let (mut at, mut closed) = (from, from);
        let mut open = self.open.as_slice();
        while let Some(closer @ (b'}' | b']' | b')')) = self.bytes.get(at) {
            let Some(depth) = open.iter().rposition(|bracket| closes(*bracket, *closer)) else { return (false, at) };
            open = &open[..depth];
            closed = at + 1;
            at = self.past_space(closed);
        }
        match (self.bytes.get(at), open.last()) {
            (None | Some(b',' | b';' | b'/' | b'#'), _) => (true, at),
            (Some(_), Some(b'{')) => self.fits_key(at),
            (Some(_), Some(_)) => self.fits_item(at),
            (Some(_), None) => (at > closed || self.quotes_at(at).is_none(), at),
        }
    }

    fn past_space(&self, from: usize) -> usize {
        let rest = self.bytes.get(from..).unwrap_or_default();
        from + rest.iter().take_while(|b| b.is_ascii_whitespace()).count()
    }
}

fn closes(bracket: u8, closer: u8) -> bool {
    matches!((bracket, closer), (b'{', b'}') | (b'[', b']') | (b'(', b')'))
}

/// The character of a `\uXXXX` escape (with the second half of a surrogate pair) and its length in bytes. An unpaired
/// surrogate becomes U+FFFD, as in the strict reader.
pub(super) fn unicode_escape(bytes: &[u8]) -> Option<(char, usize)> {
    let first = hex4(bytes)?;
    if (0xd800..0xdc00).contains(&first)
        && let Some(second) = bytes.get(6..).and_then(hex4)
        && (0xdc00..0xe000).contains(&second)
    {
        let code = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
        return Some((char::from_u32(code)?, 12));
    }
    Some((char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER), 6))
}

fn hex4(bytes: &[u8]) -> Option<u32> {
    let digits = bytes.strip_prefix(b"\\u")?.get(..4)?;
    digits.iter().try_fold(0, |code, b| Some(code * 16 + char::from(*b).to_digit(16)?))
}
