//! An editor's text: the textarea widget shows the rows that the draft gives it, with colours, error places and selection.
//!
//! The draft owns text, cursor, scroll and wrapping; the widget is handed the visible rows only and its keys are not used.

use std::ops::Range;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use ratatui::widgets::Widget as _;
use tui_textarea::{CursorRenderMode, TextArea};

use super::areas::line_of;
use crate::agent::{Diagnostic, Severity};
use crate::tui::colours::{Language, colours};
use crate::tui::draft::Draft;
use crate::tui::model::Editor;
use crate::tui::row::{Piece, Row};
use crate::tui::theme::{Role, Theme};
use crate::tui::transcript::HiddenAmount;
use crate::tui::wrap::{graphemes, shown};
use ptc_core::text::SafeText;
use ptc_core::text::width::{width, wrap};

/// Maximum bytes of a highlighted line.
const LONGEST_COLOURED: usize = 64 << 10;

/// The appearance of an editor, without its text.
pub(super) struct Looks<'a> {
    pub(super) language: Language,
    pub(super) findings: &'a [&'a Diagnostic],
    /// Places that a search has found, in their order.
    pub(super) found: &'a [Range<usize>],
    pub(super) focused: bool,
    pub(super) theme: Theme,
    /// Shown dim while the text is empty.
    pub(super) placeholder: &'a str,
}

/// Sets the area and scrolls so that the cursor is seen.
pub(super) fn layout(editor: &mut Editor, area: Rect) {
    editor.area = area;
    let columns = usize::from(area.width.max(2) - 1);
    let height = usize::from(area.height);
    let last = editor.draft.line_count() - 1;
    let (line, row) = editor.scroll;
    let line = line.min(last);
    editor.scroll = (line, row.min(editor.draft.rows_of(line, columns).len() - 1));
    if height == 0 {
        return;
    }
    let end = (last, editor.draft.rows_of(last, columns).len() - 1);
    editor.scroll = editor.scroll.min(rows_up(&editor.draft, end, height - 1, columns));
    if editor.free {
        return;
    }
    let cursor = cursor_row(&editor.draft, columns);
    if cursor <= editor.scroll {
        editor.scroll = cursor;
        return;
    }
    let highest = rows_up(&editor.draft, cursor, height - 1, columns);
    editor.scroll = editor.scroll.max(highest);
}

/// Maximum rows counted outside the visible ones; beyond it, lines are counted instead.
const MOST_ROWS: usize = 1_000;

/// Returns the amount of text above the first visible row.
pub(super) fn hidden_above(editor: &Editor) -> HiddenAmount {
    let (line, row) = editor.scroll;
    let rows = rows_in(editor, (0..line).rev());
    rows.map_or(HiddenAmount::Lines(line), |rows| HiddenAmount::Rows(rows + row))
}

/// Returns the amount of text below the visible rows; none when that is blank.
pub(super) fn hidden_below(editor: &Editor) -> HiddenAmount {
    let draft = &editor.draft;
    let columns = columns_of(editor);
    let (mut line, mut skip) = editor.scroll;
    let mut room = usize::from(editor.area.height);
    // The rows of the first line that is not seen whole.
    while line < draft.line_count() {
        let rows = draft.rows_of(line, columns);
        let left = rows.get(skip..).unwrap_or_default();
        if let Some(first) = left.get(room) {
            let from = draft.line_range(line).start + first.start;
            if draft.text().get(from..).is_none_or(|rest| rest.trim().is_empty()) {
                return HiddenAmount::NONE;
            }
            let after = rows_in(editor, line + 1..draft.line_count());
            let own = left.len() - room;
            return after
                .map_or(HiddenAmount::Lines(draft.line_count() - line), |after| HiddenAmount::Rows(own + after));
        }
        room -= left.len();
        (line, skip) = (line + 1, 0);
    }
    HiddenAmount::NONE
}

/// The rows of these lines; `None` when they are many.
fn rows_in(editor: &Editor, lines: impl Iterator<Item = usize>) -> Option<usize> {
    let mut rows = 0;
    for line in lines {
        rows += editor.draft.rows_of(line, columns_of(editor)).len();
        if rows > MOST_ROWS {
            return None;
        }
    }
    Some(rows)
}

fn columns_of(editor: &Editor) -> usize {
    usize::from(editor.area.width.max(2) - 1)
}

/// Line and row of the cursor.
fn cursor_row(draft: &Draft, columns: usize) -> (usize, usize) {
    let line = draft.line_at(draft.cursor());
    let place = draft.cursor() - draft.line_range(line).start;
    let row = draft.rows_of(line, columns).iter().rposition(|range| range.start <= place).unwrap_or(0);
    (line, row)
}

