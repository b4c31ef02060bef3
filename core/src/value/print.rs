//! The readable form of values: shown to models, and accepted by the reader.
//!
//! Containers nested deeper than [`JSON_DEPTH`] levels print as `...`. Text is written to any [`std::fmt::Write`], so
//! that a caller can stop it; without [`Bounds`] the form of a value with shared parts may be huge (see
//! [`Value::extent`]).

use std::fmt::{self, Write};

use unicode_segmentation::UnicodeSegmentation;

use super::number::{fixed, shortest_fixed};
use super::{Map, Value};
use crate::limits::JSON_DEPTH;

/// Fewest characters of a string when a map divides the space among its values.
const LEAST_CHARS: usize = 10;
/// Characters of space per entry of a map.
const CHARS_PER_ENTRY: usize = 30;
/// Decimals of a printed float at most.
const DECIMALS: u8 = 10;

/// Bounds of printed values. `None` = unbounded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Bounds {
    /// Items shown of each list, set and map.
    pub items: Option<usize>,
    /// Characters (grapheme clusters) shown of each string; maps show at most one entry per 30 of them.
    pub chars: Option<usize>,
}

/// The digits of printed floats: at most ten decimals of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FloatDigits {
    /// The fewest that read back as the float: `1234567.1`.
    #[default]
    Shortest,
    /// Those of its binary value, as the reference implementation prints them: `1234567.1000000001`.
    Binary,
}

/// A printed value.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PrintedValue {
    /// The readable form.
    pub text: String,
    /// True if anything was omitted.
    pub cut: bool,
}

impl Value {
    /// The readable form within bounds.
    pub fn print(&self, bounds: Bounds) -> PrintedValue {
        let mut text = String::new();
        let cut = self.write(&mut text, bounds).unwrap_or(true);
        PrintedValue { text, cut }
    }

    /// The readable form, cut after this many bytes; for messages.
    pub(crate) fn brief(&self, most: usize) -> String {
        let mut brief = Brief { text: String::new(), most };
        if self.write(&mut brief, Bounds { items: Some(10), chars: Some(most) }).is_err() {
            brief.text.push_str("...");
        }
        brief.text
    }

    /// Writes the readable form within bounds; true if anything was omitted. Fails only if `out` does.
    pub fn write(&self, out: &mut impl Write, bounds: Bounds) -> Result<bool, fmt::Error> {
        self.write_floats(out, bounds, FloatDigits::default())
    }

    /// As [`Value::write`], with these digits of floats.
    pub fn write_floats(&self, out: &mut impl Write, bounds: Bounds, floats: FloatDigits) -> Result<bool, fmt::Error> {
        let mut printer = Printer { out, items: bounds.items.unwrap_or(usize::MAX), floats, cut: false };
        printer.value(self, bounds.chars, 0)?;
        Ok(printer.cut)
    }
}

/// The readable form, complete.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, Bounds::default()).map(|_| ())
    }
}

/// The readable form, complete.
impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A text with a limit in bytes, exceeded by at most one piece.
struct Brief {
    text: String,
    most: usize,
}

impl Write for Brief {
    fn write_str(&mut self, piece: &str) -> fmt::Result {
        if self.text.len() > self.most {
            return Err(fmt::Error);
        }
        self.text.push_str(piece);
        Ok(())
    }
}

struct Printer<'a, W> {
    out: &'a mut W,
    items: usize,
    floats: FloatDigits,
    cut: bool,
}

