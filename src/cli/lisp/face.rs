//! Text of programs on stdout: made safe, and on a terminal laid out to its width and coloured.
//!
//! In: prints, values, programs. Out: text. Output to a file or a pipe has no colours and one line per value.

use std::fmt::Write as _;
use std::io::IsTerminal;

use ptc_core::lisp::format;
use ptc_core::text::Span;
use ptc_core::text::lex::TokenKind;
use ptc_core::text::lex::lisp::lisp;
use ptc_core::value::{Bounds, Value};

use crate::cli::arguments::Arguments;
use crate::cli::output::safe;
use crate::config::{ColourLevel, process_env, terminal_size};

/// Maximum bytes of a value's text that are shown at a prompt.
const ROOM_BYTES: usize = 4_000;
/// Maximum lines of it.
const ROOM_LINES: usize = 60;
/// Bounds that are tried in turn until a value fits into the room: items, characters.
const CUTS: [(usize, usize); 5] = [(100, 1_000), (30, 300), (10, 100), (3, 60), (1, 30)];
/// Bounds when none of these makes a value fit.
const NOTHING: Bounds = Bounds { items: Some(0), chars: Some(0) };
/// Columns of a terminal that does not report them.
const COLUMNS: usize = 80;

/// Destination of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Face {
    /// A file or a pipe.
    Stream,
    /// A terminal.
    Terminal(Colours),
}

/// Colours on a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Colours {
    /// Coloured.
    On,
    /// Without colours: `--no-color`, `NO_COLOR`, or a terminal that has none.
    Off,
}

impl Face {
    /// Of this process.
    pub(super) fn of(arguments: &Arguments) -> Self {
        if !std::io::stdout().is_terminal() {
            return Self::Stream;
        }
        let is_plain = arguments.no_color || ColourLevel::of(&process_env) == ColourLevel::None;
        Self::Terminal(if is_plain { Colours::Off } else { Colours::On })
    }

    /// Columns of the terminal; `None` for a stream.
    pub(super) fn columns(self) -> Option<usize> {
        let columns = || terminal_size(std::io::stdout()).map_or(COLUMNS, |(columns, _)| usize::from(columns));
        matches!(self, Self::Terminal(_)).then(columns).map(|columns| if columns == 0 { COLUMNS } else { columns })
    }

    /// A printed entry. A stream keeps its tabs.
    pub(super) fn printed(self, entry: &str) -> String {
        match self {
            Self::Stream => entry.split('\t').map(safe).collect::<Vec<_>>().join("\t"),
            Self::Terminal(_) => safe(entry),
        }
    }

    /// A whole value.
    pub(super) fn whole(self, value: &Value) -> String {
        self.laid_out(value, Bounds::default())
    }

    /// A value as far as it is short enough to be read on a screen; true when something is left out.
    pub(super) fn glimpse(self, value: &Value) -> (String, bool) {
        let whole = Bounds::default();
        let cuts = CUTS.map(|(items, chars)| Bounds { items: Some(items), chars: Some(chars) });
        let mut tried = std::iter::once(whole).chain(cuts);
        let bounds = tried.find(|bounds| fits(value, *bounds)).unwrap_or(NOTHING);
        let text = self.laid_out(value, bounds);
        match text.match_indices('\n').nth(ROOM_LINES) {
            Some((end, _)) => (format!("{}\n…", &text[..end]), true),
            None => (text, bounds != whole),
        }
    }

    fn laid_out(self, value: &Value, bounds: Bounds) -> String {
        match self.columns() {
            // The last column stays free, so that no terminal wraps.
            Some(columns) => self.program(&format::value(value, columns.saturating_sub(1), bounds)),
            None => self.printed(&value.print(bounds).text),
        }
    }

    /// A program, or a value that looks like one, in its colours.
    fn program(self, text: &str) -> String {
        let text = safe(text);
        match self {
            Self::Terminal(Colours::On) => coloured(&text, &[]),
            Self::Terminal(Colours::Off) | Self::Stream => text,
        }
    }

