//! An error with the place in the program's text where it arose.
//!
//! In: an error, the text and its name. Out: lines for a terminal, made safe.

use ptc_core::lisp::Error;
use ptc_core::text::{LineCol, Span, width};

use crate::cli::output::safe_line;
use crate::config::terminal_size;

/// `name:line:column: reason: problem`, the line underlined, and what to write instead.
pub(super) fn render(error: &Error, source: &str, name: &str) -> String {
    let columns = terminal_size(std::io::stderr());
    let cells = columns.map_or(CELLS, |(columns, _)| usize::from(columns).saturating_sub(GUTTER + 1));
    within(cells.max(LEAST_CELLS), error, source, name)
}

/// Like `render`, with `cells` columns for the line.
fn within(cells: usize, error: &Error, source: &str, name: &str) -> String {
    let who = error.op.as_ref().map(|op| format!("{op}: ")).unwrap_or_default();
    let headline = safe_line(&format!("{}: {who}{}", error.reason, error.problem));
    let name = safe_line(name);
    let mut lines = match error.span {
        None => vec![format!("{name}: {headline}")],
        Some(span) => {
            let place = span.line_col(source);
            let mut lines = vec![format!("{name}:{}:{}: {headline}", place.line, place.column)];
            lines.extend(underlined(cells, span, place, source));
            lines
        }
    };
    lines.extend(error.hint.as_ref().map(|hint| format!("  hint: {}", safe_line(hint))));
    lines.join("\n")
}

/// Cells of a shown line without a terminal.
const CELLS: usize = 120;
/// Fewest cells of a line that are of use.
const LEAST_CELLS: usize = 30;
/// Cells before the line: its number and a rule.
const GUTTER: usize = 7;

/// The line of the place and a mark below the part that is meant; a part of several lines is marked to the first's end,
/// and of a long line only the surroundings are shown.
fn underlined(cells: usize, span: Span, place: LineCol, source: &str) -> [String; 2] {
    let line = source.lines().nth(place.line - 1).unwrap_or_default();
    let (before, from) = split_at_char(line, place.column - 1);
    let inside = from.get(..span.end.saturating_sub(span.start).min(from.len())).unwrap_or(from);
    let (before, inside, from) = (safe_line(before), safe_line(inside), safe_line(from));
    let whole = width::width(&before) + width::width(&from) <= cells;
    let before = if whole { before } else { ending(&before, cells / 3) };
    let from = width::truncate(&from, cells.saturating_sub(width::width(&before)));
    let gutter = format!("{:>4} | ", place.line);
    let marks = "^".repeat(width::width(&inside).min(width::width(&from)).max(1));
    let blank = " ".repeat(width::width(&before));
    [format!("{gutter}{before}{from}"), format!("     | {blank}{marks}")]
}

/// The end of a line in at most `cells` columns, with `…` for the omitted beginning.
fn ending(line: &str, cells: usize) -> String {
    let surplus = (width::width(line) + 1).saturating_sub(cells);
    if surplus <= 1 {
        return line.to_owned();
    }
    let mut rest = &line[width::fitting(line, surplus)..];
    // A wide character at the cut is dropped as a whole.
    if width::width(rest) >= cells {
        rest = rest.char_indices().nth(1).map_or("", |(at, _)| &rest[at..]);
    }
    format!("{}{rest}", width::ELLIPSIS)
}

fn split_at_char(line: &str, chars: usize) -> (&str, &str) {
    let at = line.char_indices().nth(chars).map_or(line.len(), |(at, _)| at);
    line.split_at(at)
}

#[cfg(test)]
mod tests {
    use ptc_core::reasons::Reason;

    use super::*;

    #[test]
    fn the_place_is_shown_and_underlined() {
        let source = "(def é 1)\n  (+ é nil)";
        let start = source.find("(+").unwrap_or_default();
        let error = Error::new(Reason::TypeError, "argument 2 must be a number, got nil")
            .within("+")
            .hint("Give it a number")
            .at(Span::new(start, source.len()));
        let expected = "a.clj:2:3: type_error: +: argument 2 must be a number, got nil\n   2 |   (+ é nil)\n     |   ^^^^^^^^^\n  hint: Give it a number";
        assert_eq!(render(&error, source, "a.clj"), expected);
    }

    #[test]
    fn of_a_long_line_the_surroundings_are_shown() {
        let long = format!("(list {}(inc nil) {})", "漢 ".repeat(300), "x ".repeat(300));
        let start = long.find("(inc").unwrap_or_default();
        let error = Error::new(Reason::TypeError, "x").at(Span::new(start, start + 9));
        let shown = within(60, &error, &long, "f");
        let lines: Vec<&str> = shown.lines().collect();
        assert!(lines[1].starts_with("   1 | …") && lines[1].ends_with('…'), "{shown}");
        assert!(width::width(lines[1]) <= GUTTER + 60, "{shown}");
        let column = width::width(&lines[2][..lines[2].find('^').unwrap_or_default()]);
        assert_eq!(&lines[1][width::fitting(lines[1], column)..][..9], "(inc nil)", "{shown}");
        assert!(lines[2].ends_with(" ^^^^^^^^^"), "{shown}");
    }

    #[test]
    fn a_place_at_the_end_and_a_part_of_several_lines_are_marked() {
        let error = |start, end| Error::new(Reason::ParseError, "x").at(Span::new(start, end));
        assert!(render(&error(3, 3), "(a\n", "f").ends_with("   2 | \n     | ^"), "at the end");
        assert!(render(&error(0, 5), "(ab\nc)", "f").ends_with("   1 | (ab\n     | ^^^"), "several lines");
        assert_eq!(render(&Error::new(Reason::Timeout, "y"), "(a)", "f"), "f: timeout: y");
    }
}