impl<W: Write> Printer<'_, W> {
    fn value(&mut self, value: &Value, chars: Option<usize>, depth: u64) -> fmt::Result {
        if value.is_container() && depth >= JSON_DEPTH.max {
            self.cut = true;
            return self.out.write_str("...");
        }
        match value {
            Value::Nil => self.out.write_str("nil"),
            Value::Bool(value) => write!(self.out, "{value}"),
            Value::Int(value) => write!(self.out, "{value}"),
            Value::Big(value) => write!(self.out, "{value}"),
            Value::Float(value) => self.out.write_str(&float(*value, self.floats)),
            Value::Keyword(word) => write!(self.out, ":{}", word.name()),
            Value::Str(text) => self.string(text, chars),
            Value::List(items) => self.items("[", items.iter(), "]", chars, depth),
            Value::Set(members) => self.items("#{", members.iter(), "}", chars, depth),
            Value::Map(map) => self.map(map, chars, depth),
            Value::Instant(at) => write!(self.out, "\"{at}\""),
            Value::Date(day) => write!(self.out, "\"{day}\""),
            Value::Duration(span) => write!(self.out, "#duration[{}ms]", span.0),
            Value::Function(function) => write!(self.out, "{function}"),
            Value::Regex(pattern) => write!(self.out, "#\"{}\"", pattern.source()),
            Value::Var(name) => write!(self.out, "#'{}", name.name()),
            Value::Symbol(name) => write!(self.out, "'{}", name.name()),
        }
    }

    fn items<'v>(
        &mut self,
        open: &str,
        items: impl ExactSizeIterator<Item = &'v Value>,
        close: &str,
        chars: Option<usize>,
        depth: u64,
    ) -> fmt::Result {
        let count = items.len();
        self.out.write_str(open)?;
        for (place, item) in items.take(self.items).enumerate() {
            self.space(place)?;
            self.value(item, chars, depth + 1)?;
        }
        self.close(close, self.items, count)
    }

    fn map(&mut self, map: &Map, chars: Option<usize>, depth: u64) -> fmt::Result {
        let (most, room) = shown(map, Bounds { items: Some(self.items), chars });
        self.out.write_str("{")?;
        for (place, (key, value)) in map.iter().take(most).enumerate() {
            self.space(place)?;
            self.value(key, chars, depth + 1)?;
            self.out.write_char(' ')?;
            self.value(value, room, depth + 1)?;
        }
        self.close("}", most, map.len())
    }

    fn space(&mut self, place: usize) -> fmt::Result {
        if place > 0 { self.out.write_char(' ') } else { Ok(()) }
    }

    fn close(&mut self, close: &str, most: usize, total: usize) -> fmt::Result {
        if total <= most {
            return self.out.write_str(close);
        }
        self.cut = true;
        let gap = if most > 0 { " " } else { "" };
        write!(self.out, "{gap}...{close} ({most}/{total})")
    }

    fn string(&mut self, text: &str, chars: Option<usize>) -> fmt::Result {
        self.out.write_char('"')?;
        let end = chars.and_then(|chars| text.grapheme_indices(true).nth(chars)).map(|(end, _)| end);
        let Some(end) = end else {
            self.escaped(text)?;
            return self.out.write_char('"');
        };
        self.cut = true;
        self.escaped(&text[..end])?;
        write!(self.out, "...\" ({}/{} chars)", chars.unwrap_or_default(), text.graphemes(true).count())
    }

    /// Invisible characters are escaped, all others are written unchanged.
    fn escaped(&mut self, text: &str) -> fmt::Result {
        let mut plain = 0;
        for (at, char) in text.char_indices() {
            let is_plain = matches!(char, ' '..='~') && !matches!(char, '"' | '\\' | '#');
            if is_plain {
                continue;
            }
            let escape = Escape::of(char, &text[at + char.len_utf8()..]);
            if escape == Escape::None {
                continue;
            }
            self.out.write_str(&text[plain..at])?;
            plain = at + char.len_utf8();
            match escape {
                Escape::None => {}
                Escape::Letter(letter) => write!(self.out, "\\{letter}")?,
                Escape::Byte => write!(self.out, "\\x{:02X}", u32::from(char))?,
                Escape::Number => write!(self.out, "\\u{:04X}", u32::from(char))?,
            }
        }
        self.out.write_str(&text[plain..])
    }
}

/// The notation of a character in a string.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Escape {
    /// Unchanged.
    None,
    /// `\n`
    Letter(char),
    /// `\x1F`
    Byte,
    /// `\u200B`
    Number,
}

