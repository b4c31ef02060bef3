//! The rows of the chosen part, one frame of many included, and moves in it.

use ptc_core::text::SafeText;
use ptc_core::text::width::{pad, truncate, wrap};
use ratatui::layout::Position;

use super::{Focus, Inspector, Tab, growth, program, tree};
use crate::tui::colours::Language;
use crate::tui::direction::Edge;
use crate::tui::row::{Piece, Row};
use crate::tui::theme::Role;
use crate::tui::transcript::wrapped_text::{Look, WrappedText};
use crate::workbench::format::{count, duration, size};
use crate::workbench::inspect::{Body, Change, Frame, Line, Mark, Part};

/// Bytes of a text that are laid out; the rest can be copied.
const MOST_BYTES: usize = 2 << 20;

/// The look of a mark.
pub(in crate::tui) fn role(mark: Mark) -> Role {
    match mark {
        Mark::Plain => Role::Text,
        Mark::Dim => Role::Dim,
        Mark::Title => Role::Title,
        Mark::Added | Mark::Good => Role::Good,
        Mark::Removed | Mark::Bad => Role::Bad,
        Mark::Warn => Role::Warn,
    }
}

impl Inspector {
    /// The rows of the chosen part, with what each shows.
    pub(super) fn lay(&self, columns: usize) -> (Vec<Row>, Vec<usize>) {
        if self.at_repl() {
            return (lines(&self.repl.lines, columns), Vec::new());
        }
        let Some(part) = self.part() else { return (Vec::new(), Vec::new()) };
        if self.difference && self.tab == Tab::Request && part.change != Change::None {
            return (lines(&difference(part), columns), Vec::new());
        }
        match &part.body {
            Body::Text(text) => (text_rows(text, columns, Look::Rich(Language::Plain)), Vec::new()),
            Body::Exact(text) => (text_rows(text, columns, Look::Raw), Vec::new()),
            Body::Lines(all) => (lines(all, columns), Vec::new()),
            Body::Sides(heads, rows) => (sides(heads, rows, columns), Vec::new()),
            Body::Frames(all) => (frame_rows(all, self.frame, columns), Vec::new()),
            Body::Growth(turns, open) => (growth::rows(turns, open, columns), Vec::new()),
            Body::Tree(json, findings) => {
                let rows: Vec<Row> =
                    tree::lines(json, findings, &self.toggled).into_iter().map(|line| line.row).collect();
                let places = (0..rows.len()).collect();
                (rows, places)
            }
            Body::Program(text, error) => {
                let live = self.program().is_some() && self.focus == Focus::Part;
                let at = live.then_some(self.at);
                let marks =
                    program::Marks { at, shown_span: self.shown_span().filter(|_| live), error: error.as_ref() };
                program::rows(text, &marks, columns)
            }
        }
    }

    /// The reader goes into the part, or out of it.
    pub fn enter(&mut self, focus: Focus) {
        self.focus = focus;
        self.laid.key = None;
        if focus == Focus::Part
            && self.at == 0
            && let Some(program) = self.program()
        {
            self.at = program::first(program);
        }
    }

