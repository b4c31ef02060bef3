//! A cell: a card with its fold state, version and cached layout.

use super::body::Body;
use super::card::{Card, MessageStore, Part};
use super::layout::{self, Frame, Laid};
use super::outline::{Branch, Folded, Way};
use super::wrapped_text::View;
use crate::event::{Address, RunStart};
use crate::tui::row::Row;

/// Columns that a child run is indented to the right of who called it.
const DEPTH_COLUMNS: usize = 3;

/// A row of padding.
static EMPTY: Row = Row { left: Vec::new(), right: Vec::new() };

/// A card of the transcript.
#[derive(Debug, Clone)]
pub struct Cell {
    /// Address of its run, turn or call.
    pub at: Address,
    /// Its card.
    pub card: Card,
    /// The card is unfolded.
    pub open: bool,
    /// Its run has ended: nothing moves any more.
    pub over: bool,
    /// The run it belongs to, or one above that, is folded.
    pub hidden: bool,
    /// Grows with every change of the card.
    pub version: u32,
    /// Empty rows after it, which keep transcripts next to each other aligned.
    padding: u32,
    /// Folded branches of its value, and how often that changed; few cells have any.
    folded: Option<Box<(Folded, u32)>>,
    /// Kept only for cells that were visible lately.
    layout: Option<Box<Layout>>,
}

/// Cache key of a layout: everything that it depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Key {
    columns: usize,
    view: View,
    version: u32,
    open: bool,
    over: bool,
    /// Number of changes of folded branches.
    folds: u32,
    /// Tenths of seconds for cells that show a running time, else 0.
    tick: i64,
}

/// The rows of a cell: before, in and after its body.
#[derive(Debug, Clone)]
struct Layout {
    key: Key,
    /// Columns before every row.
    indent: u16,
    head: Vec<Row>,
    /// Kept across layouts while it grows.
    body: Option<Body>,
    tail: Vec<Row>,
}

impl Layout {
    fn rows(&self) -> usize {
        self.head.len() + self.tail.len() + self.body.as_ref().map_or(0, Body::height)
    }
}

impl Cell {
    /// A folded or unfolded cell of a card.
    pub fn new(at: Address, card: Card, open: bool) -> Self {
        Self { at, card, open, over: false, hidden: false, version: 0, padding: 0, folded: None, layout: None }
    }

    /// A cell of another part of the same turn.
    #[must_use]
    pub fn sibling(&self, card: Card, open: bool) -> Self {
        Self { over: self.over, hidden: self.hidden, ..Self::new(self.at.clone(), card, open) }
    }

    /// Returns whether only actions of the user can still change it.
    pub fn finished(&self) -> bool {
        match &self.card {
            Card::Turn(turn) => self.over || turn.record.end.is_some(),
            _ => true,
        }
    }

    /// Returns whether it can be folded.
    pub fn folds(&self) -> bool {
        match &self.card {
            Card::Notice(_) => false,
            Card::Turn(turn) => turn.part != Part::After,
            Card::Unread(_, part) => *part != Part::After,
            _ => true,
        }
    }

    /// Columns before it: child runs are indented to the right of who called them.
    fn indent(&self, columns: usize) -> usize {
        let depth = match self.card {
            Card::Turn(_) | Card::Unread(..) | Card::Request(_) | Card::Reasoning(_) | Card::Feedback(_) => {
                self.at.turn_part().depth()
            }
            _ => self.at.depth(),
        };
        (depth * DEPTH_COLUMNS).min(columns / 3)
    }