impl Escape {
    /// The escapes of the reference, as the suite shows them: control characters, spaces other than the plain one,
    /// marks without a glyph, and `#` where it would begin an interpolation in the reference's language.
    fn of(char: char, rest: &str) -> Self {
        match char {
            '"' | '\\' => Self::Letter(char),
            '#' if rest.starts_with('{') => Self::Letter('#'),
            '\0' => Self::Letter('0'),
            '\x07' => Self::Letter('a'),
            '\x08' => Self::Letter('b'),
            '\t' => Self::Letter('t'),
            '\n' => Self::Letter('n'),
            '\x0B' => Self::Letter('v'),
            '\x0C' => Self::Letter('f'),
            '\r' => Self::Letter('r'),
            '\x1B' => Self::Letter('e'),
            '\x7F' => Self::Letter('d'),
            '\x00'..='\x1F' | '\u{80}'..='\u{9F}' => Self::Byte,
            '\u{A0}'
            | '\u{34F}'
            | '\u{61C}'
            | '\u{2000}'..='\u{200F}'
            | '\u{2028}'..='\u{202E}'
            | '\u{205F}'..='\u{2064}'
            | '\u{2066}'..='\u{2069}'
            | '\u{FEFF}'
            | '\u{FFF9}'..='\u{FFFC}'
            | '\u{FFFE}'
            | '\u{FFFF}' => Self::Number,
            _ => Self::None,
        }
    }
}

/// The number of entries of a map to print, and the characters for each of their values.
pub(crate) fn shown(map: &Map, bounds: Bounds) -> (usize, Option<usize>) {
    let items = bounds.items.unwrap_or(usize::MAX);
    let most = bounds.chars.map_or(items, |chars| items.min((chars / CHARS_PER_ENTRY).max(1)));
    let shown = most.min(map.len());
    let room = bounds.chars.map(|chars| {
        let keys: usize = map.keys().take(shown).map(key_chars).sum();
        (chars.saturating_sub(keys) / shown.max(1)).max(LEAST_CHARS)
    });
    (most, room)
}

/// The approximate width of a key.
fn key_chars(key: &Value) -> usize {
    match key {
        Value::Str(text) => text.len() + 2,
        Value::Keyword(word) => word.name().len() + 1,
        _ => CHARS_PER_ENTRY / 2,
    }
}

