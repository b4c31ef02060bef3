//! Fixes of a program before it runs: straight quotes, and removal of discarded forms and trailing prose.

use crate::text::Span;
use crate::text::lex::lisp::{Balance, Lexeme, Lexemes};

/// A fix and its position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProgramFix {
    /// The fix.
    pub kind: ProgramFixKind,
    /// The part of the reply it concerns.
    pub at: Span,
}

/// A kind of fix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ProgramFixKind {
    /// Typographic quotes were replaced by straight ones.
    TypographicQuotes,
    /// Forms after `#_` were removed.
    Discard,
    /// The block had no end.
    OpenBlock,
    /// The fence that closes the block was after text.
    InlineFence,
    /// The first of several blocks was taken.
    FirstOfSeveral,
    /// Prose after the program was removed.
    TrailingProse,
}

impl ProgramFixKind {
    /// The stable name, as records show it.
    pub fn name(self) -> &'static str {
        match self {
            Self::TypographicQuotes => "typographic_quotes",
            Self::Discard => "discard",
            Self::OpenBlock => "open_block",
            Self::InlineFence => "inline_fence",
            Self::FirstOfSeveral => "first_of_several",
            Self::TrailingProse => "trailing_prose",
        }
    }

    /// Describes the fix, one sentence for users and models.
    pub fn message(self) -> &'static str {
        match self {
            Self::TypographicQuotes => "Typographic quotes were replaced by straight ones.",
            Self::Discard => "Forms after #_ were removed.",
            Self::OpenBlock => "The code block was not closed; all text after its first line was used.",
            Self::InlineFence => "The code block was closed after text; put the fence on a line of its own.",
            Self::FirstOfSeveral => "Of several programs only the first was run.",
            Self::TrailingProse => "The text after the program was removed.",
        }
    }
}

/// The position of the first parenthesis of code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FirstList {
    /// At the very start.
    Bare,
    /// Also after comments and discarded forms.
    BehindComments,
}

/// True if the text starts with `(`.
pub(super) fn starts_with_list(text: &str, start: FirstList) -> bool {
    if start == FirstList::Bare || !text.trim_start().starts_with([';', '#']) {
        return text.trim_start().starts_with('(');
    }
    let code = without_discards(text);
    let code = code.as_deref().unwrap_or(text);
    let first = Lexemes::new(code).find(|(_, lexeme)| !matches!(lexeme, Lexeme::Space | Lexeme::Comment));
    first.is_some_and(|(span, _)| code[span.start..].starts_with('('))
}

/// The program's text as it runs, and the fixes made.
pub(super) fn clean(text: &str) -> (String, Vec<ProgramFixKind>) {
    let straight = straightened(text);
    let mut kinds = Vec::new();
    kinds.extend(straight.is_some().then_some(ProgramFixKind::TypographicQuotes));
    let text = straight.unwrap_or_else(|| text.to_owned());
    let kept = without_discards(&text);
    kinds.extend(kept.is_some().then_some(ProgramFixKind::Discard));
    let text = kept.unwrap_or(text);
    (text.trim().to_owned(), kinds)
}

/// The text with straight quotes; `None` if it has no others.
///
/// Typographic double quotes inside a string with straight quotes belong to its text, so they are escaped; unless that
/// leaves a string without end, in which case they were meant to end it.
fn straightened(text: &str) -> Option<String> {
    if !text.contains(|c| is_double(c) || is_single(c)) {
        return None;
    }
    let escaped = with_quotes(text);
    if Balance::of(&escaped).text.is_none() {
        return Some(escaped);
    }
    let plain = |c| {
        if is_double(c) {
            '"'
        } else if is_single(c) {
            '\''
        } else {
            c
        }
    };
    Some(text.chars().map(plain).collect())
}

fn is_double(c: char) -> bool {
    matches!(c, '“' | '”' | '„' | '‟')
}

fn is_single(c: char) -> bool {
    matches!(c, '‘' | '’' | '‚' | '‛')
}

/// Replaces typographic quotes in code by straight ones, and escapes the double ones inside strings with straight
/// quotes.
fn with_quotes(text: &str) -> String {
    enum Region {
        Code,
        Comment,
        Plain,
        Typographic,
    }
    let mut out = String::with_capacity(text.len());
    let mut region = Region::Code;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match (&region, c) {
            (Region::Code, ';') => region = Region::Comment,
            (Region::Code, '"') => region = Region::Plain,
            (Region::Code, c) if is_double(c) => region = Region::Typographic,
            (Region::Comment, '\n') | (Region::Plain, '"') => region = Region::Code,
            (Region::Typographic, c) if c == '"' || is_double(c) => region = Region::Code,
            (Region::Plain, c) if is_double(c) => out.push('\\'),
            (Region::Code | Region::Plain | Region::Typographic, '\\') => {
                out.push(c);
                out.extend(chars.next());
                continue;
            }
            _ => {}
        }
        out.push(if is_double(c) {
            '"'
        } else if is_single(c) {
            '\''
        } else {
            c
        });
    }
    out
}

/// The text without `#_` and the forms it discards; `None` if there is no `#_`. A `#_` whose form has no end is kept.
fn without_discards(text: &str) -> Option<String> {
    if !text.contains("#_") {
        return None;
    }
    let mut out = String::with_capacity(text.len());
    let mut any = false;
    // The number of forms still to discard, the open brackets inside the form being discarded, and its start.
    let (mut pending, mut depth, mut from) = (0_usize, 0_usize, 0);
    for (span, lexeme) in Lexemes::new(text) {
        if pending == 0 {
            if lexeme == Lexeme::Discard {
                (pending, from) = (1, span.start);
            } else {
                out.push_str(span.text(text));
            }
            continue;
        }
        let ends = match lexeme {
            Lexeme::Discard if depth == 0 => {
                pending += 1;
                false
            }
            Lexeme::Space | Lexeme::Comment | Lexeme::Discard | Lexeme::Prefix => false,
            Lexeme::Open(_) => {
                depth += 1;
                false
            }
            // There is no form to discard.
            Lexeme::Close(_) if depth == 0 => {
                pending = 0;
                any = true;
                out.push_str(span.text(text));
                continue;
            }
            Lexeme::Close(_) => {
                depth -= 1;
                depth == 0
            }
            _ => depth == 0,
        };
        pending -= usize::from(ends);
        if pending == 0 {
            any = true;
            out.push(' ');
        }
    }
    if pending > 0 {
        out.push_str(&text[from..]);
    }
    any.then_some(out)
}

/// The start of prose after a program that cannot be read as a whole: after the lists at its start, unless invalid code
/// follows.
pub(super) fn prose_start(text: &str) -> Option<usize> {
    let readable = without_discards(text);
    let readable = readable.as_deref().unwrap_or(text);
    if Balance::of(&straightened(readable).unwrap_or_else(|| readable.to_owned())).is_whole() {
        return None;
    }
    let mut open = Vec::new();
    let mut end = None;
    for (span, lexeme) in Lexemes::new(text) {
        match lexeme {
            Lexeme::Open(opener) => open.push(opener.bracket()),
            Lexeme::Close(bracket) => match open.pop() {
                Some(opened) if opened != bracket => return None,
                _ if open.is_empty() => end = Some(span.end),
                _ => {}
            },
            Lexeme::Symbol | Lexeme::Unknown if open.is_empty() => return end,
            _ => {}
        }
    }
    None
}