    /// Lays the cell out unless that was done before; `start`: how its run began. Returns whether it had to.
    pub fn lay(
        &mut self,
        columns: usize,
        view: View,
        now_ms: i64,
        start: Option<&RunStart>,
        store: &MessageStore,
    ) -> bool {
        let tick = if self.finished() { 0 } else { now_ms / 100 };
        let folds = self.folded.as_ref().map_or(0, |folded| folded.1);
        let key = Key { columns, view, version: self.version, open: self.open, over: self.over, folds, tick };
        if self.layout.as_ref().is_some_and(|layout| layout.key == key) {
            return false;
        }
        let indent = self.indent(columns);
        let columns = columns - indent;
        let frame = Frame { columns, view, open: self.open, over: self.over, now_ms, at: &self.at, start, store };
        let Laid { head, body: shown, tail } = layout::lay(&self.card, &frame);
        let before = self.layout.take().and_then(|layout| layout.body);
        let none = Folded::new();
        let folded = self.folded.as_ref().map_or(&none, |folded| &folded.0);
        let body = shown.map(|shown| {
            let mut body = before.unwrap_or_default();
            body.update(&shown, folded);
            body
        });
        let indent = u16::try_from(indent).unwrap_or_default();
        self.layout = Some(Box::new(Layout { key, indent, head, body, tail }));
        true
    }

    /// Its height in rows, once laid out.
    pub fn height(&self) -> usize {
        let Some(layout) = self.layout.as_ref().filter(|_| !self.hidden) else { return 0 };
        layout.rows() + self.padding as usize
    }

    /// The rows of its card, without the empty ones after it.
    pub fn card_rows(&self) -> usize {
        self.layout.as_ref().filter(|_| !self.hidden).map_or(0, |layout| layout.rows())
    }

    /// Sets the number of empty rows after it.
    pub fn pad(&mut self, rows: usize) {
        self.padding = u32::try_from(rows).unwrap_or(u32::MAX);
    }

    /// The number of empty rows after it.
    pub fn padding(&self) -> usize {
        self.padding as usize
    }

    /// Cache key of a finished cell's rows.
    pub fn state(&self) -> (u32, u32, [bool; 3]) {
        let folds = self.folded.as_ref().map_or(0, |folded| folded.1);
        (self.version, folds, [self.open, self.over, self.hidden])
    }

    /// Returns whether a layout is cached.
    pub fn is_laid(&self) -> bool {
        self.layout.is_some()
    }

    /// Forgets the layout, to save memory.
    pub fn forget(&mut self) {
        self.layout = None;
    }

    /// A row of the layout, with its indent in columns.
    pub fn row(&self, at: usize) -> Option<(&Row, u16)> {
        let layout = self.layout.as_ref()?;
        if let Some(row) = layout.head.get(at) {
            return Some((row, layout.indent));
        }
        let at = at - layout.head.len();
        if let Some(row) = layout.body.as_ref().and_then(|body| body.row(at)) {
            return Some((row, layout.indent + layout::BODY_INDENT));
        }
        let at = at - layout.body.as_ref().map_or(0, Body::height);
        match layout.tail.get(at) {
            Some(row) => Some((row, layout.indent)),
            None => (at < layout.tail.len() + self.padding()).then_some((&EMPTY, 0)),
        }
    }

    /// The branch of its value that begins with a row of the layout.
    pub fn branch_at(&self, row: usize) -> Option<&Branch> {
        let layout = self.layout.as_ref()?;
        layout.body.as_ref()?.branch_at(row.checked_sub(layout.head.len())?)
    }

    /// The branches of its value that are shown, from top to bottom.
    pub fn branches(&self) -> &[Branch] {
        self.layout.as_ref().and_then(|layout| layout.body.as_ref()).map_or(&[], Body::branches)
    }

    /// The row of the layout with which a branch begins.
    pub fn row_of(&self, branch: &Way) -> Option<usize> {
        let layout = self.layout.as_ref()?;
        Some(layout.head.len() + layout.body.as_ref()?.row_of(branch)?)
    }

    /// Folds or unfolds a branch.
    pub fn fold(&mut self, branch: &Way) {
        let (folded, changes) = &mut **self.folded.get_or_insert_default();
        if !folded.remove(branch) {
            folded.insert(branch.clone());
        }
        *changes += 1;
    }

    /// Unfolds all branches.
    pub fn unfold_all(&mut self) {
        if let Some(folded) = &mut self.folded {
            folded.0.clear();
            folded.1 += 1;
        }
    }
}
