//! The tokenizer of PTC-Lisp: the only definition of its tokens.
//!
//! In: a text, valid or not. Out: lexemes that cover all of it in order, without gaps or overlaps, on character
//! boundaries, in linear time and without allocation. Used by the reader, the formatter, the extraction of programs
//! from replies, and syntax highlighting. It must never fail and never interpret a text.

mod bracket;
#[cfg(test)]
mod tests;
mod word;

pub use bracket::{Balance, matching};
pub use word::{Word, Words};

use unicode_segmentation::UnicodeSegmentation;

use crate::text::Span;
use crate::text::lex::{Lexer, Token, TokenKind};

/// The kind of a piece of a program's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Lexeme {
    /// White space and commas.
    Space,
    /// From `;` up to the end of the line, without the line feed.
    Comment,
    /// An opening bracket with its `#`.
    Open(Opener),
    /// A closing bracket.
    Close(Bracket),
    /// `"…"`
    String(Ending),
    /// `#"…"`
    Regex(Ending),
    /// `\x`, `\newline`
    Char,
    /// Digits, with or without a sign.
    Integer,
    /// A number with a fraction or an exponent.
    Float,
    /// `##Inf`, `##-Inf`, `##NaN`
    SpecialFloat,
    /// nil, true, false
    Constant,
    /// `:name`
    Keyword,
    /// A name, with its namespace.
    Symbol,
    /// `%`, `%1`, `%&`
    Placeholder,
    /// `'name`
    Quoted,
    /// `#'name`
    Var,
    /// `#_`
    Discard,
    /// `@`, `^` and a quote that is not part of a name, before the form that they apply to.
    Prefix,
    /// One character that begins no token.
    Unknown,
}

/// The kinds of brackets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Bracket {
    /// `( )`
    Round,
    /// `[ ]`
    Square,
    /// `{ }`
    Curly,
}

/// The form that an opening bracket begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Opener {
    /// `(`
    List,
    /// `[`
    Vector,
    /// `{`
    Map,
    /// `#{`
    Set,
    /// `#(`
    Short,
}

/// The end of a quoted text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Ending {
    /// It has a closing quote.
    Closed,
    /// It is cut by the end of the text.
    Open,
}

impl Bracket {
    /// The closing bracket.
    pub fn closer(self) -> char {
        match self {
            Self::Round => ')',
            Self::Square => ']',
            Self::Curly => '}',
        }
    }
}

impl Opener {
    /// The kind of bracket.
    pub fn bracket(self) -> Bracket {
        match self {
            Self::List | Self::Short => Bracket::Round,
            Self::Vector => Bracket::Square,
            Self::Map | Self::Set => Bracket::Curly,
        }
    }
}

/// The lexemes of a text.
#[derive(Debug, Clone)]
pub struct Lexemes<'a> {
    rest: &'a str,
    at: usize,
}

impl<'a> Lexemes<'a> {
    /// The lexemes from the start of a text. A byte order mark there counts as space.
    pub fn new(source: &'a str) -> Self {
        Self { rest: source, at: 0 }
    }
}

impl Iterator for Lexemes<'_> {
    type Item = (Span, Lexeme);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let (bytes, lexeme) = match lexeme(self.rest) {
            (bytes, Lexeme::Unknown) if self.at == 0 && self.rest.starts_with(BYTE_ORDER_MARK) => {
                (bytes, Lexeme::Space)
            }
            found => found,
        };
        let start = self.at;
        self.at += bytes;
        self.rest = self.rest.get(bytes..).unwrap_or_default();
        Some((Span::new(start, self.at), lexeme))
    }
}

const BYTE_ORDER_MARK: char = '\u{feff}';

/// Names of characters.
pub(crate) const CHARS: [(&str, &str); 6] =
    [("newline", "\n"), ("space", " "), ("tab", "\t"), ("return", "\r"), ("backspace", "\u{8}"), ("formfeed", "\u{c}")];

