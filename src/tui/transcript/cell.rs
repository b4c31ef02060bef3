//! A cell: a card with its fold state, version and cached layout.

use super::card::{Card, MessageStore, Part};
use super::layout::{self, Frame, Laid};
use super::wrapped::Wrapped;
use crate::event::Address;
use crate::tui::row::Row;

/// Columns that an agent below stands to the right of who called it.
const DEPTH_COLUMNS: usize = 3;

/// How cards show text from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum View {
    /// Readable, coloured, what matters.
    #[default]
    Rich,
    /// The exact texts, controls as pictures.
    Raw,
    /// What went over the wire.
    Wire,
}

impl View {
    /// The next view in the cycle.
    #[must_use]
    pub fn next(self) -> Self {
        match self {
            Self::Rich => Self::Raw,
            Self::Raw => Self::Wire,
            Self::Wire => Self::Rich,
        }
    }

    /// Its name on screen.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rich => "rich",
            Self::Raw => "raw",
            Self::Wire => "wire",
        }
    }
}

/// A card of the transcript.
#[derive(Debug, Clone)]
pub struct Cell {
    /// Where it belongs.
    pub at: Address,
    /// What it shows.
    pub card: Card,
    /// Unfolded?
    pub open: bool,
    /// Its run has ended: nothing moves any more.
    pub over: bool,
    /// The run it belongs to, or one above that, is folded.
    pub hidden: bool,
    /// Grows with every change of the card.
    pub version: u32,
    /// Only of what was seen lately: a cell that was never seen is small.
    layout: Option<Box<Layout>>,
}

/// What a layout depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Key {
    columns: usize,
    view: View,
    version: u32,
    open: bool,
    over: bool,
    /// Tenths of seconds for cells that show a running time, else 0.
    tick: i64,
}

/// The rows of a cell: before, in and behind the growing text.
#[derive(Debug, Clone)]
struct Layout {
    key: Key,
    /// Columns before every row.
    indent: u16,
    head: Vec<Row>,
    /// Does the growing text stand between head and tail?
    streams: bool,
    tail: Vec<Row>,
    /// The reply as it grows, kept across layouts, and the attempt it belongs to.
    stream: Wrapped,
    attempt: u32,
}

impl Cell {
    /// A folded or unfolded cell of a card.
    pub fn new(at: Address, card: Card, open: bool) -> Self {
        Self { at, card, open, over: false, hidden: false, version: 0, layout: None }
    }

    /// Can nothing change it but a person?
    pub fn finished(&self) -> bool {
        match &self.card {
            Card::Turn(turn) => self.over || turn.end.is_some(),
            _ => true,
        }
    }

    /// Is there something to fold?
    pub fn folds(&self) -> bool {
        match &self.card {
            Card::Notice(_) => false,
            Card::Turn(turn) => turn.part != Part::After,
            Card::Unread(turn) => turn.part != Part::After,
            _ => true,
        }
    }

    /// Columns before it: agents below stand to the right of who called them.
    fn indent(&self, columns: usize) -> usize {
        let depth = match self.card {
            Card::Turn(_) | Card::Unread(_) | Card::Request(_) | Card::Reasoning(_) | Card::Feedback(_) => {
                self.at.turn_part().depth()
            }
            _ => self.at.depth(),
        };
        (depth * DEPTH_COLUMNS).min(columns / 3)
    }

    /// Lays the cell out unless that was done before. Returns whether it had to.
    pub fn lay(&mut self, columns: usize, view: View, now_ms: i64, store: &MessageStore) -> bool {
        let tick = if self.finished() { 0 } else { now_ms / 100 };
        let key = Key { columns, view, version: self.version, open: self.open, over: self.over, tick };
        if self.layout.as_ref().is_some_and(|layout| layout.key == key) {
            return false;
        }
        let indent = self.indent(columns);
        let columns = columns - indent;
        let frame = Frame { columns, view, open: self.open, over: self.over, now_ms, at: &self.at, store };
        let Laid { head, streamed, tail } = layout::lay(&self.card, &frame);
        let streams = streamed.is_some();
        let before = self.layout.take();
        let (mut stream, mut attempt) = before.map(|layout| (layout.stream, layout.attempt)).unwrap_or_default();
        match streamed {
            Some(streamed) => {
                if std::mem::replace(&mut attempt, streamed.attempt) != streamed.attempt {
                    stream.clear();
                }
                stream.update(streamed.text, streamed.columns, streamed.look);
            }
            None => stream.clear(),
        }
        let indent = u16::try_from(indent).unwrap_or_default();
        self.layout = Some(Box::new(Layout { key, indent, head, streams, tail, stream, attempt }));
        true
    }

    /// Its height in rows, once laid out.
    pub fn height(&self) -> usize {
        let Some(layout) = self.layout.as_ref().filter(|_| !self.hidden) else { return 0 };
        layout.head.len() + layout.tail.len() + if layout.streams { layout.stream.rows().len() } else { 0 }
    }

    /// Is a layout kept?
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
        let body = if layout.streams { layout.stream.rows() } else { &[] };
        if let Some(row) = layout.head.get(at) {
            return Some((row, layout.indent));
        }
        let at = at - layout.head.len();
        if let Some(row) = body.get(at) {
            return Some((row, layout.indent + layout::BODY_INDENT));
        }
        layout.tail.get(at - body.len()).map(|row| (row, layout.indent))
    }
}