    /// Returns the name of the key that goes into the chosen entry; `None` where there is nothing further inside.
    pub fn entering(&self) -> Option<&'static str> {
        match self.focus {
            Focus::List if self.at_repl() => Some("type"),
            Focus::List => Some("into the part"),
            Focus::Part if self.is_tree() => Some("fold"),
            Focus::Part | Focus::Input => None,
        }
    }

    /// Moves by lines in the part.
    pub fn go_lines(&mut self, by: isize) {
        if let Some(program) = self.program().filter(|_| self.focus == Focus::Part) {
            self.at = program::step(program, self.at, program::Step::Lines(by));
        } else if self.cursor_row().is_some() && self.focus == Focus::Part && self.is_tree() {
            let last = self.laid.rows.len().saturating_sub(1);
            self.at = self.at.saturating_add_signed(by).min(last);
        } else {
            self.top = self.top.saturating_add_signed(by);
        }
    }

    /// Moves by pages.
    pub fn go_pages(&mut self, by: isize) {
        let page = isize::try_from(self.part_area.height).unwrap_or(1).saturating_sub(1).max(1);
        if self.is_tree() && self.focus == Focus::Part {
            self.go_lines(by * page);
        } else {
            self.top = self.top.saturating_add_signed(by * page);
        }
    }

    /// Goes to the start or the end of the part.
    pub fn go_edge(&mut self, edge: Edge) {
        let place = |last: usize| match edge {
            Edge::Start => 0,
            Edge::End => last,
        };
        let rows = self.laid.rows.len();
        self.top = place(rows);
        if self.is_tree() {
            self.at = place(rows.saturating_sub(1));
        } else if let Some(program) = self.program() {
            self.at = match edge {
                Edge::Start => program::first(program),
                Edge::End => program::nearest(program, program.len()),
            };
        } else if let Some(frames) = self.frames() {
            self.frame = place(frames.saturating_sub(1));
        }
    }

    /// Left and right: through frames, through forms, folding and unfolding a branch.
    pub fn show_next_to(&mut self, by: isize) {
        if let Some(frames) = self.frames() {
            self.frame = self.frame.saturating_add_signed(by).min(frames.saturating_sub(1));
        } else if let Some(program) = self.program().filter(|_| self.focus == Focus::Part) {
            self.at = program::step(program, self.at, program::Step::Forms(by));
        } else if self.is_tree() && self.focus == Focus::Part {
            self.fold(by < 0);
        }
    }

    /// Folds or unfolds the branch under the cursor, whichever it is not.
    pub fn toggle(&mut self) {
        let path = self.branch().map(|line| line.0);
        if let Some(path) = path {
            if !self.toggled.remove(&path) {
                self.toggled.insert(path);
            }
            self.laid.key = None;
        }
    }

    /// Folds (or unfolds) the branch under the cursor; a folded one, or a leaf, goes to the branch above.
    fn fold(&mut self, close: bool) {
        match self.branch() {
            Some((_, folded)) if folded != close => self.toggle(),
            _ if close => {
                let above = self.path_at(self.at).and_then(|path| path.rfind('.').map(|end| path[..end].to_owned()));
                let above = above.unwrap_or_default();
                self.at = self.tree_lines().iter().position(|line| line.path == above).unwrap_or(0);
            }
            _ => self.go_lines(1),
        }
    }

    fn tree_lines(&self) -> Vec<tree::TreeLine> {
        match self.part().map(|part| &part.body) {
            Some(Body::Tree(json, findings)) => tree::lines(json, findings, &self.toggled),
            _ => Vec::new(),
        }
    }

    fn path_at(&self, line: usize) -> Option<String> {
        self.tree_lines().into_iter().nth(line).map(|line| line.path)
    }

    /// The branch under the cursor, and whether it is folded.
    fn branch(&self) -> Option<(String, bool)> {
        let line = self.tree_lines().into_iter().nth(self.at)?;
        Some((line.path, line.folded?))
    }

    /// Returns whether the chosen part is shown as a tree.
    pub fn is_tree(&self) -> bool {
        let compared = self.difference && self.tab == Tab::Request;
        !compared && matches!(self.part().map(|part| &part.body), Some(Body::Tree(..)))
    }

    /// Returns the number of frames of the chosen part; `None` when it has no frames.
    pub fn frames(&self) -> Option<usize> {
        match self.part().map(|part| &part.body) {
            Some(Body::Frames(frames)) => Some(frames.len()),
            _ => None,
        }
    }

    /// The wheel: through the list over the list, else through the part.
    pub fn wheel(&mut self, at: Position, lines: isize) {
        if self.list_area.contains(at) {
            self.choose(self.chosen().saturating_add_signed(lines.signum()));
        } else if self.is_tree() && self.focus == Focus::Part {
            self.go_lines(lines);
        } else {
            self.top = self.top.saturating_add_signed(lines);
        }
    }

    /// A click: chooses an entry of the list, or puts the cursor on a row of the part.
    pub fn click(&mut self, at: Position) {
        if self.list_area.contains(at) {
            let entry = self.list_top + usize::from(at.y - self.list_area.y);
            if entry < self.entries() {
                self.enter(Focus::List);
                self.choose(entry);
            }
        } else if self.part_area.contains(at) {
            self.click_row(self.top + usize::from(at.y - self.part_area.y));
        }
    }

    fn click_row(&mut self, row: usize) {
        self.enter(if self.at_repl() { Focus::Input } else { Focus::Part });
        if self.is_tree() {
            let again = self.at == row;
            self.at = row.min(self.laid.rows.len().saturating_sub(1));
            if again {
                self.toggle();
            }
        } else if let (Some(program), Some(byte)) = (self.program(), self.laid.places.get(row)) {
            let end = program[*byte..].find('\n').map_or(program.len(), |end| byte + end);
            let first = program[*byte..end].find(|c: char| !c.is_whitespace()).map_or(*byte, |at| byte + at);
            self.at = program::nearest(program, first);
        }
    }

    /// The text to copy: the part, or its difference.
    pub fn copied(&self) -> Option<String> {
        if self.at_repl() {
            return Some(self.repl.lines.iter().map(|line| line.text.as_str()).collect::<Vec<_>>().join("\n"));
        }
        let part = self.part()?;
        if self.difference && self.tab == Tab::Request && part.change != Change::None {
            return Some(difference(part).iter().map(|line| line.text.as_str()).collect::<Vec<_>>().join("\n"));
        }
        Some(part.text())
    }
}