/// The first lexeme of a non-empty text, and its length in bytes.
fn lexeme(rest: &str) -> (usize, Lexeme) {
    let bytes = rest.as_bytes();
    match bytes[0] {
        b' ' | b'\t' | b'\r' | b'\n' | b',' => (run(bytes, is_space), Lexeme::Space),
        b'(' => (1, Lexeme::Open(Opener::List)),
        b'[' => (1, Lexeme::Open(Opener::Vector)),
        b'{' => (1, Lexeme::Open(Opener::Map)),
        b')' => (1, Lexeme::Close(Bracket::Round)),
        b']' => (1, Lexeme::Close(Bracket::Square)),
        b'}' => (1, Lexeme::Close(Bracket::Curly)),
        b';' => (run(bytes, |byte| byte != b'\n'), Lexeme::Comment),
        b'"' => {
            let (bytes, ending) = quoted(bytes);
            (bytes, Lexeme::String(ending))
        }
        b'#' => hashed(rest),
        b'\'' => match name(&bytes[1..]) {
            0 if bytes.get(1).is_some_and(|next| is_quotable(*next)) => (1, Lexeme::Prefix),
            0 => (1, Lexeme::Unknown),
            name => (1 + name, Lexeme::Quoted),
        },
        b'@' if bytes.get(1).is_some_and(|next| starts_name(*next) || matches!(next, b'(' | b'@' | b'#')) => {
            (1, Lexeme::Prefix)
        }
        b'^' if bytes.get(1).is_some_and(|next| starts_name(*next) || matches!(next, b':' | b'{' | b'[' | b'"')) => {
            (1, Lexeme::Prefix)
        }
        b':' => match run(&bytes[1..], is_in_keyword) {
            0 => (1, Lexeme::Unknown),
            name => (1 + name, Lexeme::Keyword),
        },
        b'\\' => character(&rest[1..]),
        b'0'..=b'9' => number(bytes, 0),
        b'-' if bytes.get(1).is_some_and(u8::is_ascii_digit) => number(bytes, 1),
        first if starts_name(first) => symbol(&rest[..name(bytes)]),
        _ => (rest.chars().next().map_or(1, char::len_utf8), Lexeme::Unknown),
    }
}

/// True for the first byte of a form that a quote may precede, other than a name.
fn is_quotable(byte: u8) -> bool {
    byte.is_ascii_digit() || matches!(byte, b'(' | b'[' | b'{' | b'#' | b'\'' | b'"' | b':')
}

/// A token that starts with `#`.
fn hashed(rest: &str) -> (usize, Lexeme) {
    let bytes = rest.as_bytes();
    match bytes.get(1) {
        Some(b'(') => (2, Lexeme::Open(Opener::Short)),
        Some(b'{') => (2, Lexeme::Open(Opener::Set)),
        Some(b'"') => {
            let (bytes, ending) = quoted(&bytes[1..]);
            (1 + bytes, Lexeme::Regex(ending))
        }
        Some(b'_') => (2, Lexeme::Discard),
        Some(b'\'') if name(&bytes[2..]) > 0 => (2 + name(&bytes[2..]), Lexeme::Var),
        Some(b'#') => match ["##Inf", "##-Inf", "##NaN"].iter().find(|special| rest.starts_with(**special)) {
            Some(special) => (special.len(), Lexeme::SpecialFloat),
            None => (1, Lexeme::Unknown),
        },
        _ => (1, Lexeme::Unknown),
    }
}

fn symbol(name: &str) -> (usize, Lexeme) {
    let lexeme = match name {
        "nil" | "true" | "false" => Lexeme::Constant,
        _ => match name.strip_prefix('%') {
            Some("" | "&") => Lexeme::Placeholder,
            Some(place) if place.bytes().all(|byte| byte.is_ascii_digit()) => Lexeme::Placeholder,
            _ => Lexeme::Symbol,
        },
    };
    (name.len(), lexeme)
}

/// After a double quote: the number of bytes including the closing one.
fn quoted(bytes: &[u8]) -> (usize, Ending) {
    let mut at = 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => return (at + 1, Ending::Closed),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    (bytes.len(), Ending::Open)
}

/// A character, after its backslash.
fn character(rest: &str) -> (usize, Lexeme) {
    let named = CHARS.iter().map(|(name, _)| *name).find(|name| rest.starts_with(name));
    match named.or_else(|| rest.graphemes(true).next()) {
        Some(text) => (1 + text.len(), Lexeme::Char),
        None => (1, Lexeme::Unknown),
    }
}

/// A number whose digits begin at `start`.
fn number(bytes: &[u8], start: usize) -> (usize, Lexeme) {
    let digits = |from: usize| from + run(bytes.get(from..).unwrap_or_default(), |byte| byte.is_ascii_digit());
    let whole = digits(start);
    let fraction = match bytes.get(whole) {
        Some(b'.') => digits(whole + 1),
        _ => whole,
    };
    // `1.` is the number 1 and a dot.
    let fraction = if fraction == whole + 1 { whole } else { fraction };
    let end = match bytes.get(fraction) {
        Some(b'e' | b'E') => {
            let sign = usize::from(matches!(bytes.get(fraction + 1), Some(b'+' | b'-')));
            let exponent = fraction + 1 + sign;
            if digits(exponent) > exponent { digits(exponent) } else { fraction }
        }
        _ => fraction,
    };
    (end, if end == whole { Lexeme::Integer } else { Lexeme::Float })
}

