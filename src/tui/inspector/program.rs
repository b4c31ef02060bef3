//! A program to read: its lines with colours, the place of its error, the form under the cursor, and moves from form to form.

use ptc_core::text::SafeText;
use ptc_core::text::lex::{self, TokenKind};
use ptc_core::text::width::wrap;

use crate::tui::colours::{Coloured, Language, colours};
use crate::tui::row::{Piece, Row};
use crate::tui::theme::Role;
use crate::tui::transcript::wrapped_text::pieces;

/// Columns of the line numbers and the gap after them.
const GUTTER: usize = 5;

/// A move of the cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// To the form before or after.
    Forms(isize),
    /// To the line above or below.
    Lines(isize),
}

/// Marked places of a program.
pub(super) struct Marks<'a> {
    /// The cursor.
    pub(super) at: Option<usize>,
    /// The form whose value is shown.
    pub(super) shown_span: Option<(usize, usize)>,
    /// Place and words of the error.
    pub(super) error: Option<&'a ((usize, usize), String)>,
}

/// The rows, and for each the first byte of the program that it shows.
pub(super) fn rows(program: &str, marks: &Marks<'_>, columns: usize) -> (Vec<Row>, Vec<usize>) {
    let (mut rows, mut places) = (Vec::new(), Vec::new());
    let mut start = 0;
    for (number, line) in program.split('\n').enumerate() {
        let safe = SafeText::escape_controls(line);
        let mut coloured = colours(Language::Lisp, &safe);
        // Pictures of controls take other bytes than the controls: such a line has no marks.
        if safe.len() == line.len() {
            let within = |(from, to): (usize, usize)| {
                let (from, to) = (from.max(start), to.min(start + line.len()));
                (from < to).then(|| (from - start)..(to - start))
            };
            let cursor = marks.at.and_then(|at| within(token_at(program, at)));
            let layers = [
                (marks.error.and_then(|(span, _)| within(*span)), Role::ErrorPlace),
                (marks.shown_span.and_then(within), Role::WarnPlace),
                (cursor, Role::Selected),
            ];
            for (range, role) in layers {
                if let Some(range) = range {
                    over(&mut coloured, range, role);
                }
            }
        }
        let mut label = format!("{:>3}  ", number + 1);
        for range in wrap(&safe, columns.saturating_sub(GUTTER).max(1)) {
            let first = range.start;
            let gutter = Piece::new(Role::Dim, &label);
            rows.push(Row::new(std::iter::once(gutter).chain(pieces(&safe, range, &coloured))));
            places.push(start + first.min(line.len()));
            label = " ".repeat(GUTTER);
        }
        if let Some(((from, _), words)) = marks.error
            && (start..=start + line.len()).contains(from)
        {
            let blanks = ptc_core::text::width::width(&program[start..*from]) + GUTTER;
            let blanks = blanks.min(columns / 3);
            rows.push(Row::new([Piece::new(Role::Bad, &format!("{}^ {words}", " ".repeat(blanks)))]));
            places.push(start + line.len());
        }
        start += line.len() + 1;
    }
    (rows, places)
}

/// Puts a role over a range of coloured parts.
fn over(coloured: &mut Vec<Coloured>, range: std::ops::Range<usize>, role: Role) {
    let mut cut: Vec<Coloured> = Vec::with_capacity(coloured.len() + 2);
    for (part, old) in coloured.drain(..) {
        if part.start < range.start {
            cut.push((part.start..part.end.min(range.start), old));
        }
        if part.end > range.end {
            cut.push((part.start.max(range.end)..part.end, old));
        }
    }
    cut.push((range, role));
    cut.sort_by_key(|(part, _)| part.start);
    *coloured = cut;
}

/// First and one-past-last byte of every place of the cursor: words, values, opening brackets.
fn stops(program: &str) -> Vec<(usize, usize)> {
    let stop = |(span, kind): &(ptc_core::text::Span, TokenKind)| {
        let text = span.text(program);
        let closes = matches!(text, ")" | "]" | "}");
        let is_stop = *kind != TokenKind::Comment && !text.trim().is_empty() && !closes;
        is_stop.then_some((span.start, span.end))
    };
    lex::lisp::lisp(program).iter().filter_map(stop).collect()
}

/// The token at this byte, or the byte itself.
fn token_at(program: &str, at: usize) -> (usize, usize) {
    stops(program).into_iter().find(|(from, to)| (*from..*to).contains(&at)).unwrap_or((at, at + 1))
}

/// The first place of the cursor: the first form.
pub(super) fn first(program: &str) -> usize {
    stops(program).first().map_or(0, |stop| stop.0)
}

/// The place of the cursor after a step.
pub(super) fn step(program: &str, at: usize, step: Step) -> usize {
    let stops = stops(program);
    let Some(here) = stops.iter().rposition(|stop| stop.0 <= at).or((!stops.is_empty()).then_some(0)) else { return 0 };
    match step {
        Step::Forms(by) => stops[here.saturating_add_signed(by).min(stops.len() - 1)].0,
        Step::Lines(by) => {
            let line_of = |byte: usize| program[..byte].matches('\n').count();
            let column_of = |byte: usize| byte - program[..byte].rfind('\n').map_or(0, |end| end + 1);
            let from = line_of(stops[here].0);
            let wanted = from.saturating_add_signed(by);
            let beyond = |stop: &&(usize, usize)| {
                let line = line_of(stop.0);
                if by > 0 { line >= wanted && line > from } else { line <= wanted && line < from }
            };
            let lines = stops.iter().filter(beyond).map(|stop| line_of(stop.0));
            let Some(line) = (if by > 0 { lines.min() } else { lines.max() }) else { return stops[here].0 };
            let column = column_of(stops[here].0);
            let there = stops.iter().filter(|stop| line_of(stop.0) == line);
            there.min_by_key(|stop| column_of(stop.0).abs_diff(column)).map_or(at, |stop| stop.0)
        }
    }
}

/// The stop nearest to a byte, for the mouse.
pub(super) fn nearest(program: &str, byte: usize) -> usize {
    let stops = stops(program);
    stops.iter().rfind(|stop| stop.0 <= byte).or(stops.first()).map_or(0, |stop| stop.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cursor_goes_from_form_to_form_and_from_line_to_line() {
        let program = "(def a 1)\n\n (inc a)";
        let word = |at: usize| token_at(program, at);
        assert_eq!(first(program), 0);
        let at = step(program, 0, Step::Forms(2));
        assert_eq!(&program[word(at).0..word(at).1], "a");
        let below = step(program, at, Step::Lines(1));
        assert_eq!(&program[word(below).0..word(below).1], "a");
        assert_eq!(step(program, below, Step::Lines(-1)), 5);
        assert_eq!(step(program, below, Step::Lines(1)), below);
        assert_eq!(step("", 0, Step::Forms(1)), 0);
        assert_eq!(nearest(program, 9), 7);
    }
}