    /// A text that is being typed. It takes as many cells as before, and nothing in it acts on the terminal. These
    /// parts are highlighted.
    pub(super) fn typed(self, text: &str, marked: &[Span]) -> String {
        match self {
            Self::Terminal(Colours::On) => coloured(text, marked),
            Self::Terminal(Colours::Off) | Self::Stream => visible(text),
        }
    }
}

/// A text in the colours of the language, without control characters.
fn coloured(text: &str, marked: &[Span]) -> String {
    lisp(text).into_iter().fold(String::with_capacity(text.len() * 2), |mut out, (span, kind)| {
        let piece = visible(text.get(span.start..span.end).unwrap_or_default());
        let style = if marked.contains(&span) { Some(MARKED) } else { style(kind) };
        _ = match style {
            Some(style) => write!(out, "\x1b[{style}m{piece}\x1b[0m"),
            None => write!(out, "{piece}"),
        };
        out
    })
}

/// A text without characters that act on a terminal.
fn visible(text: &str) -> String {
    text.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')).collect()
}

/// Brackets that belong together.
const MARKED: &str = "1;4";

/// The parameters of SGR.
fn style(kind: TokenKind) -> Option<&'static str> {
    match kind {
        TokenKind::String | TokenKind::Regex | TokenKind::Char => Some("32"),
        TokenKind::Keyword => Some("35"),
        TokenKind::Number | TokenKind::Literal => Some("36"),
        TokenKind::Quote | TokenKind::Placeholder => Some("33"),
        TokenKind::Comment => Some("90"),
        TokenKind::Error => Some("31"),
        _ => None,
    }
}

/// A writer that fails after this many bytes.
struct Room(usize);

impl std::fmt::Write for Room {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        self.0 = self.0.checked_sub(text.len()).ok_or(std::fmt::Error)?;
        Ok(())
    }
}

fn fits(value: &Value, bounds: Bounds) -> bool {
    value.write(&mut Room(ROOM_BYTES), bounds).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLOURED: Face = Face::Terminal(Colours::On);
    const PLAIN: Face = Face::Terminal(Colours::Off);

    #[test]
    fn what_is_typed_keeps_its_cells_and_loses_what_acts_on_the_terminal() {
        assert_eq!(COLOURED.typed("(f 1)", &[]), "(f \x1b[36m1\x1b[0m)");
        assert_eq!(COLOURED.typed("(f)", &[Span::new(0, 1)]), "\x1b[1;4m(\x1b[0mf)");
        assert_eq!(COLOURED.typed("\"\x1b[2J\u{9b}x\"", &[]), "\x1b[32m\"[2Jx\"\x1b[0m");
        assert_eq!(PLAIN.typed("(f \x07\t1)\n", &[]), "(f \t1)\n");
    }

    #[test]
    fn a_stream_gets_its_tabs_and_no_colours() {
        assert_eq!(Face::Stream.printed("a\tb\x1b[31m!"), "a\tb!");
        assert_eq!(Face::Stream.whole(&Value::list([Value::Int(1), Value::from("x")])), "[1 \"x\"]");
        assert_eq!(PLAIN.printed("a\tb"), "a   b");
    }

    #[test]
    fn long_values_are_cut_where_people_look_at_them() {
        let numbers = |count: i64| Value::list((0..count).map(Value::Int).collect::<Vec<_>>());
        let (text, is_cut) = PLAIN.glimpse(&numbers(10));
        assert_eq!((text.as_str(), is_cut), ("[0 1 2 3 4 5 6 7 8 9]", false));
        let (text, is_cut) = PLAIN.glimpse(&numbers(100_000));
        assert!(is_cut && text.ends_with("(100/100000)") && text.len() < ROOM_BYTES, "{text}");
        let doubled = (0..60).fold(Value::Nil, |inner, _| Value::list([inner.clone(), inner]));
        let (text, is_cut) = PLAIN.glimpse(&doubled);
        assert!(is_cut && text.lines().count() <= ROOM_LINES + 1, "{text}");
    }
}