/// The difference of a part to the previous request.
fn difference(part: &Part) -> Vec<Line> {
    let all =
        |mark: Mark, sign: &str| part.text().lines().map(|line| Line::new(mark, format!("{sign} {line}"))).collect();
    match &part.change {
        Change::None => Vec::new(),
        Change::Same => vec![Line::new(Mark::Dim, "= unchanged")],
        Change::New => all(Mark::Added, "+"),
        Change::Gone => all(Mark::Removed, "-"),
        Change::Changed(lines) => lines.clone(),
    }
}

fn text_rows(text: &str, columns: usize, look: Look) -> Vec<Row> {
    if text.is_empty() {
        return vec![Row::new([Piece::literal(Role::Dim, "(empty)")])];
    }
    let end = (0..=MOST_BYTES.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default();
    let mut rows = WrappedText::of(&text[..end], columns, look);
    if end < text.len() {
        rows.push(Row::new([Piece::literal(Role::Dim, "… more: copy it to see all")]));
    }
    rows
}

/// Lines with their looks, wrapped.
pub(in crate::tui) fn lines(lines: &[Line], columns: usize) -> Vec<Row> {
    let mut rows = Vec::new();
    for line in lines {
        let safe = SafeText::escape_controls(&line.text);
        let ranges = wrap(&safe, columns.max(1));
        rows.extend(ranges.into_iter().map(|range| Row::new([Piece::safe(role(line.mark), safe.slice(range))])));
    }
    rows
}

/// Two texts side by side; lines that differ have a mark and a look.
fn sides(heads: &[String; 2], all: &[[Option<String>; 2]], columns: usize) -> Vec<Row> {
    let half = columns.saturating_sub(3) / 2;
    let cell = |text: &str| {
        let safe = SafeText::escape_controls(text);
        pad(&truncate(&safe, half), half)
    };
    let [left, right] = heads;
    let head = |text: &str| Piece::new(Role::Title, &cell(text));
    let mut rows = vec![Row::new([head(left), Piece::literal(Role::Border, " │ "), head(right)])];
    for [left, right] in all {
        let same = left == right;
        let (old, new) = if same { (Role::Text, Role::Text) } else { (Role::Bad, Role::Good) };
        let mark = if same { " │ " } else { " ~ " };
        rows.push(Row::new([
            Piece::new(old, &cell(left.as_deref().unwrap_or_default())),
            Piece::literal(if same { Role::Border } else { Role::Warn }, mark),
            Piece::new(new, &cell(right.as_deref().unwrap_or_default())),
        ]));
    }
    rows
}

/// Shown bytes of the previous frames.
const BEFORE_BYTES: usize = 4_000;

/// The rows of frame number `at` (from 0).
fn frame_rows(frames: &[Frame], at: usize, columns: usize) -> Vec<Row> {
    let Some(frame) = frames.get(at) else {
        return vec![Row::new([Piece::literal(Role::Dim, "nothing arrived")])];
    };
    let since = frame.ms.saturating_sub(at.checked_sub(1).and_then(|at| frames.get(at)).map_or(0, |before| before.ms));
    let place = format!("{} of {}", count(at as u64 + 1), count(frames.len() as u64));
    let time = format!("   + {}   {} after the previous frame", duration(frame.ms), duration(since));
    let mut rows = vec![
        Row::new([Piece::new(Role::Title, &place), Piece::new(Role::Text, &time)])
            .ending([Piece::new(Role::Dim, &size(frame.text.len() as u64))]),
        Row::new(bar(frames, at, columns)),
        Row::default(),
    ];
    rows.extend(WrappedText::of(&frame.text, columns, Look::Raw));
    let before: String = frames[..at].iter().map(|frame| frame.text.as_str()).collect();
    if !before.is_empty() {
        let from = (before.len().saturating_sub(BEFORE_BYTES)..before.len()).find(|at| before.is_char_boundary(*at));
        let shown = &before[from.unwrap_or_default()..];
        let cut = if shown.len() < before.len() { ", its end" } else { "" };
        let text = format!("previous frames · {}{cut}", size(before.len() as u64));
        rows.extend([Row::default(), Row::new([Piece::new(Role::Dim, &text)])]);
        rows.extend(WrappedText::of(shown, columns, Look::Raw));
    }
    rows
}

/// The frames on a line of time, the shown one marked.
fn bar(frames: &[Frame], at: usize, columns: usize) -> Vec<Piece> {
    let wide = columns.clamp(1, 60);
    let end = frames.last().map_or(0, |frame| frame.ms).max(1);
    let last = u64::try_from(wide - 1).unwrap_or_default();
    let place = |frame: &Frame| usize::try_from(frame.ms.min(end) * last / end).unwrap_or_default();
    let mut marks = vec!['·'; wide];
    for frame in frames {
        marks[place(frame)] = '▪';
    }
    let here = place(&frames[at]);
    let part = |range: std::ops::Range<usize>| marks[range].iter().collect::<String>();
    vec![
        Piece::new(Role::Dim, &part(0..here)),
        Piece::literal(Role::Accent, "●"),
        Piece::new(Role::Dim, &part((here + 1).min(wide)..wide)),
    ]
}