/// At most ten decimals, trailing zeros removed except the first; never an exponent.
fn float(value: f64, digits: FloatDigits) -> String {
    if value.is_nan() {
        return "##NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "##Inf" } else { "##-Inf" }.to_owned();
    }
    let text = match digits {
        FloatDigits::Shortest => shortest_fixed(value, DECIMALS.into()),
        FloatDigits::Binary => fixed(value, DECIMALS.into()),
    };
    let digits = text.trim_end_matches('0');
    if digits.ends_with('.') { format!("{digits}0") } else { digits.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::json;

    #[test]
    fn scalars_print_as_in_the_contract() {
        let cases = [
            (Value::Nil, "nil"),
            (Value::Bool(true), "true"),
            (Value::Int(-7), "-7"),
            (Value::Float(3.3), "3.3"),
            (Value::Float(2.0), "2.0"),
            (Value::Float(0.1 + 0.2), "0.3"),
            (Value::Float(1e20), "100000000000000000000.0"),
            (Value::Float(1e-12), "0.0"),
            (Value::Float(1_234_567.1), "1234567.1"),
            (Value::Float(-98_765_432.1), "-98765432.1"),
            (Value::Float(0.999_999_999_96), "1.0"),
            (Value::Float(f64::INFINITY), "##Inf"),
            (Value::Float(f64::NEG_INFINITY), "##-Inf"),
            (Value::Float(f64::NAN), "##NaN"),
            (Value::keyword("k"), ":k"),
            (Value::str("a\"b\\c\n\t\r\u{1b}é"), "\"a\\\"b\\\\c\\n\\t\\r\\eé\""),
            (Value::Instant(super::super::Instant::new(0)), "\"1970-01-01T00:00:00Z\""),
        ];
        for (value, expected) in cases {
            assert_eq!(value.to_string(), expected);
        }
    }

    #[test]
    fn the_digits_of_the_reference_are_those_of_the_binary_value() {
        let mut text = String::new();
        let list = Value::list([Value::Float(1_234_567.1), Value::Float(0.1)]);
        assert_eq!(list.write_floats(&mut text, Bounds::default(), FloatDigits::Binary), Ok(false));
        assert_eq!(text, "[1234567.1000000001 0.1]");
    }

    #[test]
    fn what_cannot_be_seen_in_a_string_is_escaped() {
        let cases = [
            ("\u{8}\u{c}\u{b}\u{7}\u{1b}\u{7f}\0", r"\b\f\v\a\e\d\0"),
            ("\u{1}a\u{1f}\u{85}", r"\x01a\x1F\x85"),
            ("a\u{a0}b\u{200d}c", r"a\u00A0b\u200Dc"),
            ("\u{2009}\u{2028}\u{2060}\u{feff}\u{fffc}", r"\u2009\u2028\u2060\uFEFF\uFFFC"),
            ("#{x} # {} a#", r"\#{x} # {} a#"),
            ("é 日本 👍 e\u{301} \u{ad}\u{3000}\u{fffd}", "é 日本 👍 e\u{301} \u{ad}\u{3000}\u{fffd}"),
        ];
        for (text, expected) in cases {
            assert_eq!(Value::str(text).to_string(), format!("\"{expected}\""));
        }
    }

    #[test]
    fn containers_print_space_separated_and_sorted() {
        let map = Value::map([
            (Value::str("b"), Value::Int(2)),
            (Value::keyword("a"), Value::list([Value::Int(1), Value::Nil])),
            (Value::Nil, Value::set([Value::Int(3), Value::Int(1)])),
        ]);
        assert_eq!(map.to_string(), r#"{nil #{1 3} :a [1 nil] "b" 2}"#);
        assert_eq!(Value::list([]).to_string(), "[]");
        assert_eq!(Value::set([]).to_string(), "#{}");
        assert_eq!(Value::map([]).to_string(), "{}");
    }

    #[test]
    fn bounds_cut_collections_and_strings_visibly() {
        let items = |n| Bounds { items: Some(n), chars: None };
        let chars = |n| Bounds { items: None, chars: Some(n) };
        let list = Value::list((1..=5).map(Value::Int));
        assert_eq!(list.print(items(2)), PrintedValue { text: "[1 2 ...] (2/5)".to_owned(), cut: true });
        assert_eq!(list.print(items(5)), PrintedValue { text: "[1 2 3 4 5]".to_owned(), cut: false });
        assert_eq!(list.print(items(0)).text, "[...] (0/5)");
        assert_eq!(Value::set((1..=3).map(Value::Int)).print(items(1)).text, "#{1 ...} (1/3)");
        assert_eq!(
            Value::record([("a", Value::Int(1)), ("b", Value::Int(2))]).print(items(1)).text,
            r#"{"a" 1 ...} (1/2)"#
        );
        assert_eq!(Value::str("abcdefghij").print(chars(3)).text, r#""abc..." (3/10 chars)"#);
        assert_eq!(Value::str("e\u{301}👩\u{200d}👧x").print(chars(2)).text, "\"e\u{301}👩\\u200D👧...\" (2/3 chars)");
        assert_eq!(Value::str("abc").print(chars(3)), PrintedValue { text: r#""abc""#.to_owned(), cut: false });
    }

    #[test]
    fn maps_divide_the_room_between_their_values() {
        let long = || Value::str("x".repeat(50));
        let map =
            Value::map([(Value::keyword("a"), long()), (Value::keyword("b"), long()), (Value::keyword("c"), long())]);
        let text = map.print(Bounds { items: None, chars: Some(64) }).text;
        // Two entries (64 / 30), whose keys take 4 characters: 30 for each value.
        let thirty = "x".repeat(30);
        assert_eq!(text, format!("{{:a \"{thirty}...\" (30/50 chars) :b \"{thirty}...\" (30/50 chars) ...}} (2/3)"));
        let text = map.print(Bounds { items: None, chars: Some(5) }).text;
        assert_eq!(text, "{:a \"xxxxxxxxxx...\" (10/50 chars) ...} (1/3)");
    }

    #[test]
    fn the_513th_level_prints_as_dots() {
        let deep = |levels| (0..levels).fold(Value::Nil, |inner, _| Value::list([inner]));
        assert!(!deep(512).print(Bounds::default()).cut);
        let printed = deep(513).print(Bounds::default());
        assert!(printed.cut && printed.text.contains("[...]"));
    }

    #[test]
    fn json_text_prints_readably() {
        let value = json::parse(r#"{"id":1,"tags":["x"]}"#).unwrap_or_default().to_value();
        assert_eq!(format!("{value:?}"), r#"{"id" 1 "tags" ["x"]}"#);
    }
}
