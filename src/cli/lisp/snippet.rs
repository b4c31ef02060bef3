//! An error with the place in the program's text where it arose.
//!
//! In: an error, the text and its name. Out: lines for a terminal, made safe.

use ptc_core::lisp::Error;
use ptc_core::text::{LineCol, Span, width};

use crate::cli::safe_line;

/// `name:line:column: reason: problem`, the line underlined, and what to write instead.
pub(super) fn render(error: &Error, source: &str, name: &str) -> String {
    let who = error.op.as_ref().map(|op| format!("{op}: ")).unwrap_or_default();
    let said = safe_line(&format!("{}: {who}{}", error.reason, error.problem));
    let name = safe_line(name);
    let mut lines = match error.span {
        None => vec![format!("{name}: {said}")],
        Some(span) => {
            let place = span.line_col(source);
            let mut lines = vec![format!("{name}:{}:{}: {said}", place.line, place.column)];
            lines.extend(underlined(span, place, source));
            lines
        }
    };
    lines.extend(error.hint.as_ref().map(|hint| format!("  hint: {}", safe_line(hint))));
    lines.join("\n")
}

/// The line of the place and a mark below the part that is meant; a part of several lines is marked to the first's end.
fn underlined(span: Span, place: LineCol, source: &str) -> [String; 2] {
    let line = source.lines().nth(place.line - 1).unwrap_or_default();
    let (before, from) = split_at_char(line, place.column - 1);
    let inside = from.get(..span.end.saturating_sub(span.start).min(from.len())).unwrap_or(from);
    let (before, inside, shown) = (safe_line(before), safe_line(inside), safe_line(line));
    let gutter = format!("{:>4} | ", place.line);
    let marks = "^".repeat(width::width(&inside).max(1));
    let blank = " ".repeat(width::width(&before));
    [format!("{gutter}{shown}"), format!("     | {blank}{marks}")]
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
    fn a_place_at_the_end_and_a_part_of_several_lines_are_marked() {
        let error = |start, end| Error::new(Reason::ParseError, "x").at(Span::new(start, end));
        assert!(render(&error(3, 3), "(a\n", "f").ends_with("   2 | \n     | ^"), "at the end");
        assert!(render(&error(0, 5), "(ab\nc)", "f").ends_with("   1 | (ab\n     | ^^^"), "several lines");
        assert_eq!(render(&Error::new(Reason::Timeout, "y"), "(a)", "f"), "f: timeout: y");
    }
}