/// The row `up` rows above another.
fn rows_up(draft: &Draft, from: (usize, usize), mut up: usize, columns: usize) -> (usize, usize) {
    let (mut line, mut row) = from;
    while up > row && line > 0 {
        up -= row + 1;
        line -= 1;
        row = draft.rows_of(line, columns).len() - 1;
    }
    (line, row.saturating_sub(up))
}

/// A visible row: where it lies in the text, and what is shown.
struct Shown {
    /// Bytes in the whole text.
    bytes: Range<usize>,
    /// The text that the widget gets.
    text: String,
    /// For each grapheme: byte in the whole text, byte in `text`.
    map: Vec<(usize, usize)>,
}

impl Shown {
    fn of(draft: &Draft, line: usize, range: Range<usize>) -> Self {
        let start = draft.line_range(line).start;
        let source = draft.line(line).get(range.clone()).unwrap_or_default();
        let mut text = String::new();
        let mut map = Vec::new();
        for (at, grapheme) in graphemes(source) {
            map.push((start + range.start + at, text.len()));
            text.push_str(&shown(grapheme));
        }
        Self { bytes: start + range.start..start + range.end, text, map }
    }

    /// Byte of the shown text for a byte of the whole text.
    fn place(&self, at: usize) -> usize {
        let index = self.map.partition_point(|(byte, _)| *byte < at);
        self.map.get(index).map_or(self.text.len(), |(_, shown)| *shown)
    }

    /// The shown part of a range of the whole text; an empty range takes the character after it.
    fn part(&self, range: &Range<usize>) -> Option<Range<usize>> {
        let start = self.place(range.start.max(self.bytes.start));
        let end = if range.end >= self.bytes.end { self.text.len() } else { self.place(range.end) };
        (start < end && range.start < self.bytes.end && range.end > self.bytes.start).then_some(start..end)
    }
}

/// Draws the text; gives the place of the cursor when it is seen.
pub(super) fn draw(editor: &Editor, area: Rect, looks: &Looks<'_>, buffer: &mut Buffer) -> Option<Position> {
    let area = area.intersection(buffer.area);
    if area.is_empty() {
        return None;
    }
    let draft = &editor.draft;
    let columns = usize::from(area.width.max(2) - 1);
    if draft.text().is_empty() {
        let text = SafeText::single_line(looks.placeholder);
        for (line, range) in wrap(&text, columns).into_iter().enumerate() {
            Row::new([Piece::safe(Role::Dim, text.slice(range))]).draw(line_of(area, line), buffer, looks.theme);
        }
        return looks.focused.then_some(area.as_position());
    }
    let rows = visible(draft, editor.scroll, columns, usize::from(area.height));
    let mut widget = TextArea::new(rows.iter().map(|(_, row)| row.text.clone()).collect());
    widget.set_style(looks.theme.style(Role::Text));
    widget.set_cursor_line_style(Style::new());
    widget.set_cursor_render_mode(CursorRenderMode::Hidden);
    paint(&mut widget, &rows, draft, looks);
    widget.render(area, buffer);
    cursor(draft, &rows, area).filter(|_| looks.focused)
}

fn visible(draft: &Draft, scroll: (usize, usize), columns: usize, height: usize) -> Vec<(usize, Shown)> {
    let (mut line, mut skip) = scroll;
    let mut rows = Vec::new();
    while rows.len() < height && line < draft.line_count() {
        let room = height - rows.len();
        let ranges = draft.rows_of(line, columns);
        rows.extend(ranges.iter().skip(skip).take(room).map(|range| (line, Shown::of(draft, line, range.clone()))));
        skip = 0;
        line += 1;
    }
    rows
}

/// Colours, over them the places of findings, over them the selection.
fn paint(widget: &mut TextArea<'_>, rows: &[(usize, Shown)], draft: &Draft, looks: &Looks<'_>) {
    let mut coloured: (usize, Vec<(Range<usize>, Role)>) = (usize::MAX, Vec::new());
    for (at, (line, row)) in rows.iter().enumerate() {
        let text = draft.line(*line);
        if coloured.0 != *line && text.len() <= LONGEST_COLOURED {
            coloured = (*line, colours(looks.language, text));
        }
        let start = draft.line_range(*line).start;
        let mut roles = vec![Role::Text; row.text.len()];
        let mut mark = |range: &Range<usize>, role| {
            if let Some(part) = row.part(range) {
                roles[part].fill(role);
            }
        };
        for (range, role) in coloured.1.iter().filter(|_| coloured.0 == *line) {
            mark(&(start + range.start..start + range.end), *role);
        }
        for finding in looks.findings.iter().rev() {
            let Some(span) = finding.span else { continue };
            let role = if finding.severity == Severity::Error { Role::ErrorPlace } else { Role::WarnPlace };
            mark(&(span.start..span.end.max(span.start + 1)), role);
        }
        let first = looks.found.partition_point(|range| range.end <= row.bytes.start);
        for range in looks.found[first..].iter().take_while(|range| range.start < row.bytes.end) {
            mark(range, Role::Found);
        }
        if let Some(range) = draft.selection() {
            mark(&range, Role::Selected);
        }
        let mut from = 0;
        for run in roles.chunk_by(|one, next| one == next) {
            let to = from + run.len();
            if run[0] != Role::Text {
                widget.custom_highlight(((at, from), (at, to)), looks.theme.style(run[0]), 1);
            }
            from = to;
        }
    }
}