/// The length of the name at the start of `bytes`; 0 if there is none.
fn name(bytes: &[u8]) -> usize {
    if bytes.first().is_some_and(|first| starts_name(*first)) { run(bytes, is_in_name) } else { 0 }
}

/// The number of leading bytes that match.
#[inline]
fn run(bytes: &[u8], belongs: impl Fn(u8) -> bool) -> usize {
    bytes.iter().position(|byte| !belongs(*byte)).unwrap_or(bytes.len())
}

const SPACE: u8 = 1;
const NAME_START: u8 = 2;
const NAME: u8 = 4;
const KEYWORD: u8 = 8;
const ATOM_START: u8 = 16;

/// The tokens that each byte can be part of; a table lookup is faster than comparisons.
const PARTS: [u8; 256] = {
    let mut parts = [0; 256];
    let mut byte = 0_u8;
    while byte < 128 {
        let is_letter = byte.is_ascii_alphabetic();
        let is_digit = byte.is_ascii_digit();
        let is_both = matches!(byte, b'+' | b'-' | b'*' | b'<' | b'>' | b'=' | b'?' | b'!' | b'_');
        let starts_name = is_letter || is_both || matches!(byte, b'/' | b'%' | b'.' | b'&' | b'$');
        let kinds = [
            (SPACE, matches!(byte, b' ' | b'\t' | b'\r' | b'\n' | b',')),
            (NAME_START, starts_name),
            (NAME, starts_name || is_digit || byte == b'\''),
            (KEYWORD, is_letter || is_digit || is_both),
            (ATOM_START, starts_name || is_digit || byte == b':'),
        ];
        let mut kind = 0;
        while kind < kinds.len() {
            if kinds[kind].1 {
                parts[byte as usize] |= kinds[kind].0;
            }
            kind += 1;
        }
        byte += 1;
    }
    parts
};

fn is_part(byte: u8, of: u8) -> bool {
    PARTS[usize::from(byte)] & of != 0
}

fn is_space(byte: u8) -> bool {
    is_part(byte, SPACE)
}

fn starts_name(byte: u8) -> bool {
    is_part(byte, NAME_START)
}

/// True for the first byte of a number, a name, a keyword or a placeholder.
fn starts_atom(byte: u8) -> bool {
    is_part(byte, ATOM_START)
}

fn is_in_name(byte: u8) -> bool {
    is_part(byte, NAME)
}

fn is_in_keyword(byte: u8) -> bool {
    is_part(byte, KEYWORD)
}

/// The tokens of a program. Matching brackets have the same depth.
pub fn lisp(source: &str) -> Vec<Token> {
    let mut lexer = Lexer::new(source);
    let mut open: Vec<Bracket> = Vec::new();
    for Word { span, first, is_joined } in Words::new(source) {
        let kind = match first {
            // `::id`
            Lexeme::Unknown if is_joined => TokenKind::Keyword,
            Lexeme::Space => TokenKind::Plain,
            Lexeme::Comment | Lexeme::Discard => TokenKind::Comment,
            Lexeme::Open(opener) => {
                open.push(opener.bracket());
                depth(open.len())
            }
            Lexeme::Close(bracket) => {
                let level = depth(open.len());
                if open.pop() == Some(bracket) { level } else { TokenKind::Error }
            }
            Lexeme::String(_) => TokenKind::String,
            Lexeme::Regex(_) => TokenKind::Regex,
            Lexeme::Char => TokenKind::Char,
            Lexeme::Integer | Lexeme::Float | Lexeme::SpecialFloat => TokenKind::Number,
            Lexeme::Constant => TokenKind::Literal,
            Lexeme::Keyword => TokenKind::Keyword,
            Lexeme::Symbol => TokenKind::Symbol,
            Lexeme::Placeholder => TokenKind::Placeholder,
            Lexeme::Quoted | Lexeme::Var | Lexeme::Prefix => TokenKind::Quote,
            Lexeme::Unknown => TokenKind::Error,
        };
        lexer.token(span.end - span.start, kind);
    }
    lexer.tokens
}

/// The kind of a bracket at a level, from 1.
fn depth(level: usize) -> TokenKind {
    TokenKind::Bracket(u8::try_from(level).unwrap_or(u8::MAX))
}