fn cursor(draft: &Draft, rows: &[(usize, Shown)], area: Rect) -> Option<Position> {
    let at = draft.cursor();
    let line = draft.line_at(at);
    let row = rows.iter().rposition(|(number, row)| *number == line && row.bytes.start <= at && at <= row.bytes.end)?;
    let shown = &rows[row].1;
    let column = width(&shown.text[..shown.place(at)]).min(usize::from(area.width) - 1);
    Some(Position::new(area.x + u16::try_from(column).ok()?, area.y + u16::try_from(row).ok()?))
}

/// The byte of a text of one line at a column of its area.
pub(in crate::tui) fn byte_at(draft: &Draft, area: Rect, column: u16) -> usize {
    let columns = usize::from(area.width.max(1)) - 1;
    let cells: Vec<(usize, usize)> =
        graphemes(draft.text()).map(|(at, grapheme)| (at, width(&shown(grapheme)))).collect();
    let before: usize = cells.iter().filter(|(at, _)| *at < draft.cursor()).map(|(_, wide)| wide).sum();
    let mut left = usize::from(column.saturating_sub(area.x)) + before.saturating_sub(columns);
    for (at, wide) in cells {
        if left < wide.max(1) {
            return at;
        }
        left -= wide;
    }
    draft.text().len()
}

/// Draws a text of one line, scrolled so that its cursor is seen; gives the place of the cursor.
pub(super) fn draw_line(draft: &Draft, area: Rect, theme: Theme, buffer: &mut Buffer) -> Option<Position> {
    let area = area.intersection(buffer.area);
    if area.is_empty() {
        return None;
    }
    let columns = usize::from(area.width) - 1;
    let cells: Vec<(usize, String, usize)> = graphemes(draft.text())
        .map(|(at, grapheme)| (at, shown(grapheme).into_owned()))
        .map(|(at, text)| (at, text.clone(), width(&text)))
        .collect();
    let before: usize = cells.iter().filter(|(at, _, _)| *at < draft.cursor()).map(|(_, _, wide)| wide).sum();
    let mut skip = before.saturating_sub(columns);
    let mut x = area.x;
    let mut cursor = area.x;
    for (at, text, wide) in cells {
        if skip > 0 {
            skip = skip.saturating_sub(wide);
            continue;
        }
        if usize::from(x - area.x) + wide > usize::from(area.width) {
            break;
        }
        let selected = draft.selection().is_some_and(|range| range.contains(&at));
        let role = if selected { Role::Selected } else { Role::Text };
        (x, _) = buffer.set_stringn(x, area.y, &text, wide, theme.style(role));
        if at < draft.cursor() {
            cursor = x;
        }
    }
    Some(Position::new(cursor.min(area.right() - 1), area.y))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::tui::draft::Reach;

    proptest! {
        #[test]
        fn hidden_rows_are_those_outside_the_window(
            lines in prop::collection::vec("[a-z 日\t]{0,60}", 1..40),
            (width, height) in (2_u16..50, 1_u16..12),
            cursor in 0_usize..2_000,
        ) {
            let text = lines.join("\n") + "\nend";
            let mut editor = Editor { draft: Draft::new(&text), ..Editor::default() };
            editor.draft.place(text.floor_char_boundary(cursor.min(text.len())), Reach::Move);
            layout(&mut editor, Rect::new(0, 0, width, height));
            let columns = usize::from(width - 1);
            let rows = visible(&editor.draft, (0, 0), columns, usize::MAX).len();
            let seen = visible(&editor.draft, editor.scroll, columns, usize::from(height)).len();
            let (above, below) = (hidden_above(&editor), hidden_below(&editor));
            prop_assert!(matches!(above, HiddenAmount::Rows(_)) || rows > MOST_ROWS);
            if let (HiddenAmount::Rows(above), HiddenAmount::Rows(below)) = (above, below) {
                prop_assert_eq!(above + seen + below, rows);
            }
        }
    }
}
